"""`lamina.scipy.sparse`: `linalg` has the solvers of linear systems that only need products."""

from __future__ import annotations

from ....library.linalg import namespace as linalg

__all__ = ["linalg"]

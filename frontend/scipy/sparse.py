"""`lamina.scipy.sparse`: `linalg` has the solvers of linear systems that only ask for products."""

from __future__ import annotations

from .. import linalg

__all__ = ["linalg"]

# from the table names.toml by `make names`: do not edit
"""`lamina.scipy.sparse`: `linalg` has the solvers of linear systems that only need products."""

from typing import Any

from ....library.linalg import namespace as linalg

__all__ = [
    "linalg",
]

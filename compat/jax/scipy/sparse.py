"""`lamina.scipy.sparse`: `linalg` has the solvers of linear systems that only need products."""

from ....names import attach

__getattr__, __dir__, __all__ = attach("scipy.sparse")

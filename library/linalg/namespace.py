"""`lamina.linalg`, also `lamina.numpy.linalg`: factorizations, equations, norms, products, functions of matrices."""

from ...names import attach

__getattr__, __dir__, __all__ = attach("linalg")

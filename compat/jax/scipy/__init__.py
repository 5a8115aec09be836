"""`lamina.scipy`: the names of jax.scipy, for programs that were written for it.

Functions that lamina has elsewhere are the same objects here: `special` is `lamina.special`; `linalg` is `lamina.linalg` with
SciPy's defaults.
"""

from ....names import attach

__getattr__, __dir__, __all__ = attach("scipy")

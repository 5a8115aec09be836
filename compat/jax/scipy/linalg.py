"""`lamina.scipy.linalg`: scipy.linalg's names. Functions that NumPy has under the same name have SciPy's arguments and defaults
here, as `cholesky`, which returns the upper factor; all others are `lamina.linalg`'s.

Arguments that only save copies or checks (`overwrite_a`, `check_finite`, `lapack_driver` ...) are accepted and change nothing.
"""

from ....names import attach

__getattr__, __dir__, __all__ = attach("scipy.linalg")

# from the table names.toml by `make names`: do not edit
"""`lamina.scipy`: the names of jax.scipy, for programs that were written for it.

Functions that lamina has elsewhere are the same objects here: `special` is `lamina.special`; `linalg` is `lamina.linalg` with
SciPy's defaults."""

from typing import Any

from ....library.special import namespace as special

from . import cluster as cluster
from . import fft as fft
from . import integrate as integrate
from . import interpolate as interpolate
from . import linalg as linalg
from . import ndimage as ndimage
from . import optimize as optimize
from . import signal as signal
from . import sparse as sparse
from . import stats as stats
__all__ = [
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats",
]

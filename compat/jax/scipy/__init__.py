"""`lamina.scipy`: the names of jax.scipy, for programs that were written for it.

Functions that lamina has elsewhere are the same objects here: `special` is `lamina.special`; `linalg` is `lamina.linalg` with
SciPy's defaults.
"""

from __future__ import annotations

import importlib
from typing import Any

PARTS = {
    **{name: f".{name}" for name in ("cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize")},
    **{name: f".{name}" for name in ("signal", "sparse", "stats")},
    "special": "....library.special.namespace",
}
"""Names of the parts, and the modules that they are."""

__all__ = [*PARTS]


def __getattr__(name: str) -> Any:
    if name not in PARTS:
        raise AttributeError(f"module 'lamina.scipy' has no attribute {name!r}")
    return importlib.import_module(PARTS[name], __name__)

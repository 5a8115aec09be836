"""Matrices for the tests of kernels, and what is compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamina as lm
import numpy as np

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
ELEMENTS = {np.dtype(t.dtype): t for t in (lm.f32, lm.f64, lm.complex64, lm.complex128)}
STACKS = ((1, 3, 3), (3, 5, 5), (19, 4, 4), (64, 16, 16), (2, 5, 3, 3), (2, 66, 66), (0, 3, 3))


def alternating(values: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each value with a real and a complex dtype: in turn those of 32 bits and those of 64."""
    return [(value, dtype) for k, value in enumerate(values) for dtype in DTYPES[k % 2 :: 2]]


def normal(*shape: int, dtype: Any, seed: int = 0) -> np.ndarray:
    """Random elements, complex ones for a complex dtype."""
    rng = np.random.default_rng((seed, *shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def error(found: Any, want: Any, scale: float = 1.0) -> float:
    """The largest difference, in units of `n eps` of a scale."""
    found, want = np.asarray(found), np.asarray(want)
    assert found.shape == want.shape
    if not found.size:
        return 0.0
    return float(np.abs(found - want).max() / (max(found.shape[-2:]) * np.finfo(found.dtype).eps * scale))


def by_python(text: Any, *arrays: np.ndarray) -> None:
    """Run the text of a generic kernel by Python."""
    with np.errstate(all="ignore"):
        text.specialize(T=ELEMENTS[arrays[0].dtype]).__wrapped__(*arrays)

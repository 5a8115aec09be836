"""`lamina.scipy.signal`: convolutions and correlations of any rank; spectra stand in `spectra.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....api.errors import ShapeError
from ....library import fft
from ....library.numpy import namespace as lnp
from ....names import public
from ..lax import namespace as lax
from .spectra import csd as csd
from .spectra import detrend as detrend
from .spectra import istft as istft
from .spectra import stft as stft
from .spectra import welch as welch

__all__ = list(public("scipy.signal"))


def _operands(in1: Any, in2: Any, what: str) -> tuple[Any, Any]:
    dtype = lnp.result_type(in1, in2)
    dtype = dtype if lnp.issubdtype(dtype, lnp.inexact) else np.dtype(float)
    a, b = lnp.asarray(in1).astype(dtype), lnp.asarray(in2).astype(dtype)
    if a.ndim != b.ndim:
        raise ShapeError(f"{what} needs operands of one rank, got {list(a.shape)} and {list(b.shape)}")
    if 0 in a.shape or 0 in b.shape:
        raise ShapeError(f"{what} needs operands that have elements, got {list(a.shape)} and {list(b.shape)}")
    return a, b


def _cut(full: Any, first: Sequence[int], second: Sequence[int], mode: str, what: str) -> Any:
    """The part of a full convolution of operands of these shapes that a mode selects."""
    if mode == "full":
        return full
    if mode == "same":
        sizes = list(first)
    elif mode == "valid":
        pairs = list(zip(first, second, strict=True))
        if not (all(n >= m for n, m in pairs) or all(m >= n for n, m in pairs)):
            rule = f'{what} in mode "valid" needs one operand no smaller than the other'
            raise ShapeError(f"{rule}, got {list(first)} and {list(second)}")
        sizes = [abs(n - m) + 1 for n, m in pairs]
    else:
        raise ShapeError(f'{what} takes the mode "full", "same" or "valid", got {mode!r}')
    starts = [(n - k) // 2 for n, k in zip(full.shape, sizes, strict=True)]
    return full[tuple(slice(at, at + k) for at, k in zip(starts, sizes, strict=True))]


def _full(a: Any, b: Any) -> Any:
    if lnp.issubdtype(a.dtype, lnp.complexfloating):
        parts = [[_full(u, v) for v in (b.real, b.imag)] for u in (a.real, a.imag)]
        return parts[0][0] - parts[1][1] + 1j * (parts[0][1] + parts[1][0])
    if not 1 <= a.ndim <= 3:
        return fftconvolve(a, b)
    padding = [(n - 1, n - 1) for n in b.shape]
    return lax.conv_general_dilated(a[None, None], lnp.flip(b)[None, None], (1,) * a.ndim, padding)[0, 0]


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """`scipy.signal.convolve`: of two arrays of one rank; integers become floats.

    Args:
        mode: "full", "same" (the middle, as large as `in1`) or "valid" (where the smaller one lies within the other).
        method: "direct", "fft", or "auto", which is direct.

    Raises:
        ShapeError: ranks differ, an operand is empty, or the mode or method is another.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.signal.convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0]))
    array([1., 3., 5., 3.])
    """
    if method not in ("auto", "direct", "fft"):
        raise ShapeError(f'convolve takes the method "auto", "direct" or "fft", got {method!r}')
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    a, b = _operands(in1, in2, "convolve")
    return _cut(_full(a, b), a.shape, b.shape, mode, "convolve")


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """`scipy.signal.correlate`: `convolve` with `in2` reversed and conjugated."""
    a, b = _operands(in1, in2, "correlate")
    return convolve(a, lnp.conj(lnp.flip(b)), mode, method)


def _in_the_plane(in1: Any, in2: Any, boundary: str, fillvalue: float, what: str) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise ShapeError(f'{what} has zeros beyond the edges (boundary="fill", fillvalue=0): pad in1 and take mode="valid"')
    if np.ndim(in1) != 2 or np.ndim(in2) != 2:
        raise ShapeError(f"{what} needs two dims, got {list(np.shape(in1))} and {list(np.shape(in2))}")


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Any:
    """`scipy.signal.convolve2d` with zeros beyond the edges."""
    _in_the_plane(in1, in2, boundary, fillvalue, "convolve2d")
    return convolve(in1, in2, mode)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Any:
    """`scipy.signal.correlate2d` with zeros beyond the edges.

    Of an even number of rows or columns of `in2`, mode "same" centers the one behind the middle, where `correlate` takes the
    one before it.
    """
    _in_the_plane(in1, in2, boundary, fillvalue, "correlate2d")
    if mode != "same":
        return correlate(in1, in2, mode)
    full = correlate(in1, in2)
    return full[tuple(slice(m // 2, m // 2 + n) for n, m in zip(np.shape(in1), np.shape(in2), strict=True))]


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """`scipy.signal.fftconvolve`: `convolve` by a product of Fourier transforms, along `axes` (all); others broadcast."""
    a, b = _operands(in1, in2, "fftconvolve")
    chosen = range(a.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    chosen = [axis % a.ndim for axis in chosen]
    sizes = [a.shape[d] + b.shape[d] - 1 for d in chosen]
    if lnp.issubdtype(a.dtype, lnp.complexfloating):
        full = fft.ifftn(fft.fftn(a, sizes, chosen) * fft.fftn(b, sizes, chosen), sizes, chosen)
    else:
        full = fft.irfftn(fft.rfftn(a, sizes, chosen) * fft.rfftn(b, sizes, chosen), sizes, chosen)
    shapes = [[x.shape[d] if d in chosen else full.shape[d] for d in range(a.ndim)] for x in (a, b)]
    if mode == "valid":
        shapes[1] = [n if d in chosen else 1 for d, n in enumerate(shapes[1])]
    return _cut(full, shapes[0], shapes[1], mode, "fftconvolve").astype(a.dtype)

"""`lamina.scipy.fft`: discrete cosine transforms of type 2 and their inverses, by a Fourier transform of the same length.

Source: Makhoul, A fast cosine transform in one and two dimensions, 1980.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....api.errors import ShapeError
from ....library import fft as fourier
from ....library.numpy import namespace as lnp
from ....names import public

__all__ = list(public("scipy.fft"))


def _rows(x: Any, type: int, n: int | None, axis: int, norm: str | None, what: str) -> Any:
    """The operand as floats, the axis last and of length `n`."""
    if type != 2:
        raise ShapeError(f"{what} is of type 2, got {type}")
    if norm not in (None, "backward", "ortho"):
        raise ShapeError(f'{what} takes the norm "backward" or "ortho", got {norm!r}')
    x = lnp.asarray(x)
    if lnp.issubdtype(x.dtype, lnp.complexfloating):
        raise ShapeError(f"{what} is of real numbers, got {x.dtype}: transform .real and .imag")
    rows = lnp.moveaxis(x if lnp.issubdtype(x.dtype, lnp.floating) else x.astype(float), axis, -1)
    size = rows.shape[-1] if n is None else n
    if size < 1:
        raise ShapeError(f"{what} needs at least one element along the axis, got {size}")
    short = size - rows.shape[-1]
    return lnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, short)]) if short > 0 else rows[..., :size]


def _turns(n: int, sign: int, like: Any) -> Any:
    """Half-step rotations, complex numbers of the precision of `like`."""
    return lnp.asarray(np.exp(sign * 0.5j * math.pi * np.arange(n) / n), lnp.result_type(like.dtype, np.complex64))


def _weights(n: int, like: Any) -> Any:
    """The factors that make the transform orthonormal."""
    return lnp.asarray(np.where(np.arange(n), math.sqrt(0.5 / n), math.sqrt(0.25 / n)), like.dtype)


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """`scipy.fft.dct` of type 2: `2 * sum(x[k] * cos(pi * (2 k + 1) i / (2 n)))`, or orthonormal (`norm="ortho"`).

    Args:
        x: real numbers.
        n: the length along `axis`, to which it is cut off or filled with zeros.

    Raises:
        ShapeError: another type or norm, complex numbers, or no elements.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.fft.dct(np.array([1.0, 1.0]))
    array([4., 0.])
    """
    rows = _rows(x, type, n, axis, norm, "dct")
    size = rows.shape[-1]
    woven = lnp.concatenate([rows[..., ::2], lnp.flip(rows[..., 1::2], -1)], -1)
    found = 2 * lnp.real(fourier.fft(woven) * _turns(size, -1, rows))
    return lnp.moveaxis(found * _weights(size, rows) if norm == "ortho" else found, -1, axis)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """`scipy.fft.idct` of type 2: the inverse of `dct` with the same norm."""
    rows = _rows(x, type, n, axis, norm, "idct")
    size = rows.shape[-1]
    if norm == "ortho":
        rows = rows / _weights(size, rows)
    mirrored = lnp.concatenate([lnp.zeros_like(rows[..., :1]), lnp.flip(rows[..., 1:], -1)], -1)
    woven = lnp.real(fourier.ifft((rows - 1j * mirrored) * _turns(size, 1, rows))) / 2
    half = (size + 1) // 2
    places = np.empty(size, np.int64)
    places[::2], places[1::2] = np.arange(half), np.arange(size - 1, half - 1, -1)
    return lnp.moveaxis(lnp.take(woven, places, -1), -1, axis).astype(rows.dtype)


def _of_axes(one: Any, x: Any, type: int, s: Sequence[int] | None, axes: Any, norm: str | None) -> Any:
    x = lnp.asarray(x)
    chosen = range(x.ndim)[-len(s) :] if axes is None and s is not None else range(x.ndim) if axes is None else axes
    chosen = [chosen] if isinstance(chosen, int) else list(chosen)
    if s is not None and len(s) != len(chosen):
        raise ShapeError(f"{one.__name__}n needs a size for each axis, got {list(s)} for {chosen}")
    for k, axis in enumerate(chosen):
        x = one(x, type, None if s is None else s[k], axis, norm)
    return x


def dctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None) -> Any:
    """`scipy.fft.dctn`: `dct` along several axes."""
    return _of_axes(dct, x, type, s, axes, norm)


def idctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None) -> Any:
    """`scipy.fft.idctn`: `idct` along several axes."""
    return _of_axes(idct, x, type, s, axes, norm)

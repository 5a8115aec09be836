"""Fourier transforms, and the filters of spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....library import fft
from ....library.numpy import namespace as lnp
from ..errors import NeedsSize, OnnxError
from ..model import dtype_of
from ..nodes import Node, normalized, op
from ..values import known, scalar
from .shapes import int_or_size


def _complex(x: Any) -> Any:
    """Complex numbers of pairs in the last dim, or real ones of single elements there."""
    if x.shape[-1] == 1:
        return x[..., 0]
    return lnp.asarray(x[..., 0]) + 1j * lnp.asarray(x[..., 1])


def _pairs(z: Any, dtype: Any) -> Any:
    return lnp.stack([lnp.real(z), lnp.imag(z)], -1).astype(dtype)


@op("DFT")
def dft(node: Node, x: Any, length: Any = None, axis: Any = None) -> Any:
    d = node.get("axis", 1) if node.version < 20 else -2 if axis is None else int(scalar(axis, "the axis"))
    d = normalized(d, x.ndim)
    if d == x.ndim - 1:
        raise OnnxError("the last dim holds real and imaginary parts, and is not transformed")
    n = None if length is None else int_or_size(scalar(length, "the length"))
    z = _complex(x)
    one_sided, inverse = bool(node.get("onesided", 0)), bool(node.get("inverse", 0))
    if one_sided and inverse:
        return fft.irfft(z, n, axis=d)[..., None].astype(x.dtype)
    if inverse:
        return _pairs(fft.ifft(z, n, axis=d), x.dtype)
    return _pairs(fft.rfft(z, n, axis=d) if one_sided else fft.fft(z, n, axis=d), x.dtype)


@op("STFT")
def stft(node: Node, x: Any, step: Any, window: Any = None, length: Any = None) -> Any:
    """Transforms of windows of a signal, [batch, windows, frequencies, 2]."""
    by = int(scalar(step, "the step"))
    size = int(scalar(length, "the length")) if length is not None else window.shape[0]
    if not known(x.shape[1]):
        raise NeedsSize(f"the number of windows in {x.shape[1]} elements")
    count = (x.shape[1] - size) // by + 1
    index = np.arange(count)[:, None] * by + np.arange(size)
    z = _complex(x) if x.ndim == 3 else x
    frames = lnp.take(z, index, 1)
    frames = frames if window is None else frames * window
    made = fft.rfft(frames, axis=-1) if node.get("onesided", 1) and x.shape[-1] != 2 else fft.fft(frames, axis=-1)
    if node.get("onesided", 1):
        made = made[..., : size // 2 + 1]
    return _pairs(made, x.dtype)


@op("MelWeightMatrix")
def mel_weight_matrix(node: Node, bins: Any, length: Any, rate: Any, low: Any, high: Any) -> Any:
    """Triangles between frequencies that are equally far apart on the mel scale, [frequencies, bins]."""
    bins, length, rate = (int(scalar(v, "a size")) for v in (bins, length, rate))
    low, high = (float(scalar(v, "a frequency")) for v in (low, high))
    count = length // 2 + 1
    ends = [2595 * np.log10(1 + f / 700) for f in (low, high)]
    points = ends[0] + np.arange(bins + 2) * (ends[1] - ends[0]) / (bins + 2)
    edges = np.floor((length + 1) * (700 * (10 ** (points / 2595) - 1)) / rate).astype(int)
    made = np.zeros((count, bins))
    for i in range(bins):
        first, middle, last = edges[i : i + 3]
        if middle == first:
            made[middle, i] = 1
        else:
            made[first : middle + 1, i] = (np.arange(first, middle + 1) - first) / (middle - first)
        if last > middle:
            made[middle:last, i] = (last - np.arange(middle, last)) / (last - middle)
    return made.astype(dtype_of(node.get("output_datatype", 1), "the result"))

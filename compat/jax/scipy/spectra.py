"""Spectra of signals by segments (Welch, 1967), the short-time Fourier transform and its inverse (Griffin and Lim, 1984)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ....api.errors import ShapeError
from ....library import fft
from ....library.numpy import namespace as lnp

_COSINES = {
    "boxcar": (1.0,),
    "hann": (0.5, -0.5),
    "hamming": (0.54, -0.46),
    "blackman": (0.42, -0.5, 0.08),
    "nuttall": (0.3635819, -0.4891775, 0.1365995, -0.0106411),
}
"""Windows as sums of cosines: the factors of `cos(2 pi k i / n)`."""


def _window(window: Any, size: int | None) -> np.ndarray[Any, Any]:
    """The weights of a segment: a window by its name, periodic, or given ones."""
    if isinstance(window, str):
        if window not in _COSINES:
            raise ShapeError(f"a window is one of {', '.join(_COSINES)} or an array, got {window!r}")
        turns = 2 * np.pi * np.arange(256 if size is None else size) / (256 if size is None else size)
        return sum((c * np.cos(k * turns) for k, c in enumerate(_COSINES[window])), np.zeros_like(turns))
    weights = np.asarray(window, np.float64)
    if weights.ndim != 1 or (size is not None and len(weights) != size):
        raise ShapeError(f"a window has one weight for each of nperseg elements, got {list(weights.shape)} for {size}")
    return weights


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: None = None) -> Any:
    """`scipy.signal.detrend`: a signal minus its line of least squares, or minus its mean.

    Args:
        type: "linear" or "constant".
        bp: where the signal is broken: each part has a line of its own.

    Raises:
        ShapeError: another type, or a break outside of the signal.

    >>> import numpy as np, lamina as lm
    >>> abs(lm.scipy.signal.detrend(np.array([1.0, 3.0, 5.0]))).max() < 1e-14
    True
    """
    data = lnp.asarray(data)
    data = data if lnp.issubdtype(data.dtype, lnp.inexact) else data.astype(float)
    if type in ("constant", "c"):
        return data - data.mean(axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ShapeError(f'detrend takes the type "linear" or "constant", got {type!r}')
    rows = lnp.moveaxis(data, axis, -1)
    n = rows.shape[-1]
    ends = sorted({0, n, *np.atleast_1d(bp).tolist()})
    if ends[0] < 0 or ends[-1] > n:
        raise ShapeError(f"detrend breaks a signal of {n} elements within it, got {bp}")
    parts = []
    for start, stop in itertools.pairwise(ends):
        basis = np.linalg.qr(np.stack([np.ones(stop - start), np.arange(stop - start)], 1))[0]
        basis = lnp.asarray(basis[:, : max(1, min(2, stop - start))], rows.real.dtype)
        part = rows[..., start:stop]
        parts.append(part - (part @ basis) @ basis.T)
    return lnp.moveaxis(lnp.concatenate(parts, -1), -1, axis)


def _without_trend(rows: Any, how: Any) -> Any:
    if how is False:
        return rows
    return how(rows) if callable(how) else detrend(rows, type=how)


def _sizes(nperseg: int | None, noverlap: int | None, nfft: int | None, weights: Any) -> tuple[int, int, int]:
    segment = len(weights)
    overlap = segment // 2 if noverlap is None else noverlap
    points = segment if nfft is None else nfft
    if not 0 <= overlap < segment:
        raise ShapeError(f"segments of {segment} elements overlap by fewer, got noverlap {overlap}")
    if points < segment:
        raise ShapeError(f"a transform has at least the {segment} elements of a segment, got nfft {points}")
    return segment, overlap, points


def _transforms(x: Any, weights: Any, overlap: int, points: int, trend: Any, one_sided: bool) -> Any:
    """The transforms of segments along the last dim, `tensor[..., segments, frequencies]`."""
    segment = len(weights)
    starts = np.arange(0, x.shape[-1] - segment + 1, segment - overlap)
    segments = lnp.take(x, starts[:, None] + np.arange(segment), -1)
    weighted = _without_trend(segments, trend) * lnp.asarray(weights, x.real.dtype)
    return (fft.rfft if one_sided else fft.fft)(weighted, points)


def _signal(x: Any, axis: int) -> Any:
    x = lnp.asarray(x)
    return lnp.moveaxis(x if lnp.issubdtype(x.dtype, lnp.inexact) else x.astype(float), axis, -1)


def _is_one_sided(asked: bool, *signals: Any) -> bool:
    return asked and not any(lnp.issubdtype(x.dtype, lnp.complexfloating) for x in signals)


def _frequencies(points: int, fs: float, one_sided: bool) -> Any:
    return (fft.rfftfreq if one_sided else fft.fftfreq)(points, 1 / fs)


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """`scipy.signal.csd`: frequencies, and the cross spectrum of two signals, averaged over their segments.

    Raises:
        ShapeError: the lengths differ, or sizes of segments, overlaps and transforms do not fit.
    """
    a, b = _signal(x, axis), _signal(y, axis)
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(f"csd needs signals of one length, got {a.shape[-1]} and {b.shape[-1]}")
    given = isinstance(window, str)
    weights = _window(window, min(256 if nperseg is None else nperseg, a.shape[-1]) if given else nperseg)
    segment, overlap, points = _sizes(nperseg, noverlap, nfft, weights)
    if segment > a.shape[-1]:
        raise ShapeError(f"a signal of {a.shape[-1]} elements has no segment of {segment}")
    if scaling not in ("density", "spectrum"):
        raise ShapeError(f'scaling is "density" or "spectrum", got {scaling!r}')
    if average not in ("mean", "median"):
        raise ShapeError(f'average is "mean" or "median", got {average!r}')
    one_sided = _is_one_sided(return_onesided, a, b)
    found = [_transforms(s, weights, overlap, points, detrend, one_sided) for s in ((a,) if y is x else (a, b))]
    spectra = lnp.conj(found[0]) * found[-1]
    scale = 1 / (fs * float((weights**2).sum())) if scaling == "density" else 1 / float(weights.sum()) ** 2
    spectra = spectra * scale
    if one_sided:
        twice = np.full(spectra.shape[-1], 2.0)
        twice[0] = 1
        if points % 2 == 0:
            twice[-1] = 1
        spectra = spectra * lnp.asarray(twice, spectra.real.dtype)
    if average == "mean":
        spectrum = spectra.mean(-2)
    else:
        spectrum = _median(spectra)
    spectrum = lnp.real(spectrum) if y is x else spectrum
    return _frequencies(points, fs, one_sided), lnp.moveaxis(spectrum, -1, axis)


def _median(spectra: Any) -> Any:
    """Medians of real and imaginary parts, without the bias of a median of an exponential variable."""
    pairs = np.arange(2, spectra.shape[-2], 2)
    bias = 1 + (1 / (pairs + 1) - 1 / pairs).sum()
    return (lnp.median(spectra.real, -2) + 1j * lnp.median(spectra.imag, -2)) / bias


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """`scipy.signal.welch`: frequencies, and the power spectrum of a signal: `csd` with itself."""
    return csd(x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


_EDGES = {"zeros": "constant", "even": "reflect", "constant": "edge"}


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """`scipy.signal.stft`: frequencies, times of segments, and the transforms `tensor[..., frequencies, segments]`.

    Args:
        boundary: the padding of half a segment before and behind the signal: "zeros", "even", "constant", or None.
        padded: whether zeros make the last segment whole.

    Raises:
        ShapeError: another boundary, or sizes that do not fit.
    """
    rows = _signal(x, axis)
    weights = _window(window, min(nperseg, rows.shape[-1]) if isinstance(window, str) else nperseg)
    segment, overlap, points = _sizes(nperseg, noverlap, nfft, weights)
    if boundary is not None:
        if boundary not in _EDGES:
            raise ShapeError(f"boundary is one of {', '.join(_EDGES)} or None, got {boundary!r}")
        half = segment // 2
        rows = lnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(half, half)], mode=_EDGES[boundary])
    step = segment - overlap
    if padded:
        short = -(rows.shape[-1] - segment) % step
        rows = lnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, short)])
    one_sided = _is_one_sided(return_onesided, rows)
    found = _transforms(rows, weights, overlap, points, detrend, one_sided) / float(weights.sum())
    times = (np.arange(found.shape[-2]) * step + (0 if boundary is not None else segment / 2)) / fs
    placed = lnp.moveaxis(lnp.swapaxes(found, -1, -2), -2, axis - 1 if axis < 0 else axis)
    return _frequencies(points, fs, one_sided), lnp.asarray(times), placed


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """`scipy.signal.istft`: times, and the signal whose `stft` is nearest to the transforms by least squares.

    Raises:
        ShapeError: sizes that do not fit.
    """
    spectra = lnp.moveaxis(lnp.asarray(Zxx), (time_axis, freq_axis), (-2, -1))
    whole = 2 * (spectra.shape[-1] - 1) if input_onesided else spectra.shape[-1]
    weights = _window(window, whole if nperseg is None else nperseg)
    segment, overlap, points = _sizes(nperseg, noverlap, whole if nfft is None and nperseg is None else nfft, weights)
    step, count = segment - overlap, spectra.shape[-2]
    parts = (fft.irfft if input_onesided else fft.ifft)(spectra, points)[..., :segment]
    scaled = parts * lnp.asarray(weights * weights.sum(), parts.real.dtype)
    length = segment + (count - 1) * step
    places = (np.arange(count)[:, None] * step + np.arange(segment)).reshape(-1)
    total = lnp.zeros((*scaled.shape[:-2], length), scaled.dtype)
    total = total.at[..., places].add(scaled.reshape(*scaled.shape[:-2], -1))
    norm = np.bincount(places, np.tile(weights**2, count), length)
    half = segment // 2 if boundary else 0
    kept = slice(half, length - half)
    found = (total / lnp.asarray(np.where(norm > 1e-10, norm, 1.0), parts.real.dtype))[..., kept]
    times = lnp.asarray(np.arange(found.shape[-1]) / fs)
    return times, lnp.moveaxis(found, -1, min(time_axis % spectra.ndim, freq_axis % spectra.ndim))

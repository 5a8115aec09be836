"""`lamina.fft`: discrete Fourier transforms, with NumPy's names, arguments and conventions.

Complex transforms are the op `graph.fft`; those of real numbers are complex ones of half the length, those of several dims one
after the other. Results are complex64 of float32 and complex64, else complex128. Cost: O(n log n) for every n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api import Tracer, array_function, build, creation, full_like_tracer, lift, lift_as
from ..api.dtypes import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, canonical, is_complex_dtype, part_dtype
from ..api.errors import DTypeError, ShapeError
from ..api.ops import roots_of_unity
from ..api.sizes import Size, require_at_least
from ..names import public
from .numpy import namespace as lnp  # noqa: F401  operators of tracers call it
from .numpy.axes_and_shapes import normalize_axes, normalize_axis
from .numpy.complex_formulas import conjugate as complex_conjugate
from .numpy.complex_formulas import joined as complex_joined
from .numpy.complex_formulas import parts as complex_parts
from .numpy.create import arange, on_device
from .numpy.join import concatenate, roll
from .numpy.logic import where
from .numpy.pad import pad

__all__ = list(public("fft"))

_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in _OPPOSITE:
        raise ValueError(f"norm must be backward, ortho or forward, got {norm!r}")
    return norm


def _scaled(x: Tracer, n: int, norm: str, direction: str) -> Tracer:
    """The result of a transform times the factor of its norm; `n`: the number of terms."""
    if norm == "ortho":
        factor = 1 / math.sqrt(n)
    elif (norm == "forward") == (direction == "forward"):
        factor = 1 / n
    else:
        return x
    if not is_complex_dtype(x.dtype):
        return build("mul", x, full_like_tracer(x, factor))
    re, im = (build("mul", part, full_like_tracer(part, factor)) for part in complex_parts(x))
    return complex_joined(re, im)


def _as_complex(x: Any) -> Tracer:
    x = lift(x)
    if is_complex_dtype(x.dtype):
        return x
    return lift_as(x, COMPLEX64 if x.dtype == FLOAT32 else COMPLEX128)


def _as_real(x: Any, what: str) -> Tracer:
    x = lift(x)
    if is_complex_dtype(x.dtype):
        raise DTypeError(f"{what} takes real numbers, got {x.dtype}: use fft, or .real of them")
    return x if x.dtype == FLOAT32 else lift_as(x, FLOAT64)


def _fitted(x: Tracer, n: int | None, axis: int, what: str) -> Tracer:
    """A tensor cut, or continued with zeros, to `n` elements along a dim."""
    size = x.shape[axis]
    n = size if n is None else n if isinstance(n, Size) else int(n)
    if isinstance(n, Size):
        require_at_least(n, 1)
    elif n < 1:
        raise ShapeError(f"{what} needs at least one element along axis {axis}, got n={n}")
    if n < size:
        return _part(x, axis, 0, n)
    return pad(x, [(0, n - size if d == axis else 0) for d in range(x.ndim)]) if n > size else x


def _part(x: Tracer, axis: int, start: int, stop: int, step: int = 1) -> Tracer:
    return x[tuple(slice(start, stop, step) if d == axis else slice(None) for d in range(x.ndim))]


def _axis(x: Tracer, axis: int, what: str) -> int:
    if x.ndim == 0:
        raise ShapeError(f"{what} needs an array of at least one dim, got a number")
    return normalize_axis(axis, x.ndim)


def _transform(x: Tracer, n: int | None, axis: int, norm: str | None, direction: str, what: str) -> Tracer:
    norm, axis = _norm(norm), _axis(x, axis, what)
    x = _fitted(x, n, axis, what)
    return _scaled(build("fft", x, dim=axis, direction=direction), x.shape[axis], norm, direction)


@array_function
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """`np.fft.fft`: `y[k] = sum_j a[j] exp(-2 pi i j k / n)` along an axis.

    Args:
        a: an array; real numbers are converted to complex ones.
        n: elements along the axis: it is cut, or continued with zeros.
        axis: the axis.
        norm: "backward" (the inverse is divided by n), "forward" (this one is), or "ortho" (both, by its root).

    Raises:
        ShapeError: there is no element to transform.
        ValueError: there is no such norm.

    >>> import numpy as np, lamina as lm
    >>> lm.fft.fft(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _transform(_as_complex(a), n, axis, norm, "forward", "fft")


@array_function
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """`np.fft.ifft`: the inverse of `fft`."""
    return _transform(_as_complex(a), n, axis, norm, "inverse", "ifft")


# --------------------------------------------------------------------------------------------------------------------
# Real numbers


def _roots(n: int, count: int, axis: int, like: Tracer) -> Tracer:
    """The roots `exp(-2 pi i k / n)` for k < count, along an axis of tensors as `like`."""
    re, im = roots_of_unity(np.arange(count), n, "forward", part_dtype(like.dtype))
    shape = [count if d == axis else 1 for d in range(like.ndim)]
    values = np.empty(shape, like.dtype)
    values.real, values.imag = re.reshape(shape), im.reshape(shape)
    return lift(values)


def _mirrored(z: Tracer, axis: int) -> Tracer:
    """`conj(z[-k])` for all k, cyclically."""
    first, rest = _part(z, axis, 0, 1), _part(z, axis, 1, z.shape[axis])
    return complex_conjugate(lift(concatenate([first, build("reverse", rest, dims=(axis,))], axis)))


def _forward_real(x: Tracer, axis: int) -> Tracer:
    """Half of the transform of real numbers. Of an even length the numbers are the parts of half as many complex ones."""
    n = x.shape[axis]
    if isinstance(n, Size) or n % 2 or n < 4:
        z = build("fft", _as_complex(x), dim=axis, direction="forward")
        return _part(z, axis, 0, n // 2 + 1)
    half = n // 2
    z = build("fft", complex_joined(_part(x, axis, 0, n, 2), _part(x, axis, 1, n, 2)), dim=axis, direction="forward")
    z = lift(concatenate([z, _part(z, axis, 0, 1)], axis))
    back = complex_conjugate(build("reverse", z, dims=(axis,)))
    # transforms of the even numbers and of the odd ones, which stand together
    even, odd = (z + back) * 0.5, (z - back) * -0.5j
    return even + odd * _roots(n, half + 1, axis, z)


def _inverse_real(z: Tracer, n: int, axis: int) -> Tracer:
    """The real numbers, n times as large, whose half transform is `z`, of n // 2 + 1 elements."""
    if isinstance(n, Size) or n % 2 or n < 4:
        z = _without_imaginary_ends(z, n, axis)
        tail = complex_conjugate(build("reverse", _part(z, axis, 1, (n + 1) // 2), dims=(axis,)))
        return build("real", build("fft", lift(concatenate([z, tail], axis)), dim=axis, direction="inverse"))
    half = n // 2
    z = _without_imaginary_ends(z, n, axis)
    low, back = _part(z, axis, 0, half), complex_conjugate(build("reverse", _part(z, axis, 1, half + 1), dims=(axis,)))
    odd = (low - back) * complex_conjugate(_roots(n, half, axis, z))
    w = build("fft", (low + back) + odd * 1j, dim=axis, direction="inverse")
    shape = list(w.shape)
    pairs = build("as_pairs", w)
    # the parts one after the other along the axis
    perm = [*range(axis + 1), w.ndim, *range(axis + 1, w.ndim)]
    turned = build("transpose", pairs, perm=perm)
    shape[axis] = n
    return turned.reshape(tuple(shape))


def _without_imaginary_ends(z: Tracer, n: int, axis: int) -> Tracer:
    """Imaginary parts that must be 0 for a real result are ignored, as in NumPy."""
    if isinstance(n, Size):
        k = lift(arange(z.shape[axis]))
        places: Any = (k == 0) | ((k == z.shape[axis] - 1) & (lift(n) % 2 == 0))
    else:
        places = np.zeros(z.shape[axis], bool)
        places[0] = True
        if n % 2 == 0:
            places[-1] = True
    places = places.reshape([-1 if d == axis else 1 for d in range(z.ndim)])
    re, im = complex_parts(z)
    return complex_joined(re, lift_as(where(places, 0, im), re.dtype))


@array_function
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """`np.fft.rfft`: the first `n // 2 + 1` numbers of the transform of real numbers; the others are their conjugates.

    >>> import numpy as np, lamina as lm
    >>> lm.fft.rfft(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    x = _as_real(a, "rfft")
    norm, axis = _norm(norm), _axis(x, axis, "rfft")
    x = _fitted(x, n, axis, "rfft")
    return _scaled(_forward_real(x, axis), x.shape[axis], norm, "forward")


@array_function
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """`np.fft.irfft`: the inverse of `rfft`, real numbers; `n` is how many, `2 * (m - 1)` of m by default."""
    x = _as_complex(a)
    norm, axis = _norm(norm), _axis(x, axis, "irfft")
    n = 2 * (x.shape[axis] - 1) if n is None else n if isinstance(n, Size) else int(n)
    if isinstance(n, Size):
        require_at_least(n, 1)
    elif n < 1:
        raise ShapeError(f"irfft needs at least one element along axis {axis}, got n={n}")
    x = _fitted(x, n // 2 + 1, axis, "irfft")
    return _scaled(_inverse_real(x, n, axis), n, norm, "inverse")


@array_function
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """`np.fft.hfft`: the transform, real, of numbers whose other half is their conjugates."""
    return irfft(complex_conjugate(_as_complex(a)), n, axis, _OPPOSITE[_norm(norm)])


@array_function
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """`np.fft.ihfft`: the inverse of `hfft`."""
    return complex_conjugate(rfft(_as_real(a, "ihfft"), n, axis, _OPPOSITE[_norm(norm)]))


# --------------------------------------------------------------------------------------------------------------------
# Several dims


def _sizes_and_axes(x: Tracer, s: Any, axes: Any, what: str) -> tuple[list[int | None], tuple[int, ...]]:
    """The sizes along the axes, None for those that stay, and the axes."""
    if axes is None:
        axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    axes = tuple(_axis(x, axis, what) for axis in (axes if isinstance(axes, Sequence) else (axes,)))
    sizes: list[int | None] = [None] * len(axes) if s is None else [None if n is None or n == -1 else int(n) for n in s]
    if len(sizes) != len(axes):
        raise ShapeError(f"{what} needs a size for each axis, got {len(sizes)} sizes and {len(axes)} axes")
    return sizes, axes


def _several(a: Tracer, s: Any, axes: Any, norm: str | None, one: Callable[..., Any], what: str) -> Any:
    sizes, axes = _sizes_and_axes(a, s, axes, what)
    for n, axis in reversed(list(zip(sizes, axes, strict=True))):
        a = one(a, n, axis, norm)
    return a


@array_function
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """`np.fft.fftn`: the transform along several axes, all by default; `s` has the sizes."""
    return _several(_as_complex(a), s, axes, norm, fft, "fftn")


@array_function
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """`np.fft.ifftn`: the inverse of `fftn`."""
    return _several(_as_complex(a), s, axes, norm, ifft, "ifftn")


@array_function
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """`np.fft.rfftn`: of real numbers: `rfft` along the last axis, `fft` along the others."""
    x = _as_real(a, "rfftn")
    sizes, axes = _sizes_and_axes(x, s, axes, "rfftn")
    if not axes:
        raise ShapeError("rfftn needs at least one axis")
    y = rfft(x, sizes[-1], axes[-1], norm)
    return _several(y, sizes[:-1], axes[:-1], norm, fft, "rfftn")


@array_function
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """`np.fft.irfftn`: the inverse of `rfftn`."""
    x = _as_complex(a)
    sizes, axes = _sizes_and_axes(x, s, axes, "irfftn")
    if not axes:
        raise ShapeError("irfftn needs at least one axis")
    y = _several(x, sizes[:-1], axes[:-1], norm, ifft, "irfftn")
    return irfft(y, sizes[-1], axes[-1], norm)


def _of_two_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__

    def transform(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
        return function(a, s, axes, norm)

    transform.__name__ = transform.__qualname__ = f"{name[:-1]}2"
    transform.__doc__ = f"`np.fft.{name[:-1]}2`: `{name}` along two axes, the last ones by default."
    return array_function(transform)


fft2, ifft2, rfft2, irfft2 = map(_of_two_axes, (fftn, ifftn, rfftn, irfftn))


# --------------------------------------------------------------------------------------------------------------------
# Frequencies


@creation
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """`np.fft.fftfreq`: the frequencies of `fft`, `k / (n * d)`, those from n / 2 on negative."""
    on_device(device)
    return _frequencies([*range((n + 1) // 2), *range(-(n // 2), 0)], n, d, dtype)


@creation
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """`np.fft.rfftfreq`: the frequencies of `rfft`, `k / (n * d)`."""
    on_device(device)
    return _frequencies(range(n // 2 + 1), n, d, dtype)


def _frequencies(numbers: Sequence[int], n: int, d: float, dtype: Any) -> Tracer:
    wanted = FLOAT64 if dtype is None else canonical(dtype)
    if isinstance(d, Tracer):
        return lift_as(lift_as(np.asarray(numbers, np.float64), wanted) / (d * n), wanted)
    return lift(np.asarray(np.asarray(numbers) / (n * d), wanted))


@array_function
def fftshift(x: Any, axes: Any = None) -> Any:
    """`np.fft.fftshift`: the frequency 0 in the middle of each axis."""
    return _shifted(lift(x), axes, lambda n: n // 2)


@array_function
def ifftshift(x: Any, axes: Any = None) -> Any:
    """`np.fft.ifftshift`: the inverse of `fftshift`."""
    return _shifted(lift(x), axes, lambda n: -(n // 2))


def _shifted(x: Tracer, axes: Any, by: Callable[[int], int]) -> Any:
    chosen = normalize_axes(axes, x.ndim)
    return roll(x, [by(x.shape[axis]) for axis in chosen], chosen) if chosen else x

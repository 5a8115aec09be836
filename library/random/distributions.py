"""Random numbers of other distributions, each an expression of uniform ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, broadcast_tracer, build, full_like_tracer, lift, lift_as, operand
from ...api.dtypes import FLOAT64, INT32, INT64, canonical
from ...api.errors import DTypeError, ShapeError
from ...api.sizes import Size
from ..numpy.axes_and_shapes import iota, normalize_axis, reshape_tracer, slice_axis, static_shape
from ..numpy.bits import nextafter
from ..numpy.elementwise import compare, select
from ..numpy.index import take
from ..numpy.logic import clip
from ..numpy.reduce import argmax, sum
from ..numpy.scan import cumsum
from ..numpy.shape import moveaxis
from ..numpy.sort import sort_together, top_k
from .bits import UINT32, draws, float_dtype, randint, random_bits, sample_shape, split, uniform_floats


def _standard(draw: Callable[[Any, tuple[int, ...], np.dtype[Any]], Tracer], name: str, text: str) -> Callable[..., Any]:
    """A distribution without parameters."""

    def function(key: Any, shape: Any = (), dtype: Any = float) -> Any:
        return draw(key, static_shape(shape), float_dtype(dtype))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{text} `shape` are sizes, `dtype` is float32 or float64."
    return draws(function)


def _times(x: Tracer, factor: float) -> Tracer:
    return build("mul", x, full_like_tracer(x, factor))


def _log_of_rest(x: Tracer) -> Tracer:
    """`log(1 - x)`"""
    return build("log1p", build("neg", x))


def _normal(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    least = np.nextafter(dtype.type(-1), dtype.type(0))
    return _times(build("erf_inv", uniform_floats(key, shape, dtype, least, dtype.type(1))), math.sqrt(2))


def _exponential(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    return build("neg", _log_of_rest(uniform_floats(key, shape, dtype)))


def _positive(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    """Uniform numbers that are not 0."""
    return uniform_floats(key, shape, dtype, np.finfo(dtype).tiny, dtype.type(1))


def _gumbel(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], mode: str | None = None) -> Tracer:
    if not _is_high(mode):
        return build("neg", build("log", build("neg", build("log", _positive(key, shape, dtype)))))
    facts = np.finfo(dtype)
    high, low = _pair(key, shape, dtype)
    rest = _times(low, 2.0**-facts.nmant)
    x = select(
        compare("ge", high, full_like_tracer(high, 0.5)),
        high,
        build("add", build("add", high, rest), full_like_tracer(high, float(facts.tiny))),
    )
    return build("neg", build("log", build("neg", _log_of_rest(x))))


def _is_high(mode: str | None) -> bool:
    """Whether twice as many random bits are requested."""
    if mode not in (None, "low", "high"):
        raise ValueError(f"mode must be 'low' or 'high', got {mode!r}")
    return mode == "high"


def _pair(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Tracer]:
    """Two uniform numbers for each."""
    both = uniform_floats(key, (2, *shape), dtype)
    return [reshape_tracer(slice_axis(both, 0, k, k + 1), shape) for k in range(2)]


def _logistic(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    x = _positive(key, shape, dtype)
    return build("sub", build("log", x), _log_of_rest(x))


def _laplace(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    least = dtype.type(-1) + np.finfo(dtype).epsneg
    u = uniform_floats(key, shape, dtype, least, dtype.type(1))
    return build("mul", build("sign", u), _log_of_rest(build("abs", u)))


def _cauchy(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    u = uniform_floats(key, shape, dtype, np.finfo(dtype).eps, dtype.type(1))
    return build("tan", _times(build("sub", u, full_like_tracer(u, 0.5)), math.pi))


def _maxwell(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    x = _normal(key, (*shape, 3), dtype)
    return build("sqrt", sum(build("mul", x, x), -1))


normal = _standard(_normal, "normal", "Normal numbers of mean 0 and variance 1.")
exponential = _standard(_exponential, "exponential", "Exponential numbers of mean 1.")


@draws
def gumbel(key: Any, shape: Any = (), dtype: Any = float, mode: str | None = None) -> Any:
    """Gumbel numbers, of density `exp(-(x + exp(-x)))`; with `mode="high"` of twice as many random bits."""
    return _gumbel(key, static_shape(shape), float_dtype(dtype), mode)


logistic = _standard(_logistic, "logistic", "Logistic numbers, whose distribution function is the sigmoid.")
laplace = _standard(_laplace, "laplace", "Laplace numbers, of density `exp(-|x|) / 2`.")
cauchy = _standard(_cauchy, "cauchy", "Cauchy numbers, of density `1 / (pi (x^2 + 1))`.")
maxwell = _standard(_maxwell, "maxwell", "Maxwell numbers: lengths of normal vectors of three dims.")


# --------------------------------------------------------------------------------------------------------------------
# With parameters, by which results can be differentiated


def _parameters(shape: Any, dtype: Any, *values: Any) -> tuple[tuple[int, ...], np.dtype[Any], list[Tracer]]:
    """The shape of a sample, its dtype, and parameters spread over it."""
    dtype = float_dtype(dtype)
    tracers = [lift_as(operand(v), dtype) for v in values]
    shape = sample_shape(shape, *(t.shape for t in tracers))
    return shape, dtype, [broadcast_tracer(t, shape) for t in tracers]


@draws
def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Normal numbers in (lower, upper)."""
    shape, dtype, (low, high) = _parameters(shape, dtype, lower, upper)
    root = full_like_tracer(low, math.sqrt(2))
    ends = [build("erf", build("div", x, root)) for x in (low, high)]
    x = build("mul", root, build("erf_inv", uniform_floats(key, shape, dtype, *ends)))
    return clip(x, nextafter(low, math.inf), nextafter(high, -math.inf))


@draws
def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = float) -> Any:
    """`exp(sigma x)` of normal numbers."""
    shape, dtype, (sigma,) = _parameters(shape, dtype, sigma)
    return build("exp", build("mul", _normal(key, shape, dtype), sigma))


@draws
def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Pareto numbers, of density `b / x^(b + 1)` from 1 on."""
    shape, dtype, (b,) = _parameters(shape, dtype, b)
    return build("exp", build("div", _exponential(key, shape, dtype), b))


@draws
def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Rayleigh numbers: lengths of normal vectors of two dims and a standard deviation."""
    shape, dtype, (scale,) = _parameters(shape, dtype, scale)
    return build("mul", scale, build("sqrt", _times(build("log", uniform_floats(key, shape, dtype)), -2)))


@draws
def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Weibull numbers, `scale x^(1 / concentration)` of exponential ones."""
    shape, dtype, (scale, concentration) = _parameters(shape, dtype, scale, concentration)
    power = build("div", full_like_tracer(concentration, 1), concentration)
    return build("mul", build("pow", _exponential(key, shape, dtype), power), scale)


@draws
def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Numbers of a density that rises from `left` to `mode` and falls to `right`."""
    shape, dtype, (left, mode, right) = _parameters(shape, dtype, left, mode, right)
    width, rise, fall = build("sub", right, left), build("sub", mode, left), build("sub", right, mode)
    u = uniform_floats(key, shape, dtype)
    rest = build("sub", full_like_tracer(u, 1), u)
    below = build("add", left, build("sqrt", build("mul", build("mul", u, width), rise)))
    above = build("sub", right, build("sqrt", build("mul", build("mul", rest, width), fall)))
    return select(compare("lt", u, build("div", rise, width)), below, above)


def _probability(p: Any) -> Tracer:
    p = lift(p)
    if p.dtype.kind != "f":
        raise DTypeError(f"a probability is a float, got {p.dtype}")
    return p


@draws
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low") -> Any:
    """Bools that are true with probability `p`; the dtype of `p` is that of the uniform numbers that are compared with it.

    With `mode="high"` twice as many random bits are used, for small probabilities.
    """
    p = _probability(p)
    shape = sample_shape(shape, p.shape)
    if _is_high(mode):
        first, second = _pair(key, shape, p.dtype)
        less = build("sub", broadcast_tracer(p, shape), first)
        return compare("lt", _times(second, 2.0 ** -np.finfo(p.dtype).nmant), less)
    return compare("lt", uniform_floats(key, shape, p.dtype), broadcast_tracer(p, shape))


@draws
def rademacher(key: Any, shape: Any = (), dtype: Any = int) -> Any:
    """-1 or 1, equally likely."""
    heads = lift_as(bernoulli(key, 0.5, shape), canonical(dtype))
    return build("sub", _times(heads, 2), full_like_tracer(heads, 1))


@draws
def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = int) -> Any:
    """How many trials of probability `p` the first success takes, from 1."""
    p = _probability(p)
    shape = sample_shape(shape, p.shape)
    u = uniform_floats(key, shape, p.dtype)
    one = full_like_tracer(u, 1)
    u = select(compare("eq", u, full_like_tracer(u, 0)), one, u)
    failures = build("floor", build("div", build("log", u), _log_of_rest(broadcast_tracer(p, shape))))
    return lift_as(build("add", failures, one), canonical(dtype))


# --------------------------------------------------------------------------------------------------------------------
# Choices


@draws
def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True, mode: str | None = None) -> Any:
    """Indices along an axis, each as likely as `softmax(logits)` says.

    Args:
        key: uint32[2].
        logits: float array, unnormalized logarithms of probabilities.
        axis: of the categories.
        shape: of the result; its last dims are those of `logits` without the axis.
        replace: whether an index may be drawn again; if not, those of the first dims of the shape all differ.
        mode: "high" for twice as many random bits.
    """
    logits = lift(logits)
    logits = logits if logits.dtype.kind == "f" else lift_as(logits, FLOAT64)
    axis = normalize_axis(axis, logits.ndim)
    batch = logits.shape[:axis] + logits.shape[axis + 1 :]
    shape = batch if shape is None else static_shape(shape)
    first = len(shape) - len(batch)
    if first < 0 or shape[first:] != batch:
        raise ShapeError(f"the shape {list(shape)} must end in that of the logits without the axis, {list(batch)}")
    if not replace:
        count = math.prod(shape[:first])
        if count > logits.shape[axis]:
            raise ShapeError(f"{count} are to be drawn from {logits.shape[axis]} categories without replacement")
        noisy = moveaxis(build("add", logits, _gumbel(key, logits.shape, logits.dtype, mode)), axis, -1)
        return reshape_tracer(lift_as(moveaxis(top_k(noisy, count)[1], -1, 0), INT32), shape)
    drawn = (*shape[:first], *logits.shape)
    return argmax(build("add", _gumbel(key, drawn, logits.dtype, mode), broadcast_tracer(logits, drawn)), first + axis)


@draws
def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """The slices of an array along an axis, or the numbers below `x`, in random order.

    Args:
        key: uint32[2].
        x: an array, or an integer `n` for `arange(n)`.
        independent: each row along the axis in an order of its own.

    >>> import lamina as lm
    >>> lm.random.permutation(lm.random.key(0), 5)
    array([4, 3, 2, 0, 1])
    """
    if isinstance(x, int | Size):
        return _shuffled(key, iota((x,), 0, INT64), 0)
    x = lift(x)
    axis = normalize_axis(axis, x.ndim)
    if independent or x.ndim == 1:
        return _shuffled(key, x, axis)
    return take(x, _shuffled(key, iota((x.shape[axis],), 0, INT64), 0), axis)


_MOST_ROUNDS = 3
"""Rounds of `_shuffled` for up to 2^32 elements: all of them where a call alone knows how many there are."""


def _shuffled(key: Any, x: Tracer, axis: int) -> Tracer:
    """Sorted by random keys, so often that equal ones hardly matter: the rounds distinguish more than the cube of the size."""
    size: Any = x.size
    is_open = isinstance(size, Size)
    rounds = _MOST_ROUNDS if is_open else math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))
    for k in range(rounds):
        key, mine = (take(split(key), k, 0) for k in range(2))
        _, shuffled = sort_together([random_bits(mine, x.shape, UINT32)], [x], axis)
        if is_open and k:
            needed = compare("gt", lift_as(size, INT64), full_like_tracer(lift_as(size, INT64), int((2**32 - 1) ** (k / 3))))
            shuffled = select(broadcast_tracer(needed, x.shape), shuffled, x)
        x = shuffled
    return x


@draws
def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> Any:
    """Elements of an array, or numbers below `a`.

    Args:
        key: uint32[2].
        a: an array whose slices along the axis are chosen from, or an integer `n` for `arange(n)`.
        shape: how many, as sizes.
        p: their probabilities, f32 or f64 of one dim; equal ones by default.

    Raises:
        ShapeError: there is nothing to choose from, fewer elements than requested without replacement, or `p` has another size.
    """
    shape = static_shape(shape)
    among = None if isinstance(a, int | Size) else lift(a)
    axis = 0 if among is None else normalize_axis(axis, among.ndim)
    count: Any = a if among is None else among.shape[axis]
    if count <= 0 and math.prod(shape):
        raise ShapeError(f"nothing to choose from: the size is {count}")
    if not replace and count < math.prod(shape):
        raise ShapeError(f"{math.prod(shape)} are to be chosen from {count} without replacement")
    if replace:
        index = randint(key, shape, 0, count) if p is None else _weighted(key, shape, lift(p), count)
    else:
        index = reshape_tracer(_without_replacement(key, math.prod(shape), p, count), shape)
    return index if among is None else take(among, index, axis)


def _without_replacement(key: Any, n: int, p: Any, count: int) -> Tracer:
    """Numbers below `count`, all different: the first of a permutation, or those of the greatest `log(p)` and Gumbel noise."""
    if p is None:
        return slice_axis(_shuffled(key, iota((count,), 0, INT64), 0), 0, 0, n)
    p = _probabilities(lift(p), count)
    return top_k(gumbel(key, (count,), p.dtype) + build("log", p), n)[1]


def _probabilities(p: Tracer, count: int) -> Tracer:
    if p.shape != (count,):
        raise ShapeError(f"p must have one probability for each of {count} choices, got shape {list(p.shape)}")
    return p if p.dtype.kind == "f" else lift_as(p, FLOAT64)


def _weighted(key: Any, shape: tuple[int, ...], p: Tracer, count: int) -> Tracer:
    p = _probabilities(p, count)
    ends = cumsum(p)
    u = uniform_floats(key, shape, p.dtype)
    total = broadcast_tracer(reshape_tracer(slice_axis(ends, 0, count - 1, count), ()), shape)
    drawn = build("mul", total, build("sub", full_like_tracer(u, 1), u))
    table = (*shape, count)
    passed = compare("lt", broadcast_tracer(ends, table), broadcast_tracer(reshape_tracer(drawn, (*shape, 1)), table))
    return sum(lift_as(passed, INT64), -1)

"""`lamina.lax`: the names of jax.lax, over the functions of `lamina.numpy`; dtypes promote as there."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError
from . import lax_linalg as linalg
from . import lnp, lnp_bits
from .autodiff import stop_gradient
from .batching import vmap
from .conditional import cond, switch, while_loop
from .control import fori_loop, scan
from .eager import api
from .elementwise import compare
from .elementwise import select as select_of
from .lnp_contract import contract
from .lnp_create import arange, full, full_like
from .lnp_join import concatenate
from .lnp_math import power as pow
from .lnp_shape import expand_dims, reshape, squeeze, transpose
from .lnp_sort import sort_together
from .lnp_sort import top_k as lnp_top_k
from .moves import (
    broadcast_tracer,
    nonnegative,
    normalize_axis,
    reshape_tracer,
    reverse_tracer,
    slice_axis,
    slice_tracer,
    static_int,
    static_shape,
)
from .nn import erf
from .nn import sigmoid as logistic
from .promotion import canonical
from .pytree import flatten
from .special import digamma, erfc, polygamma, zeta
from .special import erfinv as erf_inv
from .special import gammaln as lgamma
from .special import i0e as bessel_i0e
from .special import i1e as bessel_i1e
from .tracer import Tracer
from .tracing import build, current, lift, lift_as

_RENAMED = {
    "abs": "abs", "acos": "arccos", "acosh": "arccosh", "add": "add", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "bitwise_and": "bitwise_and", "bitwise_not": "bitwise_not",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "cbrt": "cbrt", "ceil": "ceil", "cos": "cos", "cosh": "cosh",
    "eq": "equal", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "floor": "floor", "ge": "greater_equal", "gt": "greater",
    "broadcast_shapes": "broadcast_shapes", "conj": "conjugate", "dynamic_slice": "dynamic_slice",
    "dynamic_update_slice": "dynamic_update_slice", "imag": "imag", "is_finite": "isfinite", "le": "less_equal", "log": "log",
    "log1p": "log1p", "lt": "less", "max": "maximum", "min": "minimum", "mul": "multiply", "ne": "not_equal",
    "neg": "negative", "nextafter": "nextafter", "population_count": "bitwise_count", "real": "real", "rem": "fmod",
    "round": "round", "shift_left": "left_shift", "shift_right_arithmetic": "right_shift", "sign": "sign", "sin": "sin",
    "sinh": "sinh", "sqrt": "sqrt", "square": "square", "stack": "stack", "sub": "subtract", "tan": "tan", "tanh": "tanh",
    "tile": "tile", "unstack": "unstack",
}  # fmt: skip
"""Functions of `lamina.numpy` under jax.lax's names."""
globals().update({name: getattr(lnp, of) for name, of in _RENAMED.items()})

__all__ = [
    *_RENAMED,
    "argmax", "argmin", "associative_scan", "batch_matmul", "bessel_i0e", "bessel_i1e", "bitcast_convert_type", "broadcast",
    "broadcast_in_dim", "broadcasted_iota", "clamp", "collapse", "complex", "concatenate", "cond", "convert_element_type",
    "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "digamma", "div", "dot", "dot_general", "dynamic_index_in_dim",
    "dynamic_slice_in_dim", "dynamic_update_index_in_dim", "dynamic_update_slice_in_dim", "erf", "erf_inv", "erfc",
    "expand_dims", "fori_loop", "full", "full_like", "index_in_dim", "integer_pow", "iota", "lgamma", "linalg", "logistic",
    "map", "pad", "polygamma", "pow", "reciprocal", "reduce", "reduce_and", "reduce_max", "reduce_min", "reduce_or",
    "reduce_precision", "reduce_prod", "reduce_sum", "reshape", "rev", "rsqrt", "scan", "select", "select_n",
    "shift_right_logical", "slice", "slice_in_dim", "sort", "sort_key_val", "split", "squeeze", "stop_gradient", "switch",
    "top_k", "transpose", "while_loop", "zeta",
]  # fmt: skip


# --------------------------------------------------------------------------------------------------------------------
# Elementwise


@api
def complex(x: Any, y: Any) -> Any:
    """`jax.lax.complex`: complex numbers of their real and imaginary parts, broadcast."""
    x, y = lift(x), lift(y)
    dtype = np.result_type(np.float32 if x.dtype == y.dtype == np.float32 else np.float64)
    shape = np.broadcast_shapes(x.shape, y.shape)
    return build("complex", *(broadcast_tracer(lift_as(part, dtype), shape) for part in (x, y)))


@api
def div(x: Any, y: Any) -> Any:
    """`x / y`; of integers the quotient toward zero."""
    a, b = lift(x), lift(y)
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        return lnp.divide(x, y)
    dtype = lnp.result_type(x, y)
    a, b = lnp.broadcast_arrays(lift_as(x, dtype), lift_as(y, dtype))
    return build("div", a, b)


@api
def rsqrt(x: Any) -> Any:
    """`1 / sqrt(x)`."""
    return build("rsqrt", lift(x))


@api
def reciprocal(x: Any) -> Any:
    """`1 / x`."""
    return lnp.reciprocal(x)


def integer_pow(x: Any, y: int) -> Any:
    """`x ** y` for a number `y`."""
    return pow(x, static_int(y, "y"))


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of `operand` as another dtype of its width."""
    return lnp_bits.view(operand, new_dtype)


@api
def shift_right_logical(x: Any, y: Any) -> Any:
    """`x >> y` with zeros from the left."""
    a, b = lift(x), lift(y)
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    return lnp_bits.bitcast(lnp.right_shift(lnp_bits.bitcast(a, unsigned), lnp_bits.bitcast(b, unsigned)), a.dtype)


@api
def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """`operand` rounded to floats of fewer bits, to nearest even: infinite where too large, a zero where too small.

    Raises:
        DTypeError: `operand` is not float.
        ShapeError: fewer than one bit of exponent, or a negative number of bits.
    """
    x = lift(operand)
    if x.dtype.kind != "f":
        raise DTypeError(f"reduce_precision takes floats, got {x.dtype}")
    exponent, mantissa = static_int(exponent_bits, "exponent_bits"), static_int(mantissa_bits, "mantissa_bits")
    if exponent < 1 or mantissa < 0:
        raise ShapeError(f"reduce_precision needs exponent_bits >= 1 and mantissa_bits >= 0, got {exponent}, {mantissa}")
    facts, integer = np.finfo(x.dtype), np.dtype(f"i{x.dtype.itemsize}")
    bits = lnp_bits.bitcast(x, integer)
    if (drop := facts.nmant - mantissa) > 0:
        last = (bits >> drop) & 1
        bits = ((bits + (last + ((1 << (drop - 1)) - 1))) >> drop) << drop
    rounded = lnp_bits.bitcast(bits, x.dtype)
    if exponent < facts.nexp:
        least = 2.0 ** (2 - 2 ** (exponent - 1))
        most = (2.0 - 2.0**-mantissa) * 2.0 ** (2 ** (exponent - 1) - 1)
        size, sign = lnp.absolute(rounded), lnp.copysign(lnp.ones_like(x), x)
        rounded = lnp.where(size < least, sign * 0.0, lnp.where(size > most, sign * np.inf, rounded))
    return lnp.where(lnp.isfinite(x), rounded, x)


@api
def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """`operand` with the dims from `start_dimension` up to `stop_dimension` as one."""
    shape = lnp.shape(operand)
    first, last, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    return reshape(operand, (*shape[:first], int(np.prod(shape[first:last], dtype=int)), *shape[last:]))


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Parts of given sizes along a dim."""
    if sum(sizes) != lnp.shape(operand)[axis]:
        raise ShapeError(f"split sizes {list(sizes)} must add up to the size of dim {axis}, {lnp.shape(operand)[axis]}")
    return lnp.split(operand, np.cumsum(sizes)[:-1].tolist(), axis)


@api
def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` in another dtype."""
    return lift_as(operand, canonical(new_dtype))


@api
def clamp(min: Any, x: Any, max: Any) -> Any:
    """`x` limited to `[min, max]`, whose slope at a limit is that of the limit."""
    x = lift(x)
    low, high = (broadcast_tracer(lift_as(limit, x.dtype), x.shape) for limit in (min, max))
    y = select_of(compare("lt", x, low), low, x)
    return select_of(compare("gt", y, high), high, y)


@api
def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred` holds, else `on_false`."""
    return lnp.where(pred, on_true, on_false)


@api
def select_n(which: Any, *cases: Any) -> Any:
    """At each place the element of the case that a bool or an integer names; the nearest if there is none."""
    which = lift(which)
    index = lift_as(which, np.dtype(np.int64))
    y = cases[-1]
    for k in range(len(cases) - 2, -1, -1):
        y = lnp.where(index <= k, cases[k], y)
    return y


# --------------------------------------------------------------------------------------------------------------------
# Shapes


@api
def broadcast(operand: Any, sizes: Any) -> Any:
    """`operand` repeated along new dims in front."""
    x = lift(operand)
    return broadcast_tracer(x, (*nonnegative(static_shape(sizes)), *x.shape))


@api
def broadcast_in_dim(operand: Any, shape: Any, broadcast_dimensions: Any) -> Any:
    """`operand` repeated to a shape, in which its dims stand at `broadcast_dimensions`.

    Raises:
        ShapeError: there is not one place a dim, or a size fits no place.
    """
    x, sizes, places = lift(operand), nonnegative(static_shape(shape)), static_shape(broadcast_dimensions)
    if len(places) != x.ndim or sorted(set(places)) != list(places):
        raise ShapeError(f"broadcast_in_dim needs increasing places for {x.ndim} dims, got {list(places)}")
    own = {place: n for place, n in zip(places, x.shape, strict=True)}
    return broadcast_tracer(reshape_tracer(x, tuple(own.get(k, 1) for k in range(len(sizes)))), sizes)


@api
def rev(operand: Any, dimensions: Any) -> Any:
    """`operand` reversed along dims."""
    x = lift(operand)
    return reverse_tracer(x, [normalize_axis(d, x.ndim) for d in dimensions])


@api
def slice(operand: Any, start_indices: Any, limit_indices: Any, strides: Any = None) -> Any:
    """`operand[start:limit:stride]` along all dims.

    Raises:
        ShapeError: not one number a dim, or a limit beyond the end.
    """
    x, start, limit = lift(operand), static_shape(start_indices), static_shape(limit_indices)
    steps = (1,) * x.ndim if strides is None else static_shape(strides)
    if not len(start) == len(limit) == len(steps) == x.ndim:
        raise ShapeError(f"slice needs a start, a limit and a stride for each of {x.ndim} dims")
    for d, n in enumerate(x.shape):
        if not 0 <= start[d] <= limit[d] <= n or steps[d] < 1:
            raise ShapeError(f"slice [{start[d]}:{limit[d]}:{steps[d]}] does not fit dim {d} of {list(x.shape)}")
    return slice_tracer(x, start, limit, steps)


@api
def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Any:
    """`operand[start:limit:stride]` along one dim; negative limits count from the end."""
    x = lift(operand)
    dim = normalize_axis(axis, x.ndim)
    start, stop, step = builtins.slice(start_index, limit_index, stride).indices(x.shape[dim])
    return slice_axis(x, dim, start, builtins.max(start, stop), step)


@api
def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The slice at a known index of a dim."""
    x = lift(operand)
    dim = normalize_axis(axis, x.ndim)
    k = normalize_axis(index, x.shape[dim])
    y = slice_axis(x, dim, k, k + 1)
    return y if keepdims else squeeze(y, dim)


def _block(operand: Any, axis: int, start: Any) -> tuple[Tracer, int, list[Any]]:
    x = lift(operand)
    dim = normalize_axis(axis, x.ndim)
    return x, dim, [start if d == dim else 0 for d in range(x.ndim)]


@api
def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """`slice_size` elements along a dim from a start on that may be traced, moved so that they are inside."""
    x, dim, starts = _block(operand, axis, start_index)
    return lnp.dynamic_slice(x, starts, [slice_size if d == dim else n for d, n in enumerate(x.shape)])


@api
def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """The slice at an index of a dim that may be traced."""
    y = dynamic_slice_in_dim(operand, index, 1, axis)
    return y if keepdims else squeeze(y, axis)


@api
def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """`operand` with a block along a dim replaced, from a start on that may be traced."""
    x, _, starts = _block(operand, axis, start_index)
    return lnp.dynamic_update_slice(x, update, starts)


@api
def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int) -> Any:
    """`operand` with the slice at an index of a dim replaced."""
    x, u = lift(operand), lift(update)
    return dynamic_update_slice_in_dim(x, u if u.ndim == x.ndim else expand_dims(u, axis), index, axis)


@api
def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """`operand` with elements before, after and between its own along each dim: triples `(low, high, interior)`.

    Negative `low` and `high` take elements away.
    """
    x = lift(operand)
    if len(padding_config) != x.ndim:
        raise ShapeError(f"pad needs a triple for each of {x.ndim} dims, got {len(padding_config)}")
    low, high, interior = ([int(triple[k]) for triple in padding_config] for k in range(3))
    trace = current()
    assert trace is not None
    value = reshape_tracer(lift_as(padding_value, x.dtype), ())
    return trace.wrap(trace.builder.pad(x.value, value.value, low=low, high=high, interior=interior))


def iota(dtype: Any, size: int) -> Any:
    """The numbers from 0 to `size - 1`."""
    return arange(size, dtype=dtype)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int) -> Any:
    """The index along a dim at each place."""
    sizes = static_shape(shape)
    return broadcast_in_dim(arange(sizes[dimension], dtype=dtype), sizes, (dimension,))


# --------------------------------------------------------------------------------------------------------------------
# Products


@api
def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums of products over paired dims: `((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))`.

    Dims of the result: batch, the rest of `lhs`, the rest of `rhs`. `precision` says nothing: products are never rounded.
    """
    over, batch = dimension_numbers
    dtype = lnp.result_type(lhs, rhs) if preferred_element_type is None else canonical(preferred_element_type)
    return contract(lift_as(lhs, dtype), lift_as(rhs, dtype), over, batch)


def dot(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """The product of vectors and matrices."""
    return lnp.dot(lhs, rhs)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Products of stacks of matrices."""
    return lnp.matmul(lhs, rhs)


# --------------------------------------------------------------------------------------------------------------------
# Reductions


def _reduction(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def reduction(operand: Any, axes: Any) -> Any:
        x = lift(operand)
        return lift_as(function(x, tuple(axes)), x.dtype)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"`lamina.numpy.{function.__name__}` over axes, in the dtype of the operand."
    return api(reduction)


reduce_sum, reduce_prod = _reduction("reduce_sum", lnp.sum), _reduction("reduce_prod", lnp.prod)
reduce_max, reduce_min = _reduction("reduce_max", lnp.max), _reduction("reduce_min", lnp.min)
reduce_and, reduce_or = _reduction("reduce_and", lnp.all), _reduction("reduce_or", lnp.any)

_MONOIDS = {
    lnp.add: lnp.sum, lnp.multiply: lnp.prod, lnp.maximum: lnp.max, lnp.minimum: lnp.min, lnp.bitwise_and: lnp.all,
    lnp.bitwise_or: lnp.any, lnp.logical_and: lnp.all, lnp.logical_or: lnp.any,
}  # fmt: skip
"""The computations that `reduce` knows, each with its reduction."""


def reduce(operand: Any, init_value: Any, computation: Callable[..., Any], dimensions: Any) -> Any:
    """All elements along dims combined by `add`, `mul`, `max`, `min`, `bitwise_and` or `bitwise_or` (the last two of bools).

    Raises:
        ShapeError: another computation: use `scan`.
    """
    function = _MONOIDS.get(computation)
    if function is None:
        names = "add, mul, max, min, bitwise_and, bitwise_or"
        raise ShapeError(f"reduce knows the computations {names}, got {computation!r:.60}: use scan")
    return computation(_reduced(operand, function, tuple(dimensions)), init_value)


@api
def _reduced(operand: Any, function: Any, dims: tuple[int, ...]) -> Any:
    x = lift(operand)
    if function in (lnp.max, lnp.min) and 0 in (x.shape[normalize_axis(d, x.ndim)] for d in dims):
        infinite = x.dtype.kind == "f"
        limits = (-np.inf, np.inf) if infinite else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
        return function(x, dims, initial=limits[function is lnp.min])
    return lift_as(function(x, dims), x.dtype)


@api
def argmax(operand: Any, axis: int, index_dtype: Any = np.int64) -> Any:
    """The index of the first greatest element along an axis."""
    return lift_as(lnp.argmax(operand, axis), canonical(index_dtype))


@api
def argmin(operand: Any, axis: int, index_dtype: Any = np.int64) -> Any:
    """The index of the first least element along an axis."""
    return lift_as(lnp.argmin(operand, axis), canonical(index_dtype))


def _cumulative(name: str) -> Callable[..., Any]:
    function = getattr(lnp, name)

    def cumulative(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        x = lift(operand)
        return lift_as(function(x, axis, reverse=reverse), x.dtype)

    cumulative.__name__ = cumulative.__qualname__ = name
    cumulative.__doc__ = f"`lamina.numpy.{name}` along an axis, in the dtype of the operand."
    return api(cumulative)


cumsum, cumprod, cummax, cummin = map(_cumulative, ("cumsum", "cumprod", "cummax", "cummin"))


# --------------------------------------------------------------------------------------------------------------------
# Control


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` of each element along the first dim, one after the other, stacked; with `batch_size` of so many together (`vmap`).

    >>> import numpy as np, lamina as lm
    >>> lm.map(lambda x: x * x, np.float32([1, 2, 3]))
    array([1., 4., 9.], dtype=float32)
    """
    if batch_size is None:
        return scan(lambda carry, x: (carry, f(x)), (), xs)[1]
    if batch_size < 1:
        raise ValueError(f"map() batch_size must be at least 1, got {batch_size}")
    leaves, structure = flatten(xs)
    n = lnp.shape(leaves[0])[0] if leaves else 0
    whole = n - n % batch_size
    batches = [lnp.reshape(x[:whole], (whole // batch_size, batch_size, *lnp.shape(x)[1:])) for x in leaves]
    ys, of_ys = flatten(map(vmap(f), structure.unflatten(batches)))
    ys = [lnp.reshape(y, (whole, *lnp.shape(y)[2:])) for y in ys]
    if whole < n:
        rest = flatten(vmap(f)(structure.unflatten([x[whole:] for x in leaves])))[0]
        ys = [lnp.concatenate([y, r]) for y, r in zip(ys, rest, strict=True)]
    return of_ys.unflatten(ys)


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes of elements along an axis combined by an associative function, in a logarithmic number of calls.

    Args:
        fn: takes two trees of arrays (stacked along the axis) and returns one.
        elems: a tree of arrays of one size along the axis.
        reverse: combine from the end.
    """
    leaves, structure = flatten(elems)
    dims = [normalize_axis(axis, lnp.ndim(x)) for x in leaves]
    sizes = {lnp.shape(x)[d] for x, d in zip(leaves, dims, strict=True)}
    if len(sizes) != 1:
        raise ShapeError(f"associative_scan needs arrays of one size along axis {axis}, got {sorted(sizes)}")

    def part(xs: Sequence[Any], *limits: Any) -> list[Any]:
        chosen = builtins.slice(*limits)
        return [x[(builtins.slice(None),) * d + (chosen,)] for x, d in zip(xs, dims, strict=True)]

    def combine(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
        return flatten(fn(structure.unflatten(xs), structure.unflatten(ys)))[0]

    (n,) = sizes
    xs: list[Any] = [lnp.flip(x, d) if reverse else x for x, d in zip(leaves, dims, strict=True)]
    reach = 1
    while reach < n:  # after each round every element covers twice as many
        combined = combine(part(xs, 0, n - reach), part(xs, reach, n))
        kept = part(xs, 0, reach)
        xs = [lnp.concatenate([a, b], d) for a, b, d in zip(kept, combined, dims, strict=True)]
        reach *= 2
    return structure.unflatten([lnp.flip(x, d) if reverse else x for x, d in zip(xs, dims, strict=True)])


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """`log(cumsum(exp(x)))` along an axis, without overflow."""
    return associative_scan(lnp.logaddexp, operand, reverse, axis)


# --------------------------------------------------------------------------------------------------------------------
# Order


@api
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Elements in ascending order along a dim; of several arrays the first `num_keys` decide, and the others move along.

    Args:
        operand: an array, or a sequence of arrays of one shape.
        is_stable: every sort is.

    Raises:
        ShapeError: shapes differ, or there are fewer arrays than keys.
    """
    if not isinstance(operand, Sequence):
        return sort_together([lift(operand)], [], dimension)[0]
    arrays = [lift(x) for x in operand]
    if len({x.shape for x in arrays}) != 1 or not 1 <= num_keys <= len(arrays):
        shapes = [list(x.shape) for x in arrays]
        raise ShapeError(f"sort takes arrays of one shape, {num_keys} of them keys, got shapes {shapes}")
    return tuple(sort_together(arrays[:num_keys], arrays[num_keys:], dimension))


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Keys in ascending order along a dim, and values moved along."""
    return sort((keys, values), dimension, is_stable)


def top_k(operand: Any, k: int) -> tuple[Any, Any]:
    """The `k` greatest elements along the last dim, the greatest first, and their indices, as int32."""
    values, indices = lnp_top_k(operand, k)
    return values, indices.astype(np.int32)

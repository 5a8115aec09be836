"""`lamina.lax`: reductions by any function, of whole dims and of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ....api import Tracer, array_function, broadcast_tracer, build, lift, lift_as
from ....api.dtypes import BOOL
from ....api.errors import DTypeError, ShapeError
from ....api.functions import each_call, function_name, vmap
from ....api.sizes import dilated_size
from ....api.sizes import windows as conv_windows
from ....api.tracing import here
from ....api.trees import TreeDef
from ....api.trees import flatten as tree_flatten
from ....library.numpy import namespace as lnp
from ....library.numpy.axes_and_shapes import (
    concat_tracers,
    normalize_axes,
    reshape_tracer,
    slice_axis,
    slice_tracer,
    static_shape,
    transpose_tracer,
)
from .conv import padtype_to_pads

_KINDS: dict[Any, str] = {
    lnp.add: "add", lnp.multiply: "mul", lnp.maximum: "max", lnp.minimum: "min", lnp.bitwise_and: "and",
    lnp.bitwise_or: "or", lnp.logical_and: "and", lnp.logical_or: "or",
}  # fmt: skip
"""The functions that are monoids of `graph.reduce`."""


def _kind(computation: Any, dtype: np.dtype[Any]) -> str | None:
    """The monoid that a function is of a dtype; None for others."""
    kind = _KINDS.get(computation) if getattr(computation, "__hash__", None) else None
    if dtype.kind == "b":
        return {"add": "or", "max": "or", "mul": "and", "min": "and"}.get(kind or "", kind)
    return None if kind in ("and", "or") else kind


def _identity(kind: str, dtype: np.dtype[Any]) -> Any:
    if kind in ("add", "or"):
        return dtype.type(0)
    if kind in ("mul", "and"):
        return dtype.type(1)
    if dtype.kind == "f":
        return dtype.type(-np.inf if kind == "max" else np.inf)
    return np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max


def _reduction(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def reduction(operand: Any, axes: Any) -> Any:
        x = lift(operand)
        return lift_as(function(x, tuple(axes)), x.dtype)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"`lamina.numpy.{function.__name__}` over axes, in the dtype of the operand."
    return array_function(reduction)


reduce_sum, reduce_prod = _reduction("reduce_sum", lnp.sum), _reduction("reduce_prod", lnp.prod)
reduce_and, reduce_or = _reduction("reduce_and", lnp.all), _reduction("reduce_or", lnp.any)


def _extreme(name: str, kind: str) -> Callable[..., Any]:
    def reduction(operand: Any, axes: Any) -> Any:
        x = lift(operand)
        return _by_monoid(x, _kind(_OF_KIND[kind], x.dtype) or kind, tuple(axes))

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"The {kind}imum over axes; of no elements what no element is beyond."
    return array_function(reduction)


_OF_KIND = {"max": lnp.maximum, "min": lnp.minimum}
reduce_max, reduce_min = _extreme("reduce_max", "max"), _extreme("reduce_min", "min")


def reduce_xor(operand: Any, axes: Any) -> Any:
    """Bits that are set in an odd number of elements along axes; of integers and bools."""
    return reduce(operand, np.zeros((), lnp.result_type(operand)), lnp.bitwise_xor, axes)


def _by_monoid(x: Tracer, kind: str, dims: Sequence[int]) -> Tracer:
    dims = normalize_axes(tuple(dims), x.ndim)
    return build("reduce", x, kind=kind, dims=dims) if dims else x


def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Any) -> Any:
    """`jax.lax.reduce`: all elements along dims combined by a function; of several arrays those at one index.

    `add`, `mul`, `max` and `min` (of bools also `bitwise_and` and `bitwise_or`) are one op. Another function is traced once for
    each halving of the elements, and combines neighbours, in their order.

    Args:
        operands: an array, or a tree of arrays of one shape.
        init_values: a tree of scalars: the neutral element of the function.
        computation: associative, of two trees of scalars as `init_values`, to one more.
        dimensions: the dims that are reduced.

    Raises:
        ShapeError: the shapes differ, or the function returns no tree of scalars like `init_values`.

    >>> import numpy as np, lamina as lm
    >>> def later(a, b):  # the greatest, and where it is
    ...     first = a[0] >= b[0]
    ...     return lm.numpy.where(first, a[0], b[0]), lm.numpy.where(first, a[1], b[1])
    >>> lm.lax.reduce((np.float32([3, 7, 5]), np.arange(3)), (np.float32(-np.inf), np.int64(0)), later, (0,))
    (array(7., dtype=float32), array(1))
    """
    leaves, structure = tree_flatten(operands)
    inits, of_inits = tree_flatten(init_values)
    if of_inits != structure or not leaves:
        raise ShapeError(f"reduce needs one initial value for each operand, got {structure} and {of_inits}")
    dims = tuple(dimensions)
    kind = _kind(computation, lnp.result_type(leaves[0])) if structure.kind is None else None
    if kind is not None:
        return _whole(operands, init_values, kind, dims)
    combine = _Combine(computation, structure, "reduce")

    def transformed(*given: Any) -> Any:
        arrays, starts = _same_shapes("reduce", given, len(leaves))
        axes = normalize_axes(dims, arrays[0].ndim)
        kept = [d for d in range(arrays[0].ndim) if d not in axes]
        rest = tuple(arrays[0].shape[d] for d in kept)
        size = prod(arrays[0].shape[d] for d in axes)
        rows = [reshape_tracer(transpose_tracer(x, [*kept, *axes]), (*rest, size)) for x in arrays]
        initial = [broadcast_tracer(s, rest) for s in starts]
        if not size:
            return structure.unflatten(initial)
        while size > 1:
            half = size // 2
            pairs = [[slice_axis(x, len(rest), k, 2 * half, 2) for x in rows] for k in range(2)]
            rest_of = [slice_axis(x, len(rest), 2 * half, size) for x in rows]
            combined = combine(*pairs)
            rows = [concat_tracers([y, r], len(rest)) if size % 2 else y for y, r in zip(combined, rest_of, strict=True)]
            size = half + size % 2
        return structure.unflatten(combine(initial, [reshape_tracer(x, rest) for x in rows]))

    return each_call(transformed, f"reduce_{function_name(computation)}", computation)(*leaves, *inits)


@array_function
def _whole(operand: Any, init: Any, kind: str, dims: tuple[int, ...]) -> Any:
    x = lift(operand)
    y = _by_monoid(x, kind, dims)
    return build(kind, y, broadcast_tracer(lift_as(init, x.dtype), y.shape))


def _same_shapes(what: str, given: Sequence[Any], n: int) -> tuple[list[Tracer], list[Tracer]]:
    """Operands of one shape, and scalars of their dtypes."""
    arrays = [lift(x) for x in given[:n]]
    if len({x.shape for x in arrays}) != 1:
        raise ShapeError(f"{what} needs operands of one shape, got {', '.join(str(list(x.shape)) for x in arrays)}")
    starts = [lift_as(s, x.dtype) for s, x in zip(given[n:], arrays, strict=True)]
    if any(s.ndim for s in starts):
        raise ShapeError(f"{what} needs initial values that are scalars, got shapes {[list(s.shape) for s in starts]}")
    return arrays, starts


class _Combine:
    """A function of two trees of scalars, on two lists of arrays."""

    def __init__(self, computation: Callable[[Any, Any], Any], structure: TreeDef, what: str):
        self.computation, self.structure, self.what = computation, structure, what

    def __call__(self, xs: Sequence[Tracer], ys: Sequence[Tracer]) -> list[Tracer]:
        shape, n = xs[0].shape, len(xs)
        if 0 in shape:
            return list(xs)

        def scalars(*given: Any) -> Any:
            out, structure = tree_flatten(
                self.computation(self.structure.unflatten(given[:n]), self.structure.unflatten(given[n:]))
            )
            if structure != self.structure or any(lnp.shape(y) for y in out):
                raise ShapeError(f"{self.what} needs a function that returns scalars like its arguments, got {structure}")
            return tuple(out)

        found = vmap(scalars)(*[reshape_tracer(x, (prod(shape),)) for x in (*xs, *ys)])
        return [reshape_tracer(lift_as(y, x.dtype), shape) for x, y in zip(xs, found, strict=True)]


# --------------------------------------------------------------------------------------------------------------------
# Windows


class _Slide:
    """How windows slide over arrays of a shape: sizes, strides, padding and both dilations, one entry for each dim."""

    def __init__(self, shape: Sequence[int], size: Any, strides: Any, padding: Any, holes: Any, dilation: Any):
        n = len(shape)
        self.size = static_shape(size)
        self.strides, self.holes, self.dilation = (
            (1,) * n if values is None else static_shape(values) for values in (strides, holes, dilation)
        )
        rows = {"window_dimensions": self.size, "window_strides": self.strides, "base_dilation": self.holes}
        for what, row in (*rows.items(), ("window_dilation", self.dilation)):
            if len(row) != n or any(k < 1 for k in row):
                raise ShapeError(f"{what} needs a number of at least 1 for each dim of {list(shape)}, got {list(row)}")
        wide = [dilated_size(k, by) for k, by in zip(shape, self.holes, strict=True)]
        spans = [dilated_size(k, by) for k, by in zip(self.size, self.dilation, strict=True)]
        self.pads = padtype_to_pads(wide, spans, self.strides, padding)
        padded = [k + low + high for k, (low, high) in zip(wide, self.pads, strict=True)]
        if min(padded, default=0) < 0:
            raise ShapeError(f"padded sizes must not be negative, got {padded}")
        self.result = tuple(map(conv_windows, padded, self.size, self.strides, self.dilation))

    @property
    def low(self) -> list[int]:
        return [low for low, _ in self.pads]

    @property
    def high(self) -> list[int]:
        return [high for _, high in self.pads]

    def padded(self, x: Tracer, fill: Tracer) -> Tracer:
        """An array padded around and between its elements."""
        if not any(self.low) and not any(self.high) and set(self.holes) <= {1}:
            return x
        trace, value = here(x)
        interior = [by - 1 for by in self.holes]
        return trace.wrap(trace.builder.pad(value, here(fill)[1], low=self.low, high=self.high, interior=interior))

    def taps(self, x: Tracer) -> list[Tracer]:
        """One array for each element of a window, from the padded array."""
        found = []
        for tap in product(*map(range, self.size)):
            start = [k * by if n else 0 for k, by, n in zip(tap, self.dilation, self.result, strict=True)]
            stop = [at + (n - 1) * s + 1 if n else 0 for at, n, s in zip(start, self.result, self.strides, strict=True)]
            found.append(slice_tracer(x, start, stop, self.strides))
        return found


def reduce_window_shape_tuple(
    operand_shape: Any,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> tuple[int, ...]:
    """`jax.lax.reduce_window_shape_tuple`: how many windows there are along each dim."""
    given = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return _Slide(static_shape(operand_shape), *given).result


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Any,
    window_strides: Any = None,
    padding: Any = "VALID",
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Any:
    """`jax.lax.reduce_window`: the elements of each window combined by a function; of several arrays those at one index.

    `add`, `mul`, `max` and `min` are one op. Any other function combines the elements of all windows, one after the other.

    Args:
        operand: an array, or a tree of arrays of one shape.
        init_value: a tree of scalars: the padding around and between elements, and the initial value of windows.
        computation: associative, of two trees of scalars as `init_value`, to one more.
        window_dimensions: the size of a window in each dim.
        window_strides: distances of neighbouring windows.
        padding: "SAME", "SAME_LOWER", "VALID", or a pair (low, high) a dim.
        base_dilation, window_dilation: distances of neighbouring elements of the operand and of a window.

    Raises:
        ShapeError: sizes do not go together.

    >>> import numpy as np, lamina as lm
    >>> lm.lax.reduce_window(np.float32([1, 2, 3, 4]), np.float32(1), lm.lax.mul, (2,))
    array([ 2.,  6., 12.], dtype=float32)
    """
    leaves, structure = tree_flatten(operand)
    inits, of_inits = tree_flatten(init_value)
    if of_inits != structure or not leaves:
        raise ShapeError(f"reduce_window needs one initial value for each operand, got {structure} and {of_inits}")
    given = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    kind = _kind(computation, lnp.result_type(leaves[0])) if structure.kind is None else None
    if kind is not None:
        return _window_by_monoid(operand, init_value, kind, *given)
    combine = _Combine(computation, structure, "reduce_window")

    def transformed(*given_arrays: Any) -> Any:
        arrays, starts = _same_shapes("reduce_window", given_arrays, len(leaves))
        slide = _Slide(arrays[0].shape, *given)
        padded = [slide.padded(x, s) for x, s in zip(arrays, starts, strict=True)]
        found = [broadcast_tracer(s, slide.result) for s in starts]
        for elements in zip(*map(slide.taps, padded), strict=True):
            found = combine(found, elements)
        return structure.unflatten(found)

    return each_call(transformed, f"reduce_window_{function_name(computation)}", computation)(*leaves, *inits)


@array_function
def _window_by_monoid(
    operand: Any, init: Any, kind: str, window: Any, strides: Any, padding: Any, holes: Any, dilation: Any
) -> Any:
    x = lift(operand)
    slide = _Slide(x.shape, window, strides, padding, holes, dilation)
    start = lift_as(init, x.dtype)
    if start.ndim:
        raise ShapeError(f"reduce_window needs an initial value that is a scalar, got shape {list(start.shape)}")
    if not x.ndim:
        return build(kind, start, x)
    dtype = x.dtype
    if dtype == BOOL:
        x, start, kind = lift_as(x, np.dtype(np.int8)), lift_as(start, np.dtype(np.int8)), {"or": "max", "and": "min"}[kind]
    neutral = not isinstance(init, Tracer) and np.array_equal(np.asarray(init, x.dtype), _identity(kind, x.dtype))
    low, high = slide.low, slide.high
    if not neutral or min(low + high) < 0 or any(by != 1 for by in slide.holes):
        x, low, high = slide.padded(x, start), [0] * x.ndim, [0] * x.ndim
    y = build(
        "reduce_window", x, kind=kind, window=slide.size, stride=slide.strides, low=low, high=high, dilation=slide.dilation
    )
    if not neutral:
        y = build(kind, broadcast_tracer(start, y.shape), y)
    return lift_as(y, dtype)


@array_function
def select_and_scatter_add(
    source: Any, operand: Any, select: Callable[..., Any], window_dimensions: Any, window_strides: Any, padding: Any
) -> Any:
    """The gradient of a maximum or minimum over windows: each element of `source` added at its window's first extreme.

    Args:
        source: one float for each window.
        operand: floats that the windows slide over.
        select: `ge` for maxima, `le` for minima.

    Returns:
        The shape of the operand, zero where no window has its extreme.

    Raises:
        DTypeError: another function than `ge` or `le`.
        ShapeError: sizes do not go together.
    """
    kind = {lnp.greater_equal: "max", lnp.less_equal: "min"}.get(select)
    if kind is None:
        raise DTypeError(f"select_and_scatter_add selects by lax.ge or lax.le, got {select!r:.60}")
    x = lift(operand)
    slide = _Slide(x.shape, window_dimensions, window_strides, padding, None, None)
    t = lift_as(source, x.dtype)
    if t.shape != slide.result:
        raise ShapeError(f"select_and_scatter_add needs one element for each window, {list(slide.result)}, got {list(t.shape)}")
    props = {"window": slide.size, "stride": slide.strides, "low": slide.low, "high": slide.high, "dilation": slide.dilation}
    return build("window_put", x, t, kind=kind, **props)

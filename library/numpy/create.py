"""lamina.numpy: arrays from values and sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import (
    Tracer,
    array_function,
    as_array,
    broadcast_tracer,
    build,
    concrete_array,
    creation,
    filled,
    is_traced,
    lift,
    lift_as,
    located,
    operand,
    token,
)
from ...api.dtypes import (
    BOOL,
    FLOAT64,
    INT64,
    canonical,
    common_dtype,
    is_complex_dtype,
    is_integer_dtype,
    result_type,
)
from ...api.errors import ShapeError, TracingError
from ...api.sizes import Size, least, positive
from ...api.tracing import EagerTrace, WrappedArray, wrapped_class
from .axes_and_shapes import iota, normalize_axis, reshape_tracer, static_int, static_shape, transpose_tracer
from .join import stack
from .logic import astype
from .math import power
from .pad import pad
from .shape import broadcast_arrays, expand_dims, moveaxis
from .ufuncs import divide, subtract


def on_device(device: Any) -> None:
    """There is one device.

    Raises:
        ValueError: another one is named.
    """
    if device is not None and device != "cpu":
        raise ValueError(f"device must be 'cpu', got {device!r}")


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0, device: Any = None) -> Any:
    """`np.array`; lists may hold traced values. Values known while tracing stay NumPy arrays.

    Raises:
        ValueError: with `copy=False`, memory cannot be shared.
    """
    on_device(device)
    if wrapped_class((object,)) is not None:
        return object if isinstance(object, WrappedArray) else stack(object)
    if is_traced((object,)):
        return _traced_array(object, dtype, ndmin)
    wanted = None if dtype is None else canonical(dtype)
    result = concrete_array(object, wanted)
    if wanted is not None:
        result = _astype(result, wanted)
    # NumPy says of arrays without elements that they share nothing
    shared = (
        np.may_share_memory(result, object) if result.size else isinstance(object, np.ndarray) and object.dtype == result.dtype
    )
    if copy is False and not shared:
        raise ValueError(f"a {type(object).__name__} cannot become an array of {result.dtype} without a copy")
    result = result.copy() if copy and shared else result
    return as_array(result if result.ndim >= ndmin else result.reshape((1,) * (ndmin - result.ndim) + result.shape))


@array_function
def _traced_array(object: Any, dtype: Any, ndmin: int) -> Any:
    x = lift(object) if isinstance(object, Tracer | Size) else stack(object)
    x = lift(x) if dtype is None else lift_as(x, canonical(dtype))
    return reshape_tracer(x, (1,) * (ndmin - x.ndim) + x.shape)


def asarray(a: Any, dtype: Any = None, *, copy: bool | None = None, device: Any = None) -> Any:
    """`np.asarray`: the one function here whose result may share the memory of its argument; it has to with `copy=False`."""
    return array(a, dtype, copy=copy, device=device)


asanyarray = ascontiguousarray = asarray


def copy(a: Any) -> Any:
    """`np.copy`; traced arrays never change, so they are their own copies."""
    return array(a)


def _astype(x: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if x.dtype == dtype:
        return x
    with EagerTrace() as trace:
        return np.asarray(trace.result(lift_as(x, dtype)))


@creation
def _full(shape: Any, value: Any, dtype: np.dtype[Any]) -> Any:
    return filled(value, static_shape(shape), dtype)


def zeros(shape: Any, dtype: Any = float, *, device: Any = None) -> Any:
    """`np.zeros`."""
    on_device(device)
    return _full(shape, 0, canonical(dtype))


def ones(shape: Any, dtype: Any = float, *, device: Any = None) -> Any:
    """`np.ones`."""
    on_device(device)
    return _full(shape, 1, canonical(dtype))


def empty(shape: Any, dtype: Any = float, *, device: Any = None) -> Any:
    """`np.empty`, filled with zeros."""
    return zeros(shape, dtype, device=device)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """`np.full`."""
    on_device(device)
    if dtype is None:
        kind = token(fill_value)
        dtype = kind if isinstance(kind, np.dtype) else np.dtype(kind)
    return _full(shape, fill_value, canonical(dtype))


def _like(a: Any, dtype: Any, shape: Any) -> tuple[Any, Any]:
    a = a if hasattr(a, "shape") and hasattr(a, "dtype") else concrete_array(a)  # a `TensorSpec`, too
    return (a.shape if shape is None else shape), (a.dtype if dtype is None else dtype)


def zeros_like(a: Any, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Any:
    """`np.zeros_like`."""
    return zeros(*_like(a, dtype, shape), device=device)


def ones_like(a: Any, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Any:
    """`np.ones_like`."""
    return ones(*_like(a, dtype, shape), device=device)


def empty_like(a: Any, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Any:
    """`np.empty_like`, filled with zeros."""
    return zeros_like(a, dtype, shape=shape, device=device)


def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Any:
    """`np.full_like`."""
    shape, dtype = _like(a, dtype, shape)
    return full(shape, fill_value, dtype, device=device)


@creation
def _arange(start: Any, step: Any, n: int, dtype: np.dtype[Any]) -> Any:
    wide = dtype if is_integer_dtype(dtype) else FLOAT64
    steps = iota((n,), 0, wide)
    if step != 1:
        steps = build("mul", steps, filled(step, (n,), wide))
    if start != 0:
        steps = build("add", steps, filled(start, (n,), wide))
    return lift_as(steps, dtype)


def counting(n: Any) -> Any:
    """`arange(n)`: an array of NumPy's, whose values are known, unless `n` is a symbolic size."""
    return arange(n) if isinstance(n, Size) else np.arange(n)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None) -> Any:
    """`np.arange` over numbers that are known while tracing."""
    on_device(device)
    if stop is None:
        start, stop = 0, start
    for value in (start, stop, step):
        if isinstance(value, Tracer):
            raise located(
                TracingError("arange needs limits that are known while tracing: make them static with static_argnums")
            )
    wanted = result_type([token(v) for v in (start, stop, step)])
    if step == 0:
        raise ShapeError("arange step must not be 0")
    if any(isinstance(v, Size) for v in (start, stop, step)):
        step = static_int(step, "step")
        n = positive((stop - start) // step if step == 1 else -((start - stop) // step))
    else:
        n = max(0, math.ceil((stop - start) / step))
    dtype = canonical(wanted if dtype is None else dtype)
    if dtype.kind in "iu" and any(isinstance(v, float | np.floating) for v in (start, step)):
        # the step between the first two integers, as in NumPy
        start, step = int(start), int(start + step) - int(start)
    return _arange(start, step, n, dtype)


@creation
def _linspace(start: Any, stop: Any, num: int, endpoint: bool, axis: int, dtype: np.dtype[Any]) -> Any:
    work = np.result_type(FLOAT64, dtype) if is_complex_dtype(dtype) else FLOAT64
    low, high = (lift(end)[None] for end in broadcast_arrays(lift_as(start, work), lift_as(stop, work)))
    step = (high - low) / float(max(num - 1 if endpoint else num, 1))
    index = iota((num,), 0, FLOAT64).reshape((num,) + (1,) * (low.ndim - 1))
    y = low + index * step
    if endpoint and num > 1:
        last = broadcast_tracer(index == float(num - 1), y.shape)
        y = build("select", last, broadcast_tracer(high, y.shape), y)
    if is_integer_dtype(dtype):
        y = build("floor", y)
    axis = normalize_axis(axis, y.ndim)
    y = transpose_tracer(y, [*range(1, axis + 1), 0, *range(axis + 1, y.ndim)]) if axis else y
    return lift_as(y, dtype)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`np.linspace`; the limits may be traced. With `retstep` also the distance of two numbers, NaN where there are no two."""
    on_device(device)
    num = static_int(num, "num")
    if dtype is None:
        dtype = common_dtype([token(operand(start)), token(operand(stop)), token(float(num))])
    y = _linspace(start, stop, num, endpoint, axis, canonical(dtype))
    gaps = num - 1 if endpoint else num
    return (y, divide(subtract(stop, start), gaps if gaps > 0 else math.nan)) if retstep else y


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """`np.logspace`; an array of bases has the shape of the limits."""
    if np.ndim(base) > 0:
        start, stop, base = broadcast_arrays(start, stop, base)
        base = expand_dims(base, axis)
    y = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else astype(y, dtype)


def _diagonal(k: Any) -> int:
    """`k` as an int64; a diagonal beyond all elements stays beyond them."""
    k = static_int(k, "k")
    return max(-(2**62), min(k, 2**62)) if isinstance(k, int) else k


def _band(n: int, m: int, k: int) -> Tracer:
    """Where column - row <= k."""
    row, column = iota((n, m), 0, INT64), iota((n, m), 1, INT64)
    return build("cmp", build("sub", column, row), filled(k, (n, m), INT64), predicate="le")


@creation
def _eye(n: int, m: int, k: int, dtype: np.dtype[Any]) -> Any:
    row, column = iota((n, m), 0, INT64), iota((n, m), 1, INT64)
    return lift_as(build("cmp", build("sub", column, row), filled(k, (n, m), INT64), predicate="eq"), dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, device: Any = None) -> Any:
    """`np.eye`."""
    on_device(device)
    n = static_int(N, "N")
    m = n if M is None else static_int(M, "M")
    return _eye(n, m, _diagonal(k), canonical(dtype))


def identity(n: int, dtype: Any = float) -> Any:
    """`np.identity`."""
    return eye(n, dtype=dtype)


@creation
def _tri(n: int, m: int, k: int, dtype: np.dtype[Any]) -> Any:
    return lift_as(_band(n, m, k), dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Any:
    """`np.tri`: ones at and below a diagonal."""
    return _tri(N, N if M is None else M, _diagonal(k), canonical(dtype))


def _triangle(x: Tracer, k: int, below: bool) -> Tracer:
    if x.ndim < 2:
        x = broadcast_tracer(x, (x.size, x.size))
    rows, columns = x.shape[-2:]
    mask = broadcast_tracer(_band(rows, columns, k if below else k - 1), x.shape)
    zero = filled(0, x.shape, x.dtype)
    return build("select", mask, x, zero) if below else build("select", mask, zero, x)


@array_function
def tril(m: Any, k: int = 0) -> Any:
    """`np.tril`: zero above the diagonal `k`."""
    return _triangle(lift(m), _diagonal(k), below=True)


@array_function
def triu(m: Any, k: int = 0) -> Any:
    """`np.triu`: zero below the diagonal `k`."""
    return _triangle(lift(m), _diagonal(k), below=False)


@array_function
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """`np.diagonal`."""
    x = lift(a)
    if x.ndim < 2:
        raise ShapeError(f"diagonal needs two dims, got shape {list(x.shape)}")
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    n, m = x.shape[-2:]
    length = positive(least(n, m - offset) if offset >= 0 else least(n + offset, m))
    if isinstance(n, Size) or isinstance(m, Size):  # slices have no symbolic steps or ends
        places = lift(arange(length))
        wide = pad(x, (*((0, 0),) * (x.ndim - 2), (0, 1), (0, 1)))  # a gather is not of nothing
        found = build("gather", wide, places - min(offset, 0), places + max(offset, 0), at=(x.ndim - 2, x.ndim - 1))
        return moveaxis(found, 0, -1)
    flat = reshape_tracer(x, (*x.shape[:-2], n * m))
    if length == 0:
        return flat[..., :0]
    # element k of the diagonal stands m + 1 elements after element k - 1
    first = offset if offset >= 0 else -offset * m
    return flat[..., first : first + (length - 1) * (m + 1) + 1 : m + 1]


@array_function
def diag(v: Any, k: int = 0) -> Any:
    """`np.diag`: the diagonal of a matrix, or a matrix with a diagonal."""
    x = lift(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(f"diag needs one or two dims, got shape {list(x.shape)}")
    n = x.size + abs(k)
    rows = pad(x, ((max(-k, 0), max(k, 0)),))
    wide = broadcast_tracer(reshape_tracer(rows, (n, 1)), (n, n))
    return build("select", lift(_eye(n, n, k, BOOL)), wide, filled(0, (n, n), x.dtype))


@array_function
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """`np.trace`: the sum of a diagonal."""
    return diagonal(lift(a), offset, axis1, axis2).sum(-1, dtype)


@array_function
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """`np.meshgrid`; with `sparse` each array has one dim that is not of size 1. Results are always arrays of their own."""
    xs = [lift(x).reshape(-1) for x in xi]
    order = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        order[:2] = [1, 0]
    elif indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid indexing must be 'xy' or 'ij', got {indexing!r}")
    shape = tuple(xs[k].size for k in order)
    thin = [reshape_tracer(x, tuple(x.size if order[d] == k else 1 for d in range(len(xs)))) for k, x in enumerate(xs)]
    return tuple(thin if sparse else [broadcast_tracer(x, shape) for x in thin])

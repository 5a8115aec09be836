"""`fori_loop` and `scan`: loops that are traced once and run in compiled code."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.rewriter import InsertPoint

from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.control import ForOp
from ...dialects.sizes.polynomial import Size, is_at_least
from ...dialects.types import element_type
from ...errors import ShapeError
from ..run.retrace import each_call
from ..trace.array_functions import arrays as lnp
from ..trace.program import Aval, TracedFunction, abstract, staging, trace_function
from ..trace.promotion import BOOL, INT64, computed, is_integer_dtype
from ..trace.pytree import TreeDef, flatten
from ..trace.tracer import Tracer
from ..trace.tracing import Trace, lift_as
from . import unjitted
from .autodiff import function_name

__all__ = ["fori_loop", "scan"]


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """The value after `for i in range(lower, upper): value = body_fun(i, value)`, from `value = init_val`.

    The body is traced once. A loop whose bounds are numbers can be differentiated in reverse; it keeps what every iteration
    started from. Bounds that are computed make a loop that can be differentiated forward only.

    Args:
        lower, upper: integers, or scalar arrays of integers.
        body_fun: takes the iteration number (which promotes as a Python int) and the value, and returns the next value.
        init_val: a tree of arrays and numbers; the body must return the same structure, shapes and dtypes.
        unroll: how many iterations of yours are one of the loop, all with True; the bounds must then be numbers.

    Raises:
        ValueError: `unroll` with bounds that are computed, or less than 1.
        TypeError: a bound is no integer, or the body returns another structure or dtypes.
        ShapeError: the body returns other shapes.

    >>> import numpy as np, lamina as lm
    >>> lm.fori_loop(0, 5, lambda i, x: x * 2 + i, np.float32(1))
    array(58., dtype=float32)
    """
    if unjitted.is_disabled():
        return unjitted.fori_loop(lower, upper, body_fun, init_val)
    lower, upper = (staging().lift(bound) if isinstance(bound, Size) else bound for bound in (lower, upper))
    static = _number(lower), _number(upper)

    def transformed(bounds: Any, init: Any) -> Any:
        if unroll is None or unroll is False:
            return _fori(body_fun, static, bounds, init)
        return _unrolled_fori(body_fun, static, init, unroll)

    dynamic = tuple(None if s is not None else _scalar(b, w) for s, b, w in zip(static, (lower, upper), _BOUNDS, strict=True))
    return each_call(transformed, f"fori_loop_{function_name(body_fun)}", body_fun)(dynamic, init_val)


_BOUNDS = ("lower", "upper")


def _number(bound: Any) -> int | None:
    """A bound as a number; None for an array of a trace."""
    if isinstance(bound, Tracer):
        return None
    if isinstance(bound, np.ndarray) and bound.ndim == 0 and is_integer_dtype(bound.dtype):
        return int(bound)
    try:
        return operator.index(bound)
    except TypeError:
        raise TypeError(f"fori_loop() bounds must be integers, got {type(bound).__name__}: {bound!r:.60}") from None


def _scalar(bound: Tracer, word: str) -> Tracer:
    if bound.ndim or not is_integer_dtype(bound.dtype):
        raise TypeError(f"fori_loop() {word} must be a scalar of integers, got {abstract(bound)}")
    return bound


def _fori(body: Callable[[Any, Any], Any], static: tuple[int | None, int | None], bounds: Any, init: Any) -> Any:
    trace = staging()
    first, last = static
    start: Any = first if first is not None else lift_as(bounds[0], INT64)
    if first is not None and last is not None:
        count: Any = max(0, last - first)
    else:
        end: Any = last if last is not None else lift_as(bounds[1], INT64)
        count = lift_as(end - start, INT64)
    initial, structure = flatten(init)

    def step(i: Any, value: Any, x: Any) -> tuple[Any, Any]:
        return body(i if isinstance(start, int) and start == 0 else i + start, value), x

    return _loop(trace, step, "fori_loop", function_name(body), count, initial, structure, [], _EMPTY, False)[0]


def _unrolled_fori(body: Callable[[Any, Any], Any], bounds: tuple[int | None, int | None], init: Any, unroll: int) -> Any:
    """A loop of which an iteration takes several steps, then the steps that are left."""
    first, last = bounds
    if first is None or last is None:
        raise ValueError("fori_loop() unroll needs bounds that are numbers: leave it out where they are computed")
    count = max(0, last - first)
    n_steps = count if unroll is True else min(operator.index(unroll), count)
    if n_steps < 1 and count:
        raise ValueError(f"fori_loop() unroll must be at least 1, got {unroll}")

    def steps(start: Any, value: Any, n: int) -> Any:
        for k in range(n):
            value = body(start + k, value)
        return value

    @functools.wraps(body)
    def block(i: Any, value: Any) -> Any:
        return steps(i * n_steps + first, value, n_steps)

    n_left = count % max(n_steps, 1)
    init = _fori(block, (0, count // max(n_steps, 1)), (None, None), init)
    return steps(staging().lift(last - n_left), init, n_left)


_EMPTY = flatten(())[1]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """A loop over the first dim of `xs` that carries a value: the last value, and what the iterations returned, stacked.

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, np.stack(ys)

    The function is traced once. Differentiated in reverse, the loop keeps what every iteration started from and computes
    iterations again.

    Args:
        f: takes the carried value and a slice of `xs`, and returns the next value and a tree of arrays.
        init: a tree of arrays and numbers; the function must return the same structure, shapes and dtypes for it.
        xs: a tree of arrays with one first dim, or None with `length`.
        length: the number of iterations, where there are no `xs`.
        reverse: go from the last slice to the first; results are stacked in the order of `xs` all the same.
        unroll: how many iterations of yours are one of the loop, all with True; small bodies then take less time.
        _split_transpose: accepted as in jax; how reverse mode is split is decided here.

    Raises:
        ShapeError: the first dims of `xs` differ or are not `length`, or a carried shape changes.
        TypeError: the function does not return a pair, or a carried structure or dtype changes.

    >>> import numpy as np, lamina as lm
    >>> lm.scan(lambda total, x: (total + x, total + x), np.float32(0), np.float32([1, 2, 3]))
    (array(6., dtype=float32), array([1., 3., 6.], dtype=float32))
    """
    if unjitted.is_disabled():
        return unjitted.scan(f, init, xs, length, reverse)

    def transformed(init: Any, xs: Any) -> Any:
        return _scan(f, init, xs, length, reverse, unroll)

    return each_call(transformed, f"scan_{function_name(f)}", f)(init, xs)


def _scan(
    function: Callable[..., Any], init: Any, xs: Any, length: int | None, reverse: bool, unroll: int | bool
) -> tuple[Any, Any]:
    trace = staging()
    leaves, structure = flatten(xs)
    stacks = [trace.lift(leaf) for leaf in leaves]
    sizes = {x.shape[0] if x.ndim else None for x in stacks}
    if length is not None:
        sizes.add(operator.index(length))
    if len(sizes) != 1 or None in sizes:
        shown = ", ".join(str(abstract(x)) for x in stacks) or "none"
        given = "" if length is None else f" and length={length}"
        raise ShapeError(f"scan() needs arrays with one first dim, got {shown}{given}")
    (count,) = sizes
    if count is None or (not isinstance(count, Size) and count < 0):
        raise ShapeError(f"scan() length must not be negative, got {count}")
    initial, of_init = flatten(init)

    def step(i: Any, carry: Any, x: Any) -> Any:
        out = function(carry, x)
        if not (isinstance(out, tuple) and len(out) == 2):
            name = function_name(function)
            raise TypeError(f"scan() needs {name}() to return a pair of the carried value and a result, got {out!r:.60}")
        return out

    if isinstance(count, Size):
        return _open(trace, step, function_name(function), count, init, stacks, structure, reverse)
    n_steps = count if unroll is True else min(operator.index(unroll), count)
    if n_steps < 1 and count:
        raise ValueError(f"scan() unroll must be at least 1, got {unroll}")
    if n_steps <= 1:
        return _loop(trace, step, "scan", function_name(function), count, initial, of_init, stacks, structure, reverse)
    return _unrolled(trace, step, function_name(function), (count, n_steps, reverse), initial, of_init, stacks, structure)


def _open(
    trace: Trace,
    step: Callable[..., Any],
    name: str,
    count: Size,
    init: Any,
    stacks: Sequence[Tracer],
    of_stacks: TreeDef,
    reverse: bool,
) -> tuple[Any, Any]:
    """A loop over a symbolic number of slices: it reads and writes them by their numbers."""
    initial, of_init = flatten(init)
    carried = [trace.lift(leaf) for leaf in initial]
    traced = _trace_body(trace, step, "scan", name, carried, of_init, stacks, of_stacks)
    stacked = traced.out_avals[len(carried) :]
    if len(traced.out_avals) < len(carried) or traced.out_structure.children[0] != of_init:
        require_same(traced, traced.out_structure.children[0], "scan", name, carried, of_init)
    spare = int(not is_at_least(count, 1))  # a slice has an index, whether or not the loop runs
    if spare:
        stacks = [lnp.concatenate([x, lnp.zeros((1, *x.shape[1:]), x.dtype)]) for x in stacks]
    results = [lnp.zeros((count + spare, *aval.shape), aval.dtype) for aval in stacked]

    def body(i: Any, value: Any) -> tuple[Any, Any]:
        carry, ys = value
        k = staging().lift(count) - 1 - i if reverse else i
        carry, y = step(i, carry, of_stacks.unflatten([lnp.take(x, k, 0) for x in stacks]))
        return carry, [all.at[k].set(one) for all, one in zip(ys, flatten(y)[0], strict=True)]

    carry, ys = fori_loop(0, count, body, (init, results))
    return carry, traced.out_structure.children[1].unflatten([y[:count] for y in ys] if spare else ys)


def _unrolled(
    trace: Trace,
    step: Callable[..., Any],
    name: str,
    how: tuple[int, int, bool],
    init: Sequence[Any],
    of_init: TreeDef,
    stacks: Sequence[Tracer],
    of_stacks: TreeDef,
) -> tuple[Any, Any]:
    """A loop of which an iteration takes several steps, then the steps that are left."""
    count, n_steps, reverse = how
    n_left = count % n_steps
    first = n_left if reverse else 0  # where the steps of the loop begin: in reverse it starts at the end
    blocks = [x[first : first + count - n_left].reshape(count // n_steps, n_steps, *x.shape[1:]) for x in stacks]

    def steps(carry: Any, xs: Sequence[Tracer], n: int) -> tuple[Any, Any]:
        ys: list[Any] = [None] * n
        for k in range(n - 1, -1, -1) if reverse else range(n):
            carry, ys[k] = step(None, carry, of_stacks.unflatten([x[k] for x in xs]))
        leaves = [flatten(y)[0] for y in ys]
        stacked = [lnp.stack(parts) for parts in zip(*leaves, strict=True)]
        return carry, flatten(ys[0])[1].unflatten(stacked)

    def block(i: Any, carry: Any, xs: Any) -> tuple[Any, Any]:
        return steps(carry, flatten(xs)[0], n_steps)

    flat = flatten(tuple(blocks))[1]
    carry, ys = _loop(trace, block, "scan", name, count // n_steps, init, of_init, blocks, flat, reverse)
    leaves, structure = flatten(ys)
    leaves = [y.reshape(count - n_left, *y.shape[2:]) for y in leaves]
    if n_left:
        left = [x[:n_left] if reverse else x[count - n_left :] for x in stacks]
        carry, more = steps(carry, left, n_left)
        pairs = zip(flatten(more)[0], leaves, strict=True)
        leaves = [lnp.concatenate([a, b] if reverse else [b, a]) for a, b in pairs]
    return carry, structure.unflatten(leaves)


def _loop(
    trace: Trace,
    step: Callable[..., Any],
    what: str,
    name: str,
    count: Any,
    init: Sequence[Any],
    structure: TreeDef,
    stacks: Sequence[Tracer],
    of_stacks: TreeDef,
    reverse: bool,
) -> tuple[Any, Any]:
    """Trace a body and add the loop: its final carried values, and its stacked results."""
    assert trace.program is not None
    carried = [trace.lift(leaf) for leaf in init]
    traced = _trace_body(trace, step, what, name, carried, structure, stacks, of_stacks)
    # numbers take the dtype of the body's results
    wanted = traced.out_avals[: len(carried)]
    if any(a.dtype != x.dtype and x.weak for a, x in zip(wanted, carried, strict=True)):
        carried = [lift_as(x, a.dtype) if x.weak else x for a, x in zip(wanted, carried, strict=True)]
        traced = _trace_body(trace, step, what, name, carried, structure, stacks, of_stacks)
    if traced.out_structure.children[0] == structure:
        convert_results(traced, [x.dtype for x in carried])
    require_same(traced, traced.out_structure.children[0], what, name, carried, structure)
    captured = [trace.lift(x) for x in traced.captured]
    op = ForOp.make(
        traced.op,
        count.value if isinstance(count, Tracer) else count,
        [x.value for x in captured],
        [x.value for x in carried],
        [x.value for x in stacks],
        reverse=reverse,
    )
    trace.builder.insert(op)
    n = len(carried)
    avals = list(traced.out_avals)
    shapes = [a.shape for a in avals[:n]]
    if isinstance(count, int):
        shapes += [(count, *a.shape) for a in avals[n:]]
    weak = [a.weak and k < n for k, a in enumerate(avals)]
    results = [Tracer(trace, v, s, a.dtype, w) for v, s, a, w in zip(op.results, shapes, avals, weak, strict=True)]
    return traced.out_structure.unflatten(results)


def _trace_body(
    trace: Trace,
    step: Callable[..., Any],
    what: str,
    name: str,
    carried: Sequence[Tracer],
    structure: TreeDef,
    stacks: Sequence[Tracer],
    of_stacks: TreeDef,
) -> TracedFunction:
    """The body as a function of the iteration number, its captured values, the carried values and slices of the stacks."""
    assert trace.program is not None
    index = Aval(INT64, (), True)  # as the number of Python's own loop
    avals = [index, *(Aval(x.dtype, x.shape, x.weak) for x in carried), *(Aval(x.dtype, x.shape[1:]) for x in stacks)]
    n = len(carried)

    def body(i: Any, *rest: Any) -> Any:
        return step(i, structure.unflatten(rest[:n]), of_stacks.unflatten(rest[n:]))

    flat = flatten(((0,) * len(avals), {}))[1]
    paths = ["i", *(f"carry_{k}" for k in range(n)), *(f"x_{k}" for k in range(len(stacks)))]
    traced = trace_function(trace.program, body, flat, avals, name=f"{name}_{what}", paths=paths)
    captured_first(traced, len(avals))
    return traced


def captured_first(traced: TracedFunction, given: int) -> None:
    """Move captured values from behind the arguments to right after the iteration number, where a loop has its consts."""
    block = traced.op.body.block
    for k, argument in enumerate(list(block.args)[given:]):
        moved = block.insert_arg(argument.type, 1 + k)
        moved.name_hint = argument.name_hint
        argument.replace_all_uses_with(moved)
        block.erase_arg(argument)
    traced.op.update_function_type()


def convert_results(traced: TracedFunction, dtypes: Sequence[np.dtype[Any]]) -> None:
    """Give the first results of a function these dtypes: Python numbers that fit them, and halves, which f32 is computed of."""
    last = traced.op.body.block.last_op
    assert last is not None
    avals = list(traced.out_avals)
    for k, dtype in enumerate(dtypes):
        if avals[k].dtype != dtype and _is_converted(avals[k], dtype):
            builder = GraphBuilder(InsertPoint.before(last), last.location)
            last.operands[k] = builder.convert(last.operands[k], element_type(dtype))
            avals[k] = avals[k]._replace(dtype=dtype)
    traced.out_avals = tuple(avals)
    traced.op.update_function_type()


def _is_converted(aval: Aval, dtype: np.dtype[Any]) -> bool:
    if aval.weak:
        return dtype.kind == "f" or (aval.dtype.kind != "f" and dtype != BOOL)
    return aval.dtype != dtype and computed(aval.dtype) == computed(dtype)


def require_same(
    traced: TracedFunction, out: TreeDef, what: str, name: str, carried: Sequence[Tracer], structure: TreeDef
) -> None:
    """Refuse a body whose first results, of structure `out`, do not match the carried values."""
    if out != structure:
        raise TypeError(f"{what}() carries {structure}, but {name}() returns {out}")
    for path, before, after in zip(structure.paths("value"), carried, traced.out_avals, strict=False):
        if before.shape != after.shape:
            raise ShapeError(f"{what}() carries {path} of shape {list(before.shape)}, but {name}() returns {list(after.shape)}")
        if before.dtype != after.dtype:
            raise TypeError(
                f"{what}() carries {path} of {before.dtype}, but {name}() returns {after.dtype}: convert one with .astype"
            )

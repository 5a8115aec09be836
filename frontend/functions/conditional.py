"""`while_loop`, `cond` and `switch`: control flow that depends on values, traced once and run in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.graph.conditional import CaseOp, WhileOp
from ...errors import ShapeError
from ..run.retrace import each_call
from ..trace.program import Aval, TracedFunction, abstract, staging, trace_function
from ..trace.promotion import BOOL, FLOAT64, INT64, canonical, computed, is_integer_dtype
from ..trace.pytree import TreeDef, flatten
from ..trace.tracer import Tracer
from ..trace.tracing import Trace, lift, lift_as
from . import unjitted
from .autodiff import function_name
from .control import convert_results, require_same

__all__ = ["cond", "switch", "while_loop"]


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """The value after `while cond_fun(value): value = body_fun(value)`, from `value = init_val`.

    Both functions are traced once. The loop runs in compiled code and allocates nothing; a carried array that the body changes
    with `.at` is changed in place. It can be differentiated forward. In reverse it cannot, since how many iterations there are
    to go back is known only when it has run: `fori_loop` and `scan` can.

    Args:
        cond_fun: takes the value, and returns a bool.
        body_fun: takes the value, and returns the next one.
        init_val: a tree of arrays and numbers; the body must return the same structure, shapes and dtypes.

    Raises:
        TypeError: the condition is no scalar bool, or the body returns another structure or dtypes.
        ShapeError: the body returns other shapes.

    >>> import numpy as np, lamina as lm
    >>> lm.while_loop(lambda x: x < 100, lambda x: x * 2, np.float32(3))
    array(192., dtype=float32)
    """
    if unjitted.is_disabled():
        return unjitted.while_loop(cond_fun, body_fun, init_val)
    leaves, structure = flatten(init_val)

    def transformed(*leaves: Any) -> Any:
        return _while(cond_fun, body_fun, leaves, structure)

    return each_call(transformed, f"while_loop_{function_name(body_fun)}", body_fun)(*leaves)


def _while(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Sequence[Any], structure: TreeDef) -> Any:
    trace = staging()
    name = function_name(body)
    carried = [trace.lift(leaf) for leaf in init]

    def traced_body() -> TracedFunction:
        return _traced(trace, lambda *xs: body(structure.unflatten(xs)), carried, f"{name}_while", "carry")

    traced = traced_body()
    wanted = traced.out_avals
    if traced.out_structure == structure and any(a.dtype != x.dtype and x.weak for a, x in zip(wanted, carried, strict=True)):
        # numbers take the dtype of the body's results
        carried = [lift_as(x, a.dtype) if x.weak else x for a, x in zip(wanted, carried, strict=True)]
        traced = traced_body()
    if traced.out_structure == structure:
        convert_results(traced, [x.dtype for x in carried])
    require_same(traced, traced.out_structure, "while_loop", name, carried, structure)
    test = _traced(trace, lambda *xs: _flag(condition(structure.unflatten(xs)), condition), carried, f"{name}_going", "carry")
    consts = share_captured(trace, [test, traced])
    op = WhileOp.make(test.op, traced.op, [x.value for x in consts], [x.value for x in carried])
    return structure.unflatten(results_of(trace, op, traced.out_avals))


def _flag(result: Any, condition: Callable[[Any], Any]) -> Any:
    if flatten(result)[1].kind is not None or (x := lift(result)).dtype != BOOL or x.shape:
        name = function_name(condition)
        raise TypeError(f"while_loop() needs {name}() to return a scalar bool, it returns {_shown(result)}")
    return x


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
    """`true_fun(*operands)` where `pred` holds, else `false_fun(*operands)`; only one of them runs.

    Both are traced, and can be differentiated in both modes. Mapped over a batch of predicates (`vmap`) both run, and `where`
    chooses.

    Args:
        pred: a scalar; a number holds when it is not 0.
        true_fun, false_fun: take the operands, and return trees of arrays of one structure, with the same shapes and dtypes.
        operands: trees of arrays and numbers. `operand=x` is another way to give one; `cond(pred, x, true_fun, y, false_fun)`,
            jax's older form, gives each function its own.

    Raises:
        TypeError: the predicate is no scalar, or results differ in structure or dtype.
        ShapeError: results differ in shape.

    >>> import numpy as np, lamina as lm
    >>> lm.cond(np.float32(2) > 1, lambda x: x * 2, lambda x: -x, np.float32(3))
    array(6., dtype=float32)
    """
    if keywords.keys() - {"operand"} or (keywords and operands):
        raise TypeError(f"cond() takes operands by position, or one as operand=, got {', '.join(keywords)}")
    operands = operands or tuple(keywords.values())
    if len(operands) == 2 and callable(operands[1]) and not callable(true_fun):
        of_true, of_false = false_fun, operands[1]
        return cond(pred, lambda x, _: of_true(x), lambda _, y: of_false(y), true_fun, operands[0])
    if unjitted.is_disabled():
        return unjitted.switch(bool(pred), [false_fun, true_fun], operands)
    leaves, structure = flatten(operands)

    def transformed(pred: Any, *leaves: Any) -> Any:
        p = lift(pred)
        if p.shape:
            raise TypeError(f"cond() needs a scalar predicate, got {_shown(pred)}: use lnp.where to choose for each element")
        flag = p if p.dtype == BOOL else p != 0
        return _case("cond", flag, [false_fun, true_fun], leaves, structure)

    return each_call(transformed, f"cond_{function_name(true_fun)}_{function_name(false_fun)}", true_fun)(pred, *leaves)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`; an index below 0 counts as 0, one past the end as the last. Only that branch runs.

    As `cond` otherwise.

    Args:
        index: a scalar of integers.
        branches: functions of the operands, at least one.
        operands: trees of arrays and numbers.

    Raises:
        TypeError: the index is no integer scalar, or results differ in structure or dtype.
        ShapeError: results differ in shape.
        ValueError: there is no branch.

    >>> import numpy as np, lamina as lm
    >>> lm.switch(1, [lambda x: x, lambda x: x * x, lambda x: -x], np.float32(3))
    array(9., dtype=float32)
    """
    branches = list(branches)
    if not branches:
        raise ValueError("switch() needs a branch")
    if unjitted.is_disabled():
        return unjitted.switch(index, branches, operands)
    leaves, structure = flatten(operands)

    def transformed(index: Any, *leaves: Any) -> Any:
        k = lift(index)
        if k.shape or not is_integer_dtype(k.dtype):
            raise TypeError(f"switch() needs a scalar integer as index, got {_shown(index)}")
        if k.dtype == np.dtype(np.uint64):  # an index past the end of int64 must not become negative
            k = (k < len(branches)).astype(INT64) * k.astype(INT64) + (k >= len(branches)).astype(INT64) * len(branches)
        return _case("switch", lift_as(k, INT64), branches, leaves, structure)

    return each_call(transformed, f"switch_{function_name(branches[0])}", branches[0])(index, *leaves)


def _case(what: str, index: Tracer, branches: Sequence[Callable[..., Any]], leaves: Sequence[Any], structure: TreeDef) -> Any:
    trace = staging()
    given = [trace.lift(leaf) for leaf in leaves]
    names = [function_name(branch) for branch in branches]

    def flat(branch: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: branch(*structure.unflatten(xs))

    traced = [_traced(trace, flat(f), given, f"{n}_{what}", "x") for f, n in zip(branches, names, strict=True)]
    dtypes = [common_dtype([t.out_avals[k] for t in traced]) for k in range(_fewest_results(traced))]
    for one in traced:
        if len(one.out_avals) == len(dtypes):
            convert_results(one, dtypes)
    for one, name in zip(traced[1:], names[1:], strict=True):
        _require_equal_results(what, names[0], traced[0], name, one)
    consts = share_captured(trace, traced)
    op = CaseOp.make(index.value, [t.op for t in traced], [x.value for x in (*consts, *given)])
    avals = [a._replace(weak=all(t.out_avals[k].weak for t in traced)) for k, a in enumerate(traced[0].out_avals)]
    return traced[0].out_structure.unflatten(results_of(trace, op, avals))


def _fewest_results(traced: Sequence[TracedFunction]) -> int:
    return min(len(t.out_avals) for t in traced)


def common_dtype(avals: Sequence[Aval]) -> np.dtype[Any]:
    """The dtype of results of branches: numbers take that of the others."""
    known = [a.dtype for a in avals if not a.weak]
    if known:
        return computed(known[0]) if computed(known[0]) in known else known[0]
    return canonical(FLOAT64) if any(a.dtype.kind == "f" for a in avals) else avals[0].dtype


def _require_equal_results(what: str, name: str, one: TracedFunction, other_name: str, other: TracedFunction) -> None:
    if name == other_name:
        other_name = f"another {other_name}"
    if one.out_structure != other.out_structure:
        shown = f"{name}() returns {one.out_structure}, {other_name}() returns {other.out_structure}"
        raise TypeError(f"{what}() needs functions that return one structure: {shown}")
    for path, a, b in zip(one.out_structure.paths("result"), one.out_avals, other.out_avals, strict=True):
        shown = f"{path} of {name}() is {a}, of {other_name}() it is {b}"
        if a.shape != b.shape:
            raise ShapeError(f"{what}() needs functions that return equal shapes: {shown}")
        if a.dtype != b.dtype:
            raise TypeError(f"{what}() needs functions that return equal dtypes: {shown}; convert one with .astype")


def _shown(x: Any) -> str:
    try:
        return str(abstract(x))
    except TypeError:
        return f"{type(x).__name__}: {x!r:.60}"


# Shared by loops and branches


def _traced(trace: Trace, function: Callable[..., Any], given: Sequence[Tracer], name: str, hint: str) -> TracedFunction:
    """A function of arrays as one of the module."""
    assert trace.program is not None
    avals = [Aval(x.dtype, x.shape, x.weak) for x in given]
    flat = flatten(((0,) * len(avals), {}))[1]
    return trace_function(trace.program, function, flat, avals, name=name, paths=[f"{hint}_{k}" for k in range(len(avals))])


def share_captured(trace: Trace, functions: Sequence[TracedFunction]) -> list[Tracer]:
    """Add the captured values of all functions to each, before its own arguments; returns these values."""
    shared = {id(x): x for traced in functions for x in traced.captured}
    types: dict[int, Any] = {}
    for traced in functions:
        arguments = traced.op.body.block.args[len(traced.avals) :]
        types.update((id(x), argument) for x, argument in zip(traced.captured, arguments, strict=True))
    known = {key: (argument.type, argument.name_hint) for key, argument in types.items()}
    for traced in functions:
        block = traced.op.body.block
        own = dict(zip(map(id, traced.captured), list(block.args)[len(traced.avals) :], strict=True))
        for k, key in enumerate(shared):
            type, hint = known[key]
            moved = block.insert_arg(type, k)
            moved.name_hint = hint
            if (argument := own.get(key)) is not None:
                argument.replace_all_uses_with(moved)
                block.erase_arg(argument)
        traced.op.update_function_type()
    return [trace.lift(x) for x in shared.values()]


def results_of(trace: Trace, op: WhileOp | CaseOp, avals: Sequence[Aval]) -> list[Tracer]:
    trace.builder.insert(op)
    return [Tracer(trace, v, a.shape, a.dtype, a.weak) for v, a in zip(op.results, avals, strict=True)]

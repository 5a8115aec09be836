"""Turn a `while` whose number of iterations is known before it runs into a counted loop.

    while i < n:             for k in range(max(0, n - i0)):
        x = f(i, x)   ->         x = f(i0 + k, x)
        i = i + 1            i = i0 + max(0, n - i0)

The condition compares a carried integer scalar with a bound that the loop does not change, and the body adds a constant to the
integer. Between constants any step and any of `lt`, `le`, `gt`, `ge`, `ne` will do, if the integer ends at the bound before it
wraps; a bound that is computed needs a step of 1 towards it and `lt` or `gt`, since with others the loop may not end where the
integer wraps. A counted loop can be differentiated in reverse mode and unrolled; no op is added.
Linear time; in the pipeline before derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.binary import AddOp, SubOp
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.conditional import WhileOp
from ..dialects.graph.control import INDEX, ForOp
from ..dialects.types import element_of, numpy_dtype, shape_of
from ._fold_control import constant
from ._for_loops import new_function, types_of
from ._functions import called_functions, callees_first, clone_body, holds, replace_op

_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne"}


@dataclass(frozen=True)
class GraphWhileToForPass(ModulePass):
    """Turn while loops of known trip count into counted loops."""

    name = "graph-while-to-for"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in callees_first(op) if holds(op, WhileOp) else ():
            for loop in [inner for inner in function.body.block.ops if isinstance(inner, WhileOp)]:
                found = _counter(loop)
                if found is not None:
                    _replace(loop, *found)


@dataclass(frozen=True)
class _Counter:
    """The integer that a loop counts with.

    Attributes:
        number: of the carried value.
        step: what an iteration adds to it.
    """

    number: int
    step: int


def _counter(op: WhileOp) -> tuple[_Counter, int | SSAValue, SSAValue | None] | None:
    """The counter of a loop and its number of iterations: a number, or the bound from which it is computed."""
    condition, body = called_functions(op)
    found = _comparison(condition, len(op.consts))
    if found is None:
        return None
    number, predicate, bound = found
    step = _step(body, len(op.consts), number)
    if step is None:
        return None
    counter = _Counter(number, step)
    limit = op.consts[bound.index] if isinstance(bound, BlockArgument) else bound
    first, last = constant(op.inits[number]), constant(limit)
    if first is not None and last is not None:
        count = _trips(int(first), int(last), step, predicate, numpy_dtype(element_of(limit)))
        return None if count is None else (counter, count, None)
    if not isinstance(bound, BlockArgument) or (predicate, step) not in (("lt", 1), ("gt", -1)):
        return None
    dtype = numpy_dtype(element_of(limit))
    if dtype.itemsize == 8 and (dtype.kind == "u" or first is None or int(first) * step < 0):  # the difference may wrap around
        return None
    return counter, limit, limit


def _comparison(condition: FuncOp, n_consts: int) -> tuple[int, str, SSAValue] | None:
    """Which carried value a condition compares, how, and with what: a const of the loop, or a constant."""
    last = condition.body.block.last_op
    assert last is not None
    op, ops = last.operands[0].owner, list(condition.body.block.ops)
    if not isinstance(op, Operation) or op.name != "graph.cmp":
        return None
    predicate = op.properties["predicate"]
    assert isinstance(predicate, StringAttr)
    if predicate.data not in _TURNED or any(inner not in (op, last) and inner.name != "graph.const" for inner in ops):
        return None
    for one, other, how in ((*op.operands, predicate.data), (*reversed(op.operands), _TURNED[predicate.data])):
        if not isinstance(one, BlockArgument) or one.index < n_consts or not _is_integer(one):
            continue
        if (isinstance(other, BlockArgument) and other.index < n_consts) or constant(other) is not None:
            return one.index - n_consts, how, other
    return None


def _step(body: FuncOp, n_consts: int, number: int) -> int | None:
    """The constant that a body adds to a carried value."""
    block = body.body.block
    assert block.last_op is not None
    before, op = block.args[n_consts + number], block.last_op.operands[number].owner
    is_sum = isinstance(op, AddOp)
    if not is_sum and not isinstance(op, SubOp):
        return None
    x, y = op.operands
    if is_sum and y is before:
        x, y = y, x
    step = constant(y)
    if x is not before or step is None or not int(step):
        return None
    return int(step) if is_sum else -int(step)


def _is_integer(value: SSAValue) -> bool:
    element = element_of(value)
    return isinstance(element, IntegerType) and not shape_of(value) and numpy_dtype(element).kind in "iu"


def _trips(first: int, last: int, step: int, predicate: str, dtype: np.dtype[Any]) -> int | None:
    """How often a loop between constants runs; None where the integer wraps before it ends."""
    if predicate == "ne":
        if (last - first) % step or (last - first) * step < 0:
            return None
        return (last - first) // step
    if predicate in ("gt", "ge"):
        first, last, step = -first, -last, -step
    if predicate in ("le", "ge"):
        last += 1
    if first >= last:
        return 0
    if step < 0:
        return None
    count = -(-(last - first) // step)
    end = (first + count * step) * (1 if predicate in ("lt", "le") else -1)
    info = np.iinfo(dtype.str)
    return count if info.min <= end <= info.max else None


def _replace(op: WhileOp, counter: _Counter, count: int | SSAValue, bound: SSAValue | None) -> None:
    body, n_consts = called_functions(op)[1], len(op.consts)
    b = GraphBuilder(InsertPoint.before(op), op.location)
    start = op.inits[counter.number]
    element = element_of(start)
    if bound is not None:
        count = _distance(b, start, bound, counter.step)
    others = [k for k in range(len(op.inits)) if k != counter.number]

    def build(block: Block) -> list[SSAValue]:
        inner, given = GraphBuilder(block, op.location), list(block.args)
        known = constant(start)
        first = given[1] if known is None else inner.const(known, element)
        at = _after(inner, first, given[0], counter.step, element)
        carried = iter(given[2 + n_consts :])
        values = [at if k == counter.number else next(carried) for k in range(len(op.inits))]
        results, _ = clone_body(body, [*given[2 : 2 + n_consts], *values], inner.insert)
        return [results[k] for k in others]

    types = [INDEX, start.type, *types_of(op.consts), *(op.inits[k].type for k in others)]
    function = new_function(op, "counted", types, build, body)
    new = ForOp.make(function, count, [start, *op.consts], [op.inits[k] for k in others], ())
    b.insert(new)
    times = b.const(count, i64) if isinstance(count, int) else count
    end = _after(b, start, times, counter.step, element)
    results = iter(new.results)
    replace_op(op, [end if k == counter.number else next(results) for k in range(len(op.inits))])


def _after(b: GraphBuilder, start: SSAValue, times: SSAValue, step: int, element: object) -> SSAValue:
    """`start + times * step`, which wraps as the additions one by one do."""
    moved = b.mul(times, b.const(step, i64)) if step != 1 else times
    return b.add(start, b.convert(moved, element))  # pyright: ignore[reportArgumentType]


def _distance(b: GraphBuilder, start: SSAValue, bound: SSAValue, step: int) -> SSAValue:
    """The number of steps of 1 to a bound, at least 0, without wrapping."""
    first, last = (b.convert(x, i64) for x in (start, bound))
    low, high = (first, last) if step > 0 else (last, first)
    return b.select(b.cmp(low, high, predicate="lt"), b.sub(high, low), b.const(0, i64))

"""Unroll counted loops: fully where that leaves few ops, else several iterations at a time.

    %y = graph.for @step count 3 consts() carry(%x) over(%xs)
    becomes, with `limit`,  three copies of @step, on the slices 0, 1 and 2 of %xs
    and, with `factor=2`,   a loop of one iteration that takes two steps, and one remaining step

Iterations keep their order, and so do their effects. Unrolled iterations are fused and simplified together, and a constant
iteration number folds what is computed from it; each costs as much compile time as the body. Use it for loops of a few short
iterations, `factor` where an iteration is shorter than the call that runs it. Loops of unknown count are not unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.base import ints
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.control import INDEX, ForOp
from ..dialects.types import DYNAMIC, element_of, shape_of, tensor
from ._for_loops import new_function, types_of
from ._functions import called_function, callees_first, clone_body, replace_op
from .graph_inline import drop_unused_functions


@dataclass(frozen=True)
class GraphUnrollPass(ModulePass):
    """Unroll counted loops.

    Attributes:
        limit: loops that become at most this many ops are unrolled fully.
        factor: how many iterations of the others become one; 1 leaves them.
    """

    name = "graph-unroll"
    limit: int = 64
    factor: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in callees_first(op):
            for loop in [inner for inner in function.body.block.ops if isinstance(inner, ForOp)]:
                self._loop(loop)
        drop_unused_functions(op)

    def _loop(self, op: ForOp) -> None:
        count, body = op.static_count, called_function(op)
        if count is None or count == 0 or any(DYNAMIC in shape_of(v) for v in (*op.operands, *op.results)):
            return
        n_ops = sum(1 for _ in body.body.block.ops) - 1
        if count * n_ops <= self.limit:
            b = GraphBuilder(InsertPoint.before(op), op.location)
            replace_op(op, _whole(b, op, range(count), op.inits, op.stacks))
        elif 1 < self.factor <= count:
            replace_op(op, _by_factor(op, self.factor))


def _steps(
    b: GraphBuilder,
    op: ForOp,
    body: FuncOp,
    numbers: Sequence[SSAValue],
    consts: Sequence[SSAValue],
    carried: Sequence[SSAValue],
    stacks: Sequence[SSAValue],
) -> tuple[list[SSAValue], list[SSAValue]]:
    """The iterations of these numbers, on the rows of stacks in turn; returns the final carried values and stacked results."""
    n, carried = len(op.inits), list(carried)
    order = range(len(numbers)) if op.reverse is None else range(len(numbers) - 1, -1, -1)
    rows: dict[int, list[SSAValue]] = {}
    for k in order:
        slices = [_row(b, stack, k) for stack in stacks]
        results, _ = clone_body(body, [numbers[k], *consts, *carried, *slices], b.insert)
        b.location = op.location
        carried, rows[k] = results[:n], [b.reshape(value, (1, *shape_of(value))) for value in results[n:]]
    return carried, [_concat(b, [rows[k][j] for k in range(len(numbers))]) for j in range(len(op.results) - n)]


def _whole(
    b: GraphBuilder, op: ForOp, numbers: range, carried: Sequence[SSAValue], stacks: Sequence[SSAValue]
) -> list[SSAValue]:
    indices = [b.const(k, i64) for k in numbers]
    carried, stacked = _steps(b, op, called_function(op), indices, op.consts, carried, stacks)
    return [*carried, *stacked]


def _by_factor(op: ForOp, factor: int) -> list[SSAValue]:
    """A loop each of whose iterations takes `factor` steps, and the remaining steps."""
    assert op.static_count is not None
    count, n = op.static_count, len(op.inits)
    trips, done = count // factor, count // factor * factor
    b = GraphBuilder(InsertPoint.before(op), op.location)
    left = range(done, count)
    rest = [_rows(b, stack, done, count) for stack in op.stacks] if left else []
    carried, last = list(op.inits), list[SSAValue]()
    if left and op.reverse is not None:  # in reverse, the last steps come first
        values = _whole(b, op, left, carried, rest)
        carried, last = values[:n], values[n:]
    blocks = [b.reshape(_rows(b, x, 0, done), (trips, factor, *shape_of(x)[1:])) for x in op.stacks]
    sliced = [tensor(element_of(x), shape_of(x)[1:]) for x in blocks]

    def build(block: Block) -> list[SSAValue]:
        inner, given = GraphBuilder(block, op.location), list(block.args)
        first = inner.mul(given[0], inner.const(factor, i64))
        numbers = [inner.add(first, inner.const(k, i64)) for k in range(factor)]
        stacks = given[1 + len(op.consts) + n :]
        consts, inits = given[1 : 1 + len(op.consts)], given[1 + len(op.consts) : 1 + len(op.consts) + n]
        carried, stacked = _steps(inner, op, called_function(op), numbers, consts, inits, stacks)
        return [*carried, *stacked]

    function = new_function(op, "unrolled", [INDEX, *types_of(op.consts), *types_of(op.inits), *sliced], build)
    new = ForOp.make(function, trips, op.consts, carried, blocks, reverse=op.reverse is not None, linear=ints(op.linear))
    b.insert(new)
    carried = list(new.results[:n])
    stacked = [b.reshape(x, (done, *shape_of(x)[2:])) for x in new.results[n:]]
    if left and op.reverse is None:
        values = _whole(b, op, left, carried, rest)
        carried, last = values[:n], values[n:]
    return [*carried, *(_concat(b, [x, y]) for x, y in zip(stacked, last, strict=True))] if left else [*carried, *stacked]


def _row(b: GraphBuilder, stack: SSAValue, k: int) -> SSAValue:
    return b.reshape(_rows(b, stack, k, k + 1), shape_of(stack)[1:])


def _rows(b: GraphBuilder, stack: SSAValue, start: int, stop: int) -> SSAValue:
    shape = shape_of(stack)
    zeros = (0,) * (len(shape) - 1)
    return b.slice(stack, start=(start, *zeros), stop=(stop, *shape[1:]), step=(1,) * len(shape))


def _concat(b: GraphBuilder, parts: Sequence[SSAValue]) -> SSAValue:
    return parts[0] if len(parts) == 1 else b.concat(*parts, dim=0)

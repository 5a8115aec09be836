"""Values that differ between lanes when iterations of a loop are vectorized, and the strides of accesses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects.loop.loops import PAIR_MONOIDS, ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.operations import ops_of
from ...dialects.types import scalar_of, shape_of, width_of
from .accesses import Access, Instance, combine
from .facts import kept
from .linear import System
from .nests import around, ops_in


@kept
def lane_stride(op: LoadOp | StoreOp, index: SSAValue) -> tuple[int, int] | None:
    """(buffer dim, elements) by which an access moves when `index` grows by one; (0, 0): invariant; None: other."""
    indices = op.indices
    return movement(op.map.data, tuple([int(value is index) for value in indices])) if index in indices else (0, 0)


@lru_cache(maxsize=8192)
def movement(map: AffineMap, steps: tuple[int | None, ...]) -> tuple[int, int] | None:
    """The move of subscripts, as in `lane_stride`, where their indices grow by `steps`, of which None is unknown."""
    moves: list[tuple[int, int]] = []
    for dim, expr in enumerate(map.results):
        form = linear_form(expr, map.num_dims)
        if form is None:
            if any(steps[k] != 0 for k in expr.used_dims()):
                return None
            continue
        moving = [(c, step) for c, step in zip(form[0], steps, strict=True) if c]
        if any(step is None for _, step in moving):
            return None
        if move := sum(c * (step or 0) for c, step in moving):
            moves.append((dim, move))
    if len(moves) > 1:
        return None
    return moves[0] if moves else (0, 0)


def runs_along(op: LoadOp | StoreOp, loop: ForOp) -> bool:
    """Whether the next iteration of a loop accesses the next element of memory."""
    return lane_stride(op, loop.index) == (len(shape_of(op.buffer)) - 1, 1)


def stored_bits(loop: ForOp) -> int:
    """The width of the widest element that a loop stores."""
    return max(width_of(scalar_of(op.value.type)) for op in ops_in(loop, StoreOp))


@kept
def varying_values(loop: ForOp) -> set[SSAValue]:
    """The values in the loop that change with its index; local buffers do, as each iteration has a separate copy."""
    varying: set[SSAValue] = {loop.index}
    if loop.kind.data != "reduce":
        varying.update(loop.body.block.args[1:])
    before = 0
    while before != len(varying):  # a carried value may change because of ops after its use
        before = len(varying)
        _visit(loop.body.block, loop, varying)
    return varying


def _visit(block: Block, loop: ForOp, varying: set[SSAValue]) -> None:
    for op in ops_of(block):
        if not op.regions:
            if not varying.isdisjoint(op._operands) or type(op) is AllocOp:
                varying.update(op.results)
        elif isinstance(op, ForOp):
            apart = has_own_bounds(op, varying)
            if apart and not shares_index(op, loop, varying):
                varying.add(op.index)
            pairs = zip(op.inits, op.yielded, strict=True)
            moved = [apart or init in varying or value in varying for init, value in pairs]
            if op.monoid is not None and op.monoid.data in PAIR_MONOIDS and any(moved):
                moved = [True] * len(moved)
            _carry(op, moved, op.body.block.args[1:], varying)
            _visit(op.body.block, loop, varying)
        elif isinstance(op, WhileOp):
            apart = stops_apart(op, varying)
            pairs = zip(op.inits, op.yielded[1:], strict=True)
            moved = [apart or init in varying or value in varying for init, value in pairs]
            _carry(op, moved, op.body.block.args, varying)
            _visit(op.body.block, loop, varying)
        elif isinstance(op, IfOp):
            branches = [region.block for region in (op.then, op.otherwise) if region.blocks]
            for branch in branches:
                _visit(branch, loop, varying)
            for k, result in enumerate(op.results):
                if op.condition in varying or any(yielded(branch)[k] in varying for branch in branches):
                    varying.add(result)


def _carry(op: ForOp | WhileOp, moved: Sequence[bool], arguments: Sequence[SSAValue], varying: set[SSAValue]) -> None:
    for k, result in enumerate(op.results):
        if moved[k]:
            varying.add(result)
            varying.update(arguments[k : k + 1])  # a reduction has none


def yielded(block: Block) -> Sequence[SSAValue]:
    """The yielded values of a branch or body."""
    return block.last_op.operands if isinstance(block.last_op, YieldOp) else ()


def stops_apart(op: WhileOp, varying: set[SSAValue]) -> bool:
    """Whether lanes may leave a `while` at different times."""
    return op.condition in varying or op.yielded[0] in varying


def has_own_bounds(op: ForOp, varying: set[SSAValue]) -> bool:
    """Whether an inner loop has bounds that differ between lanes."""
    return any(v in varying for v in (*op.lower_operands, *op.upper_operands))


def shares_index(op: ForOp, loop: ForOp, varying: set[SSAValue]) -> bool:
    """Whether lanes can run an inner loop with one index, each taking part while the index is within its bounds.

    That holds when the lower bound is affine in the index of `loop` and lanes start at distances that are multiples of the
    step.
    """
    step = op.step.value.data
    lows = op.lower.data.results
    coefficients = [shift(e, op.lower_operands, loop, varying) for e in lows]
    if any(c is None for c in coefficients):
        return False
    if not any(coefficients):
        return True
    return all(c is not None and c * loop.step.value.data % step == 0 for c in coefficients) and (step == 1 or len(lows) == 1)


def shift(expr: AffineExpr, operands: Sequence[SSAValue], loop: ForOp, varying: set[SSAValue]) -> int | None:
    """The stride of an expression in the index of `loop`; None when it depends on other values that change."""
    used = [(k, operands[k]) for k in expr.used_dims() if operands[k] in varying]
    if not used:
        return 0
    form = linear_form(expr, len(operands))
    if form is None or any(value is not loop.index for _, value in used):
        return None
    return sum(form[0][k] for k, _ in used)


def always_inside(op: LoadOp | StoreOp) -> bool:
    """Whether an access of one element is in bounds in every iteration of its loops, ignoring conditions. About 1 ms."""
    buffer, access = op.buffer, Access(op, op.buffer, False, tuple(around(op)))
    owner = buffer.owner
    kernel = owner.parent_op() if isinstance(owner, Block) else None
    for dim, size in enumerate(shape_of(buffer)):
        for above in (False, True):
            system = System()
            instance = Instance(system, access, "a", {})
            terms, constant = instance.subscripts()[dim]
            if not above:
                system.ge({name: -c for name, c in terms.items()}, -constant - 1)
            elif isinstance(kernel, KernelOp):
                more, extent = instance.linear(kernel.sizes_of(buffer)[dim], kernel.index_arguments)
                system.ge(combine(terms, more, -1), constant - extent)
            elif size >= 0:
                system.ge(terms, constant - size)
            if not system.is_surely_empty():
                return False
    return True

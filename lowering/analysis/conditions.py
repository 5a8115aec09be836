"""Conditions on index values as linear expressions: the facts that hold in a branch of `loop.if`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...dialects.loop.assume import AssumeOp
from ...dialects.loop.loops import IfOp, KernelOp
from ...dialects.vocabulary import CmpiOp
from .affine import Affine

_EQUAL = 0
"""`eq`."""
_PREDICATES = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}
"""`slt sle sgt sge` of a and b hold where `(a - b) * sign + constant` is 0 or more."""


def form_of(value: SSAValue) -> Affine | None:
    """An index value as an affine expression of loop variables."""
    op = value.owner
    if isinstance(op, arith.FloorDivSIOp):
        x, y = map(form_of, op.operands)
        return Affine.of(value) if x is None or y is None or not y.number or y.number < 0 else x // y.number
    if not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp):
        return Affine.of(value)
    x, y = map(form_of, op.operands)
    if x is None or y is None:
        return None
    if isinstance(op, arith.MuliOp):
        return x * y.number if y.number is not None else y * x.number if x.number is not None else None
    return x + y if isinstance(op, arith.AddiOp) else x - y


def difference_of(op: Operation) -> Affine | None:
    """An expression that is 0 or more exactly where a comparison of index values holds."""
    if not isinstance(op, CmpiOp) or (predicate := op.predicate.value.data) not in _PREDICATES:
        return None
    x, y = map(form_of, op.operands)
    if x is None or y is None:
        return None
    sign, constant = _PREDICATES[predicate]
    return (x - y) * sign + constant


def known_at(op: Operation) -> Iterator[Affine]:
    """Expressions that are 0 or more at an op, from the `loop.if` conditions around it, or their negations."""
    block = op.parent
    while block is not None and (parent := block.parent_op()) is not None and not isinstance(parent, KernelOp):
        if isinstance(parent, IfOp) and isinstance(parent.condition.owner, Operation):
            if block.parent is parent.then:
                yield from _implied(parent.condition.owner)
            elif (form := difference_of(parent.condition.owner)) is not None:
                yield form * -1 - 1
        block = parent.parent


def _implied(condition: Operation) -> Iterator[Affine]:
    """Expressions that are 0 or more where a condition holds."""
    if isinstance(condition, arith.AndIOp):
        for operand in condition.operands:
            if isinstance(operand.owner, Operation):
                yield from _implied(operand.owner)
    elif isinstance(condition, CmpiOp) and condition.predicate.value.data == _EQUAL:
        x, y = map(form_of, condition.operands)
        if x is not None and y is not None:
            yield x - y
            yield y - x
    elif (form := difference_of(condition)) is not None:
        yield form


def assumed_at(loops: Sequence[Operation]) -> set[tuple[str, SSAValue]]:
    """The facts of the `loop.assume` ops that begin blocks around the outermost of some loops."""
    found: set[tuple[str, SSAValue]] = set()
    block = loops[0].parent if loops else None
    while block is not None and (parent := block.parent_op()) is not None and not isinstance(parent, KernelOp):
        if isinstance(parent, IfOp):
            first = block.first_op
            while isinstance(first, AssumeOp):
                found.add((first.kind.data, first.buffer))
                first = first.next_op
        block = parent.parent
    return found

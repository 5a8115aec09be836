"""Loops by `loop.while` that count: what is known of the counter inside."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.loop.loops import WhileOp
from ...dialects.vocabulary import CmpiOp, number_of
from .affine import Affine
from .conditions import form_of
from .nests import is_inside

_LESS = 2
"""`slt`."""


def bounds_of(counter: BlockArgument) -> Iterator[Affine]:
    """Expressions that are 0 or more in the body of a loop that starts with a number and adds to it while it is below another.

        %i = carried, from %first; next is %i + 1;        %i - %first and %stop - 1 - %i
        goes on while %i + 1 < %stop and so on

    The condition that the loop starts with and that of the next iteration must both say so, of what does not change in it.
    """
    loop = counter.block.parent_op()
    if not isinstance(loop, WhileOp) or counter.index >= len(loop.inits):
        return
    following = loop.yielded[1 + counter.index]
    step = following.owner
    if not isinstance(step, arith.AddiOp) or counter not in step.operands:
        return
    added = next((number_of(v) for v in step.operands if v is not counter), None)
    if added is None or added <= 0:
        return
    me = Affine.of(counter)
    first = loop.inits[counter.index]
    yield from (me - form for form in _forms(first, arith.MaxSIOp))
    starts = {stop for value, stop in _comparisons(loop.condition) if value is first}
    for value, stop in _comparisons(loop.yielded[0]):
        if value is following and stop in starts and not is_inside(stop, loop):
            yield from (form - 1 - me for form in _forms(stop, arith.MinSIOp))


def _comparisons(condition: SSAValue) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The pairs `a < b` that all hold where a condition does."""
    op = condition.owner
    if isinstance(op, arith.AndIOp):
        for operand in op.operands:
            yield from _comparisons(operand)
    if isinstance(op, CmpiOp) and op.predicate.value.data == _LESS:
        yield op.operands[0], op.operands[1]


def _forms(value: SSAValue, extreme: type[Operation]) -> Iterator[Affine]:
    """The value as an affine expression, or those that it is the least or the greatest of."""
    op = value.owner
    if isinstance(op, extreme):
        for operand in op.operands:
            yield from _forms(operand, extreme)
    elif (form := form_of(value)) is not None:
        yield form

"""Conditions on index values as linear expressions: the facts that hold in a branch of `loop.if`."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import IfOp, KernelOp
from ...dialects.vocabulary import CmpiOp
from .affine import Affine

_PREDICATES = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}
"""`slt sle sgt sge` of a and b hold where `(a - b) * sign + constant` is 0 or more."""


def form_of(value: SSAValue) -> Affine | None:
    """An index value as an affine expression of loop variables."""
    op = value.owner
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
            form = difference_of(parent.condition.owner)
            if form is not None:
                yield form if block.parent is parent.then else form * -1 - 1
        block = parent.parent

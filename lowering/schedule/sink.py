"""Move the statements before a loop that it uses into it, to be computed in every iteration.

    before                                         after loop-sink{loop=k}
    loop.for parallel %j = 0 to 64 {               loop.for parallel %j = 0 to 64 {
      %a = loop.load %s[%j]                          %t = loop.for reduce<add> %k = 0 to 256 init %zero {
      %t = loop.for reduce<add> %k = 0 to 256          %a = loop.load %s[%j]
          init %zero {                                 %b = loop.load %x[%k, %j]
        %b = loop.load %x[%k, %j]                      %c = arith.mulf %b, %a : f32
        %c = arith.mulf %b, %a : f32                   loop.yield %c
        loop.yield %c                                }
      }

The body around the loop is then free of values that would have to cross when it is divided or interchanged; loop-invariant ops
are hoisted again at emission.

Arithmetic and loads from buffers that the kernel does not write are moved; ops with other uses are copied. Always legal;
refused where there is nothing to move. Returns no names.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp
from ...dialects.operations import clone
from ...dialects.scalar_ops import is_arithmetic
from ..analysis.accesses import accesses
from ..analysis.nests import find, statements, walk
from .base import Primitive
from .cloning import remove


@dataclass(frozen=True)
class Sink(Primitive):
    """The statements before `loop` that it uses are computed inside it."""

    name = "loop-sink"
    loop: str

    def check(self, kernel: KernelOp) -> None:
        if not movable(kernel, find(kernel, self.loop, self.name)):
            raise self.refuse(f"{self.loop} uses no arithmetic or load of unwritten memory that stands before it in its body")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        body = loop.body.block
        values: dict[SSAValue, SSAValue] = {}
        moved = movable(kernel, loop)
        first = body.first_op
        assert first is not None
        for op in moved:
            copy = clone(op, values)
            copy.location = op.location
            for result, new in zip(op.results, copy.results, strict=True):
                new.name_hint = result.name_hint
            body.insert_op_before(copy, first)
        for old, new in values.items():
            old.replace_uses_with_if(new, lambda use: use.operation is not loop and loop.is_ancestor(use.operation))
        for op in reversed(moved):
            if not any(result.uses for result in op.results):
                remove(op)
        return ()


def movable(kernel: KernelOp, loop: ForOp) -> list[Operation]:
    """The ops before a loop in the same body that it uses and that return the same values there, in order."""
    assert loop.parent is not None
    written = {access.buffer for access in accesses(kernel) if access.writes}
    used = {operand for op in walk(loop.body.block) for operand in op.operands}
    body, moved = statements(loop.parent), list[Operation]()
    for op in reversed(body[: body.index(loop)]):
        pure = is_arithmetic(op)
        if any(result in used for result in op.results) and (pure or (isinstance(op, LoadOp) and op.buffer not in written)):
            moved.append(op)
            used.update(op.operands)
    return moved[::-1] if any(op.name != "arith.constant" for op in moved) else []  # constants alone hinder nothing

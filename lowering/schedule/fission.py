"""Split the body of a loop into two loops: the first runs it up to and with the statement named, the second the rest.

    before                                  after loop-fission{loop=i after=y}
    loop.for parallel %i = 0 to %N {        loop.for parallel %i = 0 to %N {
      %a = loop.load %x[%i]                   %a = loop.load %x[%i]
      loop.store %a, %y[%i]                   loop.store %a, %y[%i]
      %b = loop.load %z[%i]                 }
      loop.store %b, %w[%i]                 loop.for parallel %i2 = 0 to %N {
    }                                         %b = loop.load %z[%i2]
                                              loop.store %b, %w[%i2]
                                            }

`after` is the variable of a loop in the body, a value, or a buffer (the last store to it). Index arithmetic and constants that
both parts use are computed in both; other values cannot cross. Legal when no iteration of the rest touches an element that a
later iteration of the first part touches, one of them writing. Returns both loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp, YieldOp
from ...dialects.loop.memory import StoreOp
from ...dialects.operations import clone
from ..analysis.accesses import Access, accesses
from ..analysis.dependence import CannotDecide, find_conflict
from ..analysis.nests import find, fresh, name_of, statements, walk
from .base import Primitive


def _named(op: Operation) -> set[str | None]:
    names = {result.name_hint for result in op.results}
    if isinstance(op, ForOp):
        names.add(op.index.name_hint)
    if isinstance(op, StoreOp):
        names.add(op.buffer.name_hint)
    return names


def _crossing(before: list[Operation], after: list[Operation]) -> list[SSAValue]:
    """The values of the first part that the rest uses, in the order of their definitions."""
    used = {operand for op in after for inner in walk(op) for operand in inner.operands}
    needed: set[SSAValue] = set()
    for op in reversed(before):
        if any(result in used for result in op.results):
            needed.update(op.results)
            used.update(op.operands)
    return [result for op in before for result in op.results if result in needed]


@dataclass(frozen=True)
class Fission(Primitive):
    """`loop` becomes two loops, the first with its body up to and with the statement `after`."""

    name = "loop-fission"
    loop: str
    after: str

    def _parts(self, loop: ForOp) -> tuple[list[Operation], list[Operation]]:
        body = statements(loop.body.block)
        ends = [k for k, op in enumerate(body) if self.after in _named(op)]
        if not ends:
            there = ", ".join(sorted({name for op in body for name in _named(op) if name}))
            raise self.refuse(f"no statement '{self.after}' stands directly in {self.loop}; there are: {there or 'none'}")
        return body[: ends[-1] + 1], body[ends[-1] + 1 :]

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if loop.results:
            raise self.refuse(f"{self.loop} carries values from one iteration to the next")
        before, after = self._parts(loop)
        if not after:
            raise self.refuse(f"nothing stands after {self.after} in {self.loop}")
        for value in _crossing(before, after):
            op = value.owner
            if not isinstance(op, Operation) or not op.name.startswith("arith."):
                raise self.refuse(f"the rest uses %{value.name_hint or 'a value'}, which the first part computes")
        found = accesses(loop)
        first = [access for access in found if _within(access, before)]
        rest = [access for access in found if _within(access, after)]
        if loop.kind.data == "parallel":
            return  # its iterations have no order
        undecided: CannotDecide | None = None
        for one in rest:
            for two in first:
                if one.buffer is not two.buffer or not (one.writes or two.writes):
                    continue
                try:
                    conflict = find_conflict(one, two, {loop: "<"})
                except CannotDecide as error:
                    undecided = undecided or error
                    continue
                if conflict is not None:
                    raise self.refuse(f"two dependent iterations would be reordered: {conflict}", conflict)
        if undecided is not None:
            raise self.refuse(f"cannot decide: {undecided}")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        before, after = self._parts(loop)
        body = Block(arg_types=[IndexType()])
        rest = ForOp.build_loop(
            (loop.lower.data, list(loop.lower_operands)),
            (loop.upper.data, list(loop.upper_operands)),
            step=loop.step.value.data,
            kind=loop.kind.data,
            body=body,
            name=fresh(kernel, self.loop),
        )
        rest.location, rest.dynamic = loop.location, loop.dynamic
        values: dict[SSAValue, SSAValue] = {loop.index: rest.index}
        for op in dict.fromkeys(value.owner for value in _crossing(before, after)):
            assert isinstance(op, Operation)
            body.add_op(clone(op, values))
        for op in after:
            op.detach()
            body.add_op(op)
            for inner in walk(op):
                inner.operands = [values.get(operand, operand) for operand in inner.operands]
        body.add_op(YieldOp.create())
        block = loop.parent
        assert block is not None
        block.insert_op_after(rest, loop)
        return name_of(loop), name_of(rest)


def _within(access: Access, ops: list[Operation]) -> bool:
    return any(op is access.op or op.is_ancestor(access.op) for op in ops)

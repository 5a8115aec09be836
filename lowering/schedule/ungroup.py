"""Let a nested reduction continue from the value of the loop around it, instead of starting again in each of its iterations.

    before                                                after loop-ungroup{loop=i}
    %s = loop.for reduce<add> %i = 0 to 3 init %a {       %s = loop.for seq %i = 0 to 3 carry %t = %a {
      %p = loop.for reduce<add> %j = 0 to 3 init %zero {    %p = loop.for reduce<add> %j = 0 to 3 init %t {
        %v = loop.load %x[%i, %j]                             %v = loop.load %x[%i, %j]
        loop.yield %v                                         loop.yield %v
      }                                                     }
      loop.yield %p                                         loop.yield %p
    }                                                     }

There is then one combination for each element, and none for each outer iteration. `loop-regroup` does the opposite.

Requires a reduction of one value that yields the result of a reduction by the same monoid, which starts from the neutral
element, or from such a reduction; for sums single values may be added to these. Combines in another order. Returns the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import PAIR_MONOIDS, ForOp, KernelOp, YieldOp
from ...dialects.scalar import identity_value
from ..analysis.nests import find, name_of
from .base import Primitive


@dataclass(frozen=True)
class Ungroup(Primitive):
    """`loop` carries one value through the reductions inside."""

    name = "loop-ungroup"
    loop: str

    def check(self, kernel: KernelOp) -> None:
        self._first(find(kernel, self.loop, self.name))

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        first, k = self._first(loop)
        first.operands[k] = loop.body.block.insert_arg(loop.results[0].type, 1)
        loop.properties["kind"] = StringAttr("seq")
        del loop.properties["monoid"]
        return (name_of(loop),)

    def _first(self, loop: ForOp) -> tuple[Operation, int]:
        """The first of the reductions and additions inside, and which of its operands is the neutral element."""
        if loop.monoid is None or loop.monoid.data in PAIR_MONOIDS or len(loop.results) != 1:
            raise self.refuse(f"{self.loop} is no reduction of one value")
        end = loop.body.block.last_op
        assert isinstance(end, YieldOp)
        value, found = end.operands[0], False
        while True:
            inner = value.owner
            is_sum = loop.monoid.data == "add" and isinstance(inner, arith.AddfOp | arith.AddiOp)
            is_reduction = isinstance(inner, ForOp) and inner.monoid == loop.monoid
            if not isinstance(inner, Operation) or not (is_sum or is_reduction) or inner.parent is not loop.body.block:
                raise self.refuse(f"{self.loop} does not yield what a reduce<{loop.monoid.data}> inside results in")
            if len(inner.results) != 1 or not value.has_one_use():
                shown = name_of(inner) if isinstance(inner, ForOp) else inner.name
                raise self.refuse(f"{self.loop} yields not all that {shown} results in, or uses it before")
            found = found or is_reduction
            k = 0 if is_sum else len(inner.operands) - 1
            value = inner.operands[k]
            if found and is_neutral(value, loop.monoid.data):
                return inner, k


def is_neutral(value: SSAValue, monoid: str) -> bool:
    """Whether a value is the neutral element of a monoid."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or isinstance(value.type, IndexType):
        return False
    number = getattr(op.value, "value", None)
    return number is not None and number.data == identity_value(monoid, value.type)

"""Add the terms of a long sum in groups that start from zero, then the sums of the groups.

    before                                              after loop-regroup{loop=k size=64}
    %s = loop.for reduce<add> %k = 0 to 256 init %z {   %s = loop.for seq %ko = 0 to 256 step 64 carry %t = %z {
      %a = loop.load %x[%k]                               %p = loop.for reduce<add> %ki = 0 to 64 init %zero {
      loop.yield %a                                         %a = loop.load %x[%ko + %ki]
    }                                                       loop.yield %a
                                                          }
                                                          %u = arith.addf %t, %p
                                                          loop.yield %u
                                                        }

The error of a sum of `n` terms one after the other is at most `n u` times the sum of their magnitudes, `u` being half a unit in
the last place of 1; that of groups is `(size + n / size) u` (Higham, "The accuracy of floating point summation", SIAM J. Sci.
Comput. 1993). Groups of groups are made from the outside in. Where all terms are one group there is no loop over groups: the
sum starts from zero, and its initial value is added to it.

Requires a sum of floats, scalars or vectors. Adds in another order. Returns the loop over the groups, if there is one, and the
loop over the terms of a group, which otherwise keeps its name.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.scalar import ScalarBuilder
from ...dialects.types import is_float, scalar_of
from ..analysis.bounds import constant_extent
from ..analysis.nests import find, name_of
from .base import Primitive
from .rewriting import place_at_start
from .split import check_step, split_loop


@dataclass(frozen=True)
class Regroup(Primitive):
    """The terms of a sum are added in groups of at most `size`, each from zero."""

    name = "loop-regroup"
    loop: str
    size: int

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if loop.monoid is None or loop.monoid.data != "add":
            kind = loop.kind.data if loop.monoid is None else f"reduce<{loop.monoid.data}>"
            raise self.refuse(f"only the terms of a sum are grouped, {self.loop} is {kind}")
        if not all(is_float(scalar_of(result.type)) for result in loop.results):
            raise self.refuse(f"{self.loop} adds integers, whose order does not matter")
        if self.size < 1:
            raise self.refuse(f"the size must be 1 or more, got {self.size}")
        check_step(loop, self.size)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        extent = constant_extent(loop)
        if extent is not None and extent <= self.size:
            _from_zero(kernel, loop)
            return (self.loop,)
        outer, inner = split_loop(kernel, loop, self.loop, self.size)
        _from_zero(kernel, inner)
        return name_of(outer), name_of(inner)


def _from_zero(kernel: KernelOp, loop: ForOp) -> None:
    """Let a sum start from zero, and add its initial value afterwards."""
    constants, inits = Block(), list(loop.inits)
    builder = ScalarBuilder(constants, loop.location)
    zeros = [builder.const(0.0, init.type) for init in inits]
    added = Block()
    builder = ScalarBuilder(added, loop.location)
    totals = [builder.add(init, result) for init, result in zip(inits, loop.results, strict=True)]
    for result, total in zip(loop.results, totals, strict=True):
        total.name_hint, result.name_hint = result.name_hint, None
        result.replace_uses_with_if(total, lambda use, total=total: use.operation is not total.owner)
    first = len(loop.operands) - len(inits)
    for k, zero in enumerate(zeros):
        loop.operands[first + k] = zero
    home = loop.parent
    assert home is not None
    for op in reversed(list(added.ops)):
        op.detach()
        home.insert_op_after(op, loop)
    moved = list(constants.ops)
    for op in moved:
        op.detach()
    place_at_start(moved, kernel.body.block)

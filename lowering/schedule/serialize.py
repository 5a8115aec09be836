"""Run the iterations of a parallel loop sequentially, so that a parallel loop inside it can run on threads instead.

    before                                  after loop-serialize{loop=j}
    loop.for parallel %j = 0 to %N {        loop.for seq %j = 0 to %N {
      loop.for parallel %i = 0 to %M {        loop.for parallel %i = 0 to %M {

Always legal: it is one of the orders that `parallel` allows. Returns the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr

from ...dialects.loop.loops import KernelOp
from ..analysis.nests import find
from .base import Primitive


@dataclass(frozen=True)
class Serialize(Primitive):
    """`loop` becomes `seq`."""

    name = "loop-serialize"
    keeps_lines = True
    loop: str

    def check(self, kernel: KernelOp) -> None:
        kind = find(kernel, self.loop, self.name).kind.data
        if kind != "parallel":
            raise self.refuse(f"{self.loop} is not parallel but {kind}")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        loop.properties["kind"], loop.dynamic = StringAttr("seq"), None
        return (self.loop,)

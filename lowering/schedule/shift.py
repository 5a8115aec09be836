"""Let the index of a loop run over other numbers, a constant further.

    before                                  after loop-shift{loop=i count=2}
    loop.for seq %i = 0 to %N {             loop.for seq %i = 2 to %N + 2 {
      %a = loop.load %x[%i]                   %a = loop.load %x[%i - 2]
      ...                                     ...

Always legal: each iteration gets another number, and their order stays. Loops whose bounds differ by a constant can be fused
then, the second one late by `count` iterations, which makes legal what the first computes only later. Returns the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.loop.loops import KernelOp
from ..analysis.affine import Affine
from ..analysis.nests import find
from .base import Primitive
from .skew import move, obstacle


@dataclass(frozen=True)
class Shift(Primitive):
    """`count`, which may be negative, is added to the index of `loop`."""

    name = "loop-shift"
    keeps_lines = True
    loop: str
    count: int

    def check(self, kernel: KernelOp) -> None:
        if (reason := obstacle(find(kernel, self.loop, self.name))) is not None:
            raise self.refuse(reason)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        move(find(kernel, self.loop, self.name), Affine.of(self.count))
        return (self.loop,)

"""Compute half of the square roots of a loop by multiplications, beside those that the divider computes.

    before                                  after loop-share-roots{loop=i}
    %r = math.sqrt %x : vector<32xf32>      %r = math.sqrt %x {shared} : vector<32xf32>

Where divisions and roots take longer than all other ops of a loop, the multiplication units are idle. Both ways round
correctly, so that results stay the same. A target without the instruction for estimates (AVX-512 has it) uses the divider for
all.

Requires square roots of vectors of f32 directly in the body of the loop; they are marked. A hint: always legal. Returns no
names.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type, UnitAttr, VectorType
from xdsl.dialects.math import SqrtOp

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.vocabulary import SHARED
from ..analysis.nests import find
from .base import Primitive


@dataclass(frozen=True)
class ShareRoots(Primitive):
    """The square roots in the body of `loop` are shared by the divider and the multipliers."""

    name = "loop-share-roots"
    loop: str

    def check(self, kernel: KernelOp) -> None:
        if not roots(find(kernel, self.loop, self.name)):
            raise self.refuse(f"no square roots of f32 vectors stand directly in '{self.loop}'")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        for root in roots(find(kernel, self.loop, self.name)):
            root.attributes[SHARED] = UnitAttr()
        return ()


def roots(loop: ForOp) -> list[SqrtOp]:
    """The square roots of vectors of f32 directly in the body of a loop."""
    found = [op for op in loop.body.block.ops if isinstance(op, SqrtOp)]
    return [op for op in found if isinstance(type := op.result.type, VectorType) and isinstance(type.element_type, Float32Type)]

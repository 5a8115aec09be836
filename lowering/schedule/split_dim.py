"""Split a dim of a local buffer into two: the quotient of its subscript by `factor`, and the remainder.

Requires a buffer of static shape that the kernel allocates, and accesses whose remainders are constant.

    before                                     after, buffer=t dim=0 factor=2
    %t = loop.alloc stack : memref<9xf32>      %t = loop.alloc stack : memref<5x2xf32>
    loop.store %a, %t[%i * 2]                  loop.store %a, %t[%i, 0]
    loop.store %b, %t[%i * 2 + 1]              loop.store %b, %t[%i, 1]
    %v = loop.load %t[%j * 2 + 2]              %v = loop.load %t[%j + 1, 0]

With `loop-set-layout`, which moves the remainder outside, elements at distance `factor` become neighbours. Returns no names.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.loop.loops import KernelOp
from ...dialects.loop.memory import AllocOp
from ..analysis.affine import Affine, show
from ..analysis.regions import find_local
from .base import Primitive
from .buffers import accesses_of, require_static, store_as
from .cloning import subscripts


@dataclass(frozen=True)
class SplitDim(Primitive):
    """Split a dim of a local buffer.

    Attributes:
        buffer: a local buffer.
        dim: the dim that becomes two.
        factor: the size of the inner one.
    """

    name = "loop-split-dim"

    buffer: str
    dim: int
    factor: int

    def check(self, kernel: KernelOp) -> None:
        for op in accesses_of(self, self._alloc(kernel), "split the dim"):
            if (at := subscripts(op))[self.dim].mod(self.factor).number is None:
                raise self.refuse(f"the remainder of {at[self.dim]} by {self.factor} in {self.buffer}{show(at)} is no number")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        old, dim = self._alloc(kernel), self.dim
        shape = list(old.buffer.type.get_shape())
        shape[dim : dim + 1] = [-(-shape[dim] // self.factor), self.factor]
        store_as(old, shape, self._split, old)
        return ()

    def _split(self, at: list[Affine]) -> list[Affine]:
        form = at[self.dim]
        return [*at[: self.dim], form // self.factor, form.mod(self.factor), *at[self.dim + 1 :]]

    def _alloc(self, kernel: KernelOp) -> AllocOp:
        alloc = find_local(kernel, self.buffer, self.as_text())
        type = alloc.buffer.type
        if not 0 <= self.dim < type.get_num_dims():
            raise self.refuse(f"{self.buffer} has no dim {self.dim}: {type}")
        require_static(self, alloc)
        if self.factor < 2:
            raise self.refuse(f"the factor must be 2 or more, got {self.factor}")
        return alloc

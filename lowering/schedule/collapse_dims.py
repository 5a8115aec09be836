"""Store neighbouring dims of a local buffer as one.

Requires a buffer of static shape that the kernel allocates, and accesses of single elements. The opposite of `loop-split-dim`.

    before                                     after, buffer=t dim=0
    %t = loop.alloc stack : memref<3x4xf32>    %t = loop.alloc stack : memref<12xf32>
    loop.store %a, %t[%i, %j + 1]              loop.store %a, %t[%i * 4 + %j + 1]

Elements keep their addresses. Returns no names.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...dialects.loop.loops import KernelOp
from ...dialects.loop.memory import AllocOp
from ..analysis.affine import Affine
from ..analysis.regions import find_local
from .base import Primitive
from .buffers import accesses_of, require_static, store_as


@dataclass(frozen=True)
class CollapseDims(Primitive):
    """Merge several dims of a local buffer into one.

    Attributes:
        buffer: a local buffer.
        dim: the first of these dims.
        count: the number of dims.
    """

    name = "loop-collapse-dims"

    buffer: str
    dim: int
    count: int = 2

    def check(self, kernel: KernelOp) -> None:
        accesses_of(self, self._alloc(kernel), "collapse dims")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        old = self._alloc(kernel)
        shape, dims = list(old.buffer.type.get_shape()), slice(self.dim, self.dim + self.count)
        sizes = shape[dims]
        shape[dims] = [prod(sizes)]

        def collapsed(at: list[Affine]) -> list[Affine]:
            one = Affine.of(0)
            for form, size in zip(at[dims], sizes, strict=True):
                one = one * size + form
            at[dims] = [one]
            return at

        store_as(old, shape, collapsed, old)
        return ()

    def _alloc(self, kernel: KernelOp) -> AllocOp:
        alloc = find_local(kernel, self.buffer, self.as_text())
        type = alloc.buffer.type
        if self.count < 2:
            raise self.refuse(f"count must be 2 or more, got {self.count}")
        if self.dim < 0 or self.dim + self.count > type.get_num_dims():
            raise self.refuse(f"{self.buffer} has no {self.count} dims from dim {self.dim} on: {type}")
        require_static(self, alloc)
        return alloc

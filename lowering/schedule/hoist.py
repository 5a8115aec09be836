"""Replace a buffer in each iteration of a loop by one buffer around the loop, with a part for each iteration.

    before                                       after loop-hoist{buffer=t}
    loop.for parallel %i = 0 to 64 {             %t = loop.alloc scratch : memref<64x32xf32>
      %t = loop.alloc scratch : memref<32xf32>   loop.for parallel %i = 0 to 64 {
      loop.for parallel %j = 0 to 32 {             loop.for parallel %j = 0 to 32 {
        ...                                          ...
        loop.store %v, %t[%j]                        loop.store %v, %t[%i, %j]
      }                                            }
      ... %t[...] ...                              ... %t[%i, ...] ...
    }                                            }

The first dim is the number of the iteration. The statements of the loop can then run in separate loops (`loop-fission`,
`loop-expand`).

Requires a buffer of static shape that is allocated directly in a loop with a known greatest number of iterations, and accesses
of single elements. Always legal: no iteration reads elements that another one writes. Returns no names.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp
from ..analysis.affine import Affine
from ..analysis.facts import planned
from ..analysis.nests import around, name_of
from ..analysis.regions import Extent, extent, find_local
from .base import Primitive
from .buffers import accesses_of, require_static, store_as


@dataclass(frozen=True)
class Hoist(Primitive):
    """Move a local buffer out of the innermost loop around it.

    Attributes:
        buffer: a local buffer.
    """

    name = "loop-hoist"

    buffer: str

    def check(self, kernel: KernelOp) -> None:
        self._plan(kernel)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        old, loop, size = self._plan(kernel)
        shape = (max(1, size.count), *old.buffer.type.get_shape())
        store_as(old, shape, lambda at: [size.number(Affine.of(loop.index)), *at], loop)
        return ()

    @planned
    def _plan(self, kernel: KernelOp) -> tuple[AllocOp, ForOp, Extent]:
        alloc = find_local(kernel, self.buffer, self.as_text())
        loop = alloc.parent_op()
        if not isinstance(loop, ForOp):
            raise self.refuse(f"{self.buffer} does not stand directly in a loop")
        require_static(self, alloc)
        size = extent(loop, around(loop))
        if size is None:
            raise self.refuse(f"loop {name_of(loop)} has no constant upper bound on its extent: split it first")
        accesses_of(self, alloc, "hoist")
        return alloc, loop, size

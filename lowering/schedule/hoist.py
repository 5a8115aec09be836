"""Give the iterations of a loop parts of one buffer around the loop, in place of a buffer each.

    before                                       after loop-hoist{buffer=t}
    loop.for parallel %i = 0 to 64 {             %t = loop.alloc scratch : memref<64x32xf32>
      %t = loop.alloc scratch : memref<32xf32>   loop.for parallel %i = 0 to 64 {
      loop.for parallel %j = 0 to 32 {             loop.for parallel %j = 0 to 32 {
        ...                                          ...
        loop.store %v, %t[%j]                        loop.store %v, %t[%i, %j]
      }                                            }
      ... %t[...] ...                              ... %t[%i, ...] ...
    }                                            }

The first dim is the number of the iteration. The statements of the loop can then run in loops of their own (`loop-fission`,
`loop-expand`).

Requires a buffer of static shape that stands directly in a loop whose greatest number of iterations is known, and accesses of
single elements. Legal always: no iteration reads what another one writes. Returns no names.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr

from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.structure import ForOp, KernelOp
from ..analysis.affine import Affine
from ..analysis.facts import planned
from ..analysis.nests import around, name_of
from ..analysis.regions import Extent, extent, find_local
from .base import Primitive
from .cloning import is_vector, redirect, remove, subscripts


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
        type = old.buffer.type
        shape = (max(1, size.count), *type.get_shape())
        new = AllocOp.build_alloc(old.place.data, MemRefType(type.element_type, shape), name=old.buffer.name_hint)
        new.location, new.attributes = old.location, dict(old.attributes)
        block = loop.parent
        assert block is not None
        block.insert_op_before(new, loop)
        for op in {use.operation: None for use in old.buffer.uses}:
            assert isinstance(op, LoadOp | StoreOp)
            redirect(op, new.buffer, [size.number(Affine.of(loop.index)), *subscripts(op)])
        remove(old)
        return ()

    @planned
    def _plan(self, kernel: KernelOp) -> tuple[AllocOp, ForOp, Extent]:
        alloc = find_local(kernel, self.buffer, self.as_text())
        loop, type = alloc.parent_op(), alloc.buffer.type
        if not isinstance(loop, ForOp):
            raise self.refuse(f"{self.buffer} does not stand directly in a loop")
        if DYNAMIC_INDEX in type.get_shape() or not isinstance(type.layout, NoneAttr):
            raise self.refuse(f"{self.buffer} needs a static shape and no layout: {type}")
        size = extent(loop, around(loop))
        if size is None:
            raise self.refuse(f"loop {name_of(loop)} has no greatest constant extent: split it first")
        for use in alloc.buffer.uses:
            op = use.operation
            if not isinstance(op, LoadOp | StoreOp):
                raise self.refuse(f"{self.buffer} is used by '{op.name}'")
            if is_vector(op):
                raise self.refuse(f"an access of {self.buffer} moves a vector: hoist before you vectorize")
        return alloc, loop, size

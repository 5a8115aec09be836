"""Store neighbouring dims of a local buffer as one.

Requires a buffer of static shape that the kernel allocates, and accesses of single elements. The opposite of `loop-split-dim`.

    before                                     after, buffer=t dim=0
    %t = loop.alloc stack : memref<3x4xf32>    %t = loop.alloc stack : memref<12xf32>
    loop.store %a, %t[%i, %j + 1]              loop.store %a, %t[%i * 4 + %j + 1]

Elements lie where they were. Returns no names.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr

from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.structure import KernelOp
from ..analysis.affine import Affine
from ..analysis.regions import find_local
from .base import Primitive
from .cloning import is_vector, redirect, remove, subscripts


@dataclass(frozen=True)
class CollapseDims(Primitive):
    """Let several dims of a local buffer be one.

    Attributes:
        buffer: a local buffer.
        dim: the first of these dims.
        count: how many they are.
    """

    name = "loop-collapse-dims"

    buffer: str
    dim: int
    count: int = 2

    def check(self, kernel: KernelOp) -> None:
        alloc = self._alloc(kernel)
        for use in alloc.buffer.uses:
            op = use.operation
            if not isinstance(op, LoadOp | StoreOp):
                raise self.refuse(f"{self.buffer} is used by '{op.name}'")
            if is_vector(op):
                raise self.refuse(f"an access of {self.buffer} moves a vector: collapse dims before you vectorize")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        old = self._alloc(kernel)
        shape, dims = list(old.buffer.type.get_shape()), slice(self.dim, self.dim + self.count)
        sizes, total = shape[dims], 1
        for size in sizes:
            total *= size
        shape[dims] = [total]
        type = MemRefType(old.buffer.type.element_type, shape)
        new = AllocOp.build_alloc(old.place.data, type, name=old.buffer.name_hint)
        new.location, new.attributes = old.location, dict(old.attributes)
        block = old.parent_block()
        assert block is not None
        block.insert_op_before(new, old)
        for op in {use.operation: None for use in old.buffer.uses}:
            assert isinstance(op, LoadOp | StoreOp)
            at, one = subscripts(op), Affine.of(0)
            for form, size in zip(at[dims], sizes, strict=True):
                one = one * size + form
            at[dims] = [one]
            redirect(op, new.buffer, at)
        remove(old)
        return ()

    def _alloc(self, kernel: KernelOp) -> AllocOp:
        alloc = find_local(kernel, self.buffer, self.as_text())
        type = alloc.buffer.type
        if self.count < 2:
            raise self.refuse(f"count must be 2 or more, got {self.count}")
        if self.dim < 0 or self.dim + self.count > type.get_num_dims():
            raise self.refuse(f"{self.buffer} has no {self.count} dims from dim {self.dim} on: {type}")
        if DYNAMIC_INDEX in type.get_shape() or not isinstance(type.layout, NoneAttr):
            raise self.refuse(f"{self.buffer} needs a static shape and no layout: {type}")
        return alloc

"""Permute the dims of a local buffer, and pad its rows or another dim.

Requires a buffer that the kernel allocates. It holds the same elements at other addresses: each access is rewritten.

    before                                         after, buffer=t order=1,0 pad=4
    %t = loop.alloc stack : memref<6x16xf32>       %t = loop.alloc stack : memref<16x10xf32>
    loop.store %a, %t[%i, %j]                      loop.store %a, %t[%j, %i]
    %v = loop.load %t[%i, 0] : ..., vector<16xf32> %v = loop.load %t[0, %i] along 0 : ..., vector<16xf32>

Dim `k` of the new layout is dim `order[k]` of the old one; the last dim, or `dim`, is `pad` elements longer. Returns no names.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, IndexType, IntegerAttr, NoneAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.scalar import ScalarBuilder
from ...dialects.types import memref
from ..analysis.regions import find_local
from .base import Primitive
from .cloning import is_vector


@dataclass(frozen=True)
class SetLayout(Primitive):
    """Change the layout of a local buffer in memory.

    Attributes:
        buffer: a local buffer.
        order: the old dims in their new order.
        pad: the number of elements added to a dim.
        dim: the padded dim of the new layout, counted from the last one if negative.
    """

    name = "loop-set-layout"

    buffer: str
    order: tuple[int, ...] = (1, 0)
    pad: int = 0
    dim: int = -1

    def check(self, kernel: KernelOp) -> None:
        self._alloc(kernel)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        old = self._alloc(kernel)
        type = old.buffer.type
        shape = [type.get_shape()[k] for k in self.order]
        given = iter(old.sizes)
        by_dim = {k: next(given) for k, n in enumerate(type.get_shape()) if n == DYNAMIC_INDEX}
        sizes = [by_dim[k] for k in self.order if k in by_dim]
        block = old.parent_block()
        assert block is not None
        if self.pad and shape[self.dim] != DYNAMIC_INDEX:
            shape[self.dim] += self.pad
        elif self.pad:
            home = Block()
            builder = ScalarBuilder(home, old.location)
            k = shape[: self.dim % len(shape)].count(DYNAMIC_INDEX)
            sizes[k] = builder.add(sizes[k], builder.const(self.pad, IndexType()))
            for op in list(home.ops):
                op.detach()
                block.insert_op_before(op, old)
        new = AllocOp.build_alloc(old.space.data, memref(type.element_type, shape), sizes, old.buffer.name_hint)
        new.location, new.attributes = old.location, dict(old.attributes)
        block.insert_op_before(new, old)
        for op in {use.operation: None for use in old.buffer.uses}:
            self._permute(op)
        old.buffer.replace_all_uses_with(new.buffer)
        old.detach()
        old.erase()
        return ()

    def _permute(self, op: Operation) -> None:
        """Permute the subscripts of an access."""
        if isinstance(op, GatherOp | ScatterOp):
            first: list[SSAValue] = list(op.operands[: len(op.operands) - len(op.subscripts) - (op.mask is not None)])
            masks = [] if op.mask is None else [op.mask]
            op.operands = [*first, *(op.subscripts[k] for k in self.order), *masks]
            return
        assert isinstance(op, LoadOp | StoreOp | PrefetchOp)
        if not isinstance(op, PrefetchOp) and is_vector(op):
            along = self.order.index(op.lane_dim())
            op.properties.pop("along", None)
            if along != len(self.order) - 1:
                op.properties["along"] = IntegerAttr(along, i64)
        map = op.map.data
        permuted = AffineMap(map.num_dims, 0, tuple(map.results[k] for k in self.order))
        op.properties["map"] = AffineMapAttr(permuted)

    def _alloc(self, kernel: KernelOp) -> AllocOp:
        alloc = find_local(kernel, self.buffer, self.as_text())
        type = alloc.buffer.type
        if sorted(self.order) != list(range(type.get_num_dims())):
            raise self.refuse(f"order must be a permutation of the dims of {type}")
        if self.pad < 0:
            raise self.refuse(f"pad must not be negative, got {self.pad}")
        if self.pad and not self.order:
            raise self.refuse(f"{self.buffer} has no dims, and so no rows to be longer")
        if self.pad and not -len(self.order) <= self.dim < len(self.order):
            raise self.refuse(f"{self.buffer} has no dim {self.dim}: {type}")
        if not isinstance(type.layout, NoneAttr):
            raise self.refuse(f"{self.buffer} has a layout already: {type}")
        for use in alloc.buffer.uses:
            if not isinstance(use.operation, LoadOp | StoreOp | GatherOp | ScatterOp | PrefetchOp):
                raise self.refuse(f"{self.buffer} is used by '{use.operation.name}'")
        return alloc

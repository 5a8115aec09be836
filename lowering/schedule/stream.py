"""Use non-temporal stores for whole cache lines of a buffer.

    before                                            after loop-stream{buffer=y}
    loop.store %v, %y[%i, %j] : ..., vector<16xf32>   loop.store %v, %y[%i, %j] {streamed} : ..., vector<16xf32>

A store loads the line that it is about to overwrite, unless it is non-temporal: then memory transfers are halved, and the
contents of the caches stay. This gains for results that exceed the caches, and loses for those that are read soon after.
Unaligned stores, which are only known at run time, are plain ones.

Requires an argument that the kernel does not read and to which it stores contiguous vectors; the stores are marked.
A hint: always legal. Returns no names.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import BlockArgument

from ...dialects.loop.loops import KernelOp
from ...dialects.loop.memory import STREAMED, StoreOp
from ..analysis.accesses import accesses
from ..analysis.regions import find_buffer
from .base import Primitive


@dataclass(frozen=True)
class Stream(Primitive):
    """Stores of vectors to `buffer` are non-temporal."""

    name = "loop-stream"
    buffer: str

    def check(self, kernel: KernelOp) -> None:
        self._stores(kernel)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        for store in self._stores(kernel):
            store.attributes[STREAMED] = UnitAttr()
        return ()

    def _stores(self, kernel: KernelOp) -> list[StoreOp]:
        """The stores of contiguous vectors."""
        buffer = find_buffer(kernel, self.buffer, self.name)
        if not isinstance(buffer, BlockArgument):
            raise self.refuse(f"{self.buffer} is a local buffer: non-temporal stores need a buffer that is an argument")
        found = [access for access in accesses(kernel) if access.buffer is buffer]
        if not all(access.writes for access in found):
            raise self.refuse(f"{self.buffer} is read as well, which loads it into the caches again")
        stores = [access.op for access in found if isinstance(access.op, StoreOp) and _is_whole(access.op)]
        if not stores:
            raise self.refuse(f"no vectors are stored to {self.buffer} side by side and without a mask")
        return stores


def _is_whole(store: StoreOp) -> bool:
    type = store.buffer.type
    assert isinstance(type, MemRefType)
    return store.lanes > 1 and store.mask is None and store.lane_dim() == type.get_num_dims() - 1 and store.lane_step() == 1

"""Prologues of matmuls: the producer of an operand moves to where the operand is packed, or to the blocks that are read.

A kernel stores the result of an elementwise prologue before the product reads it (`dialects/graph/fusion.py`). Packing reads
each element about once: there `loop-inline` computes it instead of loading it, and removes the first buffer. An operand that is
not packed is computed a block at a time (`loop-compute-at`), so that the tiles find it in the caches.

A prologue of an operand that is packed for several blocks is then computed for each of them. That pays while the repeated work
costs less than a store and a load of an element, which a separate nest needs: else the prologue stays before the product. A
block that is computed is stored, too, so that it must be the only one that needs its elements.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.types import shape_of
from ..analysis.lanes import runs_along
from ..analysis.nests import around, buffer_name, loops, ops_in, walk
from ..op_costs import instructions
from ..schedule.compute_at import ComputeAt
from ..schedule.inline import Inline
from ..schedule.reuse import WORTH
from ..schedule.vectorize import Vectorize
from .base import Take, attempt


def prologue_of(kernel: KernelOp, buffer: SSAValue) -> ForOp | None:
    """The nest before all others that computes a buffer, if the buffer is the result of a prologue."""
    if not isinstance(buffer.owner, AllocOp) or buffer.owner.parent is not kernel.body.block:
        return None
    stores = [use.operation for use in buffer.uses if isinstance(use.operation, StoreOp)]
    nests = [op for op in kernel.body.block.ops if isinstance(op, ForOp) and any(op.is_ancestor(store) for store in stores)]
    return nests[0] if len(stores) == len(nests) == 1 and _lies_alike(nests[0], stores[0]) else None


def _lies_alike(nest: ForOp, store: StoreOp) -> bool:
    """Whether a nest has no loads that are strided along its stores: such loads are better transposed in square tiles."""
    along = [loop for loop in around(store) if runs_along(store, loop)]
    loads = ops_in(nest, LoadOp)
    return all(runs_along(op, loop) or loop.index not in op.indices for loop in along for op in loads)


def main_operand(kernel: KernelOp, buffer: SSAValue) -> str:
    """The name of the operand of a prologue that takes longest to read, or of the buffer itself, if no prologue stores it."""
    nest = prologue_of(kernel, buffer)
    read = [] if nest is None else [op.buffer for op in ops_in(nest, LoadOp)]
    sizes = [prod(shape_of(value)) for value in read]
    return buffer_name(max(zip(sizes, read, strict=True), key=lambda pair: pair[0])[1]) if read else buffer_name(buffer)


def cost_of(nest: ForOp) -> float:
    """The number of operations that compute an element of a prologue, loads included."""
    return sum(instructions(op) for op in walk(nest) if not isinstance(op, ForOp | StoreOp) and op.results)


def pays(kernel: KernelOp, buffer: SSAValue, times: int) -> bool:
    """Whether computing each element of a buffer `times` costs less than a separate nest."""
    nest = prologue_of(kernel, buffer)
    return nest is not None and (times - 1) * cost_of(nest) <= WORTH


def inline_prologue(kernel: KernelOp, buffer: SSAValue, times: int, take: Take) -> bool:
    """Compute a buffer where it is read, `times` an element, if it is a prologue's and that pays; returns whether it did."""
    return pays(kernel, buffer, times) and attempt(Inline(buffer_name(buffer)), take) is not None


def compute_prologue_at(kernel: KernelOp, buffer: SSAValue, at: str, lanes: int, take: Take) -> bool:
    """Compute a prologue's buffer at an iteration of a loop that needs it, on vectors; returns whether it did.

    Only where each element is needed in one iteration: the elements are stored and loaded as in a separate nest.
    """
    if prologue_of(kernel, buffer) is None:
        return False
    made = attempt(ComputeAt(buffer_name(buffer), at), take)
    if made is None:
        return False
    inner = [name for name in made if not any(isinstance(op, ForOp) for op in loops(kernel)[name].body.block.ops)]
    for name in inner:
        attempt(Vectorize(name, lanes), take)
    return True

"""Which kernels LLVM's own optimizations serve: those with a loop without vectors, with small integers, or with shifts.

The schedules that the strategies choose leave LLVM little to do: loops are vectors and register tiles, values are shared and
hoisted as they are written. Loops that no schedule changes, as recurrences, searches and tables, are different: there
LLVM unrolls, keeps elements of local arrays in registers, and replaces loads of what was stored an iteration ago. Where small
integers are widened, it finds the bits that a sum or a quotient of them needs, and computes with narrower lanes. Shifts and
masks of bits are often one instruction written out: a rotation, the number of bits that are set, the order of bytes.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation

from ...dialects.loop.loops import ForOp, KernelOp, WhileOp
from ...dialects.loop.memory import AllocOp, LoadOp
from ...dialects.vocabulary import ExtSIOp, ExtUIOp
from .nests import holds, ops_in, walk

MOST_OPS = 2000
"""Most ops of such a kernel: the time that LLVM's passes take grows faster than the code that they see."""
_SMALLEST, _SMALL = 1, 16
"""Bits of the small integers: more than a condition has."""
_FEW = 8
"""Fewest iterations, of those that are known, of a loop that is worth the passes."""


def gains_from_llvm(kernel: KernelOp) -> bool:
    """Whether a kernel has a loop without vectors that loads elements, or widens small integers, and is not too long.

    A kernel with a register tile does not count: the loops beside it only handle edges.
    """
    ops = walk(kernel)
    if len(ops) > MOST_OPS or any(op.space.data == "register" for op in ops_in(kernel, AllocOp)):
        return False
    if any(map(_is_scalar, ops_in(kernel, ForOp, WhileOp))) or any(map(_widens, ops_in(kernel, ExtSIOp, ExtUIOp))):
        return True
    return any(isinstance(op, arith.ShRUIOp) and isinstance(op.result.type, VectorType) for op in ops)


def _widens(op: Operation) -> bool:
    """Whether an op widens vectors of small integers."""
    return (
        isinstance(type := op.operands[0].type, VectorType) and _SMALLEST < getattr(type.element_type, "bitwidth", 64) <= _SMALL
    )


def _is_scalar(loop: ForOp | WhileOp) -> bool:
    if isinstance(loop, ForOp):
        trips = loop.trip_count()
        if loop.kind.data in ("vector", "unroll") or (trips is not None and trips < _FEW):
            return False
    return holds(loop, LoadOp) and not _has_vectors(loop)


def _has_vectors(loop: ForOp | WhileOp) -> bool:
    return any(isinstance(result.type, VectorType) for op in walk(loop) for result in op.results)

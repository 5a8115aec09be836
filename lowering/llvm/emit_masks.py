"""Masked accesses of contiguous elements, and masks whose lanes must not become constant in code generation.

x86 without mask registers keeps a mask as a vector of integers of which only the sign bits count. LLVM simplifies such a vector
with that in mind, and so turns the lanes of a register that are all known to be off into a constant whose other bits are set; a
later step treats every constant other than 0 as a lane that is on. A load of the register then reads all of it, or LLVM aborts.
Masks like `%lane_is_in_row & <0, 0, ..., 1, 1>` have such registers. Combined with a zero that LLVM does not know, no lane of a
mask is a constant. A comparison of all lanes with a number known only at run time needs nothing.
"""

from __future__ import annotations

from xdsl.dialects.vector import CreateMaskOp
from xdsl.ir import SSAValue

from ...codegen.text import Builder, Ty, const
from .emit_core import FunctionEmitter

_MASKED_BITS = (32, 64)
"""Widths of elements that x86 without mask registers accesses under masks; others are accessed lane by lane, each after a
test."""


def masked_load(b: Builder, address: str, mask: str, ty: Ty, align: int) -> str:
    """A vector of contiguous elements; lanes that are off are zero and not read."""
    callee = b.module.declare(f"llvm.masked.load.{ty.mangled}.p0", ty, ("ptr", ty.bool, ty))
    return b.emit(f"call {ty} {callee}(ptr align {align} {address}, {ty.bool} {mask}, {ty} zeroinitializer)")


def masked_store(b: Builder, x: str, address: str, mask: str, ty: Ty, align: int) -> None:
    """Store a vector to contiguous elements; lanes that are off are not written."""
    callee = b.module.declare(f"llvm.masked.store.{ty.mangled}.p0", "void", (ty, "ptr", ty.bool))
    b.emit_void(f"call void {callee}({ty} {x}, ptr align {align} {address}, {ty.bool} {mask})")


def unfolded_mask(e: FunctionEmitter, value: SSAValue, mask: str, ty: Ty, in_order: bool = True) -> str:
    """`mask`, the text of `value`, for a masked access of type `ty`; constant masks `in_order` are split before
    simplification."""
    is_plain = in_order and mask[0] != "%"
    target = e.module.target
    if is_plain or isinstance(value.owner, CreateMaskOp) or target.has_avx512 or not target.triple.startswith("x86_64"):
        return mask
    if ty.lanes == 1 or ty.bits not in _MASKED_BITS:
        return mask
    word = ty.int

    def write() -> str:
        b = e.b
        signs = b.binary("xor", b.cast("sext", mask, ty.bool, word), _unknown_zero(e, word), word)
        return b.icmp("slt", signs, const(0, word), word)

    return e.shared(e.levels.get(mask, 0), ("unfolded", mask, word), write)


def _unknown_zero(e: FunctionEmitter, word: Ty) -> str:
    """Zeros read from a volatile variable, once in a function."""

    def write() -> str:
        b = e.b
        variable = e.alloca(word.scalar, 8)
        b.emit_void(f"store volatile {word.scalar} 0, ptr {variable}")
        return b.splat(b.emit(f"load volatile {word.scalar}, ptr {variable}"), word)

    return e.shared(0, ("unknown zero", word), write)

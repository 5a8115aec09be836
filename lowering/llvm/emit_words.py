"""Packed dot products, added to a sum: one instruction for a register where the target has it.

`vpdpbusd` (AVX512_VNNI, AVX_VNNI) multiplies four unsigned bytes by signed ones, `vdpbf16ps` (AVX512_BF16) two bf16 numbers.
Elsewhere each part is extracted, multiplied and added.

Sums of products of small integers need no op of their own: `vpmaddwd` (all of x86-64) multiplies integers of 16 bits and adds
neighbouring products. The lanes of such a sum are added in the end, so it is of no consequence which of them gets a product.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from ...codegen.text import Builder, Ty, const
from ...dialects.packed_dot import KINDS
from ...dialects.scalar_ops import DotWordsOp
from ...dialects.types import scalar_of
from ...dialects.vocabulary import ExtSIOp, ExtUIOp
from .emit_core import FunctionEmitter

_INTRINSICS = {"u8i8": ("llvm.x86.avx512.vpdpbusd", "i8"), "bf16": ("llvm.x86.avx512bf16.dpbf16ps", "bfloat")}
_WIDTHS = (512, 256, 128)
_PAIRS = {512: "llvm.x86.avx512.pmaddw.d.512", 256: "llvm.x86.avx2.pmadd.wd", 128: "llvm.x86.sse2.pmadd.wd"}
_I16_BITS = 16


def dot_words(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    """`scalar.dot_words`, without an accumulator."""
    return add_dot_words(e, op, const(0, ty), xs, ty)


def add_dot_words(e: FunctionEmitter, op: Operation, acc: str, xs: list[str], ty: Ty) -> str:
    """`acc` plus the sums of `scalar.dot_words`."""
    assert isinstance(op, DotWordsOp)
    b, of, words = e.b, op.of.data, e.ty(op.lhs.type, op)
    register = min(e.module.target.lanes(32), ty.lanes)
    if not e.module.target.has_any(KINDS[of].features) or 32 * register not in _WIDTHS or ty.lanes % register:
        return b.binary("fadd" if ty.is_float else "add", acc, _general(b, of, xs, words, ty), ty)
    pieces: list[str] = []
    for at in range(0, ty.lanes, register):
        sums, x, y = (b.slice(value, at, register, t) for value, t in ((acc, ty), (xs[0], words), (xs[1], words)))
        pieces.append(_instruction(b, of, sums, x, y, ty, register))
    return b.joined(pieces, ty.with_lanes(register))


def _instruction(b: Builder, of: str, acc: str, x: str, y: str, ty: Ty, lanes: int) -> str:
    name, part = _INTRINSICS[of]
    ty, words, parts = ty.with_lanes(lanes), f"<{lanes} x i32>", f"<{KINDS[of].parts * lanes} x {part}>"
    callee = f"{name}.{32 * lanes}"
    if callee not in b.module.declarations:
        b.module.declare(callee, ty, [ty, parts, parts])
    x, y = (b.emit(f"bitcast {words} {value} to {parts}") for value in (x, y))
    return b.call(f"@{callee}", str(ty), (str(ty), acc), (parts, x), (parts, y))


def _general(b: Builder, of: str, xs: list[str], words: Ty, ty: Ty) -> str:
    """The sum part by part."""
    count, total = KINDS[of].parts, None
    for k in range(count):
        if of == "bf16":
            x, y = (b.bitcast(_high(b, value, k, words), words, ty) for value in xs)
            product = b.binary("fmul", x, y, ty)
        else:
            x = b.binary("and", b.binary("lshr", xs[0], const(8 * k, words), words), const(0xFF, words), words)
            y = b.binary("ashr", b.binary("shl", xs[1], const(24 - 8 * k, words), words), const(24, words), words)
            product = b.binary("mul", x, y, words)
        total = product if total is None else b.binary("fadd" if ty.is_float else "add", total, product, ty)
    assert total is not None
    return total


def _high(b: Builder, x: str, k: int, words: Ty) -> str:
    """A bf16 part as the bits of an f32."""
    return b.binary("and", x, const(-0x10000, words), words) if k else b.binary("shl", x, const(16, words), words)


def small_factors(e: FunctionEmitter, product: Operation) -> bool:
    """Whether `add_pairs` can add a product: of vectors of 32 bits that are integers of 16, extended."""
    target, ty = e.module.target, e.ty(product.results[0].type, product)
    register = target.lanes(32)
    return (
        ty.elem == "i32"
        and target.triple.startswith("x86_64")
        and 32 * register in _PAIRS
        and ty.lanes >= 2 * register
        and all(_fits(operand.owner) for operand in product.operands)
    )


def _fits(op: Operation | Block) -> bool:
    """Whether an op extends an integer whose values signed ones of 16 bits hold."""
    if not isinstance(op, ExtSIOp | ExtUIOp):
        return False
    width = getattr(scalar_of(op.operands[0].type), "bitwidth", 64)
    return 1 < width <= (_I16_BITS if isinstance(op, ExtSIOp) else _I16_BITS - 1)


def add_pairs(e: FunctionEmitter, product: Operation, acc: str, ty: Ty) -> str:
    """`acc` plus a product of `small_factors`: sums of pairs, added to the first half of its lanes."""
    b, register = e.b, e.module.target.lanes(32)
    factors: list[str] = []
    for operand in product.operands:
        extension = operand.owner
        assert isinstance(extension, ExtSIOp | ExtUIOp)
        x, of = e.value(extension.operands[0], product), e.ty(extension.operands[0].type, product)
        opcode = "sext" if isinstance(extension, ExtSIOp) else "zext"
        factors.append(x if of.bits == _I16_BITS else b.cast(opcode, x, of, of.with_elem("i16")))
    part, words = ty.with_lanes(register), ty.with_elem("i16")
    callee = _PAIRS[32 * register]
    if callee not in b.module.declarations:
        b.module.declare(callee, part, [str(words.with_lanes(2 * register))] * 2)
    pieces = [b.slice(acc, at, register, ty) for at in range(0, ty.lanes, register)]
    for k in range(len(pieces) // 2):
        pair = words.with_lanes(2 * register)
        x, y = (b.slice(factor, 2 * register * k, 2 * register, words) for factor in factors)
        sums = b.call(f"@{callee}", str(part), (str(pair), x), (str(pair), y))
        pieces[k] = b.binary("add", pieces[k], sums, part)
    return b.joined(pieces, part)

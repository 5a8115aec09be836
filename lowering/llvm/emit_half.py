"""f16 and bf16 as storage formats: their bits as i16, converted from and to f32 and f64.

Conversions to f32 are exact, those from f32 and f64 round once, to nearest, ties to even. Where the target has no instructions
for f16, integer arithmetic does it (F. Giesen, "Half to float done quicker", 2012, and its inverse): LLVM would call functions
that code loaded into a process does not have.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type
from xdsl.ir import Attribute, Operation

from ...codegen.text import Builder, Ty, const
from ...dialects.types import is_stored, scalar_of
from . import emit_narrow
from .emit_core import FunctionEmitter
from .emit_types import fail


def extend(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    """`arith.extf`."""
    source = scalar_of(op.operands[0].type)
    given = e.ty(op.operands[0].type, op)
    if not is_stored(source):
        return xs[0] if given is ty else e.b.cast("fpext", xs[0], given, ty)
    b, single = e.b, ty.with_elem("float")
    if isinstance(source, BFloat16Type):
        wide = b.cast("zext", xs[0], given, single.int)
        x = b.bitcast(b.binary("shl", wide, const(16, single.int), single.int), single.int, single)
    elif not isinstance(source, Float16Type):
        x = emit_narrow.extend(b, xs[0], given, single, emit_narrow.Format(source))
    elif _has_f16(e):
        x = b.emit(f"fpext {_half(given)} {b.emit(f'bitcast {given} {xs[0]} to {_half(given)}')} to {single}")
    else:
        x = _extend_f16(b, xs[0], given, single)
    return x if ty is single else b.cast("fpext", x, single, ty)


def truncate(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    """`arith.truncf`."""
    target, source = scalar_of(op.results[0].type), scalar_of(op.operands[0].type)
    given = e.ty(op.operands[0].type, op)
    if not is_stored(target):
        return xs[0] if given is ty else e.b.cast("fptrunc", xs[0], given, ty)
    b, x = e.b, xs[0]
    if isinstance(source, Float64Type):
        x, given = _to_odd(b, x, given), given.with_elem("float")
    elif not isinstance(source, Float32Type):
        raise fail(op, f"converts {_name(source)} to {_name(target)}: only f32 and f64 are converted to it")
    if isinstance(target, BFloat16Type):
        return _truncate_bf16(b, x, given, ty)
    if not isinstance(target, Float16Type):
        return emit_narrow.truncate(b, x, given, ty, emit_narrow.Format(target))
    if _has_f16(e):
        return b.emit(f"bitcast {_half(ty)} {b.emit(f'fptrunc {given} {x} to {_half(ty)}')} to {ty}")
    return _truncate_f16(b, x, given, ty)


def _to_odd(b: Builder, x: str, double: Ty) -> str:
    """f64 in f32, rounded to odd: toward zero, and the last bit is set where anything is lost; a NaN stays one.

    Rounding that to nearest, to a type with at least two bits less, equals a single rounding of `x`.
    """
    single = double.with_elem("float")
    bits, words = single.int, double.int
    near = b.cast("fptrunc", x, double, single)
    back = b.cast("fpext", near, single, double)
    # differences of magnitudes as integers of 64 bits: masks of vectors of two widths cost shuffles
    magnitude, of_back = (b.binary("and", b.bitcast(v, double, words), const(2**63 - 1, words), words) for v in (x, back))
    above = b.sub(magnitude, of_back, words)
    toward_zero = b.cast("trunc", b.binary("ashr", above, const(63, words), words), words, bits)  # -1 where it was rounded up
    found = b.add(b.bitcast(near, single, bits), toward_zero, bits)
    lost = b.cast("zext", b.fcmp("one", x, back, double), double.bool, bits)
    return b.bitcast(b.binary("or", found, lost, bits), bits, single)


def _name(element: Attribute) -> str:
    return "f16" if isinstance(element, Float16Type) else str(element)


def _half(ty: Ty) -> str:
    return "half" if ty.lanes == 1 else f"<{ty.lanes} x half>"


def _has_f16(e: FunctionEmitter) -> bool:
    """Whether the target converts vectors of f16."""
    return e.module.target.has_half


def _extend_f16(b: Builder, x: str, given: Ty, single: Ty) -> str:
    bits = single.int
    wide = b.cast("zext", x, given, bits)
    magnitude = b.binary("shl", b.binary("and", wide, const(0x7FFF, bits), bits), const(13, bits), bits)
    # the exponent is that of a float 2**112 times smaller; subnormals become normal by the product
    scaled = b.binary("fmul", b.bitcast(magnitude, bits, single), const(2.0**112, single), single)
    special = b.fcmp("oge", scaled, const(2.0**16, single), single)
    found = b.bitcast(scaled, single, bits)
    found = b.select(special, b.binary("or", found, const(0x7F800000, bits), bits), found, bits)
    sign = b.binary("shl", b.binary("and", wide, const(0x8000, bits), bits), const(16, bits), bits)
    return b.bitcast(b.binary("or", found, sign, bits), bits, single)


def _truncate_bf16(b: Builder, x: str, single: Ty, ty: Ty) -> str:
    bits = single.int
    given = b.bitcast(x, single, bits)
    high = b.binary("lshr", given, const(16, bits), bits)
    odd = b.binary("and", high, const(1, bits), bits)
    rounded = b.binary("lshr", b.add(b.add(given, const(0x7FFF, bits), bits), odd, bits), const(16, bits), bits)
    quiet = b.binary("or", high, const(0x40, bits), bits)  # a NaN stays one
    return b.cast("trunc", b.select(b.fcmp("uno", x, x, single), quiet, rounded, bits), bits, ty)


def _truncate_f16(b: Builder, x: str, single: Ty, ty: Ty) -> str:
    bits = single.int
    given = b.bitcast(x, single, bits)
    size = b.binary("and", given, const(0x7FFFFFFF, bits), bits)
    sign = b.binary("lshr", b.binary("xor", given, size, bits), const(16, bits), bits)
    is_nan = b.icmp("ugt", size, const(0x7F800000, bits), bits)
    large = b.select(is_nan, const(0x7E00, bits), const(0x7C00, bits), bits)
    # adding 0.5 lines the bits of a subnormal up at the end of the fraction, rounded by the addition
    shifted = b.bitcast(b.binary("fadd", b.bitcast(size, bits, single), const(0.5, single), single), single, bits)
    small = b.sub(shifted, const(0x3F000000, bits), bits)
    odd = b.binary("and", b.binary("lshr", size, const(13, bits), bits), const(1, bits), bits)
    rebased = b.add(b.add(size, const(-0x37FFF001, bits), bits), odd, bits)  # (15 - 127) << 23, and half a unit less one bit
    usual = b.binary("lshr", rebased, const(13, bits), bits)
    found = b.select(b.icmp("ult", size, const(0x38800000, bits), bits), small, usual, bits)
    found = b.select(b.icmp("uge", size, const(0x47800000, bits), bits), large, found, bits)
    return b.cast("trunc", b.binary("or", found, sign, bits), bits, ty)

"""The text builder: spelling of types and constants, and that LLVM accepts every helper's output."""

from __future__ import annotations

import doctest
import math
import struct

import llvmlite.binding as llvm
import pytest
from lamina.codegen import text
from lamina.codegen.text import F32, F64, I32, I64, Builder, Module, Ty, const


def test_doctests():
    assert doctest.testmod(text).failed == 0


def test_types_are_interned():
    assert Ty("float", 8) is Ty("float", 8)
    assert Ty("float", 1) is F32
    assert Ty("double", 4).int is Ty("i64", 4)
    assert Ty("ptr").mangled == "p0"


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, 1e-45, 3.4e38, math.inf, -math.inf, 5e-324, math.nan])
def test_float_constants_are_exact_bits(value: float):
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    assert const(value, F64) == f"0x{bits:016X}"
    single = struct.unpack("<f", struct.pack("<f", value))[0]
    assert const(value, F32) == const(single, F64)


def test_zeros_of_both_signs_and_types_stay_apart():
    assert const(0.0, F64) != const(-0.0, F64)
    assert const(1, I64) == "1"
    assert const(1.0, F64) == const(1, F64) == "0x3FF0000000000000"
    assert const(True, Ty("i1", 4)) == "splat (i1 true)"
    assert const(1e60, F32) == const(math.inf, F32)
    assert const(2**31, I32) == str(-(2**31))


@pytest.mark.parametrize("ty", [F32, F64, Ty("float", 8), Ty("double", 3)], ids=str)
@pytest.mark.parametrize("has_fma", [True, False])
def test_llvm_accepts_every_helper(ty: Ty, has_fma: bool):
    module = Module(has_fma)
    b = Builder(module)
    x, y = b.load("%p", ty, align=4), b.load(b.gep("%p", "1", ty), ty)
    for method in (b.fadd, b.fsub, b.fmul, b.fdiv):
        x = method(x, y, ty)
    x = b.fma(x, b.fneg(y, ty), b.const(1.5, ty), ty)
    i = b.bitcast(x, ty, ty.int)
    for method in (b.add, b.sub, b.mul, b.and_, b.or_, b.xor, b.shl, b.lshr, b.ashr):
        i = method(i, b.const(3, ty.int), ty.int)
    x = b.select(b.icmp("slt", i, b.const(0, ty.int), ty.int), b.intrinsic("fabs", ty, x), y, ty)
    x = b.binary("fadd nsz", x, b.cast("sitofp", i, ty.int, ty), ty)
    table = module.table("numbers", F64, [1.0, 2.0])
    first = b.load(table, F64)
    lane = b.cast("fptrunc", first, F64, F32) if ty.elem == "float" else first
    x = b.fadd(x, b.splat(lane, ty), ty)
    if ty.lanes > 1:
        x = b.insert(x, b.extract(x, 0, ty), 1, ty)
    before, then, join = b.block, b.fresh_label("then"), b.fresh_label("join")
    b.cond_br(b.any(b.fcmp("olt", x, y, ty), ty), then, join)
    b.label(then)

    def twice(inner: Builder) -> str:
        inner.ret(inner.fadd("%x", "%x", ty), ty)
        return f"{ty} @twice({ty} %x)"

    doubled = b.call(module.helper("twice", twice), ty, (ty, x))
    doubled = b.call(module.helper("twice", twice), ty, (ty, doubled))
    b.br(join)
    b.label(join)
    b.store(b.phi(ty, (x, before), (doubled, then)), "%p", ty)
    assert b.call(module.declare("outside", "void", ["i64"]), "void", ("i64", "1")) == ""
    b.ret()
    assert len(module.functions) == 1
    parsed = llvm.parse_assembly(f"define void @f(ptr %p) {{\nentry:\n{b.text()}\n}}\n{module.text()}")
    parsed.verify()

"""LLVM IR text to machine code, and what is said about text that is not LLVM IR."""

from __future__ import annotations

import ctypes
import re

import lamina.codegen.compile as compiling
import pytest
from lamina.codegen.compile import compile_object, emit_asm, optimized_llvm, verify_llvm
from lamina.codegen.targets import TARGETS, get, host
from lamina.codegen.thread_runtime import load_object
from lamina.errors import CompileError

SQUARE = """
define i64 @square(i64 %x) {
  %slot = alloca i64
  store i64 %x, ptr %slot
  %y = load i64, ptr %slot
  %z = mul i64 %y, %x
  ret i64 %z
}
"""


def test_compile_load_call():
    library = load_object(compile_object(SQUARE), ["square"])
    assert library.function("square", ctypes.c_int64, ctypes.c_int64)(12) == 144
    assert library.symbols == ("square",) and library.address("square")


def test_optimizer_removes_the_slot():
    assert "alloca" not in optimized_llvm(SQUARE)
    assert "define i64 @square" in optimized_llvm(SQUARE)


def test_functions_that_only_call_take_any_registers(monkeypatch):
    levels = []
    make = compiling.target_machine
    monkeypatch.setattr(compiling, "target_machine", lambda target, level=1: levels.append(level) or make(target, level))
    calls = """
declare i64 @llabs(i64)
define void @main(ptr %slots) {
  %a = load i64, ptr %slots
  %b = tail call i64 @llabs(i64 %a)
  %to = getelementptr i64, ptr %slots, i64 1
  store i64 %b, ptr %to
  ret void
}
"""
    main = load_object(compile_object(calls), ["main"]).function("main", None, ctypes.c_void_p)
    assert levels[-1] == 0
    slots = (ctypes.c_int64 * 2)(-7, 0)
    main(slots)
    assert slots[1] == 7
    compile_object(SQUARE)
    assert levels[-1] == 1


def test_always_inline_helpers_disappear():
    text = """
define internal i64 @helper(i64 %x) alwaysinline {
  %y = add i64 %x, 1
  ret i64 %y
}
define i64 @f(i64 %x) {
  %y = call i64 @helper(i64 %x)
  ret i64 %y
}"""
    assert "helper" not in optimized_llvm(text)


VECTOR_ADD = """
define void @f(ptr %x, ptr %y, ptr %z) {{
  %a = load <{n} x float>, ptr %x, align 4
  %b = load <{n} x float>, ptr %y, align 4
  %c = fadd <{n} x float> %a, %b
  store <{n} x float> %c, ptr %z, align 4
  ret void
}}"""


@pytest.mark.parametrize(
    ("name", "instruction"),
    [
        ("x86-64-v2", r"\baddps\t.*%xmm"),
        ("x86-64-v3", r"\bvaddps\t.*%ymm"),
        ("x86-64-v4", r"\bvaddps\t.*%zmm"),
        ("aarch64", r"\bfadd\tv\d+\.4s"),
    ],
)
def test_every_target_uses_its_vectors(name, instruction):
    target = get(name)
    asm = emit_asm(VECTOR_ADD.format(n=target.lanes(32)), target, isolated=True)
    assert re.search(instruction, asm), asm


@pytest.mark.parametrize("name", TARGETS)
def test_objects_for_every_target(name):
    magic = b"\0asm" if name == "wasm32" else b"\x7fELF"
    assert compile_object(SQUARE, get(name), isolated=True)[:4] == magic


LATE = """define i32 @f(i1 %c) {
  br i1 %c, label %x, label %y
x:
  %a = add i32 1, 2
  br label %y
y:
  ret i32 %a ; late
}"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("garbage", "LLVM IR line 1: expected top-level entity\n  garbage\n  ^"),
        (
            "define void @f() {\n  ret i32 0\n}",
            "LLVM IR line 2: value doesn't match function result type 'void'\n    ret i32 0\n        ^",
        ),
        (
            "define i32 @f() {\n  %a = add i32 %b, 1\n  ret i32 %a\n}",
            "LLVM IR line 2: use of undefined value '%b'\n    %a = add i32 %b, 1\n                 ^",
        ),
        (
            LATE,
            "LLVM IR line 7: Instruction does not dominate all uses\n    ret i32 %a ; late",
        ),
        ("define void @f() {\n  ret void\n}\n\0", "LLVM IR line 4: NUL character in the text"),
        ("define void @f() {", "LLVM IR line 1: found end of file when expecting more instructions"),
    ],
)
@pytest.mark.parametrize("function", [compile_object, emit_asm, optimized_llvm])
def test_errors_name_the_line(function, text, message):
    with pytest.raises(CompileError) as caught:
        function(text)
    assert str(caught.value).startswith(message)
    with pytest.raises(CompileError):
        verify_llvm(text)


def test_errors_from_the_child_are_the_same():
    with pytest.raises(CompileError, match="LLVM IR line 1: expected top-level entity"):
        compile_object("garbage", isolated=True)


def test_an_abort_in_the_child_is_an_error():
    # scalable vectors verify, but the x86 code generator aborts the process on them
    text = "define <vscale x 4 x float> @f(<vscale x 4 x float> %x) {\n  ret <vscale x 4 x float> %x\n}"
    text = text.replace("  ret", "  %y = fadd <vscale x 4 x float> %x, %x\n  ret")
    with pytest.raises(CompileError, match="LLVM aborted on this module for target 'x86-64-v3'"):
        compile_object(text, get("x86-64-v3"), isolated=True)


def test_isolated_gives_the_same():
    assert emit_asm(SQUARE, isolated=True) == emit_asm(SQUARE)
    assert compile_object(SQUARE, isolated=True) == compile_object(SQUARE)
    assert optimized_llvm(SQUARE, isolated=True) == optimized_llvm(SQUARE)


def test_object_code_is_deterministic():
    assert compile_object(SQUARE) == compile_object(SQUARE, host())


def test_unknown_machine():
    from dataclasses import replace

    with pytest.raises(CompileError, match="has no target 'weird'"):
        compile_object(SQUARE, replace(get("aarch64"), name="weird", triple="weird-unknown-linux"))

"""Modules in parts: what they compute, and that what is compiled does not depend on the machine."""

from __future__ import annotations

import ctypes
import re
import threading

import numpy as np
import pytest
from lamina.codegen import partition as parts
from lamina.codegen.compile import compile_object, computes, verify_llvm
from lamina.codegen.partition import Ahead, compile_parts, joined, parts_of, separated
from lamina.codegen.text import OPTIMIZED
from lamina.codegen.thread_runtime import load_object
from lamina.errors import CompileError

MODULE = """
@table = private unnamed_addr constant [2 x i64] [i64 3, i64 5], align 64
@counter = internal global i64 100, align 8

define internal i64 @twice(i64 %x) alwaysinline {
  %y = add i64 %x, %x
  ret i64 %y
}

define i64 @f(i64 %x) {
  %at = getelementptr i64, ptr @table, i64 1
  %five = load i64, ptr %at
  %two = call i64 @twice(i64 %x)
  %y = call i64 @"g.body"(i64 %two, ptr @h)
  %z = add i64 %y, %five
  ret i64 %z
}

define internal i64 @"g.body"(i64 %x, ptr noalias %callee) nounwind noinline {
  %two = call i64 @twice(i64 %x)
  %three = load i64, ptr @table
  %y = mul i64 %two, %three
  %z = call i64 %callee(i64 %y)
  ret i64 %z
}

define internal i64 @h(i64 %x) {
  %c = load i64, ptr @counter
  %next = add i64 %c, 1
  store i64 %next, ptr @counter
  %y = call i64 @llvm.smax.i64(i64 %x, i64 %c)
  ret i64 %y
}

define i64 @count() {
  %c = load i64, ptr @counter
  ret i64 %c
}

declare i64 @llvm.smax.i64(i64, i64)
"""


@pytest.mark.parametrize("least", [5, 8, 12, 1000])
def test_parts_together_are_the_module(least, monkeypatch):
    monkeypatch.setattr(parts_of, "__defaults__", (least,))
    library = load_object(compile_parts(MODULE), ["f", "count"])
    f, count = (library.function(name, ctypes.c_int64, *[ctypes.c_int64] * k) for name, k in (("f", 1), ("count", 0)))
    assert (f(1), f(10)) == (100 + 5, 120 + 5)
    assert count() == 102  # one counter for all parts


def test_parts_are_decided_by_sizes_alone(monkeypatch):
    monkeypatch.setattr(parts_of, "__defaults__", (5,))
    assert len(parts_of(MODULE)) > 2
    made = []
    for processors in (1, 2, 5):
        monkeypatch.setattr(parts, "_processors", lambda n=processors: n)
        made.append(compile_parts(MODULE))
    assert made[0] == made[1] == made[2]


def test_without_threads_parts_are_compiled_one_after_the_other(monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(parts_of, "__defaults__", (5,))
    expected = compile_parts(MODULE)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert compile_parts(MODULE) == expected


def test_what_calls_another_part_declares_it():
    one, two = parts_of("define void @f() {\n  call void @g()\n  ret void\n}\ndefine internal void @g() {\n  ret void\n}", 3)
    assert "declare void @g()" in one and "define internal" not in two


def test_an_inlined_function_that_others_see_is_in_one_part():
    callers = [f"define internal void @f{k}() {{\n  call void @g()\n  ret void\n}}" for k in range(2)]
    parts = parts_of("\n".join([*callers, "define void @g() alwaysinline {\n  ret void\n}"]), 3)
    assert len(parts) > 1 and sum("define void @g()" in part for part in parts) == 1


def test_a_small_function_gets_no_part_of_its_own():
    long = "\n".join(f"  %v{k} = add i64 %x, {k}" for k in range(100))
    text = f"define i64 @long(i64 %x) {{\n{long}\n  ret i64 %v7\n}}\ndefine i64 @short(i64 %x) {{\n  ret i64 %x\n}}"
    assert parts_of(text, 40) == [text]


@pytest.mark.parametrize("line", ["%pair = type { i64, i64 }", 'source_filename = "x"', '@"a\\22b" = internal global i64 0'])
def test_text_that_the_compiler_does_not_write_stays_whole(line):
    text = f"{line}\n{MODULE}"
    assert parts_of(text, 5) == [text]


def test_errors_of_a_part_arrive(monkeypatch):
    monkeypatch.setattr(parts_of, "__defaults__", (5,))
    with pytest.raises(CompileError, match="frob"):
        compile_parts(MODULE.replace("mul i64 %two", "frob i64 %two"))


def test_data_that_ends_within_an_object():
    data = joined([compile_object("define void @f() {\n  ret void\n}"), b"x" * 100])
    assert [len(one) for one in separated(data)][1] == 100
    for end in (len(data) - 1, len(data) - 105):
        with pytest.raises(CompileError, match="ends within"):
            load_object(data[:end], ["f"])


def test_a_program_of_several_parts_runs(monkeypatch):
    """A convolution by Winograd's algorithm: three kernels, each with functions for threads."""
    import lamina as lm

    monkeypatch.setattr(parts_of, "__defaults__", (150,))  # how many lines there are depends on the machine's vectors
    x, w = np.ones((1, 32, 28, 28), np.float32), np.ones((32, 32, 3, 3), np.float32)
    compiled = lm.jit(lambda x, w: lm.nn.conv2d(x, w, padding=1)).lower(x, w)
    assert len(parts_of(compiled.as_text("llvmir"))) > 1
    np.testing.assert_allclose(compiled.compile()(x, w)[0, :, 1:-1, 1:-1], 32 * 9, rtol=1e-5)


def test_kernels_are_given_ahead_as_they_stand_in_the_whole(monkeypatch):
    import lamina as lm
    import lamina.numpy as lnp
    from lamina import pipeline

    def sums(*arrays):
        """Kernels none like another; sines share helper functions and tables, and there is a constant."""
        found = [lnp.sum((lnp.sin if k % 3 else lnp.tanh)(x * (k + 1.5)), axis=1) for k, x in enumerate(arrays)]
        return [*found, arrays[0] @ np.ones((40, 3), np.float32)]

    monkeypatch.setattr(parts, "LEAST_LINES", 100)
    arrays = [np.random.default_rng(k).normal(size=(8, 40 + 9 * k)).astype(np.float32) for k in range(8)]
    lowered = lm.jit(sums).lower(*arrays)
    _, whole = pipeline.lower(lowered.module)
    given = []
    _, rest = pipeline.lower(lowered.module, ahead=given.append)
    assert len(given) > 3
    pieces = [functions(text) for text in [*given, rest]]
    assert {name: text for piece in pieces for name, text in piece.items()} == functions(whole)
    for text in [*given, rest]:
        verify_llvm(text)  # a module of its own
    helpers = ["lamina.reduce" in piece for piece in pieces]
    assert any(helpers) and not all(helpers)  # with those that need them
    for got, x, k in zip(lowered.compile()(*arrays), arrays, range(8), strict=False):
        np.testing.assert_allclose(got, np.sum((np.sin if k % 3 else np.tanh)(x * (k + 1.5)), axis=1), rtol=1e-4, atol=1e-5)


def functions(text):
    found = re.finditer(r'^define [^\n]*?@([\w.$-]+|"[^"]*")\(.*?\n}$', text, re.MULTILINE | re.DOTALL)
    return {one[1]: one[0].replace(" internal ", " ", 1) for one in found}


@pytest.mark.parametrize("start", [threading.Thread.start, None])
def test_what_was_given_ahead_is_linked(start, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start or refuse)
    with Ahead() as ahead:
        ahead.add("define i64 @g(i64 %x) {\n  %y = add i64 %x, 7\n  ret i64 %y\n}")
        data = compile_parts(
            "define i64 @f(i64 %x) {\n  %y = call i64 @g(i64 %x)\n  ret i64 %y\n}\ndeclare i64 @g(i64)", ahead=ahead
        )
    assert load_object(data, ["f"]).function("f", ctypes.c_int64, ctypes.c_int64)(3) == 10


def test_an_error_of_what_was_given_ahead_arrives():
    with Ahead() as ahead, pytest.raises(CompileError, match="frob"):
        ahead.add("define void @g() {\n  frob\n  ret void\n}")
        compile_parts("define void @f() {\n  ret void\n}", ahead=ahead)


def test_who_waits_compiles_what_no_thread_has_begun(monkeypatch):
    begun, go_on, on = threading.Event(), threading.Event(), list[threading.Thread]()

    def compile_slowly(text, target):
        on.append(threading.current_thread())
        if on[-1] is threading.main_thread():
            go_on.set()
        else:
            begun.set()
            assert go_on.wait(60)
        return text.encode()

    monkeypatch.setattr(parts, "_processors", lambda: 2)
    monkeypatch.setattr(parts, "compile_object", compile_slowly)
    with Ahead() as ahead:
        ahead.add("first")
        assert begun.wait(60)
        ahead.add("second")
        ahead.add("third")
        assert ahead.objects() == ahead.objects() == [b"first", b"second", b"third"]
    assert threading.main_thread() in on and len(on) == 3


def test_what_parallel_loops_call_is_made_ready_once_on_another_thread():
    called: list[threading.Thread] = []
    text = "declare void @lamina_parallel(ptr, ptr, i64, i64, i64)\ndefine void @f() {\n  ret void\n}"
    with Ahead(workers=lambda: called.append(threading.current_thread())) as ahead:
        ahead.add(text.replace("lamina_parallel", "other"))
        assert len(ahead.objects()) == 1 and not called
        ahead.add(text)
        ahead.add(text.replace("@f", "@g"))
        assert len(ahead.objects()) == 3
    assert len(called) == 1 and threading.current_thread() not in called


def test_a_long_function_that_only_calls_is_a_part_of_its_own():
    calls = "".join(f"  call void @step(ptr %p{k})\n  %p{k + 1} = getelementptr i8, ptr %p{k}, i64 8\n" for k in range(100))
    step = "  %x = load i64, ptr %p\n  %y = add i64 %x, 7\n  store i64 %y, ptr %p\n  ret void\n"
    text = f"define internal void @step(ptr %p) {{\n{step}}}\ndefine void @main(ptr %p0) {{\n{calls}  ret void\n}}"
    computing, calling = parts_of(text)
    assert "define void @step" in computing and "@main" not in computing
    assert "define void @main" in calling and "declare void @step" in calling
    assert len(parts_of(text.replace("  ret void\n}", "  %z = add i64 1, 2\n  ret void\n}"))) == 1  # then it computes
    values = (ctypes.c_int64 * 100)(*range(100))
    load_object(compile_parts(text), ["main"]).function("main", None, ctypes.c_void_p)(ctypes.addressof(values))
    assert list(values) == list(range(7, 107))


def test_what_a_long_function_that_only_calls_would_expand_is_called_there():
    calls = "".join(f"  call void @f{k % 2}(ptr %x)\n" for k in range(250))
    kernels = [f"define internal void @f{k}(ptr %x) alwaysinline {{\n  store float 1.0, ptr %x\n  ret void\n}}" for k in (0, 1)]
    text = "\n".join([*kernels, f"define void @main(ptr %x) {{\n{calls}  ret void\n}}"])
    computing, calling = parts_of(text)
    assert not computes(calling) and "declare void @f0(ptr %x)" in calling
    assert computing.count("define void @f") == 2
    values = (ctypes.c_float * 1)()
    load_object(compile_parts(text), ["main"]).function("main", None, ctypes.c_void_p)(ctypes.addressof(values))
    assert list(values) == [1]


def test_functions_for_llvms_own_passes_are_a_part_of_their_own() -> None:
    text = f"define void @plain() {{\n  ret void\n}}\ndefine void @loops() nounwind{OPTIMIZED} {{\n  ret void\n}}\n"
    plain, loops = parts_of(text)
    assert OPTIMIZED in loops and "define void @loops" in loops and OPTIMIZED not in plain
    assert len(parts_of(text.replace(OPTIMIZED, ""))) == 1

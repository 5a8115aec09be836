"""Objects into the process: imports, lifetime, failures."""

from __future__ import annotations

import ctypes
import gc

import pytest
from lamina.codegen.compile import compile_object
from lamina.codegen.jit import load_object
from lamina.errors import CompileError

CALLS_OUT = """
declare i64 @outside(i64)
@cell = external global i64
define i64 @f(i64 %x) {
  %y = call i64 @outside(i64 %x)
  %c = load i64, ptr @cell
  %z = add i64 %y, %c
  ret i64 %z
}"""
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


def test_imports_functions_and_data():
    callback, cell = CALLBACK(lambda x: 2 * x), ctypes.c_int64(1000)
    imports = {"outside": ctypes.cast(callback, ctypes.c_void_p).value, "cell": ctypes.addressof(cell)}
    library = load_object(compile_object(CALLS_OUT), ["f"], imports)
    assert library.function("f", ctypes.c_int64, ctypes.c_int64)(21) == 1042


def test_process_symbols_need_no_import():
    text = (
        "declare double @cbrt(double)\ndefine double @f(double %x) {\n  %y = call double @cbrt(double %x)\n  ret double %y\n}"
    )
    assert load_object(compile_object(text), ["f"]).function("f", ctypes.c_double, ctypes.c_double)(27.0) == pytest.approx(3)


def constant(n):
    return compile_object(f"@data = global i64 {n}\ndefine i64 @f() {{\n  %x = load i64, ptr @data\n  ret i64 %x\n}}")


def test_same_names_do_not_meet():
    functions = [load_object(constant(n), ["f"]).function("f", ctypes.c_int64) for n in range(20)]
    gc.collect()  # each function keeps its library
    assert [f() for f in functions] == list(range(20))


def test_one_object_may_be_loaded_twice():
    obj = constant(5)
    first, second = load_object(obj, ["f"]), load_object(obj, ["f"])
    assert first.address("f") != second.address("f")


@pytest.mark.parametrize(
    ("change", "symbols"),
    [
        (lambda o: o, ["nothing"]),
        (lambda o: b"", ["f"]),
        (lambda o: b"not an object", ["f"]),
        (lambda o: o[: len(o) // 2], ["f"]),
    ],
)
def test_failures_are_errors(change, symbols):
    with pytest.raises(CompileError, match="cannot link"):
        load_object(change(constant(1)), symbols)


def test_undefined_symbol_is_an_error():
    text = (
        "declare void @no_such_function_anywhere()\ndefine void @f() {\n  call void @no_such_function_anywhere()\n  ret void\n}"
    )
    with pytest.raises(CompileError, match="neither imported nor in the process"):
        load_object(compile_object(text), ["f"])

"""Objects into the process: imports, lifetime, failures."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys

import pytest
from lamina.codegen.compile import compile_object
from lamina.codegen.thread_runtime import load_object
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


FULL = r"""
import ctypes
from lamina.codegen.compile import compile_object
from lamina.codegen.thread_runtime import load_object

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def reserve(size):
    return libc.mmap(None, size, 0, 0x4022, -1, 0)  # PROT_NONE; private, anonymous, without swap


def tenth(n):
    text = f"@numbers = internal constant [4 x double] [double {n}.0, double 2.0, double 3.0, double 4.0]\n" \
        "define double @f(i64 %i) {\n  %p = getelementptr double, ptr @numbers, i64 %i\n  %x = load double, ptr %p\n" \
        "  %y = fmul double %x, 0x3FB999999999999A\n  ret double %y\n}"
    return compile_object(text)


objects = [tenth(n) for n in range(10)]
load_object(objects[0], ["f"])
far = reserve(3 << 30)
pages = []
while (page := reserve(4096)) > far:  # every hole above is filled
    pages.append(page)
kept = []
for n, obj in enumerate(objects):
    libc.munmap(pages[-1 - n], 4096)  # room for code, and none beside it for constants
    function = load_object(obj, ["f"]).function("f", ctypes.c_double, ctypes.c_int64)
    kept.append(function)
    assert function(0) == n * 0.1 and function(3) == 4 * 0.1
print("loaded", len(kept))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mmap's flags are those of Linux")
def test_objects_are_loaded_where_free_pages_lie_gigabytes_apart():
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "loaded 10\n"), done.stderr[-500:]

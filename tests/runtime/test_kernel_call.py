"""Kernels from hand-written LLVM IR, called natively and through ctypes: what fits, what is converted, what is refused."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamina.codegen.executable import load_executable, native_entry, object_for
from lamina.dialects.sizes.binding import Dim
from lamina.runtime import callable as calls
from lamina.runtime.arguments import accepts
from lamina.runtime.callable import KernelBase
from lamina.runtime.executable import Executable
from lamina.runtime.signature import DTYPES, SCALARS, ArrayParam, ScalarParam, Signature

N, M, ONE = Dim(0), Dim(1), Dim(None, 1)


def kernel(name: str, params: Any, symbols: tuple[str, ...] = (), heavy: int = 1 << 15) -> Signature:
    """The signature of a kernel."""
    return Signature(name, params, symbols=symbols, heavy=heavy, is_kernel=True)


SAXPY = """
define void @saxpy.invoke(ptr %slots) {
  %a = load float, ptr %slots
  %x.at = getelementptr i64, ptr %slots, i64 1
  %x = load ptr, ptr %x.at
  %y.at = getelementptr i64, ptr %slots, i64 2
  %y = load ptr, ptr %y.at
  %n.at = getelementptr i64, ptr %slots, i64 3
  %n = load i64, ptr %n.at
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %go = icmp slt i64 %i, %n
  br i1 %go, label %body, label %exit
body:
  %xi.at = getelementptr float, ptr %x, i64 %i
  %xi = load float, ptr %xi.at
  %yi.at = getelementptr float, ptr %y, i64 %i
  %yi = load float, ptr %yi.at
  %ax = fmul float %a, %xi
  %sum = fadd float %ax, %yi
  store float %sum, ptr %yi.at
  %next = add i64 %i, 1
  br label %head
exit:
  ret void
}
"""
SAXPY_PARAMS = (ScalarParam("a", "float32"), ArrayParam("x", "float32", (N,)), ArrayParam("y", "float32", (N,), writes=True))


def saxpy_signature(heavy: int = 1 << 15) -> Signature:
    return kernel("saxpy", SAXPY_PARAMS, ("N",), heavy)


COPY = """
define void @copy.invoke(ptr %slots) {
  %x = load ptr, ptr %slots
  %y.at = getelementptr i64, ptr %slots, i64 1
  %y = load ptr, ptr %y.at
  %n.at = getelementptr i64, ptr %slots, i64 2
  %n = load i64, ptr %n.at
  %m.at = getelementptr i64, ptr %slots, i64 3
  %m = load i64, ptr %m.at
  %x0.at = getelementptr i64, ptr %slots, i64 4
  %x0 = load i64, ptr %x0.at
  %x1.at = getelementptr i64, ptr %slots, i64 5
  %x1 = load i64, ptr %x1.at
  %y0.at = getelementptr i64, ptr %slots, i64 6
  %y0 = load i64, ptr %y0.at
  br label %rows
rows:
  %i = phi i64 [ 0, %0 ], [ %i.next, %row.end ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %row, label %exit
row:
  %j = phi i64 [ 0, %rows ], [ %j.next, %element ]
  %go = icmp slt i64 %j, %m
  br i1 %go, label %element, label %row.end
element:
  %xi = mul i64 %i, %x0
  %xj = mul i64 %j, %x1
  %xk = add i64 %xi, %xj
  %from = getelementptr double, ptr %x, i64 %xk
  %value = load double, ptr %from
  %yi = mul i64 %i, %y0
  %yk = add i64 %yi, %j
  %to = getelementptr double, ptr %y, i64 %yk
  store double %value, ptr %to
  %j.next = add i64 %j, 1
  br label %row
row.end:
  %i.next = add i64 %i, 1
  br label %rows
exit:
  ret void
}
"""
COPY_SIGNATURE = kernel(
    "copy",
    (
        ArrayParam("x", "float64", (N, M), strides=(Dim(2), Dim(3))),
        ArrayParam("y", "float64", (N, M), writes=True, strides=(Dim(4), ONE)),
    ),
    ("N", "M", "x0", "x1", "y0"),
)

# y has one element more than x: y[0] = 7, y[i + 1] = x[i]
SHIFT = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @shift.invoke(ptr %slots) {
  %x = load ptr, ptr %slots
  %y.at = getelementptr i64, ptr %slots, i64 1
  %y = load ptr, ptr %y.at
  %n.at = getelementptr i64, ptr %slots, i64 2
  %n = load i64, ptr %n.at
  %bytes = mul i64 %n, 8
  store i64 7, ptr %y
  %to = getelementptr i64, ptr %y, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %x, i64 %bytes, i1 false)
  ret void
}
"""
SHIFT_SIGNATURE = kernel("shift", (ArrayParam("x", "int64", (N,)), ArrayParam("y", "int64", (Dim(0, 1),), writes=True)), ("N",))

# leaves a status if n is not zero
CHECK = """
define void @check.invoke(ptr %slots) {
  %n = load i64, ptr %slots
  %status.at = getelementptr i64, ptr %slots, i64 2
  store i64 %n, ptr %status.at
  %fact.at = getelementptr i64, ptr %slots, i64 3
  store i64 -11, ptr %fact.at
  ret void
}
"""
CHECK_SIGNATURE = kernel("check", (ScalarParam("n", "int64"),))


def show_text(words: int, name: str = "show") -> str:
    """A kernel that copies its slots to its first parameter."""
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @{name}.invoke(ptr %slots) {{
  %out = load ptr, ptr %slots
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %slots, i64 {8 * words}, i1 false)
  ret void
}}
"""


class Kernels:
    def __init__(self, native: bool):
        self.native = native
        self.KernelFunction = calls.function_class(KernelBase, native)
        self.NativeFunction = calls.function_class(calls.FunctionBase, native)

    def executable(self, signature: Signature, text: str) -> Executable:
        library = load_executable(signature, object_for(signature, text)).library
        return Executable(signature, library, entry=native_entry() if self.native else None)

    def function(self, signature: Signature, text: str, **options: Any) -> Any:
        return self.KernelFunction(self.executable(signature, text), **options)

    def show(self, *params: ScalarParam | ArrayParam, symbols: tuple[str, ...] = (), heavy: int = 1 << 15) -> Any:
        """A function of the parameters that returns the words after that of the output."""
        words = 1 + len(params) + len(symbols) + 5
        out = ArrayParam("out", "int64", (Dim(None, words),), writes=True)
        function = self.function(kernel("show", (out, *params), symbols, heavy), show_text(words))

        def run(*args: Any, **kwargs: Any) -> list[int]:
            memory = np.full(words, 99)
            assert function(memory, *args, **kwargs) is None
            return memory[1:].tolist()

        run.kernel = function  # type: ignore[attr-defined]
        return run

    def takes(self, kernel: Any, *args: Any) -> bool:
        """Whether the native entry takes the arguments (or in Python, whether it would)."""
        reached = []
        probe = self.NativeFunction(lambda *args: reached.append(args))
        probe.install(kernel.executable)
        probe(*args)
        assert bool(reached) != accepts(kernel.signature, args)
        return not reached


@pytest.fixture(params=["native", "ctypes"])
def kernels(request: pytest.FixtureRequest) -> Kernels:
    return Kernels(request.param == "native")


@pytest.fixture
def saxpy(kernels: Kernels) -> Any:
    return kernels.function(saxpy_signature(), SAXPY)


@pytest.fixture
def copy(kernels: Kernels) -> Any:
    return kernels.function(COPY_SIGNATURE, COPY)


@pytest.fixture
def shift(kernels: Kernels) -> Any:
    return kernels.function(SHIFT_SIGNATURE, SHIFT)


def vector(size: int = 8) -> np.ndarray:
    return np.arange(size, dtype=np.float32)


# Signatures

dims = st.builds(Dim, st.none() | st.just(0), st.integers(0, 9))


@st.composite
def signatures(draw: st.DrawFn) -> Signature:
    names = iter(draw(st.lists(st.text().filter(lambda t: t != "threads"), unique=True, max_size=5)))
    params: list[ArrayParam | ScalarParam] = [ArrayParam(next(names, "first"), "float32", (N,))]
    for name in names:
        if draw(st.booleans()):
            params.append(ScalarParam(name, draw(st.sampled_from(list(SCALARS)))))
            continue
        sizes = tuple(draw(st.lists(dims, max_size=4)))
        strides = tuple(draw(dims) for _ in sizes) if draw(st.booleans()) else None
        params.append(ArrayParam(name, draw(st.sampled_from(sorted(DTYPES))), sizes, draw(st.booleans()), strides))
    return kernel(draw(st.text()), tuple(params), (draw(st.text()),), draw(st.integers(0, 1 << 40)))


@given(signatures())
def test_json_round_trip(signature: Signature) -> None:
    assert Signature.from_json(signature.to_json()) == signature
    assert hash(Signature.from_json(signature.to_json())) == hash(signature)


def test_spelling() -> None:
    assert str(saxpy_signature()) == "saxpy(a: float32, x: float32[N], y: inout float32[N])"
    assert str(COPY_SIGNATURE) == "copy(x: float64[N,M; x0,x1], y: inout float64[N,M; y0,1])"
    assert str(SHIFT_SIGNATURE) == "shift(x: int64[N], y: inout int64[N + 1])"
    assert Dim(0, -2).spell(("N",)) == "N - 2"


GOOD = json.loads(COPY_SIGNATURE.to_json())


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "3", '{"name": 1}', "[" * 50, "[" * 100_000, '{"params": 1}'])
def test_from_json_refuses(text: str) -> None:
    with pytest.raises(ValueError):
        Signature.from_json(text)


def changed(index: int = 0, **change: Any) -> dict[str, Any]:
    params = [dict(param) for param in GOOD["params"]]
    params[index] |= change
    return {**GOOD, "params": params}


@pytest.mark.parametrize(
    "data",
    [
        {**GOOD, "name": 1}, {**GOOD, "params": None}, {**GOOD, "params": [1]}, {**GOOD, "params": [{}]},
        {**GOOD, "symbols": "NM"}, {**GOOD, "symbols": [1]}, {**GOOD, "symbols": ["N", "N", "a", "b", "c"]},
        {**GOOD, "symbols": ["N"]}, {**GOOD, "symbols": [*GOOD["symbols"], "unused"]}, {**GOOD, "heavy": -1},
        {**GOOD, "heavy": True}, {**GOOD, "heavy": 1 << 70}, {**GOOD, "heavy": 1.0},
        changed(dtype="float31"), changed(dims=3), changed(dims=[[0, 0]]), changed(dims=[[0], [1, 0]]),
        changed(dims=[[0, 0], [-1, 0]]), changed(dims=[[0, 0], [None, -1]]), changed(dims=[[0, 0], [1, 1 << 50]]),
        changed(dims=[[0, 0], [1, True]]), changed(dims=[[0, 0], ["1", 0]]), changed(dims=[[0, 0, 0], [1, 0]]),
        changed(writes=1), changed(strides={}), changed(strides=[[2, 0]]), changed(name=None), changed(name="threads"),
        changed(name="y"),
    ],
)  # fmt: skip
def test_from_json_refuses_changed_fields(data: Any) -> None:
    with pytest.raises(ValueError):
        Signature.from_json(json.dumps(data))


def test_scalar_types() -> None:
    with pytest.raises(ValueError, match="scalars may be: float32"):
        ScalarParam("a", "float16")


# Calls that fit


def test_saxpy(saxpy: Any, kernels: Kernels) -> None:
    x, y = vector(), np.ones(8, np.float32)
    assert kernels.takes(saxpy, 2.0, x, y) and saxpy(0.5, x, y) is None
    np.testing.assert_array_equal(y, np.float32(2.5) * x + 1)
    assert "saxpy" in repr(saxpy) and saxpy.__name__ == "saxpy" and saxpy.signature == saxpy_signature()


@pytest.mark.parametrize("heavy", [0, 1, 1 << 40])
@pytest.mark.parametrize("size", [0, 1, 100])
def test_every_size_with_and_without_the_gil(kernels: Kernels, heavy: int, size: int) -> None:
    saxpy = kernels.function(saxpy_signature(heavy), SAXPY)
    x, y = vector(size), np.ones(size, np.float32)
    saxpy(2.0, x, y)
    np.testing.assert_array_equal(y, 2 * x + 1)


def test_sizes_with_constants(shift: Any, kernels: Kernels) -> None:
    for size in (0, 1, 9):
        x, y = np.arange(size), np.zeros(size + 1, int)
        assert kernels.takes(shift, x, y)
        y[:] = 0
        shift(x, y)
        assert y.tolist() == [7, *range(size)]
    assert not kernels.takes(shift, np.zeros(0, int), np.zeros(0, int))
    assert not kernels.takes(shift, np.zeros(3, int), np.zeros(3, int))


def test_strides(copy: Any, kernels: Kernels) -> None:
    block = np.arange(60.0).reshape(6, 10)
    sources = [
        block,
        block[::2, 1::3],
        block[::-1, ::-1],
        block.T,
        block[:, :1],
        block[:0],
        np.broadcast_to(block[:1], (3, 10)),
    ]
    for x in sources:
        large = np.full((x.shape[0] + 2, x.shape[1] + 3), -1.0)
        y = large[1:-1, 1:-2]
        assert kernels.takes(copy, x, y)
        y[:] = -1
        copy(x, y)
        np.testing.assert_array_equal(x, y)
        y[:] = -1
        assert (large == -1).all()


def test_words_of_a_call(kernels: Kernels) -> None:
    params = [ScalarParam(name, name) for name in ("float32", "float64", "int32", "int64", "uint8", "bool")]
    run = kernels.show(*params, ArrayParam("x", "float32", (N, M), strides=(Dim(2), Dim(3))), symbols=("N", "M", "s", "t"))
    x = np.zeros((4, 6), np.float32)[::-2, ::3]
    bits32 = int(np.float32(-1.5).view(np.uint32))
    bits64 = int(np.float64(2.5).view(np.int64))
    words = run(-1.5, 2.5, -7, 1 << 62, 255, True, x)
    assert words == [bits32, bits64, -7, 1 << 62, 255, 1, x.__array_interface__["data"][0], 2, 2, -12, 3, 0, 0, 0, 0, 0]
    assert run(-1.5, 2.5, -7, 1 << 62, 255, True, x, threads=3)[11] == 3
    assert run(threads=5, float32=-1.5, float64=2.5, int32=-7, int64=1, uint8=2, bool=False, x=x)[11] == 5


def test_strides_along_which_nothing_moves_bind_nothing(kernels: Kernels) -> None:
    strided = ArrayParam("x", "float32", (N, M), strides=(Dim(2), ONE))
    run = kernels.show(strided, ArrayParam("y", "float32", (N, M), strides=(Dim(2), ONE)), symbols=("N", "M", "lda"))
    block = np.zeros((4, 6), np.float32)
    assert run(block[:1], block[1:2])[2:5] == [1, 6, 0]
    assert run(block[:0, :4], block[4:, ::-1][:, :4])[2:5] == [0, 4, 0]
    assert run(block[:, :1], block[:, ::-1][:, 2:3])[2:5] == [4, 1, 6]


def test_sizes_of_symbols_are_not_negative(kernels: Kernels) -> None:
    run = kernels.show(ArrayParam("x", "float32", (Dim(0, 2),)), symbols=("N",))
    assert run(np.zeros(2, np.float32))[1] == 0
    assert not kernels.takes(run.kernel, np.zeros(8, int), np.zeros(1, np.float32))
    with pytest.raises(
        ValueError, match=r"'x' must be float32\[N \+ 2\], got float32\[1\] with N = -1; pass an array with N >= 0"
    ):
        run(np.zeros(1, np.float32))
    # a stride may be negative, but not a size that is the same symbol
    backward = ArrayParam("x", "float32", (N,), strides=(M,))
    run = kernels.show(backward, ArrayParam("y", "float32", (Dim(1, 3),)), symbols=("N", "M"))
    x = np.zeros(4, np.float32)
    assert run(x[:1:-1][:1], x)[2:4] == [1, 1] and run(x[::2], np.zeros(5, np.float32))[2:4] == [2, 2]
    assert not kernels.takes(run.kernel, np.zeros(10, int), x[::-1], np.zeros(2, np.float32))


@pytest.mark.parametrize("threads", [1, 2, np.int32(7), 65536])
def test_threads(kernels: Kernels, threads: Any) -> None:
    run = kernels.show(ArrayParam("x", "int32", (N,)), symbols=("N",))
    x = np.zeros(3, np.int32)
    assert run(x, threads=threads)[2:] == [threads, 0, 0, 0, 0]
    assert run(x=x, **{"".join(["thr", "eads"]): threads})[2:] == [threads, 0, 0, 0, 0]
    assert run(x)[2:] == [0, 0, 0, 0, 0]


SCALAR_VALUES: list[tuple[str, list[Any], list[Any]]] = [
    (
        "float32",
        [0.1, -0.0, float("nan"), float("inf"), 1e300, 5, -(1 << 60), np.float32(0.1), np.float64(0.1)],
        [True, np.float16(2), np.int8(3), 1 << 70, np.longdouble(3), np.bool_(1)],
    ),
    (
        "float64",
        [0.1, -0.0, float("nan"), 1e300, 5, (1 << 63) - 1, -(1 << 63), np.float64(0.1)],
        [True, np.float32(0.1), 1 << 63, 1 << 70],
    ),
    ("int8", [0, -1, 127, -128, True, np.int8(-5)], [np.int64(5), np.bool_(1)]),
    ("uint8", [0, 255, True, np.uint8(200)], [np.int64(200)]),
    ("int16", [-(1 << 15), (1 << 15) - 1, np.int16(-5)], [np.int64(5)]),
    ("uint16", [0, (1 << 16) - 1, np.uint16(40000)], [np.int64(40000)]),
    ("uint32", [0, (1 << 32) - 1, np.uint32(1 << 31)], [np.int64(1 << 31)]),
    ("uint64", [0, (1 << 63) - 1, np.uint64((1 << 64) - 1)], [1 << 63, (1 << 64) - 1]),
    ("int32", [0, -1, (1 << 31) - 1, -(1 << 31), True, False, np.int32(-5)], [np.int64(5), np.uint8(200), np.bool_(1)]),
    (
        "int64",
        [0, -1, (1 << 63) - 1, -(1 << 63), True, np.int64(-5)],
        [np.int32(5), np.uint64(200), np.bool_(0), np.longlong(3)],
    ),
    ("bool", [True, False, np.True_, np.False_], []),
]


@pytest.mark.parametrize(("dtype", "plain", "converted"), SCALAR_VALUES)
def test_scalars(kernels: Kernels, dtype: str, plain: list[Any], converted: list[Any]) -> None:
    run = kernels.show(ScalarParam("a", dtype))
    memory = np.zeros(7, np.int64)
    for value in plain + converted:
        with np.errstate(over="ignore"):
            expected = np.float64(float(value)).astype(dtype) if dtype.startswith("float") else DTYPES[dtype].type(value)
        word = np.array(run(value)[0])
        assert word.tobytes()[: expected.nbytes] == expected.tobytes(), value
        if dtype != "float64":
            assert word == (expected.view(np.uint32) if dtype == "float32" else expected.astype(np.int64))
        native = any(value is v for v in plain)
        assert kernels.takes(run.kernel, memory, value) == native, value


# What is converted


class Sub(np.ndarray):
    pass


def misaligned(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.zeros(size + 1, np.uint8)[1:].view(dtype).reshape(shape)


def layouts(size: int) -> list[np.ndarray]:
    other = np.zeros(size, np.dtype("float32", metadata={"a": 1}))
    return [
        np.zeros(3 * size, np.float32)[::3], np.zeros(size, np.float32)[::-1], np.zeros(size, ">f4"),
        misaligned((size,), "float32"), np.zeros(size, np.float32).view(Sub), other, np.zeros((size, 4), np.float32)[:, 2],
        misaligned((2 * size,), ">f4")[::2],
    ]  # fmt: skip


def test_layouts_are_copied_in_and_back(saxpy: Any, kernels: Kernels) -> None:
    for x in layouts(8):
        for y in layouts(8):
            x[:], y[:] = vector(), 1
            assert not kernels.takes(saxpy, 2.0, x, y)
            saxpy(2.0, x, y)
            np.testing.assert_array_equal(np.asarray(y), 2 * vector() + 1)
            saxpy(2.0, vector(), y)
            np.testing.assert_array_equal(np.asarray(y), 4 * vector() + 1)


def test_read_only_arrays_may_be_read(saxpy: Any) -> None:
    x, y = np.frombuffer(vector().tobytes(), np.float32), np.ones(8, np.float32)
    saxpy(2.0, x, y)
    saxpy(2.0, np.broadcast_to(np.float32(1), (8,)), y)
    np.testing.assert_array_equal(y, 2 * x + 3)


def test_strides_that_do_not_fit_are_copied(copy: Any, kernels: Kernels) -> None:
    x = np.arange(12.0).reshape(3, 4)
    packed = np.zeros((3, 4), np.dtype({"names": ["v"], "formats": ["f8"], "itemsize": 12}))["v"]  # in steps of 12 bytes
    for y in (np.zeros((3, 8))[:, ::2], np.zeros((4, 3)).T, np.zeros((3, 4), ">f8"), misaligned((3, 4), "float64"), packed):
        assert not kernels.takes(copy, x, y)
        copy(x, y)
        np.testing.assert_array_equal(x, y)
        back = np.ones((3, 4))
        copy(y, back)
        np.testing.assert_array_equal(x, back)


def test_columns_of_one_array_do_not_overlap(copy: Any, saxpy: Any, kernels: Kernels) -> None:
    block = np.arange(24.0).reshape(3, 8)
    assert not kernels.takes(copy, block[:, :4], block[:, 4:])  # the entry compares the first and last bytes only
    copy(block[:, :4], block[:, 4:])
    np.testing.assert_array_equal(block[:, :4], block[:, 4:])
    line = np.arange(16, dtype=np.float32)
    saxpy(1.0, line[::2], line[1::2])
    assert line[1::2].tolist() == [4 * i + 1 for i in range(8)]


def test_overlap_of_arrays_that_run_backward(copy: Any, kernels: Kernels) -> None:
    block = np.arange(24.0).reshape(6, 4)
    for x, y in ((block[3:0:-1], block[:3]), (block[:3][::-1], block[2:5])):
        assert not kernels.takes(copy, x, y)
        with pytest.raises(ValueError, match="argument 'y' is written and must not overlap"):
            copy(x, y)
    assert kernels.takes(copy, block[5:2:-1], block[:3]) and kernels.takes(copy, block[2::-1], block[3:])


def test_written_arrays_hold_no_element_twice(copy: Any, kernels: Kernels) -> None:
    windows = np.lib.stride_tricks.sliding_window_view(np.zeros(6), 4, writeable=True)
    assert kernels.takes(copy, windows, np.ones((3, 4))) and not kernels.takes(copy, np.ones((3, 4)), windows)
    with pytest.raises(
        ValueError, match=r"^kernel 'copy' argument 'y' is written, got a float64\[3,4\] that holds an element twice"
    ):
        copy(np.ones((3, 4)), windows)


def test_neighbours_and_empty_arrays_do_not_overlap(saxpy: Any, kernels: Kernels) -> None:
    block = np.ones(16, np.float32)
    assert kernels.takes(saxpy, 1.0, block[:8], block[8:]) and kernels.takes(saxpy, 1.0, block[8:], block[:8])
    assert kernels.takes(saxpy, 1.0, block[4:4], block[4:4])
    assert not kernels.takes(saxpy, 1.0, block[:8], block[7:15])


def test_overlap_of_arrays_that_are_only_read(kernels: Kernels) -> None:
    run = kernels.show(ArrayParam("x", "int32", (N,)), ArrayParam("y", "int32", (M,)), symbols=("N", "M"))
    x = np.zeros(9, np.int32)
    assert run(x, x)[2:4] == [9, 9] and run(x[:5], x[3:])[2:4] == [5, 6]


# What is refused

X, Y = vector(), vector()
FROZEN = np.frombuffer(bytes(32), np.float32)
TWICE = np.lib.stride_tricks.as_strided(np.zeros(16, np.float32), (8,), (0,))
CALLED = "it is called as saxpy(a: float32, x: float32[N], y: inout float32[N])"
NUMBER = "argument 'a' must be a number, got"
ARRAY = "argument 'x' must be a NumPy array of float32 with 1 dim, got"
CONVERT = "convert it with .astype(np.float32)"
SEVEN, EIGHT = (
    "by dim 0 of argument 'x' (float32[N], got float32[7])",
    "by dim 0 of argument 'y' (float32[N], got float32[8])",
)
SIZES = f"size 'N' is 7 {SEVEN} and 8 {EIGHT}"
OVERLAP = "argument 'y' is written and must not overlap another array, got one that shares memory with argument 'x'"
MISUSES: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ((), {}, TypeError, f"is missing argument 'a'; {CALLED}"),
    ((1.0, X), {}, TypeError, f"is missing argument 'y'; {CALLED}"),
    ((1.0, X, Y, Y), {}, TypeError, "takes 3 arguments (a, x, y), got 4"),
    ((1.0, X, Y), {"z": 1}, TypeError, "has no argument 'z'; it takes a, x, y, threads"),
    ((1.0, X, Y), {"y": Y}, TypeError, "got two values for argument 'y'; pass it by position or by name"),
    ((1.0, X, Y), {"threads": 0}, ValueError, "keyword 'threads' must be from 1 to 65536, got 0"),
    ((1.0, X, Y), {"threads": 1 << 99}, ValueError, f"keyword 'threads' must be from 1 to 65536, got {1 << 99}"),
    ((1.0, X, Y), {"threads": 2.0}, TypeError, "keyword 'threads' must be an int, got float"),
    ((1.0, X, Y), {"threads": True}, TypeError, "keyword 'threads' must be an int, got bool"),
    (("1", X, Y), {}, TypeError, f"{NUMBER} str; convert it with float()"),
    ((1j, X, Y), {}, TypeError, f"{NUMBER} complex; convert it with float()"),
    ((np.zeros(()), X, Y), {}, TypeError, f"{NUMBER} float64[]; convert it with float()"),
    ((np.timedelta64(1), X, Y), {}, TypeError, f"{NUMBER} np.timedelta64; convert it with float()"),
    ((10**400, X, Y), {}, ValueError, "argument 'a' must fit float32, got an integer of 1329 bits"),
    ((1.0, [1.0], Y), {}, TypeError, f"{ARRAY} list; make one with np.array(..., np.float32)"),
    ((1.0, np.float32(1), Y), {}, TypeError, f"{ARRAY} np.float32; make one with np.array(..., np.float32)"),
    ((1.0, np.ma.masked_array(X), Y), {}, TypeError, f"{ARRAY} a masked array; fill it with .filled()"),
    ((1.0, X.astype(float), Y), {}, TypeError, f"{ARRAY} float64[8]; {CONVERT}"),
    ((1.0, X.astype(">f8"), Y), {}, TypeError, f"{ARRAY} float64 (byte-swapped)[8]; {CONVERT}"),
    ((1.0, X.astype(object), Y), {}, TypeError, f"{ARRAY} object[8]; {CONVERT}"),
    ((1.0, X.reshape(2, 4), Y), {}, ValueError, f"{ARRAY} float32[2,4]; reshape it"),
    ((1.0, X[:7], Y), {}, ValueError, f"{SIZES}; pass arrays that agree"),
    ((1.0, X, FROZEN), {}, ValueError, "argument 'y' is written, got a read-only float32[8]; pass a copy of it"),
    (
        (1.0, X, TWICE),
        {},
        ValueError,
        "argument 'y' is written, got a float32[8] that holds an element twice; pass a copy of it",
    ),
    ((1.0, X, X), {}, ValueError, f"{OVERLAP}; pass a copy for one of them"),
]


@pytest.mark.parametrize(("args", "kwargs", "error", "message"), MISUSES)
def test_misuse(saxpy: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: type[Exception], message: str) -> None:
    before = X.tobytes(), Y.tobytes()
    with pytest.raises(error) as caught:
        saxpy(*args, **kwargs)
    assert str(caught.value) == f"kernel 'saxpy' {message}"
    assert (X.tobytes(), Y.tobytes()) == before


def test_misuse_of_sizes_and_strides(kernels: Kernels, shift: Any, copy: Any) -> None:
    with pytest.raises(ValueError) as caught:
        shift(np.zeros(0, int), np.zeros(0, int))
    rule = "kernel 'shift' argument 'y' must be int64[N + 1], got int64[0] with N = -1; pass an array with N >= 0"
    assert str(caught.value) == rule
    with pytest.raises(ValueError, match=r"^kernel 'shift' size 'N' is 3 by dim 0 of argument 'x' .* and 2 by dim 0 of .* 'y'"):
        shift(np.zeros(3, int), np.zeros(3, int))
    run = kernels.show()
    with pytest.raises(ValueError, match=r"argument 'out' must be int64\[6\], got int64\[5\]; pass an array of that size$"):
        run.kernel(np.zeros(5, int))
    rows = (ArrayParam(name, "float32", (N, M), strides=(Dim(2), ONE)) for name in "xy")
    run = kernels.show(*rows, symbols=("N", "M", "lda"))
    x = np.zeros((3, 8), np.float32)
    assert run(x[:, :4], x[:, 4:])[2:5] == [3, 4, 8]
    assert run(x[:, :4].copy(), x[:, 4:])[2:5] == [3, 4, 4]  # the second is copied
    with pytest.raises(ValueError) as caught:
        run(x[:, :4], x[:, 4:].copy())
    assert str(caught.value) == (
        "kernel 'show' argument 'y' must have strides [lda, 1], got float32[3,4] with dim 0 in steps of 4 elements, not 8; "
        "pass an array with these strides"
    )
    with pytest.raises(ValueError, match=r"'y' is written and must not overlap another array, .* with argument 'x'"):
        copy((block := np.zeros((4, 4))), block.T)


@pytest.mark.parametrize(
    ("dtype", "value", "error", "message"),
    [
        ("int32", 1 << 31, ValueError, "must fit int32, got 2147483648; pass -2147483648 to 2147483647"),
        ("int32", np.int64(-(1 << 40)), ValueError, "must fit int32, got -1099511627776; pass -2147483648 to 2147483647"),
        ("int64", 1 << 63, ValueError, f"must fit int64, got {1 << 63}; pass {-(1 << 63)} to {(1 << 63) - 1}"),
        ("int64", np.uint64(1 << 63), ValueError, f"must fit int64, got {1 << 63}; pass {-(1 << 63)} to {(1 << 63) - 1}"),
        ("int64", 1 << 999, ValueError, f"must fit int64, got an integer of 1000 bits; pass {-(1 << 63)} to {(1 << 63) - 1}"),
        ("int64", 1.0, TypeError, "must be an integer, got float; convert it with int()"),
        ("int32", np.float32(1), TypeError, "must be an integer, got np.float32; convert it with int()"),
        ("int64", None, TypeError, "must be an integer, got NoneType; convert it with int()"),
        ("bool", 1, TypeError, "must be a bool, got int; convert it with bool()"),
        ("bool", np.int8(1), TypeError, "must be a bool, got np.int8; convert it with bool()"),
        ("float64", "x", TypeError, "must be a number, got str; convert it with float()"),
        ("float64", -(10**400), ValueError, "must fit float64, got an integer of 1329 bits"),
    ],
)
def test_misuse_of_scalars(kernels: Kernels, dtype: str, value: Any, error: type[Exception], message: str) -> None:
    run = kernels.show(ScalarParam("a", dtype))
    with pytest.raises(error) as caught:
        run(value)
    assert str(caught.value) == f"kernel 'show' argument 'a' {message}"


# Status


def test_status(kernels: Kernels) -> None:
    seen = []

    def failed(status: tuple[int, ...]) -> None:
        seen.append(status)
        raise IndexError(f"status {status[0]}")

    check = kernels.function(CHECK_SIGNATURE, CHECK, failed=failed)
    assert check(0) is None and seen == []
    for value in (3, -1, (1 << 63) - 1):
        with pytest.raises(IndexError, match=f"status {value}"):
            check(value)
        with pytest.raises(IndexError, match=f"status {value}"):
            check(n=value)
        assert seen == [(value, -11, 0, 0)] * 2
        seen.clear()
    plain = kernels.function(CHECK_SIGNATURE, CHECK)
    with pytest.raises(RuntimeError, match=r"^kernel 'check' stopped with status 5 \(-11, 0, 0\)$"):
        plain(5)
    with pytest.raises(RuntimeError, match="stopped with status 5"):
        kernels.function(CHECK_SIGNATURE, CHECK, failed=lambda status: None)(5)


def test_what_was_written_before_a_failure_is_copied_back(kernels: Kernels) -> None:
    text = """
define void @part.invoke(ptr %slots) {
  %y = load ptr, ptr %slots
  store i64 5, ptr %y
  %status.at = getelementptr i64, ptr %slots, i64 3
  store i64 9, ptr %status.at
  ret void
}
"""
    part = kernels.function(kernel("part", (ArrayParam("y", "int64", (N,), writes=True),), ("N",)), text)
    for y in (np.zeros(2, int), np.zeros(4, int)[::2]):
        with pytest.raises(RuntimeError, match="status 9"):
            part(y)
        assert y.tolist() == [5, 0]


# Chains


def test_chain_with_a_slow_path_of_its_own(kernels: Kernels) -> None:
    """Another callable may hold kernels of several types and compile what is missing."""
    seen = []

    def compile_another(*args: Any, **kwargs: Any) -> str:
        seen.append((args, kwargs))
        return "slow"

    function = kernels.NativeFunction(compile_another)
    function.install(kernels.executable(saxpy_signature(), SAXPY))
    function.install(kernels.executable(SHIFT_SIGNATURE, SHIFT))
    y, z = np.ones(8, np.float32), np.zeros(4, int)
    assert function(2.0, vector(), y) is None and function(np.arange(3), z) is None
    assert y.tolist() == (2 * vector() + 1).tolist() and z.tolist() == [7, 0, 1, 2]
    assert function(1, 2, k=3) == function() == function(1.0, y, y) == "slow"
    assert len(seen) == 3 and seen[0] == ((1, 2), {"k": 3})
    assert [e.signature.name for e in function.executables] == ["shift", "saxpy"]


def test_attributes_and_binding(saxpy: Any) -> None:
    class Model:
        step = saxpy

    with pytest.raises(TypeError, match="takes 3 arguments"):
        Model().step(1.0, vector(), vector())
    saxpy.note = 1
    assert vars(saxpy)["note"] == 1 and saxpy.__call__(1.0, vector(), vector()) is None
    import copy as copies

    assert copies.deepcopy(saxpy) is saxpy
    with pytest.raises(TypeError, match="initialised once"):
        saxpy.__init__(saxpy.executable)


def test_many_parameters(kernels: Kernels) -> None:
    params = [ArrayParam(f"x{i}", "float64", (Dim(i), Dim(None, 2)), writes=True) for i in range(40)]
    run = kernels.show(*params, symbols=tuple(f"N{i}" for i in range(40)))
    arrays = [np.zeros((i, 2)) for i in range(40)]
    assert run(*arrays)[40:80] == list(range(40))
    assert kernels.takes(run.kernel, np.zeros(86, int), *arrays)
    arrays[20] = arrays[39][5:25]
    with pytest.raises(ValueError, match=r"argument 'x39' is written and must not overlap .* argument 'x20'"):
        run(*arrays)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("rank", [0, 1, 5, 32])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_rank_and_dtype(kernels: Kernels, rank: int, dtype: str) -> None:
    sizes = tuple(Dim(i) for i in range(rank))
    strides = tuple(Dim(rank + i) for i in range(rank))
    x = np.ones((2,) * min(rank, 3) + (1,) * (rank - 3), dtype)
    names = tuple(f"N{i}" for i in range(rank))
    run = kernels.show(ArrayParam("x", dtype, sizes, writes=True), symbols=names)
    assert run(x)[1 : 1 + rank] == list(x.shape)
    run = kernels.show(ArrayParam("x", dtype, sizes, True, strides), symbols=(*names, *(f"s{i}" for i in range(rank))))
    x = x.transpose()
    moving = [s // x.itemsize if n > 1 else 0 for n, s in zip(x.shape, x.strides, strict=True)]
    assert run(x)[1 : 1 + 2 * rank] == [*x.shape, *moving]
    assert kernels.takes(run.kernel, np.zeros(7 + 2 * rank, int), x)


# Lifetime


@pytest.mark.thorough
def test_collected(kernels: Kernels) -> None:
    saxpy = kernels.function(saxpy_signature(), SAXPY, failed=lambda status: None)
    saxpy(1.0, vector(), vector())
    gone, library = weakref.ref(saxpy), weakref.ref(saxpy.executable.library)
    del saxpy
    assert gone() is None and library() is None
    saxpy = kernels.function(saxpy_signature(), SAXPY, failed=(cycle := []).append)
    cycle.append(saxpy)
    saxpy.me = saxpy
    saxpy(1.0, vector(), vector())
    gone, library = weakref.ref(saxpy), weakref.ref(saxpy.executable.library)
    del saxpy, cycle
    gc.collect()
    assert gone() is None and library() is None


def test_references_are_balanced(kernels: Kernels) -> None:
    saxpy, check = kernels.function(saxpy_signature(), SAXPY), kernels.function(CHECK_SIGNATURE, CHECK)
    x, y, a, b = vector(), vector(), np.float32(2), 1 << 40
    objects = (x, y, a, b, saxpy, check, None, True, np.dtype("float32"), type(saxpy), np.ndarray, float, int)
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        saxpy(a, x, y)
        saxpy(2, x[::-1], y)
        saxpy(1.5, x=x, y=y, threads=2)
        check(0)
        for function, args in ((saxpy, (a, x, x)), (saxpy, (a, x)), (saxpy, (a, x, None)), (check, (b,))):
            with pytest.raises((TypeError, ValueError, RuntimeError)):
                function(*args)
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(one - two) < 50 for one, two in zip(before, after, strict=True)), (before, after)


# Threads


def run_threads(count: int, work: Any) -> None:
    errors: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.thorough
@pytest.mark.parametrize("heavy", [0, 1 << 40])
def test_eight_threads(kernels: Kernels, heavy: int) -> None:
    saxpy = kernels.function(saxpy_signature(heavy), SAXPY)
    shared = np.ones(50, np.float32)
    count = 10_000 if kernels.native else 1_000

    def many(index: int) -> None:
        y = np.zeros(50, np.float32)
        for _ in range(count):
            saxpy(1.0, shared, y)
        assert (y == count).all()

    run_threads(8, many)


def test_status_in_threads(kernels: Kernels) -> None:
    check = kernels.function(CHECK_SIGNATURE, CHECK)

    def many(index: int) -> None:
        for i in range(1000):
            with pytest.raises(RuntimeError, match=f"status {index * 1000 + i + 1} "):
                check(index * 1000 + i + 1)

    run_threads(8, many)


# waits until the flag is set, or not any longer
WAIT = """
define void @wait.invoke(ptr %slots) {
  %flag = load ptr, ptr %slots
  %y.at = getelementptr i64, ptr %slots, i64 1
  %y = load ptr, ptr %y.at
  %most.at = getelementptr i64, ptr %slots, i64 2
  %most = load i64, ptr %most.at
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %next = add i64 %i, 1
  %set = load volatile i64, ptr %flag
  %unset = icmp eq i64 %set, 0
  %more = icmp slt i64 %next, %most
  %go = and i1 %unset, %more
  br i1 %go, label %loop, label %done
done:
  store i64 %set, ptr %y
  ret void
}
"""


def test_heavy_calls_release_the_gil(kernels: Kernels) -> None:
    params = (ArrayParam("flag", "int64", (N,)), ArrayParam("y", "int64", (ONE,), writes=True), ScalarParam("most", "int64"))

    def sees_the_flag(size: int, most: int) -> bool:
        wait = kernels.function(kernel("wait", params, ("N",), heavy=10), WAIT)
        flag, y, started = np.zeros(size, np.int64), np.zeros(1, np.int64), threading.Event()

        def set_flag() -> None:
            started.wait()
            flag[0] = 1

        thread = threading.Thread(target=set_flag)
        thread.start()
        started.set()
        wait(flag, y, most)
        thread.join()
        return bool(y[0])

    assert sees_the_flag(9, 1 << 40)
    if kernels.native:  # ten times: the other thread may have come first
        assert not all(sees_the_flag(8, 10_000_000) for _ in range(10))


@pytest.mark.thorough
def test_dropped_while_running(kernels: Kernels) -> None:
    params = (ArrayParam("flag", "int64", (N,)), ArrayParam("y", "int64", (ONE,), writes=True), ScalarParam("most", "int64"))
    box = [kernels.function(kernel("wait", params, ("N",), heavy=0), WAIT)]
    flag, y, started = np.zeros(1, np.int64), np.zeros(1, np.int64), threading.Event()

    def work() -> None:
        call = box.pop()
        started.set()
        call(flag, y, 1 << 40)

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    gc.collect()
    flag[0] = 1
    thread.join()
    assert y[0] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork(saxpy: Any) -> None:
    saxpy(1.0, vector(), vector())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process that has had threads
        child = os.fork()
    if child == 0:
        try:
            y = np.ones(8, np.float32)
            saxpy(2.0, vector(), y)
            os._exit(0 if (y == 2 * vector() + 1).all() else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


CODE = """
import numpy as np
from lamina.codegen.executable import load_executable, object_for
from lamina.runtime.callable import KernelFunction
from lamina.runtime.signature import ScalarParam, Signature
from lamina.runtime.callable import _install_ctypes
text = '''define void @nothing.invoke(ptr %slots) {
  ret void
}'''
s = Signature("nothing", (ScalarParam("n", "int32"),), is_kernel=True)
f = KernelFunction(load_executable(s, object_for(s, text)))
print(f(1), f(n=True, threads=2), type(f).install is _install_ctypes, f.executable.entry is None)
"""


@pytest.mark.parametrize(("setting", "expected"), [("", "None None False False"), ("ctypes", "None None True True")])
def test_environment_selects_ctypes(setting: str, expected: str) -> None:
    code = f"import sys, os; sys.path[:] = {sys.path!r}; os.environ['LAMINA_ENTRY'] = {setting!r}\n{CODE}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected

"""Random arguments of kernels never crash and are never misread: NumPy's result in every byte, or an error and no change.

Each call is made several times from one seed, with memory of its own: as the kernel's work said in NumPy, through the native
entry, and through ctypes.
"""

from __future__ import annotations

import ctypes
import decimal
import fractions
import random
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.codegen.executable import load_executable, native_entry, object_for
from lamina.dialects.sizes.binding import Dim
from lamina.runtime.arguments import accepts, prepare
from lamina.runtime.callable import FunctionBase, KernelBase, function_class
from lamina.runtime.executable import Executable
from lamina.runtime.signature import ArrayParam, ScalarParam, Signature

N, M = Dim(0), Dim(1)


def kernel(name: str, params: Any, symbols: tuple[str, ...] = (), heavy: int = 1 << 15) -> Signature:
    """The signature of a kernel."""
    return Signature(name, params, symbols=symbols, heavy=heavy, is_kernel=True)


SIGNATURES = {
    "saxpy": kernel(
        "saxpy",
        (ScalarParam("a", "float32"), ArrayParam("x", "float32", (N,)), ArrayParam("y", "float32", (N,), writes=True)),
        ("N",),
    ),
    "add": kernel(
        "add",
        (
            ArrayParam("x", "float64", (N, M), strides=(Dim(2), Dim(3))),
            ArrayParam("y", "float64", (N, M), writes=True, strides=(Dim(4), Dim(None, 1))),
        ),
        ("N", "M", "x0", "x1", "y0"),
        heavy=5,
    ),
    "edges": kernel(
        "edges",
        (
            ArrayParam("y", "int64", (Dim(0, 1),), writes=True),
            ScalarParam("k", "int32"),
            ArrayParam("x", "int64", (N,)),
            ScalarParam("flag", "bool"),
            ArrayParam("z", "bool", (), writes=True),
        ),
        ("N",),
        heavy=8,
    ),
    "numbers": kernel(
        "numbers",
        (ArrayParam("y", "float64", (Dim(None, 2),), writes=True), ScalarParam("a", "float64"), ScalarParam("b", "int64")),
    ),
}
"""What the four kernels take; `work` says what they do."""


def work(name: str, values: list[Any]) -> None:
    """The work of a kernel, in NumPy."""
    with np.errstate(all="ignore"):
        if name == "saxpy":
            a, x, y = values
            y[...] = np.float32(a) * x.astype("=f4") + y.astype("=f4")
        elif name == "add":
            x, y = values
            y[...] = y + x
        elif name == "edges":
            y, k, x, flag, z = values
            y[1:] = x if flag else 0 - x
            y[:1] = int(k)
            z[...] = bool(flag)
        else:
            y, a, b = values
            y[:1], y[1:] = float(a), np.float64(int(b))


def text(name: str) -> str:
    """LLVM IR with a loop over rows and columns around the work on an element."""
    signature = SIGNATURES[name]
    lines = [f"define void @{name}.invoke(ptr %slots) {{"]
    for index, slot in enumerate([*(p.name for p in signature.params), *signature.symbols]):
        kind = "ptr" if any(slot == p.name for p in signature.arrays) else "i64"
        kind = {"saxpy.a": "float", "numbers.a": "double"}.get(f"{name}.{slot}", kind)
        lines += [f"  %{slot}.at = getelementptr i64, ptr %slots, i64 {index}", f"  %{slot} = load {kind}, ptr %{slot}.at"]
    columns = "%M" if "M" in signature.symbols else "1"
    rows = "%N" if "N" in signature.symbols else "0"
    body = {
        "saxpy": """
  %p = getelementptr float, ptr %x, i64 %i
  %u = load float, ptr %p
  %q = getelementptr float, ptr %y, i64 %i
  %v = load float, ptr %q
  %s = fmul float %a, %u
  %t = fadd float %s, %v
  store float %t, ptr %q
""",
        "add": """
  %xi = mul i64 %i, %x0
  %xj = mul i64 %j, %x1
  %xk = add i64 %xi, %xj
  %p = getelementptr double, ptr %x, i64 %xk
  %u = load double, ptr %p
  %yi = mul i64 %i, %y0
  %yk = add i64 %yi, %j
  %q = getelementptr double, ptr %y, i64 %yk
  %v = load double, ptr %q
  %t = fadd double %v, %u
  store double %t, ptr %q
""",
        "edges": """
  %p = getelementptr i64, ptr %x, i64 %i
  %u = load i64, ptr %p
  %c = icmp ne i64 %flag, 0
  %m = sub i64 0, %u
  %v = select i1 %c, i64 %u, i64 %m
  %i1 = add i64 %i, 1
  %q = getelementptr i64, ptr %y, i64 %i1
  store i64 %v, ptr %q
""",
        "numbers": "",
    }[name]
    before = {
        "edges": "  store i64 %k, ptr %y\n  %f = trunc i64 %flag to i8\n  store i8 %f, ptr %z\n",
        "numbers": """
  store double %a, ptr %y
  %w = sitofp i64 %b to double
  %next = getelementptr double, ptr %y, i64 1
  store double %w, ptr %next
""",
    }.get(name, "")
    return (
        "\n".join(lines)
        + f"""
{before}  br label %rows
rows:
  %i = phi i64 [ 0, %0 ], [ %i.next, %row.end ]
  %more = icmp slt i64 %i, {rows}
  br i1 %more, label %row, label %exit
row:
  %j = phi i64 [ 0, %rows ], [ %j.next, %element ]
  %go = icmp slt i64 %j, {columns}
  br i1 %go, label %element, label %row.end
element:
{body}
  %j.next = add i64 %j, 1
  br label %row
row.end:
  %i.next = add i64 %i, 1
  br label %rows
exit:
  ret void
}}
"""
    )


@cache
def functions(name: str) -> tuple[Any, Any]:
    """The kernel, native and through ctypes."""
    made = load_executable(SIGNATURES[name], object_for(SIGNATURES[name], text(name)))
    native = Executable(made.signature, made.library, entry=native_entry())
    return function_class(KernelBase, True)(native), function_class(KernelBase, False)(Executable(made.signature, made.library))


# Arguments


class Sub(np.ndarray):
    pass


class Liar(np.ndarray):
    """Says of itself what is not true."""

    shape = property(lambda self: (1 << 40,))  # type: ignore[assignment]
    dtype = property(lambda self: np.dtype("float32"))  # type: ignore[assignment]
    strides = property(lambda self: (-8,))  # type: ignore[assignment]
    flags = property(lambda self: None)  # type: ignore[assignment]


class Disguised:
    __class__ = np.ndarray  # type: ignore[assignment]


class Number:
    def __float__(self) -> float:
        return 1.0

    def __index__(self) -> int:
        return 3

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.zeros(4, np.float32)


class Whole(int):
    pass


class Real(float):
    pass


OBJECTS: list[Callable[[], Any]] = [
    lambda: None, lambda: "x", lambda: b"xxxxxxxx", lambda: [1.0, 2.0], lambda: (1, 2), dict, object, Number, Disguised,
    lambda: np.ndarray, lambda: np.float32, lambda: np.dtype("f4"), lambda: memoryview(bytearray(32)), lambda: range(3),
    lambda: fractions.Fraction(1, 3), lambda: decimal.Decimal("0.1"), lambda: 1j, lambda: ..., lambda: (ctypes.c_float * 4)(),
    lambda: np.complex64(1), lambda: np.timedelta64(3, "s"), lambda: np.datetime64(3, "s"), lambda: np.str_("x"),
    lambda: np.void(b"abcd"), lambda: np.array(["a", "b"], np.dtypes.StringDType()), lambda: np.array([None, 1]),
    lambda: np.zeros(3, "f4,i4"), lambda: np.zeros(2, "V0"), lambda: np.zeros((1,) * 64, np.float32), lambda: np.ma.masked,
    lambda: np.zeros(4, np.float32).view(Liar),
]  # fmt: skip
SCALAR_VALUES: list[Any] = [
    0, 1, -1, 5, True, False, 0.5, -0.0, 1e300, float("inf"), float("nan"), (1 << 31) - 1, 1 << 31, -(1 << 31),
    -(1 << 31) - 1, (1 << 63) - 1, 1 << 63, -(1 << 63), -(1 << 63) - 1, (1 << 53) + 1, 10**400, 10**5000, np.float32(0.1),
    np.float64(0.1), np.float16(0.1), np.longdouble(0.1), np.int8(-3), np.int32(7), np.int64(1 << 40),
    np.uint64((1 << 64) - 1), np.longlong(4), np.True_, np.False_, Whole(4), Real(0.25), np.array(1.0), np.array(3),
]  # fmt: skip
DTYPE_NAMES = [
    "float32", "float64", "int32", "int64", "bool", "int8", "uint64", "float16", "complex64", "longlong", "datetime64[s]",
    "S4", "U1", "object", "V4", ">f4", ">f8", ">i8", "<f4", "=i8",
]  # fmt: skip


def some_array(rng: random.Random, param: ArrayParam, sizes: dict[int, int], pool: list[np.ndarray]) -> np.ndarray:
    """An array for a parameter, or nearly; its memory is one of the pool."""
    dtype = param.np_dtype
    if rng.random() < 0.15:
        dtype = dtype.newbyteorder(">")
    if rng.random() < 0.06:
        dtype = np.dtype(rng.choice(DTYPE_NAMES))
    if rng.random() < 0.05:
        dtype = np.dtype(dtype, metadata={"a": 1}) if dtype.char not in "OSUV" else dtype
    shape = [sizes[d.symbol] + d.constant if d.symbol is not None else d.constant for d in param.dims]
    if shape and rng.random() < 0.08:
        axis = rng.randrange(len(shape))
        shape[axis] = max(0, shape[axis] + rng.choice([-1, 1, 2]))
    if rng.random() < 0.03:
        shape = rng.choice([[], [1], *([[*shape, 1], shape[1:], [0, *shape]])])
    if dtype.hasobject:
        return np.array(np.arange(max(1, int(np.prod(shape)))), object)
    return placed(rng, dtype, tuple(shape), pool)


def placed(rng: random.Random, dtype: np.dtype[Any], shape: tuple[int, ...], pool: list[np.ndarray]) -> np.ndarray:
    """An array of that type and shape with random strides, within one of the blocks of memory."""
    plain = rng.random() < 0.55
    order = list(range(len(shape)))
    steps = [1] * len(shape)
    unit = dtype.itemsize
    if not plain:
        if rng.random() < 0.4:
            rng.shuffle(order)
        steps = [rng.choice([1, 1, 1, 2, 3]) for _ in shape]
        if dtype.kind in "fib" and rng.random() < 0.1:
            unit += rng.choice([4, 1])
    strides, reach = [0] * len(shape), unit
    for axis in reversed(order):
        strides[axis] = reach * steps[axis]
        reach = max(1, strides[axis] * max(1, shape[axis]))
    if not plain and shape and rng.random() < 0.1:  # an element twice
        strides[rng.randrange(len(shape))] = rng.choice([0, unit])
    offset = rng.choice([0, 0, 0, dtype.itemsize, 2 * dtype.itemsize, 40, 1])
    block = rng.choice(pool)
    bytes_needed = offset + sum(max(0, n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
    if bytes_needed > block.nbytes:
        return np.zeros(shape, dtype)
    array = np.ndarray(shape, dtype, block.data, offset, tuple(strides))
    if not plain and rng.random() < 0.25:
        array = array[(*(slice(None, None, rng.choice([1, -1])) for _ in shape), ...)]
    return array


def disguise(rng: random.Random, array: np.ndarray) -> Any:
    roll = rng.random()
    if roll < 0.88:
        return array
    if roll < 0.9:
        array = array.view()
        array.flags.writeable = False
        return array
    if roll < 0.92:
        return array.view(Sub)
    if roll < 0.94 and array.ndim == 2:
        return array.view(np.matrix)
    if roll < 0.95:
        return np.ma.masked_array(array)
    if roll < 0.97 and array.ndim == 0:
        return array[()]
    if roll < 0.98 and array.dtype.kind != "U":
        return array.tolist()
    if roll < 0.99:
        return array.view(Liar)
    return array.T


def a_call(seed: int) -> tuple[str, list[Any], dict[str, Any], list[np.ndarray]]:
    """The name of a kernel, arguments, keywords, and the memory that they are in: the same from the same seed."""
    rng = random.Random(seed)
    name = rng.choice(sorted(SIGNATURES))
    signature = SIGNATURES[name]
    numbers = np.random.default_rng(seed)
    # Small numbers, valid in every type. All are multiples of one: sums are exact, with whatever order and contraction.
    blocks = []
    for _ in range(rng.choice([1, 4, 4, 4])):
        block = np.zeros(2048, np.uint8)
        kind = {"saxpy": "f4", "add": "f8", "edges": "i8", "numbers": "f8"}[name]
        values = block.view(rng.choice([kind, kind, kind, ">" + kind]))
        values[...] = numbers.integers(0, 2, values.size)
        blocks.append(block)
    sizes = {0: rng.choice([0, 1, 2, 3, 5, 8]), 1: rng.choice([0, 1, 2, 3, 5])}
    args: list[Any] = []
    for param in signature.params:
        if rng.random() < 0.03:
            args.append(rng.choice(OBJECTS)())
        elif isinstance(param, ScalarParam):
            usual = {"float32": [0.5, 2, 1.0], "float64": [0.5], "int32": [1, 2], "int64": [1 << 40], "bool": [True, False]}
            args.append(rng.choice(usual[param.dtype] if rng.random() < 0.6 else SCALAR_VALUES))
        else:
            pool = blocks if param.dtype != "bool" else [np.zeros(64, np.uint8)]
            blocks += [pool[0]] if param.dtype == "bool" else []
            args.append(disguise(rng, some_array(rng, param, sizes, pool)))
    kwargs: dict[str, Any] = {}
    if rng.random() < 0.1:
        args = args[: rng.randrange(len(args) + 1)] if rng.random() < 0.7 else [*args, rng.choice(OBJECTS)()]
    if rng.random() < 0.1:
        kept = rng.randrange(len(args) + 1)
        kwargs = {p.name: value for p, value in zip(signature.params[kept:], args[kept:], strict=False)}
        args = args[:kept]
    if rng.random() < 0.1:
        kwargs["threads"] = rng.choice([1, 1, 2, 2, 0, -1, 65536, 65537, 1 << 70, True, 1.0, None, np.int64(3)])
    if rng.random() < 0.02:
        kwargs[rng.choice(["x", "y", "q", ""])] = 1
    return name, args, kwargs, blocks


def outcome(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> str:
    try:
        with np.errstate(all="ignore"):
            assert function(*args, **kwargs) is None
        return ""
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def contents(args: list[Any], kwargs: dict[str, Any], blocks: list[np.ndarray]) -> list[bytes]:
    arrays = [np.asarray(a) for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray) and not hasattr(a, "mask")]
    return [a.tobytes() for a in (*blocks, *(a for a in arrays if not a.dtype.hasobject and a.dtype.char != "T"))]


def check(seed: int) -> bool:
    """Make the call of a seed in every way and compare; whether it was accepted."""
    name, args, kwargs, blocks = a_call(seed)
    signature, functions_ = SIGNATURES[name], functions(name)
    before = contents(args, kwargs, blocks)
    refused = outcome(lambda *a, **k: prepare(signature, a, k) and None, args, kwargs)
    assert contents(args, kwargs, blocks) == before
    if not refused:
        values = dict(zip((p.name for p in signature.params), args, strict=False)) | kwargs
        work(name, [np.asarray(v) if isinstance(v, np.ndarray) else v for v in (values[p.name] for p in signature.params)])
    expected = contents(args, kwargs, blocks)
    for function in functions_:
        name, args, kwargs, blocks = a_call(seed)
        assert outcome(function, args, kwargs) == refused
        assert contents(args, kwargs, blocks) == expected, (seed, name)
    name, args, kwargs, blocks = a_call(seed)
    if not kwargs:
        reached: list[Any] = []
        probe = function_class(FunctionBase, True)(lambda *a: reached.append(a))
        probe.install(functions_[0].executable)
        fits = accepts(signature, args)
        assert not (fits and refused)
        probe(*args)
        assert bool(reached) != fits, seed
        assert contents(args, kwargs, blocks) == (expected if fits else before)
    return not refused


@settings(max_examples=600, deadline=None)
@given(seed=st.integers(0, 1 << 40))
def test_random_calls(seed: int) -> None:
    check(seed)


def storm(first: int, count: int) -> None:
    """Many calls; prints how many were accepted."""
    print(sum(check(seed) for seed in range(first, first + count)))


CHILD = """
import faulthandler, importlib.util, sys
faulthandler.enable()
sys.path[:] = {path!r}
spec = importlib.util.spec_from_file_location("fuzz", {file!r})
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)
fuzz.storm({first}, {count})
"""


def run_storm(first: int, count: int) -> int:
    code = CHILD.format(path=sys.path, file=__file__, first=first, count=count)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.thorough
def test_storm_in_a_child_process() -> None:
    count = 4_000
    assert run_storm(1 << 41, count) > count // 5


@pytest.mark.slow
def test_long_storm() -> None:
    count = 150_000
    assert run_storm(1 << 42, count) > count // 5

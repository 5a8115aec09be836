"""arith and math ops, scalar, vector and masked, against NumPy on ordinary and edge values."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from lamina.codegen.targets import get, host
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.lowering.schedule.auto import schedule_module
from lamina.lowering.target import set_target

sys.path.insert(0, str(Path(__file__).parent.parent))
from emitting import TYPE, Compiled, elementwise, emit

FLOATS, INTEGERS = ("float32", "float64"), ("int32", "int64")
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 7.0, -7.0, 1e-30, 1e30, np.inf, -np.inf, np.nan, 1e-40, 2.0**31]
INT_EDGES = [0, 1, -1, 2, -2, 3, -3, 7, -7, 31, 32, 63, 64, 100, -100, 12345678]


def values(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of edge values and some random ones; an odd number of them."""
    rng = np.random.default_rng(0)
    if dtype == "bool":
        x = np.array([0, 0, 1, 1, 1], bool)
        return x, np.array([0, 1, 0, 1, 1], bool)
    if dtype in FLOATS:
        edges = np.array(EDGES).astype(dtype)
        more = (rng.standard_normal(103) * 10).astype(dtype)
    else:
        limits = np.iinfo(dtype)
        edges = np.array([*INT_EDGES, limits.min, limits.max, limits.min + 1]).astype(dtype)
        more = rng.integers(-1000, 1000, 103).astype(dtype)
    x, y = [a.ravel() for a in np.meshgrid(edges, edges)]
    x, y = np.concatenate([x, more]), np.concatenate([y, rng.permutation(more)])
    if len(x) % 2 == 0:
        x, y = x[:-1], y[:-1]
    return x, y


def run(body: str, inputs: list[np.ndarray], output: str, lanes: int, target=None) -> np.ndarray:
    out = np.empty(len(inputs[0]), output)
    out.view(np.uint8)[:] = 0xAA if output != "bool" else 0
    text = elementwise(body, [TYPE[a.dtype.name] for a in inputs], TYPE[output], len(out), lanes)
    # upstream verifies vector comparisons, xDSL does not
    Compiled(text, target=target, verify="cmp" not in body or lanes == 1)(*map(np.ascontiguousarray, inputs), out)
    return out


def equal(got: np.ndarray, want: np.ndarray, signed_zero: bool = True) -> None:
    np.testing.assert_array_equal(got, want)
    if got.dtype.kind == "f" and signed_zero:
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(want[got == 0]))


def int_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    safe = np.where((y == 0) | (y == -1), 1, y)
    quotient = np.abs(x.astype(object)) // np.abs(safe.astype(object)) * np.where((x < 0) == (safe < 0), 1, -1)
    quotient = quotient.astype(np.int64).astype(x.dtype)
    return np.where(y == 0, 0, np.where(y == -1, -x, quotient)).astype(x.dtype)


def int_rem(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where((y == 0) | (y == -1), 0, x - int_div(x, y) * y).astype(x.dtype)


@pytest.mark.parametrize("divisor", [3, -7, 16, 1, -1, 0])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_by_constants(dtype, divisor):
    x, _ = values(dtype)
    by = np.full_like(x, divisor)
    for op, reference in (("divsi", int_div), ("remsi", int_rem)):
        for lanes, constant in ((1, f"{divisor}"), (8, f"dense<{divisor}>")):
            body = f"%c = arith.constant {constant} : R\n%r = arith.{op} %a, %c : R"
            equal(run(body, [x], dtype, lanes), reference(x, by))


def int_power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = 8 * x.dtype.itemsize

    def power(base: int, exponent: int) -> int:
        if exponent >= 0:
            return pow(base, exponent, 1 << bits)
        return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)

    found = [power(int(a), int(b)) % (1 << bits) for a, b in zip(x, y, strict=True)]
    return np.array(found, f"u{x.dtype.itemsize}").view(x.dtype)


def shift(kind: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    inside = (y >= 0) & (y < bits)
    amount = np.where(inside, y, 0).astype(x.dtype)
    if kind == "shli":
        return np.where(inside, x << amount, 0).astype(x.dtype)
    if kind == "shrui":
        unsigned = x.view(f"u{x.dtype.itemsize}")
        return np.where(inside, (unsigned >> amount.view(unsigned.dtype)).view(x.dtype), 0).astype(x.dtype)
    return np.where(inside, x >> amount, np.where(x < 0, -1, 0)).astype(x.dtype)


BINARY = {
    "arith.addf": (np.add, FLOATS),
    "arith.subf": (np.subtract, FLOATS),
    "arith.mulf": (np.multiply, FLOATS),
    "arith.divf": (np.divide, FLOATS),
    "arith.remf": (np.fmod, FLOATS),
    "arith.maximumf": (np.maximum, FLOATS),
    "arith.minimumf": (np.minimum, FLOATS),
    "arith.addi": (np.add, INTEGERS),
    "arith.subi": (np.subtract, INTEGERS),
    "arith.muli": (np.multiply, INTEGERS),
    "arith.divsi": (int_div, INTEGERS),
    "arith.remsi": (int_rem, INTEGERS),
    "arith.maxsi": (np.maximum, INTEGERS),
    "arith.minsi": (np.minimum, INTEGERS),
    "arith.andi": (np.bitwise_and, (*INTEGERS, "bool")),
    "arith.ori": (np.bitwise_or, (*INTEGERS, "bool")),
    "arith.xori": (np.bitwise_xor, (*INTEGERS, "bool")),
    "arith.shli": (lambda x, y: shift("shli", x, y), INTEGERS),
    "arith.shrsi": (lambda x, y: shift("shrsi", x, y), INTEGERS),
    "arith.shrui": (lambda x, y: shift("shrui", x, y), INTEGERS),
    "math.ipowi": (int_power, INTEGERS),
    "math.copysign": (np.copysign, FLOATS),
}
UNARY = {
    "arith.negf": (np.negative, FLOATS),
    "math.absf": (np.abs, FLOATS),
    "math.absi": (np.abs, INTEGERS),
    "math.floor": (np.floor, FLOATS),
    "math.ceil": (np.ceil, FLOATS),
    "math.trunc": (np.trunc, FLOATS),
    "math.roundeven": (np.rint, FLOATS),
    "math.sqrt": (np.sqrt, FLOATS),
}
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize(("op", "dtype"), [(op, d) for op, (_, dtypes) in BINARY.items() for d in dtypes])
def test_binary(op, dtype, lanes):
    x, y = values(dtype)
    got = run(f"%r = {op} %a, %b : R", [x, y], dtype, lanes)
    # NumPy's own fmod loses the sign of zero nowhere; max and min of zeros of either sign are open
    equal(got, BINARY[op][0](x, y), signed_zero="imum" not in op)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize(("op", "dtype"), [(op, d) for op, (_, dtypes) in UNARY.items() for d in dtypes])
def test_unary(op, dtype, lanes):
    x, _ = values(dtype)
    equal(run(f"%r = {op} %a : R", [x], dtype, lanes), UNARY[op][0](x))


@pytest.mark.parametrize("target", ["host", "x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_remainder_of_any_magnitude(dtype, target):
    """fmod is exact for quotients of any size and for subnormals."""
    if target == "x86-64-v3" and not host().has_fma:
        pytest.skip("needs FMA")
    rng = np.random.default_rng(1)
    bits = 32 if dtype == "float32" else 64
    x, y = [rng.integers(0, 2**bits, 3001, dtype=f"u{bits // 8}").view(dtype) for _ in range(2)]
    close = (x * (1 + rng.integers(-3, 4, 3001) * np.finfo(dtype).eps)).astype(dtype)
    tiny = (rng.integers(-5000, 5000, 3001) * np.finfo(dtype).smallest_subnormal).astype(dtype)
    for a, b in ((x, y), (x, close), (close * 7, x), (x, tiny), (tiny, np.roll(tiny, 1)), (x, x)):
        a, b = a.astype(dtype), b.astype(dtype)
        equal(run("%r = arith.remf %a, %b : R", [a, b], dtype, 8, get(target)), np.fmod(a, b))
    equal(run("%r = arith.remf %a, %b : R", [x, y], dtype, 1, get(target)), np.fmod(x, y))


COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("predicate", list(COMPARE))
def test_compare(predicate, lanes):
    ordered = "une" if predicate == "ne" else "o" + predicate
    for dtype in FLOATS:
        x, y = values(dtype)
        got = run(generic("cmpf", _CMPF.index(ordered), "T0"), [x, y], "bool", lanes)
        equal(got, COMPARE[predicate](x, y))
    signed = predicate if predicate in ("eq", "ne") else "s" + predicate
    for dtype in INTEGERS:
        x, y = values(dtype)
        equal(run(generic("cmpi", _CMPI.index(signed), "T0"), [x, y], "bool", lanes), COMPARE[predicate](x, y))
    x, y = values("bool")
    unsigned = predicate if predicate in ("eq", "ne") else "u" + predicate
    equal(run(generic("cmpi", _CMPI.index(unsigned), "T0"), [x, y], "bool", lanes), COMPARE[predicate](x, y))


_CMPF = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
_CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def generic(op: str, predicate: int, type: str) -> str:
    return f'%r = "arith.{op}"(%a, %b) <{{predicate = {predicate} : i64}}> : ({type}, {type}) -> BOOL'


@pytest.mark.parametrize("lanes", [1, 8])
def test_select(lanes):
    x, y = values("float32")
    c = np.arange(len(x)) % 3 == 0
    got = run("%r = arith.select %a, %b, %c : T0, T1", [c, x, y], "float32", lanes)
    equal(got, np.where(c, x, y))


def saturated(x: np.ndarray, dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    big = float(limits.max) + 1
    inside = np.where(np.isfinite(x) & (np.abs(x.astype(np.float64)) < big), x, 0).astype(np.float64)
    result = np.trunc(inside).astype(dtype)
    result = np.where(x >= big, limits.max, result)
    return np.where(x < -big, limits.min, np.where(x == -big, limits.min, result)).astype(dtype)


@pytest.mark.parametrize("lanes", [1, 8])
def test_casts(lanes):
    for source in FLOATS:
        x, _ = values(source)
        for target in INTEGERS:
            equal(run("%r = arith.fptosi %a : T0 to R", [x], target, lanes), saturated(x, target))
    x, _ = values("float64")
    equal(run("%r = arith.truncf %a : T0 to R", [x], "float32", lanes), x.astype(np.float32))
    x, _ = values("float32")
    equal(run("%r = arith.extf %a : T0 to R", [x], "float64", lanes), x.astype(np.float64))
    for source in INTEGERS:
        x, _ = values(source)
        for target in FLOATS:
            equal(run("%r = arith.sitofp %a : T0 to R", [x], target, lanes), x.astype(target))
    x, _ = values("int32")
    equal(run("%r = arith.extsi %a : T0 to R", [x], "int64", lanes), x.astype(np.int64))
    x, _ = values("int64")
    equal(run("%r = arith.trunci %a : T0 to R", [x], "int32", lanes), x.astype(np.int32))
    x, _ = values("bool")
    equal(run("%r = arith.extui %a : T0 to R", [x], "int32", lanes), x.astype(np.int32))
    equal(run("%r = arith.uitofp %a : T0 to R", [x], "float64", lanes), x.astype(np.float64))


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "rsqrt", "erf"])
def test_functions_are_called(name, dtype, lanes):
    """Accuracy is the business of the math tests; here: right function, right width, also with branches inside."""
    import math

    x = np.linspace(0.1, 300.0, 37).astype(dtype)
    reference = {"rsqrt": lambda v: 1 / math.sqrt(v)}.get(name) or getattr(math, name)
    x = np.minimum(x, 80).astype(dtype) if name == "exp" else x
    want = np.array([reference(float(v)) for v in x])
    got = run(f"%r = math.{name} %a : R", [x], dtype, lanes)
    np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "float32" else 1e-13)


def test_fma_and_constants():
    x, y = values("float32")
    body = "%one = arith.constant dense<0.1> : R\n%r = math.fma %a, %b, %one : R"
    want = (x.astype(np.float64) * y + np.float32(0.1)).astype(np.float32)
    got = run(body, [x, y], "float32", 8)
    finite = np.isfinite(want)
    np.testing.assert_allclose(got[finite], want[finite], rtol=1e-6)
    body = "%v = arith.constant dense<[1, -2, 3, 4, 5, 6, 7, 8]> : R\n%r = arith.addi %a, %v : R"
    z = np.arange(16, dtype=np.int32)
    equal(run(body, [z], "int32", 8), z + np.tile(np.array([1, -2, 3, 4, 5, 6, 7, 8], np.int32), 2))


def test_roots_beside_divisions_are_correctly_rounded():
    """Half of them are found by multiplications where the divider is busy: every mantissa, and what needs the divider."""
    rng = np.random.default_rng(0)
    every = (np.arange(1 << 24, dtype=np.uint32) + np.uint32(0x3F800000)).view(np.float32)  # [1, 4)
    bits = rng.integers(0, 1 << 32, 1 << 18, dtype=np.uint32)
    x = np.concatenate([every, bits.view(np.float32), np.abs(bits.view(np.float32)), np.resize(np.float32(EDGES), 64)])
    body = "%s = math.sqrt %a {shared} : R\n%r = arith.divf %s, %b : R"
    compiled = Compiled(elementwise(body, ["f32", "f32"], "f32", len(x), 32))
    assert ("rsqrt14" in compiled.ir) == host().has_avx512
    y = np.empty_like(x)
    compiled(x, np.full_like(x, 3), y)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(y, np.sqrt(x) / np.float32(3))


ROOT = "%s = math.sqrt %a : R\n"


def shares(body: str, target: str, lanes: int = 32) -> bool:
    """Whether the default schedule shares the roots of a loop, and its code follows."""
    module = parse_module(make_context(), elementwise(body, ["f32", "f32"], "f32", 64, lanes), "m")
    set_target(module, get(target))
    schedule_module(module, lambda kernel, taken: None)
    assert ("rsqrt14" in emit(str(module), get(target))) == ("{shared}" in str(module))
    return "{shared}" in str(module)


@pytest.mark.parametrize(
    ("body", "lanes"),
    [
        pytest.param("%r = math.sqrt %a : R", 32, id="nothing else waits"),
        pytest.param(ROOT + "%r = arith.divf %s, %b : R", 16, id="one register"),
        pytest.param(ROOT + "%t = arith.divf %s, %b : R\n%u = math.exp %t : R\n%v = math.exp %u : R\n%w = math.exp %v : R\n"
                     "%r = arith.addf %w, %u : R", 32, id="much else to do"),
    ],
)  # fmt: skip
def test_roots_are_left_to_the_divider_where_it_is_not_awaited(body, lanes):
    assert not shares(body, "x86-64-v4", lanes)


@pytest.mark.parametrize(("costs", "is_awaited"), [("div=20/32 sqrt=24/40", True), ("div=2/2 sqrt=2/2", False)])
def test_a_target_says_how_long_the_divider_takes(costs, is_awaited):
    assert shares(ROOT + "%r = arith.divf %s, %b : R", f"x86-64-v4{{{costs}}}") == is_awaited

"""Elementary functions against mpmath: at most 2 ulp (or `BOUND`), limits, any number of lanes, with and without FMA."""

from __future__ import annotations

import itertools
import math
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from lamina.codegen.targets.host import host
from lamina.lowering.llvm.math import FUNCTIONS

sys.path.insert(0, str(Path(__file__).parent))
from mathbench import BINARY, ELEM, all_magnitudes, around, compiled, exact, kernel_text, ulp_errors

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
INF, NAN = math.inf, math.nan
UNARY = [name for name in FUNCTIONS if name not in BINARY]
TRIG = ("sin", "cos", "tan")

# where formulas change, where results overflow, vanish or become denormal, and a few simple numbers
CRITICAL = {
    "atan": [0.5, 1.0, 2.0, 1e-4],
    "erf": [0.32, 0.5, 0.86, 1.0, 3.9, 3.93, 5.9, 5.93, 1e-3],
    "erfc": [0.5, 1.0, 2.0, 4.0, 9.1, 9.194, 10.05, 10.1, 26.5, 26.543, 27.22, 27.3, -1.0, 1e-3],
    "exp": [0.34657, -0.34657, 1e-3, 88.7228, -87.3365, -103.97, 709.7827, -708.396, -745.13],
    "exp2": [0.5, -0.5, 1.5, -126, -149, 127.99, -1022, -1074, 1023.99],
    "expm1": [0.34657, -0.34657, 1.0397, -0.6931, 1e-8, -17.3, -37.0, 88.7228, 709.7827],
    "expm1_slope": [0.34657, -0.34657, 1.0397, -0.6931, -86.9, 88.7228, -708.0, 709.7827],
    "gauss": [0.58, 0.59, 1.0, 9.34, 10.19, 26.6, 27.29, 1e-3],
    "log": [0.5, 0.70710678, 1.0, 1.41421356, 2.0, 1e-38],
    "log1p": [-0.5, -0.29289, 0.41421, 1e-8, -0.999999, 1.0],
    "sech2": [0.17, 0.55, 0.1, 9.0, 19.0, 44.36, 354.89],
    "tanh": [0.55, 0.1, 9.0, 19.0],
}
# the derivative of tanh, at hardly any cost beside it: an exponential, a sum, a quotient and a product
BOUND = {"sech2": 3}
# results beyond these arguments overflow
LIMIT = {"exp": (88.72, 709.78), "expm1": (88.72, 709.78), "expm1_slope": (88.72, 709.78), "exp2": (127.99, 1023.99)}
# results below these sizes, or beyond these arguments, are 0
FLUSHED = {"expm1_slope": ((-86.9, -708.0), 2), "sech2": ((44.36, 354.89), 1)}


def unary_points(name: str, dtype: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(0)
    if name in TRIG:
        multiples = np.concatenate([np.arange(1, 200), rng.integers(200, 40000, 300)]) * (math.pi / 2)
        boundary = [65536.0, 2.0**32, 16367173.0, 5.319372648326541e24]
        parts = [multiples, rng.uniform(-10, 10, 1500), rng.uniform(-70000, 70000, 500)]
        parts += [around(dtype, [*multiples[:30], *boundary], 12), all_magnitudes(dtype, 1200)]
        if dtype == F64:  # the double nearest to a multiple of pi / 2 (Muller et al., Handbook, ch. 11), the largest one
            parts.append(np.array([6381956970095103 * 2.0**797, np.finfo(F64).max]))
    else:
        end = 11 if dtype == F32 else 28
        span = {"tanh": 22, "erf": 7, "erfc": end, "gauss": end, "sech2": 45 if dtype == F32 else 360}.get(
            name, 50 if name not in LIMIT else 160 if dtype == F32 else 1100
        )
        parts = [rng.uniform(-span, span, 1200), rng.uniform(-1.5, 1.5, 1200), 2.0 ** rng.uniform(-30, 5, 800)]
        parts += [around(dtype, CRITICAL.get(name, [1.0, 2.0]), 16), all_magnitudes(dtype, 1200)]
    x = np.concatenate([part.astype(dtype) for part in parts])
    if name in ("log", "sqrt", "rsqrt"):
        x = np.abs(x[x != 0])
    if name == "log1p":
        x = x[x > -1]
    if name in FLUSHED:
        end = FLUSHED[name][0][dtype == F64]
        x = x[np.abs(x.astype(F64)) <= end] if end > 0 else x[x >= end]
    if name in ("erfc", "gauss"):
        x = np.clip(x, -30, 30)  # beyond, what it vanishes to has exponents that Python's floats cannot be made of
    if name in LIMIT:
        x = np.clip(x, -2000, LIMIT[name][dtype == F64]).astype(dtype)
    return x[np.isfinite(x)]


def binary_points(name: str, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    if name == "atan2":
        wide, other = all_magnitudes(dtype, 1000, 1), all_magnitudes(dtype, 1000, 2)
        with np.errstate(over="ignore"):
            near = (wide * 2.0 ** rng.uniform(-3, 3, 1000)).astype(dtype)
        x = np.concatenate([rng.uniform(-5, 5, 2000).astype(dtype), wide, wide])
        y = np.concatenate([rng.uniform(-5, 5, 2000).astype(dtype), other, near])
        keep = np.isfinite(y)
        return y[keep], x[keep]
    low, high = (-149, 127.99) if dtype == F32 else (-1074, 1023.99)
    near_one = 1 + rng.uniform(-1, 1, 1000) * 2.0 ** rng.uniform(-20, 0, 1000)
    x = np.concatenate([2.0 ** rng.uniform(low, high, 1500), rng.uniform(0.3, 3, 1500), near_one]).astype(dtype)
    x = x[(x > 0) & (x != 1)]
    y = (rng.uniform(low, high, len(x)) / np.log2(x.astype(np.float64))).astype(dtype)  # results over the whole range
    integers = np.rint(rng.uniform(-12, 12, 1000)).astype(dtype)
    x = np.concatenate([x, -rng.uniform(0.1, 9, 1000).astype(dtype), rng.uniform(0, 10, 1000).astype(dtype)])
    y = np.concatenate([y, integers, rng.uniform(-6, 6, 1000).astype(dtype)])
    return x, y


@cache
def points_and_values(name: str, dtype: np.dtype) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    points = binary_points(name, dtype) if name in BINARY else (unary_points(name, dtype),)
    if name not in TRIG:
        return points, *exact(name, *points)
    (x,) = points
    high, low = np.empty(len(x)), np.empty(len(x))
    for where, precision in ((np.abs(x) > 2.0**40, 1250), (np.abs(x) <= 2.0**40, 240)):
        high[where], low[where] = exact(name, x[where], precision=precision)
    return points, high, low


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_two_ulp(name: str, dtype: np.dtype):
    points, high, low = points_and_values(name, dtype)
    worst = []
    for lanes, has_fma in ((1, True), (4, True), (8, True), (16, True), (4, False)):
        got = compiled(name, ELEM[dtype], lanes, has_fma)(*points)
        errors = ulp_errors(got, high, low)
        at = int(np.argmax(errors))
        worst.append(float(errors[at]))
        assert errors[at] <= BOUND.get(name, 2), (lanes, has_fma, [float(p[at]) for p in points], float(got[at]), high[at])
    print(f"{name} {dtype}: {max(worst[:4]):.2f} ulp, {worst[4]:.2f} without FMA, at {len(high)} points")


@pytest.mark.skipif(not host().has_avx512, reason="runs on AVX-512 alone")
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 64])
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ["exp", "exp2"])
def test_scaling_by_one_instruction_changes_no_bit(name: str, dtype: np.dtype, lanes: int):
    (points,), _, _ = points_and_values(name, dtype)
    points = np.concatenate([points, np.array([0.0, -0.0, INF, -INF, NAN, 1e30, -1e30, 2e9, -2e9], dtype)])
    got = compiled(name, ELEM[dtype], lanes, has_avx512=True)(points)
    assert got.tobytes() == compiled(name, ELEM[dtype], lanes)(points).tobytes()


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_target_without_fma(name: str):
    for dtype in (F32, F64):
        points, high, low = points_and_values(name, dtype)
        got = compiled(name, ELEM[dtype], 4, False, "generic")(*points)
        assert ulp_errors(got, high, low).max() <= BOUND.get(name, 2)


SPECIAL = {
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (1e30, 0.0), (-1e30, 2.0)],
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e30, INF), (-1e30, 0.0)],
    "exp2": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e30, INF), (-1e30, 0.0), (5.0, 32.0), (-3.0, 0.125)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (1e30, INF), (-1e30, -1.0)],
    "expm1_slope": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e30, INF), (-1e30, 0.0)],
    "gauss": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0), (1e30, 0.0), (-1e30, 0.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-INF, NAN), (-1.0, NAN), (-1e-40, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-INF, NAN), (-1.5, NAN)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, NAN), (-1.0, NAN), (4.0, 0.5)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "sqrt": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (-1.0, NAN), (4.0, 2.0)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "sech2": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0), (1e30, 0.0), (-1e30, 0.0), (1e-30, 1.0)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (1e30, 1.0), (-1e30, -1.0)],
}
ODD_AND_FLAT_AT_ZERO = ("atan", "expm1", "log1p", "sin", "tan", "tanh")


def same(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Equal to 2 ulp, with the same sign of zero; any NaN equals any other."""
    with np.errstate(all="ignore"):
        near = (got == expected) | (np.abs(got - expected) <= 2 * np.spacing(np.abs(expected)))
    return (near & (np.signbit(got) == np.signbit(expected))) | (np.isnan(got) & np.isnan(expected))


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_special_values(name: str, dtype: np.dtype, lanes: int):
    x, expected = np.array([*SPECIAL[name], (NAN, NAN)], dtype).T
    got = compiled(name, ELEM[dtype], lanes)(x)
    assert same(got, expected).all(), (x, got)
    if name in ODD_AND_FLAT_AT_ZERO:  # f(x) rounds to x
        tiny = np.finfo(dtype).smallest_subnormal * np.array([1, -1, 2, 3, -5, 1e4], dtype)
        assert (compiled(name, ELEM[dtype], lanes)(tiny) == tiny).all()


def test_every_nan_stays_one():
    payloads = np.array([0x7FC00000, 0xFFC00000, 0x7FC00001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FD55555], np.uint32).view(F32)
    for name in UNARY:
        assert np.isnan(compiled(name, "float", 8)(payloads)).all(), name
        assert np.isnan(compiled(name, "double", 8)(payloads.astype(F64))).all(), name


def c_pow(x: float, y: float) -> float:
    """C's `pow` where Python's raises."""
    odd = math.isfinite(y) and y == math.floor(y) and int(y) % 2 == 1
    try:
        return math.pow(x, y)
    except ValueError:
        return NAN if x else math.copysign(INF, x) if odd else INF
    except OverflowError:
        return math.copysign(INF, x) if odd else INF


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize(("name", "reference"), [("powf", c_pow), ("atan2", math.atan2)])
def test_special_pairs(name: str, reference, dtype: np.dtype, lanes: int):
    info = np.finfo(dtype)
    ends = [info.max, -info.max, info.smallest_normal, info.smallest_subnormal, -info.smallest_subnormal]
    plain = [0.0, INF, NAN, 1.0, 2.0, 0.5, 3.0, 2.5, 1e18, 2.0**24 + 1, 2.0**53 - 1]
    values = np.array([*plain, *(-v for v in plain), *ends], dtype)
    x, y = (np.ascontiguousarray(axis.ravel()) for axis in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = np.array([reference(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)]).astype(dtype)
    got = compiled(name, ELEM[dtype], lanes)(x, y)
    wrong = ~same(got, expected)
    assert not wrong.any(), (x[wrong], y[wrong], got[wrong], expected[wrong])


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_powers_that_are_representable_are_exact(dtype: np.dtype):
    x = np.random.default_rng(0).integers(1, 2000, 5000).astype(dtype)
    for exponent, expected in ((0.0, np.ones_like(x)), (1.0, x), (2.0, x * x)):
        assert (compiled("powf", ELEM[dtype], 8)(x, np.full_like(x, exponent)) == expected).all()
    assert (compiled("powf", ELEM[dtype], 8)(x * x, np.full_like(x, 0.5)) == x).all()


def sweep(name: str, bits: np.ndarray) -> float:
    """The largest error in f32 at these bit patterns, measured against f64 (tested above)."""
    x = bits.astype(np.uint32).view(F32)
    with np.errstate(all="ignore"):
        x = x[np.isfinite(x)]
    wide = compiled(name, "double", 8)(x.astype(F64))
    errors = ulp_errors(compiled(name, "float", 8)(x), wide, np.zeros(1))
    overflows = np.abs(wide) > np.finfo(F32).max
    assert np.isnan(errors).sum() == 0
    if name in FLUSHED:
        overflows |= wide < FLUSHED[name][1] * np.finfo(F32).smallest_normal
    return float(errors[~overflows].max(initial=0))


@pytest.mark.parametrize("name", UNARY)
def test_sweep_f32(name: str):
    worst = sweep(name, np.arange(0, 2**32, 2039))
    print(f"{name} float32: {worst:.2f} ulp at 2 million bit patterns")
    assert worst <= BOUND.get(name, 2)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", UNARY)
def test_all_f32(name: str):
    worst = max(sweep(name, np.arange(start, start + 2**22)) for start in range(0, 2**32, 2**22))
    print(f"{name} float32: {worst:.3f} ulp at all bit patterns")
    assert worst <= BOUND.get(name, 2)


# A kernel inlines these, and LLVM's time grows with their number.
BUDGET = {
    "exp": 29,
    "expm1": 30,
    "expm1_slope": 30,
    "gauss": 32,
    "log": 36,
    "log1p": 44,
    "sech2": 30,
    "tanh": 45,
    "erf": 50,
    "erfc": 90,
    "sin": 40,
    "cos": 40,
    "tan": 70,
    "powf": 140,
}


@pytest.mark.parametrize(("name", "elem"), [*itertools.product(BUDGET, ELEM.values())])
def test_instruction_budget(name: str, elem: str):
    assert kernel_text(name, elem, 8)[1] <= BUDGET[name]


def test_helpers_are_emitted_once():
    from lamina.codegen.text import Builder, Module, Ty

    module = Module()
    for lanes in (4, 4, 8):
        b = Builder(module)
        FUNCTIONS["sin"](b, "%x", Ty("float", lanes))
        FUNCTIONS["cos"](b, "%x", Ty("float", lanes))
    assert sorted(module.functions) == ["lamina.reduce", "lamina.reduce.v4f32", "lamina.reduce.v8f32"]
    assert len(module.globals) == 1

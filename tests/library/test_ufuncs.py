"""The universal functions of lamina.numpy against NumPy: values, dtypes and shapes."""

from __future__ import annotations

import warnings
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

DTYPES = ["float32", "float64", "int32", "int64", "bool"]
WIDER = {np.dtype("float16"): np.dtype("float32")}
EDGE = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, -100.0, 1e-30, 88.0, np.inf, -np.inf, np.nan]
SMALL = [0.0, 1.0, -1.0, 0.25, -0.75, 2.0, -3.0]

# name, tolerance in units of the dtype's eps, values
UNARY = {
    "absolute": 0, "negative": 0, "positive": 0, "sign": 0, "floor": 0, "ceil": 0, "rint": 0, "trunc": 0, "square": 0,
    "reciprocal": 1, "sqrt": 1, "exp": 4, "expm1": 4, "log": 4, "log1p": 4, "log2": 4, "log10": 4, "exp2": 4, "sin": 4,
    "cos": 4, "tan": 4, "tanh": 4, "sinh": 8, "cosh": 8, "arcsinh": 8, "arccosh": 8, "arctanh": 8, "isnan": 0, "isinf": 0,
    "isfinite": 0, "logical_not": 0, "invert": 0, "degrees": 2, "radians": 2, "fabs": 0, "conjugate": 0, "signbit": 0,
}  # fmt: skip
BINARY = {
    "add": 0, "subtract": 0, "multiply": 0, "divide": 0, "floor_divide": 0, "remainder": 0, "fmod": 0, "maximum": 0,
    "minimum": 0, "fmax": 0, "fmin": 0, "equal": 0, "not_equal": 0, "less": 0, "less_equal": 0, "greater": 0,
    "greater_equal": 0, "logical_and": 0, "logical_or": 0, "logical_xor": 0, "bitwise_and": 0, "bitwise_or": 0,
    "bitwise_xor": 0, "hypot": 8, "logaddexp": 8, "copysign": 0, "heaviside": 0,
}  # fmt: skip


def sample(dtype: str) -> np.ndarray:
    if dtype == "bool":
        return np.array([True, False, True])
    if dtype.startswith("int"):
        return np.array([0, 1, -1, 2, -7, 13, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    return np.array(EDGE, dtype)


def reference(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What NumPy gives, in the next supported dtype; None where NumPy has no meaning."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = function(*args, **kwargs)
        except TypeError:
            return None
    return np.asarray(result, WIDER.get(np.asarray(result).dtype))


def check(got: Any, want: np.ndarray, eps: float = 0, what: str = "") -> None:
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape, f"{what}: {got.dtype}{got.shape} for {want.dtype}{want.shape}"
    if want.dtype.kind == "f" and eps:
        tiny = np.finfo(want.dtype).tiny
        np.testing.assert_allclose(got, want, rtol=eps * np.finfo(want.dtype).eps, atol=tiny, err_msg=what)
    else:
        np.testing.assert_array_equal(got, want, err_msg=what)
        if want.dtype.kind == "f":
            there = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got)[there], np.signbit(want)[there], err_msg=f"sign of {what}")


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str) -> None:
    x = sample(dtype)
    if name == "signbit":
        x = x[x == x]  # the sign of NaN is not kept
    if name == "reciprocal" and dtype.startswith("int"):
        x = x[x != 0]  # NumPy's 1 // 0 depends on the machine
    want = reference(getattr(np, name), x)
    if want is None:
        with pytest.raises(lm.DTypeError):
            getattr(lnp, name)(x)
        return
    eps = UNARY[name]
    if dtype == "bool" and want.dtype == np.float32:
        eps = 5000 * max(eps, 1)  # NumPy computes in float16
    check(getattr(lnp, name)(x), want, eps, name)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary_of_all_pairs_of_dtypes(name: str, left: str) -> None:
    for right in DTYPES:
        x, y = sample(left)[:, None], sample(right)
        if name == "copysign":
            y = y[y == y]
        want = reference(getattr(np, name), x, y)
        if want is None:
            with pytest.raises(lm.DTypeError):
                getattr(lnp, name)(x, y)
            continue
        eps = BINARY[name]
        if left == right == "bool" and want.dtype == np.float32:
            eps = 5000 * max(eps, 1)
        got = getattr(lnp, name)(x, y)
        if name == "heaviside" or (eps == 0 and name in ("maximum", "minimum", "fmax", "fmin")):
            np.testing.assert_array_equal(got, want, err_msg=name)  # the sign of max(0, -0) is open
            assert got.dtype == want.dtype
        else:
            check(got, want, eps, f"{name}({left}, {right})")


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scalar", [True, 2, -3, 0.5, 2.0])
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "floor_divide", "maximum", "less", "remainder"])
def test_python_numbers_are_weakly_typed(name: str, scalar: Any, dtype: str) -> None:
    x = np.array([1, 0, 3], dtype)
    for args in ((x, scalar), (scalar, x)):
        want = reference(getattr(np, name), *args)
        check(getattr(lnp, name)(*args), want, 1, name)


def test_python_number_out_of_range() -> None:
    with pytest.raises(OverflowError):
        lnp.add(np.int32([1]), 3_000_000_000)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 8, 0.5, 2.0, 3.0])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_power_of_constant_exponent(exponent: Any, dtype: str) -> None:
    x = np.array([0, 1, -2, 3, 7], dtype)
    check(lnp.power(x, exponent), reference(np.power, x, exponent), 8, f"{dtype} ** {exponent}")


def test_power_of_arrays() -> None:
    x, y = np.array([[2.0], [0.5]]), np.array([3.0, -1.5, 0.0])
    check(lnp.power(x, y), np.power(x, y), 4)
    base, exponent = np.array([[3], [-2]]), np.array([0, 1, 5, 40])
    check(lnp.power(base, exponent), np.power(base, exponent))
    with pytest.raises(ValueError, match="negative integer powers"):
        lnp.power(base, -1)


@pytest.mark.parametrize("decimals", [0, 1, 3, -1])
def test_round(decimals: int) -> None:
    x = np.array([0.5, 1.5, 2.25, -3.14159, 123.456])
    check(lnp.round(x, decimals), np.round(x, decimals), 1)


@pytest.mark.parametrize("dtypes", [(a, b) for a in DTYPES for b in DTYPES])
def test_where(dtypes: tuple[str, str]) -> None:
    x, y = np.array([1, 0, 1], dtypes[0]), np.array([[1], [0]], dtypes[1])
    condition = np.array([True, False, True])
    check(lnp.where(condition, x, y), reference(np.where, condition, x, y))
    check(lnp.where(condition, x, 2), reference(np.where, condition, x, 2))


def test_clip_and_nan_to_num() -> None:
    x = np.array([-2.0, 0.5, 9.0, np.nan, np.inf], np.float32)
    check(lnp.clip(x, -1, 1), np.clip(x, -1, 1))
    check(lnp.clip(x, None, 1.0), np.clip(x, None, 1.0))
    check(lnp.clip(x, min=0), np.clip(x, 0, None))
    check(lnp.nan_to_num(x), np.nan_to_num(x))
    check(lnp.isclose(x, x + 1e-9, equal_nan=True), np.isclose(x, x + 1e-9, equal_nan=True))


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_astype(source: str, target: str) -> None:
    x = np.array([0, 1, -1, 3.75, -2.5]).astype(source)
    check(lnp.astype(x, target), x.astype(target))


def test_promotion_is_numpys() -> None:
    for a in DTYPES:
        for b in DTYPES:
            assert lnp.result_type(np.zeros(1, a), np.zeros(1, b)) == np.result_type(a, b)
        for scalar in (1, 1.0):
            assert lnp.result_type(np.zeros(1, a), scalar) == np.result_type(np.zeros(1, a), scalar)


@pytest.mark.parametrize("dtype", ["longdouble", "clongdouble", "S3", "datetime64[s]"])
def test_unsupported_dtypes_are_named(dtype: str) -> None:
    with pytest.raises(lm.DTypeError, match=r"float32, float64, int32, int64, int8|expected an array of numbers"):
        lnp.add(np.zeros(2, dtype), 1)


SHAPES = st.sampled_from([(), (1,), (3,), (2, 3), (2, 1), (1, 3), (4, 2, 3), (4, 1, 1), (0,), (2, 0)])


@given(SHAPES, SHAPES)
@settings(max_examples=60, deadline=None)
def test_broadcasting(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = np.random.default_rng(0).random(a), np.random.default_rng(1).random(b)
    try:
        want = np.asarray(x + y)
    except ValueError:
        with pytest.raises(lm.ShapeError, match="broadcast"):
            lnp.add(x, y)
        return
    check(lnp.add(x, y), want)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "power", "arctan2", "less", "logical_and"])
def test_outer(name: str) -> None:
    a, b, ufunc = np.linspace(0.5, 2, 3), np.ones((2, 2)), getattr(np, name)
    want = ufunc.outer(a, b)
    for got in (
        getattr(lnp, name).outer(a, b),
        lm.jit(getattr(lnp, name).outer)(a, b),
        lm.jit(lambda a, b: ufunc.outer(a, b))(a, b),
    ):
        np.testing.assert_allclose(got, want, rtol=1e-15)
        assert got.dtype == want.dtype


def test_at_returns_the_changed_array() -> None:
    x, at = np.arange(3.0), np.array([0, 0, 2])
    for name in ("add", "subtract", "multiply", "maximum", "minimum"):
        want = x.copy()
        getattr(np, name).at(want, at, 2.0)
        np.testing.assert_array_equal(getattr(lnp, name).at(x, at, 2.0, inplace=False), want)
        changed = x.copy()
        assert getattr(lnp, name).at(changed, at, 2.0) is None
        np.testing.assert_array_equal(changed, want)
    with pytest.raises(lm.TracingError, match="add_at cannot change an array in place: pass inplace=False"):
        lm.jit(lambda x: lnp.add.at(x, at, 2.0))(x)


@pytest.mark.parametrize("shift", [0, 1, -2, 7, 2**40])
def test_roll_by_what_only_a_call_knows(shift: int) -> None:
    x = np.arange(12).reshape(3, 4)
    for axis in (None, 0, 1, (0, 1)):
        np.testing.assert_array_equal(lm.jit(lambda x, k, a=axis: lnp.roll(x, k, a))(x, shift), np.roll(x, shift, axis))
    both = lm.jit(lambda x, k: lnp.roll(x, k, (0, 1)))(x, np.array([shift, 1]))
    np.testing.assert_array_equal(both, np.roll(x, (shift, 1), (0, 1)))
    with pytest.raises(lm.DTypeError, match="roll needs an integer"):
        lm.jit(lnp.roll)(x, 1.5)
    assert lm.jit(lnp.roll)(np.zeros((0, 2)), 1).shape == (0, 2)

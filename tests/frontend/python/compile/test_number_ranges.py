"""Python numbers that differ from call to call, beside arrays that may not hold them: the results are Python's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

NUMBERS = (
    5,
    6,
    7,
    300,
    -1,
    2**63,
    -(2**63) - 1,
    2**64 - 1,
    2**70,
    True,
    8,
    10**400,
    1.5,
    2.5,
    3.5,
    np.inf,
    1e300,
    -0.0,
    9,
    2 + 1j,
)
DTYPES = ("uint8", "int64", "uint64", "float32", "float16", "complex64")
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, n: x * n,
    "radd": lambda x, n: n + x,
    "lt": lambda x, n: x < n,
    "eq": lambda x, n: n == x,
    "of": lambda x, n: x * (n + 1),
    "square": lambda x, n: x + n * n,
}


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        return function(*args)
    except (OverflowError, TypeError) as error:
        return error


def alike(got: Any, expected: Any) -> bool:
    if isinstance(expected, Exception) or isinstance(got, Exception):
        return type(got) is type(expected) and str(got) == str(expected)
    got, expected = np.asarray(got), np.asarray(expected)
    return got.dtype == expected.dtype and np.array_equal(got, expected, equal_nan=got.dtype.kind in "fc")


@pytest.mark.thorough(every=3)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_variant_is_taken_only_for_numbers_that_it_takes(name: str):
    function = FUNCTIONS[name]
    for dtype in DTYPES:
        x = np.arange(5).astype(dtype)
        compiled = lm.compile(function)
        for n in NUMBERS:
            expected, got = outcome(function, x, n), outcome(compiled, x, n)
            assert alike(got, expected), (name, dtype, n if n != 10**400 else "10**400", got, expected)


def test_numbers_of_other_types_between_calls():
    compiled = lm.compile(lambda x, n: x if n is None else x * n)
    x = np.arange(4.0)
    for n in (5, 6, 7, None, 2**63, True, np.int8(3), np.float32(2.5), 8, None, 9):
        assert alike(compiled(x, n), x if n is None else x * n), n


def test_a_call_that_python_runs_leaves_the_region_compiled():
    compiled = lm.compile(lambda x, n: lnp.tanh(x * n))
    x = np.arange(4.0)
    for n in (5, 6, 7, 2**63, 8):
        compiled(x, n)
    variants = [len(region.variants) for region in compiled.regions]
    compiled(x, 11)
    assert variants == [len(region.variants) for region in compiled.regions] and sum(variants)


COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint32", "int64", "uint64"])
def test_integers_are_compared_as_numbers(dtype: str):
    limits = np.iinfo(dtype)
    x = np.array([limits.min, 0, 1, 5, limits.max - 1, limits.max], dtype)
    numbers = {limits.min, limits.min - 1, -1, 0, 5, 255, 256, 300, limits.max, limits.max + 1, 2**64, -(2**70)}
    cases = [(compare, n, flipped) for compare in COMPARISONS for n in sorted(numbers) for flipped in (False, True)]

    def compared(x: Any) -> list[Any]:
        return [compare(n, x) if flipped else compare(x, n) for compare, n, flipped in cases]

    expected = compared(x)
    for got in (lm.jit(compared)(x), lm.vmap(compared)(x)):
        for case, a, b in zip(cases, got, expected, strict=True):
            assert (np.asarray(a) == b).all(), case
    for compare, n, flipped in cases[::5]:
        ours = {"lt": lnp.less, "le": lnp.less_equal, "gt": lnp.greater, "ge": lnp.greater_equal, "eq": lnp.equal}
        function = ours.get(compare.__name__, lnp.not_equal)
        assert (function(*((n, x) if flipped else (x, n))) == (compare(n, x) if flipped else compare(x, n))).all()


def test_a_traced_number_is_compared_as_a_number():
    for dtype in ("uint8", "int8", "uint64"):
        x = np.array([0, 1, 44, 100], dtype)
        for n in (300, -1, 44, 1 << 40):
            got = lm.jit(lambda x, n: (x < n, n <= x, x == n, n != x))(x, n)
            for a, b in zip(got, (x < n, n <= x, x == n, n != x), strict=True):
                assert (np.asarray(a) == b).all(), (dtype, n)

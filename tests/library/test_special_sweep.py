"""A share of `tests/sweep_special.py`: errors of special functions over their domains, against mpmath."""

from __future__ import annotations

import sys
from pathlib import Path

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from sweep_slopes import faults
from sweep_special import TABLE, errors

# what was measured, with some room: units in the last place of the result, in both dtypes
RESULTS = {"gamma": 6, "rgamma": 6, "factorial": 6, "beta": 8, "poch": 8, "erfcx": 8, "erfi": 10}


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", RESULTS)
def test_products_of_powers(name: str, dtype: str) -> None:
    plain, _, at = errors(name, np.dtype(dtype), 40, seed=1)
    assert plain <= RESULTS[name], at


def test_ends_of_beta() -> None:
    inf = np.inf
    np.testing.assert_array_equal(lm.special.beta(np.array([inf, 1.0, inf]), np.array([1.0, inf, inf])), 0)
    np.testing.assert_array_equal(lm.special.betaln(np.array([inf, 1.0]), np.array([1.0, inf])), -inf)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", TABLE)
def test_errors_that_the_argument_does_not_explain(name: str) -> None:
    for dtype in ("float32", "float64"):
        _, fair, at = errors(name, np.dtype(dtype), 200, seed=2)
        assert fair <= 128, at


SWEPT = """
    arccosh arctan2 boxcox cbrt dawsn entr erf erfcx erfi exp1 expi exprel gelu hypot i0 i1 log log_ndtr logaddexp2 loggamma
    mish power rel_entr rgamma rsqrt sqrt squareplus tanh
""".split()
"""Functions whose derivatives agree with the limits of `tests/sweep_slopes.py` at all of its points."""


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize("name", SWEPT)
def test_derivatives_at_ends_zeros_and_infinities(name: str) -> None:
    assert not faults(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["agm", "beta", "comb", "digamma", "gamma"])
def test_derivatives_of_long_formulas(name: str) -> None:
    assert not faults(name)

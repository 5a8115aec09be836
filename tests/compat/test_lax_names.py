"""`lamina.lax` under the names of jax's arguments, and where jax.lax means something else than NumPy, against jax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest

X = np.arange(12, dtype=np.float32).reshape(3, 1, 4)
HALVES = np.float32([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, -0.2, 8388609.0, 1e10, np.nan, np.inf, -np.inf, -0.0])

CALLS: dict[str, Callable[[Any], Any]] = {
    "expand_dims": lambda lax: lax.expand_dims(X, dimensions=(0, 2)),
    "squeeze": lambda lax: lax.squeeze(X, dimensions=(1,)),
    "transpose": lambda lax: lax.transpose(X, permutation=(2, 0, 1)),
    "reshape": lambda lax: lax.reshape(X, new_sizes=(4, 3)),
    "reshape_in_order": lambda lax: lax.reshape(X, (6, 2), dimensions=(2, 1, 0)),
    "concatenate": lambda lax: lax.concatenate([X, X + 1], dimension=1),
    "dynamic_slice": lambda lax: lax.dynamic_slice(X, start_indices=(2, 0, 1), slice_sizes=(2, 1, 2)),
    "dynamic_slice_of_array": lambda lax: lax.dynamic_slice(X, np.int32([1, 0, 3]), (1, 1, 3)),
    "dynamic_update_slice": lambda lax: lax.dynamic_update_slice(X, X[:1] * 0, start_indices=(1, 0, 0)),
    "fori_loop": lambda lax: lax.fori_loop(lower=0, upper=4, body_fun=lambda i, x: x + i, init_val=X),
    "round": lambda lax: lax.round(HALVES),
    "round_even": lambda lax: lax.round(HALVES, lax.RoundingMethod.TO_NEAREST_EVEN),
    "population_count": lambda lax: lax.population_count(np.int32([0, 5, -1, -7, 2**31 - 1])),
    "population_count_unsigned": lambda lax: lax.population_count(np.uint8([0, 255, 7])),
    "population_count_of_bytes": lambda lax: lax.population_count(np.int8([-128, -1, 3])),
    "shift_of_unsigned": lambda lax: lax.shift_right_arithmetic(np.uint8([200, 100, 7]), np.uint8([1, 2, 0])),
    "shift_of_signed": lambda lax: lax.shift_right_arithmetic(np.int32([-200, 100]), np.int32([3, 2])),
    "dot": lambda lax: lax.dot(X[:, 0], X[:, 0].T, precision=lax.Precision.HIGHEST),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", CALLS)
def test_equal_to_jax(name: str) -> None:
    lax = pytest.importorskip("jax.lax")
    wanted = np.asarray(CALLS[name](lax))
    for got in (CALLS[name](lm.lax), lm.jit(lambda: CALLS[name](lm.lax))()):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        np.testing.assert_array_equal(got, wanted)
        assert wanted.dtype.kind != "f" or (np.signbit(got) == np.signbit(wanted)).all()


def test_bad_arguments() -> None:
    with pytest.raises(lm.errors.DTypeError, match=r"lax\.round takes floats, got int32"):
        lm.lax.round(np.int32([1]))
    with pytest.raises(lm.errors.DTypeError, match="population_count takes integers, got float32"):
        lm.lax.population_count(X)
    with pytest.raises(ValueError, match="2 is not a valid RoundingMethod"):
        lm.lax.round(X, 2)
    gradient = lm.grad(lambda x: (lm.lax.round(x) * x).sum())(np.array([0.5, 1.2]))
    np.testing.assert_array_equal(gradient, [1.0, 1.0])  # the rounded numbers are constants

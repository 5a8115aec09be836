"""Results whose size depends on values: eager ones as NumPy's, traced ones of a given size."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import LaminaError

ARRAYS = [
    np.float32([[3, 0, 2], [0, 5, 3]]),
    np.zeros((2, 3)),
    np.arange(7) % 3,
    np.zeros((0, 3), np.float32),
    np.array([True, False, True]),
    np.float64([np.nan, 1, np.nan, -0.0, 0.0]),
]


def assert_same(got: Any, want: Any) -> None:
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    for x, y in zip(got, want, strict=True):
        np.testing.assert_array_equal(x, y)
        assert np.asarray(x).dtype == np.asarray(y).dtype


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype}{list(x.shape)}")
def test_eager_results_are_those_of_numpy(x: np.ndarray) -> None:
    assert_same(lnp.where(x), np.where(x))
    assert_same(lnp.nonzero(x), np.nonzero(x))
    assert_same(lnp.argwhere(x), np.argwhere(x))
    assert_same(lnp.flatnonzero(x), np.flatnonzero(x))
    assert_same(lnp.unique(x), np.unique(x))
    assert_same(lnp.unique(x, True, True, True), np.unique(x, True, True, True))
    assert_same(lnp.extract(x != 0, x), np.extract(x != 0, x))
    if len(x) > 1:
        assert_same(lnp.compress([True, False], x, axis=0), np.compress([True, False], x, axis=0))
    assert_same(lnp.asarray(x)[lnp.not_equal(x, 0)], x[x != 0])


def test_traced_ones_need_a_size() -> None:
    x = ARRAYS[0]
    for function in (lnp.where, lnp.nonzero, lnp.unique, lnp.argwhere, lnp.flatnonzero):
        with pytest.raises(LaminaError, match="size="):
            lm.jit(function)(x)
    rows, columns = lm.jit(lambda x: lnp.where(x, size=3))(x)
    np.testing.assert_array_equal((rows, columns), ([0, 0, 1], [0, 2, 1]))
    with pytest.raises(LaminaError, match="where takes both x and y, or none of them"):
        lnp.where(x > 0, x)

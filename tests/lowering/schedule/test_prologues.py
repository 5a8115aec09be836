"""Elementwise ops on the operands of products in the default schedule: where they are computed, and that they are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest

RNG = np.random.default_rng(0)


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def agrees(f: Callable[..., Any], *args: np.ndarray) -> None:
    """What a program gives on one thread and on two is the same, and what NumPy gives."""
    program, threads = lm.jit(f), lm.get_threads()
    try:
        lm.set_threads(1)
        one = program(*args)
        lm.set_threads(2)
        two = program(*args)
    finally:
        lm.set_threads(threads)
    assert one.tobytes() == two.tobytes()
    wide = [a.astype(np.float64) if a.dtype.kind == "f" or a.dtype.itemsize == 2 else a for a in args]
    expected = f(*wide)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(one, expected, rtol=0, atol=2e-6 * scale if one.dtype == np.float32 else 1e-13 * scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_vector_times_a_matrix_whose_columns_are_scaled(dtype):
    agrees(lambda x, w, s: x @ (w * s), random(1, 256, dtype=dtype), random(256, 4096, dtype=dtype), random(4096, dtype=dtype))


def test_a_vector_times_integers_that_are_scaled():
    weights = RNG.integers(-127, 127, (256, 4096)).astype(np.int32)
    agrees(lambda x, w, s: x @ (w.astype(np.float32) * s), random(1, 256), weights, random(4096))

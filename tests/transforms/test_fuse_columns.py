"""Functions of columns are one kernel where their columns fit a cache, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamina as lm
import numpy as np
import pytest

RNG = np.random.default_rng(0)
lnp, nn = lm.numpy, lm.nn


def kernels(f: Callable[..., Any], *args: np.ndarray) -> int:
    """How many kernels a call launches."""
    return lm.jit(f).lower(*args).as_text("loop").count("loop.launch")


def softmax(x: np.ndarray, axis: int | Sequence[int]) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalized(x: np.ndarray, axis: int | Sequence[int]) -> np.ndarray:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


SHAPES = [
    ((40, 70), 0),
    ((3, 33, 1, 41), 1),
    ((2, 5, 6, 8), 1),
    ((9, 2, 40), (0, 2)),
    ((4, 3, 2, 6, 7), (0, 3, 4)),
    ((300, 65), 0),
]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("shape,axis", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_columns_are_one_kernel(shape: tuple[int, ...], axis: int | tuple[int, ...], dtype: type) -> None:
    x = (3 * RNG.standard_normal(shape) + 100).astype(dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12  # the mean, near 100, is rounded
    wide = x.astype(np.float64)
    for f, meaning in ((nn.softmax, softmax), (nn.layer_norm, normalized)):
        call = lm.jit(lambda x, f=f: f(x, axis=axis))
        np.testing.assert_allclose(call(x), meaning(wide, axis), rtol=tolerance, atol=tolerance)
        assert kernels(lambda x, f=f: f(x, axis=axis), x) == 1


@pytest.mark.parametrize("shape", [(3, 4, 6, 7), (8, 16, 14, 14), (5, 3, 1, 33)])
def test_training_batch_norm_reads_memory_once(shape: tuple[int, ...]) -> None:
    x = (RNG.standard_normal(shape) + 50).astype(np.float32)
    w, b = (RNG.standard_normal(shape[1]).astype(np.float32) for _ in range(2))

    def f(x: Any, w: Any, b: Any) -> Any:
        return nn.batch_norm_train(x, w, b)[0]

    wide = normalized(x.astype(np.float64), (0, 2, 3)) * w[:, None, None] + b[:, None, None]
    np.testing.assert_allclose(lm.jit(f)(x, w, b), wide, rtol=2e-4, atol=2e-4)
    assert kernels(f, x, w, b) == 1


def test_what_caches_do_not_keep_is_several_kernels() -> None:
    assert kernels(lambda x: nn.softmax(x, axis=0), np.zeros((4096, 64), np.float32)) > 1  # too long columns
    assert kernels(lambda x: nn.softmax(x, axis=0), np.zeros((4096, 4), np.float32)) > 1  # too few
    assert kernels(lambda x: nn.softmax(x, axis=(0, 2)), np.zeros((64, 40, 4), np.float32)) > 1  # short pieces


def test_a_reduction_of_other_data_leaves_the_order_of_rows() -> None:
    def f(x: Any, y: Any) -> Any:
        return x + lnp.sum(y, axis=1)

    x, y = RNG.standard_normal((50, 60)).astype(np.float32), RNG.standard_normal((60, 70)).astype(np.float32)
    np.testing.assert_allclose(lm.jit(f)(x, y), x + y.sum(1), rtol=1e-4, atol=1e-4)
    assert kernels(f, x, y) == 2


def test_two_orders_in_one_graph() -> None:
    """What is reduced along rows and along columns cannot be one kernel; a column's value of its neighbour is right, too."""

    def both(x: Any) -> Any:
        return nn.softmax(x, axis=0) + nn.softmax(x, axis=1)

    def shifted(x: Any) -> Any:
        s = lnp.sum(x, axis=0)
        return x / s + x * lnp.roll(s, 1)

    x = np.abs(RNG.standard_normal((48, 56))).astype(np.float32) + 1
    wide = x.astype(np.float64)
    np.testing.assert_allclose(lm.jit(both)(x), softmax(wide, 0) + softmax(wide, 1), rtol=1e-5)
    np.testing.assert_allclose(lm.jit(shifted)(x), wide / wide.sum(0) + wide * np.roll(wide.sum(0), 1), rtol=1e-5)


def test_results_do_not_depend_on_threads() -> None:
    x = RNG.standard_normal((16, 200, 160)).astype(np.float32)
    f = lm.jit(lambda x: nn.softmax(x, axis=1))
    before = lm.get_threads()
    found = []
    for threads in (1, 2, 3):
        lm.set_threads(threads)
        found.append(f(x))
    lm.set_threads(before)
    assert all(np.array_equal(found[0], other) for other in found[1:])

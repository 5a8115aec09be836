"""`lax.reduce_window` at random options, all at once, against a plain NumPy form."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from drawn import spread

COMBINERS = {"add": (np.add, 0.0), "max": (np.maximum, -np.inf), "min": (np.minimum, np.inf), "mul": (np.multiply, 1.0)}


def _count(n: int, size: int, stride: int, dilation: int) -> int:
    return max((n - (size - 1) * dilation - 1) // stride + 1, 0)


def _windows(x: np.ndarray, init: float, combine: Any, options: dict[str, Any]) -> np.ndarray:
    size, strides, apart = options["window_dimensions"], options["window_strides"], options["window_dilation"]
    wide = spread(x, init, options["base_dilation"], options["padding"])
    out = np.full([_count(*row) for row in zip(wide.shape, size, strides, apart, strict=True)], init, x.dtype)
    for at in np.ndindex(*out.shape):
        for tap in product(*map(range, size)):
            place = tuple(p * s + k * d for p, s, k, d in zip(at, strides, tap, apart, strict=True))
            out[at] = combine(out[at], wide[place])
    return out


def _draw(rng: np.random.Generator, rank: int) -> tuple[list[int], dict[str, Any]]:
    while True:
        shape = [int(k) for k in rng.integers(1, 7, rank)]
        options: dict[str, Any] = {
            name: [int(k) for k in rng.integers(1, 4, rank)]
            for name in ("window_dimensions", "window_strides", "base_dilation", "window_dilation")
        }
        options["padding"] = [tuple(int(k) for k in rng.integers(-2, 4, 2)) for _ in range(rank)]
        wide = [(n - 1) * by + 1 for n, by in zip(shape, options["base_dilation"], strict=True)]
        rows = zip(wide, options["padding"], strict=True)
        if all(n >= max(-low, 0) + max(-high, 0) for n, (low, high) in rows):
            return shape, options


def _check_window(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape, options = _draw(rng, int(rng.integers(1, 3)))
    name = str(rng.choice(list(COMBINERS)))
    combine, neutral = COMBINERS[name]
    init = neutral if rng.random() < 0.6 else 1.5
    x = rng.permutation(np.arange(1.0, np.prod(shape) + 1)).reshape(shape) / 8
    drawn = f"seed {seed}: {name} from {init} over {shape}, {options}"

    def ours(x: Any) -> Any:
        return lm.lax.reduce_window(x, init, getattr(lm.lax, name), **options)

    y = _windows(x, init, combine, options)
    np.testing.assert_allclose(ours(x), y, rtol=1e-12, err_msg=drawn)
    if name == "mul" or not y.size:  # a product's differences lose too many digits; nothing to differentiate
        return
    weights = rng.standard_normal(y.shape)
    if not np.isfinite(y).all():  # a window of nothing but padding
        weights, y = np.where(np.isfinite(y), weights, 0), np.where(np.isfinite(y), y, 0)

    def loss(x: Any) -> Any:
        found = ours(x)
        return (lm.numpy.where(np.abs(found) < np.inf, found, 0) * weights).sum()

    def plain(x: np.ndarray) -> float:
        found = _windows(x, init, combine, options)
        return float((np.where(np.isfinite(found), found, 0) * weights).sum())

    tangent = rng.standard_normal(shape)
    step = 1e-5  # elements differ by 1/8 and init is no closer than it would be to an element that ties
    ties = init == 1.5 and name != "add"
    if ties:
        return
    slope = (plain(x + step * tangent) - plain(x - step * tangent)) / (2 * step)
    np.testing.assert_allclose(lm.jvp(loss, (x,), (tangent,))[1], slope, rtol=1e-6, atol=1e-7, err_msg=drawn)
    np.testing.assert_allclose((lm.grad(loss)(x) * tangent).sum(), slope, rtol=1e-6, atol=1e-7, err_msg=drawn)


def test_base_dilation_of_which_no_entry_is_one():
    found = lm.lax.reduce_window(np.arange(1.0, 6), 0.0, lm.lax.add, (2,), (1,), "VALID", base_dilation=(2,))
    np.testing.assert_array_equal(found, [1, 2, 2, 3, 3, 4, 4, 5])


@pytest.mark.parametrize("seed", range(12))
def test_windows_at_drawn_options(seed: int):
    _check_window(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_windows_at_many_drawn_options(block: int):
    for seed in range(100 + 100 * block, 200 + 100 * block):
        _check_window(seed)

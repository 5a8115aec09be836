"""`lax.pad`, dynamic slices and their updates, cumulative ops and scans at random options, against plain NumPy forms."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from drawn import Array, Draw, check, fits, spread


def _check_pad(d: Draw, drawn: str) -> None:
    while True:
        rank = d.one(1, 2, 2, 3)
        shape = d.some(0 if d.one(True, False, False) else 1, 4, rank)
        holes, pads = [k + 1 for k in d.some(0, 2, rank)], d.pairs(-3, 3, rank)
        if fits(shape, holes, pads):
            break
    config = [(low, high, by - 1) for (low, high), by in zip(pads, holes, strict=True)]

    def plain(x: Array, value: Array) -> Array:
        return spread(x, value, holes, pads)

    args = [d.array(shape), np.asarray(d.rng.standard_normal())]
    check(lambda x, value: lm.lax.pad(x, value, config), plain, args, f"{drawn} {shape} {config}", plain)


def _windows(d: Draw) -> tuple[list[int], list[int], list[int], list[bool], tuple[slice, ...]]:
    """Shape, starts, sizes, of which dims negative starts count from the end, and where that is."""
    rank = d.one(1, 2, 2, 3)
    shape = d.some(1, 5, rank)
    sizes = [int(d.rng.integers(0 if d.one(*[False] * 7, True) else 1, n + 1)) for n in shape]
    starts, from_end = d.some(-7, 7, rank), [d.one(True, False) for _ in shape]
    found = []
    for n, size, start, counted in zip(shape, sizes, starts, from_end, strict=True):
        first = min(max(start + n if start < 0 and counted else start, 0), n - size)
        found.append(slice(first, first + size))
    return shape, starts, sizes, from_end, tuple(found)


def _check_slice(d: Draw, drawn: str) -> None:
    shape, starts, sizes, from_end, place = _windows(d)
    is_refused = any(k < 0 and not counted for k, counted in zip(starts, from_end, strict=True))  # of numbers, as in jax
    first = [np.asarray(k) for k in starts] if d.one(True, False) or is_refused else np.array(starts)

    def ours(x: Any) -> Any:
        return lm.lax.dynamic_slice(x, first, sizes, allow_negative_indices=from_end)

    check(ours, lambda x: x[place], [d.array(shape)], f"{drawn} {shape} {starts} {sizes} {from_end}", lambda x: x[place])


def _check_update(d: Draw, drawn: str) -> None:
    shape, starts, sizes, from_end, place = _windows(d)

    def ours(x: Any, update: Any) -> Any:
        return lm.lax.dynamic_update_slice(x, update, [np.asarray(k) for k in starts], allow_negative_indices=from_end)

    def plain(x: Array, update: Array) -> Array:
        y = x.copy()
        y[place] = update
        return y

    check(ours, plain, [d.array(shape), d.array(sizes)], f"{drawn} {shape} {starts} {sizes} {from_end}", plain)


CUMULATIVE: dict[str, Callable[..., Any]] = {
    "cumsum": np.add.accumulate,
    "cumprod": np.multiply.accumulate,
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
    "cumlogsumexp": np.logaddexp.accumulate,
}


def _shape_and_axis(d: Draw) -> tuple[list[int], int, bool]:
    shape = d.some(0 if d.one(*[False] * 5, True) else 1, 6, d.one(1, 2, 3))
    return shape, int(d.rng.integers(len(shape))), d.one(True, False)


def _check_cumulative(d: Draw, drawn: str) -> None:
    name = d.one(*CUMULATIVE)
    shape, axis, reverse = _shape_and_axis(d)
    turned = (slice(None),) * axis + (slice(None, None, -1 if reverse else 1),)

    def plain(x: Array) -> Array:
        return CUMULATIVE[name](x[turned], axis=axis)[turned] if x.size else x

    def ours(x: Any) -> Any:
        return getattr(lm.lax, name)(x, axis=axis, reverse=reverse)

    x = d.array(shape)
    x = x / max(1.0, float(np.abs(x).max(initial=0))) + 1.5 if name == "cumprod" else x
    check(ours, plain, [x], f"{drawn} {name} {shape} {axis} {reverse}", plain if name == "cumsum" else None)


def _check_associative_scan(d: Draw, drawn: str) -> None:
    """Of 2 x 2 matrices, which do not commute."""
    shape, axis, reverse = _shape_and_axis(d)
    shape = [max(n, 1) for n in shape]

    def plain(x: Array) -> Array:
        y, n = x.copy(), x.shape[axis]
        at = lambda k: (slice(None),) * axis + (k,)  # noqa: E731
        for k in range(1, n):
            now, before = (n - 1 - k, n - k) if reverse else (k, k - 1)
            y[at(now)] = y[at(before)] @ x[at(now)]
        return y

    x = d.array([*shape, 2, 2])
    x = x / np.abs(x).max()
    check(lambda x: lm.lax.associative_scan(lm.numpy.matmul, x, reverse, axis), plain, [x], f"{drawn} {shape} {axis} {reverse}")


def _check_scan(d: Draw, drawn: str) -> None:
    n, width, reverse, unroll = d.some(1, 6, 1)[0], d.some(1, 3, 1)[0], d.one(True, False), d.one(1, 2, 3)

    def ours(start: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            carry = lm.numpy.sin(carry) * x + carry
            return carry, carry * x

        last, ys = lm.lax.scan(step, start, xs, reverse=reverse, unroll=unroll)
        return lm.numpy.concatenate([last[None], ys])

    def plain(start: Array, xs: Array) -> Array:
        carry, ys = start, np.zeros_like(xs)
        for k in range(n)[:: -1 if reverse else 1]:
            carry = np.sin(carry) * xs[k] + carry
            ys[k] = carry * xs[k]
        return np.concatenate([carry[None], ys])

    check(ours, plain, [d.array([width]), d.array([n, width]) / 4], f"{drawn} {n} {width} {reverse} {unroll}")


CHECKS = (_check_pad, _check_slice, _check_update, _check_cumulative, _check_associative_scan, _check_scan)


def _check(seed: int) -> None:
    one = CHECKS[seed % len(CHECKS)]
    one(Draw(seed), f"seed {seed}: {one.__name__}")


@pytest.mark.parametrize("seed", range(2 * len(CHECKS)))
def test_moves_at_drawn_options(seed: int):
    _check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_moves_at_many_drawn_options(block: int):
    for seed in range(100 + 100 * block, 200 + 100 * block):
        _check(seed)

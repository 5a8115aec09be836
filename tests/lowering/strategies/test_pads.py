"""Pads of large operands, which fill only the padding and not the memory of the operand."""

from __future__ import annotations

import lamina as lm
import lamina.lax as lax
import numpy as np
import pytest

CASES = [
    ((70_001,), [(1, 2, 0)]),
    ((70_001,), [(-1, 2, 0)]),
    ((70_001,), [(0, 0, 1)]),
    ((300, 301), [(1, 2, 0), (3, 0, 0)]),
    ((300, 301), [(0, 2, 0), (-3, 5, 0)]),
    ((257, 300), [(0, 0, 0), (-2, 0, 0)]),
    ((257, 300), [(1, 0, 1), (0, 1, 0)]),
    ((2, 17, 63, 64), [(0, 0, 0), (1, 1, 0), (2, 0, 0), (0, 3, 0)]),
    ((255, 257), [(1, 1, 0), (-256, 40, 0)]),
]


def padded(x: np.ndarray, value: np.generic, padding: list[tuple[int, int, int]]) -> np.ndarray:
    """`lax.pad`, one dim after the other."""
    for dim, (low, high, interior) in enumerate(padding):
        x = np.moveaxis(x, dim, 0)
        spread = np.full((max(0, len(x) * (interior + 1) - interior), *x.shape[1:]), value)
        spread[:: interior + 1] = x
        spread = spread[max(0, -low) : len(spread) - max(0, -high)]
        sides = (np.full((max(0, n), *x.shape[1:]), value) for n in (low, high))
        x = np.moveaxis(np.concatenate([next(sides), spread, next(sides)]), 0, dim)
    return x


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64"])
@pytest.mark.parametrize(("shape", "padding"), CASES, ids=str)
def test_values(shape: tuple[int, ...], padding: list[tuple[int, int, int]], dtype: str) -> None:
    x = (np.random.default_rng(0).normal(size=shape) * 9).astype(dtype)
    value = np.asarray(3).astype(dtype)[()]
    found = lm.jit(lambda x, value: lax.pad(x, value, padding))(x, value)
    np.testing.assert_array_equal(found, padded(x, value, padding))


def test_the_place_of_the_operand_is_written_once() -> None:
    text = lm.jit(lambda x: lax.pad(x, np.float32(0), [(1, 2, 0), (3, 4, 0)])).lower(np.ones((300, 301), np.float32))
    bounds = [line.split("=")[1].split("{")[0].strip() for line in text.as_text("loop").splitlines() if "loop.for" in line]
    assert bounds == [
        *("0 to 1", "0 to 308", "0 to 2", "0 to 308"),
        *("0 to 300", "0 to 3", "0 to 300", "0 to 4", "0 to 300", "0 to 301"),
    ]

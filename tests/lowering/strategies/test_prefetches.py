"""Hints for rows that stream through the caches: where the default schedule puts them, and that they change no result."""

from __future__ import annotations

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.codegen.targets import get

TARGET = "x86-64-v4"
"""What schedules are shown for; what they compute is computed on this machine."""
MACHINE = get(TARGET)
ROW = 1024
ROWS = MACHINE.l2_bytes // (4 * ROW) + 1
"""Rows of float32 that the second-level cache does not hold."""


def scheduled(f, *shapes: tuple[int, ...]) -> list[str]:
    text = lm.jit(f).lower(*(np.zeros(shape, np.float32) for shape in shapes)).as_text("scheduled", TARGET)
    return [line.strip() for line in text.splitlines()]


def hints(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("loop.prefetch")]


def test_sums_of_rows_ask_some_kilobytes_ahead() -> None:
    found = hints(scheduled(lambda x: lnp.sum(x, 1), (ROWS, ROW)))
    assert found[0].startswith("loop.prefetch %x[%i, %j + 2048]")
    assert len(found) >= MACHINE.vector_bits // 512


def test_of_several_passes_the_one_that_computes_most_asks() -> None:
    """softmax has one for the maximum, one for exp, one for quotients, whose result is no stream that is only read."""
    lines = scheduled(lm.nn.softmax, (ROWS, ROW))
    found = [k for k, line in enumerate(lines) if line.startswith("loop.prefetch")]
    (exp,) = [k for k, line in enumerate(lines) if "math.exp" in line]
    opening = max(k for k, line in enumerate(lines[:exp]) if "loop.for" in line)
    assert found and all(opening < k < exp and "%x[%i, %l + " in lines[k] for k in found)


@pytest.mark.parametrize(
    ("f", "shapes"),
    {
        "what caches hold": (lambda x: lnp.sum(x, 1), [(64, 64)]),
        "what is read for each row again": (lambda x, w: lnp.sum(x[:, None] * w, 1), [(64,), (2 * ROWS * ROW,)]),
        "columns": (lambda x: lnp.sum(x, 0), [(ROWS, ROW)]),
    }.values(),
)
def test_nothing_else_is_asked_for(f, shapes: list[tuple[int, ...]]) -> None:
    assert hints(scheduled(f, *shapes)) == []


def test_packing_prefetches_rows_of_what_it_copies() -> None:
    """The part of a row that a panel needs may lie in a page of its own; a register tile asks for nothing."""
    found = hints(scheduled(lambda x, y: x @ y, (ROWS, ROW), (ROW, ROW)))
    assert len(found) == 1 and "%y[%k_y + 16, " in found[0]


def test_hints_past_the_end_change_nothing() -> None:
    x = np.random.default_rng(0).normal(size=(ROWS + 3, ROW - 5)).astype(np.float32)
    np.testing.assert_allclose(lm.jit(lambda x: lnp.sum(x, 1))(x), x.sum(1, dtype=np.float64), rtol=1e-5, atol=1e-4)
    wanted = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(lm.jit(lm.nn.softmax)(x), wanted / wanted.sum(1, keepdims=True), rtol=1e-5)


def test_arguments_of_one_name() -> None:
    """Steps find buffers by name: a starred argument, and one that is called as results are."""
    x, w, b = (np.random.default_rng(k).normal(size=(ROWS, ROW)).astype(np.float32) for k in range(3))
    got = lm.jit(lambda *a: lnp.sum(a[0] * a[1] + a[2], 1))(x, w, b)
    np.testing.assert_allclose(got, (x * w + b).sum(1, dtype=np.float64), rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(lm.jit(lambda out: lm.nn.softmax(out))(x), lm.jit(lm.nn.softmax)(x))

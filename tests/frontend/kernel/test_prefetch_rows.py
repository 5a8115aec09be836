"""Prefetches of rows whose indices are data: indices are read only where they exist, and results stay the same."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import ScheduleError
from lamina.frontend.kernel.decorator import kernel
from lamina.runtime.interpreter import Interpreter
from xdsl.dialects.builtin import ModuleOp


@kernel
def bags(table: lm.f32["R", 32], index: lm.i64["B", "L"], out: lm.f32["B", 32]):
    for b in range(B):
        for d in range(32):
            out[b, d] = 0.0
        for k in range(L):
            for d in range(32):
                out[b, d] += table[index[b, k], d]


@kernel
def chosen(table: lm.f32["R", 32], index: lm.i64["B", "L"], out: lm.f32["B", 32]):
    for b in range(B):
        for k in range(L):
            if index[b, k] > 1:
                for d in range(32):
                    out[b, d] += table[index[b, k], d]


def schedule(*steps: tuple[Any, ...], of: Any = bags) -> Any:
    found = kernel(of.__wrapped__).schedule()
    for name, *given in steps:
        getattr(found, name)(*given)
    return found


def launch(module: ModuleOp, table: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
    sizes = [np.int64(n) for n in (len(table), *index.shape)]
    Interpreter(module).launch("bags", [table, index, out, *sizes])


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([("prefetch_rows", "table", "k", 3)], id="one loop"),
        pytest.param([("prefetch_rows", "table", "k", 3, "b")], id="two loops"),
        pytest.param([("prefetch_rows", "table", "b", 2)], id="outer loop"),
        pytest.param([("split", "b", 2), ("prefetch_rows", "table", "k", 3, "bi")], id="min of two bounds"),
        pytest.param(
            [("vectorize", "d2", 32), ("unroll_and_jam", "b", 2), ("prefetch_rows", "table", "k", 2, "bo")], id="jammed"
        ),
    ],
)
@pytest.mark.parametrize("size", [(1, 1), (5, 4), (4, 2), (3, 7), (2, 0)])
def test_places_are_read_where_there_are_some(steps: list[tuple[Any, ...]], size: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    table, index = rng.standard_normal((6, 32)).astype(np.float32), rng.integers(0, 6, size)
    out, want = np.zeros((size[0], 32), np.float32), np.zeros((size[0], 32), np.float32)
    module = schedule(*steps).module
    assert "loop.prefetch %table" in str(module)
    module.verify()
    launch(module, table, index, out)
    launch(schedule().module, table, index, want)
    np.testing.assert_array_equal(out, want)


def test_hints_are_compiled() -> None:
    steps = [("vectorize", "d2", 32), ("prefetch_rows", "table", "k", 3, "b")]
    found = kernel(bags.__wrapped__)
    for name, *given in steps:
        getattr(found.schedule(), name)(*given)
    rng = np.random.default_rng(0)
    table, index = rng.standard_normal((60, 32)).astype(np.float32), rng.integers(0, 60, (30, 7))
    out = np.empty((30, 32), np.float32)
    found(table, index, out)
    np.testing.assert_allclose(out, table[index].sum(1), rtol=1e-5, atol=1e-5)
    assert found.as_text("llvmir").count("@llvm.prefetch.p0(ptr %") == 2


@pytest.mark.parametrize(
    ("of", "step", "message"),
    [
        (bags, ("table", "k", 0), "distance must be at least 1, got 0"),
        (bags, ("index", "k", 1), "no subscript of index is loaded from memory along k"),
        (bags, ("table", "d", 1), "no subscript of table is loaded from memory along d"),
        (bags, ("table", "k", 1, "d2"), "d2 is not around k"),
        (chosen, ("table", "d", 1), "no subscript of table is loaded from memory along d"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(of: Any, step: tuple[Any, ...], message: str) -> None:
    s = schedule(of=of)
    before = str(s.module)
    with pytest.raises(ScheduleError, match=message):
        s.prefetch_rows(*step)
    assert str(s.module) == before


@kernel
def moving(table: lm.f32["R", 8], index: lm.i64["N"], out: lm.f32[8]):
    for i in range(N):
        for d in range(8):
            out[d] += table[index[i], d]
        index[i] = 0


@kernel
def ragged(table: lm.f32["R", 8], index: lm.i64["N", "N"], out: lm.f32[8]):
    for i in range(N):
        for j in range(i):
            for d in range(8):
                out[d] += table[index[i, j], d]


@kernel
def guarded(table: lm.f32["R", 8], index: lm.i64["N"], most: lm.i64, out: lm.f32[8]):
    for i in range(N):
        if most > i:
            for d in range(8):
                out[d] += table[index[i], d]


@pytest.mark.parametrize(
    ("of", "at", "message"),
    [
        pytest.param(moving, "i", "comes from 'loop.load', which cannot be computed ahead", id="places that change"),
        pytest.param(ragged, "i", "the bounds of j change from iteration to iteration of i", id="iterations there may not be"),
        pytest.param(guarded, "i", "subscripts of table are loaded under a condition", id="places that may not be there"),
    ],
)
def test_places_that_another_iteration_may_not_read(of: Any, at: str, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        schedule(of=of).prefetch_rows("table", at, 1)


def test_a_condition_on_the_row_alone_is_no_obstacle() -> None:
    """What the condition reads is read anyway; the row is a hint."""
    text = str(schedule(("prefetch_rows", "table", "k", 1), of=guarded_by_place).module)
    assert "loop.prefetch %table" in text


@kernel
def guarded_by_place(table: lm.f32["R", 8], index: lm.i64["N"], out: lm.f32[8]):
    for k in range(N):
        place = index[k]
        if place > 1:
            for d in range(8):
                out[d] += table[place, d]

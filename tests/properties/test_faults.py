"""Whatever fails while a program is scheduled or lowered, the program is compiled, and computes the same.

By default some of the faults, another choice each time, in CI always the same: LAMINA_TEST_SEED says which. `-m slow` has all.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina import pipeline
from lamina.codegen.targets import TARGETS
from lamina.dialects.graph import OPS
from lamina.dialects.graph.base import CompositeOp
from lamina.executor import executor
from lamina.lowering.fallbacks import Fallback
from lamina.lowering.nest_builder import NestBuilder
from lamina.lowering.strategies import STRATEGIES
from lamina.lowering.target import set_target
from lamina.transforms.target import graph_winograd

sys.path.insert(0, str(Path(__file__).parent))
from faults import KINDS, Fault, Injected, Subject, kernels, program_subject, programs, row_subject, schedule, small_caches
from ops_table import ROWS, Row, check, inputs, make_module, op_of

pytestmark = pytest.mark.usefixtures("fallbacks")

PARTS = 16
"""The full run is divided into so many test cases."""


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE", "0")


def faults(subject: Subject) -> Iterator[Fault]:
    """A fault of each kind at each step; for a row of the table of ops, which has few, the kinds take turns."""
    of_row = subject.name.startswith("row ")
    turn = len(subject.name)
    for place, count in subject.places.items():
        for n in range(count):
            turn += 1
            for kind in (KINDS[turn % len(KINDS)],) if of_row else KINDS:
                yield Fault(*place, n, kind)


def seed() -> int:
    return int(os.environ.get("LAMINA_TEST_SEED") or (0 if os.environ.get("CI") else random.SystemRandom().randrange(1 << 30)))


@pytest.mark.thorough
@pytest.mark.parametrize("group", range(4))
def test_some_faults(group: int) -> None:
    """Faults of some programs, kernels and rows; one fault a strategy and nest."""
    chosen = seed()
    rng = random.Random(f"{chosen} {group}")
    picked = [*rng.sample(programs(), 1), *rng.sample(kernels(), 2), *map(row_subject, rng.sample(ROWS, 6))]
    for subject in picked:
        for place, count in subject.places.items():
            fault = Fault(*place, rng.randrange(count), rng.choice(KINDS))
            try:
                subject.inject(fault)
            except Exception as error:
                pytest.fail(f"LAMINA_TEST_SEED={chosen}: {subject.name}, {fault}: {error!r}")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_fault(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Faults at each step of each strategy, for everything there is."""
    done: Counter[str] = Counter()
    wrong: list[str] = []
    mine = [*programs(), *kernels(), *map(row_subject, ROWS)][part::PARTS]
    for subject in mine:
        for fault in faults(subject):
            try:
                done[fault.strategy] += subject.inject(fault)
            except Exception as error:
                wrong.append(f"{subject.name}, {fault}: {error!r}"[:2000])
    with capsys.disabled():
        compiled = sum(len(subject.seen) for subject in mine)
        print(f"\npart {part}: {done.total()} faults, {compiled} different modules compiled, {dict(done)}")
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.thorough
def test_every_strategy_has_faults() -> None:
    """The corpus makes each strategy take steps, for a target whose vectors and registers serve all: 2,000 faults and more."""
    places: Counter[str] = Counter()
    for subject in [*programs(), *kernels()]:
        module = subject.made[0].clone()
        set_target(module, small_caches(TARGETS["x86-64-v4"]))
        for (_, strategy, _), count in schedule(module)[0].items():
            places[strategy] += count
    assert places.keys() >= {strategy.name for strategy in STRATEGIES}
    assert places.total() * len(KINDS) >= 2000


# --------------------------------------------------------------------------------------------------------------------
# Ops that write their own loops

BUILDING = ("loop", "when", "either", "index_of", "position", "read", "write", "local", "load", "store")


class FaultyNest:
    """Lets call number `n` of the builder of nests fail; counts the calls."""

    def __init__(self, patch: pytest.MonkeyPatch, n: int | None):
        self.calls = 0
        for name in BUILDING:
            patch.setattr(NestBuilder, name, self._failing(getattr(NestBuilder, name), n))

    def _failing(self, method: Any, n: int | None) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls - 1 == n:
                raise Injected("in a nest")
            return method(*args, **kwargs)

        return call


def with_plain_form(row: Row) -> bool:
    op = op_of(row)
    return op.has_nest and (op.has_plain_nest or isinstance(op, CompositeOp))


def builds(row: Row) -> int:
    """How often the nest of a row calls its builder."""
    with pytest.MonkeyPatch.context() as patch:
        counting = FaultyNest(patch, None)
        pipeline.run_to(make_module(row), "loop")
    return counting.calls


def run_with_broken_nest(row: Row, n: int, recorded: Sequence[Fallback]) -> None:
    module = make_module(row)
    args = inputs(row, np.random.default_rng(4), "normal")
    with pytest.MonkeyPatch.context() as patch:
        FaultyNest(patch, n)
        pipeline.run_to(module, "loop")
    assert recorded and isinstance(recorded[-1].error, Injected), f"{row}: nothing failed"
    assert recorded[-1].what == f"the nest of 'graph.{row.op}'"
    check(executor.program(module).run(args), op_of(row).evaluate(*args)[0], row, args)


@pytest.mark.thorough
def test_some_broken_nests(fallbacks: Any) -> None:
    """Of each op with a plain form some rows, broken somewhere."""
    chosen = seed()
    rng = random.Random(chosen)
    rows = [row for row in ROWS if with_plain_form(row)]
    for op in dict.fromkeys(row.op for row in rows):
        mine = [row for row in rows if row.op == op]
        calls = ((row, builds(row)) for row in rng.sample(mine, len(mine)))
        for row, count in itertools.islice(((row, count) for row, count in calls if count), 2):
            n = rng.randrange(count)
            try:
                run_with_broken_nest(row, n, fallbacks)
            except Exception as error:
                pytest.fail(f"LAMINA_TEST_SEED={chosen}: {row}, call {n}: {error!r}")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_broken_nest(fallbacks: Any) -> None:
    """Every row of the ops with a plain form, broken at its first, its last and some other call of the builder."""
    rng = random.Random(0)
    for row in filter(with_plain_form, ROWS):
        if calls := builds(row):
            for n in {0, rng.randrange(calls), calls - 1}:
                run_with_broken_nest(row, n, fallbacks)


def test_nests_in_fusions(fallbacks: Any) -> None:
    """What comes before and after an op in its kernel is computed with the plain form, too."""
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s, dtype=np.float32) for s in ((1, 3, 9, 8), (4, 3, 3, 3), (4,)))

    def network(x: Any, w: Any, b: Any) -> Any:
        return lm.nn.max_pool2d(lm.nn.relu(lm.nn.conv2d(x * 2, w, padding=1) + b[:, None, None]), 2)

    def heads(x: Any) -> Any:
        q = x[:, 0] * 3
        return lm.nn.attention(q, q + 1, q, causal=True) - 1

    for function, args in ((network, [x, w, b]), (heads, [x])):
        subject = program_subject("fusions", function, args)
        with pytest.MonkeyPatch.context() as patch:
            for name in dict.fromkeys(row.op for row in ROWS if with_plain_form(row)):
                patch.setattr(OPS[name], "nest", _broken)
            module, _ = subject.made
        assert fallbacks
        subject.check(module)
        fallbacks.clear()


def _broken(self: Any, b: Any) -> None:
    raise Injected(f"in the nest of {self.name}")


@pytest.mark.parametrize("broken", ["choose_tile", "_replace", "_sunk"])
def test_the_choice_of_winograds_algorithm_fails(broken: str, fallbacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, w = (np.asarray(rng.integers(-3, 4, s), np.float32) for s in ((1, 32, 28, 28), (64, 32, 3, 3)))

    def network(x: Any, w: Any) -> Any:
        return lm.nn.relu(lm.nn.conv2d(x, w, padding=1))

    expected = np.asarray(lm.jit(network)(x, w))
    original, calls = getattr(graph_winograd, broken), []

    def fails(*args: Any) -> Any:
        calls.append(original(*args))
        raise Injected("in graph-winograd")

    monkeypatch.setattr(graph_winograd, broken, fails)
    executor.forget()
    result = np.asarray(lm.jit(network)(x, w))
    assert calls and [event.what for event in fallbacks] == ["graph-winograd"]
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-3)  # the direct form rounds otherwise than tiles do

"""A strategy that fails leaves the kernel as it was, and everybody hears of it: explain, LAMINA_DEBUG, loop-auto, tests."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.loop.loops import KernelOp
from lamina.errors import InternalError, ScheduleError
from lamina.executor import kernels
from lamina.lowering import strategies
from lamina.lowering.schedule import auto
from lamina.lowering.schedule.auto import LoopAutoPass
from lamina.lowering.schedule.base import Primitive
from lamina.lowering.schedule.parallelize import Parallelize
from lamina.lowering.schedule.reorder import Reorder
from lamina.lowering.schedule.split import Split
from lamina.lowering.schedule.vectorize import Vectorize
from lamina.lowering.snapshot import Snapshot
from lamina.lowering.strategies import KernelStrategy
from lamina.lowering.strategies.base import Take, attempt
from lamina.lowering.tuned_schedules import tuning_key
from lamina.passes import replay_tuned
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp


@lm.kernel
def scale(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
    for i, j in lm.grid(x.shape):
        y[i, j] = 2.0 * x[i, j]


def schedule_badly(kernel: KernelOp, target: Any, take: Take) -> None:
    """A strategy that takes a step and fails."""
    take(Vectorize("j", 8))
    take(Vectorize("j", 3))


def schedule_threads(kernel: KernelOp, target: Any, take: Take) -> None:
    """A strategy with a step that is refused, which it expects."""
    assert attempt(Vectorize("no_such_loop", 4), take) is None
    take(Parallelize("i"))


def schedule_splits(kernel: KernelOp, target: Any, take: Take) -> None:
    """A strategy whose second step names a loop that the first one makes."""
    outer, _ = take(Split("j", 8))
    take(Reorder((outer, "i")))


BADLY = KernelStrategy(schedule_badly, leaves=frozenset({Vectorize.name}), order_free=False)
SPLITS = KernelStrategy(schedule_splits, leaves=frozenset({Split.name, Reorder.name}), order_free=False)
THREADS = KernelStrategy(schedule_threads, leaves=frozenset({Parallelize.name}), order_free=False)


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch) -> None:
    """The strategies above instead of all others."""
    monkeypatch.setattr(strategies, "STRATEGIES", (BADLY, THREADS))


def module_of(kernel: Any) -> ModuleOp:
    return kernel.__kernel__.module.clone()


@pytest.mark.usefixtures("bad")
def test_the_kernel_is_as_before_and_others_follow(fallbacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module, alone = module_of(scale), module_of(scale)
    taken: list[str] = []
    auto.schedule_module(module, lambda kernel, step: taken.append(step.step.as_text()))
    (event,) = fallbacks
    assert taken == ["loop-parallelize{loop=i}"]
    assert (event.symbol, event.what, event.step) == ("scale", "badly", "loop-vectorize{loop=j lanes=3}")
    assert isinstance(event.error, ScheduleError)
    kernel = kernels.find_kernel(module)
    assert kernel.texts("fallbacks") == [event.reason]
    del kernel.properties["fallbacks"]
    monkeypatch.setattr(strategies, "STRATEGIES", (THREADS,))
    auto.schedule_module(alone, lambda kernel, step: None)
    assert str(module) == str(alone)
    assert "vector<" not in str(module) and "loop.for parallel" in str(module)


def test_steps_of_strategies_that_came_to_their_end_are_taken_again(fallbacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two strategies fail between two others: the kernel is as those leave it, and says both failures."""
    module, alone = module_of(scale), module_of(scale)
    taken: list[str] = []
    monkeypatch.setattr(strategies, "STRATEGIES", (THREADS, BADLY, SPLITS, BADLY))
    auto.schedule_module(module, lambda kernel, step: taken.append(step.step.as_text()))
    kernel = kernels.find_kernel(module)
    assert len(fallbacks) == 2 and kernel.texts("fallbacks") == [event.reason for event in fallbacks]
    assert taken == ["loop-parallelize{loop=i}", "loop-split{loop=j size=8}", "loop-reorder{loops=jo,i}"]
    del kernel.properties["fallbacks"]
    monkeypatch.setattr(strategies, "STRATEGIES", (THREADS, SPLITS))
    auto.schedule_module(alone, lambda kernel, step: None)
    assert str(module) == str(alone)


@pytest.mark.usefixtures("bad")
def test_it_is_an_error_where_that_is_asked_for() -> None:
    with pytest.raises(InternalError, match="@scale: badly failed"):
        auto.schedule_module(module_of(scale), lambda kernel, step: None)


@pytest.mark.usefixtures("bad", "fallbacks")
def test_only_steps_that_stay_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    LoopAutoPass(verbose=True).apply(Context(), module_of(scale))
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("// @scale: badly failed") and first.endswith("; none of its steps is taken")
    assert second == "loop-parallelize{loop=i}"


@pytest.mark.usefixtures("bad", "fallbacks")
def test_debugging_shows_the_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    auto.schedule_module(module_of(scale), lambda kernel, step: None)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("LAMINA_DEBUG", "1")
    auto.schedule_module(module_of(scale), lambda kernel, step: None)
    said = capsys.readouterr().err
    assert said.startswith("fallback in @scale: badly failed") and "Traceback" in said


@pytest.mark.usefixtures("bad", "fallbacks")
def test_explain_shows_it_and_calls_are_right() -> None:
    @lm.kernel
    def twice(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
        for i, j in lm.grid(x.shape):
            y[i, j] = 2.0 * x[i, j]

    assert "  fallback: badly failed" in twice.explain()
    assert [str(loop) for loop in twice.default_schedule().loops] == ["i", "j"]
    x, y = np.ones((5, 7), np.float32), np.zeros((5, 7), np.float32)
    twice(x, y)
    assert (y == 2).all()


def test_a_rewrite_that_is_refused_in_the_middle_is_not_a_refused_step(fallbacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`attempt` must not go on with a kernel that is half rewritten."""

    def refused(step: Primitive, kernel: KernelOp) -> tuple[str, ...]:
        original(step, kernel)
        raise ScheduleError("in the middle")

    original = Parallelize.rewrite
    monkeypatch.setattr(Parallelize, "rewrite", refused)
    module = module_of(scale)
    auto.schedule_module(module, lambda kernel, step: None)
    (event,) = fallbacks
    assert event.what == strategies.LOOPS.name == "loops" and "loop.for parallel" not in str(module)


def test_memory_errors_go_through(fallbacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(step: Primitive, kernel: KernelOp) -> None:
        raise MemoryError

    monkeypatch.setattr(Vectorize, "check", exhausted)
    with pytest.raises(MemoryError):
        auto.schedule_module(module_of(scale), lambda kernel, step: None)
    assert not fallbacks


def test_a_tuned_schedule_that_fails_is_left_out(fallbacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina.codegen import tuned

    monkeypatch.setenv("LAMINA_CACHE", "0")
    module = module_of(scale)
    kernel = kernels.find_kernel(module)
    key, before = tuning_key(kernel), str(kernel)
    tuned.save(key, "loop-parallelize{loop=i},loop-vectorize{loop=i lanes=3}", "")
    try:
        replay_tuned(module)
    finally:
        tuned.forget(key)
    (event,) = fallbacks
    kernel = kernels.find_kernel(module)
    assert event.what == "the tuned schedule" and kernel.properties.pop("fallbacks")
    assert str(kernel) == before


def test_a_snapshot_restores_names_attributes_and_types() -> None:
    module = module_of(scale)
    kernel, before = kernels.find_kernel(module), str(module)
    snapshot = Snapshot(kernel)
    Vectorize("j", 8).run(kernel)
    Parallelize("i").run(kernel)
    del module.attributes["lamina.phase"]
    kernel.attributes.clear()
    snapshot.restore()
    assert kernels.find_kernel(module) is kernel and str(module) == before
    module.verify()

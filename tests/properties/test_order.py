"""The declared order of strategies holds for the list, and for the steps that they take."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from lamina.frontend.kernel.schedules import primitives
from lamina.lowering import strategies
from lamina.lowering.schedule import auto
from lamina.lowering.strategies import STRATEGIES, WITHOUT_THREADS, Strategy, disorder

sys.path.insert(0, str(Path(__file__).parent))
from faults import kernels, programs


@pytest.mark.parametrize("found", [STRATEGIES, WITHOUT_THREADS])
def test_nothing_is_left_that_was_settled(found: tuple[Strategy, ...]) -> None:
    assert not disorder(found)
    assert len({strategy.name for strategy in found}) == len(found)
    known = {step.name for step in primitives().values()}
    assert all(strategy.leaves | strategy.settled <= known for strategy in found)


def test_another_order_is_noticed() -> None:
    prefetches = next(s for s in STRATEGIES if s.name == "prefetches")
    assert "lanes leaves loop-vectorize, settled for prefetches" in disorder((prefetches, *STRATEGIES))
    rows = next(s for s in STRATEGIES if s.leaves == {"loop-reuse"})
    assert disorder((*STRATEGIES, rows)) == ["rows leaves loop-reuse, settled for lanes"]


@pytest.mark.thorough
def test_strategies_take_the_steps_that_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all programs and kernels that faults are tried on."""
    taken: dict[str, set[str]] = {strategy.name: set() for strategy in STRATEGIES}

    class Watched:
        def __init__(self, strategy: Strategy):
            self.strategy, self.name, self.order_free = strategy, strategy.name, strategy.order_free

        def parts(self, kernel: Any, target: Any) -> Any:
            for part in self.strategy.parts(kernel, target):

                def run(take: Any, part: Any = part) -> None:
                    part(lambda step: (taken[self.name].add(step.name), take(step))[1])

                yield run

    monkeypatch.setattr(strategies, "STRATEGIES", tuple(map(Watched, STRATEGIES)))
    for subject in (*programs(), *kernels()):
        auto.schedule_module(subject.made[0].clone(), lambda kernel, step: None)
    unsaid = {s.name: taken[s.name] - s.leaves for s in STRATEGIES}
    assert not any(unsaid.values()), unsaid

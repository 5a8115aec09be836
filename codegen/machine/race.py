"""Which of several ways is fastest, on a machine that others use at the same time.

Candidates take turns. One beats the usual way if it is faster by a margin in both the median of the rounds' ratios and the
best times, and does so again in a second race of the two alone: noise does not win twice.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

MARGIN = 1.03
"""How many times as fast as the usual way a candidate has to be."""
RUNS = 3
"""Runs of a candidate in its turn, of which the fastest counts: an interruption takes longer than a run."""


@dataclass(frozen=True)
class Times:
    """Seconds of each candidate in each round, in the order of the rounds."""

    rounds: Mapping[str, list[float]]

    def best(self, name: str) -> float:
        """The least seconds of a candidate."""
        return min(self.rounds[name])

    def median(self, name: str) -> float:
        """The median seconds of a candidate."""
        return statistics.median(self.rounds[name])

    def gain(self, name: str, usual: str) -> float:
        """How many times as fast as the usual way a candidate certainly is."""
        ratios = [u / c for u, c in zip(self.rounds[usual], self.rounds[name], strict=True)]
        return min(statistics.median(ratios), self.best(usual) / self.best(name))


def race(candidates: Mapping[str, Callable[[], float]], seconds: float, least: int = 3) -> Times:
    """Let candidates take turns, each returning the seconds it took, for about some time and at least some rounds."""
    rounds: dict[str, list[float]] = {name: [] for name in candidates}
    names = list(candidates)
    end = time.perf_counter() + seconds
    for count in range(10_000):
        if count >= least and time.perf_counter() >= end:
            break
        first = count % len(names)
        for name in (*names[first:], *names[:first]):
            rounds[name].append(min(candidates[name]() for _ in range(RUNS)))
    return Times(rounds)


def winner(candidates: Mapping[str, Callable[[], float]], usual: str, seconds: float, least: int = 3) -> tuple[str, Times]:
    """The candidate to take, which is the usual one unless another beats it twice, and the times of the first race."""
    times = race(candidates, seconds * 2 / 3, least)
    best = max(candidates, key=lambda name: (times.gain(name, usual), name == usual))
    if best == usual or times.gain(best, usual) < MARGIN:
        return usual, times
    again = race({name: candidates[name] for name in (usual, best)}, seconds / 3, least)
    return (best if again.gain(best, usual) >= MARGIN else usual), times

"""What compiling costs: each row's kernel cold and from the cache on disk, and programs of more and more distinct kernels.

Measured in fresh processes, which have imported and used the compiler once before:

    python -m suite.compiling rows 1 NAME ...     # seconds that the first call takes longer than a later one, for each row
    python -m suite.compiling curve N             # seconds for a program of N kernels
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

COLD, CACHED, DOUBLING = 0.150, 0.005, 2.0  # what is asked for: seconds, seconds, times
COUNTS = (25, 50, 100, 200)


@dataclass
class CompileTimes:
    """Seconds by row, cold and from the cache, and by number of kernels."""

    cold: dict[str, float] = field(default_factory=dict)
    cached: dict[str, float] = field(default_factory=dict)
    curve: dict[int, float] = field(default_factory=dict)

    @property
    def doublings(self) -> list[float]:
        """How many times as long each program takes as the one of half as many kernels."""
        times = [self.curve[n] for n in sorted(self.curve)]
        return [after / before for before, after in itertools.pairwise(times)]


def measure(
    rows: Sequence[str], folder: Path, counts: Sequence[int] = COUNTS, small: bool = False, rounds: int = 3
) -> CompileTimes:
    """Medians of rounds: this file run in processes of its own, with empty caches, then with what they have left there."""
    size = str(int(small))
    cold, cached, curve = [], [], []
    for r in range(rounds):
        cold.append(_run(folder / f"rows-{r}", "rows", size, *rows))
        cached.append(_run(folder / f"rows-{r}", "rows", size, *rows))
        curve.append({n: _run(folder / f"curve-{n}-{r}", "curve", str(n)) for n in counts})
    return CompileTimes(_medians(cold), _medians(cached), _medians(curve))


def _medians(rounds: Sequence[dict[Any, float]]) -> dict[Any, float]:
    return {key: statistics.median(times[key] for times in rounds) for key in rounds[0]}


def _run(cache: Path, *arguments: str) -> Any:
    """The JSON that this file prints when run with a cache folder."""
    environment = {**os.environ, "LAMINA_CACHE_DIR": str(cache)}
    environment.pop("LAMINA_CACHE", None)  # the cache is what is measured
    command = [sys.executable, "-m", "suite.compiling", *arguments]
    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def row_times(names: Sequence[str], small: bool) -> dict[str, float]:
    """For each row that compiles: seconds that the first call takes longer than later ones."""
    from .peers import Lamina
    from .rows import find

    times = {}
    for name in names:
        case = find(name).small if small else find(name).case
        inputs = case.make_inputs()
        try:
            times[name] = _first_call(Lamina.function(case), inputs)
        except Exception as error:  # a row that does not compile is a line of the other table
            print(f"{name}: {error}", file=sys.stderr)
    return times


def _first_call(function: Callable[..., Any], inputs: Sequence[np.ndarray]) -> float:
    start = time.perf_counter()
    function(*inputs)
    first = time.perf_counter() - start
    later = []
    for _ in range(3):
        start = time.perf_counter()
        function(*inputs)
        later.append(time.perf_counter() - start)
    return max(0.0, first - statistics.median(later))


def curve_time(count: int) -> float:
    """Seconds to compile a program of `count` kernels, none like another."""
    import lamina as lm
    import lamina.numpy as lnp

    def program(*matrices: Any) -> list[Any]:
        return [lnp.sum(lnp.tanh(x * float(k + 1)), axis=1) for k, x in enumerate(matrices)]

    inputs = [np.ones((8, 40 + k), np.float32) for k in range(count)]
    return _first_call(lm.jit(program), inputs)


def main() -> None:
    import lamina as lm

    from . import kernels

    # what every compilation needs is imported, the thread runtime made
    lm.jit(lambda x: x * x + 1)(np.ones(1 << 20, np.float32))
    kernels.double(np.ones(3, np.float32))
    what, number, *names = sys.argv[1:]
    print(json.dumps(row_times(names, number == "1") if what == "rows" else curve_time(int(number))))


if __name__ == "__main__":
    main()

"""Fair timings: peers take turns, round by round, so that a busy machine slows all of them; medians and ratios are reported."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table


def interleaved(
    functions: Mapping[str, Callable[[], Any]],
    rounds: int = 31,
    batch_seconds: float = 0.004,
    of: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Median seconds a call of each function; batches of about `batch_seconds`, in turn, `rounds` times. `of=min` for what
    takes less than a microsecond."""
    counts: dict[str, int] = {}
    for name, function in functions.items():
        for _ in range(3):
            function()
        count, spent = 1, 0.0
        while spent < batch_seconds / 2 and count < 1 << 20:
            start = time.perf_counter()
            for _ in range(count):
                function()
            spent = time.perf_counter() - start
            count *= 2
        counts[name] = max(1, int(count / 2 * batch_seconds / max(spent, 1e-9)))
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            loop = range(counts[name])
            start = time.perf_counter()
            for _ in loop:
                function()
            samples[name].append((time.perf_counter() - start) / counts[name])
    return {name: of(values) for name, values in samples.items()}


def show(title: str, medians: Mapping[str, float], ours: str = "lamina") -> None:
    """Print a table of times and of how many times faster `ours` is than each peer."""
    table = Table(title=title)
    table.add_column("peer")
    table.add_column("median", justify="right")
    table.add_column(f"peer / {ours}", justify="right")
    for name, seconds in medians.items():
        table.add_row(name, readable(seconds), f"{seconds / medians[ours]:.2f}")
    Console().print(table)


def readable(seconds: float) -> str:
    """A time with a unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"

"""Times on both sides of the thresholds of the default schedule: sizes n - 1, n, n + 1 and factors of two around each.

    python benchmarks/bench_cliffs.py [part of a name]

Each time is divided by the work at its size; the last column is the worst ratio of sizes n - 1, n and n + 1. More than 1.5 is
a cliff: one of them is not scheduled as it should be. `LAMINA_NUM_THREADS=1` where the machine has other work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from measure import interleaved, readable
from rich.console import Console
from rich.table import Table

CLIFF = 1.5


@dataclass(frozen=True)
class Walk:
    """A function whose schedule depends on a size.

    Attributes:
        function: what is compiled.
        shapes: the shapes of its arguments at a size.
        work: what the time should grow with.
        thresholds: sizes at which another schedule begins.
    """

    name: str
    function: Callable[..., Any]
    shapes: Callable[[int], list[tuple[int, ...]]]
    work: Callable[[int], float]
    thresholds: tuple[int, ...]

    def sizes(self) -> list[int]:
        """The sizes to walk."""
        return sorted({size for n in self.thresholds for size in (n // 2, n - 1, n, n + 1, 2 * n)})

    def seconds(self) -> dict[int, float]:
        """Median seconds by size; all sizes take turns."""
        return {int(name): s for name, s in interleaved(dict(self._calls()), rounds=25).items()}

    def _calls(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        rng = np.random.default_rng(0)
        for size in self.sizes():
            args = [rng.standard_normal(shape, dtype=np.float32) for shape in self.shapes(size)]
            compiled, out = lm.jit(self.function), np.asarray(self.function(*args))
            yield str(size), lambda compiled=compiled, args=args, out=out: compiled(*args, out=out)


def _matmul(x: Any, w: Any) -> Any:
    return x @ w


WALKS = (
    Walk("vector @ matrix: columns", _matmul, lambda n: [(1024,), (1024, n)], lambda n: n, (4096, 5120)),
    Walk("vector @ matrix: depth", _matmul, lambda n: [(n,), (n, 4096)], lambda n: n, (1024,)),
    Walk("matrix @ vector: rows", _matmul, lambda n: [(n, 4096), (4096,)], lambda n: n, (16, 128, 1024)),
    Walk("matrix @ vector: depth", _matmul, lambda n: [(1024, n), (n,)], lambda n: n, (1024, 4096)),
    Walk("few rows: rows", _matmul, lambda n: [(n, 1024), (1024, 1024)], lambda n: n + 16, (64, 128)),
    Walk("few rows: columns", _matmul, lambda n: [(32, 1024), (1024, n)], lambda n: n, (512,)),
    Walk("few rows, transposed: columns", lambda x, w: x @ w.T, lambda n: [(32, 1024), (n, 1024)], lambda n: n, (512,)),
    Walk("sum: elements", lnp.sum, lambda n: [(n,)], lambda n: n, (1 << 15, 1 << 20)),
    Walk("column sums: columns", lambda x: lnp.sum(x, axis=0), lambda n: [(4096, n)], lambda n: n, (256, 2048)),
    Walk("softmax: row", lm.nn.softmax, lambda n: [(512, n)], lambda n: n, (1024, 16384)),
    Walk("tanh: elements", lnp.tanh, lambda n: [(n,)], lambda n: n, (1 << 15, 1 << 20)),
    Walk("transpose: rows", lambda x: lnp.exp(x.T), lambda n: [(n, 1024)], lambda n: n, (64, 1024)),
)


def worst(walk: Walk, seconds: dict[int, float]) -> float:
    """The worst ratio of the times of a unit of work at sizes that are next to each other."""
    cost = {n: s / walk.work(n) for n, s in seconds.items()}
    near = [(cost[n], cost[n + 1]) for n in cost if n + 1 in cost]
    return max(max(a / b, b / a) for a, b in near)


def main() -> None:
    table = Table("walk", "sizes: time", "worst")
    for walk in WALKS:
        if len(sys.argv) > 1 and sys.argv[1] not in walk.name:
            continue
        seconds = walk.seconds()
        ratio = worst(walk, seconds)
        times = "  ".join(f"{n}: {readable(s)}" for n, s in seconds.items())
        table.add_row(walk.name, times, f"{ratio:.2f}{'  cliff' * (ratio > CLIFF)}")
    Console(width=180).print(table)


if __name__ == "__main__":
    main()

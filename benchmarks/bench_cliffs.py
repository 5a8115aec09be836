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


def _depthwise(x: Any, w: Any) -> Any:
    return lm.nn.conv2d(x, w, padding=1, groups=32)


def _rows(numbers: Any, x: Any) -> Any:
    """Row numbers of `x`, of the first of some numbers each."""
    return lnp.abs(numbers.reshape(len(numbers), -1)[:, 0] * 1000).astype(lnp.int32) % x.shape[0]


def _gathered(x: Any, numbers: Any) -> Any:
    return x[_rows(numbers, x)]


def _bags(x: Any, numbers: Any) -> Any:
    return lnp.sum(_gathered(x, numbers.reshape(-1, 8)), axis=1)


def _smoothed(x: Any) -> Any:
    for _ in range(2):
        x = x[:-2] + x[1:-1] + x[2:]
    return x


def _chain(x: Any, ops: Any) -> Any:
    for k in range(ops.shape[0]):
        x = x * 1.01 + 0.01 * k
    return x


def _chain_of_functions(x: Any, ops: Any) -> Any:
    for _ in range(ops.shape[0]):
        x = lnp.tanh(x)
    return x


def _shifted(x: Any, shifts: Any) -> Any:
    y, n = lnp.exp(x), x.shape[0] - shifts.shape[0]
    return sum(y[k : k + n] for k in range(shifts.shape[0]))


def _widened(x: Any, w: Any) -> Any:
    return x.astype(lnp.float64) @ w.astype(lnp.float64)


def _layers(x: Any, w: Any) -> Any:
    for k in range(w.shape[1]):
        x = lnp.tanh(x * w[:, k])
    return x


def _bytes_product(x: Any, w: Any) -> Any:
    return lnp.matmul(x.astype(lnp.int8), w.astype(lnp.int8), preferred_element_type=lnp.int32)


def _strided(x: Any, w: Any, stride: Any) -> Any:
    return lm.nn.conv2d(x, w, stride=stride.shape[0])


def _branch(x: Any) -> Any:
    return lm.cond(lnp.sum(x) > 0, lambda x: x + 1, lambda x: x * 2, x)


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
    Walk("matrix @ matrix: rows", _matmul, lambda n: [(n, 512), (512, 512)], lambda n: n, (192, 256)),
    Walk("matrix @ matrix: columns", _matmul, lambda n: [(512, 512), (512, n)], lambda n: n, (32, 576)),
    Walk("matrix @ matrix: depth", _matmul, lambda n: [(512, n), (n, 512)], lambda n: n, (16, 128, 4096)),
    Walk("rows of products: rows", _matmul, lambda n: [(n, 64), (64, 64)], lambda n: n + 16, (64,)),
    Walk("few rows, transposed: depth", lambda x, w: x @ w.T, lambda n: [(32, n), (1024, n)], lambda n: n, (1024,)),
    Walk("small products: problems", _matmul, lambda n: [(n, 4, 4), (n, 4, 4)], lambda n: n + 64, (4, 64)),
    Walk("convolution: features", lm.nn.conv2d, lambda n: [(1, n, 56, 56), (64, n, 3, 3)], lambda n: n, (32,)),
    Walk("convolution: result features", lm.nn.conv2d, lambda n: [(1, 64, 28, 28), (n, 64, 3, 3)], lambda n: n, (32,)),
    Walk("convolution: rows", lm.nn.conv2d, lambda n: [(1, 32, n, 56), (32, 32, 3, 3)], lambda n: n - 2, (14, 56)),
    Walk(
        "convolution: window",
        lm.nn.conv2d,
        lambda n: [(1, 16, 64, 64), (16, 16, n, n)],
        lambda n: n * n * (65 - n) ** 2,
        (3, 8),
    ),
    Walk("depthwise convolution: window", _depthwise, lambda n: [(1, 32, 64, 64), (32, 1, n, n)], lambda n: n * n, (5,)),
    Walk(
        "attention: queries", lm.nn.attention, lambda n: [(4, n, 64), (4, 256, 64), (4, 256, 64)], lambda n: n + 4, (8, 16, 64)
    ),
    Walk("gather: row", _gathered, lambda n: [(4096, n), (4096,)], lambda n: n + 16, (16, 128)),
    Walk("sums of gathered rows: row", _bags, lambda n: [(4096, n), (4096,)], lambda n: n + 16, (16, 128)),
    Walk("stencil: rows", _smoothed, lambda n: [(n, 2048)], lambda n: n, (32, 64)),
    Walk("Fourier transform: length", lambda x: lnp.abs(lnp.fft.fft(x)), lambda n: [(64, n)], lambda n: n, (64, 1024)),
    Walk("square roots: elements", lambda x: lnp.sqrt(lnp.abs(x)), lambda n: [(n,)], lambda n: n, (1 << 15,)),
    Walk("running sums: rows", lambda x: lnp.cumsum(x, axis=1), lambda n: [(n, 512)], lambda n: n, (8, 64)),
    Walk(
        "causal attention: queries",
        lambda q, k, v: lm.nn.attention(q, k, v, causal=True),
        lambda n: [(4, n, 64)] * 3,
        lambda n: n * (n + 64),
        (64,),
    ),
    Walk(
        "strided convolution: window",
        lambda x, w: lm.nn.conv2d(x, w, stride=2),
        lambda n: [(1, 16, 64, 64), (16, 16, n, n)],
        lambda n: n * n * (65 - n) ** 2,
        (4, 8),
    ),
    Walk(
        "strided convolution: stride",
        _strided,
        lambda n: [(1, 16, 128, 128), (16, 16, 5, 5), (n,)],
        lambda n: (124 // n) ** 2 + 128 * 128 / 25,
        (2,),
    ),
    Walk(
        "transposed convolution: features",
        lambda x, w: lm.nn.conv_transpose2d(x, w, stride=2),
        lambda n: [(1, n, 32, 32), (n, 16, 2, 2)],
        lambda n: n + 4,
        (2, 8),
    ),
    Walk("scatter: row", lambda x, u: x.at[_rows(u, x)].add(u), lambda n: [(1024, n), (4096, n)], lambda n: n + 16, (32, 128)),
    Walk("stack: arrays", lambda *xs: lnp.stack(xs, -1), lambda n: [(1 << 14,)] * n, lambda n: n, (4,)),
    Walk("padding: elements", lambda x: lnp.pad(x, 3), lambda n: [(n,)], lambda n: n, (1 << 16,)),
    Walk("chain of ops: ops", _chain, lambda n: [(1 << 14,), (n,)], lambda n: n + 16, (256,)),
    Walk("chain of functions: ops", _chain_of_functions, lambda n: [(1 << 12,), (n,)], lambda n: n, (64,)),
    Walk("value read at shifts: shifts", _shifted, lambda n: [(1 << 14,), (n,)], lambda n: n + 8, (8,)),
    Walk("converted matrix: rows", _widened, lambda n: [(n, 1024), (1024, 1024)], lambda n: n + 16, (64,)),
    Walk("converted matrix: columns", _widened, lambda n: [(32, 1024), (1024, n)], lambda n: n, (512,)),
    Walk("softmax of columns: columns", lambda x: lm.nn.softmax(x, axis=0), lambda n: [(512, n)], lambda n: n + 8, (32, 64)),
    Walk("softmax of columns: rows", lambda x: lm.nn.softmax(x, axis=0), lambda n: [(n, 512)], lambda n: n, (512,)),
    Walk("softmax of blocks: rows", lambda x: lm.nn.softmax(x, axis=1), lambda n: [(16, n, 64)], lambda n: n, (4096,)),
    Walk("softmax of blocks: parts", lambda x: lm.nn.softmax(x, axis=1), lambda n: [(n, 1024, 64)], lambda n: n, (8,)),
    Walk("Fourier transform: prime factor", lambda x: lnp.abs(lnp.fft.fft(x)), lambda n: [(64, 16 * n)], lambda n: n, (43,)),
    Walk("long Fourier transform: length", lambda x: lnp.abs(lnp.fft.fft(x)), lambda n: [(n,)], lambda n: n, (1 << 14,)),
    Walk("layers of columns: column", _layers, lambda n: [(n,), (n, 12)], lambda n: n, (1 << 14,)),
    Walk("branch: elements", _branch, lambda n: [(n,)], lambda n: n + 256, (128,)),
    Walk("x @ x.T: rows", lambda x: x @ x.T, lambda n: [(n, 1024)], lambda n: n * n, (256,)),
    Walk("x @ x.T: depth", lambda x: x @ x.T, lambda n: [(512, n)], lambda n: n, (256,)),
    Walk("product of bytes: rows", _bytes_product, lambda n: [(n, 256), (256, 256)], lambda n: n + 4, (8,)),
    Walk("product of bytes: depth", _bytes_product, lambda n: [(64, n), (n, 64)], lambda n: n + 4, (16,)),
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

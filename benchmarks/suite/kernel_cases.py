"""Computations written as loops: `@lm.kernel` without a schedule, beside numba and the functions of array libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Row, floats, loop
from .lazy import jax, jnp, kernels, lm, lnp, loops, torch


@dataclass(frozen=True)
class Jacobi(Case):
    """`sweeps` times: each inner point of an `n x n` grid becomes the mean of its four neighbours."""

    n: int
    sweeps: int
    as_kernel = True

    @property
    def flops(self) -> float:
        return 4.0 * self.sweeps * (self.n - 2) ** 2

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.n, self.n)]

    def numpy(self, a: Any) -> Any:
        a, b = a.copy(), a.copy()
        for _ in range(self.sweeps):
            b[1:-1, 1:-1] = np.float32(0.25) * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            a, b = b, a
        return a

    def kernel(self, a: Any) -> Any:
        a, b = a.copy(), a.copy()
        kernels.jacobi(a, b, self.sweeps // 2)
        return a

    def jax(self, a: Any) -> Any:
        def sweep(_: Any, a: Any) -> Any:
            inner = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            return jax.lax.dynamic_update_slice(a, inner, (1, 1))

        return jax.lax.fori_loop(0, self.sweeps, sweep, a)

    def torch(self, a: Any) -> Any:
        a, b = a.clone(), a.clone()
        for _ in range(self.sweeps):
            b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            a, b = b, a
        return a

    def numba(self, a: Any) -> Any:
        return loops.jacobi(a, self.sweeps // 2)


SOFTENING = 1e-3


@dataclass(frozen=True)
class NBody(Case):
    """The accelerations of `n` bodies: `x[3, n]`, `mass[n]`."""

    n: int
    as_kernel = True
    rtol: float = 1e-3
    atol: float = 1e-1  # close pairs dominate: sums of `n` terms up to 1e4

    @property
    def flops(self) -> float:
        return 18.0 * self.n**2

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, 3, self.n), rng.random(self.n, dtype=np.float32)]

    def numpy(self, x: Any, mass: Any) -> Any:
        d = x[:, None, :] - x[:, :, None]
        square = (d * d).sum(0) + np.float32(SOFTENING)
        return (mass / (square * square**0.5) * d).sum(2)

    def kernel(self, x: Any, mass: Any) -> Any:
        a = np.empty_like(x)
        kernels.nbody(x, mass, a)
        return a

    def jax(self, x: Any, mass: Any) -> Any:
        d = x[:, None, :] - x[:, :, None]
        square = (d * d).sum(0) + SOFTENING
        return (mass / (square * jnp.sqrt(square)) * d).sum(2)

    def torch(self, x: Any, mass: Any) -> Any:
        d = x[:, None, :] - x[:, :, None]
        square = (d * d).sum(0) + SOFTENING
        return (mass / (square * torch.sqrt(square)) * d).sum(2)

    def numba(self, x: Any, mass: Any) -> Any:
        return loops.nbody(x, mass, np.float32(SOFTENING))


@dataclass(frozen=True)
class Mandelbrot(Case):
    """After how many steps each point of an `n x n` image leaves the circle, at most `limit`."""

    n: int
    limit: int
    as_kernel = True

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        points = np.arange(self.n, dtype=np.float32) / np.float32(self.n)
        return [np.float32(2.5) * points - np.float32(2), np.float32(2.5) * points - np.float32(1.25)]

    def mismatch(self, result: np.ndarray, reference: np.ndarray) -> str | None:
        """At the border of the set, how products are rounded decides: some of a hundred points may differ."""
        differ = float(np.mean(result != reference))
        return None if differ < 0.02 else f"{100 * differ:.1f} % of the points differ"

    def numpy(self, re: Any, im: Any) -> Any:
        x, y = np.zeros((self.n, self.n), np.float32), np.zeros((self.n, self.n), np.float32)
        n, re, im = np.zeros((self.n, self.n), np.int32), re[None, :], im[:, None]
        for _ in range(self.limit):
            inside = x * x + y * y <= 4
            x, y = np.where(inside, x * x - y * y + re, x), np.where(inside, 2 * x * y + im, y)
            n += inside
        return n

    def kernel(self, re: Any, im: Any) -> Any:
        steps = np.empty((self.n, self.n), np.int32)
        kernels.mandelbrot(re, im, self.limit, steps)
        return steps

    def jax(self, re: Any, im: Any) -> Any:
        re, im = jnp.broadcast_to(re[None, :], (self.n,) * 2), jnp.broadcast_to(im[:, None], (self.n,) * 2)

        def step(_: Any, state: Any) -> Any:
            x, y, n = state
            inside = x * x + y * y <= 4
            return jnp.where(inside, x * x - y * y + re, x), jnp.where(inside, 2 * x * y + im, y), n + inside

        zero = jnp.zeros((self.n, self.n), jnp.float32)
        return jax.lax.fori_loop(0, self.limit, step, (zero, zero, jnp.zeros((self.n, self.n), jnp.int32)))[2]

    def torch(self, re: Any, im: Any) -> Any:
        x = y = torch.zeros(self.n, self.n)
        n, re, im = torch.zeros(self.n, self.n, dtype=torch.int32), re[None, :], im[:, None]
        for _ in range(self.limit):
            inside = x * x + y * y <= 4
            x, y = torch.where(inside, x * x - y * y + re, x), torch.where(inside, 2 * x * y + im, y)
            n = n + inside
        return n

    numba = loop("mandelbrot", "limit")


@dataclass(frozen=True)
class EmbeddingBag(Case):
    """Sums of `bag` rows of `table[rows, d]`, for each of `bags`; as a kernel, or with `lm.nn.embedding`."""

    rows: int
    d: int
    bags: int
    bag: int
    as_kernel: bool = True

    @property
    def bytes(self) -> float:
        return 4.0 * self.d * self.bags * (self.bag + 1)

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.rows, self.d), rng.integers(0, self.rows, (self.bags, self.bag))]

    def numpy(self, table: Any, index: Any) -> Any:
        return table[index].sum(1)

    jax = numpy

    def kernel(self, table: Any, index: Any) -> Any:
        out = np.empty((self.bags, self.d), np.float32)
        kernels.embedding_bag(table, index, out)
        return out

    def lamina(self, table: Any, index: Any) -> Any:
        return lnp.sum(lm.nn.embedding(index, table), axis=1)

    def torch(self, table: Any, index: Any) -> Any:
        return torch.nn.functional.embedding_bag(index, table, mode="sum")

    numba = loop("embedding_bag")

    def onnx(self, graph: Any, table: str, index: str) -> str:
        return graph.op("ReduceSum", graph.op("Gather", table, index), graph.constant(np.array([1])), keepdims=0)


@dataclass(frozen=True)
class Gather(Case):
    """`count` rows of `table[rows, d]`; as a kernel, or with `lnp.take`."""

    rows: int
    d: int
    count: int
    as_kernel: bool = True

    @property
    def bytes(self) -> float:
        return 8.0 * self.d * self.count

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.rows, self.d), rng.integers(0, self.rows, self.count)]

    def numpy(self, table: Any, index: Any) -> Any:
        return table.take(index, axis=0)

    def kernel(self, table: Any, index: Any) -> Any:
        out = np.empty((self.count, self.d), np.float32)
        kernels.gather(table, index, out)
        return out

    def lamina(self, table: Any, index: Any) -> Any:
        return lnp.take(table, index, axis=0)

    def jax(self, table: Any, index: Any) -> Any:
        return table[index]

    def torch(self, table: Any, index: Any) -> Any:
        return torch.index_select(table, 0, index)

    numba = loop("gather")

    def onnx(self, graph: Any, table: str, index: str) -> str:
        return graph.op("Gather", table, index)


@dataclass(frozen=True)
class SegmentSum(Case):
    """The values of `edges`, summed at their `nodes`: `values[edges, d]`; as a kernel, or with `lnp.segment_sum`."""

    edges: int
    nodes: int
    d: int
    as_kernel: bool = True
    atol: float = 1e-4

    @property
    def bytes(self) -> float:
        return 4.0 * self.d * (self.edges + self.nodes)

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.edges, self.d), rng.integers(0, self.nodes, self.edges)]

    def numpy(self, values: Any, node: Any) -> Any:
        out = np.zeros((self.nodes, self.d), np.float32)
        np.add.at(out, node, values)
        return out

    def kernel(self, values: Any, node: Any) -> Any:
        out = np.zeros((self.nodes, self.d), np.float32)
        kernels.segment_sum(values, node, out)
        return out

    def lamina(self, values: Any, node: Any) -> Any:
        return lnp.segment_sum(values, node, self.nodes)

    def jax(self, values: Any, node: Any) -> Any:
        return jax.ops.segment_sum(values, node, self.nodes)

    def torch(self, values: Any, node: Any) -> Any:
        return torch.zeros(self.nodes, self.d).index_add_(0, node, values)

    numba = loop("segment_sum", "nodes")

    def onnx(self, graph: Any, values: str, node: str) -> str:
        zeros = graph.constant(np.zeros((self.nodes, self.d), np.float32))
        return graph.op("ScatterND", zeros, graph.op("Unsqueeze", node, graph.constant(np.array([1]))), values, reduction="add")


ROWS = [
    Row("jacobi", "1024 x 1024, 100 sweeps", Jacobi(1024, 100), Jacobi(40, 6), 1.05),
    Row("n-body", "2048 bodies", NBody(2048), NBody(60), 1.05),
    Row("mandelbrot", "512 x 512, 100 steps", Mandelbrot(512, 100), Mandelbrot(30, 20), 1.05),
    Row("embedding bag", "4096 bags of 20, 50000 x 64", EmbeddingBag(50_000, 64, 4096, 20), EmbeddingBag(90, 20, 30, 5), 1.05),
    Row("gather rows", "50000 of 50000 x 128", Gather(50_000, 128, 50_000), Gather(90, 20, 70), 1.05),
    Row("segment sum", "200000 edges, 20000 nodes, 64", SegmentSum(200_000, 20_000, 64), SegmentSum(90, 20, 12), 1.05),
    Row(
        "nn.embedding, sum",
        "4096 bags of 20, 50000 x 64",
        EmbeddingBag(50_000, 64, 4096, 20, as_kernel=False),
        EmbeddingBag(90, 20, 30, 5, as_kernel=False),
        1.05,
    ),
    Row(
        "lnp.take",
        "50000 of 50000 x 128",
        Gather(50_000, 128, 50_000, as_kernel=False),
        Gather(90, 20, 70, as_kernel=False),
        1.05,
    ),
    Row(
        "lnp.segment_sum",
        "200000 edges, 20000 nodes, 64",
        SegmentSum(200_000, 20_000, 64, as_kernel=False),
        SegmentSum(90, 20, 12, as_kernel=False),
        1.05,
    ),
]

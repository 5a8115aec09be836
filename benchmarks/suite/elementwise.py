"""Elementwise functions, reductions, and rows that are normalized or searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Row, floats, loop
from .lazy import jax, jnp, lm, lnp, loops, torch


@dataclass(frozen=True)
class Chain(Case):
    """`tanh(x * y + z) * sigmoid(x) + exp(-abs(z))`."""

    n: int

    @property
    def bytes(self) -> float:
        return 16.0 * self.n

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.n) for _ in range(3)]

    def numpy(self, x: Any, y: Any, z: Any) -> Any:
        return np.tanh(x * y + z) * (1 / (1 + np.exp(-x))) + np.exp(-np.abs(z))

    def lamina(self, x: Any, y: Any, z: Any) -> Any:
        return lnp.tanh(x * y + z) * lm.nn.sigmoid(x) + lnp.exp(-lnp.abs(z))

    def jax(self, x: Any, y: Any, z: Any) -> Any:
        return jnp.tanh(x * y + z) * jax.nn.sigmoid(x) + jnp.exp(-jnp.abs(z))

    def torch(self, x: Any, y: Any, z: Any) -> Any:
        return torch.tanh(x * y + z) * torch.sigmoid(x) + torch.exp(-torch.abs(z))

    numba = loop("chain")

    def onnx(self, graph: Any, x: str, y: str, z: str) -> str:
        product = graph.op("Tanh", graph.op("Add", graph.op("Mul", x, y), z))
        return graph.op(
            "Add", graph.op("Mul", product, graph.op("Sigmoid", x)), graph.op("Exp", graph.op("Neg", graph.op("Abs", z)))
        )


RATE, VOLATILITY = 0.02, 0.3


@dataclass(frozen=True)
class BlackScholes(Case):
    """Prices of European call options: spot and strike prices and times, `S N(d1) - K exp(-r T) N(d2)`."""

    n: int
    rtol: float = 1e-4
    atol: float = 2e-4

    @property
    def bytes(self) -> float:
        return 16.0 * self.n

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [rng.uniform(low, high, self.n).astype(np.float32) for low, high in ((10, 50), (10, 50), (0.2, 2))]

    def price(self, lib: Any, erf: Any, spot: Any, strike: Any, time: Any) -> Any:
        """The formula, on the functions of a library."""
        root = VOLATILITY * lib.sqrt(time)
        d1 = (lib.log(spot / strike) + (RATE + 0.5 * VOLATILITY**2) * time) / root
        first, second = (0.5 + 0.5 * erf(d * 0.5**0.5) for d in (d1, d1 - root))
        return spot * first - strike * lib.exp(-RATE * time) * second

    def numpy(self, spot: Any, strike: Any, time: Any) -> Any:
        return self.price(np, erf, spot, strike, time)

    def lamina(self, spot: Any, strike: Any, time: Any) -> Any:
        return self.price(lnp, lm.nn.erf, spot, strike, time)

    def jax(self, spot: Any, strike: Any, time: Any) -> Any:
        return self.price(jnp, jax.lax.erf, spot, strike, time)

    def torch(self, spot: Any, strike: Any, time: Any) -> Any:
        return self.price(torch, torch.erf, spot, strike, time)

    def numba(self, spot: Any, strike: Any, time: Any) -> Any:
        return loops.black_scholes(spot, strike, time, np.float32(RATE), np.float32(VOLATILITY))

    def onnx(self, graph: Any, spot: str, strike: str, time: str) -> str:
        number = lambda value: graph.constant(np.float32(value))  # noqa: E731
        root = graph.op("Mul", number(VOLATILITY), graph.op("Sqrt", time))
        drift = graph.op("Mul", number(RATE + 0.5 * VOLATILITY**2), time)
        d1 = graph.op("Div", graph.op("Add", graph.op("Log", graph.op("Div", spot, strike)), drift), root)
        d2 = graph.op("Sub", d1, root)
        half = number(0.5)
        first, second = (
            graph.op("Add", half, graph.op("Mul", half, graph.op("Erf", graph.op("Mul", d, number(0.5**0.5)))))
            for d in (d1, d2)
        )
        discount = graph.op("Exp", graph.op("Mul", number(-RATE), time))
        paid = graph.op("Mul", graph.op("Mul", strike, discount), second)
        return graph.op("Sub", graph.op("Mul", spot, first), paid)


def erf(x: np.ndarray) -> np.ndarray:
    """The error function in NumPy alone (Abramowitz and Stegun 7.1.26), absolute error below 2e-7 in float32."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    poly = (
        (((np.float32(1.061405429) * t - np.float32(1.453152027)) * t) + np.float32(1.421413741)) * t - np.float32(0.284496736)
    ) * t
    return np.sign(x) * (1 - (poly + np.float32(0.254829592)) * t * np.exp(-x * x))


@dataclass(frozen=True)
class Gelu(Case):
    """gelu by tanh."""

    n: int

    @property
    def bytes(self) -> float:
        return 8.0 * self.n

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.n, scale=2)]

    def numpy(self, x: Any) -> Any:
        return np.float32(0.5) * x * (1 + np.tanh(np.float32((2 / np.pi) ** 0.5) * (x + np.float32(0.044715) * x * x * x)))

    def lamina(self, x: Any) -> Any:
        return lm.nn.gelu(x)

    def jax(self, x: Any) -> Any:
        return jax.nn.gelu(x)

    def torch(self, x: Any) -> Any:
        return torch.nn.functional.gelu(x, approximate="tanh")

    numba = loop("gelu")

    def onnx(self, graph: Any, x: str) -> str:
        return graph.op("Gelu", x, approximate="tanh")


@dataclass(frozen=True)
class Triad(Case):
    """`x + 3 y`, memory alone."""

    n: int

    @property
    def bytes(self) -> float:
        return 12.0 * self.n

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.n) for _ in range(2)]

    def numpy(self, x: Any, y: Any) -> Any:
        return x + np.float32(3) * y

    def lamina(self, x: Any, y: Any) -> Any:
        return x + 3.0 * y

    jax = lamina

    def torch(self, x: Any, y: Any) -> Any:
        return torch.add(x, y, alpha=3.0)

    numba = loop("triad")

    def onnx(self, graph: Any, x: str, y: str) -> str:
        return graph.op("Add", x, graph.op("Mul", graph.constant(np.float32(3)), y))


@dataclass(frozen=True)
class Reduction(Case):
    """A base: an `m x n` matrix that is read once."""

    m: int
    n: int

    @property
    def bytes(self) -> float:
        return 4.0 * self.m * self.n

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.m, self.n)]


@dataclass(frozen=True)
class Sum(Reduction):
    """Sums over an axis: 1, of each row; 0, of each column."""

    axis: int = 1
    atol: float = 1e-3

    def numpy(self, x: Any) -> Any:
        return x.sum(self.axis)

    lamina = jax = torch = numpy

    def numba(self, x: Any) -> Any:
        return (loops.row_sums if self.axis else loops.column_sums)(x)

    def onnx(self, graph: Any, x: str) -> str:
        return graph.op("ReduceSum", x, graph.constant(np.array([self.axis])), keepdims=0)


@dataclass(frozen=True)
class Softmax(Reduction):
    """`softmax` of each row."""

    @property
    def bytes(self) -> float:
        return 8.0 * self.m * self.n

    def numpy(self, x: Any) -> Any:
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def lamina(self, x: Any) -> Any:
        return lm.nn.softmax(x, axis=1)

    def jax(self, x: Any) -> Any:
        return jax.nn.softmax(x, axis=1)

    def torch(self, x: Any) -> Any:
        return torch.softmax(x, 1)

    numba = loop("softmax")

    def onnx(self, graph: Any, x: str) -> str:
        return graph.op("Softmax", x, axis=1)


@dataclass(frozen=True)
class LayerNorm(Reduction):
    """`layer_norm` of each row, with weight and bias."""

    weights = (1, 2)

    @property
    def bytes(self) -> float:
        return 8.0 * self.m * self.n

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.m, self.n), floats(rng, self.n), floats(rng, self.n)]

    def numpy(self, x: Any, w: Any, b: Any) -> Any:
        centred = x - x.mean(1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(1, keepdims=True) + np.float32(1e-5)) * w + b

    def lamina(self, x: Any, w: Any, b: Any) -> Any:
        return lm.nn.layer_norm(x, w, b)

    def jax(self, x: Any, w: Any, b: Any) -> Any:
        mean, var = x.mean(1, keepdims=True), x.var(1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(var + 1e-5) * w + b

    def torch(self, x: Any, w: Any, b: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (self.n,), w, b)

    numba = loop("layer_norm")

    def onnx(self, graph: Any, x: str, w: str, b: str) -> str:
        return graph.op("LayerNormalization", x, w, b, axis=1, epsilon=1e-5)


@dataclass(frozen=True)
class LogSumExp(Reduction):
    """`log(sum(exp(x)))` of each row."""

    def numpy(self, x: Any) -> Any:
        top = x.max(1, keepdims=True)
        return np.log(np.exp(x - top).sum(1)) + top[:, 0]

    def lamina(self, x: Any) -> Any:
        return lm.nn.logsumexp(x, axis=1)

    def jax(self, x: Any) -> Any:
        return jax.nn.logsumexp(x, axis=1)

    def torch(self, x: Any) -> Any:
        return torch.logsumexp(x, 1)

    numba = loop("logsumexp")

    def onnx(self, graph: Any, x: str) -> str:
        return graph.op("ReduceLogSumExp", x, graph.constant(np.array([1])), keepdims=0)


@dataclass(frozen=True)
class ArgMax(Reduction):
    """Where each row is largest."""

    def numpy(self, x: Any) -> Any:
        return x.argmax(1)

    jax = torch = numpy

    def lamina(self, x: Any) -> Any:
        return lnp.argmax(x, axis=1)

    numba = loop("argmax")

    def onnx(self, graph: Any, x: str) -> str:
        return graph.op("ArgMax", x, axis=1, keepdims=0)


M = 1_000_000

ROWS = [
    Row("chain", "10^6, tanh sigmoid exp", Chain(M), Chain(1000), 1.1),
    Row("black-scholes", "10^6 options", BlackScholes(M), BlackScholes(1000), 1.1),
    Row("gelu", "10^6", Gelu(M), Gelu(1000), 0.95),
    Row("triad", "10^7, x + 3 y", Triad(10 * M), Triad(1000), 1.0, 0.9),
    Row("row sums", "2048 x 2048", Sum(2048, 2048), Sum(30, 50), 1.0),
    Row("column sums", "2048 x 2048", Sum(2048, 2048, axis=0), Sum(30, 50, axis=0), 1.0),
    Row("softmax", "1024 x 1024", Softmax(1024, 1024), Softmax(30, 50), 1.0),
    Row("layer_norm", "4096 x 768", LayerNorm(4096, 768), LayerNorm(30, 50), 1.0),
    Row("logsumexp", "4096 x 1024", LogSumExp(4096, 1024), LogSumExp(30, 50), 1.0),
    Row("argmax", "2048 x 2048, of rows", ArgMax(2048, 2048), ArgMax(30, 50), 1.0),
]

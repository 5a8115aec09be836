"""Matmuls: square, with a vector, in batches, with the epilogues of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from .case import Case, Row, floats
from .lazy import jax, lm, torch


@dataclass(frozen=True)
class Product(Case):
    """`a[m, k] @ b[k, n]` of normal numbers, where `transposed` operands are stored the other way round.

    `atol` is how far sums of 4096 such products, about 64 in size, are apart in float32 when their order differs.
    """

    m: int
    k: int
    n: int
    dtype: str = "float32"
    transposed: str = ""
    weights: tuple[int, ...] = ()
    atol: float = 1e-3

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.k * self.n

    @property
    def element(self) -> str:
        return "double" if self.dtype == "float64" else "float"

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        a = (self.k, self.m) if "a" in self.transposed else (self.m, self.k)
        b = (self.n, self.k) if "b" in self.transposed else (self.k, self.n)
        return [rng.standard_normal(shape).astype(self.dtype) for shape in (a, b)]

    def numpy(self, a: Any, b: Any) -> Any:
        return (a.T if "a" in self.transposed else a) @ (b.T if "b" in self.transposed else b)

    lamina = jax = torch = numpy

    def onnx(self, graph: Any, a: str, b: str) -> str:
        a = graph.op("Transpose", a, perm=[1, 0]) if "a" in self.transposed else a
        b = graph.op("Transpose", b, perm=[1, 0]) if "b" in self.transposed else b
        return graph.op("MatMul", a, b)


@dataclass(frozen=True)
class ByteProduct(Product):
    """`a[m, k] @ b[k, n]` of int8, summed in int32; NumPy sums in float32, which is exact for up to 1024 terms."""

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [rng.integers(-128, 128, shape).astype(np.int8) for shape in ((self.m, self.k), (self.k, self.n))]

    def numpy(self, a: Any, b: Any) -> Any:
        return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.int32)

    def lamina(self, a: Any, b: Any) -> Any:
        return lm.numpy.matmul(a, b, preferred_element_type=np.int32)

    def jax(self, a: Any, b: Any) -> Any:
        return jax.numpy.matmul(a, b, preferred_element_type=np.int32)

    def torch(self, a: Any, b: Any) -> Any:
        return torch._int_mm(a, b)

    onnx = None


@dataclass(frozen=True)
class HalfProduct(Product):
    """`a[m, k] @ b[k, n]` of bfloat16; NumPy multiplies in float32 and rounds."""

    rtol: float = 2.0**-7

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [x.astype(ml_dtypes.bfloat16) for x in super().inputs(rng)]

    def numpy(self, a: Any, b: Any) -> Any:
        return (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype)

    def lamina(self, a: Any, b: Any) -> Any:
        return a @ b

    jax = torch = lamina
    onnx = None


@dataclass(frozen=True)
class MatrixVector(Case):
    """`a[n, n] @ x[n]` of normal numbers; `atol` as for products."""

    n: int
    atol: float = 1e-3

    @property
    def bytes(self) -> float:
        return 4.0 * (self.n * self.n + 2 * self.n)

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.n, self.n), floats(rng, self.n)]

    def numpy(self, a: Any, x: Any) -> Any:
        return a @ x

    lamina = jax = torch = numpy

    def onnx(self, graph: Any, a: str, x: str) -> str:
        return graph.op("MatMul", a, x)


@dataclass(frozen=True)
class Batched(Case):
    """`a[count, n, n] @ b[count, n, n]`."""

    count: int
    n: int
    atol: float = 1e-4

    @property
    def flops(self) -> float:
        return 2.0 * self.count * self.n**3

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.count, self.n, self.n) for _ in range(2)]

    def numpy(self, a: Any, b: Any) -> Any:
        return a @ b

    lamina = jax = torch = numpy

    def onnx(self, graph: Any, a: str, b: str) -> str:
        return graph.op("MatMul", a, b)


@dataclass(frozen=True)
class Gram(Case):
    """`x.T @ x` of `x[m, n]`, double precision."""

    m: int
    n: int
    atol: float = 1e-9

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.n**2

    @property
    def element(self) -> str:
        return "double"

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [rng.standard_normal((self.m, self.n))]

    def numpy(self, x: Any) -> Any:
        return x.T @ x

    lamina = jax = torch = numpy

    def onnx(self, graph: Any, x: str) -> str:
        return graph.op("MatMul", graph.op("Transpose", x, perm=[1, 0]), x)


@dataclass(frozen=True)
class Linear(Case):
    """`gelu(x[m, k] @ w[k, n] + b[n])`, gelu by tanh."""

    m: int
    k: int
    n: int
    weights = (1, 2)
    atol: float = 1e-4

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.k * self.n

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [floats(rng, self.m, self.k), floats(rng, self.k, self.n, scale=self.k**-0.5), floats(rng, self.n)]

    def numpy(self, x: Any, w: Any, b: Any) -> Any:
        y = x @ w + b
        return np.float32(0.5) * y * (1 + np.tanh(np.float32((2 / np.pi) ** 0.5) * (y + np.float32(0.044715) * y * y * y)))

    def lamina(self, x: Any, w: Any, b: Any) -> Any:
        return lm.nn.gelu(x @ w + b)

    def jax(self, x: Any, w: Any, b: Any) -> Any:
        return jax.nn.gelu(x @ w + b)

    def torch(self, x: Any, w: Any, b: Any) -> Any:
        return torch.nn.functional.gelu(torch.addmm(b, x, w), approximate="tanh")

    def onnx(self, graph: Any, x: str, w: str, b: str) -> str:
        return graph.op("Gelu", graph.op("Add", graph.op("MatMul", x, w), b), approximate="tanh")


def _square(n: int, limit: float = 0.95, share: float | None = 0.85) -> Row:
    return Row(f"matmul {n}", f"{n} x {n} x {n}", Product(n, n, n), Product(70, 50, 60), limit, share)


ROWS = [
    _square(512),
    _square(1024),
    _square(2048),
    _square(128, limit=1.0, share=None),
    Row("matvec 4096", "4096 x 4096, a vector", MatrixVector(4096), MatrixVector(130), 1.0, 0.9),
    Row("matmul 32 rows", "32 x 4096 x 4096", Product(32, 4096, 4096, weights=(1,)), Product(5, 130, 90), 0.95),
    Row("linear gelu", "512 x 768 x 3072, bias, gelu", Linear(512, 768, 3072), Linear(30, 50, 70), 1.05),
    Row("matmul batched", "64 of 64 x 64 x 64", Batched(64, 64), Batched(3, 20), 1.0),
    Row(
        "matmul f64",
        "512 x 512 x 512 f64",
        Product(512, 512, 512, "float64", atol=1e-10),
        Product(40, 30, 50, "float64", atol=1e-10),
        0.95,
    ),
    Row("matmul i8", "1024 x 1024 x 1024, sums in i32", ByteProduct(1024, 1024, 1024), ByteProduct(40, 70, 50), 0.8),
    Row("matmul bf16", "1024 x 1024 x 1024", HalfProduct(1024, 1024, 1024), HalfProduct(40, 70, 50), 0.9),
    Row("gram f64", "x.T @ x, 2048 x 512 f64", Gram(2048, 512), Gram(60, 30), 0.95),
    Row("matmul a.T", "512 x 512 x 512", Product(512, 512, 512, transposed="a"), Product(40, 30, 50, transposed="a"), 0.95),
    Row("matmul b.T", "512 x 512 x 512", Product(512, 512, 512, transposed="b"), Product(40, 30, 50, transposed="b"), 0.95),
]

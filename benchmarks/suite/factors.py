"""Factorizations of large matrices and of many small ones, compared by values that do not depend on signs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Row
from .lazy import jax, lm, torch


@dataclass(frozen=True)
class _Matrices(Case):
    """`count` matrices of `n` rows, or one; what float32 loses in `n` steps is `rtol` of elements of about 1."""

    n: int
    count: int = 0
    rtol: float = 2e-3
    atol: float = 2e-3

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        shape = (self.count, self.n, self.n) if self.count else (self.n, self.n)
        x = rng.standard_normal(shape)
        return [(x / np.sqrt(self.n) + 2 * np.eye(self.n)).astype(np.float32)]


class _Formula(_Matrices):
    """A base: one formula on the `linalg` of each library."""

    def formula(self, linalg: Any, *inputs: Any) -> Any:
        raise NotImplementedError

    def numpy(self, *inputs: Any) -> Any:
        return self.formula(np.linalg, *inputs)

    def lamina(self, *inputs: Any) -> Any:
        return self.formula(lm.linalg, *inputs)

    def jax(self, *inputs: Any) -> Any:
        return self.formula(jax.numpy.linalg, *inputs)

    def torch(self, *inputs: Any) -> Any:
        return self.formula(torch.linalg, *inputs)


def _definite(x: np.ndarray) -> np.ndarray:
    return (np.matmul(x, np.swapaxes(x, -1, -2)) / 4 + np.eye(x.shape[-1])).astype(np.float32)


class Cholesky(_Matrices):
    """The lower factor."""

    @property
    def flops(self) -> float:
        return max(self.count, 1) * self.n**3 / 3

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [_definite(x) for x in super().inputs(rng)]

    def numpy(self, x: Any) -> Any:
        return np.linalg.cholesky(x)

    def lamina(self, x: Any) -> Any:
        return lm.linalg.cholesky(x, symmetrize_input=False)

    def jax(self, x: Any) -> Any:
        return jax.lax.linalg.cholesky(x, symmetrize_input=False)

    def torch(self, x: Any) -> Any:
        return torch.linalg.cholesky(x)


class Determinant(_Formula):
    """LU: the sum of the logarithms of the pivots."""

    @property
    def flops(self) -> float:
        return max(self.count, 1) * 2 * self.n**3 / 3

    def formula(self, linalg: Any, x: Any) -> Any:
        return linalg.slogdet(x)[1]


class Solve(_Formula):
    """The solution for as many right sides as rows, the matrix itself transposed."""

    @property
    def flops(self) -> float:
        return max(self.count, 1) * (2 / 3 + 2) * self.n**3

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        (x,) = super().inputs(rng)
        return [x, np.ascontiguousarray(np.swapaxes(x, -1, -2))]

    def formula(self, linalg: Any, x: Any, y: Any) -> Any:
        return linalg.solve(x, y)


class Qr(_Formula):
    """`Q` of a QR factorization, which is found by the same reflections everywhere; its sign too."""

    @property
    def flops(self) -> float:
        return max(self.count, 1) * 8 * self.n**3 / 3

    def formula(self, linalg: Any, x: Any) -> Any:
        return linalg.qr(x)[0]


class Eigh(_Matrices):
    """Eigenvalues and eigenvectors: `v |w| v^T`, which needs both."""

    @property
    def flops(self) -> float:
        return max(self.count, 1) * 9 * self.n**3

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        (x,) = super().inputs(rng)
        return [np.ascontiguousarray((x + np.swapaxes(x, -1, -2)) / 2 - 2 * np.eye(self.n, dtype=np.float32))]

    def numpy(self, x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return (v * np.abs(w)[..., None, :]) @ np.swapaxes(v, -1, -2)

    def lamina(self, x: Any) -> Any:
        w, v = lm.linalg.eigh(x, "L")
        return (v * abs(w)[..., None, :]) @ lm.numpy.swapaxes(v, -1, -2)

    def jax(self, x: Any) -> Any:
        w, v = jax.numpy.linalg.eigh(x, symmetrize_input=False)
        return (v * abs(w)[..., None, :]) @ jax.numpy.swapaxes(v, -1, -2)

    def torch(self, x: Any) -> Any:
        w, v = torch.linalg.eigh(x)
        return (v * abs(w)[..., None, :]) @ torch.swapaxes(v, -1, -2)


def _rows(name: str, case: type[_Matrices]) -> list[Row]:
    return [
        Row(f"{name} 512", "512 x 512", case(512), case(40), limit=0.8),
        Row(f"{name} batched", "1000 x 16 x 16", case(16, 1000), case(5, 7), limit=0.8),
    ]


ROWS = [
    *_rows("cholesky", Cholesky),
    *_rows("lu", Determinant),
    *_rows("solve", Solve),
    *_rows("qr", Qr),
    Row("eigh 256", "256 x 256", Eigh(256), Eigh(20), limit=0.5),
]

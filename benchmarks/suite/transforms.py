"""Discrete Fourier transforms."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from .case import Case, Row, floats
from .lazy import jnp, lm, torch


@dataclass(frozen=True)
class Fft(Case):
    """The transforms of `rows` rows of `n` complex64."""

    rows: int
    n: int
    atol = 1e-2  # of sums of up to a million numbers of size 1
    rtol = 1e-4

    @property
    def flops(self) -> float:
        return 5.0 * self.rows * self.n * log2(self.n)

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        shape = (self.rows, self.n) if self.rows > 1 else (self.n,)
        return [floats(rng, *shape) + np.complex64(1j) * floats(rng, *shape)]

    def numpy(self, x: Any) -> Any:
        return np.fft.fft(x)

    def lamina(self, x: Any) -> Any:
        return lm.fft.fft(x)

    def jax(self, x: Any) -> Any:
        return jnp.fft.fft(x)

    def torch(self, x: Any) -> Any:
        return torch.fft.fft(x)


ROWS = [
    Row("fft", "2^20 complex64", Fft(1, 1 << 20), Fft(1, 1 << 15), 0.8),
    Row("fft of rows", "1000 x 1024 complex64", Fft(1000, 1024), Fft(20, 64), 0.8),
]

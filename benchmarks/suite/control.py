"""Control flow: loops over scalars, whose cost is the iteration alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Row
from .lazy import jax, jnp, lm


@dataclass(frozen=True)
class While(Case):
    """`while k < n: k, x = k + 1, x * 0.999 + a`, of scalars."""

    n: int
    rtol = 1e-4  # XLA rounds once where NumPy rounds twice, and a thousand iterations count

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [np.asarray(self.n, np.int32), np.asarray(rng.uniform(0.5, 1), np.float32)]

    def numpy(self, n: Any, a: Any) -> Any:
        x, shrink = np.float32(0), np.float32(0.999)
        for _ in range(int(n)):
            x = x * shrink + a
        return np.asarray(x)

    def lamina(self, n: Any, a: Any) -> Any:
        return lm.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.999 + a), (n * 0, a * 0))[1]

    def jax(self, n: Any, a: Any) -> Any:
        return jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.999 + a), (n * 0, jnp.zeros_like(a)))[1]


ROWS = [Row("while", "10^6 iterations of two scalars", While(10**6), While(7), 1.0)]

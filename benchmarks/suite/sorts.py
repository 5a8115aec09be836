"""Sorted rows: their elements, and the positions of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Row
from .lazy import jnp, lnp, torch


@dataclass(frozen=True)
class Sort(Case):
    """`rows` rows of `n` numbers in order; with `places` these of their elements, stable."""

    rows: int
    n: int
    dtype: str = "float32"
    places: bool = False
    rtol: float = 0.0
    atol: float = 0.0

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [(rng.standard_normal((self.rows, self.n)) * 1e6).astype(self.dtype)]

    def numpy(self, x: Any) -> Any:
        return np.argsort(x, kind="stable") if self.places else np.sort(x)

    def lamina(self, x: Any) -> Any:
        return lnp.argsort(x) if self.places else lnp.sort(x)

    def jax(self, x: Any) -> Any:
        return jnp.argsort(x, stable=True) if self.places else jnp.sort(x)

    def torch(self, x: Any) -> Any:
        return torch.argsort(x, stable=True) if self.places else torch.sort(x)[0]


def _rows() -> list[Row]:
    return [
        Row(f"{word} {n} {short}", f"{rows} rows of {n}", Sort(rows, n, dtype, places), Sort(19, 20, dtype, places), limit)
        for word, places, limit in (("sort", False, 0.8), ("argsort", True, 1.0))
        for short, dtype in (("f32", "float32"), ("i64", "int64"))
        for rows, n in ((16384, 16), (4096, 64), (1024, 256), (256, 1024))
    ]


ROWS = _rows()

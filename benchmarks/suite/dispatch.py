"""Single operations on arrays of 8 outside of `jit`: the overhead of a call. jax runs op by op here, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Row, floats
from .lazy import jnp, lnp, torch


@dataclass(frozen=True)
class Dispatch(Case):
    """A function of a library on vectors of `n`, or on square matrices of `n` rows, as it is written."""

    function: Callable[..., Any]
    operands: int
    matrices: bool = False
    in_torch: Callable[..., Any] | None = None
    n: int = 8
    as_written = True

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        shape = (self.n, self.n) if self.matrices else (self.n,)
        return [floats(rng, *shape) for _ in range(self.operands)]

    def numpy(self, *x: Any) -> Any:
        return self.function(np, *x)

    def lamina(self, *x: Any) -> Any:
        return self.function(lnp, *x)

    def jax(self, *x: Any) -> Any:
        return self.function(jnp, *x)

    def torch(self, *x: Any) -> Any:
        return (self.in_torch or self.function)(torch, *x)


def _row(name: str, sizes: str, function: Callable[..., Any], operands: int, **options: Any) -> Row:
    case = Dispatch(function, operands, **options)
    return Row(f"dispatch {name}", sizes, case, case, 0.3)


ROWS = [
    _row("add", "8", lambda np, x, y: np.add(x, y), 2),
    _row("exp", "8", lambda np, x: np.exp(x), 1),
    _row("where", "8, condition computed", lambda np, x, y: np.where(x > y, x, y), 2),
    _row("clip", "8, numbers", lambda np, x: np.clip(x, 0.2, 0.6), 1),
    _row("sum", "8 x 8, axis 0, kept", lambda np, x: np.sum(x, axis=0, keepdims=True), 1, matrices=True),
    _row("matmul", "8 x 8", lambda np, x, y: np.matmul(x, y), 2, matrices=True),
    _row("reshape", "8 x 8 to 4 x 16", lambda np, x: np.reshape(x, (4, 16)), 1, matrices=True),
    _row(
        "concatenate", "8 and 8", lambda np, x, y: np.concatenate([x, y]), 2,
        in_torch=lambda torch, x, y: torch.cat([x, y]),
    ),
]  # fmt: skip

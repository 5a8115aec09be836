"""y = A @ x for a sparse A: row `i` has the values `data[k]` in the columns `column[k]`, `start[i] <= k < start[i + 1]` (CSR)."""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def spmv(start: lm.i64["M + 1"], column: lm.i32["K"], data: lm.f64["K"], x: lm.f64["N"], y: lm.f64["M"]):
    for i in lm.parallel(M):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += data[k] * x[column[k]]
        y[i] = total


def reference(start: np.ndarray, column: np.ndarray, data: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rows = np.repeat(np.arange(len(y)), np.diff(start))
    return np.bincount(rows, data * x[column], len(y))


def schedule(s) -> None:
    """The products of a row on vectors: x is gathered."""
    s.vectorize("k", lm.target().lanes(64), tail="predicated")


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    columns = n + n // 2
    mask = rng.random((n, columns)) < min(1.0, 20 / max(1, columns))
    start = np.concatenate([[0], np.cumsum(mask.sum(1))]).astype(np.int64)
    column = np.nonzero(mask)[1].astype(np.int32)
    return [start, column, rng.standard_normal(len(column)), rng.standard_normal(columns), np.zeros(n)]


def main() -> None:
    show(spmv, schedule, reference, arguments(5000))


if __name__ == "__main__":
    main()

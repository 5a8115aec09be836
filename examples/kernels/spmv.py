"""y = A @ x for a sparse A in compressed rows (CSR).

Row `i` has the values `data[k]` in the columns `column[k]`, for `k` from `start[i]` to `start[i + 1]`: bounds and subscripts
that are read from memory.
"""

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
    """Short vectors along a row, gathered from x: rows may have few elements, so what is left of them is not masked."""
    s.vectorize("k", 4, tail="scalar")


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 200, n))])
    column = rng.integers(0, n + 1, start[-1], dtype=np.int32)
    return [start, column, rng.standard_normal(len(column)), rng.standard_normal(n + 1), np.zeros(n)]


def main() -> None:
    show(spmv, schedule, reference, arguments(5000))


if __name__ == "__main__":
    main()

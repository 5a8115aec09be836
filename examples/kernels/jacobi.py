"""Jacobi's iteration for the heat equation: each point becomes the mean of its four neighbours, again and again.

Two sweeps a step, so that no array has to be copied. The border stays as it is. A kernel may call another one: its loops take
the place of the call, the second time as `i2` and `j2`.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def sweep(A: lm.f64["M", "N"], B: lm.f64["M", "N"]):
    for i in range(1, M - 1):
        for j in range(1, N - 1):
            B[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])


@lm.kernel
def jacobi(A: lm.f64["M", "N"], B: lm.f64["M", "N"], steps: lm.i64):
    for _ in range(steps):
        sweep(A, B)
        sweep(B, A)


def reference(A: np.ndarray, B: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        for x, y in ((A, B), (B, A)):
            y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return A, B


def schedule(s) -> None:
    """Strips of rows on threads, vectors along the rows, in both sweeps."""
    for rows, columns in (("i", "j"), ("i2", "j2")):
        s.vectorize(columns, lm.target().lanes(64))
        strip, _ = s.split(rows, 16)
        s.parallelize(strip)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n + 5))
    return [A, A.copy(), 4]


def main() -> None:
    show(jacobi, schedule, reference, arguments(1000))


if __name__ == "__main__":
    main()

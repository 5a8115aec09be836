"""Jacobi's iteration for the heat equation: each point becomes the mean of its four neighbours, again and again.

Two sweeps a step, so that no array has to be copied. The border stays as it is.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def jacobi(A: lm.f64["M", "N"], B: lm.f64["M", "N"], steps: lm.i64):
    for _ in range(steps):
        for i in range(1, M - 1):
            for j in range(1, N - 1):
                B[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
        for k in range(1, M - 1):
            for l in range(1, N - 1):  # noqa: E741
                A[k, l] = 0.25 * (B[k - 1, l] + B[k + 1, l] + B[k, l - 1] + B[k, l + 1])


def reference(A: np.ndarray, B: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        for x, y in ((A, B), (B, A)):
            y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return A, B


def schedule(s) -> None:
    """Rows on threads, 8 at a time; vectors along the rows."""
    lanes = lm.target().lanes(64)
    for rows, columns in (("i", "j"), ("k", "l")):
        s.vectorize(columns, lanes)
        strip, row = s.split(rows, 16)
        s.parallelize(strip)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n + 5))
    return [A, A.copy(), 4]


def main() -> None:
    show(jacobi, schedule, reference, arguments(1000))


if __name__ == "__main__":
    main()

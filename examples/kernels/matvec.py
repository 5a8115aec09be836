"""y = A @ x: as fast as memory delivers A, when several rows are read at once."""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def matvec(A: lm.f32["M", "N"], x: lm.f32["N"], y: lm.f32["M"]):
    for i in lm.parallel(M):
        total = 0.0
        for j in range(N):
            total += A[i, j] * x[j]
        y[i] = total


def reference(A: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return A @ x


def schedule(s) -> None:
    """Sums of vectors for four rows at once, so that x is loaded once for all of them."""
    s.vectorize("j", lm.target().lanes(32))
    s.unroll_and_jam("i", 4)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    rows, columns = n, n + n // 3
    return [rng.standard_normal(shape, dtype=np.float32) for shape in ((rows, columns), columns, rows)]


def main() -> None:
    show(matvec, schedule, reference, arguments(2000))


if __name__ == "__main__":
    main()

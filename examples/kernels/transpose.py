"""B = A transposed: no arithmetic, only the order in which memory is touched.

As written, either the reads or the writes jump from row to row. The schedule works on tiles that fit the first-level cache, so
that every cache line that is fetched is used up before it is lost.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def transpose(A: lm.f32["M", "N"], B: lm.f32["N", "M"]):
    for i, j in lm.grid(M, N):
        B[j, i] = A[i, j]


def reference(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return A.T.copy()


def schedule(s) -> None:
    """Tiles of a vector by a vector, written row by row; columns of tiles on threads."""
    lanes = lm.target().lanes(32)
    columns, *_, i = s.tile(("j", "i"), (lanes, lanes))
    s.vectorize(i, lanes, tail="predicated")
    s.parallelize(columns)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    rows, columns = n, (3 * n + 1) // 2
    return [rng.standard_normal((rows, columns), dtype=np.float32), np.zeros((columns, rows), np.float32)]


def main() -> None:
    show(transpose, schedule, reference, arguments(2000))


if __name__ == "__main__":
    main()

"""Shortest ways between all pairs of points: is there a shorter one over point `k`?

Row `k` is what all rows are compared with, and one of them. Rows are independent only once it is copied, and `D[i, k]` is read
before row `i` changes: otherwise `loop-parallelize` and `loop-vectorize` refuse, and name two iterations that meet.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def floyd_warshall(D: lm.f32["N", "N"]):
    row = lm.empty(N)
    for k in range(N):
        for c in range(N):
            row[c] = D[k, c]
        for i in range(N):
            there = D[i, k]
            for j in range(N):
                D[i, j] = min(D[i, j], there + row[j])


def reference(D: np.ndarray) -> np.ndarray:
    D = D.copy()
    for k in range(len(D)):
        D = np.minimum(D, D[:, k, None] + D[None, k])
    return D


def schedule(s) -> None:
    """Vectors along the rows, rows on threads."""
    lanes = lm.target().lanes(32)
    s.vectorize("c", lanes, tail="predicated")
    s.vectorize("j", lanes, tail="predicated")
    s.parallelize("i")


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    D = np.where(rng.random((n, n)) < 0.2, rng.random((n, n)), np.inf).astype(np.float32)
    np.fill_diagonal(D, 0)
    return [D]


def main() -> None:
    show(floyd_warshall, schedule, reference, arguments(500))


if __name__ == "__main__":
    main()

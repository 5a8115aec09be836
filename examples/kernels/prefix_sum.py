"""Running sums: `y[i] = x[0] + ... + x[i]`.

Every sum needs the one before it. In blocks, it is parallel all the same: add up each block, add up these sums, then each block
starts with the sum of all before it. The blocks do not depend on the number of threads, so neither do the results.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show

BLOCK = 1024


@lm.kernel
def prefix_sum(x: lm.f64["N"], y: lm.f64["N"]):
    starts = lm.empty(N // BLOCK + 1, lm.f64)
    for block in lm.parallel(N // BLOCK):
        total = 0.0
        for i in range(BLOCK):
            total += x[block * BLOCK + i]
        starts[block + 1] = total
    starts[0] = 0.0
    for k in range(N // BLOCK):
        starts[k + 1] += starts[k]
    for b in lm.parallel(N // BLOCK + 1):
        running = starts[b]
        for j in range(min(BLOCK, N - b * BLOCK)):
            running += x[b * BLOCK + j]
            y[b * BLOCK + j] = running


def reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.cumsum(x)


def schedule(s) -> None:
    """Sums of blocks on vectors; four blocks run side by side, as each waits for its last sum most of the time."""
    s.vectorize("i", 4 * lm.target().lanes(64))
    full, _ = s.peel("b", -1)
    s.unroll_and_jam(full, 4)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(n), np.zeros(n)]


def main() -> None:
    show(prefix_sum, schedule, reference, arguments(1_000_000))


if __name__ == "__main__":
    main()

"""A matrix product scheduled by hand, step by step, to the speed of the machine.

The algorithm is three loops. The schedule is what a library does inside (Goto, van de Geijn, "Anatomy of high-performance
matrix multiplication", 2008): blocks that fit the caches, operands packed into panels, a tile of sums in registers. Every step
is a public primitive, proved legal when it is taken; the sizes stay symbols, so one compilation serves all of them.

    python examples/kernels/matmul.py          # each step: its loops and its speed
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import lamina as lm
import numpy as np
from lamina.codegen.machine import peak_flops


@lm.kernel
def matmul(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
    for i, j in lm.grid(C.shape):
        for k in range(A.shape[1]):
            C[i, j] += A[i, k] * B[k, j]


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    return C + A @ B


def steps(s, panels: int = 16, depth: int = 384, width: int = 48) -> Iterator[str]:
    """Take the steps of the schedule one after the other; yields what has been done so far.

    A register tile is `rows x columns` sums. `depth` elements of k are worked on at a time, on `panels` tiles of rows (a block
    of A for the second-level cache) and `width` tiles of columns (a block of B for the last one).
    """
    target = lm.target()
    rows, columns = target.tile_of(32)
    lanes = target.lanes(32)

    jo, j = s.split(s["j"], width * columns)
    ko, k = s.split(s["k"], depth)
    io, i = s.split(s["i"], panels * rows)
    jp, j = s.split(j, columns)
    ip, i = s.split(i, rows)
    s.reorder((jo, ko, io, jp, ip, k, i, j))
    yield "blocks: a tile of C, from a block of A and a block of B"

    *_, j_b, _ = s.stage("B", at=ko, order=(jp, k, j), pad=(j,))
    *_, i_a, _ = s.stage("A", at=io, order=(ip, k, i), pad=(i,))
    yield "packed: what a tile reads lies side by side, filled up with zeros at the edges"

    i_in, j_in, i_out, j_out = s.accumulate("C", at=k)
    s.pad(i, rows)
    s.pad(j, columns)
    yield "accumulated: the sums of a tile leave their registers after all of k"

    _, k = s.split(k, 4)
    for loop in (j, j_b, j_in, j_out):
        s.unroll(s.vectorize(loop, lanes, tail="predicated"))
    for loop in (i, i_a, i_in, i_out, k):
        s.unroll(loop)
    yield "vectors: each row of a tile is a few registers; all loops inside k are unrolled"

    s.parallelize(io)
    yield "threads: blocks of A are independent"


def schedule(s) -> None:
    """All steps."""
    for _ in steps(s):
        pass


def gflops(n: int, threads: int = 1, rounds: int = 5) -> float:
    """Speed of the product of two n x n matrices as scheduled by now."""
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    C = np.zeros((n, n), np.float32)
    matmul(A, B, C, threads=threads)
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        matmul(A, B, C, threads=threads)
        best = min(best, time.perf_counter() - start)
    return 2 * n**3 / best / 1e9


def main() -> None:
    peak = peak_flops() / 1e9
    print(f"one core does at most {peak:.0f} GFLOP/s\n\nwith the default schedule: {gflops(256, rounds=2):.1f} GFLOP/s\n")
    matmul.reset()
    s = matmul.schedule()
    for what in steps(s):
        print(f"--- {what}\n\n{s.as_python()}\n")
        for n in (768, 1536) if "vectors" in what or "threads" in what else (256,):
            speed = gflops(n)
            print(f"n = {n}, one thread: {speed:.1f} GFLOP/s, {100 * speed / peak:.0f} % of the peak")
            if "threads" in what:
                print(f"n = {n}, two threads: {gflops(n, 2):.1f} GFLOP/s")
        print()
    print(f"--- the schedule as text, for lamina-opt\n\n{s}")


if __name__ == "__main__":
    main()

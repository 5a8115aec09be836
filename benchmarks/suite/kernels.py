"""The cases as our kernels: loops as one would write them, with no schedule."""

from __future__ import annotations

import lamina as lm
import numpy as np


@lm.kernel
def double(x: lm.f32["N"]):
    for i in range(N):
        x[i] = 2.0 * x[i]


@lm.kernel
def sweep(A: lm.f32["M", "N"], B: lm.f32["M", "N"]):
    for i in range(1, M - 1):
        for j in range(1, N - 1):
            B[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])


@lm.kernel
def jacobi(A: lm.f32["M", "N"], B: lm.f32["M", "N"], pairs: lm.i64):
    for _ in range(pairs):
        sweep(A, B)
        sweep(B, A)


@lm.kernel
def nbody(x: lm.f32[3, "N"], mass: lm.f32["N"], a: lm.f32[3, "N"]):
    for i in range(N):
        ax, ay, az = 0.0, 0.0, 0.0
        for j in range(N):
            dx, dy, dz = x[0, j] - x[0, i], x[1, j] - x[1, i], x[2, j] - x[2, i]
            square = dx * dx + dy * dy + dz * dz + 1e-3
            pull = mass[j] / (square * np.sqrt(square))
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        a[0, i], a[1, i], a[2, i] = ax, ay, az


@lm.kernel
def mandelbrot(re: lm.f32["N"], im: lm.f32["M"], limit: lm.i32, steps: lm.i32["M", "N"]):
    for i, j in lm.grid(steps.shape):
        x, y = 0.0, 0.0
        n = lm.i32(0)
        while n < limit and x * x + y * y <= 4.0:
            x, y = x * x - y * y + re[j], 2.0 * x * y + im[i]
            n += 1
        steps[i, j] = n


@lm.kernel
def embedding_bag(table: lm.f32["R", "D"], index: lm.i64["B", "L"], out: lm.f32["B", "D"]):
    for b, d in lm.grid(out.shape):
        out[b, d] = 0.0
        for k in range(L):
            out[b, d] += table[index[b, k], d]


@lm.kernel
def gather(table: lm.f32["R", "D"], index: lm.i64["C"], out: lm.f32["C", "D"]):
    for i, d in lm.grid(out.shape):
        out[i, d] = table[index[i], d]


@lm.kernel
def segment_sum(values: lm.f32["E", "D"], node: lm.i64["E"], out: lm.f32["N", "D"]):
    for e in range(E):
        for d in range(D):
            out[node[e], d] += values[e, d]

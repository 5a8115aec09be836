"""Cholesky's factorization, of one symmetric or Hermitian matrix: the lower triangular `L` with `L L^H = x`.

The loops are those of the upper triangular `L^H`, whose rows are contiguous: each row, once it is complete, is subtracted
from those below.
"""

from __future__ import annotations

import numpy as np

from ..api.kernels import dtype, empty, kernel, parallel, register_kernel
from .blocks import BLOCK, clear_padding, copy, is_large, solve_lower

T = dtype("T")


@register_kernel("graph.cholesky", inline=True, lanes=False, when=lambda op, target: is_large(op.shape()[-1]))
@kernel
def blocked_cholesky(x: T["N", "N"], factor: T["N", "N"]):
    n = x.shape[0]
    count = (n + BLOCK - 1) // BLOCK
    u = empty((count, count * BLOCK, BLOCK), T)
    clear_padding(u, n, n)
    for i in parallel(n):
        for k in parallel(count):
            for j in parallel(min(BLOCK, n - k * BLOCK)):
                u[k, i, j] = np.conjugate(x[k * BLOCK + j, i])
    corner = empty((BLOCK, BLOCK), T)
    row = empty((count, BLOCK, BLOCK), T)
    least = 1.0
    for k in range(count):
        top = k * BLOCK
        copy(corner, u[k, top : top + BLOCK])
        least = factor_rows(corner, BLOCK, min(BLOCK, n - top), least)
        copy(u[k, top : top + BLOCK], corner)
        for behind in parallel(k + 1, count):
            beside = empty((BLOCK, BLOCK), T)
            solve_lower(beside, corner, u[behind, top : top + BLOCK], BLOCK, True, False, T(0))
            for i in parallel(BLOCK):
                for j in parallel(BLOCK):
                    value = beside[i, j]
                    u[behind, top + i, j] = value
                    row[behind, i, j] = value
        for behind in parallel(k + 1, count):
            columns = empty((BLOCK, BLOCK), T)
            copy(columns, row[behind])
            for r in range(k + 1, behind + 1):
                u[behind, r * BLOCK : r * BLOCK + BLOCK] -= np.conjugate(row[r].T) @ columns
    holds = least > 0
    for k in parallel(count):
        for i in parallel(min(BLOCK, n - k * BLOCK)):
            for j in parallel(n):
                value = np.where(j <= k * BLOCK + i, np.conjugate(u[k, j, i]), 0.0)
                factor[k * BLOCK + i, j] = np.where(holds, value, np.nan)


@register_kernel("graph.cholesky", inline=True)
@kernel
def cholesky(x: T["N", "N"], factor: T["N", "N"]):
    n = x.shape[0]
    u = empty((n, n), T)
    for i in parallel(n):
        for j in parallel(i, n):
            u[i, j] = np.conjugate(x[j, i])
    holds = factor_rows(u, n, n, 1.0) > 0
    for i in parallel(n):
        for j in parallel(n):
            value = np.where(j <= i, np.conjugate(u[j, i]), 0.0)
            factor[i, j] = np.where(holds, value, np.nan)


def factor_rows(u, n, steps, least):
    """Factor an upper triangle of `n` rows in a number of steps; the least of its pivots and `least`, NaN where one is."""
    for k in range(steps):
        pivot = u[k, k].real
        root = np.sqrt(pivot)
        u[k, k] = root
        for j in parallel(k + 1, n):
            u[k, j] = u[k, j] / root
        for i in parallel(k + 1, n):
            multiplier = np.conjugate(u[k, i])
            for j in parallel(i, n):
                u[i, j] = u[i, j] - multiplier * u[k, j]
        least = min(least, pivot)
    return least

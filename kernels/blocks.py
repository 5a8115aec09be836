"""Blocks of large matrices: those that a factorization changes lie in local memory by block of columns, row and column.

A factorization by blocks factors a block of columns with the loops for small matrices, solves the blocks beside it with its
triangle, and updates the blocks after it by products of static sizes, which get register tiles. Rows and columns are whole
blocks; no result depends on what lies beyond the matrix, which starts as 0 and is updated like the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.kernels import parallel

BLOCK = 64
"""Columns of a block. Measured: the loops within a block take as long as those of a block half as wide plus the products."""


def is_large(*sizes: Any) -> bool:
    """Whether matrices of these sizes are factored in blocks."""
    return min(sizes) > BLOCK


def clear_padding(blocks, rows, columns):
    """Let what lies beyond `rows` and `columns` be 0."""
    count, all_rows, width = blocks.shape  # a width below `BLOCK` is that of the only block
    for i in parallel(all_rows):
        for j in parallel(columns - (count - 1) * BLOCK, width):
            blocks[count - 1, i, j] = 0
    for k in parallel(count):
        for i in parallel(rows, all_rows):
            for j in parallel(width):
                blocks[k, i, j] = 0


def clear(a):
    """Let all elements of a matrix be 0."""
    for i in parallel(a.shape[0]):
        for j in parallel(a.shape[1]):
            a[i, j] = 0


def copy(to, source):
    """Copy a matrix."""
    for i in parallel(to.shape[0]):
        for j in parallel(to.shape[1]):
            to[i, j] = source[i, j]


def solve_lower(x, factor, right, size, adjoint, unit, zero):
    """Let `size` rows of `x` be the solution of `factor x = right`, with a lower triangle.

    `adjoint`: the triangle is that of the adjoint of `factor`; `unit`: its diagonal is 1.
    """
    for j in parallel(x.shape[1]):
        for i in range(size):
            known = zero
            for q in range(i):
                known += (np.conjugate(factor[q, i]) if adjoint else factor[i, q]) * x[q, j]
            rest = right[i, j] - known
            x[i, j] = rest if unit else rest / (np.conjugate(factor[i, i]) if adjoint else factor[i, i])


def solve_upper(x, factor, right, size, unit, zero):
    """Let `size` rows of `x` be the solution of `factor x = right`, with an upper triangle."""
    for j in parallel(x.shape[1]):
        for step in range(size):
            i = size - 1 - step
            known = zero
            for q in range(i + 1, size):
                known += factor[i, q] * x[q, j]
            rest = right[i, j] - known
            x[i, j] = rest if unit else rest / factor[i, i]

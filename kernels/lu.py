"""Triangular factors of one matrix with partial pivoting: `y` holds the upper one, below its diagonal the unit lower one."""

from __future__ import annotations

import numpy as np

from ..api.kernels import dtype, empty, i32, kernel, parallel, register_kernel
from .blocks import BLOCK, clear_padding, copy, is_large, solve_lower
from .elements import size

T = dtype("T")


@register_kernel("graph.lu", inline=True, lanes=False, when=lambda op, target: is_large(*op.shape()[-2:]))
@kernel
def blocked_lu(x: T["M", "N"], y: T["M", "N"], pivots: i32["K"]):
    """Each block of columns is factored in turn; those beside it get its row exchanges, and those after it are updated."""
    rows, columns = x.shape
    steps = pivots.shape[0]
    count, down = (columns + BLOCK - 1) // BLOCK, (rows + BLOCK - 1) // BLOCK
    a = empty((count, down * BLOCK, BLOCK), T)
    clear_padding(a, rows, columns)
    for i in parallel(rows):
        for k in parallel(count):
            for j in parallel(min(BLOCK, columns - k * BLOCK)):
                a[k, i, j] = x[i, k * BLOCK + j]
    panel = empty((down * BLOCK, BLOCK), T)
    column = empty(down * BLOCK, T)
    for k in range((steps + BLOCK - 1) // BLOCK):
        top = k * BLOCK
        wide = min(BLOCK, steps - top)
        for i in parallel(top, down * BLOCK):
            for j in parallel(BLOCK):
                panel[i, j] = a[k, i, j]
        for c in range(wide):
            at = top + c
            for i in parallel(at, rows):
                column[i] = panel[i, c]
            p = pivot_of(column, at, rows)
            pivots[at] = p
            exchange(panel, at, p)
            column[p] = column[at]
            divisor = divisor_of(panel[at, c])
            for i in parallel(at + 1, rows):
                multiplier = column[i] / divisor
                panel[i, c] = multiplier
                for j in parallel(c + 1, BLOCK):
                    panel[i, j] = panel[i, j] - multiplier * panel[at, j]
        for i in parallel(top, down * BLOCK):
            for j in parallel(BLOCK):
                a[k, i, j] = panel[i, j]
        for before in parallel(k):
            for c in range(wide):
                exchange(a[before], top + c, pivots[top + c])
        for behind in parallel(k + 1, count):
            for c in range(wide):
                exchange(a[behind], top + c, pivots[top + c])
            above = empty((BLOCK, BLOCK), T)
            solve_lower(above, panel[top : top + BLOCK], a[behind, top : top + BLOCK], BLOCK, False, True, T(0))
            copy(a[behind, top : top + BLOCK], above)
            for r in range(k + 1, down):
                a[behind, r * BLOCK : r * BLOCK + BLOCK] -= panel[r * BLOCK : r * BLOCK + BLOCK] @ above
    for i in parallel(rows):
        for k in parallel(count):
            for j in parallel(min(BLOCK, columns - k * BLOCK)):
                y[i, k * BLOCK + j] = a[k, i, j]


@register_kernel("graph.lu", inline=True, lanes=False)
@kernel
def lu(x: T["M", "N"], y: T["M", "N"], pivots: i32["K"]):
    rows, columns = x.shape
    copy(y, x)
    column = empty(rows, T)  # what vectors hold; those of `y` are not contiguous
    for k in range(pivots.shape[0]):
        for i in parallel(k, rows):
            column[i] = y[i, k]
        p = pivot_of(column, k, rows)
        pivots[k] = p
        exchange(y, k, p)
        column[p] = column[k]
        divisor = divisor_of(y[k, k])
        for i in parallel(k + 1, rows):
            column[i] = column[i] / divisor
        for i in parallel(k + 1, rows):
            multiplier = column[i]
            y[i, k] = multiplier
            for j in parallel(k + 1, columns):
                y[i, j] = y[i, j] - multiplier * y[k, j]


@register_kernel("graph.lu", inline=True, lanes=True)
@kernel
def lu_in_lanes(x: T["M", "N"], y: T["M", "N"], pivots: i32["K"]):
    """As `lu`; where each lane has its own pivot, a comparison of each row takes less time than a gather."""
    rows, columns = x.shape
    copy(y, x)
    for k in range(pivots.shape[0]):
        largest = T(-1).real
        p = i32(k)
        for i in range(k, rows):
            one = size(y[i, k])
            p = np.where(one > largest, i32(i), p)
            largest = np.where(one > largest, one, largest)
        pivots[k] = p
        for j in parallel(columns):
            here = y[k, j]
            for i in range(k + 1, rows):
                there = y[i, j]
                y[i, j] = np.where(i32(i) == p, here, there)
                here = np.where(i32(i) == p, there, here)
            y[k, j] = here
        divisor = divisor_of(y[k, k])
        for i in parallel(k + 1, rows):
            multiplier = y[i, k] / divisor
            y[i, k] = multiplier
            for j in parallel(k + 1, columns):
                y[i, j] = y[i, j] - multiplier * y[k, j]


def pivot_of(column, first, rows):
    """The first row, from `first` on, of the element that is largest; NaN are no pivots."""
    largest = -1.0
    for i in range(first, rows):
        one = size(column[i])
        largest = max(largest, np.where(one == one, one, -1.0))
    found = i32(rows - 1)
    for i in range(first, rows):
        found = min(found, np.where(size(column[i]) == largest, i32(i), i32(rows - 1)))
    return found


def divisor_of(pivot):
    """The pivot, or 1 where it is 0: then the column below it is 0 as well."""
    return np.where(size(pivot) == 0, 1, pivot)


def exchange(a, one, other):
    """Exchange two rows."""
    for j in parallel(a.shape[1]):
        x, y = a[one, j], a[other, j]
        a[one, j] = y
        a[other, j] = x

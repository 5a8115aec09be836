"""Householder's factorization of one matrix into reflectors and an upper triangle, and products of reflectors."""

from __future__ import annotations

import numpy as np

from ..api.kernels import dtype, empty, kernel, parallel, register_kernel
from .blocks import BLOCK, clear, clear_padding, copy, is_large
from .reflectors import combine, make_reflector, reflect_block, reflect_columns

T = dtype("T")


@register_kernel("graph.householder", inline=True, lanes=False, when=lambda op, target: is_large(*op.shape()[-2:]))
@kernel
def blocked_householder(x: T["M", "N"], v: T["M", "K"], r: T["K", "N"]):
    """The reflectors of one block of columns after the other, which are then applied to the later blocks."""
    rows, columns = x.shape
    steps = v.shape[1]
    count, down = (columns + BLOCK - 1) // BLOCK, (rows + BLOCK - 1) // BLOCK
    a = empty((count, down * BLOCK, BLOCK), T)
    clear_padding(a, rows, columns)
    for i in parallel(rows):
        for k in parallel(count):
            for j in parallel(min(BLOCK, columns - k * BLOCK)):
                a[k, i, j] = x[i, k * BLOCK + j]
    vectors = empty((down * BLOCK, BLOCK), T)
    inverse = empty((BLOCK, BLOCK), T)
    vector = empty(rows, T)
    panel = empty((down * BLOCK, BLOCK), T)
    for k in range((steps + BLOCK - 1) // BLOCK):
        top = k * BLOCK
        wide = min(BLOCK, steps - top)
        for i in parallel(top, rows):
            for j in parallel(BLOCK):
                panel[i, j] = a[k, i, j]
        clear(vectors)
        for c in range(wide):
            at = top + c
            for i in range(at, rows):
                vector[i] = panel[i, c]
            on_diagonal = make_reflector(vector, at, rows)
            for i in parallel(at, rows):
                vectors[i, c] = vector[i]
            reflect_columns(panel, vector, at, rows, c + 1, T(0))
            panel[at, c] = on_diagonal
        for i in parallel(top, rows):
            for j in parallel(BLOCK):
                a[k, i, j] = panel[i, j]
        for i in parallel(rows):
            for j in parallel(wide):
                v[i, top + j] = vectors[i, j]
        combine(inverse, vectors, k)
        for behind in parallel(k + 1, count):
            inner = empty((BLOCK, BLOCK), T)
            weights = empty((BLOCK, BLOCK), T)
            reflect_block(a[behind], vectors, inverse, inner, weights, k, True, T(0))
    for i in parallel(steps):
        for k in parallel(count):
            for j in parallel(min(BLOCK, columns - k * BLOCK)):
                r[i, k * BLOCK + j] = np.where(i <= k * BLOCK + j, a[k, i, j], 0)


@register_kernel("graph.householder", inline=True)
@kernel
def householder(x: T["M", "N"], v: T["M", "K"], r: T["K", "N"]):
    rows, columns = x.shape
    a = empty((rows, columns), T)
    copy(a, x)
    vector = empty(rows, T)
    for k in range(v.shape[1]):
        for i in range(k, rows):
            vector[i] = a[i, k]
        on_diagonal = make_reflector(vector, k, rows)
        for i in parallel(rows):
            v[i, k] = vector[i]
        reflect_columns(a, vector, k, rows, k + 1, T(0))
        a[k, k] = on_diagonal
    for i in parallel(v.shape[1]):
        for j in parallel(columns):
            r[i, j] = np.where(i <= j, a[i, j], 0)


@register_kernel("graph.householder_product", inline=True)
@kernel
def householder_product(v: T["M", "K"], q: T["M", "N"]):
    """The last block of reflectors comes first: it leaves unchanged the rows and columns that only the others reach."""
    rows, columns = q.shape
    steps = v.shape[1]
    count, down, blocks = (columns + BLOCK - 1) // BLOCK, (rows + BLOCK - 1) // BLOCK, (steps + BLOCK - 1) // BLOCK
    a = empty((count, down * BLOCK, min(columns, BLOCK)), T)
    width = a.shape[2]
    clear_padding(a, rows, columns)
    for i in parallel(rows):
        for k in parallel(count):
            for j in parallel(min(BLOCK, columns - k * BLOCK)):
                a[k, i, j] = np.where(i == k * BLOCK + j, 1, T(0))
    vectors = empty((down * BLOCK, BLOCK), T)
    inverse = empty((BLOCK, BLOCK), T)
    for step in range(blocks):
        k = blocks - 1 - step
        clear(vectors)
        for i in parallel(k * BLOCK, rows):
            for j in parallel(min(BLOCK, steps - k * BLOCK)):
                vectors[i, j] = v[i, k * BLOCK + j]
        combine(inverse, vectors, k)
        for behind in parallel(k, count):
            inner = empty((BLOCK, width), T)
            weights = empty((BLOCK, width), T)
            reflect_block(a[behind], vectors, inverse, inner, weights, k, False, T(0))
    for i in parallel(rows):
        for k in parallel(count):
            for j in parallel(min(BLOCK, columns - k * BLOCK)):
                q[i, k * BLOCK + j] = a[k, i, j]

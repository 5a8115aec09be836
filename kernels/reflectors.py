"""Householder's reflectors `I - v v^T`, or `I - tau v v^H` of complex matrices, in the language of kernels.

The product of the reflectors of a block of columns is `I - V T V^H`. The inverse of `T` is a triangle of `V^H V` (Puglisi,
1992), so that two products and a triangular solve reflect each other block.
"""

from __future__ import annotations

import numpy as np

from ..api.kernels import parallel
from .blocks import BLOCK, clear, solve_lower, solve_upper
from .elements import size, square


def make_reflector(v, start, rows):
    """Make of the elements `v[start:rows]` the vector whose reflector leaves a real multiple of the first unit vector.

    Returns that multiple. What is before and behind of them becomes 0. Elements are divided by the largest one before their
    length is computed, so that no square overflows.
    """
    rest = 0.0
    for i in range(start + 1, rows):
        rest = max(rest, size(v[i]))
    first = v[start]
    largest = max(rest, size(first))
    is_zero = rest == 0 and first.imag == 0
    divisor = np.where(is_zero, 1, largest)
    for i in parallel(start + 1, rows):
        v[i] = v[i] / divisor
    total = 0.0
    for i in range(start + 1, rows):
        total += square(v[i])
    alpha = np.where(is_zero, 0, first / divisor)
    length = np.sqrt(square(alpha) + total)
    signed = np.where(alpha.real < 0, -length, length)
    scale = np.sqrt(length * (length + abs(alpha.real)))
    scale = np.where(is_zero, 0, 1 / np.where(is_zero, 1, scale))
    for i in parallel(start):
        v[i] = 0
    for i in parallel(rows, v.shape[0]):
        v[i] = 0
    v[start] = (alpha + signed) * scale
    for i in parallel(start + 1, rows):
        v[i] = v[i] * scale
    return np.where(is_zero, first.real, -(signed * divisor))


def slope_of(first):
    """The imaginary part of the inverse of `tau`, by the first element of a vector."""
    return -(first.imag / np.where(first.real == 0, 1, first.real))


def tau_of(first):
    """The number `tau` of the reflector `I - tau v v^H`, by the first element of its vector."""
    slope = slope_of(first)
    whole = 1 + slope * slope
    return complex(1 / whole, -slope / whole)


def weighted(first, x):
    """`x` times the conjugate of `tau`, by the first element of the vector."""
    slope = slope_of(first)
    whole = 1 + slope * slope
    return x * complex(1 / whole, slope / whole)


def reflect_columns(a, v, start, rows, first, zero):
    """Apply the adjoint of the reflector that begins at `start` to the columns of `a` from `first` on."""
    for j in parallel(first, a.shape[1]):
        total = zero
        for i in range(start, rows):
            total += np.conjugate(v[i]) * a[i, j]
        if np.iscomplexobj(zero):
            total = weighted(v[start], total)
        for i in range(start, rows):
            a[i, j] = a[i, j] - v[i] * total


def combine(inverse, v, k):
    """Let `inverse` be that of `T`, of the vectors `v` of a block, which begin in block `k` of rows."""
    clear(inverse)
    for r in range(k, v.shape[0] // BLOCK):
        block = v[r * BLOCK : r * BLOCK + BLOCK]
        inverse += np.conjugate(block.T) @ block
    for i in parallel(BLOCK):
        if np.iscomplexobj(v[0, 0]):
            inverse[i, i] = complex(1, slope_of(v[k * BLOCK + i, i]))
        else:
            inverse[i, i] = 1


def reflect_block(a, v, inverse, inner, weights, k, adjoint, zero):
    """Apply the product of the reflectors of a block, or its adjoint, to the columns of `a`, from block `k` of rows on."""
    clear(inner)
    for r in range(k, v.shape[0] // BLOCK):
        inner += np.conjugate(v[r * BLOCK : r * BLOCK + BLOCK].T) @ a[r * BLOCK : r * BLOCK + BLOCK]
    if adjoint:
        solve_lower(weights, inverse, inner, BLOCK, True, not np.iscomplexobj(zero), zero)
    else:
        solve_upper(weights, inverse, inner, BLOCK, not np.iscomplexobj(zero), zero)
    for r in range(k, v.shape[0] // BLOCK):
        a[r * BLOCK : r * BLOCK + BLOCK] -= v[r * BLOCK : r * BLOCK + BLOCK] @ weights


def multiply_out(rows, q, sums, n, width, line, offset, reverse, zero):
    """Let row `i` of `rows` be column `i` of the product of the reflectors that are the rows; row `k` begins at `k + offset`.

    Rows have zeros from `n` to `width`, a multiple of `line`; loops over parts of them begin at such. `q`: memory of that size.
    """
    for i in parallel(n):
        for j in parallel(width):
            q[i, j] = np.where(i == j, 1, zero)
    for step in range(n - offset):
        k = n - offset - 1 - step
        first = k + offset
        begin = first // line * line
        for j in parallel(begin, width):
            sums[j] = 0
        for i in range(first, n):
            factor = np.conjugate(rows[k, i])
            for j in parallel(begin, width):
                sums[j] += factor * q[i, j]
        if np.iscomplexobj(zero):
            tau = tau_of(rows[k, first])
            for j in parallel(first, n):
                sums[j] = tau * sums[j]
        for i in parallel(first, n):
            factor = rows[k, i]
            for j in parallel(begin, width):
                q[i, j] -= factor * sums[j]
    for i in parallel(n):
        for j in parallel(n):
            rows[n - 1 - i if reverse else i, j] = q[j, i]

"""Singular values and vectors of one square matrix.

Householder's reflectors from both sides leave a real bidiagonal matrix (Golub and Kahan, 1965), QR steps with shifts make it
diagonal (Golub and Reinsch, 1970; the steps are those of LAPACK's bdsqr, from the last row up). The matrix of the steps is
transposed and its rows and columns are reversed: large elements then stand last, and the steps find small values first. They
are computed in f64, since the roundings of all of them add up.
"""

from __future__ import annotations

import numpy as np

from ..api.kernels import dtype, empty, f64, i32, kernel, parallel, register_kernel
from .eigenvectors import MOST_STEPS, phase_of, rank_of
from .elements import size
from .reflectors import make_reflector, multiply_out, tau_of, weighted
from .rotations import COLUMNS, STEPS, gather_columns, rotate, scatter_columns

T = dtype("T")
TINY = float(np.sqrt(np.finfo(np.float64).tiny))
"""The threshold below which a number is negligible beside 1; squares of larger numbers are not subnormal."""


def svd_by(alignment):
    """The kernel whose loops over parts of rows begin and end at multiples of so many bytes, those of a vector."""

    @kernel
    def svd(x: T["N", "N"], s: T.real["N"], u: T["N", "N"], vh: T["N", "N"]):
        n = x.shape[0]
        line = 8 * alignment // np.finfo(T).bits
        width = (n + line) // line * line  # each row ends in a zero
        a = empty((n, width), T)
        lefts = empty((n, width), T)
        rights = empty((n, width), T)
        d = empty(n, f64)
        e = empty(n + 1, f64)
        sums = empty(width, T)
        left = empty(width, T)
        right = empty(width, T)
        divisor, is_finite = scale_matrix(a, x, T(0))
        for k in range(n):
            reflect(a, d, e, sums, left, right, k, line, T(0))
            for j in parallel(width):
                lefts[k, j] = left[j]
                rights[k, j] = right[j]
        multiply_out(lefts, a, sums, n, width, line, 0, True, T(0))
        multiply_out(rights, a, sums, n, width, line, 1, True, T(0))
        turns = empty((4, STEPS, n), T.real)
        lows = empty(STEPS, i32)
        highs = empty(STEPS, i32)
        count = (n + COLUMNS - 1) // COLUMNS
        left_blocks = empty((count, n, COLUMNS), T)
        right_blocks = empty((count, n, COLUMNS), T)
        gather_columns(left_blocks, lefts, n)
        gather_columns(right_blocks, rights, n)
        first = np.where(is_finite, 0, n - 1)
        for _ in range((MOST_STEPS * n + STEPS - 1) // STEPS):
            if first < n - 1:
                for step in range(STEPS):
                    last = end_of(d, e, first, np.finfo(T).eps)
                    lows[step] = first
                    highs[step] = max(first, last)
                    if first < last:
                        take_step(d, e, first, last, np.finfo(T).eps, turns[:, step])
                    first = np.where(first >= last, min(first + 1, n - 1), first)
                rotate(left_blocks, turns[0], turns[1], lows, highs)
                rotate(right_blocks, turns[2], turns[3], lows, highs)
        scatter_columns(lefts, left_blocks, n)
        scatter_columns(rights, right_blocks, n)
        values = empty(n, T.real)
        order = empty(n, i32)
        sort_values(values, order, d)
        nan = np.where(is_finite, T(1).real, np.nan)
        for k in parallel(n):
            i = int(order[k])
            s[k] = -values[i] * (divisor * nan)
            phase = phase_of(lefts, i, n, T(1))
            of_left = phase * nan
            of_right = np.conjugate(phase) * np.where(d[i] < 0, -nan, nan)
            for j in parallel(n):
                u[j, k] = of_left * lefts[i, j]
                vh[k, j] = of_right * np.conjugate(rights[i, j])

    return svd


def values_by(alignment):
    """As `svd_by`, for values alone."""

    @kernel
    def svd_values(x: T["N", "N"], s: T.real["N"]):
        n = x.shape[0]
        line = 8 * alignment // np.finfo(T).bits
        width = (n + line) // line * line
        a = empty((n, width), T)
        d = empty(n, f64)
        e = empty(n + 1, f64)
        sums = empty(width, T)
        left = empty(width, T)
        right = empty(width, T)
        divisor, is_finite = scale_matrix(a, x, T(0))
        for k in range(n):
            reflect(a, d, e, sums, left, right, k, line, T(0))
        first = np.where(is_finite, 0, n - 1)
        for _ in range((MOST_STEPS * n + STEPS - 1) // STEPS):
            if first < n - 1:
                for _ in range(STEPS):
                    last = end_of(d, e, first, np.finfo(T).eps)
                    if first < last:
                        take_step(d, e, first, last, np.finfo(T).eps, ())
                    first = np.where(first >= last, min(first + 1, n - 1), first)
        values = empty(n, T.real)
        order = empty(n, i32)
        sort_values(values, order, d)
        scale = np.where(is_finite, divisor, np.nan)
        for k in parallel(n):
            s[k] = -values[int(order[k])] * scale

    return svd_values


def _has_vectors(op, target):
    return op.has_vectors


def _has_wide_vectors(op, target):
    return op.has_vectors and target.vector_bits > 256


def _is_wide(op, target):
    return target.vector_bits > 256


register_kernel("graph.square_svd", inline=True, name="svd_512", when=_has_wide_vectors)(svd_by(64))
register_kernel("graph.square_svd", inline=True, when=_has_vectors)(svd_by(32))
register_kernel("graph.square_svd", inline=True, name="svd_values_512", when=_is_wide)(values_by(64))
register_kernel("graph.square_svd", inline=True)(values_by(32))


def scale_matrix(a, x, zero):
    """Copy the matrix, scaled to a largest element of 1, and zeros beside it; the divisor, and whether all were finite."""
    n, width = a.shape
    largest = zero.real
    for i in range(n):
        for j in range(n):
            largest = max(largest, size(x[i, j]))
    is_finite = largest < np.inf
    divisor = np.where(is_finite & (largest > 0), largest, 1)
    for i in parallel(n):
        for j in parallel(n, width):
            a[i, j] = 0
        for j in parallel(n):
            a[i, j] = np.where(is_finite, x[i, j] / divisor, 0)
    return divisor, is_finite


def reflect(a, d, e, sums, left, right, k, line, zero):
    """Reflect column `k` and row `k` of a matrix; the vectors of both reflectors are kept in `left` and `right`."""
    n = d.shape[0]
    width = a.shape[1]
    for i in range(k, n):
        left[i] = a[i, k]
    d[n - 1 - k] = make_reflector(left, k, n)
    begin = k // line * line  # elements up to `k` are not read again
    for j in parallel(width):
        sums[j] = 0
    for i in range(k, n):
        factor = np.conjugate(left[i])
        for j in parallel(begin, width):
            sums[j] += factor * a[i, j]
    if np.iscomplexobj(zero):
        for j in parallel(begin, width):
            sums[j] = weighted(left[k], sums[j])
    for j in parallel(k + 1, n):
        a[k, j] -= left[k] * sums[j]
    for j in parallel(k + 1, n + 1):
        right[j] = np.conjugate(a[k, j])
    e[n - 1 - k] = make_reflector(right, k + 1, n)
    for i in parallel(k + 1, n):
        factor = left[i]
        for j in parallel(begin, width):
            a[i, j] -= factor * sums[j]
        total = zero
        for j in range(begin, width):
            total += a[i, j] * right[j]
        if np.iscomplexobj(zero):
            total = total * tau_of(right[k + 1])
        for j in parallel(begin, width):
            a[i, j] -= np.conjugate(right[j]) * total


def end_of(d, e, first, eps):
    """The end of the block that begins at `first`: the first element with a negligible one behind it."""
    n = d.shape[0]
    last = n - 1
    for i in range(first, n - 1):
        bound = float(eps) * (abs(d[i]) + abs(d[i + 1])) + TINY
        last = np.where((abs(e[i + 1]) <= bound) & (i < last), i, last)
    return last


def shift_of(d, e, low, high, eps):
    """The smaller singular value of the first two rows of a block; 0 where a value of the block is about 0."""
    x, y, beside = abs(d[low]), abs(d[low + 1]), abs(e[low + 1])
    whole = np.sqrt((x + y) * (x + y) + beside * beside) + np.sqrt((x - y) * (x - y) + beside * beside)
    shift = 2 * min(x, y) * (max(x, y) / max(whole, TINY))
    least, most = x, 0.0
    for i in range(low, high + 1):
        least = min(least, abs(d[i]))
        most = max(most, abs(d[i]))
    is_singular = least <= float(eps) * most
    is_small = shift * shift <= float(eps) * (d[high] * d[high])
    return np.where(is_singular | is_small, 0.0, shift)


def take_step(d, e, low, high, eps, turns):
    """Chase the bulge that the first rotation makes from row `high` up to row `low`.

    `turns` keeps cosines and sines, of rows of the left side, then of the right one.
    """
    shift = shift_of(d, e, low, high, eps)
    last = d[high]
    ratio = np.where(last == 0, 0, shift / np.where(last == 0, 1, last))
    g = (abs(last) - shift) * (np.where(last < 0, -1.0, 1.0) + ratio)
    h = e[high]
    for k in range(high - low):
        i = high - k
        c, s, r = rotation(g, h)
        e[i + 1] = r
        here, beside, before = d[i], e[i], d[i - 1]
        x, y = c * here + s * beside, s * before
        beside, before = c * beside - s * here, c * before
        p, q, r = rotation(x, y)
        d[i] = r
        g = p * beside + q * before
        d[i - 1] = p * before - q * beside
        h = q * e[i - 1]
        e[i - 1] = p * e[i - 1]
        if len(turns):
            turns[0, i - 1] = p
            turns[1, i - 1] = q
            turns[2, i - 1] = c
            turns[3, i - 1] = s
    e[low + 1] = g
    e[high + 1] = 0


def rotation(x, y):
    """The cosine and the sine that turn `(x, y)` into `(r, 0)`, and `r`."""
    r = np.sqrt(x * x + y * y)
    divisor = np.where(r == 0, 1, r)
    return np.where(r == 0, 1, x / divisor), y / divisor, r


def sort_values(values, order, d):
    """Let `values` be the negated magnitudes of `d`, and `order` their numbers in ascending order."""
    n = d.shape[0]
    for i in parallel(n):
        values[i] = -abs(d[i])
    for i in range(n):
        order[rank_of(values, i, n)] = i

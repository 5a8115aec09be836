"""Eigenvalues and eigenvectors of one symmetric or Hermitian matrix, by its lower triangle.

Householder's reflections of rows and columns leave a real tridiagonal matrix, whose eigenvalues implicit QL steps find
(EISPACK's tql2, shifts as in LAPACK's steqr). Eigenvectors are rows until they are stored.
"""

from __future__ import annotations

import numpy as np

from ..api.kernels import dtype, empty, i32, kernel, parallel, register_kernel
from .eigenvectors import MOST_STEPS, phase_of, rank_of
from .elements import size
from .reflectors import make_reflector, multiply_out, tau_of
from .rotations import COLUMNS, STEPS, gather_columns, rotate, scatter_columns

T = dtype("T")


def eigh_by(alignment):
    """The kernel whose loops over parts of rows begin and end at multiples of so many bytes, those of a vector."""

    @kernel
    def eigh(x: T["N", "N"], w: T.real["N"], v: T["N", "N"]):
        n = x.shape[0]
        line = 8 * alignment // np.finfo(T).bits
        width = (n + line - 1) // line * line
        a = empty((n, width), T)
        vectors = empty((n, width), T)
        d = empty(n, T.real)
        e = empty(n, T.real)
        largest = T(0).real
        for i in range(n):
            for j in range(i):
                largest = max(largest, size(x[i, j]))
            largest = max(largest, abs(x[i, i].real))
        is_finite = largest < np.inf
        divisor = np.where(is_finite & (largest > 0), largest, 1)
        for i in parallel(n):
            for j in parallel(n, width):
                a[i, j] = 0
        for i in range(n):
            for j in range(i):
                scaled = np.where(is_finite, x[i, j] / divisor, 0)
                a[j, i] = np.conjugate(scaled)
                a[i, j] = scaled
            a[i, i] = np.where(is_finite, x[i, i].real / divisor, 0)
        # reflect rows and columns until the diagonal and its neighbours remain; row `k` of `vectors` is reflector `k`
        p = empty(width, T)
        vector = empty(width, T)
        for k in range(n - 1):
            d[k] = a[k, k].real
            for j in parallel(k + 1, n):
                vector[j] = np.conjugate(a[k, j])
            e[k] = make_reflector(vector, k + 1, n)
            for j in parallel(width):
                vectors[k, j] = vector[j]
                p[j] = 0
            begin = (k + 1) // line * line
            for i in range(k + 1, n):
                factor = vector[i]
                for j in parallel(begin, width):
                    p[j] += np.conjugate(a[i, j]) * factor
            half = T(0.5)
            if np.iscomplexobj(half):
                tau = tau_of(vector[k + 1])
                half = half * tau
                for j in parallel(k + 1, n):
                    p[j] = p[j] * tau
            inner = T(0)
            for j in range(k + 1, n):
                inner += np.conjugate(p[j]) * vector[j]
            half = inner * half
            for j in parallel(k + 1, n):
                p[j] -= half * vector[j]
            for i in parallel(k + 1, n):
                this, other = vector[i], p[i]
                for j in parallel(begin, width):
                    a[i, j] -= np.conjugate(p[j]) * this + np.conjugate(vector[j]) * other
        d[n - 1] = a[n - 1, n - 1].real
        e[n - 1] = 0
        multiply_out(vectors, a, p, n, width, line, 1, False, T(0))
        # QL steps until all neighbours of the diagonal are negligible, whose rotations are kept and applied together
        cosines = empty((STEPS, n), T.real)
        sines = empty((STEPS, n), T.real)
        lows = empty(STEPS, i32)
        highs = empty(STEPS, i32)
        blocks = empty(((n + COLUMNS - 1) // COLUMNS, n, COLUMNS), T)
        gather_columns(blocks, vectors, n)
        first = np.where(is_finite, 0, n - 1)
        for _ in range((MOST_STEPS * n + STEPS - 1) // STEPS):
            if first < n - 1:
                for step in range(STEPS):
                    first = take_step(d, e, first, cosines[step], sines[step], lows, highs, step, T(0).real)
                rotate(blocks, cosines, sines, lows, highs)
        scatter_columns(vectors, blocks, n)
        scale = np.where(is_finite, divisor, np.nan)
        order = empty(n, i32)
        for i in range(n):
            order[rank_of(d, i, n)] = i
        for k in parallel(n):
            i = int(order[k])
            phase = np.where(is_finite, phase_of(vectors, i, n, T(1)), np.nan)
            w[k] = d[i] * scale
            for j in parallel(n):
                v[j, k] = phase * vectors[i, j]

    return eigh


register_kernel("graph.eigh", inline=True, name="eigh_512", when=lambda op, target: target.vector_bits > 256)(eigh_by(64))
eigh = register_kernel("graph.eigh", inline=True)(eigh_by(32))


def take_step(d, e, first, cosines, sines, lows, highs, step, zero):
    """One step on the block that begins at `first`, or none if its value is found; where the next block begins."""
    n = d.shape[0]
    eps = np.finfo(d.dtype).eps
    last = n - 1
    for i in range(first, n - 1):  # the end of the block: the first element beside the diagonal that is negligible
        last = np.where((abs(e[i]) <= eps * (abs(d[i]) + abs(d[i + 1]))) & (i < last), i, last)
    lows[step] = first
    highs[step] = max(first, last)
    if first < last:
        beside = e[first]
        g = (d[first + 1] - d[first]) / (2 * beside)
        r = np.sqrt(g * g + 1)
        g = d[last] - d[first] + beside / (g + np.where(g < 0, -r, r))
        c, s, p = zero + 1, zero + 1, zero
        for k in range(last - first):
            i = last - 1 - k
            f, h = s * e[i], c * e[i]
            r = np.sqrt(f * f + g * g)
            e[i + 1] = r
            inverse = 1 / np.where(r == 0, 1, r)
            s = f * inverse
            c = np.where(r == 0, 1, g * inverse)
            g = d[i + 1] - p
            r = (d[i] - g) * s + 2 * (c * h)
            p = s * r
            d[i + 1] = g + p
            g = c * r - h
            cosines[i] = c
            sines[i] = s
        d[first] -= p
        e[first] = g
        e[last] = 0
    return np.where(first >= last, min(first + 1, n - 1), first)

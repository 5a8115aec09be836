"""Orders and phases of eigenvectors and singular vectors, in the language of kernels."""

from __future__ import annotations

import numpy as np

from .elements import magnitude

MOST_STEPS = 30
"""Largest number of steps for an eigenvalue: LAPACK's limit; two are usual."""


def phase_of(rows, i, n, one):
    """The number of magnitude 1 that makes positive the first element of row `i` at least half as large as the largest."""
    largest = one.real * 0
    for j in range(n):
        largest = max(largest, magnitude(rows[i, j]))
    phase = one
    for step in range(n):
        x = rows[i, n - 1 - step]
        size = magnitude(x)
        if np.iscomplexobj(one):
            here = np.where(size == 0, one, np.conjugate(x) / np.where(size == 0, 1, size))
        else:
            here = np.where(x < 0, -one, one)
        phase = np.where(size >= largest * 0.5, here, phase)
    return phase


def rank_of(values, i, n):
    """The rank of element `i` in ascending order, equal ones in theirs."""
    rank = 0
    for j in range(n):
        before = (values[j] < values[i]) | ((values[j] == values[i]) & (j < i))
        rank += np.where(before, 1, 0)
    return rank

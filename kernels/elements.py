"""Functions of elements, real or complex, in the language of kernels."""

from __future__ import annotations

import numpy as np


def size(z):
    """The sum of the magnitudes of the parts, by which pivots and scales are chosen, as in LAPACK."""
    return abs(z.real) + abs(z.imag) if np.iscomplexobj(z) else abs(z)


def square(z):
    """The squared magnitude."""
    return z.real * z.real + z.imag * z.imag if np.iscomplexobj(z) else z * z


def magnitude(z):
    """The magnitude, without overflow."""
    if np.iscomplexobj(z):
        high, low = max(abs(z.real), abs(z.imag)), min(abs(z.real), abs(z.imag))
        ratio = low / np.where(high == 0, 1, high)
        return high * np.sqrt(1 + ratio * ratio)
    return abs(z)

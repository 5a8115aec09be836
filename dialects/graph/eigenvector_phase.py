"""The phase of eigenvectors and singular vectors.

Vectors have any sign in the literature, complex ones any phase; here the first component that is at least half as large as the
largest is real and positive, so that equal matrices have equal vectors on all machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ..types import numpy_dtype
from .complex_elements import Element, Field


def epsilon_of(element: Any) -> float:
    return float(np.finfo(numpy_dtype(element)).eps)


def np_phases(rows: np.ndarray) -> np.ndarray:
    """For each row the number of magnitude 1 that makes its first component at least half as large as the largest positive."""
    size = np.abs(rows)
    first = np.argmax(size >= np.max(size, axis=-1, keepdims=True, initial=0) / 2, axis=-1) if rows.shape[-1] else 0
    chosen = np.take_along_axis(rows, np.asarray(first)[..., None], -1) if rows.shape[-1] else np.ones((*rows.shape[:-1], 1))
    if np.iscomplexobj(rows):
        size = np.abs(chosen)
        return np.where(size == 0, 1, np.conj(chosen) / np.where(size == 0, 1, size)).astype(rows.dtype)
    return np.where(chosen < 0, -1, 1).astype(rows.dtype)


def phase_of(f: Field, n: int, get: Callable[[Any], Element]) -> Element:
    """As `np_phases`, of the vector with the components `get(j)`."""
    b = f.b
    with b.loop(n, "reduce", monoid="max", inits=[f.number(0)]) as j:
        j.give(f.magnitude(get(j.index)))
    half = b.scalar.mul(j.results[0], f.number(0.5))
    with b.loop(n, "seq", inits=[*f.const(1)]) as j:
        x = get(j.index * -1 + (n - 1))
        size = f.magnitude(x)
        j.give(*f.select(b.scalar.cmp("ge", size, half), _phase(f, x, size), tuple(j.carried)))
    return tuple(j.results)


def _phase(f: Field, x: Element, size: SSAValue) -> Element:
    """The number of magnitude 1 that makes a number of this magnitude positive."""
    s, zero, one = f.b.scalar, f.number(0), f.number(1)
    if not f.is_complex:
        return (s.select(s.cmp("lt", x[0], zero), f.number(-1), one),)
    is_zero = s.cmp("eq", size, zero)
    return f.select(is_zero, f.const(1), f.shrink(f.conj(x), s.select(is_zero, one, size)))

"""The combining functions of reductions, on NumPy scalars and vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

COMBINE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}


def combine(monoid: str, acc: tuple[Any, ...], x: tuple[Any, ...]) -> tuple[Any, ...]:
    """`acc` and then `x` by a monoid; (value, index) pairs for argmax and argmin, the smaller index on ties and among NaNs."""
    if monoid in COMBINE:
        return tuple([COMBINE[monoid](a, b) for a, b in zip(acc, x, strict=True)])
    (a, i), (b, j) = acc, x
    floats = np.asarray(a).dtype.kind == "f"
    old, new = (np.isnan(a), np.isnan(b)) if floats else (np.zeros_like(a, np.bool_), np.zeros_like(b, np.bool_))
    better = (b > a if monoid == "argmax" else b < a) | (new & ~old)
    equal = (a == b) | (old & new)
    take = (better & ~old) | (equal & (j < i))
    return np.where(take, b, a).astype(np.asarray(a).dtype)[()], np.where(take, j, i).astype(np.asarray(i).dtype)[()]


def reduce_lanes(monoid: str, vectors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Lane `l` with lane `l + lanes / 2`, down to one."""
    while len(vectors[0]) > 1:
        half = len(vectors[0]) // 2
        vectors = combine(monoid, tuple(v[:half] for v in vectors), tuple(v[half:] for v in vectors))
    return tuple(v[0] for v in vectors)

"""Plans of Fourier transforms: which passes, in which order, over which memory.

* A length whose prime factors are at most 31 is a transform by passes: one `graph.butterflies`.
* If it is long and there is nothing beside it, it is two of half the digits, each over columns that fit into a cache, with
  products by roots between them (Bailey, FFTs in external or hierarchical memory, 1990).
* Any other length is a convolution of powers of 2 (Bluestein, 1970).
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ..dialects.graph.complex import first_of_pairs
from ..dialects.graph.fft import roots_of_unity, table
from ..dialects.types import element_of, numpy_dtype, shape_of
from ._complex_arithmetic import Parts, multiply

MOST_PRIME = 31
ROW = 1 << 14
"""The longest row that is transformed by itself: its parts, twice, are in the second cache."""

_COST = {2: 3.0, 3: 2.9, 4: 1.7, 5: 2.5, 6: 2.0, 7: 2.9, 8: 1.45, 9: 2.1, 10: 2.0, 12: 1.8, 15: 2.2, 16: 1.4}
"""Of a pass with a radix, by the bits of the radix that it takes off: how long it takes, about."""


@lru_cache(maxsize=512)
def radices_of(n: int) -> tuple[int, ...]:
    """The radices of the passes, the greatest first; their product is `n`, whose prime factors are at most `MOST_PRIME`.

    >>> radices_of(1024), radices_of(1000), radices_of(7 * 31)
    ((16, 8, 8), (10, 10, 10), (31, 7))
    """

    @cache
    def best(rest: int) -> tuple[float, tuple[int, ...]]:
        if rest == 1:
            return 0.0, ()
        found = []
        for radix in (*_COST, *(p for p in range(11, MOST_PRIME + 1) if _is_prime(p))):
            if rest % radix == 0:
                cost, others = best(rest // radix)
                found.append((cost + _COST.get(radix, 0.6 * radix / math.log2(radix)) * math.log2(radix), (radix, *others)))
        return min(found)

    return tuple(sorted(best(n)[1], reverse=True))


def _is_prime(n: int) -> bool:
    return all(n % k for k in range(2, n))


def is_smooth(n: int) -> bool:
    """Whether all prime factors of a length are at most `MOST_PRIME`."""
    for p in range(2, MOST_PRIME + 1):
        while n % p == 0:
            n //= p
    return n == 1


def _const(b: Any, values: np.ndarray, like: SSAValue) -> SSAValue:
    return b.const(values.astype(numpy_dtype(element_of(like))))


def transform(b: Any, x: Parts, dim: int, direction: str) -> SSAValue:
    """The pairs of the transform of complex numbers along a dim."""
    shape = shape_of(x[0])
    outer, n, inner = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])
    flat = b.reshape(x[0], (outer, n, inner)), b.reshape(x[1], (outer, n, inner))
    return b.reshape(_transform(b, flat, direction), (*shape, 2))


def _transform(b: Any, x: Parts, direction: str) -> SSAValue:
    """The same of three dims, along the middle one."""
    outer, n, inner = shape_of(x[0])
    if n == 1 or 0 in (outer, inner):
        return b.interleave(*x)
    if not is_smooth(n):
        return _chirped(b, x, direction)
    if inner == 1 and n > ROW:
        return _in_two(b, x, direction)
    return _passes(b, x, direction)


def _passes(b: Any, x: Parts, direction: str) -> SSAValue:
    radices = radices_of(shape_of(x[0])[1])
    roots = b.const(table(radices, direction, numpy_dtype(element_of(x[0]))))
    return b.butterflies(*x, roots, radices=radices, direction=direction)


def split_length(n: int) -> tuple[int, int]:
    """Two factors of a length, as near to each other as there are."""
    first = next(k for k in range(math.isqrt(n), 0, -1) if n % k == 0)
    return n // first, first


def _in_two(b: Any, x: Parts, direction: str) -> SSAValue:
    """`j = j1 * n2 + j2` and `k = k1 + n1 * k2`: along j1, times the roots of `k1 * j2`, then along j2."""
    outer, n, _ = shape_of(x[0])
    n1, n2 = split_length(n)
    columns = b.reshape(x[0], (outer, n1, n2)), b.reshape(x[1], (outer, n1, n2))
    first = _transform(b, columns, direction)
    y = first_of_pairs(b, first), first_of_pairs(b, first, 1)
    y = multiply(b, y, _products_of_roots(b, (outer, n1, n2), n, direction, x[0]))
    turned = b.transpose(y[0], perm=(0, 2, 1)), b.transpose(y[1], perm=(0, 2, 1))
    return b.reshape(_transform(b, turned, direction), (outer, n, 1, 2))


def _products_of_roots(b: Any, shape: tuple[int, int, int], n: int, direction: str, like: SSAValue) -> Parts:
    """The roots of `k * j` for all k and j: those of the high digits of j times those of the low ones, which are few."""
    outer, n1, n2 = shape
    low = split_length(n2)[1]
    k = np.arange(n1)[:, None]
    dtype = numpy_dtype(element_of(like))
    fine = roots_of_unity(k * np.arange(low), n, direction, dtype)
    coarse = roots_of_unity(k * np.arange(n2 // low) * low, n, direction, dtype)
    whole = (outer, n1, n2 // low, low)
    low_parts = tuple(b.broadcast(_const(b, part, like), (1, 3), whole) for part in fine)
    high_parts = tuple(b.broadcast(_const(b, part, like), (1, 2), whole) for part in coarse)
    re, im = multiply(b, low_parts, high_parts)  # pyright: ignore[reportArgumentType]
    return b.reshape(re, shape), b.reshape(im, shape)


def _chirped(b: Any, x: Parts, direction: str) -> SSAValue:
    """`j k = (j^2 + k^2 - (k - j)^2) / 2`: a convolution with roots of squares, cyclic in a length with room for it."""
    outer, n, inner = shape_of(x[0])
    size = 1 << (2 * n - 2).bit_length()
    squares = np.arange(n, dtype=object) ** 2 % (2 * n)
    dtype = numpy_dtype(element_of(x[0]))
    exact = roots_of_unity(squares.astype(np.int64), 2 * n, direction, np.dtype(np.float64))
    chirp = tuple(b.broadcast(_const(b, part, x[0]), (1,), (outer, n, inner)) for part in exact)
    kernel = np.zeros(size, complex)
    kernel[:n] = exact[0] - 1j * exact[1]
    kernel[size - n + 1 :] = kernel[1:n][::-1]
    spectrum = (np.fft.fft(kernel) / size).astype(np.complex128)
    factors = tuple(
        b.broadcast(b.const(part.astype(dtype)), (1,), (outer, size, inner)) for part in (spectrum.real, spectrum.imag)
    )
    zero = b.const(0, element_of(x[0]))
    started = multiply(b, x, chirp)  # pyright: ignore[reportArgumentType]
    room = {"low": (0, 0, 0), "high": (0, size - n, 0), "interior": (0, 0, 0)}
    padded = b.pad(started[0], zero, **room), b.pad(started[1], zero, **room)
    there = _transform(b, padded, "forward")
    product = multiply(b, (first_of_pairs(b, there), first_of_pairs(b, there, 1)), factors)  # pyright: ignore[reportArgumentType]
    back = _transform(b, product, "inverse")
    cut = {"start": (0, 0, 0), "stop": (outer, n, inner), "step": (1, 1, 1)}
    ended = b.slice(first_of_pairs(b, back), **cut), b.slice(first_of_pairs(b, back, 1), **cut)
    return b.interleave(*multiply(b, ended, chirp))  # pyright: ignore[reportArgumentType]

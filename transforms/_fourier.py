"""Plans of Fourier transforms: the passes, their order, and their memory.

* A length whose prime factors are at most 43 is a transform by passes: one `graph.butterflies`.
* If it is long and not batched, it becomes two transforms of half the digits, each over columns that fit into a cache, with
  products by roots between them (Bailey, FFTs in external or hierarchical memory, 1990).
* Any other length is a convolution of powers of 2 (Bluestein, 1970).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import SSAValue

from ..dialects.complex_arithmetic import Parts, multiply
from ..dialects.graph.complex import first_of_pairs
from ..dialects.graph.fft import roots_of_unity, table
from ..dialects.sizes.polynomial import Size
from ..dialects.types import element_of, numpy_dtype, shape_of
from ..errors import FixedSizeError
from ..thresholds import number

if TYPE_CHECKING:
    from ..dialects.graph.builder import GraphBuilder

MOST_PRIME = number("transforms.fourier.MOST_PRIME")
ROW = number("transforms.fourier.ROW")
MOST_TWIST = number("transforms.fourier.MOST_TWIST")
_COST = {2: 3.0, 3: 2.9, 4: 1.7, 5: 2.5, 6: 2.0, 7: 2.9, 8: 1.45, 9: 2.1, 10: 2.0, 12: 1.8, 15: 2.2, 16: 1.4}
"""Relative time of a pass with a radix, per bit of the radix."""


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


def _const(b: GraphBuilder, values: np.ndarray, like: SSAValue) -> SSAValue:
    return b.const(values.astype(numpy_dtype(element_of(like))))


@dataclass(frozen=True)
class Operand:
    """Complex numbers of three dims: their parts, and as pairs if memory holds them so."""

    parts: Parts
    pairs: SSAValue | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.parts[0])

    def reshaped(self, b: GraphBuilder, shape: Sequence[int]) -> Operand:
        """The same elements with another shape. Pairs are a view of memory, and their parts are read there."""
        if self.pairs is None:
            return Operand((b.reshape(self.parts[0], shape), b.reshape(self.parts[1], shape)))
        return in_memory(b, b.reshape(self.pairs, (*shape, 2)))


def in_memory(b: GraphBuilder, pairs: SSAValue) -> Operand:
    """The value in memory."""
    return Operand((first_of_pairs(b, pairs), first_of_pairs(b, pairs, 1)), pairs)


def transform(b: GraphBuilder, x: Operand, dim: int, direction: str) -> SSAValue:
    """The pairs of the transform of complex numbers along a dim."""
    shape = x.shape
    flat = x.reshaped(b, (math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])))
    return b.reshape(_transform(b, flat, direction), (*shape, 2))


def _transform(b: GraphBuilder, x: Operand, direction: str) -> SSAValue:
    """The same of three dims, along the middle one."""
    outer, n, inner = x.shape
    if n == 1 or 0 in (outer, inner):
        return x.pairs if x.pairs is not None else b.interleave(*x.parts)
    if not is_smooth(n):
        return _chirped(b, x.parts, direction)
    if inner == 1 and n > ROW:
        return _in_two(b, x, direction)
    return _passes(b, x, direction)


def _passes(b: GraphBuilder, x: Operand, direction: str, twist: np.ndarray | None = None, width: int = 0) -> SSAValue:
    """A transform by passes; `twist` has the roots of `width` columns and of groups of them (`graph.butterflies`)."""
    radices = radices_of(x.shape[1])
    roots = table(radices, direction, numpy_dtype(element_of(x.parts[0])))
    roots = roots if twist is None else np.concatenate([roots, twist], axis=1)
    return b.butterflies(*x.parts, b.const(roots), radices=radices, direction=direction, form="parts", twist=width)


def _across(b: GraphBuilder, pairs: SSAValue, direction: str) -> SSAValue:
    """The transform by passes along the last dim of three, which becomes the middle one."""
    outer, columns, n, _ = shape_of(pairs)
    radices = radices_of(n)
    turned = b.transpose(b.reshape(pairs, (outer, columns, 2 * n)), perm=(0, 2, 1))
    roots = b.const(table(radices, direction, numpy_dtype(element_of(pairs))))
    return b.butterflies(turned, turned, roots, radices=radices, direction=direction, form="pairs", twist=0)


def split_length(n: int) -> tuple[int, int]:
    """Two factors of a length, as close to each other as possible."""
    first = next(k for k in range(math.isqrt(n), 0, -1) if n % k == 0)
    return n // first, first


def _in_two(b: GraphBuilder, x: Operand, direction: str) -> SSAValue:
    """`j = j1 * n2 + j2` and `k = k1 + n1 * k2`: along j1, times the roots of `k1 * j2`, then along j2."""
    outer, n, _ = x.shape
    n1, n2 = split_length(n)
    columns = x.reshaped(b, (outer, n1, n2))
    width = next((k for k in range(MOST_TWIST, MOST_TWIST // 2, -1) if n2 % k == 0), None)
    if max(n1, n2) > ROW or width is None:
        first = in_memory(b, _transform(b, columns, direction))
        y = multiply(b, first.parts, _products_of_roots(b, (outer, n1, n2), n, direction, x.parts[0]))
        turned = b.transpose(y[0], perm=(0, 2, 1)), b.transpose(y[1], perm=(0, 2, 1))
        return b.reshape(_transform(b, Operand(turned), direction), (outer, n, 1, 2))
    # the roots of k1 * j2 are products of those of the last digit of j2, in `width` places, and of the others
    k, dtype = np.arange(n1), numpy_dtype(element_of(x.parts[0]))
    fine = roots_of_unity(k[:, None] * np.arange(width), n, direction, dtype).reshape(2, -1)
    coarse = roots_of_unity(np.arange(n2 // width)[:, None] * width * k, n, direction, dtype).reshape(2, -1)
    first = _passes(b, columns, direction, np.concatenate([fine, coarse], axis=1), width)
    return b.reshape(_across(b, first, direction), (outer, n, 1, 2))


def _products_of_roots(b: GraphBuilder, shape: tuple[int, int, int], n: int, direction: str, like: SSAValue) -> Parts:
    """The roots of `k * j` for all k and j: those of the high digits of j times those of the low ones, which are few."""
    outer, n1, n2 = shape
    low = split_length(n2)[1]
    k = np.arange(n1)[:, None]
    dtype = numpy_dtype(element_of(like))
    fine = roots_of_unity(k * np.arange(low), n, direction, dtype)
    coarse = roots_of_unity(k * np.arange(n2 // low) * low, n, direction, dtype)
    whole = (outer, n1, n2 // low, low)
    low_parts = b.broadcast(_const(b, fine[0], like), (1, 3), whole), b.broadcast(_const(b, fine[1], like), (1, 3), whole)
    high_parts = b.broadcast(_const(b, coarse[0], like), (1, 2), whole), b.broadcast(_const(b, coarse[1], like), (1, 2), whole)
    re, im = multiply(b, low_parts, high_parts)
    return b.reshape(re, shape), b.reshape(im, shape)


def _chirped(b: GraphBuilder, x: Parts, direction: str) -> SSAValue:
    """`j k = (j^2 + k^2 - (k - j)^2) / 2`: a convolution with roots of squares, cyclic in a length with room for it."""
    outer, n, inner = shape_of(x[0])
    if isinstance(n, Size):
        raise FixedSizeError(f"a Fourier transform of {n} elements is computed by code for a known number of them")
    size = 1 << (2 * n - 2).bit_length()
    squares = np.arange(n, dtype=object) ** 2 % (2 * n)
    dtype = numpy_dtype(element_of(x[0]))
    exact = roots_of_unity(squares.astype(np.int64), 2 * n, direction, np.dtype(np.float64))
    whole, padded_shape = (outer, n, inner), (outer, size, inner)
    chirp = b.broadcast(_const(b, exact[0], x[0]), (1,), whole), b.broadcast(_const(b, exact[1], x[0]), (1,), whole)
    kernel = np.zeros(size, complex)
    kernel[:n] = exact[0] - 1j * exact[1]
    kernel[size - n + 1 :] = kernel[1:n][::-1]
    spectrum = (np.fft.fft(kernel) / size).astype(np.complex128)
    factors = (
        b.broadcast(b.const(spectrum.real.astype(dtype)), (1,), padded_shape),
        b.broadcast(b.const(spectrum.imag.astype(dtype)), (1,), padded_shape),
    )
    zero = b.const(0, element_of(x[0]))
    started = multiply(b, x, chirp)
    room = {"low": (0, 0, 0), "high": (0, size - n, 0), "interior": (0, 0, 0)}
    padded = b.pad(started[0], zero, **room), b.pad(started[1], zero, **room)
    there = _transform(b, Operand(padded), "forward")
    product = multiply(b, (first_of_pairs(b, there), first_of_pairs(b, there, 1)), factors)
    back = _transform(b, Operand(product), "inverse")
    cut = {"start": (0, 0, 0), "stop": (outer, n, inner), "step": (1, 1, 1)}
    ended = b.slice(first_of_pairs(b, back), **cut), b.slice(first_of_pairs(b, back, 1), **cut)
    return b.interleave(*multiply(b, ended, chirp))

"""The matrices of Winograd's convolutions, and the code that multiplies by them.

Winograd's F(m, r) computes `m` results of a filter of `r` elements along one dim with `m + r - 1` multiplications: results are
coefficients of a product of polynomials, which is determined by its values at `m + r - 1` points, one of them infinity (Lavin
and Gray, "Fast algorithms for convolutional neural networks", 2015). With the matrices here,

    y = A^T ((G g) * (B^T d))

for `d`, the `m + r - 1` elements that the results read. For two dims each matrix is applied along both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import SSAValue

from .window_loops import multiply_add

if TYPE_CHECKING:
    from .nest_writer import NestWriter

WINDOW = 3
"""Size of a filter along a dim, in elements."""

POINTS: dict[int, tuple[float, ...]] = {
    2: (0, 1, -1),
    4: (0, sqrt(1 / 2), -sqrt(1 / 2), sqrt(2), -sqrt(2)),
}
"""The finite interpolation points, by results of a tile along a dim.

Among points of both signs, which share their even and odd parts, these have the smallest rounding errors: with the customary
1 and 2 they are twice as large on average, and their bound is five times as large.
"""


@dataclass(frozen=True)
class Transforms:
    """The matrices of F(m, 3).

    Attributes:
        result: A^T, `m x (m + 2)`: tiles of products to tiles of the result.
        filter: G, `(m + 2) x 3`.
        image: B^T, `(m + 2) x (m + 2)`.
    """

    result: np.ndarray
    filter: np.ndarray
    image: np.ndarray

    @property
    def tile(self) -> int:
        """Results along a dim."""
        return len(self.result)

    @property
    def size(self) -> int:
        """Elements along a dim that a tile of results reads."""
        return len(self.image)

    @property
    def amplification(self) -> float:
        """How much larger than the direct form's the bound of the error is, for two dims.

        Let `|d| <= 1` and `sum |g| <= 1`, which bound a result by 1. Follow the magnitudes through all three matrices: what is
        added up is at most `a^2`, `a` the largest over i and r of `sum over p of |A^T_ip| |G_pr| sum over q of |B^T_pq|`. Each
        term is rounded no more often than there are features and operations of the transforms. With `u = 2^-24` therefore

            |error| <= a^2 (features + 32) u sum over features of (largest |d|) (sum |g|)

        for the elements that a tile reads, where the direct form has `9 features u` times the sum of `|d| |g|` in a window.
        """
        image = np.abs(self.image).sum(axis=1)
        return float((np.abs(self.result) @ (np.abs(self.filter) * image[:, None])).max()) ** 2


@cache
def transforms(tile: int) -> Transforms:
    """The matrices for tiles of so many results along a dim.

    >>> transforms(2).image.astype(int).tolist()
    [[-1, 0, 1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, -1, 0, 1]]
    """
    points = POINTS[tile]
    size = tile + WINDOW - 1
    result, filter_, image = np.zeros((tile, size)), np.zeros((size, WINDOW)), np.zeros((size, size))
    for p, at in enumerate(points):
        others = [q for q in points if q != at]
        result[:, p] = np.power(at, range(tile))
        filter_[p] = np.power(at, range(WINDOW)) / np.prod([at - q for q in others])
        image[p, :-1] = _polynomial(others)
    result[-1, -1] = filter_[-1, -1] = 1
    image[-1] = _polynomial(points)
    return Transforms(*(np.round(matrix, 14) for matrix in (result, filter_, image)))  # so that equal magnitudes are equal


def _polynomial(roots: Sequence[float]) -> np.ndarray:
    """The coefficients of the product of all `x - root`, lowest first."""
    return np.poly(roots)[::-1]


# --------------------------------------------------------------------------------------------------------------------
# Code


def multiply(b: NestWriter, matrix: np.ndarray, values: Sequence[SSAValue]) -> list[SSAValue]:
    """The product of a matrix with scalars, in few operations.

    Points of both signs make rows, or columns, of the same magnitudes: what these share is computed once.
    """
    found: list[SSAValue | None] = [None] * len(matrix)
    matrix, values = _butterflies(b, matrix, values)
    for k, row in enumerate(matrix):
        if found[k] is not None:
            continue
        mate = next((j for j in range(k + 1, len(matrix)) if _mirrored(tuple(row), tuple(matrix[j]))), None)
        if mate is None:
            found[k] = _combination(b, row, values)
            continue
        even = _combination(b, (row + matrix[mate]) / 2, values)
        odd = _combination(b, (row - matrix[mate]) / 2, values)
        found[k], found[mate] = b.scalar.add(even, odd), b.scalar.sub(even, odd)
    return [value for value in found if value is not None]


@cache
def _mirrored(x: tuple[float, ...], y: tuple[float, ...]) -> bool:
    """Whether two rows or columns differ in some of the signs."""
    pairs = list(zip(x, y, strict=True))
    return (
        all(abs(a) == abs(b) for a, b in pairs) and any(a == b != 0 for a, b in pairs) and any(a == -b != 0 for a, b in pairs)
    )


def _butterflies(b: NestWriter, matrix: np.ndarray, values: Sequence[SSAValue]) -> tuple[np.ndarray, list[SSAValue]]:
    """Sums and differences of the values in whose columns magnitudes agree, and the matrix for these."""
    if len(matrix) >= matrix.shape[1]:
        return matrix, list(values)
    matrix, values = matrix.copy(), list(values)
    for k in range(len(values)):
        for j in range(k + 1, len(values)):
            x, y = matrix[:, k].copy(), matrix[:, j].copy()
            if _mirrored(tuple(x), tuple(y)):
                values[k], values[j] = b.scalar.add(values[k], values[j]), b.scalar.sub(values[k], values[j])
                matrix[:, k], matrix[:, j] = (x + y) / 2, (x - y) / 2
    return matrix, values


def _combination(b: NestWriter, row: np.ndarray, values: Sequence[SSAValue]) -> SSAValue:
    """The sum of values times the numbers of a row."""
    total: SSAValue | None = None
    for factor, value in sorted(zip(row, values, strict=True), key=lambda term: term[0] not in (1, 0)):
        if factor == 0:
            continue
        if total is None:
            total = value if factor == 1 else b.scalar.mul(value, b.scalar.const(factor, value.type))
        elif factor in (1, -1):
            total = b.scalar.add(total, value) if factor == 1 else b.scalar.sub(total, value)
        else:
            total = multiply_add(b, value, b.scalar.const(factor, value.type), total)
    assert total is not None
    return total

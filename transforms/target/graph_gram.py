"""Compute large products of a matrix and its own transpose by bands of rows up to the diagonal, and mirror them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...dialects.graph.base import ints
from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.contract import DotOp
from ...dialects.graph.matrices import BLOCK, compared, part, transposed
from ...dialects.types import shape_of
from ...thresholds import number
from .._functions import replace_op

GRAM_BANDS = number("target.gram.GRAM_BANDS")
GRAM_LEAST = number("target.gram.GRAM_LEAST")
GRAM_LEAST_WORK = number("target.gram.GRAM_LEAST_WORK")


def gram_by_bands(b: GraphBuilder, op: DotOp) -> SSAValue | None:
    """`x x^T` or `x^T x`, which is symmetric: bands of rows up to the diagonal, mirrored; None for other products and
    symbolic sizes.

    A band extends to the end of its last row's block, so that all bands are matmuls; elements above the diagonal are not read,
    so the result is symmetric to the last bit.
    """
    x, over = op.lhs, ints(op.lhs_contract)
    if op.rhs is not x or over != ints(op.rhs_contract) or ints(op.lhs_batch) or len(over) != 1 or len(shape_of(x)) != 2:
        return None
    depth, n = shape_of(x)[over[0]], shape_of(x)[1 - over[0]]
    if not isinstance(n, int) or not isinstance(depth, int) or n < GRAM_LEAST or n * n * depth < GRAM_LEAST_WORK:
        return None
    rows = BLOCK * -(-n // (BLOCK * GRAM_BANDS))

    def rows_of(first: int, last: int) -> SSAValue:
        ends = (0, depth), (first, last)
        return part(b, x, *(ends if over[0] == 0 else ends[::-1]))

    words = {"lhs_batch": (), "rhs_batch": (), "lhs_contract": over, "rhs_contract": over}
    ends = [(first, min(first + rows, n)) for first in range(0, n, rows)]
    bands = [b.dot(rows_of(*end), rows_of(0, end[1]), **words) for end in ends]
    return b.concat(*[_mirrored_band(b, bands[k:], ends[k:]) for k in range(len(ends))], dim=0)


def _mirrored_band(b: GraphBuilder, bands: Sequence[SSAValue], ends: Sequence[tuple[int, int]]) -> SSAValue:
    """Rows of a symmetric matrix, whole: of the first band, and behind it the columns of the bands below, across."""
    (first, last), *_ = ends
    height = last - first
    left, corner = (part(b, bands[0], (0, height), columns) for columns in ((0, first), (first, last)))
    corner = b.select(compared(b, "ge", (height, height)), corner, transposed(b, corner))
    below = [
        transposed(b, part(b, band, (0, end - begin), (first, last)))
        for band, (begin, end) in zip(bands[1:], ends[1:], strict=True)
    ]
    return b.concat(*([left] if first else []), corner, *below, dim=1)


@dataclass(frozen=True)
class GraphGramPass(ModulePass):
    """Compute large products of a matrix and its own transpose by bands."""

    name = "graph-gram"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in [inner for inner in op.walk() if isinstance(inner, DotOp)]:
            found = gram_by_bands(GraphBuilder(InsertPoint.before(product), product.location), product)
            if found is not None:
                replace_op(product, [found])

"""Split large factorizations and triangular solves into two halves and products of matrices, again and again, and compute the
products of a matrix and its own transpose by bands up to the diagonal.

What is left are factorizations of a few columns, which write their own loops, and `graph.dot`, which has the flops. Halves, and
not one block column after the other, since then blocks have few shapes: each kernel is compiled once for its shape (Toledo,
1997; Elmroth and Gustavson, 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.base import GraphOp, ints
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.contract import DotOp
from ..dialects.graph.factor import CholeskyOp, LuOp, TriangularSolveOp, permuted, solve_with
from ..dialects.graph.matrices import BLOCK, adjoint_of, compared, half, in_blocks, multiply, part, transposed
from ..dialects.graph.orthogonal import HouseholderOp, reflected
from ..dialects.types import element_of, shape_of, tensor
from ._functions import replace_op


def split_cholesky(b: Any, op: CholeskyOp, least: int) -> Sequence[SSAValue]:
    """`L11` of the first half, `L21` by a triangular solve, and `L22` of what is left of the second half."""
    n, x = op.shape()[-1], op.x
    h = half(n, least)
    first = b.cholesky(part(b, x, (0, h), (0, h)))
    beside = solve_with(b, first, adjoint_of(b, part(b, x, (h, n), (0, h))), side="lower")
    second = b.cholesky(b.sub(part(b, x, (h, n), (h, n)), multiply(b, beside, beside, adjoint="x")))
    y = in_blocks(b, [[first, b.zeros_like(beside)], [adjoint_of(b, beside), second]])
    # a matrix that is not definite has NaN in all that comes after the block where that shows
    corner = b.reduce(part(b, second, (n - h - 1, n - h), (n - h - 1, n - h)), kind="add", dims=(len(op.shape()) - 1,))
    corner = b.reduce(corner, kind="add", dims=(len(op.shape()) - 2,))
    lost = b.broadcast(corner, tuple(range(len(op.shape()) - 2)), op.shape())
    return [b.select(b.cmp(lost, lost, predicate="ne"), lost, y)]


def split_solve(b: Any, op: TriangularSolveOp, least: int) -> Sequence[SSAValue]:
    """The half that is known first, and the other one of what is left of its right side."""
    a, y, n, columns = op.a, op.y, op.shape()[-1], op.result_shape()[-1]
    h = half(n, least)
    order = [(0, h), (h, n)] if op.goes_down else [(h, n), (0, h)]

    def solved(rows: tuple[int, int], right: SSAValue) -> SSAValue:
        words = {"side": op.side, "form": op.form, "diagonal": op.diagonal}
        return b.triangular_solve(part(b, a, rows, rows), right, **words)

    one, two = (part(b, y, rows, (0, columns)) for rows in order)
    one = solved(order[0], one)
    if op.form.data == "plain":
        change = multiply(b, part(b, a, order[1], order[0]), one)
    else:
        change = multiply(b, part(b, a, order[0], order[1]), one, transpose="x")
    found = one, solved(order[1], b.sub(two, change))
    return [in_blocks(b, [[x] for x in (found if op.goes_down else found[::-1])])]


def split_lu(b: Any, op: LuOp, least: int) -> Sequence[SSAValue]:
    """The first half of the columns; then what is left of the others, whose rows are exchanged again."""
    rows, columns = op.shape()[-2:]
    h = half(min(rows, columns), least)
    first, pivots = b.lu(part(b, op.x, (0, rows), (0, h)))
    rest = permuted(b, part(b, op.x, (0, rows), (h, columns)), b.permutation(pivots, rows=rows))
    top = part(b, rest, (0, h), (0, columns - h))
    above = solve_with(b, part(b, first, (0, h), (0, h)), top, side="lower", diagonal="unit")
    below = part(b, first, (h, rows), (0, h))
    second, more = b.lu(b.sub(part(b, rest, (h, rows), (0, columns - h)), multiply(b, below, above)))
    below = permuted(b, below, b.permutation(more, rows=rows - h))
    y = in_blocks(b, [[part(b, first, (0, h), (0, h)), above], [below, second]])
    return [y, b.concat(pivots, b.add(more, b.full_like(more, h)), dim=len(op.shape()) - 2)]


def split_householder(b: Any, op: HouseholderOp, least: int) -> Sequence[SSAValue]:
    """The first half of the columns; then the others, reflected, without the rows that are done."""
    rows, columns = op.shape()[-2:]
    h = half(min(rows, columns), least)
    v, r = b.householder(part(b, op.x, (0, rows), (0, h)))
    rest = reflected(b, v, part(b, op.x, (0, rows), (h, columns)), adjoint=True)
    more, below = b.householder(part(b, rest, (h, rows), (0, columns - h)))
    left = b.zeros_like(part(b, v, (0, shape_of(below)[-2]), (0, h)))
    rank = len(op.shape())
    low = [h if d == rank - 2 else 0 for d in range(rank)]
    more = b.pad(more, b.const(0, element_of(more)), low=low, high=[0] * rank, interior=[0] * rank)
    return [
        b.concat(v, more, dim=rank - 1),
        in_blocks(b, [[r, part(b, rest, (0, h), (0, columns - h))], [left, below]]),
    ]


GRAM_BANDS = 4
"""Bands of a product of a matrix and its own transpose: 5/8 of the multiplications; more would each be another kernel."""

GRAM_LEAST = 256
"""Rows of such a product from which on its bands keep all registers busy."""

GRAM_LEAST_WORK = 1 << 26
"""Multiplications of such a product from which on a quarter of them takes longer than compiling and launching the bands."""


def gram_by_bands(b: Any, op: DotOp) -> SSAValue | None:
    """`x x^T` or `x^T x`, which is symmetric: bands of rows up to the diagonal, mirrored; None for other products, and where a
    size is known only to a call.

    A band goes to the end of its last row's block, so that all bands are products; what they have above the diagonal is not
    read, so the result is symmetric to the last bit.
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

    bands: list[SSAValue] = []
    for first in range(0, n, rows):
        last = min(first + rows, n)
        words = {"lhs_batch": (), "rhs_batch": (), "lhs_contract": over, "rhs_contract": over}
        band = b.dot(rows_of(first, last), rows_of(0, last), **words)
        if last < n:
            band = b.concat(band, b.full(0, tensor(element_of(band), (last - first, n - last))), dim=1)
        bands.append(band)
    lower = b.concat(*bands, dim=0)
    return b.select(compared(b, "ge", (n, n)), lower, transposed(b, lower))


_SPLITS: dict[type[GraphOp], Callable[..., Sequence[SSAValue]]] = {
    HouseholderOp: split_householder,
}


@dataclass(frozen=True)
class GraphBlockPass(ModulePass):
    """Split factorizations of more columns than `least` says, and large products of a matrix and its own transpose.

    Attributes:
        least: columns that are not split; 0 chooses for each op.
    """

    name = "graph-block"
    least: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        waiting: list[Operation] = [inner for inner in op.walk() if type(inner) in _SPLITS]
        while waiting:
            waiting += self._split(waiting.pop())
        for product in [inner for inner in op.walk() if isinstance(inner, DotOp)]:
            found = gram_by_bands(GraphBuilder(InsertPoint.before(product), product.location), product)
            if found is not None:
                replace_op(product, [found])

    def _split(self, op: Any) -> list[Operation]:
        """Replace an op if it is large; the ops of these kinds that it has become."""
        before = op.prev_op
        found = split(GraphBuilder(InsertPoint.before(op), op.location), op, self.least)
        if found is None:
            return []
        made: list[Operation] = []
        inner = op.prev_op
        while inner is not None and inner is not before:
            if type(inner) in _SPLITS:
                made.append(inner)
            inner = inner.prev_op
        replace_op(op, found)
        return made


def split(b: Any, op: Any, least: int = 0) -> Sequence[SSAValue] | None:
    """The results of a factorization or triangular solve by halves; None where it is small, or planes of complex matrices."""
    least = least or BLOCK
    if type(op) not in _SPLITS or op.is_split or min(op.shape()[-2:]) <= least or 0 in (*op.shape(), *op.result_shape()):
        return None
    return _SPLITS[type(op)](b, op, least)

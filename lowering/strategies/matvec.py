"""Memory-bound products of a matrix and a vector: several rows of the matrix are read at a time.

    out[columns] = sum over depth of x[depth] * w[depth, columns]    vector times matrix
    out[rows] = sum over depth of w[rows, depth] * x[depth]          matrix times vector

A vector times a matrix: sums of a vector of columns over the whole depth would read a narrow strip of the matrix, each line
from another page. Instead blocks of columns, which threads share, are read row by row, with as many rows at once as hardware
prefetching follows well, and accumulated in sums that stay in the first-level cache.

A matrix times a vector: long rows that are read one by one are a single stream, of which hardware prefetches too little.
Several rows are several streams, and share their loads of the vector.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.types import is_float
from ...thresholds import number
from ..analysis.lanes import runs_along
from ..analysis.nests import loops, name_of, only_loop_in, statements
from ..schedule.demote import Demote
from ..schedule.expand import Expand
from ..schedule.fission import Fission
from ..schedule.peel import Peel
from ..schedule.regroup import Regroup
from ..schedule.reorder import Reorder
from ..schedule.sink import Sink, movable
from ..schedule.split import Split
from ..schedule.unroll import Unroll
from ..schedule.unroll_and_jam import UnrollAndJam
from ..schedule.vectorize import Vectorize
from .base import Take, copies, inside, stored_to
from .product_nest import DEEPEST, GROUPS, bits_of, find_product

ROWS = number("matvec.ROWS")
BLOCK = number("matvec.BLOCK")
LEAST_BLOCKS = number("matvec.LEAST_BLOCKS")
LEAST_ELEMENTS = number("matvec.LEAST_ELEMENTS")
LEAST_ROW_BYTES = number("matvec.LEAST_ROW_BYTES")


def schedule_matvec(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Schedule a product of a matrix and a vector."""
    if find_product(nest, target) is not None:
        return
    if (sums := find_vector_matrix(nest)) is not None:
        run_vector_matrix(kernel, sums, target, take)
    elif (sums := find_matrix_vector(nest)) is not None:
        run_matrix_vector(kernel, sums, target, take)


@dataclass(frozen=True)
class VectorMatrix:
    """A sum of rows: a parallel loop over columns around a reduction over what is no dim of the result."""

    columns: ForOp
    depth: ForOp


def find_vector_matrix(nest: ForOp) -> VectorMatrix | None:
    """The product of a nest, if it is of a vector and a large matrix whose rows run along the result."""
    inside = statements(nest.body.block)
    sums = [op for op in inside if isinstance(op, ForOp)]
    stores = [op for op in inside if isinstance(op, StoreOp)]
    n = nest.trip_count()
    if nest.kind.data != "parallel" or n is None or n < LEAST_BLOCKS * BLOCK or len(sums) != 1 or not stores:
        return None
    depth = sums[0]
    k = depth.trip_count()
    if depth.monoid is None or depth.monoid.data != "add" or len(depth.results) != 1 or not is_float(depth.results[0].type):
        return None
    if k is None or k < ROWS or k * n < LEAST_ELEMENTS or any(op.regions for op in statements(depth.body.block)):
        return None
    loads = [op for op in statements(depth.body.block) if isinstance(op, LoadOp)]
    matrix = [op for op in loads if nest.index in op.indices]
    vector = [op for op in loads if nest.index not in op.indices and depth.index in op.indices]
    if len(matrix) != 1 or len(vector) != 1 or not all(runs_along(op, nest) for op in (*matrix, *stores)):
        return None
    return VectorMatrix(nest, depth)


def run_vector_matrix(kernel: KernelOp, found: VectorMatrix, target: Target, take: Take) -> None:
    """Apply the primitives for one product of a vector and a matrix."""
    lanes = 4 * target.lanes(bits_of(found.depth))
    columns, depth = name_of(found.columns), name_of(found.depth)
    if movable(kernel, found.depth):
        take(Sink(depth))
    count = found.columns.trip_count() or 0
    size = -(-count // (-(-count // BLOCK) * lanes)) * lanes
    block, _ = take(Split(columns, size))
    for at in take(Peel(block, 0)) if count % size else (block,):
        _run_block(kernel, at, lanes, take)


def _run_block(kernel: KernelOp, block: str, lanes: int, take: Take) -> None:
    """Blocks of columns, all of one size."""
    block, column, depth = loops(loops(kernel)[block])
    count = loops(kernel)[depth].trip_count() or 0
    groups: list[str] = []
    if count > DEEPEST:
        *groups, depth = take(Regroup(depth, ROWS * GROUPS))
    rows, row = take(Split(depth, ROWS))
    at = block
    for carrying in (*groups, rows):  # sums of a group of rows in a separate buffer
        rest = take(Expand(carrying, at, space="stack"))
        sums = stored_to(kernel, carrying)
        take(Demote(carrying))
        start, column = take(Fission(column, sums))
        take(Reorder((carrying, column)))
        for loop in (start, rest[-1]):
            take(Vectorize(loop, lanes))
        at = carrying
    take(Vectorize(column, lanes))
    at_once = [(rows, row)]
    if groups:
        originals = inside(kernel, groups[0])
        _, *left = take(Peel(groups[0], 0))
        at_once += [(made[rows], made[row]) for made in (copies(kernel, originals, rest) for rest in left)]
    for rows, row in at_once:
        originals = inside(kernel, rows)
        _, *left = take(Peel(rows, 0)) if loops(kernel)[row].trip_count() is None else (rows,)
        for name in (row, *(copies(kernel, originals, rest)[row] for rest in left)):
            take(Unroll(name))


@dataclass(frozen=True)
class MatrixVector:
    """A sum along rows: parallel loops, the innermost over rows of a matrix, around a reduction along them."""

    rows: ForOp
    depth: ForOp


def find_matrix_vector(nest: ForOp) -> MatrixVector | None:
    """The product of a nest, if it is of a matrix with many long rows and a vector that runs along them."""
    band = [nest]
    while (following := only_loop_in(band[-1])) is not None:
        band.append(following)
    rows = band[-1]
    inside = statements(rows.body.block)
    sums = [op for op in inside if isinstance(op, ForOp)]
    if len(sums) != 1 or any(loop.kind.data != "parallel" or loop.constant_bounds() is None for loop in band):
        return None
    depth = sums[0]
    if depth.monoid is None or depth.monoid.data != "add" or len(depth.results) != 1 or not is_float(depth.results[0].type):
        return None
    if depth.constant_bounds() is None or any(op.regions for op in statements(depth.body.block)):
        return None
    long_enough = (depth.trip_count() or 0) * bits_of(depth) // 8 >= LEAST_ROW_BYTES
    loads = [op for op in statements(depth.body.block) if isinstance(op, LoadOp)]
    matrix = [op for op in loads if rows.index in op.indices]
    vector = [op for op in loads if rows.index not in op.indices]
    if (rows.trip_count() or 0) < 2 * ROWS or not long_enough or len(matrix) != 1 or not vector:
        return None
    return MatrixVector(rows, depth) if all(runs_along(op, depth) for op in loads) else None


def _lanes_along(depth: ForOp, target: Target) -> int:
    """The number of terms of a row added at once: half of the registers hold the sums of all rows of a tile."""
    return target.lanes(bits_of(depth)) * max(1, target.vector_registers // 2 // ROWS)


def run_matrix_vector(kernel: KernelOp, found: MatrixVector, target: Target, take: Take) -> None:
    """Apply the primitives for one product of a matrix and a vector."""
    lanes, depth = _lanes_along(found.depth, target), name_of(found.depth)
    originals = inside(kernel, name_of(found.rows))
    _, *left = take(UnrollAndJam(name_of(found.rows), ROWS))
    # rows that fill no tile add their terms in the same order as the others
    for loop in (depth, *(copies(kernel, originals, rest)[depth] for rest in left)):
        take(Vectorize(loop, lanes))

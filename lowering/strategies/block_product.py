"""Products of small static sizes whose operands are in the first-level cache already.

Nothing is packed: vectors run over the columns, and several rows at once share their loads.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.operations import ops_of
from ...dialects.types import i32, is_float, scalar_of, shape_of, width_of
from ...thresholds import number
from ..analysis.lanes import lane_stride
from ..analysis.nests import loops, name_of, ops_in, statements
from ..schedule.peel import Peel
from ..schedule.unroll_and_jam import UnrollAndJam
from ..schedule.vectorize import Vectorize
from .base import Take
from .product_nest import even_rows

ROWS = number("block_product.ROWS")
_MANY_SUMS = number("block_product._MANY_SUMS")
_LEAST_SUMS = number("block_product._LEAST_SUMS")


@dataclass(frozen=True)
class BlockProduct:
    """`block[row, column] = sum over depth of left * right`, or a sum of such products; the number of columns is static."""

    rows: ForOp
    columns: ForOp
    depth: ForOp


def find_block_product(rows: ForOp) -> BlockProduct | None:
    """The product whose outermost loop this is, if it is one; the rest of that loop must be arithmetic and loads."""
    if rows.kind.data != "parallel" or rows.results:
        return None
    nested = [op for op in ops_of(rows.body.block) if isinstance(op, ForOp)]
    columns = nested[0] if len(nested) == 1 else rows
    if columns is rows or columns.kind.data != "parallel" or columns.results:
        return None
    if columns.trip_count() in (None, 1):
        return None
    inside = statements(columns.body.block)
    sums = [op for op in inside if isinstance(op, ForOp)]
    stores = [op for op in inside if isinstance(op, StoreOp)]
    if len(stores) != 1 or not sums or _stride(stores[0], columns) != 1:
        return None
    if not (is_float(sums[0].results[0].type) or sums[0].results[0].type == i32):  # others are multiplied in parts
        return None
    return BlockProduct(rows, columns, sums[0]) if all(_is_product(rows, columns, each) for each in sums) else None


def _is_product(rows: ForOp, columns: ForOp, depth: ForOp) -> bool:
    """Whether a loop, or a nest of them, sums products of elements of the rows and the columns."""
    nested = ops_in(depth, ForOp)
    inside = statements(nested[-1].body.block)
    loads = [op for op in inside if isinstance(op, LoadOp)]
    if (
        not all(is_sum(loop) and len(loop.results) == 1 for loop in nested)
        or len(loads) != 2
        or any(op.regions for op in inside)
    ):
        return False
    right = [op for op in loads if columns.index in op.indices and rows.index not in op.indices and _stride(op, columns) == 1]
    left = [op for op in loads if rows.index in op.indices and columns.index not in op.indices]
    return bool(left and right)


def is_sum(loop: ForOp) -> bool:
    return loop.monoid is not None and loop.monoid.data == "add"


def _stride(op: LoadOp | StoreOp, loop: ForOp) -> int | None:
    found = lane_stride(op, loop.index)
    contiguous = found is not None and found[0] == len(shape_of(op.buffer)) - 1
    return found[1] if found is not None and contiguous else None


def tile_block_product(kernel: KernelOp, product: BlockProduct, target: Target, take: Take, *, deep: bool = False) -> None:
    """Vectorize the columns, jam the rows through the sum; the remaining rows run all at once if their number is static.

    A `deep` sum takes so long that tiles for the remainder repay their code.
    """
    bits = width_of(scalar_of(product.depth.results[0].type))
    sums, lanes = _sums(bits, target), _lanes(product.columns.trip_count() or 0, bits, target, deep=deep)
    columns, left = name_of(product.columns), (product.columns.trip_count() or 0) % lanes
    if deep and 1 < left <= lanes // 2:
        _, rest = take(Peel(columns, -left))
        take(Vectorize(rest, 1 << (left - 1).bit_length()))
    take(Vectorize(columns, lanes))
    rows, count, registers = name_of(product.rows), product.rows.trip_count() or ROWS, max(1, lanes // target.lanes(bits))
    at_once = (even_rows if deep else _rows_at_once)(count, sums, registers)
    if at_once < 2:
        return
    made = take(UnrollAndJam(rows, at_once))
    left = count % at_once
    if left > 1 and product.rows.trip_count() is not None:
        rest = loops(loops(kernel)[made[-1]])
        take(UnrollAndJam(next(name for name, loop in rest.items() if loop.trip_count() == left), left))


def _sums(bits: int, target: Target) -> int:
    """The number of registers for sums."""
    tile_rows, tile_columns = target.tile_of(bits)
    return tile_rows * tile_columns // target.lanes(bits)


def _lanes(columns: int, bits: int, target: Target, *, deep: bool) -> int:
    """The columns of a tile."""
    native, wide = target.lanes(bits), 4 if _sums(bits, target) >= _MANY_SUMS else 2
    lanes, full = 2, -(-columns // native) * native if deep and columns > native else columns
    while 2 * lanes <= min(full, wide * native) or lanes < min(columns, native if deep else wide * native):
        lanes *= 2
    return lanes


def registers_of(columns: int, bits: int, target: Target) -> int:
    """The registers for the columns of a deep product, those of the last tile in full."""
    native, lanes = target.lanes(bits), _lanes(columns, bits, target, deep=True)
    full, left = divmod(columns, lanes)
    last = lanes if left > lanes // 2 else 1 << (left - 1).bit_length() if left else 0
    return full * -(-lanes // native) + -(-last // native)


def _rows_at_once(count: int, sums: int, registers: int) -> int:
    """How many rows of `registers` each run at once: as many as `sums` allow, or a few less to leave no remainder.

    A remainder takes as long to compile as the tile.
    """
    most = min(count, sums // registers)
    even = next((n for n in range(most, 1, -1) if count % n == 0 and n * registers >= _LEAST_SUMS), None)
    return even or most

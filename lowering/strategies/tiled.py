"""Small products run unpacked, or with one operand packed, in a tile of sums that registers hold.

The columns are side by side in a few vectors, and several rows run through the sum at once, so that loads are reused. A panel
of the right operand is packed where many rows read it, unless it is the whole operand; one that runs along the depth is
transposed into panels.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...thresholds import number
from ..analysis.bounds import constant_extent
from ..analysis.lanes import runs_along
from ..analysis.nests import loops, name_of
from ..schedule.peel import Peel
from ..schedule.reorder import Reorder
from ..schedule.split import Split
from ..schedule.stage import Stage
from ..schedule.unroll import Unroll
from ..schedule.unroll_and_jam import UnrollAndJam
from ..schedule.vectorize import Vectorize
from .base import Take, copies, inside, jam_rows
from .product_nest import Product, bits_of, even_rows, find_product
from .prologues import inline_prologue

TILES_OF_A_PANEL = number("tiled.TILES_OF_A_PANEL")


LEAST_DEPTH_OF_NARROW = number("tiled.LEAST_DEPTH_OF_NARROW")


def find_narrow(nest: ForOp, target: Target) -> Product | None:
    """A product of two matrices whose columns do not fill a vector."""
    product = find_product(nest, target, 2)
    if product is None or len(product.band) > 2 or product.left is None or product.sizes[2] < LEAST_DEPTH_OF_NARROW:
        return None
    return product


def panel_of(product: Product, width: int, turned: bool, target: Target) -> SSAValue | None:
    """The right operand's buffer, when a packed copy of `width` of its columns pays, or when it is `turned` (transposed)."""
    right = product.right
    if right is None or product.left is None or product.left.buffer is right.buffer:
        return None
    m, _, k = product.sizes
    bits = bits_of(product.depth)
    bytes_ = k * width * bits // 8
    # the copy costs a pass over the panel, and is read once for every few rows; a transposition costs as much as a strided read
    rows = _rows(target, bits, width)
    worth = m > rows if turned else m >= TILES_OF_A_PANEL * rows
    return right.buffer if worth and bytes_ <= target.l2_bytes // 2 else None


def _rows(target: Target, bits: int, width: int) -> int:
    """How many rows of `width` columns keep their sums in registers; narrow ones get no more than rows of two vectors."""
    rows, columns = target.tile_of(bits)
    return max(1, rows * columns // max(width, 2 * target.lanes(bits)))


def tile_width(columns: int, bits: int, target: Target) -> int:
    """The columns of a tile for a product with this many: all, where they are fewer than two vectors.

    Of tiles with as many sums, the one of four vectors a row loads least: four vectors and a number for each of its rows, where
    that of two vectors has twice as many rows. It takes more registers, though, and serves only columns that it fills.
    """
    lanes = target.lanes(bits)
    rows, wide = _rows(target, bits, 4 * lanes), 4 * lanes
    if columns % wide == 0 and 4 * rows + 4 + 1 <= target.vector_registers:  # sums, columns, one broadcast number of a row
        return wide
    return min(columns, 2 * lanes)


def _is_shared(product: Product) -> bool:
    """Whether all loops inside the loop over rows read the same panel of the right operand."""
    right = product.right
    inside = product.band[product.band.index(product.rows) :]
    return right is not None and not any(loop is not product.columns and loop.index in right.indices for loop in inside)


def tile_product(kernel: KernelOp, product: Product, target: Target, take: Take) -> None:
    """Apply the primitives for a register tile."""
    rows, columns = name_of(product.rows), name_of(product.columns)
    count = product.columns.trip_count() or 0
    width = tile_width(count, bits_of(product.depth), target)
    turned = product.right is not None and not runs_along(product.right, product.columns)
    if count == width and not turned:
        _tile(kernel, columns, rows, product, target, take)
        return
    is_shared = _is_shared(product)
    outer, inner = take(Split(columns, width))
    order = [name_of(loop) for loop in product.band if loop is not product.columns]
    at = order.index(rows)
    take(Reorder((*order[:at], outer, *order[at:], inner)))
    parts = [(outer, inner, rows)]
    if count % width:
        originals = inside(kernel, outer)
        _, rest = take(Peel(outer, 0))
        copy_of = copies(kernel, originals, rest)
        parts.append((rest, copy_of[inner], copy_of[rows]))
    if is_shared:  # the remainder reads its columns in place, unless they have to be transposed
        _pack(kernel, parts if turned else parts[:1], product, turned, target, take)
    for _, tiled, within in parts:
        _tile(kernel, tiled, within, product, target, take)


def _pack(
    kernel: KernelOp, parts: Sequence[tuple[str, str, str]], product: Product, turned: bool, target: Target, take: Take
) -> None:
    """Pack panels of the right operand in the outer loop of each part; a prologue is computed there."""
    copied: list[tuple[str, str, int]] = []
    packed = None
    for outer, columns, rows in parts:
        lanes = _lanes_of(kernel, columns)
        if (panel := panel_of(product, lanes, turned, target)) is None:
            continue
        packed = panel
        depth = next(name for name, loop in loops(loops(kernel)[rows]).items() if loop.kind.data == "reduce")
        deep, across = take(Stage(panel.name_hint or "", outer, (depth, columns)))
        copied.append((deep, across, lanes))
    if packed is not None:
        inline_prologue(kernel, packed, 1, take)
    for deep, across, lanes in copied:
        _copy(deep, across, lanes, target.lanes(bits_of(product.depth)) if turned else None, take)


def _copy(deep: str, across: str, lanes: int, square: int | None, take: Take) -> None:
    """Vectorize the copy of a panel; a transposed one is made of square tiles, transposed in registers."""
    if square is not None:
        group, across = take(Split(across, square))
        take(Reorder((group, deep, across)))
    take(Vectorize(across, square or lanes))
    if square is not None:
        take(Unroll(deep, square))


def _lanes_of(kernel: KernelOp, columns: str) -> int:
    """The least power of two that holds the columns of a tile."""
    lanes = 2
    while lanes < (constant_extent(loops(kernel)[columns]) or 2):
        lanes *= 2
    return lanes


def _tile(kernel: KernelOp, columns: str, rows: str, product: Product, target: Target, take: Take) -> None:
    """Vectorize the columns, and jam the rows through the sum."""
    lanes = _lanes_of(kernel, columns)
    take(Vectorize(columns, lanes))
    bits = bits_of(product.depth)
    most, trips = _rows(target, bits, lanes), loops(kernel)[rows].trip_count()
    if trips is None:
        jam_rows(kernel, rows, most, take)
        return
    registers = max(1, lanes // target.lanes(bits))
    at_once = min(trips, even_rows(trips, most * registers, registers))
    if at_once < 2:
        return
    made = take(UnrollAndJam(rows, at_once))
    left = trips % at_once
    if left > 1:  # the rows that fill no tile, all at once
        rest = loops(loops(kernel)[made[-1]])
        take(UnrollAndJam(next(name for name, loop in rest.items() if loop.trip_count() == left), left))

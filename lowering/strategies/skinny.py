"""Memory-bound matmuls with few rows: the right operand is read once, in place, unpacked.

    out[rows, columns] = sum over depth of left[rows, depth] * right[depth, columns]

Packing the right operand would be as much work as reading it, and each element serves few rows. Instead a tile of it, `DEPTH`
of its rows and a few vectors of its columns, stays in registers while all rows of the result pass by; its contributions are
accumulated in sums that stay in the first-level cache. Meanwhile the tile below it is prefetched, a little with each row, so
that memory access and arithmetic overlap.

    left operand packed: tiles of rows of the right operand, in each the rows of the result
    jo: blocks of columns                                       on threads
      sums = 0
      ko: DEPTH rows of the right operand
        jp: tiles of columns
          i: rows of the result                                 and a prefetch of the tile below
            j, k: the tile, in registers
      the epilogue

Where the right operand is transposed, so that its columns run along the depth as the rows of the left one do, the terms of a
sum are side by side in a vector. A tile of `rows x columns` such sums reads both operands in place, block by block of the
depth, so that the columns are in the first-level cache for all rows but the first.

    jo: a few columns                                           on threads
      sums = 0
      ko: blocks of the depth
        i: rows of the result
          k: a tile of sums, in registers
      the epilogue
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...thresholds import number
from ..analysis.bounds import constant_extent
from ..analysis.lanes import runs_along
from ..analysis.nests import loops, name_of
from ..schedule.demote import Demote
from ..schedule.expand import Expand
from ..schedule.fission import Fission
from ..schedule.peel import Peel
from ..schedule.prefetch import Prefetch
from ..schedule.regroup import Regroup
from ..schedule.reorder import Reorder
from ..schedule.serialize import Serialize
from ..schedule.split import Split
from ..schedule.stage import Stage
from ..schedule.unroll import Unroll
from ..schedule.unroll_and_jam import UnrollAndJam
from ..schedule.vectorize import Vectorize
from .base import Take, attempt, copies, inside, jam_rows, stored_to
from .product_nest import DEEPEST, GROUPS, Product, bits_of, find_product
from .prologues import compute_prologue_at, inline_prologue, main_operand

ROWS_OF_REGISTER = number("skinny.ROWS_OF_REGISTER")
LEAST_BYTES = number("skinny.LEAST_BYTES")
COLUMNS_OF_DOTS = number("skinny.COLUMNS_OF_DOTS")
DEPTH_OF_DOTS = number("skinny.DEPTH_OF_DOTS")
LEAST_BLOCKS = number("skinny.LEAST_BLOCKS")
_LEAST_VECTORS = number("skinny._LEAST_VECTORS")


def schedule_skinny(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Schedule a product of few rows with a large matrix."""
    product = find_product(nest, target)
    if product is None:
        return
    if (strips := find_strips(product, target)) is not None:
        run_strips(kernel, product, strips, target, take)
    elif (dots := find_dots(product, target)) is not None:
        run_dots(kernel, product, dots, take)


@dataclass(frozen=True)
class Strips:
    """The sizes of a product of few rows, in iterations.

    Attributes:
        depth: rows in a tile of the right operand; this many terms are added to a sum that is loaded and stored once.
        columns: columns in a tile, a multiple of the lanes of a vector.
        tiles: tiles in a block of columns.
    """

    depth: int
    columns: int
    tiles: int


def _is_large(product: Product, target: Target) -> bool:
    """Whether a product has few rows and a right operand that does not fit the caches."""
    left, right = product.left, product.right
    if left is None or right is None or left.buffer is right.buffer or len(product.band) != 2:
        return False
    m, n, k = product.sizes
    return 2 <= m <= ROWS_OF_REGISTER * target.vector_registers and k * n * bits_of(product.depth) // 8 >= LEAST_BYTES


def find_strips(product: Product, target: Target) -> Strips | None:
    """The sizes for a product of few rows; None for other products, or where the right operand fits the caches."""
    _, n, k = product.sizes
    if not _is_large(product, target) or product.right is None or not runs_along(product.right, product.columns):
        return None
    bits = bits_of(product.depth)
    lanes = target.lanes(bits)
    vectors = target.vector_registers // 8
    depth = (target.vector_registers - vectors - 1) // vectors  # the rest is for sums and an element of the left operand
    columns = vectors * lanes
    if k < depth or n < LEAST_BLOCKS * columns:
        return None
    most = constant_extent(product.rows)
    if not most:  # sums have room for all rows; there may be none in a version for few, as of 35 * n
        return None
    tiles = target.l1_bytes // 2 // (most * columns * bits // 8)
    return Strips(depth, columns, min(max(1, tiles), n // columns // LEAST_BLOCKS))


def run_strips(kernel: KernelOp, product: Product, strips: Strips, target: Target, take: Take) -> None:
    """Apply the primitives for a product of few rows."""
    assert product.left is not None and product.right is not None
    left, right = (load.buffer.name_hint or "" for load in (product.left, product.right))
    lanes = target.lanes(bits_of(product.depth))
    i, columns, depth = name_of(product.rows), name_of(product.columns), name_of(product.depth)
    whole, j = take(Split(columns, product.columns.trip_count() or 0))
    jp, j = take(Split(j, strips.columns))
    groups: list[str] = []
    if product.sizes[2] > DEEPEST:
        *groups, depth = take(Regroup(depth, strips.depth * GROUPS))
    ko, k = take(Split(depth, strips.depth))
    take(Reorder((whole, jp, i, j)))
    take(Serialize(whole))
    matrix = main_operand(kernel, product.right.buffer)
    copies = take(Stage(left, whole, (*groups, ko, i, k)))
    inline_prologue(kernel, product.left.buffer, 1, take)
    if inline_prologue(kernel, product.right.buffer, 1, take):
        right = matrix
    take(Vectorize(copies[-1], 8))
    for loop in take(Peel(jp, 0)):
        _run_tiles(kernel, loop, right, strips, lanes, take)


def _run_tiles(kernel: KernelOp, jp: str, right: str, strips: Strips, lanes: int, take: Take) -> None:
    """Tiles of columns, all of one size, in blocks."""
    jp, i, j, *deep, ko, _ = loops(loops(kernel)[jp])
    jo, jp = take(Split(jp, strips.tiles))
    at = jo
    for carrying in (*deep, ko):  # sums of a group of terms in a separate buffer
        *_, rest = take(Expand(carrying, at))
        sums = stored_to(kernel, carrying)
        take(Demote(carrying))
        start, j = take(Fission(j, sums))
        before, i = take(Fission(i, start))
        _, jp = take(Fission(jp, before))
        take(Reorder((carrying, jp, i, j)))
        for loop in (start, rest):
            take(Vectorize(loop, lanes))
        at = carrying
    originals = inside(kernel, deep[0]) if deep else []
    _, *rests = take(Peel(deep[0], 0)) if deep else (jo,)
    for here in (ko, *(copies(kernel, originals, rest)[ko] for rest in rests)):
        _run_depth(kernel, here, right, lanes, take)


def _run_depth(kernel: KernelOp, ko: str, right: str, lanes: int, take: Take) -> None:
    """The tiles of a group of terms: full ones, then the remainder."""
    for loop in take(Peel(ko, 0)):
        _, _, i, j, k = loops(loops(kernel)[loop])
        if loop == ko:
            attempt(Prefetch(right, ko, 1, i), take)  # not where a prologue reads it elsewhere, too
        vectors = -(-(loops(kernel)[j].trip_count() or 0) // lanes)
        take(Vectorize(j, lanes))
        if vectors > 1:
            take(UnrollAndJam(j, vectors))
        take(Unroll(k))


@dataclass(frozen=True)
class Dots:
    """A product of few rows with a matrix whose columns run along the depth: the sizes of a tile.

    Attributes:
        rows: rows of the left operand.
        columns: columns of the right operand.
        depth: terms that are added before the reduction across the lanes of a sum.
        lanes: how many terms of a sum are added at once.
    """

    rows: int
    columns: int
    depth: int
    lanes: int


def find_dots(product: Product, target: Target) -> Dots | None:
    """The sizes for a product of few rows where both operands run along the depth; None for other or small products."""
    m, n, k = product.sizes
    if not _is_large(product, target) or not all(runs_along(op, product.depth) for op in (product.left, product.right) if op):
        return None
    rows, lanes = min(m, target.vector_registers // 8), target.lanes(bits_of(product.depth))
    return (
        Dots(rows, COLUMNS_OF_DOTS, DEPTH_OF_DOTS, lanes)
        if k >= _LEAST_VECTORS * lanes and n >= LEAST_BLOCKS * COLUMNS_OF_DOTS
        else None
    )


def run_dots(kernel: KernelOp, product: Product, dots: Dots, take: Take) -> None:
    """Apply the primitives for a product of few rows where both operands run along the depth."""
    i, j, depth = name_of(product.rows), name_of(product.columns), name_of(product.depth)
    assert product.right is not None
    right = product.right.buffer
    jo, j = take(Split(j, dots.columns))
    take(Reorder((jo, i, j)))
    take(Split(depth, dots.depth))
    for loop in take(Peel(jo, 0)):
        _run_dot_tiles(kernel, loop, right, dots, take)


def _run_dot_tiles(kernel: KernelOp, jo: str, right: SSAValue, dots: Dots, take: Take) -> None:
    """Tiles of as many columns as an iteration of `jo` has."""
    jo, i, j, ko, _ = loops(loops(kernel)[jo])
    take(Expand(ko, jo))
    sums = stored_to(kernel, ko)
    take(Demote(ko))
    start, j = take(Fission(j, sums))
    _, i = take(Fission(i, start))
    take(Reorder((ko, i, j)))
    compute_prologue_at(kernel, right, ko, dots.lanes, take)
    columns = loops(kernel)[j].trip_count() or 0
    if loops(kernel)[i].trip_count() is None:
        jam_rows(kernel, i, dots.rows, take)
    else:
        take(UnrollAndJam(i, dots.rows))
    for loop in [name for name, op in loops(loops(kernel)[ko]).items() if columns > 1 and op.trip_count() == columns]:
        take(UnrollAndJam(loop, columns))
    for loop in [name for name in inside(kernel, ko) if loops(kernel)[name].kind.data == "reduce"]:
        take(Vectorize(loop, dots.lanes))

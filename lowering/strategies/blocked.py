"""Large matmuls in blocks that fit the caches, from packed panels, with a register tile of sums.

The algorithm of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), as a schedule. Columns are
divided into blocks (`width`), whose panel of the right operand is packed once for all rows; rows are divided into blocks
(`height`), which threads share. If there are enough columns, threads share the blocks of columns instead, and each packs its
own panels.

A left operand whose rows run along the depth, and are short, is read in place: a tile needs one number of each of its rows at a
time, and the next ones are in the same cache line. If threads share the columns, a left operand in another order is first
copied into such rows, for all threads. Otherwise it is packed for each block of rows. A tile of `rows x columns` sums runs
through the depth, a few terms at a time. Packing absorbs any order of the operands' dims and pads the tiles at the edges with
zeros; rows beyond the end of an unpacked operand repeat the last one, so that a single inner loop suffices. The tile is stored
to memory, where the epilogue reads it.

    jo: blocks of columns                                        on threads
      right operand packed
      io: blocks of rows                                         or on threads
        left operand packed                      unless it is read in place
        [sums = 0; ko: blocks of the depth]                      where it is deep
        jp, ip: tiles
          k: the sums of a tile
          the epilogue
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from ...codegen.targets import Target
from ...dialects.loop.grain import CHUNKS, is_even
from ...dialects.loop.loops import KernelOp
from ...dialects.loop.memory import LoadOp
from ...dialects.scalar_facts import facts_of
from ...dialects.types import shape_of
from ...thresholds import number
from ..analysis.lanes import runs_along
from ..analysis.nests import loops, name_of, statements
from ..analysis.regions import extent
from ..schedule.demote import Demote
from ..schedule.expand import Expand
from ..schedule.fission import Fission
from ..schedule.pad import Pad
from ..schedule.parallelize import Parallelize
from ..schedule.prefetch import Prefetch
from ..schedule.reorder import Reorder
from ..schedule.serialize import Serialize
from ..schedule.split import Split
from ..schedule.stage import Stage
from ..schedule.unroll import Unroll
from ..schedule.unroll_and_jam import UnrollAndJam
from ..schedule.vectorize import Vectorize
from .base import Take, attempt, stored_to
from .product_nest import DEEPEST, Product, bits_of
from .prologues import compute_prologue_at, inline_prologue, main_operand

LEAST_WORK = number("blocked.LEAST_WORK")
LEAST_SIDE = number("blocked.LEAST_SIDE")
LEAST_ROWS = number("blocked.LEAST_ROWS")
LEAST_DEPTH = number("blocked.LEAST_DEPTH")
WIDEST = number("blocked.WIDEST")
WIDTH_BYTES = number("blocked.WIDTH_BYTES")
HIGHEST = number("blocked.HIGHEST")
LEAST_TILES = number("blocked.LEAST_TILES")
FEWEST_TILES = number("blocked.FEWEST_TILES")
AHEAD = number("blocked.AHEAD")
UNROLLED = number("blocked.UNROLLED")
WRITTEN_OUT = number("blocked.WRITTEN_OUT")
MANY_ROWS = number("blocked.MANY_ROWS")


@dataclass(frozen=True)
class Blocks:
    """The sizes of blocks and tiles, in iterations.

    Attributes:
        rows: rows in a tile.
        columns: columns in a tile, a multiple of the lanes of a vector.
        height: rows in a block, a multiple of the rows of a tile.
        depth: terms of the sums that are added in one pass.
        width: columns in a block, a multiple of the columns of a tile.
        on_rows: whether threads share the blocks of rows, else the blocks of columns.
        in_place: whether the left operand is not packed: its rows run along the depth, as the rows of a tile do.
        transposed: whether they run along the depth only in a copy that is made before, for all columns.
    """

    rows: int
    columns: int
    height: int
    depth: int
    width: int
    on_rows: bool
    in_place: bool
    transposed: bool = False


def find_blocks(product: Product, target: Target) -> Blocks | None:
    """How to block a product; None where blocking does not pay."""
    m, n, k = product.sizes
    if (
        product.left is None
        or product.right is None
        or product.left.buffer is product.right.buffer
        or m * n * k < LEAST_WORK
        or min(m, n) < LEAST_SIDE
        or _is_low(product, target)
    ):
        return None
    in_place, packed = _in_place(product, target), _packed(product, target)
    if in_place is not None and runs_along(product.left, product.depth):
        return packed if _may_lack_rows(product, in_place.rows) else in_place
    if in_place is None or in_place.on_rows or m < MANY_ROWS or len(product.band) > 2 or computes(product):
        return packed
    highest = WIDTH_BYTES // (k * bits_of(product.depth) // 8)
    return replace(in_place, height=_even(m, highest, in_place.rows), transposed=True)


def _may_lack_rows(product: Product, tile: int) -> bool:
    """Whether the last tile, which is partial, could not read a last row of the left operand again for those that it lacks.

    In the version for one matrix of a stack, whose number is symbolic, no loop says that there is one.
    """
    assert product.left is not None
    rows, loops_are_static = product.rows.trip_count(), all(loop.trip_count() is not None for loop in product.band)
    return loops_are_static and (rows or 0) % tile != 0 and DYNAMIC_INDEX in shape_of(product.left.buffer)


def _is_low(product: Product, target: Target) -> bool:
    """Whether rows are so few that packing both operands takes longer than it saves.

    A tile then reads the right operand in place, or a packed panel of it (`tiled.py`). L2 has to hold the panel, or all of an
    operand whose panels have to be transposed.
    """
    rows, right = product.rows.trip_count(), product.right
    _, n, k = product.sizes
    if rows is None or rows >= LEAST_ROWS or k > DEEPEST or right is None:
        return False
    bits = bits_of(product.depth)
    width = 4 * target.lanes(bits) if runs_along(right, product.columns) else n
    return k * width * bits // 8 <= target.l2_bytes // 2


def _in_place(product: Product, target: Target) -> Blocks | None:
    """The sizes where a tile reads rows of the left operand that run along the depth; None if the rows are too long.

    A tile reads as many streams as it has rows. Long ones pass through L2 once for every panel of columns, and evict each other
    where their distance is a power of two.
    """
    m, n, k = product.sizes
    bits = bits_of(product.depth)
    rows, columns = _tile(m, n, bits, target)
    if k > DEEPEST or k * (rows + columns) * bits // 8 > target.l2_bytes // 4:
        return None
    if m < MANY_ROWS:
        width = max(columns, _even_width(n, columns, False))
        return Blocks(rows, columns, _up(m, rows), k, _even(n, width, columns), False, True)
    height = _up(-(-m // _shares(m)), rows)
    widest = max(2 * columns, target.l2_bytes * 3 // 4 // (k * bits // 8))
    shared = _columns_of_threads(m, n, columns, widest)
    return Blocks(rows, columns, height, k, _even(n, shared or widest, columns), shared is None, True)


def _packed(product: Product, target: Target) -> Blocks:
    """The sizes where both operands are packed: a block of the left one and a panel of the right one fill L2.

    The depth is divided only if fewer than `LEAST_TILES` tiles of rows would read a panel otherwise: each block of the depth
    costs a pass over the sums.
    """
    m, n, k = product.sizes
    bits = bits_of(product.depth)
    rows, columns = _packed_tile(n, bits, target)
    cached = target.l2_bytes * 7 // (bits // 8 * 8)
    depth = _even(k, min(DEEPEST, max(LEAST_DEPTH, cached // (LEAST_TILES * rows + columns))), UNROLLED)
    highest = min(cached // depth - columns, max(m // CHUNKS, FEWEST_TILES * rows))
    if m >= MANY_ROWS:
        width = min(WIDEST, WIDTH_BYTES // (k * bits // 8))
    else:
        width = _even_width(n, columns, depth < k)
        highest *= 2 if n >= CHUNKS * columns else 1
        if depth < k and n <= width:  # blocks of rows would each pack all of the right operand again
            highest = _up(m, rows)
            depth = _even(k, min(DEEPEST, max(LEAST_DEPTH, cached // (highest + columns))), UNROLLED)
    height = _even(m, highest, rows)
    return Blocks(rows, columns, height, depth, _even(n, max(columns, width), columns), m >= MANY_ROWS, False)


def _columns_of_threads(m: int, n: int, columns: int, widest: int) -> int | None:
    """The columns of a block of at least two tiles, so that threads share evenly; None: there are fewer blocks than of rows."""
    shares = _shares(m)
    widths = [width for width in range(2 * columns, widest + 1, columns) if -(-n // width) >= shares]
    return min(widths, key=lambda width: (_up(-(-n // width), shares) * width, -width), default=None)


def _even_width(n: int, columns: int, is_deep: bool) -> int:
    """The columns of a block where rows are few: the most that threads share evenly, if blocks are not narrow then."""
    widths = [
        width for width in range(4 * columns, WIDEST + 1, columns) if -(-n // width) >= CHUNKS and is_even(-(-n // width))
    ]
    return WIDEST if is_deep else max(widths, default=WIDEST)


def computes(product: Product) -> bool:
    """Whether the epilogue has constants that would take registers from the sums, were both in one function.

    Code generation hoists the coefficients of polynomials before all loops of a function. A separate nest is outlined: it
    stands beside the blocks of rows where threads share these, inside a block where they share the columns.
    """
    ops = statements(product.band[-1].body.block)
    return any(facts_of(op).is_polynomial for op in ops)


def _shares(m: int) -> int:
    """The number of blocks of rows that are read in place: a power of two, so that threads share evenly."""
    shares = 4
    while m > shares * HIGHEST:
        shares *= 2
    return shares


def _packed_tile(n: int, bits: int, target: Target) -> tuple[int, int]:
    """Rows and columns of a tile whose left operand is packed."""
    rows, columns = target.tile_of(bits)
    return rows, min(columns, _up(n, target.lanes(bits)))


def _tile(m: int, n: int, bits: int, target: Target) -> tuple[int, int]:
    """Rows and columns of a tile with as many sums as registers hold; of such shapes, that with least padding."""
    rows, columns = _packed_tile(n, bits, target)
    wide = 4 * target.lanes(bits)
    low = rows * columns // wide
    if columns < wide <= n and 4 * low + 4 + 1 <= target.vector_registers and low > 1:  # sums, columns, one number
        return min((rows, columns), (low, wide), key=lambda tile: _up(m, tile[0]) * _up(n, tile[1]))
    return rows, columns


def _terms_at_once(sums: int) -> int:
    """How many terms of this many sums are unrolled: a power of two."""
    return min(UNROLLED, 1 << max(1, (WRITTEN_OUT // sums).bit_length() - 1))


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _even(size: int, most: int, multiple: int) -> int:
    """The length of equal parts of a size: a multiple of the step, at most `most`."""
    parts = -(-size // max(multiple, most // multiple * multiple))
    return _up(-(-size // parts), multiple)


@dataclass
class _Names:
    """The current loops of a product while it is scheduled, inside which the next ones are made."""

    jo: str
    io: str
    i: str
    j: str
    k: str
    ko: str | None = None


class Blocked:
    """Applies the primitives for one product."""

    def __init__(self, kernel: KernelOp, product: Product, blocks: Blocks, target: Target, take: Take):
        self.kernel, self.product, self.blocks, self.take = kernel, product, blocks, take
        self.lanes = target.lanes(bits_of(product.depth))
        self.on_threads = blocks.on_rows and len(product.band) == 2
        counted = not self.on_threads or extent(product.rows) is not None  # outside threads, the sums of all rows are in memory
        self.apart = computes(product) and len(product.band) == 2 and product.sizes[0] >= MANY_ROWS and counted

    def run(self) -> None:
        blocks, take = self.blocks, self.take
        assert self.product.left is not None
        left = self.product.left.buffer.name_hint or ""
        at = self._blocks()
        if at.ko is not None:
            rest = self._sums(at)
            jp, ip, i, j = self._tiles(at)
        else:
            jp, ip, i, j = self._tiles(at)
            rest = self._expand_tiles(at, ip)
        self._pack(at, jp, ip, i, j)
        self._fill(j, blocks.columns)
        self._fill(i, blocks.rows, (left,) if blocks.in_place and not blocks.transposed else ())
        take(Vectorize(j, self.lanes))
        if blocks.rows > 1:
            take(UnrollAndJam(i, blocks.rows))
        if blocks.columns > self.lanes:
            take(UnrollAndJam(j, blocks.columns // self.lanes))
        terms = _terms_at_once(blocks.rows * blocks.columns // self.lanes)
        if (loops(self.kernel)[at.k].trip_count() or 0) >= terms:
            take(Unroll(at.k, terms))
        take(Vectorize(rest[-1], self.lanes))

    def _blocks(self) -> _Names:
        """Make blocks of columns around blocks of rows; divide a large depth into blocks."""
        product, blocks, take = self.product, self.blocks, self.take
        rows, columns, k = (name_of(loop) for loop in (product.rows, product.columns, product.depth))
        jo, j = take(Split(columns, blocks.width))
        io, i = take(Split(rows, blocks.height))
        others = [name_of(loop) for loop in product.band if loop not in (product.rows, product.columns)]
        take(Reorder((*others, *((io, jo) if blocks.transposed else (jo, io)), i, j)))
        if self.on_threads:
            take(Serialize(jo))
        if blocks.transposed:
            take(Serialize(io))
            self._turn(io, i, k)
        ko = None
        if blocks.depth < (product.depth.trip_count() or 0):
            ko, k = take(Split(k, blocks.depth))
        return _Names(jo, io, i, j, k, ko)

    def _turn(self, io: str, i: str, k: str) -> None:
        """Copy a block of rows of the left operand so that it runs along the depth: square tiles transposed in registers."""
        product, take = self.product, self.take
        assert product.left is not None
        buffer = product.left.buffer
        made = take(Stage(buffer.name_hint or "", io, (i, k), (i,), (self.blocks.rows,)))
        inline_prologue(self.kernel, buffer, 1, take)
        rows, deep, *zeros = made
        group, across = take(Split(deep, self.lanes))
        take(Reorder((group, rows, across)))
        take(Parallelize(group))
        take(Vectorize(across, self.lanes))
        take(Unroll(rows, self.lanes))
        for along in zeros[1::2]:
            take(Vectorize(along, self.lanes))

    def _expand_tiles(self, at: _Names, ip: str) -> tuple[str, ...]:
        """Store each tile to memory for the epilogue; returns the loops of the epilogue."""
        rows, columns = self.blocks.rows, self.blocks.columns
        if self.apart:
            beside, outer = (at.jo, (1, 1, 1)) if self.on_threads else (at.io, (1, 1))
            return self.take(Expand(at.k, beside, (*outer, rows, columns)))
        return self.take(Expand(at.k, ip, (rows, columns), "stack"))

    def _sums(self, at: _Names) -> tuple[str, ...]:
        """Keep the sums in memory from block to block of the depth; returns the loops of the epilogue."""
        blocks, take = self.blocks, self.take
        assert at.ko is not None
        beside, outer = (at.jo, (1,)) if self.apart and self.on_threads else (at.io, ())
        rest = take(Expand(at.ko, beside, (*outer, blocks.rows, blocks.columns)))
        sums = stored_to(self.kernel, at.ko)
        take(Demote(at.ko))
        j_start, j = take(Fission(at.j, sums))
        i_start, i = take(Fission(at.i, at.j))
        self._fill(i_start, blocks.height)
        self._fill(j_start, blocks.width)
        take(Vectorize(j_start, self.lanes))
        at.i, at.j = i, j
        return rest

    def _tiles(self, at: _Names) -> tuple[str, str, str, str]:
        """Make tiles of columns around tiles of rows, and the loops in a tile."""
        take = self.take
        jp, j = take(Split(at.j, self.blocks.columns))
        ip, i = take(Split(at.i, self.blocks.rows))
        outer = () if at.ko is None else (at.ko,)
        take(Reorder((*outer, jp, ip, i, j)))
        return jp, ip, i, j

    def _pack(self, at: _Names, jp: str, ip: str, i: str, j: str) -> None:
        """Pack both operands in the order in which the tiles read them."""
        product = self.product
        assert product.left is not None and product.right is not None
        if at.ko is not None and not self.blocks.on_rows:
            here: tuple[str, str] = (at.ko, at.ko)
            outer: tuple[str, ...] = ()
        else:
            here, outer = (at.jo, at.io), () if at.ko is None else (at.ko,)
        m, n, _ = product.sizes
        again, packed = -(-n // self.blocks.width), -(-m // self.blocks.height) if self.blocks.transposed else 1
        self._pack_operand(product.right.buffer, here[0], (*outer, jp, at.k, j), self.blocks.columns, packed)
        if not self.blocks.in_place:
            self._pack_operand(product.left.buffer, here[1], (*outer, ip, at.k, i), self.blocks.rows, again)
        elif again == 1 and not self.blocks.transposed:
            compute_prologue_at(self.kernel, product.left.buffer, at.ko or at.io, self.lanes, self.take)

    def _pack_operand(self, buffer: SSAValue, at: str, order: tuple[str, ...], size: int, times: int) -> None:
        """Pack the elements of an operand that a loop's body reads into panels of `size`; rows along the depth are transposed.

        A prologue of the operand is computed there; each element is copied `times`.
        """
        k, inside = order[-2:]
        load = next(op for op in loops(self.kernel)[k].body.block.ops if isinstance(op, LoadOp) and op.buffer is buffer)
        along_depth = runs_along(load, loops(self.kernel)[k])
        source = main_operand(self.kernel, buffer)
        made = self.take(Stage(buffer.name_hint or "", at, order, (inside,), (size,)))
        if not inline_prologue(self.kernel, buffer, times, self.take):
            source = buffer.name_hint or ""
        copies, zeros = made[: len(order)], made[len(order) :]
        lanes = self.lanes
        while size % lanes:
            lanes //= 2
        panels, deep, across = copies[-3:]
        if along_depth and size > lanes:  # square tiles transposed in registers, one after the other along the depth
            if zeros:
                deep = self.take(Fission(deep, across))[0]
            group, across = self.take(Split(across, lanes))
            self.take(Reorder((group, deep, across)))
        if not along_depth:  # row by row, across all panels
            self.take(Reorder((deep, panels)))
            self.take(Parallelize(deep))
            attempt(Prefetch(source, deep, AHEAD), self.take)
        if lanes > 1:
            self.take(Vectorize(across, lanes))
        if along_depth:
            self.take(Unroll(deep, max(lanes, self.lanes)))
        for name in zeros:
            self.take(Vectorize(name, self.lanes))

    def _fill(self, name: str, size: int, clamp: tuple[str, ...] = ()) -> None:
        """Pad a loop to its full tile where the last one is partial; of some buffers it may read the last elements again."""
        loop = loops(self.kernel)[name]
        if loop.trip_count() != size:
            self.take(Pad(name, size, clamp))


def block_product(kernel: KernelOp, product: Product, blocks: Blocks, target: Target, take: Take) -> None:
    """Apply the primitives of a blocked product."""
    Blocked(kernel, product, blocks, target, take).run()

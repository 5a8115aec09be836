"""Nests that multiply and sum: `out[rows, columns] = sum over depth of left[rows, depth] * right[depth, columns]`."""

from __future__ import annotations

from dataclasses import dataclass

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.types import is_float, scalar_of, width_of
from ...thresholds import number
from ..analysis.lanes import runs_along
from ..analysis.nests import only_loop_in, statements
from ..costs import expected_trips

LEAST_DEPTH = number("product_nest.LEAST_DEPTH")
DEEPEST = number("product_nest.DEEPEST")
LEAST_SUMS = number("product_nest.LEAST_SUMS")
GROUPS = number("product_nest.GROUPS")


@dataclass(frozen=True)
class Product:
    """A product of static sizes, perhaps batched, with its epilogue.

    Attributes:
        band: the parallel loops, outermost first, `rows` and `columns` among them.
        rows: a loop that one operand depends on, and the other does not.
        columns: the contiguous loop of the results, which the other operand depends on.
        depth: the sum.
        left: the load that depends on the rows, where the terms are products of just two loads.
        right: the load that depends on the columns, likewise.
    """

    band: tuple[ForOp, ...]
    rows: ForOp
    columns: ForOp
    depth: ForOp
    left: LoadOp | None
    right: LoadOp | None

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of rows, columns and terms; of dynamic rows the expected number."""
        return expected_trips(self.rows), self.columns.trip_count() or 0, self.depth.trip_count() or 0


def rows_without_rest(count: int, sums: int, registers: int) -> int | None:
    """Rows of a tile, of this many registers each, that divide `count`; None where such tiles would be too small.

    A remainder needs a tile of its own, which costs as much time to compile. Two thirds of the `sums` that registers hold are
    enough to hide the latency of additions.

    >>> rows_without_rest(128, 24, 2), rows_without_rest(14, 24, 4)
    (8, None)
    """
    least = max(LEAST_SUMS, sums * 2 // 3)
    fitting = range(min(count, sums // registers), 1, -1)
    return next((rows for rows in fitting if count % rows == 0 and rows * registers >= least), None)


def even_rows(count: int, sums: int, registers: int) -> int:
    """Rows of a tile that leave no remainder, else of tiles of about equal height.

    >>> even_rows(128, 24, 2), even_rows(13, 24, 2)
    (8, 7)
    """
    return rows_without_rest(count, sums, registers) or -(-count // -(-count * registers // sums))


def find_product(nest: ForOp, target: Target, least: int | None = None) -> Product | None:
    """The product of a nest, if its sizes are static and it is worth a register tile.

    It has at least `least` columns, else as many as a vector has lanes.
    """
    band = [nest]
    while (following := only_loop_in(band[-1])) is not None:
        band.append(following)
    inside = statements(band[-1].body.block)
    sums = [op for op in inside if isinstance(op, ForOp)]
    if len(sums) != 1 or any(loop.kind.data != "parallel" for loop in band):
        return None
    depth = sums[0]
    if depth.monoid is None or depth.monoid.data != "add" or len(depth.results) != 1:
        return None
    if not is_float(depth.results[0].type) and bits_of(depth) < 32:
        return None
    if (depth.trip_count() or 0) < LEAST_DEPTH or any(op.regions for op in statements(depth.body.block)):
        return None
    stores = [op for op in inside if isinstance(op, StoreOp)]
    if not stores:
        return None
    least = target.lanes(bits_of(depth)) if least is None else least
    columns = [loop for loop in band if all(runs_along(op, loop) for op in stores) and (loop.trip_count() or 0) >= least]
    if not columns:
        return None
    loads = [op for op in statements(depth.body.block) if isinstance(op, LoadOp)]
    for rows in band:
        right = [op for op in loads if columns[0].index in op.indices and rows.index not in op.indices]
        left = [op for op in loads if rows.index in op.indices and columns[0].index not in op.indices]
        if rows is columns[0] or not right or not left or expected_trips(rows) < 2:
            continue
        plain = len(loads) == 2 and all(depth.index in op.indices for op in loads)
        return Product(tuple(band), rows, columns[0], depth, left[0] if plain else None, right[0] if plain else None)
    return None


def loops_after_loads(nest: ForOp) -> list[ForOp]:
    """The loops of the band of a sum, before which operands of an epilogue are loaded, as the bias of a row."""
    found, loop = list[ForOp](), nest
    while not loop.results and loop.kind.data == "parallel":
        inside = statements(loop.body.block)
        inner = [op for op in inside if isinstance(op, ForOp)]
        if len(inner) != 1 or any(op.regions for op in inside if op is not inner[0]):
            return []
        if inner[0].monoid is not None:
            return found
        if inside[-1] is not inner[0]:
            return []
        if len(inside) > 1:
            found.append(inner[0])
        loop = inner[0]
    return []


def bits_of(depth: ForOp) -> int:
    """The width of a sum's element type."""
    return width_of(scalar_of(depth.results[0].type))

"""Products get a register tile.

Two parallel loops around a sum, with operands that each use one of the two: a panel of the operand that the columns read is
packed, the columns become vectors, and several rows run at once through the sum, so that what is loaded is used many times.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...codegen.targets import Target
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.loop.structure import ForOp, KernelOp
from ...dialects.types import is_float, scalar_of
from ..analysis.bounds import constant_extent
from ..analysis.lanes import lane_stride
from ..analysis.nests import loops, name_of, only_loop_in, statements
from ..schedule.peel import Peel
from ..schedule.reorder import Reorder
from ..schedule.split import Split
from ..schedule.stage import Stage
from ..schedule.unroll_and_jam import UnrollAndJam
from ..schedule.vectorize import Vectorize
from .base import Take

LEAST_DEPTH = 4
"""Sums of fewer terms are not worth a register tile."""


@dataclass(frozen=True)
class Product:
    """A nest that multiplies and sums: `out[rows, columns] = sum over depth of left[rows, depth] * right[depth, columns]`.

    Attributes:
        band: the parallel loops, outermost first, `rows` and `columns` among them.
        panel: the buffer that the columns read and the rows do not, when a packed copy of it pays.
    """

    band: tuple[ForOp, ...]
    rows: ForOp
    columns: ForOp
    depth: ForOp
    panel: SSAValue | None


def find_product(nest: ForOp, target: Target) -> Product | None:
    """What a nest multiplies, if it is a product of static sizes that is worth a register tile."""
    band = [nest]
    while (following := only_loop_in(band[-1])) is not None:
        band.append(following)
    inside = statements(band[-1].body.block)
    sums = [op for op in inside if isinstance(op, ForOp)]
    if len(sums) != 1 or any(loop.kind.data != "parallel" or loop.trip_count() is None for loop in band):
        return None
    depth = sums[0]
    if depth.monoid is None or depth.monoid.data != "add" or len(depth.results) != 1 or not is_float(depth.results[0].type):
        return None
    if (depth.trip_count() or 0) < LEAST_DEPTH or any(op.regions for op in statements(depth.body.block)):
        return None
    stores = [op for op in inside if isinstance(op, StoreOp)]
    if not stores:
        return None
    lanes = target.lanes(_bits(depth))
    columns = [loop for loop in band if all(_stride(op, loop) == 1 for op in stores) and (loop.trip_count() or 0) >= lanes]
    if not columns:
        return None
    loads = [op for op in statements(depth.body.block) if isinstance(op, LoadOp)]
    for rows in band:
        right = [op for op in loads if columns[0].index in op.indices and rows.index not in op.indices]
        left = [op for op in loads if rows.index in op.indices and columns[0].index not in op.indices]
        if rows is columns[0] or not right or not left or (rows.trip_count() or 0) < 2:
            continue
        return Product(tuple(band), rows, columns[0], depth, _panel(right, loads, rows, depth, target))
    return None


def _panel(right: list[LoadOp], loads: list[LoadOp], rows: ForOp, depth: ForOp, target: Target) -> SSAValue | None:
    buffer = right[0].buffer
    if len(right) != 1 or sum(op.buffer is buffer for op in loads) != 1 or depth.index not in right[0].indices:
        return None
    width = 2 * target.lanes(_bits(depth))
    bytes_ = (depth.trip_count() or 0) * width * _bits(depth) // 8
    # the copy costs a pass over the panel, and is read once for every few rows
    worth = (rows.trip_count() or 0) >= 4 * _rows(target, _bits(depth))
    return buffer if worth and bytes_ <= target.l2_bytes // 2 else None


def _bits(depth: ForOp) -> int:
    return scalar_of(depth.results[0].type).bitwidth  # pyright: ignore[reportAttributeAccessIssue]


def _rows(target: Target, bits: int) -> int:
    """How many rows of two vectors each keep their sums in registers."""
    rows, columns = target.tile_f32 if bits == 32 else target.tile_f64
    return max(1, rows * columns // target.lanes(bits) // 2)


def _stride(op: StoreOp, loop: ForOp) -> int | None:
    found = lane_stride(op, loop.index)
    contiguous = found is not None and found[0] == op.buffer.type.get_num_dims() - 1  # pyright: ignore[reportAttributeAccessIssue]
    return found[1] if found is not None and contiguous else None


def tile_product(kernel: KernelOp, product: Product, target: Target, take: Take) -> None:
    """Take the steps of a register tile."""
    width = 2 * target.lanes(_bits(product.depth))
    rows, columns = name_of(product.rows), name_of(product.columns)
    count = product.columns.trip_count() or 0
    while width > count:
        width //= 2
    if count == width:
        _tile(kernel, None, columns, rows, product, target, take)
        return
    outer, inner = take(Split(columns, width))
    order = [name_of(loop) for loop in product.band if loop is not product.columns]
    at = order.index(rows)
    take(Reorder((*order[:at], outer, *order[at:], inner)))
    if count % width == 0:
        _tile(kernel, outer, inner, rows, product, target, take)
        return
    take(Peel(outer, 0))
    rest = next(name for name in loops(kernel) if name.startswith(f"{outer}_rest"))
    names = list(loops(loops(kernel)[rest]))
    inner_rest, rows_rest = (next(n for n in names if n.startswith(f"{name}_rest")) for name in (inner, rows))
    _tile(kernel, outer, inner, rows, product, target, take)
    _tile(kernel, None, inner_rest, rows_rest, product, target, take)


def _tile(kernel: KernelOp, outer: str | None, columns: str, rows: str, product: Product, target: Target, take: Take) -> None:
    """Columns side by side in vectors, rows at once through the sum; with an outer loop, what columns read is packed there."""
    depth = name_of(product.depth)
    lanes = 2
    while lanes < (constant_extent(loops(kernel)[columns]) or 2):
        lanes *= 2
    if product.panel is not None and outer is not None:
        copies = take(Stage(product.panel.name_hint or "", outer, (depth, columns)))
        take(Vectorize(copies[1], lanes))
    take(Vectorize(columns, lanes))
    most, trips = _rows(target, _bits(product.depth)), loops(kernel)[rows].trip_count() or 0
    made = take(UnrollAndJam(rows, min(most, trips)))
    left = trips % min(most, trips)
    if left > 1:  # the rows that fill no tile, all of them at once
        rest = loops(loops(kernel)[made[-1]])
        take(UnrollAndJam(next(name for name, loop in rest.items() if loop.trip_count() == left), left))


def schedule_products(kernel: KernelOp, target: Target, take: Take) -> None:
    """Tile every product of a kernel."""
    for nest in [op for op in kernel.body.block.ops if isinstance(op, ForOp)]:
        product = find_product(nest, target)
        if product is not None:
            tile_product(kernel, product, target, take)

"""Windows that slide over an operand: pooling, depthwise convolutions, convolutions with features last.

    padded[n, c, h, w] = x[n, c, h - 1, w - 1] or the neutral element        for all n, c, h, w
    out[n, c, p, q] = max over k, l of padded[n, c, p * 2 + k, q * 2 + l]    for all n, c, p, q

The elements under the windows are copied for one `n, c` at a time, so that they are in a cache, and without conditions:
separate loops write the padding. Windows with a stride read neighbouring elements if the copy has a row for each residue of
`w`. Where there is no padding and nothing to gain from such rows, windows read the operand in place.

Where all features of a point are multiplied by filters, the points of a row and the features of the result are the rows and
columns of a register tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.types import is_float
from ...thresholds import number
from ..analysis.affine import Affine
from ..analysis.lanes import runs_along, stored_bits
from ..analysis.nests import around, buffer_name, name_of, statements
from ..schedule.cloning import subscripts
from ..schedule.compute_at import ComputeAt
from ..schedule.deinterleave import Deinterleave
from ..schedule.inline import Inline
from ..schedule.partition import Partition
from ..schedule.reorder import Reorder
from ..schedule.set_layout import SetLayout
from ..schedule.split_dim import SplitDim
from ..schedule.ungroup import Ungroup
from ..schedule.unroll import Unroll
from ..schedule.vectorize import Vectorize
from .base import Take, attempt
from .block_product import BlockProduct, tile_block_product
from .lanes import can_widen

UNROLLED = number("depthwise_and_pooling.UNROLLED")


@dataclass(frozen=True)
class Windows:
    """A local buffer that one op stores to and windows read.

    Attributes:
        points: the loops around the read whose iterations are windows, outermost first.
        taps: the loops over the elements of a window.
    """

    alloc: AllocOp
    store: StoreOp
    load: LoadOp
    points: list[ForOp]
    taps: list[ForOp]

    @property
    def name(self) -> str:
        return buffer_name(self.alloc.buffer)

    @property
    def at(self) -> list[Affine]:
        """The load of the windows."""
        return subscripts(self.load)

    @property
    def still(self) -> ForOp | None:
        """The innermost of the outer loops that windows do not slide along: each of its iterations reads separate elements."""
        found, plain = None, {form.value for form in self.at}
        for loop in self.points:
            if loop.index not in plain or loop.kind.data != "parallel":
                return found
            found = loop
        return found

    @property
    def is_copy(self) -> bool:
        """Whether the buffer is a plain copy of an operand, without padding."""
        return isinstance(self.store.value.owner, LoadOp)


def find_windows(alloc: AllocOp) -> Windows | None:
    """How windows read a buffer, if windows read it."""
    users = [use.operation for use in alloc.buffer.uses]
    stores, loads = [op for op in users if isinstance(op, StoreOp)], [op for op in users if isinstance(op, LoadOp)]
    if len(stores) != 1 or len(loads) != 1 or len(users) != 2 or loads[0].lanes != 1:
        return None
    at, outside = subscripts(loads[0]), around(loads[0])
    points = [loop for loop in outside if not loop.results]
    taps = [loop for loop in outside if loop.results and any(loop.index in form.terms for form in at)]
    indices = [{loop.index for loop in loops} for loops in (points, taps)]
    slides = any(form.value is None and indices[0] & form.terms.keys() for form in at)
    if not (slides and taps and all(form.is_linear for form in at)):
        return None
    return Windows(alloc, stores[0], loads[0], points, taps)


@dataclass(frozen=True)
class Rows:
    """The rows into which the last dim of a buffer is divided: one for each residue modulo `stride`.

    Attributes:
        tap: the loop over the elements of a window along it.
        ways: the number of window elements after which the residues repeat.
    """

    stride: int
    tap: ForOp
    ways: int


def find_rows(windows: Windows) -> Rows | None:
    """The rows that neighbouring windows read, if they overlap along the last dim and read with a stride."""
    terms = windows.at[-1].terms
    strides = [terms[loop.index] for loop in windows.points if loop.index in terms]
    taps = [loop for loop in windows.taps if loop.index in terms]
    if len(strides) != 1 or len(taps) != 1 or strides[0] < 2 or taps[0].monoid is None:
        return None
    (stride,), (tap,) = strides, taps
    reach = terms[tap.index] * ((tap.trip_count() or 1) - 1)
    ways = stride // gcd(stride, terms[tap.index])
    return Rows(stride, tap, ways) if reach >= stride and ways <= (tap.trip_count() or 0) else None


def schedule_windows(kernel: KernelOp, target: Target, take: Take) -> None:
    """Copy the elements under windows, without conditions and in rows of neighbours, and unroll the windows."""
    found = [w for op in kernel.body.block.ops if isinstance(op, AllocOp) and (w := find_windows(op)) is not None]
    if not found:
        return
    points, product, taps = found[0].points, find_product(found[0]), list[str]()
    unrolled = product is None and prod(loop.trip_count() or UNROLLED + 1 for loop in found[0].taps) <= UNROLLED
    for windows in found:
        taps += [name for name in _schedule_copy(windows, take) if name not in taps]
    for name in taps:
        attempt(Ungroup(name), take)
    if unrolled:
        for name in taps:
            take(Unroll(name))
    if product is None:
        _widen(points[-1], unrolled, target, take)
        return
    inside = points[points.index(product.rows) + 1 : -1]
    if inside and attempt(Reorder(tuple(map(name_of, (*inside, product.rows)))), take) is None:
        _widen(points[-1], unrolled, target, take)  # a copy stands between the loops, as of images in groups with holes
        return
    tile_block_product(kernel, product, target, take, deep=True)


def find_product(windows: Windows) -> BlockProduct | None:
    """The product of the points along a row with filters whose features are contiguous, if windows are summed as one."""
    *outer, columns = windows.points
    depth = windows.taps[-1]
    loads = [op for op in statements(depth.body.block) if isinstance(op, LoadOp) and op is not windows.load]
    if columns.index in windows.load.indices or len(loads) != 1 or not runs_along(loads[0], columns):
        return None
    rows = [loop for loop in outer if loop.index in windows.load.indices and loop.index not in loads[0].indices]
    return BlockProduct(rows[-1], columns, depth) if rows and is_float(depth.results[0].type) else None


def _widen(point: ForOp, unrolled: bool, target: Target, take: Take) -> None:
    """Vectorize neighbouring windows: several independent registers, more of them if windows are loops."""
    native, trips = target.lanes(stored_bits(point)), point.trip_count() or 0
    lanes = native * (2 if unrolled else 4)
    if unrolled and 0 < trips % lanes <= native:  # otherwise the last vector would be half empty
        lanes = native
    while trips and lanes // 2 >= trips:  # not of a symbolic size
        lanes //= 2
    if lanes > 1 and can_widen(point):
        take(Vectorize(name_of(point), lanes))


def _schedule_copy(windows: Windows, take: Take) -> list[str]:
    """Schedule the producer of the buffer and its layout; returns the names of the loops over the elements of a window."""
    name, rows = windows.name, find_rows(windows)
    taps = [name_of(loop) for loop in windows.taps]
    if windows.is_copy and rows is None and attempt(Inline(name), take) is not None:
        return taps
    copies = [name_of(loop) for loop in around(windows.store)]
    if (still := windows.still) is not None:
        copies = list(take(ComputeAt(name, name_of(still))))
    if rows is not None:
        last = windows.alloc.buffer.type.get_num_dims() - 1
        copies[-1:] = take(Deinterleave(copies[-1], rows.stride))
        if rows.ways > 1:
            at = taps.index(name_of(rows.tap))
            taps[at : at + 1] = take(Deinterleave(taps[at], rows.ways))
        take(SplitDim(name, last, rows.stride))
        take(SetLayout(name, (last + 1, *range(last + 1))))
    for loop in copies:
        attempt(Partition(loop), take)
    return taps

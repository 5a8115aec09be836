"""Kernels written as loops: vectors of independent neighbours, threads for the outermost independent loop.

Sizes may be symbols and loops `seq`: a loop is only transformed where the dependence analysis proves that its iterations are
independent, and stays as it is written otherwise. In each nest, from the outside in,

* the first loop whose iterations are independent gets threads: an inner one is moved there where the loops in between allow it
  (a product written with its sum outside), loops around it stay (the time steps of a stencil);
* sweeps over a grid that follow one another run in strips of rows (`sweeps.py`);
* inside it, the loops that cost least on vectors become vectors (`lowering/costs.py`);
* where rows read the same elements to sum them up, several rows are jammed and keep their sums in registers (`loop_tiles.py`);
* gathered rows are prefetched (`indexed.py`).

Sums of floats keep their order: a loop that carries one is not widened, the loop around it is. So results are those of the
kernel as written, bit for bit.
"""

from __future__ import annotations

from itertools import pairwise

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation

from ...codegen.targets import Target
from ...codegen.targets.base import LINE_BYTES
from ...dialects.loop.loops import ForOp, KernelOp, WhileOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.types import is_float
from ...errors import ScheduleError
from ...thresholds import number
from ..analysis.accesses import accesses
from ..analysis.bounds import constant_extent
from ..analysis.dependence import CannotDecide, carried_conflict, find_conflict, pairs
from ..analysis.nests import around, buffer_name, holds, is_inside, loops, name_of, only_loop_in, ops_in, statements, walk
from ..costs import Costs, widest
from ..schedule.accumulate import Accumulate
from ..schedule.base import Primitive
from ..schedule.parallelize import Parallelize
from ..schedule.peel import Peel
from ..schedule.reorder import Reorder
from ..schedule.serialize import Serialize
from ..schedule.sink import Sink, movable
from ..schedule.split import Split
from ..schedule.unroll import Unroll
from ..schedule.unroll_and_jam import UnrollAndJam
from ..schedule.vectorize import Vectorize
from ..widening import obstacle
from .base import Take, attempt, is_scalar, nests
from .loop_tiles import Tile, find_tile
from .sweeps import take_sweeps

_MOST_PAIRS = number("loops._MOST_PAIRS")
_FEW = number("loops._FEW")
_LEAST_TRIPS = number("loops._LEAST_TRIPS")
_PART_BITS = 2 * 8 * LINE_BYTES
"""Bits of a row that a thread processes at once: two cache lines, which hardware prefetches together."""
_MOST_COPIED = number("loops._MOST_COPIED")
_BLOCK = number("loops._BLOCK")


def schedule_loops(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Add vectors, and threads, to a nest, or to the parts of it that remain."""
    for part in _scalar_parts(nest):
        _Scheduler(kernel, target, take, True).nest(name_of(part), is_row=part is not nest)


def schedule_loops_without_threads(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Add vectors to a nest, and threads only to loops whose author requested them."""
    for part in _scalar_parts(nest):
        _Scheduler(kernel, target, take, False).nest(name_of(part), is_row=part is not nest)


def schedule_rest(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Add vectors and threads to what the author of a schedule has left in a nest.

    Loops around vectors stay as they are, but for threads; loops that are unrolled may get vectors around them.
    """
    if nest.trip_count() == 0:
        return
    has_threads = not any(loop.kind.data == "parallel" for loop in (*around(nest), *ops_in(nest, ForOp)))
    for name in map(name_of, _without_vectors(nest)):
        if name in loops(kernel):
            _Scheduler(kernel, target, take, has_threads).nest(name, is_row=name != name_of(nest) or bool(around(nest)))
    if has_threads and (first := loops(kernel).get(name_of(nest))) is not None:
        _threads_around_vectors(kernel, first, target, take)


def _without_vectors(nest: ForOp) -> list[ForOp]:
    """A nest without vectors, else its inner nests without them."""
    if nest.kind.data in ("vector", "unroll"):
        return []
    if not _has_vectors(nest):
        return [nest]
    return [part for inner in nests(nest.body.block) for part in _without_vectors(inner)]


def _has_vectors(nest: ForOp) -> bool:
    return any(type(result.type) is VectorType for op in walk(nest) for result in op.results)


def _threads_around_vectors(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Threads for the first loop from outside that contains vectors of others, and whose iterations are independent."""
    loop: ForOp | None = nest
    while loop is not None and loop.kind.data == "seq" and _has_vectors(loop) and not Costs(target, is_proved).is_little(nest):
        if any(inner.kind.data == "parallel" for inner in ops_in(loop, ForOp)):
            return
        if not loop.results and is_proved(loop):
            attempt(Parallelize(name_of(loop)), take)
            return
        loop = only_loop_in(loop)


def _scalar_parts(nest: ForOp) -> list[ForOp]:
    """A nest without vectors, else its inner nests with varying bounds, which other strategies leave alone."""
    if nest.trip_count() == 0 or nest.kind.data in ("vector", "unroll"):
        return []
    if is_scalar(nest):
        return [nest]
    found = [part for inner in nests(nest.body.block) for part in _scalar_parts(inner)]
    return [part for part in found if any(loop.constant_bounds() is None for loop in (part, *ops_in(part, ForOp)))]


class _Scheduler:
    """Applies the primitives for one kernel. Loops are known by name, since primitives replace them."""

    def __init__(self, kernel: KernelOp, target: Target, take: Take, has_threads: bool):
        self.kernel, self.target, self.take, self.has_threads = kernel, target, take, has_threads
        self.refused: set[str | None] = set()
        self.costs = Costs(target, self.may_widen, self.is_in_order)

    def loop(self, name: str) -> ForOp:
        return loops(self.kernel)[name]

    def may_widen(self, loop: ForOp) -> bool:
        """Whether a loop is of a kind that keeps its meaning on vectors if its iterations prove independent."""
        if loop.index.name_hint in self.refused or (
            loop.results and not self.is_order_free(loop) and not self.is_in_order(loop)
        ):
            return False
        most = constant_extent(loop)
        return (
            loop.kind.data in ("seq", "parallel", "reduce")
            and (most is None or most >= _LEAST_TRIPS)
            and obstacle(loop) is None
        )

    def is_in_order(self, loop: ForOp) -> bool:
        """Whether a reduction of floats keeps the order of its terms on vectors."""
        return loop.monoid is not None and loop.monoid.data in ("add", "mul") and not self.is_order_free(loop)

    def is_order_free(self, loop: ForOp) -> bool:
        """Whether a reduction returns the same bits in any order, as sums of integers and extremes do, or may return others."""
        monoid = loop.monoid
        if monoid is None:
            return False
        exact = monoid.data in ("min", "max") or not any(is_float(result.type) for result in loop.results)
        return exact or self.kernel.may_reassociate

    def block(self, block: Block, is_row: bool) -> None:
        """Schedule the nests in a block in order; `is_row`: iterations of an enclosing loop access different elements."""
        if not is_row:
            take_sweeps(block, self.take)
        for op in list(block.ops):
            if isinstance(op, ForOp):
                if op.trip_count() != 0 and is_scalar(op):
                    self.nest(name_of(op), is_row)
            else:
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner, is_row)

    def nest(self, name: str, is_row: bool) -> None:
        loop = self.loop(name)
        # a single row is too little for threads
        if loop.results or (is_row and _is_flat(loop)) or self.costs.is_little(loop):
            self.vectors(name)
        elif (loop.trip_count() or _FEW) >= _FEW and self.threads(name):
            pass
        elif (inner := self._independent_inside(loop)) is not None:
            self.take(Reorder((inner, *_names_to(loop, inner))))
            self.threads(inner)
        elif (columns := self._columns_inside(loop)) is not None:
            self.columns(columns)
        else:
            self.block(loop.body.block, is_row or _selects(loop))

    def threads(self, name: str) -> bool:
        """Threads for a loop whose iterations are independent, vectors inside it; False: independence is not proved."""
        loop = self.loop(name)
        is_promised, schedule = loop.kind.data == "parallel", "static" if loop.dynamic is None else "dynamic"
        tile = find_tile(loop, self.costs, self.target)
        if not is_promised and self.has_threads and (tile is not None or self.costs.plan(loop).loops != [loop]):
            # before vectorization, which would make the proof slower
            if _asks_much(loop) or not self.attempt(Parallelize(name)):
                return False
        elif not is_proved(loop):
            if not is_promised:
                return False
            self.refused.add(name)  # vectors of it would break the promise made for threads
        if tile is not None:
            self.tiled(name, tile)
        elif self.vectors(name) == [name] and self.loop(name).kind.data == "vector" and (self.has_threads or is_promised):
            outer, _ = self.take(Split(name, _BLOCK if _is_flat(self.loop(name)) else 1))
            self.attempt(Parallelize(outer, schedule))
        return True

    def columns(self, band: list[str]) -> None:
        """Threads for parts of the rows that a nest visits in a fixed order; vectors along a part.

        A part consists of whole cache lines, so that no two threads write into one.
        """
        *rows, along = band
        for inner in band[1:]:  # `n = node[e]` before the loop over columns: each part reads it
            self.attempt(Sink(inner))
        size = _PART_BITS // widest(self.loop(along))
        part, inside = self.take(Split(along, size))
        if self.attempt(Reorder((part, *rows, inside))):
            self.attempt(Parallelize(part))
            if self.in_registers(part, rows, inside):
                return
        self.attempt(Vectorize(inside, size))

    def in_registers(self, part: str, rows: list[str], inside: str) -> bool:
        """Keep the parts of rows that are updated again and again in registers, and make vectors of the loops along them.

        In memory, each update would wait for the one before it: a store, a load of what it stored, and the arithmetic.
        """
        copying: list[str] = []
        for store in ops_in(self.loop(inside), StoreOp):
            outermost = ""
            for row in reversed(rows):
                if _depends(store, self.loop(row)):
                    break
                outermost = row
            if outermost:
                copying += attempt(Accumulate(buffer_name(store.buffer), outermost), self.take) or ()
        if not copying:
            return False
        whole = [inside, *copying]
        for loop in (*whole, *self.last_part(part, whole)):
            tail = "masked" if loop in whole and self.loop(loop).trip_count() else "predicated"
            made = attempt(Vectorize(loop, self.target.lanes(widest(self.loop(loop))), tail=tail), self.take)
            if made is not None:
                self.attempt(Unroll(made[0]))
        return True

    def last_part(self, part: str, inside: list[str]) -> list[str]:
        """Give the last part of rows, which may be shorter, a nest of its own, so that others need no masks; its copies of the
        loops."""
        order = [name_of(loop) for loop in ops_in(self.loop(part), ForOp)]
        made = attempt(Peel(part, 0), self.take)
        if made is None or len(made) < 2:
            return []
        self.attempt(Serialize(made[1]))
        names = [name_of(loop) for loop in ops_in(self.loop(made[1]), ForOp)]
        return [names[order.index(loop)] for loop in inside]

    def tiled(self, name: str, tile: Tile) -> None:
        """A register tile: sums in registers, several rows jammed, threads for blocks of rows."""
        for buffer in tile.kept:
            self.attempt(Accumulate(buffer, tile.sum))
        if self.attempt(Vectorize(tile.columns, tile.lanes)):
            self.attempt(UnrollAndJam(name, tile.rows))

    def attempt(self, step: Primitive) -> bool:
        """Try a primitive."""
        return attempt(step, self.take) is not None

    def vectors(self, name: str) -> list[str]:
        """Vectorize the loops of a nest at the least cost; returns those loops."""
        while True:
            plan = self.costs.plan(self.loop(name)).widened
            steps = [Vectorize(name_of(loop), lanes, ordered=self.is_in_order(loop)) for loop, lanes in plan]
            refused = next((s.loop for s in steps if _asks_much(self.loop(s.loop)) or not self.attempt(s)), None)
            if refused is None:
                for step in steps:
                    self.short_loops(step.loop)
                return [step.loop for step in steps]
            self.refused.add(refused)

    def short_loops(self, around: str) -> None:
        """Unroll the loops of few iterations inside of one, the inner ones first: subscripts of local arrays become numbers."""
        names = [name_of(loop) for loop in ops_in(self.loop(around), ForOp)[:0:-1]]
        for name in names:
            loop = self.loop(name)
            trips = loop.trip_count()
            if trips and loop.kind.data in ("seq", "reduce") and trips * _copies(loop) <= _MOST_COPIED:
                self.attempt(Unroll(name))

    def _independent_inside(self, outer: ForOp) -> str | None:
        """A loop that can be moved around a nest to get threads: independent, and not the contiguous one."""
        along = {name_of(loop) for loop in self.costs.plan(outer).loops}
        loop, order = outer, [name_of(outer)]
        while (following := only_loop_in(loop)) is not None:
            loop = following
            name = name_of(loop)
            if name not in along and is_independent(loop):
                try:
                    Reorder((name, *order)).check(self.kernel)
                    return name
                except ScheduleError:
                    pass
            order.append(name)
        return None

    def _columns_inside(self, outer: ForOp) -> list[str] | None:
        """The loops from one over rows to the one along them, if its iterations stay independent whatever the rows are."""
        widened = self.costs.plan(outer).loops
        if not self.has_threads or len(widened) != 1 or _asks_much(outer):
            return None
        along, known = widened[0], widened[0].trip_count()
        band = [outer, *(loop for loop in around(along) if outer in around(loop)), along]
        if along is outer or not all(_goes_with(self.kernel, *two) for two in pairwise(band)):
            return None
        if any(loop.index in (*along.lower_operands, *along.upper_operands) for loop in band):
            return None
        is_long = known is None or known * widest(along) >= 2 * _PART_BITS
        return [name_of(loop) for loop in band] if is_long and are_apart(along) else None


def _goes_with(kernel: KernelOp, outer: ForOp, inner: ForOp) -> bool:
    """Whether a loop is the whole body of another one, except for ops that can be computed inside it."""
    rest = [op for op in statements(outer.body.block) if op is not inner]
    return inner.parent is outer.body.block and not outer.results and all(op in movable(kernel, inner) for op in rest)


def are_apart(loop: ForOp) -> bool:
    """Whether different iterations of a loop provably touch different elements, whatever enclosing loops do."""
    for one, two in pairs(accesses(loop)):
        both = [other for other in one.loops if other in two.loops]
        for relation in "<>":
            try:
                if find_conflict(one, two, dict.fromkeys(both, "*") | {loop: relation}) is not None:
                    return False
            except CannotDecide:
                return False
    return True


def is_independent(loop: ForOp) -> bool:
    """Whether the iterations of a loop are known to be independent: proved, or promised by its author."""
    return not loop.results and (loop.kind.data == "parallel" or is_proved(loop))


def is_proved(loop: ForOp) -> bool:
    """Whether provably no two iterations of a loop touch one element, one of them writing."""
    if _asks_much(loop):
        return False
    try:
        return carried_conflict(loop) is None
    except CannotDecide:
        return False


def _asks_much(loop: ForOp) -> bool:
    """Whether a proof would take too long."""
    return sum(1 for _ in pairs(accesses(loop))) > _MOST_PAIRS


def _copies(loop: ForOp) -> int:
    """The ops in the body of a loop, with those of unrolled loops in it as often as they are copied."""
    inner = [op for op in loop.body.block.ops if isinstance(op, ForOp)]
    own = sum(1 for op in walk(loop.body.block)) - sum(len(walk(op)) for op in inner)
    return own + sum(_copies(op) * ((op.trip_count() or 1) if op.kind.data == "unroll" else 1) for op in inner)


def _depends(store: StoreOp, loop: ForOp) -> bool:
    """Whether the element that is stored differs between the iterations of a loop, apart from the loops in it."""
    return any(
        index is loop.index or (isinstance(index.owner, Operation) and is_inside(index, loop)) for index in store.indices
    )


def _names_to(outer: ForOp, inner: str) -> list[str]:
    """The loops of a perfect nest from the outermost to the one before `inner`."""
    names: list[str] = []
    loop: ForOp | None = outer
    while loop is not None and name_of(loop) != inner:
        names.append(name_of(loop))
        loop = only_loop_in(loop)
    return names


def _selects(loop: ForOp) -> bool:
    """Whether iterations of a loop access different elements, by its index; a time step does not."""
    return any(loop.index in op.indices for op in ops_in(loop, LoadOp, StoreOp))


def _is_flat(loop: ForOp) -> bool:
    return not holds(loop.body.block, ForOp, WhileOp)

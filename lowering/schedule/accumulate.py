"""Keep the elements that a loop updates in a register tile: loaded before the loop, stored after it.

Requires accesses of the buffer in the loop with one and the same subscript, which is invariant in the loop. Other accesses of
the buffer there must not touch these elements.

    before                                         after, buffer=C at=k
    loop.for seq %k = 0 to %K {                    %C_tile = loop.alloc register : memref<6xf32>
      loop.for seq %i = 0 to 6 {                   loop.for seq %i_in = 0 to 6 {
        %c = loop.load %C[%i]                        %c = loop.load %C[%i_in]
        %s = math.fma %a, %b, %c : f32               loop.store %c, %C_tile[%i_in]
        loop.store %s, %C[%i]                      }
      }                                            loop.for seq %k = 0 to %K {
    }                                                loop.for seq %i = 0 to 6 {
                                                       ... %C_tile[%i] ...
                                                   }
                                                   loop.for seq %i_out = 0 to 6 {
                                                     %c = loop.load %C_tile[%i_out]
                                                     loop.store %c, %C[%i_out]
                                                   }

The tile `<buffer>_tile` has one dim for each inner loop that the subscript uses, of its greatest constant extent. It is not
loaded when every element is stored before it is read, and not stored when none is written. Returns the loops `<v>_in`, then
`<v>_out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, CheckOp, LoadOp, StoreOp
from ...dialects.types import element_of, memref
from ..analysis.accesses import Access, accesses
from ..analysis.affine import Affine, show
from ..analysis.dependence import CannotDecide, find_conflict
from ..analysis.facts import planned
from ..analysis.nests import around, find, fresh, holds, is_inside, name_of, place, walk
from ..analysis.regions import (
    Extent,
    all_run,
    conditional_in,
    extent,
    find_buffer,
    in_bounds,
    lowers,
    private_in,
    uppers,
)
from .base import Primitive
from .cloning import Values, fill, is_vector, load_of, loop_like, redirect, store_of, subscripts


@dataclass
class _Plan:
    """The elements to keep: accesses `uses` to `buffer[at]`, in `loop`, moved by the loops `tiled`."""

    loop: ForOp
    buffer: SSAValue
    at: list[Affine]
    uses: list[Access]
    tiled: list[ForOp]
    extents: list[Extent]
    loads: bool = True
    stores: bool = True
    numbers: list[Affine] = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = [e.number(Affine.of(loop.index)) for loop, e in zip(self.tiled, self.extents, strict=True)]


@dataclass(frozen=True)
class Accumulate(Primitive):
    """Keep the elements that a loop updates in registers.

    Attributes:
        buffer: the buffer of these elements.
        at: the loop during which they are kept.
    """

    name = "loop-accumulate"

    buffer: str
    at: str

    def check(self, kernel: KernelOp) -> None:
        self._plan(kernel)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        plan = self._plan(kernel)
        block, like = plan.loop.parent_block(), plan.uses[0].op
        assert block is not None
        type = element_of(plan.buffer)
        tile = AllocOp.build_alloc(
            "register", memref(type, [max(1, e.count) for e in plan.extents]), name=fresh(kernel, f"{self.buffer}_tile")
        )
        tile.location = like.location
        block.insert_op_before(tile, plan.loop)
        made: list[str] = []
        for wanted, suffix in (plan.loads, "in"), (plan.stores, "out"):
            if wanted:
                names = [fresh(kernel, f"{name_of(loop)}_{suffix}", made) for loop in plan.tiled]
                made += names
                ops = self._copy(plan, tile.buffer, names, inwards=suffix == "in")
                if suffix == "in":
                    block.insert_ops_before(ops, plan.loop)
                else:
                    block.insert_ops_after(ops, plan.loop)
        for use in plan.uses:
            assert isinstance(use.op, LoadOp | StoreOp)
            redirect(use.op, tile.buffer, plan.numbers)
        return tuple(made)

    def _copy(self, plan: _Plan, tile: SSAValue, names: Sequence[str], inwards: bool) -> list[Operation]:
        """A nest that copies the elements into the tile or back."""
        like = next(use.op for use in plan.uses if inwards or use.writes)
        assert isinstance(like, LoadOp | StoreOp)
        values: Values = {}
        loops = [loop_like(loop, name, values, like) for loop, name in zip(plan.tiled, names, strict=True)]
        outside = plan.buffer, [form.substitute(values) for form in plan.at]
        inside = tile, [form.substitute(values) for form in plan.numbers]
        source, target = (outside, inside) if inwards else (inside, outside)
        load = load_of(like, *source, name=like.value.name_hint)
        ops: list[Operation] = [load, store_of(like, load.value, *target)]
        for loop in reversed(loops):
            ops = [fill(loop, ops)]
        return ops

    # # -- the accesses, and their legality

    @planned
    def _plan(self, kernel: KernelOp) -> _Plan:
        loop, buffer = find(kernel, self.at, self.name), find_buffer(kernel, self.buffer, self.name)
        found = [a for a in accesses(loop) if a.buffer is buffer]
        if private_in(buffer, loop):
            raise self.refuse(f"{self.buffer} is local to an iteration of {self.at}")
        if not found:
            raise self.refuse(f"nothing in loop {self.at} accesses {self.buffer}")
        groups: dict[tuple[Affine, ...], list[Access]] = {}
        for use in found:
            if not isinstance(use.op, LoadOp | StoreOp) or is_vector(use.op):
                raise self.refuse(f"{self._shown(use)} moves a vector: accumulate before you vectorize")
            groups.setdefault(tuple(subscripts(use.op)), []).append(use)
        still = [at for at in groups if loop.index not in {value for form in at for value in form.values()}]
        if len(still) != 1:
            every = ", ".join(show(at) for at in (still or groups))
            which = "accesses several elements at once" if still else "accesses other elements in every iteration"
            raise self.refuse(f"loop {self.at} {which} of {self.buffer}: {every}")
        at = list(still[0])
        uses = groups.pop(still[0])
        tiled = self._tiled(loop, at, uses[0])
        extents = [self._extent(inner, [*around(loop), *tiled[:k]]) for k, inner in enumerate(tiled)]
        plan = _Plan(loop, buffer, at, uses, tiled, extents)
        plan.stores = any(use.writes for use in uses)
        try:
            self._others(plan, [use for group in groups.values() for use in group])
            self._distinct(plan)
            self._touched(kernel, plan)
        except CannotDecide as error:
            raise self.refuse(f"cannot decide: {error}") from None
        return plan

    def _tiled(self, loop: ForOp, at: list[Affine], use: Access) -> list[ForOp]:
        """The inner loops that move the accesses, outermost first."""
        inside = use.loops[use.loops.index(loop) + 1 :]
        used = {value for form in at for value in form.values()}
        tiled = [inner for inner in inside if inner.index in used]
        moving = {inner.index for inner in tiled}
        for value in used - moving:
            if is_inside(value, loop):
                raise self.refuse(f"{self._shown(use)} is at {value.name_hint or 'a value'}, which loop {self.at} computes")
        for inner in tiled:
            for value in {value for form in (*lowers(inner), *uppers(inner)) for value in form.values()} - moving:
                if is_inside(value, loop):
                    raise self.refuse(f"the bounds of loop {name_of(inner)} change with {value.name_hint or 'a value'}")
        return tiled

    def _extent(self, loop: ForOp, given: Sequence[ForOp]) -> Extent:
        """How far a loop extends in the copy nests, which need not run as often as the loop itself."""
        found = extent(loop, given)
        if found is None:
            raise self.refuse(f"loop {name_of(loop)} has no constant upper bound on its extent: split it first")
        return found

    def _others(self, plan: _Plan, others: list[Access]) -> None:
        """Check that no other access in the loop touches the kept elements."""
        kept = self._outside(plan, writes=plan.stores)
        for other in others:
            if kept.writes or other.writes:
                relations = {loop: "*" for loop in plan.tiled if loop in other.loops}
                if (conflict := find_conflict(kept, other, relations)) is not None:
                    raise self.refuse(f"another access touches what is kept: {conflict}", conflict)

    def _distinct(self, plan: _Plan) -> None:
        """Check that tile elements map to distinct buffer elements: else the last one stored would win."""
        if not plan.stores:
            return
        if plan.loop.kind.data == "parallel":
            raise self.refuse(f"loop {self.at} is parallel: its iterations would share the tile")
        one = self._outside(plan, writes=True)
        for loop in plan.tiled:
            relations = {other: "*" for other in plan.tiled} | {loop: "<"}
            if (conflict := find_conflict(one, one, relations)) is not None:
                raise self.refuse(f"two elements of the tile are one of {self.buffer}: {conflict}", conflict)

    def _outside(self, plan: _Plan, writes: bool) -> Access:
        """The access of the copy nests: as the one in the loop, but whether or not the loop runs."""
        use = plan.uses[0]
        around = use.loops[: use.loops.index(plan.loop)]
        return Access(use.op, plan.buffer, writes, (*around, *plan.tiled))

    def _touched(self, kernel: KernelOp, plan: _Plan) -> None:
        """Check that the copy nests touch no more elements than the loop does, or harmless ones."""
        checked = holds(plan.loop, CheckOp)

        def certain(use: Access) -> bool:
            """Whether every element is accessed there."""
            if checked or conditional_in(use.op, plan.loop):
                return False
            inside = use.loops[use.loops.index(plan.loop) :]
            return all_run(use.loops, [loop for loop in inside if loop not in plan.tiled])

        if plan.uses[0].writes and certain(plan.uses[0]):
            plan.loads = False
            return
        if any(use.writes and certain(use) for use in plan.uses):
            return
        outside = self._outside(plan, writes=plan.stores)
        if not any(certain(use) for use in plan.uses) and not in_bounds(kernel, plan.buffer, plan.at, outside.loops):
            raise self.refuse(
                f"cannot decide: loop {self.at} may not run, and {self.buffer}{show(plan.at)} may then be out of bounds"
            )
        if plan.stores:
            self._shared(plan, outside)

    def _shared(self, plan: _Plan, outside: Access) -> None:
        """Check that no other iteration of a parallel loop writes elements that are stored back unchanged."""
        for k, parallel in enumerate(outside.loops):
            if parallel.kind.data != "parallel" or plan.loop not in walk(parallel) or private_in(plan.buffer, parallel):
                continue
            for other in accesses(parallel):
                if other.buffer is not plan.buffer:
                    continue
                both = {loop: "*" for loop in outside.loops[k + 1 :] if loop in other.loops}
                for order in "<>":
                    if (conflict := find_conflict(outside, other, {**both, parallel: order})) is not None:
                        raise self.refuse(f"when loop {self.at} does not run, it would still store: {conflict}", conflict)

    def _shown(self, use: Access) -> str:
        where = place(use.op)
        return f"an access to {self.buffer}" + (f" ({where})" if where else "")

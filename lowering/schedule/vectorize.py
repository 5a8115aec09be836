"""Compute several iterations of a loop at once on vectors; the remainder runs masked, one by one, or all is masked.

Requires a `seq`, `parallel` or `reduce` loop that carries no scalar, and no iteration that depends on one less than `lanes`
before it, unless the earlier access stands before the later one in the text: statements run one after the other, each for all
lanes. A `parallel` loop promises as much; it is refused only when a counterexample is found.

    before                                         after loop-vectorize{loop=i lanes=8}
    loop.for seq %i = 0 to %N {                  loop.for vector %i = 0 to (%N floordiv 8) * 8 step 8 {
      %a = loop.load %x[%i]                        %a = loop.load %x[%i] : ..., vector<8xf32>
      loop.store %a, %y[%i]                        loop.store %a, %y[%i] : ..., vector<8xf32>
    }                                            }
                                                 loop.for vector %i_rest = (%N floordiv 8) * 8 to %N step 8 {  // once or not
                                                   ... mask %m

`tail`: "masked" as above; "scalar": the original loop for the remainder; "predicated": one loop, every iteration under a mask.
A loop that ends at the least of several bounds is predicated, since the start of its remainder is no affine expression; one
whose trip count `lanes` divides has no remainder and no mask. Inside, `loop.if` becomes masks and selections, `loop.while` runs
until the last lane stops, local buffers get a dim of lanes. A reduction sums in another order: lanes, then a fixed tree; with
`ordered` it computes its terms on vectors and adds them one after the other, so that its result stays the same.

Returns the loop on full vectors, which keeps the name, and the remainder loop, as far as they exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from xdsl.ir import Operation

from ...dialects.loop.loops import PAIR_MONOIDS, ForOp, KernelOp, WhileOp
from ...dialects.types import MOST_LANES
from ..analysis.accesses import Access, accesses
from ..analysis.dependence import CannotDecide, Conflict, find_conflict, first_conflict, pairs
from ..analysis.lanes import has_own_bounds, shares_index, varying_values
from ..analysis.nests import FreshNames, find, holds, name_of, ops_in
from ..widening import obstacle, widen
from .base import Primitive


def lockstep_conflict(loop: ForOp, count: int) -> Conflict | None:
    """Two iterations of a loop that must not run in one vector of `count` iterations, or None.

    In a vector, a statement runs for all iterations before the next one does, and inner loops run with one index.

    Raises:
        CannotDecide: neither a witness nor a proof was found.
    """
    return first_conflict(pairs(found := accesses(loop)), _Lockstep(loop, count, found).violation)


class _Lockstep:
    """The dependence tests of all pairs of accesses in a loop.

    Attributes:
        position: the position of each access's op in the text.
    """

    def __init__(self, loop: ForOp, count: int, found: Sequence[Access]):
        self.loop, self.count, self.found = loop, count, found
        self.position = {access.op: k for k, access in enumerate(found)}

    @cached_property
    def apart(self) -> set[ForOp]:
        """The inner loops through which iterations of the loop cannot run with one index."""
        varying = varying_values(self.loop)
        inside = [op for op in ops_in(self.loop.body.block, ForOp) if has_own_bounds(op, varying)]
        return {op for op in inside if not shares_index(op, self.loop, varying)}

    @cached_property
    def whiles(self) -> dict[Operation, set[Operation]]:
        """The `loop.while` of the loop that contains an access."""
        if not holds(self.loop, WhileOp):
            return {op: set[Operation]() for op in self.position}
        return {access.op: _whiles_around(access, self.loop) for access in self.found}

    def violation(self, one: Access, two: Access) -> Conflict | None:
        """A pair of iterations of which the later one, vectorized, would access an element before the earlier one does."""
        loop, count, position = self.loop, self.count, self.position
        both = [inner for inner in one.loops[one.loops.index(loop) + 1 :] if inner in two.loops]
        # a store that conflicts with itself is done in the order of the lanes
        in_order = position[one.op] < position[two.op] or one.op is two.op
        # two accesses in one `while` may conflict in unknown runs of it
        comparable = self.whiles[one.op].isdisjoint(self.whiles[two.op]) and self.apart.isdisjoint(both)
        if comparable and in_order and not both:
            return None
        undecided, conflict = None, None
        try:
            conflict = find_conflict(one, two, {loop: "<", **dict.fromkeys(both, "*")}, count)
        except CannotDecide as error:
            undecided = error
        if undecided is None and conflict is None:
            return None
        if comparable:
            against = [found for order in _against(loop, both) if (found := find_conflict(one, two, order)) is not None]
            if not against:
                return None if in_order else find_conflict(one, two, {loop: "<"}, count)
            name, reach = name_of(loop), count * loop.step.value.data
            near = [found for found in against if found.at_second[name] - found.at_first[name] < reach]
            conflict = near[0] if near else conflict
        if undecided is not None:
            raise undecided
        return conflict


def _against(loop: ForOp, both: list[ForOp]) -> Iterator[dict[ForOp, str]]:
    """The relations of inner loop indices under which the second of two accesses comes earlier."""
    for k, inner in enumerate(both):
        for sign in "<>" if inner.kind.data == "parallel" else ">":
            yield {loop: "<", **dict.fromkeys(both[:k], "="), inner: sign, **dict.fromkeys(both[k + 1 :], "*")}


def _whiles_around(access: Access, loop: ForOp) -> set[Operation]:
    """Each `loop.while` of a loop that contains an access."""
    found: set[Operation] = set()
    parent = access.op.parent_op()
    while parent is not None and parent is not loop:
        if isinstance(parent, WhileOp):
            found.add(parent)
        parent = parent.parent_op()
    return found


@dataclass(frozen=True)
class Vectorize(Primitive):
    """Compute `lanes` iterations of a loop at once.

    Attributes:
        loop: the name of the loop.
        lanes: elements in each vector, a power of two; may be a multiple of a register's lanes, and then takes several
            registers.
        tail: how the remainder runs: "masked", "scalar" or "predicated".
        ordered: whether the terms of a reduction are combined in the order of the loop.
    """

    name = "loop-vectorize"
    loop: str
    lanes: int
    tail: Literal["masked", "scalar", "predicated"] = "masked"
    ordered: bool = False

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.as_text())
        kind = loop.kind.data
        if kind == "vector":
            raise self.refuse("the loop is vectorized already")
        if kind not in ("seq", "parallel", "reduce"):
            raise self.refuse(f"only a seq, parallel or reduce loop can be vectorized, this one is {kind}")
        if self.lanes < 2 or self.lanes & (self.lanes - 1):
            raise self.refuse(f"lanes must be a power of two above 1, got {self.lanes}")
        if self.lanes > MOST_LANES:
            raise self.refuse(f"vectors have at most {MOST_LANES} lanes, got {self.lanes}")
        if self.tail not in ("masked", "scalar", "predicated"):
            raise self.refuse(f"tail must be masked, scalar or predicated, got {self.tail}")
        if loop.monoid is None and loop.results:
            carried = ", ".join(f"%{a.name_hint or 'a value'}" for a in loop.body.block.args[1:])
            raise self.refuse(f"the loop carries {carried} from iteration to iteration")
        if self.ordered and (loop.monoid is None or loop.monoid.data in PAIR_MONOIDS):
            raise self.refuse("only the terms of a reduction of single values can be combined in order")
        reason = obstacle(loop)
        if reason is not None:
            raise self.refuse(reason)
        try:
            conflict = lockstep_conflict(loop, self.lanes)
        except CannotDecide as error:
            if kind == "parallel":
                return
            raise self.refuse(f"cannot decide: {error}") from None
        if conflict is not None:
            raise self.refuse(f"iterations less than {self.lanes} apart depend on one another: {conflict}", conflict)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        made = widen(find(kernel, self.loop, self.as_text()), self.lanes, self.tail, ordered=self.ordered)
        made[0].index.name_hint = self.loop
        fresh = FreshNames(kernel)
        for rest in made[1:]:  # names are unique, also those of inner loops
            for loop in ops_in(rest, ForOp):
                base = self.loop if loop is rest else name_of(loop)
                loop.index.name_hint = fresh.of(f"{base}_rest")
        return tuple(name_of(loop) for loop in made)

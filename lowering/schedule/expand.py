"""Compute the results of a loop for all iterations of the loops around it first, into an array; then use them.

    before                                         after, loop=k at=io multiples=4,16
    loop.for seq %io = 0 to %M step 4 {            loop.for seq %io = 0 to %M step 4 {
      loop.for parallel %i = 0 to 4 {                %k_results = loop.alloc scratch : memref<4x16xf32>
        loop.for parallel %j = 0 to 10 {             loop.for parallel %i = 0 to 4 {
          %s = loop.for reduce<add> %k ...             loop.for parallel %j = 0 to 10 {
          %t = math.tanh %s                              %s = loop.for reduce<add> %k ...
          loop.store %t, %y[%io + %i, %j]                loop.store %s, %k_results[%i, %j]
        }                                              }
      }                                              }
    }                                                loop.for parallel %i2 = 0 to 4 {
                                                       loop.for parallel %j2 = 0 to 10 {
                                                         %s2 = loop.load %k_results[%i2, %j2]
                                                         %t = math.tanh %s2
                                                         loop.store %t, %y[%io + %i2, %j2]

Ops before the loop stay there; arithmetic and loads among them that the rest needs are repeated. The array `<loop>_results`
(one for each value, the second is `<loop>_results2`) has a dim for each of the loops between `at` and `loop`, as long as its
greatest extent, rounded up to its `multiples`, so that a tile at the end has room.

Requires a loop with results and, from `at` to it, perfectly nested loops. Legal when no iteration uses, in the rest, an element
that a later one changes up to the loop, or changes an element that the later one reads there; `parallel` loops satisfy this.
Returns the loops of the rest, outermost first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp
from ...dialects.operations import clone
from ...dialects.scalar_ops import is_arithmetic
from ...dialects.types import memref
from ..analysis.accesses import Access, accesses
from ..analysis.affine import Affine
from ..analysis.dependence import CannotDecide, find_conflict
from ..analysis.facts import planned
from ..analysis.nests import around, find, fresh, name_of, only_loop_in, statements, walk
from ..analysis.regions import Extent, extent
from .base import Primitive
from .cloning import Values, fill, load_of, loop_like, remove, store_of


@dataclass
class _Plan:
    """The loop, those between `at` and it, and the ops after it with those before it that they need."""

    loop: ForOp
    band: list[ForOp]
    extents: list[Extent]
    needed: list[Operation]
    rest: list[Operation]

    def numbers(self, values: Values) -> list[Affine]:
        """The subscripts of an iteration of the band in the array."""
        pairs = zip(self.extents, self.band, strict=True)
        return [size.number(Affine.of(loop.index)).substitute(values) for size, loop in pairs]


@dataclass(frozen=True)
class Expand(Primitive):
    """Keep the results of `loop` in an array, for all iterations of the loops inside `at`; their uses follow.

    Attributes:
        loop: a loop with results.
        at: the loop in each iteration of which an array is made.
        multiples: the dims of the array are rounded up to multiples of these, one for each loop between.
        space: the memory space: `scratch`, `stack` or `register`.
    """

    name = "loop-expand"
    loop: str
    at: str
    multiples: tuple[int, ...] = ()
    space: str = "scratch"

    def check(self, kernel: KernelOp) -> None:
        self._plan(kernel)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        plan = self._plan(kernel)
        buffers = [self._alloc(kernel, plan, k) for k in range(len(plan.loop.results))]
        values: Values = {}
        made: list[str] = []
        for loop in plan.band:
            made.append(fresh(kernel, name_of(loop), made))
        nest = [loop_like(loop, name, values, loop) for loop, name in zip(plan.band, made, strict=True)]
        body = self._rest(plan, buffers, nest, values)
        stores = [
            store_of(plan.loop, result, buffer.buffer, plan.numbers({}))
            for result, buffer in zip(plan.loop.results, buffers, strict=True)
        ]
        block, outer = plan.loop.parent, plan.band[0].parent
        assert block is not None and outer is not None
        block.insert_ops_after(stores, plan.loop)
        outer.insert_ops_before(buffers, plan.band[0])
        for loop in reversed(nest):
            body = [fill(loop, body)]
        outer.insert_ops_after(body, plan.band[0])
        return tuple(made)

    def _alloc(self, kernel: KernelOp, plan: _Plan, number: int) -> AllocOp:
        result = plan.loop.results[number]
        multiples = self.multiples or (1,) * len(plan.extents)
        shape = [max(1, -(-size.count // m) * m) for size, m in zip(plan.extents, multiples, strict=True)]
        name = f"{self.loop}_results" + (str(number + 1) if number else "")
        op = AllocOp.build_alloc(self.space, memref(result.type, shape), name=fresh(kernel, name))
        op.location = plan.loop.location
        return op

    def _rest(self, plan: _Plan, buffers: Sequence[AllocOp], nest: Sequence[ForOp], values: Values) -> list[Operation]:
        """The ops after the loop, removed from its block, as the body of the new nest."""
        loads = [
            load_of(plan.loop, buffer.buffer, plan.numbers(values), result.name_hint)
            for result, buffer in zip(plan.loop.results, buffers, strict=True)
        ]
        of: dict[SSAValue, SSAValue] = {old.index: new.index for old, new in zip(plan.band, nest, strict=True)}
        of.update((result, load.value) for result, load in zip(plan.loop.results, loads, strict=True))
        again = [clone(op, of) for op in plan.needed]
        for op in plan.rest:
            op.detach()
            for inner in walk(op):
                inner.operands = [of.get(operand, operand) for operand in inner.operands]
        _leave_unused(plan.needed)
        return [*loads, *again, *plan.rest]

    # # -- the loops and ops, and their legality

    @planned
    def _plan(self, kernel: KernelOp) -> _Plan:
        loop, at = find(kernel, self.loop, self.name), find(kernel, self.at, self.name)
        if self.space not in ("scratch", "stack", "register"):
            raise self.refuse(f"space must be scratch, stack or register, got {self.space}")
        if not loop.results:
            raise self.refuse(f"{self.loop} has no results")
        if any(isinstance(result.type, VectorType | IndexType) for result in loop.results):
            raise self.refuse(f"the results of {self.loop} are no scalars that memory holds: expand before you vectorize")
        if at not in around(loop):
            raise self.refuse(f"{self.loop} does not stand in {self.at}")
        band = self._band(loop, at)
        if self.multiples and (len(self.multiples) != len(band) or min(self.multiples) < 1):
            named = ", ".join(map(name_of, band))
            raise self.refuse(f"give one multiple of 1 or more for each of {named}, got {len(self.multiples)}")
        extents = [self._extent(inner, [*around(at), at, *band[:k]]) for k, inner in enumerate(band)]
        before, rest = self._parts(loop)
        plan = _Plan(loop, band, extents, self._needed(kernel, before, rest), rest)
        self._check_order(plan, before)
        return plan

    def _band(self, loop: ForOp, at: ForOp) -> list[ForOp]:
        """The loops inside `at` and around the loop, outermost first."""
        path = around(loop)
        band = path[path.index(at) + 1 :]
        if not band:
            raise self.refuse(f"no loop stands between {self.at} and {self.loop}: its results are needed one at a time")
        for outer, inner in pairwise(band):
            if only_loop_in(outer) is not inner:
                raise self.refuse(f"the body of {name_of(outer)} is not just the loop {name_of(inner)}")
        if any(inner.results for inner in band):
            raise self.refuse(f"the loops between {self.at} and {self.loop} carry values")
        return band

    def _extent(self, loop: ForOp, given: Sequence[ForOp]) -> Extent:
        found = extent(loop, given)
        if found is None:
            raise self.refuse(f"loop {name_of(loop)} has no constant upper bound on its extent: split it first")
        return found

    @staticmethod
    def _parts(loop: ForOp) -> tuple[list[Operation], list[Operation]]:
        assert loop.parent is not None
        body = statements(loop.parent)
        return body[: body.index(loop)], body[body.index(loop) + 1 :]

    def _needed(self, kernel: KernelOp, before: list[Operation], rest: list[Operation]) -> list[Operation]:
        """The ops before the loop that the rest uses: arithmetic, and loads from buffers that the kernel does not write."""
        used = {operand for op in rest for inner in walk(op) for operand in inner.operands}
        written = {access.buffer for access in accesses(kernel) if access.writes}
        needed: list[Operation] = []
        for op in reversed(before):
            if any(result in used for result in op.results):
                again = is_arithmetic(op) or (isinstance(op, LoadOp) and op.buffer not in written)
                if not again:
                    raise self.refuse(f"what comes after {self.loop} uses what '{op.name}' gives before it")
                needed.append(op)
                used.update(op.operands)
        return needed[::-1]

    def _check_order(self, plan: _Plan, before: list[Operation]) -> None:
        """Check that the rest of an iteration may run after the first part of all later ones."""
        found = accesses(plan.band[0])
        first = [a for a in found if any(op.is_ancestor(a.op) for op in (*before, plan.loop))]
        rest = [a for a in found if any(op.is_ancestor(a.op) for op in plan.rest)]
        for k, loop in enumerate(plan.band):
            if loop.kind.data == "parallel":
                continue
            relations = {**dict.fromkeys(plan.band[:k], "="), loop: "<", **dict.fromkeys(plan.band[k + 1 :], "*")}
            for one in rest:
                for two in first:
                    self._check_pair(one, two, relations)

    def _check_pair(self, one: Access, two: Access, relations: dict[ForOp, str]) -> None:
        if one.buffer is not two.buffer or not (one.writes or two.writes):
            return
        try:
            conflict = find_conflict(one, two, relations)
        except CannotDecide as error:
            raise self.refuse(f"cannot decide: {error}") from None
        if conflict is not None:
            raise self.refuse(f"two dependent iterations would be reordered: {conflict}", conflict)


def _leave_unused(ops: Sequence[Operation]) -> None:
    """Remove those pure ops whose results have no uses left."""
    for op in reversed(ops):
        if not any(result.uses for result in op.results):
            remove(op)

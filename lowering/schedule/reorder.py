"""Run perfectly nested loops in a new order.

    before                                  after loop-reorder{loops=k,i}
    loop.for seq %i = 0 to %M {             loop.for seq %k = 0 to %K {
      loop.for seq %k = 0 to %K {             loop.for seq %i = 0 to %M {
        %c = loop.load %C[%i]                   %c = loop.load %C[%i]
        %a = loop.load %A[%i, %k]               %a = loop.load %A[%i, %k]
        %s = arith.addf %c, %a                  %s = arith.addf %c, %a
        loop.store %s, %C[%i]                   loop.store %s, %C[%i]
      }                                       }
    }                                       }

The named loops fill the levels that they occupied, in the order given; loops between them stay at their level. Legal when no
two iterations that touch one element, one of them writing, are interchanged, and no bound depends on a loop that moves inside,
but with `triangular`: then bounds are solved for these loops, `j = i to N` in `i` becomes `i = 0 to j + 1` in `j`.
Reductions by one monoid that start from the neutral element inside the outermost one are a nest, too, whose order is free.
`reassociate` lets the parts of a sum (or product, maximum, minimum) that updates `x[f] = x[f] + e` collect be interchanged.
Returns the loops in the new order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import PAIR_MONOIDS, ForOp, KernelOp, YieldOp, segment_sizes
from ...dialects.loop.memory import LoadOp, StoreOp
from ..analysis.accesses import Access, accesses
from ..analysis.affine import as_map
from ..analysis.bounds import set_bounds, simplify_bounds
from ..analysis.dependence import CannotDecide, Conflict, find_conflict, pairs
from ..analysis.nests import around, find, name_of, ops_in, perfect_band, statements
from ..analysis.triangular import Range, rebounded
from .base import Primitive
from .ungroup import is_neutral

_FAMILIES = {
    "arith.addf": "add", "arith.addi": "add", "math.fma": "add", "vector.fma": "add", "arith.mulf": "mul", "arith.muli": "mul",
    "arith.maximumf": "max", "arith.maxsi": "max", "arith.minimumf": "min", "arith.minsi": "min",
    "arith.maxui": "maxu", "arith.minui": "minu",
}  # fmt: skip
"""The combining family of the ops of updates: updates of one family commute."""

CHANGED = "two dependent iterations would be reordered: "


def updates(found: Sequence[Access]) -> dict[Operation, tuple[SSAValue, str]]:
    """The loads and stores of `x[f] = x[f] op e`, with the buffer and the combining family."""
    known: dict[Operation, tuple[SSAValue, str]] = {}
    for access in found:
        store = access.op
        if not isinstance(store, StoreOp) or not isinstance(combination := store.value.owner, Operation):
            continue
        family = _FAMILIES.get(combination.name)
        if family is None or not store.value.has_one_use():
            continue
        collected = combination.operands[2:] if combination.name.endswith("fma") else combination.operands
        for operand in collected:
            load = operand.owner
            if isinstance(load, LoadOp) and operand.has_one_use() and load.parent is store.parent and _same_place(load, store):
                known[load] = known[store] = store.buffer, family
                break
    return known


def _same_place(load: LoadOp, store: StoreOp) -> bool:
    same = load.buffer is store.buffer and load.map == store.map and list(load.indices) == list(store.indices)
    return same and (load.mask, load.along, load.stride) == (store.mask, store.along, store.stride)


def reordered(band: Sequence[ForOp], named: Sequence[ForOp]) -> list[ForOp]:
    """The band with the named loops at the levels that they occupied, in the order given."""
    following = iter(named)
    return [next(following) if loop in named else loop for loop in band]


def changed_places(band: Sequence[ForOp], order: Sequence[ForOp]) -> Iterator[dict[ForOp, str]]:
    """The relations of interchanged iterations: of a pair the first runs before the second in `band` but not in `order`.

    In `band` some loop runs the first before the second, and the loops around it are in one iteration. In `order` another loop
    decides, which was inside that one; those now around it are in one iteration. A `parallel` loop gets both directions, as its
    iterations run concurrently, and none where it decides in `band`, as its order means nothing.
    """
    for p, before in enumerate(band):
        if before.kind.data == "parallel":
            continue
        relations = dict.fromkeys(band[:p], "=") | dict.fromkeys(band[p:], "*") | {before: "<"}
        for after in order[: order.index(before)]:
            if after in band[:p]:
                continue
            for relation in "><" if after.kind.data == "parallel" else ">":
                yield {**relations, after: relation}
            relations[after] = "="


def reversed_conflict(band: Sequence[ForOp], order: Sequence[ForOp], reassociate: bool) -> Conflict | None:
    """Two iterations that touch one element and are interchanged; None: there are none.

    Raises:
        CannotDecide: neither a witness nor a proof was found.
    """
    found = accesses(band[-1])
    ignored = updates(found) if reassociate else {}
    undecided: CannotDecide | None = None
    none_here: set[object] = set()  # accesses with equal subscripts share one answer
    questions, below = list(changed_places(band, order)), ops_in(band[-1].body.block, ForOp)
    for one, two in pairs(found):
        if one.op in ignored and ignored[one.op] == ignored.get(two.op):
            continue
        inner = {loop: "*" for loop in one.loops if loop in two.loops and loop in below}
        for number, relations in enumerate(questions):
            key = number, _looks(one), _looks(two)
            if key in none_here:
                continue
            try:
                conflict = find_conflict(one, two, inner | relations)
            except CannotDecide as error:
                undecided = undecided or error
                continue
            if conflict is not None:
                return conflict
            none_here.add(key)
    if undecided is not None:
        raise undecided
    return None


def _looks(access: Access) -> object:
    op = access.op
    if not isinstance(op, LoadOp | StoreOp) or op.lanes > 1:
        return op
    return access.buffer, op.map, tuple(op.indices), op.parent


def band_of(step: Primitive, named: Sequence[ForOp]) -> list[ForOp]:
    """The perfect nest from the outermost to the innermost of some loops.

    Raises:
        ScheduleError: there is none; the message says why.
    """
    if len(set(named)) != len(named) or not named:
        raise step.refuse("name every loop once")
    depth = {loop: len(around(loop)) for loop in named}
    outer, inner = min(named, key=depth.__getitem__), max(named, key=depth.__getitem__)
    band = perfect_band(outer, inner)
    if band is None or inner.results or any(loop not in band for loop in named):
        odd = next((loop for loop in named if band is not None and loop not in band), inner)
        raise step.refuse(f"the loops are not perfectly nested: {imperfection(outer, odd)}")
    return band


def imperfection(outer: ForOp, inner: ForOp) -> str:
    """Why two loops and those between them are no perfect nest."""
    if inner is not outer and outer not in around(inner):
        return f"{name_of(inner)} does not stand in {name_of(outer)}"
    for loop in [*around(inner), inner]:
        if loop is not outer and outer not in around(loop):
            continue
        if loop.results:
            return f"{name_of(loop)} carries values"
        inside = statements(loop.body.block)
        if loop is not inner and (len(inside) != 1 or not isinstance(inside[0], ForOp)):
            others = [op for op in inside if not isinstance(op, ForOp) or (op is not inner and op not in around(inner))]
            return f"the body of {name_of(loop)} is not just one loop, it also has '{others[0].name}'"
    return "they do not stand in one another"


def reductions_in(loop: ForOp) -> list[ForOp]:
    """A reduction of one value, and those inside by the same monoid that make all of it, outermost first."""
    found = list[ForOp]()
    while loop.monoid is not None and len(loop.results) == 1 and loop.monoid.data not in PAIR_MONOIDS:
        found.append(loop)
        inside, end = statements(loop.body.block), loop.body.block.last_op
        if len(inside) != 1 or not isinstance(inner := inside[0], ForOp) or inner.monoid != loop.monoid:
            break
        if end is None or end.operands[0].owner is not inner or not is_neutral(inner.inits[0], loop.monoid.data):
            break
        loop = inner
    return found


def _exchange(band: Sequence[ForOp], order: Sequence[ForOp]) -> None:
    """Give each loop of a band of reductions the range of the loop at its level in another order."""
    new = {loop.index: at.index for loop, at in zip(order, band, strict=True)}
    users = [(use.operation, use.index, index) for index in new for use in index.uses if use.operation not in band]
    bounds = [(loop.lower, loop.upper, loop.step, [*loop.lower_operands], [*loop.upper_operands]) for loop in order]
    names = [name_of(loop) for loop in order]
    for at, name, (lower, upper, step, low, high) in zip(band, names, bounds, strict=True):
        at.operands = [*(new.get(value, value) for value in (*low, *high)), *at.inits]
        at.properties |= {"lower": lower, "upper": upper, "step": step, **segment_sizes(len(low), len(high), 1)}
        at.index.name_hint = name
    for op, k, index in users:
        op.operands[k] = new[index]


def _outside(order: Sequence[ForOp]) -> tuple[str, None] | None:
    """Why bounds do not allow an order of loops."""
    for k, loop in enumerate(order):
        for value in (*loop.lower_operands, *loop.upper_operands):
            for inside in order[k + 1 :]:
                if value is inside.index:
                    return f"the bounds of {name_of(loop)} depend on {name_of(inside)}, which would be inside", None
    return None


def objection(
    band: Sequence[ForOp], order: Sequence[ForOp], reassociate: bool = False, triangular: bool = False
) -> tuple[str, Conflict | None] | None:
    """Why a band cannot run in another order, with a witness if there is one."""
    if (found := _outside(order)) is not None:
        if not triangular:
            solvable = rebounded(band, order) is not None
            return (f"{found[0]}; triangular=true computes other bounds", None) if solvable else found
        if rebounded(band, order) is None:
            return f"{found[0]}, and they cannot be solved for it", None
    try:
        conflict = reversed_conflict(band, order, reassociate)
    except CannotDecide as error:
        return f"cannot decide: {error}", None
    if conflict is None:
        return None
    known = {} if reassociate else updates(accesses(band[-1]))
    is_update = conflict.first.op in known and known[conflict.first.op] == known.get(conflict.second.op)
    remedy = "; reassociate=true allows that" if is_update else ""
    return f"{CHANGED}{conflict}{remedy}", conflict


def rearrange(band: Sequence[ForOp], order: Sequence[ForOp], bounds: Mapping[ForOp, Range] | None = None) -> None:
    """Nest the loops of a band in another order; `bounds` are those that change."""
    block, following, body = band[0].parent, band[0].next_op, statements(band[-1].body.block)
    assert block is not None
    for loop in reversed(band):
        loop.detach()
    for op in body:
        op.detach()
    if following is None:
        block.add_op(order[0])
    else:
        block.insert_op_before(order[0], following)
    for outer, inner in zip(order, [*[[loop] for loop in order[1:]], body], strict=True):
        end = outer.body.block.last_op
        assert isinstance(end, YieldOp)
        outer.body.block.insert_ops_before(inner, end)
    for loop, range in (bounds or {}).items():
        set_bounds(loop, *((map.results, values) for map, values in (as_map(range.low), as_map(range.high))))
    for loop in order if bounds else ():
        simplify_bounds(loop)


@dataclass(frozen=True)
class Reorder(Primitive):
    """The named loops, outermost first, fill their levels in that order.

    Attributes:
        reassociate: whether sums in updates may be reassociated.
        triangular: whether bounds that depend on loops which move inside are solved for them.
    """

    name = "loop-reorder"
    loops: tuple[str, ...]
    reassociate: bool = False
    triangular: bool = False

    def check(self, kernel: KernelOp) -> None:
        if (reductions := self._reductions(kernel)) is not None:
            found = _outside(reductions[1])
        else:
            found = objection(*self._band(kernel), self.reassociate, self.triangular)
        if found is not None:
            raise self.refuse(*found)

    def _band(self, kernel: KernelOp) -> tuple[list[ForOp], list[ForOp]]:
        """The perfect nest that holds the named loops, before and after."""
        named = [find(kernel, name, self.name) for name in self.loops]
        band = band_of(self, named)
        return band, reordered(band, named)

    def _reductions(self, kernel: KernelOp) -> tuple[list[ForOp], list[ForOp]] | None:
        """The nested reductions that hold the named loops, before and after."""
        named = [find(kernel, name, self.name) for name in self.loops]
        band = reductions_in(min(named, key=lambda loop: len(around(loop))))
        while band and band[-1] not in named:
            band.pop()
        return (band, reordered(band, named)) if len(set(named)) == len(named) and set(named) <= set(band) else None

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        if (reductions := self._reductions(kernel)) is not None:
            _exchange(*reductions)
        else:
            band, order = self._band(kernel)
            rearrange(band, order, rebounded(band, order) if self.triangular else None)
        return self.loops

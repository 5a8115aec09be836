"""Run two neighbouring loops of the same bounds as one.

    before                                  after loop-fuse{first=i second=j}
    loop.for parallel %i = 0 to %N {        loop.for parallel %i = 0 to %N {
      %a = loop.load %x[%i]                   %a = loop.load %x[%i]
      loop.store %a, %y[%i]                   loop.store %a, %y[%i]
    }                                         %b = loop.load %y[%i]
    loop.for parallel %j = 0 to %N {          loop.store %b, %z[%i]
      %b = loop.load %y[%j]                 }
      loop.store %b, %z[%j]
    }

Ops between them that compute or allocate move before both. Legal when no iteration of the first loop touches an element that an
earlier iteration of the second touches, one of them writing. Two parallel loops stay parallel if no different iterations
conflict, else the result is `seq`; carried values and sums are concatenated. Returns the loop, which has the name of the first.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import PAIR_MONOIDS, ForOp, KernelOp, YieldOp
from ...dialects.loop.memory import AllocOp
from ...dialects.scalar_ops import is_arithmetic
from ..analysis.accesses import accesses
from ..analysis.bounds import Domain, lower_bounds, upper_bounds
from ..analysis.dependence import CannotDecide, Conflict, find_conflict
from ..analysis.nests import find, name_of, walk
from .base import Primitive
from .rewriting import on_original, take_body


def same_bounds(one: ForOp, two: ForOp) -> bool:
    """Whether two loops of one block run over the same iterations."""
    domain = Domain(one)
    starts, ends = [lower_bounds(loop) for loop in (one, two)], [upper_bounds(loop) for loop in (one, two)]
    for k in range(2):  # each start of one is reached by some start of the other, each end is limited by some end
        if not all(any(domain.never_above(x, y) for y in starts[1 - k]) for x in starts[k]):
            return False
        if not all(any(domain.never_above(y, x) for y in ends[1 - k]) for x in ends[k]):
            return False
    return one.step == two.step


def fused(first: ForOp, second: ForOp, kind: str) -> ForOp:
    """One loop that replaces two."""
    block = first.parent
    assert block is not None
    for op in _between(first, second):
        op.detach()
        block.insert_op_before(op, first)
    body, other = first.body.block, second.body.block
    second.index.replace_all_uses_with(first.index)
    for argument in list(other.args[1:]):
        new = body.insert_arg(argument.type, len(body.args))
        new.name_hint = argument.name_hint
        argument.replace_all_uses_with(new)
    end, other_end = body.last_op, other.last_op
    assert isinstance(end, YieldOp) and isinstance(other_end, YieldOp)
    yielded = [*end.operands, *other_end.operands]
    for op in (end, other_end):
        op.detach()
        op.erase()
    for op in list(other.ops):
        op.detach()
        body.add_op(op)
    body.add_op(YieldOp.create(operands=yielded))
    new = ForOp.build_loop(
        (first.lower.data, list(first.lower_operands)),
        (first.upper.data, list(first.upper_operands)),
        step=first.step.value.data,
        kind=kind,
        monoid=first.monoid.data if first.monoid is not None else None,
        inits=[*first.inits, *second.inits],
        body=take_body(first),
    )
    new.location, new.dynamic = first.location, first.dynamic
    block.insert_op_before(new, first)
    for old, result in zip([*first.results, *second.results], new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    for loop in (first, second):
        loop.detach()
        loop.erase()
    return new


def _between(first: ForOp, second: ForOp) -> list[Operation]:
    found: list[Operation] = []
    op = first.next_op
    while op is not None and op is not second:
        found.append(op)
        op = op.next_op
    return found


def _uses(op: Operation, values: set[SSAValue]) -> bool:
    return any(not values.isdisjoint(inner.operands) for inner in walk(op))


def check_neighbours(step: Primitive, first: ForOp, second: ForOp) -> None:
    """Refuse a primitive unless the ops between two loops of one block can move before both, and do not depend on the first.

    Raises:
        ScheduleError: an op in between, or the second loop, prevents it.
    """
    if first is second or first.parent is not second.parent or second not in _following(first):
        raise step.refuse(f"{name_of(second)} does not follow {name_of(first)} in the same loop")
    known: set[SSAValue] = {*first.results}
    for op in _between(first, second):
        computes = is_arithmetic(op) or op.name.startswith("vector.") or isinstance(op, AllocOp)
        if not computes or op.regions:
            raise step.refuse(f"'{op.name}' stands between them")
        if _uses(op, known):
            known.update(op.results)
    if _uses(second, known):
        raise step.refuse(f"{name_of(second)} uses a value that {name_of(first)} computes")
    if any(_uses(op, known) for op in _between(first, second)):
        raise step.refuse(f"what stands between them uses a value that {name_of(first)} computes")


@dataclass(frozen=True)
class Fuse(Primitive):
    """`first` and `second`, neighbours with equal bounds, become one loop."""

    name = "loop-fuse"
    first: str
    second: str

    def check(self, kernel: KernelOp) -> None:
        first, second = (find(kernel, name, self.name) for name in (self.first, self.second))
        check_neighbours(self, first, second)
        if not same_bounds(first, second):
            raise self.refuse("their bounds are not the same")
        if "reduce" in (first.kind.data, second.kind.data):
            if first.monoid != second.monoid:
                raise self.refuse("a reduction becomes one only with another by the same operation")
            if first.monoid is not None and first.monoid.data in PAIR_MONOIDS:
                raise self.refuse(f"a loop reduces by {first.monoid.data} once")
        try:
            conflict = self._conflict(kernel, ">")
        except CannotDecide as error:
            raise self.refuse(f"cannot decide: {error}") from None
        if conflict is not None:
            raise self.refuse(f"{self.second} would touch an element too early: {conflict}", conflict)

    def _conflict(self, kernel: KernelOp, relation: str) -> Conflict | None:
        """Iterations of both loops, in the given relation, that touch one element; found on the fused loop."""
        copy = kernel.clone()
        first, second = (find(copy, name, self.name) for name in (self.first, self.second))
        n = len(accesses(first))
        loop = fused(first, second, "seq" if first.kind.data == "parallel" else first.kind.data)
        found = accesses(loop)
        undecided: CannotDecide | None = None
        for one in found[:n]:
            for two in found[n:]:
                if one.buffer is two.buffer and (one.writes or two.writes):
                    try:
                        conflict = find_conflict(one, two, {loop: relation})
                    except CannotDecide as error:
                        undecided = undecided or error
                        continue
                    if conflict is not None:
                        return on_original(conflict, copy, kernel, {self.second: (self.first,)})
        if undecided is not None:
            raise undecided
        return None

    def _kind(self, kernel: KernelOp, first: ForOp, second: ForOp) -> str:
        kinds = {first.kind.data, second.kind.data}
        if len(kinds) > 1:
            return "seq"
        if kinds == {"parallel"}:
            try:
                return "parallel" if self._conflict(kernel, "<") is None else "seq"
            except CannotDecide:
                return "seq"
        return first.kind.data

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        first, second = (find(kernel, name, self.name) for name in (self.first, self.second))
        fused(first, second, self._kind(kernel, first, second))
        return (self.first,)


def _following(op: Operation) -> list[Operation]:
    found: list[Operation] = []
    following = op.next_op
    while following is not None:
        found.append(following)
        following = following.next_op
    return found

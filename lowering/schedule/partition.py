"""Run the iterations of a loop in which its inner conditions hold in a separate loop, without the conditions.

    before                                      after loop-partition{loop=i}
    loop.for parallel %i = 0 to 10 {            loop.for parallel %i_start = 0 to 1 {
      %k = arith.addi %i, %minus_1                loop.store %zero, %y[%i_start]
      %in = arith.cmpi sge, %k, %0              }
      %v = loop.if %in -> f32 {                 loop.for parallel %i = 1 to 10 {
        %a = loop.load %x[%i - 1]                 %a = loop.load %x[%i - 1]
        loop.yield %a                             loop.store %a, %y[%i]
      } else {                                  }
        loop.yield %zero
      }
      loop.store %v, %y[%i]
    }

The range is decided by the comparisons of `loop.if` conditions that depend on the loop's index alone: those of a conjunction
all hold in the loop that keeps its name. The iterations before and after it run in the loops `<loop>_start` and `<loop>_end`,
in which comparisons with a constant result are removed, too. Without such comparisons, those decide that compare the index with
values from before the loop, as `%io + %i >= 1`, if they hold on one interval. The order of the iterations stays, so this is
always legal.

With bounds that are no numbers, comparisons with values from before the loop decide, whose differences are numbers:

    for i = 0 to N: x[i - 1] if i - 1 >= 0      i_start = 0 to min(N, 1), i = 1 to N

Requires step 1 and no carried values. Returns the loop in which the comparisons hold, then the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import ForOp, IfOp, KernelOp, YieldOp
from ..analysis.affine import Affine, as_map
from ..analysis.bounds import set_bounds, simplify_bounds
from ..analysis.conditions import difference_of
from ..analysis.nests import find, is_inside, name_of, walk
from ..analysis.regions import lowers, uppers
from .base import Primitive
from .rewriting import copied

Range = tuple[int, int]


def _conditions(loop: ForOp) -> Iterator[Affine]:
    """The differences that decide the conditions in a loop: over its index alone, else also over values from before it."""
    found = [op.condition for op in walk(loop) if isinstance(op, IfOp)]
    while found:
        op = found.pop().owner
        if isinstance(op, arith.AndIOp):
            found += op.operands
        elif isinstance(op, Operation) and (form := difference_of(op)) is not None and loop.index in form.terms:
            slope, others = form.terms[loop.index], [value for value in form.values() if value is not loop.index]
            if not others or (abs(slope) == 1 and not any(is_inside(value, loop) for value in others)):
                yield form


@dataclass(frozen=True)
class _Steady:
    """The interval where conditions hold: from the greatest of `lows` to the least of `highs`, whose first entries are numbers.

    Attributes:
        decided: the conditions that depend on more than the index; increasing ones hold from the start of the interval on.
    """

    lows: tuple[Affine, ...]
    highs: tuple[Affine, ...]
    decided: frozenset[Affine] = frozenset()

    def parts(self, bounds: Range) -> Iterator[_Part]:
        """The iterations in which they hold, and those before and after, where these may exist."""
        first, last = map(Affine.of, bounds)
        low, high = self.lows[-1], self.highs[-1]
        yield _Part("", self.lows, self.highs)
        if low != first:
            yield _Part("_start", (first,), (low,) if low.number is not None else (last, low), from_here=False)
        if high != last:
            yield _Part("_end", (high,) if high.number is not None else (first, high), (last,), up_to_here=False)


@dataclass(frozen=True)
class _Part:
    """Iterations from the greatest of `lows` up to the least of `highs`.

    Attributes:
        from_here: whether conditions that increase with the index hold.
        up_to_here: whether conditions that decrease with the index hold.
    """

    suffix: str
    lows: tuple[Affine, ...]
    highs: tuple[Affine, ...]
    from_here: bool = True
    up_to_here: bool = True


def _steady(loop: ForOp) -> _Steady | None:
    """The interval where the conditions on the loop's index hold; None: there are none, or they hold in no iteration."""
    bounds, conditions = loop.constant_bounds(), list(_conditions(loop))
    assert bounds is not None
    low, high = bounds
    lows, highs = dict[Affine, None](), dict[Affine, None]()
    for form in conditions:
        slope = form.terms[loop.index]
        rest = form - Affine({loop.index: slope})
        if rest.number is None and slope > 0:
            lows[rest * -1] = None
        elif rest.number is None:
            highs[rest + 1] = None
        elif slope > 0:
            low = max(low, -(form.constant // slope))
        else:
            high = min(high, form.constant // -slope + 1)
    if (low, high) != bounds:
        return _Steady((Affine.of(low),), (Affine.of(high),)) if low < high else None
    lengths = [(after - before).number for before in lows for after in highs]
    if len(lows) > 1 or len(highs) > 1 or any(length is None or length < 0 for length in lengths):
        return _Steady((Affine.of(low),), (Affine.of(high),)) if any(len(form.terms) == 1 for form in conditions) else None
    decided = frozenset(form for form in conditions if len(form.terms) > 1)
    return _Steady((Affine.of(low), *lows), (Affine.of(high), *highs), decided) if conditions else None


def _open_parts(loop: ForOp) -> tuple[list[_Part], frozenset[Affine]] | None:
    """The parts of a loop whose bounds are expressions, and the conditions that hold in the first one."""
    lows, highs, low, high = lowers(loop), uppers(loop), list[Affine](), list[Affine]()
    conditions = [form for form in _conditions(loop) if abs(form.terms[loop.index]) == 1]
    for form in conditions:
        slope = form.terms[loop.index]
        rest = form - Affine({loop.index: slope})
        (low if slope > 0 else high).append(rest * -1 if slope > 0 else rest + 1)
    if any((one - other).number is None for found in (low, high) for one in found for other in found) or not conditions:
        return None
    first = [one for one in low if all((one - other).number >= 0 for other in low)][:1]  # pyright: ignore[reportOptionalOperand]
    last = [one for one in high if all((other - one).number >= 0 for other in high)][:1]  # pyright: ignore[reportOptionalOperand]
    parts = [_Part("", (*lows, *first), (*highs, *last))]
    if first:
        parts.append(_Part("_start", tuple(lows), (*highs, *first), from_here=False))
    if last:
        parts.append(_Part("_end", (*lows, *last, *first), tuple(highs), up_to_here=False))
    return parts, frozenset(conditions)


def _decide(loop: ForOp, part: _Part, decided: frozenset[Affine]) -> None:
    """Remove conditions with one value in all iterations of a loop; for those of `decided` the interval determines it."""
    bounds = loop.constant_bounds()
    known: dict[SSAValue, bool] = {}
    for op in walk(loop):
        if isinstance(op, IfOp) and op.condition in known:
            _replace_branch(op, known[op.condition])
        elif isinstance(op, arith.AndIOp):
            left, right = (known.get(operand) for operand in op.operands)
            if left is False or right is False:
                known[op.result] = False
            elif left and right:
                known[op.result] = True
            elif left or right:
                op.result.replace_all_uses_with(op.operands[1 if left else 0])
        elif (form := difference_of(op)) is not None and form in decided:
            known[op.results[0]] = part.from_here if form.terms[loop.index] > 0 else part.up_to_here
        elif bounds is not None and form is not None and set(form.terms) == {loop.index}:
            ends = {form.terms[loop.index] * at + form.constant >= 0 for at in (bounds[0], bounds[1] - 1)}
            if len(ends) == 1:
                known[op.results[0]] = ends.pop()
    _remove_unused(loop)


def _replace_branch(op: IfOp, is_true: bool) -> None:
    """Replace a conditional by the branch that runs."""
    region, block = op.regions[0 if is_true else 1], op.parent
    assert block is not None
    given: list[SSAValue] = []
    for inner in list(region.block.ops) if region.blocks else []:
        inner.detach()
        if isinstance(inner, YieldOp):
            given = list(inner.operands)
            inner.erase()
        else:
            block.insert_op_before(inner, op)
    for result, value in zip(op.results, given, strict=True):
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _remove_unused(loop: ForOp) -> None:
    """Remove the arithmetic that only conditions needed."""
    for op in reversed(walk(loop)):
        if op.name.startswith("arith.") and not any(result.uses for result in op.results):
            op.detach()
            op.erase()


@dataclass(frozen=True)
class Partition(Primitive):
    """Restrict `loop` to where the inner conditions hold; the iterations before and after get separate loops."""

    name = "loop-partition"
    keeps_lines = True
    loop: str

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if loop.results:
            raise self.refuse(f"{self.loop} carries values from one iteration to the next")
        if loop.step.value.data != 1:
            raise self.refuse(f"{self.loop} needs step 1")
        if not (conditions := list(_conditions(loop))):
            raise self.refuse(f"no condition in {self.loop} depends on its index alone")
        if loop.constant_bounds() is None:
            if _open_parts(loop) is None:
                raise self.refuse(f"the conditions in {self.loop} compare its index with values whose order is not known")
        elif _steady(loop) is None:
            alone = any(len(form.terms) == 1 for form in conditions)
            reason = (
                "hold in none of its iterations together" if alone else "are not known to hold from one place up to another"
            )
            raise self.refuse(f"the conditions in {self.loop} {reason}")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        bounds, block = loop.constant_bounds(), loop.parent
        assert block is not None
        decided: frozenset[Affine]
        if bounds is None:
            found = _open_parts(loop)
            assert found is not None
            parts, decided = [(loop, part) for part in found[0]], found[1]
        else:
            steady = _steady(loop)
            assert steady is not None
            parts, decided = [(loop, part) for part in steady.parts(bounds)], steady.decided
        for k, (_, part) in enumerate(parts[1:], 1):
            copy = copied(loop, kernel, part.suffix)
            (block.insert_op_before if part.suffix == "_start" else block.insert_op_after)(copy, loop)
            parts[k] = copy, part
        for one, part in parts:
            here = frozenset(form.substitute({loop.index: Affine.of(one.index)}) for form in decided)
            (low, low_values), (high, high_values) = as_map(part.lows), as_map(part.highs)
            set_bounds(one, (low.results, low_values), (high.results, high_values))
            if bounds is None:
                simplify_bounds(one)
                here = here if part.from_here and part.up_to_here else frozenset[Affine]()
            _decide(one, part, here)
        return tuple(name_of(one) for one, _ in parts)

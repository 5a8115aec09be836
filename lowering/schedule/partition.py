"""Run the iterations of a loop in which the conditions inside hold in a loop of their own, without the conditions.

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

The comparisons of conditions of `loop.if` that depend on the loop's index alone decide: those of a conjunction all hold in the
loop that keeps its name. What runs before it and after it gets the loops `<loop>_start` and `<loop>_end`, in which a comparison
that has one value goes, too. The order of the iterations stays, so this is always legal.

Requires constant bounds, step 1 and no carried values. Returns the loop in which the comparisons hold, then the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...dialects.loop.structure import ForOp, IfOp, KernelOp, YieldOp
from ...dialects.vocabulary import CmpiOp
from ..analysis.affine import Affine
from ..analysis.bounds import set_bounds
from ..analysis.nests import find, name_of, walk
from .base import Primitive
from .rewriting import copied

Range = tuple[int, int]

_PREDICATES = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}
"""`slt sle sgt sge` of a and b hold where `(a - b) * sign + constant` is 0 or more."""


def _form(value: SSAValue) -> Affine | None:
    """An index value as an affine expression of loop variables."""
    op = value.owner
    if not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp):
        return Affine.of(value)
    x, y = map(_form, op.operands)
    if x is None or y is None:
        return None
    if isinstance(op, arith.MuliOp):
        return x * y.number if y.number is not None else y * x.number if x.number is not None else None
    return x + y if isinstance(op, arith.AddiOp) else x - y


def _difference(op: Operation) -> Affine | None:
    """What is 0 or more exactly where a comparison of index values holds."""
    if not isinstance(op, CmpiOp) or (predicate := op.predicate.value.data) not in _PREDICATES:
        return None
    x, y = map(_form, op.operands)
    if x is None or y is None:
        return None
    sign, constant = _PREDICATES[predicate]
    return (x - y) * sign + constant


def _conditions(loop: ForOp) -> Iterator[Affine]:
    """The differences that decide the conditions in a loop and depend on its index alone."""
    found = [op.condition for op in walk(loop) if isinstance(op, IfOp)]
    while found:
        op = found.pop().owner
        if isinstance(op, arith.AndIOp):
            found += op.operands
        elif isinstance(op, Operation) and (form := _difference(op)) is not None and set(form.terms) == {loop.index}:
            yield form


def _steady(loop: ForOp) -> Range | None:
    """Where the conditions hold, as far as they depend on the loop's index alone; None: none does."""
    bounds, conditions = loop.constant_bounds(), list(_conditions(loop))
    assert bounds is not None
    low, high = bounds
    for form in conditions:
        slope = form.terms[loop.index]
        if slope > 0:
            low = max(low, -(form.constant // slope))
        else:
            high = min(high, form.constant // -slope + 1)
    return (low, high) if conditions else None


def _decide(loop: ForOp) -> None:
    """Take the conditions out of a loop that have one value in all of its iterations."""
    bounds = loop.constant_bounds()
    assert bounds is not None
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
        elif (form := _difference(op)) is not None and set(form.terms) == {loop.index}:
            ends = {form.terms[loop.index] * at + form.constant >= 0 for at in (bounds[0], bounds[1] - 1)}
            if len(ends) == 1:
                known[op.results[0]] = ends.pop()
    _remove_unused(loop)


def _replace_branch(op: IfOp, is_true: bool) -> None:
    """Put what runs in the place of a conditional."""
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
    """`loop` runs where the conditions inside hold; the iterations before and after have loops of their own."""

    name = "loop-partition"
    loop: str

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if loop.results:
            raise self.refuse(f"{self.loop} carries values from one iteration to the next")
        if loop.constant_bounds() is None or loop.step.value.data != 1:
            raise self.refuse(f"{self.loop} needs constant bounds and step 1")
        steady = _steady(loop)
        if steady is None:
            raise self.refuse(f"no condition in {self.loop} depends on its index alone")
        if steady[0] >= steady[1]:
            raise self.refuse(f"the conditions in {self.loop} hold in none of its iterations together")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        bounds, steady, block = loop.constant_bounds(), _steady(loop), loop.parent
        assert bounds is not None and steady is not None and block is not None
        parts = [(loop, steady)]
        if bounds[0] < steady[0]:
            start = copied(loop, kernel, "_start")
            block.insert_op_before(start, loop)
            parts.append((start, (bounds[0], steady[0])))
        if steady[1] < bounds[1]:
            end = copied(loop, kernel, "_end")
            block.insert_op_after(end, loop)
            parts.append((end, (steady[1], bounds[1])))
        for part, (low, high) in parts:
            set_bounds(part, ([AffineConstantExpr(low)], []), ([AffineConstantExpr(high)], []))
            _decide(part)
        return tuple(name_of(part) for part, _ in parts)

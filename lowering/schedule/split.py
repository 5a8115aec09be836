"""Split a loop into two: an outer one that advances by `size` iterations and an inner one that runs these.

    before                                  after loop-split{loop=i size=8}
    loop.for parallel %i = 0 to %N {        loop.for parallel %io = 0 to %N step 8 {
      %a = loop.load %x[%i]                   loop.for parallel %ii = 0 to min(8, %N - %io) {
      loop.store %a, %y[%i]                     %a = loop.load %x[%io + %ii]
    }                                           loop.store %a, %y[%io + %ii]

Always legal: the order of the iterations stays. Both loops are of the old one's kind; of a reduction the outer loop carries the
partial result of the inner ones so far, so that values are combined in the same order too. Of a `vector` loop the outer one is
`seq`. Returns the outer and the inner loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...dialects.loop.loops import LARGEST_STEP, ForOp, KernelOp, YieldOp
from ...errors import ScheduleError
from ..analysis.bounds import affine_map, simplify_bounds
from ..analysis.nests import FreshNames, find, name_of, ops_in
from ..analysis.regions import has_linear_bounds
from .base import Primitive
from .rewriting import put_instead, rebased, replace_index, take_body


def split_loop(kernel: KernelOp, loop: ForOp, name: str, size: int) -> tuple[ForOp, ForOp]:
    """The outer and the inner loop that replace a loop.

    Raises:
        ScheduleError: the step of the outer loop would be too large; the kernel is unchanged.
    """
    check_step(loop, size)
    step, kind = loop.step.value.data, loop.kind.data
    fresh = FreshNames(kernel)
    names = fresh.of(name + "o"), fresh.of(name + "i")  # while the body is still in the kernel, where names are searched
    body = take_body(loop)
    reduces = kind == "reduce"
    inits, values = list(loop.inits), list(body.args[1:])
    outer_body = Block(arg_types=[IndexType(), *(v.type for v in inits)])
    carried = outer_body.args[1:]
    for k, argument in enumerate(carried):
        argument.name_hint = loop.results[k].name_hint if reduces else values[k].name_hint
    outer = ForOp.build_loop(
        (loop.lower.data, list(loop.lower_operands)),
        (loop.upper.data, list(loop.upper_operands)),
        step=step * size,
        kind="seq" if reduces or kind == "vector" else kind,
        inits=inits,
        body=outer_body,
        name=names[0],
    )
    outer.dynamic = loop.dynamic
    values = []
    ends = rebased(loop.upper.data.results, loop.upper_operands, values)
    start = rebased([AffineExpr.dimension(0)], [outer.index], values)[0]
    inner = ForOp.build_loop(
        0,
        affine_map([AffineConstantExpr(step * size), *(end - start for end in ends)], values),
        step=step,
        kind=kind,
        monoid=loop.monoid.data if loop.monoid is not None else None,
        inits=list(carried),
        body=body,
    )
    divided = [op for op in ops_in(body, ForOp) if not has_linear_bounds(op)]
    both = AffineExpr.dimension(0) + AffineExpr.dimension(1)
    replace_index(inner.index, both, [outer.index, inner.index], body, loop.location)
    outer_body.add_ops([inner, YieldOp.create(operands=inner.results)])
    inner.index.name_hint = names[1]
    for new in (outer, inner):
        new.location = loop.location
    put_instead(loop, [outer], outer.results)
    for new in (outer, inner, *divided):
        simplify_bounds(new)
    return outer, inner


def check_step(loop: ForOp, size: int) -> None:
    if (step := loop.step.value.data * size) > LARGEST_STEP:
        raise ScheduleError(
            f"split of {name_of(loop)} by {size}: the step of its outer loop is at most {LARGEST_STEP}, got {step}"
        )


@dataclass(frozen=True)
class Split(Primitive):
    """`loop` becomes two, the inner one of at most `size` iterations."""

    name = "loop-split"
    keeps_lines = True
    loop: str
    size: int

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if self.size < 1:
            raise self.refuse(f"the size must be 1 or more, got {self.size}")
        check_step(loop, self.size)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        outer, inner = split_loop(kernel, find(kernel, self.loop, self.name), self.loop, self.size)
        return name_of(outer), name_of(inner)

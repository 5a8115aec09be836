"""Long sums of floats are added in groups, so that rounding errors do not grow with the number of terms (docs/semantics.md).

This strategy follows those that choose vectors and tiles: a group is a number of iterations of the loop that is then the
innermost of a sum. A sum that continues from a number in memory, as in a product with blocks of the depth, starts from zero and
is added to it.
"""

from __future__ import annotations

from xdsl.dialects import arith

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.types import is_float, scalar_of
from ...thresholds import number
from ..analysis.bounds import constant_extent
from ..analysis.nests import name_of, ops_in
from ..schedule.regroup import Regroup
from .base import Take

GROUP = number("sums.GROUP")
GROUP_OF_PRODUCTS = number("sums.GROUP_OF_PRODUCTS")
FEW = number("sums.FEW")


def schedule_sums(kernel: KernelOp, target: Target, take: Take) -> None:
    """Group the terms of all long sums."""
    for loop in ops_in(kernel, ForOp):
        if loop.monoid is not None and loop.monoid.data == "add" and is_float(scalar_of(loop.results[0].type)):
            _group(loop, take)


def _group(loop: ForOp, take: Take) -> None:
    trips = loop.trip_count()
    if trips is None:
        trips = constant_extent(loop)
    if trips is None or any(isinstance(op, ForOp) for op in loop.body.block.ops):
        return
    size = GROUP_OF_PRODUCTS if _adds_products(loop) else GROUP
    goes_on = not isinstance(loop.inits[0].owner, arith.ConstantOp)
    if trips <= size:
        if goes_on and trips > FEW:
            take(Regroup(name_of(loop), trips))
        return
    sizes = [size]
    while trips > sizes[0] * GROUP:
        sizes.insert(0, sizes[0] * GROUP)
    name = name_of(loop)
    for size in sizes:
        name = take(Regroup(name, size))[-1]


def _adds_products(loop: ForOp) -> bool:
    """Whether the terms are products."""
    last = loop.body.block.last_op
    return last is not None and all(isinstance(value.owner, arith.MulfOp) for value in last.operands)

"""Bounds of loops: which of their expressions matter, and how often a loop runs at most.

A split leaves `min(16, %N - %io)`, a second one `min(4, 16 - %iio, %N - %io - %iio)`. Which of these can be the least is a
question about all values of the sizes and outer loops at once: one of linear constraints over integers, decided exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from ...dialects.loop.structure import ForOp, segment_sizes
from ...dialects.loop.subscripts import canonical
from .accesses import Access, Instance, Terms, combine
from .linear import System, Undecided
from .nests import around

UNROLL_LIMIT = 8192
"""How many ops an unrolled loop may expand to: code generation takes more than linear time in the size of a block."""
NEST_LIMIT = 1 << 16
"""How many ops a nest of unrolled loops may expand to."""

Linear = tuple[Terms, int]


class Domain:
    """The values that sizes and the loops around a loop can have, as constraints."""

    def __init__(self, loop: ForOp):
        outer = tuple(around(loop))
        self.system = System()
        # the names are by depth, as loops may be without one
        shared = {around: f"loop.{depth}" for depth, around in enumerate(outer)}
        self.instance = Instance(self.system, Access(loop, loop.index, False, outer), "at", shared)

    def linear(self, exprs: Sequence[AffineExpr], values: Sequence[SSAValue]) -> list[Linear]:
        """Expressions over index values as linear terms."""
        return [self.instance.linear(expr, values) for expr in exprs]

    def never_above(self, x: Linear, y: Linear) -> bool:
        """Whether `x <= y` always; no is also the answer where that cannot be decided."""
        above = self.system.copy()
        above.ge(combine(x[0], y[0], -1), x[1] - y[1] - 1)
        return above.is_surely_empty()

    def only_value(self, x: Linear) -> int | None:
        """The value of an expression when it has but one."""
        if not x[0]:
            return x[1]
        try:
            low, high = self.system.bounds(*x)
        except Undecided:
            return None
        return low if low == high else None


def simplify_bounds(loop: ForOp) -> None:
    """Leave only the bound expressions that matter; those of one value become numbers. 1 to 5 ms.

    `min(8, 16 - %io)` with `%io` in 0, 8 is 8.
    """
    domain = Domain(loop)
    kept: list[tuple[list[AffineExpr], Sequence[SSAValue]]] = []
    for map, values, is_upper in (
        (loop.lower.data, list(loop.lower_operands), False),
        (loop.upper.data, list(loop.upper_operands), True),
    ):
        exprs: list[AffineExpr] = []
        for expr, linear in zip(map.results, domain.linear(map.results, values), strict=True):
            number = domain.only_value(linear)
            exprs.append(expr if number is None else AffineConstantExpr(number))
        kept.append((_deciding(domain, exprs, values, is_upper), values))
    set_bounds(loop, *kept)


def _deciding(domain: Domain, exprs: list[AffineExpr], values: Sequence[SSAValue], is_upper: bool) -> list[AffineExpr]:
    """Those of the expressions of a min (for an upper bound) or max that none of the others makes redundant."""
    linear = dict(zip(range(len(exprs)), domain.linear(exprs, values), strict=True))
    # of equal ones the number stays, then the first
    for k in sorted(linear, key=lambda k: (isinstance(exprs[k], AffineConstantExpr), -k)):
        for other in linear:
            pair = (linear[other], linear[k]) if is_upper else (linear[k], linear[other])
            if other != k and domain.never_above(*pair):
                del linear[k]
                break
    return [exprs[k] for k in linear]


def constant_extent(loop: ForOp) -> int | None:
    """The greatest possible trip count, None when there is no limit: 6 for `0 to min(6, %M - %i)`. 1 ms."""
    domain = Domain(loop)
    most = {"extent": 1}
    for x, a in domain.linear(loop.lower.data.results, loop.lower_operands):
        for y, b in domain.linear(loop.upper.data.results, loop.upper_operands):
            domain.system.ge(combine(combine(y, x, -1), most, -1), b - a)
    try:
        low, high = domain.system.bounds(most)
    except Undecided:
        return None
    if high is None:
        return None
    return 0 if low is not None and low > high else max(0, -(-high // loop.step.value.data))


def code_size(op: Operation) -> int:
    """How many ops an op and those in it are at emission, where unrolled loops are copied."""
    inside = sum(code_size(inner) for region in op.regions for block in region.blocks for inner in block.ops)
    copies = (constant_extent(op) or 1) if isinstance(op, ForOp) and op.kind.data == "unroll" else 1
    return 1 + inside * copies


def too_much_code(loop: ForOp, copies: int) -> str | None:
    """What is wrong with so many copies of the body of a loop; None if that is not too much for code generation."""
    for size, limit in (
        (sum(1 for _ in loop.body.walk()), UNROLL_LIMIT),
        (sum(map(code_size, loop.body.block.ops)), NEST_LIMIT),
    ):
        if copies * size > limit:
            return f"{copies} iterations of {size} ops, more than {limit} in all"
    return None


def affine_map(exprs: Sequence[AffineExpr], values: Sequence[SSAValue]) -> tuple[AffineMap, list[SSAValue]]:
    """Expressions over index values as a canonical map, with the values that it uses, each once."""
    used = {dim for expr in exprs for dim in expr.used_dims()}
    home = list(dict.fromkeys(value for k, value in enumerate(values) if k in used))
    dims = [AffineExpr.dimension(home.index(v)) if k in used else AffineConstantExpr(0) for k, v in enumerate(values)]
    renamed = [canonical(expr.replace_dims_and_symbols(dims, []), len(home)) for expr in exprs]
    return AffineMap(len(home), 0, tuple(renamed)), home


def set_bounds(
    loop: ForOp,
    lower: tuple[Sequence[AffineExpr], Sequence[SSAValue]],
    upper: tuple[Sequence[AffineExpr], Sequence[SSAValue]],
) -> None:
    """Give a loop other bounds: the greatest of some expressions, and the least of others."""
    inits = list(loop.inits)
    (low, low_values), (high, high_values) = _without_equals(affine_map(*lower)), _without_equals(affine_map(*upper))
    loop.operands = [*low_values, *high_values, *inits]
    loop.properties["lower"], loop.properties["upper"] = AffineMapAttr(low), AffineMapAttr(high)
    loop.properties.update(segment_sizes(len(low_values), len(high_values), len(inits)))


def _without_equals(bound: tuple[AffineMap, list[SSAValue]]) -> tuple[AffineMap, list[SSAValue]]:
    return AffineMap(bound[0].num_dims, 0, tuple(dict.fromkeys(bound[0].results))), bound[1]

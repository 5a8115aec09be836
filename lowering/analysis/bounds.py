"""Bounds of loops: which of their expressions matter, and greatest trip counts.

A split leaves `min(16, %N - %io)`, a second one `min(4, 16 - %iio, %N - %io - %iio)`. Which of these can be the least depends
on all values of the sizes and outer loops at once: a question of linear constraints over integers, decided exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from math import gcd

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind, AffineConstantExpr, AffineExpr, AffineMap

from ...dialects.loop.loops import ForOp, segment_sizes
from ...dialects.loop.subscripts import canonical, linear_form, map_attribute
from ...dialects.operations import ops_of
from .accesses import Access, Instance, Terms, combine
from .affine import Affine, Part, as_map, forms
from .conditions import known_at
from .linear import System, Undecided
from .nests import around, walk

UNROLL_LIMIT = 8192
"""Most ops after the expansion of an unrolled loop: code generation is superlinear in the size of a block."""
NEST_LIMIT = 1 << 16
"""Most ops after the expansion of a nest of unrolled loops."""

Linear = tuple[Terms, int]
Combination = tuple[dict[SSAValue, int], int]
"""Coefficients of index values, and a constant."""


class Bound:
    """One expression of a bound, over index values.

    Attributes:
        terms: the expression as a sum; None where it contains a division.
    """

    __slots__ = ("expr", "terms", "values")

    def __init__(self, expr: AffineExpr, values: Sequence[SSAValue]):
        self.expr, self.values = expr, values
        self.terms: Combination | None = None
        form = linear_form(expr, len(values))
        if form is not None:
            terms: dict[SSAValue, int] = {}
            for value, c in zip(values, form[0], strict=True):
                if c:
                    terms[value] = terms.get(value, 0) + c
            self.terms = terms, form[1]


class Domain:
    """The possible values of sizes and of the loops around a loop.

    Loops with constant bounds span a box, in whose corners an expression is least and greatest. Everything else is decided by
    constraints.
    """

    def __init__(self, loop: ForOp):
        self.loop, self.outer = loop, tuple(around(loop))
        self.box: dict[SSAValue, tuple[int, int]] = {}
        """The first and last value of each index with constant bounds."""
        for outer in self.outer:
            if (bounds := outer.constant_bounds()) is not None and bounds[0] < bounds[1]:
                step = outer.step.value.data
                self.box[outer.index] = bounds[0], bounds[0] + (bounds[1] - 1 - bounds[0]) // step * step

    @cached_property
    def is_box(self) -> bool:
        """Whether each point of the box occurs: the other loops around run, whatever the indices in the box are."""
        return all(self._runs(outer) for outer in self.outer if outer.index not in self.box)

    def _runs(self, loop: ForOp) -> bool:
        """Whether the box alone shows that a loop runs at least once."""
        for low in lower_bounds(loop):
            for high in upper_bounds(loop):
                if low.terms is None or high.terms is None:
                    return False
                found = self.range(*_difference(low.terms, high.terms))
                if found is None or found[1] >= 0:
                    return False
        return True

    @cached_property
    def instance(self) -> Instance:
        """The same as constraints, in about 100 us for each loop."""
        # names are by depth, as loops may have no name
        shared = {outer: f"loop.{depth}" for depth, outer in enumerate(self.outer)}
        made = Instance(System(), Access(self.loop, self.loop.index, False, self.outer), "at", shared)
        for form in known_at(self.loop):
            expr, values = as_map([form])
            terms, constant = made.linear(expr.results[0], values)
            made.system.ge(terms, constant)
        return made

    def linear(self, x: Bound) -> Linear:
        """An expression as linear terms of the constraints."""
        return self.instance.linear(x.expr, x.values)

    def range(self, terms: Mapping[SSAValue, int], constant: int) -> tuple[int, int] | None:
        """The least and the greatest value of `sum(c * index) + constant` where the box determines them."""
        low = high = constant
        for value, c in terms.items():
            ends = self.box.get(value)
            if ends is None:
                return None
            low += c * ends[c < 0]
            high += c * ends[c > 0]
        return low, high

    def never_above(self, x: Bound, y: Bound) -> bool:
        """Whether `x <= y` always; False also where that cannot be decided."""
        if x.terms is not None and y.terms is not None:
            found = self.range(*_difference(x.terms, y.terms))
            if found is not None and (found[1] <= 0 or self.is_box):
                return found[1] <= 0
        (x_terms, a), (y_terms, b) = self.linear(x), self.linear(y)
        above = self.instance.system.copy()
        above.ge(combine(x_terms, y_terms, -1), a - b - 1)
        return above.is_surely_empty()

    def only_value(self, x: Bound) -> int | None:
        """The value of an expression, when it has only one."""
        if x.terms is not None:
            found = self.range(*x.terms)
            if found is not None and (found[0] == found[1] or self.is_box):
                return found[0] if found[0] == found[1] else None
        terms, constant = self.linear(x)
        try:
            low, high = self.instance.system.bounds(terms, constant)
        except Undecided:
            return None
        return low if low == high else None


def _difference(x: Combination, y: Combination) -> Combination:
    terms = dict(x[0])
    for value, c in y[0].items():
        terms[value] = terms.get(value, 0) - c
    return {value: c for value, c in terms.items() if c}, x[1] - y[1]


def lower_bounds(loop: ForOp) -> list[Bound]:
    """The expressions whose maximum is the start of a loop."""
    values = loop.lower_operands
    return [Bound(expr, values) for expr in loop.lower.data.results]


def upper_bounds(loop: ForOp) -> list[Bound]:
    """The expressions whose minimum is the end of a loop."""
    values = loop.upper_operands
    return [Bound(expr, values) for expr in loop.upper.data.results]


def simplify_bounds(loop: ForOp) -> None:
    """Keep only the bound expressions that matter; constant ones become numbers. 1 to 5 ms where constraints decide.

    `min(8, 16 - %io)` with `%io` in 0, 8 is 8; `(%io + %ii) mod 8` with `%ii` below 8 is `%ii`.
    """
    lower, upper = loop.lower.data, loop.upper.data
    if lower.num_dims == upper.num_dims == 0 and len(lower.results) == len(upper.results) == 1:
        return
    domain, low, high = Domain(loop), lower_bounds(loop), upper_bounds(loop)
    if any([bound.terms is None for bound in (*low, *high)]):
        _simplify_remainders(domain, loop)
        low, high = lower_bounds(loop), upper_bounds(loop)
    kept: list[tuple[list[AffineExpr], Sequence[SSAValue]]] = []
    for bounds, is_upper in (low, False), (high, True):
        values, numbers = bounds[0].values, [domain.only_value(bound) for bound in bounds]
        found = [b if n is None else Bound(AffineConstantExpr(n), values) for b, n in zip(bounds, numbers, strict=True)]
        kept.append((_deciding(domain, found, is_upper), values))
    set_bounds(loop, *kept)


def _simplify_remainders(domain: Domain, loop: ForOp) -> None:
    """Simplify remainders by constants in the bounds of a loop, where possible."""

    def simplified(form: Affine) -> Affine:
        total = Affine.of(form.constant)
        for atom, c in form.terms.items():
            term = Affine({atom: 1})
            if isinstance(atom, Part) and atom.kind == AffineBinaryOpKind.Mod and atom.y.number is not None:
                term = _remainder(domain, atom.x, atom.y.number)
            total += term * c
        return total

    maps = (loop.lower.data, loop.lower_operands), (loop.upper.data, loop.upper_operands)
    low, high = (as_map([simplified(form) for form in forms(*bound)]) for bound in maps)
    set_bounds(loop, (low[0].results, low[1]), (high[0].results, high[1]))


def _remainder(domain: Domain, x: Affine, divisor: int) -> Affine:
    """`x mod divisor`: a part surely less than a unit that divides the divisor and the rest of `x` is a remainder already."""
    units = {atom: gcd(divisor, c * _unit(atom)) for atom, c in x.terms.items()}
    for unit in dict.fromkeys((divisor, max(units.values(), default=1))):
        whole = Affine({atom: c for atom, c in x.terms.items() if units[atom] == unit})
        operands: list[SSAValue] = []
        rest = Bound((x - whole).expr(operands), operands)
        zero, most = (Bound(AffineConstantExpr(n), []) for n in (0, unit - 1))
        if domain.never_above(zero, rest) and domain.never_above(rest, most):
            return x - whole + (0 if unit == divisor else whole.mod(divisor))
    return x.mod(divisor)


def _unit(atom: SSAValue | Part) -> int:
    """A divisor of all values: the step of a loop that begins at a constant, and the remainder of its values."""
    if isinstance(atom, Part):
        terms = [c * _unit(inner) for inner, c in atom.x.terms.items()]
        is_remainder = atom.kind == AffineBinaryOpKind.Mod and atom.y.number is not None
        return gcd(atom.y.constant, atom.x.constant, *terms) if is_remainder else 1
    loop = atom.owner.parent_op() if isinstance(atom.owner, Block) else None
    bounds = lower_bounds(loop) if isinstance(loop, ForOp) and loop.index is atom else []
    start = bounds[0].expr if len(bounds) == 1 else None
    return gcd(loop.step.value.data, start.value) if isinstance(loop, ForOp) and isinstance(start, AffineConstantExpr) else 1


def is_multiple(form: Affine, number: int) -> bool:
    """Whether the steps of loops and the factors prove that an expression is a multiple of a number."""
    return form.constant % number == 0 and all(c * _unit(atom) % number == 0 for atom, c in form.terms.items())


def _deciding(domain: Domain, bounds: Sequence[Bound], is_upper: bool) -> list[AffineExpr]:
    """The expressions of a min (for an upper bound) or max that are not redundant."""
    if len(bounds) == 1:
        return [bounds[0].expr]
    left = dict(enumerate(bounds))
    # of equal expressions a constant is kept, else the first
    for k in sorted(left, key=lambda k: (isinstance(bounds[k].expr, AffineConstantExpr), -k)):
        for other in left:
            pair = (left[other], left[k]) if is_upper else (left[k], left[other])
            if other != k and domain.never_above(*pair):
                del left[k]
                break
    return [bound.expr for bound in left.values()]


def constant_extent(loop: ForOp) -> int | None:
    """The greatest possible trip count, None when there is no limit: 6 for `0 to min(6, %M - %i)`."""
    if (trips := loop.trip_count()) is not None:
        return trips
    domain, step = Domain(loop), loop.step.value.data
    lowers, uppers = lower_bounds(loop), upper_bounds(loop)
    if domain.is_box and (most := _greatest_length(domain, lowers, uppers)) is not None:
        return max(0, -(-most // step))
    return _extent_by_constraints(domain, lowers, uppers, step)


def _greatest_length(domain: Domain, lowers: Sequence[Bound], uppers: Sequence[Bound]) -> int | None:
    """The greatest distance of the bounds in a box, if one corner is the greatest for all pairs of their expressions."""
    signs: dict[SSAValue, bool] = {}
    most: list[int] = []
    for low in lowers:
        for high in uppers:
            if low.terms is None or high.terms is None:
                return None
            terms, constant = _difference(high.terms, low.terms)
            found = domain.range(terms, constant)
            if found is None or any(signs.setdefault(value, c > 0) != (c > 0) for value, c in terms.items()):
                return None
            most.append(found[1])
    return min(most)


def _extent_by_constraints(domain: Domain, lowers: Sequence[Bound], uppers: Sequence[Bound], step: int) -> int | None:
    """`constant_extent`, in about 1 ms."""
    most, system = {"extent": 1}, domain.instance.system
    ends = [domain.linear(high) for high in uppers]
    for x, a in map(domain.linear, lowers):
        for y, b in ends:
            system.ge(combine(combine(y, x, -1), most, -1), b - a)
    try:
        low, high = system.bounds(most)
    except Undecided:
        return None
    if high is None:
        return None
    return 0 if low is not None and low > high else max(0, -(-high // step))


def code_size(op: Operation) -> int:
    """The number of ops at emission, in an op and its regions, where unrolled loops are copied."""
    if not op.regions:
        return 1
    inside = sum(code_size(inner) for region in op.regions for block in region.blocks for inner in ops_of(block))
    copies = (constant_extent(op) or 1) if isinstance(op, ForOp) and op.kind.data == "unroll" else 1
    return 1 + inside * copies


def too_much_code(loop: ForOp, copies: int) -> str | None:
    """Why this many copies of the body of a loop are too much for code generation; None if they are not."""
    for size, limit in (
        (len(walk(loop.body.block)), UNROLL_LIMIT),
        (sum(map(code_size, ops_of(loop.body.block))), NEST_LIMIT),
    ):
        if copies * size > limit:
            return f"{copies} iterations of {size} ops, more than {limit} in all"
    return None


def affine_map(exprs: Sequence[AffineExpr], values: Sequence[SSAValue]) -> tuple[AffineMap, list[SSAValue]]:
    """Expressions over index values as a canonical map, with the values that it uses, each once."""
    number: dict[SSAValue, int] = {}
    map, used = _canonical_map(tuple(exprs), tuple([number.setdefault(value, len(number)) for value in values]))
    different = list(number)
    return map, [different[k] for k in used]


@lru_cache(maxsize=8192)
def _canonical_map(exprs: tuple[AffineExpr, ...], values: tuple[int, ...]) -> tuple[AffineMap, tuple[int, ...]]:
    """A map over the values that it uses out of some numbered ones, each once, and their numbers."""
    used = {dim for expr in exprs for dim in expr.used_dims()}
    home = list(dict.fromkeys(value for k, value in enumerate(values) if k in used))
    dims = [AffineExpr.dimension(home.index(v)) if k in used else AffineConstantExpr(0) for k, v in enumerate(values)]
    renamed = [canonical(expr.replace_dims_and_symbols(dims, []), len(home)) for expr in exprs]
    return AffineMap(len(home), 0, tuple(renamed)), tuple(home)


def set_bounds(
    loop: ForOp,
    lower: tuple[Sequence[AffineExpr], Sequence[SSAValue]],
    upper: tuple[Sequence[AffineExpr], Sequence[SSAValue]],
) -> None:
    """Set the bounds of a loop: the maximum of some expressions, and the minimum of others."""
    inits = list(loop.inits)
    (low, low_values), (high, high_values) = _without_equals(affine_map(*lower)), _without_equals(affine_map(*upper))
    operands = [*low_values, *high_values, *inits]
    if operands != [*loop._operands]:
        loop.operands = operands
    loop.properties["lower"], loop.properties["upper"] = map_attribute(low), map_attribute(high)
    loop.properties.update(segment_sizes(len(low_values), len(high_values), len(inits)))


def _without_equals(bound: tuple[AffineMap, list[SSAValue]]) -> tuple[AffineMap, list[SSAValue]]:
    map, values = bound
    return bound if len(map.results) == 1 else (AffineMap(map.num_dims, 0, tuple(dict.fromkeys(map.results))), values)

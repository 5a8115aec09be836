"""The iterations of a widened loop that run on full vectors, and the form of the remainder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from ...dialects.loop.loops import ForOp
from ...dialects.loop.subscripts import canonical, linear_form
from ..analysis.accesses import Access, Instance, combine
from ..analysis.affine import as_map
from ..analysis.conditions import known_at
from ..analysis.linear import System
from ..analysis.nests import around

Bound = tuple[AffineMap, Sequence[SSAValue]]
Tail = Literal["masked", "scalar", "predicated"]

_FEW = 8
"""Most vectors that run with all lanes off rather than under a test."""


@dataclass(frozen=True)
class Part:
    """Some iterations of a loop.

    Attributes:
        lanes: the lanes that compute: "all" of a vector, the first few (a number), as many as the loop has left ("left"), or no
            vector at all ("scalar").
    """

    lower: Bound
    upper: Bound
    lanes: int | Literal["all", "left", "scalar"]


def bound_of(exprs: Sequence[AffineExpr], operands: Sequence[SSAValue]) -> Bound:
    """A bound without its unused operands."""
    used = sorted({k for e in exprs for k in e.used_dims()})
    n = len(used)
    dims = [AffineExpr.dimension(used.index(k) if k in used else 0) for k in range(len(operands))]
    map = AffineMap(n, 0, tuple(canonical(e.replace_dims_and_symbols(dims, []), n) for e in exprs))
    return map, [operands[k] for k in used]


def _number(number: int) -> Bound:
    return AffineMap(0, 0, (AffineConstantExpr(number),)), []


class _Bounds:
    """The bounds of a loop as expressions over one list of operands."""

    def __init__(self, loop: ForOp):
        self.operands: list[SSAValue] = list(dict.fromkeys((*loop.lower_operands, *loop.upper_operands)))
        n = len(self.operands)
        dims = {value: AffineExpr.dimension(k) for k, value in enumerate(self.operands)}
        self.lower, self.upper = (
            [canonical(e.replace_dims_and_symbols([dims[v] for v in values], []), n) for e in map.data.results]
            for map, values in ((loop.lower, loop.lower_operands), (loop.upper, loop.upper_operands))
        )
        constant = loop.constant_bounds()
        if constant is not None:
            self.lower, self.upper = [AffineConstantExpr(constant[0])], [AffineConstantExpr(constant[1])]

    def bound(self, *exprs: AffineExpr) -> Bound:
        return bound_of(exprs, self.operands)

    def differences(self) -> list[tuple[tuple[int, ...], int] | None]:
        """The upper minus the lower bound, for each pair of them, as linear forms where they are."""
        n = len(self.operands)
        return [linear_form(canonical(high + low * -1, n), n) for low in self.lower for high in self.upper]


def parts(loop: ForOp, lanes: int, tail: Tail) -> list[Part]:
    """The loops that replace a loop; loops known not to run are left out, but never all of them."""
    step = loop.step.value.data
    width, constant = step * lanes, loop.constant_bounds()
    if constant is not None and (constant[1] - constant[0]) % width == 0:
        return [Part(_number(constant[0]), _number(constant[1]), "all")]
    bounds = _Bounds(loop)
    lower, upper = bounds.bound(*bounds.lower), bounds.bound(*bounds.upper)
    differences = bounds.differences()
    if all(d is not None and not any(c % width for c in (*d[0], d[1])) for d in differences):
        return [Part(lower, upper, "all")]
    single = len(bounds.lower) == 1 and len(bounds.upper) == 1
    if single and any(known_at(loop)) and _is_multiple(loop, width):
        return [Part(lower, upper, "all")]
    trips = None
    if single and differences[0] is not None and not any(differences[0][0]):
        trips = max(0, -(-differences[0][1] // step))
        if trips % lanes == 0:
            return [Part(lower, bounds.bound(bounds.lower[0] + trips * step), "all")]
    if tail == "predicated" or not single:  # the start of the remainder is then no affine expression
        return [Part(lower, bounds.bound(*_full(loop, bounds, width)), "left")]
    (low,), (high,) = bounds.lower, bounds.upper
    if trips is not None:
        middle = low + trips // lanes * width
        end = bounds.bound(high if tail == "scalar" else middle + width)
        rest = Part(bounds.bound(middle), end, "scalar" if tail == "scalar" else trips % lanes)
        return [Part(lower, bounds.bound(middle), "all"), rest] if trips >= lanes else [rest]
    middle = low + (high + low * -1 + (step - 1)) // width * width
    # else a part might start before the loop
    start = bounds.bound(middle) if _at_least(loop, 0) else bounds.bound(low, middle)
    return [Part(lower, bounds.bound(middle), "all"), Part(start, upper, "scalar" if tail == "scalar" else "left")]


def _full(loop: ForOp, bounds: _Bounds, width: int) -> Sequence[AffineExpr]:
    """The upper bounds; a constant alone when it is a few vectors: further lanes are off, and such a loop can be unrolled.

    Elements shared by all lanes are then accessed even when none is on; so the loop must be known to run.
    """
    numbers = [e.value for e in bounds.upper if isinstance(e, AffineConstantExpr)]
    (low, *others) = bounds.lower
    if not numbers or others or not isinstance(low, AffineConstantExpr):
        return bounds.upper
    vectors = -(-(min(numbers) - low.value) // width)
    if not 0 < vectors <= _FEW or not _at_least(loop, 1):
        return bounds.upper
    return [AffineConstantExpr(low.value + vectors * width)]


def _is_multiple(loop: ForOp, width: int) -> bool:
    """Whether conditions around a loop say that the distance of its bounds is a multiple of a number."""
    system = System()
    instance = Instance(system, Access(loop, loop.index, False, tuple(around(loop))), "o", {})
    for form in known_at(loop):
        expr, values = as_map([form])
        system.ge(*instance.linear(expr.results[0], values))
    (x, a), (y, b) = (
        instance.linear(map.data.results[0], operands)
        for map, operands in ((loop.upper, loop.upper_operands), (loop.lower, loop.lower_operands))
    )
    left = combine(combine(x, y, -1), {"o.quotient": 1}, -width)
    system.ge(left, a - b - 1)
    system.ge({name: -c for name, c in left.items()}, b - a + width - 1)
    return system.is_surely_empty()


def _at_least(loop: ForOp, least: int) -> bool:
    """Whether the upper bound always exceeds the lower one by that much."""
    outer = Access(loop, loop.index, False, tuple(around(loop)))
    for low in loop.lower.data.results:
        for high in loop.upper.data.results:
            system = System()
            instance = Instance(system, outer, "o", {})
            (x, a), (y, b) = instance.linear(low, loop.lower_operands), instance.linear(high, loop.upper_operands)
            system.ge(combine(x, y, -1), a - b - 1 + least)
            if not system.is_surely_empty():
                return False
    return True

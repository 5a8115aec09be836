"""One execution of an op as linear constraints between index values, for questions that intervals do not decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.loop.loops import ForOp
from .accesses import Terms, combine
from .linear import System
from .ranges import MOST, NEGATED, SAME, Range, Ranges, conditions_of, type_range

Linear = tuple[Terms, int]

# (a - b) * sign + constant >= 0, by predicate of `arith.cmpi`: eq ne slt sle sgt sge
_COMPARED = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}


class Point:
    """One execution of an op as linear constraints: its loops, the conditions around it, the lane of a vector.

    Attributes:
        chosen: results of `arith.select`, with the operand that each of them is assumed to be.
        open: the `arith.select` results met without such an assumption.
    """

    def __init__(
        self,
        ranges: Ranges,
        op: Operation,
        lanes: int = 1,
        mask: SSAValue | None = None,
        chosen: Mapping[SSAValue, bool] | None = None,
    ) -> None:
        self.ranges, self.system = ranges, System(budget=4000)
        self.chosen = chosen or {}
        self.open: list[SSAValue] = []
        self._terms: dict[SSAValue, Linear] = {}
        self._fresh = 0
        self.lane = self._variable((0, lanes - 1))
        for condition, is_true in conditions_of(op):
            self.holds(condition, is_true)
        if mask is not None:
            self.holds(mask)

    def _variable(self, bounds: Range) -> Linear:
        name = f"v{self._fresh}"
        self._fresh += 1
        self.system.ge({name: 1}, -bounds[0])
        self.system.ge({name: -1}, bounds[1])
        return {name: 1}, 0

    def at_least(self, a: Linear, b: Linear, by: int = 0) -> None:
        """Constrain `a >= b + by`."""
        self.system.ge(combine(a[0], b[0], -1), a[1] - b[1] - by)

    # Values

    def value(self, value: SSAValue) -> Linear:
        """A value, or the lane of a vector, as a linear expression."""
        found = self._terms.get(value)
        if found is None:
            found = self._terms[value] = self._expressed(value)
        return found

    def _expressed(self, value: SSAValue) -> Linear:
        low, high = bounds = self.ranges.of(value)
        if low == high:
            return {}, low
        if isinstance(value, BlockArgument):
            parent = value.block.parent_op()
            variable = self._variable(bounds)
            self._terms[value] = variable
            if isinstance(parent, ForOp) and value.index == 0 and bounds != type_range(value.type):
                self._domain(parent, variable)
            return variable
        op: Any = value.owner
        if op.name == "vector.step":
            return self.lane
        if op.name == "arith.constant":
            return self._progression(op.value) or self._variable(bounds)
        if op.name in SAME and self.ranges.of(op.operands[0]) == bounds:
            return self.value(op.operands[0])
        if op.name == "arith.select" and value in self.chosen:
            self.holds(op.operands[0], self.chosen[value])
            return self.value(op.operands[1 if self.chosen[value] else 2])
        if op.name == "arith.select":
            self.open.append(value)
        if self.ranges.exact(op) is None:
            return self._variable(bounds)
        return self._arithmetic(op, bounds)

    def _arithmetic(self, op: Operation, bounds: Range) -> Linear:
        if op.name == "arith.shli":
            x, a = self.value(op.operands[0])
            factor = 1 << self.ranges.of(op.operands[1])[0]
            return {name: c * factor for name, c in x.items()}, a * factor
        if op.name not in ("arith.addi", "arith.subi", "arith.muli", "arith.maxsi", "arith.minsi"):
            return self._quotient(op, bounds) or self._variable(bounds)
        (x, a), (y, b) = left, right = self.value(op.operands[0]), self.value(op.operands[1])
        if op.name in ("arith.addi", "arith.subi"):
            sign = 1 if op.name == "arith.addi" else -1
            return combine(x, y, sign), a + sign * b
        if op.name == "arith.muli":
            if not x:
                return {name: c * a for name, c in y.items() if a}, a * b
            return ({name: c * b for name, c in x.items() if b}, a * b) if not y else self._variable(bounds)
        result = self._variable(bounds)
        for operand in (left, right):
            pair = (result, operand) if op.name == "arith.maxsi" else (operand, result)
            self.at_least(*pair)
        return result

    def _quotient(self, op: Operation, bounds: Range) -> Linear | None:
        """Division and remainder by a constant, of a nonnegative number unless it rounds down: `x = q * n + r`."""
        if op.name not in ("arith.divsi", "arith.floordivsi", "arith.remsi", "arith.shrsi"):
            return None
        (low, high), (n, same) = self.ranges.of(op.operands[0]), self.ranges.of(op.operands[1])
        rounds_down = op.name in ("arith.floordivsi", "arith.shrsi")
        if n == same and op.name == "arith.shrsi":
            n = same = 1 << n
        if n != same or n <= 0 or (low < 0 and not rounds_down):
            return None
        x, a = self.value(op.operands[0])
        quotient, _ = self._variable((low // n, high // n))
        rest = combine(x, quotient, -n), a
        self.at_least(rest, ({}, 0))
        self.at_least(({}, n - 1), rest)
        return rest if op.name == "arith.remsi" else (quotient, 0)

    def _progression(self, value: Attribute) -> Linear | None:
        """A constant vector whose lanes are an arithmetic progression."""
        if not isinstance(value, DenseIntOrFPElementsAttr):
            return None
        numbers = [int(n) for n in value.get_values()]
        step = numbers[1] - numbers[0] if len(numbers) > 1 else 0
        if any(b - a != step for a, b in pairwise(numbers)):
            return None
        return combine({}, self.lane[0], step), numbers[0]

    def _domain(self, loop: ForOp, variable: Linear) -> None:
        lowers = self._bounds(loop.lower.data.results, loop.lower_operands)
        for bound in lowers:
            self.at_least(variable, bound)
        for bound in self._bounds(loop.upper.data.results, loop.upper_operands):
            self.at_least(bound, variable, 1)
        step = loop.step.value.data
        if step != 1 and len(lowers) == 1 == len(loop.lower.data.results):
            trip, _ = self._variable((0, MOST))
            (terms, constant) = lowers[0]
            self.system.eq(combine(combine(variable[0], terms, -1), trip, -step), variable[1] - constant)

    def _bounds(self, exprs: Iterable[AffineExpr], dims: Sequence[SSAValue]) -> list[Linear]:
        return [self.affine(e, dims) for e in exprs if self.ranges.affine(e, dims)[1] != inf]

    def affine(self, expr: AffineExpr, dims: Sequence[SSAValue]) -> Linear:
        """An affine expression, which does not wrap around, over index values."""
        if isinstance(expr, AffineConstantExpr):
            return {}, expr.value
        if isinstance(expr, AffineDimExpr):
            return self.value(dims[expr.position])
        assert isinstance(expr, AffineBinaryOpExpr)
        (x, a), (y, b) = self.affine(expr.lhs, dims), self.affine(expr.rhs, dims)
        if expr.kind == AffineBinaryOpKind.Add:
            return combine(x, y, 1), a + b
        if expr.kind == AffineBinaryOpKind.Mul and not (x and y):
            terms, factor = (x, b) if not y else (y, a)
            return {name: c * factor for name, c in terms.items() if factor}, a * b
        low, high = self.ranges.affine(expr, dims)
        if y or b <= 0 or expr.kind == AffineBinaryOpKind.Mul:
            return self._variable((int(low), int(high)))
        inner = self.ranges.affine(expr.lhs, dims)
        a += b - 1 if expr.kind == AffineBinaryOpKind.CeilDiv else 0
        quotient, _ = self._variable((int(inner[0]) // b, -(-int(inner[1]) // b)))
        rest = combine(x, quotient, -b), a
        self.at_least(rest, ({}, 0))
        self.at_least(({}, b - 1), rest)
        return rest if expr.kind == AffineBinaryOpKind.Mod else (quotient, 0)

    # Conditions

    def holds(self, condition: SSAValue, is_true: bool = True) -> None:
        """Constrain a condition, or the lane of a mask, as far as it is linear."""
        op: Any = condition.owner
        if isinstance(op, Block):
            return
        if op.name == ("arith.andi" if is_true else "arith.ori"):
            for operand in op.operands:
                self.holds(operand, is_true)
        elif op.name == "arith.xori" and self.ranges.of(op.operands[1]) == (1, 1):
            self.holds(op.operands[0], not is_true)
        elif op.name == "vector.broadcast":
            self.holds(op.operands[0], is_true)
        elif op.name == "vector.create_mask" and len(op.operands) == 1:
            count = self.value(op.operands[0])
            if is_true:
                self.at_least(count, self.lane, 1)
            else:
                self.at_least(self.lane, count)
        elif op.name == "arith.constant" and isinstance(op.value, DenseIntOrFPElementsAttr):
            on = [k for k, lane in enumerate(op.value.get_values()) if bool(lane) == is_true]
            self.at_least(self.lane, ({}, min(on, default=1)))
            self.at_least(({}, max(on, default=0)), self.lane)
        elif op.name == "arith.cmpi":
            self._compared(op, is_true)
        elif op.name == "loop.reduce_lanes" and op.monoid.data == ("or" if is_true else "and"):
            self._holds_in_a_lane(op.operands[0], is_true)

    def _holds_in_a_lane(self, mask: Any, is_true: bool) -> None:
        """Constrain some lane of a mask to be on, or off: a separate lane variable."""
        lane, vectors = self.lane, {v: x for v, x in self._terms.items() if isinstance(v.type, VectorType)}
        self.lane = self._variable((0, mask.type.get_shape()[0] - 1))
        self._terms = {v: x for v, x in self._terms.items() if v not in vectors}
        self.holds(mask, is_true)
        scalars = {v: x for v, x in self._terms.items() if not isinstance(v.type, VectorType)}
        self.lane, self._terms = lane, scalars | vectors

    def _compared(self, op: Any, is_true: bool) -> None:
        predicate = op.predicate.value.data
        if predicate >= 6:  # unsigned: the same for nonnegative numbers
            below_sign = self.ranges.of(op.operands[1])[0] >= 0
            if predicate in (6, 7) and is_true and below_sign:
                self.at_least(self.value(op.operands[0]), ({}, 0))
            elif not below_sign or self.ranges.of(op.operands[0])[0] < 0:
                return
            predicate -= 4
        predicate = predicate if is_true else NEGATED[predicate]
        a, b = self.value(op.operands[0]), self.value(op.operands[1])
        if predicate == 0:
            self.system.eq(combine(a[0], b[0], -1), a[1] - b[1])
        elif predicate in _COMPARED:
            sign, constant = _COMPARED[predicate]
            terms = combine({}, combine(a[0], b[0], -1), sign)
            self.system.ge(terms, sign * (a[1] - b[1]) + constant)

"""Value ranges: intervals of the index values of a kernel.

Nothing is assumed about data. Arithmetic that may wrap around yields the full range of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.loop.loops import ForOp, IfOp, KernelOp
from ...dialects.types import integer_range, scalar_of, shape_of

MOST = 1 << 48
"""Greatest size or stride of an array: no address has more bits."""

Range = tuple[int, int]
Conditions = Sequence[tuple[SSAValue, bool]]


def type_range(type: Attribute) -> Range:
    """The range of an integer or index type, or of the elements of a vector of one."""
    return integer_range(scalar_of(type))


def has_integers(type: Attribute) -> bool:
    """Whether values of a type, or the lanes of a vector type, are integers."""
    return isinstance(type.element_type if isinstance(type, VectorType) else type, IntegerType | IndexType)


def _products(a: Range, b: Range) -> Range:
    found = [x * y for x in a for y in b]
    return min(found), max(found)


class Ranges:
    """Intervals of the integer values of a kernel, as wide as their types where nothing is known.

    Args:
        limits: intervals that conditions impose on values.
        assumed: hypothetical intervals of carried values, which an iteration is to be shown to preserve.
    """

    def __init__(self, limits: Mapping[SSAValue, Range] | None = None, assumed: Mapping[SSAValue, Range] | None = None) -> None:
        self._limits, self._assumed = limits or {}, assumed or {}
        self._known: dict[SSAValue, Range] = dict(self._assumed)

    def of(self, value: SSAValue) -> Range:
        """The least and the greatest value, also of the lanes of a vector."""
        found = self._known.get(value)
        if found is None:
            self._known[value] = type_range(value.type)  # for cyclic dependences
            found = self._computed(value)
            if (limit := self._limits.get(value)) is not None:
                low, high = max(found[0], limit[0]), min(found[1], limit[1])
                found = (low, high) if low <= high else found  # else the condition never holds
            self._known[value] = found
        return found

    def under(self, conditions: Conditions) -> Ranges:
        """The intervals where conditions hold."""
        limits: dict[SSAValue, Range] = {}
        for condition, is_true in conditions:
            self._limit(condition, is_true, limits)
        return Ranges(limits) if limits else self

    def _limit(self, condition: SSAValue, is_true: bool, limits: dict[SSAValue, Range]) -> None:
        op: Any = condition.owner
        if isinstance(op, Block):
            return
        if op.name == ("arith.andi" if is_true else "arith.ori"):
            for operand in op.operands:
                self._limit(operand, is_true, limits)
        if op.name != "arith.cmpi":
            return
        predicate = op.predicate.value.data
        a, b = op.operands
        (a0, a1), (b0, b1) = self.of(a), self.of(b)
        if predicate in (6, 7) and is_true and b0 >= 0:  # unsigned
            _narrow(limits, a, (0, b1 - (predicate == 6)))
        predicate = predicate if is_true or predicate >= 6 else NEGATED[predicate]
        by = predicate in (2, 4)
        if predicate in (2, 3):
            _narrow(limits, a, (a0, b1 - by))
            _narrow(limits, b, (a0 + by, b1))
        elif predicate in (4, 5):
            _narrow(limits, a, (b0 + by, a1))
            _narrow(limits, b, (b0, a1 - by))
        elif predicate == 0:
            _narrow(limits, a, (b0, b1))
            _narrow(limits, b, (a0, a1))

    def exact(self, op: Operation) -> Range | None:
        """The exact interval of an arithmetic op; None if it may exceed the type and wrap around."""
        rule = _ARITHMETIC.get(op.name)
        if rule is None:
            return None
        low, high = rule(*[self.of(operand) for operand in op.operands])
        least, most = type_range(op.results[0].type)
        return (low, high) if least <= low and high <= most else None

    def _computed(self, value: SSAValue) -> Range:
        if isinstance(value, BlockArgument):
            return self._argument(value)
        op: Any = value.owner
        if isinstance(op, ForOp | IfOp):
            return self._result(op, op.results.index(value))
        if op.name == "arith.constant":
            return _constant_range(op.value) or type_range(value.type)
        if op.name == "vector.step":
            return 0, shape_of(value)[0] - 1
        if op.name == "arith.extui" and self.of(op.operands[0])[0] >= 0:
            return self.of(op.operands[0])
        if op.name in SAME:
            low, high = self.of(op.operands[0])
            least, most = type_range(value.type)
            return (low, high) if least <= low and high <= most else (least, most)
        if op.name == "arith.select":
            (a, b), (c, d) = self.of(op.operands[1]), self.of(op.operands[2])
            return min(a, c), max(b, d)
        return self.exact(op) or type_range(value.type)

    def _argument(self, value: BlockArgument) -> Range:
        parent = value.block.parent_op()
        if isinstance(parent, KernelOp) and isinstance(value.type, IndexType):
            return 0, MOST
        if not isinstance(parent, ForOp):
            return type_range(value.type)
        if value.index != 0:
            return self._carried(parent, value.index - 1)
        low = max(self.affine(e, parent.lower_operands)[0] for e in parent.lower.data.results)
        high = min(self.affine(e, parent.upper_operands)[1] for e in parent.upper.data.results)
        least, most = type_range(value.type)
        if low < least or high + parent.step.value.data > most:
            return least, most
        return int(low), int(max(low, high - 1))

    def _result(self, op: ForOp | IfOp, k: int) -> Range:
        """A result of a loop or a conditional: its last carried value, one of the contributions, or one of two values."""
        if isinstance(op, IfOp):
            yielded = [region.blocks[0].last_op for region in op.regions if region.blocks]
            if len(yielded) < 2 or any(last is None or len(last.operands) <= k for last in yielded):
                return type_range(op.results[k].type)
            return _hull(*[self.of(last.operands[k]) for last in yielded if last is not None])
        if op.monoid is None:
            return self._carried(op, k)
        if op.monoid.data not in ("max", "min", "argmax", "argmin"):
            return type_range(op.results[k].type)
        return _hull(self.of(op.inits[k]), self.of(op.yielded[k]))

    def _carried(self, loop: ForOp, k: int) -> Range:
        """A carried value: an interval around its initial value that any iteration preserves, ignoring conditions."""
        argument, everything = loop.body.block.args[k + 1], type_range(loop.inits[k].type)
        found = Ranges(None, self._assumed).of(loop.inits[k])
        if not has_integers(argument.type) or len(self._assumed) >= _MOST_ASSUMED:
            return everything
        for _ in range(_MOST_ROUNDS):
            following = Ranges(None, {**self._assumed, argument: found}).of(loop.yielded[k])
            if _hull(found, following) == found:
                return found
            found = _hull(found, following)
        return everything

    def affine(self, expr: AffineExpr, dims: Sequence[SSAValue]) -> tuple[float, float]:
        """The interval of an affine expression; infinite if it may wrap around."""
        if isinstance(expr, AffineConstantExpr):
            return expr.value, expr.value
        if isinstance(expr, AffineDimExpr):
            return self.of(dims[expr.position])
        assert isinstance(expr, AffineBinaryOpExpr)
        a, b = self.affine(expr.lhs, dims), self.affine(expr.rhs, dims)
        if inf in (*a, *b) or -inf in (*a, *b):
            return -inf, inf
        x, y = (int(a[0]), int(a[1])), (int(b[0]), int(b[1]))
        if expr.kind == AffineBinaryOpKind.Add:
            found = x[0] + y[0], x[1] + y[1]
        elif expr.kind == AffineBinaryOpKind.Mul:
            found = _products(x, y)
        elif y[0] != y[1] or y[0] <= 0:
            return -inf, inf
        elif expr.kind == AffineBinaryOpKind.Mod:
            found = x if 0 <= x[0] and x[1] < y[0] else (0, y[0] - 1)
        elif expr.kind == AffineBinaryOpKind.FloorDiv:
            found = x[0] // y[0], x[1] // y[0]
        else:
            found = -(-x[0] // y[0]), -(-x[1] // y[0])
        return found if max(map(abs, found)) < 1 << 62 else (-inf, inf)


_MOST_ASSUMED = 5
_MOST_ROUNDS = 3


def _hull(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def _narrow(limits: dict[SSAValue, Range], value: SSAValue, by: Range) -> None:
    """Add an interval to the limits of a value, and of the number that it is cast from."""
    low, high = limits.get(value, by)
    limits[value] = max(low, by[0]), min(high, by[1])
    if not isinstance(value.owner, Block) and value.owner.name in ("arith.index_cast", "arith.extsi"):
        _narrow(limits, value.owner.operands[0], by)


def _constant_range(value: Attribute) -> Range | None:
    if isinstance(value, IntegerAttr):
        numbers = [value.value.data]
    elif isinstance(value, DenseIntOrFPElementsAttr) and has_integers(value.type):
        numbers = [int(n) for n in value.get_values()]
    else:
        return None
    if type_range(value.type) == (0, 1):  # true may be stored as -1
        numbers = [abs(n) for n in numbers]
    return min(numbers), max(numbers)


def _remainder(a: Range, b: Range) -> Range:
    if b[0] != b[1] or b[0] <= 0:
        return -(1 << 63), 1 << 63
    most = b[0] - 1
    return (0 if a[0] >= 0 else -most), (min(a[1], most) if a[1] >= 0 else 0)


def _divided(round: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    def rule(a: Range, b: Range) -> Range:
        if b[0] != b[1] or b[0] <= 0:
            return -(1 << 63), 1 << 63
        return round(a[0], b[0]), round(a[1], b[0])

    return rule


def _shifted_left(a: Range, b: Range) -> Range:
    return _products(a, (1 << b[0], 1 << b[0])) if b[0] == b[1] and 0 <= b[0] < 62 else (-(1 << 63), 1 << 63)


def _shifted_right(a: Range, b: Range) -> Range:
    return (a[0] >> b[0], a[1] >> b[0]) if b[0] == b[1] and 0 <= b[0] < 63 else (-(1 << 63), 1 << 63)


def _and(a: Range, b: Range) -> Range:
    positive = [most for least, most in (a, b) if least >= 0]
    return (0, min(positive)) if positive else (-(1 << 63), 1 << 63)


_ARITHMETIC: dict[str, Callable[..., Range]] = {
    "arith.addi": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "arith.subi": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "arith.muli": _products,
    "arith.maxsi": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "arith.minsi": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "arith.remsi": _remainder,
    "arith.andi": _and,
    "arith.shli": _shifted_left,
    "arith.shrsi": _shifted_right,
    "arith.floordivsi": _divided(lambda x, y: x // y),
    "arith.divsi": _divided(lambda x, y: x // y if x >= 0 else -(-x // y)),
}
SAME = ("arith.index_cast", "arith.extsi", "arith.trunci", "vector.broadcast")
"""Ops whose result equals their operand wherever that fits."""
NEGATED = {0: 1, 1: 0, 2: 5, 3: 4, 4: 3, 5: 2}
"""The negated predicate of each predicate of `arith.cmpi`."""


def conditions_of(op: Operation) -> tuple[tuple[SSAValue, bool], ...]:
    """The conditions under which an op is reached, innermost first, with their truth values."""
    found: list[tuple[SSAValue, bool]] = []
    child: Operation | None = op
    while child is not None and not isinstance(child, KernelOp):
        block, parent = child.parent, child.parent_op()
        found += [(check.operands[0], True) for check in _checks_before(block, child)]
        if isinstance(parent, IfOp):
            found.append((parent.condition, block is parent.then.first_block))
        child = parent
    return tuple(found)


def _checks_before(block: Block | None, op: Operation) -> list[Operation]:
    """The `loop.check` ops of a block before an op: they hold there."""
    found: list[Operation] = []
    for other in () if block is None else block.ops:
        if other is op:
            break
        if other.name == "loop.check":
            found.append(other)
    return found

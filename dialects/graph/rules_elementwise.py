"""Rules of elementwise ops: identities, signs, known numbers, and work moved to where there are fewer elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ..types import (
    element_of,
    f16,
    f32,
    integer_range,
    is_bool,
    is_complex,
    is_float,
    is_stored,
    is_unsigned,
    numpy_dtype,
    part_of,
    shape_of,
    tensor,
    width_of,
)
from .base import OPS, GraphOp, ints
from .binary import BinaryOp
from .builder import GraphBuilder
from .create import ConstOp
from .rules import holds_floats, is_splat, made_by, rule, splat, ulp
from .unary import UnaryOp

UNARY = (*(name for name, op in OPS.items() if issubclass(op, UnaryOp) and "." not in name), "convert")
BINARY = (*(name for name, op in OPS.items() if issubclass(op, BinaryOp) and "." not in name), "cmp")
ELEMENTWISE = (*UNARY, *BINARY, "select")

# --------------------------------------------------------------------------------------------------------------------
# Known numbers

MAX_FOLDED = 1024
"""Largest constant that folding makes, in elements."""


@rule(ELEMENTWISE, "f(known numbers) -> the number", lambda b, x, y, i, j: b.neg(b.full_like(x, 2.0)), ulp(4))
def fold_splats(op: Any, b: GraphBuilder) -> SSAValue | None:
    if is_stored(element_of(op.results[0])):  # there are no constants of it
        return None
    known: list[np.generic] = []
    for operand in op.operands:
        number = splat(operand)
        if number is None:
            return None
        known.append(number)
    value = op.evaluate(*[np.asarray(number) for number in known])[0]
    return b.full(np.asarray(value).item(), op.results[0].type)


# --------------------------------------------------------------------------------------------------------------------
# Fewer elements


@rule(
    ELEMENTWISE,
    "f(broadcast(x), broadcast(y)) -> broadcast(f(x, y)), the same dims of the same shape; known numbers fit any",
    lambda b, x, y, i, j: b.neg(b.broadcast(b.reduce(x, kind="max", dims=(1,)), (0,), (2, 3))),
)
def elementwise_of_broadcasts(op: Any, b: GraphBuilder) -> SSAValue | None:
    like: Any = None
    for operand in op.operands:
        inner = made_by(operand, "broadcast")
        if inner is None or splat(operand) is not None:
            if inner is None:
                return None
            continue
        if like is None:
            like = inner
        elif inner.dims != like.dims or shape_of(inner.x) != shape_of(like.x):
            return None
    if like is None:
        return None
    small = [_narrowed(b, operand, like) for operand in op.operands]
    kind = tensor(element_of(op.results[0]), shape_of(like.x))
    new = b.insert(type(op).create(operands=small, result_types=[kind], properties=dict(op.properties)))
    return b.broadcast(new, ints(like.dims), shape_of(op.results[0]))


def _narrowed(b: GraphBuilder, operand: SSAValue, like: Any) -> SSAValue:
    known = splat(operand)
    if known is not None:
        return b.full(known.item(), tensor(element_of(operand), shape_of(like.x)))
    return operand.owner.operands[0]  # pyright: ignore[reportAttributeAccessIssue]


@rule(
    ELEMENTWISE,
    "f(transpose(x), transpose(y)) -> transpose(f(x, y)), the same permutation; known numbers fit any",
    lambda b, x, y, i, j: b.neg(b.transpose(x, perm=(1, 0))),
)
def elementwise_of_transposes(op: Any, b: GraphBuilder) -> SSAValue | None:
    like: Any = None
    for operand in op.operands:
        inner = made_by(operand, "transpose")
        if inner is None:
            if splat(operand) is None:
                return None
            continue
        if not operand.has_one_use() and len(op.operands) > 1:
            return None
        if like is None:
            like = inner
        elif inner.perm != like.perm:
            return None
    if like is None:
        return None
    small = [_narrowed(b, operand, like) for operand in op.operands]
    kind = tensor(element_of(op.results[0]), shape_of(like.x))
    new = b.insert(type(op).create(operands=small, result_types=[kind], properties=dict(op.properties)))
    return b.transpose(new, perm=like.perm)


# --------------------------------------------------------------------------------------------------------------------
# Signs


@rule("neg", "neg(neg(x)) -> x", lambda b, x, y, i, j: b.neg(b.neg(x)))
def neg_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "neg")
    return inner and inner.x


@rule("neg", "neg(mul(x, c)) -> mul(x, -c), c a known float", lambda b, x, y, i, j: b.neg(b.mul(x, b.full_like(x, 3.0))))
def neg_of_scaled(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "mul")
    if not inner or not holds_floats(op.x) or not op.x.has_one_use():
        return None
    for x, other in ((inner.lhs, inner.rhs), (inner.rhs, inner.lhs)):
        if (known := splat(other)) is not None:
            return b.mul(x, b.full(-known, other.type))
    return None


@rule("abs", "abs(neg(x)) -> abs(x); abs(abs(x)) -> abs(x); abs(x) -> x, of unsigned", lambda b, x, y, i, j: b.abs(b.neg(x)))
def abs_of_signed(op: Any, b: GraphBuilder) -> SSAValue | None:
    if is_unsigned(element_of(op.x)):
        return op.x
    inner = made_by(op.x, "neg") or made_by(op.x, "abs")
    return inner and b.abs(inner.x)


@rule("mul", "mul(neg(x), neg(y)) -> mul(x, y)", lambda b, x, y, i, j: b.mul(b.neg(x), b.neg(y)))
def mul_of_negs(op: Any, b: GraphBuilder) -> SSAValue | None:
    lhs, rhs = made_by(op.lhs, "neg"), made_by(op.rhs, "neg")
    return b.mul(lhs.x, rhs.x) if lhs and rhs else None


@rule("div", "div(neg(x), neg(y)) -> div(x, y), of floats", lambda b, x, y, i, j: b.div(b.neg(x), b.neg(y)))
def div_of_negs(op: Any, b: GraphBuilder) -> SSAValue | None:
    lhs, rhs = made_by(op.lhs, "neg"), made_by(op.rhs, "neg")
    return b.div(lhs.x, rhs.x) if lhs and rhs and holds_floats(op.lhs) else None


@rule("mul", "mul(neg(x), c) -> mul(x, -c), c a known float", lambda b, x, y, i, j: b.mul(b.neg(x), b.full_like(x, 3.0)))
def mul_of_neg_by_number(op: Any, b: GraphBuilder) -> SSAValue | None:
    for x, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        inner, known = made_by(x, "neg"), splat(other)
        if inner and known is not None and holds_floats(x):
            return b.mul(inner.x, b.full(-known, other.type))
    return None


@rule("mul", "mul(neg(x), y) -> neg(mul(x, y)), the negated x needed nowhere else", lambda b, x, y, i, j: b.mul(b.neg(x), y))
def mul_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    if (inner := made_by(op.lhs, "neg")) and op.lhs.has_one_use():
        return b.neg(b.mul(inner.x, op.rhs))
    if (inner := made_by(op.rhs, "neg")) and op.rhs.has_one_use():
        return b.neg(b.mul(op.lhs, inner.x))
    return None


@rule("div", "div(neg(x), y) -> neg(div(x, y)), of floats, as above", lambda b, x, y, i, j: b.div(b.neg(x), y))
def div_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    if not holds_floats(op.lhs):
        return None
    if (inner := made_by(op.lhs, "neg")) and op.lhs.has_one_use():
        return b.neg(b.div(inner.x, op.rhs))
    if (inner := made_by(op.rhs, "neg")) and op.rhs.has_one_use():
        return b.neg(b.div(op.lhs, inner.x))
    return None


@rule("add", "add(x, neg(y)) -> sub(x, y)", lambda b, x, y, i, j: b.add(x, b.neg(y)))
def add_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    if inner := made_by(op.rhs, "neg"):
        return b.sub(op.lhs, inner.x)
    inner = made_by(op.lhs, "neg")
    return b.sub(op.rhs, inner.x) if inner else None


@rule("sub", "sub(x, neg(y)) -> add(x, y)", lambda b, x, y, i, j: b.sub(x, b.neg(y)))
def sub_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.rhs, "neg")
    return b.add(op.lhs, inner.x) if inner else None


# --------------------------------------------------------------------------------------------------------------------
# Identities with a known number


@rule("mul", "mul(x, 1) -> x", lambda b, x, y, i, j: b.mul(x, b.full_like(x, 1)))
def mul_by_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if is_splat(op.rhs, 1) else op.rhs if is_splat(op.lhs, 1) else None


@rule("mul", "mul(x, -1) -> neg(x)", lambda b, x, y, i, j: b.mul(b.full_like(x, -1), x))
def mul_by_minus_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.neg(op.lhs) if is_splat(op.rhs, -1) else b.neg(op.rhs) if is_splat(op.lhs, -1) else None


@rule("mul", "mul(x, 0) -> 0, of integers", lambda b, x, y, i, j: b.mul(i, b.zeros_like(i)))
def mul_by_zero(op: Any, b: GraphBuilder) -> SSAValue | None:
    if holds_floats(op.lhs):
        return None  # inf * 0 is NaN
    return op.rhs if is_splat(op.rhs, 0) else op.lhs if is_splat(op.lhs, 0) else None


@rule("div", "div(x, 1) -> x", lambda b, x, y, i, j: b.div(x, b.full_like(x, 1)))
def div_by_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if is_splat(op.rhs, 1) else None


@rule("div", "div(x, 2**k) -> mul(x, 2**-k), of floats", lambda b, x, y, i, j: b.div(x, b.full_like(x, 4)))
def div_by_power_of_two(op: Any, b: GraphBuilder) -> SSAValue | None:
    known = splat(op.rhs)
    if known is None or not holds_floats(op.rhs):
        return None
    mantissa, exponent = np.frexp(known)  # of 0, inf and NaN the mantissa is these
    if abs(mantissa) != 0.5 or abs(int(exponent)) > 100:
        return None
    return b.mul(op.lhs, b.full_like(op.lhs, 1 / float(known)))


@rule("add", "add(x, -0) -> x; of integers add(x, 0) -> x", lambda b, x, y, i, j: b.add(i, b.zeros_like(i)))
def add_of_zero(op: Any, b: GraphBuilder) -> SSAValue | None:
    zero = -0.0 if holds_floats(op.lhs) else 0
    return op.lhs if is_splat(op.rhs, zero) else op.rhs if is_splat(op.lhs, zero) else None


@rule("sub", "sub(x, 0) -> x", lambda b, x, y, i, j: b.sub(x, b.full_like(x, 0)))
def sub_of_zero(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if is_splat(op.rhs, 0) else None


@rule("sub", "sub(-0, x) -> neg(x); of integers sub(0, x) -> neg(x)", lambda b, x, y, i, j: b.sub(b.full_like(x, -0.0), x))
def sub_from_zero(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.neg(op.rhs) if is_splat(op.lhs, -0.0 if holds_floats(op.lhs) else 0) else None


@rule("sub", "sub(x, x) -> 0, of integers", lambda b, x, y, i, j: b.sub(i, i))
def sub_of_itself(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.zeros_like(op.lhs) if op.lhs is op.rhs and not holds_floats(op.lhs) else None


def _extreme(x: SSAValue, greatest: bool) -> float | int:
    """The least or greatest value of an element type."""
    if holds_floats(x):
        return np.inf if greatest else -np.inf
    if is_bool(element_of(x)):
        return int(greatest)
    limits = np.iinfo(numpy_dtype(element_of(x)))
    return int(limits.max if greatest else limits.min)


@rule("max", "max(x, least) -> x, the least being -inf or the minimum", lambda b, x, y, i, j: b.max(x, b.full_like(x, -np.inf)))
def max_of_least(op: Any, b: GraphBuilder) -> SSAValue | None:
    least = _extreme(op.lhs, greatest=False)
    return op.lhs if is_splat(op.rhs, least) else op.rhs if is_splat(op.lhs, least) else None


@rule(
    "min",
    "min(x, greatest) -> x, the greatest being inf or the maximum",
    lambda b, x, y, i, j: b.min(i, b.full_like(i, 2**31 - 1)),
)
def min_of_greatest(op: Any, b: GraphBuilder) -> SSAValue | None:
    greatest = _extreme(op.lhs, greatest=True)
    return op.lhs if is_splat(op.rhs, greatest) else op.rhs if is_splat(op.lhs, greatest) else None


@rule("pow", "pow(x, 1) -> x", lambda b, x, y, i, j: b.pow(x, b.full_like(x, 1)))
def pow_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if is_splat(op.rhs, 1) else None


@rule("pow", "pow(x, 0) -> 1", lambda b, x, y, i, j: b.pow(x, b.full_like(x, 0)))
def pow_zero(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.full_like(op.lhs, 1) if splat(op.rhs) == 0 else None


@rule("pow", "pow(x, 2) -> mul(x, x)", lambda b, x, y, i, j: b.pow(x, b.full_like(x, 2)), ulp(1))
def pow_two(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.mul(op.lhs, op.lhs) if is_splat(op.rhs, 2) else None


@rule("pow", "pow(x, 3) -> mul(x, mul(x, x))", lambda b, x, y, i, j: b.pow(x, b.full_like(x, 3)), ulp(2))
def pow_three(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.mul(op.lhs, b.mul(op.lhs, op.lhs)) if is_splat(op.rhs, 3) else None


@rule("pow", "pow(x, -1) -> div(1, x)", lambda b, x, y, i, j: b.pow(x, b.full_like(x, -1)), ulp(1))
def pow_minus_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.div(b.full_like(op.lhs, 1), op.lhs) if is_splat(op.rhs, -1) else None


# --------------------------------------------------------------------------------------------------------------------
# Bits, choices, conversions


@rule(("max", "min", "and", "or"), "f(x, x) -> x, f one of max, min, and, or", lambda b, x, y, i, j: b.max(x, x))
def choice_of_itself(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if op.lhs is op.rhs else None


def _ones(x: SSAValue) -> int:
    """The number with all bits set."""
    low, high = integer_range(element_of(x))
    return -1 if low < 0 else high


def _other_than(op: Any, number: int) -> SSAValue | None:
    """The other operand where one is a known number, or None where neither is that number."""
    return op.lhs if is_splat(op.rhs, number) else op.rhs if is_splat(op.lhs, number) else None


@rule("and", "and(x, all ones) -> x", lambda b, x, y, i, j: b.and_(i, b.full_like(i, -1)))
def and_of_ones(op: Any, b: GraphBuilder) -> SSAValue | None:
    return _other_than(op, _ones(op.lhs))


@rule("and", "and(x, 0) -> 0", lambda b, x, y, i, j: b.and_(i, b.zeros_like(i)))
def and_of_zero(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.zeros_like(op.lhs) if _other_than(op, 0) else None


@rule(("or", "xor"), "f(x, 0) -> x, f one of or, xor", lambda b, x, y, i, j: b.or_(b.zeros_like(i), i))
def or_of_zero(op: Any, b: GraphBuilder) -> SSAValue | None:
    return _other_than(op, 0)


@rule("or", "or(x, all ones) -> all ones", lambda b, x, y, i, j: b.or_(i, b.full_like(i, -1)))
def or_of_ones(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.full_like(op.lhs, _ones(op.lhs)) if _other_than(op, _ones(op.lhs)) else None


@rule("xor", "xor(x, all ones) -> not(x)", lambda b, x, y, i, j: b.xor(i, b.full_like(i, -1)))
def xor_of_ones(op: Any, b: GraphBuilder) -> SSAValue | None:
    x = _other_than(op, _ones(op.lhs))
    return b.not_(x) if x else None


@rule("xor", "xor(x, x) -> 0", lambda b, x, y, i, j: b.xor(i, i))
def xor_of_itself(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.zeros_like(op.lhs) if op.lhs is op.rhs else None


@rule("cmp", "cmp(x, x) -> true or false, of integers", lambda b, x, y, i, j: b.cmp(i, i, predicate="le"))
def cmp_of_itself(op: Any, b: GraphBuilder) -> SSAValue | None:
    if op.lhs is not op.rhs or holds_floats(op.lhs):
        return None  # NaN is not equal to itself
    return b.full(op.predicate.data in ("eq", "le", "ge"), op.y.type)


@rule("not", "not(not(x)) -> x", lambda b, x, y, i, j: b.not_(b.not_(i)))
def not_of_not(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "not")
    return inner and inner.x


@rule("not", "not(cmp eq) -> cmp ne; not(cmp ne) -> cmp eq", lambda b, x, y, i, j: b.not_(b.cmp(x, y, predicate="eq")))
def not_of_equality(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "cmp")
    opposite = {"eq": "ne", "ne": "eq"}.get(inner.predicate.data) if inner else None  # not(x < y) is not x >= y: NaN
    return b.cmp(inner.lhs, inner.rhs, predicate=opposite) if opposite else None


@rule("select", "select(c, x, x) -> x", lambda b, x, y, i, j: b.select(b.cmp(x, y, predicate="lt"), x, x))
def select_of_same(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.on_true if op.on_true is op.on_false else None


@rule(
    "select",
    "select(true, x, y) -> x; select(false, x, y) -> y",
    lambda b, x, y, i, j: b.select(b.broadcast(b.const(True), (), (2, 3)), x, y),
)
def select_of_known(op: Any, b: GraphBuilder) -> SSAValue | None:
    known = splat(op.condition)
    return None if known is None else op.on_true if known else op.on_false


@rule(
    "select",
    "select(c, true, false) -> c; select(c, false, true) -> not(c)",
    lambda b, x, y, i, j: b.select(c := b.cmp(x, y, predicate="lt"), b.full_like(c, False), b.full_like(c, True)),
)
def select_of_truths(op: Any, b: GraphBuilder) -> SSAValue | None:
    if not is_bool(element_of(op.on_true)):
        return None
    if is_splat(op.on_true, 1) and is_splat(op.on_false, 0):
        return op.condition
    return b.not_(op.condition) if is_splat(op.on_true, 0) and is_splat(op.on_false, 1) else None


@rule(
    "select",
    "select(not(c), x, y) -> select(c, y, x)",
    lambda b, x, y, i, j: b.select(b.not_(b.cmp(x, y, predicate="lt")), x, y),
)
def select_of_not(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.condition, "not")
    return inner and b.select(inner.x, op.on_false, op.on_true)


def _same_conversion(b: GraphBuilder, x: SSAValue) -> SSAValue:
    op: Any = b.convert(x, element_of(b.const(np.float64(0)))).owner
    return b.insert(type(op).create(operands=[op.results[0]], result_types=[op.results[0].type]))


@rule("convert", "convert(x) -> x, to its own type", lambda b, x, y, i, j: _same_conversion(b, x))
def convert_to_same(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if op.x.type == op.y.type else None


@rule(
    "convert",
    "convert(convert(x)) -> x, to a type that holds all its values and back",
    lambda b, x, y, i, j: b.convert(b.convert(x, element_of(b.const(np.float64(0)))), element_of(x)),
)
def convert_and_back(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "convert")
    if not inner or inner.x.type != op.y.type or not _holds_all(element_of(inner.x), element_of(op.x)):
        return None
    return inner.x


_MOVED_OPERANDS = {
    **dict.fromkeys(("reshape", "transpose", "broadcast", "slice", "reverse", "gather"), slice(1)),
    "pad": slice(2),
    "concat": slice(None),
}
"""The operands whose elements a moving op moves to its result; a gather's other operands are indices."""


def _moved(value: SSAValue) -> tuple[SSAValue, ...]:
    """The operands whose elements the op of a value moves, if the op only moves them and nothing else reads the value."""
    owner: Any = value.owner
    if not isinstance(owner, GraphOp) or not value.has_one_use():
        return ()
    return owner.operands[_MOVED_OPERANDS.get(owner.name.removeprefix("graph."), slice(0))]


def _stem_from(values: Sequence[SSAValue], element: Any) -> bool:
    """Whether all values are conversions from an element type, possibly moved, or known numbers."""
    rest = list(values)
    while rest:
        value = rest.pop()
        inner, moved = made_by(value, "convert"), _moved(value)
        if element_of(inner.x) != element if inner else not moved and splat(value) is None:
            return False
        rest += moved
    return True


@rule(
    "convert",
    "convert(move(x, ...)) -> move(convert(x), ...), to a type that is stored and that x, ... come from",
    lambda b, x, y, i, j: b.convert(b.convert(b.reverse(b.convert(b.convert(x, f16), f32), dims=(0,)), f16), f32),
)
def convert_of_moved(op: Any, b: GraphBuilder) -> SSAValue | None:
    target, moved = element_of(op.y), _moved(op.x)
    if not is_stored(target) or not moved or not _holds_all(target, element_of(op.x)):
        return None
    if splat(op.x) is not None or not _stem_from(moved, target):
        return None
    mover: Any = op.x.owner
    operands = (*(b.convert(x, target) for x in moved), *mover.operands[len(moved) :])
    return b.insert(type(mover).create(operands=operands, result_types=[op.y.type], properties=dict(mover.properties)))


def _holds_all(narrow: Any, wide: Any) -> bool:
    """Whether every value of one element type is a value of the other; of a storage-only type only i1 counts."""
    if is_bool(narrow) or is_bool(wide) or is_stored(wide):
        return is_bool(narrow)
    if is_complex(narrow) or is_complex(wide):
        return is_complex(wide) and _holds_all(part_of(narrow), part_of(wide))
    given, held = numpy_dtype(narrow), numpy_dtype(wide)
    if is_float(narrow):
        return is_float(wide) and given.itemsize <= held.itemsize
    if is_float(wide):
        return width_of(narrow) <= np.finfo(held).nmant
    (low, high), (least, most) = integer_range(narrow), integer_range(wide)
    return least <= low and high <= most


FOLDED_ALIKE = ("reshape", "transpose", "slice", "reverse", "concat", "pad", "reduce", "dot", *ELEMENTWISE)


@rule(
    FOLDED_ALIKE,
    "f(constants) -> constant, of at most 1024 elements",
    lambda b, x, y, i, j: b.reshape(b.const(np.arange(6, dtype=np.float32).reshape(2, 3)), (6,)),
    ulp(4),
)
def fold_constants(op: Any, b: GraphBuilder) -> SSAValue | None:
    if is_stored(element_of(op.results[0])):
        return None
    for operand in op.operands:
        if type(operand.owner) is not ConstOp:
            return None
    if any(math.prod(shape_of(value)) > MAX_FOLDED for value in (*op.operands, *op.results)):
        return None
    assert isinstance(op, GraphOp)
    arrays = op.evaluate(*[operand.owner.evaluate()[0] for operand in op.operands])  # pyright: ignore[reportAttributeAccessIssue]
    return b.const(arrays[0])

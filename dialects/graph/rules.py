"""Rewrite rules as data: an equation, the op at its root, a function that applies it, how exact it is, and an example.

From one declaration come the canonicalization pattern of the op, the sweep of `graph-simplify`, the property test (before == after
on the example, with random and edge inputs) and the line in docs/rules.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from .base import GraphOp, ints
from .builder import GraphBuilder, dense_array
from .contract import free_dims
from .create import ConstOp

EXACT = "exact"
"""Every result bit-identical, NaN payloads aside."""


@dataclass(frozen=True)
class Rule:
    """One rewrite: `apply(op, b)` returns the value to use instead of the op's result, or None where it does not fire."""

    root: str
    equation: str
    apply: Callable[[Any, GraphBuilder], SSAValue | None]
    example: str
    numerics: str = EXACT

    @property
    def name(self) -> str:
        return self.apply.__name__


RULES: list[Rule] = []


def rule(root: str, equation: str, example: str, numerics: str = EXACT):
    """Declare a rule on ops `graph.<root>`; the example is the body of a function of %x, %y on which it fires."""

    def declare(apply: Callable[[Any, GraphBuilder], SSAValue | None]) -> Callable[[Any, GraphBuilder], SSAValue | None]:
        RULES.append(Rule(root, equation, apply, example, numerics))
        return apply

    return declare


# --------------------------------------------------------------------------------------------------------------------
# Readers


def made_by(value: SSAValue, name: str) -> Any:
    """The op that computes a value if it is `graph.<name>`, else None."""
    owner = value.owner
    return owner if isinstance(owner, Operation) and owner.name == f"graph.{name}" else None


def splat(value: SSAValue) -> np.generic | None:
    """The one number that all elements of a value are known to be, or None."""
    while (op := made_by(value, "broadcast") or made_by(value, "reshape")) is not None:
        value = op.operands[0]
    const = value.owner
    if not isinstance(const, ConstOp):
        return None
    array = dense_array(const.value).reshape(-1)
    if array.size == 1 or (1 < array.size <= 64 and (array.view(np.uint8).reshape(array.size, -1) == array[:1].view(np.uint8)).all()):
        return array[0]
    return None


def is_splat(value: SSAValue, number: float | int | bool) -> bool:
    """Whether all elements are a number; 0.0 and -0.0 are told apart."""
    known = splat(value)
    return known is not None and known == number and np.signbit(known) == np.signbit(np.asarray(number, known.dtype))


def shape(value: SSAValue) -> tuple[int, ...]:
    return value.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]


def _is_float(value: SSAValue) -> bool:
    from ..types import is_float

    return is_float(value.type.element_type)  # pyright: ignore[reportAttributeAccessIssue]


# --------------------------------------------------------------------------------------------------------------------
# Elementwise


@rule("neg", "neg(neg(x)) -> x", "%1 = graph.neg %x : T\n%2 = graph.neg %1 : T")
def neg_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "neg")
    return inner and inner.x


@rule("not", "not(not(x)) -> x", "%1 = graph.not %x : I\n%2 = graph.not %1 : I")
def not_of_not(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "not")
    return inner and inner.x


@rule("mul", "mul(x, 1) -> x", "%1 = graph.const dense<1.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.mul %x, %2 : T")
def mul_by_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if is_splat(op.rhs, 1) else op.rhs if is_splat(op.lhs, 1) else None


@rule("mul", "mul(x, -1) -> neg(x)", "%1 = graph.const dense<-1.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.mul %x, %2 : T")
def mul_by_minus_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.neg(op.lhs) if is_splat(op.rhs, -1) else b.neg(op.rhs) if is_splat(op.lhs, -1) else None


@rule("mul", "mul(neg(x), neg(y)) -> mul(x, y)", "%1 = graph.neg %x : T\n%2 = graph.neg %y : T\n%3 = graph.mul %1, %2 : T")
def mul_of_negs(op: Any, b: GraphBuilder) -> SSAValue | None:
    lhs, rhs = made_by(op.lhs, "neg"), made_by(op.rhs, "neg")
    return b.mul(lhs.x, rhs.x) if lhs and rhs else None


@rule("div", "div(x, 1) -> x", "%1 = graph.const dense<1.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.div %x, %2 : T")
def div_by_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if is_splat(op.rhs, 1) else None


@rule(
    "div", "div(x, 2**k) -> mul(x, 2**-k)", "%1 = graph.const dense<4.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.div %x, %2 : T"
)
def div_by_power_of_two(op: Any, b: GraphBuilder) -> SSAValue | None:
    known = splat(op.rhs)
    if known is None or not _is_float(op.rhs) or not np.isfinite(known) or known == 0:
        return None
    mantissa, exponent = np.frexp(known)
    if abs(mantissa) != 0.5 or abs(int(exponent)) > 100:
        return None
    return b.mul(op.lhs, b.full_like(op.lhs, float(1 / known)))


@rule("add", "add(x, neg(y)) -> sub(x, y)", "%1 = graph.neg %y : T\n%2 = graph.add %x, %1 : T")
def add_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    if inner := made_by(op.rhs, "neg"):
        return b.sub(op.lhs, inner.x)
    inner = made_by(op.lhs, "neg")
    return b.sub(op.rhs, inner.x) if inner else None


@rule("sub", "sub(x, neg(y)) -> add(x, y)", "%1 = graph.neg %y : T\n%2 = graph.sub %x, %1 : T")
def sub_of_neg(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.rhs, "neg")
    return b.add(op.lhs, inner.x) if inner else None


@rule("add", "add(x, -0) -> x; of integers add(x, 0) -> x", "%1 = graph.const dense<0> : SI\n%2 = graph.broadcast %1 to [] : SI -> I\n%3 = graph.add %x, %2 : I")
def add_of_zero(op: Any, b: GraphBuilder) -> SSAValue | None:
    zero = -0.0 if _is_float(op.lhs) else 0
    return op.lhs if is_splat(op.rhs, zero) else op.rhs if is_splat(op.lhs, zero) else None


@rule("sub", "sub(x, 0) -> x", "%1 = graph.const dense<0.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.sub %x, %2 : T")
def sub_of_zero(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if is_splat(op.rhs, 0) else None


@rule("sub", "sub(x, x) -> 0, of integers", "%1 = graph.sub %x, %x : I")
def sub_of_itself(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.zeros_like(op.lhs) if op.lhs is op.rhs and not _is_float(op.lhs) else None


@rule("pow", "pow(x, 1) -> x", "%1 = graph.const dense<1.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.pow %x, %2 : T")
def pow_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if is_splat(op.rhs, 1) else None


@rule(
    "pow", "pow(x, 2) -> mul(x, x)", "%1 = graph.const dense<2.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.pow %x, %2 : T", "ulp(1)"
)
def pow_two(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.mul(op.lhs, op.lhs) if is_splat(op.rhs, 2) else None


@rule(
    "pow", "pow(x, 3) -> mul(x, mul(x, x))", "%1 = graph.const dense<3.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.pow %x, %2 : T", "ulp(2)"
)
def pow_three(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.mul(op.lhs, b.mul(op.lhs, op.lhs)) if is_splat(op.rhs, 3) else None


@rule(
    "pow", "pow(x, -1) -> div(1, x)", "%1 = graph.const dense<-1.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.pow %x, %2 : T", "ulp(1)"
)
def pow_minus_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return b.div(b.full_like(op.lhs, 1), op.lhs) if is_splat(op.rhs, -1) else None


@rule("max", "max(x, x) -> x", "%1 = graph.max %x, %x : T")
def max_of_itself(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if op.lhs is op.rhs else None


@rule("min", "min(x, x) -> x", "%1 = graph.min %x, %x : T")
def min_of_itself(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if op.lhs is op.rhs else None


@rule("and", "and(x, x) -> x", "%1 = graph.and %x, %x : I")
def and_of_itself(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if op.lhs is op.rhs else None


@rule("or", "or(x, x) -> x", "%1 = graph.or %x, %x : I")
def or_of_itself(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.lhs if op.lhs is op.rhs else None


@rule("select", "select(c, x, x) -> x", "%1 = graph.cmp lt %x, %y : T\n%2 = graph.select %1, %x, %x : (B, T, T) -> T")
def select_of_same(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.on_true if op.on_true is op.on_false else None


@rule(
    "select",
    "select(true, x, y) -> x; select(false, x, y) -> y",
    "%1 = graph.const dense<true> : SB\n%2 = graph.broadcast %1 to [] : SB -> B\n%3 = graph.select %2, %x, %y : (B, T, T) -> T",
)
def select_of_constant(op: Any, b: GraphBuilder) -> SSAValue | None:
    known = splat(op.condition)
    return None if known is None else op.on_true if known else op.on_false


@rule("convert", "convert(x) -> x, to its own type", "%1 = graph.convert %x : T -> T")
def convert_to_same(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if op.x.type == op.y.type else None


# --------------------------------------------------------------------------------------------------------------------
# Shape


@rule("reshape", "reshape(x) -> x, to its own shape", "%1 = graph.reshape %x : T -> T")
def reshape_to_same(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if op.x.type == op.y.type else None


@rule("reshape", "reshape(reshape(x)) -> reshape(x)", "%1 = graph.reshape %x : T -> tensor<6xf32>\n%2 = graph.reshape %1 : tensor<6xf32> -> tensor<3x2xf32>")
def reshape_of_reshape(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "reshape")
    return b.reshape(inner.x, shape(op.y)) if inner else None


@rule("reshape", "reshape(broadcast(scalar)) -> broadcast(scalar)", "%1 = graph.const dense<2.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.reshape %2 : T -> tensor<6xf32>")
def reshape_of_splat(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "broadcast")
    return b.broadcast(inner.x, (), shape(op.y)) if inner and not shape(inner.x) else None


@rule("transpose", "transpose(x) by the identity -> x", "%1 = graph.transpose %x perm [0, 1] : T -> T")
def transpose_of_nothing(op: Any, b: GraphBuilder) -> SSAValue | None:
    perm = ints(op.perm)
    return op.x if perm == tuple(range(len(perm))) else None


@rule("transpose", "transpose(transpose(x, p), q) -> transpose(x, p[q])", "%1 = graph.transpose %x perm [1, 0] : T -> tensor<3x2xf32>\n%2 = graph.transpose %1 perm [1, 0] : tensor<3x2xf32> -> T")
def transpose_of_transpose(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "transpose")
    if not inner:
        return None
    first = ints(inner.perm)
    return b.transpose(inner.x, perm=tuple(first[q] for q in ints(op.perm)))


@rule("transpose", "transpose(broadcast(scalar)) -> broadcast(scalar)", "%1 = graph.const dense<2.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n%3 = graph.transpose %2 perm [1, 0] : T -> tensor<3x2xf32>")
def transpose_of_splat(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "broadcast")
    return b.broadcast(inner.x, (), shape(op.y)) if inner and not shape(inner.x) else None


@rule("broadcast", "broadcast(x) -> x, to its own shape", "%1 = graph.broadcast %x to [0, 1] : T -> T")
def broadcast_to_same(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if op.x.type == op.y.type else None


@rule("broadcast", "broadcast(broadcast(x, p), q) -> broadcast(x, q[p])", "%0 = graph.reduce add %x over [1] : T -> tensor<2xf32>\n%1 = graph.broadcast %0 to [0] : tensor<2xf32> -> T\n%2 = graph.broadcast %1 to [0, 2] : T -> tensor<2x4x3xf32>")
def broadcast_of_broadcast(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "broadcast")
    if not inner:
        return None
    outer = ints(op.dims)
    return b.broadcast(inner.x, tuple(outer[d] for d in ints(inner.dims)), shape(op.y))


@rule("broadcast", "broadcast(reshape(x)) -> broadcast(x), the reshape adding dims of size 1", "%0 = graph.reduce add %x over [1] : T -> tensor<2xf32>\n%1 = graph.reshape %0 : tensor<2xf32> -> tensor<2x1xf32>\n%2 = graph.broadcast %1 to [0, 1] : tensor<2x1xf32> -> T")
def broadcast_of_unit_dims(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "reshape")
    if not inner:
        return None
    kept = [d for d, n in enumerate(shape(op.x)) if n != 1]
    if tuple(shape(op.x)[d] for d in kept) != tuple(shape(inner.x)):
        return None
    dims = ints(op.dims)
    return b.broadcast(inner.x, tuple(dims[d] for d in kept), shape(op.y))


@rule("slice", "slice(x) of everything -> x", "%1 = graph.slice %x start [0, 0] stop [2, 3] step [1, 1] : T -> T")
def slice_of_all(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if op.x.type == op.y.type else None


@rule("slice", "slice(slice(x)) -> slice(x)", "%1 = graph.slice %x start [0, 1] stop [2, 3] step [1, 1] : T -> tensor<2x2xf32>\n%2 = graph.slice %1 start [1, 0] stop [2, 2] step [1, 1] : tensor<2x2xf32> -> tensor<1x2xf32>")
def slice_of_slice(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "slice")
    if not inner or 0 in shape(op.y):
        return None
    start, stop, step = [], [], []
    for a, s, c, e, d in zip(ints(inner.start), ints(inner.step), ints(op.start), shape(op.y), ints(op.step), strict=True):
        start.append(a + s * c)
        step.append(s * d)
        stop.append(start[-1] + (e - 1) * step[-1] + 1)
    return b.slice(inner.x, start=start, stop=stop, step=step)


@rule("reverse", "reverse(reverse(x)) -> x, along the same dims", "%1 = graph.reverse %x dims [1] : T\n%2 = graph.reverse %1 dims [1] : T")
def reverse_of_reverse(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "reverse")
    return inner.x if inner and set(ints(inner.dims)) == set(ints(op.dims)) else None


@rule("concat", "concat(x) -> x", "%1 = graph.concat %x along 0 : T -> T")
def concat_of_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.operands[0] if len(op.operands) == 1 else None


@rule("pad", "pad(x) by nothing -> x", "%1 = graph.const dense<0.0> : S\n%2 = graph.pad %x, %1 low [0, 0] high [0, 0] interior [0, 0] : (T, S) -> T")
def pad_of_nothing(op: Any, b: GraphBuilder) -> SSAValue | None:
    unpadded = not any((*ints(op.low), *ints(op.high), *ints(op.interior)))
    return op.x if unpadded else None


# --------------------------------------------------------------------------------------------------------------------
# Reduce, dot


@rule("reduce", "reduce(x) over no dims -> x", "%1 = graph.reduce add %x over [] : T -> T")
def reduce_over_nothing(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if not ints(op.dims) else None


@rule("reduce", "reduce(x) over dims of size 1 -> reshape(x)", "%0 = graph.reshape %x : T -> tensor<2x1x3xf32>\n%1 = graph.reduce max %0 over [1] : tensor<2x1x3xf32> -> T")
def reduce_of_unit_dims(op: Any, b: GraphBuilder) -> SSAValue | None:
    dims = ints(op.dims)
    return b.reshape(op.x, shape(op.y)) if dims and all(shape(op.x)[d] == 1 for d in dims) else None


@rule("dot", "dot(transpose(x), y) -> dot(x, y), other dims", "%1 = graph.transpose %x perm [1, 0] : T -> tensor<3x2xf32>\n%2 = graph.dot %1, %y contract [1] with [0] : (tensor<3x2xf32>, T) -> tensor<3x3xf32>")
def dot_of_transpose(op: Any, b: GraphBuilder) -> SSAValue | None:
    names = (("lhs_batch", "lhs_contract"), ("rhs_batch", "rhs_contract"))
    dims = {name: ints(op.properties[name]) for pair in names for name in pair}
    operands = list(op.operands)
    changed = False
    for k, (batch, contract) in enumerate(names):
        inner = made_by(operands[k], "transpose")
        if not inner:
            continue
        perm = ints(inner.perm)
        free = [perm[d] for d in free_dims(len(perm), dims[batch], dims[contract])]
        if free != sorted(free):
            continue  # the result's dims would come in another order
        operands[k] = inner.x
        for name in (batch, contract):
            dims[name] = tuple(perm[d] for d in dims[name])
        changed = True
    return b.dot(*operands, **dims) if changed else None


@rule("transpose", "transpose(dot(x, y)) -> dot(y, x), where it exchanges their free dims", "%1 = graph.dot %x, %y contract [1] with [1] : (T, T) -> tensor<2x2xf32>\n%2 = graph.transpose %1 perm [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>")
def transpose_of_dot(op: Any, b: GraphBuilder) -> SSAValue | None:
    dot = made_by(op.x, "dot")
    if not dot or len(list(dot.y.uses)) > 1:
        return None
    n_batch = len(ints(dot.lhs_batch))
    n_lhs = len(shape(dot.lhs)) - n_batch - len(ints(dot.lhs_contract))
    rank = len(shape(dot.y))
    swapped = (*range(n_batch), *range(n_batch + n_lhs, rank), *range(n_batch, n_batch + n_lhs))
    if ints(op.perm) != swapped:
        return None
    return b.dot(
        dot.rhs,
        dot.lhs,
        lhs_batch=dot.rhs_batch,
        rhs_batch=dot.lhs_batch,
        lhs_contract=dot.rhs_contract,
        rhs_contract=dot.lhs_contract,
    )


# --------------------------------------------------------------------------------------------------------------------
# Constants

_FOLDABLE = ("neg", "abs", "sign", "floor", "ceil", "rint", "add", "sub", "mul", "div", "max", "min", "and", "or", "xor", "not")
_FOLDABLE += ("cmp", "select", "convert", "exp", "log", "sqrt", "pow")


def fold_splats(op: Any, b: GraphBuilder) -> SSAValue | None:
    """An elementwise op on known numbers is a known number."""
    if not op.operands or shape(op.results[0]) != shape(op.operands[-1]):
        return None
    known = [splat(operand) for operand in op.operands]
    if any(number is None for number in known):
        return None
    value = op.evaluate(*[np.asarray(number) for number in known])[0]
    return b.full(value.reshape(()).item(), op.results[0].type)


for _name in _FOLDABLE:
    _operands = {"cmp": "lt %2, %2", "select": ""}.get(_name, "%2, %2" if _name in "add sub mul div max min pow".split() else "%2")
    if _name in ("and", "or", "xor", "not", "select", "convert"):
        continue
    _text = "%1 = graph.const dense<2.0> : S\n%2 = graph.broadcast %1 to [] : S -> T\n"
    RULES.append(
        Rule(_name, f"{_name}(constants) -> constant", fold_splats, f"{_text}%3 = graph.{_name} {_operands} : T", "ulp(2)")
    )
for _name in ("and", "or", "xor", "not", "select", "convert"):
    RULES.append(Rule(_name, f"{_name}(constants) -> constant", fold_splats, "", EXACT))


# --------------------------------------------------------------------------------------------------------------------
# What is made of the rules


def rules_by_root() -> dict[str, list[Rule]]:
    """The rules of each op, in the order in which they are tried."""
    found: dict[str, list[Rule]] = {}
    for entry in RULES:
        found.setdefault(f"graph.{entry.root}", []).append(entry)
    return found


def apply_rules(op: GraphOp, rules: Sequence[Rule]) -> SSAValue | None:
    """The first replacement that a rule has for an op; new ops are inserted before it."""
    b = GraphBuilder(InsertPoint.before(op), op.location)
    for entry in rules:
        value = entry.apply(op, b)
        if value is not None and value.type == op.results[0].type:
            return value
    return None


class RulePattern(RewritePattern):
    """The rules of one op as a pattern for xDSL's drivers."""

    def __init__(self, root: str, rules: Sequence[Rule]):
        self.root, self.rules = root, rules

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if op.name == self.root and isinstance(op, GraphOp):
            value = apply_rules(op, self.rules)
            if value is not None:
                rewriter.replace(op, (), (value,))


def canonicalization_patterns(name: str) -> tuple[RewritePattern, ...]:
    """The patterns of an op, for its `get_canonicalization_patterns`."""
    rules = rules_by_root().get(name)
    return (RulePattern(name, rules),) if rules else ()

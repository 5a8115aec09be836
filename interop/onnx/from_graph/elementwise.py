"""Ops on elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .writer import RULES, NoForm, Rule, Writer, dtype_of, rule, word_of

RENAMED = {
    "sign": "Sign", "abs": "Abs",
    "floor": "Floor", "ceil": "Ceil", "rint": "Round", "exp": "Exp", "log": "Log", "sqrt": "Sqrt",
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "tanh": "Tanh", "erf": "Erf", "atan": "Atan", "expm1_slope": "Exp",
    "add": "Add", "sub": "Sub", "mul": "Mul", "relu": "Relu", "sigmoid": "Sigmoid", "select": "Where",
    "stop_gradient": "Identity",
}  # fmt: skip
"""Ops that have another name alone."""

_MASK = 0xFFFFFFFF
FLOATS = ("float16", "bfloat16", "float32", "float64")
LOGICAL = {"and": "And", "or": "Or", "xor": "Xor", "max": "Or", "min": "And"}


def is_bool(x: Any) -> bool:
    """Whether elements are booleans."""
    return dtype_of(x).kind == "b"


def is_float(x: Any) -> bool:
    """Whether elements are floats."""
    return dtype_of(x).name in FLOATS


def _renamed(kind: str) -> Rule:
    return lambda w, op, *xs: w.one(kind, *xs)


RULES.update({name: _renamed(kind) for name, kind in RENAMED.items()})


@rule("neg")
def neg(w: Writer, op: Any, x: str) -> str:
    if dtype_of(op.operands[0]).kind == "u":
        return w.one("Sub", w.scalar(0, op.operands[0]), x)
    return w.one("Neg", x)


@rule("not")
def not_(w: Writer, op: Any, x: str) -> str:
    return w.one("Not" if is_bool(op.operands[0]) else "BitwiseNot", x)


@rule("and", "or", "xor")
def bits(w: Writer, op: Any, x: str, y: str) -> str:
    kind = LOGICAL[op.name[6:]]
    return w.one(kind if is_bool(op.operands[0]) else f"Bitwise{kind}", x, y)


@rule("max", "min")
def extremes(w: Writer, op: Any, x: str, y: str) -> str:
    name = op.name[6:]
    return w.one(LOGICAL[name] if is_bool(op.operands[0]) else name.capitalize(), x, y)


@rule("cmp")
def cmp(w: Writer, op: Any, x: str, y: str) -> str:
    word = word_of(op, "predicate")
    if is_bool(op.operands[0]) and word not in ("eq", "ne"):
        x, y = w.cast(x, np.int32), w.cast(y, np.int32)
    kind = {"eq": "Equal", "ne": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}[word]
    found = w.one(kind, x, y)
    return w.one("Not", found) if word == "ne" else found


@rule("convert")
def convert(w: Writer, op: Any, x: str) -> str:
    return w.cast(x, dtype_of(op.results[0]))


@rule("rsqrt")
def rsqrt(w: Writer, op: Any, x: str) -> str:
    return w.one("Reciprocal", w.one("Sqrt", x))


@rule("expm1")
def expm1(w: Writer, op: Any, x: str) -> str:
    """`tanh(x / 2) * (exp(x) + 1)`, which does not cancel."""
    v = op.operands[0]
    half = w.one("Tanh", w.one("Mul", x, w.scalar(0.5, v)))
    return w.one("Mul", half, w.one("Add", w.one("Exp", x), w.scalar(1, v)))


@rule("log1p")
def log1p(w: Writer, op: Any, x: str) -> str:
    """`log(u) * x / (u - 1)` with `u = 1 + x` (Kahan); x where `u` is 1, and at infinity."""
    v = op.operands[0]
    one = w.scalar(1, v)
    u = w.one("Add", x, one)
    moved = w.one("Sub", u, one)
    plain = w.one("Or", w.one("Equal", u, one), w.one("Equal", x, w.scalar(np.inf, v)))
    ratio = w.one("Div", x, w.one("Where", plain, one, moved))
    return w.one("Where", plain, x, w.one("Mul", w.one("Log", u), ratio))


@rule("erfc")
def erfc(w: Writer, op: Any, x: str) -> str:
    return w.one("Sub", w.scalar(1, op.operands[0]), w.one("Erf", x))


@rule("gauss")
def gauss(w: Writer, op: Any, x: str) -> str:
    return w.one("Exp", w.one("Neg", w.one("Mul", x, x)))


@rule("sech2")
def sech2(w: Writer, op: Any, x: str) -> str:
    t = w.one("Tanh", x)
    return w.one("Sub", w.scalar(1, op.operands[0]), w.one("Mul", t, t))


@rule("gelu")
def gelu(w: Writer, op: Any, x: str) -> str:
    return w.one("Gelu", x, approximate=word_of(op, "approximate"))


@rule("pow")
def pow_(w: Writer, op: Any, x: str, y: str) -> str:
    kind = dtype_of(op.operands[0])
    if kind.name in (*FLOATS, "int32", "int64"):
        return w.one("Pow", x, y)
    if kind.name == "uint64":
        raise NoForm("of uint64 has no form in ONNX")
    return w.cast(w.one("Pow", w.cast(x, np.int64), w.cast(y, np.int64)), kind)


@rule("rem")
def rem(w: Writer, op: Any, x: str, y: str) -> str:
    """Truncated; of integers 0 where the divisor is 0, and no division of the least number by -1."""
    v = op.operands[0]
    return w.one("Mod", x, y if is_float(v) else _divisor(w, v, y), fmod=1)


def _divisor(w: Writer, v: Any, y: str) -> str:
    """1 instead of 0 and of -1."""
    odd = w.one("Equal", y, w.scalar(0, v))
    if dtype_of(v).kind == "i":
        odd = w.one("Or", odd, w.one("Equal", y, w.scalar(-1, v)))
    return w.one("Where", odd, w.scalar(1, v), y)


@rule("div")
def div(w: Writer, op: Any, x: str, y: str) -> str:
    """Of integers truncated, and 0 where the divisor is 0: exact quotients, which evaluators round alike."""
    v = op.operands[0]
    if is_float(v):
        return w.one("Div", x, y)
    safe = _divisor(w, v, y)
    found = w.one("Div", w.one("Sub", x, w.one("Mod", x, safe, fmod=1)), safe)
    if dtype_of(v).kind == "i":
        opposite = w.one("Sub", w.scalar(0, v), x)
        found = w.one("Where", w.one("Equal", y, w.scalar(-1, v)), opposite, found)
    return w.one("Where", w.one("Equal", y, w.scalar(0, v)), w.scalar(0, v), found)


@rule("shl", "shr")
def shifts(w: Writer, op: Any, x: str, y: str) -> str:
    """`BitShift` of unsigned integers; a negative number is inverted around a shift to the right."""
    v = op.operands[0]
    kind = dtype_of(v)
    width = kind.itemsize * 8
    unsigned = np.dtype(f"u{kind.itemsize}")
    is_left, signed = op.name == "graph.shl", kind.kind == "i"
    outside = w.one("GreaterOrEqual", y, w.scalar(width, v))
    if signed:
        outside = w.one("Or", outside, w.one("Less", y, w.scalar(0, v)))
    amount = w.one("Where", outside, w.scalar(0, v), y)
    amount = w.cast(amount, unsigned) if signed else amount
    direction = "LEFT" if is_left else "RIGHT"
    if not signed or is_left:
        moved = w.one("BitShift", w.cast(x, unsigned) if signed else x, amount, direction=direction)
        moved = w.cast(moved, kind) if signed else moved
        return w.one("Where", outside, w.scalar(0, v), moved)
    negative = w.one("Less", x, w.scalar(0, v))
    folded = w.one("Where", negative, w.one("BitwiseNot", x), x)
    moved = w.cast(w.one("BitShift", w.cast(folded, unsigned), amount, direction=direction), kind)
    moved = w.one("Where", outside, w.scalar(0, v), moved)
    return w.one("Where", negative, w.one("BitwiseNot", moved), moved)


@rule("atan2")
def atan2(w: Writer, op: Any, y: str, x: str) -> str:
    """The angle in the first octant, mirrored at the diagonal and the axes; signs of zeros count."""
    v = op.operands[0]
    zero, one, pi = w.scalar(0, v), w.scalar(1, v), w.scalar(np.pi, v)

    def negative(a: str) -> str:
        return w.one("Or", w.one("Less", a, zero), w.one("Less", w.one("Div", one, a), zero))

    up, across = w.one("Abs", y), w.one("Abs", x)
    low, high = w.one("Min", up, across), w.one("Max", up, across)
    infinite = w.one("Equal", low, w.scalar(np.inf, v))
    ratio = w.one("Div", low, w.one("Where", w.one("Equal", high, zero), one, high))
    angle = w.one("Atan", w.one("Where", infinite, one, ratio))
    angle = w.one("Where", w.one("Greater", up, across), w.one("Sub", w.scalar(np.pi / 2, v), angle), angle)
    angle = w.one("Where", negative(x), w.one("Sub", pi, angle), angle)
    return w.one("Where", negative(y), w.one("Neg", angle), angle)


@rule("bitcast")
def bitcast(w: Writer, op: Any, x: str) -> str:
    """Integers of one width wrap in `Cast`; the float of 32 bits is computed of its sign, exponent and fraction."""
    source, kind = dtype_of(op.operands[0]), dtype_of(op.results[0])
    if source.kind in "iu" and kind.kind in "iu" and source.itemsize == kind.itemsize:
        return w.cast(x, kind)
    if source.kind not in "iu" or source.itemsize != 4 or kind.name != "float32":
        raise NoForm(f"from {source.name} to {kind.name} has no form in ONNX")

    def number(value: int) -> str:
        return w.constant(np.int64(value))

    def double(value: float) -> str:
        return w.constant(np.float64(value))

    word = w.one("BitwiseAnd", w.cast(x, np.int64), number(_MASK))
    negative = w.one("GreaterOrEqual", word, number(1 << 31))
    exponent = w.one("BitwiseAnd", w.one("Div", word, number(1 << 23)), number(255))
    fraction = w.one("BitwiseAnd", word, number((1 << 23) - 1))
    tiny, huge = w.one("Equal", exponent, number(0)), w.one("Equal", exponent, number(255))
    units = w.cast(w.one("Where", tiny, fraction, w.one("Add", fraction, number(1 << 23))), np.float64)
    power = w.cast(w.one("Sub", w.one("Max", exponent, number(1)), number(150)), np.float64)
    value = w.one("Mul", units, w.one("Pow", double(2), power))
    beyond = w.one("Where", w.one("Equal", fraction, number(0)), double(np.inf), double(np.nan))
    value = w.one("Where", huge, beyond, value)
    return w.cast(w.one("Where", negative, w.one("Neg", value), value), kind)


_CENTRAL = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
            0.246640727, 1.50140941)  # fmt: skip
_TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
         1.00167406, 2.83297682)  # fmt: skip


@rule("erf_inv")
def erf_inv(w: Writer, op: Any, x: str) -> str:
    """Two polynomials, for single precision (M. Giles, Approximating the erfinv function, 2010)."""
    v = op.operands[0]
    kind = dtype_of(v)
    if kind.name == "float64":
        raise NoForm("of float64 has no form in ONNX")
    x = x if kind.name == "float32" else w.cast(x, np.float32)

    def number(value: float) -> str:
        return w.constant(np.float32(value))

    def polynomial(factors: Any, at: str) -> str:
        total = number(factors[0])
        for factor in factors[1:]:
            total = w.one("Add", w.one("Mul", total, at), number(factor))
        return total

    squared = w.one("Mul", w.one("Sub", number(1), x), w.one("Add", number(1), x))
    depth = w.one("Neg", w.one("Log", squared))
    central = polynomial(_CENTRAL, w.one("Sub", depth, number(2.5)))
    tail = polynomial(_TAIL, w.one("Sub", w.one("Sqrt", w.one("Max", depth, number(0))), number(3)))
    made = w.one("Mul", w.one("Where", w.one("Less", depth, number(5)), central, tail), x)
    edge = w.one("Mul", x, number(np.inf))
    made = w.one("Where", w.one("Equal", w.one("Abs", x), number(1)), edge, made)
    return made if kind.name == "float32" else w.cast(made, kind)


@rule("after")
def after(w: Writer, op: Any, x: str, *_: str) -> str:
    return x


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@rule("threefry2x32")
def threefry(w: Writer, op: Any, *words: str) -> str:
    """Twenty rounds on numbers of 32 bits, held in 64: sums and shifts of uint32 are not in all evaluators."""
    mask = w.constant(np.int64(_MASK))
    k0, k1, x, y = (w.cast(word, np.int64) for word in words)
    k2 = w.one("BitwiseXor", w.one("BitwiseXor", k0, k1), w.constant(np.int64(0x1BD11BDA)))
    keys = [k0, k1, k2]

    def plus(*terms: str) -> str:
        total = terms[0]
        for term in terms[1:]:
            total = w.one("Add", total, term)
        return w.one("BitwiseAnd", total, mask)

    x, y = plus(x, k0), plus(y, k1)
    for block in range(5):
        for turn in _ROTATIONS[block % 2]:
            x = plus(x, y)
            up = w.one("BitwiseAnd", w.one("Mul", y, w.constant(np.int64(1 << turn))), mask)
            down = w.one("Div", y, w.constant(np.int64(1 << (32 - turn))))
            y = w.one("BitwiseXor", x, w.one("BitwiseOr", up, down))
        x = plus(x, keys[(block + 1) % 3])
        y = plus(y, keys[(block + 2) % 3], w.constant(np.int64(block + 1)))
    word = word_of(op, "word")
    found = x if word == "first" else y if word == "second" else w.one("BitwiseXor", x, y)
    return w.cast(found, dtype_of(op.results[0]))

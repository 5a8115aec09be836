"""`arith` and `math` on scalars and vectors alike: a table from op name to a small function.

Nothing here is undefined: floats out of range convert to the nearest integer and NaN to 0; for integers see `emit_integer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Operation

from ...codegen.text import I64, Builder, Ty, const
from ...dialects.functions import FUNCTIONS
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.types import is_stored, numpy_dtype, scalar_of
from ...dialects.vocabulary import SHARED
from . import emit_half, emit_integer, emit_narrow
from .emit_core import Effect, FunctionEmitter, Pure
from .emit_integer import is_number
from .emit_remainder import float_remainder
from .emit_types import fail
from .emit_words import dot_words
from .math import FUNCTIONS as WRITERS
from .math.roots import may_share, sqrt_shared

_CMPF = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
_CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def constant(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    value: Any = op.properties["value"]
    if isinstance(value, IntegerAttr | FloatAttr):
        return const(value.value.data, ty)
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise fail(op, f"has a value of unknown kind: {value}")
    elements = np.frombuffer(value.data.data, numpy_dtype(value.get_element_type())).tolist()
    first = const(elements[0], ty.scalar)
    if len(elements) != ty.lanes or all(const(v, ty.scalar) == first for v in elements):
        return const(elements[0], ty)
    return vector_literal(elements, ty)


def vector_literal(elements: list[Any], ty: Ty) -> str:
    """A vector constant, lane by lane."""
    if ty.lanes == 1:
        return const(elements[0], ty)
    return "<" + ", ".join([f"{ty.elem} {const(v, ty.scalar)}" for v in elements]) + ">"


# Families


def _float(opcode: str) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        flags: Any = op.properties.get("fastmath")
        shown = "".join([f"{f.value} " for f in sorted(flags.data, key=str)]) if flags is not None and flags.data else ""
        return e.b.emit(f"{opcode} {shown}{ty} {', '.join(xs)}")

    return write


def _integer(opcode: str, fold: Callable[[int, int], int]) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        x, y = xs
        if ty is I64 and is_number(x) and is_number(y):
            return const(fold(int(x), int(y)), ty)
        flags: Any = op.properties.get("overflowFlags")
        shown = "".join([f"{f.value} " for f in sorted(flags.data, key=str)]) if flags is not None and flags.data else ""
        return e.b.emit(f"{opcode} {shown}{ty} {x}, {y}")

    return write


def _plain(opcode: str) -> Pure:
    return lambda e, op, xs, ty: e.b.emit(f"{opcode} {ty} {xs[0]}, {xs[1]}")


def _intrinsic(name: str) -> Pure:
    return lambda e, op, xs, ty: e.b.intrinsic(name, ty, *xs)


def _integer_limit(name: str, fold: Callable[[int, int], int]) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        if ty is I64 and is_number(xs[0]) and is_number(xs[1]):
            return const(fold(int(xs[0]), int(xs[1])), ty)
        return e.b.intrinsic(name, ty, *xs)

    return write


def _float_limit(name: str) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        x, y = reversed(xs) if _replaces(op) else xs
        return float_limit(e.b, name, x, y, ty)

    return write


def _replaces(op: Operation) -> bool:
    """Whether the result of an op replaces its first operand in memory.

    LLVM makes a masked store of an element that is stored as it was loaded, where a NaN was found: slow without AVX-512.
    """
    load, result = op.operands[0].owner, op.results[0]
    if not isinstance(load, LoadOp) or not result.has_one_use():
        return False
    store = next(iter(result.uses)).operation
    return isinstance(store, StoreOp) and (store.buffer, store.map, *store.indices) == (load.buffer, load.map, *load.indices)


def float_limit(b: Builder, name: str, x: str, y: str, ty: Ty) -> str:
    """`maximum` or `minimum`: a NaN wins; the choice between 0 and -0 is open, as in NumPy (on x86 that is half of the work).

    The answer depends on `y` only through one instruction: in a reduction `y` is the accumulator.
    """
    callee = b.module.declare(f"llvm.{name}.{ty.mangled}", ty, (ty, ty))
    return b.emit(f"call nsz {ty} {callee}({ty} {x}, {ty} {y})")


def _negate(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    return e.b.fneg(xs[0], ty)


# Comparison, choice, conversion


def _compare_floats(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    predicate: Any = op.properties["predicate"]
    return e.b.fcmp(_CMPF[predicate.value.data], xs[0], xs[1], e.ty(op.operands[0].type, op))


def _compare_integers(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    predicate: Any = op.properties["predicate"]
    return e.b.icmp(_CMPI[predicate.value.data], xs[0], xs[1], e.ty(op.operands[0].type, op))


def _select(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    if xs[0] in ("true", "false"):
        return xs[1 if xs[0] == "true" else 2]
    return e.b.emit(f"select {e.ty(op.operands[0].type, op)} {xs[0]}, {ty} {xs[1]}, {ty} {xs[2]}")


def _cast(opcode: str) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        source = e.ty(op.operands[0].type, op)
        return xs[0] if source is ty else e.b.cast(opcode, xs[0], source, ty)

    return write


def _truncate(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    element = scalar_of(op.results[0].type)
    source = e.ty(op.operands[0].type, op)
    x = xs[0] if source is ty else e.b.cast("trunc", xs[0], source, ty)
    return emit_narrow.truncate_nibble(e.b, x, ty) if is_stored(element) else x


def _extend(opcode: str) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        element, source = scalar_of(op.operands[0].type), e.ty(op.operands[0].type, op)
        x = emit_narrow.extend_nibble(e.b, xs[0], source, opcode == "sext") if is_stored(element) else xs[0]
        return x if source is ty else e.b.cast(opcode, x, source, ty)

    return write


def _index_cast(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    source = e.ty(op.operands[0].type, op)
    if source is ty:
        return xs[0]
    if is_number(xs[0]) and source is I64:
        return const(int(xs[0]), ty)
    return e.b.cast("trunc" if ty.bits < source.bits else "sext", xs[0], source, ty)


def _saturate(name: str) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        source = e.ty(op.operands[0].type, op)
        if ty.lanes > 1 and ty.bits > 1:
            return _limited(e.b, name, xs[0], source, ty)
        callee = e.b.module.declare(f"llvm.{name}.sat.{ty.mangled}.{source.mangled}", ty, (source,))
        is_here = max(e.branch_depth, e.levels.get(xs[0], 0)) >= e.depth
        if e.optimized and is_here and name == "fptosi" and source.elem in ("float", "double") and ty.bits >= 32:
            return _rarely_outside(e.b, callee, xs[0], source, ty)
        return e.b.call(callee, ty, (source, xs[0]))

    return write


def _rarely_outside(b: Builder, saturating: str, x: str, source: Ty, ty: Ty) -> str:
    """A float as an integer, by one instruction where it fits, which most do: to saturate takes five."""
    fits = b.fcmp("olt", b.intrinsic("fabs", source, x), const(2.0 ** (ty.bits - 1), source), source)
    expected = b.call(b.module.declare("llvm.expect.i1", "i1", ("i1", "i1")), "i1", ("i1", fits), ("i1", "true"))
    inside, outside, done = b.fresh_label("fits"), b.fresh_label("saturates"), b.fresh_label("converted")
    b.cond_br(expected, inside, outside)
    b.label(inside)
    number = b.cast("fptosi", x, source, ty)
    b.br(done)
    b.label(outside)
    limit = b.call(saturating, ty, (source, x))
    b.br(done)
    b.label(done)
    return b.phi(ty, (number, inside), (limit, outside))


def _limited(b: Builder, name: str, x: str, source: Ty, ty: Ty) -> str:
    """Vectors of floats as integers; the equivalent intrinsic becomes code for one lane after the other."""
    signed = name == "fptosi"
    bits = ty.bits - signed
    limit, zero, most = const(2.0**bits, source), const(0.0, source), const((1 << bits) - 1, ty)
    if signed:
        inside = b.fcmp("olt", b.intrinsic("fabs", source, x), limit, source)
    else:
        inside = b.and_(b.fcmp("ogt", x, zero, source), b.fcmp("olt", x, limit, source), ty.bool)
    number = b.cast(name, b.select(inside, x, zero, source), source, ty)
    number = b.select(b.fcmp("oge", x, limit, source), most, number, ty)
    if not signed:
        return number
    return b.select(b.fcmp("ole", x, const(-(2.0**bits), source), source), const(-(1 << bits), ty), number, ty)


# Functions


def _absolute(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    callee = e.b.module.declare(f"llvm.abs.{ty.mangled}", ty, (ty, "i1"))
    return e.b.call(callee, ty, (ty, xs[0]), ("i1", "false"))


def _count_zeros(name: str) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        callee = e.b.module.declare(f"llvm.{name}.{ty.mangled}", ty, (ty, "i1"))
        return e.b.call(callee, ty, (ty, xs[0]), ("i1", "false"))

    return write


def _square_root(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    is_here = max(e.branch_depth, e.levels.get(xs[0], 0)) >= e.depth  # not hoisted: there may be blocks
    if is_here and SHARED in op.attributes and may_share(e.b, ty):
        return sqrt_shared(e.b, xs[0], ty)
    return e.b.intrinsic("sqrt", ty, *xs)


def _fma(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    return e.b.fma(xs[0], xs[1], xs[2], ty)


def _op_of(name: str) -> str:
    """The op that the function of a name writes."""
    return FUNCTIONS[name].op.name if name in FUNCTIONS else f"math.{name}"


def _function(e: FunctionEmitter, op: Operation) -> None:
    """A function of the math library; some end the current block, so it is not hoisted."""
    function = WRITERS[op.name.rpartition(".")[2]]
    ty = e.ty(op.results[0].type, op)
    if ty.scalar not in ("float", "double"):
        raise fail(op, f"is implemented for f32 and f64, got {op.results[0].type}")
    e.define(op.results[0], function(e.b, *[e.value(v, op) for v in op.operands], ty))


def _float_remainder(e: FunctionEmitter, op: Operation) -> None:
    ty = e.ty(op.results[0].type, op)
    if ty.scalar not in ("float", "double"):
        raise fail(op, f"is implemented for f32 and f64, got {op.results[0].type}")
    x, y = [e.value(v, op) for v in op.operands]
    e.define(op.results[0], float_remainder(e.b, x, y, ty))


def _integer_power(e: FunctionEmitter, op: Operation) -> None:
    ty = e.ty(op.results[0].type, op)
    x, y = [e.value(v, op) for v in op.operands]
    e.define(op.results[0], emit_integer.power(e.b, x, y, ty))


PURE: dict[str, Pure] = {
    **emit_integer.PURE,
    "arith.constant": constant,
    "arith.addf": _float("fadd"),
    "arith.subf": _float("fsub"),
    "arith.mulf": _float("fmul"),
    "arith.divf": _float("fdiv"),
    "arith.negf": _negate,
    "arith.addi": _integer("add", lambda x, y: x + y),
    "arith.subi": _integer("sub", lambda x, y: x - y),
    "arith.muli": _integer("mul", lambda x, y: x * y),
    "arith.andi": _plain("and"),
    "arith.ori": _plain("or"),
    "arith.xori": _plain("xor"),
    "arith.maxsi": _integer_limit("smax", max),
    "arith.minsi": _integer_limit("smin", min),
    "arith.maxui": _intrinsic("umax"),
    "arith.minui": _intrinsic("umin"),
    "arith.maximumf": _float_limit("maximum"),
    "arith.minimumf": _float_limit("minimum"),
    "arith.maxnumf": _intrinsic("maxnum"),
    "arith.minnumf": _intrinsic("minnum"),
    "arith.cmpf": _compare_floats,
    "arith.cmpi": _compare_integers,
    "arith.select": _select,
    "arith.extf": emit_half.extend,
    "arith.truncf": emit_half.truncate,
    "arith.extsi": _extend("sext"),
    "arith.extui": _extend("zext"),
    "arith.trunci": _truncate,
    "arith.sitofp": _cast("sitofp"),
    "arith.uitofp": _cast("uitofp"),
    "arith.bitcast": _cast("bitcast"),
    "arith.fptosi": _saturate("fptosi"),
    "arith.fptoui": _saturate("fptoui"),
    "arith.index_cast": _index_cast,
    "builtin.unrealized_conversion_cast": lambda e, op, xs, ty: xs[0],  # between signs, which LLVM IR has not
    "scalar.dot_words": dot_words,
    "math.absf": _intrinsic("fabs"),
    "math.absi": _absolute,
    "math.ceil": _intrinsic("ceil"),
    "math.floor": _intrinsic("floor"),
    "math.trunc": _intrinsic("trunc"),
    "math.round": _intrinsic("round"),
    "math.roundeven": _intrinsic("roundeven"),
    "math.copysign": _intrinsic("copysign"),
    "math.sqrt": _square_root,
    "math.fma": _fma,
    "math.ctpop": _intrinsic("ctpop"),
    "math.ctlz": _count_zeros("ctlz"),
    "math.cttz": _count_zeros("cttz"),
}

EFFECTS: dict[str, Effect] = {
    **{name: _function for name in map(_op_of, WRITERS) if name not in PURE},
    "arith.remf": _float_remainder,
    "math.ipowi": _integer_power,
}

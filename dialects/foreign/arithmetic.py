"""Rules of `arith` and `math`: scalars, and vectors of them."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType, i1, i64
from xdsl.ir import Attribute, Operation

from .types import SHAPED, Rule, incompatible, is_float, is_integer, scalable, scalar, shape, width


def _floats(op: Operation) -> Iterator[str]:
    if not is_float(op.operands[0].type):
        yield f"operand #0 must be floating-point-like, but got '{op.operands[0].type}'"


def _cmpf(op: Operation) -> Iterator[str]:
    yield from _floats(op)
    yield from _compares(op)


def _cmpi(op: Operation) -> Iterator[str]:
    if not is_integer(op.operands[0].type):
        yield f"operand #0 must be signless-integer-like, but got '{op.operands[0].type}'"
    yield from _compares(op)


def _compares(op: Operation) -> Iterator[str]:
    operand, result = op.operands[0].type, op.results[0].type
    if scalar(result) != i1 or not _alike(operand, result):
        yield "failed to verify that result type has i1 element type and same shape as operands"
    kind = op.properties["predicate"]
    if isinstance(kind, IntegerAttr) and kind.type != i64:
        yield f"invalid properties: attribute `predicate` must be of i64, got {kind}"


def _alike(one: Attribute, other: Attribute) -> bool:
    """Whether two types are scalars, or containers of one kind and shape."""
    kinds = [
        (type(t), shape(t), scalable(t) if isinstance(t, VectorType) else ()) for t in (one, other) if isinstance(t, SHAPED)
    ]
    return not kinds or (len(kinds) == 2 and kinds[0] == kinds[1])


def _casts(op: Operation) -> Iterator[str]:
    if not _alike(op.operands[0].type, op.results[0].type):
        yield "requires the same shape for all operands and results"


def _widens(op: Operation) -> Iterator[str]:
    yield from _casts(op)
    if width(op.results[0].type) <= width(op.operands[0].type):
        yield incompatible(op)


def _narrows(op: Operation) -> Iterator[str]:
    yield from _casts(op)
    if width(op.results[0].type) >= width(op.operands[0].type):
        yield incompatible(op)


def _index_cast(op: Operation) -> Iterator[str]:
    if isinstance(scalar(op.operands[0].type), IndexType) == isinstance(scalar(op.results[0].type), IndexType):
        yield incompatible(op)


def _bitcast(op: Operation) -> Iterator[str]:
    for what, value in (("operand", op.operands[0]), ("result", op.results[0])):
        if isinstance(scalar(value.type), IndexType):
            rule = "must be signless-integer-or-float-like or memref of signless-integer or float"
            yield f"{what} #0 {rule}, but got '{value.type}'"


def _fpowi(op: Operation) -> Iterator[str]:
    if shape(op.operands[0].type) != shape(op.operands[1].type):
        yield "requires the same shape for all operands and results"


def _select(op: Operation) -> Iterator[str]:
    condition, value = op.operands[0].type, op.results[0].type
    if isinstance(condition, VectorType) and isinstance(value, VectorType) and scalable(condition) != scalable(value):
        yield "all non-scalar operands/results must have the same shape and base type"


RULES: dict[str, Rule] = {
    **dict.fromkeys(("arith.remf", "math.erfc"), _floats),
    **dict.fromkeys(("arith.extsi", "arith.extui", "arith.extf"), _widens),
    **dict.fromkeys(("arith.trunci", "arith.truncf"), _narrows),
    "arith.cmpf": _cmpf,
    "arith.cmpi": _cmpi,
    "arith.index_cast": _index_cast,
    "arith.bitcast": _bitcast,
    "arith.select": _select,
    "math.fpowi": _fpowi,
}

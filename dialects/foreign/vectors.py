"""Rules of `vector`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import IndexType, MemRefType, TensorType, VectorType
from xdsl.ir import Operation

from .types import Rule, is_float, is_integer, scalable, scalar, shape, width


def _broadcast(op: Operation) -> Iterator[str]:
    source, result = op.operands[0].type, op.results[0].type
    if not isinstance(result, VectorType) or scalar(source) != result.element_type:
        yield f"source operand and result must have the same element type, got '{source}' and '{result}'"
        return
    if not isinstance(source, VectorType):
        return
    given, wanted = source.get_shape(), result.get_shape()
    if len(given) > len(wanted):
        yield "source rank higher than destination rank"
        return
    lead = len(wanted) - len(given)
    for n, m, a, b in zip(given, wanted[lead:], scalable(source), scalable(result)[lead:], strict=True):
        if (n != 1 and n != m) or (a != b and (n != 1 or a)):
            yield f"dimension mismatch ({'[' * a}{n}{']' * a} vs. {'[' * b}{m}{']' * b})"


def _vector_bitcast(op: Operation) -> Iterator[str]:
    source: Any = op.operands[0].type
    result: Any = op.results[0].type
    if len(source.get_shape()) != len(result.get_shape()):
        yield "failed to verify that all of {source, result} have same rank"
        return
    *outer, last = source.get_shape()
    *others, end = result.get_shape()
    if outer != others or last * width(source) != end * width(result) or scalable(source) != scalable(result):
        yield f"source '{source}' and result '{result}' must have as many bits in their last dim, and the same other dims"


def _step(op: Operation) -> Iterator[str]:
    type: Any = op.results[0].type
    if not isinstance(type.element_type, IndexType) or len(type.get_shape()) != 1:
        yield f"result #0 must be vector of index values of ranks 1, but got '{type}'"


def _extract(op: Any) -> Iterator[str]:
    source: Any = op.operands[0].type
    taken = len(op.static_position.get_values())
    rest = source.get_shape()[taken:]
    wanted = VectorType(source.element_type, rest) if rest else source.element_type
    result = op.results[0].type
    if not rest and isinstance(result, VectorType) and (result.get_shape() in ((), (1,))):
        wanted = VectorType(source.element_type, result.get_shape())
    cut = (
        isinstance(result, VectorType) and len(result.get_shape()) == len(rest) and scalable(result) != scalable(source)[taken:]
    )
    if cut or shape(wanted) != shape(result) or scalar(wanted) != scalar(result):
        yield f"inferred type(s) '{wanted}' are incompatible with return type(s) of operation '{result}'"


_REDUCES = {
    **dict.fromkeys(("add", "mul"), "either"),
    **dict.fromkeys(("minnumf", "maxnumf", "minimumf", "maximumf"), "float"),
    **dict.fromkeys(("and", "or", "xor", "minui", "minsi", "maxui", "maxsi"), "integer"),
}


def _reduction(op: Any) -> Iterator[str]:
    type = op.operands[0].type
    if len(type.get_shape()) > 1:
        yield f"unsupported reduction rank: {len(type.get_shape())}"
        return
    kind, element = str(op.kind.data), type.element_type
    takes = _REDUCES.get(kind, "either")
    fits = is_float(element) if takes == "float" else is_integer(element) if takes == "integer" else True
    if not fits or not (is_float(element) or is_integer(element)):
        yield f"unsupported reduction type ''{element}'' for kind '{kind}'"


def _shuffle(op: Operation) -> Iterator[str]:
    for k, value in enumerate(op.operands):
        if any(scalable(value.type)):
            yield f"operand #{k} must be fixed-length vector of any type values, but got '{value.type}'"
    first: Any = op.operands[0].type
    result: Any = op.results[0].type
    if len(result.get_shape()) != max(1, len(first.get_shape())):
        yield "rank mismatch"
    elif any(scalable(result)):
        yield f"inferred type(s) '{VectorType(result.element_type, result.get_shape())}' are incompatible with '{result}'"


def _masked_load(op: Operation) -> Iterator[str]:
    base, (mask, passed), result = op.operands[0].type, (v.type for v in op.operands[-2:]), op.results[0].type
    if isinstance(base, MemRefType) and base.element_type != scalar(result):
        yield "base and result element type should match"
    if shape(mask) != shape(result):
        yield "expected result shape to match mask shape"
    if passed != result:
        yield "expected pass_thru of same type as result type"


def _masked_store(op: Operation) -> Iterator[str]:
    base, (mask, value) = op.operands[0].type, (v.type for v in op.operands[-2:])
    if isinstance(base, MemRefType) and base.element_type != scalar(value):
        yield "base and valueToStore element type should match"
    if shape(mask) != shape(value):
        yield "expected valueToStore shape to match mask shape"


def _transfer_write(op: Any) -> Iterator[str]:
    tensors = sum(isinstance(value.type, TensorType) for value in op.operands)
    if tensors != len(op.results):
        count = len(op.results)
        yield f"expected the number of tensor results ({count}) to be equal to the number of output tensors ({tensors})"


RULES: dict[str, Rule] = {
    "vector.broadcast": _broadcast,
    "vector.bitcast": _vector_bitcast,
    "vector.step": _step,
    "vector.extract": _extract,
    "vector.reduction": _reduction,
    "vector.shuffle": _shuffle,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "vector.transfer_write": _transfer_write,
}

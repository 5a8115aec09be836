"""Rules of `memref`: views, loads, globals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, MemRefType, UnrankedMemRefType
from xdsl.ir import Operation

from ..symbols import find_symbol
from . import reshapes
from .layouts import agree, known, layout_of, product, same, total
from .types import Rule, incompatible, is_float


def _dim(op: Operation) -> Iterator[str]:
    if isinstance(type := op.operands[0].type, MemRefType) and not type.get_shape():
        yield (
            f"operand #0 must be unranked.memref of any type values or non-0-ranked.memref of any type values, but got '{type}'"
        )


_ATOMIC = (
    *("addf", "addi", "andi", "assign", "maximumf", "maxnumf", "maxs", "maxu", "minimumf", "minnumf", "mins", "minu", "mulf"),
    *("muli", "ori", "xori"),
)
"""The kinds of updates by number."""
_TAKE_FLOATS = {"addf", "maximumf", "minimumf", "mulf"}
_TAKE_ALL = {"assign", "maxnumf", "minnumf"}  # upstream checks the last two no further


def _atomic(op: Any) -> Iterator[str]:
    if isinstance(type := op.operands[1].type, MemRefType) and len(op.operands) - 2 != len(type.get_shape()):
        yield "expects the number of subscripts to be equal to memref rank"
    number = op.properties["kind"].value.data
    if not 0 <= number < len(_ATOMIC):
        yield f"invalid properties: there is no kind of number {number}"
        return
    kind = _ATOMIC[number]
    if kind in _TAKE_FLOATS and not is_float(op.operands[0].type):
        yield f"with kind '{kind}' expects a floating-point type"
    if kind not in _TAKE_FLOATS | _TAKE_ALL and not isinstance(op.operands[0].type, IntegerType):
        yield f"with kind '{kind}' expects an integer type"


def _memref_cast(op: Operation) -> Iterator[str]:
    source, result = op.operands[0].type, op.results[0].type
    if isinstance(source, UnrankedMemRefType) or isinstance(result, UnrankedMemRefType):
        both_unranked = type(source) is type(result)
        if both_unranked or source.element_type != result.element_type:  # pyright: ignore[reportAttributeAccessIssue]
            yield incompatible(op)
        return
    assert isinstance(source, MemRefType) and isinstance(result, MemRefType)
    fits = (
        source.element_type == result.element_type
        and source.memory_space == result.memory_space
        and len(source.get_shape()) == len(result.get_shape())
        and all(map(agree, source.get_shape(), result.get_shape()))
    )
    if fits and source.layout != result.layout:
        one, two = layout_of(source), layout_of(result)
        fits = one is not None and two is not None and all(map(agree, one[0], two[0])) and agree(one[1], two[1])
    if not fits:
        yield incompatible(op)


def _numbers(attribute: Any) -> list[int | None]:
    return [None if n == DYNAMIC_INDEX else n for n in attribute.get_values()]


def _subview(op: Any) -> Iterator[str]:
    source, result = op.source.type, op.result.type
    offsets, sizes, steps = map(_numbers, (op.static_offsets, op.static_sizes, op.static_strides))
    rank = len(source.get_shape())
    for what, given in (("offset", offsets), ("size", sizes), ("stride", steps)):
        if len(given) != rank:
            yield f"expected {rank} {what} values, got {len(given)}"
            return
    for what, given in (("offset", offsets), ("size", sizes)):
        if bad := [n for n in given if n is not None and n < 0]:
            yield f"expected {what}s to be non-negative, but got {bad[0]}"
            return
    layout = layout_of(source)
    if layout is None:
        return
    strides, offset = layout
    for dim, (n, first, size, step) in enumerate(zip(source.get_shape(), offsets, sizes, steps, strict=True)):
        if n == DYNAMIC_INDEX or first is None:
            continue
        if first >= n and not (size == 0 and first == n):
            yield f"offset {dim} is out-of-bounds: {first} >= {n}"
            return
        if size is not None and step is not None and size > 0 and first + (size - 1) * step >= n:
            yield f"slice along dimension {dim} runs out-of-bounds: {first + (size - 1) * step} >= {n}"
            return
    start = total([offset, *map(product, offsets, strides)])
    wanted = [(size, product(stride, step)) for size, stride, step in zip(sizes, strides, steps, strict=True)]
    found = layout_of(result)
    why = "element type" if result.element_type != source.element_type else ""
    why = why or ("memory space" if result.memory_space != source.memory_space else "")
    if not why and (found is None or not same(found[1], start)):
        why = "result layout"
    if not why and not _reduces(wanted, list(zip(known(result.get_shape()), found[0], strict=True)) if found else []):
        why = "result sizes or strides"
    if why:
        shown = ", ".join("?" if n is None else str(n) for n in sizes)
        layout_ = ", ".join("?" if s is None else str(s) for _, s in wanted)
        expected = f"sizes [{shown}], strides [{layout_}], offset {'?' if start is None else start}"
        yield f"expected result type to have {expected} or a rank-reduced version. (mismatch of {why}), but got '{result}'"


def _reduces(wanted: list[tuple[Any, Any]], given: list[tuple[Any, Any]]) -> bool:
    """Whether dims, as (size, stride), are some of the wanted ones in order, and those left out are of size 1."""
    rest = list(given)
    for size, stride in wanted:
        if rest and rest[0][0] == size and (rest[0][1] == stride):
            rest.pop(0)
        elif size != 1:
            return False
    return not rest


def _reinterpret(op: Any) -> Iterator[str]:
    result = op.results[0].type
    offsets, sizes, strides = map(_numbers, (op.static_offsets, op.static_sizes, op.static_strides))
    source, to = op.source.type.element_type, result.element_type
    if source != to:
        yield f"different element types specified for source type {op.source.type} and result memref type {result}"
    if len(offsets) != 1:
        yield f"expected 1 offset values, got {len(offsets)}"
        return
    rank = len(result.get_shape())
    for what, given in (("size", sizes), ("stride", strides)):
        if len(given) != rank:
            yield f"expected {rank} {what} values, got {len(given)}"
            return
    for dim, (said, size) in enumerate(zip(known(result.get_shape()), sizes, strict=True)):
        if said is not None and said != size:
            yield f"expected result type with size = {'dynamic' if size is None else size} instead of {said} in dim = {dim}"
    layout = layout_of(result)
    if layout is None:
        yield f"expected result type to have strided layout but found '{result}'"
        return
    if layout[1] is not None and layout[1] != offsets[0]:
        yield f"expected result type with offset = {'dynamic' if offsets[0] is None else offsets[0]} instead of {layout[1]}"
    for dim, (said, stride) in enumerate(zip(layout[0], strides, strict=True)):
        if said is not None and said != stride:
            found = "dynamic" if stride is None else stride
            yield f"expected result type with stride = {found} instead of {said} in dim = {dim}"


def _get_global(op: Any) -> Iterator[str]:
    type, name = op.results[0].type, op.name_.string_value()
    if DYNAMIC_INDEX in type.get_shape():
        yield f"result #0 must be statically shaped memref of any type values, but got '{type}'"
        return
    found = find_symbol(op, op.name_)
    if found is None or found.name != "memref.global":
        yield f"'{name}' does not reference a valid global memref"
    elif found.type != type:  # pyright: ignore[reportAttributeAccessIssue]
        yield f"result type '{type}' does not match type '{found.type}' of the global memref @{name}"  # pyright: ignore[reportAttributeAccessIssue]


RULES: dict[str, Rule] = {
    "memref.dim": _dim,
    "memref.atomic_rmw": _atomic,
    "memref.cast": _memref_cast,
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reinterpret,
    "memref.get_global": _get_global,
    "program.get_global": _get_global,
    **reshapes.RULES,
}

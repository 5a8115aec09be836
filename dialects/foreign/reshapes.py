"""Rules of `memref.collapse_shape` and `memref.expand_shape`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from .layouts import layout_of, product, same
from .types import Rule


def _groups(op: Any) -> list[list[int]]:
    return [[int(k.value.data) for k in group.data] for group in op.reassociation.data]


def _regroup(op: Any, low: Any, high: Any) -> Iterator[str]:
    """The constraints between the collapsed and the expanded type of a reshape."""
    groups = _groups(op)
    if low.element_type != high.element_type or low.memory_space != high.memory_space:
        yield f"expected collapsed type '{low}' and expanded type '{high}' to agree in elements and memory space"
        return
    rank = len(high.get_shape())
    for k in (k for group in groups for k in group):
        if not 0 <= k < rank:
            yield f"reassociation index {k} is out of bounds"
            return
    if len(groups) != len(low.get_shape()):
        yield f"invalid number of reassociation groups: found {len(groups)}, expected {len(low.get_shape())}"
        return
    if [k for group in groups for k in group] != list(range(rank)):
        yield "expected reassociation indices to be contiguous"
        return
    for dim, (group, size) in enumerate(zip(groups, low.get_shape(), strict=True)):
        inner = [high.get_shape()[k] for k in group]
        if (DYNAMIC_INDEX in inner) != (size == DYNAMIC_INDEX):
            yield f"collapsed dim ({dim}) must be dynamic if and only if reassociation group is dynamic"
        elif size != DYNAMIC_INDEX and prod(inner) != size:
            yield f"collapsed dim size ({size}) must equal reassociation group size ({prod(inner)})"


def _collapse(op: Operation) -> Iterator[str]:
    yield from _regroup(op, op.results[0].type, op.operands[0].type)
    yield from _layout_of_collapsed(op, op.operands[0].type, op.results[0].type)


def _expand(op: Any) -> Iterator[str]:
    yield from _regroup(op, op.operands[0].type, op.results[0].type)
    shape = op.results[0].type.get_shape()
    said = op.static_output_shape.get_values()
    if list(said) != list(shape):
        yield f"expected output shape to be {list(shape)}, got {list(said)}"
    yield from _layout_of_expanded(op, op.operands[0].type, op.results[0].type)


def _layout_of_collapsed(op: Any, high: Any, low: Any) -> Iterator[str]:
    """Each collapsed dim has the stride of the last dim of its group, which the others must follow without gaps."""
    wide, flat = layout_of(high), layout_of(low)
    if wide is None or flat is None:
        return
    if not same(flat[1], wide[1]):
        yield f"expected collapsed type with offset {wide[1]}, but found '{low}'"
        return
    shape = high.get_shape()
    for group, stride in zip(_groups(op), flat[0], strict=True):
        dims = [k for k in group if shape[k] != 1] or group[-1:]
        for outer, inner in pairwise(dims):
            gap = product(wide[0][inner], None if shape[inner] == DYNAMIC_INDEX else shape[inner])
            if gap is not None and wide[0][outer] is not None and gap != wide[0][outer]:
                yield f"invalid source layout map or collapsing non-contiguous dims of '{high}'"
                return
        if not same(stride, wide[0][dims[-1]]):
            yield f"expected collapsed type with stride {wide[0][dims[-1]]}, but found '{low}'"


def _layout_of_expanded(op: Any, low: Any, high: Any) -> Iterator[str]:
    wide, flat = layout_of(high), layout_of(low)
    if wide is None or flat is None:
        return
    if not same(wide[1], flat[1]):
        yield f"expected expanded type with offset {flat[1]}, but found '{high}'"
        return
    for group, stride in zip(_groups(op), flat[0], strict=True):
        step = stride
        for k in reversed(group):
            if not same(wide[0][k], step):
                yield f"expected expanded type with stride {step} of dim {k}, but found '{high}'"
                return
            size = high.get_shape()[k]
            step = product(step, None if size == DYNAMIC_INDEX else size)


RULES: dict[str, Rule] = {
    "memref.collapse_shape": _collapse,
    "memref.expand_shape": _expand,
}

"""Batching rules that families of ops share, and helpers from which others are built.

A rule is `rule(b, op, operands, batched)`: the results of an op whose operands, those that `batched` marks, have one more dim
in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ..types import shape_of
from .base import GraphOp, ints

if TYPE_CHECKING:
    from .builder import GraphBuilder

Rule = Callable[[Any, GraphOp, Sequence[SSAValue], Sequence[bool]], Sequence[SSAValue]]


def later(dims: Sequence[int]) -> tuple[int, ...]:
    """The numbers of dims after a leading dim is added."""
    return tuple(d + 1 for d in dims)


def batch_size(operands: Sequence[SSAValue], batched: Sequence[bool]) -> int:
    """The size of the leading batch dim."""
    return next(shape_of(o)[0] for o, is_batched in zip(operands, batched, strict=True) if is_batched)


def repeated(b: GraphBuilder, value: SSAValue, size: int) -> SSAValue:
    """A value repeated along a new first dim."""
    return b.broadcast(value, range(1, len(shape_of(value)) + 1), (size, *shape_of(value)))


def all_batched(b: GraphBuilder, operands: Sequence[SSAValue], batched: Sequence[bool]) -> list[SSAValue]:
    """Operands that all have the new dim."""
    size = batch_size(operands, batched)
    return [o if is_batched else repeated(b, o, size) for o, is_batched in zip(operands, batched, strict=True)]


def along(name: str) -> Rule:
    """The rule of an op whose property `name` numbers one or more dims: all operands batched, these dims one further on."""

    def rule(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
        given = op.properties[name]
        moved = given.value.data + 1 if isinstance(given, IntegerAttr) else later(ints(given))
        same = getattr(b, op.name.removeprefix("graph."))
        return [same(*all_batched(b, operands, batched), **{**op.properties, name: moved})]

    return rule


def alike(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    """The rule of an op that accepts any leading dims: the same op, with all operands batched."""
    results = getattr(b, op.name.removeprefix("graph."))(*all_batched(b, operands, batched), **op.properties)
    return results if isinstance(results, tuple) else [results]

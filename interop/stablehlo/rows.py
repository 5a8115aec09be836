"""A row of the table of ops: how one is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...api import Tracer, build


@dataclass(frozen=True)
class Row:
    """The evaluation of an op.

    Args:
        evaluate: from the site of the op and its operands to the result.
        several: whether that is a sequence of results.
        raw: whether operands of storage-only types, as bf16, come as they are, not in the type that they are computed in.
        bits: whether it is of the bits of its operands, so that quantized ones have another meaning.
    """

    evaluate: Callable[[Any, Sequence[Any]], Any]
    several: bool = False
    raw: bool = False
    bits: bool = False


def of(function: Callable[..., Any]) -> Row:
    """An op that is one function of its operands."""
    return Row(lambda site, operands: function(*operands))


def graph_op(name: str) -> Row:
    """An op that is one op of the graph."""
    return Row(lambda site, operands: build(name, *operands))


def typed(function: Callable[..., Any], *names: str, **renamed: str) -> Row:
    """An op that is a function of its operands and attributes: `names` by position after them, `renamed` by keyword."""

    def evaluate(site: Any, operands: Sequence[Any]) -> Any:
        given = [site.required(name) for name in names]
        return function(*operands, *given, **{key: site.required(name) for key, name in renamed.items()})

    return Row(evaluate)


__all__ = ["Row", "Tracer", "graph_op", "of", "typed"]

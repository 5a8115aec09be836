"""Predicates of types that the rules of upstream's ops use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, TensorType, VectorType
from xdsl.ir import Attribute, Operation

Rule = Callable[[Any], Iterator[str]]
"""A rule yields error messages about an op; only the first one is reported."""

SHAPED = (VectorType, TensorType)


def scalar(type: Attribute) -> Attribute:
    return type.element_type if isinstance(type, SHAPED) else type


def is_float(type: Attribute) -> bool:
    return isinstance(scalar(type), AnyFloat)


def is_integer(type: Attribute) -> bool:
    return isinstance(scalar(type), IntegerType | IndexType)


def width(type: Attribute) -> int:
    element = scalar(type)
    return element.bitwidth if isinstance(element, AnyFloat | IntegerType) else 64


def scalable(type: Any) -> tuple[bool, ...]:
    return tuple(bool(flag.value.data) for flag in type.scalable_dims.data)


def shape(type: Attribute) -> tuple[int, ...] | None:
    return tuple(type.get_shape()) if isinstance(type, SHAPED) else None


def incompatible(op: Operation) -> str:
    return f"operand type '{op.operands[0].type}' and result type '{op.results[0].type}' are cast incompatible"

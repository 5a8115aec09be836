"""The base of elementwise ops: one result element depends on one element of each operand."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ...errors import DTypeError
from ..facts import OpFacts
from ..rounding import cast
from ..types import is_bool, is_float, is_integer, part_of, unify
from .base import Derivative, Elementwise, Equation, GraphOp, Read, Zero, graph_op
from .quiet import Quiet

if TYPE_CHECKING:
    from ..functions import ScalarFunction
    from ..scalar import ScalarBuilder


def joined_shape(operands: Sequence[TensorType]) -> tuple[int, ...]:
    """The common shape of operands whose shapes agree; a known size replaces `?`."""
    shape = operands[0].get_shape()
    for other in operands[1:]:
        shape = tuple(unify(a, b) for a, b in zip(shape, other.get_shape(), strict=True))
    return shape


class ElementwiseOp(GraphOp, ABC):
    """Base: `scalar` is the body of the one equation; every operand and the result have one shape."""

    batching = "elementwise"
    if TYPE_CHECKING:
        domain: str
        """The element types that the op takes: a key of `_DOMAINS`."""

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        """The scalar expression; it must also be valid on vectors."""
        raise NotImplementedError(self.name)

    def equations(self) -> tuple[Equation, ...]:
        shape = self.result_shape()
        identity = AffineMap.identity(len(shape))
        return (Equation(shape, tuple(Read(k, identity) for k in range(len(self.operands))), self.scalar),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        if type(self).evaluate is not ElementwiseOp.evaluate:
            return self.evaluate  # a meaning of its own
        return Quiet(self.numpy, self.result_dtype())


FamilyT = TypeVar("FamilyT", bound=ElementwiseOp)

_DOMAINS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "float": (is_float, "f32 or f64"),
    "number": (lambda t: not is_bool(t), "an integer or a float"),
    "integer": (lambda t: not is_float(t), "an integer or i1"),
    "whole": (is_integer, "an integer"),
    "any": (lambda t: True, "any supported type"),
}


def require_domain(domain: str, operand: TensorType) -> None:
    """Raise DTypeError unless the element type belongs to `float`, `number`, `integer`, `whole` or `any`.

    A complex type belongs where its parts do; `OpFacts.stores` says which ops take complex types.
    """
    accepts, words = _DOMAINS[domain]
    if not accepts(part_of(operand.element_type)):
        raise DTypeError(f"operand element type must be {words}, got {operand.element_type}")


def row(
    base: type[FamilyT],
    name: str,
    meaning: str,
    numpy: Callable[..., Any],
    derivative: Derivative,
    domain: str | None,
    facts: OpFacts,
    scalar: Callable[..., SSAValue] | None,
    example: str,
    constraints: Sequence[str],
) -> type[FamilyT]:
    """An op of a family from a row of its table; the docstring has the meaning, an example and the family's constraints."""
    domain = base.domain if domain is None else domain
    rules = [*constraints, f"The element type is {_DOMAINS[domain][1]}."]
    shown = f"%y = graph.{name} {example} : tensor<4x{'i32' if domain in ('integer', 'whole') else 'f32'}>"
    members: dict[str, Any] = {
        "__doc__": "\n".join(
            [meaning, "", "```mlir", shown, "```", "", *(f"(C{k}) {rule}" for k, rule in enumerate(rules, 1))]
        ),
        "__module__": base.__module__,
        "name": f"graph.{name}",
        "numpy": numpy,
        "derivative": derivative,
        "domain": domain,
        "facts": facts,
    }
    if scalar is not None:
        members["scalar"] = lambda self, b, *operands: scalar(b, *operands)
    made: Any = type("".join(map(str.capitalize, name.split("_"))) + "Op", (base,), members)
    return graph_op(made)


def derivative_of(function: ScalarFunction) -> Derivative:
    """The derivative of the op of a scalar function."""
    return Elementwise(*function.derivative) if function.derivative else Zero()


def convert_array(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The meaning of `graph.convert`: NumPy's cast, rounded once; floats saturate at the integer range, NaN becomes 0."""
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = np.asarray(x != 0) if dtype.kind == "b" else np.real(x)
        if x.dtype.kind != "f" or dtype.kind not in "iu":
            return cast(x, dtype)
        limits = np.iinfo(dtype)
        truncated = np.trunc(x.astype(np.float64))
        # the largest integer is not a float: compare with the power of two above it
        high, low = truncated >= float(limits.max), truncated <= float(limits.min)
        safe = np.where(high | low | np.isnan(truncated), 0.0, truncated).astype(dtype)
        return np.where(high, dtype.type(limits.max), np.where(low, dtype.type(limits.min), safe))

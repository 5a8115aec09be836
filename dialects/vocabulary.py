"""Upstream ops as we need them where xDSL lacks them or takes less than upstream does.

xDSL 0.74 verifies the integer casts of `arith` on scalars only and has no `arith.remf` and no `vector.step`; upstream has all
of them on vectors. The ops here bear the upstream names and syntax; `arith_dialect` and `vector_dialect` are xDSL's dialects with
them in place.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Dialect
from xdsl.irdl import AnyAttr, IRDLOperation, VarConstraint, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .types import is_bool, is_float, is_integer, scalar_of


class CastOp(IRDLOperation, ABC):
    """Base of casts between scalars, or between vectors of as many lanes."""

    input = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def verify_(self) -> None:
        source, target = self.input.type, self.result.type
        if isinstance(source, VectorType) != isinstance(target, VectorType) or (
            isinstance(source, VectorType) and source.get_shape() != target.get_shape()  # pyright: ignore
        ):
            raise VerifyException(f"'{self.name}' op operand and result must have the same lanes, got {source} and {target}")
        takes, gives = self.kinds
        if not takes(scalar_of(source)) or not gives(scalar_of(target)):
            raise VerifyException(f"'{self.name}' op cannot convert {source} to {target}")

    @property
    def kinds(self):
        """Predicates on the element types of operand and result."""
        return _KINDS[self.name]


def _any_integer(type) -> bool:
    return is_integer(type) or is_bool(type)


_KINDS = {
    "arith.extsi": (_any_integer, is_integer),
    "arith.extui": (_any_integer, is_integer),
    "arith.trunci": (is_integer, _any_integer),
    "arith.extf": (is_float, is_float),
    "arith.truncf": (is_float, is_float),
    "arith.sitofp": (_any_integer, is_float),
    "arith.uitofp": (_any_integer, is_float),
    "arith.fptosi": (is_float, _any_integer),
}


@irdl_op_definition
class ExtSIOp(CastOp):
    """Sign extension."""

    name = "arith.extsi"


@irdl_op_definition
class ExtUIOp(CastOp):
    """Zero extension."""

    name = "arith.extui"


@irdl_op_definition
class TruncIOp(CastOp):
    """Integer truncation."""

    name = "arith.trunci"


@irdl_op_definition
class ExtFOp(CastOp):
    """Exact conversion to a wider float."""

    name = "arith.extf"


@irdl_op_definition
class TruncFOp(CastOp):
    """Conversion to a narrower float, to nearest even."""

    name = "arith.truncf"


@irdl_op_definition
class SIToFPOp(CastOp):
    """Signed integer to float, to nearest even."""

    name = "arith.sitofp"


@irdl_op_definition
class UIToFPOp(CastOp):
    """Unsigned integer to float, to nearest even."""

    name = "arith.uitofp"


@irdl_op_definition
class FPToSIOp(CastOp):
    """Float to signed integer toward zero; out of range is undefined upstream and saturates here, NaN gives 0."""

    name = "arith.fptosi"


@irdl_op_definition
class RemFOp(IRDLOperation):
    """Float remainder with the sign of the dividend, exact (C's `fmod`).

    ```mlir
    %r = arith.remf %a, %b : f32
    ```
    """

    name = "arith.remf"
    T: ClassVar = VarConstraint("T", AnyAttr())
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


@irdl_op_definition
class StepOp(IRDLOperation):
    """The vector 0, 1, 2, ...

    ```mlir
    %s = vector.step : vector<8xindex>
    ```
    """

    name = "vector.step"
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"


def _replaced(dialect: Dialect, ops: list[type[IRDLOperation]]) -> Dialect:
    names = {op.name for op in ops}
    kept = [op for op in dialect.operations if op.name not in names]
    return Dialect(dialect.name, [*kept, *ops], list(dialect.attributes), list(dialect._interfaces))  # pyright: ignore


def arith_dialect() -> Dialect:
    """xDSL's `arith` with the ops above."""
    from xdsl.dialects.arith import Arith

    return _replaced(Arith, [ExtSIOp, ExtUIOp, TruncIOp, ExtFOp, TruncFOp, SIToFPOp, UIToFPOp, FPToSIOp, RemFOp])


def vector_dialect() -> Dialect:
    """xDSL's `vector` with the ops above."""
    from xdsl.dialects.vector import Vector

    return _replaced(Vector, [StepOp])

"""Upstream ops that xDSL lacks, or accepts with fewer types than upstream does.

xDSL 0.74 verifies the casts, comparisons and the select of `arith` on scalars only and has no `arith.remf` and no
`vector.step`; upstream has all of them on vectors. Upstream's integers are signless; ours may be unsigned, like the elements of
buffers, and then only ops on unsigned integers take them. The ops here have the upstream names and syntax; `arith_dialect`,
`math_dialect` and `vector_dialect` hold them with the rest of xDSL's.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any, ClassVar, Self

from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, VectorType, i64
from xdsl.ir import Attribute, Dialect, SSAValue, TypedAttribute
from xdsl.irdl import AnyAttr, IRDLOperation, VarConstraint, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .operations import BaseOp
from .types import i1, is_bool, is_float, is_integer, is_unsigned, scalar_of

Predicate = Callable[[Attribute], bool]
SHARED = "shared"
"""The attribute of square roots, half of which may be computed by multiplications."""


_KINDS: dict[str, tuple[Predicate, Predicate]] = {}
"""The constraints on the element types of operand and result of each cast."""


class CastOp(BaseOp, ABC):
    """Base of casts between scalars, or between vectors of as many lanes."""

    input = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def verify_(self) -> None:
        source, target = self.input.type, self.result.type
        if isinstance(source, VectorType) != isinstance(target, VectorType) or (
            isinstance(source, VectorType) and source.get_shape() != target.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
        ):
            raise VerifyException(f"'{self.name}' op operand and result must have the same lanes, got {source} and {target}")
        takes, gives = _KINDS[self.name]
        if not takes(scalar_of(source)) or not gives(scalar_of(target)):
            raise VerifyException(f"'{self.name}' op cannot convert {source} to {target}")


def _any_integer(type: Attribute) -> bool:
    return is_integer(type) or is_bool(type)


def _signed(type: Attribute) -> bool:
    return _any_integer(type) and not is_unsigned(type)


def _index_or_signed(type: Attribute) -> bool:
    return isinstance(type, IndexType) or (is_integer(type) and not is_unsigned(type))


SIGNED_OPS = frozenset(f"arith.{name}" for name in ("divsi", "remsi", "floordivsi", "ceildivsi", "maxsi", "minsi", "shrsi")) | {
    "math.absi"
}
"""Signed arithmetic: unsigned types have ops of their own."""


class ConstantOp(BaseOp, arith.ConstantOp):
    """A constant; upstream's are of signless types, ours of unsigned ones too.

    ```mlir
    %c = arith.constant 200 : ui8
    ```
    """

    def verify_(self) -> None:
        value = self.value
        if not isinstance(value, IntegerAttr) or not is_unsigned(value.type):
            super().verify_()
        elif value.type != self.result.type:
            raise VerifyException(f"'{self.name}' op result must be {value.type}, got {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, TypedAttribute):
            parser.raise_error(f"'{cls.name}' op value must be a number or a dense constant, got {value}", position)
        return cls.create(result_types=[value.get_type()], properties={"value": value}, attributes=attributes)


def _cast(name: str, meaning: str, takes: Predicate, gives: Predicate) -> type[CastOp]:
    """The cast `arith.<name>`, between element types of these kinds."""
    _KINDS[f"arith.{name}"] = takes, gives
    return irdl_op_definition(type(name, (CastOp,), {"__doc__": meaning, "__module__": __name__, "name": f"arith.{name}"}))


IndexCastOp = _cast("index_cast", "Conversion between index and integers.", _index_or_signed, _index_or_signed)
ExtSIOp = _cast("extsi", "Sign extension.", _signed, is_integer)
ExtUIOp = _cast("extui", "Zero extension.", _any_integer, is_integer)
TruncIOp = _cast("trunci", "Integer truncation.", is_integer, _any_integer)
ExtFOp = _cast("extf", "Exact conversion to a wider float.", is_float, is_float)
TruncFOp = _cast("truncf", "Conversion to a narrower float, to nearest even.", is_float, is_float)
SIToFPOp = _cast("sitofp", "Signed integer to float, to nearest even.", _signed, is_float)
UIToFPOp = _cast("uitofp", "Unsigned integer to float, to nearest even.", _any_integer, is_float)
_SATURATES = "toward zero; out of range is undefined upstream and saturates here, NaN gives 0."
FPToSIOp = _cast("fptosi", f"Float to signed integer {_SATURATES}", is_float, _signed)
FPToUIOp = _cast("fptoui", f"Float to unsigned integer {_SATURATES}", is_float, _any_integer)


@irdl_op_definition
class SelectOp(BaseOp):
    """Selection by a condition: one for all lanes, or one per lane.

    ```mlir
    %r = arith.select %c, %a, %b : f32
    %v = arith.select %m, %x, %y : vector<8xi1>, vector<8xf32>
    ```
    """

    name = "arith.select"
    T: ClassVar = VarConstraint("T", AnyAttr())
    cond = operand_def()
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        condition, value = self.cond.type, self.result.type
        lanes = value.get_shape() if isinstance(value, VectorType) else None
        if condition != i1 and (lanes is None or condition != VectorType(i1, lanes)):
            raise VerifyException(f"'arith.select' op condition must be i1 or one i1 for each lane of {value}, got {condition}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        position = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        condition = types[0] if len(types) == 2 else i1
        values = parser.resolve_operands(operands, [condition, types[-1], types[-1]], position)
        return cls.create(operands=values, result_types=[types[-1]], attributes=attributes)


class CompareOp(BaseOp, ABC):
    """Base of comparisons of scalars, giving i1, or of vectors, giving one i1 a lane."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    lhs = operand_def(T)
    rhs = operand_def(T)
    predicate = prop_def(IntegerAttr)
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        type = self.lhs.type
        wanted = VectorType(i1, type.get_shape()) if isinstance(type, VectorType) else i1
        if self.result.type != wanted:
            raise VerifyException(f"'{self.name}' op result must be {wanted}, got {self.result.type}")
        if not 0 <= self.predicate.value.data < len(_PREDICATES[self.name]):
            raise VerifyException(f"'{self.name}' op has no predicate {self.predicate.value.data}")
        predicate = self.predicate.value.data
        if is_unsigned(scalar_of(type)) and 2 <= predicate < 6:
            word = _PREDICATES[self.name][predicate + 4]
            raise VerifyException(f"'{self.name}' op compares {type} as signed: the predicate of unsigned integers is {word}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {_PREDICATES[self.name][self.predicate.value.data]}, ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        predicates = _PREDICATES[cls.name]
        position = parser.pos
        word = parser.parse_identifier()
        if word not in predicates:
            parser.raise_error(f"'{cls.name}' op predicate must be one of {', '.join(predicates)}, got {word}", position)
        parser.parse_punctuation(",")
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        values = parser.resolve_operands(operands, [type] * 2, position)
        result = VectorType(i1, type.get_shape()) if isinstance(type, VectorType) else i1
        properties: dict[str, Attribute] = {"predicate": IntegerAttr(predicates.index(word), i64)}
        if "fastmath" in cls.get_irdl_definition().properties:
            properties["fastmath"] = FastMathFlagsAttr("none")
        return cls.create(operands=values, result_types=[result], properties=properties, attributes=attributes)


_PREDICATES: dict[str, list[str]] = {
    "arith.cmpi": ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"],
    "arith.cmpf": [
        *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
        *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
    ],
}


@irdl_op_definition
class CmpiOp(CompareOp):
    """Comparison of integers.

    ```mlir
    %r = arith.cmpi slt, %a, %b : vector<8xi32>
    ```
    """

    name = "arith.cmpi"


@irdl_op_definition
class CmpfOp(CompareOp):
    """Comparison of floats.

    ```mlir
    %r = arith.cmpf olt, %a, %b : vector<8xf32>
    ```
    """

    name = "arith.cmpf"
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))


@irdl_op_definition
class RemFOp(BaseOp):
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


class FloatFunctionOp(BaseOp, ABC):
    """Base of functions of a float, or of a vector of floats, that `math` lacks."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    operand = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    traits = traits_def(Pure())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


@irdl_op_definition
class ErfcOp(FloatFunctionOp):
    """Complementary error function.

    ```mlir
    %r = math.erfc %x : f32
    ```
    """

    name = "math.erfc"


class FloatFunctionsOp(BaseOp, ABC):
    """Base of functions of two floats, or of vectors of floats, that `math` lacks."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


def own_function(name: str, meaning: str, arity: int = 1) -> type[IRDLOperation]:
    """The op `scalar.<name>` of one or two floats, for functions that upstream lacks."""
    shown = f"%r = scalar.{name} {', '.join(('%x', '%y')[:arity])} : f32"
    members = {"__doc__": f"{meaning}\n\n```mlir\n{shown}\n```\n", "__module__": __name__, "name": f"scalar.{name}"}
    base = FloatFunctionOp if arity == 1 else FloatFunctionsOp
    made: Any = type("".join(map(str.capitalize, name.split("_"))) + "Op", (base,), members)
    return irdl_op_definition(made)


@irdl_op_definition
class StepOp(BaseOp):
    """The vector 0, 1, 2, ...

    ```mlir
    %s = vector.step : vector<8xindex>
    ```
    """

    name = "vector.step"
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"


def number_of(value: SSAValue) -> Any:
    """The number of a scalar constant; None for any other value."""
    op = value.owner
    return op.value.value.data if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr | FloatAttr) else None


def _replaced(dialect: Dialect, ops: list[type[IRDLOperation]]) -> Dialect:
    names = {op.name for op in ops}
    kept = [op for op in dialect.operations if op.name not in names]
    return Dialect(dialect.name, [*kept, *ops], list(dialect.attributes), list(dialect._interfaces))


def arith_dialect() -> Dialect:
    """xDSL's `arith` with the ops above."""
    from xdsl.dialects.arith import Arith

    casts = [ExtSIOp, ExtUIOp, TruncIOp, ExtFOp, TruncFOp, SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp, IndexCastOp]
    return _replaced(Arith, [*casts, ConstantOp, RemFOp, SelectOp, CmpiOp, CmpfOp])


def math_dialect() -> Dialect:
    """xDSL's `math` with the op above."""
    from xdsl.dialects.math import Math

    return _replaced(Math, [ErfcOp])


def vector_dialect() -> Dialect:
    """xDSL's `vector` with the ops above."""
    from xdsl.dialects.vector import Vector

    return _replaced(Vector, [StepOp])

"""Scalar and vector arithmetic as xDSL `arith` and `math` ops, chosen by element type.

Equations of graph ops, kernel frontends and schedule steps write their arithmetic through `ScalarBuilder`; the same body serves
floats, integers and booleans, scalars and vectors.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from . import vocabulary
from .types import i1, is_bool, is_float, scalar_of, vector
from .types import index as index_type

_FASTMATH_NONE = arith.FastMathFlagsAttr("none")
_NO_OVERFLOW = arith.IntegerOverflowAttr("none")

# name -> (float op, integer op, i1 op); None where the element type has no such operation
_BINARY: dict[str, tuple[type[Operation] | None, type[Operation] | None, type[Operation] | None]] = {
    "add": (arith.AddfOp, arith.AddiOp, arith.OrIOp),
    "sub": (arith.SubfOp, arith.SubiOp, arith.XOrIOp),
    "mul": (arith.MulfOp, arith.MuliOp, arith.AndIOp),
    "div": (arith.DivfOp, arith.DivSIOp, None),
    "rem": (vocabulary.RemFOp, arith.RemSIOp, None),
    "max": (arith.MaximumfOp, arith.MaxSIOp, arith.OrIOp),
    "min": (arith.MinimumfOp, arith.MinSIOp, arith.AndIOp),
    "pow": (math.PowFOp, None, None),
    "atan2": (math.Atan2Op, None, None),
    "and": (None, arith.AndIOp, arith.AndIOp),
    "or": (None, arith.OrIOp, arith.OrIOp),
    "xor": (None, arith.XOrIOp, arith.XOrIOp),
    "shl": (None, arith.ShLIOp, None),
    "shr": (None, arith.ShRSIOp, None),
}
_OVERFLOW_OPS = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp)

_UNARY: dict[str, type[Operation]] = {
    "floor": math.FloorOp,
    "ceil": math.CeilOp,
    "rint": math.RoundEvenOp,
    "exp": math.ExpOp,
    "expm1": math.ExpM1Op,
    "log": math.LogOp,
    "log1p": math.Log1pOp,
    "sqrt": math.SqrtOp,
    "rsqrt": math.RsqrtOp,
    "sin": math.SinOp,
    "cos": math.CosOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "erf": math.ErfOp,
    "erfc": vocabulary.ErfcOp,
}

# comparison -> (arith.cmpf predicate, arith.cmpi predicate); i1 compares as the unsigned 0 and 1
_CMPF = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}
_CMPI = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_CMPU = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}

IDENTITY: dict[str, tuple[float, int | str, int]] = {
    # monoid -> (float identity, integer identity: a number or "min"/"max" of the type, i1 identity)
    "add": (0.0, 0, 0),
    "mul": (1.0, 1, 1),
    "max": (float("-inf"), "min", 0),
    "min": (float("inf"), "max", 1),
    "and": (0.0, -1, 1),
    "or": (0.0, 0, 0),
}


class ScalarBuilder:
    """Appends arith/math ops to a block; operands may be scalars or vectors of one type. About 10 us an op."""

    def __init__(self, block: Block, location: Attribute | None = None):
        self.block = block
        self.location = location

    def insert(self, op: Operation) -> Any:
        """Append an op and return its first result."""
        if self.location is not None:
            op.location = self.location  # pyright: ignore[reportAttributeAccessIssue]
        self.block.add_op(op)
        return op.results[0]

    def const(self, value: float | int | bool, type: Attribute) -> SSAValue:
        """A constant of a scalar type, or a splat of a vector type."""
        element = scalar_of(type)
        scalar = FloatAttr(value, element) if is_float(element) else IntegerAttr(int(value), element)  # pyright: ignore
        if isinstance(type, VectorType):
            attribute = DenseIntOrFPElementsAttr.from_list(type, [scalar.value.data])  # pyright: ignore
        else:
            attribute = scalar
        return self.insert(arith.ConstantOp.create(result_types=[type], properties={"value": attribute}))

    def binary(self, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`add sub mul div rem max min pow and or xor shl shr` by element type. Integer `div` and `rem` truncate."""
        element = scalar_of(x.type)
        column = 0 if is_float(element) else 2 if is_bool(element) else 1
        op = _BINARY[name][column]
        if op is None:
            raise TypeError(f"no scalar operation {name} for {element}")
        properties: dict[str, Attribute] = {}
        if column == 0:
            properties["fastmath"] = _FASTMATH_NONE
        elif op in _OVERFLOW_OPS:
            properties["overflowFlags"] = _NO_OVERFLOW
        return self.insert(op.create(operands=[x, y], result_types=[x.type], properties=properties))

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("add", x, y)

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("sub", x, y)

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("mul", x, y)

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("div", x, y)

    def max(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("max", x, y)

    def min(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("min", x, y)

    def unary(self, name: str, x: SSAValue) -> SSAValue:
        """A `math` function of a float, by its graph name."""
        return self.insert(_UNARY[name].create(operands=[x], result_types=[x.type], properties={"fastmath": _FASTMATH_NONE}))

    def neg(self, x: SSAValue) -> SSAValue:
        if is_float(scalar_of(x.type)):
            return self.insert(
                arith.NegfOp.create(operands=[x], result_types=[x.type], properties={"fastmath": _FASTMATH_NONE})
            )
        return self.sub(self.const(0, x.type), x)

    def abs(self, x: SSAValue) -> SSAValue:
        if is_float(scalar_of(x.type)):
            return self.insert(math.AbsFOp.create(operands=[x], result_types=[x.type], properties={"fastmath": _FASTMATH_NONE}))
        return self.insert(math.AbsIOp.create(operands=[x], result_types=[x.type]))

    def sign(self, x: SSAValue) -> SSAValue:
        """-1, 0 or 1; NaN for NaN, and 0 of either sign keeps its value +0 as in NumPy."""
        zero, one = self.const(0, x.type), self.const(1, x.type)
        minus = self.const(-1, x.type)
        below = self.select(self.cmp("lt", x, zero), minus, zero)
        signed = self.select(self.cmp("gt", x, zero), one, below)
        if not is_float(scalar_of(x.type)):
            return signed
        return self.select(self.cmp("ne", x, x), x, signed)

    def invert(self, x: SSAValue) -> SSAValue:
        """Bitwise not; logical not for i1."""
        ones = self.const(1 if is_bool(scalar_of(x.type)) else -1, x.type)
        return self.binary("xor", x, ones)

    def cmp(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`eq ne lt le gt ge` as NumPy has them: every comparison with NaN but `ne` is false."""
        element = scalar_of(x.type)
        result = vector(i1, x.type.get_shape()[0]) if isinstance(x.type, VectorType) else i1
        if is_float(element):
            properties: dict[str, Attribute] = {
                "predicate": IntegerAttr(_CMPF[predicate], 64),
                "fastmath": _FASTMATH_NONE,
            }
            return self.insert(vocabulary.CmpfOp.create(operands=[x, y], result_types=[result], properties=properties))
        table = _CMPU if is_bool(element) else _CMPI
        properties = {"predicate": IntegerAttr(table[predicate], 64)}
        return self.insert(vocabulary.CmpiOp.create(operands=[x, y], result_types=[result], properties=properties))

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.insert(vocabulary.SelectOp.create(operands=[condition, x, y], result_types=[x.type]))

    def convert(self, x: SSAValue, element: Attribute) -> SSAValue:
        """Convert to another element type, keeping the lanes. Floats to integers truncate and saturate, NaN gives 0."""
        source = scalar_of(x.type)
        if source == element:
            return x
        result = vector(element, x.type.get_shape()[0]) if isinstance(x.type, VectorType) else element
        if is_bool(element):
            return self.cmp("ne", x, self.const(0, x.type))
        if is_float(source):
            if is_float(element):
                wider = _bits(element) > _bits(source)
                op = vocabulary.ExtFOp if wider else vocabulary.TruncFOp
                return self.insert(op.create(operands=[x], result_types=[result]))
            return self.insert(vocabulary.FPToSIOp.create(operands=[x], result_types=[result]))
        if is_float(element):
            op = vocabulary.UIToFPOp if is_bool(source) else vocabulary.SIToFPOp
            return self.insert(op.create(operands=[x], result_types=[result]))
        if source == index_type or element == index_type:
            return self.insert(vocabulary.IndexCastOp.create(operands=[x], result_types=[result]))
        if is_bool(source):
            return self.insert(vocabulary.ExtUIOp.create(operands=[x], result_types=[result]))
        op = vocabulary.ExtSIOp if _bits(element) > _bits(source) else vocabulary.TruncIOp
        return self.insert(op.create(operands=[x], result_types=[result]))

    def combine(self, monoid: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """One step of a reduction by a scalar monoid."""
        return self.binary(monoid, x, y)

    def identity(self, monoid: str, type: Attribute) -> SSAValue:
        """The neutral element of a scalar monoid, of a scalar or vector type."""
        return self.const(identity_value(monoid, scalar_of(type)), type)


def _bits(element: Attribute) -> int:
    return element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]


def identity_value(monoid: str, element: Attribute) -> float | int:
    """The neutral element of `add mul max min and or` over an element type."""
    of_float, of_integer, of_bool = IDENTITY[monoid]
    if is_float(element):
        return of_float
    if is_bool(element):
        return of_bool
    bits = 64 if element == index_type else _bits(element)
    return {"min": -(1 << bits - 1), "max": (1 << bits - 1) - 1}.get(of_integer, of_integer)  # pyright: ignore

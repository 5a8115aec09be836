"""Scalar and vector arithmetic as xDSL `arith` and `math` ops, chosen by element type.

Equations of graph ops, kernel frontends and schedule steps write their arithmetic through `ScalarBuilder`; the same body serves
floats, integers and booleans, scalars and vectors.
"""

from __future__ import annotations

from functools import lru_cache
from math import copysign
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from . import vocabulary
from .functions import FUNCTIONS
from .operations import append, create
from .packed_dot import KINDS
from .scalar_ops import DotWordsOp
from .types import (
    Kind,
    bf16,
    f32,
    f64,
    i1,
    i64,
    integer_range,
    is_bool,
    is_float,
    is_stored,
    is_unsigned,
    kind_of,
    part_of,
    scalar_of,
    vector,
    width_of,
)
from .types import index as index_type

_FASTMATH_NONE = arith.FastMathFlagsAttr("none")
_NO_OVERFLOW = arith.IntegerOverflowAttr("none")

_KINDS = (Kind.FLOAT, Kind.SIGNED, Kind.UNSIGNED, Kind.BOOL)
# name -> the op on each of these kinds; None where a kind has no such operation
_BINARY: dict[str, tuple[type[Operation] | None, ...]] = {
    "add": (arith.AddfOp, arith.AddiOp, arith.AddiOp, arith.OrIOp),
    "sub": (arith.SubfOp, arith.SubiOp, arith.SubiOp, arith.XOrIOp),
    "mul": (arith.MulfOp, arith.MuliOp, arith.MuliOp, arith.AndIOp),
    "div": (arith.DivfOp, arith.DivSIOp, arith.DivUIOp, None),
    "floordiv": (None, arith.FloorDivSIOp, arith.DivUIOp, None),
    "rem": (vocabulary.RemFOp, arith.RemSIOp, arith.RemUIOp, None),
    "max": (arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp, arith.OrIOp),
    "min": (arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp, arith.AndIOp),
    "pow": (math.PowFOp, math.IPowIOp, None, None),
    "and": (None, arith.AndIOp, arith.AndIOp, arith.AndIOp),
    "or": (None, arith.OrIOp, arith.OrIOp, arith.OrIOp),
    "xor": (None, arith.XOrIOp, arith.XOrIOp, arith.XOrIOp),
    "shl": (None, arith.ShLIOp, arith.ShLIOp, None),
    "shr": (None, arith.ShRSIOp, arith.ShRUIOp, None),
}
_OVERFLOW_OPS = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp)

_COUNTS: dict[str, type[Operation]] = {"popcount": math.CtPopOp, "clz": math.CountLeadingZerosOp}

# comparison -> predicate of arith.cmpf, of arith.cmpi on signed and on unsigned integers; i1 compares as the unsigned 0 and 1
_CMPF = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}
_CMPI = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_CMPU = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}

_IDENTITY: dict[str, tuple[float, int | str]] = {
    # monoid -> (float identity, integer identity: a number, the "min" or "max" of the type, or "ones", all bits set)
    "add": (0.0, 0),
    "mul": (1.0, 1),
    "max": (float("-inf"), "min"),
    "min": (float("inf"), "max"),
    "and": (0.0, "ones"),
    "or": (0.0, 0),
}


@lru_cache(maxsize=4096, typed=True)
def _constant(value: float | int | bool, sign: float, type: Attribute) -> Attribute:
    """The value of a constant; `sign` distinguishes zeros."""
    scalar: Any = scalar_attribute(value, scalar_of(type))
    return DenseIntOrFPElementsAttr.from_list(type, [scalar.value.data]) if isinstance(type, VectorType) else scalar


def scalar_attribute(value: float | int | bool, element: Any) -> FloatAttr | IntegerAttr:
    """A number as an attribute of an element type."""
    return FloatAttr(value, element) if is_float(element) else IntegerAttr(int(value), element)


class ScalarBuilder:
    """Appends arith/math ops to a block; operands may be scalars or vectors of one type. About 10 us an op."""

    def __init__(self, block: Block, location: LocationAttr | None = None):
        self.block = block
        self.location = location

    def insert(self, op: Operation) -> Any:
        """Append an op and return its first result."""
        if self.location is not None:
            op.location = self.location
        append(self.block, op)
        return op.results[0]

    def const(self, value: float | int | bool, type: Attribute) -> SSAValue:
        """A constant of a scalar type, or a splat of a vector type."""
        attribute = _constant(value, copysign(1.0, value) if value == 0 else 0.0, type)
        return self.insert(create(vocabulary.ConstantOp, result_types=[type], properties={"value": attribute}))

    def binary(self, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`add sub mul div floordiv rem max min pow and or xor shl shr` by element type, or a function of two floats.

        Integer `div` and `rem` truncate.
        """
        element = scalar_of(x.type)
        row = _BINARY.get(name) or (FUNCTIONS[name].op, None, None, None)
        op = row[_KINDS.index(kind_of(element))]
        if op is None:
            raise TypeError(f"no scalar operation {name} for {element}")
        properties: dict[str, Attribute] = {}
        if is_float(element):
            properties["fastmath"] = _FASTMATH_NONE
        elif op in _OVERFLOW_OPS:
            properties["overflowFlags"] = _NO_OVERFLOW
        return self.insert(create(op, operands=[x, y], result_types=[x.type], properties=properties))

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
        """A function of a float, by its name in `functions.py`."""
        op = FUNCTIONS[name].op
        return self.insert(create(op, operands=[x], result_types=[x.type], properties={"fastmath": _FASTMATH_NONE}))

    def fma(self, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        """`x * y + z` of floats, in one rounding where the target has the instruction."""
        properties: dict[str, Attribute] = {"fastmath": _FASTMATH_NONE}
        return self.insert(create(math.FmaOp, operands=[x, y, z], result_types=[x.type], properties=properties))

    def dot_words(self, of: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """The sum of the products of the parts of two words, of a kind of `words.KINDS`."""
        result = _with_element(x.type, KINDS[of].result)
        return self.insert(create(DotWordsOp, operands=[x, y], result_types=[result], properties={"of": StringAttr(of)}))

    def count(self, name: str, x: SSAValue) -> SSAValue:
        """`popcount`, the bits that are set, or `clz`, those above the highest that is, of an integer."""
        element = scalar_of(x.type)
        signless = self.bitcast(x, IntegerType(width_of(element)))
        return self.bitcast(self.insert(create(_COUNTS[name], operands=[signless], result_types=[signless.type])), element)

    def bitcast(self, x: SSAValue, element: Attribute) -> SSAValue:
        """The same bits as another element type, as wide as that of `x`."""
        if scalar_of(x.type) == element:
            return x
        return self.insert(create(arith.BitcastOp, operands=[x], result_types=[_with_element(x.type, element)]))

    def neg(self, x: SSAValue) -> SSAValue:
        if is_float(scalar_of(x.type)):
            return self.insert(
                create(arith.NegfOp, operands=[x], result_types=[x.type], properties={"fastmath": _FASTMATH_NONE})
            )
        return self.sub(self.const(0, x.type), x)

    def abs(self, x: SSAValue) -> SSAValue:
        if is_float(scalar_of(x.type)):
            return self.insert(
                create(math.AbsFOp, operands=[x], result_types=[x.type], properties={"fastmath": _FASTMATH_NONE})
            )
        if is_unsigned(scalar_of(x.type)):
            return x
        return self.insert(create(math.AbsIOp, operands=[x], result_types=[x.type]))

    def sign(self, x: SSAValue) -> SSAValue:
        """-1, 0 or 1; NaN for NaN, and 0 of either sign keeps its value +0 as in NumPy."""
        zero, one = self.const(0, x.type), self.const(1, x.type)
        if is_unsigned(scalar_of(x.type)):
            return self.binary("min", x, one)
        minus = self.const(-1, x.type)
        below = self.select(self.cmp("lt", x, zero), minus, zero)
        signed = self.select(self.cmp("gt", x, zero), one, below)
        if not is_float(scalar_of(x.type)):
            return signed
        return self.select(self.cmp("ne", x, x), x, signed)

    def invert(self, x: SSAValue) -> SSAValue:
        """Bitwise not; logical not for i1."""
        return self.binary("xor", x, self.identity("and", x.type))

    def cmp(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`eq ne lt le gt ge` as NumPy has them: every comparison with NaN but `ne` is false."""
        element = scalar_of(x.type)
        result = _with_element(x.type, i1)
        if is_float(element):
            properties: dict[str, Attribute] = {
                "predicate": IntegerAttr(_CMPF[predicate], 64),
                "fastmath": _FASTMATH_NONE,
            }
            return self.insert(create(vocabulary.CmpfOp, operands=[x, y], result_types=[result], properties=properties))
        table = _CMPI if kind_of(element) is Kind.SIGNED else _CMPU
        properties = {"predicate": IntegerAttr(table[predicate], 64)}
        return self.insert(create(vocabulary.CmpiOp, operands=[x, y], result_types=[result], properties=properties))

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.insert(create(vocabulary.SelectOp, operands=[condition, x, y], result_types=[x.type]))

    def convert(self, x: SSAValue, element: Attribute) -> SSAValue:
        """Convert to another element type, keeping the lanes. Floats to integers truncate and saturate, NaN gives 0."""
        source = scalar_of(x.type)
        if source == element:
            return x
        if is_bool(element):
            return self.cmp("ne", x, self.const(0, x.type))
        if index_type in (source, element) and (is_unsigned(source) or is_unsigned(element)):
            return self.convert(self.convert(x, i64), element)
        if is_stored(element) and is_float(element) and not is_float(source):
            return self.convert(self._wide_float(x, element), element)
        return self.insert(create(_cast(source, element), operands=[x], result_types=[_with_element(x.type, element)]))

    def _wide_float(self, x: SSAValue, element: Attribute) -> SSAValue:
        """Integers as floats that are rounded to `element` as they themselves are: those of more than 16 bits for bf16 are f64.

        An integer beyond f32's 24 bits is an infinity in the other types. One beyond f64's 53 bits gets one bit for all below
        those that f64 holds.
        """
        source = scalar_of(x.type)
        width = width_of(source)
        if width <= 16 or element != bf16:
            return self.convert(x, f32)
        if width == 64:
            low = self.binary("and", x, self.const(0x7FF, x.type))
            some = self.select(self.cmp("ne", low, self.const(0, x.type)), self.const(0x400, x.type), self.const(0, x.type))
            marked = self.binary("or", self.binary("xor", x, low), some)
            x = self.select(self.cmp("lt", self.abs(x), self.const(1 << 53, x.type)), x, marked)
        return self.convert(x, f64)

    def combine(self, monoid: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """One step of a reduction by a scalar monoid."""
        return self.binary(monoid, x, y)

    def identity(self, monoid: str, type: Attribute) -> SSAValue:
        """The neutral element of a scalar monoid, of a scalar or vector type."""
        return self.const(identity_value(monoid, scalar_of(type)), type)


def _with_element(type: Attribute, element: Attribute) -> Attribute:
    """The type with the same number of lanes of another element type."""
    return vector(element, type.get_shape()[0]) if isinstance(type, VectorType) else element


def _cast(source: Attribute, target: Attribute) -> type[Operation]:
    """The op that converts between two element types, which differ."""
    signed = kind_of(source) is Kind.SIGNED
    if index_type in (source, target):
        return vocabulary.IndexCastOp
    if is_float(source) and not is_float(target):
        return vocabulary.FPToUIOp if is_unsigned(target) else vocabulary.FPToSIOp
    if is_float(target) and not is_float(source):
        return vocabulary.SIToFPOp if signed else vocabulary.UIToFPOp
    if is_float(source):
        return vocabulary.ExtFOp if width_of(target) > width_of(source) else vocabulary.TruncFOp
    if width_of(target) == width_of(source):
        return arith.BitcastOp
    if width_of(target) < width_of(source):
        return vocabulary.TruncIOp
    return vocabulary.ExtSIOp if signed else vocabulary.ExtUIOp


def identity_value(monoid: str, element: Attribute) -> float | int:
    """The neutral element of `add mul max min and or` over an element type."""
    of_float, of_integer = _IDENTITY[monoid]
    if is_float(part_of(element)):
        return of_float
    if isinstance(of_integer, int):
        return of_integer
    low, high = integer_range(element)
    return {"min": low, "max": high, "ones": high if low == 0 else -1}[of_integer]

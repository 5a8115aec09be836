"""The values of expressions in a kernel: numbers, index expressions, scalars, arrays; and the promotion of their types.

Index expressions (loop variables, sizes; sums, multiples, `//` and `%` of them by numbers) stay affine, and so do subscripts
made of them. Everything else is a scalar of an element type. Types are promoted as in NumPy: a Python number is weak and takes
the type of the other operand; a value that comes from an array or a parameter has a type of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ...dialects.loop.subscripts import linear_form
from ...dialects.types import element_of, element_type, f64, i1, i64, is_bool, is_float, numpy_dtype
from .annotations import NAMES

_TOO_LARGE = 1 << 1023
"""Numbers below this are floats, too."""


class Mismatch(Exception):
    """Operands that cannot be combined; the message says why and what to write."""


@dataclass(frozen=True)
class Number:
    """A number that is known, of Python's own, or with the type that a NumPy scalar or array has."""

    value: int | float | bool
    type: Attribute | None = None

    def __post_init__(self) -> None:
        if isinstance(self.value, int) and abs(self.value) >= _TOO_LARGE:
            raise Mismatch(f"an integer of {self.value.bit_length()} bits is too large: write it as a float")


@dataclass(frozen=True, eq=False)
class Index:
    """An affine expression over index values."""

    expr: AffineExpr
    dims: tuple[SSAValue, ...] = ()

    @staticmethod
    def of(value: SSAValue) -> Index:
        return Index(AffineDimExpr(0), (value,))

    @staticmethod
    def number(value: int) -> Index:
        return Index(AffineConstantExpr(value))

    @property
    def constant(self) -> int | None:
        """The number, if it is one."""
        form = linear_form(self.expr, len(self.dims))
        return form[1] if form is not None and not any(form[0]) else None


@dataclass(frozen=True, eq=False)
class Extreme:
    """The `min` or the `max` of index expressions: a bound of a loop can be one."""

    which: str
    items: tuple[Index, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """One of two numbers, both bools or none; the numbers are weakly typed."""

    condition: SSAValue
    yes: Number
    no: Number


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar of an element type. A weak one is an int or a float in Python, too."""

    ssa: SSAValue
    weak: bool = False

    @property
    def type(self) -> Attribute:
        return self.ssa.type


@dataclass(frozen=True, eq=False)
class Axis:
    """How a view goes along one dim of its buffer: from `offset` in steps with an index of the view, or at `offset` only."""

    offset: Index
    dim: int | None = None
    step: int = 1


@dataclass(frozen=True, eq=False)
class Array:
    """A buffer, or a view of it, and its sizes.

    Attributes:
        axes: of a view one for each dim of the buffer.
        is_complex: whether elements are pairs along one more dim of the buffer, the last: the real and the imaginary part.
    """

    buffer: SSAValue
    sizes: tuple[Index, ...]
    axes: tuple[Axis, ...] | None = None
    is_complex: bool = False

    @property
    def element(self) -> Attribute:
        return element_of(self.buffer)

    @property
    def name(self) -> str:
        return self.buffer.name_hint or "?"


@dataclass(frozen=True, eq=False)
class Items:
    """A tuple."""

    items: tuple[Any, ...]


class Complex(Items):
    """A complex number: its real and its imaginary part."""

    @staticmethod
    def of(value: Any) -> Complex:
        """The value, or a real one with an imaginary part of 0."""
        return value if isinstance(value, Complex) else Complex((value, Number(0)))


class Conjugate(Complex):
    """The conjugate of a complex number, whose products need no negation."""

    def __init__(self, items: tuple[Any, ...], of: Complex):
        super().__init__(items)
        object.__setattr__(self, "of_number", of)

    of_number: Complex


@dataclass(frozen=True)
class Packed:
    """A variable that holds a tuple of so many items, or a complex number; items are variables, too: `item_name` says which."""

    count: int
    is_complex: bool = False


def item_name(name: str, k: int) -> str:
    """The variable with an item of a tuple."""
    return f"{name}#{k}"


def variable_of(name: str) -> str:
    """The variable of the program that a variable belongs to."""
    return name.partition("#")[0]


@dataclass(frozen=True)
class Unset:
    """The value of a variable before it is assigned, where the way on which it is read is known to come later."""


UNSET = Unset()
Value = Number | Index | Extreme | Choice | Scalar | Unset
Kind = Attribute | str
"""An element type, or a kind without one: `int`, `float` and `bool` for numbers, `whole` for integers that are computed,
`unset` where none has been assigned."""


def choice(condition: SSAValue, x: Value, y: Value) -> Choice | None:
    """The choice between two values, if they are numbers that can have one type."""
    if isinstance(x, Number) and isinstance(y, Number) and isinstance(x.value, bool) == isinstance(y.value, bool):
        return Choice(condition, x, y)
    return None


def known(function: Callable[[Any], Any], value: Number | Choice) -> Number | Choice:
    """A function of Python's on a number, or on both that a choice has."""
    try:
        if isinstance(value, Number):
            result = function(value.value)
            return Number(result, value.type if type(result) is type(value.value) else None)
        return Choice(value.condition, Number(function(value.yes.value)), Number(function(value.no.value)))
    except (ValueError, OverflowError) as error:
        raise Mismatch(str(error)) from None


def kind_of(value: Value) -> Kind:
    """The kind of a variable that holds the value."""
    if isinstance(value, Number):
        return value.type or type(value.value).__name__
    if isinstance(value, Choice):
        return join(kind_of(value.yes), kind_of(value.no))
    if isinstance(value, Scalar):
        return value.type if not value.weak else "float" if is_float(value.type) else "whole"
    return "unset" if isinstance(value, Unset) else "whole"


def spell(kind: Kind) -> str:
    """A kind in messages."""
    if isinstance(kind, str):
        return {"whole": "int"}.get(kind, kind)
    return NAMES.get(kind, str(kind))


def default(kind: Kind) -> Attribute:
    """The element type that values of a kind have where they meet no other."""
    return kind if isinstance(kind, Attribute) else {"bool": i1, "float": f64}.get(kind, i64)


def held(ssa: SSAValue, kind: Kind) -> Scalar:
    """The value of a variable of a kind."""
    return Scalar(ssa, not isinstance(kind, Attribute) and kind != "bool")


def join(a: Kind, b: Kind) -> Kind:
    """The kind of a variable that holds first one, then the other kind.

    Raises:
        Mismatch: no kind holds both as they are.
    """
    for x, y in ((a, b), (b, a)):
        if x == y or x == "unset" or (y == i1 and x == "bool"):
            return y
        if x == "int" and y != "bool" and y != i1:
            return y
        if x == "whole" and (y == "float" or (isinstance(y, Attribute) and y != i1)):
            return _with_whole(y)
        if x == "float" and isinstance(y, Attribute) and is_float(y):
            return y
    remedy = f"lm.{NAMES[a]}" if isinstance(a, Attribute) and a in NAMES else spell(a)
    raise Mismatch(f"is {spell(a)} and becomes {spell(b)}: a variable keeps its type, convert with {remedy}(...)")


def meet(*values: Value) -> Kind:
    """The result type of an operation on values, by NumPy's rules; but `whole` with i32 is i64."""
    return meet_kinds(*map(kind_of, values))


def meet_kinds(*kinds: Kind) -> Kind:
    """The result type of an operation on values of several kinds."""
    typed = [default(k) for k in kinds if isinstance(k, Attribute) or k == "bool"]
    if not typed:
        return "float" if "float" in kinds else "whole" if "whole" in kinds else "int"
    try:
        best = element_type(np.result_type(*map(numpy_dtype, typed)))
    except TypeError:  # NumPy has no type for both, as for f16 and bf16
        given = " and ".join(dict.fromkeys(map(spell, typed)))
        raise Mismatch(f"{given} have no common type: convert one, lm.f32(...)") from None
    if not is_float(best) and "float" in kinds:
        return f64
    if is_bool(best) and "int" in kinds:
        return i64
    return _with_whole(best) if "whole" in kinds else best


def _with_whole(kind: Kind) -> Kind:
    """The result type of an element type with computed integers: 64 bits, so that subscripts do not overflow."""
    if not isinstance(kind, Attribute) or is_float(kind):
        return kind
    wide = np.result_type(numpy_dtype(kind), np.int64)
    return i64 if wide == np.int64 else kind


def unify(*items: Index) -> tuple[list[AffineExpr], tuple[SSAValue, ...]]:
    """The expressions over common dims."""
    dims: list[SSAValue] = []
    exprs: list[AffineExpr] = []
    for item in items:
        places: list[AffineExpr] = []
        for dim in item.dims:
            if dim not in dims:
                dims.append(dim)
            places.append(AffineDimExpr(dims.index(dim)))
        exprs.append(item.expr.replace_dims_and_symbols(places, []))
    return exprs, tuple(dims)


def as_map(items: Sequence[Index]) -> tuple[AffineMap, tuple[SSAValue, ...]]:
    """Index expressions as the map and the index values of an access or a bound."""
    exprs, dims = unify(*items)
    return AffineMap(len(dims), 0, tuple(exprs)), dims

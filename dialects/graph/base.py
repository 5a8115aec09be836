"""The base of every graph op: the declarations of an op, and the methods by which passes read them.

An op states its type rule, its meaning, its loop form, its derivative and its batching rule once, in its class.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f64,
    i64,
)
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...errors import DTypeError, FixedSizeError, ShapeError
from ..facts import OpFacts, Rounding
from ..operations import BaseOp
from ..sizes.attribute import SizesAttr
from ..sizes.polynomial import Size
from ..syntax import integers, parse_op, print_op
from ..text_defaults import TextDefault
from ..types import COMPLEX, DYNAMIC, SUPPORTED, compatible, element_of, numpy_dtype, shape_of, show_shape, tensors_of
from ..verified import by_types

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

Props = Mapping[str, Attribute]
Types = Sequence[TensorType]


# --------------------------------------------------------------------------------------------------------------------
# Loop form


@dataclass(frozen=True)
class Position:
    """An index from data: the integer loaded by read number `read` of the equation, clamped into [0, last]."""

    read: int
    last: int


@dataclass(frozen=True)
class Read:
    """One access of an equation: `operand` at `map(iteration point)`; symbol `k` of the map is `positions[k]`."""

    operand: int
    map: AffineMap
    positions: tuple[Position, ...] = ()


@dataclass(frozen=True)
class Equation:
    """The loop form of an op: the iteration space and the body that computes one element of the result.

        for p in space[:n_parallel]:
            result[write(p)] = reduce(monoid, r in space[n_parallel:]) body(operand[read(p, r)] ...)

    Attributes:
        space: sizes of all iteration dims, parallel dims first, then reduction dims.
        reads: the accesses the body gets as scalars, in order; maps are over all dims of `space`, and over positions that
            earlier reads give.
        body: `body(b, *scalars)` builds the scalar expression with a `ScalarBuilder` and returns its value (a tuple for the
            pair monoids `argmax` and `argmin`). With `uses_index` it is called as `body(b, *scalars, index=[...])`, one
            index value a dim.
        write: map from the parallel dims to the result index; None is the identity.
        monoid: `add mul max min and or argmax argmin`, or None where nothing is reduced.
        n_reduce: how many trailing dims of `space` are reduced.
        sizes: sizes that the body gets as index values: it is called as `body(b, *scalars, sizes=[...])`.
        finish: applied to the reduced scalar, `finish(b, scalar)`; None is the identity.
    """

    space: tuple[int, ...]
    reads: tuple[Read, ...]
    body: Callable[..., Any]
    write: AffineMap | None = None
    monoid: str | None = None
    n_reduce: int = 0
    uses_index: bool = False
    finish: Callable[..., Any] | None = None
    sizes: tuple[int, ...] = ()

    @property
    def n_parallel(self) -> int:
        return len(self.space) - self.n_reduce


# --------------------------------------------------------------------------------------------------------------------
# Derivatives, declared by kind. `b` is a `GraphBuilder` that inserts graph ops.


@dataclass(frozen=True)
class Derivative:
    """How an op is differentiated: one of the kinds below."""


@dataclass(frozen=True)
class Zero(Derivative):
    """The derivative is zero almost everywhere (floor, sign, comparisons, integer results)."""


@dataclass(frozen=True)
class Linear(Derivative):
    """The op is linear in `operands` jointly (in all of them when None): its tangent is the op applied to tangents.

    `transpose(b, op, k, ct)` returns the cotangent of operand `k`.
    """

    transpose: Callable[..., SSAValue]
    operands: tuple[int, ...] | None = None
    sparse: Callable[[Any, Sequence[SSAValue | None]], SSAValue | None] | None = None
    """`sparse(b, tangents)`: the tangent where some operands have none, without zeros for these."""


@dataclass(frozen=True)
class Bilinear(Derivative):
    """Linear in each of two operands alone. `transpose(b, op, k, ct)`: cotangent of operand `k`, the other one fixed."""

    transpose: Callable[..., SSAValue]


@dataclass(frozen=True)
class Elementwise(Derivative):
    """`factors[k](b, *operands, result)` is d result / d operand k."""

    factors: tuple[Callable[..., SSAValue], ...]

    def __init__(self, *factors: Callable[..., SSAValue]):
        object.__setattr__(self, "factors", factors)


@dataclass(frozen=True)
class Custom(Derivative):
    """`jvp(b, op, tangents)` builds the tangents of the results, one value for each result or None for zero.

    `tangents[k]` is a value or None (zero); they are not all zero. What it builds from tangents must be linear ops.
    """

    jvp: Callable[..., Sequence[SSAValue | None]]
    transpose: Callable[..., SSAValue] | None = None
    """For an op that is also linear in the operands `linear` (div in its numerator): cotangent of operand `k`."""
    linear: tuple[int, ...] = ()


@dataclass(frozen=True)
class NotDifferentiable(Derivative):
    """No derivative; `reason(op)` says why to the user who asks for one."""

    reason: Callable[[Any], str]


# --------------------------------------------------------------------------------------------------------------------
# The op


def patterns_of(name: str) -> tuple[RewritePattern, ...]:
    """Gives the rules of an op as patterns; the dialect's `__init__.py` sets it."""
    return ()


class GraphOp(BaseOp, HasCanonicalizationPatternsInterface):
    """An op of the graph dialect: pure, over ranked tensors, each rule declared in its class."""

    traits = traits_def(Pure())
    types = "arrow"
    facts = OpFacts()
    """The facts that passes read of the op; see `facts.py`."""
    if TYPE_CHECKING:
        syntax: str
        """The syntax between the op name and the colon; see `syntax.py`."""
        text_defaults: Mapping[str, TextDefault]
        """Attributes that may be omitted in the text."""
        types: str
        """`same`: one type printed, results inferred; `result`: no operands; `arrow`: `(A, B) -> C`."""
        derivative: Derivative | None
        batching: str | Callable[..., Any] | None
        """The batching rule; None for composites of other packages, which are batched through their decomposition."""
        numpy: Callable[..., Any]
        """The NumPy function of an elementwise op whose `evaluate` only calls it."""

    @classmethod
    @abstractmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        """Result types from operand types and properties.

        `results` holds the declared types where the op takes its result shape from them (reshape, broadcast, convert ...).
        Raises ShapeError or DTypeError with the violated constraint's text, without the op name.
        """

    @abstractmethod
    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        """The meaning in NumPy: result arrays of exactly the declared dtypes and shapes."""

    @property
    def has_constant_slopes(self) -> bool:
        """Whether slopes are finite constants, whatever the operands are."""
        return isinstance(self.derivative, Zero | Linear)

    @property
    def rounding(self) -> Rounding:
        """The error of this op: that of its class, unless a property says more."""
        return self.facts.rounding

    @property
    def stores_together(self) -> bool:
        """Whether the several equations of the op, all over one space and without a reduction, are stored in one nest."""
        return self.facts.stores_together

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        """`evaluate` specialized for an op that no longer changes: whatever follows from its attributes is computed once."""
        return self.evaluate

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """The rules of this op (`rules.py`) as patterns for the stock `canonicalize`."""
        return patterns_of(cls.name)

    def equations(self) -> tuple[Equation, ...]:
        """The loop form; empty for composites, which are lowered through `decompose`, and for ops that have a `nest`."""
        return ()

    def single_equation(self) -> Equation | None:
        """The op's only equation if it stores each element at its own point, so that it can be computed in its users' loops."""
        equations = self.equations()
        return equations[0] if len(equations) == 1 and equations[0].write is None else None

    def without_unused(self, b: GraphBuilder) -> Sequence[SSAValue] | None:
        """The first results, computed without the unused ones where that saves work; else None (`graph-dce`)."""
        return None

    def nest(self, b: NestWriter) -> None:
        """The loop form of an op that no equation describes: write all loops with a `lowering.nest_builder.NestBuilder`.

        Unless a class does so, its loops are those of a kernel that is registered for it.
        """
        if self.facts.kernels is None:
            raise NotImplementedError(f"'{self.name}' op has no nest of its own")
        b.kernel()

    def plain_nest(self, b: NestWriter) -> None:
        """The loops of the op's plain definition, without blocks and tiles, which are built where `nest` fails.

        Composites need none, they are decomposed instead, and neither do ops whose `nest` is plain.
        """
        raise NotImplementedError(f"'{self.name}' op has no plainer nest")

    def copied(self) -> tuple[int, ...]:
        """The operands that the op's nest copies before it computes, so that it reads each element about once."""
        return ()

    @property
    def has_nest(self) -> bool:
        """Whether the op writes its own loops."""
        return type(self).nest is not GraphOp.nest or self.facts.kernels is not None

    def operand_parts(self) -> Sequence[Sequence[int]]:
        """For each operand its number, or those of its real and imaginary parts, which are operands of their own."""
        return [(k,) for k in range(len(self.operands))]

    def result_parts(self) -> Sequence[Sequence[int]]:
        """The same of results."""
        return [(k,) for k in range(len(self.results))]

    @property
    def has_plain_nest(self) -> bool:
        """Whether the op also has plain loops (`plain_nest`)."""
        return type(self).plain_nest is not GraphOp.plain_nest

    @classmethod
    def make(cls, operands: Sequence[SSAValue], props: Mapping[str, Any] | None = None, results: Types | None = None) -> Self:
        """Create the op with inferred result types. Cost: about 20 us, 6 where one of the same types came before.

        Raises:
            ShapeError, DTypeError: with the op name, the rule and the facts.
        """
        key = _made_from(cls, operands, props, results)
        made = _made.get(key) if key is not None else None
        if made is None:
            made = cls._inferred(operands, props or {}, results)
            if key is not None:
                if len(_made) >= _MOST_MADE:
                    _made.clear()
                _made[key] = made
        attributes, types = made
        return cls.create(operands=operands, result_types=types, properties=attributes, location=UNKNOWN_LOC)

    @classmethod
    def _inferred(
        cls, operands: Sequence[SSAValue], props: Mapping[str, Any], results: Types | None
    ) -> tuple[dict[str, Attribute], Types]:
        """Properties as attributes, and result types."""
        try:
            attributes = {name: to_attribute(value) for name, value in props.items()}
            cls._require_stored(operands)
            return attributes, cls.infer_types(tensors_of(operands), attributes, results)
        except (ShapeError, DTypeError) as error:
            raise type(error)(f"'{cls.name}' op {error}") from None

    @classmethod
    def _require_stored(cls, operands: Sequence[SSAValue]) -> None:
        """Raise DTypeError for complex operands of an op that takes none."""
        for operand in operands:
            if (element := element_of(operand)) in COMPLEX and element not in cls.facts.stores:
                raise DTypeError(f"operand element type must not be complex, got {element}")

    def print(self, printer: Printer) -> None:
        print_op(self, printer, self.syntax, self.types)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_op(cls, parser, cls.syntax, cls.types)

    @by_types
    def verify_(self) -> None:
        for value in (*self.operands, *self.results):
            if not isinstance(value.type, TensorType):
                raise VerifyException(f"'{self.name}' op needs ranked tensors, got {value.type}")
            if value.type.element_type not in (*SUPPORTED, *self.facts.stores):
                known = ", ".join(map(str, SUPPORTED))
                raise VerifyException(f"'{self.name}' op element type must be one of {known}, got {value.type}")
            if any(map(_is_negative, value.type.get_shape())):
                raise VerifyException(f"'{self.name}' op sizes must not be negative, got {value.type}")
        declared = tensors_of(self.results)
        try:
            inferred = self.infer_types(tensors_of(self.operands), self.properties, declared)
        except (ShapeError, DTypeError) as error:
            raise VerifyException(f"'{self.name}' op {error}") from None
        for got, want in zip(declared, inferred, strict=True):
            if got != want and not _refines(got, want):
                raise VerifyException(f"'{self.name}' op result type must be {want}, got {got}")

    # -- short accessors that the families use

    def shape(self, k: int = 0) -> tuple[int, ...]:
        """Shape of operand `k`; `DYNAMIC` where a size is `?`."""
        return shape_of(self.operands[k])

    def result_shape(self) -> tuple[int, ...]:
        return shape_of(self.results[0])

    def result_dtype(self) -> np.dtype:
        return numpy_dtype(element_of(self.results[0]))


_made: dict[Hashable, tuple[dict[str, Attribute], Types]] = {}
"""Attributes and result types of ops made before, by the key that decides them: programs repeat a few kinds of ops."""
_MOST_MADE = 4096
_KEYS = frozenset({bool, int, range, str})
"""Types of properties that may be part of a key; floats may not, since 0.0 equals -0.0."""


def _made_from(
    cls: type[GraphOp], operands: Sequence[SSAValue], props: Mapping[str, Any] | None, results: Types | None
) -> Hashable:
    """The immutable key that decides the attributes and result types of an op; None where the op has no cheap key."""
    key: list[Any] = [cls, None if results is None else tuple(results)]
    for operand in operands:
        key.append(operand._type)
    if props:
        for name, value in props.items():
            kind = type(value)
            if kind is tuple or kind is list:
                value = tuple(value)
                for item in value:
                    if type(item) is not int:
                        return None
            elif kind not in _KEYS:
                return None
            key.append((name, kind, value))
    return tuple(key)


_DECLARATIONS = ("facts", "reduces", "syntax", "text_defaults", "types", "derivative", "batching", "numpy", "domain")

OpT = TypeVar("OpT", bound=GraphOp)


def graph_op(cls: type[OpT]) -> type[OpT]:
    """Define an op: IRDL's definition, with the declarations of `GraphOp` as plain class attributes."""
    # IRDL takes every lower-case class attribute for a field of the op: hide the declarations from it, bases included
    hidden: list[tuple[type, str, Any]] = []
    for base in cls.__mro__:
        if issubclass(base, GraphOp):
            hidden.extend((base, name, base.__dict__[name]) for name in _DECLARATIONS if name in base.__dict__)
    for base, name, _ in hidden:
        delattr(base, name)
    try:
        return irdl_op_definition(cls)
    finally:
        for base, name, value in hidden:
            setattr(base, name, staticmethod(value) if callable(value) and not isinstance(value, staticmethod) else value)


def _refines(got: TensorType, want: TensorType) -> bool:
    """Whether two types differ only in dims of which one is `?`."""
    a, b = got.get_shape(), want.get_shape()
    return (
        got.element_type == want.element_type
        and len(a) == len(b)
        and all(x == y or DYNAMIC in (x, y) for x, y in zip(a, b, strict=True))
    )


class CompositeOp(GraphOp):
    """An op with a decomposition into primitives; it keeps its name as long as a pass can use it."""

    derivative = None
    """A composite without a derivative of its own is differentiated through its decomposition."""

    @classmethod
    @abstractmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue | Sequence[SSAValue]:
        """Build the same value, or one for each result, from primitives (or other composites) with a `GraphBuilder`."""


# --------------------------------------------------------------------------------------------------------------------
# Properties


def ints(attribute: Attribute) -> tuple[int, ...]:
    """The integers of an `array<i64: ...>` property, or the sizes of a `#graph.sizes<...>` one."""
    known: Any = attribute.__dict__
    found = known.get("_values")
    if found is None:
        if isinstance(attribute, SizesAttr):
            return attribute.data
        assert isinstance(attribute, DenseArrayBase)
        found = known["_values"] = cast("tuple[int, ...]", attribute.get_values())
    return found


def word(attribute: Attribute) -> str:
    """The text of a word property."""
    assert isinstance(attribute, StringAttr)
    return attribute.data


def one_of(props: Props, name: str, known: Iterable[str]) -> str:
    """The text of a word property; raises DTypeError unless it is one of those that are known."""
    found = word(props[name])
    if found not in known:
        raise DTypeError(f"{name} must be one of {', '.join(known)}, got {found}")
    return found


def integer(attribute: Attribute) -> int:
    """The number of an integer property."""
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


def number(attribute: Attribute) -> float:
    """The number of a float property."""
    assert isinstance(attribute, FloatAttr)
    return attribute.value.data


def to_attribute(value: Any) -> Attribute:
    """A property from a Python value: int sequences, ints, floats (f64), strings, bools; attributes pass through."""
    # `isinstance` of abstract classes comes last: for a new class its answer takes half a millisecond
    if isinstance(value, (tuple, list)):
        if any(isinstance(v, Size) for v in value):
            return SizesAttr(tuple([v if isinstance(v, Size) else int(v) for v in value]))
        return integers(tuple([int(v) for v in value]))
    if isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, Attribute):
        return value
    if isinstance(value, Size):
        raise FixedSizeError(f"an op takes the size {value} where a number must be known")
    raise TypeError(f"no property form for {value!r}")


def _is_negative(size: Any) -> bool:
    """Whether a size is below 0 in every call."""
    return size.bounds[1] < 0 if isinstance(size, Size) else size < 0 and size != DYNAMIC


def require_same_shape(operands: Sequence[TensorType], names: Sequence[str] = ("lhs", "rhs")) -> None:
    """Raise ShapeError unless all operands have one shape (`?` matches anything)."""
    first = operands[0].get_shape()
    for name, other in zip(names[1:], operands[1:], strict=False):
        shape = other.get_shape()
        if len(shape) != len(first) or not all(map(compatible, first, shape)):
            raise ShapeError(f"operand shapes must be equal, {names[0]} is {show_shape(first)}, {name} is {show_shape(shape)}")


def require_same_element(operands: Sequence[TensorType], names: Sequence[str] = ("lhs", "rhs")) -> None:
    """Raise DTypeError unless all operands have one element type."""
    first = operands[0].element_type
    for name, other in zip(names[1:], operands[1:], strict=False):
        if other.element_type != first:
            raise DTypeError(f"operand element types must be equal, {names[0]} is {first}, {name} is {other.element_type}")


OPS: dict[str, type[GraphOp]] = {}
"""Every op class by its name, those of the dialect without `graph.`: importing it fills this, `register_op` adds others."""


def normalize_dims(dims: Sequence[int], rank: int, what: str) -> None:
    """Raise ShapeError unless `dims` are distinct and within [0, rank)."""
    for dim in dims:
        if not 0 <= dim < rank:
            raise ShapeError(f"{what} dim {dim} is out of range for rank {rank}")
    if len(set(dims)) != len(dims):
        raise ShapeError(f"{what} dims must be distinct, got {list(dims)}")


def dims_map(n_dims: int, dims: Sequence[int]) -> AffineMap:
    """The map (d0, ..., dn) -> (d_i for i in dims)."""
    return AffineMap(n_dims, 0, tuple(AffineExpr.dimension(d) for d in dims))

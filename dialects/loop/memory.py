"""Memory: loads and stores with affine subscripts, local buffers, launches, and the final cross-lane reduction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    FlatSymbolRefAttrConstr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..syntax import TextOp
from ..types import element_of, shape_of, sizes_of, vector
from .access import Access, AccessOp
from .base import LoopOp
from .loops import MONOIDS, PAIR_MONOIDS, operand_group, segment_sizes
from .subscripts import SubscriptParser, map_attribute, print_exprs

_INDEX = IndexType()

STREAMED = "streamed"
"""The name of the attribute of stores that may be non-temporal."""


class _Access(AccessOp):
    """Base of load and store: `buffer[map(indices)]`, lanes moving along one dim, an optional mask."""

    if TYPE_CHECKING:  # load and store declare them
        indices: Sequence[SSAValue]
        map: AffineMapAttr
        along: IntegerAttr | None
        stride: IntegerAttr | None

    @property
    def lanes(self) -> int:
        """How many elements one access moves; 1 for a scalar access."""
        type = self.element_type_()
        return sizes_of(type)[0] if isinstance(type, VectorType) else 1

    def element_type_(self) -> Attribute:
        return self.value.type

    def lane_dim(self) -> int:
        """The buffer dim along which lanes advance; the last one by default."""
        along = self.along
        return len(shape_of(self.buffer)) - 1 if along is None else along.value.data

    def lane_step(self) -> int:
        """The distance between neighbouring lanes, in elements of `lane_dim`."""
        return 1 if self.stride is None else self.stride.value.data

    def verify_(self) -> None:
        type, map = self.buffer.type, self.map.data
        assert isinstance(type, MemRefType)
        rank = type.get_num_dims()
        if len(map.results) != rank:  # C1
            raise VerifyException(f"'{self.name}' op needs one subscript for each dim of {type}, got {len(map.results)}")
        if map.num_dims != len(self.indices) or map.num_symbols:  # C2
            raise VerifyException(f"'{self.name}' op subscripts must be over its {len(self.indices)} indices, got {map}")
        value = self.element_type_()
        element = value.element_type if isinstance(value, VectorType) else value
        if element != type.element_type:  # C3
            raise VerifyException(f"'{self.name}' op accesses {value} in {type}: element types differ")
        if isinstance(value, VectorType):
            if not 0 <= self.lane_dim() < rank:  # C4
                raise VerifyException(f"'{self.name}' op lanes must move along a dim of {type}, got {self.lane_dim()}")
            if self.mask is not None and self.mask.type != vector(i1, self.lanes):  # C5
                raise VerifyException(f"'{self.name}' op mask must be vector<{self.lanes}xi1>, got {self.mask.type}")
        elif self.mask is not None or self.along is not None or self.stride is not None:  # C4
            raise VerifyException(f"'{self.name}' op of one element has no mask, `along` or `step`")

    def print_access(self, printer: Printer) -> None:
        printer.print_ssa_value(self.buffer)
        print_exprs(printer, self.map.data.results, self.indices)
        if self.along is not None:
            printer.print_string(f" along {self.lane_dim()}")
        if self.stride is not None:
            printer.print_string(f" step {self.lane_step()}")
        if self.mask is not None:
            printer.print_string(" mask ")
            printer.print_ssa_value(self.mask)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)
        value = self.element_type_()
        if isinstance(value, VectorType):
            printer.print_string(", ")
            printer.print_attribute(value)

    @classmethod
    def parse_access(cls, parser: Parser) -> Access:
        name = parser.parse_unresolved_operand()
        subscripts = SubscriptParser(parser)
        properties: dict[str, Attribute] = {"map": map_attribute(subscripts.list())}
        if parser.parse_optional_keyword("along"):
            properties["along"] = IntegerAttr(parser.parse_integer(), i64)
        if parser.parse_optional_keyword("step"):
            properties["stride"] = IntegerAttr(parser.parse_integer(), i64)
        mask = parser.parse_unresolved_operand() if parser.parse_optional_keyword("mask") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_type()
        if not isinstance(type, MemRefType):
            parser.raise_error(f"a buffer must be a memref, got {type}", position)
        buffer = parser.resolve_operand(name, type)
        moved = parser.parse_type() if parser.parse_optional_punctuation(",") else type.element_type
        masks: list[SSAValue] = []
        if mask is not None:
            if not isinstance(moved, VectorType):
                parser.raise_error("only a vector access has a mask", position)
            masks = [parser.resolve_operand(mask, vector(i1, moved.get_shape()[0]))]
        return Access(buffer, subscripts.operands, masks, moved, attributes, properties)


def _lane_properties(buffer: SSAValue, along: int | None, stride: int) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {}
    rank = len(shape_of(buffer))
    if along is not None and along != rank - 1:
        properties["along"] = IntegerAttr(along, i64)
    if stride != 1:
        properties["stride"] = IntegerAttr(stride, i64)
    return properties


@irdl_op_definition
class LoadOp(_Access):
    """Load an element, or a vector whose lane `l` is the element `l * step` further along one dim.

    Masked-off lanes are not read and hold zero.

    ```mlir
    %a = loop.load %x[%i + 1, %j] : memref<32x64xf32>
    %v = loop.load %x[%i, %j] mask %m : memref<32x64xf32>, vector<8xf32>
    %c = loop.load %x[%i, %j] along 0 : memref<32x64xf32>, vector<8xf32>
    ```

    (C1) Each dim of the buffer has one subscript.
    (C2) Subscripts are affine in the given index values.
    (C3) The element type is the buffer's.
    (C4) Lanes move along one dim of the buffer; only vector accesses have lanes.
    (C5) The mask has one i1 a lane.
    """

    name = "loop.load"
    buffer = operand_def(MemRefType)
    indices = var_operand_def(_INDEX)
    mask = opt_operand_def()
    map = prop_def(AffineMapAttr)
    along = opt_prop_def(IntegerAttr)
    stride = opt_prop_def(IntegerAttr)
    value = result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    @staticmethod
    def build_load(
        buffer: SSAValue,
        map: AffineMap,
        indices: Sequence[SSAValue],
        *,
        lanes: int | None = None,
        along: int | None = None,
        stride: int = 1,
        mask: SSAValue | None = None,
    ) -> LoadOp:
        """Create a load; `lanes` gives a vector load. About 15 us."""
        element = element_of(buffer)
        masks = [] if mask is None else [mask]
        return LoadOp.create(
            operands=[buffer, *indices, *masks],
            result_types=[element if lanes is None else vector(element, lanes)],
            properties={
                "map": map_attribute(map),
                **_lane_properties(buffer, along, stride),
                **segment_sizes(1, len(indices), len(masks)),
            },
        )


@irdl_op_definition
class StoreOp(_Access):
    """Store an element or a vector; masked-off lanes are not written.

    ```mlir
    loop.store %v, %y[%i, %j] mask %m : memref<32x64xf32>, vector<8xf32>
    ```

    The attribute `streamed` is a hint: stores of whole cache lines may be non-temporal.

    (C1) - (C5) as for `loop.load`.
    """

    name = "loop.store"
    STORES: ClassVar[bool] = True
    value = operand_def()
    buffer = operand_def(MemRefType)
    indices = var_operand_def(_INDEX)
    mask = opt_operand_def()
    map = prop_def(AffineMapAttr)
    along = opt_prop_def(IntegerAttr)
    stride = opt_prop_def(IntegerAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    @staticmethod
    def build_store(
        value: SSAValue,
        buffer: SSAValue,
        map: AffineMap,
        indices: Sequence[SSAValue],
        *,
        along: int | None = None,
        stride: int = 1,
        mask: SSAValue | None = None,
    ) -> StoreOp:
        """Create a store of a scalar or a vector. About 15 us."""
        masks = [] if mask is None else [mask]
        return StoreOp.create(
            operands=[value, buffer, *indices, *masks],
            properties={
                "map": map_attribute(map),
                **_lane_properties(buffer, along, stride),
                **segment_sizes(1, 1, len(indices), len(masks)),
            },
        )


# xDSL's tuples of values ask in Python whether an index is a slice
_LOADED, _STORED = (property(lambda op, k=k: tuple.__getitem__(getattr(op, k), 0)) for k in ("results", "_operands"))

for _op, _k, _value in ((LoadOp, 1, _LOADED), (StoreOp, 2, _STORED)):
    _buffer = property(lambda op, k=_k: tuple.__getitem__(op._operands, k - 1))
    _masks = operand_group(_k + 1)
    _mask = property(lambda op, masks=_masks: (*masks.fget(op), None)[0])
    for _name, _accessor in (("buffer", _buffer), ("indices", operand_group(_k)), ("mask", _mask), ("value", _value)):
        setattr(_op, _name, _accessor)


@irdl_op_definition
class AllocOp(LoopOp):
    """A local buffer of a kernel: `register` tile, `stack` array, or `scratch` memory; contents start undefined.

    Each iteration of the loop around it has its own.

    ```mlir
    %t = loop.alloc stack : memref<8x16xf32>
    %u = loop.alloc scratch(%n) : memref<?x16xf32>
    ```

    (C1) The memory space is one of register, stack, scratch.
    (C2) A size is given for every `?`, and only scratch memory has any `?`.
    """

    name = "loop.alloc"
    space = prop_def(StringAttr)
    sizes = var_operand_def(_INDEX)
    buffer = result_def(MemRefType)
    traits = traits_def(MemoryAllocEffect())

    @staticmethod
    def build_alloc(space: str, type: MemRefType, sizes: Sequence[SSAValue] = (), name: str | None = None) -> AllocOp:
        """Create a local buffer."""
        op = AllocOp.create(operands=sizes, result_types=[type], properties={"space": StringAttr(space)})
        op.buffer.name_hint = name
        return op

    def verify_(self) -> None:
        if self.space.data not in ("register", "stack", "scratch"):  # C1
            raise VerifyException(f"'loop.alloc' op memory space must be register, stack or scratch, got {self.space.data}")
        unknown = self.buffer.type.get_shape().count(DYNAMIC_INDEX)
        if unknown != len(self.sizes):  # C2
            raise VerifyException(f"'loop.alloc' op needs {unknown} sizes for {self.buffer.type}, got {len(self.sizes)}")
        if unknown and self.space.data != "scratch":  # C2
            raise VerifyException(f"'loop.alloc' op shape must be static unless it is scratch, got {self.buffer.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.space.data}")
        if self.sizes:
            printer.print_string("(")
            printer.print_list(self.sizes, printer.print_ssa_value)
            printer.print_string(")")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        space = parser.parse_identifier()
        sizes: list[SSAValue] = []
        if parser.parse_optional_punctuation("("):
            sizes = [parser.resolve_operand(o, _INDEX) for o in parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_unresolved_operand
            )]  # fmt: skip
            parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            operands=sizes,
            result_types=[parser.parse_type()],
            properties={"space": StringAttr(space)},
            attributes=attributes,
        )


@irdl_op_definition
class PrefetchOp(LoopOp):
    """A hint that an element will be read soon; it may lie outside of the buffer.

    ```mlir
    loop.prefetch %x[%i + 8, %j] : memref<?x?xf32>
    ```

    (C1) Each dim of the buffer has one subscript, affine in the given index values.
    """

    name = "loop.prefetch"
    buffer = operand_def(MemRefType)
    indices = var_operand_def(_INDEX)
    map = prop_def(AffineMapAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @staticmethod
    def build_prefetch(buffer: SSAValue, map: AffineMap, indices: Sequence[SSAValue]) -> PrefetchOp:
        """Create a prefetch."""
        return PrefetchOp.create(operands=[buffer, *indices], properties={"map": map_attribute(map)})

    def verify_(self) -> None:
        map, rank = self.map.data, len(shape_of(self.buffer))
        if len(map.results) != rank or map.num_dims != len(self.indices) or map.num_symbols:  # C1
            raise VerifyException(f"'loop.prefetch' op needs one subscript for each dim of {self.buffer.type}, got {map}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        print_exprs(printer, self.map.data.results, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        buffer = parser.parse_unresolved_operand()
        subscripts = SubscriptParser(parser)
        map = subscripts.list()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            operands=[parser.resolve_operand(buffer, parser.parse_type()), *subscripts.operands],
            properties={"map": map_attribute(map)},
            attributes=attributes,
        )


@irdl_op_definition
class CheckOp(LoopOp):
    """Stop the kernel with a status unless a condition holds.

    ```mlir
    loop.check %ok, %i, 3
    ```

    (C1) The status is positive.
    """

    name = "loop.check"
    condition = operand_def(i1)
    value = operand_def(_INDEX)
    status = prop_def(IntegerAttr)
    traits = traits_def(MemoryWriteEffect())

    @staticmethod
    def build_check(condition: SSAValue, value: SSAValue, status: int) -> CheckOp:
        """Create a check that reports `status` and `value`."""
        return CheckOp.create(operands=[condition, value], properties={"status": IntegerAttr(status, i64)})

    def verify_(self) -> None:
        if self.status.value.data <= 0:  # C1
            raise VerifyException(f"'loop.check' op status must be positive, got {self.status.value.data}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        printer.print_string(", ")
        printer.print_ssa_value(self.value)
        printer.print_string(f", {self.status.value.data}")
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> CheckOp:
        condition = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        parser.parse_punctuation(",")
        value = parser.resolve_operand(parser.parse_unresolved_operand(), _INDEX)
        parser.parse_punctuation(",")
        status = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=[condition, value], properties={"status": IntegerAttr(status, i64)}, attributes=attributes)


@irdl_op_definition
class ReduceLanesOp(LoopOp):
    """Combine the lanes of a vector in a fixed tree: lane `l` with lane `l + lanes/2`, and so on down to one.

    Upstream's `vector.reduction` leaves the order open and has no (value, index) pairs; here the order is part of the meaning,
    so results are bit-identical everywhere.

    ```mlir
    %s = loop.reduce_lanes<add> %v : vector<8xf32>
    %m, %k = loop.reduce_lanes<argmax> %v, %i : vector<8xf32>, vector<8xi64>
    ```

    (C1) The monoid is one of add, mul, max, min, and, or, argmax, argmin.
    (C2) A pair monoid takes values and indices, the others one vector; lanes are a power of two.
    """

    name = "loop.reduce_lanes"
    monoid = prop_def(StringAttr)
    vectors = var_operand_def(VectorType)
    results_ = var_result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if self.monoid.data not in MONOIDS:  # C1
            raise VerifyException(f"'loop.reduce_lanes' op monoid must be one of {', '.join(MONOIDS)}, got {self.monoid.data}")
        wanted = 2 if self.monoid.data in PAIR_MONOIDS else 1
        lanes = [shape_of(v)[0] for v in self.vectors]
        if len(lanes) != wanted or len(set(lanes)) != 1 or lanes[0] & (lanes[0] - 1):  # C2
            raise VerifyException(
                f"'loop.reduce_lanes' op {self.monoid.data} takes {wanted} vector(s) of 2^k lanes, got {lanes}"
            )
        elements = [element_of(v) for v in self.vectors]
        if [r.type for r in self.results] != elements:  # C2
            raise VerifyException("'loop.reduce_lanes' op results must have the element types of the vectors")

    def print(self, printer: Printer) -> None:
        printer.print_string(f"<{self.monoid.data}> ")
        printer.print_list(self.vectors, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([v.type for v in self.vectors], printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceLanesOp:
        parser.parse_punctuation("<")
        monoid = parser.parse_identifier()
        parser.parse_punctuation(">")
        position = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        values = parser.resolve_operands(operands, types, position)
        for type in types:
            if not isinstance(type, VectorType):
                parser.raise_error(f"'loop.reduce_lanes' op takes vectors, got {type}", position)
        return cls.create(
            operands=values,
            result_types=[type.element_type for type in types],  # pyright: ignore[reportAttributeAccessIssue]
            properties={"monoid": StringAttr(monoid)},
            attributes=attributes,
        )


@irdl_op_definition
class LaunchOp(LoopOp, TextOp):
    """Run a kernel of this module on buffers, scalars and sizes.

    ```mlir
    loop.launch @scale(%x, %y) : (memref<64xf32>, memref<64xf32>)
    loop.launch @turn(%x, %y) scratch 4096 : (memref<64xf32>, memref<64xf32>)
    ```

    `scratch` is the byte of the arena at which the scratch memory of the kernel begins.

    (C1) `scratch` is not negative.
    """

    name = "loop.launch"
    SYNTAX: ClassVar[str] = "@kernel(arguments) (scratch #scratch)?"
    TYPES: ClassVar[str] = "operands"
    kernel = prop_def(FlatSymbolRefAttrConstr)
    scratch = opt_prop_def(IntegerAttr.constr(i64))
    arguments = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def verify_(self) -> None:
        if self.scratch is not None and self.scratch.value.data < 0:  # C1
            raise VerifyException(f"'loop.launch' op scratch must be a number of at least 0, got {self.scratch.value.data}")

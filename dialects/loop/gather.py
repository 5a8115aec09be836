"""Gather and scatter: vector accesses whose lanes have subscripts of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IndexType, MemRefType, VectorType, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..types import element_of, vector
from .access import Access, AccessOp
from .loops import segment_sizes

_INDEX = IndexType()


class _Lanes(AccessOp):
    """Base of gather and scatter: `buffer[subscripts]`, each an index or a vector of indices, and an optional mask."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    if TYPE_CHECKING:  # gather and scatter declare them
        subscripts: Sequence[SSAValue]

    def vector_type(self) -> VectorType:
        type = self.value.type
        assert isinstance(type, VectorType)
        return type

    @property
    def lanes(self) -> int:
        return self.vector_type().get_shape()[0]

    def verify_(self) -> None:
        type, buffer = self.value.type, self.buffer.type
        assert isinstance(buffer, MemRefType)
        subscripts = self.subscripts
        if not isinstance(type, VectorType) or type.element_type != buffer.element_type:  # C1
            raise VerifyException(f"'{self.name}' op moves a vector of {buffer.element_type}, got {type}")
        wanted = vector(_INDEX, self.lanes)
        if len(subscripts) != buffer.get_num_dims() or any(s.type not in (_INDEX, wanted) for s in subscripts):  # C2
            raise VerifyException(f"'{self.name}' op needs an index or {wanted} for each dim of {buffer}")
        mask = self.mask
        if mask is not None and mask.type != vector(i1, self.lanes):  # C3
            raise VerifyException(f"'{self.name}' op mask must be vector<{self.lanes}xi1>, got {mask.type}")

    def print_access(self, printer: Printer) -> None:
        printer.print_ssa_value(self.buffer)
        printer.print_string("[")
        printer.print_list(self.subscripts, printer.print_ssa_value)
        printer.print_string("]")
        if self.mask is not None:
            printer.print_string(" mask ")
            printer.print_ssa_value(self.mask)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)
        printer.print_string(", ")
        printer.print_attribute(self.vector_type())
        printer.print_string(" at (")
        printer.print_list([s.type for s in self.subscripts], printer.print_attribute)
        printer.print_string(")")

    @classmethod
    def parse_access(cls, parser: Parser) -> Access:
        name = parser.parse_unresolved_operand()
        position = parser.pos
        names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        mask = parser.parse_unresolved_operand() if parser.parse_optional_keyword("mask") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        buffer = parser.resolve_operand(name, parser.parse_type())
        parser.parse_punctuation(",")
        type = parser.parse_type()
        if not isinstance(type, VectorType):
            parser.raise_error(f"a gather or scatter moves a vector, got {type}", position)
        parser.parse_keyword("at")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        subscripts = parser.resolve_operands(names, types, position)
        masks = [] if mask is None else [parser.resolve_operand(mask, vector(i1, type.get_shape()[0]))]
        return Access(buffer, subscripts, masks, type, attributes)


@irdl_op_definition
class GatherOp(_Lanes):
    """Load a vector whose lanes are anywhere in a buffer; masked-off lanes are not read and hold zero.

    ```mlir
    %v = loop.gather %x[%i, %c] mask %m : memref<?x?xf32>, vector<8xf32> at (index, vector<8xindex>)
    ```

    (C1) The element type is the buffer's.
    (C2) Each dim of the buffer has one subscript: an index, or an index per lane.
    (C3) The mask has one i1 a lane.
    """

    name = "loop.gather"
    buffer = operand_def(MemRefType)
    subscripts = var_operand_def()
    mask = opt_operand_def()
    value = result_def()
    traits = traits_def(MemoryReadEffect())

    @staticmethod
    def build_gather(buffer: SSAValue, subscripts: Sequence[SSAValue], lanes: int, mask: SSAValue | None = None) -> GatherOp:
        """Create a gather of `lanes` elements."""
        masks = [] if mask is None else [mask]
        return GatherOp.create(
            operands=[buffer, *subscripts, *masks],
            result_types=[vector(element_of(buffer), lanes)],
            properties=segment_sizes(1, len(subscripts), len(masks)),
        )


@irdl_op_definition
class ScatterOp(_Lanes):
    """Store the lanes of a vector anywhere in a buffer, in the order of the lanes; masked-off lanes are not written.

    ```mlir
    loop.scatter %v, %x[%c] : memref<?xf32>, vector<8xf32> at (vector<8xindex>)
    ```

    (C1) - (C3) as for `loop.gather`.
    """

    name = "loop.scatter"
    STORES: ClassVar[bool] = True
    value = operand_def()
    buffer = operand_def(MemRefType)
    subscripts = var_operand_def()
    mask = opt_operand_def()
    traits = traits_def(MemoryWriteEffect())

    @staticmethod
    def build_scatter(
        value: SSAValue, buffer: SSAValue, subscripts: Sequence[SSAValue], mask: SSAValue | None = None
    ) -> ScatterOp:
        """Create a scatter of a vector."""
        masks = [] if mask is None else [mask]
        return ScatterOp.create(
            operands=[value, buffer, *subscripts, *masks], properties=segment_sizes(1, 1, len(subscripts), len(masks))
        )

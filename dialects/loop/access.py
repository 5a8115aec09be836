"""The base of the ops that read or write elements of a buffer: loads and stores, gathers and scatters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from .base import LoopOp
from .loops import segment_sizes


@dataclass
class Access:
    """The parts of an access in its text, without the stored value."""

    buffer: SSAValue
    subscripts: Sequence[SSAValue]
    mask: Sequence[SSAValue]
    type: Attribute
    """The type of the loaded or stored value."""
    attributes: dict[str, Attribute]
    properties: dict[str, Attribute] = field(default_factory=dict)


class AccessOp(LoopOp):
    """An access: the value if it `STORES` one, the buffer, subscripts and perhaps a mask."""

    STORES: ClassVar[bool] = False

    if TYPE_CHECKING:  # the ops declare them
        value: SSAValue
        buffer: SSAValue
        mask: SSAValue | None

    @abstractmethod
    def print_access(self, printer: Printer) -> None:
        """Print an access without its stored value."""

    @classmethod
    @abstractmethod
    def parse_access(cls, parser: Parser) -> Access:
        """What `print_access` prints."""

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.STORES:
            printer.print_ssa_value(self.value)
            printer.print_string(", ")
        self.print_access(printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = None
        if cls.STORES:
            name = parser.parse_unresolved_operand()
            parser.parse_punctuation(",")
        access = cls.parse_access(parser)
        stored = [] if name is None else [parser.resolve_operand(name, access.type)]
        return cls.create(
            operands=[*stored, access.buffer, *access.subscripts, *access.mask],
            result_types=[] if cls.STORES else [access.type],
            properties={
                **access.properties,
                **segment_sizes(*map(len, (stored, [access.buffer], access.subscripts, access.mask)[not cls.STORES :])),
            },
            attributes=access.attributes,
        )

"""The base of what reads or writes elements of a buffer: loads and stores, gathers and scatters."""

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
    """What the text of an access says, but for the value that it stores."""

    buffer: SSAValue
    subscripts: Sequence[SSAValue]
    mask: Sequence[SSAValue]
    type: Attribute
    """Of what is loaded or stored."""
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
        """Print all but the value that is stored."""

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

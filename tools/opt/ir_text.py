"""IR as text, in the ways that mlir-opt's options of the printer ask for."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    CallSiteLoc,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    MemRefType,
    ModuleOp,
    NameLoc,
    TensorType,
    UnknownLoc,
    VectorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from ...dialects.printing import TextPrinter
from .location_names import LocationNames

_UNUSED = "unused"


class IrText:
    """Prints ops as the options say."""

    def __init__(self, options: Namespace, ctx: Context) -> None:
        self.options, self.ctx = options, ctx

    def of(self, op: Operation) -> str:
        """An op as text, without a line break at the end."""
        return self._printed(op)[0]

    def of_module(self, module: ModuleOp) -> str:
        """A module as the output of the tool, with the resources it needs."""
        text, printer = self._printed(module)
        with printer.captured() as stream:
            printer.print_metadata(self.ctx.loaded_dialects)
        return text + stream.getvalue() + "\n"

    def generic(self, op: Operation, locations: bool = True) -> str:
        """An op in generic syntax, for any options."""
        stream = StringIO()
        TextPrinter(stream, print_generic_format=True, print_debuginfo=locations).print_op(op)
        return stream.getvalue()

    def _printed(self, op: Operation) -> tuple[str, OptPrinter]:
        stream = StringIO()
        printer = OptPrinter(stream, self.options)
        wanted = self.options.mlir_print_debuginfo
        if wanted and not self.options.mlir_print_local_scope and not self.options.mlir_pretty_debuginfo:
            return printer.with_named_locations(op), printer
        printer.print_op(op)
        return stream.getvalue(), printer


class OptPrinter(TextPrinter):
    """xDSL's printer with mlir-opt's options."""

    stream: StringIO

    def __init__(self, stream: StringIO, options: Namespace) -> None:
        super().__init__(
            stream,
            print_generic_format=options.mlir_print_op_generic,
            print_debuginfo=options.mlir_print_debuginfo,
        )
        self.options = options
        self.elided_above = options.mlir_elide_elementsattrs_if_larger
        self.hex_above = options.mlir_print_elementsattrs_with_hex_if_larger
        self._ids: dict[Operation, str] = {}
        self._locations: LocationNames | None = None
        self._in_full: Attribute | None = None
        self._texts: dict[int, tuple[Attribute, str]] = {}

    @contextmanager
    def captured(self) -> Iterator[StringIO]:
        """Print into a stream of its own."""
        stream, self.stream = self.stream, StringIO()
        try:
            yield self.stream
        finally:
            self.stream = stream

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:  # without the cost of `print`
            self._current_column += len(text)
            self.stream.write(text)

    def with_named_locations(self, op: Operation) -> str:
        """The text of an op, the definitions of the names of its locations before and behind it."""
        self._locations = named = LocationNames(op)
        with self.captured() as body:
            self.print_op(op)

        def spelled(location: Attribute) -> str:
            self._in_full = location  # its parts by name
            with self.captured() as stream:
                self.print_attribute(location)
            return stream.getvalue()

        before, behind = [named.definitions(early, spelled) for early in (True, False)]
        return before + body.getvalue() + ("\n" + behind.rstrip("\n") if behind else "")

    # -- attributes ------------------------------------------------------------------------------------------------------

    def print_attribute(self, attribute: Attribute) -> None:
        known = self._texts.get(id(attribute))
        if known is not None:
            self.print_string(known[1])
        elif isinstance(attribute, TensorType | VectorType | MemRefType):  # few, printed often; kept, so that the id is its own
            with self.captured() as stream:
                super().print_attribute(attribute)
            self._texts[id(attribute)] = attribute, stream.getvalue()
            self.stream.write(stream.getvalue())
        elif isinstance(attribute, LocationAttr) and self.options.mlir_pretty_debuginfo:
            self.print_string(_pretty(attribute))
        elif self._locations is not None and attribute != self._in_full and attribute in self._locations.names:
            with self.in_location():
                self.print_string(self._locations.names[attribute])
        elif isinstance(attribute, DenseIntOrFPElementsAttr) and self._is_special(attribute):
            pass
        else:
            super().print_attribute(attribute)

    def _is_special(self, attribute: DenseIntOrFPElementsAttr) -> bool:
        """Print a large constant as the options say; whether they do."""
        size = attribute.get_element_type().compile_time_size
        count = len(attribute.data.data) // size
        if attribute.is_splat():
            return False
        if self.elided_above is not None and count > self.elided_above:
            text = "dense_resource<__elided__>"
        elif self.hex_above is not None and self.hex_above >= 0 and count > self.hex_above:
            text = f'dense<"0x{attribute.data.data.hex().upper()}">'
        else:
            return False
        self.print_string(f"{text} : ")
        self.print_attribute(attribute.type)
        return True

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        names, self._locations = self._locations, None  # upstream spells the locations of arguments out
        super().print_block_argument(arg, print_type)
        self._locations = names

    # -- names -----------------------------------------------------------------------------------------------------------

    def print_ssa_value(self, value: SSAValue) -> str:
        if self.options.mlir_use_nameloc_as_prefix and value not in self._ssa_values:
            location: Any = getattr(value if isinstance(value, BlockArgument) else value.owner, "location", None)
            name = location.desc.data if isinstance(location, NameLoc) else ""
            if SSAValue.is_valid_name(name):
                value.name_hint = name
        return super().print_ssa_value(value)

    def exit_scope(self) -> None:
        if not self.options.mlir_print_unique_ssa_ids:
            return super().exit_scope()
        for stack in (self._next_valid_name_id, self._next_valid_block_id, self._ssa_names, self._block_names):
            last: Any = stack.pop()
            stack[-1] = last

    # -- regions, users --------------------------------------------------------------------------------------------------

    def print_region(self, region: Region, *args: Any, **kwargs: Any) -> None:
        if self.options.mlir_print_skip_regions:
            self.print_string("{...}")
        else:
            super().print_region(region, *args, **kwargs)

    def print_block(self, block: Block, print_block_args: bool = True, print_block_terminator: bool = True) -> None:
        if not self.options.mlir_print_value_users:
            return super().print_block(block, print_block_args, print_block_terminator)
        if print_block_args:
            self._print_new_line()
            if block not in self._blocks:
                self._populate_block_name(block)
            self.print_block_name(block)
            if block.args:
                with self.in_parens():
                    self.print_list(block.args, self.print_block_argument)
            self.print_string(":")
        with self.indented():
            for argument in block.args:
                if (users := self._users(argument)) != _UNUSED:
                    self._print_new_line()
                    self.print_string(f"// {self._name(argument)} is used by {users}")
            for op in block.ops:
                if print_block_terminator or not op.has_trait(IsTerminator, value_if_unregistered=False):
                    self._print_new_line()
                    self.print_op(op)

    def print_op(self, op: Operation) -> None:
        super().print_op(op)
        if self.options.mlir_print_value_users and not isinstance(op, ModuleOp):
            if not op.results and not op.regions:
                self.print_string(f" // id: {self._id(op)}")
            elif len(op.results) == 1:
                users = self._users(op.results[0])
                self.print_string(f" // {users}" if users == _UNUSED else f" // {_user_word(users)}: {users}")
            elif op.results:
                self.print_string(" // users: " + ", ".join(f"({self._users(result)})" for result in op.results))

    def _users(self, value: SSAValue) -> str:
        users: Iterable[Operation] = dict.fromkeys(use.operation for use in value.uses)
        return ", ".join(self._id(user) for user in users) or _UNUSED

    def _id(self, op: Operation) -> str:
        """The name of an op in comments: its results, or a number that no value has."""
        if op.results:
            return ", ".join(self._name(result) for result in op.results)
        if op not in self._ids:
            self._ids[op] = f"%{self._get_new_valid_name_id()}"
        return self._ids[op]

    def _name(self, value: SSAValue) -> str:
        with self.captured() as stream:
            self.print_ssa_value(value)
        return stream.getvalue()


def _user_word(users: str) -> str:
    return "users" if "," in users else "user"


def _pretty(location: Any) -> str:
    """A location for people."""
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}:{location.column.data}"
    if isinstance(location, UnknownLoc):
        return "[unknown]"
    if isinstance(location, NameLoc):
        inner = location.location
        return f'"{location.desc.data}"' + (f"({_pretty(inner)})" if isinstance(inner, LocationAttr) else "")
    if isinstance(location, FusedLoc):
        return "[" + ", ".join(map(_pretty, _parts(location))) + "]"
    if isinstance(location, CallSiteLoc):
        return f"{_pretty(location.callee)} at {_pretty(location.caller)}"
    return str(location)


def _parts(location: FusedLoc) -> Iterable[Any]:
    parts: Any = location.locations
    return parts.data

"""The program dialect: the function that runs a program, on buffers that its caller gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Dialect, Region
from xdsl.irdl import (
    EqAttrConstraint,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from .assembly import pairs_attribute, pairs_of
from .types import IntegerType, memref

_I8 = IntegerType(8)


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A host function: it launches kernels on buffers, which are its inputs, its results, and views of its arena.

    All are contiguous and belong to the caller. The arena is the memory of intermediate buffers, the last argument once
    `plan-buffers` has laid it out.

    ```mlir
    program.func @main(%x: memref<64xf32> donated, %w: memref<64xf32>) -> (%y: memref<64xf32>) work 128 {
      %t = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<64xf32>
      loop.launch @mul(%x, %w, %t) : (memref<64xf32>, memref<64xf32>, memref<64xf32>)
      loop.launch @neg(%t, %y) : (memref<64xf32>, memref<64xf32>)
    }
    program.func @planned(%x: memref<64xf32>) -> (%y: memref<64xf32> over %x) arena(%arena: memref<256xi8>) work 64 peak 256 {
    }
    ```

    * `donated`: the caller gives the buffer away, so that a result may be written over it.
    * `over %x`: the caller may give one buffer for this result and `%x`; any two others do not overlap.
    * `work`: scalar operations of a call, about. `peak`: the most bytes of the arena in use at once.

    (C1) The arguments are the inputs, the results and at most one arena, in that order.
    (C2) Arguments are memrefs of static shape.
    (C3) The arena is a memref of i8 of one dim.
    (C4) What is donated is an input, and `over` pairs a result with an input of its type, each at most once.
    (C5) `work` and `peak` are not negative.
    """

    name = "program.func"
    sym_name = prop_def(SymbolNameConstraint())
    sym_visibility = opt_prop_def(EqAttrConstraint(StringAttr("private")))
    segments = prop_def(DenseArrayBase.constr(i64))
    donated = opt_prop_def(DenseArrayBase.constr(i64))
    donations = opt_prop_def(DenseArrayBase.constr(i64))
    work = opt_prop_def(IntegerAttr.constr(i64))
    peak = opt_prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    @staticmethod
    def build_function(name: str, body: Block, results: int, *, donated: Sequence[int] = (), work: int | None = None) -> FuncOp:
        """The function of a block whose last `results` arguments are the results."""
        segments = _numbers(len(body.args) - results, results, 0)
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name), "segments": segments}
        if donated:
            properties["donated"] = _numbers(*donated)
        if work is not None:
            properties["work"] = IntegerAttr(work, i64)
        return FuncOp.create(properties=properties, regions=[Region(body)])

    @property
    def is_private(self) -> bool:
        """Whether only functions of the module call it."""
        return self.sym_visibility is not None

    @property
    def inputs(self) -> Sequence[BlockArgument]:
        """The arguments that are read."""
        return self.body.block.args[: self._segments[0]]

    @property
    def outputs(self) -> Sequence[BlockArgument]:
        """The arguments that are the results."""
        n_inputs, n_results, _ = self._segments
        return self.body.block.args[n_inputs : n_inputs + n_results]

    @property
    def arena(self) -> BlockArgument | None:
        """The memory of intermediate buffers, if it is planned."""
        return self.body.block.args[-1] if self._segments[2] else None

    @property
    def arena_bytes(self) -> int:
        """The size of the arena; 0 if there is none."""
        type = None if self.arena is None else self.arena.type
        return type.get_shape()[0] if isinstance(type, MemRefType) else 0

    def add_arena(self, size_bytes: int, peak_bytes: int) -> BlockArgument:
        """Make an arena the last argument. What is donated and was given to no result stays with the caller."""
        block = self.body.block
        arena = block.insert_arg(memref(_I8, (size_bytes,)), len(block.args))
        arena.name_hint = "arena"
        self.properties["segments"] = _numbers(*self._segments[:2], 1)
        self.properties["peak"] = IntegerAttr(peak_bytes, i64)
        self.properties.pop("donated", None)
        return arena

    @property
    def donated_inputs(self) -> tuple[int, ...]:
        """The numbers of the inputs that results may be written over."""
        return () if self.donated is None else self.donated.get_values()

    @property
    def donation_pairs(self) -> tuple[tuple[int, int], ...]:
        """The numbers of a result and of the input that it may be written over."""
        return pairs_of(self.donations)

    @donation_pairs.setter
    def donation_pairs(self, pairs: Sequence[tuple[int, int]]) -> None:
        self.properties["donations"] = pairs_attribute(pairs)

    @property
    def _segments(self) -> tuple[int, int, int]:
        """How many arguments are inputs, results and arena."""
        inputs, results, arenas = self.segments.get_values()
        return inputs, results, arenas

    def verify_(self) -> None:
        arguments = self.body.block.args
        segments = self.segments.get_values()
        if len(segments) != 3 or min(segments) < 0 or segments[2] > 1 or sum(segments) != len(arguments):  # C1
            raise _invalid(f"segments must count the inputs, results and arenas of {len(arguments)} arguments, got {segments}")
        for argument in arguments:
            type = argument.type
            if not isinstance(type, MemRefType) or DYNAMIC_INDEX in type.get_shape():  # C2
                raise _invalid(f"argument must be a memref of static shape, got {type}")
            if argument is self.arena and (len(type.get_shape()) != 1 or type != memref(_I8, type.get_shape())):  # C3
                raise _invalid(f"arena must be a memref of i8 of one dim, got {type}")
        self._verify_donations()
        for name in ("work", "peak"):
            value = self.properties.get(name)
            if isinstance(value, IntegerAttr) and value.value.data < 0:  # C5
                raise _invalid(f"{name} must be a number of at least 0, got {value.value.data}")

    def _verify_donations(self) -> None:
        inputs, outputs, pairs = self.inputs, self.outputs, self.donation_pairs
        if self.donated is not None and not _are_numbers(self.donated_inputs, len(inputs)):  # C4
            raise _invalid(f"donated must be numbers of inputs in order, got {self.donated}")
        if self.donations is not None:
            results, given = [r for r, _ in pairs], sorted(i for _, i in pairs)
            known = _are_numbers(results, len(outputs)) and _are_numbers(given, len(inputs))
            if len(self.donations) % 2 or not known:  # C4
                raise _invalid(f"donations must pair results in order with inputs, each once, got {self.donations}")
        for result, number in pairs:
            if outputs[result].type != inputs[number].type:  # C4
                raise _invalid(f"writes a result of type {outputs[result].type} over an input of type {inputs[number].type}")

    def print(self, printer: Printer) -> None:
        inputs, donated, over = self.inputs, self.donated_inputs, dict(self.donation_pairs)

        def print_input(k: int) -> None:
            printer.print_block_argument(inputs[k])
            if k in donated:
                printer.print_string(" donated")

        def print_result(k: int) -> None:
            printer.print_block_argument(self.outputs[k])
            if k in over:
                printer.print_string(" over ")
                printer.print_ssa_value(inputs[over[k]])

        printer.print_string(" private " if self.is_private else " ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string("(")
        printer.print_list(range(len(inputs)), print_input)
        printer.print_string(") -> (")
        printer.print_list(range(len(self.outputs)), print_result)
        printer.print_string(")")
        if self.arena is not None:
            printer.print_string(" arena(")
            printer.print_block_argument(self.arena)
            printer.print_string(")")
        for name, value in (("work", self.work), ("peak", self.peak)):
            if value is not None:
                printer.print_string(f" {name} {value.value.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        arguments: list[Parser.Argument] = []
        numbers: dict[str, int] = {}
        donated: list[int] = []
        donations: list[tuple[int, int]] = []

        def argument() -> None:
            found = parser.parse_argument()
            found.location = parser.parse_optional_location()
            arguments.append(found)

        def input() -> None:
            argument()
            numbers[arguments[-1].name.text] = len(arguments) - 1
            if parser.parse_optional_keyword("donated"):
                donated.append(len(arguments) - 1)

        def result() -> None:
            argument()
            if parser.parse_optional_keyword("over"):
                position = parser.pos
                number = numbers.get(parser.parse_unresolved_operand().span.text)
                if number is None:
                    parser.raise_error("'program.func' op result must be written over an input", position)
                donations.append((len(arguments) - 1 - len(numbers), number))

        is_private = parser.parse_optional_keyword("private") is not None
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        if is_private:
            properties["sym_visibility"] = StringAttr("private")
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, input)
        n_inputs = len(arguments)
        parser.parse_punctuation("->")
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, result)
        n_results, n_arenas = len(arguments) - n_inputs, 0
        if parser.parse_optional_keyword("arena"):
            parser.parse_punctuation("(")
            argument()
            parser.parse_punctuation(")")
            n_arenas = 1
        properties["segments"] = _numbers(n_inputs, n_results, n_arenas)
        if donated:
            properties["donated"] = _numbers(*donated)
        if donations:
            properties["donations"] = pairs_attribute(donations)
        for name in ("work", "peak"):
            if parser.parse_optional_keyword(name):
                properties[name] = IntegerAttr(parser.parse_integer(), i64)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            properties=properties,
            attributes={} if attributes is None else attributes.data,
            regions=[parser.parse_region(arguments)],
        )


def functions_of(module: ModuleOp) -> dict[str, func.FuncOp | FuncOp]:
    """The functions of a module that have a body, of graphs and of programs, by name."""
    found = (op for op in module.body.block.ops if isinstance(op, func.FuncOp | FuncOp) and op.body.blocks)
    return {function.sym_name.data: function for function in found}


def inputs_of(function: func.FuncOp | FuncOp) -> Sequence[BlockArgument]:
    """What a caller passes to a function, beside memory for results."""
    return function.inputs if isinstance(function, FuncOp) else function.body.block.args


def _are_numbers(found: Sequence[int], count: int) -> bool:
    """Whether these are some of the numbers below `count`, in order."""
    return bool(found) and list(found) == sorted(set(found)) and found[0] >= 0 and found[-1] < count


def _invalid(message: str) -> VerifyException:
    return VerifyException(f"'program.func' op {message}")


def _numbers(*numbers: int) -> DenseArrayBase[Any]:
    return DenseArrayBase.from_list(i64, numbers)


Program = Dialect("program", [FuncOp], [])

"""The program dialect: the function that runs a program, on buffers that its caller gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Dialect, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.irdl import (
    EqAttrConstraint,
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

from ..errors import ShapeError
from .assembly import pairs_attribute, pairs_of
from .loop.shapes import NumberedShape, given_shapes, parse_shapes, print_shapes, shapes_attribute
from .operations import BaseOp
from .program_views import GetGlobalOp, ReinterpretCastOp
from .sizes.attribute import SizesAttr
from .sizes.binding import Bindings, Dim, dims_of
from .sizes.polynomial import Size
from .types import IntegerType, memref, shape_of

_I8 = IntegerType(8)
_MOST_WORK = (1 << 63) - 1  # what the attribute holds: a loop of 2^63 - 1 iterations has more


@irdl_op_definition
class FuncOp(BaseOp):
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
    program.func @rows(%x: memref<?x64xf32>) -> (%y: memref<?x8xf32>) temporaries(%t: memref<?x8xf32>) sizes(%N: index)
        shapes(%x[%N, 64], %y[%N, 8], %t[%N, 8]) {
    }
    ```

    * `donated`: the caller donates the buffer, so that a result may be written over it.
    * `over %x`: the caller may give one buffer for this result and `%x`; any two others do not overlap.
    * `temporaries`: intermediate buffers of symbolic sizes, which the caller allocates as well.
    * `sizes`: the values of the sizes of type `?`, by `shapes`. The inputs of a call bind them, or they are
      computed as `meant` says (`<"n", "2 * n">`), which also has the bounds of symbols.
    * `work`: estimated scalar operations of a call. `peak`: the most bytes of the arena in use at once.

    (C1) The arguments are the inputs, the results, the temporaries, the sizes and at most one arena, in that order.
    (C2) Arguments are memrefs, but for the sizes, which are indices; the arena has a static shape.
    (C3) The arena is a memref of i8 of one dim.
    (C4) A donated buffer is an input, and `over` pairs a result with an input of its type, each at most once.
    (C5) `work` and `peak` are not negative.
    (C6) `shapes` gives every size of type `?` as one of `sizes`, and an input has each of these, or `meant` derives it; the
    caller of a private function passes all of them.
    """

    name = "program.func"
    sym_name = prop_def(SymbolNameConstraint())
    sym_visibility = opt_prop_def(EqAttrConstraint(StringAttr("private")))
    segments = prop_def(DenseArrayBase.constr(i64))
    shapes = opt_prop_def(ArrayAttr)
    meant = opt_prop_def(SizesAttr)
    donated = opt_prop_def(DenseArrayBase.constr(i64))
    donations = opt_prop_def(DenseArrayBase.constr(i64))
    work = opt_prop_def(IntegerAttr.constr(i64))
    peak = opt_prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    @staticmethod
    def build_function(
        name: str,
        body: Block,
        results: int,
        *,
        donated: Sequence[int] = (),
        work: int | None = None,
        shapes: Sequence[NumberedShape] = (),
        meant: Sequence[Size] = (),
    ) -> FuncOp:
        """The function of a block whose last `results` arguments before the sizes are the results; `shapes` are over the sizes.

        `meant` has the symbol or expression of each size.
        """
        sizes = sum(isinstance(argument.type, IndexType) for argument in body.args)
        segments = _numbers(len(body.args) - results - sizes, results, 0, sizes, 0)
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name), "segments": segments}
        if shapes:
            properties["shapes"] = shapes_attribute(shapes, sizes)
        if meant:
            properties["meant"] = SizesAttr(tuple(meant))
        if donated:
            properties["donated"] = _numbers(*donated)
        if work is not None:
            properties["work"] = IntegerAttr(min(work, _MOST_WORK), i64)
        return FuncOp.create(properties=properties, regions=[Region(body)])

    @property
    def is_private(self) -> bool:
        """Whether only functions of the module call it."""
        return self.sym_visibility is not None

    @property
    def inputs(self) -> Sequence[BlockArgument]:
        """The arguments that are read."""
        return self._segment(0)

    @property
    def outputs(self) -> Sequence[BlockArgument]:
        """The arguments that are the results."""
        return self._segment(1)

    @property
    def temporaries(self) -> Sequence[BlockArgument]:
        """The intermediate buffers of symbolic sizes."""
        return self._segment(2)

    @property
    def sizes(self) -> Sequence[BlockArgument]:
        """The arguments that give the sizes of type `?`."""
        return self._segment(3)

    def meant_sizes(self) -> tuple[Size, ...]:
        """The meaning of each of `sizes`: a symbol, or an expression of symbols."""
        if self.meant is not None:
            return self.meant.data
        return tuple([Size.symbol(size.name_hint or f"size{k}") for k, size in enumerate(self.sizes)])

    def sizes_of(self, buffer: SSAValue) -> tuple[int | BlockArgument, ...]:
        """The sizes of an argument: numbers, and arguments of `sizes`."""
        given = given_shapes(self.shapes, self.body.block.args).get(buffer)
        if given is None:
            return shape_of(buffer)
        return tuple([self.sizes[e.position] if isinstance(e, AffineDimExpr) else e.eval([], []) for e in given[0]])

    def bind_sizes(self, shapes: Sequence[Sequence[int]]) -> dict[SSAValue, int]:
        """The values of `sizes` that the shapes of inputs bind.

        Raises:
            ShapeError: they do not agree.
        """
        meant = self.meant_sizes()
        bindings = Bindings(list(map(str, meant)))
        dims = dims_of(meant)
        numbers = {size: k for k, size in enumerate(self.sizes)}
        for argument, shape in zip(self.inputs, shapes, strict=True):
            for axis, (size, extent) in enumerate(zip(self.sizes_of(argument), shape, strict=True)):
                dim = Dim(None, size) if isinstance(size, int) else dims[numbers[size]]
                source = f"dim {axis} of argument '{argument.name_hint}'"
                if not bindings.bind(dim, extent, source):
                    wanted = f"{source} is {extent}, not {size}"
                    raise ShapeError(wanted if dim.symbol is None else bindings.conflict(dim, extent, source))
        try:
            bindings.complete(meant)
        except ValueError as error:
            raise ShapeError(str(error)) from None
        return {size: bindings.values[k] for k, size in enumerate(self.sizes)}

    @property
    def arena(self) -> BlockArgument | None:
        """The memory of intermediate buffers, if it is planned."""
        return self.body.block.args[-1] if self._segments[4] else None

    @property
    def arena_bytes(self) -> int:
        """The size of the arena; 0 if there is none."""
        type = None if self.arena is None else self.arena.type
        return type.get_shape()[0] if isinstance(type, MemRefType) else 0

    def add_arena(self, size_bytes: int, peak_bytes: int) -> BlockArgument:
        """Make an arena the last argument. Donated buffers that no result takes stay with the caller."""
        block = self.body.block
        arena = block.insert_arg(memref(_I8, (size_bytes,)), len(block.args))
        arena.name_hint = "arena"
        self.properties["segments"] = _numbers(*self._segments[:4], 1)
        self.properties["peak"] = IntegerAttr(peak_bytes, i64)
        self.properties.pop("donated", None)
        return arena

    def add_temporary(self, type: MemRefType, sizes: Sequence[int | SSAValue]) -> BlockArgument:
        """Append a buffer of these sizes to the temporaries."""
        block = self.body.block
        at = sum(self._segments[:3])
        n_inputs, n_results, n_temporaries, n_sizes, n_arenas = self._segments
        self.properties["segments"] = _numbers(n_inputs, n_results, n_temporaries + 1, n_sizes, n_arenas)
        numbers = {size: k for k, size in enumerate(block.args[at : at + n_sizes])}
        exprs = [AffineConstantExpr(n) if isinstance(n, int) else AffineDimExpr(numbers[n]) for n in sizes]  # pyright: ignore[reportArgumentType]
        entries = [] if self.shapes is None else list(self.shapes.data)
        self.properties["shapes"] = ArrayAttr([*entries, *shapes_attribute([(at, exprs, None)], n_sizes).data])
        return block.insert_arg(type, at)

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
    def _segments(self) -> tuple[int, ...]:
        """How many arguments are inputs, results, temporaries, sizes and arena."""
        return self.segments.get_values()

    def _segment(self, number: int) -> Sequence[BlockArgument]:
        first = sum(self._segments[:number])
        return self.body.block.args[first : first + self._segments[number]]

    def verify_(self) -> None:
        arguments = self.body.block.args
        segments = self.segments.get_values()
        if len(segments) != 5 or min(segments) < 0 or segments[4] > 1 or sum(segments) != len(arguments):  # C1
            kinds = "inputs, results, temporaries, sizes and arenas"
            raise _invalid(f"segments must count the {kinds} of {len(arguments)} arguments, got {segments}")
        for argument in arguments:
            type = argument.type
            if isinstance(type, IndexType) and argument in self.sizes:
                continue
            if not isinstance(type, MemRefType) or argument in self.sizes:  # C2
                raise _invalid(f"argument must be a memref, or an index among its sizes, got {type}")
            if argument is self.arena and (len(type.get_shape()) != 1 or type != memref(_I8, type.get_shape())):  # C3
                raise _invalid(f"arena must be a memref of i8 of one dim, got {type}")
            if argument is self.arena and DYNAMIC_INDEX in type.get_shape():  # C2
                raise _invalid(f"arena must have a static shape, got {type}")
        self._verify_shapes()
        self._verify_donations()
        for name in ("work", "peak"):
            value = self.properties.get(name)
            if isinstance(value, IntegerAttr) and value.value.data < 0:  # C5
                raise _invalid(f"{name} must be a number of at least 0, got {value.value.data}")

    def _verify_shapes(self) -> None:
        block, n = self.body.block, len(self.sizes)
        for entry in () if self.shapes is None else self.shapes.data:
            number, sizes = entry.data if isinstance(entry, ArrayAttr) and len(entry.data) == 2 else (None, None)
            well_formed = isinstance(number, IntegerAttr) and 0 <= number.value.data < len(block.args)
            if not well_formed or not isinstance(sizes, AffineMapAttr) or sizes.data.num_dims != n:  # C6
                raise _invalid(f"shapes must be [argument, sizes] over {n} sizes")
        given = given_shapes(self.shapes, block.args)
        for argument in block.args:
            type = argument.type
            if not isinstance(type, MemRefType):
                if argument in given:  # C6
                    raise _invalid(f"shapes give sizes to an argument of type {type}")
                continue
            sizes = given.get(argument, ((), None))[0]
            if (argument in given or DYNAMIC_INDEX in type.get_shape()) and not _agree(type, sizes, n):  # C6
                spelled = ", ".join(map(str, sizes)) or "none"
                raise _invalid(f"shapes must give the sizes of {type} as numbers and sizes, got {spelled}")
            if DYNAMIC_INDEX in type.get_shape() and not isinstance(type.layout, NoneAttr):  # C6
                raise _invalid(f"argument of symbolic size must be contiguous, got {type}")
        meant = self.meant_sizes()
        if len(meant) != n or not all(isinstance(size, Size) for size in meant):  # C6
            raise _invalid(f"meant must say what each of {n} sizes is, got {self.meant}")
        said = {size for argument in self.inputs for size in self.sizes_of(argument)}
        shifts = {size.terms[0] for of, size in zip(self.sizes, meant, strict=True) if of in said}
        for of, size in zip(self.sizes, () if self.is_private else meant, strict=not self.is_private):
            if any(((symbol,), 1) not in shifts for symbol in size.symbols):  # C6
                raise _invalid(f"size %{of.name_hint} is that of no input, and does not follow from theirs")

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
            if outputs[result].type != inputs[number].type or self.sizes_of(outputs[result]) != self.sizes_of(
                inputs[number]
            ):  # C4
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
        for word, arguments in (("temporaries", self.temporaries), ("sizes", self.sizes)):
            if arguments:
                printer.print_string(f" {word}(")
                printer.print_list(arguments, printer.print_block_argument)
                printer.print_string(")")
        if self.shapes is not None:
            print_shapes(printer, given_shapes(self.shapes, self.body.block.args), self.sizes)
        if self.meant is not None:
            printer.print_string(" meant ")
            self.meant.print_parameter(printer)
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
        counts: list[int] = []
        for word in ("temporaries", "sizes"):
            before = len(arguments)
            if parser.parse_optional_keyword(word):
                parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
            counts.append(len(arguments) - before)
        if parser.parse_optional_keyword("shapes"):
            named = {found.name.text: k for k, found in enumerate(arguments)}
            indices = {found.name.text: k for k, found in enumerate(arguments[len(arguments) - counts[1] :])}
            properties["shapes"] = parse_shapes(parser, named, indices, "program.func")
        if parser.parse_optional_keyword("meant"):
            properties["meant"] = SizesAttr(SizesAttr.parse_parameter(parser))
        if parser.parse_optional_keyword("arena"):
            parser.parse_punctuation("(")
            argument()
            parser.parse_punctuation(")")
            n_arenas = 1
        properties["segments"] = _numbers(n_inputs, n_results, *counts, n_arenas)
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
    """The arguments that a caller passes to a function, beside memory for results."""
    return function.inputs if isinstance(function, FuncOp) else function.body.block.args


def _are_numbers(found: Sequence[int], count: int) -> bool:
    """Whether these are some of the numbers below `count`, in order."""
    return bool(found) and list(found) == sorted(set(found)) and found[0] >= 0 and found[-1] < count


def _agree(type: MemRefType, sizes: Sequence[AffineExpr], n: int) -> bool:
    """Whether sizes are those that a type knows, and one of `n` arguments for each that it does not."""
    if type.get_num_dims() != len(sizes):
        return False
    for known, size in zip(type.get_shape(), sizes, strict=True):
        is_size = isinstance(size, AffineDimExpr) and size.position < n
        if not (is_size if known == DYNAMIC_INDEX else isinstance(size, AffineConstantExpr) and size.value == known):
            return False
    return True


def _invalid(message: str) -> VerifyException:
    return VerifyException(f"'program.func' op {message}")


def _numbers(*numbers: int) -> DenseArrayBase[Any]:
    return DenseArrayBase.from_list(i64, numbers)


Program = Dialect("program", [FuncOp, GetGlobalOp, ReinterpretCastOp], [])

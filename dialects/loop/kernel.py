"""The kernel op: its arguments, and how the sizes of its buffers relate to its index arguments."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..assembly import pairs_attribute, pairs_of, print_over
from ..types import shape_of
from .base import LoopOp
from .shapes import Shape, given_shapes, parse_shapes, print_shapes, shapes_attribute

_INDEX = IndexType()
_TEXTS = ("checks", "fallbacks")
DERIVED = "lamina.derived"
"""The attribute of kernels that are derivatives or batches of others."""


@irdl_op_definition
class KernelOp(LoopOp):
    """A kernel: its arguments are memrefs that do not alias, scalars, and sizes of type index, which are not negative.

    ```mlir
    loop.kernel @scale(%x: memref<64xf32>, %y: memref<64xf32>) {
      loop.for parallel %i = 0 to 64 {
        %a = loop.load %x[%i] : memref<64xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %y[%i] : memref<64xf32>
      }
    }
    loop.kernel @copy(%x: memref<?x4xf32, strided<[?, 1]>>, %y: memref<?x4xf32>, %N: index, %ldx: index)
        shapes(%x[%N, 4] strides [%ldx, 1], %y[%N, 4]) {
    }
    loop.kernel @neg(%x: memref<64xf32>, %y: memref<64xf32>) in_place(%y over %x) scheduled {
    }
    ```

    * `in_place(%y over %x)`: `%y` may be the memory of `%x`, as each element of `%y` is stored after the last load of it.
    * `reassociate`: sums of floats may be added in another order.
    * `scheduled`: the author has scheduled the kernel; no pass changes its schedule.
    * `checks("dim 0 of x", ...)`: the subject of check k + 1 (`loop.check`), for messages.
    * `fallbacks("...", ...)`: steps that failed while the kernel was built or scheduled, and were left out.

    (C1) Argument types are memrefs, scalars or index.
    (C2) `shapes` gives every size of type `?` as an affine expression of index arguments, and every unknown stride.
    (C3) `shapes` agrees with the static sizes and strides of the types.
    (C4) `in_place` pairs buffers of one type, two arguments each.
    (C5) `checks` and `fallbacks` are not empty.
    """

    name = "loop.kernel"
    sym_name = prop_def(SymbolNameConstraint())
    shapes = opt_prop_def(ArrayAttr)
    in_place = opt_prop_def(DenseArrayBase.constr(i64))
    reassociate = opt_prop_def(UnitAttr)
    scheduled = opt_prop_def(UnitAttr)
    checks = opt_prop_def(ArrayAttr[StringAttr])
    fallbacks = opt_prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    @staticmethod
    def build_kernel(
        name: str,
        arguments: Sequence[tuple[str, Attribute]],
        shapes: Sequence[tuple[int, Sequence[AffineExpr], Sequence[AffineExpr] | None]] = (),
    ) -> KernelOp:
        """Create a kernel with an empty body.

        Args:
            arguments: name and type of each.
            shapes: (number of the argument, sizes, strides or None for none given) of each buffer whose type leaves something
                open; the expressions are over the index arguments: dim 0 is the first argument of type index.
        """
        block = Block(arg_types=[type for _, type in arguments])
        for argument, (hint, _) in zip(block.args, arguments, strict=True):
            argument.name_hint = hint
        n = sum(type == _INDEX for _, type in arguments)
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name)}
        if shapes:
            properties["shapes"] = shapes_attribute(shapes, n)
        return KernelOp.create(properties=properties, regions=[Region(block)])

    @property
    def index_arguments(self) -> list[BlockArgument]:
        """The arguments of type index: sizes, strides and other index values."""
        return [argument for argument in self.body.block.args if argument.type == _INDEX]

    def given_shapes(self) -> dict[SSAValue, Shape]:
        """Sizes and strides that `shapes` gives, by buffer."""
        return given_shapes(self.shapes, self.body.block.args)

    def sizes_of(self, buffer: SSAValue) -> tuple[AffineExpr, ...]:
        """The sizes of an argument, as expressions over `index_arguments`."""
        given = self.given_shapes().get(buffer)
        if given is not None:
            return given[0]
        return tuple(AffineConstantExpr(n) for n in shape_of(buffer))

    @property
    def in_place_pairs(self) -> tuple[tuple[int, int], ...]:
        """The numbers of arguments (result, operand) that may be one buffer."""
        return pairs_of(self.in_place)

    @in_place_pairs.setter
    def in_place_pairs(self, pairs: Sequence[tuple[int, int]]) -> None:
        self.properties.pop("in_place", None)
        if pairs:
            self.properties["in_place"] = pairs_attribute(pairs)

    @property
    def may_reassociate(self) -> bool:
        """Whether the author lets sums of floats be added in another order."""
        return self.reassociate is not None

    def let_reassociate(self) -> None:
        """Let sums of floats be added in another order."""
        self.properties["reassociate"] = UnitAttr()

    @property
    def is_scheduled(self) -> bool:
        """Whether the author has scheduled the kernel."""
        return self.scheduled is not None

    def mark_scheduled(self) -> None:
        """Keep passes from scheduling the kernel by themselves."""
        self.properties["scheduled"] = UnitAttr()

    @property
    def is_derived(self) -> bool:
        """Whether a pass has written the kernel: it gets the default schedule, and goes when nothing calls it."""
        return DERIVED in self.attributes

    def mark_derived(self) -> None:
        """Say that a pass has written the kernel."""
        self.attributes[DERIVED] = UnitAttr()

    def texts(self, name: str) -> list[str]:
        """The strings of `checks` or `fallbacks`."""
        found = self.properties.get(name)
        return [text.data for text in found.data if isinstance(text, StringAttr)] if isinstance(found, ArrayAttr) else []

    def add_texts(self, name: str, texts: Sequence[str]) -> None:
        """Add strings to `checks` or `fallbacks`."""
        if texts:
            self.properties[name] = ArrayAttr([StringAttr(text) for text in (*self.texts(name), *texts)])

    def verify_(self) -> None:
        for argument in self.body.block.args:
            type = argument.type
            if not isinstance(type, MemRefType | IndexType) and not hasattr(type, "bitwidth"):  # C1
                raise VerifyException(f"'loop.kernel' op argument must be a memref, a scalar or an index, got {type}")
        self._verify_in_place()
        for name in _TEXTS:
            if name in self.properties and not self.texts(name):  # C5
                raise VerifyException(f"'loop.kernel' op {name} must not be empty")
        if self.shapes is not None:  # otherwise sizes stay unknown: such a kernel can be read but not lowered
            self._verify_shapes(self.shapes)

    def _verify_in_place(self) -> None:
        if self.in_place is None:
            return
        arguments, pairs = self.body.block.args, self.in_place_pairs
        if not pairs or len(self.in_place) % 2 or any(not 0 <= k < len(arguments) for pair in pairs for k in pair):  # C4
            raise VerifyException(f"'loop.kernel' op in_place must be pairs of numbers of arguments, got {self.in_place}")
        for result, operand in pairs:
            types = arguments[result].type, arguments[operand].type
            if types[0] != types[1] or not isinstance(types[0], MemRefType):  # C4
                raise VerifyException(f"'loop.kernel' op in_place pairs {types[0]} with {types[1]}")

    def _verify_shapes(self, shapes: ArrayAttr) -> None:
        block = self.body.block
        n = len(self.index_arguments)
        for entry in shapes.data:
            items: list[Attribute] = list(entry.data) if isinstance(entry, ArrayAttr) else []
            number, maps = (items[0], items[1:]) if items else (None, [])
            if not (
                1 <= len(maps) <= 2
                and isinstance(number, IntegerAttr)
                and 0 <= number.value.data < len(block.args)
                and all(isinstance(m, AffineMapAttr) and m.data.num_dims == n and not m.data.num_symbols for m in maps)
            ):  # C2
                raise VerifyException(f"'loop.kernel' op shapes must be [argument, sizes, strides] over {n} index arguments")
        for argument, (sizes, strides) in self.given_shapes().items():
            type = argument.type
            if not isinstance(type, MemRefType) or type.get_num_dims() != len(sizes):  # C2
                raise VerifyException(f"'loop.kernel' op shapes give {len(sizes)} sizes to an argument of type {type}")
            for known, size in zip(type.get_shape(), sizes, strict=True):
                if (known == DYNAMIC_INDEX) == isinstance(size, AffineConstantExpr) or (
                    isinstance(size, AffineConstantExpr) and size.value != known
                ):  # C3
                    raise VerifyException(f"'loop.kernel' op shapes do not fit {type}: size {size}")
            if (strides is None) != isinstance(type.layout, NoneAttr):  # C2
                raise VerifyException(f"'loop.kernel' op shapes must give strides to {type} exactly if it has a strided layout")
            for known, stride in zip(() if strides is None else type.get_strides() or (), strides or (), strict=True):
                if (known is None) == isinstance(stride, AffineConstantExpr) or (
                    isinstance(stride, AffineConstantExpr) and stride.value != known
                ):  # C3
                    raise VerifyException(f"'loop.kernel' op shapes do not fit {type}: stride {stride}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string("(")
        printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(")")
        if self.shapes is not None:
            print_shapes(printer, self.given_shapes(), self.index_arguments)
        if self.in_place_pairs:
            arguments = self.body.block.args
            printer.print_string(" in_place(")
            printer.print_list(self.in_place_pairs, lambda pair: print_over(printer, arguments[pair[0]], arguments[pair[1]]))
            printer.print_string(")")
        if self.may_reassociate:
            printer.print_string(" reassociate")
        if self.is_scheduled:
            printer.print_string(" scheduled")
        for word in _TEXTS:
            if texts := self.texts(word):
                printer.print_string(f" {word}(")
                printer.print_list(texts, printer.print_string_literal)
                printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        def argument() -> Parser.Argument:
            found = parser.parse_argument()
            found.location = parser.parse_optional_location()
            return found

        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        named = {argument.name.text: k for k, argument in enumerate(arguments)}
        indices = {argument.name.text: k for k, argument in enumerate(a for a in arguments if a.type == _INDEX)}
        properties: dict[str, Attribute] = {"sym_name": name}

        if parser.parse_optional_keyword("shapes"):
            properties["shapes"] = parse_shapes(parser, named, indices, "loop.kernel")

        def number() -> int:
            position = parser.pos
            found = named.get(parser.parse_unresolved_operand().span.text)
            return parser.raise_error("'loop.kernel' op in_place must name arguments", position) if found is None else found

        def pair() -> tuple[int, int]:
            result = number()
            parser.parse_keyword("over")
            return result, number()

        if parser.parse_optional_keyword("in_place"):
            properties["in_place"] = pairs_attribute(parser.parse_comma_separated_list(parser.Delimiter.PAREN, pair))
        if parser.parse_optional_keyword("reassociate"):
            properties["reassociate"] = UnitAttr()
        if parser.parse_optional_keyword("scheduled"):
            properties["scheduled"] = UnitAttr()
        for word in _TEXTS:
            if parser.parse_optional_keyword(word):
                texts = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_str_literal)
                properties[word] = ArrayAttr([StringAttr(text) for text in texts])
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region(arguments)
        return cls.create(
            properties=properties,
            attributes={} if attributes is None else attributes.data,
            regions=[region],
        )

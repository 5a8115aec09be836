"""Sizes and strides of the arguments of kernels and host functions: `shapes(%x[%N, 64], %y[%N] strides [%lda])`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser
from xdsl.printer import Printer

from .subscripts import NamedSubscriptParser, canonical, print_exprs

Shape = tuple[tuple[AffineExpr, ...], tuple[AffineExpr, ...] | None]
"""Sizes, and strides or None for none given, over the index arguments."""
NumberedShape = tuple[int, Sequence[AffineExpr], Sequence[AffineExpr] | None]
"""The same, of the argument of a number."""


def shapes_attribute(shapes: Sequence[NumberedShape], n: int) -> ArrayAttr:
    """The attribute of shapes over `n` index arguments."""
    entries: list[Attribute] = []
    for number, sizes, strides in shapes:
        maps = [AffineMapAttr(AffineMap(n, 0, tuple(canonical(e, n) for e in m))) for m in (sizes, strides) if m is not None]
        entries.append(ArrayAttr([IntegerAttr(number, i64), *maps]))
    return ArrayAttr(entries)


def given_shapes(shapes: ArrayAttr | None, arguments: Sequence[SSAValue]) -> dict[SSAValue, Shape]:
    """Sizes and strides that an attribute gives, by argument."""
    found: dict[SSAValue, Shape] = {}
    for entry in () if shapes is None else shapes.data:
        number, sizes, *strides = entry.data  # pyright: ignore[reportAttributeAccessIssue]
        found[arguments[number.value.data]] = (sizes.data.results, strides[0].data.results if strides else None)
    return found


def print_shapes(printer: Printer, shapes: Mapping[SSAValue, Shape], indices: Sequence[SSAValue]) -> None:
    """Print ` shapes(...)`."""
    printer.print_string(" shapes(")
    for k, (argument, (sizes, strides)) in enumerate(shapes.items()):
        if k:
            printer.print_string(", ")
        printer.print_ssa_value(argument)
        print_exprs(printer, sizes, indices)
        if strides is not None:
            printer.print_string(" strides ")
            print_exprs(printer, strides, indices)
    printer.print_string(")")


def parse_shapes(parser: Parser, named: Mapping[str, int], indices: Mapping[str, int], op: str) -> ArrayAttr:
    """Parse what follows the keyword; `named` are the numbers of the arguments, `indices` those of the index arguments."""

    def shape() -> NumberedShape:
        position = parser.pos
        number = named.get(parser.parse_unresolved_operand().span.text)
        if number is None:
            parser.raise_error(f"'{op}' op shapes must name an argument", position)
        sizes = NamedSubscriptParser(parser, indices).exprs()
        strides = NamedSubscriptParser(parser, indices).exprs() if parser.parse_optional_keyword("strides") else None
        return number, sizes, strides

    shapes = parser.parse_comma_separated_list(parser.Delimiter.PAREN, shape)
    return shapes_attribute(shapes, len(indices))

"""Programs for one call: symbolic sizes are replaced by its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import FunctionType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...errors import ShapeError
from ..sizes.atoms import Symbol
from ..sizes.attribute import SizesAttr
from ..sizes.polynomial import Size, symbols_of
from ..types import set_type, shape_of, tensor
from .base import to_attribute


def bind_symbols(arguments: Sequence[SSAValue], shapes: Sequence[Sequence[int]]) -> dict[Symbol, int]:
    """The values of the symbols in the types of arguments, given shapes of these.

    Raises:
        ShapeError: they do not agree, or a symbol is not between its bounds.
    """
    known: dict[Symbol, int] = {}
    sized = [
        (size, extent, f"dim {axis} of argument '{argument.name_hint or k}'")
        for k, (argument, shape) in enumerate(zip(arguments, shapes, strict=True))
        for axis, (size, extent) in enumerate(zip(shape_of(argument), shape, strict=True))
    ]
    for size, extent, _ in sized:
        if isinstance(size, Size) and len(size.symbols) == 1 and size.symbols[0] not in known:
            (symbol,) = size.symbols
            if size - size.constant == Size((((symbol,), 1),)):
                known[symbol] = extent - size.constant
    for symbol in symbols_of([size for size, *_ in sized]):
        if symbol not in known:
            raise ShapeError(f"no argument has size '{symbol}'")
        if reason := symbol.why_not(known[symbol]):
            raise ShapeError(f"size '{symbol}' {reason}, it is {known[symbol]}")
    for size, extent, source in sized:
        wanted = size.substitute(known.__getitem__) if isinstance(size, Size) else size
        if isinstance(size, Size) and wanted != extent:
            raise ShapeError(f"size '{size}' is {wanted} by an argument before, and {extent} by {source}")
    return known


def substitute_sizes(functions: Iterable[Operation], known: Mapping[Symbol, Any]) -> None:
    """Replace symbols in graph functions, in place."""

    def size(of: Any) -> Any:
        return of.substitute(lambda symbol: known.get(symbol, Size((((symbol,), 1),)))) if isinstance(of, Size) else of

    def attribute(of: Attribute) -> Attribute:
        if isinstance(of, TensorType) and any(isinstance(n, Size) for n in of.get_shape()):
            return tensor(of.element_type, [size(n) for n in of.get_shape()])
        if isinstance(of, SizesAttr):
            return to_attribute([size(n) for n in of.data])
        if isinstance(of, FunctionType):
            return FunctionType.from_lists(list(map(attribute, of.inputs)), list(map(attribute, of.outputs)))
        return of

    for function in functions:
        if not isinstance(function, FuncOp):
            continue
        for op in function.walk():
            op.properties = {name: attribute(value) for name, value in op.properties.items()}
            for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
                set_type(value, attribute(value.type))

"""Fingerprints of modules for cache keys: text that identifies a module, built several times as fast as its IR is printed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute

_END = "\0"
"""The character that ends every part; names do not contain it, and printed attributes escape it."""

_type_text = lru_cache(maxsize=4096)(str)


def fingerprint(root: Operation) -> str:
    """A text that is equal only for operations that print alike: ops, types, attributes, names of values, but no locations.

    >>> from xdsl.dialects.builtin import ModuleOp, StringAttr
    >>> one, other = ModuleOp([]), ModuleOp([], {"note": StringAttr("x")})
    >>> fingerprint(one) == fingerprint(ModuleOp([])), fingerprint(one) == fingerprint(other)
    (True, False)
    """
    return _END.join(_Writer().operation(root).parts)


class _Writer:
    """Collects the parts. Each list is preceded by its length, so that the concatenation is unambiguous."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        # values, blocks and attributes by identity: the operations keep them alive
        self.numbers: dict[int, int] = {}
        self.blocks: dict[int, int] = {}
        self.texts: dict[int, str] = {}

    def operation(self, op: Operation) -> _Writer:
        parts, numbers = self.parts, self.numbers
        operands, results, regions, successors = op._operands, op.results, op.regions, op._successors
        counts = f"{len(operands)} {len(results)} {len(op.properties)} {len(op.attributes)} {len(regions)} {len(successors)}"
        parts.append(f"{op.name} {counts}")
        for block in successors:
            parts.append(f"{self.blocks.setdefault(id(block), len(self.blocks))}")
        for operand in operands:  # a value defined in a later block gets its number at this first use
            parts.append(f"{numbers.setdefault(id(operand), len(numbers))}")
        for result in results:
            self._value(result)
        for attributes in (op.properties, op.attributes):
            for name, attribute in attributes.items():
                parts += (name, self._text(attribute))
        for region in regions:
            blocks = list(region.blocks)
            parts.append(f"{len(blocks)}")
            for block in blocks:
                self._block(block)
        return self

    def _block(self, block: Block) -> None:
        ops = list(block.ops)
        self.parts.append(f"{self.blocks.setdefault(id(block), len(self.blocks))} {len(block.args)} {len(ops)}")
        for argument in block.args:
            self._value(argument)
        for op in ops:
            self.operation(op)

    def _value(self, value: SSAValue) -> None:
        number = self.numbers.setdefault(id(value), len(self.numbers))
        self.parts += (f"{number} {value.name_hint or ''}", self._text(value.type))

    def _text(self, attribute: Attribute) -> str:
        text = self.texts.get(id(attribute))
        if text is None:
            text = self.texts[id(attribute)] = _writer(type(attribute))(attribute)
        return text


@cache
def _writer(kind: type[Attribute]) -> Callable[[Any], str]:
    """The function that writes attributes of a class as text. Printing takes 50 us, so the usual classes have one here."""
    # classes are compared as they are: to ask an abstract class whether it has a subclass takes half a millisecond
    if TypeAttribute in kind.__mro__:
        return _type_text  # equal types print alike; equal constants need not, as 0.0 and -0.0
    return _WRITERS.get(kind, str)


_WRITERS: dict[type[Attribute], Callable[[Any], str]] = {
    DenseIntOrFPElementsAttr: lambda attribute: f"dense {_type_text(attribute.type)} {attribute.data.data.hex()}",
    DenseArrayBase: lambda attribute: f"array {_type_text(attribute.elt_type)} {attribute.data.data.hex()}",
    IntegerAttr: lambda attribute: f"{attribute.value.data} : {_type_text(attribute.type)}",
    StringAttr: lambda attribute: f"text {attribute.data!r}",
}

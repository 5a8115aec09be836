"""What tells modules apart, as text that is made several times as fast as the module is printed: for keys of caches."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute

_END = "\0"
"""Ends every part; no name has it, and printed attributes have it escaped."""

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
    """Collects the parts. Numbers of what follows stand before it, so that parts mean the same wherever they are."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.numbers: dict[SSAValue, int] = {}
        self.blocks: dict[Block, int] = {}
        self.texts: dict[int, str] = {}
        """Of attributes by identity, which the operations keep alive."""

    def operation(self, op: Operation) -> _Writer:
        parts, numbers = self.parts, self.numbers
        operands, results = op._operands, op.results
        counts = (operands, results, op.properties, op.attributes, op.regions, op.successors)
        parts.append(" ".join([op.name, *[str(len(each)) for each in counts]]))
        parts += [str(self.blocks.setdefault(block, len(self.blocks))) for block in op.successors]
        # a value of a block that comes later gets its number here
        parts += [str(numbers.setdefault(operand, len(numbers))) for operand in operands]
        for result in results:
            self._value(result)
        for attributes in (op.properties, op.attributes):
            for name, attribute in attributes.items():
                parts += (name, self._text(attribute))
        for region in op.regions:
            blocks = list(region.blocks)
            parts.append(f"{len(blocks)}")
            for block in blocks:
                self._block(block)
        return self

    def _block(self, block: Block) -> None:
        ops = list(block.ops)
        self.parts.append(f"{self.blocks.setdefault(block, len(self.blocks))} {len(block.args)} {len(ops)}")
        for argument in block.args:
            self._value(argument)
        for op in ops:
            self.operation(op)

    def _value(self, value: SSAValue) -> None:
        number = self.numbers.setdefault(value, len(self.numbers))
        self.parts += (f"{number} {value.name_hint or ''}", self._text(value.type))

    def _text(self, attribute: Attribute) -> str:
        text = self.texts.get(id(attribute))
        if text is None:
            # equal types print alike; equal constants need not, as 0.0 and -0.0
            if isinstance(attribute, TypeAttribute):
                text = _type_text(attribute)
            elif isinstance(attribute, DenseIntOrFPElementsAttr):
                text = f"{_type_text(attribute.type)} {attribute.data.data.hex()}"
            else:
                text = str(attribute)
            self.texts[id(attribute)] = text
        return text

"""Snapshots of a kernel or function, from which it can be restored.

Contents are recorded by reference and rebuilt only on restoration: a snapshot takes a tenth of the time of a clone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects.operations import create

_Value = tuple[SSAValue, Attribute, str | None]
"""A value, its type, its name."""
_Op = tuple[Operation, tuple[SSAValue, ...], list[_Value], dict[str, Attribute], dict[str, Attribute], Any, list[Any]]
"""An op, its operands, results, properties, attributes, location, and the blocks of each region."""
_Block = tuple[list[_Value], list[_Op]]
"""The arguments and ops of a block."""

_NONE: list[Any] = []
_EMPTY: dict[str, Attribute] = {}

_Made = dict[SSAValue, SSAValue]


class Snapshot:
    """The regions, properties and attributes of an op that nothing else references."""

    def __init__(self, op: Operation):
        self.state: _Op = _op(op)

    def restore(self) -> None:
        """Restore the op: it stays the same object, the contents of its regions are rebuilt."""
        op, _, _, properties, attributes, _, regions = self.state
        made: _Made = {}
        for region, blocks in zip(op.regions, regions, strict=True):
            for block in list(region.blocks):
                region.detach_block(block)
            for block in blocks:
                region.add_block(_made_block(block, made))
        op.properties, op.attributes = dict(properties), dict(attributes)


def _op(op: Operation) -> _Op:
    values: list[_Value] = [(value, value._type, value._name) for value in op.results]
    regions = [[_block(block) for block in region.blocks] for region in op.regions]
    return op, op._operands, values, dict(op.properties), dict(op.attributes), op.location, regions


def _block(block: Block) -> _Block:
    ops: list[_Op] = []
    op = block._first_op
    while op is not None:
        if op.regions:
            ops.append(_op(op))
        else:  # the same in half of the time
            attributes = op.attributes.copy() if op.attributes else _EMPTY
            values: list[_Value] = [(value, value._type, value._name) for value in op.results] if op.results else _NONE
            ops.append((op, op._operands, values, op.properties.copy(), attributes, op.location, _NONE))
        op = op._next_op
    return [(value, value._type, value._name) for value in block._args], ops


def _made_op(state: _Op, made: _Made) -> Operation:
    old, operands, results, properties, attributes, location, regions = state
    op = create(
        type(old),
        operands=[made[value] for value in operands],
        result_types=[type for _, type, _ in results],
        properties=properties,
        attributes=attributes,
        location=location,
        regions=[Region([_made_block(block, made) for block in blocks]) for blocks in regions],
    )
    _remember(results, op.results, made)
    return op


def _made_block(state: _Block, made: _Made) -> Block:
    arguments, ops = state
    block = Block(arg_types=[type for _, type, _ in arguments])
    _remember(arguments, block.args, made)
    for op in ops:
        block.add_op(_made_op(op, made))
    return block


def _remember(states: Sequence[_Value], values: Sequence[SSAValue], made: _Made) -> None:
    for (old, _, name), value in zip(states, values, strict=True):
        value._name = name
        made[old] = value

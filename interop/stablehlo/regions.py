"""What a region computes, where that is one op of its arguments: what reductions, scatters and windows ask."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ...library.numpy import namespace as lnp

_FUNCTIONS = {
    "stablehlo.add": lnp.add,
    "stablehlo.multiply": lnp.multiply,
    "stablehlo.maximum": lnp.maximum,
    "stablehlo.minimum": lnp.minimum,
    "stablehlo.and": lnp.bitwise_and,
    "stablehlo.or": lnp.bitwise_or,
}
"""The functions that the library has an op of its own for."""


def single_op(region: Any) -> str | None:
    """The name of the op that a region of two arguments applies to both; "second" if it returns that; None for others."""
    block, ops = region.block, list(region.block.ops)
    if len(block.args) != 2 or not ops or len(ops[-1].operands) != 1:
        return None
    returned = ops[-1].operands[0]
    if len(ops) == 1:
        return "second" if returned is block.args[1] else None
    op = ops[0]
    if len(ops) != 2 or len(op.results) != 1 or returned is not op.results[0]:
        return None
    if len({argument.type for argument in block.args} | {returned.type}) != 1:
        return None
    operands = list(op.operands)
    if operands == [block.args[0], block.args[1]] or (op.name in _FUNCTIONS and operands == [block.args[1], block.args[0]]):
        return op.name
    return None


def combining(region: Any, n: int, without: Collection[str] = ()) -> Any:
    """A region as a function of two values, or, of `n` operands, of two lists of them, as `lax.reduce` takes it.

    `without` are the ops that the library has no op of its own for, of the element type.
    """
    name = single_op(region) or ""
    function = _FUNCTIONS.get(name) if n == 1 and name not in without else None
    if function is not None:
        return function
    if n == 1:
        return lambda a, b: region(a, b)[0]
    return lambda a, b: tuple(region(*a, *b))

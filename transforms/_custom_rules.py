"""Transposes of `graph.transpose_of` and batches of `graph.custom_derivative`; tangents are in `_custom_tangents.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.custom import CustomDerivativeOp, TransposeOfOp
from ..dialects.types import tensor
from ._for_loops import new_function
from ._functions import called_function, clone_body, function_named

if TYPE_CHECKING:
    from ._batch import Batcher


def transpose_custom(
    op: TransposeOfOp, cotangents: Mapping[SSAValue, SSAValue], b: GraphBuilder
) -> list[tuple[SSAValue, SSAValue]]:
    """(argument, cotangent) for every argument of a `graph.transpose_of`: its function, in place."""
    given = [b.zeros_like(r) if (found := cotangents.get(r)) is None else found for r in op.results]
    gradients, _ = clone_body(called_function(op), [*op.fixed, *given], b.insert)
    return list(zip(op.arguments, gradients, strict=True))


def batch_custom(op: CustomDerivativeOp, batcher: Batcher) -> None:
    """The same op over functions of batched values, all of them."""
    values = [batcher.values[v] if v in batcher.batched else batcher.spread(batcher.values[v]) for v in op.operands]
    n = len(op.consts)
    callee, *rules = [_batched(op, name, batcher) for name in (op.callee, *op.rules)]
    types = [_stacked(r.type, batcher.size) for r in op.results]
    new = CustomDerivativeOp.make(callee, rules, values[:n], values[n:], types, in_rule=op.in_rule is not None)
    batcher.b.insert(new)
    for old, value in zip(op.results, new.results, strict=True):
        batcher.values[old] = value
        batcher.batched.add(old)


def _batched(op: Operation, name: SymbolRefAttr, batcher: Batcher) -> str:
    """The name of a function over a batch of all its arguments."""
    function = function_named(op, name)
    types = [_stacked(type, batcher.size) for type in function.function_type.inputs]

    def build(block: Block) -> Sequence[SSAValue]:
        inner = batcher.of_function(GraphBuilder(block, op.location), function, block.args, [True] * len(types))
        return inner.run(function)

    return new_function(op, "batched", types, build, function).sym_name.data


def _stacked(type: Attribute, size: int) -> TensorType:
    assert isinstance(type, TensorType)
    return tensor(type.element_type, (size, *type.get_shape()))

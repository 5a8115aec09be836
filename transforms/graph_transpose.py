"""Turn linear maps around: graph.transposed becomes the ops that accumulate cotangents from its results back to its arguments.

Reverse mode is this after graph-linearize. Each op of the region passes the cotangent of its result on to those operands that
depend on the region's arguments, by the transpose rule of its class; a value used several times sums what it gets.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.autodiff import TransposedOp
from ..dialects.graph.base import Bilinear, Custom, GraphOp, Linear
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.structure import YieldOp
from ..errors import DifferentiationError
from ._functions import replace_op


def expand_transposed(op: TransposedOp) -> None:
    """Replace one `graph.transposed` by backward accumulation."""
    block = op.body.block
    b = GraphBuilder(InsertPoint.before(op), op.location)
    last = block.last_op
    assert isinstance(last, YieldOp)
    dependent: set[SSAValue] = set(block.args)
    for inner in block.ops:
        if any(operand in dependent for operand in inner.operands):
            dependent.update(inner.results)
    cotangents: dict[SSAValue, SSAValue] = {}

    def accumulate(value: SSAValue, cotangent: SSAValue) -> None:
        known = cotangents.get(value)
        cotangents[value] = cotangent if known is None else b.add(known, cotangent)

    for value, cotangent in zip(last.operands, op.cotangents, strict=True):
        if value in dependent:
            accumulate(value, cotangent)
    for inner in reversed(list(block.ops)):
        if inner is last or not inner.results or inner.results[0] not in cotangents:
            continue
        assert isinstance(inner, GraphOp)
        b.location = inner.location
        cotangent = cotangents.pop(inner.results[0])
        for k, operand in enumerate(inner.operands):
            if operand in dependent:
                accumulate(operand, _rule(inner)(b, inner, k, cotangent))
    b.location = op.location
    gradients = [cotangents[a] if a in cotangents else b.zeros_like(a) for a in block.args]
    # whatever stands in the region and is used by a rule (an operand it captured) was moved out before
    for inner in list(block.ops):
        if inner is not last and not any(o in dependent for o in inner.operands):
            inner.detach()
            parent = op.parent
            assert parent is not None
            parent.insert_op_before(inner, op)
    replace_op(op, gradients)


def _rule(op: GraphOp):
    derivative = op.derivative
    if isinstance(derivative, Linear | Bilinear) or (isinstance(derivative, Custom) and derivative.transpose is not None):
        return derivative.transpose
    raise DifferentiationError(f"'{op.name}' op stands in a linear map but has no transpose rule")


@dataclass(frozen=True)
class GraphTransposePass(ModulePass):
    """Expand every graph.transposed."""

    name = "graph-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, TransposedOp):
                expand_transposed(inner)

"""Turn linear maps around: graph.transposed becomes the ops that accumulate cotangents from its results back to its arguments.

Reverse mode is this after graph-linearize. Each op of the region passes the cotangent of its result on to those operands that
depend on the region's arguments, by the transpose rule of its class; a value used several times sums what it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.autodiff import TransposedOp
from ..dialects.graph.base import Bilinear, CompositeOp, Custom, GraphOp, Linear
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.control import ForOp
from ..dialects.types import f32, is_half
from ..errors import DifferentiationError
from ._for_loops import transpose_for
from ._functions import error_at, replace_op
from .graph_decompose import decompose


def expand_transposed(op: TransposedOp) -> None:
    """Replace one `graph.transposed` by backward accumulation."""
    block, parent = op.body.block, op.parent
    assert parent is not None
    for inner in list(block.ops):
        if isinstance(inner, CompositeOp):
            decompose(inner)
    dependent: set[SSAValue] = set(block.args)
    linear: list[Operation] = []
    last = block.last_op
    assert last is not None
    for inner in list(block.ops):
        if inner is last:
            continue
        if any(operand in dependent for operand in inner.operands):
            dependent.update(inner.results)
            linear.append(inner)
        else:  # a value that the map uses, the same for all arguments
            inner.detach()
            parent.insert_op_before(inner, op)

    b = GraphBuilder(InsertPoint.before(op), op.location)
    cotangents: dict[SSAValue, SSAValue] = {}

    def accumulate(value: SSAValue, cotangent: SSAValue) -> None:
        known = cotangents.get(value)
        cotangents[value] = cotangent if known is None else _sum(b, known, cotangent)

    for value, cotangent in zip(last.operands, op.cotangents, strict=True):
        if value in dependent:
            accumulate(value, cotangent)
    for inner in reversed(linear):
        if not any(result in cotangents for result in inner.results):
            continue
        if isinstance(inner, ForOp):
            b.location = inner.location
            for operand, cotangent in transpose_for(inner, cotangents, b):
                if operand in dependent:
                    accumulate(operand, cotangent)
            continue
        positions = [k for k, operand in enumerate(inner.operands) if operand in dependent]
        rule = _rule(inner, positions)
        b.location = inner.location
        cotangent = cotangents.pop(inner.results[0])
        for k in positions:
            try:
                accumulate(inner.operands[k], rule(b, inner, k, cotangent))
            except DifferentiationError as error:  # linear only with some properties, as reduce is
                error.location = inner.location  # pyright: ignore[reportAttributeAccessIssue]
                raise
    b.location = op.location
    replace_op(op, [cotangents[a] if a in cotangents else b.zeros_like(a) for a in block.args])


def _sum(b: GraphBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """The sum of cotangents; of types that are only stored, in f32."""
    element = x.type.element_type  # pyright: ignore[reportAttributeAccessIssue]
    return b.convert(b.add(b.convert(x, f32), b.convert(y, f32)), element) if is_half(element) else b.add(x, y)


def _rule(op: Operation, positions: list[int]) -> Callable[..., SSAValue]:
    """How an op passes cotangents back, if it is linear in the operands at `positions` together."""
    derivative = op.derivative if isinstance(op, GraphOp) else None
    if isinstance(derivative, Linear):
        if derivative.operands is None or set(positions) <= set(derivative.operands):
            return derivative.transpose
    elif isinstance(derivative, Bilinear):
        if len(positions) == 1:
            return derivative.transpose
    elif isinstance(derivative, Custom) and derivative.transpose is not None and set(positions) <= set(derivative.linear):
        return derivative.transpose
    which = ", ".join(str(k) for k in positions)
    raise error_at(op, DifferentiationError, f"stands in a graph.transposed but is not linear in operand {which}")


@dataclass(frozen=True)
class GraphTransposePass(ModulePass):
    """Expand every graph.transposed."""

    name = "graph-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, TransposedOp):
                expand_transposed(inner)

"""Dims of size `?` that have equal sizes in every call.

The maps of equations say so, where the loops of an op run over all that it reads (`OpFacts.covers_operands`): the operands of
an elementwise op agree, and a product has the rows of its left operand.

    %h = graph.dot %x, %w ... : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>     %h has the rows of %x
    %y = graph.add %h, %z : tensor<?x32xf32>                                                  and so has %z

For other ops (slices, reshapes, gathers, ops with their own nests) the type rules derive the sizes, once sizes have names.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...errors import CompileError, placed
from ..types import DYNAMIC, sizes_of
from .base import GraphOp
from .fusion import FusionOp, YieldOp

Dim = tuple[object, int]
"""A dim of a value, or a loop of an equation (its op)."""


def has_open_sizes(block: Block) -> bool:
    """Whether a value of a block has a symbolic size."""
    values = (value for op in block.ops for value in op.results)
    return any(has_open_size(value) for value in (*block.args, *values))


class Extents:
    """The sizes of the values of a block, up to equality.

    Args:
        whole: whether each op must say how the sizes of its results follow; else unexplained sizes may be any.

    Raises:
        CompileError: an op takes no `?`, or two known sizes would have to be equal; at the op.
    """

    def __init__(self, block: Block, whole: bool = True):
        self._whole = whole
        self._parent: dict[Dim, Dim] = {}
        self._known: dict[Dim, int] = {}
        self._block(block)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if not any(map(has_open_size, (*op.operands, *op.results))):
                continue
            if isinstance(op, FusionOp):
                self._fusion(op)
            elif isinstance(op, GraphOp) and not isinstance(op, YieldOp):
                self._op(op)

    def _fusion(self, op: FusionOp) -> None:
        body = op.body.block
        self._block(body)
        inner = (*body.args, *op.yielded())
        for outside, inside in zip((*op.operands, *op.results), inner, strict=True):
            if outside.type == inside.type:  # else both are static
                for dim in range(len(_shape(outside))):
                    self._unite(op, (outside, dim), (inside, dim))

    def _op(self, op: GraphOp) -> None:
        if not op.facts.covers_operands:
            if self._whole:
                raise _refused(op)
            return
        (equation,) = op.equations()
        for dim in range(equation.n_parallel):
            self._unite(op, (op, dim), (op.results[0], dim))
        for read in equation.reads:
            operand = op.operands[read.operand]
            for dim, expr in enumerate(read.map.results):
                if isinstance(expr, AffineDimExpr):  # a broadcast reads what has size 1 at 0
                    self._unite(op, (op, expr.position), (operand, dim))

    def _find(self, dim: Dim) -> Dim:
        while (parent := self._parent.get(dim, dim)) != dim:
            dim = parent
        return dim

    def _unite(self, op: Operation, one: Dim, other: Dim) -> None:
        sizes = {size for dim in (one, other) if (size := self._size(dim)) is not None}
        if len(sizes) > 1:
            raise _error(op, f"has sizes {min(sizes)} and {max(sizes)} that must be equal")
        root, joined = self._find(one), self._find(other)
        self._parent[joined] = root
        if sizes:
            self._known[root] = sizes.pop()

    def _size(self, dim: Dim) -> int | None:
        value, number = dim
        known = _shape(value)[number] if isinstance(value, SSAValue) else DYNAMIC
        return self._known.get(self._find(dim)) if known == DYNAMIC else known

    def of(self, value: SSAValue, dim: int) -> int | Dim:
        """The size of a dim: a number, or the representative of all dims of equal size."""
        size = self._size((value, dim))
        return self._find((value, dim)) if size is None else size


def _shape(value: SSAValue) -> tuple[int, ...]:
    type = value._type
    return sizes_of(type) if isinstance(type, TensorType) else ()


def has_open_size(value: SSAValue) -> bool:
    """Whether a value has a size of type `?` that has no name."""
    return DYNAMIC in _shape(value)


def _refused(op: GraphOp) -> CompileError:
    shown = next(value.type for value in (*op.operands, *op.results) if has_open_size(value))
    return _error(op, f"takes no symbolic size, got {shown}: run graph-specialize with the shapes to compile for")


def _error(op: Operation, message: str) -> CompileError:
    error = CompileError(f"'{op.name}' op {message}")
    placed(error, op)
    return error

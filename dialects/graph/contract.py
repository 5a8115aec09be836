"""Contractions: `dot` with any batch and contracting dims."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError, ShapeError
from ..facts import OpFacts
from ..types import COMPLEX, compatible, element_of, is_bool, numpy_dtype, show_shape, tensor, unify
from .base import Bilinear, Equation, GraphOp, Props, Read, Types, graph_op, ints, normalize_dims, require_same_element
from .quiet import Quiet

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder

_INTS = DenseArrayBase.constr(i64)
_NONE = DenseArrayBase.from_list(i64, [])


def free_dims(rank: int, batch: Sequence[int], contract: Sequence[int]) -> tuple[int, ...]:
    """The dims of an operand that are neither batched nor contracted."""
    return tuple(d for d in range(rank) if d not in batch and d not in contract)


def _dims(props: Props) -> tuple[tuple[int, ...], ...]:
    """(lhs batch, rhs batch, lhs contract, rhs contract)."""
    return tuple(ints(props.get(name, _NONE)) for name in ("lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract"))


def _transpose_dot(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    """Contract the cotangent with the other operand over the other's free dims; put the dims back in order."""
    dims = _dims(op.properties)
    mine_batch, other_batch = (dims[0], dims[1]) if k == 0 else (dims[1], dims[0])
    mine_contract, other_contract = (dims[2], dims[3]) if k == 0 else (dims[3], dims[2])
    mine_rank, other_rank = len(op.shape(k)), len(op.shape(1 - k))
    mine_free = free_dims(mine_rank, mine_batch, mine_contract)
    other_free = free_dims(other_rank, other_batch, other_contract)
    n_batch = len(mine_batch)
    lhs_free = len(mine_free) if k == 0 else len(other_free)
    # in the cotangent: batch, lhs free, rhs free
    ct_other = range(n_batch + lhs_free, n_batch + lhs_free + len(other_free)) if k == 0 else range(n_batch, n_batch + lhs_free)
    result = b.dot(
        ct,
        op.operands[1 - k],
        lhs_batch=tuple(range(n_batch)),
        rhs_batch=other_batch,
        lhs_contract=tuple(ct_other),
        rhs_contract=other_free,
    )
    # now: batch, my free dims, the other's contracted dims in increasing order
    order = sorted(range(len(other_contract)), key=lambda j: other_contract[j])
    now = [*mine_batch, *mine_free, *(mine_contract[j] for j in order)]
    perm = tuple(now.index(d) for d in range(mine_rank))
    return result if perm == tuple(range(mine_rank)) else b.transpose(result, perm=perm)


def _batch_dot(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    dims = _dims(op.properties)
    lhs_batch, rhs_batch, lhs_contract, rhs_contract = (
        tuple(d + 1 for d in group) if batched[j % 2] else group for j, group in enumerate(dims)
    )
    n_batch = len(lhs_batch)
    if all(batched):
        lhs_batch, rhs_batch = (0, *lhs_batch), (0, *rhs_batch)
    props = {"lhs_batch": lhs_batch, "rhs_batch": rhs_batch, "lhs_contract": lhs_contract, "rhs_contract": rhs_contract}
    result = b.build(op.name.removeprefix("graph."), operands, {**op.properties, **props})
    if all(batched):
        return [result]
    # the batch dim ended up among the free dims of its operand, as the first of them
    at = n_batch if batched[0] else n_batch + len(free_dims(len(op.shape(0)), lhs_batch, lhs_contract))
    rank = len(op.result_shape()) + 1
    return [result if at == 0 else b.transpose(result, perm=(at, *(d for d in range(rank) if d != at)))]


class ContractionOp(GraphOp, ABC):
    """Base of sums over contracting dims; the result's dims are the batch dims, the free dims of lhs, those of rhs."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    lhs_batch = prop_def(_INTS, default_value=_NONE)
    rhs_batch = prop_def(_INTS, default_value=_NONE)
    lhs_contract = prop_def(_INTS, default_value=_NONE)
    rhs_contract = prop_def(_INTS, default_value=_NONE)
    y = result_def(TensorType)
    syntax = "$lhs, $rhs (batch [lhs_batch] with [rhs_batch])? (contract [lhs_contract] with [rhs_contract])?"
    batching = _batch_dot
    facts = OpFacts(covers_operands=True)

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_element(operands)  # C1
        if is_bool(operands[0].element_type):  # C1
            raise DTypeError("operand element type must be an integer or a float, got i1")
        lhs, rhs = operands[0].get_shape(), operands[1].get_shape()
        lhs_batch, rhs_batch, lhs_contract, rhs_contract = _dims(props)
        if len(lhs_batch) != len(rhs_batch) or len(lhs_contract) != len(rhs_contract):  # C2
            raise ShapeError(
                f"needs as many batch and contracting dims on both sides, got batch {list(lhs_batch)} with {list(rhs_batch)}, "
                f"contract {list(lhs_contract)} with {list(rhs_contract)}"
            )
        normalize_dims((*lhs_batch, *lhs_contract), len(lhs), "lhs batch and contracting")  # C3
        normalize_dims((*rhs_batch, *rhs_contract), len(rhs), "rhs batch and contracting")  # C3
        for what, mine, other in (("batch", lhs_batch, rhs_batch), ("contracting", lhs_contract, rhs_contract)):
            for i, j in zip(mine, other, strict=True):
                if not compatible(lhs[i], rhs[j]):  # C4, C5
                    raise ShapeError(
                        f"{what} sizes differ: lhs dim {i} of {show_shape(lhs)} is {lhs[i]}, "
                        f"rhs dim {j} of {show_shape(rhs)} is {rhs[j]}"
                    )
        shape = [unify(lhs[i], rhs[j]) for i, j in zip(lhs_batch, rhs_batch, strict=True)]
        shape += [lhs[d] for d in free_dims(len(lhs), lhs_batch, lhs_contract)]
        shape += [rhs[d] for d in free_dims(len(rhs), rhs_batch, rhs_contract)]
        return (tensor(operands[0].element_type, shape),)

    def labels(self) -> tuple[list[int], list[int], list[int]]:
        """A number for each dim of lhs, of rhs, and of the iteration space (result dims, then contracted dims)."""
        lhs_batch, rhs_batch, lhs_contract, rhs_contract = _dims(self.properties)
        lhs, rhs = [-1] * len(self.shape(0)), [-1] * len(self.shape(1))
        space: list[int] = []

        def label() -> int:
            space.append(len(space))
            return space[-1]

        for i, j in zip(lhs_batch, rhs_batch, strict=True):
            lhs[i] = rhs[j] = label()
        for d in free_dims(len(lhs), lhs_batch, lhs_contract):
            lhs[d] = label()
        for d in free_dims(len(rhs), rhs_batch, rhs_contract):
            rhs[d] = label()
        for i, j in zip(lhs_contract, rhs_contract, strict=True):
            lhs[i] = rhs[j] = label()
        return lhs, rhs, space

    def term(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        """The term of the sum, from an element of each operand."""
        return b.mul(x, y)

    def equations(self) -> tuple[Equation, ...]:
        lhs, rhs, space = self.labels()
        sizes = [0] * len(space)
        for k, labels in enumerate((lhs, rhs)):
            for d, label in enumerate(labels):
                sizes[label] = self.shape(k)[d]

        def read(k: int, labels: list[int]) -> Read:
            exprs: tuple[AffineExpr, ...] = tuple(AffineDimExpr(label) for label in labels)
            return Read(k, AffineMap(len(space), 0, exprs))

        n_contract = len(ints(self.lhs_contract))
        return (
            Equation(
                tuple(sizes),
                (read(0, lhs), read(1, rhs)),
                self.term,
                monoid="add" if n_contract else None,
                n_reduce=n_contract,
            ),
        )


@graph_op
class DotOp(ContractionOp):
    """Sums of products: batch dims go together, contracting dims are summed over.

    The result's dims are the batch dims, the free dims of lhs, the free dims of rhs, each in order.
    Cost: `2 * batch * m * n * k`.

    ```mlir
    %y = graph.dot %x, %w contract [1] with [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %z = graph.dot %q, %r batch [0] with [0] contract [2] with [2]
      : (tensor<8x2x3xf32>, tensor<8x4x3xf32>) -> tensor<8x2x4xf32>
    ```

    (C1) Operands have one element type, not i1.
    (C2) Both sides have equally many batch dims and equally many contracting dims.
    (C3) The batch and contracting dims of an operand are distinct and within its rank.
    (C4) Batch sizes agree.
    (C5) Contracting sizes agree.
    """

    name = "graph.dot"
    facts = ContractionOp.facts.but(stores=COMPLEX)
    derivative = Bilinear(_transpose_dot)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        dtype = numpy_dtype(element_of(self.lhs))
        if self._is_matmul():
            return Quiet(np.matmul, dtype)
        left, right, space = self.labels()
        result = space[: len(space) - len(ints(self.lhs_contract))]

        def meaning(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
            return np.einsum(lhs, left, rhs, right, result, dtype=dtype, optimize=True)

        return Quiet(meaning, dtype)

    def _is_matmul(self) -> bool:
        """Whether it multiplies two matrices or vectors in the layout of `np.matmul`."""
        left, right = len(self.shape(0)), len(self.shape(1))
        contract = ints(self.lhs_contract), ints(self.rhs_contract)
        return 1 <= left <= 2 and 1 <= right <= 2 and contract == ((left - 1,), (0,)) and not ints(self.lhs_batch)

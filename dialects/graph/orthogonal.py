"""Orthogonal factors of matrices, the last two dims of an operand: `householder` reflectors, and `qr` made of them.

A reflector is `I - v v^T` with a vector of squared length 2, or 0 where there is nothing to reflect. The product of reflectors
`H_0 H_1 ... = I - V T V^T`, with the inverse of `T` the upper triangle of `V^T V` with ones on its diagonal (Puglisi, 1992), so
that what is applied is two products and a triangular solve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ...errors import DifferentiationError, DTypeError
from ..types import element_of, shape_of, tensor
from .base import CompositeOp, Custom, NotDifferentiable, Props, graph_op, word
from .factor import (
    Matrices,
    MatrixOp,
    batch_leading,
    identity,
    kept,
    multiply,
    part,
    require_matrices,
    solve_right,
    solve_with,
    stacked,
    transposed,
)


def reflected(b: Any, v: SSAValue, y: SSAValue, *, transpose: bool = False) -> SSAValue:
    """`H_0 H_1 ... y`, or the transpose of that product times `y`, for stacks of reflectors, the columns of `v`."""
    inner = multiply(b, v, v, transpose="x")
    form = "transposed" if transpose else "plain"
    weights = solve_with(b, inner, multiply(b, v, y, transpose="x"), side="upper", form=form, diagonal="unit")
    return b.sub(y, multiply(b, v, weights))


# --------------------------------------------------------------------------------------------------------------------
# householder


class Reflector:
    """The loops of one reflector: a vector of a matrix that is read and replaced element by element."""

    def __init__(self, b: Any, element: Any, size: int):
        self.b, self.element, self.size = b, element, size
        self.v = b.local((size,), element, "scratch", name="reflector")

    def make(self, start: Any, get: Any) -> SSAValue:
        """The vector `v` that reflects the elements `get(i)` from `start` on to a multiple of the first one; that multiple.

        `v` is 0 before `start`. Lengths are found of elements divided by the largest one, so that no square overflows.
        """
        b, element = self.b, self.element
        zero, one = b.scalar.const(0, element), b.scalar.const(1, element)
        with b.loop(self.size, "seq", lower=start + 1, inits=[zero]) as i:
            i.give(b.scalar.max(i.carried[0], b.scalar.abs(get(i.index))))
        rest, first = i.results[0], get(start)
        largest = b.scalar.max(rest, b.scalar.abs(first))
        is_zero = b.scalar.cmp("eq", rest, zero)
        divisor = b.scalar.select(is_zero, one, largest)
        with b.loop(self.size, "seq", lower=start + 1, inits=[zero]) as i:
            x = b.scalar.div(get(i.index), divisor)
            b.store(x, self.v, [i.index])
            i.give(b.scalar.add(i.carried[0], b.scalar.mul(x, x)))
        alpha = b.scalar.select(is_zero, zero, b.scalar.div(first, divisor))
        length = b.scalar.unary("sqrt", b.scalar.add(b.scalar.mul(alpha, alpha), i.results[0]))
        is_negative = b.scalar.cmp("lt", alpha, zero)
        signed = b.scalar.select(is_negative, b.scalar.neg(length), length)
        scale = b.scalar.unary("sqrt", b.scalar.mul(length, b.scalar.add(length, b.scalar.abs(alpha))))
        scale = b.scalar.select(is_zero, zero, b.scalar.div(one, b.scalar.select(is_zero, one, scale)))
        with b.loop(start) as i:
            b.store(zero, self.v, [i.index])
        b.store(b.scalar.mul(b.scalar.add(alpha, signed), scale), self.v, [start])
        with b.loop(self.size, lower=start + 1) as i:
            b.store(b.scalar.mul(b.load(self.v, [i.index]), scale), self.v, [i.index])
        return b.scalar.select(is_zero, first, b.scalar.neg(b.scalar.mul(signed, divisor)))

    def at(self, i: Any) -> SSAValue:
        """An element of the vector that was made last."""
        return self.b.load(self.v, [i])

    def apply(self, start: Any, columns: int, first: Any, matrix: SSAValue) -> None:
        """Reflect the columns of a local matrix from `first` on."""
        b = self.b
        zero = b.scalar.const(0, self.element)
        with b.loop(columns, lower=first) as j:
            with b.loop(self.size, "reduce", lower=start, monoid="add", inits=[zero]) as i:
                i.give(b.scalar.mul(self.at(i.index), b.load(matrix, [i.index, j.index])))
            with b.loop(self.size, "seq", lower=start) as k:
                at = [k.index, j.index]
                b.store(b.scalar.sub(b.load(matrix, at), b.scalar.mul(self.at(k.index), i.results[0])), matrix, at)


def _np_reflector(x: np.ndarray) -> tuple[np.ndarray, Any]:
    """As `Reflector.make`, of all elements."""
    rest = np.max(np.abs(x[1:]), initial=0)
    if rest == 0:
        return np.zeros_like(x), x[0]
    largest = max(rest, abs(x[0]))
    x = x / largest
    length = np.sqrt(np.sum(x * x, dtype=x.dtype))
    signed = -length if x[0] < 0 else length
    v = np.array(x)
    v[0] += signed
    return v / np.sqrt(length * (length + abs(x[0]))), -signed * largest


@graph_op
class HouseholderOp(MatrixOp):
    """The reflectors that make matrices, the last two dims, upper triangular: `H_k ... H_1 H_0 x` is `r` and rows of zeros.

    Column `k` of `v` has `H_k = I - v_k v_k^T`; its squared length is 2, or 0 where the column is 0 below the diagonal already.
    Cost: `2 * m * n**2` flops a matrix.

    ```mlir
    %v, %r = graph.householder %x : tensor<4x3xf32> -> (tensor<4x3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64.
    (C2) There are two dims or more.
    """

    name = "graph.householder"
    x = operand_def(TensorType)
    v = result_def(TensorType)
    r = result_def(TensorType)
    syntax = "$x"
    derivative = NotDifferentiable(lambda op: "differentiate graph.qr")

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        *lead, rows, columns = require_matrices(operands[0])  # C1, C2
        k, element = min(rows, columns), operands[0].element_type
        return tensor(element, (*lead, rows, k)), tensor(element, (*lead, k, columns))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        *lead, rows, columns = x.shape
        k = min(rows, columns)
        vs, rs = np.zeros((*lead, rows, k), x.dtype), np.zeros((*lead, k, columns), x.dtype)
        with np.errstate(all="ignore"):
            for place, matrix in stacked(x):
                a = np.array(matrix)
                for j in range(k):
                    v, a[j, j] = _np_reflector(a[j:, j])
                    a[j + 1 :, j] = 0
                    a[j:, j + 1 :] -= np.outer(v, v @ a[j:, j + 1 :])
                    vs[place][j:, j] = v
                rs[place] = a[:k]
        return vs, rs

    def loops(self, b: Any, m: Matrices) -> None:
        rows, columns = self.shape()[-2:]
        element = element_of(self.x)
        a = b.local((rows, columns), element, "scratch", name="work")
        with b.loop(rows) as i, b.loop(columns) as j:
            b.store(m.read(0, i.index, j.index), a, [i.index, j.index])
        reflector = Reflector(b, element, rows)
        with b.loop(min(rows, columns), "seq") as k:
            on_diagonal = reflector.make(k.index, lambda i: b.load(a, [i, k.index]))
            with b.loop(rows) as i:
                m.store(reflector.at(i.index), 0, i.index, k.index)
            b.store(on_diagonal, a, [k.index, k.index])
            reflector.apply(k.index, columns, k.index + 1, a)
        zero = b.scalar.const(0, element)
        with b.loop(min(rows, columns)) as i, b.loop(columns) as j:
            above = b.scalar.cmp("le", b.position(i.index), b.position(j.index))
            m.store(b.scalar.select(above, b.load(a, [i.index, j.index]), zero), 1, i.index, j.index)


# --------------------------------------------------------------------------------------------------------------------
# qr


def _jvp_qr(b: Any, op: QrOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # with C = Q^T dA R^-1: dR = (C - W) R and dQ = Q W + (I - Q Q^T) dA R^-1, W the antisymmetric matrix with C's lower part
    (da,) = tangents
    q, r = op.q, op.r
    rows, columns = shape_of(da)[-2:]
    if rows < columns or shape_of(r)[-1] != shape_of(q)[-1]:
        shown = f"{rows}x{columns}"
        raise DifferentiationError(
            f"'graph.qr' op has a derivative where R is square, got matrices of {shown}, {op.mode.data} Q"
        )
    da_r = solve_right(b, r, da)
    c = multiply(b, q, da_r, transpose="x")
    low = kept(b, c, "gt")
    w = b.sub(low, transposed(b, low))
    d_r = kept(b, multiply(b, b.sub(c, w), r), "le")
    d_q = b.add(da_r, multiply(b, q, b.sub(w, c)))
    return [d_q, d_r]


@graph_op
class QrOp(CompositeOp):
    """`x = Q R` of matrices, the last two dims: `Q` with orthonormal columns, `R` upper triangular.

    `reduced` has `min(m, n)` columns of `Q` and rows of `R`, `complete` all `m`. Householder's method; what stands on the
    diagonal of `R` is of either sign. The derivative needs a square `R`.

    ```mlir
    %q, %r = graph.qr reduced %x : tensor<4x3xf32> -> (tensor<4x3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64.
    (C2) There are two dims or more.
    (C3) The mode is reduced or complete.
    """

    name = "graph.qr"
    x = operand_def(TensorType)
    mode = prop_def(StringAttr)
    q = result_def(TensorType)
    r = result_def(TensorType)
    traits = traits_def(Pure())
    syntax = "<mode> $x"
    derivative = Custom(_jvp_qr)
    batching = batch_leading

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        *lead, rows, columns = require_matrices(operands[0])  # C1, C2
        if word(props["mode"]) not in ("reduced", "complete"):  # C3
            raise DTypeError(f"mode must be one of reduced, complete, got {word(props['mode'])}")
        k, element = rows if word(props["mode"]) == "complete" else min(rows, columns), operands[0].element_type
        return tensor(element, (*lead, rows, k)), tensor(element, (*lead, k, columns))

    @classmethod
    def decompose(cls, b: Any, props: Props, *operands: SSAValue) -> Sequence[SSAValue]:
        (x,) = operands
        *lead, rows, columns = shape_of(x)
        k = rows if word(props["mode"]) == "complete" else min(rows, columns)
        v, r = b.householder(x)
        # the reflected columns of an identity, of which V^T picks rows of V
        inner = multiply(b, v, v, transpose="x")
        first = transposed(b, part(b, v, (0, k), (0, shape_of(v)[-1])))
        weights = solve_with(b, inner, first, side="upper", diagonal="unit")
        q = b.sub(identity(b, element_of(x), (*lead, rows, k)), multiply(b, v, weights))
        if k > shape_of(r)[-2]:
            rank = len(lead) + 2
            high = [*([0] * len(lead)), k - shape_of(r)[-2], 0]
            r = b.pad(r, b.const(0, element_of(x)), low=[0] * rank, high=high, interior=[0] * rank)
        return q, r

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            q, r = np.linalg.qr(operands[0], "complete" if self.mode.data == "complete" else "reduced")
        return np.ascontiguousarray(q), np.ascontiguousarray(r)

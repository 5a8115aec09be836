"""Orthogonal factors of matrices, the last two dims of an operand: `householder` reflectors, and `qr` made of them.

A reflector is `I - v v^T` with a vector of squared length 2, or 0 where there is nothing to reflect. The product of reflectors
`H_0 H_1 ... = I - V T V^T`, with the inverse of `T` the upper triangle of `V^T V` with ones on its diagonal (Puglisi, 1992), so
that two matmuls and a triangular solve apply it.

Of complex vectors a reflector is `I - tau v v^H`, which makes the first element real, as in LAPACK. With a squared length of 2
it is unitary where `1 / tau` is `1 + i s`; `v` is a real multiple of `x - beta e`, so that its first element `v_0` tells `s`:
`-Im(v_0) / Re(v_0)`. These numbers are the diagonal of the inverse of `T`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def

from ...errors import DifferentiationError, ShapeError
from ..facts import FACTORIZATION
from ..types import element_of, is_complex, shape_of, tensor
from .base import CompositeOp, Custom, NotDifferentiable, Props, Types, graph_op, integer, one_of, word
from .complex import imaginary
from .complex_elements import Element, Field
from .factor import solve_right, solve_with
from .matrices import (
    BLOCK,
    MatrixOp,
    adjoint_of,
    batch_leading,
    compared,
    diagonal_of,
    identity,
    kept,
    multiply,
    on_columns,
    part,
    require_matrices,
    stacked,
)

if TYPE_CHECKING:
    from .builder import GraphBuilder


def product_of(b: GraphBuilder, v: SSAValue, columns: int) -> SSAValue:
    """The first columns, as many as reflectors or more, of `H_0 H_1 ...`, for stacks of reflectors, the columns of `v`."""
    *lead, rows, count = shape_of(v)
    if count > BLOCK:
        return b.householder_product(v, columns=columns)
    # the reflected columns of an identity, of which V^H picks rows of V
    weights = _weights(b, v, adjoint_of(b, part(b, v, (0, columns), (0, count))))
    return b.sub(identity(b, element_of(v), (*lead, rows, columns)), multiply(b, v, weights))


def _weights(b: GraphBuilder, v: SSAValue, y: SSAValue) -> SSAValue:
    """`T y`, of the product `I - V T V^H` of reflectors."""
    inner = multiply(b, v, v, adjoint="x")
    if not is_complex(element_of(v)):
        return solve_with(b, inner, y, side="upper", diagonal="unit")
    k = shape_of(v)[-1]
    first = diagonal_of(b, part(b, v, (0, k), (0, k)))
    re, im = b.real(first), b.imag(first)
    slope = b.neg(b.div(im, b.select(b.cmp(re, b.zeros_like(re), predicate="eq"), b.full_like(re, 1), re)))
    on_diagonal = on_columns(b, b.add(b.full_like(first, 1), imaginary(b, slope)), shape_of(inner))
    return solve_with(b, b.select(compared(b, "eq", shape_of(inner)), on_diagonal, inner), y, side="upper")


# --------------------------------------------------------------------------------------------------------------------
# householder


class Reflector:
    """The loops of one reflector: its vector, made from a row or column of a matrix, is kept in a local buffer."""

    def __init__(self, field: Field, size: int):
        self.field, self.size = field, size
        self.v = field.local((size,), "reflector")

    def make(self, start: Any, get: Callable[[Any], Element]) -> SSAValue:
        """The vector `v` whose reflector makes the elements `get(i)` from `start` on a real multiple of the first unit vector.

        Returns that multiple. `v` is 0 before `start`. Elements are divided by the largest one before their length is
        computed, so that no square overflows.
        """
        f, b = self.field, self.field.b
        zero, one = f.number(0), f.number(1)
        with b.loop(self.size, "seq", lower=start + 1) as i:
            f.store(get(i.index), self.v, [i.index])  # contiguous, so that vectors reduce them
        with b.loop(self.size, "reduce", lower=start + 1, monoid="max", inits=[zero]) as i:
            i.give(f.size(self.at(i.index)))
        rest, first = i.results[0], get(start)
        largest = b.scalar.max(rest, f.size(first))
        is_zero = b.scalar.cmp("eq", rest, zero)
        if f.is_complex:
            is_zero = b.scalar.binary("and", is_zero, b.scalar.cmp("eq", first[1], zero))
        divisor = b.scalar.select(is_zero, one, largest)
        with b.loop(self.size, lower=start + 1) as i:
            f.store(f.shrink(self.at(i.index), divisor), self.v, [i.index])
        with b.loop(self.size, "reduce", lower=start + 1, monoid="add", inits=[zero]) as i:
            i.give(f.square(self.at(i.index)))
        alpha = f.select(is_zero, f.const(0), f.shrink(first, divisor))
        length = b.scalar.unary("sqrt", b.scalar.add(f.square(alpha), i.results[0]))
        is_negative = b.scalar.cmp("lt", alpha[0], zero)
        signed = b.scalar.select(is_negative, b.scalar.neg(length), length)
        scale = b.scalar.unary("sqrt", b.scalar.mul(length, b.scalar.add(length, b.scalar.abs(alpha[0]))))
        scale = b.scalar.select(is_zero, zero, b.scalar.div(one, b.scalar.select(is_zero, one, scale)))
        with b.loop(start) as i:
            f.store(f.const(0), self.v, [i.index])
        f.store(f.scale((b.scalar.add(alpha[0], signed), *alpha[1:]), scale), self.v, [start])
        with b.loop(self.size, lower=start + 1) as i:
            f.store(f.scale(f.load(self.v, [i.index]), scale), self.v, [i.index])
        return b.scalar.select(is_zero, first[0], b.scalar.neg(b.scalar.mul(signed, divisor)))

    def at(self, i: Any) -> Element:
        """An element of the vector that was made last."""
        return self.field.load(self.v, [i])

    def weighted(self, start: Any, x: Element, *, adjoint: bool = False) -> Element:
        """`tau x` of the reflector `I - tau v v^H` that begins at `start`, or with `adjoint` of its adjoint."""
        f = self.field
        return f.mul(x, tau_of(f, self.at(start), adjoint=adjoint)) if f.is_complex else x

    def apply(self, start: Any, columns: int, first: Any, matrix: Element) -> None:
        """The adjoint of the reflector applied to the columns of a local matrix from `first` on."""
        f, b = self.field, self.field.b
        with b.loop(columns, lower=first) as j:
            total = f.sum(self.size, lambda i: f.conj_mul(self.at(i), f.load(matrix, [i, j.index])), lower=start)
            total = self.weighted(start, total, adjoint=True)
            with b.loop(self.size, "seq", lower=start) as k:
                at = [k.index, j.index]
                f.store(f.sub(f.load(matrix, at), f.mul(self.at(k.index), total)), matrix, at)


def tau_of(f: Field, first: Element, *, adjoint: bool = False) -> Element:
    """`tau` of a complex reflector from the first element of its vector: the inverse of `1 + i s`, or its conjugate."""
    s, one = f.b.scalar, f.number(1)
    is_zero = s.cmp("eq", first[0], f.number(0))
    slope = s.neg(s.div(first[1], s.select(is_zero, one, first[0])))
    whole = s.add(one, s.mul(slope, slope))
    part = s.div(slope, whole)
    return s.div(one, whole), part if adjoint else s.neg(part)


def np_reflector(x: np.ndarray) -> tuple[np.ndarray, Any, Any]:
    """As `Reflector.make`, of all elements: the vector, what becomes of the first element, and `tau`."""
    rest = np.asarray(np.max(np.abs(x[1:]), initial=0))
    if rest == 0 and np.imag(x[0]) == 0:
        return np.zeros_like(x), x[0], 1
    largest = max(rest, abs(x[0]))
    x = (np.ascontiguousarray(x).view(rest.dtype) / largest).view(x.dtype)  # complex division by a subnormal number overflows
    length = np.sqrt(np.sum(np.square(np.real(x)) + np.square(np.imag(x)), dtype=rest.dtype))
    signed = -length if np.real(x[0]) < 0 else length
    v = np.array(x)
    v[0] += signed
    v = (v / np.sqrt(length * (length + abs(np.real(x[0]))))).astype(x.dtype)
    return v, -signed * largest, 1 / (1 - 1j * np.imag(v[0]) / np.real(v[0])) if np.iscomplexobj(v) else 1


@graph_op
class HouseholderOp(MatrixOp):
    """The reflectors that make matrices, the last two dims, upper triangular: `H_k ... H_1 H_0 x` is `r` and rows of zeros.

    Column `k` of `v` has `H_k = I - v_k v_k^T`; its squared length is 2, or 0 where the column is 0 below the diagonal
    already. Of complex matrices `H_k` is the adjoint of `I - tau_k v_k v_k^H`, and `r` has a real diagonal. Cost:
    `2 * m * n**2` flops a matrix.

    ```mlir
    %v, %r = graph.householder %x : tensor<4x3xf32> -> (tensor<4x3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64, or complex of them; or real and imaginary parts are two operands, and four results.
    (C2) There are two dims or more.
    """

    name = "graph.householder"
    facts = FACTORIZATION.but(uniform_steps=True, kernels=".kernels.householder")
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    v = result_def(TensorType)
    r = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "*x"
    derivative = NotDifferentiable(lambda op: "differentiate graph.qr")

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        *lead, rows, columns = require_matrices(operands[0])  # C1, C2
        k, element = min(rows, columns), operands[0].element_type
        return tensor(element, (*lead, rows, k)), tensor(element, (*lead, k, columns))

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        *lead, rows, columns = x.shape
        k = min(rows, columns)
        vs, rs = np.zeros((*lead, rows, k), x.dtype), np.zeros((*lead, k, columns), x.dtype)
        with np.errstate(all="ignore"):
            for place, matrix in stacked(x):
                a = np.array(matrix)
                for j in range(k):
                    v, a[j, j], tau = np_reflector(a[j:, j])
                    a[j + 1 :, j] = 0
                    a[j:, j + 1 :] -= np.conj(tau) * np.outer(v, np.conj(v) @ a[j:, j + 1 :])
                    vs[place][j:, j] = v
                rs[place] = a[:k]
        return vs, rs


@graph_op
class HouseholderProductOp(MatrixOp):
    """The first columns of the product `H_0 H_1 ...` of the reflectors that the columns of matrices are, the last two dims.

    They are scaled as those of `graph.householder`. Cost: `4 * m * n * k - 2 * (m + n) * k**2 + 4 * k**3 / 3` flops for `k`
    reflectors of `m` elements and `n` columns.

    ```mlir
    %q = graph.householder_product %v of 4 : tensor<4x3xf32> -> tensor<4x4xf32>
    ```

    (C1) The element type is f32 or f64, or complex of them; or real and imaginary parts are two operands, and two results.
    (C2) There are two dims or more.
    (C3) There are as many columns as reflectors or more, and no more than rows.
    """

    name = "graph.householder_product"
    facts = FACTORIZATION.but(kernels=".kernels.householder")
    v = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    columns = prop_def(IntegerAttr)
    q = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "*v of #columns"
    derivative = NotDifferentiable(lambda op: "differentiate graph.qr")

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        *lead, rows, count = require_matrices(operands[0])  # C1, C2
        columns = integer(props["columns"])
        if not count <= columns <= rows:  # C3
            raise ShapeError(f"columns must be from {count}, as many as reflectors, to {rows}, as many as rows, got {columns}")
        return (tensor(operands[0].element_type, (*lead, rows, columns)),)

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (vs,) = operands
        *lead, rows, columns = self.result_shape()
        q = np.broadcast_to(np.eye(rows, columns, dtype=vs.dtype), (*lead, rows, columns)).copy()
        with np.errstate(all="ignore"):
            for place, v in stacked(vs):
                for k in reversed(range(v.shape[1])):
                    first = v[k, k]
                    tau = 1 / (1 - 1j * np.imag(first) / np.real(first)) if np.iscomplexobj(v) and np.real(first) else 1
                    q[place] -= (tau * np.outer(v[:, k], np.conj(v[:, k]) @ q[place])).astype(vs.dtype)
        return (q,)


# --------------------------------------------------------------------------------------------------------------------
# qr


def _jvp_qr(b: GraphBuilder, op: QrOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # with C = Q^H dA R^-1: dR = (C - W) R and dQ = Q W + (I - Q Q^H) dA R^-1, W the skew-Hermitian matrix with C's lower
    # part and the imaginary part of its diagonal: that of R stays real
    (da,) = tangents
    q, r = op.q, op.r
    rows, columns = shape_of(da)[-2:]
    if rows < columns or shape_of(r)[-1] != shape_of(q)[-1]:
        shown = f"{rows}x{columns}"
        raise DifferentiationError(
            f"'graph.qr' op has a derivative where R is square, got matrices of {shown}, {op.mode.data} Q"
        )
    da_r = solve_right(b, r, da)
    c = multiply(b, q, da_r, adjoint="x")
    low = kept(b, c, "gt")
    w = b.sub(low, adjoint_of(b, low))
    if is_complex(element_of(c)):
        w = b.add(w, kept(b, imaginary(b, b.imag(c)), "eq"))
    d_r = kept(b, multiply(b, b.sub(c, w), r), "le")
    d_q = b.add(da_r, multiply(b, q, b.sub(w, c)))
    return [d_q, d_r]


@graph_op
class QrOp(CompositeOp):
    """`x = Q R` of matrices, the last two dims: `Q` with orthonormal columns, `R` upper triangular.

    `reduced` has `min(m, n)` columns of `Q` and rows of `R`, `complete` all `m`. Householder's method; what stands on the
    diagonal of `R` is real, of either sign. The derivative needs a square `R`.

    ```mlir
    %q, %r = graph.qr reduced %x : tensor<4x3xf32> -> (tensor<4x3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64, or complex of them.
    (C2) There are two dims or more.
    (C3) The mode is reduced or complete.
    """

    name = "graph.qr"
    facts = FACTORIZATION
    x = operand_def(TensorType)
    mode = prop_def(StringAttr)
    q = result_def(TensorType)
    r = result_def(TensorType)
    syntax = "<mode> $x"
    derivative = Custom(_jvp_qr)
    batching = batch_leading

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        *lead, rows, columns = require_matrices(operands[0])  # C1, C2
        one_of(props, "mode", ("reduced", "complete"))  # C3
        k, element = rows if word(props["mode"]) == "complete" else min(rows, columns), operands[0].element_type
        return tensor(element, (*lead, rows, k)), tensor(element, (*lead, k, columns))

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> Sequence[SSAValue]:
        (x,) = operands
        *lead, rows, columns = shape_of(x)
        k = rows if word(props["mode"]) == "complete" else min(rows, columns)
        v, r = b.householder(x)
        q = product_of(b, v, k)
        if k > shape_of(r)[-2]:
            rank = len(lead) + 2
            high = [*([0] * len(lead)), k - shape_of(r)[-2], 0]
            r = b.pad(r, b.const(0, element_of(x)), low=[0] * rank, high=high, interior=[0] * rank)
        return q, r

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            q, r = np.linalg.qr(operands[0], "complete" if self.mode.data == "complete" else "reduced")
        return np.ascontiguousarray(q), np.ascontiguousarray(r)

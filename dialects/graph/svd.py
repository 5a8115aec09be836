"""Singular value decompositions: `square_svd`, whose loops are in `kernels/svd.py`, and `svd`, made of it and `qr`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def

from ...errors import DifferentiationError
from ..facts import FACTORIZATION
from ..types import element_of, is_complex, part_of, shape_of, tensor
from .base import CompositeOp, Custom, NotDifferentiable, Props, Types, graph_op, one_of, word
from .complex import imaginary
from .eigenvector_phase import np_phases
from .matrices import (
    MatrixOp,
    adjoint_of,
    batch_leading,
    compared,
    diagonal_of,
    in_field,
    multiply,
    on_columns,
    on_rows,
    part,
    real_part,
    require_matrices,
    stacked,
)

if TYPE_CHECKING:
    from .builder import GraphBuilder


@graph_op
class SquareSvdOp(MatrixOp):
    """`x = U S V^H` of square matrices, the last two dims: `s` in descending order, and of the mode `vectors` `u` and `v^H`.

    The first component of a column of `u` that is at least half as large as its largest is positive. Values differ from exact
    ones by a few units of rounding of the largest. NaN and infinities give NaN. Cost: about `20 * n**3` flops a matrix,
    `8 / 3 * n**3` for values alone.

    ```mlir
    %s, %u, %vt = graph.square_svd vectors %x : tensor<3x3xf32> -> (tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64, or complex of them; or real and imaginary parts are two operands, and the imaginary
    parts of `u` and `v^H` are further results.
    (C2) There are two dims or more, and the last two are equal.
    (C3) The mode is values or vectors.
    """

    name = "graph.square_svd"
    facts = FACTORIZATION.but(kernels=".kernels.svd")
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    mode = prop_def(StringAttr)
    s = result_def(TensorType)
    vectors = var_result_def(TensorType)
    syntax = "<mode> *x"
    derivative = NotDifferentiable(lambda op: "differentiate graph.svd")

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        shape = require_matrices(operands[0], square=True, known=True)  # C1, C2
        one_of(props, "mode", ("values", "vectors"))  # C3
        found = tensor(part_of(operands[0].element_type), shape[:-1]), operands[0], operands[0]
        return found if word(props["mode"]) == "vectors" else found[:1]

    @property
    def has_vectors(self) -> bool:
        return self.mode.data == "vectors"

    def without_unused(self, b: GraphBuilder) -> Sequence[SSAValue] | None:
        """The op that computes values alone, where the vectors are unused."""
        if not self.has_vectors or any(result.first_use is not None for result in self.vectors):
            return None
        return [b.build("square_svd", self.operands, {"mode": StringAttr("values")})]

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        s, u, vt = np.full(x.shape[:-1], np.nan, np.real(x).dtype), np.full_like(x, np.nan), np.full_like(x, np.nan)
        for place, matrix in stacked(x):
            if np.isfinite(matrix).all():
                left, s[place], right = np.linalg.svd(matrix)
                phases = np_phases(np.conj(left.T))
                u[place], vt[place] = left * np.conj(phases.T), phases * right
        return (s, u, vt) if self.has_vectors else (s,)


def _jvp_svd(b: GraphBuilder, op: SvdOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # with M = U^H dA V, F = 1 / (s_j^2 - s_i^2): dU = U (F (M S + S M^H)) + (I - U U^H) dA V / S, and so for V: Townsend, 2016;
    # the imaginary part of the diagonal of M rotates U
    (da,) = tangents
    u, s, vt = op.u, op.s, op.vt
    rows, columns = shape_of(da)[-2:]
    if op.mode.data == "complete" and rows != columns:
        raise DifferentiationError("'graph.svd' op has no derivative of the complete factors of matrices that are not square")
    k = shape_of(s)[-1]
    shape = (*shape_of(s)[:-1], k, k)
    av = multiply(b, da, vt, adjoint="y")
    inner = multiply(b, u, av, adjoint="x")
    across = adjoint_of(b, inner)
    on_s, by_s = on_columns(b, s, shape), on_rows(b, s, shape)
    same, one = compared(b, "eq", shape), b.full(1, tensor(element_of(s), shape))
    gaps = b.mul(b.sub(on_s, by_s), b.add(on_s, by_s))
    factors = in_field(b, b.select(same, b.zeros_like(gaps), b.div(one, b.select(same, one, gaps))), u)
    on_s, by_s = in_field(b, on_s, u), in_field(b, by_s, u)
    turned = b.mul(factors, b.add(b.mul(inner, on_s), b.mul(by_s, across)))
    if is_complex(element_of(u)):
        phases = imaginary(b, b.imag(b.div(inner, on_s)))
        turned = b.add(turned, b.select(same, phases, b.zeros_like(phases)))
    d_u = multiply(b, u, turned)
    d_v = multiply(b, vt, b.mul(factors, b.add(b.mul(by_s, inner), b.mul(across, on_s))), adjoint="x")
    if rows > k:
        rest = b.sub(av, multiply(b, u, inner))
        d_u = b.add(d_u, b.div(rest, in_field(b, on_columns(b, s, shape_of(rest)), u)))
    if columns > k:
        au = multiply(b, da, u, adjoint="x")
        rest = b.sub(au, multiply(b, vt, across, adjoint="x"))
        d_v = b.add(d_v, b.div(rest, in_field(b, on_columns(b, s, shape_of(rest)), u)))
    return [d_u, real_part(b, diagonal_of(b, inner)), adjoint_of(b, d_v)]


@graph_op
class SvdOp(CompositeOp):
    """`x = U S V^H` of matrices, the last two dims: orthonormal columns of `u` and rows of `vt`, `s` in descending order.

    `reduced` has `min(m, n)` of them, `complete` fills `u` and `vt` up to square matrices. By `graph.square_svd`, of the `R` of
    a QR factorization where matrices are not square. The derivative needs distinct singular values that are not 0, and reduced
    factors.

    ```mlir
    %u, %s, %vt = graph.svd reduced %x : tensor<4x3xf32> -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64, or complex of them.
    (C2) There are two dims or more.
    (C3) The mode is reduced or complete.
    """

    name = "graph.svd"
    facts = FACTORIZATION
    x = operand_def(TensorType)
    mode = prop_def(StringAttr)
    u = result_def(TensorType)
    s = result_def(TensorType)
    vt = result_def(TensorType)
    syntax = "<mode> $x"
    derivative = Custom(_jvp_svd)
    batching = batch_leading

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        *lead, rows, columns = require_matrices(operands[0], known=True)  # C1, C2
        one_of(props, "mode", ("reduced", "complete"))  # C3
        element, k = operands[0].element_type, min(rows, columns)
        left, right = (rows, columns) if word(props["mode"]) == "complete" else (k, k)
        u, vt = (tensor(element, shape) for shape in ((*lead, rows, left), (*lead, right, columns)))
        return u, tensor(part_of(element), (*lead, k)), vt

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> Sequence[SSAValue]:
        (x,) = operands
        *lead, rows, columns = shape_of(x)
        if rows < columns:
            v, s, ut = cls.decompose(b, props, adjoint_of(b, x))
            return adjoint_of(b, ut), s, adjoint_of(b, v)
        if rows == columns:
            s, u, vt = b.square_svd(x, mode="vectors")
            return u, s, vt
        q, r = b.qr(x, mode=props["mode"])
        s, z, vt = b.square_svd(part(b, r, (0, columns), (0, columns)), mode="vectors")
        u = multiply(b, part(b, q, (0, rows), (0, columns)), z)
        if shape_of(q)[-1] > columns:
            u = b.concat(u, part(b, q, (0, rows), (columns, rows)), dim=len(lead) + 1)
        return u, s, vt

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        complete = self.mode.data == "complete"
        shapes = [shape_of(result) for result in self.results]
        found = tuple(
            np.full(shape, np.nan, dtype) for shape, dtype in zip(shapes, (x.dtype, np.real(x).dtype, x.dtype), strict=True)
        )
        for place, matrix in stacked(x):
            if np.isfinite(matrix).all():
                is_tall = x.shape[-2] >= x.shape[-1]
                parts = _np_svd(matrix if is_tall else np.conj(matrix.T), complete)
                parts = parts if is_tall else tuple(np.conj(p.T) for p in parts[::-1])
                for result, value in zip(found, parts, strict=True):
                    result[place] = value
        return found


def _np_svd(x: np.ndarray, complete: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """NumPy's decomposition, with the signs of `square_svd`."""
    n = x.shape[1]
    if len(x) == n:
        u, s, vt = np.linalg.svd(x)
        phases = np_phases(np.conj(u.T))
        return u * np.conj(phases.T), s, phases * vt
    q, r = np.linalg.qr(x, "complete" if complete else "reduced")
    u, s, vt = np.linalg.svd(r[:n])
    phases = np_phases(np.conj(u.T))
    return np.concatenate([q[:, :n] @ (np.conj(phases.T) * u), q[:, n:]], 1), s, phases * vt

"""Eigenvalues and vectors of symmetric matrices: `eigh`; its loops are in `kernels/eigh.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def, var_operand_def, var_result_def

from ..facts import FACTORIZATION
from ..types import part_of, shape_of, tensor
from .base import Custom, Props, Types, graph_op
from .eigenvector_phase import np_phases
from .matrices import (
    MatrixOp,
    compared,
    diagonal_of,
    in_field,
    mirrored,
    multiply,
    on_columns,
    on_rows,
    real_part,
    require_matrices,
    stacked,
)

if TYPE_CHECKING:
    from .builder import GraphBuilder


def _jvp_eigh(b: GraphBuilder, op: EighOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # with M = V^H dA V: dw = diag M, dV = V (M / (w_j - w_i)), 0 on the diagonal
    (da,) = tangents
    v, shape = op.v, shape_of(op.v)
    inner = multiply(b, v, multiply(b, mirrored(b, da), v), adjoint="x")
    gaps = b.sub(on_columns(b, op.w, shape), on_rows(b, op.w, shape))
    same = compared(b, "eq", shape)
    one = b.full_like(gaps, 1)
    factors = b.select(same, b.zeros_like(gaps), b.div(one, b.select(same, one, gaps)))
    return [real_part(b, diagonal_of(b, inner)), multiply(b, v, b.mul(in_field(b, factors, inner), inner))]


@graph_op
class EighOp(MatrixOp):
    """Eigenvalues of symmetric or Hermitian matrices, ascending, and orthonormal eigenvectors, the columns of `v`.

    Reads the lower triangle. Householder's reduction to a real tridiagonal matrix, then implicit QL steps (EISPACK's tql2;
    shifts as in LAPACK's steqr), so that `x` and `v w v^H` differ by a few units of rounding of the largest eigenvalue. The
    first component of a vector that is at least half as large as its largest is positive. NaN and infinities give NaN. The
    derivative needs distinct eigenvalues. Cost: about `9 * n**3` flops a matrix.

    ```mlir
    %w, %v = graph.eigh %x : tensor<2x3x3xf32> -> (tensor<2x3xf32>, tensor<2x3x3xf32>)
    ```

    (C1) The element type is f32 or f64, or complex of them; or real and imaginary parts are two operands, and the imaginary
    part of `v` is a third result.
    (C2) There are two dims or more, and the last two are equal.
    """

    name = "graph.eigh"
    facts = FACTORIZATION.but(kernels=".kernels.eigh")
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    w = result_def(TensorType)
    v = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "*x"
    derivative = Custom(_jvp_eigh)

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        shape = require_matrices(operands[0], square=True, known=True)  # C1, C2
        return tensor(part_of(operands[0].element_type), shape[:-1]), operands[0]

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        w, v = np.full(x.shape[:-1], np.nan, np.real(x).dtype), np.full_like(x, np.nan)
        for place, matrix in stacked(x):
            if np.isfinite(np.tril(matrix)).all():
                w[place], found = np.linalg.eigh(matrix)
                v[place] = found * np_phases(found.T)[:, 0]
        return w, v

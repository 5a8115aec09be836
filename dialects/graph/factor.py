"""Triangular factors of matrices, the last two dims of an operand: `cholesky`, `lu`, and `triangular_solve`.

The loops are the unblocked algorithms, with neighbours along rows of memory innermost; those for large matrices are in
`blocked.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def

from ...errors import DifferentiationError, DTypeError, ShapeError
from ..facts import FACTORIZATION, OpFacts, Rounding
from ..types import compatible, index, shape_of, show_shape, tensor
from .base import Custom, GraphOp, Props, Types, Zero, graph_op, integer, one_of, require_same_element
from .matrices import (
    MatrixOp,
    adjoint_of,
    compared,
    conjugated,
    kept,
    mirrored,
    multiply,
    part,
    require_matrices,
    stacked,
    transposed,
)

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

# --------------------------------------------------------------------------------------------------------------------
# cholesky


def _half(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """The lower triangle with half of the diagonal."""
    return b.select(compared(b, "eq", shape_of(x)), b.mul(x, b.full_like(x, 0.5)), kept(b, x, "ge"))


def _jvp_cholesky(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # L half(L^-1 dA L^-H), dA the Hermitian matrix of which the lower triangle is read: Murray, 2016
    (da,) = tangents
    y = op.results[0]
    once = solve_with(b, y, mirrored(b, da), side="lower")
    both = adjoint_of(b, solve_with(b, y, adjoint_of(b, once), side="lower"))
    return [multiply(b, y, _half(b, both))]


@graph_op
class CholeskyOp(MatrixOp):
    """The lower triangular `L` with `L L^H = x` of symmetric or Hermitian positive definite matrices, the last two dims.

    Reads the lower triangle, of its diagonal the real parts. All of `L` is NaN where a matrix is not positive definite. Cost:
    `n**3 / 3` flops a matrix.

    ```mlir
    %l = graph.cholesky %x : tensor<2x3x3xf32>
    ```

    (C1) The element type is f32 or f64, or complex of them; or real and imaginary parts are two operands, and two results.
    (C2) There are two dims or more, and the last two are equal.
    """

    name = "graph.cholesky"
    facts = FACTORIZATION.but(uniform_steps=True, kernels=".kernels.cholesky")
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    y = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "*x"
    types = "same"
    derivative = Custom(_jvp_cholesky)

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        require_matrices(operands[0], square=True)  # C1, C2
        return (operands[0],)

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        y = np.full_like(x, np.nan)
        for outer, matrix in stacked(x):
            try:
                y[outer] = np.linalg.cholesky(matrix)
            except np.linalg.LinAlgError:
                pass
        return (y,)


# --------------------------------------------------------------------------------------------------------------------
# triangular_solve


def solve_with(
    b: GraphBuilder, a: SSAValue, y: SSAValue, *, side: str, form: str = "plain", diagonal: str = "given"
) -> SSAValue:
    """`graph.triangular_solve`; also with the adjoint form, of the matrix transposed and conjugated."""
    if form == "adjoint":
        a, form = conjugated(b, a), "transposed"
    return b.triangular_solve(a, y, side=side, form=form, diagonal=diagonal)


_OTHER_FORM = {"plain": "transposed", "transposed": "plain"}


def _like(b: GraphBuilder, op: TriangularSolveOp, rhs: SSAValue, form: str | None = None) -> SSAValue:
    return solve_with(b, op.a, rhs, side=op.side.data, form=form or op.form.data, diagonal=op.diagonal.data)


def _read_part(b: GraphBuilder, op: TriangularSolveOp, x: SSAValue) -> SSAValue:
    """The triangle of a matrix that the op reads, else 0."""
    predicate = {"lower": "g", "upper": "l"}[op.side.data] + ("t" if op.diagonal.data == "unit" else "e")
    return kept(b, x, predicate)


def _jvp_triangular_solve(
    b: GraphBuilder, op: TriangularSolveOp, tangents: Sequence[SSAValue | None]
) -> Sequence[SSAValue | None]:
    # a dx = dy - da x
    da, dy = tangents
    terms: Any = dy
    if da is not None:
        change = multiply(b, _read_part(b, op, da), op.x, transpose="x" if op.form.data == "transposed" else "")
        terms = b.neg(change) if dy is None else b.sub(dy, change)
    return [_like(b, op, terms)]


def _transpose_triangular_solve(b: GraphBuilder, op: TriangularSolveOp, k: int, ct: SSAValue) -> SSAValue:
    if k != 1:
        raise DifferentiationError(f"'{op.name}' op is not linear in the matrix")
    return _like(b, op, ct, _OTHER_FORM[op.form.data])


@graph_op
class TriangularSolveOp(MatrixOp):
    """The solution `x` of `a x = y`, or of `a^T x = y` where the form is `transposed`, for triangular matrices.

    Only the triangle of `a` that is named is read, without its diagonal where that is `unit`. A zero on the diagonal gives
    infinities and NaN. Cost: `n**2` flops a column of `y`.

    ```mlir
    %x = graph.triangular_solve lower plain given %a, %y : (tensor<3x3xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    ```

    (C1) Both operands have one element type, f32 or f64, or complex of them; or the imaginary parts of both follow.
    (C2) Matrices of `a` are square, and `y` has as many rows and the same leading dims.
    (C3) The side is lower or upper, the form plain or transposed, the diagonal given or unit.
    """

    name = "graph.triangular_solve"
    facts = FACTORIZATION.but(uniform_steps=True, kernels=".kernels.triangular_solve")
    a = operand_def(TensorType)
    y = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    side = prop_def(StringAttr)
    form = prop_def(StringAttr)
    diagonal = prop_def(StringAttr)
    x = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "<side> <form> <diagonal> *ay"
    derivative = Custom(_jvp_triangular_solve, transpose=_transpose_triangular_solve, linear=(1,))

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        require_same_element(operands, ("the matrix", "the right side"))  # C1
        a, y = require_matrices(operands[0], square=True), require_matrices(operands[1])  # C1, C2
        if len(a) != len(y) or not all(map(compatible, a[:-1], y[:-1])):  # C2
            raise ShapeError(
                f"rows and leading dims must be equal, of the matrix {show_shape(a)}, the right side {show_shape(y)}"
            )
        for name, known in (("side", ("lower", "upper")), ("form", tuple(_OTHER_FORM)), ("diagonal", ("given", "unit"))):
            one_of(props, name, known)  # C3
        return (operands[1],)

    @property
    def goes_down(self) -> bool:
        """Whether the solution is found from the first row on (forward substitution)."""
        return (self.side.data == "lower") == (self.form.data == "plain")

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        a, y = operands
        a = np.swapaxes(a, -1, -2) if self.form.data == "transposed" else a
        n = a.shape[-1]
        x = np.empty_like(y)
        with np.errstate(all="ignore"):
            for i in range(n) if self.goes_down else reversed(range(n)):
                known = slice(0, i) if self.goes_down else slice(i + 1, n)
                rest = y[..., i, :] - np.matmul(a[..., i : i + 1, known], x[..., known, :])[..., 0, :]
                x[..., i, :] = rest if self.diagonal.data == "unit" else rest / a[..., i, i, None]
        return (x,)


# --------------------------------------------------------------------------------------------------------------------
# lu


def _jvp_lu(b: GraphBuilder, op: LuOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # of the leading square block P dA = L (tril(G) + triu(G)) U with G = L^-1 P dA U^-1; then the rest of the rows or columns
    y, (da,) = op.y, tangents
    rows, columns = shape_of(y)[-2:]
    k = min(rows, columns)
    da = permuted(b, da, b.permutation(op.pivots, rows=rows))
    lower = upper = part(b, y, (0, k), (0, k))
    once = solve_with(b, lower, part(b, da, (0, k), (0, k)), side="lower", diagonal="unit")
    g = solve_right(b, upper, once)
    unit = b.select(compared(b, "eq", shape_of(lower)), b.full_like(lower, 1), kept(b, lower, "gt"))
    d_lower, d_upper = multiply(b, unit, kept(b, g, "gt")), multiply(b, kept(b, g, "le"), kept(b, upper, "le"))
    block = b.add(d_lower, d_upper)
    dim = len(shape_of(y))
    if rows > k:
        rest = multiply(b, part(b, y, (k, rows), (0, k)), d_upper)
        found = solve_right(b, upper, b.sub(part(b, da, (k, rows), (0, k)), rest))
        return [b.concat(block, found, dim=dim - 2), None]
    if columns > k:
        rest = multiply(b, d_lower, part(b, y, (0, k), (k, columns)))
        found = solve_with(b, lower, b.sub(part(b, da, (0, k), (k, columns)), rest), side="lower", diagonal="unit")
        return [b.concat(block, found, dim=dim - 1), None]
    return [block, None]


def solve_right(b: GraphBuilder, upper: SSAValue, y: SSAValue) -> SSAValue:
    """`x` with `x U = y`."""
    return transposed(b, solve_with(b, upper, transposed(b, y), side="upper", form="transposed"))


def permuted(b: GraphBuilder, x: SSAValue, order: SSAValue) -> SSAValue:
    """The rows of each matrix of a stack in an order: row `k` is row `order[k]`."""
    rank = len(shape_of(x))
    if 0 in shape_of(x):
        return x
    return b.gather(x, order, at=(rank - 2,), batch=tuple(range(rank - 2)))


def permuted_back(b: GraphBuilder, x: SSAValue, order: SSAValue) -> SSAValue:
    """The inverse of `permuted`: the rows that it would reorder to `x`."""
    rank = len(shape_of(x))
    if 0 in shape_of(x):
        return x
    return b.scatter(b.zeros_like(x), x, order, kind="set", at=(rank - 2,), batch=tuple(range(rank - 2)))


@graph_op
class LuOp(MatrixOp):
    """Triangular factors of matrices, the last two dims, with partial pivoting: no multiplier of a row is above 1.

    Among complex elements the one with the largest sum of magnitudes of its parts is the pivot, as in LAPACK.

    `x[order] = L U` with `L` unit lower triangular: `y` holds `U` and below its diagonal `L`. Row `k` was exchanged with row
    `pivots[k]`, one exchange after the other; `graph.permutation` makes `order` of them. A column without a pivot is left as it
    is. Cost: `2 * n**3 / 3` flops a square matrix.

    ```mlir
    %y, %p = graph.lu %x : tensor<4x3xf32> -> (tensor<4x3xf32>, tensor<3xi32>)
    ```

    (C1) The element type is f32 or f64, or complex of them; or real and imaginary parts are two operands, and the imaginary
    part of `y` is a third result.
    (C2) There are two dims or more.
    """

    name = "graph.lu"
    facts = FACTORIZATION.but(uniform_steps=True, kernels=".kernels.lu")
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    y = result_def(TensorType)
    pivots = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "*x"
    derivative = Custom(_jvp_lu)

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        *lead, rows, columns = require_matrices(operands[0])  # C1, C2
        return operands[0], tensor(i32, (*lead, min(rows, columns)))

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        y = np.array(operands[0])
        *lead, rows, columns = y.shape
        pivots = np.zeros((*lead, min(rows, columns)), np.int32)
        with np.errstate(all="ignore"):
            for outer, a in stacked(y):
                for k in range(min(rows, columns)):
                    size = np.abs(np.real(a[k:, k])) + np.abs(np.imag(a[k:, k]))
                    p = k + int(np.argmax(np.where(np.isnan(size), -1, size)))  # NaN are no pivots
                    pivots[(*outer, k)] = p
                    a[[k, p]] = a[[p, k]]
                    if a[k, k] != 0:
                        a[k + 1 :, k] /= a[k, k]
                    a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        return y, pivots


def _batch_permutation(
    b: GraphBuilder, op: PermutationOp, operands: Sequence[SSAValue], batched: Sequence[bool]
) -> Sequence[SSAValue]:
    return [b.permutation(operands[0], rows=op.rows)]


@graph_op
class PermutationOp(GraphOp):
    """The order of rows after row `k` was exchanged with row `pivots[k]`, for each `k` in turn, along the last dim.

    ```mlir
    %o = graph.permutation %p of 4 : tensor<2x3xi32> -> tensor<2x4xi32>
    ```

    (C1) Pivots are i32 and have a dim.
    (C2) There are as many rows as exchanges, or more.
    """

    name = "graph.permutation"
    facts = OpFacts(rounding=Rounding.NONE)
    pivots = operand_def(TensorType)
    rows = prop_def(IntegerAttr)
    order = result_def(TensorType)
    syntax = "$pivots of #rows"
    derivative = Zero()
    batching = _batch_permutation

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        shape, rows = operands[0].get_shape(), integer(props["rows"])
        if operands[0].element_type != i32 or not shape:  # C1
            raise DTypeError(f"pivots must be vectors of i32, got {operands[0]}")
        if any(n < 0 for n in shape):
            raise ShapeError(f"pivots must be of known sizes, got {show_shape(shape)}")
        if shape[-1] > rows:  # C2
            raise ShapeError(f"rows must be as many as exchanges or more, got {rows} rows and {shape[-1]} exchanges")
        return (tensor(i32, (*shape[:-1], rows)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (pivots,) = operands
        order = np.broadcast_to(np.arange(self.result_shape()[-1], dtype=np.int32), self.result_shape()).copy()
        last = order.shape[-1] - 1
        for outer in np.ndindex(pivots.shape[:-1]):
            for k, p in enumerate(np.clip(pivots[outer], 0, last)):
                order[(*outer, [k, p])] = order[(*outer, [p, k])]
        return (order,)

    def nest(self, b: NestWriter) -> None:
        *lead, n = self.result_shape()
        if n == 0 or 0 in lead:
            return
        with ExitStack() as loops:
            outer, (order,) = [loops.enter_context(b.loop(size)).index for size in lead], b.results
            with b.loop(n) as i:
                b.store(b.scalar.convert(b.position(i.index), i32), order, [*outer, i.index])
            first, last = b.scalar.const(0, i32), b.scalar.const(n - 1, i32)
            with b.loop(self.shape()[-1], "seq") as k:
                p = b.scalar.min(b.scalar.max(b.read(0, [*outer, k.index]), first), last)
                at = b.index_of(b.scalar.convert(p, index))
                one, two = (b.load(order, [*outer, here]) for here in (k.index, at))
                b.store(two, order, [*outer, k.index])
                b.store(one, order, [*outer, at])

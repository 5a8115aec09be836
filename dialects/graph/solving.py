"""Composites of matrices that have derivatives of their own: `solve`, `det` and `pinv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError, ShapeError
from ..facts import FACTORIZATION
from ..types import compatible, element_of, part_of, shape_of, show_shape, tensor
from .base import CompositeOp, Custom, Props, Types, graph_op, one_of, require_same_element, word
from .factor import permuted, permuted_back, solve_with
from .matrices import batch_leading, diagonal_of, identity, in_field, multiply, on_rows, require_matrices, stacked

if TYPE_CHECKING:
    from .builder import GraphBuilder

# --------------------------------------------------------------------------------------------------------------------
# solve


def _jvp_solve(b: GraphBuilder, op: SolveOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    # a dx = dy - da x
    da, dy = tangents
    terms = dy
    if da is not None:
        change = multiply(b, da, op.x, transpose="x" if op.form.data == "transposed" else "")
        terms = b.neg(change) if dy is None else b.sub(dy, change)
    return [b.solve(op.a, terms, form=op.form)]


@graph_op
class SolveOp(CompositeOp):
    """The solution `x` of `a x = y`, or of `a^T x = y` where the form is `transposed`, for square matrices, the last two dims.

    By `graph.lu` and two triangular solves; of a singular matrix infinities and NaN. Cost: `2 * n**3 / 3` flops a matrix and
    `2 * n**2` a column of `y`.

    ```mlir
    %x = graph.solve plain %a, %y : (tensor<3x3xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    ```

    (C1) Both operands have one element type, f32 or f64, or complex of them.
    (C2) Matrices of `a` are square, and `y` has as many rows and the same leading dims.
    (C3) The form is plain or transposed.
    """

    name = "graph.solve"
    facts = FACTORIZATION
    a = operand_def(TensorType)
    y = operand_def(TensorType)
    form = prop_def(StringAttr)
    x = result_def(TensorType)
    syntax = "<form> $a, $y"
    derivative = Custom(_jvp_solve)
    batching = batch_leading

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_element(operands, ("the matrix", "the right side"))  # C1
        a, y = require_matrices(operands[0], square=True), require_matrices(operands[1])  # C1, C2
        if len(a) != len(y) or not all(map(compatible, a[:-1], y[:-1])):  # C2
            raise ShapeError(
                f"rows and leading dims must be equal, of the matrix {show_shape(a)}, the right side {show_shape(y)}"
            )
        one_of(props, "form", ("plain", "transposed"))  # C3
        return (operands[1],)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        a, y = operands
        factors, pivots = b.lu(a)
        order = b.permutation(pivots, rows=shape_of(a)[-1])
        if word(props["form"]) == "plain":
            half = solve_with(b, factors, permuted(b, y, order), side="lower", diagonal="unit")
            return solve_with(b, factors, half, side="upper")
        half = solve_with(b, factors, y, side="upper", form="transposed")
        found = solve_with(b, factors, half, side="lower", form="transposed", diagonal="unit")
        return permuted_back(b, found, order)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        a, y = operands
        x = np.full_like(y, np.nan)
        for place, matrix in stacked(a):
            try:
                x[place] = np.linalg.solve(matrix.T if self.form.data == "transposed" else matrix, y[place])
            except np.linalg.LinAlgError:
                pass
        return (x,)


# --------------------------------------------------------------------------------------------------------------------
# det


def _parity(b: GraphBuilder, pivots: SSAValue, like: SSAValue) -> SSAValue:
    """1 or -1 for each matrix of a stack: the sign of the exchanges of `graph.lu`."""
    dim = len(shape_of(pivots)) - 1
    places = b.iota(dim=dim, result=tensor(i32, shape_of(pivots)))
    factors = b.select(b.cmp(pivots, places, predicate="ne"), b.full_like(like, -1), b.full_like(like, 1))
    return b.reduce(factors, kind="mul", dims=(dim,))


def _jvp_det(b: GraphBuilder, op: DetOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # tr(adj(x) dx) with adj(x) = det(x) x^-1, also where the last pivot alone is 0: it is multiplied out before (as in jax)
    (dx,) = tangents
    x, shape = op.x, shape_of(op.x)
    n = shape[-1]
    if n == 0:
        return [None]
    if n == 1:
        return [b.reshape(dx, shape[:-2])]
    factors, pivots = b.lu(x)
    order = b.permutation(pivots, rows=n)
    diagonal = diagonal_of(b, factors)
    last = len(shape) - 2
    start = _parity(b, pivots, diagonal)
    parts = b.reduce(part_of_rows(b, diagonal, 0, n - 1), kind="mul", dims=(last,))
    rest = b.mul(start, parts)
    corner = b.mul(*(b.convert(compared_with_last(b, shape, dim), element_of(x)) for dim in (last, last + 1)))
    is_corner = b.cmp(corner, b.zeros_like(corner), predicate="ne")
    whole = b.broadcast(b.div(b.full_like(rest, 1), rest), tuple(range(last)), shape)
    changed = b.select(is_corner, whole, factors)
    # the adjugate of a matrix of rank below n - 1 is 0
    ok = b.cmp(b.mul(parts, b.zeros_like(parts)), b.zeros_like(parts), predicate="eq")
    ok = b.and_(ok, b.cmp(parts, b.zeros_like(parts), predicate="ne"))
    ok = b.broadcast(ok, tuple(range(last)), shape)
    safe = b.select(ok, changed, identity(b, element_of(x), shape))
    half = solve_with(b, factors, permuted(b, dx, order), side="lower", diagonal="unit")
    in_last = compared_with_last(b, shape, last)
    scaled = b.select(in_last, half, b.mul(half, b.broadcast(op.y, tuple(range(last)), shape)))
    found = solve_with(b, safe, scaled, side="upper")
    found = b.select(ok, found, b.zeros_like(found))
    return [b.reduce(diagonal_of(b, found), kind="add", dims=(last,))]


def part_of_rows(b: GraphBuilder, x: SSAValue, start: int, stop: int) -> SSAValue:
    """Elements of each vector of a stack."""
    shape = shape_of(x)
    zeros = [0] * (len(shape) - 1)
    return b.slice(x, start=(*zeros, start), stop=(*shape[:-1], stop), step=(1,) * len(shape))


def compared_with_last(b: GraphBuilder, shape: Sequence[int], dim: int) -> SSAValue:
    """Where an element is the last one along a dim."""
    places = b.iota(dim=dim, result=tensor(i32, shape))
    return b.cmp(places, b.full_like(places, shape[dim] - 1), predicate="eq")


@graph_op
class DetOp(CompositeOp):
    """The determinants of square matrices, the last two dims: the product of the pivots of `graph.lu`.

    ```mlir
    %y = graph.det %x : tensor<2x3x3xf32> -> tensor<2xf32>
    ```

    (C1) The element type is f32 or f64, or complex of them.
    (C2) There are two dims or more, and the last two are equal.
    """

    name = "graph.det"
    facts = FACTORIZATION
    x = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$x"
    derivative = Custom(_jvp_det)
    batching = batch_leading

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        shape = require_matrices(operands[0], square=True)  # C1, C2
        return (tensor(operands[0].element_type, shape[:-2]),)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        factors, pivots = b.lu(operands[0])
        diagonal = diagonal_of(b, factors)
        product = b.reduce(diagonal, kind="mul", dims=(len(shape_of(diagonal)) - 1,))
        return b.mul(_parity(b, pivots, diagonal), product)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return (np.asarray(np.linalg.det(operands[0]), operands[0].dtype),)


# --------------------------------------------------------------------------------------------------------------------
# pinv


def _jvp_pinv(b: GraphBuilder, op: PinvOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    # -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P: Golub and Pereyra, 1973; at a constant rank
    da, _ = tangents
    if da is None:
        return [None]
    a, p = op.x, op.y
    change = b.neg(multiply(b, multiply(b, p, da), p))
    left = multiply(b, multiply(b, p, p, adjoint="y"), da, adjoint="y")
    left = b.sub(left, multiply(b, multiply(b, left, a), p))
    right = multiply(b, da, multiply(b, p, p, adjoint="x"), adjoint="x")
    right = b.sub(right, multiply(b, p, multiply(b, a, right)))
    return [b.add(change, b.add(left, right))]


@graph_op
class PinvOp(CompositeOp):
    """The Moore-Penrose inverses of matrices, the last two dims, by `graph.svd`.

    Singular values up to `rtol` times the largest one count as 0. The derivative holds where the rank does not change.

    ```mlir
    %y = graph.pinv %x, %rtol : (tensor<2x4x3xf32>, tensor<2xf32>) -> tensor<2x3x4xf32>
    ```

    (C1) The element type is f32 or f64, or complex of them; `rtol` has the type of its parts.
    (C2) There are two dims or more, and `rtol` has the leading dims.
    """

    name = "graph.pinv"
    facts = FACTORIZATION
    x = operand_def(TensorType)
    rtol = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$x, $rtol"
    derivative = Custom(_jvp_pinv)
    batching = batch_leading

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        if operands[1].element_type != part_of(operands[0].element_type):  # C1
            x, rtol = (o.element_type for o in operands)
            raise DTypeError(f"rtol must have the element type of parts of the matrix, the matrix is {x}, rtol is {rtol}")
        *lead, rows, columns = require_matrices(operands[0])  # C1, C2
        given = operands[1].get_shape()
        if len(given) != len(lead) or not all(map(compatible, given, lead)):  # C2
            raise ShapeError(f"rtol must have the leading dims {show_shape(lead)}, got {show_shape(given)}")
        return (tensor(operands[0].element_type, (*lead, columns, rows)),)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        x, rtol = operands
        *lead, rows, columns = shape_of(x)
        if 0 in (rows, columns):
            return b.full(0, tensor(element_of(x), (*lead, columns, rows)))
        u, s, vt = b.svd(x, mode="reduced")
        dims = tuple(range(len(lead)))
        least = b.broadcast(b.mul(rtol, b.reduce(s, kind="max", dims=(len(lead),))), dims, shape_of(s))
        counts, one = b.cmp(s, least, predicate="gt"), b.full_like(s, 1)
        inverse = b.select(counts, b.div(one, b.select(counts, s, one)), b.mul(s, b.zeros_like(s)))
        return multiply(b, b.mul(vt, on_rows(b, in_field(b, inverse, vt), shape_of(vt))), u, adjoint="xy")

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        x, rtol = operands
        y = np.full((*x.shape[:-2], x.shape[-1], x.shape[-2]), np.nan, x.dtype)
        for place, matrix in stacked(x):
            if np.isfinite(matrix).all():
                y[place] = np.linalg.pinv(matrix, rtol[place])
        return (y,)

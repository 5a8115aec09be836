"""Singular values: `orthogonalize`, and `svd` made of it and `qr`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def

from ...errors import DifferentiationError
from ..types import COMPLEX, element_of, is_complex, part_of, shape_of, tensor
from .base import CompositeOp, Custom, NotDifferentiable, Props, Types, graph_op, one_of, word
from .complex import imaginary
from .field import Element, Field
from .matrices import (
    Matrices,
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
from .phases import MOST_STEPS, epsilon_of, np_phases, phase_of, rank_in


def _rotate(b: Any, n: int, rows: Element, i: Any, j: Any, c: SSAValue, s: SSAValue) -> None:
    """Rows `i` and `j` become `c * i - s * j` and `s * i + c * j`."""
    with b.loop(n) as k:
        for plane in rows:
            x, y = b.load(plane, [i, k.index]), b.load(plane, [j, k.index])
            b.store(b.scalar.sub(b.scalar.mul(c, x), b.scalar.mul(s, y)), plane, [i, k.index])
            b.store(b.scalar.add(b.scalar.mul(s, x), b.scalar.mul(c, y)), plane, [j, k.index])


# --------------------------------------------------------------------------------------------------------------------
# orthogonalize


@graph_op
class OrthogonalizeOp(MatrixOp):
    """Rotations that make the rows of square matrices orthogonal: `y = z x` with `z` unitary, rows by descending length.

    So the lengths of the rows of `y` are the singular values of `x`, and the adjoint of `z` has its left singular vectors.
    Hestenes' method: sweeps over all pairs of rows, until no two are closer than rounding. The first component of a row of `z`
    that is at least half as large as its largest is positive. NaN and infinities give NaN. Cost: about 8 sweeps of `6 * n**3`
    flops.

    ```mlir
    %y, %z = graph.orthogonalize %x : tensor<3x3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64, or complex of them; or real and imaginary parts are two operands, and four results.
    (C2) There are two dims or more, and the last two are equal.
    """

    name = "graph.orthogonalize"
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    y = result_def(TensorType)
    z = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "*x"
    derivative = NotDifferentiable(lambda op: "differentiate graph.svd")

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        require_matrices(operands[0], square=True)  # C1, C2
        return operands[0], operands[0]

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        y, z = np.full_like(x, np.nan), np.full_like(x, np.nan)
        for place, matrix in stacked(x):
            if np.isfinite(matrix).all():
                u, s, vt = np.linalg.svd(matrix)
                rows = np.conj(u.T)
                phases = np_phases(rows)
                y[place], z[place] = phases * s[:, None] * vt, phases * rows
        return y, z

    def loops(self, b: Any, m: Matrices) -> None:
        n, f = self.shape()[-1], m.field
        zero, one = f.number(0), f.number(1)
        x, z = f.local((n, n), "rows"), f.local((n, n), "rotations")
        divisor, is_finite = f.divisor(m.largest(n))
        with b.loop(n) as i, b.loop(n) as j:
            value = f.shrink(m.read(0, i.index, j.index), divisor)
            f.store(f.select(is_finite, value, f.const(0)), x, [i.index, j.index])
            same = b.scalar.cmp("eq", b.position(i.index), b.position(j.index))
            f.store(f.select(same, f.const(1), f.const(0)), z, [i.index, j.index])
        with b.loop(MOST_STEPS, "seq", inits=[b.position(n)]) as sweep:
            # after a sweep without rotations there is none left
            rows = b.index_of(sweep.carried[0])
            count = b.position(0)
            with b.loop(rows, "seq", inits=[count]) as p:
                with b.loop(n, "seq", lower=p.index + 1, inits=[p.carried[0]]) as q:
                    q.give(self._pair(f, n, x, z, p.index, q.index, q.carried[0]))
                p.give(q.results[0])
            none = b.scalar.cmp("eq", p.results[0], count)
            sweep.give(b.scalar.select(none, count, b.position(n)))
        lengths = b.local((n,), f.part, "scratch", name="lengths")
        with b.loop(n) as i:
            with b.loop(n, "reduce", monoid="add", inits=[zero]) as j:
                j.give(f.square(f.load(x, [i.index, j.index])))
            b.store(j.results[0], lengths, [i.index])
        nan = f.number(float("nan"))
        scale, unit = b.scalar.select(is_finite, divisor, nan), b.scalar.select(is_finite, one, nan)
        with b.loop(n) as i:
            phase = phase_of(f, n, lambda j: f.load(z, [i.index, j]))
            to = rank_in(b, n, lengths, i.index, "gt")
            of_x, of_z = f.scale(phase, scale), f.scale(phase, unit)
            with b.loop(n) as j:
                m.store(f.mul(of_x, f.load(x, [i.index, j.index])), 0, to, j.index)
                m.store(f.mul(of_z, f.load(z, [i.index, j.index])), 1, to, j.index)

    def _pair(self, f: Field, n: int, x: Element, z: Element, p: Any, q: Any, count: SSAValue) -> SSAValue:
        """Rotate two rows if they are not orthogonal; how many rotations there have been then."""
        b = f.b
        zero, one = f.number(0), f.number(1)

        def square(i: Any) -> SSAValue:
            with b.loop(n, "reduce", monoid="add", inits=[zero]) as k:
                k.give(f.square(f.load(x, [i, k.index])))
            return k.results[0]

        alpha, beta = square(p), square(q)
        product = f.sum(n, lambda k: f.conj_mul(f.load(x, [q, k]), f.load(x, [p, k])))
        size = f.magnitude(product)
        bound = b.scalar.mul(b.scalar.unary("sqrt", alpha), b.scalar.unary("sqrt", beta))
        bound = b.scalar.mul(bound, f.number(epsilon_of(f.part) * np.sqrt(n)))
        is_close = b.scalar.cmp("gt", size, bound)
        with b.when(is_close):
            # the tangent of the smaller angle that makes the product of the two rows 0, once it is real
            gamma = size if f.is_complex else product[0]
            ratio = b.scalar.div(b.scalar.sub(beta, alpha), b.scalar.mul(f.number(2), gamma))
            root = b.scalar.unary("sqrt", b.scalar.add(one, b.scalar.mul(ratio, ratio)))
            t = b.scalar.div(one, b.scalar.add(b.scalar.abs(ratio), root))
            t = b.scalar.select(b.scalar.cmp("lt", ratio, zero), b.scalar.neg(t), t)
            c = b.scalar.div(one, b.scalar.unary("sqrt", b.scalar.add(one, b.scalar.mul(t, t))))
            s = b.scalar.mul(c, t)
            for rows in (x, z):
                if f.is_complex:
                    turn = f.shrink(product, size)
                    with b.loop(n) as k:
                        f.store(f.mul(turn, f.load(rows, [q, k.index])), rows, [q, k.index])
                _rotate(b, n, rows, p, q, c, s)
        return b.scalar.select(is_close, b.scalar.add(count, b.position(1)), count)


# --------------------------------------------------------------------------------------------------------------------
# svd


def _jvp_svd(b: Any, op: SvdOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # with M = U^H dA V, F = 1 / (s_j^2 - s_i^2): dU = U (F (M S + S M^H)) + (I - U U^H) dA V / S, and so for V: Townsend, 2016;
    # what the diagonal of M has of imaginary parts turns U
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

    `reduced` has `min(m, n)` of them, `complete` fills `u` and `vt` up to square matrices. A QR factorization, rotations that
    make the rows of `R` orthogonal (Drmac and Veselic, 2008), and a QR factorization of what they are then, which also gives
    vectors for singular values of 0. The derivative needs distinct singular values that are not 0, and reduced factors.

    ```mlir
    %u, %s, %vt = graph.svd reduced %x : tensor<4x3xf32> -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64, or complex of them.
    (C2) There are two dims or more.
    (C3) The mode is reduced or complete.
    """

    name = "graph.svd"
    x = operand_def(TensorType)
    mode = prop_def(StringAttr)
    u = result_def(TensorType)
    s = result_def(TensorType)
    vt = result_def(TensorType)
    syntax = "<mode> $x"
    stores = COMPLEX
    derivative = Custom(_jvp_svd)
    batching = batch_leading

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        *lead, rows, columns = require_matrices(operands[0])  # C1, C2
        one_of(props, "mode", ("reduced", "complete"))  # C3
        element, k = operands[0].element_type, min(rows, columns)
        left, right = (rows, columns) if word(props["mode"]) == "complete" else (k, k)
        u, vt = (tensor(element, shape) for shape in ((*lead, rows, left), (*lead, right, columns)))
        return u, tensor(part_of(element), (*lead, k)), vt

    @classmethod
    def decompose(cls, b: Any, props: Props, *operands: SSAValue) -> Sequence[SSAValue]:
        (x,) = operands
        *lead, rows, columns = shape_of(x)
        if rows < columns:
            v, s, ut = cls.decompose(b, props, adjoint_of(b, x))
            return adjoint_of(b, ut), s, adjoint_of(b, v)
        q, r = b.qr(x, mode=props["mode"])
        y, z = b.orthogonalize(part(b, r, (0, columns), (0, columns)))
        # y^H = V S: the columns are orthogonal, so that R is S with signs
        v, s = b.qr(adjoint_of(b, y), mode="reduced")
        s = real_part(b, diagonal_of(b, s))
        sign = b.select(b.cmp(s, b.zeros_like(s), predicate="lt"), b.full_like(s, -1), b.full_like(s, 1))
        vt = b.mul(adjoint_of(b, v), on_rows(b, in_field(b, sign, v), shape_of(v)))
        u = multiply(b, part(b, q, (0, rows), (0, columns)), z, adjoint="y")
        if shape_of(q)[-1] > columns:
            u = b.concat(u, part(b, q, (0, rows), (columns, rows)), dim=len(lead) + 1)
        return u, b.abs(s), vt

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
    """As the decomposition, with the signs that it gives."""
    n = x.shape[1]
    q, r = np.linalg.qr(x, "complete" if complete else "reduced")
    u, s, vt = np.linalg.svd(r[:n])
    phases = np_phases(np.conj(u.T))
    return np.concatenate([q[:, :n] @ (np.conj(phases.T) * u), q[:, n:]], 1), s, phases * vt

"""Eigenvalues of symmetric matrices and singular values: `eigh`, `orthogonalize`, and `svd` made of it and `qr`.

Vectors have any sign in the literature; here the first component that is at least half as large as the largest is positive, so
that equal matrices have equal vectors on all machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ...errors import DifferentiationError, DTypeError
from ..types import element_of, index, numpy_dtype, shape_of, tensor
from .base import CompositeOp, Custom, NotDifferentiable, Props, graph_op, word
from .factor import (
    Matrices,
    MatrixOp,
    batch_leading,
    compared,
    diagonal_of,
    mirrored,
    multiply,
    on_columns,
    on_rows,
    part,
    require_matrices,
    stacked,
    transposed,
)
from .orthogonal import Reflector

_MOST_STEPS = 30
"""QL steps for an eigenvalue, and sweeps of rotations, at most: LAPACK's limits; two steps and eight sweeps are usual."""


def _epsilon(element: Any) -> float:
    return float(np.finfo(numpy_dtype(element)).eps)


def _np_signs(rows: np.ndarray) -> np.ndarray:
    """1 or -1 for each row: the sign of its first component that is at least half as large as the largest."""
    size = np.abs(rows)
    first = np.argmax(size >= np.max(size, axis=-1, keepdims=True, initial=0) / 2, axis=-1) if rows.shape[-1] else 0
    chosen = np.take_along_axis(rows, np.asarray(first)[..., None], -1) if rows.shape[-1] else np.ones((*rows.shape[:-1], 1))
    return np.where(chosen < 0, -1, 1).astype(rows.dtype)


def _sign_of(b: Any, n: int, element: Any, get: Any) -> SSAValue:
    """As `_np_signs`, of the vector with the components `get(j)`."""
    zero, one = b.scalar.const(0, element), b.scalar.const(1, element)
    with b.loop(n, "reduce", monoid="max", inits=[zero]) as j:
        j.give(b.scalar.abs(get(j.index)))
    half = b.scalar.mul(j.results[0], b.scalar.const(0.5, element))
    with b.loop(n, "seq", inits=[one]) as j:
        x = get(j.index * -1 + (n - 1))
        signed = b.scalar.select(b.scalar.cmp("lt", x, zero), b.scalar.const(-1, element), one)
        j.give(b.scalar.select(b.scalar.cmp("ge", b.scalar.abs(x), half), signed, j.carried[0]))
    return j.results[0]


def _rank_in(b: Any, n: int, values: SSAValue, i: Any, predicate: str) -> Any:
    """The place of element `i` of a local vector in an order: how many others compare so, or are equal and stand before it."""
    zero, one = b.scalar.const(0, i32), b.scalar.const(1, i32)
    with b.loop(n, "seq", inits=[zero]) as j:
        x, y = b.load(values, [j.index]), b.load(values, [i])
        is_equal = b.scalar.binary("and", b.scalar.cmp("eq", x, y), b.scalar.cmp("lt", b.position(j.index), b.position(i)))
        before = b.scalar.binary("or", b.scalar.cmp(predicate, x, y), is_equal)
        j.give(b.scalar.add(j.carried[0], b.scalar.select(before, one, zero)))
    return b.index_of(b.scalar.convert(j.results[0], index))


def _rotate(b: Any, n: int, rows: SSAValue, i: Any, j: Any, c: SSAValue, s: SSAValue) -> None:
    """Rows `i` and `j` become `c * i - s * j` and `s * i + c * j`."""
    with b.loop(n) as k:
        x, y = b.load(rows, [i, k.index]), b.load(rows, [j, k.index])
        b.store(b.scalar.sub(b.scalar.mul(c, x), b.scalar.mul(s, y)), rows, [i, k.index])
        b.store(b.scalar.add(b.scalar.mul(s, x), b.scalar.mul(c, y)), rows, [j, k.index])


# --------------------------------------------------------------------------------------------------------------------
# eigh


def _jvp_eigh(b: Any, op: EighOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # with M = V^T dA V: dw = diag M, dV = V (M / (w_j - w_i)), 0 on the diagonal
    (da,) = tangents
    v, shape = op.v, shape_of(op.v)
    inner = multiply(b, v, multiply(b, mirrored(b, da), v), transpose="x")
    gaps = b.sub(on_columns(b, op.w, shape), on_rows(b, op.w, shape))
    same = compared(b, "eq", shape)
    one = b.full_like(gaps, 1)
    factors = b.select(same, b.zeros_like(gaps), b.div(one, b.select(same, one, gaps)))
    return [diagonal_of(b, inner), multiply(b, v, b.mul(factors, inner))]


@graph_op
class EighOp(MatrixOp):
    """Eigenvalues of symmetric matrices, the last two dims, in ascending order, and orthonormal eigenvectors, columns of `v`.

    Reads the lower triangle. Householder's reduction to a tridiagonal matrix, then implicit QL steps (EISPACK's tql2; shifts as
    in LAPACK's steqr), so that `x` and `v w v^T` differ by a few units of rounding of the largest eigenvalue. The first
    component of a vector that is at least half as large as its largest is positive. NaN and infinities give NaN. The derivative
    needs distinct eigenvalues. Cost: about `9 * n**3` flops a matrix.

    ```mlir
    %w, %v = graph.eigh %x : tensor<2x3x3xf32> -> (tensor<2x3xf32>, tensor<2x3x3xf32>)
    ```

    (C1) The element type is f32 or f64.
    (C2) There are two dims or more, and the last two are equal.
    """

    name = "graph.eigh"
    x = operand_def(TensorType)
    w = result_def(TensorType)
    v = result_def(TensorType)
    syntax = "$x"
    derivative = Custom(_jvp_eigh)

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        shape = require_matrices(operands[0], square=True)  # C1, C2
        return tensor(operands[0].element_type, shape[:-1]), operands[0]

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        w, v = np.full(x.shape[:-1], np.nan, x.dtype), np.full_like(x, np.nan)
        for place, matrix in stacked(x):
            if np.isfinite(np.tril(matrix)).all():
                w[place], found = np.linalg.eigh(matrix)
                v[place] = found * _np_signs(found.T)[:, 0]
        return w, v

    def loops(self, b: Any, m: Matrices) -> None:
        n, element = self.shape()[-1], element_of(self.x)
        a = b.local((n, n), element, "scratch", name="work")
        vectors = b.local((n, n), element, "scratch", name="vectors")
        d, e, p = (b.local((n,), element, "scratch", name=name) for name in ("diagonal", "beside", "product"))
        scale, is_finite = self._scaled(b, m, n, element, a)
        self._tridiagonal(b, n, element, a, vectors, d, e, p)
        self._transformation(b, n, element, a, vectors)
        self._steps(b, n, element, is_finite, vectors, d, e)
        with b.loop(n) as i:
            sign = _sign_of(b, n, element, lambda j: b.load(vectors, [i.index, j]))
            sign = b.scalar.select(is_finite, sign, b.scalar.const(float("nan"), element))
            value = b.scalar.mul(b.load(d, [i.index]), scale)
            to = _rank_in(b, n, d, i.index, "lt")
            m.store(value, 0, to)
            with b.loop(n) as j:
                m.store(b.scalar.mul(sign, b.load(vectors, [i.index, j.index])), 1, j.index, to)

    def _scaled(self, b: Any, m: Matrices, n: int, element: Any, a: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Copy the matrix, its largest element 1; by what it was divided, and whether all elements were finite."""
        zero, one = b.scalar.const(0, element), b.scalar.const(1, element)
        with b.loop(n, "seq", inits=[zero]) as i:
            with b.loop(i.index + 1, "seq", inits=[i.carried[0]]) as j:
                j.give(b.scalar.max(j.carried[0], b.scalar.abs(m.read(0, i.index, j.index))))
            i.give(j.results[0])
        largest = i.results[0]
        is_finite = b.scalar.cmp("lt", largest, b.scalar.const(float("inf"), element))
        is_usual = b.scalar.binary("and", is_finite, b.scalar.cmp("gt", largest, zero))
        divisor = b.scalar.select(is_usual, largest, one)
        with b.loop(n, "seq") as i, b.loop(i.index + 1, "seq") as j:
            x = b.scalar.div(m.read(0, i.index, j.index), divisor)
            x = b.scalar.select(is_finite, x, zero)
            b.store(x, a, [i.index, j.index])
            b.store(x, a, [j.index, i.index])
        return b.scalar.select(is_finite, divisor, b.scalar.const(float("nan"), element)), is_finite

    def _tridiagonal(
        self, b: Any, n: int, element: Any, a: SSAValue, kept: SSAValue, d: SSAValue, e: SSAValue, p: SSAValue
    ) -> None:
        """Reflect rows and columns until only `d` and, beside it, `e` are left; row `k` of `kept` is reflector `k`."""
        zero = b.scalar.const(0, element)
        reflector = Reflector(b, element, n)
        with b.loop(n - 1, "seq") as k:
            b.store(b.load(a, [k.index, k.index]), d, [k.index])
            first = k.index + 1
            beside = reflector.make(first, lambda j: b.load(a, [k.index, j]))
            b.store(beside, e, [k.index])
            with b.loop(n) as j:
                b.store(reflector.at(j.index), kept, [k.index, j.index])
                b.store(zero, p, [j.index])
            with b.loop(n, "seq", lower=first) as i:
                factor = reflector.at(i.index)
                with b.loop(n, lower=first) as j:
                    term = b.scalar.mul(factor, b.load(a, [i.index, j.index]))
                    b.store(b.scalar.add(b.load(p, [j.index]), term), p, [j.index])
            with b.loop(n, "seq", lower=first, inits=[zero]) as j:
                j.give(b.scalar.add(j.carried[0], b.scalar.mul(b.load(p, [j.index]), reflector.at(j.index))))
            half = b.scalar.mul(j.results[0], b.scalar.const(0.5, element))
            with b.loop(n, lower=first) as j:
                b.store(b.scalar.sub(b.load(p, [j.index]), b.scalar.mul(half, reflector.at(j.index))), p, [j.index])
            with b.loop(n, lower=first) as i:
                x, y = reflector.at(i.index), b.load(p, [i.index])
                with b.loop(n, lower=first) as j:
                    change = b.scalar.add(b.scalar.mul(x, b.load(p, [j.index])), b.scalar.mul(y, reflector.at(j.index)))
                    b.store(b.scalar.sub(b.load(a, [i.index, j.index]), change), a, [i.index, j.index])
        b.store(b.load(a, [n - 1, n - 1]), d, [n - 1])
        b.store(zero, e, [n - 1])

    def _transformation(self, b: Any, n: int, element: Any, q: SSAValue, rows: SSAValue) -> None:
        """The product of the reflectors that the rows of `rows` hold; transposed into `rows`, whose rows are then vectors."""
        zero, one = b.scalar.const(0, element), b.scalar.const(1, element)
        sums = b.local((n,), element, "scratch", name="sums")
        with b.loop(n) as i, b.loop(n) as j:
            same = b.scalar.cmp("eq", b.position(i.index), b.position(j.index))
            b.store(b.scalar.select(same, one, zero), q, [i.index, j.index])
        with b.loop(n - 1, "seq") as step:
            k = step.index * -1 + (n - 2)
            with b.loop(n, lower=k + 1) as j:
                b.store(zero, sums, [j.index])
            with b.loop(n, "seq", lower=k + 1) as i:
                factor = b.load(rows, [k, i.index])
                with b.loop(n, lower=k + 1) as j:
                    term = b.scalar.mul(factor, b.load(q, [i.index, j.index]))
                    b.store(b.scalar.add(b.load(sums, [j.index]), term), sums, [j.index])
            with b.loop(n, lower=k + 1) as i:
                factor = b.load(rows, [k, i.index])
                with b.loop(n, lower=k + 1) as j:
                    change = b.scalar.mul(factor, b.load(sums, [j.index]))
                    b.store(b.scalar.sub(b.load(q, [i.index, j.index]), change), q, [i.index, j.index])
        with b.loop(n) as i, b.loop(n) as j:
            b.store(b.load(q, [j.index, i.index]), rows, [i.index, j.index])

    def _steps(self, b: Any, n: int, element: Any, is_finite: SSAValue, rows: SSAValue, d: SSAValue, e: SSAValue) -> None:
        """QL steps until nothing is left beside the diagonal; the first eigenvalue that is not found yet is carried."""
        zero, one, two = (b.scalar.const(x, element) for x in (0, 1, 2))
        eps = b.scalar.const(_epsilon(element), element)
        start, stop = b.position(0), b.position(n - 1)
        most = b.scalar.select(is_finite, b.position(_MOST_STEPS * n), start)
        with b.loop(b.index_of(most), "seq", inits=[start]) as step:
            (low_value,) = step.carried
            low = b.index_of(low_value)
            # the end of the block that begins at `low`: the first element beside the diagonal that is negligible
            with b.loop(n - 1, "seq", lower=low, inits=[stop]) as i:
                size = b.scalar.add(*(b.scalar.abs(b.load(d, [at])) for at in (i.index, i.index + 1)))
                small = b.scalar.cmp("le", b.scalar.abs(b.load(e, [i.index])), b.scalar.mul(eps, size))
                here = b.position(i.index)
                first = b.scalar.binary("and", small, b.scalar.cmp("lt", here, i.carried[0]))
                i.give(b.scalar.select(first, here, i.carried[0]))
            m_value = i.results[0]
            is_found = b.scalar.cmp("ge", low_value, m_value)
            following = b.scalar.add(low_value, b.position(1))
            done = b.scalar.cmp("gt", following, stop)
            step.give(b.scalar.select(is_found, b.scalar.select(done, stop, following), low_value))
            with b.when(b.scalar.invert(is_found)):
                m = b.index_of(m_value)
                beside = b.load(e, [low])
                g = b.scalar.div(b.scalar.sub(b.load(d, [low + 1]), b.load(d, [low])), b.scalar.mul(two, beside))
                r = b.scalar.unary("sqrt", b.scalar.add(b.scalar.mul(g, g), one))
                r = b.scalar.select(b.scalar.cmp("lt", g, zero), b.scalar.neg(r), r)
                shift = b.scalar.div(beside, b.scalar.add(g, r))
                g = b.scalar.add(b.scalar.sub(b.load(d, [m]), b.load(d, [low])), shift)
                count = b.index_of(b.scalar.sub(m_value, low_value))
                with b.loop(count, "seq", inits=[g, one, one, zero]) as k:
                    g, c, s, p = k.carried
                    i = m - 1 - k.index
                    f, h = b.scalar.mul(s, b.load(e, [i])), b.scalar.mul(c, b.load(e, [i]))
                    r = b.scalar.unary("sqrt", b.scalar.add(b.scalar.mul(f, f), b.scalar.mul(g, g)))
                    b.store(r, e, [i + 1])
                    is_zero = b.scalar.cmp("eq", r, zero)
                    inverse = b.scalar.div(one, b.scalar.select(is_zero, one, r))
                    s = b.scalar.mul(f, inverse)
                    c = b.scalar.select(is_zero, one, b.scalar.mul(g, inverse))
                    g = b.scalar.sub(b.load(d, [i + 1]), p)
                    r = b.scalar.add(b.scalar.mul(b.scalar.sub(b.load(d, [i]), g), s), b.scalar.mul(two, b.scalar.mul(c, h)))
                    p = b.scalar.mul(s, r)
                    b.store(b.scalar.add(g, p), d, [i + 1])
                    g = b.scalar.sub(b.scalar.mul(c, r), h)
                    _rotate(b, n, rows, i, i + 1, c, s)
                    k.give(g, c, s, p)
                g, _, _, p = k.results
                b.store(b.scalar.sub(b.load(d, [low]), p), d, [low])
                b.store(g, e, [low])
                b.store(zero, e, [m])


# --------------------------------------------------------------------------------------------------------------------
# orthogonalize


@graph_op
class OrthogonalizeOp(MatrixOp):
    """Rotations that make the rows of square matrices orthogonal: `y = z x` with `z` orthogonal, rows by descending length.

    So the lengths of the rows of `y` are the singular values of `x`, and the rows of `z` its left singular vectors. Hestenes'
    method: sweeps over all pairs of rows, until no two are closer than rounding. The first component of a row of `z` that is at
    least half as large as its largest is positive. NaN and infinities give NaN. Cost: about 8 sweeps of `6 * n**3` flops.

    ```mlir
    %y, %z = graph.orthogonalize %x : tensor<3x3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64.
    (C2) There are two dims or more, and the last two are equal.
    """

    name = "graph.orthogonalize"
    x = operand_def(TensorType)
    y = result_def(TensorType)
    z = result_def(TensorType)
    syntax = "$x"
    derivative = NotDifferentiable(lambda op: "differentiate graph.svd")

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        require_matrices(operands[0], square=True)  # C1, C2
        return operands[0], operands[0]

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        y, z = np.full_like(x, np.nan), np.full_like(x, np.nan)
        for place, matrix in stacked(x):
            if np.isfinite(matrix).all():
                u, s, vt = np.linalg.svd(matrix)
                signs = _np_signs(u.T)
                y[place], z[place] = signs * s[:, None] * vt, signs * u.T
        return y, z

    def loops(self, b: Any, m: Matrices) -> None:
        n, element = self.shape()[-1], element_of(self.x)
        zero, one = b.scalar.const(0, element), b.scalar.const(1, element)
        x, z = (b.local((n, n), element, "scratch", name=name) for name in ("rows", "rotations"))
        with b.loop(n, "reduce", monoid="max", inits=[zero]) as i:
            with b.loop(n, "reduce", monoid="max", inits=[zero]) as j:
                j.give(b.scalar.abs(m.read(0, i.index, j.index)))
            i.give(j.results[0])
        largest = i.results[0]
        is_finite = b.scalar.cmp("lt", largest, b.scalar.const(float("inf"), element))
        is_usual = b.scalar.binary("and", is_finite, b.scalar.cmp("gt", largest, zero))
        divisor = b.scalar.select(is_usual, largest, one)
        with b.loop(n) as i, b.loop(n) as j:
            value = b.scalar.div(m.read(0, i.index, j.index), divisor)
            b.store(b.scalar.select(is_finite, value, zero), x, [i.index, j.index])
            same = b.scalar.cmp("eq", b.position(i.index), b.position(j.index))
            b.store(b.scalar.select(same, one, zero), z, [i.index, j.index])
        with b.loop(_MOST_STEPS, "seq", inits=[b.position(n)]) as sweep:
            # after a sweep without rotations there is none left
            rows = b.index_of(sweep.carried[0])
            count = b.position(0)
            with b.loop(rows, "seq", inits=[count]) as p:
                with b.loop(n, "seq", lower=p.index + 1, inits=[p.carried[0]]) as q:
                    q.give(self._pair(b, n, element, x, z, p.index, q.index, q.carried[0]))
                p.give(q.results[0])
            none = b.scalar.cmp("eq", p.results[0], count)
            sweep.give(b.scalar.select(none, count, b.position(n)))
        lengths = b.local((n,), element, "scratch", name="lengths")
        with b.loop(n) as i:
            with b.loop(n, "reduce", monoid="add", inits=[zero]) as j:
                value = b.load(x, [i.index, j.index])
                j.give(b.scalar.mul(value, value))
            b.store(j.results[0], lengths, [i.index])
        scale = b.scalar.select(is_finite, divisor, b.scalar.const(float("nan"), element))
        unit = b.scalar.select(is_finite, one, b.scalar.const(float("nan"), element))
        with b.loop(n) as i:
            sign = _sign_of(b, n, element, lambda j: b.load(z, [i.index, j]))
            to = _rank_in(b, n, lengths, i.index, "gt")
            of_x, of_z = b.scalar.mul(sign, scale), b.scalar.mul(sign, unit)
            with b.loop(n) as j:
                m.store(b.scalar.mul(of_x, b.load(x, [i.index, j.index])), 0, to, j.index)
                m.store(b.scalar.mul(of_z, b.load(z, [i.index, j.index])), 1, to, j.index)

    def _pair(self, b: Any, n: int, element: Any, x: SSAValue, z: SSAValue, p: Any, q: Any, count: SSAValue) -> SSAValue:
        """Rotate two rows if they are not orthogonal; how many rotations there have been then."""
        zero, one = b.scalar.const(0, element), b.scalar.const(1, element)

        def product(i: Any, j: Any) -> SSAValue:
            with b.loop(n, "reduce", monoid="add", inits=[zero]) as k:
                k.give(b.scalar.mul(b.load(x, [i, k.index]), b.load(x, [j, k.index])))
            return k.results[0]

        alpha, beta, gamma = product(p, p), product(q, q), product(p, q)
        bound = b.scalar.mul(b.scalar.unary("sqrt", alpha), b.scalar.unary("sqrt", beta))
        bound = b.scalar.mul(bound, b.scalar.const(_epsilon(element) * np.sqrt(n), element))
        is_close = b.scalar.cmp("gt", b.scalar.abs(gamma), bound)
        with b.when(is_close):
            # the tangent of the smaller angle that makes the product of the two rows 0
            ratio = b.scalar.div(b.scalar.sub(beta, alpha), b.scalar.mul(b.scalar.const(2, element), gamma))
            root = b.scalar.unary("sqrt", b.scalar.add(one, b.scalar.mul(ratio, ratio)))
            t = b.scalar.div(one, b.scalar.add(b.scalar.abs(ratio), root))
            t = b.scalar.select(b.scalar.cmp("lt", ratio, zero), b.scalar.neg(t), t)
            c = b.scalar.div(one, b.scalar.unary("sqrt", b.scalar.add(one, b.scalar.mul(t, t))))
            s = b.scalar.mul(c, t)
            _rotate(b, n, x, p, q, c, s)
            _rotate(b, n, z, p, q, c, s)
        return b.scalar.select(is_close, b.scalar.add(count, b.position(1)), count)


# --------------------------------------------------------------------------------------------------------------------
# svd


def _jvp_svd(b: Any, op: SvdOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # with M = U^T dA V, F = 1 / (s_j^2 - s_i^2): dU = U (F (M S + S M^T)) + (I - U U^T) dA V / S, and so for V: Townsend, 2016
    (da,) = tangents
    u, s, vt = op.u, op.s, op.vt
    rows, columns = shape_of(da)[-2:]
    if op.mode.data == "complete" and rows != columns:
        raise DifferentiationError("'graph.svd' op has no derivative of the complete factors of matrices that are not square")
    k = shape_of(s)[-1]
    shape = (*shape_of(s)[:-1], k, k)
    av = multiply(b, da, vt, transpose="y")
    inner = multiply(b, u, av, transpose="x")
    across = transposed(b, inner)
    on_s, by_s = on_columns(b, s, shape), on_rows(b, s, shape)
    same, one = compared(b, "eq", shape), b.full(1, tensor(element_of(s), shape))
    gaps = b.mul(b.sub(on_s, by_s), b.add(on_s, by_s))
    factors = b.select(same, b.zeros_like(gaps), b.div(one, b.select(same, one, gaps)))
    d_u = multiply(b, u, b.mul(factors, b.add(b.mul(inner, on_s), b.mul(by_s, across))))
    d_v = multiply(b, vt, b.mul(factors, b.add(b.mul(by_s, inner), b.mul(across, on_s))), transpose="x")
    if rows > k:
        rest = b.sub(av, multiply(b, u, inner))
        d_u = b.add(d_u, b.div(rest, on_columns(b, s, shape_of(rest))))
    if columns > k:
        au = multiply(b, da, u, transpose="x")
        rest = b.sub(au, multiply(b, vt, across, transpose="x"))
        d_v = b.add(d_v, b.div(rest, on_columns(b, s, shape_of(rest))))
    return [d_u, diagonal_of(b, inner), transposed(b, d_v)]


@graph_op
class SvdOp(CompositeOp):
    """`x = U S V^T` of matrices, the last two dims: orthonormal columns of `u` and rows of `vt`, `s` in descending order.

    `reduced` has `min(m, n)` of them, `complete` fills `u` and `vt` up to square matrices. A QR factorization, rotations that
    make the rows of `R` orthogonal (Drmac and Veselic, 2008), and a QR factorization of what they are then, which also gives
    vectors for singular values of 0. The derivative needs distinct singular values that are not 0, and reduced factors.

    ```mlir
    %u, %s, %vt = graph.svd reduced %x : tensor<4x3xf32> -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64.
    (C2) There are two dims or more.
    (C3) The mode is reduced or complete.
    """

    name = "graph.svd"
    x = operand_def(TensorType)
    mode = prop_def(StringAttr)
    u = result_def(TensorType)
    s = result_def(TensorType)
    vt = result_def(TensorType)
    traits = traits_def(Pure())
    syntax = "<mode> $x"
    derivative = Custom(_jvp_svd)
    batching = batch_leading

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        *lead, rows, columns = require_matrices(operands[0])  # C1, C2
        if word(props["mode"]) not in ("reduced", "complete"):  # C3
            raise DTypeError(f"mode must be one of reduced, complete, got {word(props['mode'])}")
        element, k = operands[0].element_type, min(rows, columns)
        left, right = (rows, columns) if word(props["mode"]) == "complete" else (k, k)
        shapes = (*lead, rows, left), (*lead, k), (*lead, right, columns)
        return tuple(tensor(element, shape) for shape in shapes)

    @classmethod
    def decompose(cls, b: Any, props: Props, *operands: SSAValue) -> Sequence[SSAValue]:
        (x,) = operands
        *lead, rows, columns = shape_of(x)
        if rows < columns:
            v, s, ut = cls.decompose(b, props, transposed(b, x))
            return transposed(b, ut), s, transposed(b, v)
        q, r = b.qr(x, mode=props["mode"])
        y, z = b.orthogonalize(part(b, r, (0, columns), (0, columns)))
        # y^T = V S: the columns are orthogonal, so that R is S with signs
        v, s = b.qr(transposed(b, y), mode="reduced")
        s = diagonal_of(b, s)
        sign = b.select(b.cmp(s, b.zeros_like(s), predicate="lt"), b.full_like(s, -1), b.full_like(s, 1))
        vt = b.mul(transposed(b, v), on_rows(b, sign, shape_of(v)))
        u = multiply(b, part(b, q, (0, rows), (0, columns)), z, transpose="y")
        if shape_of(q)[-1] > columns:
            u = b.concat(u, part(b, q, (0, rows), (columns, rows)), dim=len(lead) + 1)
        return u, b.abs(s), vt

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        complete = self.mode.data == "complete"
        shapes = [shape_of(result) for result in self.results]
        found = tuple(np.full(shape, np.nan, x.dtype) for shape in shapes)
        for place, matrix in stacked(x):
            if np.isfinite(matrix).all():
                parts = _np_svd(matrix, complete) if x.shape[-2] >= x.shape[-1] else _np_svd(matrix.T, complete)[::-1]
                parts = parts if x.shape[-2] >= x.shape[-1] else tuple(p.T for p in parts)
                for result, value in zip(found, parts, strict=True):
                    result[place] = value
        return found


def _np_svd(x: np.ndarray, complete: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As the decomposition, with the signs that it gives."""
    n = x.shape[1]
    q, r = np.linalg.qr(x, "complete" if complete else "reduced")
    u, s, vt = np.linalg.svd(r[:n])
    signs = _np_signs(u.T)
    return np.concatenate([q[:, :n] @ (signs.T * u), q[:, n:]], 1), s, signs * vt

"""Eigenvalues of symmetric matrices and singular values: `eigh`, `orthogonalize`, and `svd` made of it and `qr`.

Vectors have any sign in the literature, complex ones any phase; here the first component that is at least half as large as the
largest is real and positive, so that equal matrices have equal vectors on all machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure

from ...errors import DifferentiationError, DTypeError
from ..types import COMPLEX, element_of, index, is_complex, numpy_dtype, part_of, shape_of, tensor, width_of
from .base import CompositeOp, Custom, NotDifferentiable, Props, graph_op, word
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
    mirrored,
    multiply,
    on_columns,
    on_rows,
    part,
    real_part,
    require_matrices,
    stacked,
)
from .orthogonal import Reflector, tau_of

_MOST_STEPS = 30
"""QL steps for an eigenvalue, and sweeps of rotations, at most: LAPACK's limits; two steps and eight sweeps are usual."""


def epsilon_of(element: Any) -> float:
    return float(np.finfo(numpy_dtype(element)).eps)


def np_phases(rows: np.ndarray) -> np.ndarray:
    """For each row the number of magnitude 1 that makes its first component at least half as large as the largest positive."""
    size = np.abs(rows)
    first = np.argmax(size >= np.max(size, axis=-1, keepdims=True, initial=0) / 2, axis=-1) if rows.shape[-1] else 0
    chosen = np.take_along_axis(rows, np.asarray(first)[..., None], -1) if rows.shape[-1] else np.ones((*rows.shape[:-1], 1))
    if np.iscomplexobj(rows):
        size = np.abs(chosen)
        return np.where(size == 0, 1, np.conj(chosen) / np.where(size == 0, 1, size)).astype(rows.dtype)
    return np.where(chosen < 0, -1, 1).astype(rows.dtype)


def phase_of(f: Field, n: int, get: Callable[[Any], Element]) -> Element:
    """As `np_phases`, of the vector with the components `get(j)`."""
    b = f.b
    with b.loop(n, "reduce", monoid="max", inits=[f.number(0)]) as j:
        j.give(f.magnitude(get(j.index)))
    half = b.scalar.mul(j.results[0], f.number(0.5))
    with b.loop(n, "seq", inits=[*f.const(1)]) as j:
        x = get(j.index * -1 + (n - 1))
        size = f.magnitude(x)
        j.give(*f.select(b.scalar.cmp("ge", size, half), _phase(f, x, size), tuple(j.carried)))
    return tuple(j.results)


def _phase(f: Field, x: Element, size: SSAValue) -> Element:
    """The number of magnitude 1 that makes a number of this magnitude positive."""
    s, zero, one = f.b.scalar, f.number(0), f.number(1)
    if not f.is_complex:
        return (s.select(s.cmp("lt", x[0], zero), f.number(-1), one),)
    is_zero = s.cmp("eq", size, zero)
    return f.select(is_zero, f.const(1), f.shrink(f.conj(x), s.select(is_zero, one, size)))


def _rank_in(b: Any, n: int, values: SSAValue, i: Any, predicate: str) -> Any:
    """The place of element `i` of a local vector in an order: how many others compare so, or are equal and stand before it."""
    zero, one = b.scalar.const(0, i32), b.scalar.const(1, i32)
    with b.loop(n, "seq", inits=[zero]) as j:
        x, y = b.load(values, [j.index]), b.load(values, [i])
        is_equal = b.scalar.binary("and", b.scalar.cmp("eq", x, y), b.scalar.cmp("lt", b.position(j.index), b.position(i)))
        before = b.scalar.binary("or", b.scalar.cmp(predicate, x, y), is_equal)
        j.give(b.scalar.add(j.carried[0], b.scalar.select(before, one, zero)))
    return b.index_of(b.scalar.convert(j.results[0], index))


def _rotate(b: Any, n: int, rows: Element, i: Any, j: Any, c: SSAValue, s: SSAValue) -> None:
    """Rows `i` and `j` become `c * i - s * j` and `s * i + c * j`."""
    with b.loop(n) as k:
        for plane in rows:
            x, y = b.load(plane, [i, k.index]), b.load(plane, [j, k.index])
            b.store(b.scalar.sub(b.scalar.mul(c, x), b.scalar.mul(s, y)), plane, [i, k.index])
            b.store(b.scalar.add(b.scalar.mul(s, x), b.scalar.mul(c, y)), plane, [j, k.index])


# --------------------------------------------------------------------------------------------------------------------
# eigh


def _jvp_eigh(b: Any, op: EighOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
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
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    w = result_def(TensorType)
    v = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "*x"
    derivative = Custom(_jvp_eigh)

    @classmethod
    def whole_types(cls, operands: Sequence[TensorType], props: Props) -> tuple[TensorType, ...]:
        shape = require_matrices(operands[0], square=True)  # C1, C2
        return tensor(part_of(operands[0].element_type), shape[:-1]), operands[0]

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        w, v = np.full(x.shape[:-1], np.nan, np.real(x).dtype), np.full_like(x, np.nan)
        for place, matrix in stacked(x):
            if np.isfinite(np.tril(matrix)).all():
                w[place], found = np.linalg.eigh(matrix)
                v[place] = found * np_phases(found.T)[:, 0]
        return w, v

    def loops(self, b: Any, m: Matrices) -> None:
        n, f = self.shape()[-1], m.field
        # rows are whole vectors, and loops over parts of them begin at one: what is stored in one step is loaded in the next
        lanes = b.target.lanes(width_of(f.part))
        width = -(-n // lanes) * lanes
        a, vectors = f.local((n, width), "work"), f.local((n, width), "vectors")
        d, e = (b.local((n,), f.part, "scratch", name=name) for name in ("diagonal", "beside"))
        with b.loop(n) as i, b.loop(width) as j:
            f.store(f.const(0), a, [i.index, j.index])
        scale, is_finite = self._scaled(b, m, n, a)
        self._tridiagonal(b, n, f, a, vectors, d, e)
        self._transformation(b, n, f, a, vectors)
        self._steps(b, n, f.part, is_finite, vectors, d, e)
        with b.loop(n) as i:
            phase = phase_of(f, n, lambda j: f.load(vectors, [i.index, j]))
            phase = f.select(is_finite, phase, f.const(float("nan")))
            value = b.scalar.mul(b.load(d, [i.index]), scale)
            to = _rank_in(b, n, d, i.index, "lt")
            m.store((value,), 0, to)
            with b.loop(n) as j:
                m.store(f.mul(phase, f.load(vectors, [i.index, j.index])), 1, j.index, to)

    def _scaled(self, b: Any, m: Matrices, n: int, a: Element) -> tuple[SSAValue, SSAValue]:
        """Copy the matrix, its largest element 1; by what it was divided, and whether all elements were finite."""
        f = m.field
        zero, one = f.number(0), f.number(1)

        def lower(i: Any, j: Any) -> Element:
            x = m.read(0, i, j)
            if not f.is_complex:
                return x
            on_diagonal = b.scalar.cmp("eq", b.position(i), b.position(j))
            return x[0], b.scalar.select(on_diagonal, zero, x[1])

        with b.loop(n, "seq", inits=[zero]) as i:
            with b.loop(i.index + 1, "seq", inits=[i.carried[0]]) as j:
                j.give(b.scalar.max(j.carried[0], f.size(lower(i.index, j.index))))
            i.give(j.results[0])
        largest = i.results[0]
        is_finite = b.scalar.cmp("lt", largest, f.number(float("inf")))
        is_usual = b.scalar.binary("and", is_finite, b.scalar.cmp("gt", largest, zero))
        divisor = b.scalar.select(is_usual, largest, one)
        with b.loop(n, "seq") as i, b.loop(i.index + 1, "seq") as j:
            x = f.shrink(lower(i.index, j.index), divisor)
            x = f.select(is_finite, x, f.const(0))
            f.store(f.conj(x), a, [j.index, i.index])
            f.store(x, a, [i.index, j.index])
        return b.scalar.select(is_finite, divisor, f.number(float("nan"))), is_finite

    def _tridiagonal(self, b: Any, n: int, f: Field, a: Element, kept: Element, d: SSAValue, e: SSAValue) -> None:
        """Reflect rows and columns until only `d` and, beside it, `e` are left; row `k` of `kept` is reflector `k`."""
        width, lanes = shape_of(a[0])[-1], b.target.lanes(width_of(f.part))
        p = f.local((width,), "product")
        reflector = Reflector(f, n, width)
        with b.loop(n - 1, "seq") as k:
            b.store(b.load(a[0], [k.index, k.index]), d, [k.index])
            first = k.index + 1
            beside = reflector.make(first, lambda j: f.conj(f.load(a, [k.index, j])))
            b.store(beside, e, [k.index])
            with b.loop(width) as j:
                f.store(reflector.at(j.index), kept, [k.index, j.index])
                f.store(f.const(0), p, [j.index])
            begin = first // lanes * lanes  # elements before `first` are read no more
            with b.loop(n, "seq", lower=first) as i:
                factor = reflector.at(i.index)
                with b.loop(width, lower=begin) as j:
                    term = f.conj_mul(f.load(a, [i.index, j.index]), factor)
                    f.store(f.add(f.load(p, [j.index]), term), p, [j.index])
            if f.is_complex:
                with b.loop(n, lower=first) as j:
                    f.store(reflector.weighted(first, f.load(p, [j.index])), p, [j.index])
            with b.loop(n, "seq", lower=first, inits=[*f.const(0)]) as j:
                j.give(*f.add(tuple(j.carried), f.conj_mul(f.load(p, [j.index]), reflector.at(j.index))))
            half = f.scale(reflector.weighted(first, tuple(j.results)), f.number(0.5))
            with b.loop(n, lower=first) as j:
                f.store(f.sub(f.load(p, [j.index]), f.mul(half, reflector.at(j.index))), p, [j.index])
            with b.loop(n, lower=first) as i:
                x, y = reflector.at(i.index), f.load(p, [i.index])
                with b.loop(width, lower=begin) as j:
                    change = f.add(f.conj_mul(f.load(p, [j.index]), x), f.conj_mul(reflector.at(j.index), y))
                    f.store(f.sub(f.load(a, [i.index, j.index]), change), a, [i.index, j.index])
        b.store(b.load(a[0], [n - 1, n - 1]), d, [n - 1])
        b.store(f.number(0), e, [n - 1])

    def _transformation(self, b: Any, n: int, f: Field, q: Element, rows: Element) -> None:
        """The product of the reflectors that the rows of `rows` hold; transposed into `rows`, whose rows are then vectors."""
        zero, one = f.const(0), f.const(1)
        width, lanes = shape_of(q[0])[-1], b.target.lanes(width_of(f.part))
        sums = f.local((width,), "sums")
        with b.loop(n) as i, b.loop(width) as j:
            same = b.scalar.cmp("eq", b.position(i.index), b.position(j.index))
            f.store(f.select(same, one, zero), q, [i.index, j.index])
        with b.loop(n - 1, "seq") as step:
            k = step.index * -1 + (n - 2)
            begin = (k + 1) // lanes * lanes  # zeros stand before `k + 1`
            with b.loop(width, lower=begin) as j:
                f.store(zero, sums, [j.index])
            with b.loop(n, "seq", lower=k + 1) as i:
                factor = f.load(rows, [k, i.index])
                with b.loop(width, lower=begin) as j:
                    term = f.conj_mul(factor, f.load(q, [i.index, j.index]))
                    f.store(f.add(f.load(sums, [j.index]), term), sums, [j.index])
            if f.is_complex:
                tau = tau_of(f, f.load(rows, [k, k + 1]))
                with b.loop(n, lower=k + 1) as j:
                    f.store(f.mul(tau, f.load(sums, [j.index])), sums, [j.index])
            with b.loop(n, lower=k + 1) as i:
                factor = f.load(rows, [k, i.index])
                with b.loop(width, lower=begin) as j:
                    change = f.mul(factor, f.load(sums, [j.index]))
                    f.store(f.sub(f.load(q, [i.index, j.index]), change), q, [i.index, j.index])
        with b.loop(n) as i, b.loop(n) as j:
            f.store(f.load(q, [j.index, i.index]), rows, [i.index, j.index])

    def _steps(self, b: Any, n: int, element: Any, is_finite: SSAValue, rows: Element, d: SSAValue, e: SSAValue) -> None:
        """QL steps until nothing is left beside the diagonal; the first eigenvalue that is not found yet is carried.

        The rotations of several steps are kept, and then applied to blocks of columns that the first-level cache holds.
        """
        rotations = _Rotations(b, n, element, rows)
        start, stop = b.position(0), b.position(n - 1)
        turns = -(-_MOST_STEPS * n // _STEPS_AT_ONCE)
        most = b.scalar.select(is_finite, b.position(turns), start)
        with b.loop(b.index_of(most), "seq", inits=[start]) as turn:
            (first,) = turn.carried

            def steps(first: SSAValue = first) -> Sequence[SSAValue]:
                with b.loop(_STEPS_AT_ONCE, "seq", inits=[first]) as step:
                    step.give(self._step(b, n, element, step.carried[0], d, e, rotations, step.index))
                rotations.apply()
                return step.results

            turn.give(*b.either(b.scalar.cmp("lt", first, stop), steps, [first]))
        rotations.finish(rows)

    def _step(
        self, b: Any, n: int, element: Any, low_value: SSAValue, d: SSAValue, e: SSAValue, rotations: _Rotations, number: Any
    ) -> SSAValue:
        """One step on the block that begins at `low_value`, or none where that is found already; where the next one begins."""
        zero, one, two = (b.scalar.const(x, element) for x in (0, 1, 2))
        eps, stop, low = b.scalar.const(epsilon_of(element), element), b.position(n - 1), b.index_of(low_value)
        # the end of the block: the first element beside the diagonal that is negligible
        with b.loop(n - 1, "seq", lower=low, inits=[stop]) as i:
            size = b.scalar.add(*(b.scalar.abs(b.load(d, [at])) for at in (i.index, i.index + 1)))
            small = b.scalar.cmp("le", b.scalar.abs(b.load(e, [i.index])), b.scalar.mul(eps, size))
            here = b.position(i.index)
            first = b.scalar.binary("and", small, b.scalar.cmp("lt", here, i.carried[0]))
            i.give(b.scalar.select(first, here, i.carried[0]))
        m_value = i.results[0]
        rotations.start(number, low_value, m_value)
        is_found = b.scalar.cmp("ge", low_value, m_value)
        following = b.scalar.add(low_value, b.position(1))
        done = b.scalar.cmp("gt", following, stop)
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
                rotations.keep(number, i, c, s)
                k.give(g, c, s, p)
            g, _, _, p = k.results
            b.store(b.scalar.sub(b.load(d, [low]), p), d, [low])
            b.store(g, e, [low])
            b.store(zero, e, [m])
        return b.scalar.select(is_found, b.scalar.select(done, stop, following), low_value)


_STEPS_AT_ONCE = 32
"""QL steps whose rotations are applied together."""
_COLUMNS = 32
"""Columns of a block: of 256 rows of f32 it fits the first-level cache."""


class _Rotations:
    """Rotations of neighbouring rows of a matrix, those of several steps after one another.

    A step rotates rows `high - 1` and `high`, then those before, down to `low`: a row that is rotated twice stays in registers,
    and blocks of columns are independent.
    """

    def __init__(self, b: Any, n: int, element: Any, rows: Element):
        self.b, self.n, self.element, self.count = b, n, element, -(-n // _COLUMNS)
        self.cosines, self.sines = (
            b.local((_STEPS_AT_ONCE, n), element, "scratch", name=name) for name in ("cosines", "sines")
        )
        self.lows, self.highs = (b.local((_STEPS_AT_ONCE,), i32, "scratch", name=name) for name in ("lows", "highs"))
        self.blocks = [b.local((self.count, n, _COLUMNS), element, "scratch", name=f"columns{k}") for k in range(len(rows))]
        zero = b.scalar.const(0, element)
        for plane, block in zip(rows, self.blocks, strict=True):
            with b.loop(self.count) as part, b.loop(n) as i:
                with b.loop(_COLUMNS) as j:
                    b.store(zero, block, [part.index, i.index, j.index])
                with self._columns(part.index) as j:
                    value = b.load(plane, [i.index, part.index * _COLUMNS + j.index])
                    b.store(value, block, [part.index, i.index, j.index])

    def _columns(self, part: Any) -> Any:
        """A loop over the columns of a block that the matrix has."""
        return self.b.loop([part * -_COLUMNS + self.n, _COLUMNS])

    def start(self, step: Any, low: SSAValue, high: SSAValue) -> None:
        """A step rotates the rows from `low` to `high`, none if these are one."""
        s = self.b.scalar
        self.b.store(s.convert(low, i32), self.lows, [step])
        self.b.store(s.convert(s.max(low, high), i32), self.highs, [step])

    def keep(self, step: Any, i: Any, c: SSAValue, s: SSAValue) -> None:
        """Rows `i` and `i + 1` become `c x - s y` and `s x + c y`."""
        self.b.store(c, self.cosines, [step, i])
        self.b.store(s, self.sines, [step, i])

    def apply(self) -> None:
        """Apply the rotations of all steps."""
        b = self.b
        for block in self.blocks:
            with b.loop(self.count) as part, b.loop(_STEPS_AT_ONCE, "seq") as step:
                low_value, high_value = (b.scalar.convert(b.load(x, [step.index]), index) for x in (self.lows, self.highs))
                low, high = b.index_of(low_value), b.index_of(high_value)
                count = b.index_of(b.scalar.sub(high_value, low_value))
                with b.loop(_COLUMNS) as j:
                    last = b.load(block, [part.index, high, j.index])
                    with b.loop(count, "seq", inits=[last]) as k:
                        i, y = high - 1 - k.index, k.carried[0]
                        cosine, sine = (b.load(x, [step.index, i]) for x in (self.cosines, self.sines))
                        x = b.load(block, [part.index, i, j.index])
                        b.store(
                            b.scalar.add(b.scalar.mul(sine, x), b.scalar.mul(cosine, y)), block, [part.index, i + 1, j.index]
                        )
                        k.give(b.scalar.sub(b.scalar.mul(cosine, x), b.scalar.mul(sine, y)))
                    b.store(k.results[0], block, [part.index, low, j.index])

    def finish(self, rows: Element) -> None:
        """Copy the blocks back to the rows of a matrix."""
        b = self.b
        for plane, block in zip(rows, self.blocks, strict=True):
            with b.loop(self.count) as part, b.loop(self.n) as i, self._columns(part.index) as j:
                value = b.load(block, [part.index, i.index, j.index])
                b.store(value, plane, [i.index, part.index * _COLUMNS + j.index])


# --------------------------------------------------------------------------------------------------------------------
# orthogonalize


@graph_op
class OrthogonalizeOp(MatrixOp):
    """Rotations that make the rows of square matrices orthogonal: `y = z x` with `z` unitary, rows by descending length.

    So the lengths of the rows of `y` are the singular values of `x`, and the adjoint of `z` has its left singular vectors.
    Hestenes'
    method: sweeps over all pairs of rows, until no two are closer than rounding. The first component of a row of `z` that is at
    least half as large as its largest is positive. NaN and infinities give NaN. Cost: about 8 sweeps of `6 * n**3` flops.

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
    def whole_types(cls, operands: Sequence[TensorType], props: Props) -> tuple[TensorType, ...]:
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
        with b.loop(n, "reduce", monoid="max", inits=[zero]) as i:
            with b.loop(n, "reduce", monoid="max", inits=[zero]) as j:
                j.give(f.size(m.read(0, i.index, j.index)))
            i.give(j.results[0])
        largest = i.results[0]
        is_finite = b.scalar.cmp("lt", largest, f.number(float("inf")))
        is_usual = b.scalar.binary("and", is_finite, b.scalar.cmp("gt", largest, zero))
        divisor = b.scalar.select(is_usual, largest, one)
        with b.loop(n) as i, b.loop(n) as j:
            value = f.shrink(m.read(0, i.index, j.index), divisor)
            f.store(f.select(is_finite, value, f.const(0)), x, [i.index, j.index])
            same = b.scalar.cmp("eq", b.position(i.index), b.position(j.index))
            f.store(f.select(same, f.const(1), f.const(0)), z, [i.index, j.index])
        with b.loop(_MOST_STEPS, "seq", inits=[b.position(n)]) as sweep:
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
            to = _rank_in(b, n, lengths, i.index, "gt")
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
    traits = traits_def(Pure())
    syntax = "<mode> $x"
    stores = COMPLEX
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

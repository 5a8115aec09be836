"""Singular values and vectors of square matrices: `square_svd`, from which `svd` is built.

Householder's reflectors from both sides leave a real bidiagonal matrix (Golub and Kahan, 1965), QR steps with shifts make it
diagonal (Golub and Reinsch, 1970; the steps are those of LAPACK's bdsqr, from the last row up). The matrix of the steps is
transposed and its rows and columns are reversed: large elements then stand last, and the steps find small values first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def

from ..types import f64, part_of, tensor, width_of
from .base import NotDifferentiable, Props, Types, graph_op, one_of, word
from .complex_elements import Element, Field
from .eigenvector_phase import MOST_STEPS, epsilon_of, np_phases, phase_of, rank_in
from .eigh import STEPS_AT_ONCE, Rotations, multiplied_out
from .matrices import Matrices, MatrixOp, require_matrices, stacked
from .orthogonal import Reflector

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter


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

    def loops(self, b: NestWriter, m: Matrices) -> None:
        _Svd(b, m, self.shape()[-1], self.has_vectors).write()


class _Svd:
    """The loops over one matrix.

    `d` is the diagonal, and element `i` of `e` stands beside elements `i - 1` and `i` of it: both in the order of the steps,
    which are computed in f64 (`r`), since the roundings of all of them add up.
    """

    def __init__(self, b: NestWriter, m: Matrices, n: int, has_vectors: bool):
        self.b, self.m, self.n, self.f, self.has_vectors = b, m, n, m.field, has_vectors
        # rows are whole vectors, and loops over parts of them begin at one; each ends in a zero
        self.lanes = b.target.lanes(width_of(self.f.part))
        self.width = (n // self.lanes + 1) * self.lanes
        self.a = self.f.local((n, self.width), "work")
        self.r = Field(b, f64, False)
        self.d = b.local((n,), f64, "scratch", name="diagonal")
        self.e = b.local((n + 1,), f64, "scratch", name="beside")
        rows = [self.f.local((n, self.width), name) for name in ("left", "right")] if has_vectors else []
        self.rows: list[Element] = rows

    def write(self) -> None:
        b, f, m, n = self.b, self.f, self.m, self.n
        divisor, is_finite = f.divisor(m.largest(n))
        with b.loop(n) as i:
            with b.loop(self.width, lower=n) as j:
                f.store(f.const(0), self.a, [i.index, j.index])
            with b.loop(n) as j:
                value = f.shrink(m.read(0, i.index, j.index), divisor)
                f.store(f.select(is_finite, value, f.const(0)), self.a, [i.index, j.index])
        self._bidiagonal()
        for side, rows in enumerate(self.rows):
            multiplied_out(b, n, f, self.a, rows, side, reverse=True)
        self._steps(is_finite)
        nan = f.number(float("nan"))
        scale = b.scalar.select(is_finite, divisor, nan)
        sizes = b.local((n,), f.part, "scratch", name="sizes")
        with b.loop(n) as i:
            size = b.scalar.abs(b.load(self.d, [i.index]))
            b.store(b.scalar.convert(size, f.part), sizes, [i.index])
        with b.loop(n) as i:
            to = rank_in(b, n, sizes, i.index, "gt")
            m.store((b.scalar.mul(b.load(sizes, [i.index]), scale),), 0, to)
            if self.has_vectors:
                self._give(i.index, to, is_finite)

    def _give(self, i: Any, to: Any, is_finite: SSAValue) -> None:
        """Store the vectors of value `i`."""
        b, f, m, (left, right) = self.b, self.f, self.m, self.rows
        phase = phase_of(f, self.n, lambda j: f.conj(f.load(left, [i, j])))
        unit = b.scalar.select(is_finite, f.number(1), f.number(float("nan")))
        is_negative = b.scalar.cmp("lt", b.load(self.d, [i]), self.r.number(0))
        of_left = f.scale(f.conj(phase), unit)
        of_right = f.scale(phase, b.scalar.select(is_negative, b.scalar.neg(unit), unit))
        with b.loop(self.n) as j:
            m.store(f.mul(of_left, f.load(left, [i, j.index])), 1, j.index, to)
            m.store(f.mul(of_right, f.conj(f.load(right, [i, j.index]))), 2, to, j.index)

    def _bidiagonal(self) -> None:
        """Reflect columns and rows in turn; row `k` of `rows` is reflector `k` of that side."""
        b, f, n, a, width = self.b, self.f, self.n, self.a, self.width
        w = f.local((width,), "sums")
        left, right = Reflector(f, n, width), Reflector(f, n, width)
        with b.loop(n, "seq") as k:
            row = k.index * -1 + (n - 1)
            on_diagonal = left.make(k.index, lambda i: f.load(a, [i, k.index]))
            b.store(b.scalar.convert(on_diagonal, f64), self.d, [row])
            begin = k.index // self.lanes * self.lanes  # elements up to `k` are not read again
            with b.loop(width) as j:
                f.store(f.const(0), w, [j.index])
            with b.loop(n, "seq", lower=k.index) as i:
                factor = left.at(i.index)
                with b.loop(width, lower=begin) as j:
                    term = f.conj_mul(factor, f.load(a, [i.index, j.index]))
                    f.store(f.add(f.load(w, [j.index]), term), w, [j.index])
            if f.is_complex:
                with b.loop(width, lower=begin) as j:
                    f.store(left.weighted(k.index, f.load(w, [j.index]), adjoint=True), w, [j.index])
            with b.loop(n, lower=k.index + 1) as j:
                change = f.mul(left.at(k.index), f.load(w, [j.index]))
                f.store(f.sub(f.load(a, [k.index, j.index]), change), a, [k.index, j.index])
            beside = right.make(k.index + 1, lambda j: f.conj(f.load(a, [k.index, j])))
            b.store(b.scalar.convert(beside, f64), self.e, [row])
            for reflector, kept in zip((left, right), self.rows, strict=False):
                with b.loop(width) as j:
                    f.store(reflector.at(j.index), kept, [k.index, j.index])
            with b.loop(n, lower=k.index + 1) as i:
                factor = left.at(i.index)
                with b.loop(width, lower=begin) as j:
                    value = f.sub(f.load(a, [i.index, j.index]), f.mul(factor, f.load(w, [j.index])))
                    f.store(value, a, [i.index, j.index])
                total = f.sum(width, lambda j: f.mul(f.load(a, [i.index, j]), right.at(j)), lower=begin)
                total = right.weighted(k.index + 1, total)
                with b.loop(width, lower=begin) as j:
                    change = f.conj_mul(right.at(j.index), total)
                    f.store(f.sub(f.load(a, [i.index, j.index]), change), a, [i.index, j.index])

    # -- steps

    def _steps(self, is_finite: SSAValue) -> None:
        """QR steps until all off-diagonal elements are negligible; the loop carries the number of the first value not found."""
        b, n = self.b, self.n
        rotations = [Rotations(b, n, self.f.part, rows, name) for rows, name in zip(self.rows, ("left", "right"), strict=False)]
        start, stop = b.position(0), b.position(n - 1)
        most = b.scalar.select(is_finite, b.position(-(-MOST_STEPS * n // STEPS_AT_ONCE)), start)
        with b.loop(b.index_of(most), "seq", inits=[start]) as turn:
            (first,) = turn.carried

            def steps(first: SSAValue = first) -> Sequence[SSAValue]:
                with b.loop(STEPS_AT_ONCE, "seq", inits=[first]) as step:
                    step.give(self._step(step.carried[0], rotations, step.index))
                for kept in rotations:
                    kept.apply()
                return step.results

            turn.give(*b.either(b.scalar.cmp("lt", first, stop), steps, [first]))
        for kept, rows in zip(rotations, self.rows, strict=True):
            kept.finish(rows)

    def _step(self, low_value: SSAValue, rotations: Sequence[Rotations], number: Any) -> SSAValue:
        """One step on the block that begins at `low_value`, or none if its value is found; where the next block begins."""
        b, stop = self.b, self.b.position(self.n - 1)
        end = self._end(b.index_of(low_value))
        for kept in rotations:
            kept.start(number, low_value, end)
        is_found = b.scalar.cmp("ge", low_value, end)
        with b.when(b.scalar.invert(is_found)):
            self._sweep(b.index_of(low_value), b.index_of(end), b.index_of(b.scalar.sub(end, low_value)), rotations, number)
        following = b.scalar.min(b.scalar.add(low_value, b.position(1)), stop)
        return b.scalar.select(is_found, following, low_value)

    def _end(self, low: Any) -> SSAValue:
        """The end of the block that begins at `low`: the first element with a negligible one behind it."""
        b, r = self.b, self.r
        eps, tiny = r.number(epsilon_of(self.f.part)), r.number(_TINY)
        with b.loop(self.n - 1, "seq", lower=low, inits=[b.position(self.n - 1)]) as i:
            size = b.scalar.add(*(b.scalar.abs(b.load(self.d, [at])) for at in (i.index, i.index + 1)))
            bound = b.scalar.add(b.scalar.mul(eps, size), tiny)
            small = b.scalar.cmp("le", b.scalar.abs(b.load(self.e, [i.index + 1])), bound)
            here = b.position(i.index)
            first = b.scalar.binary("and", small, b.scalar.cmp("lt", here, i.carried[0]))
            i.give(b.scalar.select(first, here, i.carried[0]))
        return i.results[0]

    def _shift(self, low: Any, high: Any) -> SSAValue:
        """The shift: the smaller singular value of the first two rows of a block; 0 where a value of the block is about 0."""
        b, s, r = self.b, self.b.scalar, self.r
        x, y, beside = (s.abs(v) for v in (b.load(self.d, [low]), b.load(self.d, [low + 1]), b.load(self.e, [low + 1])))

        def length(p: SSAValue) -> SSAValue:
            return s.unary("sqrt", s.add(s.mul(p, p), s.mul(beside, beside)))

        whole = s.add(length(s.add(x, y)), length(s.sub(x, y)))
        shift = s.mul(s.mul(r.number(2), s.min(x, y)), s.div(s.max(x, y), s.max(whole, r.number(_TINY))))
        with b.loop(high + 1, "seq", lower=low, inits=[x, r.number(0)]) as i:
            size = b.scalar.abs(b.load(self.d, [i.index]))
            i.give(b.scalar.min(i.carried[0], size), b.scalar.max(i.carried[1], size))
        s = b.scalar
        eps, last = r.number(epsilon_of(self.f.part)), s.abs(b.load(self.d, [high]))
        is_singular = s.cmp("le", i.results[0], s.mul(eps, i.results[1]))
        is_small = s.cmp("le", s.mul(shift, shift), s.mul(eps, s.mul(last, last)))
        return s.select(s.binary("or", is_singular, is_small), r.number(0), shift)

    def _sweep(self, low: Any, high: Any, count: Any, rotations: Sequence[Rotations], number: Any) -> None:
        """Chase the bulge that the first rotation makes from row `high` up to row `low`."""
        b, s, d, e, zero = self.b, self.b.scalar, self.d, self.e, self.r.number(0)
        shift, last = self._shift(low, high), b.load(d, [high])
        is_zero = s.cmp("eq", last, zero)
        ratio = s.select(is_zero, zero, s.div(shift, s.select(is_zero, self.r.number(1), last)))
        sign = s.select(s.cmp("lt", last, zero), self.r.number(-1), self.r.number(1))
        start = s.mul(s.sub(s.abs(last), shift), s.add(sign, ratio))
        with b.loop(count, "seq", inits=[start, b.load(e, [high])]) as k:
            s, i = b.scalar, high - k.index
            c, sine, r = self._rotation(*k.carried)
            b.store(r, e, [i + 1])
            here, beside, before = b.load(d, [i]), b.load(e, [i]), b.load(d, [i - 1])
            x, g = s.add(s.mul(c, here), s.mul(sine, beside)), s.mul(sine, before)
            beside, before = s.sub(s.mul(c, beside), s.mul(sine, here)), s.mul(c, before)
            of_right = c, sine
            c, sine, r = self._rotation(x, g)
            b.store(r, d, [i])
            x = s.add(s.mul(c, beside), s.mul(sine, before))
            b.store(s.sub(s.mul(c, before), s.mul(sine, beside)), d, [i - 1])
            beside = b.load(e, [i - 1])
            b.store(s.mul(c, beside), e, [i - 1])
            for kept, turn in zip(rotations, ((c, sine), of_right), strict=False):
                kept.keep(number, i - 1, *(s.convert(x, self.f.part) for x in turn))
            k.give(x, s.mul(sine, beside))
        b.store(k.results[0], e, [low + 1])
        b.store(zero, e, [high + 1])

    def _rotation(self, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
        """The cosine and the sine that turn `(x, y)` into `(r, 0)`, and `r`."""
        s, one, zero = self.b.scalar, self.r.number(1), self.r.number(0)
        r = s.unary("sqrt", s.add(s.mul(x, x), s.mul(y, y)))
        is_zero = s.cmp("eq", r, zero)
        divisor = s.select(is_zero, one, r)
        return s.select(is_zero, one, s.div(x, divisor)), s.div(y, divisor), r


_TINY = float(np.sqrt(np.finfo(np.float64).tiny))
"""The threshold below which a number is negligible beside 1; squares of larger numbers are not subnormal."""

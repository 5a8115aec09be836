"""Eigenvalues and eigenvectors of square matrices that need not be symmetric: `eig`.

Balancing by powers of 2 (Parlett and Reinsch, 1969), then Schur's form (`schur.py`). Eigenvectors follow by back substitution,
in complex arithmetic for both: real eigenvalues of real matrices have real vectors, pairs have conjugate ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def

from ...errors import DifferentiationError
from ..facts import FACTORIZATION
from ..types import complex_of, element_of, is_complex, numpy_dtype, tensor, width_of
from .base import Custom, Props, Types, graph_op, one_of, word
from .complex_elements import Element
from .eigenvector_phase import np_phases, phase_of
from .matrices import Matrices, MatrixOp, diagonal_of, multiply, require_matrices, stacked
from .schur import Reduction

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

_MOST_SWEEPS = 16
"""Largest number of sweeps of balancing; two or three are usual."""


def _jvp_eig(b: GraphBuilder, op: EigOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    # dw = diag(V^-1 dA V)
    if op.mode.data != "values":
        raise DifferentiationError(
            "'graph.eig' op has derivatives of eigenvalues alone, first ones: eigenvectors have any phase; use eigvals"
        )
    v = b.complex(*b.eig(*op.operands, mode="vectors")[1::2])
    parts = [b.zeros_like(x) if t is None else t for x, t in zip(op.operands, tangents, strict=True)]
    da = b.complex(*parts) if len(parts) == 2 else b.convert(parts[0], element_of(v))
    dw = diagonal_of(b, b.solve(v, multiply(b, da, v), form="plain"))
    return [b.real(dw), b.imag(dw)]


@graph_op
class EigOp(MatrixOp):
    """Eigenvalues of square matrices, the last two dims, in the order in which QR steps leave them, and eigenvectors, columns.

    Which order that is depends on rounding.

    The results are planes: real and imaginary parts of eigenvalues, or in the mode `vectors` the real parts of both and then
    the imaginary parts. Vectors have length 1, and their first component at least half as large as the largest is positive.
    Eigenvalues are exact ones of a matrix that differs from `x` by a few units of rounding of its norm. Complex eigenvalues of
    real matrices are pairs, the one with the positive imaginary part first. NaN and infinities give NaN. The derivative is that
    of eigenvalues that are distinct. Cost: about `25 * n**3` flops a real matrix, 10 of them for values alone.

    ```mlir
    %re, %im = graph.eig values %x : tensor<3x3xf32> -> (tensor<3xf32>, tensor<3xf32>)
    ```

    (C1) The element type is f32 or f64; complex matrices are two operands, their real and their imaginary parts.
    (C2) There are two dims or more, and the last two are equal.
    (C3) The mode is values or vectors.
    """

    name = "graph.eig"
    facts = FACTORIZATION.but(stores=())
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    mode = prop_def(StringAttr)
    w = result_def(TensorType)
    others = var_result_def(TensorType)
    syntax = "<mode> *x"
    derivative = Custom(_jvp_eig)

    @classmethod
    def splits(cls, n_operands: int) -> bool:
        return True

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        shape = require_matrices(operands[0], square=True, known=True)  # C1, C2
        one_of(props, "mode", ("values", "vectors"))  # C3
        element = operands[0].element_type
        element = element if is_complex(element) else complex_of(element)
        found = tensor(element, shape[:-1]), tensor(element, shape)
        return found if word(props["mode"]) == "vectors" else found[:1]

    @property
    def has_vectors(self) -> bool:
        return self.mode.data == "vectors"

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        dtype = np.result_type(x, np.complex64)
        w, v = np.full(x.shape[:-1], np.nan * (1 + 1j), dtype), np.full(x.shape, np.nan * (1 + 1j), dtype)
        for place, matrix in stacked(x):
            if np.isfinite(matrix).all():
                w[place], found = np.linalg.eig(matrix)
                v[place] = found * np_phases(found.astype(dtype).T)[:, 0]
        return (w, v) if self.has_vectors else (w,)

    def loops(self, b: NestWriter, m: Matrices) -> None:
        n = self.shape()[-1]
        _Eigen(b, m, n, self.has_vectors).write()


class _Eigen(Reduction):
    """Stores the results of `eig`."""

    def write(self) -> None:
        b, m, n, f = self.b, self.m, self.n, self.f
        self.d, self.row = (b.local((n,), f.part, "scratch", name=name) for name in ("balance", "row"))
        self.y = self.c.local((n,), "solution")
        scale = self.scaled()
        self._balance()
        self.hessenberg()
        left = self.steps()
        one, nan = f.number(1), f.number(float("nan"))
        found = b.scalar.cmp("eq", left, b.position(0))
        scale, unit = b.scalar.select(found, scale, nan), b.scalar.select(found, one, nan)
        unit = b.scalar.select(b.scalar.cmp("eq", scale, scale), unit, nan)
        with b.loop(n) as i:
            m.store(self.c.scale(self.c.load(self.w, [i.index]), scale), 0, i.index)
        if self.has_vectors:
            with b.loop(n, "seq") as e:
                self._vector(e.index, unit)

    def _balance(self) -> None:
        """Scale rows and columns by powers of 2 until their sums are similar; `d` holds the factors for rows of vectors."""
        b, n, f, h = self.b, self.n, self.f, self.h
        s_one = f.number(1)
        with b.loop(n) as i:
            b.store(s_one, self.d, [i.index])
        count = b.position(0)
        with b.loop(_MOST_SWEEPS, "seq", inits=[b.position(n)]) as sweep:
            with b.loop(b.index_of(sweep.carried[0]), "seq", inits=[count]) as i:
                own = f.size(f.load(h, [i.index, i.index]))
                with b.loop(n, "reduce", monoid="add", inits=[f.number(0)]) as j:
                    j.give(f.size(f.load(h, [j.index, i.index])))
                column = b.scalar.sub(j.results[0], own)
                with b.loop(n, "reduce", monoid="add", inits=[f.number(0)]) as j:
                    j.give(f.size(f.load(h, [i.index, j.index])))
                row = b.scalar.sub(j.results[0], own)
                factor = self._power_of_2(row, column)
                after = b.scalar.add(b.scalar.mul(column, factor), b.scalar.div(row, factor))
                less = b.scalar.cmp("lt", after, b.scalar.mul(f.number(0.95), b.scalar.add(row, column)))
                with b.when(less):
                    inverse = b.scalar.div(f.number(1), factor)
                    b.store(b.scalar.mul(b.load(self.d, [i.index]), factor), self.d, [i.index])
                    with b.loop(n) as j:
                        f.store(f.scale(f.load(h, [i.index, j.index]), inverse), h, [i.index, j.index])
                    with b.loop(n) as j:
                        f.store(f.scale(f.load(h, [j.index, i.index]), factor), h, [j.index, i.index])
                more = b.scalar.add(i.carried[0], b.position(1))
                i.give(b.scalar.select(less, more, i.carried[0]))
            none = b.scalar.cmp("eq", i.results[0], b.position(0))
            sweep.give(b.scalar.select(none, b.position(0), b.position(n)))

    def _power_of_2(self, row: SSAValue, column: SSAValue) -> SSAValue:
        """About the root of the ratio of two sums, 1 where one is 0: the exponent of it, by its bits."""
        s, f = self.b.scalar, self.f
        zero, one = f.number(0), f.number(1)
        usual = s.binary("and", s.cmp("gt", row, zero), s.cmp("gt", column, zero))
        ratio = s.div(s.unary("sqrt", s.select(usual, row, one)), s.unary("sqrt", s.select(usual, column, one)))
        bits = i64 if width_of(f.part) == 64 else i32
        exponent = s.const(0x7FF << 52 if bits == i64 else 0xFF << 23, bits)
        scaled = s.bitcast(s.mul(ratio, f.number(float(np.sqrt(2)))), bits)
        return s.bitcast(s.binary("and", scaled, exponent), f.part)

    # -- vectors

    def _complex(self, x: Element) -> Element:
        return x if self.f.is_complex else (x[0], self.f.number(0))

    def _times(self, x: Element, y: Element) -> Element:
        """An element of the matrix times a complex number."""
        return self.c.mul(x, y) if self.f.is_complex else self.c.scale(y, x[0])

    def _vector(self, e: Any, unit: SSAValue) -> None:
        """Store the eigenvector of value `e`."""
        b, n, f, c, y = self.b, self.n, self.f, self.c, self.y
        value = c.load(self.w, [e])
        with b.loop(n) as i:
            c.store(c.const(0), y, [i.index])
        if f.is_complex:
            c.store(c.const(1), y, [e])
            stop = e
        else:
            stop = self._start(e, value)
        with b.loop(stop, "seq") as step:
            self._solve_row(stop - 1 - step.index, value)
        sums = c.local((n,), "sums")
        with b.loop(n) as j:
            c.store(c.const(0), sums, [j.index])
        with b.loop(n, "seq") as k:
            factor = c.load(y, [k.index])
            with b.loop(n) as j:
                term = self._times(f.load(self.z, [k.index, j.index]), factor)
                c.store(c.add(c.load(sums, [j.index]), term), sums, [j.index])
        with b.loop(n, "reduce", monoid="max", inits=[f.number(0)]) as j:
            j.give(c.size(c.scale(c.load(sums, [j.index]), b.load(self.d, [j.index]))))
        largest = j.results[0]
        largest = b.scalar.select(b.scalar.cmp("gt", largest, f.number(0)), largest, f.number(1))
        with b.loop(n) as j:
            scaled = c.shrink(c.scale(c.load(sums, [j.index]), b.load(self.d, [j.index])), largest)
            c.store(scaled, sums, [j.index])
        with b.loop(n, "reduce", monoid="add", inits=[f.number(0)]) as j:
            j.give(c.square(c.load(sums, [j.index])))
        length = b.scalar.unary("sqrt", j.results[0])
        phase = phase_of(c, n, lambda j: c.load(sums, [j]))
        factor = c.scale(phase, b.scalar.div(unit, length))
        with b.loop(n) as j:
            self.m.store(c.mul(factor, c.load(sums, [j.index])), 1, j.index, e)

    def _start(self, e: Any, value: Element) -> Any:
        """Set the last component to 1, and for a pair of complex values the one before; the rows that are left to solve."""
        b, f, c, h, y = self.b, self.f, self.c, self.h, self.y
        s, zero = b.scalar, f.number(0)
        here = b.position(e)
        last = b.index_of(s.select(s.cmp("gt", value[1], zero), b.position(e + 1), here))
        c.store(c.const(1), y, [last])
        is_pair = s.cmp("ne", value[1], zero)
        stop = s.select(is_pair, s.sub(b.position(last), b.position(1)), b.position(last))
        with b.when(is_pair):
            s = b.scalar
            below, above = f.load(h, [last, last - 1])[0], f.load(h, [last - 1, last])[0]
            left, right = (self._less(f.load(h, [i, i]), value) for i in (last - 1, last))
            # divide by the larger of the off-diagonal elements
            from_row = c.neg(c.shrink(right, s.select(s.cmp("eq", below, f.number(0)), f.number(1), below)))
            from_column = c.div(c.of_real(s.neg(above)), left)
            is_below = s.cmp("gt", s.abs(below), s.abs(above))
            c.store(c.select(is_below, from_row, from_column), y, [last - 1])
        return b.index_of(stop)

    def _less(self, x: Element, value: Element) -> Element:
        return self.c.sub(self._complex(x), value)

    def _solve_row(self, i: Any, value: Element) -> None:
        """Component `i`, and with it the one before where both belong to a block."""
        b, n, f, c, h, y = self.b, self.n, self.f, self.c, self.h, self.y

        def rest(row: Any) -> Element:
            return c.neg(c.sum(n, lambda k: self._times(f.load(h, [row, k]), c.load(y, [k])), lower=i + 1))

        least = self._least(value)
        if f.is_complex:
            self._divide(rest(i), self._less(f.load(h, [i, i]), value), least, i)
            self._keep_small(i)
            return
        s = b.scalar
        is_first = s.cmp("ne", f.load(h, [i + 1, i])[0], f.number(0))
        before = self.before(i)
        below = f.load(h, [i, before])[0]
        is_second = s.binary("and", s.cmp("gt", b.position(i), b.position(0)), s.cmp("ne", below, f.number(0)))
        with b.when(s.invert(s.binary("or", is_first, is_second))):
            self._divide(rest(i), self._less(f.load(h, [i, i]), value), least, i)
            self._keep_small(i)
        with b.when(is_second):
            s = b.scalar
            one, two = rest(before), rest(i)
            left, right = (self._less(f.load(h, [k, k]), value) for k in (before, i))
            above = f.load(h, [before, i])[0]
            whole = c.sub(c.mul(left, right), c.of_real(s.mul(above, below)))
            least = s.mul(least, s.add(s.abs(above), s.abs(below)))
            self._divide(c.sub(c.mul(left, two), c.scale(one, below)), whole, least, i)
            self._divide(c.sub(c.mul(right, one), c.scale(two, above)), whole, least, before)
            self._keep_small(i)
            self._keep_small(before)

    def _least(self, value: Element) -> SSAValue:
        """The smallest difference of eigenvalues that counts as nonzero."""
        s, c = self.b.scalar, self.c
        info = np.finfo(numpy_dtype(c.part))
        return s.max(s.mul(self.eps, c.size(value)), c.number(float(info.tiny / info.eps)))

    def _divide(self, x: Element, by: Element, least: SSAValue, i: Any) -> None:
        """Store a quotient as component `i`; a divisor below the least one is that."""
        s, c = self.b.scalar, self.c
        is_small = s.cmp("lt", c.size(by), least)
        c.store(c.div(x, c.select(is_small, c.of_real(least), by)), self.y, [i])

    def _keep_small(self, i: Any) -> None:
        """Divide the solved components by component `i` where that is so large that a product with it may overflow."""
        b, n, c, y = self.b, self.n, self.c, self.y
        size = c.size(c.load(y, [i]))
        with b.when(b.scalar.cmp("gt", b.scalar.mul(b.scalar.mul(self.eps, size), size), self.f.number(1))):
            with b.loop(n) as k:
                c.store(c.shrink(c.load(y, [k.index]), size), y, [k.index])

"""Eigenvalues and eigenvectors of square matrices that need not be symmetric: `eig`.

Balancing by powers of 2 (Parlett and Reinsch, 1969), Householder's reduction to a Hessenberg matrix, and shifted QR steps until
it is triangular: single shifts for complex matrices, with rotations, and Francis's double shifts for real ones, whose pairs of
complex eigenvalues stay blocks of 2x2 (EISPACK's hqr2 and comqr2; shifts as in LAPACK's lahqr). Eigenvectors follow by back
substitution, in complex arithmetic for both: real eigenvalues of real matrices have real vectors, pairs have conjugate ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def

from ...errors import DifferentiationError
from ..types import complex_of, element_of, is_complex, numpy_dtype, tensor, width_of
from .base import Custom, Props, Types, graph_op, one_of, word
from .field import Element, Field
from .matrices import Matrices, MatrixOp, diagonal_of, multiply, require_matrices, stacked
from .orthogonal import Reflector
from .phases import epsilon_of, np_phases, phase_of

_MOST_STEPS = 30
"""QR steps for an eigenvalue at most: LAPACK's limit; two or three are usual."""
_MOST_SWEEPS = 16
"""Sweeps of balancing at most; two or three are usual."""
_EXCEPTIONAL = (10, 20)
"""After so many steps for one eigenvalue a shift of another kind is taken, since the usual ones go in circles."""


def _jvp_eig(b: Any, op: EigOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
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
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    mode = prop_def(StringAttr)
    w = result_def(TensorType)
    others = var_result_def(TensorType)
    syntax = "<mode> *x"
    stores = ()
    derivative = Custom(_jvp_eig)

    @classmethod
    def splits(cls, n_operands: int) -> bool:
        return True

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        shape = require_matrices(operands[0], square=True)  # C1, C2
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

    def loops(self, b: Any, m: Matrices) -> None:
        n = self.shape()[-1]
        _Reduction(b, m, n, self.has_vectors).write()


@dataclass
class _Reduction:
    """The loops for one matrix.

    `h` becomes Hessenberg and then triangular; it has a row and a column of zeros more, so that reflections of three rows may
    end one behind the last. Column `j` of `z`, whose rows are those of the transformation transposed, is row `j` of the matrix.
    """

    b: Any
    m: Matrices
    n: int
    has_vectors: bool

    def write(self) -> None:
        b, m, n = self.b, self.m, self.n
        f = self.f = m.field
        self.c = Field(b, f.part, True)
        self.h = f.local((n + 1, n + 1), "work")
        self.z = f.local((n + 1, n), "transformation")
        self.d, self.row = (b.local((n,), f.part, "scratch", name=name) for name in ("balance", "row"))
        self.w, self.y = self.c.local((n,), "values"), self.c.local((n,), "solution")
        self.eps = f.number(epsilon_of(f.part))
        scale = self._scaled()
        self._balance()
        self._hessenberg()
        left = self._steps()
        one, nan = f.number(1), f.number(float("nan"))
        found = b.scalar.cmp("eq", left, b.position(0))
        scale, unit = b.scalar.select(found, scale, nan), b.scalar.select(found, one, nan)
        unit = b.scalar.select(b.scalar.cmp("eq", scale, scale), unit, nan)
        with b.loop(n) as i:
            m.store(self.c.scale(self.c.load(self.w, [i.index]), scale), 0, i.index)
        if self.has_vectors:
            with b.loop(n, "seq") as e:
                self._vector(e.index, unit)

    # -- the matrix

    def _scaled(self) -> SSAValue:
        """Copy the matrix, its largest element 1; by what it was divided, NaN where not all elements were finite."""
        b, m, n, f = self.b, self.m, self.n, self.f
        divisor, is_finite = f.divisor(m.largest(n))
        with b.loop(n + 1) as i, b.loop(n + 1) as j:
            f.store(f.const(0), self.h, [i.index, j.index])
        with b.loop(n + 1) as i, b.loop(n) as j:
            same = b.scalar.cmp("eq", b.position(i.index), b.position(j.index))
            f.store(f.select(same, f.const(1), f.const(0)), self.z, [i.index, j.index])
        with b.loop(n) as i, b.loop(n) as j:
            x = f.shrink(m.read(0, i.index, j.index), divisor)
            f.store(f.select(is_finite, x, f.const(0)), self.h, [i.index, j.index])
        return b.scalar.select(is_finite, divisor, f.number(float("nan")))

    def _balance(self) -> None:
        """Scale rows and columns by powers of 2 until the sums of both are alike; `d` holds the factors of rows of vectors."""
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

    def _hessenberg(self) -> None:
        """Reflect until nothing is left below the elements under the diagonal."""
        b, n, f, h, z = self.b, self.n, self.f, self.h, self.z
        reflector = Reflector(f, n)
        sums = f.local((n,), "sums")
        with b.loop(max(n - 2, 0), "seq") as k:
            first = k.index + 1
            beside = reflector.make(first, lambda i: f.load(h, [i, k.index]))
            f.store(f.of_real(beside), h, [first, k.index])
            with b.loop(n, lower=k.index + 2) as i:
                f.store(f.const(0), h, [i.index, k.index])
            reflector.apply(first, n, first, h)
            with b.loop(n) as i:
                total = f.sum(n, lambda j: f.mul(f.load(h, [i.index, j]), reflector.at(j)), lower=first)
                total = reflector.weighted(first, total)
                with b.loop(n, lower=first) as j:
                    change = f.conj_mul(reflector.at(j.index), total)
                    f.store(f.sub(f.load(h, [i.index, j.index]), change), h, [i.index, j.index])
            if not self.has_vectors:
                return
            with b.loop(n) as i:
                f.store(f.const(0), sums, [i.index])
            with b.loop(n, "seq", lower=first) as j:
                with b.loop(n) as i:
                    term = f.mul(f.load(z, [j.index, i.index]), reflector.at(j.index))
                    f.store(f.add(f.load(sums, [i.index]), term), sums, [i.index])
            with b.loop(n, lower=first) as j:
                factor = reflector.weighted(first, f.conj(reflector.at(j.index)))
                with b.loop(n) as i:
                    change = f.mul(factor, f.load(sums, [i.index]))
                    f.store(f.sub(f.load(z, [j.index, i.index]), change), z, [j.index, i.index])

    # -- QR steps

    def _steps(self) -> SSAValue:
        """Steps until all values are found; how many are not. Carried: that number, and the steps taken for the last one."""
        b, n, f, h = self.b, self.n, self.f, self.h
        none, one = b.position(0), b.position(1)
        with b.loop(_MOST_STEPS * n, "seq", inits=[b.position(n), none]) as step:
            left_value, taken = step.carried
            left = b.index_of(left_value)
            with b.loop(left, "seq", lower=1, inits=[none]) as i:
                size = b.scalar.add(f.size(f.load(h, [i.index - 1, i.index - 1])), f.size(f.load(h, [i.index, i.index])))
                size = b.scalar.select(b.scalar.cmp("eq", size, f.number(0)), f.number(1), size)
                below = f.size(f.load(h, [i.index, i.index - 1]))
                small = b.scalar.cmp("le", below, b.scalar.mul(self.eps, size))
                i.give(b.scalar.select(small, b.position(i.index), i.carried[0]))
            low_value = i.results[0]
            low = b.index_of(low_value)
            with b.when(b.scalar.cmp("gt", low_value, none)):
                f.store(f.const(0), h, [low, low - 1])
            count = b.scalar.sub(left_value, low_value)
            is_one = b.scalar.cmp("eq", count, one)
            with b.when(is_one):
                value = f.load(h, [left - 1, left - 1])
                self.c.store(value if f.is_complex else (value[0], f.number(0)), self.w, [left - 1])
            gone = b.scalar.select(is_one, one, none)
            at_work = b.scalar.cmp("gt", count, one)
            if not f.is_complex:
                is_two = b.scalar.cmp("eq", count, b.position(2))
                with b.when(is_two):
                    self._pair(left - 2)
                gone = b.scalar.select(is_two, b.position(2), gone)
                at_work = b.scalar.cmp("gt", count, b.position(2))
            with b.when(at_work):
                (self._single_shift if f.is_complex else self._double_shift)(low, left, taken)
            step.give(b.scalar.sub(left_value, gone), b.scalar.select(at_work, b.scalar.add(taken, one), none))
        return step.results[0]

    def _is_exceptional(self, taken: SSAValue) -> SSAValue:
        s = self.b.scalar
        return s.binary("or", *(s.cmp("eq", taken, self.b.position(k)) for k in _EXCEPTIONAL))

    def _single_shift(self, low: Any, left: Any, taken: SSAValue) -> None:
        """A QR step of the rows from `low` to the last one, by rotations."""
        b, n, f, h = self.b, self.n, self.f, self.h
        last = left - 1
        corner = f.load(h, [last, last])
        beside = f.load(h, [last, last - 1])
        # Wilkinson's shift: the eigenvalue of the last 2x2 block that is closer to its last element
        half = f.scale(f.sub(f.load(h, [last - 1, last - 1]), corner), f.number(0.5))
        product = f.mul(f.load(h, [last - 1, last]), beside)
        root = f.sqrt(f.add(f.mul(half, half), product))
        along, against = f.add(half, root), f.sub(half, root)
        divisor = f.select(b.scalar.cmp("ge", f.size(along), f.size(against)), along, against)
        is_zero = f.is_zero(divisor)
        change = f.select(is_zero, f.const(0), f.div(product, f.select(is_zero, f.const(1), divisor)))
        shift = f.sub(corner, change)
        exceptional = f.add(corner, f.of_real(b.scalar.mul(f.number(0.75), f.size(beside))))
        shift = f.select(self._is_exceptional(taken), exceptional, shift)
        with b.loop(last, "seq", lower=low) as k:
            i = k.index
            is_first = b.scalar.cmp("eq", b.position(i), b.position(low))
            # before the first column there is none: what is read there is not used
            before = self._before(i)
            x = f.select(is_first, f.sub(f.load(h, [i, i]), shift), f.load(h, [i, before]))
            y = f.select(is_first, f.load(h, [i + 1, i]), f.load(h, [i + 1, before]))
            c, s = self._rotation(x, y)
            with b.loop(n, lower=(i - 1, 0)) as j:
                p, q = (f.load(h, [r, j.index]) for r in (i, i + 1))
                f.store(f.add(f.scale(p, c), f.mul(s, q)), h, [i, j.index])
                f.store(f.sub(f.scale(q, c), f.conj_mul(s, p)), h, [i + 1, j.index])
            with b.when(b.scalar.invert(is_first)):
                f.store(f.const(0), h, [i + 1, i - 1])

            def turned(p: Element, q: Element) -> tuple[Element, Element]:
                return f.add(f.scale(p, c), f.conj_mul(s, q)), f.sub(f.scale(q, c), f.mul(s, p))

            with b.loop((i + 3, left)) as j:
                p, q = turned(*(f.load(h, [j.index, r]) for r in (i, i + 1)))
                f.store(p, h, [j.index, i])
                f.store(q, h, [j.index, i + 1])
            if self.has_vectors:
                with b.loop(n) as j:
                    p, q = turned(*(f.load(self.z, [r, j.index]) for r in (i, i + 1)))
                    f.store(p, self.z, [i, j.index])
                    f.store(q, self.z, [i + 1, j.index])

    def _before(self, i: Any) -> Any:
        """The place before, or the first one."""
        b = self.b
        at = b.position(i)
        return b.index_of(b.scalar.select(b.scalar.cmp("eq", at, b.position(0)), at, b.position(i - 1)))

    def _rotation(self, x: Element, y: Element) -> tuple[SSAValue, Element]:
        """`c` and `s` with `c x + s y` as long as both, in the direction of `x`, and `c y` the conjugate of `s` times `x`."""
        s, f = self.b.scalar, self.f
        one, zero = f.number(1), f.number(0)
        largest = s.max(f.size(x), f.size(y))
        none = s.cmp("eq", largest, zero)
        largest = s.select(none, one, largest)
        x, y = f.shrink(x, largest), f.shrink(y, largest)
        size, total = s.unary("sqrt", f.square(x)), s.unary("sqrt", s.add(f.square(x), f.square(y)))
        total = s.select(none, one, total)
        no_x = s.cmp("eq", size, zero)
        direction = f.select(no_x, f.const(1), f.shrink(x, s.select(no_x, one, size)))
        c = s.select(none, one, s.div(size, total))
        return c, f.select(none, f.const(0), f.shrink(f.conj_mul(y, direction), total))

    def _double_shift(self, low: Any, left: Any, taken: SSAValue) -> None:
        """Two QR steps at once of the rows from `low` to the last one, with shifts that are a pair: Francis, 1962."""
        b, n, f, h = self.b, self.n, self.f, self.h
        last = left - 1
        s = b.scalar

        def at(i: Any, j: Any) -> SSAValue:
            return f.load(h, [i, j])[0]

        sizes = s.add(s.abs(at(last, last - 1)), s.abs(at(last - 1, last - 2)))
        exceptional = self._is_exceptional(taken)
        moved = s.add(s.mul(f.number(0.75), sizes), at(last, last))
        x = s.select(exceptional, moved, at(last, last))
        y = s.select(exceptional, moved, at(last - 1, last - 1))
        w = s.mul(at(last, last - 1), at(last - 1, last))
        w = s.select(exceptional, s.mul(f.number(-0.4375), s.mul(sizes, sizes)), w)
        # of two real shifts the one closer to the last element is taken twice
        half = s.mul(f.number(0.5), s.sub(y, x))
        q = s.add(s.mul(half, half), w)
        root = s.unary("sqrt", s.abs(q))
        larger = s.add(half, s.select(s.cmp("lt", half, f.number(0)), s.neg(root), root))
        is_zero = s.cmp("eq", larger, f.number(0))
        closer = s.sub(x, s.select(is_zero, f.number(0), s.div(w, s.select(is_zero, f.number(1), larger))))
        are_real = s.cmp("ge", q, f.number(0))
        x, y = (s.select(are_real, closer, shift) for shift in (x, y))
        w = s.select(are_real, f.number(0), w)
        z = at(low, low)
        p, q = s.sub(x, z), s.sub(y, z)
        starts = (
            s.add(s.div(s.sub(s.mul(p, q), w), at(low + 1, low)), at(low, low + 1)),
            s.sub(s.sub(s.sub(at(low + 1, low + 1), z), p), q),
            at(low + 2, low + 1),
        )
        with b.loop(last, "seq", lower=low) as k:
            i, s = k.index, b.scalar
            is_first = s.cmp("eq", b.position(i), b.position(low))
            before = self._before(i)
            # the last reflection has two rows: the third is left alone
            has_third = s.cmp("lt", b.position(i + 2), b.position(left))
            p, q, r = (s.select(is_first, start, at(i + d, before)) for d, start in enumerate(starts))
            r = s.select(has_third, r, f.number(0))
            size = s.add(s.add(s.abs(p), s.abs(q)), s.abs(r))
            is_zero = s.cmp("eq", size, f.number(0))
            divisor = s.select(is_zero, f.number(1), size)
            p, q, r = (s.div(v, divisor) for v in (p, q, r))
            length = s.unary("sqrt", s.add(s.add(s.mul(p, p), s.mul(q, q)), s.mul(r, r)))
            length = s.select(s.cmp("lt", p, f.number(0)), s.neg(length), length)
            with b.when(s.invert(s.binary("or", is_first, is_zero))):
                f.store((b.scalar.neg(b.scalar.mul(length, size)),), h, [i, i - 1])
                f.store(f.const(0), h, [i + 1, i - 1])
                f.store(f.const(0), h, [i + 2, i - 1])
            length = s.select(is_zero, f.number(1), length)
            p = s.select(is_zero, f.number(1), s.add(p, length))
            # I - (x, y, z) (1, q, r), the identity where all was 0
            x, y, z = (s.select(is_zero, f.number(0), s.div(v, length)) for v in (p, q, r))
            q, r = s.div(q, p), s.div(r, p)

            def reflect(get: Callable[[int], Any], given: Sequence[SSAValue], taken: Sequence[SSAValue], to: Element) -> None:
                """Three elements less `given` times their sum weighted with `taken`."""
                s = b.scalar
                old = [b.load(to[0], get(d)) for d in range(3)]
                total = s.add(s.add(s.mul(taken[0], old[0]), s.mul(taken[1], old[1])), s.mul(taken[2], old[2]))
                for d in range(3):
                    b.store(s.sub(old[d], s.mul(given[d], total)), to[0], get(d))

            ahead, back = (f.number(1), q, r), (x, y, z)
            with b.loop(n, lower=i) as j:
                reflect(lambda d: [i + d, j.index], back, ahead, h)
            with b.loop((i + 4, left)) as j:
                reflect(lambda d: [j.index, i + d], ahead, back, h)
            if self.has_vectors:
                with b.loop(n) as j:
                    reflect(lambda d: [i + d, j.index], ahead, back, self.z)

    def _pair(self, m: Any) -> None:
        """The two eigenvalues of the block at `m`: real ones are rotated onto the diagonal, complex ones stay a block."""
        b, n, f, h = self.b, self.n, self.f, self.h
        s, zero, one = b.scalar, f.number(0), f.number(1)
        last = m + 1
        x, below = f.load(h, [last, last])[0], f.load(h, [last, m])[0]
        w = s.mul(below, f.load(h, [m, last])[0])
        p = s.mul(f.number(0.5), s.sub(f.load(h, [m, m])[0], x))
        q = s.add(s.mul(p, p), w)
        root = s.unary("sqrt", s.abs(q))
        is_real = s.cmp("ge", q, zero)
        signed = s.add(p, s.select(s.cmp("lt", p, zero), s.neg(root), root))
        is_zero = s.cmp("eq", signed, zero)
        first = s.add(x, signed)
        second = s.select(is_zero, first, s.sub(x, s.div(w, s.select(is_zero, one, signed))))
        middle = s.add(x, p)
        imaginary = s.select(is_real, zero, root)
        self.c.store((s.select(is_real, first, middle), imaginary), self.w, [m])
        self.c.store((s.select(is_real, second, middle), s.sub(zero, imaginary)), self.w, [last])
        with b.when(is_real):
            s = b.scalar
            size = s.unary("sqrt", s.add(s.mul(below, below), s.mul(signed, signed)))
            none = s.cmp("eq", size, zero)
            divisor = s.select(none, one, size)
            sine, cosine = s.div(below, divisor), s.select(none, one, s.div(signed, divisor))

            def turn(get: Callable[[int], Any], to: Element) -> None:
                s = b.scalar
                u, v = (b.load(to[0], get(d)) for d in range(2))
                b.store(s.add(s.mul(cosine, u), s.mul(sine, v)), to[0], get(0))
                b.store(s.sub(s.mul(cosine, v), s.mul(sine, u)), to[0], get(1))

            with b.loop(n, lower=m) as j:
                turn(lambda d: [m + d, j.index], h)
            with b.loop(last + 1) as j:
                turn(lambda d: [j.index, m + d], h)
            f.store(f.const(0), h, [last, m])
            if self.has_vectors:
                with b.loop(n) as j:
                    turn(lambda d: [m + d, j.index], self.z)

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
        """The last component, 1, and of a pair of complex values the one before; which rows are to be solved then."""
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
            # the larger of the elements beside the diagonal divides, or what is beside it
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
        before = self._before(i)
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
        """The smallest difference of eigenvalues that is told from 0."""
        s, c = self.b.scalar, self.c
        info = np.finfo(numpy_dtype(c.part))
        return s.max(s.mul(self.eps, c.size(value)), c.number(float(info.tiny / info.eps)))

    def _divide(self, x: Element, by: Element, least: SSAValue, i: Any) -> None:
        """Store a quotient as component `i`; a divisor below the least one is that."""
        s, c = self.b.scalar, self.c
        is_small = s.cmp("lt", c.size(by), least)
        c.store(c.div(x, c.select(is_small, c.of_real(least), by)), self.y, [i])

    def _keep_small(self, i: Any) -> None:
        """Divide what is solved by component `i` where it is so large that a product with it may overflow."""
        b, n, c, y = self.b, self.n, self.c, self.y
        size = c.size(c.load(y, [i]))
        with b.when(b.scalar.cmp("gt", b.scalar.mul(b.scalar.mul(self.eps, size), size), self.f.number(1))):
            with b.loop(n) as k:
                c.store(c.shrink(c.load(y, [k.index]), size), y, [k.index])

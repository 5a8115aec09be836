"""Schur's form of square matrices, and Hessenberg's on the way to it: `schur`, and the loops that `eig` shares.

Householder's reduction to a Hessenberg matrix, and shifted QR steps until it is triangular: single shifts for complex matrices,
with rotations, and Francis's double shifts for real ones, whose pairs of complex eigenvalues stay blocks of 2x2 (EISPACK's hqr2
and comqr2; shifts as in LAPACK's lahqr).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def

from ...errors import DTypeError
from ..types import numpy_dtype
from .base import NotDifferentiable, Props, Types, graph_op, word
from .complex_elements import Element, Field
from .eigenvector_phase import epsilon_of, np_phases, phase_of
from .matrices import Matrices, MatrixOp, require_matrices, stacked
from .orthogonal import Reflector, np_reflector

if TYPE_CHECKING:
    from .nest_writer import NestWriter

_MOST_STEPS = 30
"""Largest number of QR steps for an eigenvalue: LAPACK's limit; two or three are usual."""
_EXCEPTIONAL = (10, 20)
"""Number of steps for one eigenvalue after which an exceptional shift is taken, since the usual shifts may cycle."""


@graph_op
class SchurOp(MatrixOp):
    """`x = z t z^H` of square matrices, the last two dims, with `z` unitary: Schur's form, or Hessenberg's.

    In the form `triangular` the `t` of complex matrices is upper triangular; that of real ones has blocks of 2x2 for pairs of
    complex eigenvalues, with equal elements on the diagonal, and of different signs beside it. The order of
    eigenvalues is that in which QR steps leave them, which depends on rounding. In the form `hessenberg` elements below the
    first subdiagonal are 0. Of columns of `z` in the form `triangular` the first component at least half as large as the
    largest is positive. NaN and infinities give NaN. Cost: about `25 * n**3` flops a real matrix, `14 / 3 * n**3` in the form
    `hessenberg`.

    ```mlir
    %t, %z = graph.schur triangular %x : tensor<3x3xf32> -> (tensor<3x3xf32>, tensor<3x3xf32>)
    ```

    (C1) The element type is f32 or f64, or complex of them; or real and imaginary parts are two operands, and the imaginary
    parts are two more results.
    (C2) There are two dims or more, and the last two are equal.
    (C3) The form is triangular or hessenberg.
    """

    name = "graph.schur"
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    form = prop_def(StringAttr)
    t = result_def(TensorType)
    z = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "<form> *x"
    derivative = NotDifferentiable(
        lambda op: f"'{op.name}' op has eigenvalues in any order: sqrtm and solve_sylvester have derivatives"
    )

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        require_matrices(operands[0], square=True, known=True)  # C1, C2
        if word(props["form"]) not in ("triangular", "hessenberg"):  # C3
            raise DTypeError(f"form must be one of triangular, hessenberg, got {word(props['form'])}")
        return operands[0], operands[0]

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        t, z = np.full_like(x, np.nan * (1 + 1j) if np.iscomplexobj(x) else np.nan), np.full_like(x, np.nan)
        for place, matrix in stacked(x):
            if np.isfinite(matrix).all():
                t[place], z[place] = np_hessenberg(matrix) if self.form.data == "hessenberg" else np_schur(matrix)
        return t, z

    def loops(self, b: NestWriter, m: Matrices) -> None:
        _Form(b, m, self.shape()[-1], True).write(self.form.data == "triangular")


def _least_sum(dtype: np.dtype[Any], n: int) -> float:
    """Lower bound, relative to a largest element of 1, of the diagonal sum with which a subdiagonal element is compared."""
    info = np.finfo(dtype)
    return float(info.tiny) * n / float(info.eps) ** 2


# --------------------------------------------------------------------------------------------------------------------
# The meaning in NumPy


def _np_reflect(h: np.ndarray, z: np.ndarray, x: np.ndarray, at: slice) -> None:
    """Apply the reflector that makes `x` a multiple of a unit vector to rows and columns of `h`, and to columns of `z`."""
    v, _, tau = np_reflector(x)
    h[at] -= np.conj(tau) * np.outer(v, np.conj(v) @ h[at])
    for a in (h, z):
        a[:, at] -= tau * np.outer(a[:, at] @ v, np.conj(v))


def np_hessenberg(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of zeros below the first subdiagonal, and the unitary one with `x = z h z^H`."""
    h, z = np.array(x), np.eye(len(x), dtype=x.dtype)
    for k in range(len(x) - 2):
        _np_reflect(h, z, h[k + 1 :, k].copy(), slice(k + 1, None))
        h[k + 2 :, k] = 0
    return h, z


def np_schur(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Schur's form by implicit QR steps, and the unitary matrix with `x = z t z^H`; NaN where too many steps are needed."""
    largest = np.max(np.abs(x), initial=0) or 1
    h, z = np_hessenberg(x / largest)
    left, taken, eps = len(x), 0, np.finfo(x.dtype).eps
    most, least = 1 if np.iscomplexobj(x) else 2, _least_sum(x.dtype, len(x))
    while left:
        sizes = np.abs(np.diag(h))[:left]
        sums = sizes[1:] + sizes[:-1]
        small = np.flatnonzero(np.abs(np.diag(h, -1))[: left - 1] <= eps * np.where(sums == 0, 1, np.maximum(sums, least)))
        low = int(small[-1]) + 1 if small.size else 0
        if low:
            h[low, low - 1] = 0
        if left - low <= most:
            if left - low == 2:
                _np_pair(h, z, low)
            left, taken = low, 0
        elif taken == _MOST_STEPS:
            return np.full_like(h, np.nan), np.full_like(z, np.nan)
        else:
            _np_step(h, z, low, left, taken in _EXCEPTIONAL)
            taken += 1
    d = np_phases(z.T)[:, 0]
    return (np.triu(h, 1 - most) * largest * np.conj(d)[:, None] * d).astype(x.dtype), z * d


def _np_step(h: np.ndarray, z: np.ndarray, low: int, left: int, is_exceptional: bool) -> None:
    """One implicit step on the rows from `low` to `left`, with Wilkinson's shift; real matrices take a double shift."""
    corner, width = h[left - 1, left - 1], 2 if np.iscomplexobj(h) else 3
    block = h[left - 2 : left, left - 2 : left]
    if is_exceptional:
        size = abs(h[left - 1, left - 2]) + (abs(h[left - 2, left - 3]) if width == 3 else 0)
        block = np.array([[0.75 * size + corner, -0.4375 * size], [size, 0.75 * size + corner]])
    shifts = np.linalg.eigvals(block)
    closer = shifts[np.argmin(np.abs(shifts - corner))]
    first = h[low : low + width, low : low + 2]
    size = np.max(np.abs(first)) or 1  # products of unscaled elements may underflow
    first, closer = first / size, closer / size
    if width == 2:
        x = np.array([first[0, 0] - closer, first[1, 0]])
    else:
        (p, above), (below, q), (_, third) = first
        total, product = 2 * np.real(closer), np.abs(closer) ** 2  # of a conjugate pair of shifts, or of one taken twice
        x = np.array([p * p + above * below - total * p + product, below * (p + q - total), below * third])
    for k in range(low, left - 1):
        at = slice(k, min(k + width, left))
        _np_reflect(h, z, (x[: at.stop - k] if k == low else h[at, k - 1].copy()).astype(h.dtype), at)
        if k > low:
            h[k + 1 : at.stop, k - 1] = 0


def _np_pair(h: np.ndarray, z: np.ndarray, m: int) -> None:
    """Make a block of 2x2 upper triangular, or one with equal elements on its diagonal where its eigenvalues are complex."""
    (a, b), (c, d) = h[m : m + 2, m : m + 2]
    half = (a - d) / 2
    q = half * half + b * c
    if q >= 0:
        along, across = half + np.copysign(np.sqrt(q), half if half else 1.0), c
    else:
        along, across = _np_equal(half, b + c)
    size = np.hypot(along, across)
    cosine, sine = (along / size, across / size) if size else (1, 0)
    turn = np.array([[cosine, -sine], [sine, cosine]], h.dtype)
    at = slice(m, m + 2)
    h[at] = turn.T @ h[at]
    h[:, at], z[:, at] = h[:, at] @ turn, z[:, at] @ turn
    if q >= 0:
        h[m + 1, m] = 0
    else:
        h[m, m] = h[m + 1, m + 1] = (h[m, m] + h[m + 1, m + 1]) / 2


def _np_equal(half: Any, beside: Any) -> tuple[Any, Any]:
    """The direction of the rotation that equalizes two elements that differ by twice `half`: LAPACK's lanv2."""
    if (size := np.hypot(beside, 2 * half)) == 0:
        return 1, 0
    cosine = np.sqrt((1 + abs(beside) / size) / 2)
    return cosine, -half / (size * cosine) * (-1 if beside < 0 else 1)


# --------------------------------------------------------------------------------------------------------------------
# The loops


@dataclass
class Reduction:
    """The loops for one matrix.

    `h` becomes Hessenberg and then triangular; it has a row and a column of zeros more, so that reflections of three rows may
    end one behind the last. Column `j` of `z`, whose rows are those of the transformation transposed, is row `j` of the matrix.
    """

    b: NestWriter
    m: Matrices
    n: int
    has_vectors: bool

    def __post_init__(self) -> None:
        n, f = self.n, self.m.field
        self.f, self.c = f, Field(self.b, f.part, True)
        self.h = f.local((n + 1, n + 1), "work")
        self.z = f.local((n + 1, n), "transformation")
        self.w = self.c.local((n,), "values")
        self.eps = f.number(epsilon_of(f.part))

    def scaled(self) -> SSAValue:
        """Copy the matrix, scaled to a largest element of 1; the divisor, NaN where not all elements were finite."""
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

    def hessenberg(self) -> None:
        """Reflect until the elements below the first subdiagonal are 0."""
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

    def steps(self) -> SSAValue:
        """Steps until all values are found; how many are not. Carried: that number, and the steps taken for the last value."""
        b, n, f, h = self.b, self.n, self.f, self.h
        none, one, least = b.position(0), b.position(1), f.number(_least_sum(numpy_dtype(f.part), n))
        with b.loop(_MOST_STEPS * n, "seq", inits=[b.position(n), none]) as step:
            left_value, taken = step.carried
            left = b.index_of(left_value)
            with b.loop(left, "seq", lower=1, inits=[none]) as i:
                size = b.scalar.add(f.size(f.load(h, [i.index - 1, i.index - 1])), f.size(f.load(h, [i.index, i.index])))
                size = b.scalar.select(b.scalar.cmp("eq", size, f.number(0)), f.number(1), b.scalar.max(size, least))
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
                    self.pair(left - 2)
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
            # there is no column before the first one: the value that is read there is unused
            before = self.before(i)
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

    def before(self, i: Any) -> Any:
        """The index before, or the first one."""
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
            before = self.before(i)
            # the last reflection has two rows: the third is unchanged
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

    def pair(self, m: Any) -> None:
        """Finish the block at `m`: two real eigenvalues are rotated onto the diagonal, a complex pair stays a block."""
        b, f, h = self.b, self.f, self.h
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
            self.rotate(m, s.select(none, one, s.div(signed, divisor)), s.div(below, divisor))
            f.store(f.const(0), h, [last, m])

    def rotate(self, m: Any, cosine: SSAValue, sine: SSAValue) -> None:
        """Rotate rows and columns `m` and `m + 1`."""
        b, n, h = self.b, self.n, self.h

        def turn(get: Callable[[int], Any], to: Element) -> None:
            s = b.scalar
            u, v = (b.load(to[0], get(d)) for d in range(2))
            b.store(s.add(s.mul(cosine, u), s.mul(sine, v)), to[0], get(0))
            b.store(s.sub(s.mul(cosine, v), s.mul(sine, u)), to[0], get(1))

        with b.loop(n, lower=m) as j:
            turn(lambda d: [m + d, j.index], h)
        with b.loop(m + 2) as j:
            turn(lambda d: [j.index, m + d], h)
        if self.has_vectors:
            with b.loop(n) as j:
                turn(lambda d: [m + d, j.index], self.z)


class _Form(Reduction):
    """Stores the results of `schur`."""

    def write(self, is_triangular: bool) -> None:
        b, m, n, f = self.b, self.m, self.n, self.f
        scale = self.scaled()
        self.hessenberg()
        one, nan = f.number(1), f.number(float("nan"))
        unit = b.scalar.select(b.scalar.cmp("eq", scale, scale), one, nan)
        if is_triangular:
            found = b.scalar.cmp("eq", self.steps(), b.position(0))
            scale, unit = b.scalar.select(found, scale, nan), b.scalar.select(found, unit, nan)
        phases = f.local((n,), "phases")
        with b.loop(n, "seq") as i:
            phase = phase_of(f, n, lambda j: f.load(self.z, [i.index, j])) if is_triangular else f.const(1)
            f.store(phase, phases, [i.index])
        with b.loop(n) as i, b.loop(n) as j:
            row, column = (f.load(phases, [k.index]) for k in (i, j))
            x = f.scale(f.mul(f.conj_mul(row, f.load(self.h, [i.index, j.index])), column), scale)
            below = b.position(i.index) if is_triangular and f.is_complex else b.position(i.index - 1)
            kept = b.scalar.cmp("le", below, b.position(j.index))
            zero = b.scalar.mul(f.number(0), unit)
            m.store(f.select(kept, x, (zero,) * f.parts), 0, i.index, j.index)
        with b.loop(n) as j, b.loop(n) as i:
            x = f.scale(f.mul(f.load(self.z, [j.index, i.index]), f.load(phases, [j.index])), unit)
            m.store(x, 1, i.index, j.index)

    def pair(self, m: Any) -> None:
        super().pair(m)
        self._equalize(m)

    def _equalize(self, m: Any) -> None:
        """Rotate a block of complex eigenvalues so that its diagonal elements are equal: LAPACK's lanv2."""
        b, f, h = self.b, self.f, self.h
        s, zero, one, two = b.scalar, f.number(0), f.number(1), f.number(2)
        (x, above), (below, y) = ([f.load(h, [m + i, m + j])[0] for j in range(2)] for i in range(2))
        with b.when(s.cmp("ne", below, zero)):
            s = b.scalar
            gap, beside = s.sub(x, y), s.add(above, below)
            size = s.unary("sqrt", s.add(s.mul(gap, gap), s.mul(beside, beside)))
            none = s.cmp("eq", size, zero)
            size = s.select(none, one, size)
            cosine = s.select(none, one, s.unary("sqrt", s.div(s.add(one, s.div(s.abs(beside), size)), two)))
            sine = s.div(s.div(gap, s.mul(f.number(-2), size)), cosine)
            sine = s.select(s.cmp("lt", beside, zero), s.neg(sine), sine)
            self.rotate(m, cosine, sine)
            s = b.scalar
            mean = s.div(s.add(*(f.load(h, [m + k, m + k])[0] for k in range(2))), two)
            for k in range(2):
                f.store((mean,), h, [m + k, m + k])

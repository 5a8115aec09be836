"""`lamina.linalg`: factorizations of matrices, the last two dims of an array, and what follows from them.

Matrices are float32, float64, complex64 or complex128; others are converted to float64. Leading dims are a
batch. Compiled code calls neither BLAS nor LAPACK.
(Small calls on plain arrays are evaluated by the NumPy meaning of their ops, here as elsewhere.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...api import Tracer, array_function, broadcast_tracer, build, filled, full_like_tracer, lift, lift_as, several
from ...api.dtypes import FLOAT32, INT32, inexact, is_complex_dtype
from ...api.errors import ShapeError
from ..numpy.axes_and_shapes import reshape_tracer, slice_axis, static_int, transpose_tracer
from ..numpy.complex import conjugate, imag, real
from ..numpy.contract import matmul
from ..numpy.create import arange, diagonal, eye, tril, triu
from ..numpy.elementwise import compare, select
from ..numpy.math import exp2, log2
from ..numpy.pad import pad
from ..numpy.reduce import max as max_of
from ..numpy.reduce import prod
from ..numpy.reduce import sum as sum_of
from ..numpy.shape import matrix_transpose
from ..numpy.ufuncs import absolute, ceil, log, maximum, sign


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Any
    S: Any
    Vh: Any


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Any
    logabsdet: Any


def as_float(x: Any) -> Tracer:
    """An operand in float32, float64, or complex numbers of them."""
    x = lift(x)
    return x if x.dtype.kind in "fc" else lift_as(x, inexact(x.dtype))


def matrices(x: Any, what: str, *, square: bool = False) -> Tracer:
    """An operand as a stack of matrices."""
    x = as_float(x)
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise ShapeError(f"{what} needs {'square ' * square}matrices, the last two dims, got shape {list(x.shape)}")
    return x


def _common(*xs: Tracer) -> list[Tracer]:
    dtype = np.result_type(FLOAT32, *(x.dtype for x in xs))
    return [lift_as(x, dtype) for x in xs]


def _epsilon(x: Tracer) -> float:
    return float(np.finfo(x.dtype).eps)


def _real_dtype(x: Tracer) -> np.dtype:
    """The dtype of the parts of an array's numbers."""
    return np.finfo(x.dtype).dtype


def _conjugated(x: Tracer) -> Tracer:
    return lift(conjugate(x)) if x.dtype.kind == "c" else x


def adjoint(x: Tracer) -> Tracer:
    """Each matrix transposed and, if it is complex, conjugated."""
    return lift(matrix_transpose(_conjugated(x)))


def triangular(a: Tracer, y: Tracer, *, lower: bool, transpose: bool = False, unit: bool = False) -> Tracer:
    """`graph.triangular_solve`."""
    form, diagonal = "transposed" if transpose else "plain", "unit" if unit else "given"
    return build("triangular_solve", a, y, side="lower" if lower else "upper", form=form, diagonal=diagonal)


def symmetrized(x: Tracer) -> Tracer:
    """The mean of a matrix and its adjoint."""
    return (x + adjoint(x)) * 0.5


def from_triangle(a: Any, lower: bool, is_hermitian: bool = True) -> Tracer:
    """The whole of symmetric or Hermitian matrices of which one triangle is given; the other triangle is not read.

    A derivative goes to the triangle that is read alone. Of Hermitian matrices the diagonal is real.
    """
    x = lift(a)
    part = lift(tril(x, -1) if lower else triu(x, 1))
    other = adjoint(part) if is_hermitian else lift(matrix_transpose(part))
    on = broadcast_tracer(lift(eye(x.shape[-1], dtype=np.dtype(bool))), x.shape)
    held = lift_as(real(x), x.dtype) if is_hermitian and is_complex_dtype(x.dtype) else x
    return select(on, held, part + other)


def _right_side(a: Tracer, b: Tracer, what: str) -> tuple[Tracer, Tracer, bool]:
    """Operands of `a x = b` with one batch; whether `b` is one vector, which has become a column."""
    a, b = _common(a, b)
    is_vector = b.ndim == 1
    if is_vector:
        b = reshape_tracer(b, (*b.shape, 1))
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ShapeError(
            f"{what} needs as many rows on the right side as the matrix has, got {list(a.shape)} and {list(b.shape)}"
        )
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(f"{what} leading dims do not broadcast: {list(a.shape)} and {list(b.shape)}") from None
    return broadcast_tracer(a, (*lead, *a.shape[-2:])), broadcast_tracer(b, (*lead, *b.shape[-2:])), is_vector


def _as_given(x: Tracer, is_vector: bool) -> Tracer:
    return reshape_tracer(x, x.shape[:-1]) if is_vector else x


# --------------------------------------------------------------------------------------------------------------------
# Triangular factors


@array_function
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """`np.linalg.cholesky`: the lower triangular `L` with `L L^H = a`, or with `upper` its adjoint; `n**3 / 3` flops.

    The result is NaN if the matrix is not positive definite, as in jax; NumPy raises.

    Args:
        a: [..., n, n].
        symmetrize_input: take the mean of `a` and its adjoint; else the lower triangle is read.

    Raises:
        ShapeError: no square matrices.
    """
    x = matrices(a, "cholesky", square=True)
    y = build("cholesky", symmetrized(x) if symmetrize_input else from_triangle(x, True))
    return adjoint(y) if upper else y


@array_function
def cho_factor(a: Any, lower: bool = False) -> Any:
    """`scipy.linalg.cho_factor`: the factor and `lower`, for `cho_solve`; the other triangle is 0. The triangle of `a` that the
    factor takes is read alone, and has the derivative."""
    x = from_triangle(matrices(a, "cho_factor", square=True), lower)
    return cholesky(x, upper=not lower, symmetrize_input=False), lower


@array_function
def cho_solve(c_and_lower: Any, b: Any) -> Any:
    """`scipy.linalg.cho_solve`: the solution of `a x = b` from the factor of `a` by `cho_factor`; `2 * n**2` flops a column."""
    factor, lower = c_and_lower
    c, y, is_vector = _right_side(matrices(factor, "cho_solve", square=True), as_float(b), "cho_solve")
    plain, turned = c, _conjugated(c)
    half = triangular(plain if lower else turned, y, lower=bool(lower), transpose=not lower)
    return _as_given(triangular(turned if lower else plain, half, lower=bool(lower), transpose=bool(lower)), is_vector)


@array_function
def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    """`scipy.linalg.solve_triangular`: the solution of `a x = b`; `trans` 1 or "T": of `a^T x = b`, 2 or "C": `a^H x = b`.

    `n**2` flops a column. Only the upper triangle is read, with `lower` only the lower one.

    Raises:
        ShapeError: shapes that do not go together, or another `trans`.
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ShapeError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    x, y, is_vector = _right_side(matrices(a, "solve_triangular", square=True), as_float(b), "solve_triangular")
    x = _conjugated(x) if trans in (2, "C") else x
    return _as_given(triangular(x, y, lower=lower, transpose=trans not in (0, "N"), unit=unit_diagonal), is_vector)


@array_function
def lu_factor(a: Any) -> Any:
    """`scipy.linalg.lu_factor`: both factors in one array, and the row that each row was exchanged with, int32."""
    return tuple(several("lu", matrices(a, "lu_factor")))


@array_function
def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0) -> Any:
    """`scipy.linalg.lu_solve`: the solution of `a x = b`, with `trans` 1 of `a^T x = b`, 2 of `a^H x = b`; from `lu_factor`."""
    factor, pivots = lu_and_piv
    x, y, is_vector = _right_side(matrices(factor, "lu_solve", square=True), as_float(b), "lu_solve")
    order = broadcast_tracer(build("permutation", lift_as(pivots, INT32), rows=x.shape[-1]), x.shape[:-1])
    x = _conjugated(x) if trans == 2 else x
    if not trans:
        half = triangular(x, _rows_in_order(y, order), lower=True, unit=True)
        return _as_given(triangular(x, half, lower=False), is_vector)
    half = triangular(x, triangular(x, y, lower=False, transpose=True), lower=True, transpose=True, unit=True)
    return _as_given(_rows_back(half, order), is_vector)


def _rows_in_order(x: Tracer, order: Tracer) -> Tracer:
    """The rows of each matrix of a stack in an order: row `k` is row `order[k]`."""
    return x if 0 in x.shape else build("gather", x, order, at=(x.ndim - 2,), batch=tuple(range(x.ndim - 2)))


def _rows_back(x: Tracer, order: Tracer) -> Tracer:
    """The inverse of `_rows_in_order`: the rows that it would reorder to `x`."""
    if 0 in x.shape:
        return x
    rows = tuple(range(x.ndim - 2))
    return build("scatter", full_like_tracer(x, 0), x, order, kind="set", at=(x.ndim - 2,), batch=rows)


@array_function
def lu(a: Any, permute_l: bool = False) -> Any:
    """`scipy.linalg.lu`: `p, l, u` with `a = p l u`, or with `permute_l` the pair `p l, u`; `2 * n**3 / 3` flops."""
    x = matrices(a, "lu")
    y, pivots = several("lu", x)
    *lead, rows, columns = x.shape
    order = build("permutation", pivots, rows=rows)
    k = min(rows, columns)
    left = tril(slice_axis(y, y.ndim - 1, 0, k), -1) + lift(eye(rows, k, dtype=x.dtype))
    upper = triu(slice_axis(y, y.ndim - 2, 0, k))
    # row order[i] of p has its one in column i
    ones = broadcast_tracer(lift(eye(rows, dtype=_real_dtype(x))), (*lead, rows, rows))
    if permute_l:
        return _rows_back(left, order), upper
    return _rows_back(ones, order), left, upper


# --------------------------------------------------------------------------------------------------------------------
# Equations


@array_function
def solve(a: Any, b: Any) -> Any:
    """`np.linalg.solve`: the solution of `a x = b`; `b` is a vector, or matrices with the batch of `a`.

    By LU with partial pivoting: `2 * n**3 / 3` flops, and `2 * n**2` a column. A singular matrix results in infinities and NaN,
    as in jax, where NumPy raises.

    Raises:
        ShapeError: no square matrices, or shapes that do not go together.
    """
    x, y, is_vector = _right_side(matrices(a, "solve", square=True), as_float(b), "solve")
    return _as_given(build("solve", x, y, form="plain"), is_vector)


@array_function
def inv(a: Any) -> Any:
    """`np.linalg.inv`: the inverse, by LU with partial pivoting; `2 * n**3` flops. Of a singular matrix infinities and NaN."""
    x = matrices(a, "inv", square=True)
    return build("solve", x, broadcast_tracer(lift(eye(x.shape[-1], dtype=x.dtype)), x.shape), form="plain")


@array_function
def det(a: Any) -> Any:
    """`np.linalg.det`: the determinant, by LU with partial pivoting."""
    return build("det", matrices(a, "det", square=True))


@array_function
def slogdet(a: Any) -> Any:
    """`np.linalg.slogdet`: sign and logarithm of the determinant; 0 and -inf, and no derivative, where it is 0.

    The sign of a complex number is the number over its magnitude.
    """
    x = matrices(a, "slogdet", square=True)
    y, pivots = several("lu", x)
    pivot = sum_of(select(_diagonal_mask(x.shape), y, full_like_tracer(y, 0)), -1)
    places = broadcast_tracer(lift(arange(x.shape[-1], dtype=np.int32)), pivots.shape)
    swaps = select(compare("ne", pivots, places), full_like_tracer(pivot, -1), full_like_tracer(pivot, 1))
    signs = sign(pivot) if x.dtype.kind == "f" else _direction(pivot)
    return SlogdetResult(prod(signs * swaps, -1), sum_of(log(absolute(pivot)), -1))


def _direction(z: Tracer) -> Tracer:
    """Complex numbers over their magnitudes; 0 of 0."""
    size = lift(absolute(z))
    is_zero = compare("eq", size, full_like_tracer(size, 0))
    return z / select(is_zero, full_like_tracer(size, 1), size)


def _diagonal_mask(shape: Sequence[int]) -> Tracer:
    """True on the diagonals of a stack of matrices."""
    return broadcast_tracer(lift(eye(shape[-2], shape[-1], dtype=bool)), tuple(shape))


@array_function
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """`np.linalg.lstsq`: the shortest `x` that makes `a x - b` shortest, sums of its squares, the rank, and singular values.

    By the singular values of `a`; those up to `rcond` times the largest count as 0, by default `eps * max(m, n)`. The sums are
    empty where m <= n. They are there where the rank is below n, too, where NumPy, whose shapes may depend on values, has none.

    Args:
        a: [m, n].
        b: [m] or [m, k].
    """
    x, y = _common(matrices(a, "lstsq"), as_float(b))
    if x.ndim != 2 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ShapeError(f"lstsq needs a matrix and as many rows on the right side, got {list(x.shape)} and {list(y.shape)}")
    m, n = x.shape
    is_vector = y.ndim == 1
    y = reshape_tracer(y, (m, 1)) if is_vector else y
    if 0 in (m, n):
        s = filled(0, (0,), _real_dtype(x))
        return _as_given(filled(0, (n, y.shape[1]), x.dtype), is_vector), s, lift(np.int32(0)), s
    u, s, vt = several("svd", x, mode="reduced")
    tolerance = _epsilon(x) * max(m, n) if rcond is None else rcond
    counts = compare("gt", s, broadcast_tracer(lift_as(slice_axis(s, 0, 0, 1) * tolerance, s.dtype), s.shape))
    rank = sum_of(counts, -1, np.int32)
    inverse = select(counts, 1 / select(counts, s, full_like_tracer(s, 1)), full_like_tracer(s, 0))
    solution = matmul(adjoint(vt), reshape_tracer(inverse, (*inverse.shape, 1)) * matmul(adjoint(u), y))
    if m <= n:
        sums = filled(0, (0,), s.dtype)
    else:
        size = lift(absolute(y - matmul(x, solution)))
        sums = sum_of(size * size, 0)
    return _as_given(solution, is_vector), sums, rank, s


@array_function
def tensorinv(a: Any, ind: int = 2) -> Any:
    """`np.linalg.tensorinv`: the inverse of `tensordot(a, ., ind)`.

    Raises:
        ShapeError: dims before and after `ind` with different products.
    """
    x, ind = as_float(a), static_int(ind, "ind")
    if not 0 < ind:
        raise ShapeError(f"tensorinv needs ind > 0, got {ind}")
    rows, columns = x.shape[:ind], x.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ShapeError(f"tensorinv needs equal products of dims before and after ind={ind}, got shape {list(x.shape)}")
    return reshape_tracer(inv(reshape_tracer(x, (math.prod(rows), math.prod(columns)))), (*columns, *rows))


@array_function
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """`np.linalg.tensorsolve`: the `x` with `tensordot(a, x, x.ndim) = b`; `axes` of `a` are moved to its end before."""
    x, y = _common(as_float(a), as_float(b))
    if axes is not None:
        moved = [static_int(d, "axes") % x.ndim for d in axes]
        x = transpose_tracer(x, [*(d for d in range(x.ndim) if d not in moved), *moved])
    shape = x.shape[y.ndim :]
    if math.prod(shape) != y.size or x.shape[: y.ndim] != y.shape:
        raise ShapeError(f"tensorsolve needs a square matrix of a, got shapes {list(x.shape)} and {list(y.shape)}")
    found = solve(reshape_tracer(x, (y.size, y.size)), reshape_tracer(y, (y.size,)))
    return reshape_tracer(lift(found), shape)


# --------------------------------------------------------------------------------------------------------------------
# Orthogonal factors, eigenvalues, singular values


@array_function
def qr(a: Any, mode: str = "reduced") -> Any:
    """`np.linalg.qr` by Householder's method: `Q, R`, or with mode "r" only `R`; "complete" has all columns of `Q`.

    Mode "raw" returns the reflectors as LAPACK's geqrf does: the transposed array with `R` and below it the vectors, whose
    first element is 1, and their factors; it has no derivative. That of the others needs a square `R`. The diagonal of `R` is
    real, of any sign. Cost: about `5 * m * n**2` flops.

    Raises:
        ShapeError: no matrices, or another mode.
    """
    x = matrices(a, "qr")
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ShapeError(f"the mode of qr must be 'reduced', 'complete', 'r' or 'raw', got {mode!r}")
    if mode == "raw":
        return _reflectors(x)
    q, r = several("qr", x, mode="reduced" if mode == "r" else mode)
    return r if mode == "r" else QRResult(q, r)


def _reflectors(x: Tracer) -> tuple[Any, Any]:
    """The result of geqrf, transposed. `graph.householder` has vectors of length `sqrt(2)`, not with a first element of 1."""
    v, r = several("householder", x)
    rows, columns, k = *x.shape[-2:], min(x.shape[-2:])
    head = lift(diagonal(v, 0, -2, -1))
    unused = compare("eq", head, full_like_tracer(head, 0))
    scale = select(unused, full_like_tracer(head, 1), head)
    below = tril(v / reshape_tracer(scale, (*head.shape[:-1], 1, k)), -1)
    taus = head * conjugate(head)
    if is_complex_dtype(x.dtype):  # the factor of a complex reflector is complex
        taus = taus / (1 - 1j * imag(head) / real(scale))
    lead = [(0, 0)] * (x.ndim - 2)
    packed = pad(below, [*lead, (0, 0), (0, columns - k)]) + pad(r, [*lead, (0, rows - k), (0, 0)])
    return matrix_transpose(packed), lift_as(taus, x.dtype)


@array_function
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> Any:
    """`np.linalg.eigh`: eigenvalues of symmetric or Hermitian matrices, ascending, and orthonormal eigenvectors, the columns.

    With `UPLO` "L" or "U" that triangle is read; without it, the mean of the matrix and its adjoint is factored, as in jax. The
    first component of a vector that is at least half as large as its largest one is positive. NaN and infinities give NaN. The
    derivative needs distinct eigenvalues. About `9 * n**3` flops.

    Raises:
        ShapeError: no square matrices, or another `UPLO`.
    """
    x = matrices(a, "eigh", square=True)
    if UPLO not in (None, "L", "U", "l", "u"):
        raise ShapeError(f"UPLO must be 'L' or 'U', got {UPLO!r}")
    if UPLO is None and symmetrize_input:
        x = symmetrized(x)
    else:
        x = from_triangle(x, UPLO not in ("U", "u"))
    return EighResult(*several("eigh", lift(x)))


@array_function
def eigvalsh(a: Any, UPLO: str | None = None, *, symmetrize_input: bool = True) -> Any:
    """`np.linalg.eigvalsh`: the eigenvalues of `eigh`."""
    return eigh(a, UPLO, symmetrize_input)[0]


def _parts(x: Tracer) -> list[Tracer]:
    """Real and imaginary parts; a real array itself."""
    return [build("real", x), build("imag", x)] if x.dtype.kind == "c" else [x]


@array_function
def eig(a: Any) -> Any:
    """`np.linalg.eig`: eigenvalues of square matrices and eigenvectors of length 1, the columns; both complex, as in jax.

    Eigenvalues come as QR steps leave them, in no certain order; of pairs of real matrices the one with the positive imaginary
    part is first. The first component of a vector that is at least half as large as its largest one is positive. NaN and
    infinities give NaN. There is no derivative of vectors, as in jax: `eigvals` has one. About `25 * n**3` flops.

    Raises:
        ShapeError: no square matrices.
        DifferentiationError: a derivative.
    """
    w_real, v_real, w_imag, v_imag = several("eig", *_parts(matrices(a, "eig", square=True)), mode="vectors")
    return EigResult(build("complex", w_real, w_imag), build("complex", v_real, v_imag))


@array_function
def eigvals(a: Any) -> Any:
    """`np.linalg.eigvals`: the eigenvalues of `eig`; a first derivative, of distinct ones. About `10 * n**3` flops."""
    return build("complex", *several("eig", *_parts(matrices(a, "eigvals", square=True)), mode="values"))


@array_function
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """`np.linalg.svd`: `U, S, Vh` with `a = U * S @ Vh`, singular values in descending order; `S` alone without `compute_uv`.

    By reflectors and QR steps: values differ from exact ones by a few units of rounding of the largest. The derivative needs
    distinct singular values that are not 0, and `full_matrices=False` for matrices that are not square. `hermitian` says that
    `a` is symmetric or Hermitian, `subset_by_index=(k, l)` that values `k` to `l - 1` and their vectors are wanted. NaN and
    infinities give NaN.

    Raises:
        ShapeError: no matrices, or a subset of values that there are not, or with `full_matrices` not of all.
    """
    x = matrices(a, "svd")
    if subset_by_index is not None:
        return _some_values(x, full_matrices, compute_uv, hermitian, subset_by_index)
    if hermitian:
        x = symmetrized(matrices(x, "svd", square=True))
    u, s, vt = several("svd", x, mode="complete" if full_matrices and compute_uv else "reduced")
    return SVDResult(u, s, vt) if compute_uv else s


def _some_values(x: Tracer, full_matrices: bool, compute_uv: bool, hermitian: bool, subset: tuple[int, int]) -> Any:
    rank, (k, end) = min(x.shape[-2:]), (static_int(n, "subset_by_index") for n in subset)
    if not 0 <= k < end <= rank or (full_matrices and compute_uv and (k, end) != (0, rank)):
        raise ShapeError(f"svd needs 0 <= k < l <= {rank} of subset_by_index, and full_matrices=False for some, got {subset}")
    if not compute_uv:
        return svd(x, False, False, hermitian)[..., k:end]
    u, s, vt = svd(x, full_matrices, True, hermitian)
    return SVDResult(u, s, vt) if full_matrices else SVDResult(u[..., k:end], s[..., k:end], vt[..., k:end, :])


@array_function
def svdvals(x: Any, /) -> Any:
    """`np.linalg.svdvals`: the singular values in descending order."""
    return svd(x, False, False)


@array_function
def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """`np.linalg.pinv`: the Moore-Penrose inverse, from singular values; those up to `rtol` times the largest one count as 0.

    `rcond` is another name of `rtol`, by default `10 * max(m, n) * eps` as in jax. The derivative holds where the rank does.
    """
    x = matrices(a, "pinv")
    x = symmetrized(matrices(x, "pinv", square=True)) if hermitian else x
    given = rtol if rtol is not None else rcond
    tolerance = 10 * max(x.shape[-2:], default=0) * _epsilon(x) if given is None else given
    return build("pinv", x, broadcast_tracer(lift_as(tolerance, _real_dtype(x)), x.shape[:-2]))


@array_function
def matrix_rank(M: Any, rtol: Any = None, hermitian: bool = False, *, tol: Any = None) -> Any:
    """`np.linalg.matrix_rank`: how many singular values are above `tol`, or above `rtol` times the largest one.

    By default `rtol` is `max(m, n) * eps`. Of a vector or number: whether an element is not 0.
    """
    x = as_float(M)
    if x.ndim < 2:
        return lift_as(
            max_of(lift_as(compare("ne", x, full_like_tracer(x, 0)), np.dtype(np.int64)), initial=0), np.dtype(np.int64)
        )
    s = lift(svd(x, False, False, hermitian))
    if tol is None:
        relative = max(x.shape[-2:]) * _epsilon(x) if rtol is None else rtol
        tol = lift(max_of(s, -1, initial=0)) * relative
    least = lift_as(tol, s.dtype)
    least = broadcast_tracer(reshape_tracer(least, (*least.shape, 1)), s.shape)
    return sum_of(compare("gt", s, least), -1, np.int64)


# --------------------------------------------------------------------------------------------------------------------
# The exponential

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
    670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
"""Coefficients of the Pade approximant of degree 13: Higham, The scaling and squaring method ..., 2005."""
_THETA = 5.371920351148152
"""The largest 1-norm for which it is accurate to the last bit of a double."""


@array_function
def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """`scipy.linalg.expm`: the exponential of square matrices, by scaling, Pade's approximant of degree 13, and squaring.

    The result is NaN for a matrix that needs more than `max_squarings` squarings, as in jax. `upper_triangular` is only a
    promise. Cost: 6 products, a solve, and `max_squarings` products.

    Raises:
        ShapeError: no square matrices.
    """
    x = matrices(A, "expm", square=True)
    if 0 in x.shape:
        return x
    size = lift(max_of(sum_of(absolute(x), -2), -1))
    squarings = maximum(ceil(log2(size / _THETA)), 0)
    fits = compare("le", squarings, full_like_tracer(squarings, max_squarings))
    squarings = select(fits, squarings, full_like_tracer(squarings, 0))

    def everywhere(values: Tracer) -> Tracer:
        return broadcast_tracer(reshape_tracer(values, (*values.shape, 1, 1)), x.shape)

    a = x * everywhere(lift(exp2(-squarings)))
    one = broadcast_tracer(lift(eye(x.shape[-1], dtype=x.dtype)), x.shape)
    a2 = lift(matmul(a, a))
    a4 = lift(matmul(a2, a2))
    a6 = lift(matmul(a4, a2))
    c = _PADE
    odd = matmul(a6, a6 * c[13] + a4 * c[11] + a2 * c[9]) + a6 * c[7] + a4 * c[5] + a2 * c[3] + one * c[1]
    even = matmul(a6, a6 * c[12] + a4 * c[10] + a2 * c[8]) + a6 * c[6] + a4 * c[4] + a2 * c[2] + one * c[0]
    odd = matmul(a, odd)
    y = build("solve", lift(even - odd), lift(even + odd), form="plain")
    for k in range(max_squarings):
        again = compare("gt", squarings, full_like_tracer(squarings, k))
        y = select(everywhere(again), lift(matmul(y, y)), y)
    return select(everywhere(fits), y, full_like_tracer(y, math.nan))

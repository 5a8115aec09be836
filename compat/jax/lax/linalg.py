"""`lamina.lax.linalg`: the names of jax.lax.linalg, over `lamina.linalg`."""

from __future__ import annotations

from typing import Any

from ....api import array_function, broadcast_tracer, build, filled, lift, lift_as
from ....api.dtypes import INT32
from ....api.errors import ShapeError
from ....api.functions import scan
from ....library.linalg.factors import adjoint, eigvals, from_triangle, inv, matrices, several, symmetrized, triangular
from ....library.linalg.factors import eig as eig_of
from ....library.linalg.factors import eigh as eigh_of
from ....library.linalg.factors import qr as qr_of
from ....library.linalg.factors import svd as svd_of
from ....library.numpy import namespace as lnp
from ....library.numpy.axes_and_shapes import reshape_tracer, slice_axis, static_int
from ....library.numpy.complex import conjugate
from ....library.numpy.contract import matmul
from ....library.numpy.create import eye, tril, triu
from ....library.numpy.join import concatenate
from ....library.numpy.reduce import sum as sum_of
from ....library.numpy.shape import matrix_transpose
from ....library.numpy.ufuncs import absolute, sqrt
from ....names import public

__all__ = list(public("lax.linalg"))


@array_function
def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """`jax.lax.linalg.cholesky`: the lower factor; NaN where a matrix is not positive definite."""
    a = matrices(x, "cholesky", square=True)
    return build("cholesky", symmetrized(a) if symmetrize_input else from_triangle(a, True))


@array_function
def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """`jax.lax.linalg.triangular_solve`: `x` with `op(a) x = b` if `left_side`, else with `x op(a) = b`."""
    x, y = matrices(a, "triangular_solve", square=True), matrices(b, "triangular_solve")
    if x.dtype != y.dtype or x.shape[:-2] != y.shape[:-2] or y.shape[-2 if left_side else -1] != x.shape[-1]:
        shown = f"{x.dtype}{list(x.shape)} and {y.dtype}{list(y.shape)}"
        raise ShapeError(f"triangular_solve needs one dtype, equal leading dims, and sizes that go together, got {shown}")
    x = lift(conjugate(x)) if conjugate_a and x.dtype.kind == "c" else x
    if left_side:
        return triangular(x, y, lower=lower, transpose=transpose_a, unit=unit_diagonal)
    return matrix_transpose(
        triangular(x, lift(matrix_transpose(y)), lower=lower, transpose=not transpose_a, unit=unit_diagonal)
    )


@array_function
def lu(x: Any) -> Any:
    """`jax.lax.linalg.lu`: both factors in one array, the row that each row was exchanged with, and their order, int32."""
    a = matrices(x, "lu")
    y, pivots = several("lu", a)
    return y, pivots, build("permutation", pivots, rows=a.shape[-2])


@array_function
def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """`jax.lax.linalg.lu_pivots_to_permutation`: the order of rows that exchanges make, one after the other.

    Raises:
        ShapeError: fewer rows than exchanges.
    """
    p, n = lift_as(pivots, INT32), static_int(permutation_size, "permutation_size")
    if p.ndim < 1 or p.shape[-1] > n:
        raise ShapeError(f"pivots must be vectors of at most {n} elements, got shape {list(p.shape)}")
    return build("permutation", p, rows=n)


@array_function
def qr(x: Any, *, full_matrices: bool = True) -> Any:
    """`jax.lax.linalg.qr`: `Q, R`, with all columns of `Q` if `full_matrices`."""
    return tuple(qr_of(x, "complete" if full_matrices else "reduced"))


@array_function
def householder_product(a: Any, taus: Any) -> Any:
    """`jax.lax.linalg.householder_product`: the product of `I - tau v v^H`, `v` a column of `a`, its diagonal 1, 0 above."""
    x, factors = matrices(a, "householder_product"), lift(taus)
    *lead, rows, columns = x.shape
    if rows < columns or factors.ndim < 1 or factors.shape[-1] > columns or factors.shape[:-1] != tuple(lead):
        raise ShapeError(
            f"householder_product needs m >= n and at most n factors, got {list(x.shape)} and {list(factors.shape)}"
        )
    k = factors.shape[-1]
    v = tril(slice_axis(x, x.ndim - 1, 0, k), -1) + lift(eye(rows, k, dtype=x.dtype))
    # T with the product I - V T V^H has the inverse with 1 / tau on its diagonal, and V^H V above; tau may be 0
    inner = triu(matmul(adjoint(v), v), 1)
    scaled = reshape_tracer(factors, (*factors.shape, 1)) * inner + lift(eye(k, dtype=x.dtype))
    start = broadcast_tracer(lift(eye(rows, columns, dtype=x.dtype)), x.shape)
    right = reshape_tracer(factors, (*factors.shape, 1)) * matmul(adjoint(v), start)
    return start - matmul(v, triangular(lift(scaled), lift(right), lower=False, unit=True))


@array_function
def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """`jax.lax.linalg.ormqr`: the product with the square `Q` of reflectors, as `qr(mode="raw")` returns them, transposed.

    `Q c`, or `c Q` without `left`; with `transpose` of the adjoint of `Q`.
    """
    x, factors = matrices(a, "ormqr"), lift(taus)
    *lead, rows, columns = x.shape
    k = factors.shape[-1]
    if columns < rows:
        x = lift(concatenate([x, filled(0, (*lead, rows, rows - columns), x.dtype)], -1))
    factors = lift(concatenate([factors, filled(0, (*lead, rows - k), x.dtype)], -1))
    q = lift(householder_product(slice_axis(x, x.ndim - 1, 0, rows), factors))
    q = adjoint(q) if transpose else q
    return matmul(q, c) if left else matmul(c, q)


@array_function
def eig(x: Any, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True) -> Any:
    """`jax.lax.linalg.eig`: eigenvalues, then the left eigenvectors and the right ones that are requested, all complex.

    Left eigenvectors `u` have `u^H x = w u^H`; they are columns of the adjoint of the inverse of the right ones, of length 1,
    so that a matrix without a full set of eigenvectors has infinities and NaN there.
    """
    if not (compute_left_eigenvectors or compute_right_eigenvectors):
        return [eigvals(x)]
    w, v = eig_of(x)
    found = [w]
    if compute_left_eigenvectors:
        u = adjoint(lift(inv(v)))
        length = absolute(u)
        found.append(u / sqrt(sum_of(length * length, -2, keepdims=True)))
    return [*found, v] if compute_right_eigenvectors else found


@array_function
def eigh(x: Any, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True) -> Any:
    """`jax.lax.linalg.eigh`: eigenvectors, then eigenvalues in ascending order; reads the triangle that `lower` says."""
    w, v = eigh_of(x) if symmetrize_input else eigh_of(x, "L" if lower else "U")
    return v, w


@array_function
def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """`jax.lax.linalg.svd`: `U, S, Vh`; without `compute_uv` a tuple of `S` alone."""
    found = svd_of(x, full_matrices, compute_uv)
    return tuple(found) if compute_uv else (found,)


@array_function
def schur(x: Any, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False, select_callable: Any = None) -> Any:
    """`jax.lax.linalg.schur`: `T, Z` of Schur's form, in one list; without the vectors `T` alone."""
    if sort_eig_vals or select_callable is not None:
        raise ShapeError("schur() cannot sort eigenvalues: they come as QR steps leave them")
    t, z = several("schur", matrices(x, "schur", square=True), form="triangular")
    return [t, z] if compute_schur_vectors else [t]


@array_function
def symmetric_product(
    a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0, symmetrize_output: bool = False
) -> Any:
    """`jax.lax.linalg.symmetric_product`: `alpha a a^T + beta c` of symmetric `c`."""
    a = matrices(a_matrix, "symmetric_product")
    y = alpha * lift(matmul(a, matrix_transpose(a))) + beta * lift(c_matrix)
    return symmetrized(y) if symmetrize_output else y


@array_function
def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: Any = None,
) -> Any:
    """`jax.lax.linalg.qdwh`: the polar factors `u, h` of `x = u h`, by singular values; 0 iterations; and True."""
    u, s, vt = svd_of(x, False)
    h = matmul(adjoint(lift(vt)) * reshape_tracer(lift(s), (*s.shape[:-1], 1, s.shape[-1])), vt)
    return matmul(u, vt), symmetrized(lift(h)), 0, True


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """`jax.lax.linalg.tridiagonal_solve`: elimination with exchanges of neighbouring rows, as LAPACK's gtsv, in `10 n` flops.

    The result is infinite or NaN for a singular matrix.

    Args:
        dl, d, du: [..., n]: the diagonals below (its first element is not read), in and above (its last) the main one.
        b: [..., n, k].

    Raises:
        ShapeError: sizes that do not go together.

    >>> import numpy as np, lamina as lm
    >>> lm.lax.linalg.tridiagonal_solve(np.array([0.0, 1]), np.array([2.0, 2]), np.array([1.0, 0]), np.array([[3.0], [3]]))
    array([[1.],
           [1.]])
    """
    below, diagonal, above, right = (lnp.asarray(v) for v in (dl, d, du, b))
    n = diagonal.shape[-1] if diagonal.ndim else 0
    if perturb_singular or not below.shape == diagonal.shape == above.shape or right.shape[:-1] != diagonal.shape:
        shown = ", ".join(str(list(v.shape)) for v in (below, diagonal, above, right))
        raise ShapeError(f"tridiagonal_solve needs three diagonals of one shape [..., n] and [..., n, k], got {shown}")
    if not n:
        return right
    columns = [lnp.moveaxis(v, -1, 0) for v in (below, diagonal, above)]
    rows = lnp.moveaxis(right, -2, 0)
    wide = [v[..., None] for v in columns]
    zero = lnp.zeros_like(wide[0][0])

    def eliminate(row: Any, following: Any) -> Any:
        p, q, y = row  # the rest of a row: its pivot, its neighbour, its right side
        low, middle, high, other = following
        turn = abs(low) > abs(p)
        first = [lnp.where(turn, u, v) for u, v in ((low, p), (middle, q), (high, zero), (other, y))]
        second = [lnp.where(turn, v, u) for u, v in ((low, p), (middle, q), (high, zero), (other, y))]
        factor = second[0] / first[0]
        left = [u - factor * v for u, v in zip(second[1:], first[1:], strict=True)]
        return tuple(left), tuple(first)

    start = (wide[1][0], wide[2][0], rows[0])
    last, done = scan(eliminate, start, (wide[0][1:], wide[1][1:], wide[2][1:], rows[1:]))
    x = last[2] / last[0]

    def substitute(known: Any, row: Any) -> Any:
        p, q, r, y = row
        value = (y - q * known[0] - r * known[1]) / p
        return (value, known[0]), value

    _, found = scan(substitute, (x, lnp.zeros_like(x)), done, reverse=True)
    return lnp.moveaxis(lnp.concatenate([found, x[None]]), 0, -2)

"""lamina.scipy.linalg: functions with other arguments or defaults than those of `lamina.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ....api import array_function
from ....library.linalg import namespace as linalg
from ....library.linalg.factors import from_triangle
from ....library.numpy import namespace as lnp

_from_triangle = array_function(from_triangle)

_HINTS = {"overwrite_a", "overwrite_b", "check_finite", "debug", "turbo", "lapack_driver", "lwork"}


def _hinted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes SciPy's hints by name, and leaves them out."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{name: value for name, value in kwargs.items() if name not in _HINTS})

    return call


inv, det, svd, lu, lu_factor = map(_hinted, (linalg.inv, linalg.det, linalg.svd, linalg.lu, linalg.lu_factor))
lu_solve, cho_factor, cho_solve = map(_hinted, (linalg.lu_solve, linalg.cho_factor, linalg.cho_solve))
solve_triangular, expm = _hinted(linalg.solve_triangular), _hinted(linalg.expm)


@_hinted
def cholesky(a: Any, lower: bool = False) -> Any:
    """`scipy.linalg.cholesky`: the upper triangular `U` with `U^H U = a`, or with `lower` its adjoint.

    Of `a` the upper triangle is read, with `lower` the lower one.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 1.],
           [0., 2.]])
    """
    return linalg.cho_factor(a, lower)[0]


@_hinted
def solve(a: Any, b: Any, lower: bool = False, *, assume_a: str = "gen") -> Any:
    """`scipy.linalg.solve`: the solution of `a x = b`; with `assume_a` "pos" by Cholesky's method, from the upper triangle or
    the `lower` one.

    Raises:
        ValueError: another `assume_a` than gen, general, sym, symmetric, her, hermitian, pos, positive definite.
    """
    if assume_a in ("pos", "positive definite"):
        return linalg.cho_solve(linalg.cho_factor(a, lower), b)
    if assume_a in ("sym", "symmetric", "her", "hermitian"):
        return linalg.solve(_from_triangle(a, lower, assume_a.startswith("her")), b)
    if assume_a not in ("gen", "general"):
        raise ValueError(f"assume_a must be gen, sym, her or pos, got {assume_a!r}")
    return linalg.solve(a, b)


@_hinted
def qr(a: Any, *, mode: str = "full", pivoting: bool = False) -> Any:
    """`scipy.linalg.qr`: `Q, R` with all columns of `Q`, with mode "economic" as many as `a` has, or with "r" the tuple `(R,)`.

    Raises:
        ValueError: another mode, or `pivoting`, which there is not.
    """
    modes = {"full": "complete", "economic": "reduced", "r": "complete"}
    if mode not in modes or pivoting:
        raise ValueError(f"qr takes mode 'full', 'economic' or 'r' and pivoting=False, got {mode!r}, pivoting={pivoting}")
    q, r = linalg.qr(a, modes[mode])
    return (r,) if mode == "r" else (q, r)


@_hinted
def qr_multiply(a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False) -> Any:
    """`scipy.linalg.qr_multiply`: `c @ Q` and `R`, or with mode "left" `Q @ c`, of `Q` with as many columns as `R` has rows.

    A vector `c` is a row, or with mode "left" a column. With `conjugate` it is the conjugate of `Q`.

    Raises:
        ValueError: another mode, or `pivoting`, which there is not.

    >>> import numpy as np, lamina as lm
    >>> a, b = np.array([[3.0, 0], [4, 5]]), np.array([1.0, 2])
    >>> found, r = lm.scipy.linalg.qr_multiply(a, b)
    >>> np.allclose(lm.linalg.solve_triangular(r, found), np.linalg.solve(a, b))
    True
    """
    if mode not in ("left", "right") or pivoting:
        raise ValueError(f"qr_multiply takes mode 'left' or 'right' and pivoting=False, got {mode!r}, pivoting={pivoting}")
    q, r = linalg.qr(a)
    q = lnp.conj(q) if conjugate else q
    return (lnp.matmul(q, c) if mode == "left" else lnp.matmul(c, q)), r


@_hinted
def eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, eigvals: Any = None, type: int = 1) -> Any:
    """`scipy.linalg.eigh`: eigenvalues, ascending, and eigenvectors of the matrix given by its lower triangle, or the upper
    one.

    With a positive definite `b`, of the generalized problem, by Cholesky's factor `L` of `b` (Golub and Van Loan, Matrix
    Computations, 8.7): with type 1 of `a v = w b v`, with 2 of `a b v = w v`, with 3 of `b a v = w v`. The vectors are such
    that `v^H b v = 1`, with type 3 that `v^H b^-1 v = 1`.

    Args:
        a: Hermitian, `tensor[..., n, n]`, a float or complex type.
        b: positive definite, as `a`; the identity if None.
        eigvals: the first and last of the values to return, counted from 0; all if None.

    Raises:
        ValueError: another `type` than 1, 2, 3, or `eigvals` that are not two numbers from 0 to n - 1 in their order.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.linalg.eigh(np.diag([8.0, 3.0]), np.diag([2.0, 3.0]), eigvals_only=True)
    array([1., 4.])
    """
    if type not in (1, 2, 3):
        raise ValueError(f"eigh takes type 1, 2 or 3, got {type!r}")
    chosen = _chosen(eigvals, lnp.shape(a)[-1])
    if b is None:
        values, vectors = linalg.eigh(a, UPLO="L" if lower else "U")
    else:
        factor = linalg.cholesky(_from_triangle(b, lower), symmetrize_input=False)
        values, vectors = linalg.eigh(_standard(_from_triangle(a, lower), factor, is_divided=type == 1))
        vectors = factor @ vectors if type == 3 else linalg.solve_triangular(factor, vectors, "C", lower=True)
    return values[..., chosen] if eigvals_only else (values[..., chosen], vectors[..., chosen])


def _chosen(eigvals: Any, n: int) -> slice:
    """The eigenvalues from a first to a last one."""
    if eigvals is None:
        return slice(None)
    first, last = eigvals
    if not 0 <= first <= last < n:
        raise ValueError(f"eigvals must be the first and the last of 0 to {n - 1}, got {eigvals!r}")
    return slice(first, last + 1)


def _standard(a: Any, factor: Any, is_divided: bool) -> Any:
    """`L^-1 a L^-H`, or `L^H a L`: the Hermitian matrix with the eigenvalues of a problem with `b = L L^H`."""
    if not is_divided:
        return lnp.conj(lnp.matrix_transpose(factor)) @ a @ factor
    half = linalg.solve_triangular(factor, a, lower=True)
    return linalg.solve_triangular(factor, lnp.conj(lnp.matrix_transpose(half)), lower=True)

"""`lamina.linalg`: Schur's form, and by it, column by column, square roots and the solution of Sylvester's equation.

An equation of matrices becomes one of triangular matrices by Schur's form of its coefficients, whose columns are triangular
systems, one after the other (Bartels and Stewart, 1972). Derivatives are those of the equation: eigenvalues may coincide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...api import array_function, lift
from ...api.errors import ShapeError
from ...api.functions import custom_jvp, custom_linear_solve, fori_loop, jit, stop_gradient
from ..numpy import namespace as lnp
from ..numpy.create import counting
from .factors import eigh, eigvalsh, inv, matrices, several, triangular


class SchurResult(NamedTuple):
    """The result of `schur`: `a = Z T Z^H`."""

    T: Any
    Z: Any


def _complex(x: Any) -> Any:
    """The same numbers as complex ones of their precision."""
    return x.astype(np.result_type(x.dtype, np.complex64))


@array_function
def schur(a: Any, output: str = "real") -> Any:
    """`scipy.linalg.schur`: `T, Z` with `a = Z T Z^H`, `Z` unitary and `T` upper triangular, by implicit QR steps (Francis).

    The `T` of real matrices has blocks of 2x2 for pairs of complex eigenvalues, with equal elements on their diagonal; with
    `output="complex"` it is complex and has none. The order of eigenvalues depends on rounding. NaN and infinities give NaN.
    There is no derivative, as in jax. About `25 * n**3` flops.

    Raises:
        ShapeError: no square matrices, or another output.

    >>> import lamina as lm, numpy as np
    >>> lm.linalg.schur(np.float64([[2, 1], [0, 3]])).T
    array([[2., 1.],
           [0., 3.]])
    """
    if output not in ("real", "r", "complex", "c"):
        raise ShapeError(f"the output of schur must be 'real' or 'complex', got {output!r}")
    x = matrices(a, "schur", square=True)
    x = lift(_complex(x)) if output[0] == "c" else x
    return SchurResult(*several("schur", x, form="triangular"))


@array_function
def hessenberg(a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """`scipy.linalg.hessenberg`: `H` of zeros below the first subdiagonal, with `calc_q` the pair `H, Q`, `a = Q H Q^H`.

    By Householder's reflectors: `14 / 3 * n**3` flops. There is no derivative.

    Raises:
        ShapeError: no square matrices.

    >>> import lamina as lm, numpy as np
    >>> abs(lm.linalg.hessenberg(np.float64([[1, 3, 4], [3, 0, 0], [4, 0, 0]]))).round(6)
    array([[1., 5., 0.],
           [5., 0., 0.],
           [0., 0., 0.]])
    """
    h, q = several("schur", matrices(a, "hessenberg", square=True), form="hessenberg")
    return (h, q) if calc_q else h


@array_function
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> Any:
    """`scipy.linalg.rsf2csf`: the complex Schur form of the matrices that a real one, `T` and `Z`, belongs to."""
    t, q = schur(T, "complex")
    return SchurResult(t, lnp.matmul(_complex(lift(Z)), q))


# --------------------------------------------------------------------------------------------------------------------
# Column by column


def _columns(
    x: Any, matrix: Callable[..., Any], right: Callable[..., Any], first: int = 0, residue: float | None = None
) -> Any:
    """Columns `j` of `x` one after the other: the solution of `matrix(j, x) y = right(j, x)`, of upper triangular matrices.

    With `first=1` only rows above the diagonal of `x` are unknown. A zero on the diagonal then leaves what its row has on the
    right side, or `residue` where that is not 0.
    """
    if 0 in x.shape:
        return x
    n = x.shape[-2]
    rows, one = counting(n), lnp.eye(n, dtype=bool)

    def step(j: Any, x: Any) -> Any:
        a, y = matrix(j, x), right(j, x)
        if not first:
            return x.at[..., j].set(triangular(lift(a), lift(y[..., None]), lower=False)[..., 0])
        known, zero = rows >= j, lnp.diagonal(a, 0, -2, -1) == 0
        a = lnp.where(one & (known | zero)[..., None, :], 1, a)
        y = triangular(lift(a), lift(lnp.where(known, 0, y)[..., None]), lower=False)[..., 0]
        if residue is not None:
            y = lnp.where(zero & ~known & (y != 0), residue, y)
        return x.at[..., j].set(lnp.where(known, x[..., j], y))

    return fori_loop(first, x.shape[-1], step, x)


def _moved(a: Any, by: Any) -> Any:
    """Matrices with numbers added to their diagonals."""
    return a + by[..., None, None] * lnp.eye(a.shape[-1], dtype=a.dtype)


def _adjoint(a: Any) -> Any:
    return lnp.matrix_transpose(lnp.conj(a) if a.dtype.kind == "c" else a)


def _on_diagonal(values: Any) -> Any:
    return values[..., None] * lnp.eye(values.shape[-1], dtype=values.dtype)


@jit
def _root(t: Any) -> Any:
    """The square roots of upper triangular matrices: x_ii x_ij + x_ij x_jj + the terms between = t_ij."""
    roots = lnp.sqrt(lnp.diagonal(t, 0, -2, -1))
    return _columns(_on_diagonal(roots), lambda j, x: _moved(x, roots[..., j]), lambda j, x: t[..., j], 1, np.nan)


@custom_jvp
def _sqrtm(a: Any) -> Any:
    t, z = schur(a, "complex")
    return lnp.matmul(lnp.matmul(z, _root(t)), _adjoint(z))


@_sqrtm.defjvp
def _(primals: Any, tangents: Any) -> Any:
    x = _sqrtm(*primals)
    return x, _sylvester(x, x, _complex(tangents[0]))


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """`scipy.linalg.sqrtm`: the principal square root, complex as in jax: by Schur's form (Bjorck and Hammarling, 1983).

    The result is NaN for a matrix without a square root. The derivative is the solution of Sylvester's equation. About `29 *
    n**3` complex flops.

    Raises:
        ShapeError: no square matrices.

    >>> import lamina as lm, numpy as np
    >>> lm.linalg.sqrtm(np.float64([[4, 1], [0, 9]])).real
    array([[2. , 0.2],
           [0. , 3. ]])
    """
    return _sqrtm(matrices_of(A, "sqrtm"))


def matrices_of(x: Any, what: str) -> Any:
    """An operand as square matrices of floats."""
    x = lnp.asarray(x)
    x = x if lnp.issubdtype(x.dtype, lnp.inexact) else x.astype(float)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{what} needs square matrices, the last two dims, got shape {list(x.shape)}")
    return x


@jit
def _by_parlett(t: Any, values: Any) -> Any:
    """A function of upper triangular matrices from its values on the diagonal: `f(t) t = t f(t)`, column by column."""

    def right(j: Any, f: Any) -> Any:
        return lnp.matmul(f, t[..., j, None])[..., 0] - t[..., j] * values[..., j, None]

    return _columns(_on_diagonal(values), lambda j, f: _moved(t, -t[..., j, j]), right, 1)


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """`scipy.linalg.funm`: a function of matrices, by Parlett's recurrence on Schur's form; complex, as in jax.

    Distinct eigenvalues are needed, and those close to each other cost digits: Golub and Van Loan, Matrix Computations, 9.1.

    Args:
        func: the function of the eigenvalues, complex numbers.
        disp: False returns a pair, of the result and an estimate of its relative error, the 1-norm.

    Raises:
        ShapeError: no square matrices.

    >>> import lamina as lm, lamina.numpy as lnp, numpy as np
    >>> lm.linalg.funm(np.float64([[1, 3], [0, 4]]), lambda x: x * x).real
    array([[ 1., 15.],
           [ 0., 16.]])
    """
    t, z = schur(matrices_of(A, "funm"), "complex")
    values = lnp.diagonal(t, 0, -2, -1)
    found = _by_parlett(t, lnp.asarray(func(values)).astype(t.dtype))
    y = lnp.matmul(lnp.matmul(z, found), _adjoint(z))
    if disp:
        return y
    gaps = lnp.abs(values[..., :, None] - values[..., None, :]) + lnp.where(lnp.eye(t.shape[-1], dtype=bool), np.inf, 0)
    least = lnp.min(gaps, (-2, -1), initial=1.0)
    upper = lnp.linalg.norm(lnp.triu(t, 1), 1, (-2, -1))
    eps = np.finfo(t.dtype).eps
    return y, lnp.minimum(1, lnp.maximum(eps, eps / lnp.where(least == 0, eps, least) * upper))


# --------------------------------------------------------------------------------------------------------------------
# Linear equations of matrices

_Form = tuple[Any, Any]


def _form(a: Any) -> _Form:
    """Schur's form of coefficients, which carry no derivative there: the derivative is that of the equation."""
    return tuple(schur(stop_gradient(a), "complex"))


@jit
def _bartels_stewart(a: _Form, b: _Form, q: Any) -> Any:
    """`a x + x b = q`, of Schur's forms."""
    (r, u), (s, v) = a, b
    f = lnp.matmul(lnp.matmul(_adjoint(u), q), v)

    def right(j: Any, y: Any) -> Any:
        return f[..., j] - lnp.matmul(y, s[..., j, None])[..., 0]

    y = _columns(lnp.zeros_like(f), lambda j, y: _moved(r, s[..., j, j]), right)
    return lnp.matmul(lnp.matmul(u, y), _adjoint(v))


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    forms = _form(a), _form(b)

    def solver(first: _Form, second: _Form) -> Callable[[Any, Any], Any]:
        def solve(_: Any, right: Any) -> Any:
            x = _bartels_stewart(first, second, _complex(right))
            return x if lnp.iscomplexobj(right) else x.real

        return solve

    def back(f: Any, right: Any) -> Any:  # a^T y + y b^T = q is b z + z a = q^T of its transpose
        return lnp.matrix_transpose(solver(forms[1], forms[0])(f, lnp.matrix_transpose(right)))

    return custom_linear_solve(lambda x: lnp.matmul(a, x) + lnp.matmul(x, b), q, solver(*forms), back)


def _common(what: str, *operands: Any) -> list[Any]:
    """Operands as floats of one dtype, and of one batch; the last one is the right side."""
    *coefficients, right = operands
    xs = [matrices_of(x, what) for x in coefficients] + [lnp.asarray(right)]
    dtype = np.result_type(*(x.dtype for x in xs), np.float32)
    if xs[-1].shape[-2:] != (xs[0].shape[-1], xs[-2].shape[-1]):
        raise ShapeError(f"{what} needs a right side of its shape, got {', '.join(str(list(x.shape)) for x in xs)}")
    lead = lnp.broadcast_shapes(*(x.shape[:-2] for x in xs))
    return [lnp.broadcast_to(x.astype(dtype), (*lead, *x.shape[-2:])) for x in xs]


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """`scipy.linalg.solve_sylvester`: the `x` with `a x + x b = q`, by Schur's forms of both (Bartels and Stewart, 1972).

    Where an eigenvalue of `a` is the negative of one of `b` there are infinities or NaN.

    Args:
        a, b: [..., m, m] and [..., n, n].
        q: [..., m, n].

    Raises:
        ShapeError: shapes that do not go together.

    >>> import lamina as lm, numpy as np
    >>> lm.linalg.solve_sylvester(np.float64([[1, 0], [0, 2]]), np.float64([[3]]), np.float64([[4], [10]]))
    array([[1.],
           [2.]])
    """
    return _sylvester(*_common("solve_sylvester", a, b, q))


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """`scipy.linalg.solve_continuous_lyapunov`: the `x` with `a x + x a^H = q`.

    >>> import lamina as lm, numpy as np
    >>> lm.linalg.solve_continuous_lyapunov(np.float64([[2]]), np.float64([[8]]))
    array([[2.]])
    """
    x = matrices_of(a, "solve_continuous_lyapunov")
    return solve_sylvester(x, _adjoint(x), q)


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """`scipy.linalg.solve_discrete_lyapunov`: the `x` with `a x a^H - x + q = 0`, by the bilinear map to a continuous equation.

    An eigenvalue -1 of `a` gives infinities or NaN. `method` is ignored.

    >>> import lamina as lm, numpy as np
    >>> lm.linalg.solve_discrete_lyapunov(np.float64([[0.5]]), np.float64([[3]]))
    array([[4.]])
    """
    a, _, q = _common("solve_discrete_lyapunov", a, a, q)
    one = lnp.eye(a.shape[-1], dtype=a.dtype)
    turned = _adjoint(a)
    back = inv(turned + one)
    b = lnp.matmul(turned - one, back)
    c = 2 * lnp.matmul(lnp.matmul(inv(a + one), q), back)
    return solve_sylvester(_adjoint(b), b, -c)


# --------------------------------------------------------------------------------------------------------------------
# Tridiagonal matrices


@array_function
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[int, int] | None = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """`scipy.linalg.eigh_tridiagonal`: eigenvalues, and vectors, of symmetric matrices with the diagonal `d` and `e` beside it.

    By `eigh` of the whole matrices, which has no rows to reduce: about `9 * n**3` flops and `n**2` memory.

    Args:
        d, e: [..., n] and [..., n - 1]; real, or `e` complex: the elements above the diagonal are its conjugates.
        eigvals_only: without vectors.
        select: "a" for all, "i" for those with the indices from `select_range[0]` to `select_range[1]`, both included.

    Raises:
        ShapeError: sizes that do not go together, or another selection.

    >>> import lamina as lm, numpy as np
    >>> lm.linalg.eigh_tridiagonal(np.float64([2, 2]), np.float64([1]), eigvals_only=True).round(6)
    array([1., 3.])
    """
    if select not in ("a", "i") or (select == "i" and select_range is None):
        raise ShapeError(f"eigh_tridiagonal selects 'a', or 'i' with a range of indices, got {select!r} and {select_range}")
    diagonal, beside = lnp.asarray(d), lnp.asarray(e)
    n = diagonal.shape[-1]
    if n < 1 or beside.shape != (*diagonal.shape[:-1], n - 1):
        raise ShapeError(f"eigh_tridiagonal needs n and n - 1 elements, got {list(diagonal.shape)} and {list(beside.shape)}")
    at, below = counting(n), counting(n - 1) + 1
    x = lnp.zeros((*diagonal.shape, n), np.result_type(diagonal.dtype, beside.dtype))
    x = x.at[..., at, at].set(diagonal).at[..., below, below - 1].set(beside).at[..., below - 1, below].set(lnp.conj(beside))
    first, last = (0, n - 1) if select == "a" or select_range is None else select_range
    if eigvals_only:
        return eigvalsh(x)[..., first : last + 1]
    w, v = eigh(x)
    return w[..., first : last + 1], v[..., first : last + 1]


def eigvalsh_tridiagonal(d: Any, e: Any, select: str = "a", select_range: tuple[int, int] | None = None, **options: Any) -> Any:
    """`scipy.linalg.eigvalsh_tridiagonal`: the eigenvalues of `eigh_tridiagonal`."""
    return eigh_tridiagonal(d, e, True, select, select_range, **options)

"""Iterative solvers of linear equations, of trees and of functions: `cg`, `bicgstab` and `gmres`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...api.functions import custom_linear_solve, fori_loop, while_loop
from ...api.trees import flatten
from ...api.trees import map as tree_map
from ..numpy import namespace as lnp
from .factors import lstsq
from .ravel import ravel_pytree


def _apply(A: Any) -> Callable[[Any], Any]:
    """A linear function, or a matrix, as a function."""
    return A if callable(A) else lambda x: lnp.matmul(A, x)


def _dot(x: Any, y: Any) -> Any:
    """The sum of the products of all elements of two trees, those of the first conjugated; its real part."""
    pairs = zip(flatten(x)[0], flatten(y)[0], strict=True)
    total: Any = 0
    for a, b in pairs:
        total = total + lnp.real(lnp.vdot(a, b))
    return total


def _add(x: Any, y: Any, by: Any = 1) -> Any:
    """`x + by * y` of two trees."""
    return tree_map(lambda a, b: a + by * b, x, y)


def _iterative(
    kind: str, run: Callable[..., Any], A: Any, b: Any, x0: Any, tol: float, atol: float, maxiter: int | None, M: Any
) -> tuple[Any, None]:
    """Solve by a method that stops where the residual is at most `max(tol * norm(b), atol)`, as scipy's solvers do."""
    symmetric = kind == "cg"
    b = tree_map(lambda leaf: lnp.asarray(leaf) * 1.0, b)
    x0 = tree_map(lnp.zeros_like, b) if x0 is None else x0
    if flatten(x0)[1] != flatten(b)[1] or [lnp.shape(x) for x in flatten(x0)[0]] != [lnp.shape(x) for x in flatten(b)[0]]:
        raise ValueError(f"{kind}() needs x0 of the structure and shapes of b")
    x0 = tree_map(lambda x, like: x + lnp.zeros_like(like), x0, b)
    size = 0
    for leaf in flatten(b)[0]:
        size = size + leaf.size
    most = 10 * size if maxiter is None else maxiter
    precondition = (lambda x: x) if M is None else _apply(M)

    def solve_from(x: Any) -> Callable[[Callable[[Any], Any], Any], Any]:
        def solve(function: Callable[[Any], Any], right: Any) -> Any:
            least = lnp.maximum(tol**2 * _dot(right, right), atol**2)
            return run(function, right, tree_map(lnp.zeros_like, right) if x is None else x, least, most, precondition)

        return solve

    back = solve_from(None)
    return custom_linear_solve(_apply(A), b, solve_from(x0), back if not symmetric else None, symmetric), None


def _conjugate_gradients(A: Any, b: Any, x0: Any, least: Any, most: Any, M: Any) -> Any:
    def goes_on(value: Any) -> Any:
        _, r, _, _, k = value
        return (_dot(r, r) > least) & (k < most)

    def step(value: Any) -> Any:
        x, r, gamma, p, k = value
        Ap = A(p)
        alpha = gamma / _dot(p, Ap)
        x, r = _add(x, p, alpha), _add(r, Ap, -alpha)
        z = M(r)
        following = _dot(r, z)
        return x, r, following, _add(z, p, following / gamma), k + 1

    r = _add(b, A(x0), -1)
    z = M(r)
    return while_loop(goes_on, step, (x0, r, _dot(r, z), z, 0))[0]


def _stabilized(A: Any, b: Any, x0: Any, least: Any, most: Any, M: Any) -> Any:
    def goes_on(value: Any) -> Any:
        _, r, *_, k = value
        return (_dot(r, r) > least) & (k < most) & (k >= 0)

    def step(value: Any) -> Any:
        x, r, shadow, alpha, omega, rho, p, q, k = value
        following = _dot(shadow, r)
        p = _add(r, _add(p, q, -omega), following / rho * alpha / omega)
        p_hat = M(p)
        q = A(p_hat)
        alpha = following / _dot(shadow, q)
        s = _add(r, q, -alpha)
        s_hat = M(s)
        t = A(s_hat)
        omega = _dot(t, s) / _dot(t, t)
        done = _dot(s, s) < least
        x = tree_map(lambda u, v: lnp.where(done, u, v), _add(x, p_hat, alpha), _add(_add(x, p_hat, alpha), s_hat, omega))
        r = tree_map(lambda u, v: lnp.where(done, u, v), s, _add(s, t, -omega))
        broke = (~done) & ((omega == 0) | (alpha == 0) | (following == 0))
        return x, r, shadow, alpha, omega, following, p, q, lnp.where(broke, -11, k + 1)

    r = _add(b, A(x0), -1)
    one = _dot(r, r) * 0 + 1
    return while_loop(goes_on, step, (x0, r, r, one, one, one, r, tree_map(lnp.zeros_like, r), 0))[0]


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """`A x = b` of a symmetric positive definite `A` by conjugate gradients (Hestenes and Stiefel, 1952).

    Args:
        A: a linear function of trees, or a matrix.
        b: a tree of arrays.
        x0: where to begin, zeros by default.
        tol, atol: it stops where the norm of the residual is at most `max(tol * norm(b), atol)`.
        maxiter: iterations at most, by default ten times as many as `b` has elements.
        M: an approximate inverse of `A`, symmetric and positive definite, too.

    Returns:
        The solution, and None, as `jax.scipy.sparse.linalg.cg`. Its gradient solves one more equation.

    >>> import lamina as lm, numpy as np
    >>> x, _ = lm.linalg.cg(np.float64([[4, 1], [1, 3]]), np.float64([1, 2]))
    >>> x.round(6)
    array([0.090909, 0.636364])
    """
    return _iterative("cg", _conjugate_gradients, A, b, x0, tol, atol, maxiter, M)


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """`A x = b` of any invertible `A` by stabilized biconjugate gradients (van der Vorst, 1992); else as `cg`.

    >>> import lamina as lm, numpy as np
    >>> x, _ = lm.linalg.bicgstab(np.float64([[4, 1], [2, 3]]), np.float64([1, 2]))
    >>> x.round(6)
    array([0.1, 0.6])
    """
    return _iterative("bicgstab", _stabilized, A, b, x0, tol, atol, maxiter, M)


def _restarted(steps: int) -> Callable[..., Any]:
    """Cycles of `steps` steps of Arnoldi's process, orthogonalized twice, on the elements of all leaves as one vector."""

    def run(A: Any, b: Any, x0: Any, least: Any, most: Any, M: Any) -> Any:
        flat, back = ravel_pytree(b)
        n = min(steps, flat.size)

        def apply(v: Any) -> Any:
            return ravel_pytree(A(M(back(v))))[0]

        def cycle(value: Any) -> Any:
            x, r, k = value
            length = lnp.sqrt(lnp.real(lnp.vdot(r, r)))
            safe = lnp.where(length == 0, 1, length)
            basis = lnp.zeros((n + 1, flat.size), flat.dtype).at[0].set(r / safe)

            def step(j: Any, value: Any) -> Any:
                basis, h = value
                w = apply(basis[j])
                column = lnp.zeros(n + 1, flat.dtype)
                for _ in range(2):
                    part = lnp.conj(basis) @ w
                    w, column = w - part @ basis, column + part
                size = lnp.sqrt(lnp.real(lnp.vdot(w, w)))
                column = column.at[j + 1].set(size)
                w = lnp.where(size > 0, w / lnp.where(size > 0, size, 1), 0)
                return basis.at[j + 1].set(w), h.at[:, j].set(column)

            basis, h = fori_loop(0, n, step, (basis, lnp.zeros((n + 1, n), flat.dtype)))
            right = lnp.zeros(n + 1, flat.dtype).at[0].set(length)
            y = lstsq(h, right)[0]
            x = x + ravel_pytree(M(back(y @ basis[:n])))[0]
            return x, flat - ravel_pytree(A(back(x)))[0], k + 1

        def goes_on(value: Any) -> Any:
            _, r, k = value
            return (lnp.real(lnp.vdot(r, r)) > least) & (k < most)

        x = ravel_pytree(x0)[0].astype(flat.dtype)
        return back(while_loop(goes_on, cycle, (x, flat - ravel_pytree(A(back(x)))[0], 0))[0])

    return run


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, None]:
    """`A x = b` of any invertible `A` by minimal residuals (Saad and Schultz, 1986); else as `cg`.

    Args:
        maxiter: cycles of `restart` steps at most. `M` is applied from the right, so that residuals are those of the equation.
        solve_method: "batched" or "incremental", which makes no difference here.

    >>> import lamina as lm, numpy as np
    >>> x, _ = lm.linalg.gmres(np.float64([[4, 1], [2, 3]]), np.float64([1, 2]))
    >>> x.round(6)
    array([0.1, 0.6])
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"gmres() takes the solve_method 'batched' or 'incremental', got {solve_method!r}")
    return _iterative("gmres", _restarted(restart), A, b, x0, tol, atol, maxiter, M)

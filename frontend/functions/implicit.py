"""Values that equations define: `custom_root`, `custom_linear_solve`, and the solvers `cg`, `bicgstab` and `gmres`.

Derivatives are those of the equation, whatever steps a solver takes: `f(x(p), p) = 0` gives `df/dx x' = -df/dp p'`. The
derivative is with respect to the variables that the equation closes over, so these are made arguments first
(`closure_convert`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ..trace.array_functions import arrays as lnp
from ..trace.program import abstract, call_function, is_staging, staging, trace_function
from ..trace.promotion import is_inexact_dtype
from ..trace.pytree import flatten
from ..trace.pytree import map as tree_map
from .autodiff import function_name, jvp
from .conditional import while_loop
from .control import fori_loop
from .custom import BothModes, custom_jvp, custom_vjp
from .ravel import ravel_pytree
from .vjp import vjp

__all__ = ["bicgstab", "cg", "closure_convert", "custom_linear_solve", "custom_root", "gmres"]


def closure_convert(function: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A function that takes the traced floats that another one closes over after its arguments, and these values.

    Args:
        function: takes trees of arrays.
        example_args: trees of the shapes and dtypes of its arguments.

    >>> import lamina as lm
    >>> converted, values = lm.closure_convert(lambda x: x + 1, 2.0)
    >>> converted(3.0, *values), values
    (4.0, [])
    """
    count = len(example_args)
    if not is_staging():
        return lambda *args: function(*args[:count]), []
    trace = staging()
    assert trace.program is not None
    leaves, structure = flatten((example_args, {}))
    avals = [abstract(leaf)._replace(weak=False) for leaf in leaves]
    traced = trace_function(trace.program, function, structure, avals, name=function_name(function))
    places = [k for k, value in enumerate(traced.captured) if is_inexact_dtype(value.dtype)]

    def converted(*args: Any) -> Any:
        captured = list(traced.captured)
        for k, value in zip(places, args[count:], strict=True):
            captured[k] = value
        given = [staging().lift(leaf) for leaf in flatten(args[:count])[0]]
        return call_function(dataclasses.replace(traced, captured=captured), given)

    return converted, [traced.captured[k] for k in places]


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """A root of `f`, found by `solve(f, initial_guess)`, with the derivatives of the equation `f(x) = 0`.

    Args:
        f: takes and returns a tree; it may close over the variables of differentiation.
        solve: returns a root, with `has_aux` a pair of it and anything else; it need not be differentiable.
        tangent_solve: takes a linear function and a value, and returns what the function maps to it: `lambda g, y: y / g(1.0)`
            for numbers. Reverse mode transposes it.

    >>> import lamina as lm
    >>> def root(a):
    ...     newton = lambda f, x: lm.fori_loop(0, 20, lambda i, x: x - f(x) / (2 * x), x)
    ...     return lm.lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> lm.grad(root)(4.0)
    array(0.25)
    """
    converted, consts = closure_convert(f, initial_guess)

    @custom_jvp
    def root(guess: Any, consts: Sequence[Any]) -> Any:
        return solve(lambda x: converted(x, *consts), guess)

    @root.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (guess, consts), (_, moved) = primals, tangents
        found = root(guess, consts)
        x, *aux = found if has_aux else (found,)
        _, change = jvp(lambda *c: converted(x, *c), tuple(consts), tuple(moved))
        slope = tangent_solve(lambda v: jvp(lambda x: converted(x, *consts), (x,), (v,))[1], tree_map(lnp.negative, change))
        return found, (slope, *(tree_map(lnp.zeros_like, a) for a in aux)) if has_aux else slope

    return root(initial_guess, consts)


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution `x` of `matvec(x) = b`, found by `solve(matvec, b)`, with the derivatives of the equation.

    Args:
        matvec: a linear function of a tree to one like it; it may close over the variables of differentiation.
        solve: takes a linear function and a right side; with `has_aux` it returns a pair of the solution and anything else.
        transpose_solve: the same for the transpose of `matvec`. With it, or where `symmetric` says that `solve` serves, reverse
            mode solves the transposed equation; else it transposes the steps of `solve`. Forward mode solves one more equation.

    >>> import lamina as lm, lamina.numpy as lnp, numpy as np
    >>> a, b = np.float64([[4, 1], [1, 3]]), np.float64([1, 2])
    >>> lm.lax.custom_linear_solve(lambda x: a @ x, b, lambda f, b: lnp.linalg.solve(lm.jacfwd(f)(b), b), symmetric=True)
    array([0.09090909, 0.63636364])
    """
    converted, consts = closure_convert(matvec, b)
    ahead, fixed = _closed(solve, lambda x: converted(x, *consts), b)
    back, fixed_back = None, []
    if transpose_solve is not None and not symmetric:
        back, fixed_back = _closed(transpose_solve, lambda y: _transposed(converted, b, consts)(y), b)
    n = len(fixed)

    def found(b: Any, consts: Sequence[Any], values: Sequence[Any]) -> Any:
        return ahead(values[:n])(lambda x: converted(x, *consts), b)

    def value(found: Any) -> Any:
        return found[0] if has_aux else found

    forward = custom_jvp(found)

    @forward.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (b, consts, values), (b_dot, moved, _) = primals, tangents
        y = solved(b, consts, values)
        _, change = jvp(lambda *c: converted(value(y), *c), tuple(consts), tuple(moved))
        slope = solved(tree_map(lnp.subtract, b_dot, change), consts, values)
        return y, (value(slope), *(tree_map(lnp.zeros_like, a) for a in y[1:])) if has_aux else slope

    values = [*fixed, *fixed_back]
    if back is None and not symmetric:
        solved = forward
        return solved(b, consts, values)
    reverse = custom_vjp(found)
    solved = BothModes(forward, reverse)

    def keep(b: Any, consts: Sequence[Any], values: Sequence[Any]) -> Any:
        y = solved(b, consts, values)
        return y, (value(y), consts, values)

    def pull(kept: Any, given: Any) -> Any:
        x, consts, values = kept
        other = (lambda x: converted(x, *consts)) if symmetric else _transposed(converted, x, consts)
        first, second = ahead(values[:n]), None if back is None else back(values[n:])
        w = value(custom_linear_solve(other, value(given), second or first, first, symmetric, has_aux))
        _, of_consts = vjp(lambda *c: converted(x, *c), *consts)
        return w, [-slope for slope in of_consts(w)] if consts else [], None

    reverse.defvjp(keep, pull)
    return solved(b, consts, values)


def _transposed(converted: Callable[..., Any], x: Any, consts: Sequence[Any]) -> Callable[[Any], Any]:
    return lambda y: vjp(lambda x: converted(x, *consts), x)[1](y)[0]


def _closed(solve: Callable[..., Any], function: Callable[[Any], Any], b: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A solver as a function of the values it closes over, and these: derivatives are those of the equation alone."""
    if not is_staging() or staging().derivatives + staging().transposed <= 0:
        return lambda values: solve, []
    converted, values = closure_convert(lambda right: solve(function, right), b)
    return lambda values: lambda _, right: converted(right, *values), values


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
            y = lnp.linalg.lstsq(h, right)[0]
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

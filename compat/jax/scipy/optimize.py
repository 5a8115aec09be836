"""`lamina.scipy.optimize`: minimization without constraints by BFGS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ....api.errors import ShapeError
from ....api.functions import jit, value_and_grad, while_loop
from ....library.numpy import namespace as lnp
from ....names import public

__all__ = list(public("scipy.optimize"))

_SEARCH = 40
"""Steps of a line search at most."""


class OptimizeResults(NamedTuple):
    """The result of `minimize`.

    Attributes:
        x: the point.
        success: whether the slope there is below the tolerance.
        status: 0, or 1 where the iterations were too few, 3 where no step along the last direction made the function less.
        fun, jac, hess_inv: the function there, its gradient, and an estimate of the inverse of its second derivative.
        nfev, njev, nit: the numbers of evaluations of the function and its gradient, and of iterations.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _State(NamedTuple):
    x: Any
    value: Any
    slope: Any
    inverse: Any
    calls: Any
    iteration: Any
    is_stuck: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """`scipy.optimize.minimize` by BFGS (Nocedal and Wright, Numerical Optimization, 2006, chapter 6), as one program.

    A step is found by doubling and halving until it satisfies the weak Wolfe conditions (Lewis and Overton, 2013). It has no
    derivative in reverse; `lax.custom_root` of the gradient makes the minimum differentiable.

    Args:
        fun: a function of `x` and `args` to a number, made of functions that can be traced.
        x0: the start, `tensor[n]`.
        method: "BFGS".
        tol: how small the largest element of the gradient has to be; `gtol` of the options, 1e-5 by default.
        options: `gtol`, `maxiter` (200 times `n` by default), `norm` (infinity).

    Raises:
        ShapeError: another method or option, or `x0` is no vector.

    >>> import numpy as np, lamina as lm
    >>> r = lm.scipy.optimize.minimize(lambda x: ((x - 3.0) ** 2).sum(), np.zeros(2), method="BFGS")
    >>> r.x
    array([3., 3.])
    """
    if method.lower() != "bfgs":
        raise ShapeError(f'minimize has the method "BFGS", got {method!r}')
    chosen = {"gtol": 1e-5 if tol is None else tol, "maxiter": None, "norm": np.inf, **(options or {})}
    if len(chosen) > 3:
        raise ShapeError(f"minimize has the options gtol, maxiter and norm, got {', '.join(options or {})}")
    start = lnp.asarray(x0)
    if start.ndim != 1:
        raise ShapeError(f"minimize starts from a vector, got {list(start.shape)}: flatten it with lm.tree.ravel_pytree")
    if not lnp.issubdtype(start.dtype, lnp.floating):
        start = start.astype(float)
    limit = 200 * start.shape[0] if chosen["maxiter"] is None else chosen["maxiter"]
    return jit(lambda x, args: _bfgs(fun, x, args, chosen["gtol"], limit, chosen["norm"]))(start, tuple(args))


def _bfgs(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...], tolerance: float, limit: int, order: Any) -> Any:
    evaluate = value_and_grad(lambda x: fun(x, *args))
    value, slope = evaluate(x0)
    one = lnp.eye(x0.shape[0], dtype=x0.dtype)

    def is_done(state: _State) -> Any:
        return lnp.linalg.norm(state.slope, order) < tolerance

    def step(state: _State) -> _State:
        direction = -state.inverse @ state.slope
        found = _line_search(evaluate, state, direction)
        moved, turned = found.x - state.x, found.slope - state.slope
        along = turned @ moved
        rho = 1 / lnp.where(along > 0, along, 1.0).astype(x0.dtype)
        left = one - rho * lnp.outer(moved, turned)
        inverse = lnp.where(along > 0, left @ state.inverse @ left.T + rho * lnp.outer(moved, moved), state.inverse)
        return found._replace(inverse=inverse, iteration=state.iteration + 1)

    first = _State(x0, value, slope, one, lnp.asarray(1), lnp.asarray(0), lnp.asarray(False))
    last = while_loop(lambda s: ~is_done(s) & ~s.is_stuck & (s.iteration < limit), step, first)
    success = is_done(last)
    status = lnp.where(success, 0, lnp.where(last.is_stuck, 3, 1))
    return OptimizeResults(
        last.x, success, status, last.value, last.slope, last.inverse, last.calls, last.calls, last.iteration
    )


def _line_search(evaluate: Callable[[Any], Any], state: _State, direction: Any) -> _State:
    """The state after a step along a direction; stuck where none makes the function less."""
    descent = state.slope @ direction
    dtype = state.x.dtype

    def is_enough(t: Any, value: Any, slope: Any) -> tuple[Any, Any]:
        return value <= state.value + 1e-4 * t * descent, slope @ direction >= 0.9 * descent

    def trial(t: Any) -> tuple[Any, Any]:
        return evaluate(state.x + t * direction)

    def narrow(carry: Any) -> Any:
        low, high, t, value, slope, count = carry
        less, flat = is_enough(t, value, slope)
        high = lnp.where(less, high, t)
        low = lnp.where(less & ~flat, t, low)
        t = lnp.where(lnp.isfinite(high), (low + high) / 2, 2 * low).astype(dtype)
        return (low, high, t, *trial(t), count + 1)

    def goes_on(carry: Any) -> Any:
        _, _, t, value, slope, count = carry
        less, flat = is_enough(t, value, slope)
        return ~(less & flat) & (count < _SEARCH)

    one = lnp.ones((), dtype)
    start = (one * 0, one * np.inf, one, *trial(one), lnp.asarray(1))
    _, _, t, value, slope, count = while_loop(goes_on, narrow, start)
    is_less = value < state.value
    found = (state.x + t * direction, value, slope)
    before = (state.x, state.value, state.slope)
    x, value, slope = (lnp.where(is_less, a, b) for a, b in zip(found, before, strict=True))
    return state._replace(x=x, value=value, slope=slope, calls=state.calls + count, is_stuck=~is_less)

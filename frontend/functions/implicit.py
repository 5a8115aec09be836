"""Values that equations define: `custom_root` and `custom_linear_solve`.

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
from .custom import BothModes, custom_jvp, custom_vjp
from .vjp import vjp

__all__ = ["closure_convert", "custom_linear_solve", "custom_root"]


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

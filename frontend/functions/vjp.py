"""`vjp`, `linearize`: the value of a function and the map of cotangents back, or of tangents forward, both from one trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.graph.custom import has_reverse_rules
from ...errors import LaminaError
from ...runtime.arrays import plain
from ..run.jit import jit
from ..run.lowered import Lowered
from ..run.retrace import ARRAYS_ARE_ARGUMENTS
from ..trace.locations import located
from ..trace.program import Program, abstract, call_function, is_staging, staging, trace_function
from ..trace.promotion import is_inexact_dtype
from ..trace.pytree import TreeDef, flatten
from .autodiff import Point, differentiated, function_name, like, pull_back, push_forward, require_float, require_pair, trace_at


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the product of cotangents with its derivative.

    Args:
        fun: any function of trees of float arrays.
        primals: where to differentiate.
        has_aux: whether `fun` returns a pair of what is differentiated and any other tree.

    Returns:
        `(value, pull)` (or `(value, pull, aux)`): `pull(cotangent)` takes a tree like the value and returns a tuple with one
        gradient for each primal. The function is traced once, here; each `pull` computes it again. In a function under trace,
        as in `jit(pull)` and `vmap(pull)`, it is traced once more.

    >>> import numpy as np, lamina as lm
    >>> y, pull = lm.vjp(lambda x: x * x, np.float32([1, 2]))
    >>> pull(np.float32([1, 10]))
    (array([ 2., 40.], dtype=float32),)
    """
    try:
        if is_staging():
            point = trace_at(fun, primals, {}, "vjp")
            value, pull = _value(point), _Staged(point, has_aux)
        else:
            pull = _Pull(fun, primals, has_aux)
            point = pull.point
            value = pull.value
        if has_aux:
            require_pair(point, "vjp")
    except LaminaError as error:
        raise located(error) from None
    return (value[0], pull, value[1]) if has_aux else (value, pull)


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The halves of `vjp` as two functions, each of which is traced once.

    Args:
        fun: any function of trees of float arrays.
        argnums: which arguments to differentiate by.
        has_aux: whether `fun` returns a pair of what is differentiated and any other tree.
        jitted: whether to `jit` both.

    Returns:
        `forward(*args)` returns `(value, residuals)`, or `(value, residuals, aux)`; `backward(residuals, cotangent)` a tuple of
        gradients by `argnums`. The residuals are the arguments: as `vjp` does, `backward` computes the function again.

    >>> import numpy as np, lamina as lm
    >>> forward, backward = lm.fwd_and_bwd(lambda x, w: x * w, argnums=(0, 1))
    >>> y, residuals = forward(np.float32(2), np.float32(3))
    >>> backward(residuals, np.float32(1))
    (array(3., dtype=float32), array(2., dtype=float32))
    """
    wanted = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def forward(*args: Any) -> Any:
        value = fun(*args)
        return (value[0], args, value[1]) if has_aux else (value, args)

    def backward(residuals: Any, cotangent: Any) -> Any:
        def of_wanted(*given: Any) -> Any:
            args = list(residuals)
            for k, x in zip(wanted, given, strict=True):
                args[k] = x
            return fun(*args)

        return vjp(of_wanted, *(residuals[k] for k in wanted), has_aux=has_aux)[1](cotangent)

    return (jit(forward), jit(backward)) if jitted else (forward, backward)


def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a linear function: takes a tree like its value, and returns a tuple with one for each primal.

    Args:
        fun: linear in all of its arguments together.
        primals: trees of arrays, or `ShapeDtypeStruct`, whose shapes and dtypes count alone.

    >>> import lamina as lm, numpy as np
    >>> lm.linear_transpose(lambda x: 3 * x, np.float64(0))(np.float64(2))
    (array(6.),)
    """
    leaves, structure = flatten(primals)
    zeros = structure.unflatten([np.zeros(a.shape, a.dtype) for a in map(abstract, leaves)])
    return vjp(fun, *zeros)[1]


def _value(point: Point) -> Any:
    """The result of a function that is differentiated in reverse: of the forward rules of those it calls that have one."""
    wrt = [k for k, aval in enumerate(point.traced.avals) if is_inexact_dtype(aval.dtype)]
    if not wrt or not has_reverse_rules(point.traced.op):
        return call_function(point.traced, point.leaves)
    return point.traced.out_structure.unflatten(pull_back(point, wrt, {})[0])


def _pulled(point: Point, cotangent: Any, has_aux: bool) -> Any:
    """The gradients by all leaves, as ops of the current trace."""
    args = point.traced.structure.children[0]
    wrt = differentiated(args, point.traced.avals)
    require_float(point, wrt, "vjp")
    structure = point.traced.out_structure.children[0] if has_aux else point.traced.out_structure
    leaves = like(cotangent, structure, point.traced.out_avals[: structure.num_leaves], "vjp cotangent")
    _, gradients = pull_back(point, wrt, dict(enumerate(leaves)))
    by_leaf = dict(zip(wrt, gradients, strict=True))
    return args.unflatten(by_leaf.get(k) for k in range(args.num_leaves))


class _Staged:
    """Pulls in a function under trace."""

    def __init__(self, point: Point, has_aux: bool):
        self.point, self.has_aux = point, has_aux

    def __call__(self, cotangent: Any) -> Any:
        leaves = [staging().lift(x) for x in self.point.leaves]
        return _pulled(dataclasses.replace(self.point, leaves=leaves), cotangent, self.has_aux)


class _Eager:
    """A derivative on arrays: the program holds the function, and one `@main` after the other that uses it."""

    point: Point
    what: str
    derivative: Callable[[Point, Any, bool], Any]
    """The result of a call for its cotangent or tangents, as ops of the current trace."""

    @staticmethod
    def value_at(point: Point) -> Any:
        """The value of the function, as ops of the current trace."""
        return call_function(point.traced, point.leaves)

    def __init__(self, function: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool):
        self.function, self.name, self.has_aux = function, function_name(function), has_aux
        self.program = Program(ARRAYS_ARE_ARGUMENTS)
        self.runners: dict[Any, Any] = {}
        leaves, structure = flatten((primals, {}))
        avals = [abstract(leaf) for leaf in leaves]
        self.primals = [plain(np.array(x, aval.dtype), aval.dtype) for x, aval in zip(leaves, avals, strict=True)]
        self.flat = flatten(((*leaves,), {}))[1], tuple(avals)
        self.structure = structure

        def main(*given: Any) -> Any:
            args, kwargs = structure.unflatten(given)
            self.point = trace_at(function, args, kwargs, self.what)
            return self.value_at(self.point)

        self.value = self._runner(main, *self.flat, known=self.primals)(self.primals)

    def run(self, vectors: Any) -> Any:
        """The result of a call on arrays."""
        try:
            if is_staging():  # in another function under trace, as jit(pull) is
                args, kwargs = self.structure.unflatten(self.primals)
                return self.derivative(trace_at(self.function, args, kwargs, self.what), vectors, self.has_aux)
            leaves, structure = flatten(vectors)
            avals = tuple([abstract(leaf, f"argument of what {self.what} gave") for leaf in leaves])
            key = structure, avals
            if key not in self.runners:
                self.runners[key] = self._vector_runner(structure, avals)
            given = [plain(np.asarray(x, a.dtype), a.dtype) for x, a in zip(leaves, avals, strict=True)]
            return self.runners[key]([*self.primals, *given])
        except LaminaError as error:
            raise located(error) from None

    def _vector_runner(self, structure: TreeDef, avals: tuple[Any, ...]) -> Any:
        n = len(self.primals)

        def main(*given: Any) -> Any:
            point = dataclasses.replace(self.point, leaves=list(given[:n]))
            return self.derivative(point, structure.unflatten(given[n:]), self.has_aux)

        flat = flatten((((0,) * (n + len(avals))), {}))[1]
        return self._runner(main, flat, (*self.flat[1], *avals))

    def _runner(self, main: Callable[..., Any], structure: TreeDef, avals: tuple[Any, ...], known: Sequence[Any] = ()) -> Any:
        names = [f"arg{k}" for k in range(len(avals))]
        traced = trace_function(self.program, main, structure, avals, name="main", paths=names, public=True, known=known)
        try:
            return Lowered(self.program, traced, self.name, names).runner()
        finally:
            self.program.remove(traced)


class _Pull(_Eager):
    """The pull of `vjp`."""

    what, derivative, value_at = "vjp", staticmethod(_pulled), staticmethod(_value)

    def __call__(self, cotangent: Any) -> Any:
        return self.run(cotangent)


def _pushed(point: Point, tangents: Any, has_aux: bool) -> Any:
    moved = push_forward(point, tuple(tangents), "linearize")[1]
    return moved[0] if has_aux else moved


class _Push(_Eager):
    """The linear map of `linearize`."""

    what, derivative = "linearize", staticmethod(_pushed)

    def __call__(self, *tangents: Any) -> Any:
        return self.run(tangents)


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function, and the linear map from tangents of its arguments to that of its result.

    The function is traced once, here; each call of the map computes it again, from the same contents.

    Args:
        has_aux: whether `fun` returns a pair, of which the second part is not differentiated and is returned as a third
            result here.

    >>> import numpy as np, lamina as lm
    >>> y, push = lm.linearize(lambda x: x * x, np.float32(3))
    >>> push(np.float32(1))
    array(6., dtype=float32)
    """
    try:
        if not is_staging():
            push = _Push(fun, primals, has_aux)
            if has_aux:
                require_pair(push.point, "linearize")
                return push.value[0], push, push.value[1]
            return push.value, push
        point = trace_at(fun, primals, {}, "linearize")
        if has_aux:
            require_pair(point, "linearize")
    except LaminaError as error:
        raise located(error) from None

    def pushed(*tangents: Any) -> Any:
        leaves = [staging().lift(x) for x in point.leaves]
        return _pushed(dataclasses.replace(point, leaves=leaves), tangents, has_aux)

    value = call_function(point.traced, point.leaves)
    return (value[0], pushed, value[1]) if has_aux else (value, pushed)

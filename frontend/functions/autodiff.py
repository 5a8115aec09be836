"""`grad`, `value_and_grad`, `jvp`: each traces the function and adds one op that a pass expands."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects.graph.autodiff import JvpOp, VjpOp
from ...dialects.sizes.polynomial import Size
from ...errors import DifferentiationError
from ..run.retrace import each_call
from ..trace.filling import filled
from ..trace.program import Aval, TracedFunction, abstract, argument_paths, call_function, is_staging, staging, trace_function
from ..trace.promotion import float0, is_complex_dtype, is_float_dtype, is_inexact_dtype
from ..trace.pytree import TreeDef, flatten
from ..trace.pytree import map as tree_map
from ..trace.tracer import Tracer
from ..trace.tracing import build, lift, lift_as


@dataclass
class Point:
    """A function traced at some arguments: its trace, and the arguments as tracers."""

    name: str
    traced: TracedFunction
    leaves: list[Tracer]
    paths: list[str]

    @property
    def operands(self) -> list[Any]:
        """All operands of the function: the leaves, then the captured values."""
        trace = staging()
        return [x.value for x in self.leaves] + [trace.lift(x).value for x in self.traced.captured]

    def wrap(self, values: Sequence[Any], avals: Sequence[Aval]) -> list[Tracer]:
        trace = staging()
        return [Tracer(trace, v, a.shape, a.dtype, a.weak) for v, a in zip(values, avals, strict=True)]


def function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "fn")


def trace_at(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], what: str) -> Point:
    trace = staging()
    assert trace.program is not None
    leaves, structure = flatten((args, kwargs))
    paths = argument_paths(function, structure)
    tracers = []
    for leaf, path in zip(leaves, paths, strict=True):
        abstract(leaf, f"{what}({function_name(function)}) argument {path}")
        tracers.append(trace.lift(leaf))
    avals = [abstract(t) for t in tracers]
    traced = trace_function(
        trace.program, function, structure, avals, name=function_name(function), paths=paths, known=tracers, derivatives=1
    )
    return Point(function_name(function), traced, tracers, paths)


def require_float(point: Point, leaves: Sequence[int], what: str) -> None:
    for k in leaves:
        aval = point.traced.avals[k]
        if not is_inexact_dtype(aval.dtype):
            raise DifferentiationError(
                f"{what}({point.name}) needs float inputs, argument {point.paths[k]} is {aval}: convert it with "
                ".astype(lnp.float32), or leave it out with argnums"
            )


def require_complex(point: Point, leaves: Sequence[int], what: str) -> None:
    for k in leaves:
        if not is_complex_dtype(point.traced.avals[k].dtype):
            raise DifferentiationError(
                f"{what}({point.name}, holomorphic=True) needs complex inputs, argument {point.paths[k]} is "
                f"{point.traced.avals[k]}"
            )


# --------------------------------------------------------------------------------------------------------------------
# Reverse mode


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns the value of `fun` and its gradient.

    Args:
        fun: returns a scalar float; with `has_aux`, a pair of it and any tree of arrays.
        argnums: the position of the argument to differentiate by, or a sequence of positions.
        has_aux: whether the result holds more than the scalar.
        holomorphic: whether `fun` takes and returns complex numbers and is holomorphic: then this is its complex
            derivative. Otherwise, by a complex argument x + iy, the gradient is df/dx - i df/dy.
        allow_int: whether arguments to differentiate by may hold integers and bools, whose gradient is an array of zeros of the
            dtype `lm.dtypes.float0`, as in jax, for `lm.tree.map` over parameters that hold such.

    Returns:
        A function of the same arguments that returns `(value, gradient)`: the gradient has the structure of the argument, or is
        a tuple of such for a sequence of positions. With `has_aux` the value is the pair. About 3 times the cost of `fun`.

    Raises:
        DifferentiationError: the value is no scalar float, or an argument to differentiate by is not float.

    >>> import numpy as np, lamina as lm
    >>> lm.value_and_grad(lambda x: (x * x).sum())(np.float32([1, 2]))
    (array(5., dtype=float32), array([2., 4.], dtype=float32))
    """

    @functools.wraps(fun)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        return _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, "value_and_grad", args, kwargs)

    differentiated = each_call(transformed, f"value_and_grad_{function_name(fun)}", fun)

    def again(f: Callable[..., Any], at: int | Sequence[int]) -> Callable[..., Any]:
        return value_and_grad(f, at, has_aux, holomorphic, allow_int)

    def zeros(args: tuple[Any, ...], result: Any) -> Any:
        return result[0], _with_zeros(args, argnums, result[1])

    return _passing_objects(differentiated, fun, argnums, again, zeros if allow_int else None)


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`, which must return a scalar float.

    Args:
        fun, argnums, has_aux, holomorphic, allow_int: as for `value_and_grad`.

    Returns:
        A function of the same arguments that returns the gradient; with `has_aux`, `(gradient, aux)`.

    Raises:
        DifferentiationError: the value is no scalar float, or an argument to differentiate by is not float.

    >>> import numpy as np, lamina as lm
    >>> lm.grad(lambda x: lm.numpy.sin(x).sum())(np.zeros(2, np.float32))
    array([1., 1.], dtype=float32)
    """

    @functools.wraps(fun)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        value, gradient = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, "grad", args, kwargs)
        return (gradient, value[1]) if has_aux else gradient

    differentiated = each_call(transformed, f"grad_{function_name(fun)}", fun)

    def again(f: Callable[..., Any], at: int | Sequence[int]) -> Callable[..., Any]:
        return grad(f, at, has_aux, holomorphic, allow_int)

    def zeros(args: tuple[Any, ...], result: Any) -> Any:
        return (_with_zeros(args, argnums, result[0]), result[1]) if has_aux else _with_zeros(args, argnums, result)

    return _passing_objects(differentiated, fun, argnums, again, zeros if allow_int else None)


def _with_zeros(args: tuple[Any, ...], argnums: int | Sequence[int], gradient: Any) -> Any:
    """A gradient, or a tuple of such, with zeros of `float0` by the integers and bools of the arguments."""
    if not isinstance(argnums, int):
        return tuple([_with_zeros(args, k, one) for k, one in zip(argnums, gradient, strict=True)])
    leaves, structure = flatten(args[argnums])
    avals = [abstract(leaf) for leaf in leaves]
    by_leaf = dict(zip(differentiated(structure, avals, True), flatten(gradient)[0], strict=True))
    inside = structure.parameters()

    def of(k: int, aval: Aval) -> Any:
        if k in by_leaf or inside[k] is not None:
            return by_leaf.get(k)
        return np.zeros(aval.shape, float0)

    return structure.unflatten(of(k, aval) for k, aval in enumerate(avals))


def _passing_objects(
    differentiated: Callable[..., Any],
    function: Callable[..., Any],
    argnums: int | Sequence[int],
    again: Callable[[Callable[..., Any], int | Sequence[int]], Callable[..., Any]],
    finished: Callable[[tuple[Any, ...], Any], Any] | None = None,
) -> Callable[..., Any]:
    """The differentiated `function`. Arguments that are not trees of arrays, as functions, are passed on unchanged.

    `again` differentiates another function by other positions, `finished` makes the result of the arguments and of what the
    trace gives.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        wanted = {argnums} if isinstance(argnums, int) else set(argnums)
        wanted |= {k + len(args) for k in wanted}
        objects = {k: x for k, x in enumerate(args) if k not in wanted and not _holds_arrays(x)}
        named = {key: x for key, x in kwargs.items() if not _holds_arrays(x)}
        if not objects and not named:
            result = differentiated(*args, **kwargs)
            return result if finished is None else finished(args, result)

        @functools.wraps(function)
        def bound(*rest: Any, **keywords: Any) -> Any:
            given = iter(rest)
            return function(*(objects[k] if k in objects else next(given) for k in range(len(args))), **keywords, **named)

        def position(k: int) -> int:
            return k % len(args) - sum(j < k % len(args) for j in objects)

        places = position(argnums) if isinstance(argnums, int) else [position(k) for k in argnums]
        rest = [x for k, x in enumerate(args) if k not in objects]
        return again(bound, places)(*rest, **{key: x for key, x in kwargs.items() if key not in named})

    return wrapper


def _holds_arrays(x: Any) -> bool:
    """Whether an argument is a tree of arrays and numbers alone."""
    if isinstance(x, np.ndarray | float | int | Tracer):
        return True
    return all(isinstance(leaf, _VALUES) or hasattr(leaf, "__array__") for leaf in flatten(x)[0])


_VALUES = (np.ndarray, np.generic, bool, int, float, complex, Tracer, Size)


def _value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    what: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Any]:
    positions = _positions(argnums, len(args), what, function_name(function))
    point = trace_at(function, args, kwargs, what)
    structures = point.traced.structure.children[0].children
    starts = np.cumsum([0, *(s.num_leaves for s in structures)]).tolist()
    chosen = {p: differentiated(structures[p], point.traced.avals[starts[p] : starts[p + 1]], allow_int) for p in positions}
    wrt = [starts[p] + k for p in positions for k in chosen[p]]
    require_float(point, wrt, what)
    if holomorphic:
        require_complex(point, wrt, what)
    scalar = _scalar_result(point, has_aux, holomorphic, what)
    ones = {scalar: filled(1, (), point.traced.out_avals[scalar].dtype)}
    has_leaves = any(structures[p].num_leaves for p in positions)
    is_empty = not wrt and (allow_int or not has_leaves)  # as the parameters of a module that has none
    out, gradients = (flatten(call_function(point.traced, point.leaves))[0], []) if is_empty else pull_back(point, wrt, ones)
    by_leaf = dict(zip(wrt, gradients, strict=True))
    trees = [structures[p].unflatten(by_leaf.get(k) for k in range(starts[p], starts[p + 1])) for p in positions]
    return point.traced.out_structure.unflatten(out), trees[0] if isinstance(argnums, int) else tuple(trees)


def trainable(tree: Any) -> list[bool]:
    """For each leaf of a tree of arrays whether it is a float that stands in no buffer of a model."""
    leaves, structure = flatten(tree)
    inside = structure.parameters()
    return [part is not False and is_inexact_dtype(abstract(x).dtype) for x, part in zip(leaves, inside, strict=True)]


def differentiated(structure: TreeDef, avals: Sequence[Aval], allow_int: bool = False) -> list[int]:
    """The leaves of an argument that are differentiated: all, but in models the parameters that are floats alone.

    `allow_int` leaves out integers and bools elsewhere, too.
    """
    inside = structure.parameters()

    def is_chosen(part: bool | None, aval: Aval) -> bool:
        is_float = is_inexact_dtype(aval.dtype)
        return (is_float or not allow_int) if part is None else part and is_float

    return [k for k, aval in enumerate(avals) if is_chosen(inside[k], aval)]


def _positions(argnums: int | Sequence[int], n: int, what: str, name: str) -> list[int]:
    positions = [argnums] if isinstance(argnums, int) else list(argnums)
    for k in positions:
        if not -n <= k < n:
            raise DifferentiationError(f"{what}({name}) has argnums {k}, the call has {n} arguments by position")
    return [k % n for k in positions]


def _scalar_result(point: Point, has_aux: bool, holomorphic: bool, what: str) -> int:
    """The leaf of the result that is differentiated."""
    structure, avals = point.traced.out_structure, point.traced.out_avals
    if has_aux:
        if structure.kind is not tuple or len(structure.children) != 2:
            raise DifferentiationError(f"{what}({point.name}, has_aux=True) needs a result (value, aux), got {structure}")
        structure = structure.children[0]
    if structure.kind is not None:
        hint = "; return (value, aux) with has_aux=True" if structure.kind is tuple else ""
        raise DifferentiationError(f"{what}({point.name}) needs a scalar result, got the tree {structure}{hint}")
    if holomorphic and avals[0].shape == () and is_complex_dtype(avals[0].dtype):
        return 0
    if holomorphic:
        raise DifferentiationError(f"{what}({point.name}, holomorphic=True) needs a scalar complex result, got {avals[0]}")
    if is_complex_dtype(avals[0].dtype):
        raise DifferentiationError(
            f"{what}({point.name}) needs a real result, got {avals[0]}: take .real or abs() of it, or say holomorphic=True"
        )
    if avals[0].shape != () or not is_float_dtype(avals[0].dtype):
        raise DifferentiationError(
            f"{what}({point.name}) needs a scalar float result, got {avals[0]}: reduce the result with .sum() or .mean(), "
            "or use lm.vjp for a product with a cotangent"
        )
    return 0


def pull_back(point: Point, wrt: Sequence[int], cotangents: dict[int, Tracer]) -> tuple[list[Tracer], list[Tracer]]:
    """Results, and the gradients by the leaves `wrt`; results without a cotangent get zeros."""
    vectors = []
    for k, aval in enumerate(point.traced.out_avals):
        if is_inexact_dtype(aval.dtype):
            vectors.append(cotangents[k] if k in cotangents else filled(0, aval.shape, aval.dtype))
    if not wrt:
        raise DifferentiationError(
            f"there is nothing to differentiate {point.name} by: the arguments hold no arrays or no float parameters"
        )
    op = VjpOp.make(point.traced.op, point.operands, [v.value for v in vectors], wrt)
    staging().builder.insert(op)
    n = len(point.traced.out_avals)
    gradients = point.wrap(op.results[n:], [point.traced.avals[k] for k in wrt])
    return point.wrap(op.results[:n], point.traced.out_avals), gradients


def like(tree: Any, structure: TreeDef, avals: Sequence[Aval], what: str) -> list[Tracer]:
    """The leaves of a tree that must have a structure and shapes; numbers take the dtypes."""
    leaves, found = flatten(tree)
    if found != structure:
        raise DifferentiationError(f"{what} must have the structure {structure}, got {found}")
    tracers = []
    for leaf, aval, path in zip(leaves, avals, structure.paths(), strict=True):
        abstract(leaf, what + path)
        tracer = lift_as(leaf, aval.dtype)
        if tracer.shape != aval.shape:
            raise DifferentiationError(f"{what}{path} must be {aval}, got {abstract(leaf)}")
        tracers.append(tracer)
    return tracers


# --------------------------------------------------------------------------------------------------------------------
# Forward mode


def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function and its derivative along tangents.

    Args:
        fun: any function of trees of float arrays.
        primals: a tuple or list with its arguments.
        tangents: one for each argument, of its structure and shapes; of a model they may be None where `grad` would be.
        has_aux: whether `fun` returns a pair, of which the second part is not differentiated.

    Returns:
        `(value, tangent)`: two trees of one structure; results that are not float have zero tangents. With `has_aux`
        `(value, tangent, aux)`.

    >>> import numpy as np, lamina as lm
    >>> lm.jvp(lambda x: x * x, (np.float32(3),), (np.float32(1),))
    (array(9., dtype=float32), array(6., dtype=float32))
    """
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise DifferentiationError("jvp takes its primals and tangents as tuples: jvp(f, (x,), (dx,))")

    def pushed(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        point = trace_at(fun, primals, {}, "jvp")
        if not has_aux:
            return push_forward(point, tangents, "jvp")
        require_pair(point, "jvp")
        (value, aux), (tangent, _) = push_forward(point, tangents, "jvp")
        return value, tangent, aux

    return each_call(pushed, f"jvp_{function_name(fun)}", fun)(tuple(primals), tuple(tangents))


def require_pair(point: Point, what: str) -> None:
    """Raise DifferentiationError unless a function returned two things."""
    structure = point.traced.out_structure
    if structure.kind not in (tuple, list) or len(structure.children) != 2:
        raise DifferentiationError(f"{what} with has_aux=True needs a function that returns a pair, got {structure}")


def push_forward(point: Point, tangents: tuple[Any, ...], what: str) -> tuple[Any, Any]:
    """The result of a function, and its tangent along those of its arguments."""
    args = point.traced.structure.children[0]
    wrt = list(range(len(point.leaves)))
    if flatten(tangents)[1] != args:  # tangents of models have None where nothing is differentiated
        wrt = differentiated(args, point.traced.avals)
        args = flatten(args.unflatten(k if k in wrt else None for k in range(args.num_leaves)))[1]
    require_float(point, wrt, what)
    vectors = like(tangents, args, [point.traced.avals[k] for k in wrt], f"{what} tangents")
    op = JvpOp.make(point.traced.op, point.operands, [v.value for v in vectors], wrt)
    staging().builder.insert(op)
    avals, structure = point.traced.out_avals, point.traced.out_structure
    changes = iter(op.results[len(avals) :])
    out = point.wrap(op.results[: len(avals)], avals)
    moved = [point.wrap([next(changes)], [a])[0] if is_inexact_dtype(a.dtype) else filled(0, a.shape, a.dtype) for a in avals]
    return structure.unflatten(out), structure.unflatten(moved)


def stop_gradient(x: Any) -> Any:
    """The same values, as constants under differentiation."""
    if not is_staging():
        return x
    return tree_map(lambda x: build("stop_gradient", lift(x)), x)

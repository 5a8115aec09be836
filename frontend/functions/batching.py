"""`vmap`: a function over every element along a dim of its arguments."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ...dialects.graph.autodiff import VmapOp
from ...errors import ShapeError
from ..run.retrace import each_call
from ..trace.array_functions import arrays
from ..trace.filling import broadcast_tracer
from ..trace.program import Aval, abstract, argument_paths, call_function, staging, trace_function
from ..trace.promotion import INT64
from ..trace.pytree import TreeDef, flatten, node_of
from ..trace.tracer import Tracer
from ..trace.tracing import is_array_like, lift_as
from .autodiff import function_name
from .axes import named_axis


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
) -> Callable[..., Any]:
    """A function that applies `fun` to every element along a dim of its arguments.

    Args:
        fun: a function of trees of arrays, written for one element.
        in_axes: the dim to map over: an int, None (the same value for all), or a tuple with one entry an argument; an entry may
            be a tree that is a prefix of the argument. An argument of None may be anything, as a function.
        out_axes: where the new dim of the results stands: an int, or a prefix of the result; None takes the first element.
        axis_name: the name of the axis for the collectives in `fun` (`lamina.lax.psum` and others).
        axis_size: the number of elements, needed where no argument is mapped.
        spmd_axis_name: as in jax, where it says how the axis is spread over devices; here there is one.

    Raises:
        ShapeError: mapped sizes differ, nothing is mapped, or an axis is out of range.

    >>> import numpy as np, lamina as lm
    >>> lm.vmap(lambda x, w: x @ w, in_axes=(0, None))(np.ones((2, 3), np.float32), np.ones(3, np.float32))
    array([3., 3.], dtype=float32)
    """

    @functools.wraps(fun)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        return _vmap(fun, in_axes, out_axes, axis_name, axis_size, args, kwargs)

    mapped = each_call(transformed, f"vmap_{function_name(fun)}", fun)
    if not isinstance(in_axes, tuple | list) or None not in in_axes:
        return functools.wraps(fun)(mapped)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        fixed = {k: args[k] for k, axis in enumerate(in_axes[: len(args)]) if axis is None and not _is_of_arrays(args[k])}
        if not fixed:
            return mapped(*args, **kwargs)
        rest = [k for k in range(len(args)) if k not in fixed]

        @functools.wraps(fun)
        def of_arrays(*given: Any, **named: Any) -> Any:
            known = fixed | dict(zip(rest, given, strict=True))
            return fun(*(known[k] for k in range(len(args))), **named)

        axes = tuple(in_axes[k] for k in rest)
        return vmap(of_arrays, axes, out_axes, axis_name, axis_size)(*(args[k] for k in rest), **kwargs)

    return call


def _is_of_arrays(tree: Any) -> bool:
    return all(map(is_array_like, flatten(tree)[0]))


_MAPPED = "which differ along the dim that vmap maps over"


def _vmap(
    function: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    axis_name: Hashable,
    axis_size: int | None,
    args: tuple[Any, ...],
    kwargs: Any,
) -> Any:
    trace = staging()
    assert trace.program is not None
    name = function_name(function)
    leaves, structure = flatten((args, kwargs))
    paths = argument_paths(function, structure)
    tracers = []
    for leaf, path in zip(leaves, paths, strict=True):
        abstract(leaf, f"vmap({name}) argument {path}")
        tracers.append(trace.lift(leaf))
    prefix = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    axes = _prefix(prefix, structure.children[0], f"vmap({name}) in_axes")
    axes += [0] * structure.children[1].num_leaves  # keyword arguments are mapped over their first dim, as in JAX
    placed, avals, sizes = [], [], {} if axis_size is None else {"axis_size": axis_size}
    for tracer, axis, path in zip(tracers, axes, paths, strict=True):
        if axis is None:
            placed.append(-1)
            avals.append(abstract(tracer))
            continue
        if not -tracer.ndim <= axis < tracer.ndim:
            raise ShapeError(f"vmap({name}) axis {axis} is out of range for argument {path}, {abstract(tracer)}")
        k = axis % tracer.ndim
        placed.append(k)
        sizes[path] = tracer.shape[k]
        avals.append(Aval(tracer.dtype, tracer.shape[:k] + tracer.shape[k + 1 :], tracer.weak))
    if len(set(sizes.values())) != 1:
        shown = ", ".join(f"{path} has {n}" for path, n in sizes.items()) or "no argument is mapped"
        raise ShapeError(f"vmap({name}) needs one size along the mapped dims: {shown}")
    n = next(iter(sizes.values()))
    if axis_name is not None:
        function, structure = _with_index(function, axis_name, n, structure)
        tracers, placed, axes = [lift_as(np.arange(n), INT64), *tracers], [0, *placed], [0, *axes]
        avals, paths = [Aval(INT64, ()), *avals], [f"axis_index({axis_name!r})", *paths]
    known = [t if axis is None else _MAPPED for t, axis in zip(tracers, axes, strict=True)]
    traced = trace_function(trace.program, function, structure, avals, name=name, paths=paths, known=known)
    captured = [trace.lift(x) for x in traced.captured]
    if any(k >= 0 for k in placed):
        op = VmapOp.make(traced.op, [x.value for x in (*tracers, *captured)], [*placed, *(-1 for _ in captured)])
        trace.builder.insert(op)
        results = [
            Tracer(trace, value, (n, *aval.shape), aval.dtype, aval.weak)
            for value, aval in zip(op.results, traced.out_avals, strict=True)
        ]
    else:
        same = flatten(call_function(traced, tracers))[0]
        results = [broadcast_tracer(trace.lift(x), (n, *np.shape(x))) for x in same]
    places = _prefix(out_axes, traced.out_structure, f"vmap({name}) out_axes")
    moved = [x[0] if place is None else arrays.moveaxis(x, 0, place) for x, place in zip(results, places, strict=True)]
    return traced.out_structure.unflatten(moved)


def _with_index(
    function: Callable[..., Any], axis_name: Hashable, size: int, structure: TreeDef
) -> tuple[Callable[..., Any], TreeDef]:
    """A function whose first argument is the index along the axis, bound to the name; and the structure of its arguments."""

    @functools.wraps(function)
    def indexed(index: Any, *args: Any, **kwargs: Any) -> Any:
        with named_axis(axis_name, size, index):
            return function(*args, **kwargs)

    args, kwargs = structure.children
    with_index = dataclasses.replace(args, children=(TreeDef(None), *args.children))
    return indexed, dataclasses.replace(structure, children=(with_index, kwargs))


def _prefix(prefix: Any, structure: TreeDef, what: str) -> list[int | None]:
    """One axis a leaf, from an int, None, or a tree that is a prefix of a structure."""
    if prefix is None or (isinstance(prefix, int) and not isinstance(prefix, bool)):
        if prefix is None or prefix >= 0 or structure.kind is None:
            return [prefix] * structure.num_leaves
        from_end = prefix - getattr(structure.kind, "element_ndim", 0)  # `WrappedArray`
        return [axis for child in structure.children for axis in _prefix(from_end, child, what)]
    if structure.kind in (tuple, list) and isinstance(prefix, tuple | list):
        parts = list(prefix)
    elif (node := node_of(prefix)) is not None and node[:2] == (structure.kind, structure.data):
        parts = node[2]
    elif structure.kind is dict and isinstance(prefix, dict) and prefix.keys() == set(structure.data):
        parts = [prefix[key] for key in structure.data]
    else:
        raise ShapeError(f"{what} must be an int, None or a tree like {structure}, got {prefix!r:.60}")
    if len(parts) != len(structure.children):
        raise ShapeError(f"{what} has {len(parts)} entries for {len(structure.children)} values")
    return [axis for part, child in zip(parts, structure.children, strict=True) for axis in _prefix(part, child, what)]

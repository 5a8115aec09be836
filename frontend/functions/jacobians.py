"""`jacfwd`, `jacrev`, `hessian` and `linearize`, made of `jvp`, `vjp` and `vmap`; `eval_shape`; `checkpoint`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import DifferentiationError
from ..run.retrace import each_call
from ..trace.array_functions import arrays
from ..trace.program import Program, TensorSpec, abstract, argument_paths, trace_function
from ..trace.promotion import is_complex_dtype
from ..trace.pytree import TreeDef, flatten
from ..trace.pytree import map as tree_map
from ..trace.tracing import is_array_like
from .autodiff import differentiated, function_name, jvp
from .batching import vmap
from .vjp import vjp

ShapeDtypeStruct = TensorSpec


def _jacobian(
    make: Callable[..., Any], what: str, function: Callable[..., Any], argnums: Any, holomorphic: bool, has_aux: bool
) -> Callable[..., Any]:
    """The function of the arguments whose blocks are `make(of_leaves, leaves)`: one for each leaf of the result and of the
    arguments, the dims of the first before those of the second."""

    def transformed(*args: Any, **kwargs: Any) -> Any:
        positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        every, structure = flatten(tuple(args[k] for k in positions))
        kept = differentiated(structure, [abstract(leaf) for leaf in every])
        leaves = [every[k] for k in kept]
        out: list[TreeDef] = []
        _check_kind(what, function, leaves if make is _forward else (), holomorphic)

        def of_leaves(*given: Any) -> list[Any]:
            whole = list(args)
            placed = dict(zip(kept, given, strict=True))
            for k, value in zip(positions, structure.unflatten(placed.get(k, x) for k, x in enumerate(every)), strict=True):
                whole[k] = value
            value = function(*whole, **kwargs)
            results, tree = flatten(value[0] if has_aux else value)
            _check_kind(what, function, () if make is _forward else results, holomorphic)
            out[:] = [tree]
            return results

        blocks = make(of_leaves, leaves)
        rows = [dict(zip(kept, row, strict=True)) for row in blocks]
        trees = [structure.unflatten(row.get(k) for k in range(len(every))) for row in rows]
        made = out[0].unflatten([tree[0] if isinstance(argnums, int) else tree for tree in trees])
        return (made, function(*args, **kwargs)[1]) if has_aux else made

    return functools.wraps(function)(each_call(transformed, f"{what}_{function_name(function)}", function))


def _check_kind(what: str, function: Callable[..., Any], values: Sequence[Any], holomorphic: bool) -> None:
    """Raise DifferentiationError unless complex numbers are differentiated by, or are results, if the caller requires it."""
    for aval in map(abstract, values):
        if is_complex_dtype(aval.dtype) != holomorphic:
            remedy = "leave out holomorphic=True" if holomorphic else "say holomorphic=True if the function is"
            raise DifferentiationError(f"{what}({function_name(function)}) got {aval}: {remedy}")


def _basis(x: Any) -> Any:
    """The unit vectors of the space of an array, stacked."""
    size = int(np.prod(arrays.shape(x)))
    return arrays.reshape(arrays.eye(size, dtype=abstract(x).dtype), (size, *arrays.shape(x)))


def _forward(of_leaves: Callable[..., list[Any]], leaves: Sequence[Any]) -> list[list[Any]]:
    columns = []
    for k, x in enumerate(leaves):

        def along(direction: Any, k: int = k) -> list[Any]:
            tangents = [direction if j == k else arrays.zeros_like(leaf) for j, leaf in enumerate(leaves)]
            return jvp(of_leaves, tuple(leaves), tuple(tangents))[1]

        columns.append([arrays.reshape(y, (*y.shape[:-1], *arrays.shape(x))) for y in vmap(along, out_axes=-1)(_basis(x))])
    return [list(row) for row in zip(*columns, strict=True)]


def _reverse(of_leaves: Callable[..., list[Any]], leaves: Sequence[Any]) -> list[list[Any]]:
    values, pull = vjp(of_leaves, *leaves)
    rows = []
    for k, y in enumerate(values):

        def along(direction: Any, k: int = k) -> tuple[Any, ...]:
            return pull([direction if j == k else arrays.zeros_like(value) for j, value in enumerate(values)])

        rows.append([arrays.reshape(x, (*arrays.shape(y), *x.shape[1:])) for x in vmap(along)(_basis(y))])
    return rows


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """A function that returns the Jacobian, by forward mode: a `jvp` for each element of the argument, all at once.

    Args:
        fun: any function of trees of float arrays.
        argnums: the position of the argument to differentiate by, or a sequence of positions.
        has_aux: whether `fun` returns a pair, of which the second part is not differentiated and is returned as it is,
            behind the Jacobian.
        holomorphic: whether `fun` is a holomorphic one of complex numbers.

    Returns:
        A function of the same arguments. Its result has the structure of that of `fun`, and instead of each array
        that of the argument, with arrays `[*result.shape, *argument.shape]`. Cheap where the argument is small.

    Raises:
        DifferentiationError: an argument to differentiate by is not float.

    >>> import numpy as np, lamina as lm
    >>> lm.jacfwd(lambda x: x * x[0])(np.array([1.0, 2.0]))
    array([[2., 0.],
           [2., 1.]])
    """
    return _jacobian(_forward, "jacfwd", fun, argnums, holomorphic, has_aux)


def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """A function that returns the Jacobian, by reverse mode: a `vjp` for each element of the result, all at once.

    Args:
        fun, argnums, has_aux, holomorphic: as for `jacfwd`.

    Returns:
        As `jacfwd`. Cheap where the result is small.

    Raises:
        DifferentiationError: an argument to differentiate by, or a result, is not float.

    >>> import numpy as np, lamina as lm
    >>> lm.jacrev(lambda x: x * x[0])(np.array([1.0, 2.0]))
    array([[2., 0.],
           [2., 1.]])
    """
    return _jacobian(_reverse, "jacrev", fun, argnums, holomorphic, has_aux)


jacobian = jacrev
"""jax's other name."""


def hessian(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """A function that returns the second derivatives, `jacfwd(jacrev(fun))`.

    >>> import numpy as np, lamina as lm
    >>> lm.hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def typeof(x: Any) -> TensorSpec:
    """The shape and dtype of an array or number, traced or not.

    >>> import numpy as np, lamina as lm
    >>> lm.typeof(np.zeros((2, 3), np.float32))
    TensorSpec((2, 3), 'float32')
    """
    aval = abstract(x, "typeof")
    return TensorSpec(aval.shape, aval.dtype)


def eval_shape(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of what a function would return, without computing it.

    Args:
        function: any function of trees of arrays.
        args, kwargs: arrays, numbers, `ShapeDtypeStruct`, or anything else with a shape and a dtype.

    Returns:
        A tree of `ShapeDtypeStruct`.

    >>> import numpy as np, lamina as lm
    >>> lm.eval_shape(lambda x: x.T @ x, lm.ShapeDtypeStruct((5, 3), "float32"))
    TensorSpec((3, 3), 'float32')
    """
    leaves, structure = flatten((args, kwargs))
    is_spec = [hasattr(leaf, "shape") and not isinstance(leaf, TensorSpec) and not is_array_like(leaf) for leaf in leaves]
    leaves = [TensorSpec(leaf.shape, leaf.dtype) if spec else leaf for leaf, spec in zip(leaves, is_spec, strict=True)]
    paths = argument_paths(function, structure)
    avals = [abstract(leaf, f"eval_shape() argument {path}") for leaf, path in zip(leaves, paths, strict=True)]

    def of_arrays(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return tree_map(lambda x: arrays.zeros(x.shape, x.dtype) if isinstance(x, TensorSpec) else x, found)

    traced = trace_function(Program(), of_arrays, structure, avals, name=function_name(function), paths=paths)
    return traced.out_structure.unflatten(TensorSpec(aval.shape, aval.dtype) for aval in traced.out_avals)


def checkpoint(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The function itself: which values of a program reverse mode keeps and which it computes again is the compiler's choice.

    The options of `jax.checkpoint` are accepted and ignored.
    """
    return function


remat = checkpoint


def device_put(x: Any, device: Any = None) -> Any:
    """The arrays and numbers of a tree as arrays of ours, or in the memory of a registered device (`lm.register_device`).

    >>> import lamina as lm
    >>> lm.device_put({"w": [1.0, 2.0]})
    {'w': [array(1.), array(2.)]}
    """
    if device in (None, "cpu"):
        return tree_map(arrays.asarray, x)
    from ..run.devices import put

    return put(x, device)


def device_get(x: Any) -> Any:
    """The arrays of a tree as NumPy's, on the same memory; those on a device are copied."""
    return tree_map(np.asarray, x)


def block_until_ready(x: Any) -> Any:
    """The tree itself: results are there when a call returns."""
    return x

"""The collectives of `lamina.lax`: exchanges between the elements of an axis that `vmap` maps over (`axis_name`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ....api import build, lift, lift_as
from ....api.dtypes import INT32
from ....api.errors import ShapeError
from ....api.functions import BothModes, custom_jvp, custom_vjp, named_axis
from ....api.trees import map as tree_map
from ....library.numpy import namespace as lnp
from ....library.numpy.index import take
from ....library.numpy.shape import moveaxis


def _names(axis_name: Any) -> tuple[Hashable, ...]:
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def _without_groups(groups: Any, what: str) -> None:
    if groups is not None:
        raise ShapeError(f"{what}() takes no axis_index_groups: map over two axes instead, and name one of them")


def _gathered(x: Any, name: Hashable, what: str) -> Any:
    size, index = named_axis(name, what)
    return build("all_gather", lift(x), lift(index), size=size)


def _own(x: Any, name: Hashable, axis: int, what: str) -> Any:
    """This element's part of a value along a dim as long as the mapped axis."""
    return take(x, named_axis(name, what)[1], axis)


def axis_size(axis_name: Any) -> int:
    """How many elements a mapped axis has, or the product of several: a Python number.

    Raises:
        TracingError: no axis of that name is mapped over.
    """
    return _size_of(_names(axis_name), "axis_size")


def axis_index(axis_name: Any) -> Any:
    """The index of the element along a mapped axis, int32; of several axes, in row-major order.

    Raises:
        TracingError: no axis of that name is mapped over.

    >>> import numpy as np, lamina as lm
    >>> lm.vmap(lambda x: x + lm.lax.axis_index("i"), axis_name="i")(np.zeros(3, np.float32))
    array([0., 1., 2.], dtype=float32)
    """
    place: Any = 0
    for name in _names(axis_name):
        size, index = named_axis(name, "axis_index")
        place = place * size + lift_as(index, INT32)
    return place


def _summed(x: Any, names: Sequence[Hashable], what: str) -> Any:
    value = lift(x)
    if value.dtype.kind == "b":
        value = lift_as(value, INT32)
    for name in names:
        size, index = named_axis(name, what)
        value = build("psum", value, lift(index), size=size)
    return value


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum over all elements of a mapped axis, or of several; of trees leaf by leaf.

    The sum of a Python number is one: `psum(1, name)` is the size of the axis. Its gradient is the sum of gradients.

    Raises:
        TracingError: no axis of that name is mapped over.

    >>> import numpy as np, lamina as lm
    >>> lm.vmap(lambda x: x / lm.lax.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0], np.float32))
    array([0.25, 0.75], dtype=float32)
    """
    _without_groups(axis_index_groups, "psum")
    names = _names(axis_name)
    size = _size_of(names, "psum")
    return tree_map(lambda leaf: size * leaf if isinstance(leaf, int | float | complex) else _summed(leaf, names, "psum"), x)


def _size_of(names: Sequence[Hashable], what: str) -> int:
    size = 1
    for name in names:
        size *= named_axis(name, what)[0]
    return size


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean over all elements of a mapped axis, or of several: `psum(x) / axis_size`."""
    _without_groups(axis_index_groups, "pmean")
    names = _names(axis_name)
    size = _size_of(names, "pmean")
    return tree_map(lambda leaf: _summed(leaf, names, "pmean") / size, x)


def _extreme(what: str, reduce: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
        _without_groups(axis_index_groups, what)
        for name in _names(axis_name):
            x = tree_map(lambda leaf, name=name: reduce(_gathered(leaf, name, what), axis=0), x)
        return x

    function.__name__ = function.__qualname__ = what
    function.__doc__ = f"The {reduce.__name__} over all elements of a mapped axis, or of several; of trees leaf by leaf."
    return function


pmax, pmin = _extreme("pmax", lnp.max), _extreme("pmin", lnp.min)


def all_gather(x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False) -> Any:
    """The values of all elements of a mapped axis, along a new dim `axis`; `tiled`: concatenated along the dim `axis`.

    Raises:
        TracingError: no axis of that name is mapped over.

    >>> import numpy as np, lamina as lm
    >>> lm.vmap(lambda x: lm.lax.all_gather(x, "i") @ np.array([1, 10]), axis_name="i")(np.array([1, 2]))
    array([21, 21])
    """
    _without_groups(axis_index_groups, "all_gather")

    def gathered(leaf: Any) -> Any:
        for name in reversed(_names(axis_name)):
            leaf = _gathered(leaf, name, "all_gather")
        names = len(_names(axis_name))
        if names > 1:
            leaf = leaf.reshape(-1, *leaf.shape[names:])
        if not tiled:
            return moveaxis(leaf, 0, axis)
        rank = leaf.ndim - 1
        if not -rank <= axis < rank:
            raise ShapeError(f"all_gather(tiled=True) axis {axis} is out of range for rank {rank}")
        parts = moveaxis(leaf, 0, axis % rank)
        shape = list(parts.shape)
        k = axis % rank
        return parts.reshape(*shape[:k], shape[k] * shape[k + 1], *shape[k + 2 :])

    return tree_map(gathered, x)


def _divided(x: Any, dim: int, parts: int, what: str) -> Any:
    """A dim in as many equal parts as the axis has elements: a dim of parts before it."""
    size = x.shape[dim]
    if size % parts:
        raise ShapeError(f"{what}() needs a dim that the axis divides, dim {dim} has {size}, the axis {parts}")
    return x.reshape(*x.shape[:dim], parts, size // parts, *x.shape[dim + 1 :])


def _whole(x: Any, dim: int, parts: int, tiled: bool, what: str) -> Any:
    if not -x.ndim <= dim < x.ndim:
        raise ShapeError(f"{what}() axis {dim} is out of range for rank {x.ndim}")
    dim %= x.ndim
    if tiled:
        return _divided(x, dim, parts, what)
    if x.shape[dim] != parts:
        raise ShapeError(f"{what}() needs dim {dim} as long as the axis, got {x.shape[dim]} for {parts}; or give tiled=True")
    return x


def psum_scatter(
    x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: Any = None, tiled: bool = False
) -> Any:
    """This element's part of `psum(x)` along a dim that is as long as the axis, and vanishes; `tiled`: a multiple of it."""
    _without_groups(axis_index_groups, "psum_scatter")

    def scattered(leaf: Any) -> Any:
        size, _ = named_axis(axis_name, "psum_scatter")
        leaf = _whole(lift(leaf), scatter_dimension, size, tiled, "psum_scatter")
        dim = scatter_dimension % (leaf.ndim - tiled)
        return _own(_summed(leaf, (axis_name,), "psum_scatter"), axis_name, dim, "psum_scatter")

    return tree_map(scattered, x)


def all_to_all(
    x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None, tiled: bool = False
) -> Any:
    """Element `i` gets the `i`-th parts along `split_axis` that all elements hold, in their order along `concat_axis`.

    `split_axis` is as long as the mapped axis and vanishes, `concat_axis` is a new dim; `tiled`: parts of a longer dim,
    concatenated along one that exists.
    """
    _without_groups(axis_index_groups, "all_to_all")

    def exchanged(leaf: Any) -> Any:
        size, _ = named_axis(axis_name, "all_to_all")
        leaf = lift(leaf)
        split, concat = split_axis % leaf.ndim, concat_axis % leaf.ndim
        whole = _whole(leaf, split_axis, size, tiled, "all_to_all")
        parts = moveaxis(_swapped(moveaxis(whole, split, 0), axis_name), 0, concat)
        if not tiled:
            return parts
        shape = parts.shape
        return parts.reshape(*shape[:concat], shape[concat] * shape[concat + 1], *shape[concat + 2 :])

    return tree_map(exchanged, x)


def _swapped(parts: Any, name: Hashable) -> Any:
    """Part `k` of each element, to element `k`: the mapped axis and dim 0 are exchanged."""

    def swap(parts: Any) -> Any:
        return _own(_gathered(parts, name, "all_to_all"), name, 1, "all_to_all")

    return _with_transpose(swap, swap)(parts)


def _with_transpose(function: Callable[[Any], Any], transpose: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A linear function with its transpose, since the derived one would sum a whole axis for each element."""
    forward, reverse = custom_jvp(function), custom_vjp(function)
    both = BothModes(forward, reverse)
    forward.defjvp(lambda primals, tangents: (both(*primals), both(*tangents)))
    reverse.defvjp(lambda x: (both(x), None), lambda _, given: (_with_transpose(transpose, function)(given),))
    return both


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """The values sent by other elements of a mapped axis: `perm` has pairs of source and destination; zeros without a source.

    Raises:
        ShapeError: two pairs share a source or a destination, or one is outside of the axis.

    >>> import numpy as np, lamina as lm
    >>> lm.vmap(lambda x: lm.lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(np.array([1.0, 2.0, 3.0]))
    array([0., 1., 2.])
    """
    size, index = named_axis(axis_name, "ppermute")
    pairs = [(int(a), int(b)) for a, b in perm]
    for ends in zip(*pairs, strict=True):
        if len(set(ends)) < len(ends) or not all(0 <= end < size for end in ends):
            raise ShapeError(f"ppermute() needs distinct sources and destinations in 0..{size - 1}, got {pairs}")

    def along(pairs: Sequence[tuple[int, int]]) -> Callable[[Any], Any]:
        sources = np.full(size, -1)
        for source, destination in pairs:
            sources[destination] = source

        def send(leaf: Any) -> Any:
            sent = take(_gathered(leaf, axis_name, "ppermute"), take(np.maximum(sources, 0), index), 0)
            return lnp.where(take(sources >= 0, index), sent, lnp.zeros_like(sent))

        return send

    return tree_map(_with_transpose(along(pairs), along([(b, a) for a, b in pairs])), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """`ppermute` by a permutation: element `i` gets the value of element `perm[i]`."""
    return ppermute(x, axis_name, [(source, k) for k, source in enumerate(perm)])


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """A dim and the mapped axis exchanged: `all_to_all(x, axis_name, axis, axis)`."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)

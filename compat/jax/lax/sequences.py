"""lamina.lax: products, and functions of elements along an axis: extremes, prefixes, loops, order."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....api import array_function, lift, lift_as
from ....api.dtypes import canonical
from ....api.errors import ShapeError
from ....api.functions import scan, vmap, while_loop
from ....api.sizes import Size
from ....api.trees import flatten as tree_flatten
from ....library.numpy import namespace as lnp
from ....library.numpy.axes_and_shapes import normalize_axis
from ....library.numpy.contract import contract, dot_general
from ....library.numpy.sort import sort_together
from ....library.numpy.sort import top_k as lnp_top_k

# --------------------------------------------------------------------------------------------------------------------
# Products


def dot(lhs: Any, rhs: Any, *, dimension_numbers: Any = None, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The product of vectors and matrices, or as `dot_general` with dimension numbers."""
    if dimension_numbers is not None:
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    return lnp.dot(lhs, rhs, preferred_element_type=preferred_element_type)


@array_function
def ragged_dot(
    lhs: Any, rhs: Any, group_sizes: Any, precision: Any = None, preferred_element_type: Any = None, group_offset: Any = None
) -> Any:
    """Products of groups of rows, each with a matrix of its own; rows beyond all groups are 0.

    Cost: as `groups` products of all rows.

    Args:
        lhs: `[m, k]`.
        rhs: `[groups, k, n]`.
        group_sizes: `[groups]`, how many rows each group has, one group after the other.
    """
    if group_offset is not None:
        raise ShapeError("ragged_dot has no group_offset: add rows of zeros in front")
    dtype = lnp.result_type(lhs, rhs) if preferred_element_type is None else canonical(preferred_element_type)
    x, w = lift_as(lhs, dtype), lift_as(rhs, dtype)
    if x.ndim != 2 or w.ndim != 3 or x.shape[1] != w.shape[1] or lnp.shape(group_sizes) != w.shape[:1]:
        shown = f"{list(x.shape)}, {list(w.shape)} and {list(lnp.shape(group_sizes))}"
        raise ShapeError(f"ragged_dot needs [m, k], [groups, k, n] and [groups], got {shown}")
    ends = lnp.cumsum(lift_as(group_sizes, np.dtype(np.int64)))
    row = lnp.arange(x.shape[0])
    inside = (row < ends[:, None]) & (row >= lnp.concatenate([lnp.zeros(1, np.int64), ends[:-1]])[:, None])
    chosen = lnp.where(inside[:, :, None], x, lift_as(0, dtype))  # [groups, m, k]
    return contract(lift(chosen), w, ((0, 2), (0, 1)), ((), ()))


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Products of stacks of matrices."""
    return lnp.matmul(lhs, rhs, preferred_element_type=preferred_element_type)


# --------------------------------------------------------------------------------------------------------------------
# Along an axis


@array_function
def argmax(operand: Any, axis: int, index_dtype: Any = np.int64) -> Any:
    """The index of the first greatest element along an axis."""
    return lift_as(lnp.argmax(operand, axis), canonical(index_dtype))


@array_function
def argmin(operand: Any, axis: int, index_dtype: Any = np.int64) -> Any:
    """The index of the first least element along an axis."""
    return lift_as(lnp.argmin(operand, axis), canonical(index_dtype))


def cumulative(name: str, _: str) -> Callable[..., Any]:
    """NumPy's function of the prefixes along an axis, in the dtype of the operand."""
    function = getattr(lnp, name)

    def along(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        x = lift(operand)
        return lift_as(function(x, axis, reverse=reverse), x.dtype)

    along.__name__ = along.__qualname__ = name
    along.__doc__ = f"`lamina.numpy.{name}` along an axis, in the dtype of the operand."
    return array_function(along)


# --------------------------------------------------------------------------------------------------------------------
# Control


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` of each element along the first dim, one after the other, stacked; with `batch_size` of so many together (`vmap`).

    >>> import numpy as np, lamina as lm
    >>> lm.map(lambda x: x * x, np.float32([1, 2, 3]))
    array([1., 4., 9.], dtype=float32)
    """
    if batch_size is None:
        return scan(lambda carry, x: (carry, f(x)), (), xs)[1]
    if batch_size < 1:
        raise ValueError(f"map() batch_size must be at least 1, got {batch_size}")
    leaves, structure = tree_flatten(xs)
    n = lnp.shape(leaves[0])[0] if leaves else 0
    whole = n - n % batch_size
    batches = [lnp.reshape(x[:whole], (whole // batch_size, batch_size, *lnp.shape(x)[1:])) for x in leaves]
    ys, of_ys = tree_flatten(map(vmap(f), structure.unflatten(batches)))
    ys = [lnp.reshape(y, (whole, *lnp.shape(y)[2:])) for y in ys]
    if whole < n:
        rest = tree_flatten(vmap(f)(structure.unflatten([x[whole:] for x in leaves])))[0]
        ys = [lnp.concatenate([y, r]) for y, r in zip(ys, rest, strict=True)]
    return of_ys.unflatten(ys)


_FEW_TO_SCAN = 32
"""Elements of which a scan combines all in each of its rounds, which are half as many then."""


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes of elements along an axis combined by an associative function, in a logarithmic number of calls.

    Cost: about `2 * n` combinations.

    Args:
        fn: takes two trees of arrays (stacked along the axis) and returns one.
        elems: a tree of arrays of one size along the axis.
        reverse: combine from the end.
    """
    leaves, structure = tree_flatten(elems)
    dims = [normalize_axis(axis, lnp.ndim(x)) for x in leaves]
    sizes = {lnp.shape(x)[d] for x, d in zip(leaves, dims, strict=True)}
    if len(sizes) != 1:
        raise ShapeError(f"associative_scan needs arrays of one size along axis {axis}, got {sorted(sizes)}")

    def part(xs: Sequence[Any], *limits: Any) -> list[Any]:
        chosen = builtins.slice(*limits)
        return [x[(builtins.slice(None),) * d + (chosen,)] for x, d in zip(xs, dims, strict=True)]

    def combine(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
        return tree_flatten(fn(structure.unflatten(xs), structure.unflatten(ys)))[0]

    (n,) = sizes
    xs: list[Any] = [lnp.flip(x, d) if reverse else x for x, d in zip(leaves, dims, strict=True)]
    if isinstance(n, Size):
        xs = _prefixes(combine, xs, dims, n)
        return structure.unflatten([lnp.flip(x, d) if reverse else x for x, d in zip(xs, dims, strict=True)])

    def rounds(xs: list[Any], n: int) -> list[Any]:
        """Of few elements: after each round every one covers twice as many (Hillis and Steele, 1986)."""
        reach = 1
        while reach < n:
            combined = combine(part(xs, 0, n - reach), part(xs, reach, n))
            kept = part(xs, 0, reach)
            xs = [lnp.concatenate([x, y], d) for x, y, d in zip(kept, combined, dims, strict=True)]
            reach *= 2
        return xs

    def prefixes(xs: list[Any], n: int) -> list[Any]:
        """Of pairs, for every other result, and from these the others (Blelloch, 1990): `2 n` combinations."""
        if n <= _FEW_TO_SCAN:
            return rounds(xs, n)
        odd = prefixes(combine(part(xs, 0, n - 1, 2), part(xs, 1, n, 2)), n // 2)
        later = combine(part(odd, 0, (n - 1) // 2), part(xs, 2, n, 2))
        even = [lnp.concatenate([x, y], d) for x, y, d in zip(part(xs, 0, 1), later, dims, strict=True)]
        pairs = zip(part(even, 0, n // 2), odd, dims, strict=True)
        turns = [lnp.reshape(lnp.stack([x, y], d + 1), (*y.shape[:d], n // 2 * 2, *y.shape[d + 1 :])) for x, y, d in pairs]
        if n % 2 == 0:
            return turns
        return [lnp.concatenate([x, y], d) for x, y, d in zip(turns, part(even, n // 2, n // 2 + 1), dims, strict=True)]

    xs = prefixes(xs, n)
    return structure.unflatten([lnp.flip(x, d) if reverse else x for x, d in zip(xs, dims, strict=True)])


def _prefixes(combine: Callable[..., list[Any]], xs: list[Any], dims: Sequence[int], n: Size) -> list[Any]:
    """The rounds of a scan over a symbolic number of elements: each takes elements that far back."""
    at = lnp.arange(n)

    def far_back(x: Any, d: int, reach: Any) -> Any:
        more = lnp.zeros((*x.shape[:d], 1, *x.shape[d + 1 :]), x.dtype)  # so that there is an element
        return lnp.take(lnp.concatenate([x, more], d), lnp.maximum(at - reach, 0), d)

    def step(value: Any) -> Any:
        reach, found = value
        combined = combine([far_back(x, d, reach) for x, d in zip(found, dims, strict=True)], found)
        reached = [lnp.reshape(at >= reach, (n, *(1,) * (lnp.ndim(x) - 1 - d))) for x, d in zip(found, dims, strict=True)]
        return reach * 2, [lnp.where(r, new, old) for r, new, old in zip(reached, combined, found, strict=True)]

    return while_loop(lambda value: value[0] < n, step, (1, xs))[1]


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """`log(cumsum(exp(x)))` along an axis, without overflow."""
    return associative_scan(lnp.logaddexp, operand, reverse, axis)


# --------------------------------------------------------------------------------------------------------------------
# Order


@array_function
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Elements in ascending order along a dim; of several arrays the first `num_keys` decide, and the others move along.

    Args:
        operand: an array, or a sequence of arrays of one shape.
        is_stable: every sort is.

    Raises:
        ShapeError: shapes differ, or there are fewer arrays than keys.
    """
    if not isinstance(operand, Sequence):
        return sort_together([lift(operand)], [], dimension)[0]
    arrays = [lift(x) for x in operand]
    if len({x.shape for x in arrays}) != 1 or not 1 <= num_keys <= len(arrays):
        shapes = [list(x.shape) for x in arrays]
        raise ShapeError(f"sort takes arrays of one shape, {num_keys} of them keys, got shapes {shapes}")
    return tuple(sort_together(arrays[:num_keys], arrays[num_keys:], dimension))


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Keys in ascending order along a dim, and values moved along."""
    return sort((keys, values), dimension, is_stable)


@array_function
def top_k(operand: Any, k: int, *, axis: int = -1) -> tuple[Any, Any]:
    """The `k` greatest elements along an axis, the greatest first, and their indices, as int32."""
    values, indices = lnp_top_k(lnp.moveaxis(operand, axis, -1), k)
    return lnp.moveaxis(values, -1, axis), lnp.moveaxis(lift_as(indices, np.dtype(np.int32)), -1, axis)


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """`top_k`, exact for any requested recall."""
    return top_k(operand, k, axis=reduction_dimension)


@array_function
def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The `k` least elements, as `approx_max_k`."""
    values, indices = top_k(-lift(operand), k, axis=reduction_dimension)
    return -lift(values), indices

"""lamina.numpy: arrays as sets. The size of a result depends on values; where `size` gives it, the function can be traced."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...api import Tracer, array_function, broadcast_tracer, build, full_like_tracer, lift, lift_as
from ...api.dtypes import BOOL, INT64
from ...api.errors import ShapeError
from .axes_and_shapes import iota, normalize_axis, reshape_tracer, slice_axis, static_int, transpose_tracer
from .create import full
from .delegated import of_open_size
from .elementwise import compare, select
from .index import take
from .join import concatenate
from .logic import where
from .nonzero import nonzero
from .scan import cumsum
from .shape import ravel
from .sort import isin, searchsorted, sorted_by
from .ufuncs import minimum


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """`np.unique`: the different elements in order; with `size` the first `size` of them.

    Args:
        axis: the dim whose slices are compared, as rows of a matrix with 0; without it elements are.
        equal_nan: whether all NaN count as one.
        sorted: results are sorted in any case.
        size: the number of elements of the result, needed where `ar` is traced.
        fill_value: the elements behind the last one; the first one again by default. Their counts are 0.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.unique(np.array([3, 1, 3]), size=3, fill_value=0)
    array([1, 3, 0])
    """
    flags = (return_index, return_inverse, return_counts)
    if size is None:
        return of_open_size("unique")(ar, *flags, axis=axis, equal_nan=equal_nan)
    return _unique(ar, flags, axis, equal_nan, static_int(size, "size"), fill_value)


@array_function
def _unique(ar: Any, flags: tuple[bool, bool, bool], axis: int | None, equal_nan: bool, size: int, fill_value: Any) -> Any:
    return_index, return_inverse, return_counts = flags
    x = lift(ar)
    shape = x.shape
    if axis is None:
        rows, slot = reshape_tracer(x, (x.size, 1)), ()
    else:
        axis = normalize_axis(axis, x.ndim)
        x = transpose_tracer(x, [axis, *(d for d in range(x.ndim) if d != axis)])
        shape, slot = x.shape[:1], x.shape[1:]
        rows = reshape_tracer(x, (x.shape[0], math.prod(slot)))
    n, columns = rows.shape
    if not n or not columns:
        raise ShapeError("unique of no elements has no size to fill")
    keys = [reshape_tracer(slice_axis(rows, 1, k, k + 1), (n,)) for k in range(columns)]
    *ordered, order = sorted_by(keys, iota((n,), 0, INT64))
    same = (_alike(slice_axis(key, 0, 1, n), slice_axis(key, 0, 0, n - 1), equal_nan) for key in ordered)
    is_new = build("not", functools.reduce(lambda a, b: build("and_", a, b), same))
    is_new = concatenate([full((1,), True, BOOL), is_new])
    number = cumsum(is_new) - 1
    # the first one of each run; elements beyond the size of the result are left out
    where = select(is_new, number, full_like_tracer(number, size))

    def put(fill: Any, values: Tracer, at: Tracer, kind: str = "set") -> Tracer:
        base = broadcast_tracer(lift_as(fill, values.dtype), (size, *values.shape[1:]))
        return build("scatter", base, values, at, kind=kind, at=(0,))

    values = ordered[0] if not slot else build("gather", x, order, at=(0,))
    first = reshape_tracer(slice_axis(values, 0, 0, 1), slot)
    found = [put(first if fill_value is None else fill_value, values, where)]
    if axis:
        found = [transpose_tracer(found[0], [*range(1, axis + 1), 0, *range(axis + 1, len(slot) + 1)])]
    if return_index:
        index_of_first = reshape_tracer(slice_axis(order, 0, 0, 1), ())
        found.append(put(index_of_first, order, where))
    if return_inverse:
        inverse = build("scatter", full_like_tracer(number, 0), number, order, kind="set", at=(0,))
        found.append(reshape_tracer(inverse, shape))
    if return_counts:
        found.append(put(0, full_like_tracer(number, 1), number, "add"))
    return tuple(found) if len(found) > 1 else found[0]


def _alike(x: Tracer, y: Tracer, equal_nan: bool) -> Tracer:
    """Whether elements are equal, or both NaN where these count as one."""
    same = compare("eq", x, y)
    if x.dtype.kind != "f" or not equal_nan:
        return same
    return build("or_", same, build("and_", compare("ne", x, x), compare("ne", y, y)))


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.union1d`: the different elements of two arrays in order; `size` and `fill_value` as for `unique`."""
    return unique(concatenate([ravel(ar1), ravel(ar2)]), size=size, fill_value=fill_value)


def _chosen(values: Any, mask: Any, size: int, fill: Any, *others: Any) -> list[Any]:
    """The first `size` elements that a mask keeps; the rest is `fill`, or the first one without; of others their length."""
    at = nonzero(mask, size=size)[0]
    is_there = iota((size,), 0, INT64) < mask.sum()
    first = where(mask.any(), take(values, at[0]), 0) if size else 0
    kept = where(is_there, take(values, at), first if fill is None else fill).astype(values.dtype)
    return [kept, *(where(is_there, take(x, at), x.shape[0]) for x in others)]


@array_function
def _difference(ar1: Any, ar2: Any, assume_unique: bool, size: int, fill: Any) -> Any:
    x = ravel(ar1)
    if not x.size or not size:
        return full((size,), 0 if fill is None else fill, x.dtype)
    mask = full((x.size,), True, BOOL)
    if not assume_unique:
        x, counts = _unique(x, (False, False, True), None, True, x.size, None)
        mask = counts > 0
    return _chosen(x, mask & ~isin(x, ar2), size, 0 if fill is None else fill)[0]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.setdiff1d`: the different elements of the first array that the second one has not, in order.

    Args:
        assume_unique: that elements differ is not looked at, and their order is kept.
        size: the number of elements of the result, needed where an array is traced.
        fill_value: the elements behind the last one, 0 by default.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.setdiff1d(np.array([3, 1, 2]), np.array([2]), size=3)
    array([1, 3, 0])
    """
    if size is None:
        return of_open_size("setdiff1d")(ar1, ar2, assume_unique)
    return _difference(ar1, ar2, bool(assume_unique), static_int(size, "size"), fill_value)


@array_function
def _intersection(ar1: Any, ar2: Any, size: int, fill: Any) -> Any:
    xs = [ravel(lift(x)) for x in (ar1, ar2)]
    dtype = concatenate(xs).dtype
    if not (size and xs[0].size and xs[1].size):
        return [full((size,), 0 if fill is None else fill, dtype), *(full((size,), x.size, INT64) for x in xs)]
    x, y = (lift_as(v, dtype) for v in xs)
    # the rest is filled with the largest element, which keeps the order
    y, second = _unique(y, (True, False, False), None, True, y.size, y.max())
    x, first, counts = _unique(x, (True, False, True), None, True, x.size, None)
    place = minimum(searchsorted(y, x), y.size - 1)
    mask = (counts > 0) & (take(y, place) == x)
    found, one, other = _chosen(x, mask, size, fill, first, take(second, place))
    return [found, one, where(iota((size,), 0, INT64) < mask.sum(), other, y.size)]


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """`np.intersect1d`: the different elements that both arrays have, in order; with `return_indices` their indices, too.

    Args:
        size: the number of elements of the result, needed where an array is traced. Behind the last one stand `fill_value`, by
            default the first one, and the lengths of the arrays for indices.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.intersect1d(np.array([3, 1, 2]), np.array([2, 3]), size=3, fill_value=-1)
    array([ 2,  3, -1])
    """
    if size is None:
        return of_open_size("intersect1d")(ar1, ar2, assume_unique, return_indices)
    found = _intersection(ar1, ar2, static_int(size, "size"), fill_value)
    return tuple(found) if return_indices else found[0]


@array_function
def _one_of_both(ar1: Any, ar2: Any, size: int, fill: Any) -> Any:
    x = concatenate([ravel(ar1), ravel(ar2)])
    if not x.size or not size:
        return full((size,), 0 if fill is None else fill, x.dtype)
    x, counts = _unique(x, (False, False, True), None, True, x.size, None)
    mask = (counts > 0) & ((isin(x, ar1) != isin(x, ar2)) | (x != x))
    return _chosen(x, mask, size, fill)[0]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.setxor1d`: the elements of exactly one of two arrays, in order; `size` and `fill_value` as for `intersect1d`.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.setxor1d(np.array([3, 1, 2]), np.array([2, 4]), size=4, fill_value=0)
    array([1, 3, 4, 0])
    """
    if size is None:
        return of_open_size("setxor1d")(ar1, ar2, assume_unique)
    return _one_of_both(ar1, ar2, static_int(size, "size"), fill_value)


class _All(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _Counts(NamedTuple):
    values: Any
    counts: Any


class _Inverse(NamedTuple):
    values: Any
    inverse_indices: Any


_FORMS: dict[str, tuple[Callable[..., Any], tuple[bool, bool, bool]]] = {
    "unique_all": (_All, (True, True, True)),
    "unique_counts": (_Counts, (False, False, True)),
    "unique_inverse": (_Inverse, (False, True, False)),
    "unique_values": (lambda values: values, (False, False, False)),
}
"""The functions of the Array API: what they return, and which results of `unique` these are."""


def _of_the_standard(name: str) -> Callable[..., Any]:
    form, flags = _FORMS[name]

    def function(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
        if size is None:
            return of_open_size(name)(x)
        found = _unique(x, flags, None, False, static_int(size, "size"), fill_value)
        return form(*found) if isinstance(found, tuple) else form(found)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`np.{name}`; NaN are different elements. `size` and `fill_value` as for `unique`."
    return function


unique_all, unique_counts, unique_inverse, unique_values = map(_of_the_standard, _FORMS)

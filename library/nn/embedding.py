"""`lamina.nn`: rows of a table by their index, and indices as rows of an identity matrix."""

from __future__ import annotations

from typing import Any

from ...api import array_function, broadcast_tracer, build, lift, lift_as
from ...api.dtypes import FLOAT32, INT64, canonical, is_integer_dtype
from ...api.errors import DTypeError, ShapeError
from ..numpy.axes_and_shapes import iota, normalize_axis, reshape_tracer, static_int
from ..numpy.index import counted, index_array


@array_function
def embedding(ids: Any, table: Any) -> Any:
    """The rows of a table that `ids` name, `table[ids]`; the gradient by the table sums the cotangents of each row.

    Args:
        ids: integers[...]; negative ones count from the end. Traced ones out of range take the nearest row, others raise.
        table: [rows, features] of any dtype.

    Returns:
        [..., features]. A sum over ids that follows is fused: the rows themselves are not stored.

    Raises:
        ShapeError: the table has not two dims or no rows, or a known id is out of range.
        DTypeError: the ids are not integers.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.embedding(np.array([2, 0]), np.array([[0., 1.], [2., 3.], [4., 5.]]))
    array([[4., 5.],
           [0., 1.]])
    """
    rows, index = lift(table), index_array(ids, checked=True)
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise ShapeError(f"embedding needs a table of rows and features, got {list(rows.shape)}")
    return build("embedding", counted(index, rows.shape[0], 0), rows)


@array_function
def one_hot(x: Any, num_classes: int, *, dtype: Any = FLOAT32, axis: int = -1) -> Any:
    """A new dim of size `num_classes` that is 1 at the index `x` and 0 elsewhere; all 0 for an index out of range."""
    x = lift(x)
    if not is_integer_dtype(x.dtype):
        raise DTypeError(f"one_hot needs integer indices, got {x.dtype}")
    size = static_int(num_classes, "num_classes")
    dim = normalize_axis(axis, x.ndim + 1)
    shape = (*x.shape[:dim], size, *x.shape[dim:])
    index = broadcast_tracer(reshape_tracer(lift_as(x, INT64), (*x.shape[:dim], 1, *x.shape[dim:])), shape)
    return lift_as(build("cmp", index, iota(shape, dim, INT64), predicate="eq"), canonical(dtype))

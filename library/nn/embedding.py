"""`lamina.nn`: rows of a table by their index."""

from __future__ import annotations

from typing import Any

from ...api import ShapeError, array_function, build, lift
from ..numpy.index import counted, index_array

__all__ = ["embedding"]


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

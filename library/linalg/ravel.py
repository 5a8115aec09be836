"""Trees of arrays as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import arrays
from ...api.dtypes import result_type
from ...api.errors import ShapeError
from ...api.trees import flatten


def ravel_pytree(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All elements of a tree of arrays in one vector, and the function from such a vector to the tree.

    The vector has the common dtype of the leaves; the tree gets each leaf's own dtype back.

    >>> import lamina as lm
    >>> flat, back = lm.tree.ravel_pytree({"w": np.ones((2, 2)), "b": np.zeros(1)})
    >>> flat, back(flat * 2)["w"].shape
    (array([0., 1., 1., 1., 1.]), (2, 2))
    """
    parts, shape = flatten(tree)
    avals = [(np.shape(x), np.result_type(getattr(x, "dtype", type(x)))) for x in parts]
    total = sum(math.prod(sizes) for sizes, _ in avals)
    dtype = result_type([each for _, each in avals]) if avals else np.dtype(np.float64)

    def unravel(flat: Any) -> Any:
        if np.shape(flat) != (total,):
            raise ShapeError(f"unravel needs a vector of {total} elements, got shape {list(np.shape(flat))}")
        at, rows = 0, []
        for sizes, each in avals:
            n = math.prod(sizes)
            rows.append(arrays.astype(arrays.reshape(flat[at : at + n], sizes), each))
            at += n
        return shape.unflatten(rows)

    vectors = [arrays.astype(arrays.ravel(x), dtype) for x in parts]
    return arrays.concatenate(vectors) if parts else arrays.zeros(0, dtype), unravel

"""Boxes of detectors: their overlaps, and the best of those that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import array_function
from ...api.errors import ShapeError
from ...api.functions import scan
from ..numpy import namespace as lnp
from ..numpy.looped import looped


@array_function
def box_iou(x: Any, y: Any) -> Any:
    """The intersection of boxes over their union, 0 where both are empty.

    Args:
        x: boxes `[..., n, 4]` of floats, as two opposite corners each: `x1, y1, x2, y2`.
        y: boxes `[..., m, 4]`.

    Returns:
        `[..., n, m]`.

    Raises:
        ShapeError: the last dim of one is not 4.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.box_iou(np.float32([[0, 0, 2, 2]]), np.float32([[1, 0, 3, 2], [2, 2, 4, 4]]))
    array([[0.33333334, 0.        ]], dtype=float32)
    """
    x, y = lnp.asarray(x), lnp.asarray(y)
    for boxes in (x, y):
        if boxes.ndim < 2 or boxes.shape[-1] != 4:
            raise ShapeError(f"box_iou needs boxes of shape [..., n, 4], got {list(boxes.shape)}")
    x_low, x_high = _edges(x)
    y_low, y_high = _edges(y)
    low = lnp.maximum(x_low[..., :, None, :], y_low[..., None, :, :])
    high = lnp.minimum(x_high[..., :, None, :], y_high[..., None, :, :])
    common = lnp.prod(lnp.maximum(high - low, 0), axis=-1)
    union = lnp.prod(x_high - x_low, axis=-1)[..., :, None] + lnp.prod(y_high - y_low, axis=-1)[..., None, :] - common
    return lnp.where(union > 0, common / lnp.where(union > 0, union, 1), 0)


def _edges(boxes: Any) -> tuple[Any, Any]:
    first, second = boxes[..., :2], boxes[..., 2:]
    return lnp.minimum(first, second), lnp.maximum(first, second)


@looped("most", "overlap", "threshold")
def non_max_suppression(boxes: Any, scores: Any, most: int, *, overlap: float = 0.5, threshold: float = -np.inf) -> Any:
    """The best boxes that overlap no better one: a fixed number of indices, so that it is part of one program.

    Args:
        boxes: `[n, 4]` of floats, as two opposite corners each: `x1, y1, x2, y2`.
        scores: `[n]` of floats; a box of a NaN is never taken.
        most: the number of indices that are returned.
        overlap: boxes whose intersection with a better one is a larger part of their union are left out.
        threshold: so are those whose score is not greater.

    Returns:
        Indices, int64 `[most]`, the best box first, -1 after the last; and how many there are. Of equal scores the first wins.

    Raises:
        ShapeError: boxes and scores are not `[n, 4]` and `[n]`.

    Cost: `most * n` overlaps. `vmap` runs it for batches and classes.

    >>> import numpy as np, lamina as lm
    >>> boxes = np.float32([[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])
    >>> lm.nn.non_max_suppression(boxes, np.float32([0.8, 0.9, 0.3]), 3)
    (array([ 1,  2, -1]), array(2))
    """
    boxes, scores = lnp.asarray(boxes), lnp.asarray(scores)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.ndim != 1 or boxes.shape[0] != scores.shape[0]:
        raise ShapeError(
            f"non_max_suppression needs boxes [n, 4] and scores [n], got {list(boxes.shape)} and {list(scores.shape)}"
        )
    if boxes.shape[0] == 0:
        return lnp.full((most,), -1, dtype=np.int64), lnp.asarray(0, dtype=np.int64)
    none = lnp.asarray(-np.inf, dtype=scores.dtype)
    left = lnp.where(scores > threshold, scores, none)
    places = lnp.arange(boxes.shape[0])

    def take(left: Any, _: Any) -> Any:
        best = lnp.argmax(left)
        found = left[best] > none
        near = box_iou(boxes[best][None], boxes)[0] > overlap
        return lnp.where(near | (places == best), none, left), lnp.where(found, best, -1)

    _, taken = scan(take, left, lnp.arange(most))
    return taken, lnp.sum(taken >= 0)

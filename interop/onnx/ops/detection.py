"""Selection of boxes, whose number depends on their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import UnknownValue
from ..nodes import Node, op
from ..values import is_constant


def _edges(boxes: np.ndarray, centered: bool) -> np.ndarray:
    """Boxes as least and greatest coordinates, [boxes, 4]."""
    if centered:
        half = boxes[:, 2:] / 2
        return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], 1)
    low = np.minimum(boxes[:, :2], boxes[:, 2:])
    return np.concatenate([low, np.maximum(boxes[:, :2], boxes[:, 2:])], 1)


def _suppressed(boxes: np.ndarray, order: np.ndarray, most: int, limit: float) -> list[int]:
    """Indices of boxes in an order, without those that overlap an earlier one by more than the limit."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept: list[int] = []
    while order.size and len(kept) < most:
        best, order = int(order[0]), order[1:]
        kept.append(best)
        low = np.maximum(boxes[best, :2], boxes[order, :2])
        high = np.minimum(boxes[best, 2:], boxes[order, 2:])
        common = np.prod(np.maximum(high - low, 0), axis=1)
        union = areas[best] + areas[order] - common
        with np.errstate(all="ignore"):
            order = order[~(common / union > limit)]
    return kept


@op("NonMaxSuppression")
def non_max_suppression(
    node: Node, boxes: Any, scores: Any, most: Any = None, overlap: Any = None, threshold: Any = None
) -> Any:
    """(batch, class, box) of the best boxes that overlap no better one by more than a part of their union."""
    if not all(is_constant(v) for v in (boxes, scores, most, overlap, threshold) if v is not None):
        raise UnknownValue("the number of selected boxes depends on the scores")
    count = 0 if most is None else int(np.asarray(most).reshape(-1)[0])
    limit = 0.0 if overlap is None else float(np.asarray(overlap).reshape(-1)[0])
    found = []
    for b in range(scores.shape[0]):
        edges = _edges(np.asarray(boxes[b]), bool(node.get("center_point_box", 0)))
        for c in range(scores.shape[1]):
            row = np.asarray(scores[b, c])
            order = np.argsort(-row, kind="stable")
            if threshold is not None:
                order = order[row[order] > float(np.asarray(threshold).reshape(-1)[0])]
            found += [(b, c, i) for i in _suppressed(edges, order, count, limit)]
    return np.asarray(found, np.int64).reshape(-1, 3)

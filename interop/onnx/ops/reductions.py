"""Reductions, and functions that are normalized along an axis."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..nodes import Node, normalized, op
from ..values import dims, known, lowest, operands
from .elementwise import is_integer


def _axes(node: Node, x: Any, axes: Any) -> tuple[int, ...] | None:
    """Axes to reduce; None where there is nothing to do."""
    chosen = node.get("axes", None) if axes is None else dims(axes, "the axes")
    if not chosen:
        return None if node.get("noop_with_empty_axes", 0) else tuple(range(x.ndim))
    return tuple(normalized(a, x.ndim) for a in chosen)


def _extreme(name: str) -> Any:
    def reduce(xp: Any, x: Any, axes: tuple[int, ...], keep: bool) -> Any:
        if any(known(x.shape[a]) and x.shape[a] == 0 for a in axes):
            least = name == "max"
            if np.dtype(x.dtype).kind == "b":
                neutral = not least
            elif least:
                neutral = lowest(x.dtype)
            else:
                neutral = np.inf if not is_integer(x) else np.iinfo(x.dtype).max
            sizes = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes)
            return xp.full(sizes, neutral, dtype=x.dtype)
        return getattr(xp, name)(x, axis=axes, keepdims=keep)

    return reduce


def _sum(xp: Any, x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    return xp.sum(x, axis=axes, keepdims=keep, dtype=None if x.dtype == object else x.dtype)


def _mean(xp: Any, x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    if is_integer(x):
        return (_sum(xp, x, axes, keep) // prod(x.shape[a] for a in axes)).astype(x.dtype)
    return xp.mean(x, axis=axes, keepdims=keep)


def _log_sum_exp(xp: Any, x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    floats = x.astype(np.float64) if is_integer(x) else x
    return nn.logsumexp(floats, axes, keepdims=keep).astype(x.dtype) if axes else floats


REDUCTIONS = {
    "ReduceSum": _sum,
    "ReduceProd": lambda xp, x, a, k: xp.prod(x, axis=a, keepdims=k, dtype=None if x.dtype == object else x.dtype),
    "ReduceMean": _mean,
    "ReduceMax": _extreme("max"),
    "ReduceMin": _extreme("min"),
    "ReduceL1": lambda xp, x, a, k: _sum(xp, xp.abs(x), a, k),
    "ReduceL2": lambda xp, x, a, k: xp.sqrt(_sum(xp, x * x, a, k)).astype(x.dtype),
    "ReduceLogSum": lambda xp, x, a, k: xp.log(_sum(xp, x, a, k)).astype(x.dtype),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": lambda xp, x, a, k: _sum(xp, x * x, a, k),
}
UNCHANGED = ("ReduceSum", "ReduceProd", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceLogSumExp")
"""Reductions over no axis that leave elements as they are."""


def _reduction(name: str) -> Any:
    def compute(node: Node, x: Any, axes: Any = None) -> Any:
        chosen = _axes(node, x, axes)
        if chosen is None and name in UNCHANGED:
            return x
        xp, x = operands(x)
        return REDUCTIONS[name](xp, x, chosen or (), bool(node.get("keepdims", 1)))

    return compute


for _name in REDUCTIONS:
    op(_name)(_reduction(_name))


def _rows(node: Node, x: Any) -> tuple[Any, int]:
    """The array whose axis is normalized: before opset 13 all dims from the axis on are one."""
    if node.version >= 13:
        return x, normalized(node.get("axis", -1), x.ndim)
    axis = normalized(node.get("axis", 1), x.ndim) if x.ndim > 1 else 0
    return x.reshape((prod(x.shape[:axis]), prod(x.shape[axis:]))), 1


def _normalized(function: Any) -> Any:
    def compute(node: Node, x: Any) -> Any:
        rows, axis = _rows(node, x)
        return function(rows, axis).reshape(x.shape).astype(x.dtype)

    return compute


def _hardmax(x: Any, axis: int) -> Any:
    best = lnp.argmax(x, axis=axis, keepdims=True)
    steps = lnp.arange(x.shape[axis]).reshape(tuple(-1 if d == axis else 1 for d in range(x.ndim)))
    return (steps == best).astype(x.dtype)


op("Softmax")(_normalized(lambda x, axis: nn.softmax(x, axis)))
op("LogSoftmax")(_normalized(lambda x, axis: nn.log_softmax(x, axis)))
op("Hardmax")(_normalized(_hardmax))

"""Losses of `lamina.nn`: torch.nn.functional's, with its names.

Each takes `reduction`: "mean" over all elements, "sum", or "none" for a loss an element.
"""

from __future__ import annotations

import math
from typing import Any

from ...api import Tracer, array_function, broadcast_tracer, full_like_tracer, lift, lift_as, lift_float, lift_operands, token
from ...api.dtypes import FLOAT64, is_integer_dtype, result_type
from ...api.errors import DTypeError, ShapeError
from ...api.functions import scan
from ..numpy.axes_and_shapes import normalize_axis
from ..numpy.create import arange, asarray, full, full_like, zeros
from ..numpy.elementwise import broadcast_shapes
from ..numpy.index import as_index, take_along_axis
from ..numpy.join import concatenate, stack
from ..numpy.logic import clip, where
from ..numpy.math import logaddexp
from ..numpy.reduce import mean, sum
from ..numpy.ufuncs import absolute, exp, log, maximum, sqrt
from .namespace import softplus

_REDUCTIONS = {"mean": mean, "sum": sum, "none": lambda x: x}


def _reduced(losses: Any, reduction: str) -> Any:
    if reduction not in _REDUCTIONS:
        raise ShapeError(f"reduction must be one of {', '.join(_REDUCTIONS)}, got {reduction!r}")
    return _REDUCTIONS[reduction](losses)


def _floats(*args: Any) -> list[Tracer]:
    """Operands of one float dtype and one shape."""
    tokens = [token(x) for x in args]
    dtype = result_type(tokens)
    dtype = dtype if dtype.kind == "f" else FLOAT64
    lifted = lift_operands(args, tokens, (dtype,) * len(args))
    shape = broadcast_shapes([x.shape for x in lifted])
    return [broadcast_tracer(x, shape) for x in lifted]


@array_function
def mse_loss(x: Any, y: Any, reduction: str = "mean") -> Any:
    """`(x - y) ** 2`.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.mse_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    np.float64(2.0)
    """
    x, y = _floats(x, y)
    return _reduced((x - y) * (x - y), reduction)


@array_function
def l1_loss(x: Any, y: Any, reduction: str = "mean") -> Any:
    """`abs(x - y)`."""
    x, y = _floats(x, y)
    return _reduced(absolute(x - y), reduction)


def _huber(x: Any, y: Any, delta: float) -> Any:
    """Quadratic up to a distance of delta, linear beyond."""
    x, y = _floats(x, y)
    far = absolute(x - y)
    near = where(far < delta, far, delta)
    return 0.5 * near * near + delta * (far - near)


@array_function
def huber_loss(x: Any, y: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """`(x - y) ** 2 / 2` where x and y differ by less than `delta`, else `delta * (abs(x - y) - delta / 2)`."""
    return _reduced(_huber(x, y, _above_0("delta", delta)), reduction)


@array_function
def smooth_l1_loss(x: Any, y: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """`huber_loss` with delta `beta`, divided by it; `l1_loss` for 0."""
    if beta == 0:
        return l1_loss(lift(x), lift(y), reduction)
    return _reduced(_huber(x, y, _above_0("beta", beta)) / beta, reduction)


def _above_0(name: str, value: float) -> float:
    if not value > 0:
        raise ShapeError(f"{name} must be greater than 0, got {value!r}")
    return float(value)


@array_function
def binary_cross_entropy(x: Any, y: Any, reduction: str = "mean") -> Any:
    """`-y * log(x) - (1 - y) * log(1 - x)` of probabilities; logarithms are at least -100."""
    x, y = _floats(x, y)
    return _reduced(-(y * clip(log(x), -100, None) + (1 - y) * clip(log(1 - x), -100, None)), reduction)


@array_function
def binary_cross_entropy_with_logits(x: Any, y: Any, reduction: str = "mean", pos_weight: Any = None) -> Any:
    """`binary_cross_entropy(sigmoid(x), y)`, without overflow; terms of positive examples count `pos_weight` times."""
    x, y = _floats(x, y)
    negative = softplus(x)
    positive = negative - x
    weight = 1 if pos_weight is None else lift_as(lift(pos_weight), x.dtype)
    return _reduced(weight * y * positive + (1 - y) * negative, reduction)


@array_function
def focal_loss(x: Any, y: Any, reduction: str = "mean", alpha: float = 0.25, gamma: float = 2.0) -> Any:
    """`binary_cross_entropy_with_logits` with less weight on easy examples: times `(1 - p) ** gamma` for a probability p of the
    true class.

    Positive examples count `alpha`, negative ones `1 - alpha`; a negative alpha leaves that out. Lin et al., "Focal loss for
    dense object detection", ICCV 2017.
    """
    x, y = _floats(x, y)
    loss = binary_cross_entropy_with_logits(x, y, "none")
    p = 1 / (1 + exp(-x))
    wrong = p + y - 2 * p * y
    loss = loss * wrong**gamma
    return _reduced(loss if alpha < 0 else (alpha * y + (1 - alpha) * (1 - y)) * loss, reduction)


@array_function
def nll_loss(log_probs: Any, labels: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100) -> Any:
    """`-log_probs[label]` of each example.

    Args:
        log_probs: floats[..., classes].
        labels: integers[...]; `ignore_index` labels do not count.
        weight: floats[classes], how much an example of each class counts; "mean" divides by their sum.
        reduction: "mean", "sum" or "none".
        ignore_index: a label.
    """
    x, labels = lift_float(log_probs), lift(labels)
    if not is_integer_dtype(labels.dtype) or x.ndim == 0 or labels.shape != x.shape[:-1]:
        raise ShapeError(
            f"nll_loss needs one integer label an example of {list(x.shape)}, got {labels.dtype}{list(labels.shape)}"
        )
    labels = as_index(labels)
    counted = labels != ignore_index
    safe = where(counted, labels, 0)
    weights = full_like_tracer(x, 1) if weight is None else broadcast_tracer(lift_as(lift(weight), x.dtype), x.shape)
    factor = where(counted, _label(weights, safe), 0)
    losses = -_label(x, safe) * factor
    return sum(losses) / sum(factor) if reduction == "mean" else _reduced(losses, reduction)


def _label(x: Any, labels: Any) -> Any:
    return take_along_axis(x, labels[..., None], -1)[..., 0]


@array_function
def kl_div(x: Any, y: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """`y * (log(y) - x)` of log-probabilities x and probabilities y (log-probabilities too, with `log_target`).

    "batchmean" divides the sum by the first size, which is the divergence.
    """
    x, y = _floats(x, y)
    if log_target:
        losses: Any = exp(y) * (y - x)
    else:
        losses = where(y > 0, y * log(where(y > 0, y, 1)), 0) - y * x
    if reduction == "batchmean":
        return sum(losses) / x.shape[0]
    return _reduced(losses, reduction)


@array_function
def hinge_embedding_loss(x: Any, y: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """`x` where y is 1, `max(margin - x, 0)` where it is -1."""
    x, y = _floats(x, y)
    return _reduced(where(y == 1, x, 0) + where(y == -1, maximum(margin - x, 0), 0), reduction)


@array_function
def margin_ranking_loss(x1: Any, x2: Any, y: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """`max(margin - y * (x1 - x2), 0)`, for y of 1 or -1."""
    x1, x2, y = _floats(x1, x2, y)
    return _reduced(maximum(margin - y * (x1 - x2), 0), reduction)


@array_function
def soft_margin_loss(x: Any, y: Any, reduction: str = "mean") -> Any:
    """`log(1 + exp(-y * x))`, without overflow, for y of 1 or -1."""
    x, y = _floats(x, y)
    return _reduced(softplus(-y * x), reduction)


@array_function
def poisson_nll_loss(
    x: Any, y: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Any:
    """The negative log-likelihood of counts y of a Poisson distribution of mean `exp(x)`, or x without `log_input`.

    It leaves `log(y!)` out; `full` adds Stirling's approximation of it where y > 1.
    """
    x, y = _floats(x, y)
    losses: Any = exp(x) - y * x if log_input else x - y * log(x + eps)
    if full:
        safe = where(y > 1, y, 2)
        losses = losses + where(y > 1, safe * log(safe) - safe + 0.5 * log(2 * math.pi * safe), 0)
    return _reduced(losses, reduction)


@array_function
def gaussian_nll_loss(x: Any, y: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Any:
    """The negative log-likelihood of y for normal distributions of mean x and variance `max(var, eps)`.

    It leaves `log(2 * pi) / 2` out unless `full`. The gradient sees the variance as if it were not limited.
    """
    from ...api.functions import stop_gradient

    x, y, var = _floats(x, y, var)
    limited = var + stop_gradient(maximum(var, eps) - var)
    losses = 0.5 * (log(limited) + (x - y) * (x - y) / limited) + (0.5 * math.log(2 * math.pi) if full else 0)
    return _reduced(losses, reduction)


@array_function
def cosine_similarity(x: Any, y: Any, axis: int = -1, eps: float = 1e-8) -> Any:
    """`sum(x * y) / (norm(x) * norm(y))` along an axis; each norm counts as at least eps."""
    x, y = _floats(x, y)
    axis = normalize_axis(axis, x.ndim)
    squares = [maximum(sum(v * v, axis), eps * eps) for v in (x, y)]
    return sum(x * y, axis) / sqrt(squares[0] * squares[1])


@array_function
def cosine_embedding_loss(x1: Any, x2: Any, y: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """`1 - s` where y is 1, `max(s - margin, 0)` where it is -1; s is the cosine similarity along the last axis."""
    s = cosine_similarity(lift(x1), lift(x2))
    y = lift(y)
    return _reduced(where(y == 1, 1 - s, 0) + where(y == -1, maximum(s - margin, 0), 0), reduction)


@array_function
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """`max(d(anchor, positive) - d(anchor, negative) + margin, 0)`, d the distance `norm(a - b + eps)` along the last axis."""
    a, p, n = _floats(anchor, positive, negative)
    near, far = (sqrt(sum((a - b + eps) * (a - b + eps), -1)) for b in (p, n))
    return _reduced(maximum(near - far + margin, 0), reduction)


# --------------------------------------------------------------------------------------------------------------------
# Connectionist temporal classification


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean"
) -> Any:
    """The negative log-likelihood of label sequences over all their alignments with longer inputs.

    Graves, Fernandez, Gomez, Schmidhuber, "Connectionist temporal classification", ICML 2006: the forward variables over the
    labels with a blank around each, one input step after the other, in logarithms.

    Args:
        log_probs: floats[time, batch, classes], log-probabilities.
        targets: integers[batch, length], labels that are not blank.
        input_lengths, target_lengths: integers[batch], how many steps and labels of each example count.
        blank: the class of no label.
        reduction: "mean" (each loss divided by its target's length, or 1), "sum" or "none". A target that is too long for its
            input has an infinite loss.

    Cost: `time * batch * (2 * length + 1)` sums of exponentials.
    """
    x, targets, input_lengths, target_lengths = map(asarray, (log_probs, targets, input_lengths, target_lengths))
    if x.ndim != 3 or targets.ndim != 2 or targets.shape[0] != x.shape[1]:
        raise ShapeError(
            f"ctc_loss needs log_probs[time, batch, classes] and targets[batch, length], got {list(x.shape)} and "
            f"{list(targets.shape)}"
        )
    if not is_integer_dtype(targets.dtype):
        raise DTypeError(f"ctc_loss needs integer targets, got {targets.dtype}")
    batch, length = targets.shape
    blanks = full_like(targets, blank)
    states = concatenate([stack([blanks, targets], -1).reshape(batch, 2 * length), blanks[:, :1]], 1)
    # a label may follow another one directly, unless both are one
    free = concatenate([zeros((batch, 2), bool), (states[:, 2:] != states[:, :-2]) & (states[:, 2:] != blank)], 1)
    never = full((batch, 2), -math.inf, x.dtype)
    index = arange(2 * length + 1)

    def step(before: Any, inputs: Any) -> tuple[Any, Any]:
        time, row = inputs
        one, two = (concatenate([never[:, :k], before[:, : 2 * length + 1 - k]], 1) for k in (1, 2))
        total = _log_sum(_log_sum(before, one), where(free, two, -math.inf)) + take_along_axis(row, states, 1)
        return where((time < input_lengths)[:, None], total, before), None

    first = where(index < 2, take_along_axis(x[0], states, 1), never[:, :1])
    final, _ = scan(step, first, (arange(1, x.shape[0]), x[1:]))
    last = take_along_axis(final, 2 * target_lengths[:, None], 1)[:, 0]
    label = take_along_axis(final, maximum(2 * target_lengths[:, None] - 1, 0), 1)[:, 0]
    losses = -_log_sum(last, where(target_lengths > 0, label, -math.inf))
    return mean(losses / maximum(target_lengths, 1)) if reduction == "mean" else _reduced(losses, reduction)


def _log_sum(x: Any, y: Any) -> Any:
    """`log(exp(x) + exp(y))`, whose derivative is 0 where both are minus infinity."""
    none = maximum(x, y) == -math.inf
    return where(none, -math.inf, logaddexp(where(none, 0, x), where(none, 0, y)))

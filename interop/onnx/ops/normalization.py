"""Normalization, and Dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compat.jax.lax import namespace as lax
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ....library.random import namespace as random
from ..nodes import Node, normalized, op
from ..values import is_constant, known, scalar


@op("BatchNormalization")
def batch_normalization(node: Node, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
    """With given statistics, or in training mode those of the batch, which update the given ones."""
    eps = node.get("epsilon", 1e-5)
    training = node.get("training_mode", 0) or (
        node.version < 14 and node.version >= 7 and node.wants(1) and not is_constant(mean)
    )
    if node.version < 7:
        training = not node.get("is_test", 0) and node.wants(1)
    if not training:
        return nn.batch_norm(x, mean, var, scale, bias, axis=1, eps=eps).astype(x.dtype)
    axes = tuple(d for d in range(x.ndim) if d != 1)
    wide = x.astype(np.float32) if np.dtype(x.dtype).itemsize < 4 else x
    m, v = lnp.mean(wide, axis=axes), lnp.var(wide, axis=axes)
    y = nn.batch_norm(wide, m, v, scale, bias, axis=1, eps=eps).astype(x.dtype)
    keep = node.get("momentum", 0.9)
    return y, (mean * keep + m * (1 - keep)).astype(mean.dtype), (var * keep + v * (1 - keep)).astype(var.dtype)


@op("InstanceNormalization")
def instance_normalization(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    return nn.instance_norm(x, scale, bias, eps=node.get("epsilon", 1e-5)).astype(x.dtype)


@op("GroupNormalization")
def group_normalization(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    groups, eps = node.need("num_groups"), node.get("epsilon", 1e-5)
    if known(scale.shape[0], x.shape[1]) and scale.shape[0] != x.shape[1]:  # before opset 21 one for each group
        scale, bias = (lnp.repeat(v, x.shape[1] // groups) for v in (scale, bias))
    return nn.group_norm(x, groups, scale, bias, eps=eps).astype(x.dtype)


@op("LayerNormalization")
def layer_normalization(node: Node, x: Any, scale: Any, bias: Any = None) -> Any:
    first = normalized(node.get("axis", -1), x.ndim)
    axes, eps = tuple(range(first, x.ndim)), node.get("epsilon", 1e-5)
    wide = x.astype(np.float32) if np.dtype(x.dtype).itemsize < 4 else x
    if not node.wants(1) and not node.wants(2) and tuple(scale.shape) == tuple(x.shape[first:]):
        same = bias is None or tuple(bias.shape) == tuple(x.shape[first:])
        if same:
            return nn.layer_norm(wide, scale, bias, axis=axes, eps=eps).astype(x.dtype)
    mean = lnp.mean(wide, axis=axes, keepdims=True)
    centered = wide - mean
    inverse = 1 / lnp.sqrt(lnp.mean(centered * centered, axis=axes, keepdims=True) + eps)
    y = (centered * inverse).astype(x.dtype) * scale
    return y if bias is None and len(node.outputs) == 1 else ((y if bias is None else y + bias), mean, inverse)


@op("RMSNormalization")
def rms_normalization(node: Node, x: Any, scale: Any) -> Any:
    first = normalized(node.get("axis", -1), x.ndim)
    axes, eps = tuple(range(first, x.ndim)), node.get("epsilon", 1e-5)
    wide = x.astype(np.float32) if np.dtype(x.dtype).itemsize < 4 else x
    return nn.rms_norm(wide, None, axis=axes, eps=eps).astype(x.dtype) * scale


@op("LpNormalization")
def lp_normalization(node: Node, x: Any) -> Any:
    axis, p = normalized(node.get("axis", -1), x.ndim), node.get("p", 2)
    norm = lnp.sum(lnp.abs(x), axis=axis, keepdims=True) if p == 1 else lnp.sqrt(lnp.sum(x * x, axis=axis, keepdims=True))
    return lnp.where(norm == 0, lnp.zeros_like(x), x / lnp.where(norm == 0, lnp.ones_like(norm), norm))


@op("LRN")
def lrn(node: Node, x: Any) -> Any:
    """`x / (bias + alpha / size * sum of squares of neighbouring channels) ** beta` (Krizhevsky et al., 2012)."""
    size = node.need("size")
    before, rest = (size - 1) // 2, size - 1 - (size - 1) // 2
    window = (1, size, *[1] * (x.ndim - 2))
    pads = [(0, 0), (before, rest), *[(0, 0)] * (x.ndim - 2)]
    squares = lax.reduce_window(x * x, np.asarray(0, x.dtype), lax.add, window, (1,) * x.ndim, pads)
    return x / (node.get("bias", 1.0) + node.get("alpha", 1e-4) / size * squares) ** node.get("beta", 0.75)


@op("MeanVarianceNormalization")
def mean_variance_normalization(node: Node, x: Any) -> Any:
    axes = tuple(node.get("axes", [0, 2, 3]))
    mean = lnp.mean(x, axis=axes, keepdims=True)
    return (x - mean) / (lnp.sqrt(lnp.mean(x * x, axis=axes, keepdims=True) - mean * mean) + 1e-9)


@op("Dropout")
def dropout(node: Node, x: Any, ratio: Any = None, training: Any = None) -> Any:
    """The array itself, or in training mode some elements zero and the others larger."""
    rate = node.get("ratio", 0.5) if ratio is None else ratio
    if training is None or not bool(scalar(training, "the mode")) or (is_constant(ratio) and not float(np.asarray(ratio))):
        return (x, lnp.ones(x.shape, dtype=bool)) if node.wants(1) else x
    key = random.key(node.get("seed", 0))
    mask = random.uniform(key, x.shape) >= rate
    y = lnp.where(mask, x / (1 - rate), lnp.zeros_like(x)).astype(x.dtype)
    return y, mask

"""Normalizations: results, and the statistics that derivatives use."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ....api.dtypes import STORED
from ....compat.jax.lax import namespace as lax
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..errors import UnsupportedOp
from ..nodes import Call, array, op


def wide(x: Any) -> Any:
    """Floats in which statistics are computed."""
    return x.astype(np.float32) if x.dtype in STORED else x


@op("native_layer_norm", "layer_norm")
def layer_norm(call: Call, x: Any, shape: Sequence[Any], w: Any = None, b: Any = None, eps: float = 1e-5, *args: Any) -> Any:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    out = nn.layer_norm(x, w, b, axis=axes, eps=eps)
    if call.op == "layer_norm":
        return out
    x = wide(x)
    mean = lnp.mean(x, axis=axes, keepdims=True)
    return out, mean, lax.rsqrt(lnp.var(x, axis=axes, keepdims=True) + eps)


@op("_fused_rms_norm", "rms_norm")
def rms_norm(call: Call, x: Any, shape: Sequence[Any], w: Any = None, eps: Any = None) -> Any:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    eps = float(np.finfo(np.dtype(x.dtype)).eps) if eps is None else eps
    out = nn.rms_norm(x, w, axis=axes, eps=eps)
    if call.op == "rms_norm":
        return out
    return out, lax.rsqrt(lnp.mean(wide(x) ** 2, axis=axes, keepdims=True) + eps)


@op("native_group_norm", "group_norm")
def group_norm(call: Call, x: Any, w: Any, b: Any, n: Any, channels: Any, size: Any, groups: int, eps: float) -> Any:
    out = nn.group_norm(x, groups, w, b, eps=eps)
    rows = wide(x).reshape((x.shape[0], groups, -1)) if prod(x.shape[1:]) else None
    if rows is None:
        empty = lnp.zeros((x.shape[0], groups), dtype=x.dtype)
        return out, empty, empty
    return out, lnp.mean(rows, axis=2), lax.rsqrt(lnp.var(rows, axis=2) + eps)


def channels(v: Any, rank: int) -> Any:
    """Numbers of channels beside an array whose second dim has them."""
    return v.reshape((1, -1, *[1] * (rank - 2))) if rank > 2 else v.reshape((1, -1))


def _normalized(x: Any, mean: Any, rstd: Any, w: Any, b: Any, dtype: Any) -> Any:
    """One scale and shift of each channel."""
    scale = rstd if w is None else rstd * w
    shift = -mean * scale if b is None else b - mean * scale
    return (x * channels(scale, x.ndim) + channels(shift, x.ndim)).astype(dtype)


@op("_native_batch_norm_legit_no_training", "_batch_norm_no_update")
def batch_norm_inference(call: Call, x: Any, w: Any, b: Any, mean: Any, var: Any, momentum: float, eps: float) -> Any:
    out = nn.batch_norm(x, mean, var, w, b, eps=eps)
    nothing = lnp.zeros((0,), dtype=mean.dtype)
    return out, nothing, nothing


@op(
    "_native_batch_norm_legit_functional", "_native_batch_norm_legit", "native_batch_norm",
    "_batch_norm_with_update_functional", "_batch_norm_with_update",
)  # fmt: skip
def batch_norm(call: Call, x: Any, w: Any, b: Any, *args: Any) -> Any:
    """With the statistics of the batch, which move the running ones; or with the running ones."""
    rest: list[Any] = list(args)
    mean, var = (None, None) if call.overload == "no_stats" else (rest.pop(0), rest.pop(0))
    training = True if "update" in call.op else rest.pop(0)
    momentum, eps = rest
    if not training:
        out, nothing, _ = batch_norm_inference(call, x, w, b, mean, var, momentum, eps)
        return (out, nothing, nothing, mean, var) if "functional" in call.op else (out, nothing, nothing)
    wider = wide(x)
    axes = (0, *range(2, x.ndim))
    count: Any = 1
    for a in axes:
        count = count * x.shape[a]
    here = lnp.mean(wider, axis=axes)
    spread = lnp.var(wider, axis=axes)
    rstd = lax.rsqrt(spread + eps)
    out = _normalized(wider, here, rstd, w, b, x.dtype)
    if "functional" not in call.op or mean is None or var is None:
        if mean is not None:
            raise UnsupportedOp("running statistics that are changed in place: use a functional program")
        return out, here, rstd
    whole = array(count, spread.dtype)
    unbiased = spread * (whole / (whole - 1))
    mean = mean * (1 - momentum) + here.astype(mean.dtype) * momentum
    var = var * (1 - momentum) + unbiased.astype(var.dtype) * momentum
    if "with_update" in call.op:
        return out, here, rstd, lnp.zeros((0,), dtype=np.uint8), mean, var
    return out, here, rstd, mean, var


@op("native_dropout", "dropout")
def native_dropout(call: Call, x: Any, p: float, train: Any = True) -> Any:
    """Only where nothing is dropped: the numbers of torch's generator are its own."""
    if not train or p == 0:
        return (x, lnp.ones(x.shape, dtype=bool)) if call.op == "native_dropout" else x
    if p == 1:
        return lnp.zeros_like(x), lnp.zeros(x.shape, dtype=bool)
    raise UnsupportedOp("dropout draws torch's random numbers: use model.eval()")


@op(
    "rand", "randn", "randperm", "randint", "bernoulli", "multinomial", "normal", "uniform", "rand_like", "randn_like",
    "randint_like", "normal_functional", "exponential", "rrelu_with_noise_functional",
)  # fmt: skip
def random(call: Call, *args: Any, **kwargs: Any) -> Any:
    raise UnsupportedOp(f"{call.op} draws torch's random numbers: pass them as an argument")

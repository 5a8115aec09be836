"""Ops that torch's derivatives call: the derivatives of the functions of the ops themselves, unless there is a simpler form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from ....api.functions import value_and_grad
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..nodes import HANDLERS, Call, array, op
from .convolution import convolved
from .normalization import channels
from .pooling import Windows, averaged


def transposed(function: Callable[..., Any], primals: Sequence[Any], cotangent: Any) -> tuple[Any, ...]:
    """The derivatives by the arguments, for a cotangent of the result."""
    slopes = value_and_grad(lambda *p: lnp.sum(function(*p) * cotangent), argnums=tuple(range(len(primals))))(*primals)[1]
    return tuple(slopes)


@op("convolution_backward")
def convolution_backward(
    call: Call, slope: Any, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, is_transposed: bool,
    output_padding: Any, groups: int, mask: Sequence[bool],
) -> Any:  # fmt: skip
    """By the images, the filters and the bias, each where the mask asks for it."""

    def function(x: Any, w: Any) -> Any:
        return convolved(x, w, stride, padding, dilation, is_transposed, output_padding, groups)

    by_x = transposed(lambda x: function(x, w), [x], slope)[0] if mask[0] else None
    by_w = transposed(lambda w: function(x, w), [w], slope)[0] if mask[1] else None
    axes = tuple(d for d in range(slope.ndim) if d != slope.ndim - w.ndim + 1)
    return by_x, by_w, lnp.sum(slope, axis=axes) if mask[2] else None


def _linear(name: str, backward: str) -> None:
    """`backward(slope, input_size, ...)` of a function that is linear in its images."""

    @op(backward)
    def compute(call: Call, slope: Any, size: Any, input_size: Any, *args: Any, **kwargs: Any) -> Any:
        forward = replace(call, op=name)
        start = lnp.zeros(tuple(input_size), dtype=slope.dtype)
        return transposed(lambda x: HANDLERS[name](forward, x, size, *args, **kwargs), [start], slope)[0]


for _rank in (1, 2, 3):
    for _name in ("nearest", "linear", "bilinear", "trilinear", "bicubic"):
        if f"upsample_{_name}{_rank}d" in HANDLERS:
            _linear(f"upsample_{_name}{_rank}d", f"upsample_{_name}{_rank}d_backward")
    _linear(f"_upsample_nearest_exact{_rank}d", f"_upsample_nearest_exact{_rank}d_backward")


@op("avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(
    call: Call, slope: Any, x: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, included: bool, divisor: Any
) -> Any:
    rank = int(call.op[len("avg_pool")])
    lone = x.ndim == rank + 1
    images, cotangent = (x[None], slope[None]) if lone else (x, slope)
    windows = Windows(images.shape[2:], kernel, stride, padding, 1, ceil_mode)
    by_x = transposed(lambda x: averaged(x, windows, included, divisor), [images], cotangent)[0]
    return by_x[0] if lone else by_x


@op("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(call: Call, slope: Any, x: Any) -> Any:
    rank = int(call.op[len("_adaptive_avg_pool")])
    function = HANDLERS[f"_adaptive_avg_pool{rank}d"]
    return transposed(lambda x: function(call, x, slope.shape[-rank:]), [x], slope)[0]


@op("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(
    call: Call, slope: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: Any
) -> Any:
    """Each slope goes to the element that the index names."""
    rank = int(call.op[len("max_pool")])
    spatial, outer = x.shape[-rank:], x.shape[:-rank]
    rows: Any = 1
    for n in outer:
        rows = rows * n
    flat = lnp.zeros((rows, prod(spatial)), dtype=slope.dtype)
    index = indices.reshape((rows, -1))
    return flat.at[lnp.arange(rows)[:, None], index].add(slope.reshape((rows, -1))).reshape(x.shape)


@op("native_layer_norm_backward")
def layer_norm_backward(
    call: Call, slope: Any, x: Any, shape: Sequence[Any], mean: Any, rstd: Any, w: Any, b: Any, mask: Sequence[bool]
) -> Any:
    """Ba, Kiros, Hinton, "Layer normalization", 2016: with n the normalized x, `rstd * (g - mean(g) - n * mean(g * n))`."""
    inner = tuple(range(x.ndim - len(shape), x.ndim))
    outer = tuple(range(x.ndim - len(shape)))
    normal = (x - mean) * rstd
    by_w = lnp.sum(slope * normal, axis=outer) if mask[1] and w is not None else None
    by_b = lnp.sum(slope, axis=outer) if mask[2] and b is not None else None
    by_x = _centred(slope if w is None else slope * w, normal, rstd, inner) if mask[0] else None
    return by_x, by_w, by_b


def _centred(g: Any, normal: Any, rstd: Any, axes: tuple[int, ...]) -> Any:
    return rstd * (g - lnp.mean(g, axis=axes, keepdims=True) - normal * lnp.mean(g * normal, axis=axes, keepdims=True))


@op("native_group_norm_backward")
def group_norm_backward(
    call: Call, slope: Any, x: Any, mean: Any, rstd: Any, w: Any, n: Any, c: Any, size: Any, groups: int, mask: Sequence[bool]
) -> Any:
    parts = (x.shape[0], groups, c // groups, -1)
    normal = (x.reshape(parts) - mean.reshape((-1, groups, 1, 1))) * rstd.reshape((-1, groups, 1, 1))
    slopes = slope.reshape(parts)
    by_w = lnp.sum(slopes * normal, axis=(0, 3)).reshape((-1,)) if mask[1] else None
    by_b = lnp.sum(slopes, axis=(0, 3)).reshape((-1,)) if mask[2] else None
    if not mask[0]:
        return None, by_w, by_b
    g = slopes if w is None else slopes * w.reshape((1, groups, -1, 1))
    return _centred(g, normal, rstd.reshape((-1, groups, 1, 1)), (2, 3)).reshape(x.shape), by_w, by_b


@op("native_batch_norm_backward", "batch_norm_backward")
def batch_norm_backward(
    call: Call, slope: Any, x: Any, w: Any, mean: Any, var: Any, saved_mean: Any, saved_rstd: Any, training: bool, eps: float,
    mask: Sequence[bool], *args: Any,
) -> Any:  # fmt: skip
    axes = (0, *range(2, x.ndim))
    if not training:
        saved_mean, saved_rstd = mean, 1 / lnp.sqrt(var + eps)
    rstd = channels(saved_rstd, x.ndim)
    normal = (x - channels(saved_mean, x.ndim)) * rstd
    by_w = lnp.sum(slope * normal, axis=axes) if mask[1] else None
    by_b = lnp.sum(slope, axis=axes) if mask[2] else None
    g = slope if w is None else slope * channels(w, x.ndim)
    by_x = (_centred(g, normal, rstd, axes) if training else g * rstd) if mask[0] else None
    return by_x, by_w, by_b


# --------------------------------------------------------------------------------------------------------------------
# Elementwise functions, by their results or arguments


@op("threshold_backward")
def threshold_backward(call: Call, slope: Any, x: Any, limit: Any) -> Any:
    return lnp.where(x <= limit, lnp.zeros_like(slope), slope)


@op("sigmoid_backward")
def sigmoid_backward(call: Call, slope: Any, y: Any) -> Any:
    return slope * (y * (1 - y))


@op("tanh_backward")
def tanh_backward(call: Call, slope: Any, y: Any) -> Any:
    return slope * (1 - y * y)


@op("_softmax_backward_data")
def softmax_backward(call: Call, slope: Any, y: Any, dim: int, dtype: Any) -> Any:
    weighted = slope * y
    return weighted - y * lnp.sum(weighted, axis=dim if y.ndim else None, keepdims=True)


@op("_log_softmax_backward_data")
def log_softmax_backward(call: Call, slope: Any, y: Any, dim: int, dtype: Any) -> Any:
    return slope - lnp.exp(y) * lnp.sum(slope, axis=dim if y.ndim else None, keepdims=True)


@op(
    "gelu_backward", "silu_backward", "leaky_relu_backward", "hardtanh_backward", "hardswish_backward", "hardsigmoid_backward",
    "mish_backward", "softplus_backward",
)  # fmt: skip
def of_argument(call: Call, slope: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Those that get the argument: derivatives of the functions."""
    name = call.op.removesuffix("_backward")
    forward = replace(call, op=name)
    if name == "leaky_relu":
        args = args[:1]
    return transposed(lambda x: HANDLERS[name](forward, x, *args, **kwargs), [x], slope)[0]


@op("elu_backward")
def elu_backward(call: Call, slope: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Any) -> Any:
    rise = x + alpha * scale if is_result else alpha * scale * lnp.exp(x * input_scale)
    return slope * lnp.where(x <= 0, input_scale * rise, array(scale, call.dtype))


@op("mse_loss_backward")
def mse_loss_backward(call: Call, slope: Any, x: Any, y: Any, reduction: int) -> Any:
    scale = 2.0 / prod(x.shape) if reduction == 1 else 2.0
    return scale * (x - y) * slope


@op("nll_loss_forward", "nll_loss2d_forward")
def nll_loss_forward(call: Call, x: Any, target: Any, w: Any, reduction: int, ignored: int) -> Any:
    """The negative of the log-probability of each target, and the sum of their weights."""
    axis = 1 if x.ndim > 1 else 0
    weights, used = _class_weights(x, target, w, ignored)
    chosen = lnp.expand_dims(lnp.where(used, target, lnp.zeros_like(target)), axis)
    losses = -lnp.squeeze(lnp.take_along_axis(x, chosen, axis), axis) * weights
    total = lnp.sum(weights)
    if reduction == 0:
        return losses, lnp.zeros((), dtype=x.dtype)
    return (lnp.sum(losses) / total if reduction == 1 else lnp.sum(losses)), total


@op("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(call: Call, slope: Any, x: Any, target: Any, w: Any, reduction: int, ignored: int, total: Any) -> Any:
    axis = 1 if x.ndim > 1 else 0
    weights, used = _class_weights(x, target, w, ignored)
    each = -weights * (slope / total if reduction == 1 else slope)
    hot = nn.one_hot(lnp.where(used, target, lnp.zeros_like(target)), x.shape[axis], dtype=x.dtype, axis=axis)
    return hot * lnp.expand_dims(each, axis)


def _class_weights(x: Any, target: Any, w: Any, ignored: int) -> tuple[Any, Any]:
    used = target != ignored
    one = (
        lnp.ones(target.shape, dtype=x.dtype) if w is None else lnp.take(w, lnp.where(used, target, lnp.zeros_like(target)), 0)
    )
    return lnp.where(used, one, lnp.zeros_like(one)), used


@op("slice_backward", "select_backward")
def slice_backward(call: Call, slope: Any, size: Any, dim: int, *args: Any) -> Any:
    """Zeros with the slopes where the slice or element was."""
    zeros = lnp.zeros(tuple(size), dtype=slope.dtype)
    name = "slice_scatter" if call.op == "slice_backward" else "select_scatter"
    return HANDLERS[name](call, zeros, slope, dim, *args)

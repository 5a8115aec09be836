"""`lamina.nn`: functions of neural networks, each one composite op that passes can recognise."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from ...api import (
    FLOAT32,
    INT64,
    DTypeError,
    ShapeError,
    Tracer,
    array_function,
    broadcast_shapes,
    broadcast_tracer,
    build,
    canonical,
    compare,
    full_like_tracer,
    is_integer_dtype,
    lift,
    lift_as,
    lift_float,
    normalize_axes,
    normalize_axis,
    reshape_tracer,
    result_type,
    select,
    static_int,
)
from ..numpy import namespace as lnp  # noqa: F401  operators of tracers call it
from ..numpy.create import iota
from ..numpy.index import as_index
from ..numpy.logic import as_bool, isfinite
from ..numpy.reduce import max, mean, sum
from ..numpy.ufuncs import absolute, exp, log, sign

if TYPE_CHECKING:
    from .activations import *
    from .attention import *
    from .conv import *
    from .dropout import *
    from .embedding import *
    from .losses import *
    from .norms import *
    from .pool import *
    from .recurrent import *
    from .resize import *

_ELSEWHERE = {
    "..numpy.namespace": ("tanh",),
    ".activations": (
        "celu", "elu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "leaky_relu", "log1mexp", "log_sigmoid",
        "mish", "relu6", "selu", "soft_sign", "sparse_plus", "sparse_sigmoid", "squareplus", "standardize",
    ),
    ".attention": ("attention", "dot_product_attention", "rotary_embedding"),
    ".conv": ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    ".dropout": ("dropout",),
    ".embedding": ("embedding",),
    ".losses": (
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cosine_similarity", "ctc_loss",
        "focal_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss",
        "mse_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    ),
    ".norms": (
        "batch_norm", "batch_norm_train", "group_norm", "instance_norm", "layer_norm", "normalize", "rms_norm",
    ),
    ".pool": (
        "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
        "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
    ),
    ".recurrent": ("gru", "lstm", "rnn"),
    ".resize": ("interpolate", "resize"),
}  # fmt: skip
"""The functions of the files that are imported when one of theirs is first used."""

_HOMES = {name: home for home, names in _ELSEWHERE.items() for name in names}

__all__ = [
    "cross_entropy", "erf", "gelu", "identity", "log_softmax", "logmeanexp", "logsumexp", "one_hot", "relu", "sigmoid", "silu",
    "softmax", "softplus", "swish", *_HOMES,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "initializers":
        return importlib.import_module(".initializers", __package__)
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home, __package__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _along(op: str, x: Any, axis: Any, where: Any = None) -> Tracer:
    x = lift_float(x)
    axes = normalize_axes(axis, x.ndim)
    if not axes:
        raise ShapeError(f"{op} needs at least one axis, got shape {list(x.shape)} and axis={axis}")
    if where is None:
        return build(op, x, dims=axes)
    mask = broadcast_tracer(as_bool(where), x.shape)
    nothing = full_like_tracer(x, -math.inf)
    y = build(op, select(mask, x, nothing), dims=axes)
    return select(mask, y, nothing if op == "log_softmax" else full_like_tracer(x, 0))


@array_function
def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """`exp(x) / sum(exp(x))` along `axis`, without overflow.

    Args:
        x: floats of any shape; integers become float64.
        axis: an axis, a tuple of axes, or None for all.
        where: bools; elements where it is False count as minus infinity, their results are 0.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.softmax(np.zeros(4, np.float32))
    array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return _along("softmax", x, axis, where)


@array_function
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """`log(softmax(x, axis))`, accurate where softmax is near 0."""
    return _along("log_softmax", x, axis, where)


@array_function
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False, where: Any = None
) -> Any:
    """`log(sum(b * exp(x)))` along `axis` (all axes by default), without overflow; of elements where `where` is True.

    Args:
        b: factors, 1 by default; where they are 0, the elements of `a` do not count.
        return_sign: return the logarithm of the absolute value, and the sign of the sum.

    Returns:
        The logarithm, NaN of a sum below 0 unless `return_sign`.
    """
    x = lift_float(a)
    if b is not None:
        return _logsumexp_weighted(x, lift_float(b), normalize_axes(axis, x.ndim), keepdims, return_sign, where)
    if where is not None:
        x = select(broadcast_tracer(as_bool(where), x.shape), x, full_like_tracer(x, -math.inf))
    axes = normalize_axes(axis, x.ndim)
    y = build("logsumexp", x, dims=axes) if axes else x
    y = reshape_tracer(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape))) if keepdims else y
    return (y, sign(exp(y))) if return_sign else y


def _logsumexp_weighted(x: Tracer, b: Tracer, axes: tuple[int, ...], keepdims: bool, return_sign: bool, where: Any) -> Any:
    dtype, shape = result_type([x.dtype, b.dtype]), broadcast_shapes([x.shape, b.shape])
    x, b = (broadcast_tracer(lift_as(each, dtype), shape) for each in (x, b))
    counts = compare("ne", b, full_like_tracer(b, 0))
    if where is not None:
        counts = build("and_", counts, broadcast_tracer(as_bool(where), shape))
    x, b = select(counts, x, full_like_tracer(x, -math.inf)), select(counts, b, full_like_tracer(b, 0))
    top = build("stop_gradient", max(x, axes, keepdims=True))
    top = select(isfinite(top), top, full_like_tracer(top, 0))
    total = sum(b * exp(x - top), axes, keepdims=keepdims)
    high = top if keepdims else reshape_tracer(top, total.shape)
    return (log(absolute(total)) + high, sign(total)) if return_sign else log(total) + high


@array_function
def logmeanexp(x: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """`log(mean(exp(x)))` along `axis` (all axes by default), without overflow."""
    x = lift_float(x)
    count = log(sum(full_like_tracer(x, 1), axis, keepdims=keepdims, where=where))
    return logsumexp(x, axis, keepdims=keepdims, where=where) - count


@array_function
def identity(x: Any) -> Any:
    """`x`."""
    return lift(x)


@array_function
def relu(x: Any) -> Any:
    """`max(x, 0)`; NaN stays NaN, the derivative at 0 is 0."""
    x = lift(x)
    return build("relu", x, weak=x.weak)


@array_function
def sigmoid(x: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return build("sigmoid", lift_float(x))


@array_function
def erf(x: Any) -> Any:
    """The error function, `2 / sqrt(pi)` times the integral of `exp(-t * t)` from 0 to `x`.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.erf(np.float64(0.5)).round(6)
    np.float64(0.5205)
    """
    return build("erf", lift_float(x))


@array_function
def silu(x: Any) -> Any:
    """`x * sigmoid(x)`."""
    x = lift_float(x)
    return x * build("sigmoid", x)


swish = silu


@array_function
def softplus(x: Any) -> Any:
    """`log(1 + exp(x))`, without overflow."""
    from ..numpy.math import logaddexp

    return logaddexp(lift_float(x), 0.0)


@array_function
def gelu(x: Any, approximate: bool = True) -> Any:
    """`x * Phi(x)`; approximated through tanh, or exactly through erf."""
    return build("gelu", lift_float(x), approximate="tanh" if approximate else "none")


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


@array_function
def cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean over examples of `-log(softmax(logits)[label])`.

    Args:
        logits: floats[..., classes].
        labels: integers[...] (the index of each example's class; one out of range adds 0), or floats[..., classes]
            (probabilities).
    """
    x, y = lift_float(logits), lift(labels)
    if x.ndim == 0:
        raise ShapeError("cross_entropy needs logits with a dim of classes, got a scalar")
    if not is_integer_dtype(y.dtype):
        if y.shape != x.shape:
            raise ShapeError(f"cross_entropy needs labels of the shape of the logits {list(x.shape)}, got {list(y.shape)}")
        return -mean(sum(lift_as(y, x.dtype) * log_softmax(x), -1))
    if y.shape != x.shape[:-1]:
        raise ShapeError(f"cross_entropy needs one label for each example: logits are {list(x.shape)}, labels {list(y.shape)}")
    return build("cross_entropy", reshape_tracer(x, (y.size, x.shape[-1])), reshape_tracer(as_index(y), (y.size,)))

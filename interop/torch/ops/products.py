"""Products of matrices, attention, and Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....library import fft
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..errors import UnsupportedOp
from ..nodes import Call, array, op


@op("mm", "bmm", "matmul", "mv", "dot", "vdot")
def matmul(call: Call, x: Any, y: Any) -> Any:
    return lnp.matmul(lnp.conj(x) if call.op == "vdot" else x, y)


@op("addmm", "baddbmm", "addmv", "addbmm")
def addmm(call: Call, bias: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * bias + alpha * x @ y`; a beta of 0 leaves NaNs of the bias out."""
    product = lnp.matmul(x, y)
    product = lnp.sum(product, axis=0) if call.op == "addbmm" else product
    product = product if alpha == 1 else product * array(alpha, call.dtype)
    if beta == 0:
        return product
    return product + (bias if beta == 1 else bias * array(beta, call.dtype))


@op("linear")
def linear(call: Call, x: Any, w: Any, b: Any = None) -> Any:
    y = lnp.matmul(x, lnp.swapaxes(w, -1, -2) if w.ndim > 1 else w)
    return y if b is None else y + b


@op("einsum")
def einsum(call: Call, equation: str, operands: Any, **kwargs: Any) -> Any:
    return lnp.einsum(equation, *operands)


@op("outer")
def outer(call: Call, x: Any, y: Any) -> Any:
    return lnp.outer(x, y)


@op(
    "scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math",
)  # fmt: skip
def attention(
    call: Call, q: Any, k: Any, v: Any, *args: Any, attn_mask: Any = None, is_causal: bool = False,
    dropout_p: float = 0.0, scale: Any = None, enable_gqa: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Averages of values weighted by `softmax(scale * q @ k.T + mask)`, blocked, so that no matrix of scores is stored."""
    names = ["dropout_p", "is_causal"] if call.op.endswith("for_cpu") else ["attn_mask", "dropout_p", "is_causal"]
    given = {"attn_mask": attn_mask, "dropout_p": dropout_p, "is_causal": is_causal} | dict(zip(names, args, strict=False))
    attn_mask, causal = given["attn_mask"], bool(given["is_causal"])
    dropout_p = given["dropout_p"]
    if dropout_p:
        raise UnsupportedOp("attention with dropout draws torch's random numbers: use model.eval(), or dropout_p=0")
    queries, keys = q.shape[-2], k.shape[-2]
    bias = attn_mask
    if causal and queries is not keys:  # torch aligns both at the first element
        keep = lnp.arange(queries)[:, None] >= lnp.arange(keys)
        bias = lnp.where(keep, array(0.0, q.dtype), array(-np.inf, q.dtype))
        causal = False
    elif bias is not None and bias.dtype == bool:
        bias = lnp.where(bias, array(0.0, q.dtype), array(-np.inf, q.dtype))
    out = nn.attention(q, k, v, bias, causal=causal, scale=None if scale is None else float(scale))
    if attn_mask is not None and attn_mask.dtype == bool:  # rows that see nothing are zeros
        out = lnp.where(lnp.any(attn_mask, axis=-1, keepdims=True), out, lnp.zeros_like(out))
    return out if call.op == "scaled_dot_product_attention" else (out, None)


# --------------------------------------------------------------------------------------------------------------------
# Distances


@op("_cdist_forward", "cdist", "_euclidean_dist")
def cdist(call: Call, x: Any, y: Any, p: float = 2.0, mode: Any = None) -> Any:
    """Distances of all pairs of rows."""
    return _length(x[..., :, None, :] - y[..., None, :, :], p)


@op("_pdist_forward")
def pdist(call: Call, x: Any, p: float = 2.0) -> Any:
    """Distances of all pairs of different rows."""
    n = x.shape[0]
    if not isinstance(n, int):
        raise UnsupportedOp("distances of a symbolic number of rows are not supported")
    i, j = np.triu_indices(n, 1)
    return _length(x[i] - x[j], p)


def _length(x: Any, p: float) -> Any:
    size = lnp.abs(x)
    if p == 0:
        return lnp.sum((size != 0).astype(x.dtype), axis=-1)
    if p == float("inf"):
        return lnp.max(size, axis=-1)
    if p in (1, 2):
        return lnp.sum(size, axis=-1) if p == 1 else lnp.sqrt(lnp.sum(x * x, axis=-1))
    return lnp.sum(size ** float(p), axis=-1) ** (1.0 / p)


# --------------------------------------------------------------------------------------------------------------------
# Fourier transforms

_NORMS = {0: "backward", 1: "ortho", 2: "forward"}


def _norm(normalization: int, forward: bool) -> str:
    """torch counts by what the transform itself is divided by: nothing, sqrt(n) or n."""
    name = _NORMS[normalization]
    return name if forward or normalization == 1 else {"backward": "forward", "forward": "backward"}[name]


@op("_fft_r2c")
def fft_r2c(call: Call, x: Any, dims: Any, normalization: int, onesided: bool) -> Any:
    axes = tuple(dims)
    if onesided:
        return fft.rfftn(x, axes=axes, norm=_norm(normalization, True))
    return fft.fftn(x, axes=axes, norm=_norm(normalization, True))


@op("_fft_c2r")
def fft_c2r(call: Call, x: Any, dims: Any, normalization: int, last: Any) -> Any:
    axes = tuple(dims)
    sizes = [x.shape[a] for a in axes[:-1]] + [last]
    return fft.irfftn(x, tuple(sizes), axes=axes, norm=_norm(normalization, False))


@op("_fft_c2c")
def fft_c2c(call: Call, x: Any, dims: Any, normalization: int, forward: bool) -> Any:
    function = fft.fftn if forward else fft.ifftn
    return function(x, axes=tuple(dims), norm=_norm(normalization, forward))

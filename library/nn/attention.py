"""Attention functions of `lamina.nn`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...api import Tracer, array_function, broadcast_tracer, build, lift, lift_as
from ...api.dtypes import FLOAT64, inexact
from ...api.errors import ShapeError
from ..numpy.axes_and_shapes import reshape_tracer
from ..numpy.create import counting
from ..numpy.elementwise import broadcast_shapes
from ..numpy.join import concatenate, stack
from ..numpy.logic import logical_and, where
from ..numpy.shape import swapaxes
from ..numpy.ufuncs import cos, sin


@array_function
def attention(q: Any, k: Any, v: Any, bias: Any = None, *, causal: bool = False, scale: float | None = None) -> Any:
    """Every query's average of the values, weighted by `softmax(scale * q @ k.T + bias)`.

    No matrix of scores is stored: the memory needed grows with the number of queries, not with its product with the keys.
    With `causal`, blocks that no query sees are not computed.

    Args:
        q: floats[..., heads, queries, dim], or [queries, dim] for a single head.
        k: floats[..., heads, keys, dim]; q may have a multiple of its heads, neighbouring ones then share one of k and v.
        v: floats[..., heads, keys, dim_v].
        bias: floats that are added to the scores, or bools that say which keys a query sees; anything that broadcasts to
            [..., heads, queries, keys].
        causal: query `i` sees the keys 0 to `i`.
        scale: a number, by default `dim ** -0.5`.

    Returns:
        floats[..., heads, queries, dim_v]: float64 if q, k or v is (integers are), else float32. The result of a query that
        sees no key is 0. Infinities and NaN in a value that a query does not see may still reach its result.

    Raises:
        ShapeError: shapes do not fit.

    Cost: `2 * heads * queries * keys * (dim + dim_v)`, with `causal` half of it.

    >>> import numpy as np, lamina as lm
    >>> q = k = np.zeros((1, 2, 4), np.float32)
    >>> v = np.array([[[1, 3], [2, 5]]], np.float32)
    >>> lm.nn.attention(q, k, v, causal=True)
    array([[[1. , 3. ],
            [1.5, 4. ]]], dtype=float32)
    """
    tensors = [lift(x) for x in (q, k, v)]
    dtype = np.result_type(*(x.dtype if x.dtype.kind == "f" else FLOAT64 for x in tensors))
    tensors = [lift_as(x, dtype) for x in tensors]
    if {x.ndim for x in tensors} == {2}:
        single = [reshape_tracer(x, (1, *x.shape)) for x in tensors]
        y = _attention(single, bias, causal, scale)
        return reshape_tracer(y, y.shape[1:])
    if any(x.ndim < 3 for x in tensors):
        raise ShapeError(f"attention needs q, k and v of 3 dims or more, or all of 2, got shapes {_shown(tensors)}")
    return _attention(tensors, bias, causal, scale)


@array_function
def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
) -> Any:
    """`attention` as `jax.nn.dot_product_attention` has it: heads stand after the queries and keys.

    Args:
        query: floats[batch, queries, heads, dim], or without the batch.
        key, value: floats[batch, keys, heads, dim]; queries may have a multiple of their heads.
        bias: floats that are added to the scores; broadcasts to [batch, heads, queries, keys].
        mask: bools that say which keys a query sees; broadcasts likewise.
        scale, is_causal: as `scale` and `causal` of `attention`.
        query_seq_lengths, key_value_seq_lengths: integers[batch], how many queries and keys of each element there are; results
            of the other queries are 0.
        local_window_size: how many keys before and after its own position a query sees; one number is both.
        implementation: as in jax, where it chooses a library.

    Returns:
        floats[batch, queries, heads, dim].
    """
    tensors = [lift(x) for x in (query, key, value)]
    if {x.ndim for x in tensors} not in ({3}, {4}):
        raise ShapeError(f"dot_product_attention needs query, key and value all of 4 dims, or of 3, got {_shown(tensors)}")
    seen = [] if mask is None else [lift(mask)]
    seen += _local(tensors[0].shape[-3], tensors[1].shape[-3], local_window_size)
    if query_seq_lengths is not None:
        seen.append((lift(query_seq_lengths).reshape(-1, 1) > np.arange(tensors[0].shape[-3]))[:, None, :, None])
    if key_value_seq_lengths is not None:
        seen.append((lift(key_value_seq_lengths).reshape(-1, 1) > np.arange(tensors[1].shape[-3]))[:, None, None])
    mask = functools.reduce(logical_and, seen) if seen else None
    if mask is not None and bias is not None:
        bias = where(mask, bias, -np.inf)
    q, k, v = (swapaxes(x, -2, -3) for x in tensors)
    y = attention(q, k, v, mask if bias is None else bias, causal=is_causal, scale=scale)
    return swapaxes(y, -2, -3)


def _local(queries: int, keys: int, window: int | tuple[int, int] | None) -> list[Tracer]:
    """Which keys stand in the window of a query."""
    if window is None:
        return []
    before, after = (window, window) if isinstance(window, int) else window
    ahead = np.arange(keys) - np.arange(queries)[:, None]
    return [lift((ahead >= -before) & (ahead <= after))]


def _attention(tensors: list[Tracer], bias: Any, causal: bool, scale: float | None) -> Tracer:
    try:
        batch = broadcast_shapes([x.shape[:-3] for x in tensors])
    except ValueError:
        raise ShapeError(f"batch dims of q, k and v do not fit: shapes {_shown(tensors)}") from None
    q, k, v = (broadcast_tracer(x, (*batch, *x.shape[-3:])) for x in tensors)
    operands = [q, k, v]
    if bias is not None:
        bias = lift(bias)
        if bias.dtype.kind != "b":
            bias = lift_as(bias, q.dtype)
        if bias.ndim > q.ndim:
            raise ShapeError(f"the bias has more dims than the scores: {list(bias.shape)} for q, k and v of {_shown(tensors)}")
        operands.append(reshape_tracer(bias, ((1,) * (q.ndim - bias.ndim) + bias.shape)))
    factor = max(1, q.shape[-1]) ** -0.5 if scale is None else float(scale)
    return build("attention", *operands, mask="causal" if causal else "none", scale=factor)


def _shown(tensors: list[Tracer]) -> str:
    return ", ".join(str(list(x.shape)) for x in tensors)


@array_function
def rotary_embedding(x: Any, positions: Any = None, *, base: float = 10000.0, interleaved: bool = False) -> Any:
    """Rotates pairs of features by angles that grow with the position, so that products of two rows depend on their distance.

    Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021.

    Args:
        x: floats[..., length, dim], of an even dim; queries or keys.
        positions: numbers that broadcast to [..., length]; by default 0, 1, 2, ...
        base: pair k turns by `position * base ** (-2 * k / dim)`.
        interleaved: whether a pair is two neighbours, (0, 1), (2, 3) ..., or an element of each half, (0, dim / 2) ...

    Raises:
        ShapeError: the dim is odd, or there are less than two dims.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.rotary_embedding(np.array([[1.0, 0.0], [1.0, 0.0]])).round(4)
    array([[1.    , 0.    ],
           [0.5403, 0.8415]])
    """
    x = lift(x)
    x = x if x.dtype.kind == "f" else lift_as(x, inexact(x.dtype))
    if x.ndim < 2 or x.shape[-1] % 2:
        raise ShapeError(f"rotary_embedding needs [..., length, dim] with an even dim, got {list(x.shape)}")
    *_, length, dim = x.shape
    rates = float(base) ** (-np.arange(0, dim, 2) / dim)
    places = lift_as(counting(length) if positions is None else positions, x.dtype)
    angles = places[..., None] * lift_as(rates, x.dtype)
    if interleaved:
        pairs = reshape_tracer(x, (*x.shape[:-1], dim // 2, 2))
        first, second = pairs[..., 0], pairs[..., 1]
    else:
        first, second = x[..., : dim // 2], x[..., dim // 2 :]
    turned = [first * cos(angles) - second * sin(angles), second * cos(angles) + first * sin(angles)]
    return stack(turned, -1).reshape(x.shape) if interleaved else concatenate(turned, -1)

"""Multi-head attention."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...api.errors import ShapeError
from ...library.nn import namespace as nn
from ...library.numpy import namespace as lnp
from ...library.numpy.at import dynamic_update_slice
from ...library.random import namespace as random
from .initializers import Initializer, glorot_uniform
from .linear import Linear
from .module import Module, static

__all__ = ["KeyValueCache", "MultiHeadAttention"]


class KeyValueCache(NamedTuple):
    """Keys and values of the positions so far, for decoding one position after the other.

    Attributes:
        keys, values: floats[..., kv_heads, max_length, head_dim]; elements from `length` on are undefined.
        length: how many positions there are, an integer.
    """

    keys: Any
    values: Any
    length: Any


class MultiHeadAttention(Module):
    """Every position's average of values, by several heads: projections, `lm.nn.attention`, and a projection of the result.

    Args:
        embed_dim: features of argument and result, a multiple of `num_heads`.
        num_heads: heads of the queries.
        num_kv_heads: heads of keys and values, of which neighbouring heads of the queries share one; by default as many.
        bias: whether projections have one.
        rotary: whether queries and keys are turned by their positions (`lm.nn.rotary_embedding`).
        key, dtype: as of `Linear`.
        init: fills the projections to queries, keys and values; by default `glorot_uniform`.

    Attributes:
        in_proj_weight: floats[embed_dim + 2 * num_kv_heads * head_dim, embed_dim]: rows of queries, keys, values, as torch's.
        in_proj_bias: floats[embed_dim + 2 * num_kv_heads * head_dim], or None.
        out_proj: `Linear(embed_dim, embed_dim)`.

    Raises:
        ShapeError: features or heads do not divide.

    Vaswani et al., "Attention is all you need", 2017; Ainslie et al., "GQA", 2023.

    >>> import lamina as lm, numpy as np
    >>> attend = lm.train.modules.MultiHeadAttention(8, 2, key=lm.random.key(0))
    >>> x = np.ones((3, 5, 8), np.float32)
    >>> attend(x, causal=True).shape
    (3, 5, 8)
    >>> y, cache = attend(x[:, :1], cache=attend.empty_cache((3,), max_length=5))
    >>> y.shape, cache.length
    ((3, 1, 8), array(1, dtype=int32))
    """

    in_proj_weight: Any
    in_proj_bias: Any
    out_proj: Linear
    num_heads: int = static()
    num_kv_heads: int = static()
    rotary: bool = static()

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        bias: bool = True,
        rotary: bool = False,
        *,
        key: Any,
        dtype: Any = np.float32,
        init: Initializer | None = None,
    ) -> None:
        shared = num_heads if num_kv_heads is None else num_kv_heads
        if num_heads < 1 or embed_dim % num_heads or shared < 1 or num_heads % shared:
            raise ShapeError(
                "MultiHeadAttention needs features in heads of one size, and heads in groups of one size: "
                f"got {embed_dim} features, {num_heads} heads and {shared} heads of keys"
            )
        keys = random.split(key)
        rows = embed_dim + 2 * shared * (embed_dim // num_heads)
        self.in_proj_weight = (init or glorot_uniform())(keys[0], (rows, embed_dim), dtype)
        self.in_proj_bias = np.zeros(rows, dtype) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, key=keys[1], dtype=dtype)
        self.num_heads, self.num_kv_heads, self.rotary = num_heads, shared, bool(rotary)

    @property
    def head_dim(self) -> int:
        """Features of a head."""
        return self.in_proj_weight.shape[1] // self.num_heads

    def empty_cache(self, batch: tuple[int, ...], max_length: int, dtype: Any = np.float32) -> KeyValueCache:
        """A cache without positions, with room for `max_length`."""
        shape = (*batch, self.num_kv_heads, max_length, self.head_dim)
        return KeyValueCache(np.zeros(shape, dtype), np.zeros(shape, dtype), np.zeros((), np.int32))

    def __call__(
        self, x: Any, memory: Any = None, *, mask: Any = None, causal: bool = False, cache: KeyValueCache | None = None
    ) -> Any:
        """The result for each position of x.

        Args:
            x: floats[..., length, embed_dim], the source of queries.
            memory: floats[..., keys, embed_dim], the source of keys and values; by default x.
            mask: bools that say which keys a query sees, or floats that are added to the scores; broadcasts to
                [..., num_heads, length, keys].
            causal: position i sees the keys 0 to i.
            cache: the keys and values of earlier positions; those of x are appended, and each sees all up to itself. Positions
                beyond the cache's room overwrite its last ones.

        Returns:
            floats[..., length, embed_dim]; with a cache, a pair of it and the next cache.
        """
        if cache is not None and (memory is not None or mask is not None):
            raise ValueError("MultiHeadAttention takes a cache for self-attention alone, without memory or mask")
        q, k, v = self._projected(x, x if memory is None else memory)
        start = 0 if cache is None else cache.length
        if self.rotary:
            q, k = (nn.rotary_embedding(part, lnp.arange(part.shape[-2]) + start) for part in (q, k))
        if cache is not None:
            k, v = _appended(cache.keys, k, start), _appended(cache.values, v, start)
            positions = lnp.arange(q.shape[-2])[:, None] + start
            mask = lnp.arange(k.shape[-2]) <= positions
        y = nn.attention(q, k, v, mask, causal=causal and cache is None)
        y = self.out_proj(self._joined(y))
        return y if cache is None else (y, KeyValueCache(k, v, cache.length + lnp.asarray(q.shape[-2], dtype=np.int32)))

    def _projected(self, x: Any, memory: Any) -> list[Any]:
        """Queries, keys and values, [..., heads, length, head_dim]."""
        features = self.in_proj_weight.shape[1]
        for given in (x, memory):
            if lnp.ndim(given) < 2 or lnp.shape(given)[-1] != features:
                raise ShapeError(f"MultiHeadAttention takes [..., length, {features}], got {list(lnp.shape(given))}")
        width = self.num_kv_heads * self.head_dim
        rows = (slice(0, features), slice(features, features + width), slice(features + width, None))
        found = []
        for given, part in zip((x, memory, memory), rows, strict=True):
            y = lnp.matmul(given, self.in_proj_weight[part].T)
            y = y if self.in_proj_bias is None else y + self.in_proj_bias[part]
            found.append(lnp.swapaxes(lnp.reshape(y, (*y.shape[:-1], y.shape[-1] // self.head_dim, self.head_dim)), -2, -3))
        return found

    def _joined(self, y: Any) -> Any:
        y = lnp.swapaxes(y, -2, -3)
        return lnp.reshape(y, (*y.shape[:-2], self.num_heads * self.head_dim))


def _appended(earlier: Any, new: Any, start: Any) -> Any:
    """The rows of `earlier` with `new` from `start` on."""
    places = [0] * lnp.ndim(earlier)
    places[-2] = start
    return dynamic_update_slice(earlier, new.astype(earlier.dtype), places)

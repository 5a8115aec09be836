"""`rng_bit_generator`: the bits of XLA's Philox-4x32 and Threefry-2x32, which count from the state.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...api import build, full_like_tracer, lift, lift_as
from ...compat.jax.lax import namespace as lax
from ...library.numpy import namespace as lnp
from .faults import UnsupportedError

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_FACTORS, _STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


def rng_bit_generator(site: Any, operands: Sequence[Any]) -> Any:
    """The next state and bits."""
    (state,) = operands
    algorithm = site.required("rng_algorithm")
    shape, dtype = site.shape(1), site.dtype(1)
    if state.dtype != _U64 or state.shape not in ((2,), (3,)) or dtype.kind not in "iu":
        raise UnsupportedError(f"needs two or three uint64 as a state and makes integers, got {state.dtype}{list(state.shape)}")
    generate = {"THREE_FRY": _threefry, "PHILOX": _philox, "DEFAULT": _philox}.get(algorithm)
    if generate is None:
        raise UnsupportedError(f"has the algorithm {algorithm}, which is not known here")
    unsigned = np.dtype(f"u{dtype.itemsize}")
    count, bits = generate(state, shape, unsigned)
    after = lnp.concatenate([state[:1], state[1:2] + np.array(count, _U64), state[2:]])
    return [after, lift(bits).view(dtype) if dtype != unsigned else bits]


def _words(x: Any) -> tuple[Any, Any]:
    """The low and the high 32 bits."""
    return lift_as(x, _U32), lift_as(lnp.right_shift(x, np.array(32, _U64)), _U32)


def _joined(low: Any, high: Any) -> Any:
    return lnp.bitwise_or(lift_as(low, _U64), lnp.left_shift(lift_as(high, _U64), np.array(32, _U64)))


def _counts(state: Any, n: int) -> Any:
    """The counter of each block."""
    return lift(lnp.arange(n, dtype=_U64) + state[1])


def _spread(x: Any, like: Any) -> Any:
    return lift(lnp.broadcast_to(x, like.shape))


def _philox(state: Any, shape: Sequence[int], dtype: Any) -> tuple[int, Any]:
    """Four words a block; the upper half of the counter is the key, or the last number of the state."""
    total = prod(shape)
    blocks = -(-total * max(1, dtype.itemsize // 4) // 4)
    counts = _counts(state, blocks)
    keys = [_spread(word, counts) for word in _words(state[0])]
    c = [*_words(counts), *(_spread(word, counts) for word in _words(state[2] if state.shape == (3,) else state[0]))]
    for _ in range(_ROUNDS):
        factors = [full_like_tracer(c[0], f) for f in _FACTORS]
        high = [lax.mulhi(f, x) for f, x in zip(factors, (c[0], c[2]), strict=True)]
        low = [f * x for f, x in zip(factors, (c[0], c[2]), strict=True)]
        c = [high[1] ^ c[1] ^ keys[0], low[1], high[0] ^ c[3] ^ keys[1], low[0]]
        keys = [k + np.array(step, _U32) for k, step in zip(keys, _STEPS, strict=True)]
    if dtype == _U64:
        flat = lnp.reshape(lnp.stack([_joined(c[0], c[1]), _joined(c[2], c[3])], -1), -1)
    else:
        flat = lnp.reshape(lnp.stack(c, -1), -1)
    return blocks, lift_as(lnp.reshape(flat[:total], shape), dtype)


def _threefry(state: Any, shape: Sequence[int], dtype: Any) -> tuple[int, Any]:
    """Two words a block, one in each half of an even dim."""
    total = prod(shape)
    blocks = total if dtype == _U64 else -(-total // 2)
    counts = _counts(state, blocks)
    given = [*(_spread(word, counts) for word in _words(state[0])), *_words(counts)]
    first, second = (build("threefry2x32", *given, word=word) for word in ("first", "second"))
    if dtype == _U64:
        return blocks, lnp.reshape(_joined(first, second), shape)
    even = next((d for d, n in enumerate(shape) if n % 2 == 0), None)
    if even is None and len(shape) > 1:
        raise UnsupportedError(f"makes words of shape {list(shape)}, of which no size is even")
    if even is None:
        flat = lnp.reshape(lnp.stack([first, second], -1), -1)[:total]
        return blocks, lift_as(lnp.reshape(flat, shape), dtype)
    half = [n // 2 if d == even else n for d, n in enumerate(shape)]
    pairs = lnp.stack([lnp.reshape(first, half), lnp.reshape(second, half)], even + 1)
    return blocks, lift_as(lnp.reshape(pairs, shape), dtype)

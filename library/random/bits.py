"""Keys, and the random bits, uniform floats and integers that follow from them.

Numbers are a function of a key and of their position: Threefry-2x32 with 20 rounds enciphers the position (Salmon, Moraes,
Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Streams are those of jax, bit for bit, with its default
`jax_threefry_partitionable=True` and 64-bit types on. `key` makes a `KeyArray`, `PRNGKey` the two uint32 of one; functions take
both, and `vmap` maps over arrays of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import (
    Tracer,
    array_function,
    as_array,
    broadcast_tracer,
    build,
    creation,
    filled,
    full_like_tracer,
    lift,
    lift_as,
    operand,
)
from ...api.dtypes import INT32, INT64, canonical, is_integer_dtype
from ...api.errors import DTypeError, ShapeError
from ...api.sizes import is_at_least
from ..numpy.axes_and_shapes import iota, nonnegative, reshape_tracer, slice_axis, static_shape
from ..numpy.elementwise import bitcast, broadcast_shapes, compare, select
from ..numpy.join import stack
from ..numpy.logic import clip
from .keys import KeyArray, takes_keys

IMPL = "threefry2x32"
UINT32, UINT64 = canonical(np.uint32), canonical(np.uint64)


# --------------------------------------------------------------------------------------------------------------------
# Threefry


@array_function
def threefry2x32(key: Any, x0: Any, x1: Any) -> Any:
    """Two blocks of uint32 enciphered by a key of two uint32: 20 rounds, as Random123 has it."""
    return encipher(_words(key), lift_as(x0, UINT32), lift_as(x1, UINT32))


def encipher(key: tuple[Tracer, Tracer], x0: Tracer, x1: Tracer) -> tuple[Tracer, Tracer]:
    """The two words of each position."""
    return _word("first", key, x0, x1), _word("second", key, x0, x1)


def _word(word: str, key: tuple[Tracer, Tracer], x0: Tracer, x1: Tracer) -> Tracer:
    k0, k1 = (broadcast_tracer(k, x1.shape) for k in key)
    return build("threefry2x32", k0, k1, x0, x1, word=word)


def _words(key: Any) -> tuple[Tracer, Tracer]:
    key = lift(key)
    if key.dtype != UINT32 or key.shape != (2,):
        remedy = "; map over keys with vmap" if key.dtype == UINT32 and key.ndim > 1 and key.shape[-1] == 2 else ""
        raise DTypeError(f"a key is two uint32, as of random.PRNGKey(0), got {key.dtype} of shape {list(key.shape)}{remedy}")
    k0, k1 = (reshape_tracer(slice_axis(key, 0, k, k + 1), ()) for k in range(2))
    return k0, k1


def _numbers(key: Any, shape: tuple[int, ...], *words: str) -> list[Tracer]:
    """Words at each position of a shape: `first`, `second`, or `xor` of both."""
    count = math.prod(nonnegative(shape))
    if is_at_least(count, 1 << 32):
        raise ShapeError(f"a key gives less than 2**32 numbers here, not {count}: split it")
    pair, at = _words(key), iota((count,), 0, UINT32)
    return [reshape_tracer(_word(word, pair, full_like_tracer(at, 0), at), shape) for word in words]


# --------------------------------------------------------------------------------------------------------------------
# Keys


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A key from a seed, as an array of its words.

    Args:
        seed: an integer of at most 64 bits, or a scalar array of integers.
        impl: as of `key`.

    Returns:
        uint32[2], the high and the low half of the seed.

    >>> import lamina as lm
    >>> lm.random.PRNGKey(7)
    array([0, 7], dtype=uint32)
    """
    check_impl(impl)
    if isinstance(seed, int) and not isinstance(seed, bool):
        number = int(np.int64(seed))
        return as_array(np.array([number >> 32 & 0xFFFFFFFF, number & 0xFFFFFFFF], np.uint32))
    return _seeded(seed)


def key(seed: Any, *, impl: Any = None) -> KeyArray:
    """A key from a seed: an element of dtype `key<fry>`, which only the functions of `lamina.random` read.

    Args:
        seed: an integer of at most 64 bits, or a scalar array of integers.
        impl: how numbers follow from keys: `"threefry2x32"`, or None for the same.

    Raises:
        ValueError: another `impl`.

    >>> import lamina as lm
    >>> k = lm.random.key(7)
    >>> k.shape, k.dtype, lm.random.key_data(k)
    ((), key<fry>, array([0, 7], dtype=uint32))
    """
    return KeyArray(PRNGKey(seed, impl=impl))


def check_impl(impl: Any) -> None:
    """Refuse another way in which numbers follow from keys."""
    if impl not in (None, "threefry2x32", "fry", IMPL):
        raise ValueError(f"keys are those of 'threefry2x32', got impl={impl!r}: jax's others depend on its device")


@array_function
def _seeded(seed: Any) -> Tracer:
    seed = lift(seed)
    if seed.ndim or not is_integer_dtype(seed.dtype):
        raise DTypeError(f"a seed is an integer, got {seed.dtype} of shape {list(seed.shape)}")
    wide = lift_as(seed, UINT64)
    high = build("shr", wide, full_like_tracer(wide, 32)) if seed.dtype.itemsize == 8 else full_like_tracer(wide, 0)
    return stack([lift_as(high, UINT32), lift_as(wide, UINT32)])


def key_data(keys: Any) -> Any:
    """The words of keys, uint32[..., 2]; an array of words as it is."""
    return keys.data if isinstance(keys, KeyArray) else operand(keys)


def _of_key(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function from a key to others, of the kind that it is given."""
    return takes_keys(array_function(function), gives_keys=True)


@_of_key
def split(key: Any, num: Any = 2) -> Any:
    """`num` new keys from one, which is not to be used again.

    Args:
        key: one key, or its words.
        num: how many, or a shape of keys.

    Returns:
        keys of that shape; their words, uint32[..., 2], of words.

    >>> import lamina as lm
    >>> lm.random.split(lm.random.PRNGKey(0))
    array([[1797259609, 2579123966],
           [ 928981903, 3453687069]], dtype=uint32)
    """
    return stack(_numbers(key, static_shape(num), "first", "second"), -1)


@_of_key
def fold_in(key: Any, data: Any) -> Any:
    """A new key from one and an integer of 32 bits, as the number of a step."""
    data = lift_as(data, UINT32)
    if data.ndim:
        raise ShapeError(f"fold_in takes one integer, got shape {list(data.shape)}: map over them with vmap")
    return stack(encipher(_words(key), full_like_tracer(data, 0), data))


# --------------------------------------------------------------------------------------------------------------------
# Numbers


def draws(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function from a key to numbers."""
    return takes_keys(creation(function))


def random_bits(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    """Random bits of an unsigned dtype."""
    if dtype.itemsize < 8:
        return lift_as(_numbers(key, shape, "xor")[0], dtype)
    high, low = (lift_as(word, dtype) for word in _numbers(key, shape, "first", "second"))
    return build("or", build("shl", high, full_like_tracer(high, 32)), low)


@draws
def bits(key: Any, shape: Any = (), dtype: Any = np.uint64) -> Any:
    """Random bits, as integers of an unsigned dtype."""
    dtype = canonical(dtype)
    if dtype.kind != "u":
        raise DTypeError(f"bits are of an unsigned dtype, got {dtype}")
    return random_bits(key, static_shape(shape), dtype)


def float_dtype(dtype: Any) -> np.dtype[Any]:
    """A dtype that random floats have."""
    dtype = canonical(dtype)
    if dtype.kind != "f" or dtype.itemsize < 4:
        raise DTypeError(f"random floats are float32 or float64, got {dtype}")
    return dtype


@draws
def uniform(key: Any, shape: Any = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Uniform floats in [minval, maxval).

    Args:
        key: uint32[2].
        shape: sizes, known while tracing.
        dtype: float32 or float64, with 23 and 52 random bits.
        minval, maxval: numbers or arrays that broadcast to the shape; the result can be differentiated by them.

    >>> import numpy as np, lamina as lm
    >>> lm.random.uniform(lm.random.key(0), (3,), np.float32)
    array([0.947667  , 0.9785799 , 0.33229148], dtype=float32)
    """
    return uniform_floats(key, static_shape(shape), float_dtype(dtype), minval, maxval)


def uniform_floats(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], low: Any = 0.0, high: Any = 1.0) -> Tracer:
    """Uniform floats in [low, high)."""
    mantissa, unsigned = np.finfo(dtype).nmant, np.dtype(f"u{dtype.itemsize}")
    word = random_bits(key, shape, unsigned)
    fraction = build("shr", word, full_like_tracer(word, 8 * dtype.itemsize - mantissa))
    one = filled(1.0, shape, dtype)
    unit = build("sub", bitcast(build("or", fraction, bitcast(one, unsigned)), dtype), one)  # in [1, 2), less 1
    if isinstance(low, float) and isinstance(high, float) and (low, high) == (0, 1):
        return unit
    least, most = (broadcast_tracer(lift_as(x, dtype), shape) for x in (low, high))
    scaled = build("add", build("mul", unit, build("sub", most, least)), least)
    return build("max", least, scaled)


@draws
def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = int) -> Any:
    """Uniform integers in [minval, maxval); `minval` where that is empty.

    Of a range that does not divide 2**64 (2**32 for dtypes of at most 32 bits) some numbers are more likely than others, by
    less than the range divided by that.

    Args:
        key: uint32[2].
        shape: sizes, known while tracing.
        minval, maxval: integers, or arrays that broadcast to the shape.
        dtype: of the result, any integers.
    """
    dtype, shape = canonical(dtype), static_shape(shape)
    if not is_integer_dtype(dtype):
        raise DTypeError(f"randint gives integers, got {dtype}")
    drawn = dtype if dtype.itemsize >= 4 else INT32
    limits = np.iinfo(dtype)
    bounds = [_bound(x, limits, narrow=drawn != dtype) for x in (minval, maxval)]
    # the end of a range may be one more than its dtype holds
    last = min(int(limits.max), np.iinfo(np.int64).max)
    over = compare("gt", bounds[1], full_like_tracer(bounds[1], last)) if drawn == dtype else None
    if over is not None:
        bounds = [lift(clip(x, None, last)) for x in bounds]
    least, end = (broadcast_tracer(lift_as(x, drawn), shape) for x in bounds)
    empty = compare("le", end, least)
    span = lift_as(build("sub", end, least), np.dtype(f"u{drawn.itemsize}"))
    span = select(empty, full_like_tracer(span, 1), span)
    if over is not None:
        wider = build("and", broadcast_tracer(over, shape), build("not", empty))
        span = select(wider, build("add", span, full_like_tracer(span, 1)), span)
    return lift_as(build("add", least, lift_as(_below(key, span), drawn)), dtype)


def _bound(x: Any, limits: np.iinfo[Any], narrow: bool) -> Tracer:
    """A limit of a range as int64, clamped to the range of the dtype, and one more."""
    x = operand(x)
    if isinstance(x, int):
        x = np.int64(max(min(x, np.iinfo(np.int64).max), np.iinfo(np.int64).min))
    x = lift(x)
    if x.dtype == UINT64:
        x = build("min", x, full_like_tracer(x, np.iinfo(np.int64).max))
    x = lift_as(x, INT64)
    if narrow:
        x = lift_as(lift_as(x, INT32), INT64)
    low, high = max(int(limits.min), -(1 << 63)), int(limits.max) + 1
    return lift(clip(x, low, high if high < 1 << 63 else None))


def _below(key: Any, span: Tracer) -> Tracer:
    """Uniform integers below `span`, of which 0 stands for all: a number of twice as many bits, modulo `span`."""
    keys = stack(_numbers(key, (2,), "first", "second"), -1)
    high, low = (random_bits(reshape_tracer(slice_axis(keys, 0, k, k + 1), (2,)), span.shape, span.dtype) for k in range(2))
    base = build("rem", full_like_tracer(span, 1 << 4 * span.dtype.itemsize), span)
    base = build("rem", build("mul", base, base), span)
    offset = build("add", build("mul", build("rem", high, span), base), build("rem", low, span))
    every = compare("eq", span, full_like_tracer(span, 0))  # a span of all numbers has wrapped
    return select(every, low, build("rem", offset, span))


def sample_shape(shape: Any, *parameters: Sequence[int]) -> tuple[int, ...]:
    """The shape that is requested, else that of the parameters together."""
    return broadcast_shapes([tuple(p) for p in parameters]) if shape is None else static_shape(shape)

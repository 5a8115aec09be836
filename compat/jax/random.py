"""What `jax.random` says of keys beside `lamina.random`: their words as keys, their implementation, clones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import operand
from ...api.errors import DTypeError
from ...library.random.bits import IMPL, check_impl
from ...library.random.keys import KeyArray


def wrap_key_data(key_bits_array: Any, *, impl: Any = None) -> KeyArray:
    """Keys of words, the inverse of `key_data`.

    Raises:
        DTypeError: the words are not uint32[..., 2].

    >>> import lamina as lm, numpy as np
    >>> lm.random.wrap_key_data(np.zeros((3, 2), np.uint32)).shape
    (3,)
    """
    check_impl(impl)
    x = operand(key_bits_array)
    dtype, shape = getattr(x, "dtype", type(x).__name__), getattr(x, "shape", ())
    if dtype != np.uint32 or not shape or shape[-1] != 2:
        raise DTypeError(f"the words of keys are uint32[..., 2], got {dtype} of shape {list(shape)}")
    return KeyArray(x)


def clone(key: Any) -> Any:
    """A key with the same numbers: jax distinguishes clones only where it checks that no key is used twice."""
    return key


def key_impl(keys: Any) -> str:
    """How numbers follow from keys, by jax's name."""
    return IMPL

"""`lamina.dtypes`: kinds of dtypes and functions of dtypes, under the names of `jax.dtypes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import float0
from ...library.numpy.create import zeros
from ...library.numpy.info import finfo, iinfo, issubdtype
from ...library.numpy.namespace import result_type
from .keys import extended, prng_key

__all__ = ["canonicalize_dtype", "extended", "finfo", "float0", "iinfo", "issubdtype", "prng_key", "result_type"]


def canonicalize_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype that arrays of a dtype have under `lm.config`: without 64 bits those of 32 bits for them.

    >>> canonicalize_dtype("float32")
    dtype('float32')
    """
    return zeros(0, dtype).dtype

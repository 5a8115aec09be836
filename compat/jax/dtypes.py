"""`lamina.dtypes`: kinds of dtypes and functions of dtypes, under the names of `jax.dtypes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api.dtypes import float0 as float0
from ...library.numpy.create import zeros
from ...library.numpy.dtypes import result_type as result_type
from ...library.numpy.info import finfo as finfo
from ...library.numpy.info import iinfo as iinfo
from ...library.numpy.info import issubdtype as issubdtype
from ...library.random.keys import extended as extended
from ...library.random.keys import prng_key as prng_key
from ...names import public

__all__ = list(public("dtypes"))


def canonicalize_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype that arrays of a dtype have under `lm.config`: without 64 bits those of 32 bits for them.

    >>> canonicalize_dtype("float32")
    dtype('float32')
    """
    return zeros(0, dtype).dtype

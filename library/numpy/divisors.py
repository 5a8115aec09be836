"""lamina.numpy: common divisors. Imported when they are first used, since they are loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import lift_as, operand, operation, token
from ...api.dtypes import ufunc_dtypes
from ...api.functions import fori_loop
from .logic import where
from .looped import looped
from .shape import broadcast_arrays
from .ufuncs import absolute, fmod, maximum


@looped()
def gcd(x1: Any, x2: Any, /) -> Any:
    """`np.gcd`: the greatest common divisor by Euclid's algorithm, as many steps as the dtype may need."""
    dtypes, _ = ufunc_dtypes(np.gcd, tuple(token(operand(x)) for x in (x1, x2)))
    x, y = broadcast_arrays(absolute(_as(x1, dtypes[0])), absolute(_as(x2, dtypes[0])))

    def step(_: Any, pair: Any) -> Any:
        a, b = pair
        return where(b == 0, a, b), where(b == 0, 0, fmod(a, where(b == 0, 1, b)))

    # the worst case are neighbours in Fibonacci's sequence, which grows by 1.618 a step
    steps = math.ceil(8 * dtypes[0].itemsize * math.log(2) / math.log((1 + math.sqrt(5)) / 2))
    return fori_loop(0, steps, step, (x, y))[0]


@operation
def _as(x: Any, dtype: Any) -> Any:
    return lift_as(x, dtype)


@looped()
def lcm(x1: Any, x2: Any, /) -> Any:
    """`np.lcm`: the least common multiple; 0 if one of both is."""
    divisor = gcd(x1, x2)
    return absolute(x1 // maximum(divisor, 1) * x2)

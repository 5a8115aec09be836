"""lamina.numpy: shifts, counts of bits, and numbers as their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import array_function, build, full_like_tracer, lift, lift_as
from ...api.dtypes import BOOL, STORED, canonical, computed
from ...api.errors import DTypeError
from .elementwise import binary, bitcast, compare, prepare, select
from .ufuncs import absolute

left_shift = bitwise_left_shift = binary(np.left_shift, "shl")
right_shift = bitwise_right_shift = binary(np.right_shift, "shr")


@array_function
def bitwise_count(x: Any, /) -> Any:
    """`np.bitwise_count`: how many bits of the absolute value are set, as uint8."""
    (x,), result, _ = prepare(np.bitwise_count, (x,))
    return lift_as(x if x.dtype == BOOL else build("popcount", absolute(x)), result)


def require_computed(what: str, *args: Any) -> None:
    """Raise DTypeError for arrays that are only stored: they are computed in a dtype with other neighbours."""
    for x in args:
        dtype: Any = getattr(x, "dtype", None)
        if dtype in STORED:
            raise DTypeError(f"{what} takes float32 and float64, got {dtype}, which is computed in {computed(dtype)}")


@array_function
def nextafter(x1: Any, x2: Any, /) -> Any:
    """`np.nextafter`: the float next to `x1` toward `x2`; its derivative is 0."""
    require_computed("nextafter", x1, x2)
    (x, y), _, weak = prepare(np.nextafter, (x1, x2))
    integer = np.dtype(f"i{x.dtype.itemsize}")
    zero, bits = full_like_tracer(x, 0), bitcast(x, integer)
    one = full_like_tracer(bits, 1)
    # floats of one sign are ordered as their bits are
    outward = compare("eq", compare("gt", y, x), compare("gt", x, zero))
    moved = bitcast(build("add", bits, select(outward, one, build("neg", one))), x.dtype)
    least = bitcast(one, x.dtype)
    moved = select(compare("eq", x, zero), select(compare("gt", y, zero), least, build("neg", least)), moved)
    unordered = build("or", compare("ne", x, x), compare("ne", y, y))
    result = select(compare("eq", x, y), y, select(unordered, build("add", x, y), moved))
    result = build("stop_gradient", result)
    result.weak = weak
    return result


@array_function
def view(x: Any, dtype: Any) -> Any:
    """`x.view(dtype)` for dtypes of one width: the same bits as other numbers.

    Raises:
        DTypeError: the widths differ, or one of the dtypes is bool or is only stored.
    """
    x, wanted = lift(x), canonical(dtype)
    if x.dtype != wanted and (x.dtype.itemsize != wanted.itemsize or {x.dtype, wanted} & {BOOL, *STORED}):
        raise DTypeError(f"view takes a computed dtype of the same width and not bool, got {x.dtype} as {wanted}")
    return bitcast(x, wanted)

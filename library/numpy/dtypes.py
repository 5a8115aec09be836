"""lamina.numpy: dtypes, constants, and the promotion of dtypes and shapes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy import character as character
from numpy import complexfloating as complexfloating
from numpy import e as e
from numpy import euler_gamma as euler_gamma
from numpy import flexible as flexible
from numpy import floating as floating
from numpy import generic as generic
from numpy import index_exp as index_exp
from numpy import inexact as inexact
from numpy import inf as inf
from numpy import integer as integer
from numpy import nan as nan
from numpy import newaxis as newaxis
from numpy import number as number
from numpy import object_ as object_
from numpy import pi as pi
from numpy import s_ as s_
from numpy import signedinteger as signedinteger
from numpy import unsignedinteger as unsignedinteger

from ...api import arrays, is_array_like, is_traced, token
from ...api.dtypes import STORED, canonical, common_dtype, is_inexact_dtype, rounded_cast, scalar_type
from .elementwise import broadcast_shapes as broadcast_shapes_of


def _converted(x: Any, dtype: Any) -> Any:
    if is_traced((x,)):
        return arrays.asarray(x, dtype)
    if dtype in _ROUNDED and isinstance(x, float | int | np.ndarray | np.generic):
        return rounded_cast(np.asarray(x, np.float64 if isinstance(x, int) else None), np.dtype(dtype))[()]
    return None


_ROUNDED = frozenset(dtype.type for dtype in STORED if is_inexact_dtype(dtype) and dtype.isbuiltin != 1)
"""Types that ml_dtypes rounds to by way of float32."""


def _scalar_type(of: type[np.generic]) -> Any:
    return scalar_type(of, _converted)


bool = bool_ = _scalar_type(np.bool_)
ndarray = np.ndarray
dtype = np.dtype
int8, int16, int32, int64 = map(_scalar_type, (np.int8, np.int16, np.int32, np.int64))
uint8, uint16, uint32, uint64 = map(_scalar_type, (np.uint8, np.uint16, np.uint32, np.uint64))
float16, float32, float64 = map(_scalar_type, (np.float16, np.float32, np.float64))
complex64, complex128 = map(_scalar_type, (np.complex64, np.complex128))
bfloat16, int4, uint4 = map(_scalar_type, (ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4))
float8_e4m3fn, float8_e4m3fnuz, float8_e4m3b11fnuz = map(
    _scalar_type, (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e4m3b11fnuz)
)
float8_e5m2, float8_e5m2fnuz = map(_scalar_type, (ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz))
int_, uint, float_, single, double = int64, uint64, float64, float32, float64
complex_, csingle, cdouble = complex128, complex64, complex128


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """`np.result_type`, of traced arrays too, by the promotion that `lm.config` chooses."""
    return common_dtype([_promoted(x) for x in arrays_and_dtypes])


def _promoted(x: Any) -> Any:
    """The type for promotion of a dtype, an array, a number, or an object with only a dtype, as `ShapeDtypeStruct`."""
    if isinstance(x, type | str | np.dtype):
        return canonical(x)
    return token(x) if is_array_like(x) or not hasattr(x, "dtype") else canonical(x.dtype)


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> Any:
    """`np.can_cast`; of an array, traced or not, it tells of its dtype."""
    return np.can_cast(from_ if isinstance(from_, type | str) else getattr(from_, "dtype", from_), to, casting)


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """`np.promote_types`, by the promotion that `lm.config` chooses."""
    return common_dtype([canonical(type1), canonical(type2)])


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """`np.broadcast_shapes`."""
    return broadcast_shapes_of([tuple(s) if isinstance(s, tuple | list) else (s,) for s in shapes])

"""`lamina.numpy`: NumPy's names and meanings over graph ops, on arrays and on traced arrays."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy import (  # noqa: F401
    character,
    complexfloating,
    e,
    euler_gamma,
    flexible,
    floating,
    generic,
    index_exp,
    inexact,
    inf,
    integer,
    nan,
    newaxis,
    number,
    object_,
    pi,
    s_,
    signedinteger,
    unsignedinteger,
)

from ...api import STORED as _STORED
from ...api import TracingError, arrays, located
from ...api import broadcast_shapes as _broadcast_shapes
from ...api import canonical as _canonical
from ...api import common_dtype as _common_dtype
from ...api import is_array_like as _is_array_like
from ...api import is_float_dtype as _is_float_dtype
from ...api import is_traced as _is_traced
from ...api import lazy as lazy  # eager.py calls it
from ...api import rounded_cast as _cast
from ...api import scalar_type as _scalar_type
from ...api import scalar_types as _scalar_types
from ...api import token as _token
from . import ufunc_methods
from .along_axes import *
from .at import *
from .at import At as At
from .bits import *
from .bits import view as view
from .complex import *
from .contract import *
from .create import *
from .delegated import *
from .edit import *
from .float_parts import *
from .grids import *
from .histograms import *
from .index import *
from .info import *
from .info import Info as _Info
from .join import *
from .logic import *
from .math import *
from .nonzero import *
from .packed_bits import *
from .pad import *
from .poly import *
from .reduce import *
from .roots import *
from .scan import *
from .sets import *
from .shape import *
from .sort import *
from .ufuncs import *

bool = _scalar_type(np.bool_)
ndarray = np.ndarray
dtype = np.dtype
bool_ = bool
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
around = round
__array_api_version__ = "2025.12"

_CONSTANTS = (
    "around", "bfloat16", "bool", "bool_", "broadcast_shapes", "can_cast", "cdouble", "character", "complex128", "complex64",
    "complex_", "complexfloating", "csingle", "double", "dtype", "e", "euler_gamma", "flexible", "float16", "float32",
    "float64", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float_",
    "floating", "generic", "index_exp", "inexact", "inf", "int16", "int32", "int4", "int64", "int8", "int_", "integer",
    "nan", "ndarray", "newaxis", "number", "object_", "pi", "promote_types", "result_type", "s_",
    "signedinteger", "single", "uint", "uint16", "uint32", "uint4", "uint64", "uint8", "unsignedinteger",
)  # fmt: skip
_HOMES = {
    **{"apply_along_axis": ".slices", "fft": "..fft", "gcd": ".divisors", "i0": "..special.namespace", "lcm": ".divisors"},
    **{"linalg": "..linalg.namespace", "polydiv": ".fit", "polyfit": ".fit", "vectorize": ".slices"},
    **{"frompyfunc": ".frompyfunc", "ufunc": ".frompyfunc"},
    **dict.fromkeys(
        (
            "acos",
            "acosh",
            "arccos",
            "arccosh",
            "arcsin",
            "arcsinh",
            "arctanh",
            "asin",
            "asinh",
            "atanh",
            "cbrt",
            "cosh",
            "sinh",
        ),
        ".hyperbolic",
    ),
}
"""Names that are imported when first used: the module of each."""

_PARTS = [
    importlib.import_module(f".{part}", __package__)
    for part in (
        *("at", "bits", "complex", "contract", "create", "edit", "grids", "index", "info", "join", "logic"),
        *("along_axes", "histograms", "math", "nonzero", "float_parts", "delegated", "packed_bits", "pad", "poly", "reduce"),
        *("roots", "scan", "sets", "shape", "sort"),
        "ufuncs",
    )
]
__all__ = [
    *_CONSTANTS,
    *_HOMES,
    *(name for part in _PARTS for name in part.__all__),
]
__all__.remove("getitem")
_MODULES = ("fft", "linalg")
_PUBLIC = frozenset(__all__)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """`np.result_type`, of traced arrays too, by the promotion that `lm.config` chooses."""
    return _common_dtype([_promoted(x) for x in arrays_and_dtypes])


def _promoted(x: Any) -> Any:
    """The type for promotion of a dtype, an array, a number, or an object with only a dtype, as `ShapeDtypeStruct`."""
    if isinstance(x, type | str | np.dtype):
        return _canonical(x)
    return _token(x) if _is_array_like(x) or not hasattr(x, "dtype") else _canonical(x.dtype)


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> Any:
    """`np.can_cast`; of an array, traced or not, it tells of its dtype."""
    return np.can_cast(from_ if isinstance(from_, type | str) else getattr(from_, "dtype", from_), to, casting)


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """`np.promote_types`, by the promotion that `lm.config` chooses."""
    return _common_dtype([_canonical(type1), _canonical(type2)])


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """`np.broadcast_shapes`."""
    return _broadcast_shapes([tuple(s) if isinstance(s, tuple | list) else (s,) for s in shapes])


def __array_namespace_info__() -> _Info:
    """The Array API's inspection of the namespace: devices, dtypes, capabilities."""
    return _Info()


ufunc_methods.attach({name: globals()[name] for part in _PARTS for name in part.__all__})


def ufunc_counterpart(ufunc: np.ufunc, method: str) -> Callable[..., Any]:
    """The function here that stands for a NumPy ufunc or one of its methods.

    Raises:
        TracingError: there is none.
    """
    found = getattr(sys.modules[__name__], ufunc.__name__) if ufunc.__name__ in _PUBLIC else None
    if method != "__call__":
        found = getattr(found, method, None)
    if found is None:
        shown = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise located(TracingError(f"np.{shown} is not available on traced arrays: see lamina.numpy for what is"))
    return found


def function_counterpart(function: Any) -> Callable[..., Any]:
    """The function here that stands for a NumPy function.

    Raises:
        TracingError: there is none.
    """
    if function.__module__ != "numpy" or function.__name__ not in _PUBLIC:
        name = f"{function.__module__}.{function.__name__}"
        raise located(TracingError(f"{name} is not available on traced arrays: see lamina.numpy for what is"))
    return getattr(sys.modules[__name__], function.__name__)


_REMEDIES = {
    "random": "draw outside the traced function with numpy.random and pass the numbers in",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        module = importlib.import_module(home, __package__)
        value = globals()[name] = module if name in _MODULES else getattr(module, name)
        return value
    if name.startswith("__"):
        raise AttributeError(f"module 'lamina.numpy' has no attribute {name!r}")
    if name in _REMEDIES or hasattr(np, name):
        remedy = _REMEDIES.get(name, "compute it outside the traced function with NumPy")
        raise AttributeError(f"lamina.numpy has no {name!r} yet: {remedy}")
    raise AttributeError(f"module 'lamina.numpy' has no attribute {name!r}, and NumPy has none either")


def __dir__() -> list[str]:
    return sorted(__all__)


def _converted(x: Any, dtype: Any) -> Any:
    if _is_traced((x,)):
        return arrays.asarray(x, dtype)
    if dtype in _ROUNDED and isinstance(x, float | int | np.ndarray | np.generic):
        return _cast(np.asarray(x, np.float64 if isinstance(x, int) else None), np.dtype(dtype))[()]
    return None


_ROUNDED = frozenset(dtype.type for dtype in _STORED if _is_float_dtype(dtype) and dtype.isbuiltin != 1)
"""Types that ml_dtypes rounds to by way of float32."""


_scalar_types.converted = _converted

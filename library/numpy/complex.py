"""lamina.numpy: the parts of complex numbers, and questions about them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import Tracer, build, concrete_array, full_like_tracer, is_traced, lift, operand, operation, token
from ...api.dtypes import dtype_of, is_complex_dtype
from . import complex_formulas
from .elementwise import compare, prepare
from .ufuncs import arctan2


@operation
def real(val: Any, /) -> Any:
    """`np.real`: the real parts; of real numbers the operand itself."""
    x = lift(val)
    return build("real", x, weak=x.weak) if is_complex_dtype(x.dtype) else x


@operation
def imag(val: Any, /) -> Any:
    """`np.imag`: the imaginary parts; of real numbers zeros."""
    x = lift(val)
    return build("imag", x, weak=x.weak) if is_complex_dtype(x.dtype) else full_like_tracer(x, 0)


@operation
def conjugate(x: Any, /) -> Any:
    """`np.conjugate`: the complex conjugates; of real numbers the operand itself."""
    x = prepare(np.conjugate, (x,))[0][0]
    return complex_formulas.conjugate(x) if is_complex_dtype(x.dtype) else x


conj = conjugate


@operation
def angle(z: Any, deg: bool = False) -> Any:
    """`np.angle`: the angles of complex numbers in (-pi, pi], of negative real numbers pi."""
    x = lift(z)
    found = arctan2(imag(x), real(x)) if is_complex_dtype(x.dtype) else arctan2(0, x)
    return build("mul", found, full_like_tracer(found, 180 / math.pi)) if deg else found


@operation
def iscomplex(x: Any, /) -> Any:
    """`np.iscomplex`: which numbers have an imaginary part that is not 0."""
    x = imag(lift(x))
    return compare("ne", x, full_like_tracer(x, 0))


@operation
def isreal(x: Any, /) -> Any:
    """`np.isreal`: which numbers have an imaginary part of 0."""
    x = imag(lift(x))
    return compare("eq", x, full_like_tracer(x, 0))


def iscomplexobj(x: Any) -> bool:
    """`np.iscomplexobj`: whether the dtype is complex. An object that is no array, as a class, is not complex."""
    if not is_traced((x,)) and np.asarray(x).dtype.kind not in "biufcV":
        return False
    return is_complex_dtype(dtype_of(token(operand(x))))


def isrealobj(x: Any) -> bool:
    """`np.isrealobj`: whether the dtype is not complex."""
    return not iscomplexobj(x)


def real_if_close(a: Any, tol: float = 100) -> Any:
    """`np.real_if_close`: the real parts, where all imaginary parts are as good as 0. Values decide: a traced complex array
    stays as it is."""
    if isinstance(a, Tracer):
        return a
    return np.array(np.real_if_close(concrete_array(a), tol))

"""Elementwise ops: most are a row, the op and the function of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....api.dtypes import is_complex_dtype, is_inexact_dtype
from ....compat.jax.lax import namespace as lax
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ....library.special import namespace as special
from ..errors import UnsupportedOp
from ..nodes import Call, array, common, op

FLOATS = {
    "acos": lnp.arccos, "acosh": lnp.arccosh, "asin": lnp.arcsin, "asinh": lnp.arcsinh, "atan": lnp.arctan,
    "atanh": lnp.arctanh, "cos": lnp.cos, "cosh": lnp.cosh, "deg2rad": lnp.deg2rad, "digamma": special.digamma,
    "erf": nn.erf, "erfc": special.erfc, "erfinv": special.erfinv, "exp": lnp.exp, "exp2": lnp.exp2, "expm1": lnp.expm1,
    "i0": lnp.i0, "lgamma": special.gammaln, "log": lnp.log, "log10": lnp.log10, "log1p": lnp.log1p, "log2": lnp.log2,
    "logit": special.logit, "rad2deg": lnp.rad2deg, "reciprocal": lnp.reciprocal, "rsqrt": lax.rsqrt, "sigmoid": nn.sigmoid,
    "sin": lnp.sin, "sinc": lnp.sinc, "sinh": lnp.sinh, "special_ndtr": special.ndtr, "special_entr": special.entr,
    "sqrt": lnp.sqrt, "tan": lnp.tan, "tanh": lnp.tanh,
}  # fmt: skip
"""Functions of floats: integers become floats before."""
SAME = {
    "abs": lnp.abs, "bitwise_not": lnp.invert, "ceil": lnp.ceil, "floor": lnp.floor, "isfinite": lnp.isfinite,
    "isinf": lnp.isinf, "isnan": lnp.isnan, "neg": lnp.negative, "positive": lnp.positive, "relu": nn.relu,
    "signbit": lnp.signbit, "square": lnp.square, "trunc": lnp.trunc, "fix": lnp.trunc, "real": lnp.real, "imag": lnp.imag,
    "conj_physical": lnp.conj, "_conj": lnp.conj, "isneginf": lnp.isneginf, "isposinf": lnp.isposinf, "angle": lnp.angle,
}  # fmt: skip
"""Functions of all element types that they are defined for."""
BINARY = {
    "bitwise_and": lnp.bitwise_and, "bitwise_or": lnp.bitwise_or, "bitwise_xor": lnp.bitwise_xor, "fmax": lnp.fmax,
    "fmin": lnp.fmin, "fmod": lnp.fmod, "maximum": lnp.maximum, "minimum": lnp.minimum, "mul": lnp.multiply,
    "bitwise_left_shift": lnp.left_shift, "bitwise_right_shift": lnp.right_shift, "__lshift__": lnp.left_shift,
    "__rshift__": lnp.right_shift, "floor_divide": lnp.floor_divide, "copysign": lnp.copysign, "nextafter": lnp.nextafter,
    "hypot": lnp.hypot, "logaddexp": lnp.logaddexp, "logaddexp2": lnp.logaddexp2, "gcd": lnp.gcd, "lcm": lnp.lcm,
    "heaviside": lnp.heaviside, "atan2": lnp.arctan2, "remainder": lnp.remainder,
}  # fmt: skip
"""Functions of two operands of the result's element type."""
COMPARE = {
    "eq": lnp.equal, "ne": lnp.not_equal, "lt": lnp.less, "le": lnp.less_equal, "gt": lnp.greater, "ge": lnp.greater_equal,
}  # fmt: skip
LOGIC = {"logical_and": lnp.logical_and, "logical_or": lnp.logical_or, "logical_xor": lnp.logical_xor}


def _floats(function: Any) -> Any:
    return lambda call, x, *args: function(array(x, call.dtype), *args)


def _binary(function: Any) -> Any:
    return lambda call, x, y: function(array(x, call.dtype), array(y, call.dtype))


for _op, _function in FLOATS.items():
    op(_op)(_floats(_function))
for _op, _function in SAME.items():
    op(_op)(lambda call, x, f=_function: f(x))
for _op, _function in BINARY.items():
    op(_op)(_binary(_function))
for _op, _function in COMPARE.items():
    op(_op)(lambda call, x, y, f=_function: f(*common(x, y)))
for _op, _function in LOGIC.items():
    op(_op)(lambda call, x, y, f=_function: f(array(x).astype(bool), array(y).astype(bool)))


@op("logical_not")
def logical_not(call: Call, x: Any) -> Any:
    return lnp.logical_not(x.astype(bool))


@op("ceil", "floor", "trunc", "fix")
def integral(call: Call, x: Any) -> Any:
    """The nearest integer in a direction; integers stay."""
    return SAME[call.op](x) if is_inexact_dtype(x.dtype) else x


@op("abs")
def absolute(call: Call, x: Any) -> Any:
    return lnp.abs(x)


@op("add", "sub", "rsub")
def add(call: Call, x: Any, y: Any, alpha: Any = 1) -> Any:
    """`x + alpha * y`; `or` of booleans."""
    x, y = array(x, call.dtype), array(y, call.dtype)
    x, y = (y, x) if call.op == "rsub" else (x, y)
    if alpha != 1:
        scaled, other = (x, y) if call.op == "rsub" else (y, x)
        scaled = scaled * array(alpha, call.dtype)
        x, y = (scaled, other) if call.op == "rsub" else (other, scaled)
    return x + y if call.op == "add" else x - y


@op("div")
def divide(call: Call, x: Any, y: Any, rounding_mode: Any = None) -> Any:
    """Quotients: those of integers are floats, unless they are rounded down or toward zero."""
    x, y = array(x, call.dtype), array(y, call.dtype)
    if rounding_mode is None:
        return x / y
    if rounding_mode == "floor":
        return lnp.floor_divide(x, y)
    if is_inexact_dtype(call.dtype):
        return lnp.trunc(x / y)
    return lax.div(*lnp.broadcast_arrays(x, y))


@op("pow")
def power(call: Call, x: Any, y: Any) -> Any:
    """Powers; a small number as the exponent is a product."""
    if isinstance(y, bool | int | float) and is_inexact_dtype(call.dtype) and not isinstance(x, bool | int | float):
        return lnp.power(array(x, call.dtype), float(y))
    return lnp.power(array(x, call.dtype), array(y, call.dtype))


@op("xlogy")
def xlogy(call: Call, x: Any, y: Any) -> Any:
    return special.xlogy(array(x, call.dtype), array(y, call.dtype))


@op("sign", "sgn")
def sign(call: Call, x: Any) -> Any:
    """The sign, 0 for NaN."""
    if is_complex_dtype(x.dtype):
        raise UnsupportedOp("signs of complex numbers are not supported")
    if x.dtype == bool:
        return x
    found = lnp.sign(x)
    return lnp.where(lnp.isnan(x), lnp.zeros_like(x), found) if is_inexact_dtype(x.dtype) else found


@op("round")
def rounded(call: Call, x: Any, decimals: int = 0) -> Any:
    """To the nearest integer, or the decimal; ties to even."""
    if not is_inexact_dtype(x.dtype):
        return x
    if not decimals:
        return lnp.rint(x)
    scale = np.asarray(10.0 ** abs(decimals)).astype(x.dtype)
    return lnp.rint(x * scale) / scale if decimals > 0 else lnp.rint(x / scale) * scale


@op("frac")
def frac(call: Call, x: Any) -> Any:
    return x - lnp.trunc(x)


@op("clamp", "clamp_min", "clamp_max", "hardtanh", "clip")
def clamp(call: Call, x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Numbers within bounds, of which each may be missing; where the bounds cross, the upper one."""
    if call.op == "hardtanh":
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    if call.op == "clamp_max":
        low, high = None, low
    low, high = min if low is None else low, max if high is None else high
    x = array(x, call.dtype)
    x = x if low is None else lnp.maximum(x, array(low, call.dtype))
    return x if high is None else lnp.minimum(x, array(high, call.dtype))


@op("where")
def where(call: Call, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None:
        from ..errors import UnknownValue

        raise UnknownValue("where of one operand has a result whose shape depends on values")
    return lnp.where(condition.astype(bool), *common(x, y))


@op("lerp")
def lerp(call: Call, x: Any, y: Any, weight: Any) -> Any:
    w = array(weight, call.dtype)
    return lnp.where(lnp.abs(w) < 0.5, x + w * (y - x), y - (y - x) * (1 - w))


@op("addcmul", "addcdiv")
def add_combined(call: Call, x: Any, y: Any, z: Any, value: Any = 1) -> Any:
    x, y, z = (array(v, call.dtype) for v in (x, y, z))
    return x + array(value, call.dtype) * (y * z if call.op == "addcmul" else y / z)


@op("nan_to_num")
def nan_to_num(call: Call, x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    return lnp.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@op("polygamma")
def polygamma(call: Call, n: int, x: Any) -> Any:
    """Only the first: torch continues the others to negative numbers."""
    if n:
        raise UnsupportedOp(f"polygamma of order {n} is not supported")
    return special.digamma(array(x, call.dtype))


@op("complex")
def complex_(call: Call, re: Any, im: Any) -> Any:
    return lax.complex(re, im)


@op("polar")
def polar(call: Call, radius: Any, angle: Any) -> Any:
    return lax.complex(radius * lnp.cos(angle), radius * lnp.sin(angle))


# --------------------------------------------------------------------------------------------------------------------
# Activations


@op("gelu")
def gelu(call: Call, x: Any, approximate: str = "none") -> Any:
    return nn.gelu(x, approximate=approximate == "tanh")


@op("elu", "celu", "selu")
def elu(call: Call, x: Any, alpha: Any = 1.0, scale: Any = 1.0, input_scale: Any = 1.0) -> Any:
    if call.op == "selu":
        alpha, scale = 1.6732632423543772, 1.0507009873554805
    if call.op == "celu":
        input_scale = 1.0 / alpha
    return lnp.where(x > 0, x * scale, lnp.expm1(lnp.minimum(x, 0) * input_scale) * (alpha * scale))


@op("leaky_relu", "_prelu_kernel", "prelu")
def leaky_relu(call: Call, x: Any, slope: Any = 0.01) -> Any:
    return lnp.where(x > 0, x, x * slope)


@op("relu6")
def relu6(call: Call, x: Any) -> Any:
    return lnp.clip(x, 0, 6)


@op("silu")
def silu(call: Call, x: Any) -> Any:
    return nn.silu(x)


@op("mish")
def mish(call: Call, x: Any) -> Any:
    return nn.mish(x)


@op("softplus")
def softplus(call: Call, x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled = x * beta
    return lnp.where(scaled > threshold, x, nn.softplus(lnp.minimum(scaled, threshold)) / beta)


@op("hardsigmoid", "hardswish")
def hard_sigmoid(call: Call, x: Any) -> Any:
    gate = lnp.clip(x + 3, 0, 6) / 6
    return x * gate if call.op == "hardswish" else gate


@op("log_sigmoid_forward")
def log_sigmoid_forward(call: Call, x: Any) -> Any:
    return nn.log_sigmoid(x), lnp.zeros((0,), dtype=x.dtype)


@op("threshold")
def threshold(call: Call, x: Any, limit: Any, value: Any) -> Any:
    return lnp.where(x <= limit, array(value, call.dtype), x)


@op("hardshrink", "softshrink")
def shrink(call: Call, x: Any, limit: Any = 0.5) -> Any:
    """Zero near zero; NaN stays."""
    inside = lnp.abs(x) <= limit
    if call.op == "hardshrink":
        return lnp.where(inside, lnp.zeros_like(x), x)
    return lnp.where(inside, lnp.zeros_like(x), x - lnp.sign(x) * limit)


@op("glu")
def glu(call: Call, x: Any, dim: int = -1) -> Any:
    return nn.glu(x, dim)

"""Elementwise ops. Most are a row: the op, and the function of that name in NumPy and in `lamina.numpy`."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ....compat.jax.lax import namespace as lax
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..errors import UnknownValue, UnsupportedOp
from ..model import dtype_of
from ..nodes import Node, op
from ..values import has_sizes, is_constant, is_storable, lifted, operands

UNARY = {
    "Abs": "abs", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin", "Asinh": "arcsinh", "Atan": "arctan",
    "Atanh": "arctanh", "BitwiseNot": "invert", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Exp": "exp", "Floor": "floor",
    "IsNaN": "isnan", "Log": "log", "Neg": "negative", "Not": "logical_not", "Reciprocal": "reciprocal", "Round": "rint",
    "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
BINARY = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor",
    "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "Equal": "equal", "Greater": "greater",
    "Less": "less", "GreaterOrEqual": "greater_equal", "LessOrEqual": "less_equal",
}  # fmt: skip
ACTIVATIONS = {"Erf": nn.erf, "Sigmoid": nn.sigmoid, "Softplus": nn.softplus, "Softsign": nn.soft_sign, "Mish": nn.mish}


def _unary(name: str) -> Any:
    def compute(node: Node, x: Any) -> Any:
        xp, x = operands(x)
        return getattr(xp, name)(x)

    return compute


def aligned(node: Node, x: Any, y: Any) -> Any:
    """The second operand, broadcast as opsets before 7 ask for: its dims begin at an axis of the first."""
    if node.version >= 7 or not node.get("broadcast", 0) or y.ndim == 0:
        return y
    axis = node.get("axis", x.ndim - y.ndim)
    return y.reshape((*y.shape, *[1] * (x.ndim - (axis % max(x.ndim, 1)) - y.ndim)))


def _binary(name: str) -> Any:
    def compute(node: Node, x: Any, y: Any) -> Any:
        xp, x, y = operands(x, aligned(node, x, y))
        return getattr(xp, name)(x, y)

    return compute


def _activation(function: Any) -> Any:
    return lambda node, x: function(lifted(x)).astype(x.dtype)


for _op, _name in UNARY.items():
    op(_op)(_unary(_name))
for _op, _name in BINARY.items():
    op(_op)(_binary(_name))
for _op, _function in ACTIVATIONS.items():
    op(_op)(_activation(_function))


@op("Identity")
def identity(node: Node, x: Any) -> Any:
    return x


def is_integer(x: Any) -> bool:
    """Whether a value has integers: sizes are some."""
    return has_sizes(x) or np.dtype(x.dtype).kind in "iu" or np.dtype(x.dtype).name in ("int4", "uint4", "int2", "uint2")


@op("Div")
def divide(node: Node, x: Any, y: Any) -> Any:
    """Quotients; those of integers are cut towards zero."""
    y = aligned(node, x, y)
    if not is_integer(x):
        xp, x, y = operands(x, y)
        return xp.divide(x, y)
    if has_sizes(x) or has_sizes(y):
        return x // y if is_constant(x) and is_constant(y) else lax.div(*np_broadcast(lifted(x), lifted(y)))
    return lax.div(*np_broadcast(x, y))


def np_broadcast(*values: Any) -> tuple[Any, ...]:
    """Values of one shape, as NumPy broadcasts them."""
    return tuple(lnp.broadcast_arrays(*map(lifted, values)))


@op("Pow")
def power(node: Node, x: Any, y: Any) -> Any:
    """Powers, of the first operand's element type."""
    xp, x, y = operands(x, aligned(node, x, y))
    if x.dtype == y.dtype:
        return xp.power(x, y)
    if is_integer(x):
        return xp.power(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype)
    return xp.power(x, y.astype(x.dtype))


@op("Mod")
def modulo(node: Node, x: Any, y: Any) -> Any:
    """Remainders: with the sign of the divisor, or with `fmod=1` that of the dividend."""
    xp, x, y = operands(x, y)
    return (xp.fmod if node.get("fmod", 0) else xp.remainder)(x, y)


@op("BitShift")
def shift(node: Node, x: Any, y: Any) -> Any:
    xp, x, y = operands(x, y)
    return (xp.left_shift if node.need("direction") == "LEFT" else xp.right_shift)(x, y)


def _variadic(name: str) -> Any:
    def compute(node: Node, *given: Any) -> Any:
        xp, *values = operands(*given)
        return reduce(getattr(xp, name), values)

    return compute


for _op, _name in {"Max": "maximum", "Min": "minimum", "Sum": "add"}.items():
    op(_op)(_variadic(_name))


@op("Mean")
def mean(node: Node, *given: Any) -> Any:
    xp, *values = operands(*given)
    return reduce(xp.add, values) / np.asarray(len(values), values[0].dtype)


@op("Where")
def where(node: Node, condition: Any, x: Any, y: Any) -> Any:
    xp, condition, x, y = operands(condition, x, y)
    return xp.where(condition, x, y)


@op("Clip")
def clip(node: Node, x: Any, low: Any = None, high: Any = None) -> Any:
    """Numbers within bounds; where the bounds cross, the upper one."""
    low = node.get("min", None) if low is None else low
    high = node.get("max", None) if high is None else high
    xp, x, low, high = operands(x, *[np.asarray(b, x.dtype) if isinstance(b, float) else b for b in (low, high)])
    x = x if low is None else xp.maximum(x, low)
    return x if high is None else xp.minimum(x, high)


@op("IsInf")
def is_inf(node: Node, x: Any) -> Any:
    xp, x = operands(x)
    found = xp.isinf(x)
    if not node.get("detect_negative", 1):
        found = found & (x > 0)
    return found if node.get("detect_positive", 1) else found & (x < 0)


@op("Relu")
def relu(node: Node, x: Any) -> Any:
    return nn.relu(x)


@op("LeakyRelu")
def leaky_relu(node: Node, x: Any) -> Any:
    return nn.leaky_relu(x, node.get("alpha", 0.01)).astype(x.dtype)


@op("Elu")
def elu(node: Node, x: Any) -> Any:
    return nn.elu(x, node.get("alpha", 1.0)).astype(x.dtype)


@op("Celu")
def celu(node: Node, x: Any) -> Any:
    return nn.celu(x, node.get("alpha", 1.0)).astype(x.dtype)


@op("Selu")
def selu(node: Node, x: Any) -> Any:
    alpha, gamma = node.get("alpha", 1.6732632423543772), node.get("gamma", 1.0507009873554805)
    return lnp.where(x > 0, gamma * x, gamma * alpha * lnp.expm1(lnp.minimum(x, 0))).astype(x.dtype)


@op("PRelu")
def prelu(node: Node, x: Any, slope: Any) -> Any:
    if node.version < 7 and slope.ndim == 1 and x.ndim > 2:
        slope = slope.reshape((-1, *[1] * (x.ndim - 2)))
    return lnp.where(x < 0, x * slope, x)


@op("HardSigmoid")
def hard_sigmoid(node: Node, x: Any) -> Any:
    return lnp.clip(node.get("alpha", 0.2) * x + node.get("beta", 0.5), 0, 1).astype(x.dtype)


@op("HardSwish")
def hard_swish(node: Node, x: Any) -> Any:
    return (x * lnp.clip(x / 6 + 0.5, 0, 1)).astype(x.dtype)


@op("ThresholdedRelu")
def thresholded_relu(node: Node, x: Any) -> Any:
    return lnp.where(x > node.get("alpha", 1.0), x, lnp.zeros_like(x))


@op("Shrink")
def shrink(node: Node, x: Any) -> Any:
    bias, limit = node.get("bias", 0.0), node.get("lambd", 0.5)
    return lnp.where(x < -limit, x + bias, lnp.where(x > limit, x - bias, lnp.zeros_like(x))).astype(x.dtype)


@op("Swish")
def swish(node: Node, x: Any) -> Any:
    alpha = node.get("alpha", 1.0)
    return nn.silu(x) if alpha == 1 else (x * nn.sigmoid(alpha * x)).astype(x.dtype)


@op("Gelu")
def gelu(node: Node, x: Any) -> Any:
    return nn.gelu(x, approximate=node.get("approximate", "none") == "tanh").astype(x.dtype)


# --------------------------------------------------------------------------------------------------------------------
# Element types


def _power_of_two(x: np.ndarray, mode: str, saturate: bool) -> np.ndarray:
    """The exponents that float8_e8m0fnu holds: NaN, or powers of two from 2**-127 to 2**127."""
    wide = np.asarray(x, np.float64)
    part, exponent = np.frexp(wide)  # part is in [0.5, 1)
    exponent = exponent - 1 + {"up": part > 0.5, "down": part > 1, "nearest": part >= 0.75}[mode]
    held = np.ldexp(1.0, np.clip(np.where(wide > 0, exponent, -127), -127, 127))
    outside = np.isinf(wide) | (wide <= 0) | (exponent > 127)
    held = np.where(np.isposinf(wide), 2.0**127, held)
    return np.where(np.isnan(wide) | (outside if not saturate else False), np.nan, held)


def cast_to(x: Any, dtype: Any, saturate: bool = True, mode: str = "up") -> Any:
    """Elements of another type; what an 8-bit float cannot hold becomes the largest one, or NaN unless they saturate."""
    dtype = np.dtype(dtype)
    if dtype.kind == "O" or (is_constant(x) and x.dtype == object and not has_sizes(x)):
        raise UnsupportedOp("strings are not supported")
    if has_sizes(x):
        return x if dtype == np.int64 else lifted(x).astype(dtype)
    if x.dtype == dtype:
        return x
    if not is_storable(dtype) and not is_constant(x):
        raise UnknownValue(f"arrays of {dtype.name} are computed by NumPy alone")
    xp, x = operands(x)
    if dtype.name == "float8_e8m0fnu":
        return _power_of_two(x, mode, saturate).astype(dtype)
    if dtype.name.startswith("float8") or dtype.name.startswith("float4"):
        if saturate and np.dtype(x.dtype).kind != "b":
            most = float(lnp.finfo(dtype).max)
            x = xp.clip(
                x.astype(np.float32) if np.dtype(x.dtype).itemsize < 4 or np.dtype(x.dtype).kind != "f" else x, -most, most
            )
        return x.astype(dtype)
    bits = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}.get(dtype.name)
    if bits and np.dtype(x.dtype).kind != "b":  # the low bits, as of wider integers
        low = x.astype(np.float32 if not is_integer(x) else x.dtype).astype(np.int32) & ((1 << bits) - 1)
        sign = 0 if dtype.name[0] == "u" else 1 << (bits - 1)
        return ((low ^ sign) - sign).astype(dtype)
    if (
        np.dtype(x.dtype).name.startswith(("float8", "float4", "int4", "uint4", "int2", "uint2", "bfloat16"))
        and dtype.kind in "biu"
    ):
        x = x.astype(np.float32)
    return x.astype(dtype)


@op("Cast")
def cast(node: Node, x: Any) -> Any:
    to = node.need("to")
    if isinstance(to, str):  # opset 1 has the name of the type
        from ..model import package

        to = package().TensorProto.DataType.Value(to)
    return cast_to(x, dtype_of(to, "the result"), bool(node.get("saturate", 1)), node.get("round_mode", "up"))


@op("CastLike")
def cast_like(node: Node, x: Any, like: Any) -> Any:
    dtype = np.int64 if has_sizes(like) else like.dtype
    return cast_to(x, dtype, bool(node.get("saturate", 1)), node.get("round_mode", "up"))


@op("BitCast")
def bit_cast(node: Node, x: Any) -> Any:
    dtype = dtype_of(node.need("to"), "the result")
    if np.dtype(x.dtype).kind == "b" or dtype.kind == "b":
        return x.astype(dtype)
    return x.view(dtype) if is_constant(x) else lax.bitcast_convert_type(x, dtype)

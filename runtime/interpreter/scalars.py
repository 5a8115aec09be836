"""The meaning of arith, math and vector ops on NumPy scalars and vectors, one function an op name.

Every function takes the op and its operands and returns the results; f32 stays f32, integers wrap, `x / 0` of integers is 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType
from xdsl.ir import Attribute, Operation

from ...dialects.functions import FUNCTIONS
from ...dialects.graph import OPS
from ...dialects.graph.elementwise import convert_array
from ...dialects.packed_dot import KINDS
from ...dialects.rounding import cast
from ...dialects.types import is_bool, numpy_dtype, scalar_of
from . import vectors

Meaning = Callable[..., Any]


def dtype_of(type: Attribute) -> np.dtype[Any]:
    """The dtype of values of a scalar or vector type."""
    return numpy_dtype(scalar_of(type))


def _result(op: Operation) -> np.dtype[Any]:
    return dtype_of(op.results[0].type)


def constant(op: Any) -> Any:
    """The value of an `arith.constant`: a scalar, or a vector from a dense attribute."""
    value = op.properties["value"]
    dtype = _result(op)
    if isinstance(value, DenseIntOrFPElementsAttr):
        return np.array(list(value.get_values()), dtype)
    return dtype.type(value.value.data)


def _cast(op: Operation, x: Any) -> Any:
    return cast(np.asarray(x), _result(op))[()]


def _truncate(op: Operation, x: Any) -> Any:
    return (np.asarray(x) & 1).astype(np.bool_)[()] if is_bool(scalar_of(op.results[0].type)) else _cast(op, x)


def _signed(op: Operation, x: Any) -> Any:
    # i1 as a signed integer is 0 or -1
    return -_cast(op, x) if np.asarray(x).dtype == np.bool_ else _cast(op, x)


def _add_integers(op: Operation, x: Any, y: Any) -> Any:
    return np.bitwise_xor(x, y) if np.asarray(x).dtype == np.bool_ else np.add(x, y)


def _shift(ufunc: Callable[..., Any], sign: bool) -> Meaning:
    def meaning(op: Operation, x: Any, y: Any) -> Any:
        bits = np.asarray(x).dtype.itemsize * 8
        outside = (y < 0) | (y >= bits)
        beyond = np.where(x < 0, -1, 0) if sign else 0
        return np.where(outside, beyond, ufunc(x, np.where(outside, 0, y))).astype(_result(op))[()]

    return meaning


_CMPI: list[Callable[..., Any]] = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]


def compare_integers(op: Any, x: Any, y: Any) -> Any:
    """`arith.cmpi`; the last four predicates compare as unsigned."""
    predicate = op.predicate.value.data
    if predicate >= 6:
        predicate -= 4
        if np.asarray(x).dtype != np.bool_:
            unsigned = np.dtype(f"u{np.asarray(x).dtype.itemsize}")
            x, y = np.asarray(x).view(unsigned), np.asarray(y).view(unsigned)
    elif np.asarray(x).dtype == np.bool_ and predicate >= 2:
        x, y = np.logical_not(x), np.logical_not(y)  # signed i1: true is -1
    return _CMPI[predicate](x, y)[()]


def compare_floats(op: Any, x: Any, y: Any) -> Any:
    """`arith.cmpf`: false, `oeq ogt oge olt ole one ord`, `ueq ugt uge ult ule une uno`, true."""
    predicate = op.predicate.value.data
    unordered = np.isnan(x) | np.isnan(y)
    if predicate in (0, 7, 14, 15):
        known = [np.zeros_like(unordered), ~unordered, unordered, np.ones_like(unordered)]
        return known[(0, 7, 14, 15).index(predicate)][()]
    holds = [x == y, x > y, x >= y, x < y, x <= y, x != y][(predicate - 1) % 7]
    return (holds | unordered if predicate > 7 else holds & ~unordered)[()]


def select(op: Operation, condition: Any, x: Any, y: Any) -> Any:
    """`arith.select`, one condition or one a lane."""
    return np.where(condition, x, y).astype(_result(op))[()]


def _plain(ufunc: Callable[..., Any]) -> Meaning:
    return lambda op, *operands: ufunc(*operands)


def _graph(name: str) -> Meaning:
    function = OPS[name].numpy
    return lambda op, *operands: np.asarray(function(*map(np.asarray, operands))).astype(_result(op))[()]


def broadcast(op: Any, x: Any) -> Any:
    """`vector.broadcast` of a scalar."""
    return np.full(op.results[0].type.get_shape(), x, _result(op))


def step(op: Any) -> Any:
    """`vector.step`."""
    return np.arange(op.results[0].type.get_shape()[0], dtype=_result(op))


def mask(op: Any, count: Any) -> Any:
    """`vector.create_mask`: the first `count` lanes."""
    return np.arange(op.results[0].type.get_shape()[0]) < count


def _fma(op: Operation, x: Any, y: Any, z: Any) -> Any:
    wide = np.longdouble
    return (np.asarray(x).astype(wide) * y + z).astype(_result(op))[()]


_NUMPY_NAMES: dict[str, Callable[..., Any]] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atanh": np.arctanh, "cbrt": np.cbrt,
    "cosh": np.cosh, "log10": np.log10, "log2": np.log2, "sinh": np.sinh,
}  # fmt: skip

MEANINGS: dict[str, Meaning] = {
    "arith.constant": constant,
    "arith.addf": _plain(operator.add),
    "arith.subf": _plain(operator.sub),
    "arith.mulf": _plain(operator.mul),
    "arith.divf": _plain(operator.truediv),
    "arith.remf": _plain(np.fmod),
    "arith.negf": _plain(operator.neg),
    "arith.maximumf": _plain(np.maximum),
    "arith.minimumf": _plain(np.minimum),
    "arith.maxnumf": _plain(np.fmax),
    "arith.minnumf": _plain(np.fmin),
    "arith.addi": _add_integers,
    "arith.subi": lambda op, x, y: np.bitwise_xor(x, y) if np.asarray(x).dtype == np.bool_ else np.subtract(x, y),
    "arith.muli": _plain(operator.mul),
    "arith.divsi": _graph("div"),
    "arith.remsi": _graph("rem"),
    "arith.andi": _plain(np.bitwise_and),
    "arith.ori": _plain(np.bitwise_or),
    "arith.xori": _plain(np.bitwise_xor),
    "arith.shli": _shift(np.left_shift, sign=False),
    "arith.shrsi": _shift(np.right_shift, sign=True),
    "arith.maxsi": _plain(np.maximum),
    "arith.minsi": _plain(np.minimum),
    "arith.cmpi": compare_integers,
    "arith.cmpf": compare_floats,
    "arith.select": select,
    "arith.extf": _cast,
    "arith.truncf": _cast,
    "arith.index_cast": _cast,
    "arith.extsi": _signed,
    "arith.sitofp": _signed,
    "arith.trunci": _truncate,
    "arith.fptosi": lambda op, x: convert_array(np.asarray(x), _result(op))[()],
    "arith.bitcast": lambda op, x: np.asarray(x).view(_result(op))[()],
    "scalar.dot_words": lambda op, x, y: KINDS[op.of.data].dot(np.asarray(x), np.asarray(y))[()],
    "math.absf": _plain(np.abs),
    "math.absi": _plain(np.abs),
    "math.trunc": _plain(np.trunc),
    "math.copysign": _plain(np.copysign),
    "math.powf": _plain(np.power),
    "math.ipowi": _graph("pow"),
    "math.exp2": _plain(np.exp2),
    "math.fma": _fma,
    "vector.fma": _fma,
    "vector.broadcast": broadcast,
    "vector.step": step,
    "vector.create_mask": mask,
    "math.ctpop": _graph("popcount"),
    "math.ctlz": _graph("clz"),
    **{f"math.{name}": _plain(function) for name, function in _NUMPY_NAMES.items()},
    **{function.op.name: _graph(name) for name, function in FUNCTIONS.items()},
    **vectors.MEANINGS,
}
"""From op name to its meaning."""


def lanes_of(type: Attribute) -> int | None:
    """How many lanes values of a type have; None for scalars."""
    return type.get_shape()[0] if isinstance(type, VectorType) else None

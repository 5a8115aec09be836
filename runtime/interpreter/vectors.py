"""The meaning of unsigned and counting integer ops and of vector ops that move lanes, as in `scalars`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, VectorType
from xdsl.ir import Operation

from ...dialects.graph import OPS
from ...dialects.graph.elementwise import convert_array
from ...dialects.types import numpy_dtype, scalar_of
from .monoids import combine, reduce_lanes

Meaning = Callable[..., Any]


def _result(op: Operation) -> np.dtype[Any]:
    return numpy_dtype(scalar_of(op.results[0].type))


def unsigned(x: Any) -> np.ndarray:
    """Integers read as unsigned of the same width; i1 as it is."""
    array = np.asarray(x)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "i" else array


def extend(op: Operation, x: Any) -> Any:
    """`arith.extui`, `arith.uitofp`."""
    return unsigned(x).astype(_result(op))[()]


def _on_unsigned(function: Callable[..., Any]) -> Meaning:
    return lambda op, *operands: np.asarray(function(*map(unsigned, operands))).astype(_result(op))[()]


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, y, x // np.where(y == 0, np.ones_like(y), y))


def _remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, y, x % np.where(y == 0, np.ones_like(y), y))


def _shift_right(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    return np.where(y < bits, x >> np.where(y < bits, y, np.zeros_like(y)), np.zeros_like(x))


def _rounded_division(up: bool) -> Meaning:
    """Truncated division, then one further when it was not exact; by zero it is 0."""

    def meaning(op: Operation, x: Any, y: Any) -> Any:
        quotient: Any = OPS["div"].numpy(np.asarray(x), np.asarray(y))
        remainder: Any = OPS["rem"].numpy(np.asarray(x), np.asarray(y))
        apart = (np.asarray(x) < 0) != (np.asarray(y) < 0)
        off = (np.asarray(y) != 0) & (remainder != 0) & (~apart if up else apart)
        return (quotient + np.where(off, 1 if up else -1, 0)).astype(_result(op))[()]

    return meaning


def _to_unsigned(op: Operation, x: Any) -> Any:
    dtype = _result(op)
    return convert_array(np.asarray(x), np.dtype(f"u{dtype.itemsize}")).view(dtype)[()]


def _round(op: Operation, x: Any) -> Any:
    """`math.round`: to nearest, halves away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole).astype(_result(op))[()]


def _leading(x: int, bits: int) -> int:
    return bits - x.bit_length()


def _trailing(x: int, bits: int) -> int:
    return (x & -x).bit_length() - 1 if x else bits


def _count_zeros(count: Callable[[int, int], int]) -> Meaning:
    def meaning(op: Operation, x: Any) -> Any:
        array = unsigned(x)
        bits = array.dtype.itemsize * 8
        return np.array([count(v, bits) for v in array.reshape(-1).tolist()], _result(op)).reshape(array.shape)[()]

    return meaning


# Lanes


def _lane(op: Any, dynamic: tuple[Any, ...]) -> int:
    (static,) = op.static_position.get_values() or (DYNAMIC_INDEX,)
    lane = int(dynamic[0]) if static == DYNAMIC_INDEX else int(static)
    return lane


def _extract(op: Any, vector: np.ndarray, *dynamic: Any) -> Any:
    if isinstance(op.results[0].type, VectorType):
        return vector
    return vector[_lane(op, dynamic)]


def _insert(op: Any, value: Any, vector: np.ndarray, *dynamic: Any) -> Any:
    if isinstance(op.operands[0].type, VectorType):
        return value
    result = vector.copy()
    result[_lane(op, dynamic)] = value
    return result


def _shuffle(op: Any, x: np.ndarray, y: np.ndarray) -> Any:
    return np.concatenate([x, y])[list(op.mask.get_values())]


_KINDS = {"maxsi": "max", "minsi": "min", "maximumf": "max", "minimumf": "min"}


def _reduction(op: Any, vector: np.ndarray, *acc: Any) -> Any:
    """`vector.reduction` in the fixed tree of `loop.reduce_lanes`, then the accumulator, as the compiled code has it."""
    kind = op.kind.data.value
    monoid: str = _KINDS.get(kind, kind)  # pyright: ignore[reportAssignmentType]
    result = reduce_lanes(monoid, (vector,))
    return combine(monoid, acc, result)[0] if acc else result[0]


MEANINGS: dict[str, Meaning] = {
    "arith.extui": extend,
    "arith.uitofp": extend,
    "arith.fptoui": _to_unsigned,
    "arith.divui": _on_unsigned(_divide),
    "arith.remui": _on_unsigned(_remainder),
    "arith.maxui": _on_unsigned(np.maximum),
    "arith.minui": _on_unsigned(np.minimum),
    "arith.shrui": _on_unsigned(_shift_right),
    "arith.floordivsi": _rounded_division(up=False),
    "arith.ceildivsi": _rounded_division(up=True),
    "builtin.unrealized_conversion_cast": lambda op, x: np.asarray(x).view(_result(op))[()],
    "math.round": _round,
    "math.ctpop": _on_unsigned(np.bitwise_count),
    "math.ctlz": _count_zeros(_leading),
    "math.cttz": _count_zeros(_trailing),
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.bitcast": lambda op, x: np.asarray(x).view(_result(op)),
    "vector.reduction": _reduction,
}
"""From op name to its meaning."""

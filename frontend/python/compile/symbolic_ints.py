"""Integers that differ from call to call: computed by Python before the graph, with a guard for each comparison."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...trace.tracer import Tracer
from ..capture.writes import OPERATORS
from .guards import Path, short

if TYPE_CHECKING:
    from .environment import Reading

_COMPUTED = {"Add", "Sub", "Mult", "Div", "FloorDiv", "Mod"}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Number:
    """The tracer of a number that Python computes at each call.

    A comparison becomes a guard on its outcome; any other use of the value guards the value itself.

    Attributes:
        path: where the value is found, or how it is computed.
        value: its current value.
        roots: the paths of the integers that it is computed from.
    """

    __slots__ = ("path", "reading", "roots", "value")

    def __init__(self, reading: Reading, path: Path, value: Any, roots: tuple[str, ...]):
        self.reading, self.path, self.value, self.roots = reading, path, value, roots

    def known(self) -> Any:
        """The value, which is guarded from now on."""
        self.reading.guards.equal(self.path, self.value)
        return self.value

    def leaf(self) -> Tracer:
        """The value as an argument of the graph."""
        made = self.reading.leaf(self.value, self.path, typed=False)
        self.reading.numbers[id(made)] = made, self.roots
        return made

    def computed(self, operation: str, other: Any, swapped: bool = False) -> Any:
        """`self + other` and the like, `other + self` if swapped. Other operations than those of arithmetic need the value."""
        symbol, compute, _ = OPERATORS[operation]
        a, b = _parts(other if swapped else self), _parts(self if swapped else other)
        if operation not in _COMPUTED or type(a[0]) not in (int, float) or type(b[0]) not in (int, float):
            first, second = known(other if swapped else self), known(self if swapped else other)
            return compute(first, second)
        value = compute(a[0], b[0])
        path = self.reading.guards.path(f"({a[1]} {symbol} {b[1]})", f"({a[2]} {symbol} {b[2]})")
        return Number(self.reading, path, value, (*a[3], *b[3]))

    def compared(self, symbol: str, other: Any) -> Any:
        if isinstance(other, Tracer | np.ndarray | np.generic):
            return _COMPARED[symbol](self.leaf(), other)
        if type(other) not in (int, float, bool, Number):
            return _COMPARED[symbol](self.value, other)  # a number and another object: their types, which are guarded, say it
        value, code, text, _ = _parts(other)
        found = _COMPARED[symbol](self.value, value)
        said = f"{self.path.text} {symbol} {text}" if found else f"not {self.path.text} {symbol} {text}"
        self.reading.guards.require(f"({self.path.code} {symbol} {code}) is {found}", said, self.path.code)
        return found

    def __lt__(self, other: Any) -> Any:
        return self.compared("<", other)

    def __le__(self, other: Any) -> Any:
        return self.compared("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self.compared(">", other)

    def __ge__(self, other: Any) -> Any:
        return self.compared(">=", other)

    def __eq__(self, other: Any) -> Any:
        return self.compared("==", other)

    def __ne__(self, other: Any) -> Any:
        return self.compared("!=", other)

    def __bool__(self) -> bool:
        return self.compared("!=", 0)

    def __hash__(self) -> int:
        return hash(self.known())

    def __index__(self) -> int:
        return operator.index(self.known())

    def __int__(self) -> int:
        return int(self.known())

    def __float__(self) -> float:
        return float(self.known())

    def __neg__(self) -> Any:
        return self.computed("Sub", 0, swapped=True) if type(self.value) is int else -self.known()

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __invert__(self) -> Any:
        return ~self.known()

    def __add__(self, other: Any) -> Any:
        return self.computed("Add", other)

    def __radd__(self, other: Any) -> Any:
        return self.computed("Add", other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self.computed("Mult", other)

    def __round__(self, digits: Any = None) -> Any:
        return round(self.known(), digits)

    def __str__(self) -> str:
        return str(self.known())

    def __repr__(self) -> str:
        return repr(self.known())

    def __format__(self, spec: str) -> str:
        return format(self.known(), spec)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.known(), dtype)


def _parts(x: Any) -> tuple[Any, str, str, tuple[str, ...]]:
    """Value, code, text and roots of an operand."""
    if isinstance(x, Number):
        return x.value, x.path.code, x.path.text, x.roots
    return x, repr(x), short(x), ()


def known(x: Any) -> Any:
    """The value of a number, guarded; anything else as it is."""
    return x.known() if type(x) is Number else x


def as_argument(x: Any) -> Any:
    """A number as an argument of the graph; anything else as it is."""
    return x.leaf() if type(x) is Number else x

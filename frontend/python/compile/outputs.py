"""The outputs of a region, and how they are rebuilt from the graph's results at each call.

Arrays are results of the graph, each a new one; objects that existed before the region are returned themselves; lists, dicts
and tuples that the region made are rebuilt, each once.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np
from xdsl.ir import BlockArgument, SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.sizes.polynomial import Size
from ...trace.pytree import flatten, is_registered
from ...trace.tracer import Tracer
from .breaks import VALUES, GraphBreak
from .environment import Leaf, Reading
from .symbolic_ints import Number

_CONSTANT: tuple[type, ...] = (types.ModuleType, type, types.BuiltinFunctionType, np.generic, np.ufunc)


class Outputs:
    """The lines that make the values of a region from the results of its graph.

    Attributes:
        results: the tracers that the graph returns.
    """

    def __init__(self, reading: Reading):
        self.reading = reading
        self.results: list[Tracer] = []
        self.lines: list[str] = []
        self._made: dict[int, tuple[Any, str]] = {}
        self._values: dict[SSAValue, str] = {}
        self._left: set[SSAValue] = set()
        """Values that are arrays outside."""

    def code(self, value: Any, what: str) -> str:
        """An expression of the value.

        Raises:
            GraphBreak: it cannot leave a graph.
        """
        reading = self.reading
        guards = reading.guards
        found = self._made.get(id(value))
        if found is not None:
            return found[1]
        if isinstance(value, Tracer):
            return self._array(value, what)
        known = reading.known.get(id(value))
        if known is not None:
            return known[1].code
        kind = type(value)
        if kind is Number:
            return value.path.code
        if kind in VALUES:
            return repr(value) if kind in (int, bool, str, type(None)) else guards.constant(value)
        if isinstance(value, _CONSTANT) and not isinstance(getattr(value, "__self__", None), list | dict | set):
            return guards.constant(value)
        if isinstance(value, Size):
            return self._size(value, what)
        if isinstance(value, np.ndarray):
            return self._keep(value, f"{guards.constant(value.copy())}.copy()")
        if kind in (list, tuple, set):
            parts = [self.code(v, what) for v in value]
            inside = ", ".join(parts)
            text = {list: f"[{inside}]", set: f"{{{inside}}}" if parts else "set()"}.get(
                kind, f"({inside}{',' if parts else ''})"
            )
            return self._keep(value, text)
        if kind is dict:
            parts = [f"{self.code(k, what)}: {self.code(v, what)}" for k, v in value.items()]
            return self._keep(value, f"{{{', '.join(parts)}}}")
        if is_registered(kind) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            leaves, structure = flatten(value)
            inside = ", ".join([self.code(leaf, what) for leaf in leaves])
            return self._keep(value, f"{guards.constant(structure.unflatten)}([{inside}])")
        raise GraphBreak(
            f"{what} is a {kind.__name__} made here, which does not leave a graph",
            "return arrays, numbers, lists, tuples or dicts",
        )

    def _size(self, value: Size, what: str) -> str:
        """A symbolic size, as an argument shows it."""
        for held, _ in self.reading.trace.captured:
            if isinstance(held, Leaf):
                for axis, size in enumerate(held.aval.shape):
                    if isinstance(size, Size) and str(size) == str(value):
                        return f"{held.code}.shape[{axis}]"
        raise GraphBreak(f"{what} is computed from sizes that differ from call to call")

    def _keep(self, value: Any, text: str) -> str:
        name = f"v{len(self._made)}"
        self._made[id(value)] = value, name
        self.lines.append(f"{name} = {text}")
        return name

    def _array(self, value: Tracer, what: str) -> str:
        reading = self.reading
        outside = reading.outside.get(id(value))
        if outside is not None and outside[0] is value:
            return outside[1].code
        view = reading.views.get(id(value))
        if view is not None and view[0] is value:
            return self._keep(value, view[1].code)
        inner = reading.trace.lift(value)
        root = _viewed(inner.value)
        is_number = value.weak or id(value) in reading.booleans
        if not is_number and isinstance(root, BlockArgument) and root is not inner.value and root.index in self._arrays():
            raise GraphBreak(f"{what} is a view of an array that was there before", "take .copy() of it, or leave it to Python")
        known = self._values.get(inner.value)
        k = len(self.results)
        if known is None:
            self.results.append(inner)
            text = f"o{k}"
            self._values[inner.value] = text
        else:
            text = f"{known}.copy()"
        if not is_number:
            self._left.add(inner.value)
        if is_number:
            return self._keep(value, f"{text}.item()")
        if reading.is_numpy and inner.shape == ():
            return self._keep(value, f"{text}[()]")
        self._made[id(value)] = value, text
        return text if known is None else self._keep(value, text)

    def _arrays(self) -> set[int]:
        """The numbers of arguments that are arrays with other references."""
        return {k for k, (held, _) in enumerate(self.reading.trace.captured) if not getattr(held, "convert", True)}

    def check_views(self) -> None:
        """Refuse results of which one would be a view of another."""
        for value in self._left:
            if _viewed(value, self._left - {value}) in self._left - {value}:
                raise GraphBreak("two of the values are views of one array", "take .copy() of one of them")


def _viewed(value: SSAValue, stop: set[SSAValue] | None = None) -> SSAValue:
    """An array of which NumPy would return a view."""
    while isinstance(value.owner, GraphOp) and value.owner.facts.numpy_view:
        value = value.owner.operands[0]
        if stop and value in stop:
            break
    return value

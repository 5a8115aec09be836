"""The hooks that instrumented code calls while a region is traced: every read of an object goes to `environment.py`, and
visible effects are refused before they happen.
"""

from __future__ import annotations

import builtins
import enum
import types
from typing import Any

import numpy as np

from ...functions.effects import check
from ...trace.array_functions import arrays as lnp
from ...trace.tracer import Tracer, asked
from ..capture import writes
from ..capture.branches import compare, not_
from ..capture.writes import OPERATORS
from .breaks import LIBRARIES, VALUES, GraphBreak, SourceError, is_users
from .effects import MISSING
from .environment import CONTAINERS, Leaf, Reading
from .guards import Path
from .symbolic_ints import Number, as_argument
from .symbolic_ints import known as known_number

_DEFINED = (
    "__add__ __radd__ __sub__ __mul__ __rmul__ __truediv__ __matmul__ __pow__ __neg__ __lt__ __gt__ __le__ __ge__ "
    "__contains__ __format__ __str__"
).split()


class Hooks:
    """The hooks of the code of one function: its globals and cells, in a trace."""

    slice = builtins.slice

    def __init__(self, reading: Reading, scope: dict[str, Any], cells: dict[str, Any], call: Any):
        self.reading = reading
        self.scope = scope
        self.cells = cells
        self._call = call

    def name(self, name: str) -> Any:
        """A variable of the module, or of a function around."""
        reading, guards = self.reading, self.reading.guards
        if name in self.cells:
            cell = self.cells[name]
            if name in reading.effects.stale:
                raise GraphBreak(f"{name} is assigned here, and read by a function inside", "give it as an argument")
            if (id(cell), name) in reading.effects.names:
                return reading.effects.names[id(cell), name]
            value = cell.cell_contents
            return reading.load(value, guards.path(f"{guards.constant(cell)}.cell_contents", name))
        if (id(self.scope), name) in reading.effects.names:
            return reading.effects.names[id(self.scope), name]
        if name in self.scope:
            value = self.scope[name]
            return reading.load(value, guards.path(f"{guards.constant(self.scope)}[{name!r}]", name))
        value = getattr(builtins, name, MISSING)
        if value is MISSING:
            raise NameError(f"name {name!r} is not defined")
        guards.require(f"{name!r} not in {guards.constant(self.scope)}", f"no global hides {name}", listed=False)
        guards.require(
            f"{guards.constant(vars(builtins))}[{name!r}] is {guards.constant(value)}", f"{name} is Python's", listed=False
        )
        return value

    def rebind(self, name: str, value: Any) -> None:
        """A variable of the module, or of a function around, is assigned."""
        guards, effects = self.reading.guards, self.reading.effects
        if name in self.cells:
            cell = self.cells[name]
            if name in effects.shared:
                raise GraphBreak(f"{name} is assigned by a function inside", "return the value instead")
            effects.rebind((id(cell), name), f"{guards.constant(cell)}.cell_contents", value)
        else:
            effects.rebind((id(self.scope), name), f"{guards.constant(self.scope)}[{name!r}]", value)

    def attribute(self, owner: Any, name: str) -> Any:
        reading, guards = self.reading, self.reading.guards
        if isinstance(owner, Tracer):
            value = getattr(owner, name)
            if name in ("T", "mT"):
                return reading.viewed(owner, value, f".{name}")
            return value
        if isinstance(owner, types.ModuleType):
            value = getattr(owner, name)
            if owner.__name__.split(".")[0] in LIBRARIES and owner.__name__ != "lamina.config":
                return value
            return reading.load(value, self._attribute_path(owner, name)) if reading.is_known(owner) else value
        known = reading.known.get(id(owner))
        if known is None:
            if type(owner) is super:
                return self._inherited(owner, name)
            if is_users(type(owner)) and not isinstance(owner, tuple | types.FunctionType | types.MethodType):
                raise GraphBreak(f"an object of {type(owner).__name__} whose origin is not known is read")
            return getattr(owner, name)
        path = known[1]
        if type(owner) in (list, dict, tuple, set, frozenset) or hasattr(owner, "_fields"):
            return getattr(owner, name)
        if (assigned := reading.effects.attribute(owner, name)) is not MISSING:
            return assigned
        if isinstance(owner, type):
            value = getattr(owner, name)
            if isinstance(value, types.MethodType):
                bound = guards.path(f"{path.code}.{name}", f"{path.text}.{name}")
                guards.require(f"{bound.code}.__func__ is {guards.constant(value.__func__)}", f"{bound.text} is the same")
                return value
            return reading.load(value, self._attribute_path(owner, name))
        cls = type(owner)
        if any(isinstance(vars(c).get("__getattribute__"), types.FunctionType) for c in cls.__mro__):
            raise GraphBreak(f"{cls.__name__} defines __getattribute__")
        found = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), MISSING)
        own = getattr(owner, "__dict__", {})
        if found is MISSING and name not in own:
            if hasattr(cls, "__getattr__"):
                raise GraphBreak(f"{cls.__name__} defines __getattr__", "read the attribute before, as an argument")
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
        guards.of_type(path, cls)
        if isinstance(found, property):
            guards.require(f"{guards.constant(cls)}.{name} is {guards.constant(found)}", f"{cls.__name__}.{name} is the same")
            return self.call(found.fget, owner)
        if name in own:
            if id(owner) in reading.covered:
                return own[name]
            return reading.load(own[name], self._attribute_path(owner, name))
        if isinstance(found, types.FunctionType):
            bound = guards.path(f"{path.code}.{name}", f"{path.text}.{name}")
            guards.require(f"{bound.code}.__func__ is {guards.constant(found)}", f"{bound.text} is the same method")
            return types.MethodType(found, owner)
        if isinstance(found, classmethod | staticmethod):
            value = getattr(owner, name)
            return reading.load(value, self._attribute_path(owner, name))
        if isinstance(found, types.MethodDescriptorType | types.WrapperDescriptorType):
            return getattr(owner, name)
        if isinstance(found, types.MemberDescriptorType) or not hasattr(type(found), "__get__"):
            return reading.load(getattr(owner, name), self._attribute_path(owner, name))
        raise GraphBreak(f"{cls.__name__}.{name} is a {type(found).__name__}", "read it before, as an argument")

    def _attribute_path(self, owner: Any, name: str) -> Path:
        path = self.reading.known[id(owner)][1]
        return self.reading.guards.path(f"{path.code}.{name}", f"{path.text}.{name}")

    def _inherited(self, owner: Any, name: str) -> Any:
        guards = self.reading.guards
        value = getattr(owner, name)
        mro = type(owner.__self__).__mro__ if not isinstance(owner.__self__, type) else owner.__self__.__mro__
        for cls in mro[mro.index(owner.__thisclass__) + 1 :]:
            if name in vars(cls):
                key = f"{guards.constant(cls)}.__dict__[{name!r}]"
                guards.require(f"{key} is {guards.constant(vars(cls)[name])}", f"{cls.__name__}.{name} is the same")
                break
        return value

    def item(self, owner: Any, index: Any) -> Any:
        reading, guards = self.reading, self.reading.guards
        kind = type(owner)
        known = reading.known.get(id(owner))
        index = _index(owner, index)
        if known is not None and kind in CONTAINERS:
            if (changed := reading.effects.item(owner, index)) is not MISSING:
                return changed
            if id(owner) in reading.covered:
                return self._element(owner, index)
            if isinstance(index, Tracer) or isinstance(index, slice) or (kind is not dict and not isinstance(index, int)):
                return self._element(reading.whole(owner), index)
            value = owner[index]
            path = known[1]
            guards.of_type(path, kind)
            return reading.load(value, guards.path(f"{path.code}[{reading.key(index)}]", f"{path.text}[{index!r}]"))
        if known is not None and not isinstance(owner, type):
            found = next((vars(c)["__getitem__"] for c in kind.__mro__ if "__getitem__" in vars(c)), None)
            if isinstance(found, types.FunctionType):
                return self.call(self.attribute(owner, "__getitem__"), index)
            raise GraphBreak(f"an item of a {kind.__name__} is read", "make it a list, a dict or an array")
        return self._element(owner, index)

    def _element(self, owner: Any, index: Any) -> Any:
        check_index(owner, index)
        if isinstance(owner, Tracer) and not _has_array(index):
            return self.reading.viewed(owner, writes.item(owner, index), f"[{self._index_code(index)}]")
        if self.reading.from_source:
            return writes.item(owner, index)
        if isinstance(index, Tracer) and not isinstance(owner, Tracer):
            asked.values = True
            raise SourceError
        return owner[index]

    def _index_code(self, index: Any) -> str:
        if isinstance(index, tuple) and index:
            return ", ".join(map(self._index_code, index)) + ","
        return repr(index) if index is None or type(index) is int else self.reading.guards.constant(index)

    def iterated(self, value: Any) -> Any:
        """The iterable of a loop, or of a target that unpacks."""
        value = self.operand(value)
        if self.reading.is_known(value) and type(value) not in (*CONTAINERS, set, frozenset) and not isinstance(value, tuple):
            raise GraphBreak(f"items of a {type(value).__name__} are made by Python", "make it a list or an array")
        if isinstance(value, set | frozenset):
            raise GraphBreak("the items of a set are read in an order of their own", "use a list, or sorted()")
        return value

    def operand(self, value: Any) -> Any:
        """A value whose items only Python's own operators read: objects that the region made are kept."""
        if type(value) in CONTAINERS and not self.reading.is_known(value):
            return value
        return self.plain(value)

    def plain(self, value: Any) -> Any:
        """An operand: its operators are Python's own or the graph's."""
        value = self.reading.whole(value)
        if self.reading.is_known(value) and not isinstance(value, enum.Enum):
            kind = type(value)
            if is_users(kind) and any(
                vars(c).get(n) is not None for c in kind.__mro__ if c is not object for n in ("__eq__", *_DEFINED)
            ):
                if is_users(kind) and not isinstance(value, tuple):
                    raise GraphBreak(f"{kind.__name__} defines operators of its own", "compute with its arrays or numbers")
        return value

    def subject(self, value: Any, by_class: bool) -> Any:
        """The subject of `match`: all of it is read."""
        value = self.reading.whole(known_number(value))
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if type(one) in CONTAINERS:
                waiting += one.values() if isinstance(one, dict) else one
            elif type(one) is Number or (isinstance(one, Tracer) and by_class):
                raise GraphBreak("`match` asks for the class of a number or array", "use if and elif")
            elif type(one) not in VALUES and not isinstance(one, Tracer | enum.Enum):
                raise GraphBreak(f"`match` reads an object of {type(one).__name__}", "use if and elif")
        return value

    def text(self, value: Any) -> Any:
        """A value in an f-string."""
        value = self.plain(value)
        if has_tracer(value):
            raise GraphBreak("text of an array", "make it of the result")
        return value

    def truth(self, value: Any) -> Any:
        reading = self.reading
        known = reading.known.get(id(value))
        if known is not None:
            path, kind = known[1], type(value)
            if kind in (list, dict) and reading.effects.of(value) is not None:
                return len(reading.whole(value)) > 0
            if kind in CONTAINERS and id(value) in reading.covered:
                return value
            if kind in (*CONTAINERS, set, frozenset):
                reading.guards.require(f"(not {path.code}) is {not value}", f"{path.text} is {'' if value else 'not '}empty")
            elif any(n in vars(c) for c in kind.__mro__ for n in ("__bool__", "__len__")) and not isinstance(value, tuple):
                raise GraphBreak(f"{kind.__name__} defines whether it is true", "compare with `is None`")
        return value

    def negated(self, value: Any) -> Any:
        """`not value`."""
        value = self.truth(value)
        if isinstance(value, Tracer) and self.reading.from_source:
            return self.reading.boolean(not_(value))
        return not value

    def identical(self, a: Any, b: Any, negated: bool) -> bool:
        result = (self.reading.original(a) is self.reading.original(b)) is not negated
        known = [self.reading.known.get(id(x)) or self.reading.outside.get(id(x)) for x in (a, b)]
        if known[0] is not None and known[1] is not None:
            p, q = known[0][1], known[1][1]
            if p.code != q.code:
                same = "is" if result is not negated else "is not"
                self.reading.guards.require(f"{p.code} {same} {q.code}", f"{p.text} {same} {q.text}")
        return result

    def inside(self, value: Any, container: Any, negated: bool) -> Any:
        reading = self.reading
        known = reading.known.get(id(container))
        value = known_number(value)
        if known is not None and type(container) is dict and type(value) in VALUES:
            if (changed := reading.effects.contains(container, value)) is not MISSING:
                return changed is not negated
            path, found = known[1], value in container
            reading.guards.of_type(path, dict)
            said = "in" if found else "not in"
            reading.guards.require(f"({reading.key(value)} in {path.code}) is {found}", f"{value!r} {said} {path.text}")
            return found is not negated
        value, container = self.plain(value), self.plain(container)
        if isinstance(value, Tracer) or (isinstance(container, list | tuple) and any(isinstance(x, Tracer) for x in container)):
            if not reading.from_source:
                raise SourceError
            return reading.boolean(compare(True, value, ("NotIn" if negated else "In", lambda: container)))
        if is_users(type(container)) and type(container) not in (list, tuple, dict, set, frozenset, str):
            raise GraphBreak(f"`in` of a {type(container).__name__}", "make it a list, a set or a dict")
        return (value in container) is not negated

    def binary(self, operation: str, a: Any, b: Any) -> Any:
        a, b = self.operand(a), self.operand(b)
        if isinstance(a, str | bytes) and has_tracer(self.plain(b)):
            raise GraphBreak("text of an array", "make it of the result")
        if type(a) is Number or type(b) is Number:
            if not isinstance(a, Tracer | np.ndarray | np.generic) and not isinstance(b, Tracer | np.ndarray | np.generic):
                return a.computed(operation, b) if type(a) is Number else b.computed(operation, a, True)
            a, b = as_argument(a), as_argument(b)
        if _is_number(a) and _is_number(b):
            if operation in ("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow"):
                a, b = (int(x) if type(x) is bool else x for x in (a, b))
            if operation in ("Div", "FloorDiv", "Mod", "Pow") and not _is_quotient(operation, a, b):  # may raise
                self.reading.number(f"`{OPERATORS[operation].symbol}`", a, b)
            if all(type(x) is int or (isinstance(x, Tracer) and x.dtype.kind == "i") for x in (a, b)):
                self.reading.number(f"`{OPERATORS[operation].symbol}`", a, b)  # may leave int64
        return OPERATORS[operation].plain(a, b)

    # -- changes

    def set_attribute(self, owner: Any, name: str, value: Any) -> bool:
        """Assign an attribute of an object that was there before; False if it was made in the region, and Python does it."""
        if self.reading.is_known(owner):
            self.reading.effects.set_attribute(owner, name, value, self.call)
            return True
        if isinstance(owner, Tracer | np.ndarray):
            self.changed(owner)
            return False
        raise GraphBreak(f"an object of {type(owner).__name__} is changed")

    def set_item(self, owner: Any, index: Any, value: Any) -> bool:
        """Assign an item of an object that was there before; False if it was made in the region, and Python does it."""
        reading = self.reading
        if reading.is_known(owner) and not isinstance(owner, Tracer):
            found = next((vars(c)["__setitem__"] for c in type(owner).__mro__ if "__setitem__" in vars(c)), None)
            if isinstance(found, types.FunctionType) and is_users(type(owner)):
                self.call(self.attribute(owner, "__setitem__"), index, value)
            else:
                reading.effects.set_item(owner, index, value)
            return True
        self.changed(owner, index)
        return False

    def delete_item(self, owner: Any, index: Any) -> None:
        """`del owner[index]`."""
        if self.reading.is_known(owner) and not isinstance(owner, Tracer):
            self.reading.effects.delete_item(owner, index)
        elif isinstance(owner, list | dict):
            self.reading.effects.require_straight("an item is deleted")
            del owner[known_number(index)]
        else:
            raise GraphBreak(f"an item of a {type(owner).__name__} is deleted")

    def changed(self, owner: Any, *index: Any) -> None:
        """An object is changed by Python: one that the region has made."""
        reading = self.reading
        if index:
            check_index(owner, index[0])
        if isinstance(owner, Tracer):
            reading.effects.require_unkept(owner)
            if not reading.from_source:
                raise SourceError
            root = writes._root(owner)
            known = reading.outside.get(id(root)) or reading.outside.get(id(owner))
            if known is not None:
                raise GraphBreak(
                    f"{known[1].text} is changed in place", "make a new array: x = x.at[i].set(v), or x.copy() first"
                )
        elif isinstance(owner, np.ndarray) or type(owner) in (list, dict, set):
            return
        else:
            raise GraphBreak(f"an object of {type(owner).__name__} is changed")

    def updated(self, operation: str, value: Any, other: Any) -> Any:
        """The value that `value += other` assigns to an attribute or item; `NotImplemented` if Python finds it."""
        if isinstance(value, Tracer) and not value.weak:
            known = self.reading.outside.get(id(writes._root(value)))
            what = known[1].text if known is not None else "an array"
            if known is None or not self._is_scalar(known[1]):
                raise GraphBreak(f"{what} is changed in place", "write x = x + v")
        if type(value) is list and operation == "Add":
            if self.reading.is_known(value):
                self.reading.effects.call(self, value, "extend", (other,), {})
            else:
                value.extend(self.operand(other))
            return value
        if type(value) not in (int, float, str, tuple, bool, complex, Number) and not isinstance(value, Tracer):
            raise GraphBreak(f"an object of {type(value).__name__} is changed in place", "write x = x + v")
        return self.binary(operation, value, other)

    def is_known(self, owner: Any) -> bool:
        """Whether an object was there before the region."""
        return self.reading.is_known(owner) and not isinstance(owner, Tracer)

    def augmented(self, value: Any) -> None:
        """`x += v`: arrays and lists change in place."""
        if isinstance(value, Tracer):
            if not value.weak:
                self.reading.effects.require_unkept(value)
            known = self.reading.outside.get(id(writes._root(value)))
            if known is not None and not value.weak:
                if isinstance(known[0].shape, tuple) and (value.ndim or not self._is_scalar(known[1])):
                    raise GraphBreak(f"{known[1].text} is changed in place", "write x = x + v")
            elif value.ndim and not self.reading.from_source:
                raise SourceError
        elif self.reading.is_known(value) and not isinstance(value, tuple | frozenset):
            raise GraphBreak(f"{self.reading.known[id(value)][1].text} is changed, which others see", "write x = x + v")

    def _is_scalar(self, path: Path) -> bool:
        return any(isinstance(h, Leaf) and h.code == path.code and h.convert for h, _ in self.reading.trace.captured)

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return self._call(self, function, args, kwargs)


def _index(owner: Any, index: Any) -> Any:
    """An index without numbers that only the guards know: arguments of the graph where it indexes an array."""
    if isinstance(index, tuple):
        return tuple(_index(owner, part) for part in index)
    if isinstance(index, slice):
        return slice(*(known_number(part) for part in (index.start, index.stop, index.step)))
    return as_argument(index) if isinstance(owner, Tracer) else known_number(index)


def has_tracer(x: Any) -> bool:
    """Whether an array is in lists, tuples and dicts."""
    if isinstance(x, list | tuple | dict):
        return any(map(has_tracer, x.values() if isinstance(x, dict) else x))
    return isinstance(x, Tracer)


def _has_array(index: Any) -> bool:
    """Whether an index has more than numbers and slices of numbers."""
    if isinstance(index, tuple):
        return any(map(_has_array, index))
    parts = (index.start, index.stop, index.step) if isinstance(index, slice) else (index,)
    return any(type(p) not in (int, type(None), type(Ellipsis)) for p in parts)


def check_index(owner: Any, index: Any) -> None:
    """Let the graph check indices that it computes: NumPy raises where one is out of range, and then Python does."""
    parts = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(p, Tracer) and p.dtype.kind in "iu" for p in parts):
        return
    shape = getattr(owner, "shape", None) or (len(owner),)
    consuming = [p for p in parts if p is not None and p is not Ellipsis]
    axis = 0
    for part in parts:
        if part is Ellipsis:
            axis = len(shape) - (len(consuming) - axis)
            continue
        if part is None:
            continue
        if isinstance(part, Tracer) and part.dtype.kind in "iu" and axis < len(shape):
            n = shape[axis]
            check(lnp.all(lnp.logical_and(part >= -n, part < n)), "an index is out of range")
        axis += 1


def _is_quotient(operation: str, a: Any, b: Any) -> bool:
    """Whether a float is divided by a number that is not 0, which does not raise."""
    return operation == "Div" and isinstance(a, Tracer) and a.dtype.kind == "f" and isinstance(b, int | float) and b != 0


def _is_number(x: Any) -> bool:
    return type(x) in (int, float, bool, complex) or (isinstance(x, Tracer) and x.weak)

"""Changes of objects that existed before a region: recorded while it is traced, and made by each call after its graph.

A change is a line of Python, `t0.append(o1)`, and the lines run in order once the graph has run and nothing can fail any more.
So other code sees the same changes, as often and in the same order. While the region is traced, changed values are read from
here.
"""

from __future__ import annotations

import sys
import types
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...trace.pytree import is_registered
from ...trace.tracer import Tracer
from ...trace.tracing import current
from ..capture.session import impure, traced_depth
from ..capture.writes import _root
from .breaks import VALUES, GraphBreak, is_users
from .guards import Path
from .symbolic_ints import known

if TYPE_CHECKING:
    from .environment import Reading
    from .hooks import Hooks
    from .outputs import Outputs

MISSING: Any = object()
REMOVED: Any = object()
_PAIRS = 64
"""Objects of one type whose identities are compared."""


@dataclass
class Changes:
    """The changes of one object.

    Attributes:
        items: attributes, or items of a list or dict, that were assigned, by name, index or key; `REMOVED` if they are no more.
        appended: the items that were appended to a list.
    """

    owner: Any
    path: Path
    items: dict[Any, Any] = field(default_factory=dict[Any, Any])
    appended: list[Any] = field(default_factory=list[Any])


@dataclass
class Line:
    """A change: parts of a line of Python, of which those that are no code are values, and where the user wrote it."""

    parts: tuple[Any, ...]
    frames: list[tuple[Any, int, int]]


class Code(str):
    """A part of a line that is code."""

    __slots__ = ()


class Effects:
    """The changes of one trace."""

    def __init__(self, reading: Reading):
        self.reading = reading
        self.hooks: Hooks
        self.lines: list[Line] = []
        self.changes: dict[int, Changes] = {}
        self.shared = set[str]()
        """Variables of the function around the region that functions inside of it see."""
        self.stale = set[str]()
        """Those that the region assigns."""
        self.names: dict[tuple[int, str], Any] = {}
        """Variables of modules and of functions around that were assigned."""

    # -- changes

    def of(self, owner: Any) -> Changes | None:
        """The changes of an object."""
        return self.changes.get(id(self.reading.original(owner))) if self.changes else None

    def begun(self, owner: Any) -> Changes:
        """The changes of an object that was there before.

        Raises:
            GraphBreak: it is not to be changed here.
        """
        reading = self.reading
        path = reading.known[id(owner)][1]
        self.require_straight(f"{path.text} is changed")
        original = reading.original(owner)
        if id(owner) in reading.adopted:
            raise GraphBreak(f"{path.text} is changed, which is part of a module", "return the new value instead")
        found = self.changes.get(id(original))
        if found is None:
            reading.guards.of_type(path, type(original))
            found = self.changes[id(original)] = Changes(original, path)
        return found

    def require_straight(self, what: str) -> None:
        """Refuse a change that happens in a part of the graph, as often as a value says."""
        if traced_depth() or current() is not self.reading.trace:
            raise GraphBreak(f"{what} in a branch, loop or function of the graph", "return the new value instead")
        impure("a change that others see")

    def add(self, *parts: Any) -> None:
        frames, frame = [], sys._getframe(1)
        while frame is not None and len(frames) < 200:
            frames.append((frame.f_code, frame.f_lasti, frame.f_lineno))
            frame = frame.f_back
        self.lines.append(Line(parts, frames))

    def require_unkept(self, array: Tracer) -> None:
        """Refuse to change an array in place that a change has put into an object outside."""
        waiting = [p for line in self.lines for p in line.parts if type(p) is not Code]
        while waiting:
            one = waiting.pop()
            if isinstance(one, list | tuple | dict):
                if not self.reading.is_known(one):
                    waiting += one.values() if isinstance(one, dict) else one
            elif isinstance(one, Tracer) and _root(one) is _root(array):
                raise GraphBreak("an array that an object outside holds is changed in place", "write x = x + v, or x.copy()")

    # -- attributes

    def set_attribute(self, owner: Any, name: str, value: Any, call: Any) -> None:
        cls = type(owner)
        if isinstance(owner, types.FunctionType):
            found = vars(types.FunctionType).get(name, MISSING)
        elif not is_users(cls) or is_registered(cls) or isinstance(owner, type | types.ModuleType | np.ndarray | tuple):
            raise GraphBreak(f"an attribute of {self.reading.known[id(owner)][1].text} is assigned", "return it instead")
        elif cls.__setattr__ not in (object.__setattr__, types.SimpleNamespace.__setattr__):
            raise GraphBreak(f"{cls.__name__} defines __setattr__")
        else:
            found = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), MISSING)
        if isinstance(found, property) and found.fset is not None:
            guards = self.reading.guards
            guards.require(f"{guards.constant(cls)}.{name} is {guards.constant(found)}", f"{cls.__name__}.{name} is the same")
            call(found.fset, owner, value)
            return
        if hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType):
            raise GraphBreak(f"{cls.__name__}.{name} is a {type(found).__name__}")
        if not hasattr(owner, "__dict__") and not isinstance(found, types.MemberDescriptorType):
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
        changes = self.begun(owner)
        changes.items[name] = value
        self.add(Code(f"{changes.path.code}.{name} = "), value)

    def attribute(self, owner: Any, name: str) -> Any:
        """An attribute that was assigned; `MISSING` if it was not."""
        changes = self.of(owner)
        return MISSING if changes is None else changes.items.get(name, MISSING)

    # -- lists and dicts

    def shadow(self, owner: Any) -> Any:
        """The current shadow of a container that was read as a whole; None if it was not."""
        found = self.reading.shadows.get(id(self.reading.original(owner)))
        return None if found is None else found[1]

    def whole(self, owner: Any) -> Any:
        """A container as it is now, all of it read."""
        return self.reading.whole(owner)

    def apply(self, changes: Changes, made: Any) -> None:
        """Change a container that was just read as a whole."""
        for key, value in changes.items.items():
            if value is REMOVED:
                del made[key]
            else:
                made[key] = value
        if changes.appended:
            made.extend(changes.appended)

    def item(self, owner: Any, index: Any) -> Any:
        """An item of a container that was changed; `MISSING` if it is the one that was there."""
        changes = self.of(owner)
        if changes is None:
            return MISSING
        made = self.shadow(owner)
        if made is not None:
            return made[index]
        if type(owner) is dict:
            found = changes.items.get(index, MISSING)
            if found is REMOVED:
                raise KeyError(index)
            return found
        if type(index) is int and index < 0 and -index <= len(changes.appended):
            return changes.appended[index]
        if index in changes.items and not (changes.appended and index < 0):
            return changes.items[index]
        is_before = type(index) is int and 0 <= index < len(changes.owner) and all(k >= 0 for k in changes.items)
        return MISSING if is_before else self.whole(owner)[index]

    def contains(self, owner: Any, key: Any) -> Any:
        """Whether a dict that was changed has a key; `MISSING` if it is as it was."""
        changes = self.of(owner)
        if changes is None:
            return MISSING
        made = self.shadow(owner)
        if made is not None:
            return key in made
        return changes.items[key] is not REMOVED if key in changes.items else MISSING

    def grown(self, owner: Any) -> int:
        """By how much the length of a container has changed that was not read as a whole."""
        changes = self.of(owner)
        if changes is None:
            return 0
        if type(owner) is list:
            return len(changes.appended)
        more = 0
        for key, value in changes.items.items():
            was = self.was_in(changes, key)
            more += (value is not REMOVED) - was
        return more

    def was_in(self, changes: Changes, key: Any) -> bool:
        guards, found = self.reading.guards, key in changes.owner
        said = "in" if found else "not in"
        test = f"({self.reading.key(key)} in {changes.path.code}) is {found}"
        guards.require(test, f"{key!r} {said} {changes.path.text}")
        return found

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        index = self.key(owner, index)
        made = self.shadow(owner)
        changes = self.begun(owner)
        if made is None and type(owner) is list:
            n = len(changes.owner)
            if changes.appended or any((k < 0) is not (index < 0) for k in changes.items) or not -n <= index < n:
                made = self.whole(owner)
            else:
                code, text = f"len({changes.path.code})", f"len({changes.path.text})"
                least = index + 1 if index >= 0 else -index
                self.reading.guards.require(f"{code} >= {least}", f"{text} >= {least}", code)
        if made is not None:
            made[index] = value
        else:
            changes.items[index] = value
        self.add(Code(f"{changes.path.code}[{self.reading.key(index)}] = "), value)

    def delete_item(self, owner: Any, index: Any) -> None:
        index = self.key(owner, index)
        made = self.shadow(owner)
        changes = self.begun(owner)
        if made is None and type(owner) is list:
            made = self.whole(owner)
        if made is not None:
            del made[index]
        else:
            if not (changes.items[index] is not REMOVED if index in changes.items else self.was_in(changes, index)):
                raise KeyError(index)
            if self.was_in(changes, index):
                changes.items[index] = REMOVED
            else:
                del changes.items[index]
        self.add(Code(f"del {changes.path.code}[{self.reading.key(index)}]"))

    def key(self, owner: Any, index: Any) -> Any:
        """An index or key that is known.

        Raises:
            GraphBreak: it is not, or the container is not a plain list or dict.
        """
        index, kind = known(index), type(owner)
        path = self.reading.known[id(owner)][1]
        if kind not in (list, dict) or type(self.reading.original(owner)) is not kind:
            raise GraphBreak(f"{path.text} is changed, which others see", "return the new value instead")
        if type(index) not in ((int,) if kind is list else VALUES):
            raise GraphBreak(f"an item of {path.text} is assigned that is not known", "use a number or a string as the key")
        return index

    def call(self, hooks: Hooks, owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A method of a container that was there before, which changes it."""
        kind = type(owner)
        made = getattr(self, f"_{kind.__name__}_{name}", None) if kind in (list, dict, deque) else None
        if made is None:
            path = self.reading.known[id(owner)][1]
            raise GraphBreak(f"{path.text} is changed, which others see", "return the new value instead")
        self.hooks = hooks
        return made(owner, *args, **kwargs)

    def _list_append(self, owner: Any, value: Any) -> None:
        made, changes = self.shadow(owner), self.begun(owner)
        (changes.appended if made is None else made).append(value)
        self.add(Code(f"{changes.path.code}.append("), value, Code(")"))

    def _list_extend(self, owner: Any, values: Any) -> None:
        values = tuple(self.whole(values) if type(values) in (list, tuple, dict) else self.iterated(values))
        made, changes = self.shadow(owner), self.begun(owner)
        (changes.appended if made is None else made).extend(values)
        self.add(Code(f"{changes.path.code}.extend("), values, Code(")"))

    def iterated(self, values: Any) -> Any:
        if isinstance(values, Tracer) or self.reading.is_known(values):
            raise GraphBreak("a list is extended by what is no list", "make it a list")
        return values

    def _list_insert(self, owner: Any, index: Any, value: Any) -> None:
        index, made = self.key(owner, index), self.whole(owner)
        changes = self.begun(owner)
        made.insert(index, value)
        self.add(Code(f"{changes.path.code}.insert({index}, "), value, Code(")"))

    def _list_pop(self, owner: Any, index: Any = -1) -> Any:
        index = self.key(owner, index)
        changes = self.begun(owner)
        if index == -1 and self.shadow(owner) is None and changes.appended:
            value = changes.appended.pop()
        else:
            value = self.whole(owner).pop(index)
        self.add(Code(f"del {changes.path.code}[{index}]"))
        return value

    def _list_reverse(self, owner: Any) -> None:
        made, changes = self.whole(owner), self.begun(owner)
        made.reverse()
        self.add(Code(f"{changes.path.code}.reverse()"))

    def _dict_setdefault(self, owner: Any, key: Any, value: Any = None) -> Any:
        key = self.key(owner, key)
        if self.hooks.inside(key, owner, False):
            return self.hooks.item(owner, key)
        self.set_item(owner, key, value)
        return value

    def _dict_update(self, owner: Any, other: Any = (), /, **named: Any) -> None:
        other = self.whole(other)
        pairs = dict(other) if isinstance(other, dict | list | tuple) else MISSING
        if pairs is MISSING:
            raise GraphBreak("a dict is updated by what is no dict", "make it a dict")
        for key, value in {**pairs, **named}.items():
            self.set_item(owner, key, value)

    def _dict_pop(self, owner: Any, key: Any, *default: Any) -> Any:
        key = self.key(owner, key)
        if not self.hooks.inside(key, owner, False):
            if default:
                return default[0]
            raise KeyError(key)
        value = self.hooks.item(owner, key)
        self.delete_item(owner, key)
        return value

    def _clear(self, owner: Any) -> None:
        made, changes = self.whole(owner), self.begun(owner)
        made.clear()
        self.add(Code(f"{changes.path.code}.clear()"))

    _list_clear = _dict_clear = _clear

    def _deque_append(self, owner: Any, value: Any) -> None:
        self.add(Code(f"{self.begun(owner).path.code}.append("), value, Code(")"))  # nothing reads it in a region

    def _deque_appendleft(self, owner: Any, value: Any) -> None:
        self.add(Code(f"{self.begun(owner).path.code}.appendleft("), value, Code(")"))

    # -- variables

    def rebind(self, key: tuple[int, str], target: str, value: Any) -> None:
        """Assign a variable of the module, or of a function around."""
        self.require_straight(f"{key[1]} is assigned")
        self.names[key] = value
        self.add(Code(f"{target} = "), value)

    # -- the end

    def finish(self, outputs: Outputs) -> list[str]:
        """The lines that make the changes."""
        self.check_distinct()
        made = []
        for line in self.lines:
            try:
                made.append("".join(p if type(p) is Code else outputs.code(p, "what is stored") for p in line.parts))
            except GraphBreak as error:
                error.frames = line.frames
                raise
        return made

    def check_distinct(self) -> None:
        """Guard that a changed object is none of the other objects that were read."""
        reading, guards = self.reading, self.reading.guards
        for changes in self.changes.values():
            kind, others = type(changes.owner), dict[str, Path]()
            for value, path in [*reading.known.values()]:
                if type(value) is kind and reading.original(value) is not changes.owner:
                    others[path.code] = path
            if len(others) > _PAIRS:
                raise GraphBreak(f"{changes.path.text} is changed among many objects of its kind")
            for path in others.values():
                a, b = sorted((changes.path, path), key=lambda p: p.code)
                guards.require(f"{a.code} is not {b.code}", f"{a.text} is not {b.text}", listed=False)

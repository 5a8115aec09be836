"""The state of capture while a function is traced: variables by name, writes into objects, the depth of branches."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ....errors import LaminaError, LeastSizeError, TracingError
from ...trace.locations import located, placed
from ...trace.tracer import Tracer

Variables = Mapping[str, tuple[Callable[[], Any], Callable[[Any], None], Callable[[], None]]]


class Missing:
    """The value of a variable that is not assigned. `reason` says why, where control flow is why; `text` says so
    where it is read all the same; `least` is the error that requires a larger size, at which it is assigned."""

    def __init__(self, reason: str | None = None, text: str | None = None, least: LeastSizeError | None = None):
        self.reason, self.least = reason, least
        self.text = reason if text is None else text


UNBOUND = Missing()


class Frame:
    """The changes of Python's objects between two points of a trace.

    Attributes:
        writes: the values that attributes and items had before they were assigned, by object and key.
        fresh: objects that were made in it, which have not escaped yet.
        impure: why it cannot be run a second time, where it cannot.
        traced: whether it is traced for a branch or loop, whose Python runs whether or not the branch does.
    """

    def __init__(self, traced: bool):
        self.writes: dict[tuple[int, str, Any], tuple[Any, Any]] = {}
        self.fresh: dict[int, Any] = {}
        self.impure: str | None = None
        self.traced = traced


class Reader:
    """How control flow sees objects that existed before the function runs. Under `jit` objects are used unchanged."""

    def variable(self, value: Any) -> Any:
        """The value of a variable that control flow chooses or carries."""
        return value

    def require_alike(self, a: Any, b: Any) -> None:
        """Refuse to select between two values by a traced one, where the result must have the type that Python gives it."""

    def is_whole(self, value: Any) -> bool:
        """Whether an object is opaque: it may only be selected as one value, since parts of it differ from call to call."""
        return False


class _State(threading.local):
    def __init__(self) -> None:
        self.reader = Reader()
        self.frames: list[Frame] = []
        self.scopes: list[Scope] = []
        self.flow = 0
        self.counted = 0
        self.tried: BaseException | None = None
        self.changed: dict[int, Any] = {}


state = _State()


@contextmanager
def frame(traced: bool) -> Generator[Frame]:
    """Record the changes of objects in the block."""
    made = Frame(traced)
    state.frames.append(made)
    try:
        yield made
    finally:
        state.frames.pop()
        if state.frames:
            outer = state.frames[-1]
            outer.fresh.update(made.fresh)
            outer.impure = outer.impure or made.impure
            if not traced:
                for key, old in made.writes.items():
                    if key[0] not in outer.fresh:
                        outer.writes.setdefault(key, old)


def traced_depth() -> int:
    """In how many traced branches and loops the code runs now."""
    return sum(one.traced for one in state.frames)


def impure(reason: str) -> None:
    """Say that Python did something that must not happen twice."""
    if state.frames and state.frames[-1].impure is None:
        state.frames[-1].impure = reason


def record(slot: Slot) -> None:
    """Say that a variable, attribute or item is about to be assigned."""
    if state.frames:
        inner = state.frames[-1]
        if id(slot.owner) not in inner.fresh:
            inner.writes.setdefault(slot.key_of_write, (slot, slot.read()))


class Place:
    """An attribute or item of an object, as a variable."""

    def __init__(self, owner: Any, kind: str, key: Any):
        self.owner, self.kind, self.key = owner, kind, key

    @property
    def key_of_write(self) -> tuple[int, str, Any]:
        return id(self.owner), self.kind, self.key

    @property
    def name(self) -> str:
        return f".{self.key}" if self.kind == "attribute" else f"[{self.key!r}]"

    def read(self) -> Any:
        try:
            return getattr(self.owner, self.key) if self.kind == "attribute" else self.owner[self.key]
        except (AttributeError, KeyError, IndexError):
            return UNBOUND

    def write(self, value: Any) -> None:
        record(self)
        self.put(value)

    def put(self, value: Any) -> None:
        if isinstance(value, Missing):
            delattr(self.owner, self.key) if self.kind == "attribute" else self.owner.__delitem__(self.key)
        elif self.kind == "attribute":
            setattr(self.owner, self.key, value)
        else:
            self.owner[self.key] = value


class Variable:
    """A variable of a captured function."""

    def __init__(self, scope: Scope, name: str):
        self.scope = self.owner = scope
        self.name = name

    @property
    def key_of_write(self) -> tuple[int, str, Any]:
        return id(self.scope), "variable", self.name

    def read(self) -> Any:
        return self.scope.read(self.name)

    def write(self, value: Any) -> None:
        self.scope.write(self.name, value)

    put = write


class Held:
    """A value of the helpers' own that branches and loops leave, as a variable."""

    owner = None

    def __init__(self, name: str, value: Any = UNBOUND):
        self.name, self.value = name, value
        self.key_of_write = id(self), "held", name

    def read(self) -> Any:
        return self.value

    def write(self, value: Any) -> None:
        self.value = value

    put = write


class Contents:
    """The contents of a list, as a variable. `what` changed it, at a source location `place`."""

    def __init__(self, owner: list[Any], what: str = "", place: tuple[str, int, int] | None = None):
        self.owner, self.what, self.place = owner, what, place
        self.name = "what a list holds"
        self.key_of_write = id(owner), "contents", None

    def read(self) -> Any:
        return list(self.owner)

    def write(self, value: Any) -> None:
        record(self)
        self.put(value)

    def put(self, value: Any) -> None:
        self.owner[:] = value

    def refused(self) -> LaminaError:
        """The error where the number of items is not known."""
        error = TracingError(restructured_text(self.what, self.owner))
        return located(error) if self.place is None else placed(error, self.place)


def restructured_text(what: str, x: Any) -> str:
    """Why a list, dict or set must not be changed by a statement."""
    text = f"{what} changes a {type(x).__name__} in a branch or loop that a traced value controls"
    text = f"{text}: the number of its items must be known"
    return f"{text}; preallocate an array (lnp.zeros) and assign its elements, or use lm.scan"


Slot = Variable | Place | Held | Contents


def undo(writes: Iterable[tuple[Any, Any]]) -> None:
    """Restore the old values of attributes and items."""
    for place, old in reversed(list(writes)):
        place.put(old)


class Scope:
    """The variables of a call of a captured function, which the functions made from its blocks share.

    An expression may change those that are `shared`: functions inside assign them or their elements, or `:=` does. With each
    stands whether it is bound anew, or keeps its identity where it holds no array.
    """

    def __init__(self, key: Any, name: str, variables: Variables, shared: tuple[tuple[str, bool], ...] = ()):
        self.key, self.name, self.variables, self.shared = key, name, variables, shared
        self.missing: dict[str, Missing] = {}
        self.depth = traced_depth()
        above = {one.depth for one in state.scopes if one.key is key and one.depth < self.depth}
        if len(above) >= RECURSION:
            text = f"{name}() calls itself in branches that traced values choose, and has no end that Python knows"
            raise located(
                TracingError(f"{text}: write a while loop, or make the argument that ends it static (static_argnums)")
            )
        state.scopes.append(self)

    def leave(self) -> None:
        """The call ends, one of a generator perhaps before calls that began later, or after the trace."""
        if self in state.scopes:
            state.scopes.remove(self)

    def read(self, name: str) -> Any:
        """The value of a variable; a `Missing` if it has none."""
        try:
            return self.variables[name][0]()
        except NameError:
            return self.missing.get(name, UNBOUND)

    def write(self, name: str, value: Any) -> None:
        """Assign a variable; with a `Missing`, remove it."""
        if not isinstance(value, Missing):
            self.missing.pop(name, None)
            self.variables[name][1](value)
            return
        self.missing[name] = value
        try:
            self.variables[name][2]()
        except NameError:
            pass

    def values(self) -> dict[str, Any]:
        """The values of all variables."""
        return {name: self.read(name) for name in self.variables}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Restore the values of variables."""
        for name, value in values.items():
            self.write(name, value)

    def slots(self, names: Sequence[str]) -> list[Slot]:
        return [Variable(self, name) for name in names]

    def explained(self, error: NameError) -> BaseException:
        """An error about a name: if control flow is why a variable has no value, one that says so."""
        found = re.search(r"variable '(\w+)'", str(error))
        missing = self.missing[found[1]] if found and found[1] in self.missing else UNBOUND
        if missing.least is not None:
            return missing.least
        text = missing.text
        trace = error.__traceback__
        if text is None or trace is None:
            return error
        while trace.tb_next is not None:
            trace = trace.tb_next
        place = _place_in(trace.tb_frame.f_code, trace.tb_lasti, trace.tb_lineno)
        return placed(TracingError(text), place)


def shared_slots() -> list[Variable]:
    """The variables that an expression may bind, of all calls."""
    return [
        Variable(scope, name)
        for scope in state.scopes
        for name, is_bound in scope.shared
        if is_bound or isinstance(scope.read(name), Tracer | np.ndarray)
    ]


RECURSION = 24
"""How many calls of one function, each in a traced branch of the one before, count as endless."""


def _place_in(code: Any, instruction: int, line: int) -> tuple[str, int, int]:
    positions = list(code.co_positions())[instruction // 2]
    return code.co_filename, line, (positions[2] or 0) + 1


def is_traced(x: Any) -> bool:
    """Whether Python does not know a value that it would branch on."""
    return isinstance(x, Tracer)

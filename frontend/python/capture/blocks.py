"""Blocks of statements that are traced into functions of their own, and the variables that they assign."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....dialects.sizes.polynomial import Size
from ....errors import TracingError
from ...trace.array_functions import arrays as lnp
from ...trace.locations import located, user_location
from ...trace.program import Aval, TracedFunction, end_function, staging
from ...trace.pytree import TreeDef, flatten, register_pytree_node
from ...trace.tracer import Tracer
from ...trace.tracing import Trace
from .session import Contents, Missing, Place, Slot, frame, shared_slots, state, undo

NOTHING = flatten(((), {}))[1]


class RaisedError(Exception):
    """A `raise` of the user's in a traced branch."""

    def __init__(self, error: BaseException):
        super().__init__()
        self.error = error


@dataclass
class Value:
    """A value of a variable as leaves and structure; `missing` if there is none."""

    leaves: list[Any] = field(default_factory=list)
    structure: TreeDef | None = None
    missing: Missing | None = None
    whole: Any = None

    @property
    def arrays(self) -> list[int]:
        """Which leaves are arrays or numbers."""
        return [k for k, leaf in enumerate(self.leaves) if is_array(leaf)]

    def with_leaves(self, leaves: Sequence[Any]) -> Any:
        if self.missing is not None:
            return self.missing
        if all(a is b for a, b in zip(leaves, self.leaves, strict=True)):
            return self.whole  # the object itself, where nothing in it differs
        assert self.structure is not None
        return self.structure.unflatten(leaves)


def value_of(x: Any, is_open: Callable[[Any], bool] = lambda leaf: False) -> Value:
    """A value as leaves and structure. Frozen dataclasses are flattened, and so are objects that `is_open` accepts."""
    if isinstance(x, Missing):
        return Value(missing=x)
    leaves: list[Any] = []
    x = state.reader.variable(x)
    return Value(leaves, _taken_apart(_flat(x), leaves, is_open), None, x)


def _flat(x: Any) -> tuple[list[Any], TreeDef]:
    return flatten(x, state.reader.is_whole)


class _Attributes:
    """The kind of node that stands for an object of a class, whose attributes are the children."""


def _with_attributes(rest: tuple[type, tuple[str, ...]], values: Sequence[Any]) -> Any:
    cls, names = rest
    made = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


register_pytree_node(_Attributes, lambda made: ((), None), _with_attributes)


def _taken_apart(flat: tuple[list[Any], TreeDef], out: list[Any], is_open: Callable[[Any], bool]) -> TreeDef:
    """The structure of a tree in which objects are nodes, whose leaves go to `out`."""
    leaves = iter(flat[0])

    def walk(node: TreeDef) -> TreeDef:
        if node.kind is not None:
            return TreeDef(node.kind, node.data, tuple(map(walk, node.children)))
        leaf = next(leaves)
        names = attributes_of(leaf, is_open)
        if names is None:
            out.append(leaf)
            return node
        inside = [_taken_apart(_flat(getattr(leaf, name)), out, is_open) for name in names]
        return TreeDef(_Attributes, (type(leaf), names), tuple(inside))

    return walk(flat[1]) if any(attributes_of(x, is_open) is not None for x in flat[0]) else _given(flat, out)


def _given(flat: tuple[list[Any], TreeDef], out: list[Any]) -> TreeDef:
    out += flat[0]
    return flat[1]


def attributes_of(x: Any, is_open: Callable[[Any], bool]) -> tuple[str, ...] | None:
    """The attributes from which an object is rebuilt; None for objects that are kept."""
    if is_array(x) or state.reader.is_whole(x):
        return None
    parameters = getattr(type(x), "__dataclass_params__", None)
    if parameters is not None and parameters.frozen and not isinstance(x, type):
        return tuple(f.name for f in dataclasses.fields(x))
    is_plain = type(x).__new__ is object.__new__ and type(x).__setattr__ is object.__setattr__ and hasattr(x, "__dict__")
    return tuple(vars(x)) if is_plain and is_open(x) else None


def is_object(x: Any) -> bool:
    """Whether a value is an object of a class of the user's that says nothing of how it is shown."""
    return type(x).__repr__ is object.__repr__ and hasattr(x, "__dict__")


def is_array(x: Any) -> bool:
    """Whether control flow can choose or carry a value: an array or a number."""
    return isinstance(x, Tracer | Size | np.ndarray | np.generic | bool | int | float | complex)


def is_same(a: Any, b: Any) -> bool:
    """Whether two leaves are one value that Python knows."""
    if a is b:
        return True
    if isinstance(a, Tracer | np.ndarray) or isinstance(b, Tracer | np.ndarray) or type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a == b and np.signbit(a) == np.signbit(b)
    return type(a).__module__ in ("builtins", "numpy") and bool(a == b)  # classes of the user's compare their attributes


def equal(a: Value, b: Value) -> bool:
    """Whether two values are the same for Python."""
    if a.missing is not None or b.missing is not None:
        return a.missing is not None and b.missing is not None and a.missing.reason == b.missing.reason
    return a.structure == b.structure and all(is_same(x, y) for x, y in zip(a.leaves, b.leaves, strict=True))


def _only_once(fresh: Mapping[int, Any], values: Sequence[Any]) -> Callable[[Any], bool]:
    """Says whether an object was made in a block, and one variable holds it: an equal one can stand for it after the block."""
    found = Counter(id(leaf) for value in values for leaf in flatten(value)[0])
    return lambda x: id(x) in fresh and found[id(x)] <= 1


class Block:
    """Statements that were traced.

    Attributes:
        after: the values of the variables at their end.
        places: attributes and items of objects that they assign, with their values at the end.
        raised: the error with which they end.
        result: their result.
    """

    def __init__(self, arguments: Sequence[Aval] = ()):
        outer = staging()
        self.trace = Trace(outer.program, user_location())
        self.avals = tuple(arguments)
        self.after: list[Value] = []
        self.places: dict[Any, tuple[Slot, Value]] = {}
        self.raised: RaisedError | None = None
        self.result: Any = None

    def run(self, statements: Callable[..., Any], slots: Sequence[Slot]) -> Block:
        """Trace the statements, which take the arguments as tracers."""
        with frame(traced=True) as kept:
            try:
                with self.trace:
                    arguments = [self.trace.argument(a.dtype, a.shape, a.weak) for a in self.avals]
                    self.trace.own_arguments = len(arguments)
                    self.result = statements(*arguments)
                    is_new = _only_once(kept.fresh, [slot.read() for slot in slots])
                    self.after = [value_of(slot.read(), is_new) for slot in slots]
                    known = {slot.key_of_write for slot in slots}
                    self.places = {k: (one, value_of(one.read())) for k, (one, _) in kept.writes.items() if k not in known}
            except RaisedError as error:
                self.raised = error
            except Exception as error:
                if error is state.tried:
                    text = "raise in a branch or loop that a traced value chooses cannot be caught by a try outside of it"
                    raise located(TracingError(f"{text}: choose with a value, or use lm.check")) from None
                raise
            finally:
                undo(kept.writes.values())
        return self

    def value_at(self, place: Any) -> Value:
        """The value of an attribute, an item or the contents of a list at the end."""
        if place.key_of_write in self.places:
            return self.places[place.key_of_write][1]
        if not isinstance(place, Contents):
            return value_of(place.read())
        items = place.read()
        for item, value in self.places.values():
            if isinstance(item, Place) and item.owner is place.owner:
                items[item.key] = value.whole
        return value_of(items)

    def function(self, name: str, results: Sequence[Any]) -> TracedFunction:
        """The function that returns some of its values."""
        with self.trace:
            lifted = [self.trace.lift(x) for x in results]
        assert self.trace.program is not None
        structure = flatten(tuple(results))[1]
        return end_function(self.trace, self.trace.program.unique(name), NOTHING, self.avals, structure, lifted)


def zero_like(x: Any) -> Any:
    """The substitute for an unread value: zeros of the same type."""
    if isinstance(x, Tracer) and x.weak:
        return x.dtype.type(0).item()
    if isinstance(x, Tracer | np.ndarray | np.generic):
        return lnp.zeros(x.shape, x.dtype)
    return 0 if isinstance(x, Size) else type(x)(0)


def scalar(x: Any, what: str) -> Tracer:
    """A traced condition as a scalar of bools.

    Raises:
        TracingError: it has several elements, or none.
    """
    if x.size != 1:
        shown = f"{x.dtype}{list(x.shape)}"
        raise located(
            TracingError(f"{what} of {shown} has no truth value: use .any() or .all(), or lnp.where(condition, a, b)")
        )
    if x.shape:
        x = lnp.reshape(x, ())
    return x if x.dtype.kind == "b" else lnp.not_equal(x, 0)


def line_of(lines: Sequence[Any], block: int, name: str) -> str:
    """Where a block binds a variable, for messages."""
    line = lines[block].get(name) if block < len(lines) else None
    return f"line {line}" if line is not None else "the value before"


def shown(value: Value) -> str:
    """A value, for messages."""
    if value.missing is not None:
        return "nothing"
    if value.whole is None:
        return "None"
    if is_object(value.whole):
        return f"a {type(value.whole).__name__}"
    if value.structure is not None and value.structure.kind is not None:
        return f"{type(value.whole).__name__} {value.structure}"
    return shown_leaf(value.whole)


def shown_leaf(x: Any) -> str:
    if isinstance(x, Tracer):
        sizes = ",".join(map(str, x.shape))
        return (
            f"a Python {dict(f='float', b='bool', c='complex').get(x.dtype.kind, 'int')}" if x.weak else f"{x.dtype}[{sizes}]"
        )
    if isinstance(x, np.ndarray | np.generic):
        return f"{x.dtype}[{','.join(map(str, x.shape))}]"
    return f"{type(x).__name__} {x!r:.40}"


def slots_of(scope: Any, site: Any) -> list[Slot]:
    """The variables that a statement may bind. Objects of which it assigns only elements keep their identity."""
    names = [n for n in site.names if n not in site.changed or isinstance(scope.read(n), Tracer | np.ndarray)]
    slots = scope.slots(names)
    if not site.calls:
        return slots
    return [*slots, *(slot for slot in shared_slots() if slot.scope is not scope)]


def label(slot: Slot) -> str:
    if isinstance(slot, Place):
        return f"{type(slot.owner).__name__}{slot.name}"
    return "the result" if slot.name == "result@" else f"'{slot.name}'"

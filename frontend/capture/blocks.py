"""Blocks of statements that are traced into functions of their own, and the values that they leave in variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dialects.symbolic import Size
from ...errors import TracingError
from .. import lnp
from ..functions import Aval, TracedFunction, end_function, staging
from ..locations import located, user_location
from ..pytree import TreeDef, flatten
from ..tracer import Tracer
from ..tracing import Trace
from .session import Missing, Place, Slot, frame, state, undo

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


def value_of(x: Any) -> Value:
    """A value as leaves and structure."""
    if isinstance(x, Missing):
        return Value(missing=x)
    leaves, structure = flatten(x)
    return Value(leaves, structure, None, x)


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
    return bool(a == b)


def equal(a: Value, b: Value) -> bool:
    """Whether two values are the same for Python."""
    if a.missing is not None or b.missing is not None:
        return a.missing is not None and b.missing is not None and a.missing.reason == b.missing.reason
    return a.structure == b.structure and all(is_same(x, y) for x, y in zip(a.leaves, b.leaves, strict=True))


class Block:
    """Statements that were traced.

    Attributes:
        after: what the variables stand for at their end.
        places: attributes and items of objects that they assign, with what these are at their end.
        raised: the error with which they end.
        result: what running them returned.
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
                    self.after = [value_of(slot.read()) for slot in slots]
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

    def function(self, name: str, results: Sequence[Any]) -> TracedFunction:
        """The function that returns some of its values."""
        with self.trace:
            lifted = [self.trace.lift(x) for x in results]
        assert self.trace.program is not None
        structure = flatten(tuple(results))[1]
        return end_function(self.trace, self.trace.program.unique(name), NOTHING, self.avals, structure, lifted)


def zero_like(x: Any) -> Any:
    """What stands for a value that nobody reads: zeros of the same type."""
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
    return scope.slots(names)


def label(slot: Slot) -> str:
    if isinstance(slot, Place):
        return f"{type(slot.owner).__name__}{slot.name}"
    return "the result" if slot.name == "result@" else f"'{slot.name}'"

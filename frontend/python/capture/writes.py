"""Assignment to elements and attributes. NumPy's arrays change in place; a traced array is replaced by the changed one in all
variables that hold it."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ....errors import ShapeError, TracingError
from ...trace.array_functions import arrays as lnp
from ...trace.locations import located, user_place
from ...trace.program import is_staging
from ...trace.tracer import Tracer, changes_in_place
from .session import (
    Contents,
    Frame,
    Missing,
    Place,
    Scope,
    Slot,
    Variable,
    impure,
    record,
    restructured_text,
    state,
    traced_depth,
)

slice = builtins.slice


def bind(scope: Scope, name: str, value: Any) -> Any:
    """`name := value`."""
    scope.write(name, value)
    return value


def fresh(x: Any) -> Any:
    """A new list, dict or set, which has not escaped yet."""
    if state.frames:
        state.frames[-1].fresh[id(x)] = x
    return x


def _is_fresh(x: Any) -> bool:
    """Whether an object was made in the innermost traced branch or loop."""
    inner: list[Frame] = []
    for one in reversed(state.frames):
        inner.append(one)
        if one.traced:
            break
    return any(id(x) in one.fresh for one in inner)


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """`owner.name = value`."""
    record(Place(owner, "attribute", name))
    setattr(owner, name, value)


def set_item_of(owner: Any, name: str, index: Any, value: Any) -> None:
    """`owner.name[index] = value`."""
    old = getattr(owner, name)
    new = set_item(None, None, old, index, value, ())
    if new is not old:
        set_attribute(owner, name, new)


def set_item(scope: Scope | None, name: str | None, x: Any, index: Any, value: Any, live: tuple[str, ...] | None) -> Any:
    """`x[index] = value`; the value of `x` afterwards. `live`: variables that are read later; None if `x` is not a variable."""
    if _is_replaced(x, index, value):
        if live is None:
            raise located(
                TracingError("only elements of variables, attributes and items can be assigned, not of what a call returns")
            )
        _require_unshared(scope, name, x, value, live)
        if not isinstance(x, Tracer):
            x_now = lnp.asarray(x)
        else:
            x_now = x
        state.flow += 1
        new = x_now.at[index].set(_stored(value, x_now))
        _replace(scope, name, x, new, live)
        return new
    if isinstance(x, list | dict) and not isinstance(index, slice):
        record(Place(x, "item", index))
    elif isinstance(x, np.ndarray):
        if not _is_fresh(x):
            impure("assignment to elements of an array that Python holds")
    else:
        restructured(x, "assignment to a slice")
    x[index] = value
    return x


def _stored(value: Any, x: Any) -> Any:
    """A value as an element of an array; as NumPy, without asking whether it loses digits."""
    if isinstance(value, list | tuple):
        value = lnp.asarray(value)
    if isinstance(value, float) and x.dtype.kind in "iu":
        return int(value)
    if isinstance(value, Tracer | np.ndarray) and value.dtype != x.dtype and not value.dtype.kind == "c":
        return lnp.astype(value, x.dtype)
    return value


def _is_replaced(x: Any, *parts: Any) -> bool:
    """Whether an array cannot change in place, because values are traced or the statement may not run."""
    if isinstance(x, Tracer):
        return True
    return (
        isinstance(x, np.ndarray)
        and is_staging()
        and (any(map(_has_tracer, parts)) or (traced_depth() > 0 and not _is_fresh(x)))
    )


def _has_tracer(x: Any) -> bool:
    if isinstance(x, slice):
        return any(map(_has_tracer, (x.start, x.stop, x.step)))
    return isinstance(x, Tracer) or (isinstance(x, list | tuple) and any(map(_has_tracer, x)))


class Operator(NamedTuple):
    """The functions that `x + y` and `x += y` call."""

    symbol: str
    plain: Callable[[Any, Any], Any]
    in_place: Callable[[Any, Any], Any]


OPERATORS = {
    "Add": Operator("+", operator.add, operator.iadd),
    "Sub": Operator("-", operator.sub, operator.isub),
    "Mult": Operator("*", operator.mul, operator.imul),
    "MatMult": Operator("@", operator.matmul, operator.imatmul),
    "Div": Operator("/", operator.truediv, operator.itruediv),
    "FloorDiv": Operator("//", operator.floordiv, operator.ifloordiv),
    "Mod": Operator("%", operator.mod, operator.imod),
    "Pow": Operator("**", operator.pow, operator.ipow),
    "LShift": Operator("<<", operator.lshift, operator.ilshift),
    "RShift": Operator(">>", operator.rshift, operator.irshift),
    "BitOr": Operator("|", operator.or_, operator.ior),
    "BitXor": Operator("^", operator.xor, operator.ixor),
    "BitAnd": Operator("&", operator.and_, operator.iand),
}
"""Python's operators of two operands by the names of their nodes."""


def augment(
    scope: Scope | None, name: str | None, x: Any, operation: str, value: Any, live: tuple[str, ...], owner: Any = None
) -> Any:
    """`x += value` and the like; the value of `x` afterwards. Arrays keep their dtype and shape, as NumPy's do in place.

    `x` is a variable, or an attribute or item, of `owner`, where it is assigned after this.
    """
    _, plain, in_place = OPERATORS[operation]
    if not _is_replaced(x, value):
        if isinstance(x, list | set | dict | bytearray):
            restructured(x, "augmented assignment")
        elif isinstance(x, np.ndarray) and x.ndim and not _is_fresh(x):
            impure("augmented assignment to an array that Python holds")
        return in_place(x, value)
    if not x.ndim or isinstance(owner, np.ndarray | Tracer) or not changes_in_place():
        return plain(x, value)
    _require_unshared(scope, name, x, value, live)
    new = plain(x if isinstance(x, Tracer) else lnp.asarray(x), value)
    if new.shape != x.shape:
        raise located(
            ShapeError(f"{_called(name)} of shape {list(x.shape)} cannot take a result of {list(new.shape)} in place")
        )
    if new.dtype != x.dtype:
        if not np.can_cast(new.dtype, x.dtype, "same_kind"):
            text = f"{_called(name)} is an array of {x.dtype}, which cannot take a result of {new.dtype} in place"
            raise located(TracingError(f"{text}: write {name or 'x'} = {name or 'x'} ... , or convert with .astype"))
        new = lnp.astype(new, x.dtype)
    _replace(scope, name, x, new, live)
    return new


def _called(name: str | None) -> str:
    return "the array" if name is None else repr(name)


# Names for the same memory


def holders(x: Any, scope: Scope | None, name: str | None, live: Any) -> Iterator[Slot]:
    """The other references to an array beside a variable: variables of this call that are `live`, those of calls around it,
    items and attributes of what these hold."""
    for one in state.scopes:
        for other in one.variables:
            if one is scope and (other == name or other not in live):
                continue
            value = one.read(other)
            if value is x:
                yield Variable(one, other)
            elif isinstance(value, list):
                yield from (Place(value, "item", k) for k, item in enumerate(value) if item is x)
            elif isinstance(value, dict):
                yield from (Place(value, "item", k) for k, item in value.items() if item is x)
            elif not isinstance(value, Tracer | Missing | type) and hasattr(value, "__dict__") and not callable(value):
                yield from (Place(value, "attribute", k) for k, item in vars(value).items() if item is x)


def _replace(scope: Scope | None, name: str | None, x: Any, new: Tracer, live: tuple[str, ...]) -> None:
    """Replace an array by the changed one in all other references to it."""
    state.changed[id(x)] = x
    for slot in list(holders(x, scope, name, live)):
        if isinstance(slot, Variable):
            record(slot)
        slot.write(new)


def item(base: Any, index: Any) -> Any:
    """`base[index]`; of a list of arrays also where the index is traced, if they are alike."""
    if _has_tracer(index) and isinstance(base, np.ndarray):
        base = lnp.asarray(base)
    elif isinstance(index, Tracer) and isinstance(base, list | tuple):
        base = _stacked(base)
    if isinstance(index, Tracer) and isinstance(base, dict):
        text = "a key of a dict is traced: its items must be known; choose with `if`, or make the key static (static_argnums)"
        raise located(TracingError(text))
    return base[index]


def _stacked(items: Any) -> Any:
    if not items or not all(isinstance(x, Tracer | np.ndarray | np.generic | bool | int | float) for x in items):
        text = f"an index of a {type(items).__name__} is traced: its items must be arrays or numbers of one shape"
        raise located(TracingError(f"{text}, or the index static (static_argnums)"))
    return lnp.stack([lnp.asarray(x) for x in items])


def _root(x: Any) -> Any:
    while isinstance(x, Tracer) and x.base is not None:
        x = x.base[0]
    return x


def _require_unshared(scope: Scope | None, name: str | None, x: Any, value: Any, live: tuple[str, ...]) -> None:
    """Refuse to change an array that another variable views, or a view of an array that has changed."""
    root = _root(x)
    if isinstance(value, Tracer) and (of := _root(value)) is not value and state.changed.get(id(of)) is of:
        raise located(TracingError("the value assigned is a view of an array that has changed since: take .copy() of it"))
    if scope is None:
        return
    for other in live:
        held = scope.read(other)
        if other != name and isinstance(held, Tracer) and held is not x and _root(held) is root:
            text = f"{_called(name)} shares memory with {other!r}, which is read later and would change with it in NumPy"
            raise located(TracingError(f"{text}: take .copy() of one of them"))


_MUTATORS = {
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "add", "discard", "update", "setdefault",
    "popitem", "appendleft", "popleft", "extendleft", "rotate",
}  # fmt: skip


def is_mutator(function: Any) -> bool:
    """Whether a bound method changes the list, dict or set that it is of."""
    return getattr(function, "__name__", None) in _MUTATORS and not isinstance(getattr(function, "__self__", None), type)


def restructured(x: Any, what: str) -> None:
    """Say that a list, dict or set is about to grow, shrink or be ordered anew."""
    for one in reversed(state.frames):
        if id(x) in one.fresh:
            return
        if one.traced and type(x) is not list:
            raise located(TracingError(restructured_text(what, x)))
        if one.traced:
            record(Contents(x, what, user_place()))
        one.impure = one.impure or what
        if one.traced:
            return

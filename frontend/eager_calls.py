"""Calls of eager functions that came before: Python code, written for the types of their arguments and for their program.

A function keeps one `Form` for each list of argument types. A form makes a key of what a program may depend on: dtypes and
shapes of arrays, and all of what is no array. Under the key stands the function that runs the program: the calls of NumPy one
after the other, or one call of compiled code. Both are text of Python that is compiled once for all that look alike.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..dialects.graph.quiet import Quiet, contexts, new_context, run_quietly
from ..runtime.array import Array as ResultArray
from ..runtime.array import as_array

Array = np.ndarray[Any, Any]
Step = tuple[Callable[..., Any], Sequence[int], Sequence[int]]
"""What evaluates an op, and the numbers of its operands and results."""

UNKNOWN: Any = object()
"""What a form gives for a call that did not come before."""

MOST_ITEMS = 64
"""Items of a list in a key."""

_CALLS = 512
"""Calls that a form keeps."""

NUMBERS = (int, float, complex)
PLAIN = (bool, str, type(None), type(Ellipsis), type)

_ARRAY, _ITSELF, _FLOAT, _NESTED = "{0}.dtype, {0}.shape", "{0}", "{0} or {0}.hex()", "nested({0})"

_KEYS: dict[type, str] = {
    **dict.fromkeys((np.ndarray, ResultArray), _ARRAY),
    **dict.fromkeys((int, *PLAIN), _ITSELF),
    float: _FLOAT,  # 0.0 is not -0.0
    complex: "({0}.real.hex(), {0}.imag.hex())",
    **dict.fromkeys((tuple, list), _NESTED),
    slice: "nested(({0}.start, {0}.stop, {0}.step))",
}
"""What an argument of a type has in the key, as text; the types themselves tell forms apart."""

_SIMPLE = frozenset((int, *PLAIN))


def _key_text(kind: type) -> str | None:
    if (text := _KEYS.get(kind)) is not None:
        return text
    if issubclass(kind, np.generic):
        return "{0}.tobytes()"
    return _ITSELF if issubclass(kind, np.dtype) else None


def _nested(items: Sequence[Any]) -> Hashable:
    """The key of a list; one that equals no other if something in it has no key."""
    kinds = tuple(map(type, items))
    if len(kinds) > MOST_ITEMS:
        return object()
    if _SIMPLE.issuperset(kinds):
        return kinds, *items
    return kinds, *[_key_of(kind)(item) for kind, item in zip(kinds, items, strict=True)]


@functools.cache
def _code(text: str) -> Any:
    return compile(text, "<a call of lamina.numpy>", "exec")


def _written(text: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The function `call` of a text."""
    exec(_code(text), names)
    return names["call"]


@functools.lru_cache(256)
def _key_of(kind: type) -> Callable[[Any], Hashable]:
    text = _key_text(kind)
    if text is None:
        return lambda x: object()
    return _written(f"def call(x): return ({text.format('x')}, )", {"nested": _nested})


class Form:
    """The calls of a function whose arguments have given types.

    Attributes:
        call: gives the result of a call that came before, else `UNKNOWN`.
    """

    __slots__ = ("_key", "_table", "call")

    def __init__(self, parameters: str, key: str):
        self._table: dict[Hashable, Callable[..., Any]] = {}
        names = {"nested": _nested, "get": self._table.get, "UNKNOWN": UNKNOWN}
        self._key = _written(f"def call({parameters}): return ({key}, )", names)
        text = f"def call({parameters}):\n    run = get(({key}, ))\n    return UNKNOWN if run is None else run({parameters})"
        self.call = _written(text, names)

    @staticmethod
    def of(kinds: Iterable[type]) -> Form | None:
        """The form of arguments of these types; None if one of them has no key."""
        keys = [_key_text(kind) for kind in kinds]
        if not keys or any(key is None for key in keys):
            return None
        parameters = [f"x{k}" for k in range(len(keys))]
        texts = [str(key).format(name) for key, name in zip(keys, parameters, strict=True)]
        return Form(", ".join(parameters), ", ".join(texts))

    def keep(self, values: Sequence[Any], run: Callable[..., Any]) -> None:
        """Let calls like this one be run so."""
        if len(self._table) >= _CALLS:
            self._table.clear()
        self._table[self._key(*values)] = run


# --------------------------------------------------------------------------------------------------------------------
# Programs


def places(values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The arrays and numbers among the arguments of a call, in the order of `eager._key`, and where they stand."""
    for k, value in enumerate(values):
        yield from _places(f"x{k}", value)


def _places(text: str, x: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(x, tuple | list):
        for k, item in enumerate(x):
            yield from _places(f"{text}[{k}]", item)
    elif isinstance(x, slice):
        for name in ("start", "stop", "step"):
            yield from _places(f"{text}.{name}", getattr(x, name))
    elif isinstance(x, np.ndarray | np.generic) or type(x) in NUMBERS:
        yield text, x


class Writer:
    """The run of a program as a function of the arguments of a call, written line by line."""

    def __init__(self, arguments: int):
        self._parameters = ", ".join(f"x{k}" for k in range(arguments))
        self._lines: list[str] = []
        self._names: dict[str, Any] = {"asarray": np.asarray, "ndarray": np.ndarray, "Array": ResultArray}
        self.operands: list[str] = []

    def name(self, kind: str, value: Any) -> str:
        """A name for a value."""
        name = f"{kind}{sum(known.startswith(kind) for known in self._names)}"
        self._names[name] = value
        return name

    def operand(self, place: str, x: Any, dtype: np.dtype[Any], prepare: Callable[[Any], Array] | None) -> None:
        """An input of the program, as an ndarray: NumPy takes twice as long on a subclass."""
        if prepare is not None:
            text = f"{self.name('prepare', prepare)}({place})"
        elif not isinstance(x, np.ndarray):  # the key holds the number
            text = self.name("number", np.asarray(x, dtype))
        elif x.dtype != dtype:
            text = f"asarray({place}, {self.name('dtype', dtype)}).view(ndarray)"
        else:
            text = place if type(x) is np.ndarray else f"{place}.view(ndarray)"
        self.operands.append(text)

    def line(self, text: str) -> None:
        """One more line."""
        self._lines.append(f"    {text}\n")

    def quiet_call(self, function: Callable[..., Any]) -> None:
        """Lines that call a function of the operands as `run_quietly` does, and make its result `y`."""
        self._names |= {"pop": contexts.pop, "push": contexts.append, "new_context": new_context}
        for line in ("try:", "    context = pop()", "except IndexError:", "    context = new_context()"):
            self.line(line)
        self.line(f"y = context.run({', '.join((self.name('function', function), *self.operands))})")
        self.line("push(context)")

    def fresh(self, array: str) -> str:
        """The text of an array as a result that owns its elements, in the order of C, and is no argument."""
        others = "".join(f" and {array} is not {x}" for x in self.operands if x.isidentifier() and x in self._parameters)
        owned = f"{array}.flags.owndata and {array}.flags.c_contiguous{others}"
        return f"({array} if {owned} else {array}.copy()).view(Array)"

    def written(self) -> Callable[..., Any]:
        """The function."""
        return _written(f"def call({self._parameters}):\n{''.join(self._lines)}", self._names)


def fresh_all(arrays: Sequence[Array], inputs: Sequence[Array]) -> list[Array]:
    """Arrays as results: none shares memory with an input or with another one."""
    taken = {id(x) for x in inputs}
    found: list[Array] = []
    for array in arrays:
        owned = array.flags.owndata and array.flags.c_contiguous and id(array) not in taken
        found.append(as_array(array if owned else array.copy()))
        taken.add(id(array))
    return found


def evaluated(steps: Sequence[Step], inputs: Sequence[Array], values: list[Any]) -> list[bool]:
    """Evaluate ops; whether each gives what it should without a conversion."""
    values[: len(inputs)] = inputs
    return run_quietly(_evaluate, steps, values)


def _evaluate(steps: Sequence[Step], values: list[Any]) -> list[bool]:
    exact = []
    for evaluate, operands, results in steps:
        arguments = [values[k] for k in operands]
        if isinstance(evaluate, Quiet):
            found = evaluate.function(*arguments)
            exact.append(type(found) is np.ndarray and found.dtype == evaluate.dtype)
            values[results[0]] = found if exact[-1] else np.asarray(found, evaluate.dtype)
        else:
            exact.append(False)
            for k, result in zip(results, evaluate(*arguments), strict=True):
                values[k] = result
    return exact


def body(steps: Sequence[Step], exact: Sequence[bool], outputs: Sequence[int], inputs: int) -> Callable[..., Any]:
    """The ops one after the other as a function of the inputs that gives the outputs: the array, or a tuple of several."""
    if len(steps) == 1 and exact[0] and list(steps[0][1]) == list(range(inputs)) and list(outputs) == list(steps[0][2]):
        assert isinstance(steps[0][0], Quiet)
        return steps[0][0].function
    parameters = ", ".join(f"v{k}" for k in range(inputs))
    names: dict[str, Any] = {"asarray": np.asarray}
    lines = []
    for j, ((evaluate, operands, results), is_exact) in enumerate(zip(steps, exact, strict=True)):
        arguments = ", ".join(f"v{k}" for k in operands)
        if isinstance(evaluate, Quiet):
            names[f"f{j}"], call = evaluate.function, f"f{j}({arguments})"
            if not is_exact:
                names[f"d{j}"], call = evaluate.dtype, f"asarray({call}, d{j})"
            lines.append(f"    v{results[0]} = {call}\n")
        else:
            names[f"f{j}"] = evaluate
            lines.append(f"    {''.join(f'v{k}, ' for k in results)}= f{j}({arguments})\n")
    found = ", ".join(f"v{k}" for k in outputs) + ("," if len(outputs) != 1 else "")
    return _written(f"def call({parameters}):\n{''.join(lines)}    return ({found})", names)

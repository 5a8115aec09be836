"""Repeated calls of eager functions, as Python code that is generated for the arguments and the program.

The code calls NumPy for one op after the other, or compiled code once. Its text is compiled once for all similar calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...dialects.graph.quiet import Quiet, contexts, new_context, run_quietly
from ...errors import LaminaError
from ...runtime.array import Array as ResultArray
from ...runtime.array import as_array
from ...runtime.scalar_types import ScalarType
from ..trace.generated import function
from ..trace.locations import located

Array = np.ndarray[Any, Any]
Step = tuple[Callable[..., Any], Sequence[int], Sequence[int]]
"""The function of an op, and the numbers of its operands and results."""

MOST_ITEMS = 64
"""Items of a list in a key."""

NUMBERS = (int, float, complex)
PLAIN = (bool, str, type(None), type(Ellipsis), type, ScalarType)


def identities(values: Iterable[Any]) -> Iterator[Any]:
    """Objects that stand in a key by their addresses: all but the arrays and lists themselves."""
    for x in values:
        if isinstance(x, np.ndarray):
            yield x.dtype
        elif isinstance(x, tuple | list):
            yield from identities(x)
        else:
            yield x


def places(values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Where the arrays and numbers of a call stand among its arguments, and they, in the order of `eager._key`."""
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
        self._parameters = [f"x{k}" for k in range(arguments)]
        self._lines: list[str] = []
        self._names: dict[str, Any] = {"asarray": np.asarray, "ndarray": np.ndarray, "Array": ResultArray}
        self.operands: list[str] = []

    def name(self, kind: str, value: Any) -> str:
        """A name for a value."""
        name = f"{kind}{sum(known.startswith(kind) for known in self._names)}"
        self._names[name] = value
        return name

    def operand(self, place: str, x: Any, dtype: np.dtype[Any], prepare: Any = None) -> None:
        """An input of the program, as an ndarray: NumPy takes twice as long on a subclass."""
        if prepare is not None:
            text = f"{self.name('prepare', _located(prepare))}({place})"
        elif not isinstance(x, np.ndarray):  # the key holds the number
            text = self.name("number", np.asarray(x, dtype))
        elif x.dtype != dtype:
            text = f"asarray({place}, {self.name('dtype', dtype)}).view(ndarray)"
        else:
            text = place if type(x) is np.ndarray else f"{place}.view(ndarray)"
        self.operands.append(text)

    def shared(self, array: Array) -> None:
        """An input that is the same in all calls."""
        self.operands.append(self.name("array", array))

    def line(self, text: str) -> None:
        """One more line."""
        self._lines.append(text)

    def after(self, calls: int, do: Callable[[Sequence[Any]], None]) -> None:
        """Lines that call a function with the arguments when there have been so many calls, and in those that follow."""
        left, function = self.name("left", iter(range(calls))), self.name("do", do)
        self.line(f"if next({left}, None) is None:")
        self.line(f"    {function}([{', '.join(self._parameters)}])")

    def quiet_call(self, function: Callable[..., Any]) -> None:
        """Lines that call a function of the operands as `run_quietly` does, and make its result `y`."""
        self._names |= {"pop": contexts.pop, "push": contexts.append, "new_context": new_context}
        for line in ("try:", "    context = pop()", "except IndexError:", "    context = new_context()"):
            self.line(line)
        self.line(f"y = context.run({', '.join((self.name('function', function), *self.operands))})")
        self.line("push(context)")

    def fresh(self, array: str) -> str:
        """The text of an array as a result that owns its elements, in the order of C, and is no argument."""
        others = "".join(f" and {array} is not {x}" for x in self.operands if x in self._parameters)
        owned = f"(flags := {array}.flags).owndata and flags.c_contiguous{others}"
        return f"({array} if {owned} else {array}.copy()).view(Array)"

    def written(self) -> Callable[..., Any]:
        """The function."""
        return function("call", self._parameters, self._lines, self._names)


def _located(prepare: Callable[[Any], Array]) -> Callable[[Any], Array]:
    def located_too(x: Any) -> Array:
        try:
            return prepare(x)
        except LaminaError as error:
            raise located(error) from None

    return located_too


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
    """Evaluate ops; whether each returns the right dtype without a conversion."""
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


def body(
    steps: Sequence[Step], exact: Sequence[bool], outputs: Sequence[int], inputs: int, constants: Mapping[int, Array]
) -> Callable[..., Any]:
    """The ops one after the other as a function from the inputs to the outputs: the array, or a tuple of several."""
    if len(steps) == 1 and exact[0] and list(steps[0][1]) == list(range(inputs)) and list(outputs) == list(steps[0][2]):
        assert isinstance(steps[0][0], Quiet)
        return steps[0][0].function
    parameters = [f"v{k}" for k in range(inputs)]
    names: dict[str, Any] = {"asarray": np.asarray} | {f"v{k}": array for k, array in constants.items()}
    lines = []
    for j, ((evaluate, operands, results), is_exact) in enumerate(zip(steps, exact, strict=True)):
        arguments = ", ".join(f"v{k}" for k in operands)
        if isinstance(evaluate, Quiet):
            names[f"f{j}"], call = evaluate.function, f"f{j}({arguments})"
            if not is_exact:
                names[f"d{j}"], call = evaluate.dtype, f"asarray({call}, d{j})"
            lines.append(f"v{results[0]} = {call}")
        else:
            names[f"f{j}"] = evaluate
            lines.append(f"{''.join(f'v{k}, ' for k in results)}= f{j}({arguments})")
    found = ", ".join(f"v{k}" for k in outputs) + ("," if len(outputs) != 1 else "")
    return function("call", parameters, [*lines, f"return ({found})"], names)

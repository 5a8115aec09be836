"""The assumptions of a trace, and the Python function that tests whether they still hold.

A trace reads Python's objects by access paths: a variable of the region, a global, a cell of a closure, and attributes and
items of these. Each path that is read becomes a line of the function, in order, so that values shared by several guards are
read once; each fact about it becomes a test. All of it is one function without loops: a guard costs about 40 ns.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ...trace.generated import function, indented

MISS: Any = object()
"""The result of a variant where a guard does not hold."""

GUARD_ERRORS = (KeyError, AttributeError, IndexError, TypeError, NameError, ValueError, ArithmeticError)
"""The exceptions of reading a path that no longer resolves."""


class Path:
    """Where a value comes from.

    Attributes:
        code: an expression of the function that checks.
        text: the path in the user's words.
    """

    __slots__ = ("code", "text")

    def __init__(self, code: str, text: str):
        self.code, self.text = code, text

    def __repr__(self) -> str:
        return self.text


class Guards:
    """The guards of one trace, as lines of a function.

    Attributes:
        facts: the guards as the user reads them, each with the code of the value that it is about.
        integers: the integers that are constants, by their paths.
        listed: those that a report shows.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"MISS": MISS, "ERRORS": GUARD_ERRORS}
        self.facts: list[tuple[str, str]] = []
        self.integers: dict[str, int] = {}
        self._integers: dict[str, str] = {}
        self.listed: list[str] = []
        self._known: set[str] = set()
        self._paths: dict[str, Path] = {}
        self._constants: dict[int, str] = {}

    def constant(self, value: Any) -> str:
        """The name of a value in the function."""
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = f"k{len(self._constants)}"
            self.names[name] = value
        return name

    def path(self, code: str, text: str) -> Path:
        """A path that is read once into a variable of the function."""
        found = self._paths.get(code)
        if found is None:
            name = f"t{len(self._paths)}"
            self.lines.append(f"{name} = {code}")
            found = self._paths[code] = Path(name, text)
        return found

    def require(self, test: str, text: str, shown: str = "", listed: bool = True) -> None:
        """Add a test. `text` says it in the user's words; `shown` is the code of the value that it is about. What hardly ever
        fails is not `listed`."""
        if test not in self._known:
            self._known.add(test)
            self.lines.append(f"if not ({test}): return MISS")
            self.facts.append((text, shown))
            if listed:
                self.listed.append(text)

    def same(self, path: Path, value: Any, text: str = "") -> None:
        """The path leads to this very object."""
        self.require(f"{path.code} is {self.constant(value)}", text or f"{path.text} is {short(value)}", path.code)

    def equal(self, path: Path, value: Any) -> None:
        """The path leads to a value of this type that is equal, bit for bit."""
        if value is None or value is True or value is False or value is Ellipsis or value is NotImplemented:
            return self.same(path, value, f"{path.text} is {value}")
        if type(value) is int:
            self.integers[path.text], self._integers[path.text] = value, path.code
        k, t, code = self.constant(value), self.constant(type(value)), path.code
        same = f"{code} == {k}" if type(value) not in (float, complex) else f"repr({code}) == {repr(value)!r}"
        self.require(f"{code} is {k} or (type({code}) is {t} and {same})", f"{path.text} == {short(value)}", code)
        return None

    def of_type(self, path: Path, cls: type) -> None:
        self.require(
            f"type({path.code}) is {self.constant(cls)}", f"type({path.text}) is {cls.__name__}", f"type({path.code}).__name__"
        )

    def function(self, parameters: list[str], finish: list[str]) -> Callable[..., Any]:
        """The function of the parameters that checks, and then runs the lines of `finish`."""
        body = ["try:", *indented(self.lines), "except ERRORS:", "    return MISS", *finish]
        return function("variant", parameters, body, dict(self.names))

    def counter(self, parameters: list[str]) -> Callable[..., dict[str, Any]]:
        """A function of the parameters: the current values of integers specialized as constants, by text; {} if a path no
        longer resolves."""
        lines = [line for line in self.lines if not line.startswith("if not (")]
        made = ", ".join(f"{text!r}: {code}" for text, code in self._integers.items())
        body = ["try:", *indented([*lines, f"return {{{made}}}"]), "except ERRORS:", "    return {}"]
        return function("count", parameters, body, dict(self.names))

    def measurer(self, parameters: list[str], codes: dict[str, str]) -> Callable[..., dict[str, tuple[int, ...]]]:
        """A function of the parameters that returns the shapes of the values of expressions, where all guards hold."""
        lines = [line for line in self.lines if not line.startswith("if not (")]
        made = ", ".join(f"{text!r}: shape({code})" for text, code in codes.items())
        return function("measure", parameters, [*lines, f"return {{{made}}}"], {**self.names, "shape": np.shape})

    def prober(self, parameters: list[str]) -> Callable[..., tuple[int, str] | None]:
        """A function of the parameters that returns the number and text of the first guard that fails, with its value;
        None if all hold."""
        lines, k = [], 0
        for line in self.lines:
            if line.startswith("if not ("):
                _, shown = self.facts[k]
                value = f"'; it is ' + short({shown})" if shown else "''"
                lines.append(f"{line.removesuffix(': return MISS')}: return {k}, facts[{k}][0] + {value}")
                k += 1
            else:
                lines.append(line)
        body = ["try:", *indented(lines), "except ERRORS as error:"]
        body += ["    return -1, 'what is read is no longer there: ' + repr(error)", "return None"]
        return function("probe", parameters, body, {**self.names, "facts": self.facts, "short": short})


def short(value: Any) -> str:
    """A value as a guard shows it."""
    if callable(value) or isinstance(value, type):
        return getattr(value, "__qualname__", type(value).__name__)
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    text = repr(value) if isinstance(value, int | float | str | bytes | complex | bool | type(None) | tuple) else None
    if text is None:
        return f"the {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."

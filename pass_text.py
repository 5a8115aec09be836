"""The text of a pass pipeline, as mlir-opt takes it: `builtin.module(func.func(cse,graph-unroll{limit=8}),loop-auto)`.

A list of passes without an anchor around it stands for the anchor `builtin.module`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .errors import LaminaError

Value = str | int | float | bool
Options = dict[str, tuple[Value, ...]]

_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*")
_OPENING = {"{": "}", "[": "]", "(": ")"}


class PipelineTextError(LaminaError):
    """The text of a pipeline is malformed; has the column."""

    def __init__(self, message: str, text: str, at: int) -> None:
        near = text[max(0, at - 30) : at + 30].replace("\n", " ")
        super().__init__(f"pass pipeline, column {at + 1}, near '{near}': {message}")


@dataclass(frozen=True)
class Element:
    """A pass with options, or an anchor with the pipeline that is run on each op of that name.

    Attributes:
        name: of the pass, or of the ops (`func.func`; `any` for ops of any name).
        options: of the pass, values as written, lists as tuples.
        inner: the pipeline of an anchor; None for a pass.
        at: where in the text the name begins.
    """

    name: str
    options: Options = field(default_factory=dict)
    inner: tuple[Element, ...] | None = None
    at: int = 0


def parse(text: str) -> list[Element]:
    """The elements of a pipeline.

    >>> parse("builtin.module(cse,func.func(graph-unroll{limit=8}))")[0].inner[1].inner[0].options
    {'limit': (8,)}

    Raises:
        PipelineTextError: the text is malformed.
    """
    reader = _Reader(text)
    elements = reader.list_until("")
    if reader.at < len(text):
        reader.fail(f"there is no '(' that this {text[reader.at]!r} closes")
    return elements


def parse_options(text: str) -> Options:
    """Options by name, from `a=1 b=x,y c`: the text in braces after a pass, or after `-pass=`.

    Raises:
        PipelineTextError: the text is malformed.
    """
    return dict(_Reader(text).options(0, len(text)))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def fail(self, message: str, at: int | None = None) -> None:
        raise PipelineTextError(message, self.text, self.at if at is None else at)

    def skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def next(self) -> str:
        self.skip_space()
        return self.text[self.at : self.at + 1]

    def list_until(self, end: str) -> list[Element]:
        """Elements up to a closing parenthesis, which is not taken, or the end of the text."""
        found: list[Element] = []
        if self.next() in (end, ""):
            return found
        while True:
            found.append(self.element())
            if self.next() != ",":
                return found
            self.at += 1

    def element(self) -> Element:
        self.skip_space()
        start = self.at
        named = _NAME.match(self.text, start)
        if named is None:
            self.fail("expected the name of a pass or of an op")
        assert named is not None
        name, self.at = named[0], named.end()
        following = self.next()
        if following == "(":
            self.at += 1
            inner = tuple(self.list_until(")"))
            if self.next() != ")":
                self.fail(f"the '(' behind '{name}' is not closed: expected ',' or ')'")
            self.at += 1
            return Element(name, inner=inner, at=start)
        options: Options = {}
        if following == "{":
            end = self.closing(self.at)
            options = dict(self.options(self.at + 1, end))
            self.at = end + 1
        elif following == "[" and name == "mlir-opt":  # xDSL's syntax for passes that the process mlir-opt runs
            end = self.closing(self.at)
            passes = self.text[self.at + 1 : end]
            flags: tuple[Value, ...] = (
                "--mlir-print-op-generic",
                "--allow-unregistered-dialect",
                "-p",
                f"builtin.module({passes})",
            )
            options["arguments"], self.at = flags, end + 1
        if self.next() not in ("", ",", ")"):
            self.fail(f"expected ',', options in braces or the end behind '{name}'")
        return Element(name, options, at=start)

    def closing(self, start: int) -> int:
        """The position of the bracket that closes the one at `start`; quoted text counts as a whole."""
        open_, k = [self.text[start]], start + 1
        while k < len(self.text):
            char = self.text[k]
            if char in "\"'":
                k = self.quoted(k)
                continue
            if char in _OPENING:
                open_.append(char)
            elif char in _OPENING.values():
                if char != _OPENING[open_.pop()]:
                    self.fail(f"'{self.text[start]}' is not closed before this '{char}'", k)
                if not open_:
                    return k
            k += 1
        self.fail(f"'{self.text[start]}' is not closed", start)
        raise AssertionError

    def quoted(self, start: int) -> int:
        """The position after a quoted text."""
        end = re.compile(rf"{self.text[start]}(?:\\.|(?!\\|{self.text[start]}).)*{self.text[start]}", re.DOTALL).match(
            self.text, start
        )
        if end is None:
            self.fail("the quoted text does not end", start)
        assert end is not None
        return end.end()

    def options(self, start: int, end: int) -> Iterator[tuple[str, tuple[Value, ...]]]:
        """`a=1 b=x,y c` between two positions."""
        k = start
        while True:
            while k < end and self.text[k].isspace():
                k += 1
            if k == end:
                return
            named = re.compile(r"[\w.-]+").match(self.text, k, end)
            if named is None:
                self.fail("expected the name of an option", k)
            assert named is not None
            k = named.end()
            values: tuple[Value, ...] = ()
            if k < end and self.text[k] == "=":
                stop = self.value_end(k + 1, end)
                values = tuple(self.values(k + 1, stop))
                k = stop
            elif k < end and not self.text[k].isspace():
                self.fail(f"expected '=', a space or the end behind option '{named[0]}'", k)
            yield named[0], values

    def value_end(self, start: int, end: int) -> int:
        k = start
        while k < end and not self.text[k].isspace():
            char = self.text[k]
            k = self.quoted(k) if char in "\"'" else self.closing(k) + 1 if char in _OPENING else k + 1
        if k == start:
            self.fail("expected a value behind '='", start - 1)
        return k

    def values(self, start: int, end: int) -> Iterator[Value]:
        """The values of a list, divided by commas; one in braces is a text with spaces, as in MLIR."""
        k = first = start
        while True:
            while k < end and self.text[k] != ",":
                char = self.text[k]
                k = self.quoted(k) if char in "\"'" else self.closing(k) + 1 if char in _OPENING else k + 1
            yield _value(self.text[first:k])
            if k >= end:
                return
            k += 1
            first = k


def _value(text: str) -> Value:
    """The Python value of an option: quotes and braces are removed, true, false and numbers converted."""
    if text[:1] in ('"', "'"):
        return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), text[1:-1])
    if text[:1] == "{" and text[-1:] == "}":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?\d+\.\d*([eE][-+]?\d+)?", text) else text


def option_text(name: str, values: Sequence[Value]) -> str:
    """An option as it is written in a pipeline."""
    return f"{name}={','.join(map(_value_text, values))}" if values else name


def _value_text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if not isinstance(value, str) or (re.fullmatch(r"[A-Za-z_][\w.-]*", text) and text not in ("true", "false")):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

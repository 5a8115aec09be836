"""Text with traced values: `print`, `assert` and `raise` become effects of the program."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from ....errors import TracingError
from ...functions import debug
from ...functions.effects import check
from ...trace.locations import located
from ...trace.tracer import Tracer
from .blocks import RaisedError, scalar
from .session import Scope, impure, state, traced_depth


class Text(str):
    """An f-string that names traced values: `form` and `values` as of `str.format`. As a string it is its form."""

    form: str
    values: list[Any]


def text(*parts: Any) -> str:
    """An f-string from its parts: strings, and triples of value, conversion and format."""
    if not any(isinstance(part, tuple) and isinstance(part[0], Tracer) for part in parts):
        return "".join(part if isinstance(part, str) else _formatted(*part) for part in parts)
    form, values = "", list[Any]()
    for part in parts:
        if isinstance(part, tuple) and isinstance(part[0], Tracer):
            form += "{:" + part[2] + "}" if part[2] else "{}"
            values.append(part[0])
        else:
            form += _escaped(part if isinstance(part, str) else _formatted(*part))
    made = Text(form)
    made.form, made.values = form, values
    return made


def _formatted(value: Any, conversion: int, spec: str) -> str:
    converted = {-1: lambda x: x, 115: str, 114: repr, 97: ascii}[conversion](value)
    return format(converted, spec)


def _escaped(x: str) -> str:
    return x.replace("{", "{{").replace("}", "}}")


def _joined(parts: Sequence[Any], separator: str) -> tuple[str, list[Any]]:
    """A format, and the traced values that it names."""
    forms, values = list[str](), list[Any]()
    for part in parts:
        if isinstance(part, Text):
            forms.append(part.form)
            values += part.values
        elif isinstance(part, Tracer):
            forms.append("{}")
            values.append(part)
        else:
            forms.append(_escaped(str(part)))
    return _escaped(separator).join(forms), values


def print_(*args: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False) -> None:
    """`print`: at once, or when the program runs, if it shows traced values or stands in traced control flow."""
    if not traced_depth() and not any(isinstance(a, Tracer | Text) for a in args):
        impure("print")
        builtins.print(*args, sep=sep, end=end, file=file, flush=flush)
        return
    if end not in ("\n", None) or file is not None:
        raise located(
            TracingError("print() of traced values has no end= and no file=: use lm.debug.print or lm.debug.callback")
        )
    form, values = _joined(args, " " if sep is None else sep)
    debug.print(form, *values)


def check_unless(holds: Any, error: BaseException) -> None:
    """A check that raises in place of an error."""
    message = error.args[0] if error.args else type(error).__name__
    form, values = _joined([message if isinstance(message, Text | str) else str(error)], "")
    check(holds, form, *values)


def assert_(test: Any, message: Callable[[], Any] | None) -> None:
    """`assert test, message`: Python's, or a check of the program."""
    if isinstance(test, Tracer):
        said = AssertionError("assertion failed" if message is None else message())
        check_unless(scalar(test, "the condition of assert"), said)
    elif not test:
        raised_now = AssertionError(*(() if message is None else (message(),)))
        raise RaisedError(raised_now) if traced_depth() else raised_now


def raised(scope: Scope, error: Any, in_try: bool) -> BaseException:
    """The exception of a user's `raise`: in a traced branch, the one that ends the branch."""
    if isinstance(error, type):
        error = error()
    if not traced_depth():
        return error
    if in_try:
        state.tried = error
        return error
    return RaisedError(error)

"""The errors of the importer, with the line of the text."""

from __future__ import annotations

import re
from typing import Any

from ...api.errors import CompileError, LaminaError, is_interruption
from ...api.programs import position_of_op


class UnsupportedError(CompileError):
    """A program has an op, or a form of one, that cannot be imported; the message says which and why."""


def at(op: Any, error: Exception) -> LaminaError:
    """An error about an op of the text: with its file, line and column first.

    What another error was that no user should see, as one of a row on attributes that are missing, becomes a `CompileError`.
    """
    if getattr(error, "hlo_op", None) is not None:
        return error  # pyright: ignore[reportReturnType]
    place = position(op)
    text = plain(error) if isinstance(error, LaminaError) else f"is malformed: {type(error).__name__}: {error}"
    if error.__class__ is not UnsupportedError and text.startswith("'"):
        text = f"cannot be imported: {text}"
    made = (UnsupportedError if isinstance(error, UnsupportedError) else CompileError)(f"{place}'{op.name}' op {text}")
    made.location, made.hlo_op = op.location, op  # pyright: ignore[reportAttributeAccessIssue]
    if (found := position_of_op(op)) is not None:
        made.place = (found.file, found.line, found.column)
    return made


def plain(error: LaminaError) -> str:
    """The message of an error without the position in Python that it begins with, and the line there."""
    text = str(error).strip()
    return re.sub(r"^\S+:\d+:\d+: ", "", text.partition("\n    ")[0]) if error.place is not None else text


def position(op: Any) -> str:
    """`file:line:column: ` of an op."""
    found = position_of_op(op)
    return "" if found is None else f"{found}: "


def is_fault(error: BaseException) -> bool:
    """Whether an exception is about the program, and no interruption of the process."""
    return isinstance(error, Exception) and not is_interruption(error)

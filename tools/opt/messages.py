"""The form of messages: text for people, or JSON for editors; and what they say beside the message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...diagnostics import Diagnostic
from ..arguments import boolean
from .group import Group

if TYPE_CHECKING:
    from .driver import Driver


class Messages(Group):
    """`--diagnostics=text|json`, and mlir-opt's notes."""

    title = "messages"

    def add(self, add: Callable[..., Any]) -> None:
        add(
            "--diagnostics",
            choices=("text", "json"),
            default="text",
            metavar="FORM",
            help="text (default), or json: an object a line with severity, message, file, line, column, end, notes, suggestion",
        )
        flag: dict[str, Any] = {"nargs": "?", "const": "true", "type": boolean, "metavar": "BOOL", "default": False}
        add("--mlir-print-op-on-diagnostic", **flag, help="print the op of an error behind it (false)")
        add("--mlir-print-stacktrace-on-diagnostic", **flag, help="print where in the compiler an error was raised (false)")

    def diagnose(self, error: Exception, found: Diagnostic, driver: Driver) -> Diagnostic:
        op: Any = getattr(error, "op", None)
        notes = [*found.notes]
        if driver.options.mlir_print_op_on_diagnostic and op is not None:
            notes.append(
                Diagnostic("note", f"see current operation: {driver.ir_text.generic(op, locations=False)}", found.location)
            )
        if driver.options.mlir_print_stacktrace_on_diagnostic:
            import traceback

            trace = "".join(traceback.format_exception(error)).rstrip()
            notes.append(Diagnostic("note", f"diagnostic emitted with trace:\n{trace}", found.location))
        return replace(found, notes=tuple(notes))

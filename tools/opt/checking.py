"""Checks of the IR and of messages: verification, the round trip through text, expected diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import InternalError
from ..arguments import boolean
from ..expectations import mismatches
from .group import Group

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...diagnostics import Diagnostic
    from .driver import Driver


class Checking(Group):
    """`--verify-each`, `--verify-roundtrip`, `--verify-diagnostics`."""

    title = "checking"

    def add(self, add: Callable[..., Any]) -> None:
        flag: dict[str, Any] = {"nargs": "?", "const": "true", "type": boolean, "metavar": "BOOL"}
        add("--verify-each", **flag, default=True, help="verify the input and the IR after every pass (true)")
        add("--no-verify", dest="verify_each", action="store_false", help="the same as --verify-each=false")
        add(
            "--mlir-very-unsafe-disable-verifier-on-parsing",
            dest="unverified_input",
            action="store_true",
            help="do not verify the input",
        )
        add("--verify-roundtrip", action="store_true", help="print the input, parse that, and compare")
        add(
            "--verify-diagnostics",
            nargs="?",
            const="all",
            choices=("all", "only-expected"),
            help="check messages against the 'expected-error' comments; with only-expected, further ones may come",
        )

        add("--mlir-disable-diagnostic-notes", action="store_true", help="report errors without their notes")

    def read(self, module: ModuleOp, driver: Driver) -> None:
        if driver.options.verify_roundtrip:
            _require_round_trip(module, driver)

    def judge(self, text: str, found: list[Diagnostic], driver: Driver) -> list[Diagnostic]:
        mode = driver.options.verify_diagnostics
        if driver.options.mlir_disable_diagnostic_notes:
            found = [replace(one, notes=()) for one in found]
        return found if mode is None else mismatches(text, driver.name, found, only_expected=mode == "only-expected")


def _require_round_trip(module: ModuleOp, driver: Driver) -> None:
    """Refuse a module whose text, in custom or in generic syntax, is another module."""
    from io import StringIO

    from ...dialects.context import make_context
    from ...dialects.parsing import parse_module
    from ...dialects.printing import TextPrinter

    for generic in (False, True):
        stream = StringIO()
        TextPrinter(stream, print_generic_format=generic, print_debuginfo=True).print_op(module)
        ctx = make_context(allow_unregistered=driver.options.allow_unregistered_dialect)
        syntax = "generic" if generic else "custom"
        try:
            again = parse_module(ctx, stream.getvalue(), "<round trip>")
        except Exception as error:
            raise InternalError(f"round trip through {syntax} syntax: the text does not parse: {error}") from error
        if not module.is_structurally_equivalent(again):
            raise InternalError(f"round trip through {syntax} syntax: the module that was parsed is another one")

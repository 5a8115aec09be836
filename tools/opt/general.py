"""Questions that need no input: the version, the passes, the dialects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .group import Group

if TYPE_CHECKING:
    from argparse import Namespace


class General(Group):
    """`--version`, `--list-passes`, `--show-dialects`, `--help-pass` and its kin."""

    title = "what there is"

    def add(self, add: Callable[..., Any]) -> None:
        add("--help-list", "--help-hidden", action="help", help="the same as --help")
        add("--version", action="store_true", help="print the version")
        add("--list-passes", action="store_true", help="print all passes with their options and statistics")
        add("--help-pass", metavar="PASS", help="print what a pass does, its options and statistics")
        add("--help-op", metavar="OP", help="print what an op is: example, constraints, syntax, operands, results")
        add("--help-dialect", metavar="DIALECT", help="print the ops of a dialect, one line each")
        add("--show-dialects", action="store_true", help="print the names of all dialects")

    def answer(self, options: Namespace) -> int | None:
        if options.version:
            from importlib.metadata import version

            print(f"lamina-opt {version('lamina')} (xdsl {version('xdsl')}, llvmlite {version('llvmlite')})")
        elif options.list_passes:
            from ..reference import pass_lines

            print("Passes:\n" + pass_lines(), end="")
        elif options.show_dialects:
            from ...dialects.context import make_context

            print("Available Dialects: " + ",".join(sorted(make_context().registered_dialect_names)))
        elif options.help_pass is not None:
            from ..reference import pass_page

            print(pass_page(options.help_pass), end="")
        elif options.help_op is not None or options.help_dialect is not None:
            from ...dialects.context import make_context
            from ..reference import dialect_page, op_page

            ctx = make_context()
            print(op_page(options.help_op, ctx) if options.help_op else dialect_page(options.help_dialect, ctx), end="")
        else:
            return None
        return 0

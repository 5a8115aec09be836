"""Reading a module for the tools that run and compile it: parsed, verified, every fault a diagnostic."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..diagnostics import from_exception, render
from .arguments import UsageError, read_input

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

sources: dict[str, str] = {}
"""Texts read so far by name: messages show their lines."""


def read_text(name: str) -> tuple[str, str]:
    """The name to show and the text of a file or, for `-`, of standard input."""
    from . import bytecode

    shown, data = read_input(name)
    if data.startswith(bytecode.MAGIC):
        data = bytecode.read(data).encode()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown} is no text: byte {error.start} is not UTF-8") from None
    sources[shown] = text
    return shown, text


def parse(ctx: Context, name: str, text: str) -> ModuleOp:
    """The verified module of a text."""
    from ..dialects.dominance import verify_module
    from ..dialects.parsing import parse_module

    module = parse_module(ctx, text, name)
    verify_module(module)
    return module


def guarded(tool: str, run: Callable[[Sequence[str] | None], int], args: Sequence[str] | None) -> int:
    """Run a tool: exit status 1 and a diagnostic for a fault of its input, 2 for a fault of the command."""
    try:
        return run(args)
    except UsageError as error:
        print(f"{tool}: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        from ..passes import UnknownPassError

        if isinstance(error, UnknownPassError):
            print(f"{tool}: error: {error}", file=sys.stderr)
            return 2
        if os.environ.get("LAMINA_DEBUG"):
            raise
        print(render(from_exception(error), sources), file=sys.stderr)
        return 1

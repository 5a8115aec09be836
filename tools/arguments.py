"""What the command line tools share: arguments that fail in one line, and reading input."""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import CompileError

if TYPE_CHECKING:
    from ..codegen.targets import Target

MAX_INPUT_BYTES = 1 << 30


class UsageError(Exception):
    """The command is at fault: exit status 2."""


class ArgumentParser(argparse.ArgumentParser):
    """Says what is wrong in one line, with the option that was probably meant."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        found = re.match(r"unrecognized arguments: (-\S+)", message)
        if found:
            options = [option for action in self._actions for option in action.option_strings]
            close = difflib.get_close_matches(found[1].partition("=")[0], options, 1)
            message = f"unknown option {found[1]}" + (f", did you mean {close[0]}?" if close else "; --help shows all")
        raise UsageError(message)


class _Import(argparse.Action):
    """Imports the module that an option names, which registers what it adds to the compiler."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        try:
            importlib.import_module(values)
        except Exception as error:
            parser.error(f"extension '{values}' cannot be imported: {type(error).__name__}: {error}")


def add_extension(parser: argparse.ArgumentParser) -> None:
    """Add the option `--extension`."""
    text = (
        "import a Python module that registers ops, passes, kernels or targets; those of installed packages are found without"
    )
    parser.add_argument("--extension", action=_Import, metavar="MODULE", help=text)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the option `--target`."""
    parser.add_argument(
        "--target",
        metavar="TARGET",
        help="what to schedule and compile for: host, or a level as x86-64-v3 or aarch64, with options as "
        "'x86-64-v3{l2=256K}' (what the module says in lamina.target, else host)",
    )


def target_option(options: argparse.Namespace) -> Target | None:
    """The target that `--target` names; None if it is not given.

    Raises:
        UsageError: it names none.
    """
    if options.target is None:
        return None
    from ..codegen import targets

    try:
        return targets.get(options.target)
    except CompileError as error:
        raise UsageError(str(error)) from None


def read_input(name: str) -> tuple[str, bytes]:
    """The name to use in messages and the contents of a file, or of standard input if the name is `-`.

    Raises:
        UsageError: there is nothing to read there.
    """
    if name == "-":
        return "<stdin>", sys.stdin.buffer.read()
    path = Path(name)
    try:
        if path.is_dir():
            raise UsageError(f"{name} is a directory")
        if path.exists() and path.stat().st_size > MAX_INPUT_BYTES:
            raise UsageError(f"{name} is larger than {MAX_INPUT_BYTES} bytes")
        return name, path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"no file {name}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None

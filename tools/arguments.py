"""Shared by the command line tools: arguments whose errors are one line, and reading input."""

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
    """Options as LLVM's tools read them; says what is wrong in one line, with the option that was probably meant.

    One dash or two, `--flag=false` for a flag that is true or false, and the value of an option whose value may be missing only
    behind `=`, so that no option takes the name of the input for its value.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        others: list[tuple[str, str | None]] = []
        given_args = _with_files(sys.argv[1:] if args is None else list(args))
        found = super().parse_args(self._spelled_out(given_args, others), namespace)
        for given, value in others:  # after the options that load the modules they name
            if not self.other_option(given.lstrip("-"), value):
                self._unknown(given)
        return found

    def other_option(self, name: str, value: str | None) -> bool:
        """Take an option that was not declared, if it is one; `name` is without dashes."""
        return False

    def other_names(self) -> list[str]:
        """The names that `other_option` takes, for messages."""
        return []

    def _spelled_out(self, args: list[str], others: list[tuple[str, str | None]]) -> list[str]:
        """Arguments as argparse reads them without guessing, `--name` or `--name=value`; those not declared go to `others`."""
        known = {option.lstrip("-"): (option, action) for action in self._actions for option in action.option_strings}
        found: list[str] = []
        rest = iter(args)
        for arg in rest:
            if arg == "--":
                return [*found, arg, *rest]
            if not re.match(r"--?[A-Za-z]", arg):
                found.append(arg)
                continue
            given, equals, value = arg.partition("=")
            option, action = known.get(given.lstrip("-"), (given, None))
            if action is None:
                others.append((given, value if equals else None))
            elif action.nargs == 0:
                found += self._flag(option, action, value if equals else None)
            elif action.nargs == "?":
                found.append(f"{option}={value if equals else action.const}")
            elif action.nargs is None:
                taken = value if equals else next(rest, None)
                if taken is None:
                    self.error(f"option {option} needs a value")
                found.append(f"{option}={taken}")
            else:
                found.append(arg)
        return found

    def _flag(self, option: str, action: argparse.Action, value: str | None) -> list[str]:
        if value is None or truth(value) is True:
            return [option]
        if truth(value) is None or action.const is not True:
            self.error(f"option {option} takes no value, got {value}")
        return []

    def _unknown(self, given: str) -> NoReturn:
        options = {option.lstrip("-"): option for action in self._actions for option in action.option_strings}
        options |= {name: f"--{name}" for name in self.other_names()}
        close = difflib.get_close_matches(given.lstrip("-"), options, 1)
        self.error(f"unknown option {given}" + (f", did you mean {options[close[0]]}?" if close else "; --help shows all"))

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        close = difflib.get_close_matches(choice[1], re.findall(r"'([^']*)'", choice[2]), 1) if choice else ()
        raise UsageError(f"{message}, did you mean {close[0]}?" if close else message)


def _with_files(args: list[str], depth: int = 0) -> list[str]:
    """Arguments with each `@file` that exists replaced by the arguments in it, which are quoted as in a shell."""
    found: list[str] = []
    for arg in args:
        path = Path(arg[1:])
        if not arg.startswith("@") or not path.is_file() or Path(arg).exists():
            found.append(arg)
            continue
        if depth == _MOST_FILES:
            raise UsageError(f"{arg}: files of arguments that name files are nested more than {_MOST_FILES} deep")
        import shlex

        try:
            words = shlex.split(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"{arg}: {error}") from None
        found += _with_files(words, depth + 1)
    return found


_MOST_FILES = 16


def truth(text: str) -> bool | None:
    """The value of a flag, in the words of LLVM's options; None if it is none of them."""
    return {"true": True, "1": True, "": True, "false": False, "0": False}.get(text.lower())


def boolean(text: str) -> bool:
    """The value of an option that is true or false; a converter for argparse with `nargs="?", const="true"`."""
    found = truth(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"expected true or false, got {text}")
    return found


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

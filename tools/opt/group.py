"""A group of options of lamina-opt: its part of the command line, and its hooks as the driver runs.

To add options, write a file here with one class that derives from `Group`, and name the file in `groups.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from argparse import Namespace

    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from ...diagnostics import Diagnostic
    from .driver import Driver


class Group:
    """Does nothing at any point; a group overrides what it needs. A process may run the tool several times: state is made in
    `start`."""

    title: ClassVar[str] = "options"

    def add(self, add: Callable[..., Any]) -> None:
        """Declare the options; `add` is argparse's `add_argument`."""

    def answer(self, options: Namespace) -> int | None:
        """Answer a question that needs no input (`--version`), and return the exit status; None: there is none."""

    def start(self, driver: Driver) -> None:
        """The options are parsed, no input is read yet.

        Raises:
            UsageError: they contradict each other.
        """

    def read(self, module: ModuleOp, driver: Driver) -> None:
        """An input was parsed and verified.

        Raises:
            LaminaError, InternalError: it does not do; the message goes to the user.
        """

    def run(self, steps: Sequence[Any], module: ModuleOp, driver: Driver) -> bool:
        """Run the steps in a way of its own, and return True; each has `name` and `apply(ctx, module)`, which calls hooks."""
        return False

    def phase(self, name: str) -> AbstractContextManager[Any]:
        """Entered around work that is no pass: `Parser`, `Output`."""
        return nullcontext()

    def before(self, one: Any, op: Operation, driver: Driver) -> None:
        """A pass is about to run on an op, the module or, in a nested pipeline, an op in it."""

    def after(self, one: Any, op: Operation, seconds: float, driver: Driver) -> None:
        """A pass has run, and its result verifies."""

    def failed(self, one: Any, op: Operation, error: BaseException, driver: Driver) -> None:
        """A pass raised an error, or left invalid IR."""

    def output(self, module: ModuleOp, driver: Driver) -> str | bytes | None:
        """What to print of a module after the passes, instead of the module; None: this group has nothing."""
        return None

    def diagnose(self, error: Exception, found: Diagnostic, driver: Driver) -> Diagnostic:
        """The diagnostic of an error, given what there is of it."""
        return found

    def judge(self, text: str, found: list[Diagnostic], driver: Driver) -> list[Diagnostic]:
        """The diagnostics to report of an input, given those there are."""
        return found

    def finish(self, driver: Driver) -> None:
        """All inputs are done; reports go to standard error."""

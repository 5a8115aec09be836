"""`--reduce`, `--bisect`, `--reproduce`: from an input that shows a fault to a few ops, and to one application of one rule."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InternalError, LaminaError
from ..arguments import UsageError
from .group import Group

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from .driver import Driver


class Reducing(Group):
    """Runs no passes by itself: prints the module that is left, or the rule."""

    title = "from a fault to a few ops"

    def add(self, add: Callable[..., Any]) -> None:
        add(
            "--reduce",
            metavar="COMMAND",
            help="print the smallest module on which the command fails as on the input; %%s is its file",
        )
        add("--reduce-seconds", type=float, default=60.0, metavar="S", help="processor time for --reduce and --reproduce (60)")
        add("--bisect", action="store_true", help="name the application of a rule that makes a pass of the pipeline wrong")
        add("--reproduce", metavar="FILE", help="validate the passes; on a fault reduce, bisect, and write one file")

    def start(self, driver: Driver) -> None:
        self.printed: str | None = None
        self.is_written = False

    def run(self, steps: Sequence[Any], module: ModuleOp, driver: Driver) -> bool:
        options = driver.options
        asked = [name for name in ("reduce", "bisect", "reproduce") if getattr(options, name)]
        if not asked:
            return False
        if len(asked) > 1:
            raise UsageError(f"--{asked[0]} and --{asked[1]} are two tasks: give one")
        if options.reduce:
            self.printed = _reduced(module, options.reduce, options.reduce_seconds, driver)
            return True
        passes = [getattr(step, "element", step) for step in steps] or None
        self.printed = _bisected(module, passes, options.seed) if options.bisect else _reproduced(module, passes, options)
        return True

    def failed(self, one: Any, op: Operation, error: BaseException, driver: Driver) -> None:
        """An internal error leaves the input with its pipeline in a file."""
        if not isinstance(error, InternalError) or self.is_written:
            return
        from ...debugging.faults import Fault
        from ...debugging.reproduce import write_whole
        from ...pass_manager import text_of

        self.is_written = True
        passes = [text_of(element) for element in driver.pipeline.elements]
        path = write_whole(driver.text, Fault("internal", one.name, str(error)), passes, driver.options.seed)
        print(f"note: reproducer: {path}", file=sys.stderr)

    def output(self, module: ModuleOp, driver: Driver) -> str | bytes | None:
        return self.printed


def _reduced(module: ModuleOp, command: str, seconds: float, driver: Driver) -> str:
    """The text of the smallest module on which a command ends as it does on the whole one."""
    import subprocess
    import tempfile

    from ...debugging.reduction import reduced

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reduced.mlir"

        def outcome(candidate: ModuleOp) -> tuple[int, str]:
            file.write_text(driver.ir_text.of_module(candidate), encoding="utf-8")
            line = command.replace("%s", str(file)) if "%s" in command else f"{command} {file}"
            try:
                ended = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=max(10.0, seconds))
            except subprocess.TimeoutExpired:
                return -1, "time"
            return ended.returncode, _gist(ended.stderr)

        whole = outcome(module)
        if whole[0] == 0:
            raise UsageError(f"--reduce: the command succeeds on the input: {command}")
        small = reduced(module, lambda candidate: outcome(candidate) == whole, seconds)
    return driver.ir_text.of_module(small)


def _gist(said: str) -> str:
    """The part of messages that does not change when a program gets smaller: the pass or op that they begin with, and their
    first words."""
    for line in said.splitlines():
        found = re.search(r"error: (.*)", line) or re.search(r"^(\w*(?:Error|Exception)\b.*)", line)
        if found:
            return " ".join(re.sub(r"@[\w.$-]+|%[\w.$-]+|[\d.]+", "#", found[1]).split()[:6])
    return ""


def _bisected(module: ModuleOp, passes: Sequence[Any] | None, seed: int) -> str:
    from ...debugging.bisection import bisect
    from ...debugging.faults import find_fault

    fault = find_fault(module, passes, seed)
    if fault is None:
        raise LaminaError("--bisect: validation of the pipeline finds no fault on this input")
    if fault.step == "loop-auto":
        from ...debugging.schedule_steps import faulty_step

        step = faulty_step(module, _to_program(module) if passes is None else passes, seed)
        if step is not None:
            return f"{step.fault.message}\n{step}\n"
    found = bisect(lambda: fault.is_like(find_fault(module, passes, seed)))
    if found is None:
        return f"{fault.message}\nno single rule decides: the fault is in '{fault.step}' itself\n"
    return f"{fault.message}\n{found}; to stop right after it: {found.option}\n"


def _to_program(module: ModuleOp) -> list[Any]:
    from ... import pipeline

    return [step.make() for step in pipeline.steps_to(module.clone(), "program")]


def _reproduced(module: ModuleOp, passes: Sequence[Any] | None, options: Any) -> str:
    from ...debugging.reproduce import reproduce

    found = reproduce(module, passes=passes, seed=options.seed, path=options.reproduce, seconds=options.reduce_seconds)
    if found is None:
        raise LaminaError("--reproduce: validation of the pipeline finds no fault on this input")
    return ""

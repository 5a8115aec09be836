"""From an error to one file of a few ops: the fault is found, the module reduced, the passes and the rule named.

`LAMINA_DEBUG=reproduce` does this for each function that Python compiles; `lamina-opt --reproduce=FILE` for its input.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from .. import pipeline
from ..errors import InternalError
from ..lowering.target import target_of
from .bisection import Application, bisect
from .comparison import brief
from .faults import Fault, find_fault
from .reduction import op_count, reduced
from .schedule_steps import ScheduleStep, faulty_step
from .validate import NATIVE

SECONDS = 60.0
"""How long a reduction may take, in seconds of processor time."""


@dataclass
class Reproducer:
    """A file that shows a fault again.

    Attributes:
        path: of the file.
        module: as it is there.
        fault: that it shows.
        passes: that it takes.
        application: of a rule, or the step of the default schedule, where one decides.
    """

    path: Path
    module: ModuleOp
    fault: Fault
    passes: Sequence[str]
    application: Application | ScheduleStep | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def ops(self) -> int:
        """How many ops compute."""
        return op_count(self.module)


def reproduce(
    module: ModuleOp,
    fault: Fault | None = None,
    *,
    passes: Sequence[Any] | None = None,
    seed: int = 0,
    path: str | Path | None = None,
    seconds: float = SECONDS,
    tell: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
) -> Reproducer | None:
    """Find the fault of a module, reduce it, find the rule, and write one file.

    Args:
        module: at any phase of its IR; it is not changed.
        fault: if it is known already.
        passes: the passes that show the fault; the pipeline if not given.
        seed: of generated inputs.
        path: of the file; by default one in the folder for temporary files, named by its content.
        seconds: of processor time, for the reduction.
        tell: is told the outcome.

    Returns:
        None if the module shows no fault.
    """
    fault = fault or find_fault(module, passes, seed)
    if fault is None:
        return None
    steps = [step.make() for step in pipeline.steps_to(module.clone(), "program")] if passes is None else list(passes)
    native = fault.step == NATIVE
    if not native:
        last = max((k for k, step in enumerate(steps) if step.name == fault.step), default=len(steps) - 1)
        steps = steps[: last + 1]

    limit = max(10.0, seconds / 2 if fault.kind == "hang" else seconds)

    def shows(candidate: ModuleOp, passes: Sequence[Any]) -> bool:
        found = find_fault(candidate, passes, seed, native=native, input_kind=fault.input_kind, seconds=limit)
        return fault.is_like(found)

    # ops before passes: most of the passes, tried on the whole module, take longer than all of the ops
    small = reduced(module, lambda m: shows(m, steps), seconds)
    fewer = _fewest(steps, lambda some: shows(small, some))
    if len(fewer) < len(steps):
        small = reduced(small, lambda m: shows(m, fewer), seconds / 4)
        fewer = _fewest(fewer, lambda some: shows(small, some))
    steps = fewer
    stays = fault.kind not in ("crash", "hang")  # else no step is run in this process
    application = (faulty_step(small, steps, seed) if stays else None) or bisect(lambda: shows(small, steps))
    final = find_fault(small, steps, seed, native=native, seconds=limit) or fault
    names = [_text(step) for step in steps]
    found = Reproducer(_path(small, path), small, final, names, application)
    found.path.write_text(_written(found, seed, native), encoding="utf-8")
    said = final.message if final.kind == "mismatch" else f"{final.kind} of {final.step}: {final.message}"
    tell(f"lamina: {said}\nlamina: reproducer of {found.ops} ops: {found.path}" + (f" ({application})" if application else ""))
    return found


def write_whole(text: str, fault: Fault, passes: Sequence[str], seed: int, *, native: bool = False) -> Path:
    """Write an input as it is, with its fault and how to run it again: where `LAMINA_REPRODUCERS` says, or a temporary file.

    Args:
        text: of the module.
        passes: as a pipeline has them.

    Returns:
        The file, named by its content.
    """
    path = _path(text, None)
    path.write_text(_header(fault, passes, seed, native, []) + f"\n{text}\n", encoding="utf-8")
    return path


def _fewest(steps: list[Any], shows: Callable[[list[Any]], bool]) -> list[Any]:
    """As few passes as show the fault, from many at once to one."""
    size = len(steps) // 2
    while size:
        start = 0
        while start < len(steps):
            fewer = steps[:start] + steps[start + size :]
            if fewer and shows(fewer):
                steps = fewer
            else:
                start += size
        size //= 2
    return steps


def _text(step: Any) -> str:
    from ..pass_manager import text_of

    return text_of(getattr(step, "step", step))


def _path(module: ModuleOp | str, path: str | Path | None) -> Path:
    if path is not None:
        return Path(path)
    name = hashlib.sha256(str(module).encode()).hexdigest()[:12]
    return Path(os.environ.get("LAMINA_REPRODUCERS") or tempfile.gettempdir()) / f"lamina-{name}.mlir"


def _written(found: Reproducer, seed: int, native: bool) -> str:
    """The text of the file: how to run it again, its message, the machine, and the module."""
    decides = found.application
    rule = [f"rule: {decides}; stop after it: {decides.option}"] if isinstance(decides, Application) else []
    rule += [f"{decides}"] if isinstance(decides, ScheduleStep) else []
    more = [f"target: {target_of(found.module)}", *rule]
    return f"{_header(found.fault, found.passes, seed, native, more)}\n{found.module!s}\n"


def _header(fault: Fault, passes: Sequence[str], seed: int, native: bool, more: Sequence[str]) -> str:
    to_code = " --compile-to=object -o /dev/null" if native else ""
    command = f"lamina-opt %s -p '{','.join(passes)}'{to_code} --validate-each --seed {seed}"
    versions = ", ".join(f"{name} {version(name)}" for name in ("lamina", "xdsl", "llvmlite", "numpy"))
    lines = [
        f"RUN: {command}",
        f"error: {fault.message}",
        f"versions: {versions}, python {platform.python_version()}, {platform.machine()}",
        *more,
        *(f"input {k}: {x.dtype}{list(x.shape)} {brief(x)}" for k, x in enumerate(fault.inputs)),
    ]
    return "".join(f"// {line}\n" for text in lines for line in text.split("\n"))


def is_asked_for() -> bool:
    """Whether `LAMINA_DEBUG` has the word reproduce."""
    return "reproduce" in os.environ.get("LAMINA_DEBUG", "")


def checked(module: ModuleOp) -> None:
    """Validate the compilation of a module; on a fault write a reproducer, and raise.

    Raises:
        InternalError: with the file.
    """
    found = reproduce(module)
    if found is not None:
        raise InternalError(f"{found.fault.message}\nreproducer: {found.path}")


__all__ = ["Reproducer", "checked", "is_asked_for", "reproduce", "write_whole"]

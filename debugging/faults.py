"""The fault of a module: the first pass that changes what it means, or that fails."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from .. import pipeline
from ..dialects.context import make_context
from ..errors import CompileError, LaminaError
from .native import Native
from .trial import Ended, Note, can_fork, in_child
from .validate import NATIVE, ValidationError, validate_each


@dataclass
class Fault:
    """The fault of a module.

    Attributes:
        kind: `mismatch`, `internal`, `crash` or `hang`.
        step: the pass, or `machine code`.
        message: as the error has it.
        inputs: on which a mismatch shows.
        input_kind: of these inputs; empty if a fault shows without.
    """

    kind: str
    step: str
    message: str
    inputs: Sequence[Any] = ()
    input_kind: str = ""

    def is_like(self, other: Fault | None) -> bool:
        """Whether both are one fault, as far as one can tell: of one kind and in one step."""
        return other is not None and (self.kind, self.step) == (other.kind, other.step)


SECONDS = 600.0
"""From how many seconds of processor time on a validation counts as hanging."""


def find_fault(
    module: ModuleOp,
    passes: Sequence[Any] | None = None,
    seed: int = 0,
    *,
    native: bool = True,
    input_kind: str = "",
    seconds: float = SECONDS,
) -> Fault | None:
    """Validate each pass on a copy of a module; None if all is well.

    That is done in a child of this process where one can be had, so that a crash or a hang is a fault as others.

    Args:
        passes: those of the pipeline to phase `program` if they are not given.
        native: whether the machine code is compared, too.
        input_kind: of the inputs, if not all of them are tried.
        seconds: of processor time, after which it counts as hanging.
    """

    def run(note: Note) -> Fault | None:
        return _found(module, passes, seed, native, input_kind, note)

    if not can_fork():
        return run(lambda _: None)
    found = in_child(lambda note: _sent(run(note)), seconds)
    if not isinstance(found, Ended):
        return _received(found)
    where = found.at if found.at == NATIVE else f"pass '{found.at}'"
    said = f"took more than {seconds:.0f} s of processor time" if found.kind == "hang" else f"ended by {found.signal or 'exit'}"
    return Fault(found.kind, found.at, f"{where} {said}")


def _sent(fault: Fault | None) -> Any:
    """A fault as JSON; inputs as dtype, shape and bytes."""
    if fault is None:
        return None
    arrays = [np.asarray(x) for x in fault.inputs]
    inputs = [(x.dtype.name, x.shape, base64.b64encode(x.tobytes()).decode()) for x in arrays]
    return {**vars(fault), "inputs": inputs}


def _received(sent: Any) -> Fault | None:
    if sent is None:
        return None
    inputs = [np.frombuffer(base64.b64decode(data), name).reshape(shape).copy() for name, shape, data in sent["inputs"]]
    return Fault(**{**sent, "inputs": inputs})


def _found(
    module: ModuleOp, passes: Sequence[Any] | None, seed: int, native: bool, input_kind: str, note: Note
) -> Fault | None:
    """The fault, found in this process."""
    copy = module.clone()
    steps = [step.make() for step in pipeline.steps_to(copy, "program")] if passes is None else list(passes)
    current = [""]
    watched = [_Watched(step, current, note) for step in steps]

    def code(compiled: ModuleOp) -> Native:
        note(NATIVE)
        return Native(compiled)

    try:
        validate_each(
            copy,
            watched,
            make_context(),
            seed,
            lambda _: None,
            native=code if native else None,
            simplify=False,
            kind=input_kind,
        )
    except ValidationError as error:
        return Fault("mismatch", error.pass_name, str(error), error.inputs, error.kind)
    except CompileError:
        return None  # a program that may be refused
    except LaminaError as error:
        return Fault("internal", current[0], str(error))
    except Exception as error:  # whatever a pass raises is its fault
        return Fault("internal", current[0] or NATIVE, f"{type(error).__name__}: {error}".partition("\n")[0])
    return None


class _Watched:
    """A pass whose name is noted while it runs."""

    def __init__(self, step: Any, current: list[str], note: Note):
        self.step, self.current, self.name, self.note = step, current, step.name, note

    def __getattr__(self, name: str) -> Any:
        return getattr(self.step, name)

    def apply(self, ctx: Any, module: ModuleOp) -> None:
        """Run the pass."""
        self.current[0] = self.name
        self.note(self.name)
        self.step.apply(ctx, module)
        self.current[0] = ""


__all__ = ["Fault", "find_fault"]

"""The fault of a module: the first pass that changes what it means, or that fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from .. import pipeline
from ..dialects.context import make_context
from ..errors import CompileError, LaminaError
from .native import Native
from .validate import NATIVE, ValidationError, validate_each


@dataclass
class Fault:
    """The fault of a module.

    Attributes:
        kind: `mismatch` or `internal`.
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


def find_fault(
    module: ModuleOp, passes: Sequence[Any] | None = None, seed: int = 0, *, native: bool = True, input_kind: str = ""
) -> Fault | None:
    """Validate each pass on a copy of a module; None if all is well.

    Args:
        passes: those of the pipeline to phase `program` if they are not given.
        native: whether the machine code is compared, too.
        input_kind: of the inputs, if not all of them are tried.
    """
    copy = module.clone()
    steps = [step.make() for step in pipeline.steps_to(copy, "program")] if passes is None else list(passes)
    current = [""]
    watched = [_Watched(step, current) for step in steps]
    try:
        code = Native if native else None
        validate_each(copy, watched, make_context(), seed, lambda _: None, native=code, simplify=False, kind=input_kind)
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

    def __init__(self, step: Any, current: list[str]):
        self.step, self.current, self.name = step, current, step.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.step, name)

    def apply(self, ctx: Any, module: ModuleOp) -> None:
        """Run the pass."""
        self.current[0] = self.name
        self.step.apply(ctx, module)
        self.current[0] = ""


__all__ = ["Fault", "find_fault"]

"""Which step of the default schedule a fault of `loop-auto` comes from: its primitives are passes and validated each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ..dialects.context import make_context
from ..lowering.schedule.auto import LoopAutoPass, schedule_module
from ..passes import run_pass
from .faults import Fault, find_fault


@dataclass(frozen=True)
class ScheduleStep:
    """The `number`-th step (from 1) of `of` that `loop-auto` takes in a module, and its fault, by which it is known."""

    text: str
    number: int
    of: int
    fault: Fault

    def __str__(self) -> str:
        return f"step {self.number} of {self.of} of the default schedule: {self.text}"


class _Named:
    """A primitive whose name says which one of a schedule it is."""

    def __init__(self, step: Any) -> None:
        self.step, self.name = step, step.as_text()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.step, name)


def faulty_step(module: ModuleOp, passes: Sequence[Any], seed: int = 0) -> ScheduleStep | None:
    """The first step of the default schedule that changes the meaning of a kernel; None where `loop-auto` is wrong otherwise.

    Args:
        passes: what brings the module to the fault, `loop-auto` among them.
    """
    at = next((k for k, one in enumerate(passes) if one.name == LoopAutoPass.name), None)
    if at is None:
        return None
    before, ctx = module.clone(), make_context()
    for one in passes[:at]:
        run_pass(before, ctx, one)
    steps: list[Any] = []
    schedule_module(before.clone(), lambda kernel, taken: steps.append(replace(taken.step, kernel=kernel.sym_name.data)))
    named = [_Named(step) for step in steps]
    fault = find_fault(before, named, seed, native=False)
    if fault is None:
        return None
    number = next((k for k, one in enumerate(named, 1) if one.name == fault.step), None)
    return None if number is None else ScheduleStep(fault.step, number, len(named), fault)


__all__ = ["ScheduleStep", "faulty_step"]

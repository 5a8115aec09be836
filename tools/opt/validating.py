"""`--validate-each`: the reference interpreter before and after every pass, on generated inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .compiling import IR_PHASES
from .group import Group

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .driver import Driver


class Validating(Group):
    """Runs the passes, and the phases of `--compile-to`, each with a comparison."""

    title = "validating"

    def add(self, add: Callable[..., Any]) -> None:
        add("--validate-each", action="store_true", help="interpret the program before and after every pass and compare")
        add("--seed", type=int, default=0, help="seed of the inputs of --validate-each")
        add("--seeds", type=int, default=1, metavar="N", help="how many seeds --validate-each takes, from --seed on (1)")

    def run(self, steps: Sequence[Any], module: ModuleOp, driver: Driver) -> bool:
        options = driver.options
        if not options.validate_each:
            return False
        from ...debugging.validate import ValidationError, validate_each

        more: list[Any] = []
        if options.compile_to is not None:
            from ... import pipeline

            goal = options.compile_to if options.compile_to in IR_PHASES else "program"
            more = [driver.step(step.make()) for step in pipeline.steps_to(module, goal)]
        native = None
        if options.compile_to is not None and options.compile_to not in IR_PHASES:
            from ...debugging.native import Native as native
        text = str(module)
        try:
            validate_each(module, [*steps, *more], driver.ctx, options.seed, seeds=options.seeds, native=native)
        except ValidationError as error:
            from ...debugging.faults import Fault
            from ...debugging.reproduce import write_whole

            fault = Fault("mismatch", error.pass_name, str(error), error.inputs)
            names = [step.name for step in (*steps, *more)]
            path = write_whole(text, fault, names, options.seed, native=native is not None)
            print(f"note: reproducer: {path}; --reproduce=FILE on the same input makes it small", file=sys.stderr)
            raise
        return True

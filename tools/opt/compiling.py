"""`--compile-to`: the pipeline to a phase, whose steps the driver observes like passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import InternalError, LaminaError
from ..foreign import convert_foreign, module_has_foreign_ops

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .driver import Driver

PHASES = ("graph", "optimized", "loop", "scheduled", "program", "llvmir", "asm", "object")
IR_PHASES = PHASES[:5]
"""Those whose result is a module."""


def compile_module(module: ModuleOp, phase: str, driver: Driver) -> str | bytes | None:
    """Bring a module to a phase of the pipeline, in place; code, or None where the phase is IR."""
    import time

    from ... import passes, pipeline

    if module_has_foreign_ops(module):
        convert_foreign(module, driver.ctx, "main")
    if phase not in IR_PHASES:  # code, which runs without the interpreter's checks
        pipeline.guard_accesses(module)
    running: list[Any] = []
    start = 0.0

    def before(step: Any, module: ModuleOp) -> None:
        nonlocal start
        running[:] = [step]
        driver.before(step, module)
        start = time.perf_counter()

    def after(step: Any, module: ModuleOp) -> None:
        seconds = time.perf_counter() - start
        if driver.verify:
            passes.check(module, f"pass '{step.name}' left invalid IR: ")
        running.clear()
        driver.after(step, module, seconds)

    try:
        pipeline.run_to(module, phase, driver.ctx, after, before=before)
        return None if phase in IR_PHASES else pipeline.compile_to(module, phase, driver.ctx)
    except Exception as error:
        if running:
            driver.failed(running[0], module, error)
        if isinstance(error, LaminaError | InternalError) or not isinstance(error, ImportError):
            raise
        raise InternalError(f"compiling to phase {phase}: {error}") from error

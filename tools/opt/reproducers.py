"""Files that show a failure again: a module with its pipeline as a resource, in MLIR's form, written and run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import UsageError
from .group import Group

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from ...diagnostics import Diagnostic
    from .driver import Driver


class Reproducers(Group):
    """`--mlir-generate-reproducer`, `--mlir-pass-pipeline-crash-reproducer`, `--run-reproducer`."""

    title = "reproducers"

    def add(self, add: Callable[..., Any]) -> None:
        add("--mlir-generate-reproducer", metavar="FILE", help="write the input with the pipeline, to be run again")
        add("--mlir-pass-pipeline-crash-reproducer", metavar="FILE", help="write that if a pass fails")
        add("--mlir-pass-pipeline-local-reproducer", action="store_true", help="... from the pass on that fails, and it alone")
        add("--run-reproducer", action="store_true", help="run the pipeline that the input has as a resource")

    def start(self, driver: Driver) -> None:
        options = driver.options
        self.on_failure = options.mlir_pass_pipeline_crash_reproducer
        self.local = options.mlir_pass_pipeline_local_reproducer
        if self.local and self.on_failure is None:
            raise UsageError("--mlir-pass-pipeline-local-reproducer needs --mlir-pass-pipeline-crash-reproducer=FILE")
        if options.run_reproducer and driver.pipeline.elements:
            raise UsageError("--run-reproducer runs the pipeline of the input: give no passes")
        self.written: str | None = None
        self.ran: str | None = None
        self.before_all = self.before_one = ""

    def read(self, module: ModuleOp, driver: Driver) -> None:
        from ...pass_manager import parse_pipeline

        self.written = None
        if driver.options.run_reproducer:
            pipeline, verify = _stored(driver.text)
            driver.pipeline, driver.verify = parse_pipeline(pipeline, driver.ctx), verify
        if driver.options.mlir_generate_reproducer is None and self.on_failure is None:
            return
        self.before_all = driver.ir_text.of_module(module)
        self.pipeline = _whole_pipeline(module, driver)
        if driver.options.mlir_generate_reproducer is not None:
            _write(driver.options.mlir_generate_reproducer, self.before_all, self.pipeline, driver)

    def before(self, one: Any, op: Operation, driver: Driver) -> None:
        if self.local:
            top = op
            while (around := top.parent_op()) is not None:
                top = around
            self.before_one = driver.ir_text.of(top) + "\n"

    def failed(self, one: Any, op: Operation, error: BaseException, driver: Driver) -> None:
        if self.on_failure is None:
            return
        self.ran = one.name
        if self.local:
            _write(self.on_failure, self.before_one, f"{_anchors(op)}", driver, one)
        else:
            _write(self.on_failure, self.before_all, self.pipeline, driver)
        self.written = self.on_failure

    def judge(self, text: str, found: list[Diagnostic], driver: Driver) -> list[Diagnostic]:
        if self.written is None or driver.options.verify_diagnostics is not None:
            return found
        from ...diagnostics import Diagnostic, FilePosition

        place = FilePosition(driver.name, 1, 1)
        what = "Failures have been detected while processing an MLIR pass pipeline"
        note = f"Pipeline failed while executing [`{self.ran}`]: reproducer generated at `{self.written}`"
        return [*found, Diagnostic("error", what, place, (Diagnostic("note", note, place),))]


def _whole_pipeline(module: ModuleOp, driver: Driver) -> str:
    """The pipeline of the command as text, with the steps of `--compile-to` as passes."""
    from ... import pipeline
    from ...pass_manager import Nest
    from .compiling import IR_PHASES

    elements: Sequence[Any] = driver.pipeline.elements
    goal = driver.options.compile_to
    if goal is not None:
        elements = [*elements, *(step.make() for step in pipeline.steps_to(module, goal if goal in IR_PHASES else "program"))]
    return str(Nest(driver.pipeline.anchor, tuple(elements)))


def _anchors(op: Operation) -> str:
    """The names of the ops from the module down to one."""
    names = [op.name]
    while (around := op.parent_op()) is not None:
        names.append(around.name)
        op = around
    return "(".join(reversed(names))


def _write(path: str, module: str, pipeline: str, driver: Driver, one: Any = None) -> None:
    if one is not None:
        from ...pass_manager import text_of

        one = one.make() if hasattr(one, "make") else one  # a step of the pipeline
        pipeline = f"{pipeline}({text_of(one)}" + ")" * (pipeline.count("(") + 1)
    quoted = pipeline.replace("\\", "\\\\").replace('"', "\\22")
    text = (
        f"{module}\n{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n"
        f'      pipeline: "{quoted}",\n      disable_threading: true,\n'
        f"      verify_each: {str(driver.verify).lower()}\n    }}\n  }}\n#-}}\n"
    )
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _stored(text: str) -> tuple[str, bool]:
    """The pipeline that a text has as a resource, and whether it verifies after each pass."""
    resource = re.search(r"\{-#(?:.|\n)*?mlir_reproducer\s*:\s*\{((?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*)\}", text)
    pipeline = re.search(r"pipeline\s*:\s*\"((?:[^\"\\]|\\.)*)\"", resource[1]) if resource else None
    if resource is None or pipeline is None:
        raise UsageError("--run-reproducer: the input has no resource 'mlir_reproducer' with a pipeline")
    verify = re.search(r"verify_each\s*:\s*(true|false)", resource[1])
    escape = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
    plain = escape.sub(lambda found: chr(int(found[1], 16)) if len(found[1]) == 2 else found[1], pipeline[1])
    return plain, verify is None or verify[1] == "true"

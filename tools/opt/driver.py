"""The driver of lamina-opt: read inputs, parse, verify, run passes, print; the groups of options do the rest through hooks.

Modules that need IR are imported when there is IR to read: xDSL takes most of the time of a short run, and `--version` needs
none.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...diagnostics import Diagnostic, from_exception, render
from ...errors import LaminaError
from .. import bytecode
from ..arguments import ArgumentParser, UsageError, add_extension, add_target, read_input, target_option
from ..foreign import add_dims, is_model, read_model
from ..reading import sources
from . import groups
from .compiling import PHASES, compile_module
from .formats import in_format, require_format

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from ...pass_manager import Nest

SEPARATOR = "// -----"
MAX_ERRORS = 20
"""A text that begins with a module, behind comments and aliases."""


class OptParser(ArgumentParser):
    """The command line, where the name of each pass is an option, too; their order is that of the pipeline."""

    def __init__(self) -> None:
        super().__init__(prog="lamina-opt", description="Read textual IR, run compiler passes, print the result.")
        self.pass_flags: list[tuple[str, str]] = []

    def other_option(self, name: str, value: str | None) -> bool:
        from ... import passes

        if not passes.exists(name):
            return False
        self.pass_flags.append((name, value or ""))
        return True

    def other_names(self) -> list[str]:
        from ... import passes

        return passes.all_names()

    def format_help(self) -> str:
        from ..reference import pass_lines

        return super().format_help() + "\npasses, each of which is an option, too:\n" + pass_lines()


class Driver:
    """One run of the tool.

    Attributes:
        options: the parsed command line.
        ctx: the dialects.
        pipeline: the passes, before the phases of `--compile-to`.
        text: the input that is being worked on.
        name: the file it comes from.
    """

    pipeline: Nest

    def __init__(self, args: Sequence[str] | None) -> None:
        self.groups = groups.load()
        parser = OptParser()
        _add_own(parser.add_argument)
        add_extension(parser)
        add_target(parser)
        for group in self.groups:
            group.add(parser.add_argument_group(group.title).add_argument)
        self.options: argparse.Namespace = parser.parse_args(args)
        self.pass_flags = parser.pass_flags
        self.verify = self.options.verify_each
        self.name, self.text = "", ""
        self.unwrapped = False

    def run(self) -> int:
        """Execute the options; the exit status."""
        for group in self.groups:
            status = group.answer(self.options)
            if status is not None:
                return status
        from ...dialects.context import make_context
        from .ir_text import IrText

        require_format(self.options.format)
        self.target = target_option(self.options)
        self.ctx = make_context(allow_unregistered=self.options.allow_unregistered_dialect)
        for group in self.groups:
            group.start(self)
        self.ir_text = IrText(self.options, self.ctx)
        return self.process_file()

    def process_file(self) -> int:
        """All inputs of the file; the exit status."""
        from ...dialects.parsing import decode

        if is_model(self.options.input_file):
            self.name = self.options.input_file
            return self.process_texts([""])
        if self.options.dim:
            raise UsageError("--dim is for models of ONNX: dims of a text have the sizes that it says")
        self.name, data = read_input(self.options.input_file)
        try:
            text = bytecode.read(data) if data.startswith(bytecode.MAGIC) else decode(data, self.name)
        except UsageError:
            raise
        except Exception as error:
            return self.report([from_exception(error)])
        sources[self.name] = text
        marker = self.options.split_input_file
        return self.process_texts([text] if marker is None else split(text, marker))

    def process_texts(self, chunks: Sequence[str]) -> int:
        """Each input by itself, then the reports; the exit status."""
        outputs: list[str | bytes] = []
        failed = False
        for chunk in chunks:
            self.text = chunk
            found: list[Diagnostic] = []
            output = self.process(chunk, found)
            for group in self.groups:
                found = group.judge(chunk, found, self)
            failed |= bool(found) and bool(self.report(found))
            outputs.append("" if output is None else output)
        for group in self.groups:
            group.finish(self)
        self.write(outputs)
        return 1 if failed else 0

    def process(self, text: str, found: list[Diagnostic]) -> str | bytes | None:
        """One input: its output, or None with the errors added to `found`."""
        from ...dialects.dominance import errors_in

        try:
            with self.phase("Parser"):
                module = self.parsed(text)
                if self.unwrapped and (count := len(module.body.block.ops)) != 1:
                    raise _at_start(module, f"source must contain a single top-level operation, found: {count}")
                if self.verify and not self.options.unverified_input:
                    for error in errors_in(module):
                        found.append(self.diagnosed(error))
                        if len(found) == MAX_ERRORS:
                            break
            return None if found else self.transform(module)
        except UsageError:
            raise
        except Exception as error:
            if os.environ.get("LAMINA_DEBUG"):
                raise
            found += map(self.diagnosed, self.all_of(error, text))
            return None

    def parsed(self, text: str) -> ModuleOp:
        """The module of a text, or the graph of a model."""
        if is_model(self.name):
            return read_model(self.name, self.options.dim).module()
        from ...dialects.parsing import LaminaParser

        parser = LaminaParser(self.ctx, text, self.name)
        module = parser.parse_module()
        self.unwrapped = self.options.no_implicit_module and parser.has_implicit_module
        return module

    def diagnosed(self, error: Exception) -> Diagnostic:
        """The diagnostic of an error, with the notes that options ask for."""
        found = from_exception(error)
        for group in self.groups:
            found = group.diagnose(error, found, self)
        return found

    def all_of(self, error: Exception, text: str) -> Sequence[Exception]:
        """An error with those of its kind: the text may have more that does not parse."""
        from xdsl.utils.exceptions import ParseError

        from ...dialects.recovery import syntax_errors

        if isinstance(error, ParseError) and error.span.input.content == text:
            return syntax_errors(self.ctx, text, self.name, error)
        return [error]

    def transform(self, module: ModuleOp) -> str | bytes:
        """Run the passes, then the pipeline to the phase that `--compile-to` names; what to print."""
        if self.target is not None:
            from ...lowering.target import set_target

            set_target(module, self.target)
        for group in self.groups:
            group.read(module, self)
        steps = [self.step(element) for element in self.pipeline.elements]
        if not any(group.run(steps, module, self) for group in self.groups):
            for step in steps:
                step.apply(self.ctx, module)
        for group in self.groups:
            shown = group.output(module, self)
            if shown is not None:
                return shown
        if self.options.compile_to is not None:
            compiled = compile_module(module, self.options.compile_to, self)
            if compiled is not None:
                return compiled
        with self.phase("Output"):
            if self.options.emit_bytecode:
                return bytecode.write(self.ir_text.generic(module))
            if self.options.format != "mlir":
                return in_format(module, self.options.format, self.ctx)
            if self.unwrapped and len(module.body.block.ops) == 1:
                return self.ir_text.of(module.body.block.ops.first or module) + "\n"
            return self.ir_text.of_module(module)

    def step(self, element: Any) -> Step:
        """A pass, or a pipeline for parts of the module, as a group that runs steps takes it."""
        return Step(element, self)

    # -- told by the pass manager ----------------------------------------------------------------------------------------

    def before(self, one: Any, op: Operation) -> None:
        """See `Group.before`."""
        for group in self.groups:
            group.before(one, op, self)

    def after(self, one: Any, op: Operation, seconds: float) -> None:
        """See `Group.after`."""
        for group in self.groups:
            group.after(one, op, seconds, self)

    def failed(self, one: Any, op: Operation, error: BaseException) -> None:
        """See `Group.failed`."""
        for group in self.groups:
            group.failed(one, op, error, self)

    def phase(self, name: str) -> ExitStack:
        """A context for work that is no pass, as the parser's; see `Group.phase`."""
        stack = ExitStack()
        for group in self.groups:
            stack.enter_context(group.phase(name))
        return stack

    # -- output ----------------------------------------------------------------------------------------------------------

    def write(self, outputs: Sequence[str | bytes]) -> None:
        """All outputs in order, to the file or standard output."""
        marker = self.options.output_split_marker.encode()
        data = b""
        for k, output in enumerate(outputs):
            if k and (isinstance(output, str) or marker):
                data += marker + b"\n"
            data += output.encode() if isinstance(output, str) else output
        if self.options.output_file in (None, "-"):
            binary = any(isinstance(output, bytes) for output in outputs)
            if binary and sys.stdout.isatty():
                raise UsageError("an object is binary: name a file with -o")
            if binary or hasattr(sys.stdout, "buffer"):
                sys.stdout.flush()
                sys.stdout.buffer.write(data)
            else:
                sys.stdout.write(data.decode())
            sys.stdout.flush()
        elif any(outputs):
            try:
                Path(self.options.output_file).write_bytes(data)
            except OSError as error:
                raise UsageError(f"cannot write {self.options.output_file}: {error.strerror}") from None

    def report(self, found: Sequence[Diagnostic]) -> int:
        """Print diagnostics; 1, the exit status that goes with them."""
        form = render
        if self.options.diagnostics == "json":
            from ..diagnostic_json import as_line as form
        for diagnostic in found:
            print(form(diagnostic, sources), file=sys.stderr)
        return 1


class Step:
    """An element of the pipeline, in the form for groups that run steps themselves."""

    def __init__(self, element: Any, driver: Driver) -> None:
        from ...pass_manager import text_of

        self.element, self.driver = element, driver
        self.name: str = getattr(element, "name", None) or text_of(element)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.element, name)

    def apply(self, ctx: Any, module: ModuleOp) -> None:
        """Run it on a module."""
        from ...pass_manager import run_elements

        run_elements([self.element], module, ctx, self.driver)


def _add_own(add: Callable[..., Any]) -> None:
    add(
        "input_file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="textual IR, or a model (.onnx); standard input if missing or -",
    )
    add_dims(add)
    add("-o", "--output-file", metavar="FILE", help="where to write; standard output if missing")
    add("--compile-to", choices=PHASES, metavar="PHASE", help=f"run the pipeline to a phase: {', '.join(PHASES)}")
    add("-t", "--format", default="mlir", metavar="NAME", help="an output format of xDSL instead of text (default mlir)")
    add(
        "--split-input-file",
        nargs="?",
        const=SEPARATOR,
        metavar="MARKER",
        help=f"treat the parts between lines with a marker ('{SEPARATOR}') as separate inputs",
    )
    add("--output-split-marker", default=SEPARATOR, metavar="MARKER", help="what to print between the results of such inputs")
    add("--emit-bytecode", action="store_true", help="write MLIR's bytecode, which is read without an option")
    add("--allow-unregistered-dialect", action="store_true", help="accept unknown ops in generic syntax")
    add("--no-implicit-module", action="store_true", help="the input is one op: no module is put around it")


def _at_start(module: ModuleOp, message: str) -> LaminaError:
    error = LaminaError(message)
    error.location = module.location
    return error


def split(text: str, marker: str = SEPARATOR) -> list[str]:
    """The parts between separator lines, each padded with empty lines so that positions stay those of the file."""
    parts: list[list[str]] = [[]]
    marker = marker or SEPARATOR
    for number, line in enumerate(text.split("\n")):
        if line.strip().startswith(marker):
            parts.append([""] * (number + 1))
        else:
            parts[-1].append(line)
    return ["\n".join(part) for part in parts]

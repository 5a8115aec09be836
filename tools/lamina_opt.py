"""lamina-opt: read textual IR, run passes, print what comes out.

    lamina-opt model.mlir -p 'canonicalize,graph-fuse' --print-ir-after=graph-fuse
    lamina-opt model.mlir --compile-to=asm -o model.s

Exit status: 0 if all went well, 1 if the input is at fault (with its place), 2 if the command is.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.xdsl_opt_main import xDSLOptMain

from .. import passes
from ..diagnostics import Diagnostic, from_exception, render
from ..dialects.context import make_context
from ..dialects.dominance import errors_in
from ..dialects.parsing import decode, parse_module
from ..errors import InternalError, LaminaError
from ..lowering.target import set_target
from .arguments import ArgumentParser, UsageError, add_extension, add_target, read_input, target_option
from .expectations import mismatches
from .reading import guarded, sources

PHASES = ("graph", "optimized", "loop", "scheduled", "program", "llvmir", "asm", "object")
SEPARATOR = "// -----"
MAX_ERRORS = 20


class LaminaOpt(xDSLOptMain):
    """The driver: xDSL's, with our parser, verifier, passes and messages."""

    def __init__(self, args: Sequence[str] | None = None) -> None:  # xDSL's own would load all passes and exit on errors
        arg_parser = ArgumentParser(prog="lamina-opt", description="Read textual IR, run compiler passes, print the result.")
        self.register_all_arguments(arg_parser)
        self.args = arg_parser.parse_args(args)
        self.available_targets = {}
        self.ctx = make_context(allow_unregistered=self.args.allow_unregistered_dialect)
        self.check_format(self.args.format)
        self.target = target_option(self.args)
        self.args.target = self.args.format  # what xDSL's driver calls a target
        self.setup_pipeline()

    # -- set-up --------------------------------------------------------------------------------------------------------

    def check_format(self, name: str) -> None:
        """Load xDSL's output formats if one is asked for."""
        if name == "mlir":
            return
        self.register_all_targets()
        if name.partition("{")[0] not in self.available_targets:
            raise UsageError(f"unknown format '{name}', there are: {', '.join(self.available_targets)}")

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        add = arg_parser.add_argument
        add("input_file", nargs="?", default="-", metavar="FILE", help="textual IR; standard input if missing or -")
        add("-o", "--output-file", metavar="FILE", help="where to write; standard output if missing")
        add("-p", "--passes", default="", metavar="PIPELINE", help="passes with options: 'a,b{x=1 names=p,q}'")
        add("--compile-to", choices=PHASES, metavar="PHASE", help=f"run the pipeline to a phase: {', '.join(PHASES)}")
        add_extension(arg_parser)
        add_target(arg_parser)
        add("-t", "--format", default="mlir", metavar="NAME", help="an output format of xDSL instead of text (default mlir)")
        add("--list-passes", action="store_true", help="print all passes, one line each")
        add("--split-input-file", action="store_true", help=f"treat the parts between '{SEPARATOR}' lines as separate inputs")
        add("--verify-diagnostics", action="store_true", help="check messages against the 'expected-error' comments")
        add("--verify-each", action="store_true", default=True, help="verify the IR after every pass (default)")
        add("--no-verify", dest="verify_each", action="store_false", help="verify neither the input nor between passes")
        add("--validate-each", action="store_true", help="interpret the program before and after every pass and compare")
        add("--seed", type=int, default=0, help="seed of the inputs of --validate-each")
        add("--explore", metavar="HTML", help="compile and write a page: graph, passes, schedules, assembly, memory, roofline")
        add(
            "--seeds", type=int, default=1, metavar="N", help="how many seeds --validate-each takes, from --seed on (default 1)"
        )
        add("--print-ir-after-all", action="store_true", help="print the IR after every pass (to stderr)")
        add("--print-ir-after", action="append", default=[], metavar="PASS", help="print the IR after a pass (to stderr)")
        add("--time-passes", action="store_true", help="print how long every pass took (to stderr)")
        add("--print-op-generic", "--mlir-print-op-generic", action="store_true", help="print in generic syntax")
        add("--print-debuginfo", "--mlir-print-debuginfo", action="store_true", help="print locations")
        add("--allow-unregistered-dialect", action="store_true", help="accept unknown ops in generic syntax")
        add("--no-implicit-module", action="store_true", help="the input must be one builtin.module")
        add("--version", action="store_true", help="print the version")

    def setup_pipeline(self) -> None:
        self.passes = passes.parse_passes(self.args.passes)
        for name in self.args.print_ir_after:
            passes.find_pass(name)
        self.times: list[tuple[str, float]] = []

    # -- running -------------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Do what the arguments say; the exit status."""
        if self.args.version:
            return print_version()
        if self.args.list_passes:
            return list_passes()
        name, data = read_input(self.args.input_file)
        try:
            text = decode(data, name)
        except Exception as error:
            return self.report([from_exception(error)])
        sources[name] = text
        outputs: list[str | bytes] = []
        failed = False
        for chunk in split(text) if self.args.split_input_file else [text]:
            found: list[Diagnostic] = []
            output = self.process(chunk, name, found)
            if self.args.verify_diagnostics:
                found = mismatches(chunk, name, found)
            failed |= bool(found) and bool(self.report(found))
            if output is not None:
                outputs.append(output)
        if self.args.time_passes:
            self.print_times()
        if not self.args.verify_diagnostics:
            self.write(outputs)
        return 1 if failed else 0

    def process(self, text: str, name: str, found: list[Diagnostic]) -> str | bytes | None:
        """One input: its output, or None with the errors added to `found`."""
        try:
            module = parse_module(self.ctx, text, name, implicit_module=not self.args.no_implicit_module)
            if self.args.verify_each:
                for error in errors_in(module):
                    found.append(from_exception(error))
                    if len(found) == MAX_ERRORS:
                        break
            return None if found else self.transform(module)
        except UsageError:
            raise
        except Exception as error:
            if os.environ.get("LAMINA_DEBUG"):
                raise
            found.append(from_exception(error))
            return None

    def transform(self, module: ModuleOp) -> str | bytes:
        """Run the passes, then the pipeline to the phase asked for; what to print."""
        if self.target is not None:
            set_target(module, self.target)
        if self.args.validate_each:
            self.validate(module)
        else:
            passes.run_passes(module, self.ctx, self.passes, verify_each=self.args.verify_each, after=self.after)
        if self.args.explore is not None:
            return self.explore(module)
        if self.args.compile_to is not None:
            return self.compile(module, self.args.compile_to)
        return self.output_resulting_program(module)

    def explore(self, module: ModuleOp) -> str:
        """Write the page of a compilation; nothing is printed."""
        from ..explorer import explore

        name = self.args.input_file
        try:
            explore(module, self.args.explore, name="module" if name == "-" else Path(name).stem)
        except OSError as error:
            raise UsageError(f"cannot write {self.args.explore}: {error.strerror}") from error
        return ""

    def validate(self, module: ModuleOp) -> None:
        """Run the passes, each checked by the reference interpreter on generated inputs."""
        from ..debugging.validate import validate_each

        steps: list[Any] = list(self.passes)
        if self.args.compile_to is not None:
            from .. import pipeline

            goal = self.args.compile_to if self.args.compile_to in PHASES[:5] else "program"
            steps += [step.make() for step in pipeline.steps_to(module, goal)]
        native = None
        if self.args.compile_to in PHASES[5:]:
            from ..debugging.native import Native as native
        validate_each(module, steps, self.ctx, self.args.seed, seeds=self.args.seeds, after=self.after, native=native)

    def compile(self, module: ModuleOp, phase: str) -> str | bytes:
        """Bring a module to a phase of the pipeline; IR is printed as the options say."""
        import time

        from .. import pipeline

        if phase not in PHASES[:5]:  # code, which runs without the interpreter's checks
            pipeline.guard_accesses(module)
        last = time.perf_counter()

        def each(step: Any, module: ModuleOp) -> None:
            nonlocal last
            seconds = time.perf_counter() - last
            if self.args.verify_each:
                passes.check(module, f"pass '{step.name}' left invalid IR: ")
            self.after(step.name, module, seconds)
            last = time.perf_counter()

        try:
            pipeline.run_to(module, phase, self.ctx, each)
            if phase in PHASES[:5]:
                return self.output_resulting_program(module)
            return pipeline.compile_to(module, phase, self.ctx)
        except (LaminaError, InternalError):
            raise
        except ImportError as error:
            raise InternalError(f"compiling to phase {phase}: {error}") from error

    def after(self, name: str, module: ModuleOp, seconds: float) -> None:
        """What to show after a pass."""
        self.times.append((name, seconds))
        if self.args.print_ir_after_all or name in self.args.print_ir_after:
            print(f"// IR after {name}:", self.printed(module), sep="\n", end="", file=sys.stderr)

    # -- output --------------------------------------------------------------------------------------------------------

    def output_resulting_program(self, prog: ModuleOp) -> str:
        return self.printed(prog) if self.args.target == "mlir" else super().output_resulting_program(prog)

    def printed(self, module: ModuleOp) -> str:
        """A module as text."""
        from xdsl.printer import Printer

        stream = StringIO()
        printer = Printer(stream, print_generic_format=self.args.print_op_generic, print_debuginfo=self.args.print_debuginfo)
        printer.print_op(module)
        printer.print_metadata(self.ctx.loaded_dialects)
        return stream.getvalue() + "\n"

    def write(self, outputs: Sequence[str | bytes]) -> None:
        """All outputs in order, to the file or standard output."""
        texts = [f"{SEPARATOR}\n" if k and isinstance(output, str) else "" for k, output in enumerate(outputs)]
        data = b"".join(
            prefix.encode() + (output.encode() if isinstance(output, str) else output)
            for prefix, output in zip(texts, outputs, strict=True)
        )
        if self.args.output_file in (None, "-"):
            binary = any(isinstance(output, bytes) for output in outputs)
            if binary and sys.stdout.isatty():
                raise UsageError("an object is binary: name a file with -o")
            if binary or hasattr(sys.stdout, "buffer"):
                sys.stdout.flush()
                sys.stdout.buffer.write(data)
            else:
                sys.stdout.write(data.decode())
            sys.stdout.flush()
        elif outputs:
            try:
                Path(self.args.output_file).write_bytes(data)
            except OSError as error:
                raise UsageError(f"cannot write {self.args.output_file}: {error.strerror}") from None

    def report(self, found: Sequence[Diagnostic]) -> int:
        """Print diagnostics; 1, the exit status that goes with them."""
        for diagnostic in found:
            print(render(diagnostic, sources), file=sys.stderr)
        return 1

    def print_times(self) -> None:
        """The table of --time-passes."""
        total = sum(seconds for _, seconds in self.times) or 1e-9
        print("  seconds  share  pass", file=sys.stderr)
        for name, seconds in [*self.times, ("total", total)]:
            print(f"{seconds:9.4f}  {seconds / total:5.0%}  {name}", file=sys.stderr)


def split(text: str) -> list[str]:
    """The parts between separator lines, each padded with empty lines so that positions stay those of the file."""
    parts: list[list[str]] = [[]]
    for number, line in enumerate(text.split("\n")):
        if line.strip().startswith(SEPARATOR):
            parts.append([""] * (number + 1))
        else:
            parts[-1].append(line)
    return ["\n".join(part) for part in parts]


def list_passes() -> int:
    """Print our passes and registered ones with their first line, then xDSL's names."""
    ours = passes.infos()
    width = max((len(name) for name in ours), default=0)
    for name, info in ours.items():
        print(f"{name:{width}}  {info.summary}")
    for name in passes.all_names():
        if name not in ours:
            print(f"{name:{width}}  (xDSL)")
    return 0


def print_version() -> int:
    """Print the versions of lamina and what it is built on."""
    from importlib.metadata import version

    print(f"lamina-opt {version('lamina')} (xdsl {version('xdsl')}, llvmlite {version('llvmlite')})")
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    return guarded("lamina-opt", lambda arguments: LaminaOpt(arguments).run(), args)


if __name__ == "__main__":
    sys.exit(main())

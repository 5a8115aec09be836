"""Which passes run: `--pass-pipeline`, a flag for each pass, `--dump-pass-pipeline`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..arguments import UsageError
from .group import Group

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from ...pass_manager import Nest
    from .driver import Driver


class Pipelines(Group):
    """The passes of the command line."""

    title = "passes"

    def add(self, add: Callable[..., Any]) -> None:
        add(
            "-p",
            "--passes",
            "--pass-pipeline",
            metavar="PIPELINE",
            help="passes with options, and the ops that they run on: 'a,b{x=1 names=p,q}', 'builtin.module(func.func(a),b)'; "
            "or each pass as an option, in their order: --a --b='x=1 names=p,q'",
        )
        add("--dump-pass-pipeline", action="store_true", help="print the pipeline with all options of the passes (to stderr)")
        add("--mlir-disable-threading", nargs="?", const="true", help="for scripts written for mlir-opt: passes use one thread")

    def start(self, driver: Driver) -> None:
        driver.pipeline = _pipeline(driver)
        if driver.options.dump_pass_pipeline:
            count = len(driver.pipeline.elements)
            print(f"Pass Manager with {count} passes:", *_dumped(driver.pipeline, 0), "", sep="\n", file=sys.stderr)


def _pipeline(driver: Driver) -> Nest:
    from ...pass_manager import Nest, parse_pipeline
    from ...pass_text import Element, PipelineTextError, parse_options
    from ...passes import pass_of

    text = driver.options.passes
    if not driver.pass_flags:
        return parse_pipeline(text or "", driver.ctx)
    if text is not None:
        raise UsageError("'-pass-pipeline' option can't be used with individual pass options")
    made: list[ModulePass | Nest] = []
    for name, options in driver.pass_flags:
        try:
            made.append(pass_of(Element(name, parse_options(options))))
        except PipelineTextError as error:
            raise UsageError(f"options of --{name}: {error}") from None
    return Nest("builtin.module", tuple(made))


def _dumped(element: ModulePass | Nest, depth: int) -> Iterator[str]:
    """The lines of an element, indented as by mlir-opt."""
    from ...pass_manager import Nest, text_of

    indent = "  " * depth
    if not isinstance(element, Nest):
        yield indent + text_of(element, defaults=True)
        return
    yield f"{indent}{element.anchor}("
    for k, inner in enumerate(element.elements):
        *lines, last = _dumped(inner, depth + 1)
        yield from lines
        yield last + ("," if k + 1 < len(element.elements) else "")
    yield f"{indent})"

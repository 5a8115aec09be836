"""The table of `--summary`."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from ..errors import CompileError
from .foreign import convert_foreign, module_has_foreign_ops

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

WIDTH = 160
"""Columns of a table that goes to no terminal."""


def table_of(module: ModuleOp, ctx: Context, entry: str = "main") -> str:
    """The summary of a function, as text; the module is lowered in place.

    Raises:
        CompileError: there is no such function, the package `rich` is missing, the module is scheduled already, or an op cannot
            be lowered.
    """
    try:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        raise CompileError("--summary needs the package 'rich': pip install 'lamina[models]'") from None
    from .. import pipeline
    from ..dialects.program import functions_of
    from ..explorer.memory import in_bytes
    from ..explorer.summary import summary

    if module_has_foreign_ops(module):
        convert_foreign(module, ctx, entry)
    if not pipeline.is_before(module, "scheduled"):
        raise CompileError("--summary counts in loops that are not scheduled: give a module of an earlier phase")
    functions = functions_of(module)
    if len(functions) == 1:
        entry = next(iter(functions))
    if entry not in functions:
        raise CompileError(f"--summary needs a function @{entry}; there are: {', '.join(f'@{n}' for n in functions) or 'none'}")
    found = summary(module, entry)
    total = sum(found.ops.values())
    table = Table(box=SIMPLE_HEAD, show_footer=True)
    table.add_column("layer", "total", overflow="fold")
    table.add_column("kernel", _counted(len(found.layers), "step"), overflow="fold")
    for name, value in (
        ("parameters", f"{found.parameters:,}"),
        ("flops", _number(found.flops)),
        ("memory", "?" if found.arena_bytes is None else in_bytes(found.arena_bytes)),
    ):
        table.add_column(name, value, justify="right", no_wrap=True)
    for layer in found.layers:
        memory = "?" if layer.live_bytes is None else in_bytes(layer.live_bytes)
        table.add_row(
            layer.name, layer.kernel, f"{layer.parameters:,}" if layer.parameters else "", _number(layer.flops), memory
        )
    stream = StringIO()
    console = Console(file=stream, width=WIDTH, highlight=False, markup=False, no_color=True)
    console.print(table)
    lines = [line.rstrip() for line in stream.getvalue().split("\n")]
    ops = ", ".join(f"{count} {name.removeprefix('graph.')}" for name, count in found.ops.items())
    said = _counted(total, "op") + (f": {ops}" if ops else "")
    return "\n".join([said, f"{in_bytes(found.parameter_bytes)} of parameters", *lines]).rstrip() + "\n"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _number(value: float | None) -> str:
    """A count with its unit.

    >>> _number(12_300_000.0), _number(None)
    ('12.3 M', '?')
    """
    if value is None:
        return "?"
    power = min(4, (len(str(int(value))) - 1) // 3)
    return f"{value / 1000**power:.3g} {('', 'k', 'M', 'G', 'T')[power]}".rstrip()

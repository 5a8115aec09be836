"""From a source line to the code made of it, and back: `lamina-opt --why %17`, `--whence file.py:12`.

Ops keep the locations of their origins through all passes. So the history of a line consists of the ops that name it, after
each pass, the kernels that hold them at the end, and the loops around them there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from .. import debug_counters, pipeline
from ..diagnostics import FilePosition, position_of
from ..dialects.context import make_context
from ..dialects.loop.loops import ForOp, KernelOp
from ..errors import LaminaError
from ..lowering.analysis.nests import name_of

_FRAMES = frozenset(("builtin.module", "func.func", "loop.kernel", "program.func", "graph.fusion"))


def places_of(location: Any) -> Iterator[FilePosition]:
    """All file positions in a location: fused and named ones are searched."""
    if hasattr(location, "filename"):
        yield FilePosition(location.filename.data, location.line.data, location.column.data)
        return
    for part in ("locations", "location", "callee"):
        inner = getattr(location, part, None)
        for one in () if inner is None else getattr(inner, "data", (inner,)):
            yield from places_of(one)


def line_of_value(module: ModuleOp, text: str, value: str) -> FilePosition:
    """The source line of a value as the text of a module names it, with or without the number after a colon.

    Raises:
        LaminaError: the text defines no such value.
    """
    name = value.removeprefix("%")
    pattern = re.compile(rf"^\s*[^=]*%{re.escape(name)}(?![\w.$-])[^=]*=")
    for number, line in enumerate(text.split("\n"), 1):
        if not pattern.match(line):
            continue
        for op in module.walk():
            if (position := position_of(op.location)) is not None and position.line == number and not _has_loc(line):
                return position
            if _has_loc(line) and any(result.name_hint == name for result in op.results) and position is not None:
                return position
    raise LaminaError(f"--why: the input defines no value %{name}")


def _has_loc(line: str) -> bool:
    return " loc(" in line


def trace(module: ModuleOp, position: FilePosition, title: str) -> str:
    """The history of a source line: a line for each pass that changes it, then its kernels and loops.

    Args:
        module: is brought to phase `scheduled`.
        position: a source location, whose file may be the last part of a path; the column does not matter.
        title: the first line.

    Raises:
        LaminaError: no op of the module is from there.
    """

    def is_from(location: Any) -> bool:
        return any(_is_at(p, position) for p in places_of(location))

    before = _ops(module, is_from)
    if not before:
        known = sorted({f"{p.file}:{p.line}" for op in module.walk() for p in places_of(op.location)})
        some = ", ".join(known[:8]) + (" ..." if len(known) > 8 else "")
        raise LaminaError(
            f"no op is from {position.file}:{position.line}; ops are from: {some or 'nowhere, the input has no locations'}"
        )
    lines = [title, f"  graph: {_names(before)}"]
    steps = list(pipeline.steps_to(module, "scheduled"))
    for step in steps:
        debug_counters.limit({"": (0, None)})
        try:
            step.make().apply(make_context(), module)
            rules = debug_counters.applications()
        finally:
            debug_counters.limit()
        after = _ops(module, is_from)
        if _names(after) != _names(before):
            told = f" (rules: {', '.join(sorted(filter(None, rules)))})" if any(rules) else ""
            lines.append(f"  {step.name}: {_names(after) or 'gone: nothing needs it, or it is part of another op'}{told}")
        before = after
    kernels = [op for op in module.body.block.ops if isinstance(op, KernelOp)]
    for kernel in kernels:
        nests = dict.fromkeys(_loops(op) for op in kernel.walk() if is_from(op.location) and op.name not in _FRAMES)
        if nests:
            lines.append(f"  kernel @{kernel.sym_name.data}")
            deepest = [nest for nest in nests if not any(other != nest and other[: len(nest)] == nest for other in nests)]
            lines += [f"    {' > '.join(nest) or 'outside of loops'}" for nest in deepest]
    return "\n".join(lines) + "\n"


def _is_at(one: FilePosition, wanted: FilePosition) -> bool:
    return one.line == wanted.line and (one.file == wanted.file or one.file.endswith("/" + wanted.file))


def _ops(module: ModuleOp, is_from: Callable[[Any], bool]) -> list[Operation]:
    return [op for op in module.walk() if op.name not in _FRAMES and is_from(op.location)]


def _names(ops: Sequence[Operation]) -> str:
    counts: dict[str, int] = {}
    for op in ops:
        counts[op.name] = counts.get(op.name, 0) + 1
    return ", ".join(name if n == 1 else f"{n} x {name}" for name, n in counts.items())


def _loops(op: Operation) -> tuple[str, ...]:
    """The loops around an op, the outermost first, with their kinds."""
    found: list[str] = []
    at = op.parent_op()
    while at is not None and not isinstance(at, KernelOp):
        if isinstance(at, ForOp):
            found.append(f"{at.kind.data} {name_of(at)}")
        at = at.parent_op()
    return tuple(reversed(found))


def why(module: ModuleOp, text: str, value: str) -> str:
    """`--why`: source line, passes and rules, kernels and loops of one value."""
    position = line_of_value(module, text, value)
    return trace(module, position, f"{value if value.startswith('%') else '%' + value} is from {position.file}:{position.line}")


def whence(module: ModuleOp, spot: str) -> str:
    """`--whence`: the history of `file:line`.

    Raises:
        LaminaError: it is not written so, or nothing is from there.
    """
    found = re.fullmatch(r"(.+?):(\d+)(?::\d+)?", spot)
    if found is None:
        raise LaminaError(f"--whence takes FILE:LINE, got {spot}")
    return trace(module, FilePosition(found[1], int(found[2]), 0), f"{spot} becomes")


__all__ = ["trace", "whence", "why"]

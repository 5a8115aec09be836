"""`--format`: the output formats of xDSL, as `riscv-asm` or `wat`."""

from __future__ import annotations

import inspect
from io import StringIO
from typing import TYPE_CHECKING, Any

from ..arguments import UsageError

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp


def _formats() -> dict[str, Any]:
    from xdsl.universe import Universe

    return dict(Universe.get_multiverse().all_targets)


def require_format(name: str) -> None:
    """Refuse a format that xDSL does not have."""
    if name != "mlir" and name.partition("{")[0] not in (known := _formats()):
        raise UsageError(f"unknown format '{name}', there are: {', '.join(known)}")


def in_format(module: ModuleOp, name: str, ctx: Context) -> str:
    """A module in a format, which may have options: `name{option=value}`."""
    from xdsl.utils.arg_spec import parse_spec

    spec = parse_spec(name)
    found, stream = _formats()[spec.name], StringIO()
    if inspect.signature(found).parameters:  # a function that prints
        found(module, stream)
    else:
        found().from_spec(spec).emit(ctx, module, stream)
    return stream.getvalue()

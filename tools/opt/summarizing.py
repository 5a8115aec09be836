"""`--summary`: ops, parameters, floating-point operations and planned memory, as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .group import Group

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .driver import Driver


class Summarizing(Group):
    """Compiles up to the planned memory and prints the table instead of the module."""

    title = "summarizing"

    def add(self, add: Callable[..., Any]) -> None:
        add("--summary", action="store_true", help="print a table: ops, parameters, flops and planned memory of each layer")

    def output(self, module: ModuleOp, driver: Driver) -> str | None:
        if not driver.options.summary:
            return None
        from ..summary import table_of

        return table_of(module, driver.ctx)

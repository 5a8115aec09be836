"""`--explore`: a page that shows a compilation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import UsageError
from .group import Group

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .driver import Driver


class Exploring(Group):
    """Compiles and writes the page; nothing is printed."""

    title = "exploring"

    def add(self, add: Callable[..., Any]) -> None:
        add("--explore", metavar="HTML", help="compile and write a page: graph, passes, schedules, assembly, memory, roofline")

    def output(self, module: ModuleOp, driver: Driver) -> str | None:
        page = driver.options.explore
        if page is None:
            return None
        from ...explorer import explore

        name = driver.options.input_file
        try:
            explore(module, page, name="module" if name == "-" else Path(name).stem)
        except OSError as error:
            raise UsageError(f"cannot write {page}: {error.strerror}") from error
        return ""

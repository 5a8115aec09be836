"""`--why`, `--whence`: the history of a value or of a source line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .group import Group

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .driver import Driver


class Provenance(Group):
    """Follows locations through the pipeline, to the loops of a kernel."""

    title = "from source to loops"

    def add(self, add: Callable[..., Any]) -> None:
        add(
            "--why", metavar="VALUE", help="print the source line of a value, the passes that changed it, its kernels and loops"
        )
        add("--whence", metavar="FILE:LINE", help="print what becomes of a source line")

    def start(self, driver: Driver) -> None:
        self.printed: str | None = None

    def run(self, steps: Sequence[Any], module: ModuleOp, driver: Driver) -> bool:
        options = driver.options
        if options.why is None and options.whence is None:
            return False
        from ...debugging import provenance

        self.printed = (
            provenance.whence(module, options.whence)
            if options.why is None
            else provenance.why(module, driver.text, options.why)
        )
        return True

    def output(self, module: ModuleOp, driver: Driver) -> str | bytes | None:
        return self.printed

"""Fallbacks: failures of strategies and loop builders, after which the compiler continued without them.

A failed strategy of the default schedule leaves the kernel unchanged; a loop nest that cannot be built is replaced by a plainer
one. The program is compiled all the same, so each such event is recorded: in `recorded`, on the kernel (`fallbacks`, which
`explain` shows), with `LAMINA_DEBUG` on standard error. With `LAMINA_FALLBACKS=error`, which tests set, it is an error.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections import deque
from dataclasses import dataclass

from ..dialects.loop.kernel import KernelOp
from ..errors import InternalError


@dataclass(frozen=True)
class Fallback:
    """One event.

    Attributes:
        symbol: the kernel or function.
        what: the strategy, or the op whose loop nest or algorithm was given up.
        step: the primitive that failed, as pipeline text; None where none did.
        error: the reason.
    """

    symbol: str
    what: str
    step: str | None
    error: Exception

    @property
    def reason(self) -> str:
        """The failure and its reason, in one line."""
        said = str(self.error).partition("\n")[0]
        if self.step is not None and said.startswith(self.step):
            return f"{self.what} failed: {said}"
        at = "" if self.step is None else f" at {self.step}"
        return f"{self.what} failed{at}: {type(self.error).__name__}" + (f": {said}" if said else "")

    def __str__(self) -> str:
        return f"@{self.symbol}: {self.reason}"


recorded: deque[Fallback] = deque(maxlen=1000)
"""The latest events of this process."""


def record(event: Fallback, kernel: KernelOp | None = None) -> None:
    """Record an event, and note it on the kernel that was compiled without what failed.

    Raises:
        InternalError: `LAMINA_FALLBACKS=error` is set.
    """
    if os.environ.get("LAMINA_FALLBACKS") == "error":
        raise InternalError(f"{event} (an error because of LAMINA_FALLBACKS=error)") from event.error
    recorded.append(event)
    if kernel is not None:
        kernel.add_texts("fallbacks", [event.reason])
    if os.environ.get("LAMINA_DEBUG"):
        print(f"fallback in {event}", file=sys.stderr)
        traceback.print_exception(event.error)

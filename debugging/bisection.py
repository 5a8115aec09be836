"""Finds the application of a rewrite rule that causes a fault: rules are forbidden one by one, then applications are
counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .. import debug_counters


@dataclass(frozen=True)
class Application:
    """The `number`-th time (from 1) that a rule was about to be applied; `of` is how often it was."""

    rule: str
    number: int
    of: int

    def __str__(self) -> str:
        return f"application {self.number} of {self.of} of rule '{self.rule}'"

    @property
    def option(self) -> str:
        """The option of lamina-opt that stops right after it."""
        return f"--mlir-debug-counter={self.rule}:0,{self.number}"


def bisect(fails: Callable[[], bool]) -> Application | None:
    """The application that makes a run fail: without its rule the run is right, and with one application less, too.

    Args:
        fails: runs from the start, and says whether the fault shows.

    Returns:
        None where no single rule decides.
    """
    try:
        debug_counters.limit({"": (0, None)})  # counts, and stops nothing
        fails()
        counts = debug_counters.applications()
        for rule in counts:
            debug_counters.limit(without=(rule,))
            if fails():
                continue
            return Application(rule, _first(rule, counts[rule], fails), counts[rule])
        return None
    finally:
        debug_counters.limit()


def _first(rule: str, most: int, fails: Callable[[], bool]) -> int:
    """The fewest applications of a rule that fail."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        debug_counters.limit({rule: (0, middle)})
        if fails():
            high = middle
        else:
            low = middle
    return high


__all__ = ["Application", "bisect"]

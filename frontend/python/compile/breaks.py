"""Exceptions that end or repeat the trace of a region, and Python's types and modules that it accepts unchanged."""

from __future__ import annotations

from types import CodeType

import numpy as np

VALUES = (int, bool, str, bytes, complex, float, type(None), type(Ellipsis), type(NotImplemented), range, slice, np.dtype)
"""Types of values that are guarded by being equal."""

LIBRARIES = {"numpy", "lamina", "math", "cmath", "operator", "itertools", "functools", "builtins"}
"""Modules whose functions and constants are assumed not to change."""


class GraphBreak(Exception):
    """A region ends here: why, and what to write instead."""

    def __init__(self, reason: str, remedy: str = ""):
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy
        self.frames: list[tuple[CodeType, int, int]] = []
        """Where it was, if the error is raised later: codes, instructions and lines, the innermost first."""
        self.variable: str | None = None
        """The variable that cannot leave the region, where that is the reason."""
        self.is_out_of_range = False
        """Whether an index was out of range: not the region ends there but the call, in Python's error."""


class SpecializeError(Exception):
    """A float that was an argument must be a constant: the trace begins again."""


class SourceError(Exception):
    """The trace needs capture from source."""


def is_users(cls: type) -> bool:
    return cls.__module__.split(".")[0] not in LIBRARIES

"""Targets: one data file per level of an architecture, their text form, and the detection of the host."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ...errors import CompileError
from . import aarch64, x86_64_v2, x86_64_v3, x86_64_v4
from .base import Target
from .host import host

TARGETS: dict[str, Target] = {module.TARGET.name: module.TARGET for module in (x86_64_v2, x86_64_v3, x86_64_v4, aarch64)}


def parse(text: str, this: Callable[[], Target]) -> Target:
    """The target of a text, in which `host` is what `this` gives. Raises as `get`."""
    found = re.fullmatch(r"\s*([\w.-]+)\s*(?:\{([^{}]*)\})?\s*", text)
    if found is None:
        raise CompileError(f"target '{text}' is no name with options in braces, as x86-64-v3{{l2=256K}}")
    name, options = found.groups()
    if name != "host" and name not in TARGETS:
        raise CompileError(f"unknown target '{name}', known are: host, {', '.join(TARGETS)}")
    level = this() if name == "host" else TARGETS[name]
    return level.refined(options) if options else level


@lru_cache(maxsize=256)
def get(text: str = "host") -> Target:
    """The target of a text: `host` or a key of `TARGETS`, with options in braces; public as `lamina.target`.

    Raises:
        CompileError: the text names no target, or an option that does not exist.

    >>> get("x86-64-v3").lanes(32)
    8
    >>> str(get("x86-64-v3{l3=0 l2=262144}"))
    'x86-64-v3{l2=256K l3=0}'
    """
    return parse(text, host)


__all__ = ["TARGETS", "Target", "get", "host", "parse"]

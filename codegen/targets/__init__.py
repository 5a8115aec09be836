"""Targets: one data file per machine, and the detection of the host."""

from __future__ import annotations

from ...errors import CompileError
from . import aarch64, x86_64_v2, x86_64_v3, x86_64_v4
from .base import Target
from .host import host

TARGETS: dict[str, Target] = {module.TARGET.name: module.TARGET for module in (x86_64_v2, x86_64_v3, x86_64_v4, aarch64)}


def get(name: str) -> Target:
    """The target of that name: `host`, or a key of `TARGETS`.

    >>> get("x86-64-v3").lanes(32)
    8
    """
    if name == "host":
        return host()
    try:
        return TARGETS[name]
    except KeyError:
        raise CompileError(f"unknown target '{name}', known are: host, {', '.join(TARGETS)}") from None


__all__ = ["TARGETS", "Target", "get", "host"]

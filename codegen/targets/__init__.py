"""Targets: one data file per level of an architecture, their text form, and the detection of the host."""

from __future__ import annotations

from functools import lru_cache

from . import aarch64, riscv64, wasm32, x86_64_v2, x86_64_v3, x86_64_v4  # noqa: F401  each adds itself to TARGETS
from .base import TARGETS, Target, parse
from .host import host, host_architecture


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


__all__ = ["TARGETS", "Target", "get", "host", "host_architecture", "parse"]

"""The facts that runtime helpers know about the statements that they replace."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Site:
    """A branch or loop of the user's source.

    Attributes:
        line: where it begins.
        names: variables that it may bind or change and that are read afterwards, or in the next iteration.
        changed: those of which it only assigns elements.
        lines: for each block, the line that binds each variable last.
        live: variables that are read after it.
        in_place: variables of which it assigns elements, or which it augments.
        read: variables that it reads.
        calls: whether it calls functions, which may bind variables of functions around them.
        guard: whether it stands for the rest of a block after a jump, and not for an `if` of the user's.
        stops: the flags that end the loop.
        quiet: variables that a branch binds before it jumps away, so that they are dead after the other one.
        definite: variables that are assigned whenever the loop has been entered.
        always: variables that are assigned after the loop and its `else`, entered or not.
        live_in: variables that an iteration reads before it binds them, or that are read afterwards.
    """

    line: int
    names: tuple[str, ...]
    changed: frozenset[str]
    lines: tuple[Mapping[str, int], ...]
    live: frozenset[str]
    in_place: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()
    calls: bool = False
    guard: bool = False
    stops: tuple[str, ...] = ()
    quiet: frozenset[str] = frozenset()
    definite: frozenset[str] = frozenset()
    always: frozenset[str] = frozenset()
    live_in: frozenset[str] = frozenset()


class RefusedError(Exception):
    """A function that cannot be rewritten: the node that is in the way, and why."""

    def __init__(self, node: ast.AST, message: str):
        super().__init__(message)
        self.node = node

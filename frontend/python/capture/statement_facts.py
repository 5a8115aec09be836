"""Facts about the statements of a function, computed before it is rewritten."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Note:
    """Of one statement. `live`: the names that are read after it. Of a loop, `live_in`: those that an iteration reads before it
    binds them; `stops`: the flags that end it; `definite` and `always`: the names that it assigns if it was entered, and in any
    case. Of a branch, `guard`: it is one that asks flags; `quiet`: variables it binds that are not read where it has jumped
    away. `plain`: it stays Python's, since a generator yields in it. Of a loop, `unless`: the flag that keeps its `else` from
    running, where its breaks do not tell."""

    live: set[str] = field(default_factory=set[str])
    live_in: set[str] = field(default_factory=set[str])
    stops: list[str] = field(default_factory=list[str])
    definite: set[str] = field(default_factory=set[str])
    always: set[str] = field(default_factory=set[str])
    quiet: set[str] = field(default_factory=set[str])
    unless: str = ""
    guard: bool = False
    plain: bool = False


class Notes(defaultdict[ast.AST, Note]):
    """The note of each statement of one function."""

    def __init__(self) -> None:
        super().__init__(Note)

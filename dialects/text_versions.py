"""The version of our dialects as text: `lamina.version` of a module says for which one it was written.

Text that the compiler prints after a phase has it; hand-written text need not. Older text is upgraded as it is read,
newer text is refused.

| version | changes |
|---|---|
| 1 | texts with `lamina.phase` and without `lamina.version` |
| 2 | arithmetic that upstream lacks is the dialect `scalar`; parts and constants of host functions are ops of `program` |
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

VERSION = 2
"""The version of printed text."""
ATTRIBUTE = "lamina.version"
_SAID = re.compile(r"[{,]\s*lamina\.version\s*=\s*(\d+)")
_HEAD = 1 << 14
"""Length of the beginning of a text, in characters, in which the attributes of its module stand."""


class Renamed(NamedTuple):
    """An op that had another name before a version, everywhere or only inside an op."""

    before: int
    name: str
    inside: str | None = None


RENAMED = {
    **{f"math.{name}": Renamed(2, f"scalar.{name}") for name in ("expm1_slope", "gauss", "sech2")},
    "arith.dot_words": Renamed(2, "scalar.dot_words"),
    "memref.reinterpret_cast": Renamed(2, "program.reinterpret_cast", inside="program.func"),
    "memref.get_global": Renamed(2, "program.get_global", inside="program.func"),
}
"""The renamed ops by their old names."""


def version_of(text: str) -> tuple[int, int]:
    """The version of a text, and where it is stated; text of the compiler without a version is of version 1."""
    head = text[:_HEAD]
    found = _SAID.search(head)
    if found is not None:
        return int(found[1]), found.start(1)
    return (1 if "lamina.phase" in head else VERSION), 0


def upgraded(name: str, version: int, around: Collection[str]) -> str:
    """The name that an op of a text of some version has now; `around` are the names of the ops that it is in."""
    renamed = RENAMED.get(name)
    if renamed is None or version >= renamed.before or (renamed.inside is not None and renamed.inside not in around):
        return name
    return renamed.name

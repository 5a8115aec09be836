"""`--verify-diagnostics`: comments that say which messages are expected where, as in MLIR.

    // expected-error@+1 {{operand shapes differ}}
    %2 = graph.add %0, %1 : tensor<2xf32>

`@+N`, `@-N`, `@above` and `@below` count lines from the comment; `@unknown` is for messages without a location. The text in
braces must be part of the message; in `expected-error-re` the parts in further braces are regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..diagnostics import Diagnostic, FilePosition

_COMMENT = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<re>-re)?\s*(?:@(?P<where>[+-]\d+|above|below|unknown))?"
    r"\s*(?P<count>\d+)?\s*\{\{(?P<text>.*?)\}\}(?=\s*(?:expected-|//|$))"
)


@dataclass
class Expectation:
    """One expected message."""

    severity: str
    line: int | None
    """None for `@unknown`."""
    pattern: re.Pattern[str]
    text: str
    comment: FilePosition

    def met_by(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is the one expected."""
        line = diagnostic.location.line if diagnostic.location is not None else None
        return diagnostic.severity == self.severity and line == self.line and bool(self.pattern.search(diagnostic.message))


def expectations(text: str, name: str) -> Iterator[Expectation]:
    """All expectations in the comments of a text."""
    for number, line in enumerate(text.split("\n"), 1):
        start = line.find("//")
        if start < 0:
            continue
        for found in _COMMENT.finditer(line, start):
            where = found["where"] or "+0"
            offsets = {"above": -1, "below": 1}
            at = None if where == "unknown" else number + offsets.get(where, 0) if where in offsets else number + int(where)
            for _ in range(int(found["count"] or 1)):
                pattern = re.compile(_regex(found["text"], bool(found["re"])))
                yield Expectation(found["severity"], at, pattern, found["text"], FilePosition(name, number, found.start() + 1))


def _regex(text: str, has_patterns: bool) -> str:
    if not has_patterns:
        return re.escape(text)
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(part if k % 2 else re.escape(part) for k, part in enumerate(parts))


def mismatches(text: str, name: str, found: Sequence[Diagnostic], *, only_expected: bool = False) -> list[Diagnostic]:
    """Unexpected messages, and expected ones that are missing; or, with `only_expected`, the latter."""
    open_ = list(expectations(text, name))
    wrong: list[Diagnostic] = []
    for diagnostic in [one for top in found for one in (top, *top.notes)]:
        for expectation in open_:
            if expectation.met_by(diagnostic):
                open_.remove(expectation)
                break
        else:
            if only_expected:
                continue
            if diagnostic.severity == "error" or any(e.severity == diagnostic.severity for e in open_):
                wrong.append(
                    Diagnostic("error", f"unexpected {diagnostic.severity}: {diagnostic.message}", diagnostic.location)
                )
    wrong += [Diagnostic("error", f'expected {one.severity} "{one.text}" was not produced', one.comment) for one in open_]
    return wrong

"""Which rules are applied, and how often: `--only-rules`, `--without-rules`, `--mlir-debug-counter`."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import debug_counters
from ..arguments import UsageError
from .group import Group

if TYPE_CHECKING:
    from .driver import Driver

Window = tuple[int, int | None]
PASSES = "pass-execution"
"""The counter of passes, as in MLIR."""


class Limiting(Group):
    """Sets the limits before passes run, and takes them back."""

    title = "which rules are applied"

    def add(self, add: Callable[..., Any]) -> None:
        add("--only-rules", metavar="RULE,...", help="apply no rewrite rules but these (docs/rules.md lists them)")
        add("--without-rules", metavar="RULE,...", help="do not apply these rules")
        add(
            "--mlir-debug-counter",
            action="append",
            default=[],
            metavar="RULE:SKIP,COUNT",
            help="skip so many applications of a rule, then allow so many; also RULE-skip=N,RULE-count=N as in MLIR. "
            f"The counter {PASSES} is of passes",
        )
        add("--mlir-print-debug-counter", action="store_true", help="print how often each rule came up (to stderr)")

    def start(self, driver: Driver) -> None:
        options = driver.options
        self.windows: dict[str, Window] = {}
        for text in options.mlir_debug_counter:
            self._read(text)
        only, without = (None if text is None else _rules(text) for text in (options.only_rules, options.without_rules))
        if only is not None:
            only |= {PASSES}
        if options.mlir_print_debug_counter and not self.windows:
            self.windows[PASSES] = (0, None)
        debug_counters.limit(self.windows, only=only, without=without or ())
        self.shows = options.mlir_print_debug_counter

    def finish(self, driver: Driver) -> None:
        if self.shows:
            print("DebugCounter counters:", file=sys.stderr)
            for name, number in sorted(debug_counters.applications().items()):
                skip, count = self.windows.get(name, (0, None))
                print(f"{name:32}: {{{number},{skip},{-1 if count is None else count}}}", file=sys.stderr)
        debug_counters.limit()

    def _read(self, text: str) -> None:
        short = re.fullmatch(r"([\w-]+):(\d+)(?:,(\d+))?", text)
        if short:
            self.windows[_rule(short[1])] = int(short[2]), None if short[3] is None else int(short[3])
            return
        for part in text.split(","):
            long = re.fullmatch(r"([\w-]+)-(skip|count)=(-?\d+)", part)
            if not long:
                raise UsageError(f"--mlir-debug-counter takes RULE:SKIP,COUNT or RULE-skip=N,RULE-count=N, got {text}")
            skip, count = self.windows.get(name := _rule(long[1]), (0, None))
            number = int(long[3])
            self.windows[name] = (number, count) if long[2] == "skip" else (skip, None if number < 0 else number)


def _rules(text: str) -> set[str]:
    return {_rule(name) for name in text.split(",") if name}


def _rule(name: str) -> str:
    """The name of a rule that is there; dashes are underscores, and leading ones may be missing."""
    if name == PASSES:
        return name
    from ...dialects.graph.rules import RULES, rules_by_root

    rules_by_root()
    known = {entry.name.strip("_"): entry.name for entry in RULES}
    wanted = name.replace("-", "_").strip("_")
    if wanted not in known:
        close = difflib.get_close_matches(wanted, known, 3)
        hint = f", did you mean {' or '.join(close)}?" if close else "; docs/rules.md lists them"
        raise UsageError(f"there is no rule '{name}'{hint}")
    return known[wanted]

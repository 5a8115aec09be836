"""Costs and statistics of passes: `--mlir-timing` and `--mlir-pass-statistics`, as trees of the pipeline or as sorted lists."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ... import debug_counters
from .group import Group
from .printing import shown_name

if TYPE_CHECKING:
    from argparse import Namespace

    from xdsl.ir import Operation

    from .driver import Driver

_RULE = "===" + "-" * 73 + "==="


@dataclass
class _Row:
    """A line of a report: a pass or a pipeline in it, seconds, statistics by name, and the nested lines."""

    name: str
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    inside: list[_Row] = field(default_factory=list)

    def walk(self) -> Iterator[_Row]:
        """This row and all inside."""
        yield self
        for row in self.inside:
            yield from row.walk()


class Measuring(Group):
    """Times and counts of the passes."""

    title = "measuring"

    def add(self, add: Callable[..., Any]) -> None:
        add("--mlir-timing", "--time-passes", action="store_true", help="print how long every pass took (to stderr)")
        add("--mlir-timing-display", choices=("tree", "list"), default="tree", help="as the pipeline, or the longest first")
        add("--mlir-output-format", choices=("text", "json"), default="text", help="of --mlir-timing")
        add("--mlir-pass-statistics", action="store_true", help="print what every pass counted (to stderr)")
        add(
            "--mlir-pass-statistics-display", choices=("list", "pipeline"), default="pipeline", help="sums by pass, or each one"
        )

    def start(self, driver: Driver) -> None:
        self.options: Namespace = driver.options
        self.began = perf_counter()
        self.rows: list[_Row] = []
        self.of_pass: dict[int, _Row] = {}
        self.running: list[tuple[float, Any]] = []
        self.counting = self.options.mlir_pass_statistics
        self.rows = [self._row(element) for element in driver.pipeline.elements]
        self.frame: list[_Row] = []

    def _row(self, element: Any) -> _Row:
        if hasattr(element, "anchor"):
            return _Row(f"'{element.anchor}' Pipeline", inside=[self._row(inner) for inner in element.elements])
        row = _Row(shown_name(element), about=dict(getattr(element, "statistics", {})))
        self.of_pass[id(element)] = row
        return row

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        finally:
            found = next((row for row in self.frame if row.name == name), None)
            if found is None:
                found = _Row(name)
                self.frame.append(found)
            found.seconds += perf_counter() - start

    def before(self, one: Any, op: Operation, driver: Driver) -> None:
        if self.counting:
            self.ops = sum(1 for _ in op.walk())
            debug_counters.start_counting()

    def after(self, one: Any, op: Operation, seconds: float, driver: Driver) -> None:
        row = self.of_pass.get(id(one))
        if row is None:
            row = self.of_pass[id(one)] = _Row(shown_name(one))
            self.rows.append(row)
        row.seconds += seconds
        if self.counting:
            counts = debug_counters.counted()
            change = sum(1 for _ in op.walk()) - self.ops
            if one.name == "cse":
                counts = {"num-cse'd": -change}
                row.about["num-cse'd"] = "Number of operations CSE'd"
            else:
                counts["num-ops-added" if change > 0 else "num-ops-removed"] = abs(change)
                row.about |= {
                    "num-ops-added": "Number of operations more than before",
                    "num-ops-removed": "Number of operations fewer than before",
                }
            for name, count in counts.items():
                row.counts[name] = row.counts.get(name, 0) + count

    def finish(self, driver: Driver) -> None:
        if self.options.mlir_timing:
            print(self._timing(), file=sys.stderr)
        if self.counting:
            print(self._statistics(), file=sys.stderr)

    # -- reports ---------------------------------------------------------------------------------------------------------

    def _timing(self) -> str:
        total = perf_counter() - self.began
        top = [row for row in self.frame if row.name != "Output"]
        top += [*self.rows, *(row for row in self.frame if row.name == "Output")]
        for row in [one for each in top for one in each.walk()][::-1]:
            if row.inside:
                row.seconds = sum(inner.seconds for inner in row.inside)
        rest = max(0.0, total - sum(row.seconds for row in top))
        ends = [_Row("Rest", rest), _Row("Total", total)]
        if self.options.mlir_output_format == "json":
            return _timing_json(top, ends, total)
        lines = [_RULE, " " * 25 + "... Execution time report ...", _RULE]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        rows = list(_tree(top, 0))
        if self.options.mlir_timing_display == "list":
            merged: dict[str, float] = {"root": total}
            for _, row in rows:
                merged[row.name] = merged.get(row.name, 0.0) + row.seconds
            rows = [(0, _Row(name, merged[name])) for name in sorted(merged, key=lambda name: -merged[name])]
        for depth, row in [*rows, *((0, row) for row in ends)]:
            share = 100 * row.seconds / (total or 1e-9)
            lines.append(f"  {row.seconds:8.4f} ({share:5.1f}%)  {'  ' * depth}{row.name}")
        return "\n".join(lines)

    def _statistics(self) -> str:
        lines = [_RULE, " " * 25 + "... Pass statistics report ...", _RULE]
        rows, indent = list(_tree(self.rows, 0)), ""
        if self.options.mlir_pass_statistics_display == "list":
            merged: dict[str, _Row] = {}
            for _, row in rows:
                sums = merged.setdefault(row.name, _Row(row.name, about=row.about))
                for name, count in row.counts.items():
                    sums.counts[name] = sums.counts.get(name, 0) + count
            rows = [(0, merged[name]) for name in sorted(merged) if merged[name].counts]
            indent = "  "
        for depth, row in rows:
            lines.append(f"{indent}{'  ' * depth}{row.name}")
            for name, count in sorted(row.counts.items()):
                about = row.about.get(name, "")
                lines.append(f"{indent}{'  ' * depth}  (S) {count} {name}" + (f" - {about}" if about else ""))
        return "\n".join([*lines, ""])


def _tree(rows: list[_Row], depth: int) -> Iterator[tuple[int, _Row]]:
    for row in rows:
        yield depth, row
        yield from _tree(row.inside, depth + 1)


def _timing_json(top: list[_Row], ends: list[_Row], total: float) -> str:
    """The form of mlir-opt's `--mlir-output-format=json`, as JSON that parses."""
    import json

    def shown(row: _Row) -> dict[str, Any]:
        wall = {"duration": round(row.seconds, 4), "percentage": round(100 * row.seconds / (total or 1e-9), 1)}
        found: dict[str, Any] = {"wall": wall, "name": row.name}
        return found | ({"passes": [*map(shown, row.inside), {}]} if row not in ends else {})

    return "[\n" + ",\n".join(json.dumps(shown(row)) for row in [*top, *ends]) + "\n]"

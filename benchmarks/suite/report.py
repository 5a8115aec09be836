"""Reports of the outcomes: a table on the terminal, JSON, and the tables of the documentation. The plot is in `plot.py`."""

from __future__ import annotations

import os
import platform
import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from . import compiling
from .compiling import CompileTimes
from .peers import PEERS
from .session import Figure, Outcome

BEGIN = "<!-- benchmarks: begin; written by make bench -->"
END = "<!-- benchmarks: end -->"
HEADLINES = (
    *("matmul 1024", "linear gelu", "chain", "softmax", "layer_norm", "conv 3x3", "attention", "jacobi", "embedding bag"),
    "lnp.segment_sum",
)
"""The rows that the README shows."""


def machine() -> str:
    """The processor and its cores, in words."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    model = next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    vectors = "AVX-512, " if "avx512f" in text else "AVX2, " if "avx2" in text else ""
    return f"{model or platform.processor() or platform.machine()}, {vectors}{cores} cores, {platform.system()}"


def versions(peers: Sequence[str]) -> str:
    """The peers with their versions."""
    return ", ".join(f"{name} {PEERS[name].version()}" for name in peers)


# The terminal


def show(outcomes: Sequence[Outcome], peers: Sequence[str], console: Console) -> None:
    """Print one table for each number of threads, and remarks on single figures."""
    for threads in dict.fromkeys(outcome.threads for outcome in outcomes):
        table = Table(title=f"{threads} thread{'s' * (threads > 1)}: milliseconds, medians of interleaved rounds")
        table.add_column("row")
        for name in ["lamina", *peers, "ratio", "asked", "limit", "first call", "memory"]:
            table.add_column(name, justify="right")
        notes = []
        for outcome in (o for o in outcomes if o.threads == threads):
            table.add_row(*cells(outcome, peers))
            notes += [f"{outcome.row.name}, {n}: {f.note}" for n, f in outcome.figures.items() if f.note]
        console.print(table)
        _show_gains([o for o in outcomes if o.threads == threads], console)
        for note in notes:
            console.print(note, highlight=False, markup=False, soft_wrap=True)
    for row, speedup in second_threads(outcomes):
        console.print(f"{row}: two threads are {speedup:.2f} times as fast as one", highlight=False)


def _show_gains(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print how many times as fast as `before` the rows are, the slowest first."""
    gains = {o.row.name: o.gain for o in outcomes if o.gain is not None}
    if gains:
        mean = statistics.geometric_mean(gains.values())
        rows = ", ".join(f"{name} {gain:.2f}" for name, gain in sorted(gains.items(), key=lambda item: item[1]))
        console.print(f"times as fast as before: {mean:.3f} (geometric mean); {rows}", highlight=False, soft_wrap=True)


def line(outcome: Outcome) -> str:
    """An outcome in one line, for logs."""
    times = ", ".join(f"{n} {milliseconds(f)}" for n, f in outcome.figures.items() if f.seconds is not None or f.note)
    ratio = "" if outcome.ratio is None else f"; ratio {outcome.ratio:.2f}, asked {outcome.row.limit:g}"
    gain = "" if outcome.gain is None else f"; {outcome.gain:.2f} times as fast as before"
    return f"{outcome.row.name}, {outcome.threads} threads: {times}{ratio}{gain}"


def cells(outcome: Outcome, peers: Sequence[str]) -> list[str]:
    """A row of the table: times, the best peer marked, ratio, goals, the share of the machine's limit."""
    best = outcome.best[0] if outcome.best else None
    texts = []
    for name in ["lamina", *peers]:
        text = milliseconds(outcome.figures.get(name, Figure()))
        texts.append(f"[bold]{text}[/]" if name == best else text)
    colour = {True: "green", False: "red", None: "dim"}[outcome.met]
    ratio = "-" if outcome.ratio is None else f"[{colour}]{outcome.ratio:.2f}[/]"
    ours = outcome.figures.get("lamina", Figure())
    first = "-" if ours.first is None else f"{1e3 * ours.first:.0f} ms"
    return [outcome.row.name, *texts, ratio, asked(outcome), share(outcome), first, megabytes(ours.peak)]


def milliseconds(figure: Figure) -> str:
    """A time, or the reason why there is none."""
    if figure.seconds is None:
        return figure.note.partition(":")[0] or "-"
    return f"{1e3 * figure.seconds:.3g}"


def megabytes(size: int | None) -> str:
    """A size."""
    return "-" if size is None else f"{size / 2**20:.1f} MiB"


def asked(outcome: Outcome) -> str:
    """The goals of a row: the ratio and others."""
    row = outcome.row
    memory = "" if row.memory is None else f", {megabytes(row.memory)}"
    return f"{row.limit:g}" + ("" if row.share is None else f", {100 * row.share:.0f} %") + memory


def share(outcome: Outcome) -> str:
    """The share of the machine's limit."""
    if outcome.share is None:
        return "-"
    return f"{100 * outcome.share:.0f} % {'FMA' if outcome.row.case.flops else 'triad'}"


def second_threads(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, float]]:
    """Rows bound by arithmetic, of 10 ms or more, with the speedup of two threads over one (the goal is 1.8)."""
    ours = {(o.row.name, o.threads): o.ours for o in outcomes}
    for outcome in outcomes:
        one, two = ours.get((outcome.row.name, 1)), outcome.ours
        if outcome.threads == 2 and outcome.row.case.flops and one and two and one >= 0.01:
            yield outcome.row.name, one / two


def show_compiling(times: CompileTimes, console: Console) -> None:
    """Print the compile times."""
    table = Table(title="compiling, in ms: a first call less a later one, the compiler being imported")
    for column in ("row", "cold", "from the cache"):
        table.add_column(column, justify="left" if column == "row" else "right")
    for name, cold in times.cold.items():
        table.add_row(name, f"{1e3 * cold:.0f}", f"{1e3 * times.cached.get(name, float('nan')):.1f}")
    table.add_row("asked", f"{1e3 * compiling.COLD:.0f}", f"{1e3 * compiling.CACHED:.0f}", end_section=True)
    console.print(table)
    for sentence in (_curve(times), _fresh(times), _models(times)):
        console.print(sentence, highlight=False)


def _curve(times: CompileTimes) -> str:
    curve = ", ".join(f"{n}: {1e3 * seconds:.0f} ms" for n, seconds in times.curve.items())
    ratios = ", ".join(f"{ratio:.2f}" for ratio in times.doublings)
    return f"programs of so many distinct kernels, {curve}; each doubling takes {ratios} times as long (the goal is at most 2)"


def _fresh(times: CompileTimes) -> str:
    spelled = ", ".join(f"{1e3 * seconds:.0f} ms {when}" for when, seconds in times.fresh.items())
    return f"a process from the import to its first result: {spelled or 'not measured'}"


def _models(times: CompileTimes) -> str:
    networks = [
        f"{name}: {', '.join(f'{who} {1e3 * seconds:.0f}' for who, seconds in found.items())}"
        for name, found in times.models.items()
    ]
    return f"whole networks cold, in ms: {'; '.join(networks) or 'not measured'}"


# Files


def as_json(outcomes: Sequence[Outcome], times: CompileTimes | None, peers: Sequence[str]) -> dict[str, Any]:
    """Everything measured: seconds and bytes."""
    rows = [
        {
            "row": o.row.name,
            "sizes": o.row.sizes,
            "threads": o.threads,
            "best": o.best[0] if o.best else None,
            "ratio": o.ratio,
            "gain": o.gain,
            "asked": o.row.limit,
            "share": o.share,
            "asked_share": o.row.share,
            "met": o.met,
            "figures": {name: vars(figure) for name, figure in o.figures.items()},
        }
        for o in outcomes
    ]
    compiled = None if times is None else {**vars(times), "doublings": times.doublings}
    return {"machine": machine(), "versions": {n: PEERS[n].version() for n in peers}, "rows": rows, "compiling": compiled}


def markdown(outcomes: Sequence[Outcome], times: CompileTimes | None, peers: Sequence[str], rounds: int) -> str:
    """The table of docs/benchmarks.md: the largest number of threads, and the ratio at the others."""
    most = max(o.threads for o in outcomes)
    others = sorted({o.threads for o in outcomes} - {most})
    head = ["row", "sizes", "lamina", *peers, "ratio", *(f"ratio, {n} thread{'s' * (n > 1)}" for n in others), "asked", "limit"]
    lines = [
        f"On {machine()}: milliseconds, medians of {rounds} interleaved rounds, {most} thread{'s' * (most > 1)}, results",
        "checked first. *ratio*: the best peer's time (in bold) over ours; *limit*: the share of the FMA peak or of the triad",
        "bandwidth, measured in the same rounds (above 100 % where the caches hold the data). Where a row falls short of what",
        f"is asked, its ratio has a †. {versions(peers)}.",
        "",
        "![ratios](benchmarks.svg)",
        "",
        "| " + " | ".join(head) + " |",
        "|---|---|" + "--:|" * (len(head) - 2),
    ]
    for outcome in (o for o in outcomes if o.threads == most):
        same = {o.threads: o for o in outcomes if o.row.name == outcome.row.name}
        best = outcome.best[0] if outcome.best else None
        times_of = [(name, milliseconds(outcome.figures.get(name, Figure()))) for name in ["lamina", *peers]]
        texts = [f"**{text}**" if name == best else text for name, text in times_of]
        ratios = [_ratio(same.get(n)) for n in (most, *others)]
        lines.append(
            "| " + " | ".join([outcome.row.name, outcome.row.sizes, *texts, *ratios, asked(outcome), share(outcome)]) + " |"
        )
    threads = ", ".join(f"{row} {speedup:.2f}" for row, speedup in second_threads(outcomes))
    lines += (
        ["", f"A second thread, on rows of 10 ms or more that are bound by arithmetic (1.8 asked): {threads}."]
        if threads
        else []
    )
    if times is not None:
        lines += ["", _compiling(times)]
    return "\n".join(lines)


def headlines(outcomes: Sequence[Outcome], rounds: int) -> str:
    """The table of the README: some rows of every kind beside the best peer of each."""
    most = max(o.threads for o in outcomes)
    lines = [
        f"On {machine()}, {most} thread{'s' * (most > 1)}: milliseconds, medians of {rounds} interleaved rounds.",
        "",
        "| row | sizes | lamina | best peer | ratio |",
        "|---|---|--:|--:|--:|",
    ]
    for outcome in outcomes:
        if outcome.threads != most or outcome.row.name not in HEADLINES or outcome.best is None:
            continue
        name, _ = outcome.best
        ours, theirs = (milliseconds(outcome.figures[who]) for who in ("lamina", name))
        lines.append(f"| {outcome.row.name} | {outcome.row.sizes} | {ours} | {theirs}, {name} | {outcome.ratio:.2f} |")
    return "\n".join(lines)


def _ratio(outcome: Outcome | None) -> str:
    if outcome is None or outcome.ratio is None:
        return "-"
    return f"{outcome.ratio:.2f}{'' if outcome.met else ' †'}"


def _compiling(times: CompileTimes) -> str:
    """Compile times in a sentence: the slowest row of each kind."""
    sentences = []
    for what, seconds, limit in (("cold", times.cold, compiling.COLD), ("from the cache", times.cached, compiling.CACHED)):
        if seconds:
            worst = max(seconds, key=lambda name: seconds[name])
            middle = 1e3 * sorted(seconds.values())[len(seconds) // 2]
            most = 1e3 * seconds[worst]
            sentences.append(f"{what} {middle:.3g} ms in the middle, {most:.3g} at most ({worst}; asked: {1e3 * limit:g})")
    rest = " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in (_curve(times), _fresh(times), _models(times)))
    return f"Compiling a row: {'; '.join(sentences)}. {rest}"


def update(path: Path, text: str) -> None:
    """Put a text between the markers of a file.

    Raises:
        ValueError: the file has no markers.
    """
    old = path.read_text(encoding="utf-8")
    block = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not block.search(old):
        raise ValueError(f"{path} has no lines {BEGIN} and {END}")
    path.write_text(block.sub(lambda _: f"{BEGIN}\n{text}\n{END}", old), encoding="utf-8")

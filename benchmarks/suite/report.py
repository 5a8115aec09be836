"""What the outcomes look like: a table on the terminal, JSON, a plot, and the table of the README."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from .session import Figure, Outcome


def show(outcomes: Sequence[Outcome], peers: Sequence[str], console: Console) -> None:
    """Print one table for each number of threads."""
    for threads in dict.fromkeys(outcome.threads for outcome in outcomes):
        table = Table(title=f"{threads} thread{'s' * (threads > 1)}: milliseconds, medians of interleaved rounds")
        table.add_column("row")
        for name in ["lamina", *peers, "ratio", "asked", "limit"]:
            table.add_column(name, justify="right")
        notes = []
        for outcome in (o for o in outcomes if o.threads == threads):
            table.add_row(*cells(outcome, peers))
            notes += [f"{outcome.row.name}, {n}: {f.note}" for n, f in outcome.figures.items() if f.note]
        console.print(table)
        for note in notes:
            console.print(note, highlight=False, markup=False, soft_wrap=True)


def cells(outcome: Outcome, peers: Sequence[str]) -> list[str]:
    """A row of the table: times, the best peer marked, ratio, what is asked, the share of the machine's limit."""
    best = outcome.best[0] if outcome.best else None
    times = [outcome.figures.get(name, Figure()) for name in ["lamina", *peers]]
    texts = [
        f"[bold]{milliseconds(f)}[/]" if name == best else milliseconds(f)
        for name, f in zip(["lamina", *peers], times, strict=True)
    ]
    colour = {True: "green", False: "red", None: "dim"}[outcome.met]
    ratio = "-" if outcome.ratio is None else f"[{colour}]{outcome.ratio:.2f}[/]"
    limit = "-" if outcome.share is None else f"{100 * outcome.share:.0f} %"
    asked = f"{outcome.row.limit:g}" + (f", {100 * outcome.row.share:.0f} %" if outcome.row.share else "")
    return [outcome.row.name, *texts, ratio, asked, limit]


def milliseconds(figure: Figure) -> str:
    """A time, or what there is instead."""
    if figure.seconds is None:
        return figure.note.partition(":")[0] or "-"
    return f"{1e3 * figure.seconds:.3g}"

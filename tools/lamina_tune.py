"""lamina-tune: measure this machine, once, so that schedules fit it.

lamina-tune --machine
lamina-tune --show

What is measured to be better than what was detected is kept as the text of a target beside the object cache, and taken by all
later compilations for the host. LAMINA_MACHINE=off ignores it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .arguments import ArgumentParser, UsageError
from .reading import guarded

SECONDS = 10.0
"""Seconds of measuring; compiling the candidates takes some more."""


def main(args: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    return guarded("lamina-tune", run, args)


def run(args: Sequence[str] | None) -> int:
    """Measure and keep, or show."""
    parser = ArgumentParser(prog="lamina-tune", description="Measure this machine for the schedules of later compilations.")
    parser.add_argument("--machine", action="store_true", help="measure vectors, tiles, instructions, caches, stores, threads")
    parser.add_argument("--show", action="store_true", help="print what was measured, or what would be; measure nothing")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"how long to measure, about ({SECONDS:g})")
    options = parser.parse_args(args)
    if options.show:
        return _show()
    if not options.machine:
        raise UsageError("say what to tune: --machine (kernels are tuned in Python, by lamina.tune)")
    if not options.seconds > 0:
        raise UsageError(f"--seconds must be above 0, got {options.seconds:g}")
    return _measure(options.seconds)


def _show() -> int:
    from ..codegen.targets import host, measured
    from ..codegen.targets.host import detect

    try:
        measured.read(detect())
        place = measured.path()
        assert place is not None
        print(f"{place}:\n{place.read_text()}", end="")
    except measured.IgnoredError as reason:
        from .measuring import MEASUREMENTS

        print(f"not measured: {reason}\ndetected: {detect()}\nlamina-tune --machine measures: {', '.join(MEASUREMENTS)}")
    print(f"host: {host()}")
    return 0


def _measure(seconds: float) -> int:
    from ..codegen.targets import measured
    from ..codegen.targets.host import detect
    from .measuring import MEASUREMENTS, measure

    detected = detect()
    with _progress(len(MEASUREMENTS)) as each:
        target, notes = measure(detected, seconds, each)
    place = measured.write(target, detected, notes)
    print(measured.text_of(target, detected, notes), end="")
    if place is None:
        print("lamina-tune: not kept: the object cache is off, or its folder cannot be written", file=sys.stderr)
        return 1
    print(f"kept in {place}", file=sys.stderr)
    if measured.is_off():
        print("lamina-tune: LAMINA_MACHINE says that it is ignored", file=sys.stderr)
    return 0


@contextmanager
def _progress(count: int) -> Iterator[Callable[[str], None]]:
    """A function to call with the name of each of so many steps; a bar on a terminal, else a line for each."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield lambda name: print(name, file=sys.stderr, flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("measuring", total=count, completed=-1)

        def each(name: str) -> None:
            progress.update(task, description=name, advance=1)

        yield each
        progress.update(task, description="measured", advance=1)


if __name__ == "__main__":
    sys.exit(main())

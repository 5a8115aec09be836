"""lamina beside its alternatives: NumPy, XLA's jit, torch, numba, IREE and onnxruntime, on the same inputs.

    python benchmarks/bench.py                                  # everything but torch.compile, at 1 and 2 threads
    python benchmarks/bench.py --rows 'matmul*' --threads 2     # some rows; several patterns are separated by commas
    python benchmarks/bench.py --peers NumPy,jax.jit --quick    # reduced sizes: does it all work?
    python benchmarks/bench.py --against ../before/.venv/bin/python            # beside another checkout of lamina
    python benchmarks/bench.py --against 'LAMINA_TARGET=x86-64-v3'         # beside itself with other schedules

Every peer runs in a process of its own and sleeps while another one is measured; they take turns, and medians are compared. A
peer that is not installed, and a row that fails, are said in the table.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from rich.console import Console
from suite import compiling, layers, plot, report
from suite.compiling import CompileTimes
from suite.peers import OURS, PEERS
from suite.rows import ROWS
from suite.session import Outcome, Session, Worker

OUT = Path(__file__).parent / "out"
ROOT = Path(__file__).parent.parent
COMPILING = "compile"  # the row about compile times, which has no peers
LAYERS = "layers"  # first calls by the number of layers, beside jax: takes minutes, only on request
OPTIONAL = ("torch.compile",)  # minutes of compilation: only on request


def arguments() -> argparse.Namespace:
    """The command line."""
    others = [name for name in PEERS if name not in OURS]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="*", help="patterns of names, separated by commas")
    parser.add_argument("--threads", default=None, help="numbers of threads (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each peer (default: 15)")
    parser.add_argument("--peers", default="", help=f"some of {','.join(others)}, or all (default: without torch.compile)")
    parser.add_argument("--against", type=Worker.parse, metavar="WORDS", help="lamina of another interpreter or environment")
    parser.add_argument("--quick", action="store_true", help="reduced sizes")
    parser.add_argument("--update-docs", action="store_true", help="the table and the plot into docs/, ten rows into README.md")
    parser.add_argument("--keep", action="store_true", help="reuse what was compiled in earlier runs; first calls are warm")
    parser.add_argument("--out", type=Path, default=OUT, help="a folder for the JSON and the plot")
    options = parser.parse_args()
    usual = [name for name in others if name not in OPTIONAL]
    options.peers = {"": usual, "all": others}.get(options.peers) or options.peers.split(",")
    for name in options.peers:
        if name not in others:
            parser.error(f"no peer {name!r}; there are: {', '.join(others)}")
    chosen = options.rows.split(",")
    options.rows = [row for row in ROWS if any(fnmatch(row.name, f"{one.strip()}*") for one in chosen)]
    options.compiling = any(fnmatch(COMPILING, f"{one.strip()}*") for one in chosen)
    options.layers = LAYERS in chosen
    if not options.rows and not options.compiling and not options.layers:
        parser.error(f"no such row; there are: {', '.join(row.name for row in ROWS)}, {COMPILING}, {LAYERS}")
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    options.threads = [int(n) for n in (options.threads or "1,2").split(",") if int(n) <= processors]
    return options


def main() -> None:
    options, console = arguments(), Console()
    if not console.is_terminal:
        console = Console(width=180)
    peers = [name for name in options.peers if PEERS[name].version() is not None]
    for name in options.peers:
        if name not in peers:
            console.print(f"{name} is not installed ({', '.join(PEERS[name].needs)}): left out", highlight=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outcomes: list[Outcome] = []
    times: CompileTimes | None = None
    with tempfile.TemporaryDirectory() as scratch:
        try:
            if options.compiling:
                with console.status("compile times"):
                    times = compile_times(options, Path(scratch), console)
            if options.layers:
                with console.status("first calls by the number of layers"):
                    layers.show(
                        console, 1 if options.quick else min(options.rounds, 5), layers.COUNTS[: 2 if options.quick else 4]
                    )
            measure(options, peers, Path(scratch), outcomes, console)
        except KeyboardInterrupt:
            console.print("interrupted: what was measured so far")
    finish(options, peers, outcomes, times, console)


def measure(options: argparse.Namespace, peers: list[str], scratch: Path, outcomes: list[Outcome], console: Console) -> None:
    """Run the rows at each number of threads; `outcomes` is added to."""
    cache = options.out / "cache" if options.keep else scratch / "cache"
    for threads in options.threads:
        ours = ["lamina", "machine", *peers]
        with Session(ours, threads, scratch, cache, options.rounds, options.quick, options.against) as session:
            for row in options.rows:
                with console.status(f"{row.name}, {threads} thread{'s' * (threads > 1)}"):
                    outcomes.append(session.measure(row))
                if not console.is_terminal:
                    print(report.line(outcomes[-1]), flush=True)


def compile_times(options: argparse.Namespace, scratch: Path, console: Console) -> CompileTimes | None:
    """The rows' compile times, or None, said why."""
    try:
        rows = [row.name for row in options.rows or ROWS]
        if options.quick:
            return compiling.measure(rows, scratch, compiling.COUNTS[:2], small=True, rounds=1)
        return compiling.measure(rows, scratch)
    except subprocess.CalledProcessError as error:
        console.print(f"compile times failed: {error.stderr.strip().splitlines()[-1:]}", markup=False)
        return None


def finish(
    options: argparse.Namespace, peers: list[str], outcomes: list[Outcome], times: CompileTimes | None, console: Console
) -> None:
    """Print the tables; write `out/latest.json`, the plot and, if requested, the tables of the documentation."""
    report.show(outcomes, peers, console)
    if times is not None:
        report.show_compiling(times, console)
    options.out.mkdir(exist_ok=True)
    (options.out / "latest.json").write_text(json.dumps(report.as_json(outcomes, times, peers), indent=1) + "\n")
    picture = ROOT / "docs" / "benchmarks.svg" if options.update_docs else options.out / "latest.svg"
    if outcomes and not plot.draw(outcomes, picture):
        console.print("no plot: matplotlib is not installed, or there is nothing to draw")
    if options.update_docs and outcomes:
        report.update(ROOT / "docs" / "benchmarks.md", report.markdown(outcomes, times, peers, options.rounds))
        report.update(ROOT / "README.md", report.headlines(outcomes, options.rounds))


if __name__ == "__main__":
    main()

"""lamina beside what users would pick instead: NumPy, XLA's jit, torch, numba, IREE and onnxruntime, on the same inputs.

    python benchmarks/bench.py                                  # everything but torch.compile, at 1 and 2 threads
    python benchmarks/bench.py --rows 'matmul*' --threads 2     # some rows; several patterns are separated by commas
    python benchmarks/bench.py --peers NumPy,jax.jit --quick    # reduced sizes: does it all work?

Every peer runs in a process of its own and sleeps while another one is measured; they take turns, and medians are compared. A
peer that is not installed, and a row that fails, are said in the table.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from rich.console import Console
from suite import report
from suite.peers import PEERS
from suite.rows import ROWS
from suite.session import Session

OPTIONAL = ("torch.compile",)  # minutes of compilation: only when asked for


def arguments() -> argparse.Namespace:
    """The command line."""
    others = [name for name in PEERS if name not in ("lamina", "machine")]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="*", help="patterns of names, separated by commas")
    parser.add_argument("--threads", default=None, help="numbers of threads (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each peer (default: 15)")
    parser.add_argument("--peers", default="", help=f"some of {','.join(others)}, or all (default: without torch.compile)")
    parser.add_argument("--quick", action="store_true", help="reduced sizes")
    options = parser.parse_args()
    chosen = [name for name in others if name not in OPTIONAL]
    options.peers = {"": chosen, "all": others}.get(options.peers) or options.peers.split(",")
    for name in options.peers:
        if name not in others:
            parser.error(f"no peer {name!r}; there are: {', '.join(others)}")
    options.rows = [row for row in ROWS if any(fnmatch(row.name, f"{one.strip()}*") for one in options.rows.split(","))]
    if not options.rows:
        parser.error(f"no such row; there are: {', '.join(row.name for row in ROWS)}")
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    options.threads = [int(n) for n in (options.threads or "1,2").split(",") if int(n) <= processors]
    return options


def main() -> None:
    options, console = arguments(), Console()
    if not console.is_terminal:
        console = Console(width=180)
    peers = []
    for name in options.peers:
        if PEERS[name].version() is None:
            console.print(f"{name} is not installed ({', '.join(PEERS[name].needs)}): left out", highlight=False)
        else:
            peers.append(name)
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for threads in options.threads:
            with Session(
                ["lamina", "machine", *peers], threads, Path(folder), Path(folder), options.rounds, options.quick
            ) as session:
                for row in options.rows:
                    with console.status(f"{row.name}, {threads} thread{'s' * (threads > 1)}"):
                        outcomes.append(session.measure(row))
    report.show(outcomes, peers, console)


if __name__ == "__main__":
    main()

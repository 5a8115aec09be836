"""Cases that run in child processes with a limit of time each: what the conformance runs of ONNX and torch share.

A child reads its cases, a line each, prints a line when it is ready, and then for each case a line of JSON: the case and its
outcomes, pairs of a word (`pass`, `unsupported`, `wrong`, `crash`, ...) and a reason.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from rich.progress import Progress

LIMIT = 120
"""Longest time of a case, in seconds."""

Outcomes = Sequence[tuple[str, str]]


def _ask(child: Path, block: list[str], results: dict[str, Outcomes], advance: Callable[[], None]) -> None:
    """Run cases in a process; one that ends it or takes too long is left out by a new process."""
    waiting = list(block)
    while waiting:
        process = subprocess.Popen(
            [sys.executable, str(child)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdin and process.stdout
        process.stdin.write("".join(f"{case}\n" for case in waiting))
        process.stdin.close()
        process.stdout.readline()  # it is ready
        while waiting:
            start = time.monotonic()
            ready, _, _ = select.select([process.stdout], [], [], LIMIT)
            line = process.stdout.readline() if ready else ""
            case = waiting.pop(0)
            advance()
            if not line:
                slow = time.monotonic() - start >= LIMIT
                results[case] = [("timeout", f"more than {LIMIT} s") if slow else ("crash", "the process ended")]
                break
            results[case] = [(became, why) for became, why in json.loads(line)[1]]
        process.kill()
        process.wait()


def outcomes(title: str, child: Path, cases: Sequence[str], jobs: int, at_once: int) -> dict[str, Outcomes]:
    """The outcomes of each case, with a bar of progress.

    Args:
        title: what stands before the bar.
        child: the program of the child processes.
        cases: a line each.
        jobs: how many children run at a time.
        at_once: cases of one child, which makes ready first.
    """
    results: dict[str, Outcomes] = {}
    blocks: SimpleQueue[list[str]] = SimpleQueue()
    for i in range(0, len(cases), at_once):
        blocks.put(list(cases[i : i + at_once]))
    with Progress() as progress:
        task = progress.add_task(title, total=len(cases))

        def work() -> None:
            while True:
                try:
                    block = blocks.get_nowait()
                except Empty:
                    return
                _ask(child, block, results, lambda: progress.advance(task))

        threads = [Thread(target=work) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return results


def compared(passes: Path, results: Mapping[str, tuple[str, str]], update: bool) -> list[str]:
    """The cases of a list of passing ones that do not pass any more; with `update` the list takes what passes now.

    A list may only grow by itself: a case that is lost is taken out by hand.
    """
    before = set(passes.read_text(encoding="utf-8").splitlines()) if passes.exists() else set()
    now = {name for name, (became, _) in results.items() if became == "pass"}
    lost = sorted((before & results.keys()) - now)
    for name in lost:
        print(f"regression: {name}: {': '.join(results[name])}")
    if update:
        passes.write_text("\n".join(sorted(before | now)) + "\n", encoding="utf-8")
    return lost

"""ONNX's backend tests through `from_onnx`: `make conformance-onnx`, or `onnx_cases.py [PART OF A NAME] [--update]`.

`onnx_passes.txt` has the tests that pass; one of them that does not is a regression, and the run fails. `--update` adds new
ones and writes docs/conformance_onnx.md: the tests that do not pass, by reason. Tests run in child processes with a limit.
"""

from __future__ import annotations

import argparse
import json
import re
import select
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from onnx.backend.test import loader
from rich.progress import Progress

HERE = Path(__file__).parent
PASSES = HERE / "onnx_passes.txt"
PAGE = HERE.parent.parent / "docs" / "conformance_onnx.md"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
LIMIT = 120
"""Longest time of a test, in seconds."""
AT_ONCE = 700
"""Tests of a process, which first makes all tests of a kind: 8 s of processor time."""


def ask(block: list[tuple[str, str]], results: dict[str, tuple[str, str]], advance: Callable[[], None]) -> None:
    """Run tests in a process; one that ends it or takes too long is left out by a new process."""
    waiting = list(block)
    while waiting:
        child = subprocess.Popen(
            [sys.executable, str(HERE / "onnx_child.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert child.stdin and child.stdout
        child.stdin.write("".join(f"{kind} {name}\n" for kind, name in waiting))
        child.stdin.close()
        child.stdout.readline()  # it has made the tests
        while waiting:
            start = time.monotonic()
            ready, _, _ = select.select([child.stdout], [], [], LIMIT)
            line = child.stdout.readline() if ready else ""
            name = waiting.pop(0)[1]
            advance()
            if not line:
                slow = time.monotonic() - start >= LIMIT
                results[name] = ("timeout", f"more than {LIMIT} s") if slow else ("crash", "the process ended")
                break
            _, became, why = json.loads(line)
            results[name] = (became, why)
        child.kill()
        child.wait()


def reason(why: str) -> str:
    """A message without what is of one test alone."""
    why = re.sub(r"^(/?[\w/.]+:\d+:\d+: )", "", why.split("\n")[0])
    match = re.match(r"node (?:'[^']*' \((\w+)\)|(\w+) of [^:]*): (.*)", why)
    return f"{match[1] or match[2]}: {match[3]}" if match else re.sub(r"^\w+\(\) ", "", why)


def page(results: dict[str, tuple[str, str]]) -> str:
    """The table of what does not pass."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, (became, why) in sorted(results.items()):
        if became != "pass":
            groups[became, reason(why)].append(name)
    passed = sum(b == "pass" for b, _ in results.values())
    lines = [
        "# Conformance: ONNX",
        "",
        f"Written by `make conformance-onnx`. Of {len(results)} backend tests of the `onnx` package {passed} pass.",
        "Strings, images and classical models (`ai.onnx.ml`) are out of scope.",
        "",
        "| result | reason | tests |",
        "|---|---|--:|",
    ]
    for (became, why), names in sorted(groups.items(), key=lambda g: (-len(g[1]), g[0])):
        listed = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
        lines.append(f"| {became} | {why[:150].replace('|', '/')} | {len(names)}: {listed} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="", help="a part of the names of tests")
    parser.add_argument("--update", action="store_true", help="write the list and the page anew")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tests = [(kind, c.name) for kind in KINDS for c in loader.load_model_tests(kind=kind) if options.part in c.name]
    results: dict[str, tuple[str, str]] = {}
    blocks: SimpleQueue[list[tuple[str, str]]] = SimpleQueue()
    for i in range(0, len(tests), AT_ONCE):
        blocks.put(tests[i : i + AT_ONCE])
    with Progress() as progress:
        task = progress.add_task("onnx", total=len(tests))

        def work() -> None:
            while True:
                try:
                    block = blocks.get_nowait()
                except Empty:
                    return
                ask(block, results, lambda: progress.advance(task))

        threads = [Thread(target=work) for _ in range(options.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    before = set(PASSES.read_text().split()) if PASSES.exists() else set()
    now = {name for name, (became, _) in results.items() if became == "pass"}
    lost = sorted((before & results.keys()) - now)
    for became in ("pass", "unsupported", "wrong", "crash", "timeout"):
        print(f"{sum(b == became for b, _ in results.values()):6} {became}")
    for name in lost:
        print(f"regression: {name}: {': '.join(results[name])}")
    if options.update:
        PASSES.write_text("\n".join(sorted(before - results.keys() | now)) + "\n")
        if not options.part:
            PAGE.write_text(page(results))
    elif options.part:
        for name, (became, why) in sorted(results.items()):
            if became != "pass":
                print(f"{became:12} {name}: {why}")
    return bool(lost) and not options.update


if __name__ == "__main__":
    sys.exit(main())

"""ONNX's backend tests through `from_onnx`: `make conformance-onnx`, or `onnx_cases.py [PART OF A NAME] [--update]`.

`onnx_passes.txt` has the tests that pass; one of them that does not is a regression, and the run fails. `--update` adds new
ones and writes docs/conformance_onnx.md: the tests that do not pass, by reason. Tests run in child processes with a limit.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

from onnx.backend.test import loader
from processes import compared, outcomes

HERE = Path(__file__).parent
PASSES = HERE / "onnx_passes.txt"
PAGE = HERE.parent.parent / "docs" / "conformance_onnx.md"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
AT_ONCE = 700
"""Tests of a process, which first makes all tests of a kind: 8 s of processor time."""


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
    tests = [f"{kind} {c.name}" for kind in KINDS for c in loader.load_model_tests(kind=kind) if options.part in c.name]
    found = outcomes("onnx", HERE / "onnx_child.py", tests, options.jobs, AT_ONCE)
    results = {case.split()[1]: made[0] for case, made in found.items()}
    for became in ("pass", "unsupported", "wrong", "crash", "timeout"):
        print(f"{sum(b == became for b, _ in results.values()):6} {became}")
    lost = compared(PASSES, results, options.update)
    if options.update:
        if not options.part:
            PAGE.write_text(page(results))
    elif options.part:
        for name, (became, why) in sorted(results.items()):
            if became != "pass":
                print(f"{became:12} {name}: {why}")
    return bool(lost) and not options.update


if __name__ == "__main__":
    sys.exit(main())

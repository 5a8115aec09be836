"""Samples of torch's own table of ops through `from_torch`: `make conformance-torch`, or `torch_cases.py [PART] [--update]`.

Of float32, unless `--dtypes` names others.

`torch_passes.txt` has the pairs of an op and an element type all of whose samples pass; one of them that does not is a
regression, and the run fails. `--update` adds new ones and writes docs/conformance_torch.md. Samples run in child processes
with a limit of time.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from processes import Outcomes, compared, outcomes

HERE = Path(__file__).parent
PASSES = HERE / "torch_passes.txt"
PAGE = HERE.parent.parent / "docs" / "conformance_torch.md"
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64")
AT_ONCE = 60
"""Cases of a process, which first makes torch's table: 5 s of processor time."""
MOST_REASONS = 60
"""Reasons that are printed."""
ORDER = ("pass", "unsupported", "not traced", "wrong", "crash", "timeout")
"""From the best to the worst."""


def cases(dtypes: tuple[str, ...], part: str) -> list[str]:
    """`op dtype` for each op of the table and each element type that it takes."""
    import torch
    import torch_child

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = torch_child.names_of(torch_child.op_db())
    found = [f"{name} {d}" for d in dtypes for name, op in table.items() if getattr(torch, d) in op.dtypes]
    return [case for case in found if part in case]


def whole(samples: Outcomes) -> tuple[str, str]:
    """The outcome of a case, the worst of its samples; samples that torch itself does not trace do not count beside others."""
    counted = [one for one in samples if one[0] != "not traced"] or list(samples)
    return max(counted, key=lambda one: ORDER.index(one[0]), default=("not traced", "there are no samples"))


def reason(why: str) -> str:
    """A message without what is of one sample alone."""
    why = re.sub(r"^(/?[\w/.<>-]+:\d+:\d+: )", "", why.split("\n")[0])
    why = re.sub(r"\[[\d, ]*\]|\b\d+\b|tensor<[^>]*>+", "N", why)
    return re.sub(r"node '[^']*'", "a node", why)[:120].replace("|", "/")


def by_reason(results: Mapping[str, Outcomes]) -> list[tuple[tuple[str, str], Counter[str]]]:
    """Outcomes and reasons of what does not pass, with the ops, the most frequent first."""
    groups = defaultdict(Counter[str])
    for case, samples in sorted(results.items()):
        for became, why in samples:
            if became not in ("pass", "not traced"):
                groups[became, "" if became == "wrong" else reason(why)][case.split()[0]] += 1
    return sorted(groups.items(), key=lambda g: (ORDER.index(g[0][0]), -g[1].total(), g[0]))


def page(results: Mapping[str, Outcomes]) -> str:
    """Counts by element type, and what does not pass by reason."""
    counts = defaultdict(Counter[str])
    for case, samples in sorted(results.items()):
        counts[case.split()[1]] += Counter(became for became, _ in samples)
    total = Counter[str]()
    for row in counts.values():
        total += row
    traced = sum(total.values()) - total["not traced"]
    lines = [
        "# Conformance: PyTorch",
        "",
        "Written by `make conformance-torch`: samples of torch's own table of ops",
        "(`torch.testing._internal.common_methods_invocations.op_db`), six of an op in float32 and three in others,",
        "traced to ATen's core ops by torch, computed here and compared.",
        f"Of {traced} samples that torch traces {total['pass']} pass.",
        "",
        "| element type | pass | unsupported | wrong | crash | timeout | not traced by torch |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    words = ("pass", "unsupported", "wrong", "crash", "timeout", "not traced")
    for dtype, row in counts.items():
        lines.append(f"| {dtype} | " + " | ".join(str(row[word]) for word in words) + " |")
    lines += ["", "## By reason", "", "| result | reason | samples | ops |", "|---|---|--:|---|"]
    for (became, why), names in by_reason(results):
        listed = ", ".join(f"`{name}`" for name in list(names)[:4]) + (" ..." if len(names) > 4 else "")
        lines.append(f"| {became} | {why} | {names.total()} | {listed} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="", help="a part of `op dtype`")
    parser.add_argument("--dtypes", default="float32", help=f"element types, with commas; all: {','.join(DTYPES)}")
    parser.add_argument("--update", action="store_true", help="add to the list and write the page anew")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    results = outcomes(
        "torch", HERE / "torch_child.py", cases(tuple(options.dtypes.split(",")), options.part), options.jobs, AT_ONCE
    )
    verdicts = {case: whole(samples) for case, samples in results.items()}
    counts = Counter(became for samples in results.values() for became, _ in samples)
    for became in ORDER:
        print(f"{counts[became]:6} samples {became}")
    for case, (became, why) in sorted(verdicts.items()):
        if became in ("wrong", "crash", "timeout"):
            print(f"{became:12} {case}: {why}")
    for (became, why), names in by_reason(results)[:MOST_REASONS]:
        print(f"{names.total():6} {became}: {why} ({', '.join(list(names)[:3])})")
    lost = compared(PASSES, verdicts, options.update)
    if options.update and not options.part:
        PAGE.write_text(page(results), encoding="utf-8")
    return bool(lost) and not options.update


if __name__ == "__main__":
    sys.exit(main())

"""Runs jax's harnesses (`jax._src.internal_test_util.test_harnesses`) through StableHLO: `make conformance-harnesses`.

    run_harnesses.py [--sample N] [--only TEXT] [--seconds 60] [--jobs 2] [--update]

A child process with jax lowers each case and runs it; one with lamina imports the text, runs it and compares. `harnesses.txt`
has the names that pass: one that is in it and does not pass is a regression, and the run fails; `--update` adds what passes
now, and removes nothing. The counts go to docs/conformance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CHILDREN = HERE / "harnesses"
KEPT = ROOT / "build" / "conformance" / "harnesses"
"""Texts and results of jax, by batch: they are made once."""
PASSES = HERE / "harnesses.txt"
PAGE = ROOT / "docs" / "conformance.md"
AT_ONCE = 100
LIST = """
import jax
jax.config.update("jax_enable_x64", True)
from jax._src.internal_test_util import test_harnesses
for k, harness in enumerate(test_harnesses.all_harnesses):
    print(k, harness.group_name, harness.fullname)
"""
JAX = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_backend_optimization_level=0", "OMP_NUM_THREADS": "1"}


def harnesses() -> list[tuple[str, str, str]]:
    """Number, group and name of each."""
    done = subprocess.run([sys.executable, "-c", LIST], capture_output=True, text=True, check=True, env={**os.environ, **JAX})
    return [(number, group, name) for number, group, name in map(str.split, done.stdout.splitlines())]


def sampled(cases: Sequence[tuple[str, str, str]], each: int) -> list[tuple[str, str, str]]:
    """At most `each` cases of a group, evenly spaced."""
    groups = defaultdict(list)
    for case in cases:
        groups[case[1]].append(case)
    return [of[k * len(of) // count] for of in groups.values() for count in [min(each, len(of))] for k in range(count)]


def lowered(numbers: Sequence[str]) -> Path:
    """The archive of a batch, made by the child with jax unless it is there."""
    path = KEPT / f"{numbers[0]}-{numbers[-1]}-{len(numbers)}.npz"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(CHILDREN / "with_jax.py"), str(path)]
        subprocess.run(command, input=" ".join(numbers), text=True, check=True, env={**os.environ, **JAX}, capture_output=True)
    return path


def outcomes(numbers: Sequence[str], seconds: int) -> Iterator[tuple[str, str, str]]:
    """Number, outcome and reason of each case; after a case that ends the process another one goes on."""
    path, rest = lowered(numbers), list(numbers)
    while rest:
        command = [sys.executable, str(CHILDREN / "with_lamina.py"), str(path), str(seconds)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        out, _ = child.communicate(" ".join(rest))
        begun = None
        for number, kind, why in map(json.loads, out.splitlines()):
            begun = number
            if kind != "start":
                begun = None
                rest.remove(number)
                yield number, kind, why
        if begun is not None:
            rest.remove(begun)
            yield begun, "crash", f"the process ended with {child.returncode}"
        elif child.returncode and rest:
            raise RuntimeError(f"the child ended with {child.returncode} before its first case")


def page(results: dict[str, tuple[str, str, str, str]], total: int) -> str:
    """The page of counts: by outcome, by reason, by group."""
    kinds = Counter(kind for _, _, kind, _ in results.values())
    tried = sum(kinds.values()) - kinds["skipped"]
    share = f"{100 * kinds['pass'] / max(tried, 1):.1f} %"
    order = ("pass", "unsupported", "refused", "wrong", "slow", "crash", "skipped")
    lines = [
        "# Conformance",
        "",
        "Harnesses of jax (`jax._src.internal_test_util.test_harnesses`, with 64-bit types) lowered by jax, imported by",
        "`lm.from_stablehlo`, run, and compared with jax's results, by `tests/conformance/run_harnesses.py --update`.",
        "",
        f"{len(results)} of {total} harnesses were tried, evenly spaced in each group; {kinds['skipped']} of them jax does not",
        f"run on CPUs. Of the other {tried} pass {kinds['pass']} ({share}).",
        "",
        "Floats may differ by 1e-4 (float32), 1e-9 (float64), 5e-3 (float16) or 4e-2 (bfloat16) of the number and, up to 1,",
        "of the largest one of the result; integers and bools are equal. Vectors of eigenvalues and singular values are",
        "determined up to a factor of length 1: of `eig`, `eigh`, `schur` and `svd` absolute values are compared.",
        "",
        "| outcome | cases |",
        "|---|--:|",
        *(f"| {kind} | {kinds[kind]} |" for kind in order),
        "",
    ]
    others = sorted((group, kind, why, name) for group, name, kind, why in results.values() if kind not in ("pass", "skipped"))
    if others:
        lines += ["## What does not pass", "", "| harness | outcome | reason |", "|---|---|---|"]
        lines += [f"| `{name[:80]}` | {kind} | {why.replace('|', '/')[:150]} |" for _, kind, why, name in others] + [""]
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for group, _, kind, _ in results.values():
        groups[group][kind] += 1
    lines += ["## By group", "", "| group | pass | others |", "|---|--:|--:|"]
    for group, count in sorted(groups.items()):
        lines.append(f"| {group} | {count['pass']} | {sum(count.values()) - count['pass'] - count['skipped']} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """The command line; the exit status."""
    from rich.progress import Progress

    parser = argparse.ArgumentParser(description="jax's harnesses through StableHLO")
    parser.add_argument("--sample", type=int, default=0, help="at most so many cases of a group")
    parser.add_argument("--only", default="", help="names that contain a text")
    parser.add_argument("--seconds", type=int, default=60, help="the limit of time of a case")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--update", action="store_true", help="write harnesses.txt and docs/conformance.md")
    options = parser.parse_args()
    every = harnesses()
    cases = [case for case in every if options.only in case[2]]
    cases = sampled(cases, options.sample) if options.sample else cases
    named = {number: (group, name) for number, group, name in cases}
    numbers = list(named)
    batches = [numbers[k : k + AT_ONCE] for k in range(0, len(numbers), AT_ONCE)]
    results: dict[str, tuple[str, str, str, str]] = {}
    with Progress() as progress, ThreadPoolExecutor(options.jobs) as pool:
        task = progress.add_task("harnesses", total=len(numbers))

        def run(batch: Sequence[str]) -> None:
            for number, kind, why in outcomes(batch, options.seconds):
                results[number] = (*named[number], kind, why)
                progress.advance(task)

        list(pool.map(run, batches))
    known = set(PASSES.read_text(encoding="utf-8").split()) if PASSES.exists() else set()
    passed = {name for _, name, kind, _ in results.values() if kind == "pass"}
    lost = sorted({name for _, name, kind, _ in results.values() if kind != "pass"} & known)
    for name in lost:
        print(f"regression: {name}")
    if options.update:
        PASSES.write_text("".join(f"{name}\n" for name in sorted(known | passed)), encoding="utf-8")
        PAGE.write_text(page(results, len(every)), encoding="utf-8")
    print(dict(Counter(kind for _, _, kind, _ in results.values())))
    return 1 if lost else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())

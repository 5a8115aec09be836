"""Runs the corpus with lamina and with jax and compares: `make conformance`, or `run.py [NAME ...] [--update] [--jobs 2]`.

`passes.txt` has what passes, a line for each program and dtype. What is in it and does not pass is a regression, and the run
fails. A program that stops at a public name that we do not have is in it as `missing: NAME`. `--update` writes it anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from compare import difference
from modes import DERIVATIVES, DTYPES, modes_of
from programs import Program, corpus

PASSES = HERE / "passes.txt"
XLA_FLAGS = "--xla_backend_optimization_level=0"
"""jax gives the numbers, its speed does not matter: a program compiles in half the time."""

AT_ONCE = 30
"""Programs of a process."""
ORACLE = HERE.parent.parent / "build" / "conformance"
"""Where results of jax are kept: for a program that has not changed it is not asked again."""


@dataclass
class Outcome:
    """What became of a program in a dtype: `mode:execution` of what passes, what fails and how, a name that is missing."""

    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)

    def line(self) -> str:
        """As in the list: `all`, or what passes, then what is missing."""
        if not self.failed and not self.missing:
            return "all"
        names = [f"missing: {name}" for name in sorted(self.missing)]
        return " ".join([*sorted(self.passed), *names])


class Results:
    """The output of a child: leaves by `name:dtype:mode[:execution]`."""

    def __init__(self, paths: Iterable[Path]):
        self.report: dict[str, str] = {}
        self._arrays: dict[str, dict[int, np.ndarray]] = defaultdict(dict)
        for path in paths:  # of two results of a program the later one
            with np.load(path) as archive:
                self.report.update(json.loads(str(archive["report"])))
                for key in archive.files:
                    if key != "report":
                        name, _, k = key.rpartition(":")
                        self._arrays[name][int(k)] = archive[key]

    def leaves(self, key: str) -> list[np.ndarray]:
        found = self._arrays[key]
        return [found[k] for k in range(len(found))]


def _child(kind: str, names: Sequence[str], output: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": ""}
    if kind == "jax":
        environment |= {"XLA_FLAGS": XLA_FLAGS, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "child.py"), kind, str(output)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert child.stdin is not None
    child.stdin.write(" ".join(names))
    child.stdin.close()
    child.stdin = None
    return child


def execute(names: Sequence[str], folder: Path, jobs: int = 1) -> tuple[Results, Results]:
    """Results of jax, again those of the folder if a program has not changed, and ours; `jobs` children at a time."""
    kept = sorted(folder.glob("jax-*.npz"))
    known = Results(kept).report
    wanted = [name for name in names if known.get(f"text:{name}") != corpus()[name].digest()]
    _children("jax", wanted, folder, jobs)
    with tempfile.TemporaryDirectory() as own:
        return Results(sorted(folder.glob("jax-*.npz"))), Results(_children("lamina", names, Path(own), jobs))


def _children(kind: str, names: Sequence[str], folder: Path, jobs: int) -> list[Path]:
    """What processes of a few programs each write."""
    folder.mkdir(parents=True, exist_ok=True)
    first = len(list(folder.glob(f"{kind}-*.npz")))
    waiting = [
        (folder / f"{kind}-{first + k:04}.npz", names[at : at + AT_ONCE]) for k, at in enumerate(range(0, len(names), AT_ONCE))
    ]
    paths, running = [path for path, _ in waiting], list[tuple[Path, subprocess.Popen[str]]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            path, some = waiting.pop(0)
            running.append((path, _child(kind, some, path)))
        path, child = running.pop(0)
        _, errors = child.communicate()
        if child.returncode:
            at = path.with_suffix(".now")
            name = at.read_text() if at.exists() else "its start"
            raise SystemExit(f"the process of {kind} ended with {child.returncode} at {name}:\n{errors[-2000:]}")
    return paths


def judge(program: Program, dtype: str, jax: Results, ours: Results) -> Outcome:
    """Compare a program's results in a dtype."""
    outcome = Outcome()
    for mode in modes_of(program):
        key = f"{program.name}:f64:{mode}"
        if key not in jax.report:
            continue  # nothing that it returns has a derivative
        if jax.report[key]:  # a mistake of the corpus
            outcome.failed[f"{mode}:jit"] = f"jax does not run it: {jax.report[key]}"
            continue
        for execution in ("jit", "eager"):
            mine = f"{program.name}:{dtype}:{mode}:{execution}"
            problem = ours.report.get(mine, "raises nothing, and gives no floats")
            if problem.startswith("missing: "):
                outcome.missing.add(problem.removeprefix("missing: "))
                continue
            problem = problem or _compare(program, dtype, mode, ours.leaves(mine), jax)
            if problem:
                outcome.failed[f"{mode}:{execution}"] = problem
            else:
                outcome.passed.append(f"{mode}:{execution}")
    return outcome


def _compare(program: Program, dtype: str, mode: str, got: list[np.ndarray], jax: Results) -> str:
    """float32 may be as near to what jax computes in float64 from the same numbers, or to its values in float32."""
    want = jax.leaves(f"{program.name}:f64:{mode}")
    dtypes = _dtypes(program, dtype, mode, len(want), jax)
    eps = float(np.finfo(DTYPES[dtype]).eps)
    said = difference(got, want, dtypes, program.tolerance, 1.0 if mode in DERIVATIVES else 0.0, eps)
    if said and mode == "value" and dtype == "f32":
        said = difference(got, jax.leaves(f"{program.name}:f32:value"), dtypes, program.tolerance, eps=eps) and said
    return said


def _dtypes(program: Program, dtype: str, mode: str, count: int, jax: Results) -> list[np.dtype]:
    """Of values: NumPy's, else jax's; of tangents those of the floats among them; gradients have those of the arguments."""
    if mode in DERIVATIVES and mode != "jvp":
        return [np.dtype(DTYPES[dtype])] * count
    values = program.dtypes(dtype) or [leaf.dtype for leaf in jax.leaves(f"{program.name}:{dtype}:value")]
    return [dtype for dtype in values if dtype.kind == "f"] if mode == "jvp" else values


def judge_all(names: Sequence[str], jobs: int, oracle: Path = ORACLE) -> dict[str, Outcome]:
    jax, ours = execute(names, oracle, jobs)
    return {f"{name} {dtype}": judge(corpus()[name], dtype, jax, ours) for name in names for dtype in ("f32", "f64")}


def read_passes() -> dict[str, str]:
    """The checked-in list: `program dtype` to what passes."""
    lines = PASSES.read_text().splitlines() if PASSES.exists() else []
    return dict(line.split(" | ", 1) for line in lines if " | " in line)


def regressions(found: Mapping[str, Outcome], listed: Mapping[str, str]) -> list[str]:
    """What the list says passes and does not."""
    problems: list[str] = []
    for key, outcome in found.items():
        said = listed.get(key, "")
        lost = outcome.failed if said == "all" else {t: how for t, how in outcome.failed.items() if t in said.split()}
        problems += [f"{key} {trial}: {how}" for trial, how in lost.items()]
        gone = outcome.missing if said == "all" else {name for name in outcome.missing if f"missing: {name}" not in said}
        problems += [f"{key}: has no {name}" for name in gone if said]
    return problems


def show(found: Mapping[str, Outcome]) -> None:
    """Counts of each group."""
    from rich.console import Console
    from rich.table import Table

    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for key, outcome in found.items():
        name = key.split()[0]
        group = groups[name.partition("/")[0]]
        group["trials"] += len(outcome.passed) + len(outcome.failed)
        group["passed"] += len(outcome.passed)
        verdict = "missing" if outcome.missing else "failing" if outcome.failed else "equal"
        group[verdict] += key.endswith("f32")
    table = Table("group", *(column for column in ("programs", "equal", "failing", "a name missing", "trials", "passed")))
    table.columns[0].no_wrap = True
    total: Counter[str] = Counter()
    for name, count in groups.items():
        total += count
        table.add_row(name, *map(str, _row(count)))
    table.add_section()
    table.add_row("all", *map(str, _row(total)))
    Console(width=110).print(table)


def _row(count: Counter[str]) -> list[int]:
    programs = count["equal"] + count["failing"] + count["missing"]
    return [programs, count["equal"], count["failing"], count["missing"], count["trials"], count["passed"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs or groups; all by default")
    parser.add_argument("--update", action="store_true", help="write passes.txt")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    options = parser.parse_args()
    chosen = [n for n in corpus() if not options.names or any(n == p or n.startswith(p + "/") for p in options.names)]
    found = judge_all(chosen, options.jobs)
    listed = read_passes()
    for key, outcome in found.items():
        if outcome.failed:
            print(f"{key} {' '.join(outcome.failed)}: {next(iter(outcome.failed.values()))}")
    show(found)
    if options.update:
        kept = {key: line for key, line in listed.items() if key.split()[0] in corpus()}
        kept |= {key: outcome.line() for key, outcome in found.items() if outcome.line()}
        PASSES.write_text("".join(f"{key} | {kept[key]}\n" for key in sorted(kept)))
        return 0
    lost = regressions(found, listed)
    print("\n".join(["", f"{len(lost)} regressions", *lost]))
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())

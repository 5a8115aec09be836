"""Mutation run: plant a fault in each rewrite rule, loop form, derivative and batching rule, and name the test that notices it.

    python tests/mutation/run.py [--area rules] [--only slice_of] [--again] [--jobs 2] [--table build/mutants.txt]

All tests of TESTS are loaded once. A first child runs each of them and notes the statements that it reaches; then children
plant one mutant after the other and run the tests that reach it until one fails. The table has a line for each mutant: the
fault and its killer. Mutants that mean the same are in `equivalent.txt` with a reason; an entry that fits no mutant, or one
that is killed, is an error, as is a mutant that survives.
"""

from __future__ import annotations

import argparse
import fnmatch
import gc
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from targets import AREAS, ROOT, Fault, faults, live_functions, module_of, note_statements, plant, targets

EQUIVALENT = Path(__file__).parent / "equivalent.txt"
TESTS = (
    "tests/dialects/test_rules_drawn.py",
    "tests/transforms/test_rules.py",
    "tests/dialects/test_rules_more.py",
    "tests/dialects/test_equations.py",
    "tests/dialects/test_product_derivative.py",
    "tests/dialects/test_threefry.py",
    "tests/transforms/test_derivatives.py",
    "tests/transforms/test_vmap.py",
    "tests/transforms/test_drawn_ops.py",
    "tests/transforms/test_locations.py",
    "tests/transforms/test_text.py",
)
SECONDS = 10.0
"""A test that takes longer than this, and than twenty times what it took without a fault, has noticed a fault."""
BYTES = 8 << 30

Reach = tuple[float, frozenset[str]]
"""Seconds of a test; statements it runs, as (file, line), and classes whose ops it makes."""


@dataclass
class Verdict:
    fault: Fault
    killer: str | None
    how: str


def caches_of(items: Sequence[pytest.Item]) -> list[Any]:
    """What test modules cache: emptied before each test, so that it reaches by itself what it needs."""
    return [
        value
        for module in {item.module for item in items}  # type: ignore[attr-defined]
        for value in vars(module).values()
        if callable(getattr(value, "cache_clear", None)) and getattr(value, "__module__", None) == module.__name__
    ]


def passes(item: Any) -> bool:
    """Run one test with its fixtures; what pytest would tell of a failure is not made."""
    state = item.session._setupstate
    try:
        state.setup(item)
        item.runtest()
        return True
    except (Exception, pytest.fail.Exception):
        return False
    finally:
        state.teardown_exact(None)


def note_classes(note: Callable[[str], None]) -> None:
    """Call `note` with the class of every op that is made."""
    from lamina.dialects.graph.base import GraphOp

    create = GraphOp.create.__func__  # type: ignore[attr-defined]

    def noting(cls: Any, *args: Any, **kwargs: Any) -> Any:
        note(cls.__name__)
        return create(cls, *args, **kwargs)

    GraphOp.create = classmethod(noting)  # type: ignore[method-assign, assignment]


def _measure(items: Sequence[pytest.Item], caches: Sequence[Any], write: int) -> None:
    seen: set[Any] = set()
    note_statements(seen.add)
    note_classes(seen.add)
    with os.fdopen(write, "w") as out:
        for item in items:
            for cache in caches:
                cache.cache_clear()
            seen.clear()
            start = time.perf_counter()
            clean = passes(item)
            seconds = time.perf_counter() - start
            out.write(json.dumps([seconds if clean else -1, sorted(map(repr, seen))]) + "\n")


def measure(items: Sequence[pytest.Item], jobs: int) -> list[Reach]:
    """Run every test without a fault, in children."""
    sources = []
    for job in range(jobs):
        read, write = os.pipe()
        if not os.fork():
            os.close(read)
            try:
                _measure(items[job::jobs], caches_of(items), write)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(write)
        sources.append(os.fdopen(read))
    texts: list[list[str]] = [[] for _ in sources]
    while waiting := [source for source in sources if not source.closed]:
        for source in select.select(waiting, [], [])[0]:
            line = source.readline()
            if line:
                texts[sources.index(source)].append(line)
            else:
                source.close()
                os.wait()
    found: list[Reach] = [(-1.0, frozenset())] * len(items)
    for job, lines in enumerate(texts):
        for k, line in enumerate(lines):
            seconds, seen = json.loads(line)
            found[job + k * jobs] = seconds, frozenset(seen)
    bad = [item.nodeid for item, (seconds, _) in zip(items, found, strict=True) if seconds < 0]
    if bad:
        raise RuntimeError(f"without a fault these tests fail, or do not end: {bad[:9]}")
    return found


def chosen(fault: Fault, reach: Sequence[Reach], items: Sequence[pytest.Item], most: int | None) -> list[int]:
    """The tests that reach a fault: first those named like its function, then those that are quick and reach little else."""
    owner = fault.target.owner
    wanted = {repr(owner if owner is not None else (fault.target.file, fault.mutant.line))}
    found = [k for k, (_, seen) in enumerate(reach) if not wanted.isdisjoint(seen)]
    named = [f"[{fault.target.name}]" not in item.nodeid for item in items]
    return sorted(found, key=lambda k: (named[k], reach[k][0] * len(reach[k][1])))[:most]


class Hang(BaseException):
    """A test did not end."""


def _alarm(signum: int, frame: Any) -> None:
    signal.setitimer(signal.ITIMER_REAL, SECONDS)  # if this is caught somewhere, the next one ends the process
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    raise Hang


class Worker:
    """A child that plants one fault after the other and tells what notices it, a line of JSON each."""

    def __init__(self, items: Sequence[pytest.Item], reach: Sequence[Reach], most: int | None, out: int):
        self.items, self.reach, self.most, self.out = items, reach, most, out
        self.caches = caches_of(items)

    def run(self, faults: Sequence[tuple[int, Fault]]) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        for number, fault in faults:
            self.tell("start", number)
            self.tell(*self.hunt(fault))

    def tell(self, *words: Any) -> None:
        os.write(self.out, (json.dumps(words) + "\n").encode())

    def passes(self, k: int) -> bool:
        """A test with empty caches; a hang is no pass."""
        for cache in self.caches:
            cache.cache_clear()
        signal.signal(signal.SIGALRM, _alarm)
        signal.setitimer(signal.ITIMER_REAL, max(SECONDS, 20 * self.reach[k][0]))
        try:
            return passes(self.items[k])
        except Hang:
            return False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def hunt(self, fault: Fault) -> tuple[str, Any]:
        """("killed", test), ("survived", how many tests reach it) or ("error", message)."""
        try:
            undo = plant(fault)
        except (SyntaxError, LookupError) as error:
            return "error", str(error)
        except Exception as error:
            return "import", type(error).__name__  # what a class declares cannot be evaluated
        order = chosen(fault, self.reach, self.items, self.most)
        killer = next((k for k in order if not self.passes(k)), None)
        undo()
        if killer is None:
            return "survived", len(order)
        if not self.passes(killer):  # a fault has left something behind: a new child continues
            self.tell("killed", self.items[killer].nodeid)
            os._exit(3)
        return "killed", self.items[killer].nodeid


class Runner:
    """A pytest plugin: the mutation run instead of the tests."""

    def __init__(self, wanted: Sequence[Fault], jobs: int, most: int | None, known: Equivalents):
        self.wanted, self.jobs, self.most, self.known = wanted, jobs, most, known
        self.verdicts: dict[int, Verdict] = {}
        self.start = time.perf_counter()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = session.items
        for target in targets():
            module_of(target.path)
        live_functions()
        reach = measure(items, self.jobs)
        print(f"\n{len(items)} tests, {time.perf_counter() - self.start:.0f} s; {len(self.wanted)} mutants", flush=True)
        gc.collect()
        gc.freeze()
        left = {job: list(range(job, len(self.wanted), self.jobs)) for job in range(self.jobs)}
        sources: dict[int, int] = {}
        lines = {job: b"" for job in left}
        started: set[int] = set()
        while any(left.values()) or sources:
            for job, numbers in left.items():
                if numbers and job not in sources.values():
                    sources[self._fork(items, reach, numbers)] = job
            for source in select.select([*sources], [], [])[0]:
                job = sources[source]
                data = os.read(source, 1 << 16)
                if not data:  # the child has ended, at the fault that it told last
                    os.close(source)
                    del sources[source]
                    if job in started:
                        self._note(left[job].pop(0), "killed", "(the process ends)")
                        started.remove(job)
                    continue
                *done, lines[job] = (lines[job] + data).split(b"\n")
                for line in done:
                    word, told = json.loads(line)
                    if word == "start":
                        started.add(job)
                        continue
                    started.discard(job)
                    self._note(left[job].pop(0), word, told)
        return True

    def _fork(self, items: Sequence[pytest.Item], reach: Sequence[Reach], numbers: Sequence[int]) -> int:
        read, write = os.pipe()
        if not os.fork():
            os.close(read)
            try:
                Worker(items, reach, self.most, write).run([(n, self.wanted[n]) for n in numbers])
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(write)
        return read

    def _note(self, number: int, word: str, told: Any) -> None:
        fault = self.wanted[number]
        if word == "error":
            raise RuntimeError(f"{fault.key}: {told}")
        killer = None if word == "survived" else str(told)
        verdict = Verdict(fault, killer, f"{told} tests reach it" if killer is None else word)
        self.verdicts[number] = verdict
        if killer is None and self.known.entry(fault) is None:
            print(f"SURVIVED {fault.key} ({verdict.how})", flush=True)
        if len(self.verdicts) % 50 == 0:
            alive = sum(v.killer is None for v in self.verdicts.values())
            print(f"{len(self.verdicts)} done, {alive} alive, {time.perf_counter() - self.start:.0f} s", flush=True)


class Equivalents:
    """Mutants that are no faults, with the reason: `FILE FUNCTION: BEFORE -> AFTER`, under lines `# reason`.

    `*` for the function stands for all of the file.
    """

    def __init__(self, path: Path = EQUIVALENT):
        self.reasons: dict[str, str] = {}
        reason = ""
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            if line.startswith("#"):
                reason = line.lstrip("# ")
            elif line.strip():
                self.reasons[line.strip()] = reason

    def entry(self, fault: Fault) -> str | None:
        """The line that a mutant is listed by."""
        anywhere = f"{fault.target.file} *: {fault.mutant.before} -> {fault.mutant.after}"
        return next((key for key in (fault.key, anywhere) if key in self.reasons), None)

    def reason(self, fault: Fault) -> str | None:
        entry = self.entry(fault)
        return None if entry is None else self.reasons[entry]

    def stale(self, every: Sequence[Fault]) -> list[str]:
        """Lines that no mutant is listed by."""
        return sorted(self.reasons.keys() - {self.entry(fault) for fault in every})


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", choices=AREAS, action="append")
    parser.add_argument("--file", help="part of a file name")
    parser.add_argument("--only", help="part of a key, * and ? allowed")
    parser.add_argument("--again", action="store_true", help="those that survived by the table")
    parser.add_argument("--unknown", action="store_true", help="those that are not listed as equivalent")
    parser.add_argument("--share", default="1/1", help="2/3: every third mutant, from the second on")
    parser.add_argument("--most", type=int, help="tests for a mutant; without it all that reach it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=Path, default=ROOT / "build" / "mutants.txt")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    options = parser.parse_args(argv)
    os.nice(10)
    every = [fault for target in targets() for fault in faults(target)]
    known = Equivalents()
    first, step = map(int, options.share.split("/"))
    stale = known.stale(every)
    survivors = survived(options.table) if options.again else None
    wanted = [
        fault
        for fault in every
        if (not options.area or fault.target.area in options.area)
        and (not options.file or options.file in fault.target.file)
        and (not options.only or fnmatch.fnmatchcase(fault.key, f"*{options.only}*"))
        and (survivors is None or fault.key in survivors)
        and not (options.unknown and known.entry(fault))
    ][first - 1 :: step]
    runner = Runner(wanted, options.jobs, options.most, known)
    os.chdir(ROOT)
    arguments = ["-c", "tests/pytest.ini", "--rootdir=.", "-p", "no:timeout", "-p", "no:xdist", "-p", "no:cacheprovider", "-s"]
    arguments += ["-W", "ignore", "--no-header", *[t for t in options.tests if (ROOT / t.split("::")[0]).exists()]]
    status = pytest.main(arguments, [runner])
    if not runner.verdicts:
        return int(status) or 1
    if len(runner.verdicts) < len(wanted):  # interrupted: what is known so far
        print(f"{len(runner.verdicts)} of {len(wanted)} mutants were run")
    return report([runner.verdicts[n] for n in sorted(runner.verdicts)], known, stale, options.table)


def survived(table: Path) -> set[str]:
    """The keys of the mutants that survived by a table."""
    words = (line.partition(" ") for line in table.read_text(encoding="utf-8").splitlines())
    return {key.strip() for state, _, key in words if state == "survived"}


def report(verdicts: Sequence[Verdict], known: Equivalents, stale: Sequence[str], table: Path) -> int:
    """Write the table, print the counts; 1 where a mutant survived or the list of equivalent ones is wrong."""
    counts: Counter[tuple[str, str]] = Counter()
    lines = []
    wrong = [f"fits no mutant: {key}" for key in stale]
    for verdict in verdicts:
        key, area = verdict.fault.key, verdict.fault.target.area
        if verdict.killer is not None:
            state, told = "killed", str(verdict.killer)
            if known.entry(verdict.fault) is not None:
                wrong.append(f"listed as equivalent, but killed by {told}: {key}")
        elif (reason := known.reason(verdict.fault)) is not None:
            state, told = "equivalent", reason
        else:
            state, told = "survived", verdict.how
        counts[area, state] += 1
        lines.append(f"{state:10} {key}\n           {told}")
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    states = ("killed", "equivalent", "survived")
    for area in AREAS:
        print(f"{area:12}", *(f"{counts[area, state]:5} {state}" for state in states))
    print(f"{'all':12}", *(f"{sum(counts[area, state] for area in AREAS):5} {state}" for state in states), f"  ({table})")
    for message in wrong:
        print(f"equivalent.txt {message}")
    return int(bool(wrong) or any(state == "survived" for _, state in counts))


if __name__ == "__main__":
    sys.exit(main())

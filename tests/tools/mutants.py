"""Mutants of every text in filecheck/ and examples/: parsed, verified, compiled, and run beside the reference interpreter.

    python tests/tools/mutants.py --count 20000 [--first 0] [--jobs 2] [--only loop-tile] [--verbose]

Mutant `k` is the same in every run: a unit of text (one function or kernel, with what it calls), at one phase of the pipeline,
with one to three changes. It must be refused with a placed error, or compile and give the interpreter's results in memory whose
neighbouring pages are closed. The work is done in child processes, so that a signal or a hang is a finding and not the end.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 10.0
"""The most processor time that a mutant may take."""

GOOD = ("refused", "stopped", "equal", "compiled")
"""Refused with a place; stopped by a check of the kernel; run with the interpreter's results; compiled but not compared."""

PHASES = ("", "optimized", "loop", "scheduled", "program")
"""Where a mutant enters the pipeline: as the file has it, or printed at a later phase and changed there."""


# What is mutated


@dataclass(frozen=True)
class Unit:
    """One text to mutate."""

    name: str
    text: str


def units() -> list[Unit]:
    """A unit for each function or kernel of each file, with those that it names; other texts are units as they are."""
    found: list[Unit] = []
    for path in [*sorted((ROOT / "filecheck").rglob("*.mlir")), *sorted((ROOT / "examples").rglob("*.mlir"))]:
        for k, chunk in enumerate(re.split(r"^\s*// -----.*$", path.read_text(), flags=re.M)):
            found += [Unit(f"{path.stem}.{k}.{n}", text) for n, text in enumerate(_parts(_without_comments(chunk)))]
    return found + [Unit(f"{name}.py", text) for name, text in _kernels()]


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("//"))


def _parts(text: str) -> Iterator[str]:
    """Top-level ops by the lines on which they begin, each with all that it names."""
    starts = [m.start() for m in re.finditer(r"^(?=[%\w\"#!])", text, re.M)]
    if not starts or text.startswith("module") or "builtin.module" in text or starts[0] != 0:
        yield text
        return
    parts = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    named: dict[str, int] = {}
    for k, part in enumerate(parts):
        if head := re.match(r"[^\n]*?(@[\w.$-]+)", part):
            named.setdefault(head[1], k)
    common = [k for k, part in enumerate(parts) if not re.match(r"[^\n]*?@", part)]
    for k in range(len(parts)):
        wanted, todo = {k, *common}, [k]
        while todo:
            for name in re.findall(r"@[\w.$-]+", parts[todo.pop()]):
                if (other := named.get(name)) is not None and other not in wanted:
                    wanted.add(other)
                    todo.append(other)
        yield "".join(parts[j] for j in sorted(wanted))


def _kernels() -> Iterator[tuple[str, str]]:
    """The kernels of the examples in Python, as text."""
    import importlib

    folder = ROOT / "examples" / "kernels"
    sys.path.insert(0, str(folder))
    from lamina.frontend.kernel.build import build_kernel

    for path in sorted(folder.glob("*.py")):
        kernel = getattr(importlib.import_module(path.stem), path.stem, None)
        if path.stem != "show":
            yield path.stem, str(build_kernel(kernel.__wrapped__))


# Mutation

TOKEN = re.compile(r'"[^"\n]*"|[%@^#!][\w.$-]+|\d+x(?=[\dxfi?])|-?\d[\w.+]*|[A-Za-z_][\w.$]*|->|[^\s\w]')
NUMBERS = ("0", "1", "-1", "2", "3", "7", "8", "1000000", "2147483648", "9223372036854775807")
ELEMENTS = ("f32", "f64", "f16", "bf16", "f80", "i1", "i8", "i32", "i64", "i24", "index", "vector<8xf32>", "tensor<4xf32>")
BROKEN = ("", "}", "{", "<", "%nope", "@nope", "0x", "!graph.none", '"', "tensor<?x", "graph.nope", "é", "i0", "^bb1", "loc(")
KINDS = ("seq", "parallel", "vector", "unroll", "reduce<add>", "reduce<max>", "register", "stack", "scratch")


def mutate(text: str, rng: random.Random) -> str:
    """A text with one to three changes of tokens or lines."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = _of_lines(text, rng) if rng.random() < 0.2 else _of_tokens(text, rng)
    return text


def _of_lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[at])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines.insert(other, lines.pop(at))
    return "\n".join(lines)


def _of_tokens(text: str, rng: random.Random) -> str:
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        return text
    at = rng.choice(tokens)
    old = at.group()
    same = [t.group() for t in tokens if _kind(t.group()) == _kind(old)]
    choice = rng.random()
    if choice < 0.06:
        new = rng.choice(BROKEN)
    elif choice < 0.12:
        new = rng.choice(tokens).group()
    elif choice < 0.15:
        new = f"{old} {old}"
    elif old.endswith("x") and old[:-1].isdigit():
        new = rng.choice([*same, "?x", "0x", "1x", f"{int(old[:-1]) + 1}x", f"{2 * int(old[:-1])}x", "1000000x"])
    elif re.fullmatch(r"-?\d+", old) and choice < 0.6:
        new = rng.choice([*NUMBERS, str(int(old) + 1), str(int(old) - 1), str(2 * int(old)), f"-{old}".replace("--", "")])
    elif old in ELEMENTS:
        new = rng.choice(ELEMENTS)
    elif old in KINDS:
        new = rng.choice(KINDS)
    else:
        new = rng.choice(same)
    return f"{text[: at.start()]}{new}{text[at.end() :]}"


def _kind(token: str) -> str:
    if token[0] in '%@^#!"':
        return token[0]
    if token[0].isdigit() or (token[0] == "-" and token != "->"):
        return "x" if token.endswith("x") else "0"
    return "word." if "." in token and token[0].isalpha() else "word" if token[0].isalpha() else token


class Mutants:
    """Mutants by number."""

    def __init__(self, only: str = "") -> None:
        self.units = [unit for unit in units() if only in unit.name]
        self._later: dict[tuple[str, str], str] = {}

    def text(self, number: int) -> tuple[str, str]:
        """Name and text of a mutant."""
        rng = random.Random(number)
        unit = self.units[number % len(self.units)]
        phase = rng.choice(PHASES)
        return f"{unit.name}{f'@{phase}' if phase else ''}", mutate(self._at(unit, phase), rng)

    def _at(self, unit: Unit, phase: str) -> str:
        """The text of a unit at a phase; of those that do not get there as it is."""
        from lamina import pipeline
        from lamina.dialects.context import make_context
        from lamina.dialects.dominance import verify_module
        from lamina.dialects.parsing import parse_module

        if not phase:
            return unit.text
        if (unit.name, phase) not in self._later:
            text = unit.text
            try:
                module = parse_module(make_context(), text)
                verify_module(module)
                pipeline.run_to(module, phase)
                text = str(module)
            except Exception:  # a text that is refused on purpose is changed as it is
                pass
            self._later[unit.name, phase] = text if len(text) < 30_000 else unit.text
        return self._later[unit.name, phase]


# The driver


@dataclass
class Result:
    """How a run went."""

    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class _Child:
    """A process that checks mutants one after the other."""

    def __init__(self, arguments: list[str]) -> None:
        command = [sys.executable, "-X", "faulthandler", str(Path(__file__).parent / "mutant_child.py"), *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.number = -1
        self.since = self.before = 0.0
        os.set_blocking(self._pipe(self.process.stderr).fileno(), False)
        started = self.answer(300.0)
        assert started is not None and started.get("verdict") != "exit", f"the child does not start: {started}"

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe

    def ask(self, number: int) -> None:
        self.number, self.since, self.before = number, time.monotonic(), self._computed()
        pipe = self._pipe(self.process.stdin)
        pipe.write(f"{number}\n")
        pipe.flush()

    def answer(self, seconds: float) -> dict[str, Any] | None:
        """The next answer; None if there is none in time. A child that has ended says so as an answer."""
        pipe = self._pipe(self.process.stdout)
        if not select.select([pipe], [], [], seconds)[0]:
            return None
        line = pipe.readline()
        if line:
            return json.loads(line)
        status = self.process.wait()
        return {"verdict": "signal" if status < 0 else "exit", "what": f"status {status}: {self._said()}"}

    def _said(self) -> str:
        try:
            return (self._pipe(self.process.stderr).read() or "")[-3000:]
        except (OSError, TypeError):
            return ""

    def hangs(self) -> bool:
        """Whether it has computed for too long, or waited for much longer: the machine may be busy with other things."""
        return self._computed() - self.before > SECONDS or time.monotonic() - self.since > 30 * SECONDS

    def _computed(self) -> float:
        """Seconds of processor time so far."""
        try:
            words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> str:
        self.process.kill()
        self.process.wait()
        return self._said()


def run(wanted: Iterable[int], jobs: int = 1, only: str = "", verbose: bool = False, kind: str = "mutants") -> Result:
    """Check the mutants, or the lies of `lies.py`, of some numbers."""
    result, numbers = Result(), iter(wanted)
    children = [_Child([only, kind]) for _ in range(jobs)]
    for child in children:
        child.number = next(numbers, -1)
        if child.number >= 0:
            child.ask(child.number)
    while any(child.number >= 0 for child in children):
        for k, child in enumerate(children):
            if child.number < 0:
                continue
            answer = child.answer(0.05 if jobs > 1 else 1.0)
            if answer is None and child.hangs():
                answer = {"verdict": "hang", "what": f"more than {SECONDS} s {child.end()}"}
            if answer is None:
                continue
            number = child.number
            _record(result, number, answer, verbose)
            if answer["verdict"] in ("hang", "signal", "exit"):
                children[k] = child = _Child([only, kind])
            child.number = next(numbers, -1)
            if child.number >= 0:
                child.ask(child.number)
    for child in children:
        child.end()
    return result


def _record(result: Result, number: int, answer: dict[str, Any], verbose: bool) -> None:
    verdict = answer["verdict"]
    result.counts[verdict] += 1
    if verdict not in GOOD:
        result.findings.append({"number": number, **answer})
        if verbose:
            print(f"{number} {answer.get('name', '')}: {verdict}: {answer.get('what', '')}", flush=True)
    if verbose and result.total % 500 == 0:
        print(result.total, dict(result.counts), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=int(os.environ.get("LAMINA_MUTANTS", "20000")))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="units whose name holds this text")
    parser.add_argument("--show", type=int, help="print a mutant and leave")
    options = parser.parse_args()
    if options.show is not None:
        print("// {}\n{}".format(*Mutants(options.only).text(options.show)))
        return 0
    result = run(range(options.first, options.first + options.count), options.jobs, options.only, verbose=True)
    print(f"{result.total} mutants: {', '.join(f'{n} {verdict}' for verdict, n in sorted(result.counts.items()))}")
    return 1 if result.findings else 0


if __name__ == "__main__":
    sys.exit(main())

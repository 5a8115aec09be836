"""Peers that take turns: each in a worker process that sleeps while another one is measured."""

from __future__ import annotations

import json
import os
import select
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .case import Row
from .peers import OURS, PEERS

TURN = 0.012  # seconds that a peer computes in a round
PATIENCE = 180.0  # seconds for a peer to compile a row
SLOW = 6.0  # a peer that is so many times slower than the fastest one takes only a few turns
SLOW_ROUNDS = 3


@dataclass
class Figure:
    """The figures of a peer on a row."""

    seconds: float | None = None
    """Median of the rounds."""
    first: float | None = None
    """Until the first result, compilation included."""
    peak: int | None = None
    """Most bytes of memory that a call needs, its result included."""
    note: str = ""
    """Why there is no time."""
    samples: list[float] = field(default_factory=list)


@dataclass
class Outcome:
    """A row at a number of threads: the figures of all peers."""

    row: Row
    threads: int
    figures: dict[str, Figure]

    @property
    def ours(self) -> float | None:
        """Seconds that lamina takes."""
        return self.figures["lamina"].seconds if "lamina" in self.figures else None

    @property
    def best(self) -> tuple[str, float] | None:
        """The fastest peer and its seconds."""
        times = {n: f.seconds for n, f in self.figures.items() if n not in OURS and f.seconds is not None}
        return min(times.items(), key=lambda item: item[1]) if times else None

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the best peer lamina is."""
        return self.best[1] / self.ours if self.best and self.ours else None

    @property
    def share(self) -> float | None:
        """The share of the machine's limit, measured in the same rounds, that lamina reaches."""
        limit = self.figures["machine"].seconds if "machine" in self.figures else None
        return limit / self.ours if limit and self.ours else None

    @property
    def gain(self) -> float | None:
        """How many times as fast as `before` lamina is: the median of the rounds' ratios."""
        now, before = (self.figures.get(name, Figure()).samples for name in ("lamina", "before"))
        return statistics.median(b / n for n, b in zip(now, before, strict=True)) if now and len(now) == len(before) else None

    @property
    def met(self) -> bool | None:
        """Whether the goals are reached; None if they were not measured."""
        if self.ratio is None:
            return None
        peak = self.figures["lamina"].peak
        share = self.row.share is None or self.share is None or self.share >= self.row.share
        memory = self.row.memory is None or peak is None or peak <= self.row.memory
        return share and memory and self.ratio >= self.row.limit


class Dead(Exception):
    """The process of a peer has ended, or does not answer; says how."""


@dataclass(frozen=True)
class Worker:
    """What runs a worker process: an interpreter, whose environment has the libraries, and further variables."""

    python: str = sys.executable
    variables: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Worker:
        """Read `NAME=VALUE ... PYTHON`, words as in a shell; each of them may be missing.

        Raises:
            ValueError: there are more words.
        """
        words = shlex.split(text)
        variables = [(name, value) for name, is_set, value in (word.partition("=") for word in words) if is_set]
        pythons = [word for word in words if "=" not in word]
        if len(pythons) > 1:
            raise ValueError(f"one interpreter is expected, got {' and '.join(pythons)}")
        # not resolved: an environment is found by the name under which its interpreter was started
        return cls(str(Path(pythons[0]).absolute()) if pythons else sys.executable, tuple(variables))


class Process:
    """The worker process of a peer."""

    def __init__(self, name: str, threads: int, folder: Path, cache: Path, worker: Worker | None = None):
        self.name, self.threads, self.folder, self.cache, self.worker = name, threads, folder, cache, worker or Worker()
        self.start()

    @property
    def log(self) -> Path:
        """What it writes on standard error."""
        return self.folder / f"{self.name}-{self.threads}.log"

    def last_words(self) -> str:
        """The end of the log."""
        return self.log.read_text(errors="replace").strip().rpartition("\n")[2][:200]

    def start(self) -> None:
        """Start it; it imports its library meanwhile (`ready` waits for that)."""
        own = PEERS[self.name].environment(self.threads, self.cache)
        environment = {**os.environ, **own, **dict(self.worker.variables)}
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [self.worker.python, "-m", "suite.worker", self.name, str(self.threads)],
                cwd=Path(__file__).parent.parent,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                bufsize=1,
            )
        self.waiting = True

    def ready(self) -> None:
        """Wait until the library is imported."""
        if self.waiting:
            self.answer()
            self.waiting = False

    def answer(self) -> dict[str, Any]:
        """The next line that the worker writes."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.stop()
            raise Dead(f"no answer for {PATIENCE:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise Dead(f"ended with code {self.process.wait()}, saying: {self.last_words()}")
        return json.loads(line)

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the answer."""
        if self.process.poll() is not None:
            self.start()
        self.ready()
        self.send(json.dumps({"do": do, **request}))
        return self.answer()

    def send(self, line: str) -> None:
        """Write a line to the worker."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line + "\n")
        except OSError as error:
            raise Dead(str(error)) from error

    def settle(self, most: float = 0.5) -> None:
        """Wait until all threads of the worker sleep: thread pools look for work for a while after they had some."""
        tasks, end = Path(f"/proc/{self.process.pid}/task"), time.monotonic() + most
        while time.monotonic() < end and any(state == "R" for state in _states(tasks)):
            time.sleep(0.001)

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def _states(tasks: Path) -> Iterator[str]:
    """The state of each thread, as Linux tells it; nothing elsewhere."""
    for stat in tasks.glob("*/stat"):
        try:
            yield stat.read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue


class Session:
    """Worker processes of several peers at one number of threads."""

    def __init__(
        self,
        peers: Iterable[str],
        threads: int,
        folder: Path,
        cache: Path,
        rounds: int = 15,
        small: bool = False,
        before: Worker | None = None,
    ):
        self.threads, self.folder, self.rounds, self.small = threads, folder, rounds, small
        self.processes = {name: Process(name, threads, folder, cache) for name in dict.fromkeys(["NumPy", *peers])}
        if before is not None:
            self.processes["before"] = Process("before", threads, folder, cache, before)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.stop()

    def measure(self, row: Row) -> Outcome:
        """All peers on a row: compiled, compared with the reference, then timed in turns."""
        figures = {name: Figure() for name in self.processes}
        reference = None
        for name, process in self.processes.items():  # NumPy, the reference, comes first
            figures[name], result = self._prepare(process, row)
            if reference is None:  # NumPy's, where it can be timed
                reference = result
            elif result is not None and reference is not None and (wrong := row.case.mismatch(result, reference)):
                figures[name] = Figure(note=f"wrong: {wrong}")
            process.settle()
        self._take_turns(figures)
        for name, process in self.processes.items():
            try:
                process.ask("release")
            except Dead as error:
                figures[name].note = figures[name].note or str(error)
        return Outcome(row, self.threads, figures)

    def _prepare(self, process: Process, row: Row) -> tuple[Figure, np.ndarray | None]:
        path = self.folder / f"{process.name}.npy"
        path.unlink(missing_ok=True)
        try:
            answer = process.ask("prepare", row=row.name, small=self.small, path=str(path))
        except Dead as error:
            return Figure(note=f"failed: {error}"), None
        if "missing" in answer:
            return Figure(note=answer["missing"] if process.name == "lamina" else ""), None
        if "error" in answer:
            return Figure(note=f"failed: {answer['error']}"), None
        figure = Figure(answer["seconds"], answer["first"], answer["peak"])
        return figure, np.load(path) if path.exists() else None

    def _take_turns(self, figures: dict[str, Figure]) -> None:
        once = {name: figure.seconds for name, figure in figures.items() if figure.seconds is not None}
        fastest = min((s for name, s in once.items() if name != "machine"), default=0.0)
        names = list(once)
        for turn in range(self.rounds):
            first = turn % len(names)  # the order changes, since caches hold the data of the peer before
            for name in (*names[first:], *names[:first]):
                seconds = once[name]
                slow = name not in OURS and seconds > max(SLOW * fastest, 1e-4)
                if figures[name].note or (slow and turn >= SLOW_ROUNDS):
                    continue
                try:
                    answer = self.processes[name].ask("turn", count=max(1, round(TURN / max(seconds, 1e-9))))
                    figures[name].samples.append(answer["seconds"])
                except (Dead, KeyError) as error:
                    figures[name].note = f"failed: {error}"
                self.processes[name].settle()
        for figure in figures.values():
            figure.seconds = statistics.median(figure.samples) if figure.samples and not figure.note else None

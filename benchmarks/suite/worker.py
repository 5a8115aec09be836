"""A peer in a process of its own: waits for a request on standard input (a line of JSON), answers on standard output.

    prepare {row, small, path}  ->  {first, peak, seconds}    compile, run once, store the result; how long one call takes
    turn {count}                ->  {seconds}                 mean of `count` calls
    release {}                  ->  {}                        forget the row

Between requests it blocks; the process ends with its standard input.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from .peers import PEERS, Call, NotSupported, Peer
from .rows import find

WARM_UP = 0.02  # seconds; calls that take longer need no untimed one before them


class Worker:
    """What the requests are about: a peer and the row that it has prepared."""

    def __init__(self, peer: Peer):
        self.peer = peer
        self.call: Call | None = None

    def prepare(self, row: str, small: bool, path: str) -> dict[str, Any]:
        """Compile a row and run it: seconds until the first result, bytes that the run needed at most, seconds of a call."""
        case = find(row).small if small else find(row).case
        if not case.has(self.peer.method):
            raise NotSupported("not written")
        inputs = case.make_inputs()
        start = time.perf_counter()
        first, self.call = self.peer.prepare(case, inputs)
        compiled = time.perf_counter() - start
        self.peer.forget()
        with peak_memory() as memory:
            start = time.perf_counter()
            result = first()
            ran = time.perf_counter() - start
        if isinstance(result, np.ndarray | np.generic):
            np.save(path, result)
        del first, result
        for _ in range(2):
            self.call()
        start = time.perf_counter()
        self.call()
        return {"first": compiled + ran, "peak": memory.peak, "seconds": time.perf_counter() - start}

    def turn(self, count: int) -> dict[str, Any]:
        """Mean seconds of `count` calls."""
        assert self.call is not None
        if self.peer.name == "machine":
            return {"seconds": self.call()}
        call, repeat = self.call, range(count)
        start = time.perf_counter()
        call()
        if time.perf_counter() - start > WARM_UP and count == 1:
            return {"seconds": time.perf_counter() - start}
        start = time.perf_counter()
        for _ in repeat:
            call()
        return {"seconds": (time.perf_counter() - start) / count}

    def release(self) -> dict[str, Any]:
        """Let go of the row and its memory."""
        self.call = None
        gc.collect()
        return {}


class peak_memory(contextlib.AbstractContextManager):
    """How much more memory than before was resident at most; None where Linux does not tell."""

    peak: int | None = None

    def __enter__(self) -> peak_memory:
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
        self.before = self._resident("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        after = self._resident("VmHWM")
        self.peak = None if after is None or self.before is None else max(0, after - self.before)

    @staticmethod
    def _resident(field: str) -> int | None:
        try:
            lines = Path("/proc/self/status").read_text().splitlines()
        except OSError:
            return None
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), None)


def main() -> None:
    name, threads = sys.argv[1], int(sys.argv[2])
    # what libraries print must not get between the answers
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    worker = Worker(PEERS[name](threads))
    print("{}", file=answers)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except NotSupported as error:
            answer = {"missing": str(error)}
        except Exception as error:  # whatever it is, it is this peer's figure on this row
            message = str(error).strip().partition("\n")[0]
            answer = {"error": f"{type(error).__name__}: {message:.200}"}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()

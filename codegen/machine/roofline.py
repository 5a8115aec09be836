"""The limits of this machine, measured: multiply-adds a second on one core, and memory traffic.

These are the limits of a roofline (Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", 2009),
measured with our own code: chains of independent `llvm.fma` in registers; `a = b + s * c` over arrays larger than the caches.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from ..compile import compile_object
from ..targets.host import host
from ..thread_runtime import load_object
from .chains import chains_text, throughput_chains

_ROUNDS = 200_000
_TRIAD_BYTES = 64 << 20


@cache
def peak_flops(element: str = "float") -> float:
    """Most floating-point operations a second on one core, an fma counting two. Takes about 50 ms.

    Args:
        element: `float` or `double`, as LLVM names them.
    """
    probe = FmaProbe(element)
    return max(probe.rate() for _ in range(12))


@cache
def triad_bytes() -> float:
    """Bytes a second that one core moves in `a[i] = b[i] + s * c[i]` over 64 MiB, 12 bytes an element. Takes about 0.2 s."""
    probe = TriadProbe()
    return max(probe.rate() for _ in range(6))


class _Probe:
    """A piece of work that each of several threads does at the same time. Python's threads: the code runs without the GIL."""

    work: float
    """The work of one thread: operations, or bytes."""

    def __init__(self, threads: int):
        self.threads = threads
        self._pools = [ThreadPoolExecutor(1, initializer=_settle, initargs=(k,)) for k in range(threads if threads > 1 else 0)]

    def _run(self, thread: int) -> None:
        raise NotImplementedError

    def rate(self) -> float:
        """Work a second of all threads together, measured now, once."""
        start = time.perf_counter()
        waiting = [pool.submit(self._run, k) for k, pool in enumerate(self._pools)]
        for one in waiting:
            one.result()
        if not waiting:
            self._run(0)
        return self.work * self.threads / (time.perf_counter() - start)


def _settle(thread: int) -> None:
    """Keep the calling thread on a processor of its own: two that wake up at once may else share one for milliseconds."""
    if hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[thread % len(processors)]})


class FmaProbe(_Probe):
    """Chains of multiply-adds in registers; a measurement takes 1 ms, or 10 ms on several threads.

    Args:
        element: `float` or `double`.
        threads: how many run at the same time.
    """

    def __init__(self, element: str = "float", threads: int = 1):
        super().__init__(threads)
        target = host()
        lanes = target.lanes(32 if element == "float" else 64)
        chains = throughput_chains(target)
        self._function = _load(chains_text("fma", element, lanes, chains), "f", ctypes.c_int64, ctypes.c_void_p)
        self._rounds = _ROUNDS if threads == 1 else 10 * _ROUNDS  # so that waking the threads is nothing beside
        self._out = np.zeros((threads, 64), np.float64)
        self.work = 2.0 * chains * lanes * self._rounds

    def _run(self, thread: int) -> None:
        self._function(self._rounds, self._out[thread].ctypes.data)


class TriadProbe(_Probe):
    """`a[i] = b[i] + s * c[i]` over 64 MiB, each thread on its share; a measurement takes 4 ms or less.

    Args:
        threads: how many run at the same time.
    """

    def __init__(self, threads: int = 1):
        super().__init__(threads)
        lanes = host().lanes(32)
        self._count = _TRIAD_BYTES // 12 // threads // lanes * lanes
        self._function = _load(_triad_text(lanes), "f", ctypes.c_int64, *[ctypes.c_void_p] * 3)
        # ones: pages never written would all be one page of zeros, in the cache
        self._arrays = [[np.ones(self._count, np.float32) for _ in range(3)] for _ in range(threads)]
        self.work = 12.0 * self._count

    def _run(self, thread: int) -> None:
        self._function(self._count, *(array.ctypes.data for array in self._arrays[thread]))


def _triad_text(lanes: int) -> str:
    ty = f"<{lanes} x float>"
    return f"""
define void @f(i64 %n, ptr noalias %a, ptr noalias %b, ptr noalias %c) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %pb = getelementptr float, ptr %b, i64 %i
  %pc = getelementptr float, ptr %c, i64 %i
  %pa = getelementptr float, ptr %a, i64 %i
  %x = load {ty}, ptr %pb, align 4
  %y = load {ty}, ptr %pc, align 4
  %s = fmul {ty} %y, splat (float 3.0)
  %z = fadd {ty} %x, %s
  store {ty} %z, ptr %pa, align 4
  %j = add i64 %i, {lanes}
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""


def _load(text: str, name: str, *arguments: type) -> Callable[..., None]:
    return load_object(compile_object(text, host()), [name]).function(name, None, *arguments)

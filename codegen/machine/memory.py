"""Caches, as a core sees them: the time of an access by the size of the working set, the bandwidth of reads, and the fastest
way to write.
"""

from __future__ import annotations

import ctypes
import time
from statistics import median

import numpy as np

from ..compile import compile_object
from ..targets.base import LINE_BYTES, Target
from ..thread_runtime import load_object

_HOPS = 40_000
_READ_BYTES = 4 << 20
"""In one run at least: the call should be nothing beside it."""
_STEP = 1.25
"""How many times slower than a cache the next level is at least, to be told from noise."""

_CHASE = """
define void @f(ptr %start, i64 %n, ptr %out) {
entry:
  br label %loop
loop:
  %p = phi ptr [ %start, %entry ], [ %q, %loop ]
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %q = load ptr, ptr %p, align 8
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  store ptr %q, ptr %out, align 8
  ret void
}"""


class ChaseProbe:
    """Pointers from line to line in an order that nothing foresees: the latency of an access where `size` bytes are in use."""

    def __init__(self, size: int, target: Target, seed: int = 0):
        lines, words = max(2, size // LINE_BYTES), LINE_BYTES // 8
        self._memory = np.zeros(lines * words, np.uint64)
        order = np.random.default_rng(seed).permutation(lines)
        address = self._memory.ctypes.data
        self._memory[order * words] = address + np.roll(order, -1) * LINE_BYTES
        self._out = np.array([address + int(order[0]) * LINE_BYTES], np.uint64)
        obj = compile_object(_CHASE, target)
        self._function = load_object(obj, ["f"]).function("f", None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
        self._function(int(self._out[0]), min(lines, 1 << 18), self._out.ctypes.data)

    def __call__(self) -> float:
        """Seconds an access takes; each run continues where the last one ended."""
        start = time.perf_counter()
        self._function(int(self._out[0]), _HOPS, self._out.ctypes.data)
        return (time.perf_counter() - start) / _HOPS


def _read_text(lanes: int) -> str:
    """LLVM IR that reads `n` floats `times` times, four vectors at once."""
    ty = f"<{lanes} x float>"
    names = range(4)
    phis = [f"  %x{k} = phi {ty} [ zeroinitializer, %outer ], [ %y{k}, %loop ]" for k in names]
    steps: list[str] = []
    for k in names:
        steps += [
            f"  %i{k} = add i64 %i, {k * lanes}",
            f"  %p{k} = getelementptr float, ptr %a, i64 %i{k}",
            f"  %v{k} = load volatile {ty}, ptr %p{k}, align 4",
            f"  %y{k} = fadd {ty} %x{k}, %v{k}",
        ]
    return "\n".join(
        [
            "define void @f(ptr %a, i64 %n, i64 %times, ptr %out) {",
            "entry:",
            "  br label %outer",
            "outer:",
            "  %t = phi i64 [ 0, %entry ], [ %u, %next ]",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %outer ], [ %j, %loop ]",
            *phis,
            *steps,
            f"  %j = add i64 %i, {4 * lanes}",
            "  %more = icmp slt i64 %j, %n",
            "  br i1 %more, label %loop, label %next",
            "next:",
            f"  %s0 = fadd {ty} %y0, %y1",
            f"  %s1 = fadd {ty} %y2, %y3",
            f"  %s = fadd {ty} %s0, %s1",
            f"  store {ty} %s, ptr %out, align 4",
            "  %u = add i64 %t, 1",
            "  %again = icmp slt i64 %u, %times",
            "  br i1 %again, label %outer, label %done",
            "done:",
            "  ret void",
            "}",
        ]
    )


class ReadProbe:
    """Vectors read one after the other from `size` bytes, again and again."""

    def __init__(self, size: int, target: Target):
        lanes = target.lanes(32)
        count = max(1, size // 4 // (4 * lanes)) * 4 * lanes
        self._memory, self._out = np.ones(count, np.float32), np.zeros(lanes, np.float32)
        self._times = max(1, _READ_BYTES // self._memory.nbytes)
        obj = compile_object(_read_text(lanes), target)
        types = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        self._function = load_object(obj, ["f"]).function("f", None, *types)

    def __call__(self) -> float:
        """Seconds a byte takes."""
        start = time.perf_counter()
        self._function(self._memory.ctypes.data, self._memory.size, self._times, self._out.ctypes.data)
        return (time.perf_counter() - start) / (self._memory.nbytes * self._times)


def _copy_text(lanes: int, past: bool) -> str:
    ty = f"<{lanes} x float>"
    hint = ", !nontemporal !0" if past else ""
    return f"""
define void @f(ptr noalias %a, ptr noalias %b, i64 %n, i64 %row) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %r = and i64 %i, %row
  %pb = getelementptr float, ptr %b, i64 %r
  %pa = getelementptr float, ptr %a, i64 %i
  %x = load {ty}, ptr %pb, align 4
  store {ty} %x, ptr %pa, align {4 * lanes}{hint}
  %j = add i64 %i, {lanes}
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  fence seq_cst
  ret void
}}
!0 = !{{i32 1}}"""


class StoreProbe:
    """Rows that lie in the first cache copied to `size` bytes, through the caches or past them."""

    def __init__(self, memory: np.ndarray, size: int, target: Target, past: bool):
        lanes = target.lanes(32)
        offset = -memory.ctypes.data % LINE_BYTES
        self._to, self._count = memory.ctypes.data + offset, (size - LINE_BYTES) // 4 // lanes * lanes
        self._memory, self._from = memory, np.ones(1024 + lanes, np.float32)
        obj = compile_object(_copy_text(lanes, past), target)
        types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self._function = load_object(obj, ["f"]).function("f", None, *types)

    def __call__(self) -> float:
        """Seconds of one copy."""
        start = time.perf_counter()
        self._function(self._to, self._from.ctypes.data, self._count, 1023)
        return time.perf_counter() - start


def size_from(seconds: dict[int, float], before: int, expected: int, following: int) -> int:
    """The size of a cache from the time per byte by working-set size: the expected one unless that is clearly wrong.

    Args:
        seconds: by bytes in use.
        before: the size of the level before, 0 if there is none.
        expected: the size as the system reports it.
        following: the size of the next level, or a size that is certainly in memory.
    """
    inside = [taken for size, taken in seconds.items() if 2 * before <= size <= expected // 2]
    outside = [taken for size, taken in seconds.items() if 2 * expected <= size <= following // 2]
    if not inside or not outside or median(outside) < _STEP * median(inside):
        return expected
    limit = (median(inside) * median(outside)) ** 0.5
    found = max(size for size, taken in seconds.items() if taken <= limit)
    return expected if expected <= 2 * found and found <= 2 * expected else found

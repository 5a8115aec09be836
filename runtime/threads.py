"""Threads: their number, and the words that control the code of `codegen/workers.py`.

The words belong to this module and outlive their readers, so the number of threads can be set at any time.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
import re
import sys
import warnings
from pathlib import Path
from typing import SupportsIndex

STATE_SYMBOL = "lamina.threads"

ONCE = 1 << 32
"""Added to the number of threads of a region: one piece a thread, where each goes through all of something."""

MANY = 1 << 33
"""Added to the number of threads of a region: many pieces a thread, for iterations that take different times."""
MOST_PIECES = 64
"""Pieces a thread then has, unless they are of less work than this."""
LEAST_PIECE = 1 << 14

# Loops of less work (scalar operations, about 0.3 ns each) run in the calling thread: if the workers that they need are looking
# for some, and if any of them sleeps. On two processors of a virtual machine the first costs 0.2 us, the second 50 to 110,
# spent by the calling thread in telling the system.
AWAKE_THRESHOLD = 1 << 15
ASLEEP_THRESHOLD = 1 << 18

# More threads than this are a mistake.
MAX_THREADS = 1024

# How often a thread that waits gives way before it sleeps: for about a millisecond where nothing else wants to run. OpenMP's
# workers spin without giving way, libgomp's for 6 ms, in which a product of 512x512 matrices by NumPy takes 6.3 ms instead of
# 1.9. After a region of these it takes 1.9.
PATIENCE = 1000

# The words that compiled code reads


class State(ctypes.Structure):
    """The words that compiled code reads and writes, at the start of a cache line."""

    _fields_ = (
        ("threads", ctypes.c_int64),  # the default
        ("processors", ctypes.c_int64),  # that there are: threads beyond them sleep at once when they wait
        ("busy", ctypes.c_int64),  # a region is active
        ("regions", ctypes.c_int64),  # that ran so far
        ("workers", ctypes.c_int64),  # that exist
        ("sleepers", ctypes.c_int64),  # workers that must be woken
        ("awaited", ctypes.c_int64),  # the calling thread sleeps until the workers are done
        ("processor", ctypes.c_int64),  # where the calling thread was when the region began
        # one word that workers enter and leave a region by: its number, its threads, whether it is over, workers within
        ("ticket", ctypes.c_int64),
        ("_1", ctypes.c_int64 * 7),
        ("taken", ctypes.c_int64),  # pieces from the front, and, times 2^32, from the back
        ("_2", ctypes.c_int64 * 7),
        ("body", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("pieces", ctypes.c_int64),
        ("modes", ctypes.c_int64),  # the calling thread's, of floating-point arithmetic
        ("_3", ctypes.c_int64 * 3),
        # room for a system's form of these: 40 to 64 bytes
        ("mutex", ctypes.c_int64 * 16),
        ("work", ctypes.c_int64 * 16),  # the condition that sleepers wait for
        ("done", ctypes.c_int64 * 16),  # and the calling thread
    )


_OVER = 1 << 15


def _new_state() -> State:
    """In memory that is never freed, as threads may be running at exit that read it; it begins a cache line."""
    room = (ctypes.c_char * (ctypes.sizeof(State) + 63))()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(room))
    state = State.from_address((ctypes.addressof(room) + 63) & ~63)
    state.ticket = _OVER
    return state


STATE = _new_state()


def imports() -> dict[str, int]:
    """The imports of `workers.parallel_module()`, for `codegen.thread_runtime.load_object`."""
    return {STATE_SYMBOL: ctypes.addressof(STATE)}


# How many


def set_threads(n: SupportsIndex) -> None:
    """Let parallel loops run on `n` threads from now on, the calling one included. 1 means no others.

    At first the number comes from the environment variable `LAMINA_NUM_THREADS`, or else is the number of processors
    that this process may use. A kernel can be given a number of its own, which comes before this one.

    >>> import lamina as lm
    >>> lm.set_threads(2)
    >>> lm.get_threads()
    2

    Raises:
        TypeError: `n` is not an integer.
        ValueError: `n` is below 1 or above 1024.
    """
    if isinstance(n, bool):
        raise TypeError(f"set_threads takes an integer, got bool: {n}")
    try:
        number = operator.index(n)
    except TypeError:
        raise TypeError(f"set_threads takes an integer, got {type(n).__name__}: {n!r:.40}") from None
    if not 1 <= number <= MAX_THREADS:
        raise ValueError(f"set_threads takes a number from 1 to {MAX_THREADS}, got {number}")
    STATE.threads = number


def get_threads() -> int:
    """The number of threads on which parallel loops run, the calling one included.

    >>> import lamina as lm
    >>> lm.get_threads() >= 1
    True
    """
    if not STATE.threads:
        STATE.threads = _default_threads()
    return STATE.threads


def _default_threads() -> int:
    wanted = os.environ.get("LAMINA_NUM_THREADS", "").strip()
    if wanted:
        if re.fullmatch(r"\d{1,9}", wanted, re.ASCII) and 1 <= int(wanted) <= MAX_THREADS:
            return int(wanted)
        warnings.warn(
            f"LAMINA_NUM_THREADS must be a number from 1 to {MAX_THREADS}, it is {wanted!r:.40}: ignored",
            RuntimeWarning,
            stacklevel=3,
        )
    return _usable_processors()


def _usable_processors() -> int:
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min(usable, quota_threads() or usable, MAX_THREADS))


def quota_threads(groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """The processors that the control groups of this process grant it, rounded up; None if there is no limit.

    A container sees the files of its own group at the root, other processes below it, at the path that `groups` gives;
    every group on the way may have a limit, and the least counts.
    """
    try:
        lines = groups.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    limits = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:  # version 2
            tops, read = [root, root / "unified"], _quota_v2
        elif "cpu" in controllers.split(","):
            tops, read = [root / controllers, root / "cpu"], _quota_v1
        else:
            continue
        # a path that leads out of the mounted tree begins with /..
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for top in tops:
            limits += [read(top.joinpath(*parts[:depth])) for depth in range(len(parts) + 1)]
    return min((math.ceil(limit) for limit in limits if limit), default=None)


def _quota_v2(group: Path) -> float | None:
    return _ratio(_words(group / "cpu.max"))


def _quota_v1(group: Path) -> float | None:
    return _ratio(_words(group / "cpu.cfs_quota_us") + _words(group / "cpu.cfs_period_us"))


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except (OSError, UnicodeDecodeError):
        return []


def _ratio(words: list[str]) -> float | None:
    """Quota and period, in microseconds; no quota is `max` or -1."""
    try:
        quota, period = (int(word) for word in words)
    except ValueError:
        return None
    return quota / period if quota > 0 and period > 0 else None


# The pool


def prepare() -> None:
    """Make the words ready for the code: before the first region, and in a child after a fork, which has no workers."""
    get_threads()
    STATE.processors = _usable_processors()
    STATE.busy = STATE.workers = STATE.sleepers = STATE.awaited = 0
    STATE.ticket = (STATE.ticket | _OVER) & ~(_OVER - 1)
    if not THREADED:
        return
    process = ctypes.CDLL(None)
    for words, initialize in (
        ("mutex", process.pthread_mutex_init),
        ("work", process.pthread_cond_init),
        ("done", process.pthread_cond_init),
    ):
        initialize(ctypes.c_void_p(ctypes.addressof(STATE) + getattr(State, words).offset), None)


# Whether there are POSIX threads. Without them all loops run in the calling thread.
THREADED = sys.platform != "win32"

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=prepare)

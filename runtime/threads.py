"""Threads: how many, on which OpenMP runtime, and the function that parallel loops call.

`parallel_module()` is LLVM IR that defines

`@lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads)`, which runs the iterations 0 to `count` of a
loop through `body(ptr %data, i64 %begin, i64 %end)`: in pieces, on several threads, by `GOMP_parallel` of whatever OpenMP
runtime there is (GCC's libgomp; LLVM's libomp and Intel's libiomp5 have the function too); or all at once in the calling
thread, when `work` (scalar operations of the whole loop) is too little, when one thread is asked for (`threads`; 0 means
the default), when no runtime was found, or when another region is active.

What it goes by stands in the words of `_State`, which belong to this module and outlive all that reads them, so the
number of threads can be set at any time. `codegen/parallel.py` compiles, loads and binds.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

STATE_SYMBOL = "lamina.threads"
PARALLEL_SYMBOLS = ("lamina_parallel", "lamina.threads.leave")

# Loops of less work run in the calling thread. On two processors of a virtual machine a region costs 1 us while its workers
# still spin and 45 us when they must be woken; at 0.3 ns an operation this much is 39 us, so two threads then halve the time
# in the first case and just lose nothing in the second.
WORK_THRESHOLD = 1 << 17

# More threads than this are a mistake, and one that libgomp answers by ending the process.
MAX_THREADS = 1024

# An OpenMP runtime keeps the workers of every thread that ever ran a region until that thread ends. So many threads of a
# program may have workers; further ones run their loops alone.
MAX_POOLS = 4

# How the workers wait, for a runtime that this module loads, unless the user's environment says something about it. By
# default libgomp spins 300000 times (6 ms) and Intel's for 200 ms; a product of matrices by NumPy right after a region then
# takes 6.3 ms instead of 2.2. What regions cost on two processors, above the time that their work takes, in us:
#   spin count                           0    300   1000   3000   300000
#   one after the other                 50     33      2     10        5
#   100 us apart                        50     50     43     28        8
#   the same with a busy program here   33     40     50    100      100 (one after the other), 300 (apart)
# With 1000 (20 us) the product takes 2.2 ms as ever. Older versions of Intel's spin for a millisecond or not at all: not.
_WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "0"}

_REMEDY = "pip install lamina[threads]"


# The words that compiled code reads


class _State(ctypes.Structure):
    _fields_ = (
        ("gomp", ctypes.c_void_p),  # GOMP_parallel; null: everything runs in the calling thread
        ("threads", ctypes.c_int64),  # the default
        ("busy", ctypes.c_int64),  # a region is active
        ("regions", ctypes.c_int64),  # that ran so far
        ("pools", ctypes.c_int64),  # threads with workers
        ("key", ctypes.c_int64),  # the pthread key under which such a thread has a mark
        ("getspecific", ctypes.c_void_p),
        ("setspecific", ctypes.c_void_p),
    )


STATE = _State()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(STATE))  # at exit, threads may be running that read it


def imports() -> dict[str, int]:
    """What `parallel_module()` leaves undefined, for `codegen.jit.load_object`."""
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
    if _bound:
        _warn_if_alone()


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
        # a path that leads out of what is mounted here begins with /..
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


# On which runtime


class Runtime(NamedTuple):
    """An OpenMP runtime: where it was found, its `GOMP_parallel`, and whether others in this process use it too."""

    name: str
    address: int
    shared: bool


_bound = False
_warned = False
_forked = False
_stale = False  # a runtime was mapped when this process was forked


def bind(leave: int) -> None:
    """Find a runtime, once, and let compiled code use it. `leave` is the address of `@lamina.threads.leave`."""
    global _bound
    if _bound:
        return
    _bound = True
    get_threads()
    found = discover()
    # workers are counted by the end of their threads; systems without this have no GOMP_parallel either
    process: Any = ctypes.CDLL(None) if found else None
    key = ctypes.c_ulong(0)
    if found and not process.pthread_key_create(ctypes.byref(key), ctypes.c_void_p(leave)):
        STATE.key = key.value
        STATE.getspecific = _address(process.pthread_getspecific)
        STATE.setspecific = _address(process.pthread_setspecific)
        STATE.gomp = found.address
    _warn_if_alone()


def discover(maps: Path = Path("/proc/self/maps")) -> Runtime | None:
    """An OpenMP runtime of this process, or else of the system or the Python environment; None if there is none.

    Two runtimes in one process are twice the workers, and some refuse to be the second: so one that is there is taken.
    """
    if sys.platform == "win32":
        return None  # the runtimes there lack GOMP_parallel
    for name, mode in [(None, None), *((path, os.RTLD_NOLOAD | os.RTLD_LAZY) for path in mapped_runtimes(maps))]:
        address = _gomp_parallel(name, mode)
        if address:
            # libgomp waits forever for the workers that the parent of this process had, and who knows whether it had any
            return None if _stale else Runtime(name or "the process", address, True)
    with _environment(_WAITING):
        for name in _candidates():
            address = _gomp_parallel(name)
            if address:
                return Runtime(name, address, False)
    return None


def mapped_runtimes(maps: Path = Path("/proc/self/maps")) -> list[str]:
    """The files of OpenMP runtimes in the address space of this process (`maps`, as Linux lists it), libgomp first."""
    try:
        lines = maps.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    files = {line.split(maxsplit=5)[5] for line in lines if "/" in line}
    # wheels carry copies under names like libgomp-a34b3233.so.1.0.0
    pattern = re.compile(r".*/lib(gomp|omp5?|iomp5)([-.][^/]*)?\.so([.\d]*)")
    return sorted((file for file in files if pattern.fullmatch(file)), key=lambda file: ("libgomp" not in file, file))


def _candidates() -> Iterator[str]:
    if sys.platform == "darwin":
        yield from ("libomp.dylib", "/opt/homebrew/opt/libomp/lib/libomp.dylib", "/usr/local/opt/libomp/lib/libomp.dylib")
    else:
        yield from ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so")
    yield from _installed()
    # last: it starts other programs
    from ctypes.util import find_library

    yield from filter(None, map(find_library, ("gomp", "omp", "iomp5")))


def _installed() -> Iterator[str]:
    """Files of the distribution that the extra `threads` asks for; it is in no place where the system would look."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        listed = files("intel-openmp") or []
    except PackageNotFoundError:
        return
    yield from (str(Path(str(file.locate())).resolve()) for file in listed if file.name in ("libiomp5.so", "libiomp5.dylib"))


def _gomp_parallel(name: str | None, mode: int | None = None) -> int | None:
    """The address of `GOMP_parallel` in a library (None: in the process), or None."""
    try:
        library = ctypes.CDLL(name) if mode is None else ctypes.CDLL(name, mode=mode)
        function, start = library.GOMP_parallel, library.omp_get_max_threads
    except (OSError, AttributeError):
        return None
    if mode is None:
        start()  # LLVM's and Intel's read the environment at the first call, not when they are loaded
    return _address(function)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    """Set variables for C code, too, unless the user has set any of them, and take them back."""
    if any(name in os.environ for name in (*wanted, "KMP_LIBRARY")):
        yield
        return
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name in wanted:
            os.environ.pop(name, None)


def _warn_if_alone() -> None:
    global _warned
    if STATE.gomp or STATE.threads == 1 or _warned or _forked:
        return
    _warned = True
    warnings.warn(
        f"lamina found no OpenMP runtime: parallel loops run on one thread. Remedy: {_REMEDY}, or install libgomp or libomp",
        RuntimeWarning,
        stacklevel=3,
    )


def _after_fork() -> None:
    """In a child, where no thread but this one exists."""
    global _forked, _stale
    _forked = True
    if not _bound:
        _stale = sys.platform != "linux" or bool(mapped_runtimes())
    STATE.busy = 0
    # libgomp waits forever for workers that are no more; and even if no region ran here, others may have had some with the
    # same copy: PyTorch takes the one that it finds loaded
    STATE.gomp = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# The code


def parallel_module(architecture: str) -> str:
    """The LLVM IR of `@lamina_parallel`, with `imports()` to link.

    >>> "@lamina_parallel(" in parallel_module("x86_64")
    True
    """
    words = {name: 8 * i for i, (name, *_) in enumerate(_State._fields_)}
    control = _CONTROL.get(architecture, _NO_CONTROL)
    return control + _TEXT.format(
        threshold=WORK_THRESHOLD, most_threads=MAX_THREADS, most_pools=MAX_POOLS, state=f'@"{STATE_SYMBOL}"', **words
    )


# Rounding and denormals are modes of a thread, and a worker keeps those of the moment when it was made.
_NO_CONTROL = """
define internal i64 @control() { ret i64 0 }
define internal void @set_control(i64 %modes) { ret void }
"""
_ARM_CONTROL = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define internal i64 @control() alwaysinline {
  %modes = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %modes
}
define internal void @set_control(i64 %modes) alwaysinline {
  call void @llvm.aarch64.set.fpcr(i64 %modes)
  ret void
}
"""
_CONTROL = {
    "x86_64": """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal i64 @control() alwaysinline {
  %at = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  %word = load i32, ptr %at
  %modes = and i32 %word, 65472 ; without the flags of what happened
  %wide = zext i32 %modes to i64
  ret i64 %wide
}
define internal void @set_control(i64 %modes) alwaysinline {
  %at = alloca i32
  %word = trunc i64 %modes to i32
  store i32 %word, ptr %at
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  ret void
}
""",
    "aarch64": _ARM_CONTROL,
    "arm64": _ARM_CONTROL,
}

_TEXT = """
{state} = external global [8 x i64]
declare i64 @llvm.umin.i64(i64, i64)

; what the threads of a region share; the counter has a cache line to itself
%context = type {{ ptr, ptr, i64, i64, i64, [24 x i8], i64, [56 x i8] }} ; body, data, count, chunks, modes, -, next, -

define void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {{
  %several = icmp sgt i64 %count, 1
  %enough = icmp sge i64 %work, {threshold}
  %worth = and i1 %several, %enough
  br i1 %worth, label %policy, label %alone
policy:
  %default.at = getelementptr i8, ptr {state}, i64 {threads}
  %default = load atomic i64, ptr %default.at monotonic, align 8
  %given = icmp sgt i64 %threads, 0
  %asked = select i1 %given, i64 %threads, i64 %default
  %team = call i64 @llvm.umin.i64(i64 %asked, i64 {most_threads})
  %others = icmp sgt i64 %team, 1
  %gomp.at = getelementptr i8, ptr {state}, i64 {gomp}
  %gomp = load atomic ptr, ptr %gomp.at acquire, align 8
  %found = icmp ne ptr %gomp, null
  %can = and i1 %others, %found
  br i1 %can, label %enter, label %alone
enter: ; unless a region is active: of another thread, or the one that this loop is in
  %busy.at = getelementptr i8, ptr {state}, i64 {busy}
  %swap = cmpxchg ptr %busy.at, i64 0, i64 1 acquire monotonic
  %entered = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %entered, label %pool, label %alone
pool: ; has this thread workers?
  %key.at = getelementptr i8, ptr {state}, i64 {key}
  %key = load i64, ptr %key.at
  %get.at = getelementptr i8, ptr {state}, i64 {getspecific}
  %get = load ptr, ptr %get.at
  %mark = call ptr %get(i64 %key)
  %known = icmp ne ptr %mark, null
  br i1 %known, label %region, label %new
new:
  %pools.at = getelementptr i8, ptr {state}, i64 {pools}
  %pools = load atomic i64, ptr %pools.at monotonic, align 8
  %room = icmp slt i64 %pools, {most_pools}
  br i1 %room, label %claim, label %full
claim: ; only the end of a thread changes the count at the same time, and lowers it
  %before = atomicrmw add ptr %pools.at, i64 1 monotonic
  %set.at = getelementptr i8, ptr {state}, i64 {setspecific}
  %set = load ptr, ptr %set.at
  %failed = call i32 %set(i64 %key, ptr {state})
  br label %region
full:
  store atomic i64 0, ptr %busy.at release, align 8
  br label %alone
region:
  call void @region(ptr %body, ptr %data, i64 %count, i64 %team, ptr %gomp)
  store atomic i64 0, ptr %busy.at release, align 8
  ret void
alone:
  tail call void %body(ptr %data, i64 0, i64 %count)
  ret void
}}

; The team is as asked for, also for fewer iterations: libgomp ends workers that are not needed and makes new ones for the
; next region (1100 us a region when teams of 2 and 7 alternate on two processors, 33 us with 7 each time).
define internal void @region(ptr %body, ptr %data, i64 %count, i64 %team, ptr %gomp) noinline {{
  %shared = alloca %context, align 64
  %most = shl i64 %team, 2 ; some for each, as neither processors nor iterations are equally fast
  %chunks = call i64 @llvm.umin.i64(i64 %count, i64 %most)
  %modes = call i64 @control()
  store ptr %body, ptr %shared
  %data.at = getelementptr %context, ptr %shared, i64 0, i32 1
  store ptr %data, ptr %data.at
  %count.at = getelementptr %context, ptr %shared, i64 0, i32 2
  store i64 %count, ptr %count.at
  %chunks.at = getelementptr %context, ptr %shared, i64 0, i32 3
  store i64 %chunks, ptr %chunks.at
  %modes.at = getelementptr %context, ptr %shared, i64 0, i32 4
  store i64 %modes, ptr %modes.at
  %next.at = getelementptr %context, ptr %shared, i64 0, i32 6
  store i64 0, ptr %next.at
  %regions.at = getelementptr i8, ptr {state}, i64 {regions}
  %regions = load i64, ptr %regions.at
  %regions.next = add i64 %regions, 1
  store atomic i64 %regions.next, ptr %regions.at monotonic, align 8
  %size = trunc i64 %team to i32
  call void %gomp(ptr @member, ptr %shared, i32 %size, i32 0)
  ret void
}}

; What each thread of a team runs; how many there are does not matter.
define internal void @member(ptr %shared) {{
  %body = load ptr, ptr %shared
  %data.at = getelementptr %context, ptr %shared, i64 0, i32 1
  %data = load ptr, ptr %data.at
  %count.at = getelementptr %context, ptr %shared, i64 0, i32 2
  %count = load i64, ptr %count.at
  %chunks.at = getelementptr %context, ptr %shared, i64 0, i32 3
  %chunks = load i64, ptr %chunks.at
  %modes.at = getelementptr %context, ptr %shared, i64 0, i32 4
  %modes = load i64, ptr %modes.at
  %next.at = getelementptr %context, ptr %shared, i64 0, i32 6
  %size = udiv i64 %count, %chunks
  %rest = urem i64 %count, %chunks ; so many chunks have one more
  %own = call i64 @control()
  %same = icmp eq i64 %own, %modes
  br i1 %same, label %take, label %adopt
adopt:
  call void @set_control(i64 %modes)
  br label %take
take:
  %chunk = atomicrmw add ptr %next.at, i64 1 monotonic
  %left = icmp ult i64 %chunk, %chunks
  br i1 %left, label %run, label %done
run:
  %begin.1 = mul i64 %chunk, %size
  %longer.before = call i64 @llvm.umin.i64(i64 %chunk, i64 %rest)
  %begin = add i64 %begin.1, %longer.before
  %longer = icmp ult i64 %chunk, %rest
  %one = zext i1 %longer to i64
  %end.1 = add i64 %begin, %size
  %end = add i64 %end.1, %one
  call void %body(ptr %data, i64 %begin, i64 %end)
  br label %take
done:
  br i1 %same, label %leave, label %restore
restore:
  call void @set_control(i64 %own)
  br label %leave
leave:
  ret void
}}

; The destructor of the mark: a thread that has workers ends, and so do they.
define void @lamina.threads.leave(ptr %mark) {{
  %pools.at = getelementptr i8, ptr {state}, i64 {pools}
  %before = atomicrmw sub ptr %pools.at, i64 1 monotonic
  ret void
}}
"""

"""Result memory: large results and scratch memory come from a pool, so that a call does not page-fault them afresh.

A page that the system gives a process costs about as much to touch for the first time as to compute on: an array of 40 MB that
is made and dropped by every call, 10 ms. A block that comes back is therefore kept for the next taker of its size class.

What native code asks for stands in `pool_module()`, LLVM IR that `entry.py` appends to its own:

`@lamina.pool.take(i64 bytes)` gives a block, 64-byte aligned, or null; `@lamina.pool.give(ptr)` takes it back;
`@lamina.pool.adopt(ptr array)` makes NumPy the owner of the block that an array was made on: the array has the flag OWNDATA
and names our allocator (NEP 49), so it resizes, copies, pickles and dies as any other.

- There are four size classes from one power of two to the next. A class is a stack: the block that is hottest in the caches
  comes out first. Blocks from 1 MiB up are mappings of their own, which go back to the system whole; those that fill huge
  pages ask for them, which makes the first touch cheap as well.
- At most `limit_bytes` are kept. What nobody took for `idle_seconds` goes back to the system: a thread looks after that
  (`_Keeper`). It lives while there is something to look after, and blocks are kept only while it lives.
- Everything happens with the GIL held, which is the lock: results are made before a call releases it, arrays die with it held.

Results of less than `SMALLEST_BYTES` are left to NumPy, whose allocator is as fast there.
"""

from __future__ import annotations

import _thread
import ctypes
import operator
import os
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple, SupportsIndex

from . import abi

SMALLEST_BYTES = 4096
STATE_SYMBOL = "lamina.pool"
POOL_SYMBOLS = tuple(f"lamina.pool.{name}" for name in ("take", "give", "trim", "malloc", "calloc", "realloc", "free"))

_CLASSES = 4 * 36  # from 4 KiB to 256 TiB
_MAPPED_BYTES = 1 << 20 if sys.platform == "linux" else 1 << 62
_HUGE_PAGE = 2 << 20
_PAGE = 4096
_DEFAULT_IDLE_SECONDS = 5.0


class _State(ctypes.Structure):
    """The words that native code reads and writes. What of a block is not a word here stands in the 64 bytes before it."""

    _fields_ = (
        ("limit", ctypes.c_int64),  # most bytes to keep
        ("kept", ctypes.c_int64),
        ("takes", ctypes.c_int64),  # blocks handed out so far
        ("generation", ctypes.c_int64),  # counts the rounds of the keeper
        ("keeping", ctypes.c_int64),  # 0: nobody would give a block back to the system, so none is kept
        ("wake", ctypes.py_object),  # the Python callable that starts a keeper
        ("handler", ctypes.py_object),  # the capsule of our allocator
        ("classes", ctypes.c_void_p * _CLASSES),  # the block on top of each stack
    )


_HEADER = {"next": -64, "bytes": -56, "class": -48, "generation": -40, "base": -32, "mapped": -24}


class ResultPool(NamedTuple):
    """What the pool may keep, and what it keeps now."""

    limit_bytes: int
    idle_seconds: float
    kept_bytes: int


def set_result_pool(limit_bytes: SupportsIndex | None = None, idle_seconds: float | None = None) -> None:
    """Set how much memory of results that are gone is kept for those to come, and for how long.

    Results of `jit` functions from 4 KiB up, and the scratch memory of calls, come from a pool of the process. At first its
    limit is an eighth of the machine's memory, at most 2 GiB, or what the environment variable `LAMINA_RESULT_POOL` says in
    bytes; memory that was not used for 5 seconds goes back to the system.

    Args:
        limit_bytes: most bytes that lie unused; 0 keeps nothing. What is above goes back to the system at once.
        idle_seconds: for how long unused memory is kept, more than 0 (and at most twice as long).

    Raises:
        TypeError: an argument is not a number.
        ValueError: an argument is out of range.

    >>> import lamina as lm
    >>> lm.set_result_pool(64 << 20, idle_seconds=1)
    >>> lm.get_result_pool().limit_bytes
    67108864
    """
    if limit_bytes is not None:
        _STATE.limit = _limit(limit_bytes)
        if _STATE.kept > _STATE.limit:
            _trim(_STATE.generation + 1)
    if idle_seconds is not None:
        if isinstance(idle_seconds, bool) or not isinstance(idle_seconds, int | float):
            raise TypeError(f"set_result_pool takes idle_seconds as a number, got {type(idle_seconds).__name__}")
        if not 0 < idle_seconds < threading.TIMEOUT_MAX:
            raise ValueError(f"set_result_pool takes idle_seconds above 0, got {idle_seconds}")
        _keeper.idle_seconds = float(idle_seconds)


def get_result_pool() -> ResultPool:
    """The settings of the pool of result memory, and how many bytes it keeps unused now.

    >>> import lamina as lm
    >>> lm.get_result_pool().kept_bytes >= 0
    True
    """
    return ResultPool(_STATE.limit, _keeper.idle_seconds, _STATE.kept)


def _limit(value: SupportsIndex) -> int:
    if isinstance(value, bool):
        raise TypeError(f"set_result_pool takes a number of bytes, got bool: {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"set_result_pool takes a number of bytes, got {type(value).__name__}: {value!r:.40}") from None
    if not 0 <= number < 1 << 62:
        raise ValueError(f"set_result_pool takes a number of bytes from 0 on, got {number}")
    return number


def _first_limit() -> int:
    wanted = os.environ.get("LAMINA_RESULT_POOL", "").strip()
    if wanted.isdecimal():
        return min(int(wanted), (1 << 62) - 1)
    if wanted:
        message = f"LAMINA_RESULT_POOL must be a number of bytes, it is {wanted!r:.40}: ignored"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        memory = 4 << 30
    return min(memory // 8, 2 << 30)


# Giving back what is idle


class _Keeper:
    """The thread that gives idle blocks back to the system; at most one at a time, and none when the pool is unused and empty.

    Each round starts a generation, the time of which blocks bear that come back; those of an earlier one than the last were not
    used for a whole round.
    """

    def __init__(self) -> None:
        self.idle_seconds = _DEFAULT_IDLE_SECONDS
        self.starting = threading.Lock()

    def wake(self) -> None:
        """Start a thread unless there is one. Native code calls this when it makes a block; it must not raise, nor wait."""
        if not self.starting.acquire(blocking=False):
            return  # this thread is in here already (a signal, the garbage collector), or another is
        try:
            if not _STATE.keeping:
                _thread.start_new_thread(self.run, ())
                _STATE.keeping = 1
        except Exception:  # no thread to be had, as at exit: nothing is kept, and all works
            _STATE.keeping = 0
        finally:
            self.starting.release()

    def run(self) -> None:
        while not self.round():
            pass

    def round(self) -> bool:
        """Wait, give back what is idle; whether the thread may end because nothing is kept and nothing was taken."""
        takes = _STATE.takes
        time.sleep(self.idle_seconds)
        _STATE.generation += 1
        _trim(_STATE.generation - 1)
        with self.starting:
            if _STATE.kept or _STATE.takes != takes:
                return False
            _STATE.keeping = 0
            if _STATE.kept:  # a block came back just before
                _trim(_STATE.generation + 1)
            return True

    def after_fork(self) -> None:
        """In the child: the thread is gone, and one that held the lock. Kept pages would be copied: they are no use."""
        self.starting = threading.Lock()
        _STATE.keeping = 0
        _trim(_STATE.generation + 1)


_STATE = _State(limit=_first_limit())
_keeper = _Keeper()
_library: Any = None


def bind(library: Any) -> None:
    """Let NumPy give back blocks through a loaded `pool_module()`, which must stay from now on: arrays outlive everything."""
    global _library
    for kept in (library, _STATE, _handler):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    _handler.name, _handler.version = b"lamina", 1
    _handler.malloc, _handler.calloc, _handler.realloc, _handler.free = (
        library.address(f"lamina.pool.{name}") for name in ("malloc", "calloc", "realloc", "free")
    )
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    _STATE.handler = new(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(_handler), _CAPSULE_NAME, None)
    _STATE.wake = _keeper.wake
    _library = library
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_keeper.after_fork)


def _trim(generation: int) -> None:
    """Give back to the system what is kept since before a generation."""
    ctypes.PYFUNCTYPE(None, ctypes.c_int64)(_library.address("lamina.pool.trim"))(generation)


# NumPy's allocator interface (numpy/ndarraytypes.h, PyDataMem_Handler)


class _Handler(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


_CAPSULE_NAME = b"mem_handler"  # the capsule points into this
_handler = _Handler()


def imports() -> Mapping[str, int]:
    """What `pool_module()` leaves undefined, besides `abi.symbols()` and libc."""
    return {STATE_SYMBOL: ctypes.addressof(_STATE)}


def pool_module() -> str:
    """The LLVM IR of the pool."""
    facts = {name: value for name, value in vars(abi).items() if name.isupper()}
    words = {f"S_{name}": getattr(_State, name).offset for name, *_ in _State._fields_}
    header = {f"H_{name}": offset for name, offset in _HEADER.items()}
    sizes = {
        "smallest": SMALLEST_BYTES,
        "mapped": _MAPPED_BYTES,
        "huge": _HUGE_PAGE,
        "huge_mask": _HUGE_PAGE - 1,
        "page": _PAGE,
        "classes": _CLASSES,
    }
    return _TEXT.format(state=f'@"{STATE_SYMBOL}"', **facts, **words, **header, **sizes)


_TEXT = """
{state} = external global i8
declare void @PyErr_Clear()
declare ptr @PyObject_CallNoArgs(ptr)
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; A block of at least so many bytes: the one on top of its stack, or a new one.
define ptr @lamina.pool.take(i64 %wanted) {{
  %takes.at = getelementptr i8, ptr {state}, i64 {S_takes}
  %takes = load i64, ptr %takes.at
  %takes.next = add i64 %takes, 1
  store i64 %takes.next, ptr %takes.at
  %too.large = icmp ugt i64 %wanted, 70368744177664 ; more than any machine has, and rounding up stays in range
  br i1 %too.large, label %none, label %size
none:
  ret ptr null
size: ; the capacity is 5, 6, 7 or 8 times a power of two
  %bytes = call i64 @llvm.umax.i64(i64 %wanted, i64 {smallest})
  %last = sub i64 %bytes, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %last, i1 true)
  %shift = sub i64 61, %zeros
  %quarter = lshr i64 %last, %shift ; 4 to 7
  %quarters = add i64 %quarter, 1
  %capacity = shl i64 %quarters, %shift
  %doublings = sub i64 %shift, 9
  %first = shl i64 %doublings, 2
  %class.1 = add i64 %first, %quarter
  %class = sub i64 %class.1, 4
  %stacks = getelementptr i8, ptr {state}, i64 {S_classes}
  %stack = getelementptr ptr, ptr %stacks, i64 %class
  %top = load ptr, ptr %stack
  %empty = icmp eq ptr %top, null
  br i1 %empty, label %fresh, label %pop
pop:
  %next.at = getelementptr i8, ptr %top, i64 {H_next}
  %next = load ptr, ptr %next.at
  store ptr %next, ptr %stack
  %kept.at = getelementptr i8, ptr {state}, i64 {S_kept}
  %kept = load i64, ptr %kept.at
  %kept.less = sub i64 %kept, %capacity
  store i64 %kept.less, ptr %kept.at
  ret ptr %top
fresh:
  %first.try = call ptr @lamina.pool.fresh(i64 %capacity, i64 %class)
  %full = icmp eq ptr %first.try, null
  br i1 %full, label %again, label %made
again: ; the memory that is kept may be what is missing
  call void @lamina.pool.trim(i64 9223372036854775807)
  %second.try = call ptr @lamina.pool.fresh(i64 %capacity, i64 %class)
  br label %made
made:
  %new = phi ptr [ %first.try, %fresh ], [ %second.try, %again ]
  %keeping.at = getelementptr i8, ptr {state}, i64 {S_keeping}
  %keeping = load i64, ptr %keeping.at
  %kept.by.somebody = icmp ne i64 %keeping, 0
  %limit.at = getelementptr i8, ptr {state}, i64 {S_limit}
  %limit = load i64, ptr %limit.at
  %hopeless = icmp ugt i64 %capacity, %limit
  %done = or i1 %kept.by.somebody, %hopeless
  br i1 %done, label %return, label %wake
wake:
  %wake.at = getelementptr i8, ptr {state}, i64 {S_wake}
  %python = load ptr, ptr %wake.at
  %answer = call ptr @PyObject_CallNoArgs(ptr %python)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %clear, label %drop
clear:
  call void @PyErr_Clear()
  br label %return
drop:
  call void @Py_DecRef(ptr %answer)
  br label %return
return:
  ret ptr %new
}}

; A block of the system, with its header.
define internal ptr @lamina.pool.fresh(i64 %capacity, i64 %class) noinline {{
  %slot = alloca ptr
  %own = icmp uge i64 %capacity, {mapped}
  br i1 %own, label %map, label %heap
heap:
  %room = add i64 %capacity, 64
  %failed = call i32 @posix_memalign(ptr %slot, i64 64, i64 %room)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %heap.block, label %none
heap.block:
  %heap.base = load ptr, ptr %slot
  %heap.start = getelementptr i8, ptr %heap.base, i64 64
  br label %header
map: ; a page for the header, and what it takes to begin at a huge page: address space, not memory
  %large = icmp uge i64 %capacity, {huge}
  %slack = select i1 %large, i64 {huge}, i64 0
  %length.1 = add i64 %capacity, {page}
  %length = add i64 %length.1, %slack
  %map.base = call ptr @mmap(ptr null, i64 %length, i32 3, i32 34, i32 -1, i64 0)
  %refused = icmp eq ptr %map.base, inttoptr (i64 -1 to ptr)
  br i1 %refused, label %none, label %mapped
mapped:
  br i1 %large, label %huge, label %map.block
huge:
  %address = ptrtoint ptr %map.base to i64
  %up = add i64 %address, {huge_mask}
  %down = and i64 %up, -{huge}
  %aligned = inttoptr i64 %down to ptr
  %advised = call i32 @madvise(ptr %aligned, i64 %length.1, i32 14)
  br label %map.block
map.block:
  %map.first = phi ptr [ %map.base, %mapped ], [ %aligned, %huge ]
  %map.start = getelementptr i8, ptr %map.first, i64 {page}
  br label %header
header:
  %block = phi ptr [ %heap.start, %heap.block ], [ %map.start, %map.block ]
  %base = phi ptr [ %heap.base, %heap.block ], [ %map.base, %map.block ]
  %bytes = phi i64 [ 0, %heap.block ], [ %length, %map.block ]
  %bytes.at = getelementptr i8, ptr %block, i64 {H_bytes}
  store i64 %capacity, ptr %bytes.at
  %class.at = getelementptr i8, ptr %block, i64 {H_class}
  store i64 %class, ptr %class.at
  %base.at = getelementptr i8, ptr %block, i64 {H_base}
  store ptr %base, ptr %base.at
  %mapped.at = getelementptr i8, ptr %block, i64 {H_mapped}
  store i64 %bytes, ptr %mapped.at
  ret ptr %block
none:
  ret ptr null
}}

; A block back onto its stack, or to the system.
define void @lamina.pool.give(ptr %block) {{
  %bytes.at = getelementptr i8, ptr %block, i64 {H_bytes}
  %bytes = load i64, ptr %bytes.at
  %kept.at = getelementptr i8, ptr {state}, i64 {S_kept}
  %kept = load i64, ptr %kept.at
  %kept.more = add i64 %kept, %bytes
  %limit.at = getelementptr i8, ptr {state}, i64 {S_limit}
  %limit = load i64, ptr %limit.at
  %keeping.at = getelementptr i8, ptr {state}, i64 {S_keeping}
  %keeping = load i64, ptr %keeping.at
  %room = icmp ule i64 %kept.more, %limit
  %somebody = icmp ne i64 %keeping, 0
  %keep = and i1 %room, %somebody
  br i1 %keep, label %push, label %release
push:
  store i64 %kept.more, ptr %kept.at
  %generation.from = getelementptr i8, ptr {state}, i64 {S_generation}
  %generation = load i64, ptr %generation.from
  %generation.at = getelementptr i8, ptr %block, i64 {H_generation}
  store i64 %generation, ptr %generation.at
  %class.at = getelementptr i8, ptr %block, i64 {H_class}
  %class = load i64, ptr %class.at
  %stacks = getelementptr i8, ptr {state}, i64 {S_classes}
  %stack = getelementptr ptr, ptr %stacks, i64 %class
  %top = load ptr, ptr %stack
  %next.at = getelementptr i8, ptr %block, i64 {H_next}
  store ptr %top, ptr %next.at
  store ptr %block, ptr %stack
  ret void
release:
  tail call void @lamina.pool.release(ptr %block)
  ret void
}}

define internal void @lamina.pool.release(ptr %block) noinline {{
  %base.at = getelementptr i8, ptr %block, i64 {H_base}
  %base = load ptr, ptr %base.at
  %mapped.at = getelementptr i8, ptr %block, i64 {H_mapped}
  %mapped = load i64, ptr %mapped.at
  %heap = icmp eq i64 %mapped, 0
  br i1 %heap, label %free, label %unmap
free:
  call void @free(ptr %base)
  ret void
unmap:
  %failed = call i32 @munmap(ptr %base, i64 %mapped)
  ret void
}}

; Release what is kept since before a generation: the lower part of each stack.
define void @lamina.pool.trim(i64 %generation) {{
  %stacks = getelementptr i8, ptr {state}, i64 {S_classes}
  %kept.at = getelementptr i8, ptr {state}, i64 {S_kept}
  br label %stack
stack: ; for each
  %k = phi i64 [ 0, %0 ], [ %k.next, %below ]
  %first = getelementptr ptr, ptr %stacks, i64 %k
  %done = icmp eq i64 %k, {classes}
  br i1 %done, label %return, label %look
look: ; %link points to what may be the first block to go
  %link = phi ptr [ %first, %stack ], [ %link.next, %young ]
  %block = load ptr, ptr %link
  %end = icmp eq ptr %block, null
  br i1 %end, label %below, label %age
age:
  %born.at = getelementptr i8, ptr %block, i64 {H_generation}
  %born = load i64, ptr %born.at
  %link.next = getelementptr i8, ptr %block, i64 {H_next}
  %old = icmp slt i64 %born, %generation
  br i1 %old, label %cut, label %young
young:
  br label %look
cut:
  store ptr null, ptr %link
  br label %release
release:
  %going = phi ptr [ %block, %cut ], [ %after, %release ]
  %after.at = getelementptr i8, ptr %going, i64 {H_next}
  %after = load ptr, ptr %after.at
  %bytes.at = getelementptr i8, ptr %going, i64 {H_bytes}
  %bytes = load i64, ptr %bytes.at
  %kept = load i64, ptr %kept.at
  %kept.less = sub i64 %kept, %bytes
  store i64 %kept.less, ptr %kept.at
  call void @lamina.pool.release(ptr %going)
  %last = icmp eq ptr %after, null
  br i1 %last, label %below, label %release
below:
  %k.next = add i64 %k, 1
  br label %stack
return:
  ret void
}}

; An array that was made on a block becomes its owner.
define internal void @lamina.pool.adopt(ptr %array) {{
  %flags.at = getelementptr i8, ptr %array, i64 {NDARRAY_FLAGS}
  %flags = load i32, ptr %flags.at
  %owning = or i32 %flags, {OWNDATA}
  %handler.from = getelementptr i8, ptr {state}, i64 {S_handler}
  %handler = load ptr, ptr %handler.from
  call void @Py_IncRef(ptr %handler)
  %handler.at = getelementptr i8, ptr %array, i64 {NDARRAY_HANDLER}
  store ptr %handler, ptr %handler.at
  store i32 %owning, ptr %flags.at
  ret void
}}

; The allocator that NumPy calls.
define ptr @lamina.pool.malloc(ptr %context, i64 %bytes) {{
  %block = tail call ptr @lamina.pool.take(i64 %bytes)
  ret ptr %block
}}

define ptr @lamina.pool.calloc(ptr %context, i64 %count, i64 %size) {{
  %bytes = mul i64 %count, %size ; NumPy has checked the product
  %block = call ptr @lamina.pool.take(i64 %bytes)
  %none = icmp eq ptr %block, null
  br i1 %none, label %return, label %zero
zero:
  call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 %bytes, i1 false)
  br label %return
return:
  ret ptr %block
}}

define ptr @lamina.pool.realloc(ptr %context, ptr %old, i64 %bytes) {{
  %first = icmp eq ptr %old, null
  br i1 %first, label %fresh, label %compare
fresh:
  %block = tail call ptr @lamina.pool.take(i64 %bytes)
  ret ptr %block
compare: ; a block that is neither too small nor, by half, too large stays
  %capacity.at = getelementptr i8, ptr %old, i64 {H_bytes}
  %capacity = load i64, ptr %capacity.at
  %wanted = call i64 @llvm.umax.i64(i64 %bytes, i64 {smallest})
  %fits = icmp ule i64 %wanted, %capacity
  %half = lshr i64 %capacity, 1
  %worth = icmp uge i64 %wanted, %half
  %stays = and i1 %fits, %worth
  br i1 %stays, label %same, label %move
same:
  ret ptr %old
move:
  %new = call ptr @lamina.pool.take(i64 %bytes)
  %none = icmp eq ptr %new, null
  br i1 %none, label %failed, label %copy
failed:
  ret ptr null
copy:
  %both = call i64 @llvm.umin.i64(i64 %capacity, i64 %bytes)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %both, i1 false)
  call void @lamina.pool.give(ptr %old)
  ret ptr %new
}}

define void @lamina.pool.free(ptr %context, ptr %block, i64 %bytes) {{
  %none = icmp eq ptr %block, null
  br i1 %none, label %return, label %give
give:
  tail call void @lamina.pool.give(ptr %block)
  ret void
return:
  ret void
}}
"""

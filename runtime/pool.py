"""Result memory: large results and scratch memory come from a pool, so that a call does not page-fault them again.

The first touch of a page costs about as much as a computation on it: an array of 40 MB that is made and dropped by every call,
10 ms. A freed block is therefore kept for the next allocation of its size class.

The functions that native code calls are in `codegen/pool.py`.

- There are four size classes from one power of two to the next. A class is a stack: the block that is hottest in the caches
  comes out first. Blocks from 1 MiB up are mappings of their own, which are returned to the system whole; those that fill huge
  pages request them, which makes the first touch cheap as well.
- At most `limit_bytes` are kept. Blocks that are unused for `idle_seconds` are returned to the system by a thread (`_Keeper`).
  It lives while there are blocks to watch, and blocks are kept only while it lives.
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

SMALLEST_BYTES = 4096
STATE_SYMBOL = "lamina.pool"

CLASSES = 4 * 36  # from 4 KiB to 256 TiB
MAPPED_BYTES = 1 << 20 if sys.platform == "linux" else 1 << 62
HUGE_PAGE = 2 << 20
PAGE = 4096
_DEFAULT_IDLE_SECONDS = 5.0


class State(ctypes.Structure):
    """The words that native code reads and writes. All other data of a block is in the 64 bytes before it."""

    _fields_ = (
        ("limit", ctypes.c_int64),  # most bytes to keep
        ("kept", ctypes.c_int64),
        ("takes", ctypes.c_int64),  # blocks handed out so far
        ("generation", ctypes.c_int64),  # counts the rounds of the keeper
        ("keeping", ctypes.c_int64),  # 0: no thread would return blocks to the system, so none is kept
        ("wake", ctypes.py_object),  # the Python callable that starts a keeper
        ("handler", ctypes.py_object),  # the capsule of our allocator
        ("classes", ctypes.c_void_p * CLASSES),  # the block on top of each stack
    )


HEADER = {"next": -64, "bytes": -56, "class": -48, "generation": -40, "base": -32, "mapped": -24}


class ResultPool(NamedTuple):
    """The limits of the pool, and its current contents."""

    limit_bytes: int
    idle_seconds: float
    kept_bytes: int


def set_result_pool(limit_bytes: SupportsIndex | None = None, idle_seconds: float | None = None) -> None:
    """Set how much memory of results that are gone is kept for those to come, and for how long.

    Results of `jit` functions from 4 KiB up, and the scratch memory of calls, come from a pool of the process. At first its
    limit is an eighth of the machine's memory, at most 2 GiB, or the value of the environment variable `LAMINA_RESULT_POOL` in
    bytes; memory that was not used for 5 seconds goes back to the system.

    Args:
        limit_bytes: most unused bytes; 0 keeps nothing. The excess is returned to the system at once.
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


# Returning idle blocks


class _Keeper:
    """The thread that returns idle blocks to the system; at most one at a time, and none when the pool is unused and empty.

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
        """Wait, return idle blocks; whether the thread may end because nothing is kept and nothing was allocated."""
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


_STATE = State(limit=_first_limit())
_keeper = _Keeper()
_library: Any = None


def bind(library: Any) -> None:
    """Let NumPy free blocks through a loaded `codegen.pool`, which must stay loaded: arrays outlive everything."""
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
    """Return blocks to the system that are kept since before a generation."""
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
    """The imports of `codegen/pool.py`, besides `abi.symbols()` and libc."""
    return {STATE_SYMBOL: ctypes.addressof(_STATE)}

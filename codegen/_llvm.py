"""llvmlite, imported on first use (0.15 s) and initialised once.

A fork waits until no other thread is in LLVM, and admits none meanwhile: in the child, no thread would leave it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any


class _Gate:
    """A gate that admits any number of threads into LLVM without llvmlite's lock, but none while the process forks."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.inside = 0
        self.forking = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function that other threads may be in as well."""
        with self.changed:
            self.changed.wait_for(lambda: not self.forking)
            self.inside += 1
        try:
            return function(*arguments)
        finally:
            with self.changed:
                self.inside -= 1
                self.changed.notify_all()

    def close(self) -> None:
        """Wait until no thread is inside; until `open`, in the child too, no other thread enters."""
        self.changed.acquire()
        self.forking = True
        self.changed.wait_for(lambda: self.inside == 0)

    def open(self) -> None:
        """Let threads in again, after `close`."""
        self.forking = False
        self.changed.notify_all()
        self.changed.release()


_gate = _Gate()
_locks: list[Any] = []
"""The locks that a fork waits for; locks taken inside of others stand before them."""
_fork = threading.Lock()
"""One fork at a time."""
_held: list[Any] = []
"""The locks held by the current fork: others may be made meanwhile."""


def lock_across_forks() -> Any:
    """A lock that no other thread holds when the process forks; who holds it may only take locks that were made before it."""
    lock = threading.Lock()
    _locks.append(lock)
    return lock


def _before_fork() -> None:
    _fork.acquire()
    for lock in _locks[::-1]:
        lock.acquire()
        _held.append(lock)
    if (lock := _lock_of_llvmlite()) is not None:
        lock.__enter__()
    _gate.close()


def _after_fork() -> None:
    _gate.open()
    if (lock := _lock_of_llvmlite()) is not None:
        lock.__exit__(None, None, None)
    while _held:
        _held.pop().release()
    _fork.release()


def _lock_of_llvmlite() -> Any:
    """The lock that lets one thread at a time into LLVM; None before llvmlite is used."""
    return getattr(_native().ffi.lib, "_lock", None) if _native.cache_info().currsize else None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)

_lock = lock_across_forks()


def llvm() -> Any:
    """`llvmlite.binding`, ready to generate code for the host."""
    with _lock:
        return _native()


def llvm_with_all_targets() -> Any:
    """`llvmlite.binding`, ready to generate code for every target."""
    with _lock:
        return _all()


def unlocked(name: str, *arguments: Any) -> Any:
    """Call a function of llvmlite's C interface without the lock that lets one thread at a time into LLVM.

    LLVM itself requires only that threads work in different contexts. Meant for long operations. An llvmlite that keeps its
    library elsewhere is called as it wants to be, with its lock.
    """
    library = llvm().ffi.lib
    return _gate.call(getattr(getattr(library, "_lib", library), name), *arguments)


@cache
def _native() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()  # of inline assembly, which detects processor features
    return binding


@cache
def _all() -> Any:
    binding = _native()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


@cache
def versions() -> str:
    """The dependences of machine code beside its IR and target, as text: part of every cache key."""
    import llvmlite

    return f"llvmlite {llvmlite.__version__}"

"""How threads and processes share LLVM."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from lamina.codegen import _llvm
from lamina.codegen.compile import compile_object
from lamina.codegen.thread_runtime import load_object

SEVEN = "define i32 @seven() {\n  ret i32 7\n}"


def seven() -> int:
    return load_object(compile_object(SEVEN), ["seven"]).function("seven", ctypes.c_int32)()


def status_of_fork(child: Callable[[], Any]) -> int:
    """The exit status of a forked process: what `child` returns, or -SIGALRM where it hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process that has had threads
        pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            os._exit(child())
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_call(wait: Callable[[], Any]) -> None:
    """Be in LLVM, without its lock, until `wait` returns."""
    _llvm._gate.call(wait)


def with_lock(wait: Callable[[], Any]) -> None:
    """Be in LLVM, with llvmlite's lock, until `wait` returns."""
    with _llvm.llvm().ffi.lib._lock:
        wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("enter", [in_call, with_lock])
def test_a_fork_waits_for_threads_in_llvm(enter: Callable[[Callable[[], Any]], None]) -> None:
    assert seven() == 7
    entered, left = threading.Event(), threading.Event()
    gone: list[bool] = []

    def wait() -> None:
        entered.set()
        left.wait(0.3)
        gone.append(True)

    thread = threading.Thread(target=enter, args=(wait,))
    thread.start()
    assert entered.wait(20)
    assert status_of_fork(lambda: seven() if gone else 1) == 7
    thread.join()
    assert seven() == 7


def test_a_lock_that_is_made_while_a_process_forks_stays_as_it_is() -> None:
    _llvm._before_fork()
    try:
        lock = _llvm.lock_across_forks()
        assert lock.acquire(blocking=False)
    finally:
        _llvm._after_fork()
    assert lock.locked()
    lock.release()
    _llvm._locks.remove(lock)


def test_an_llvmlite_without_its_library_is_called_with_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        """Another version, which has its functions but not the library that they are from."""

        __slots__ = ()

        def __getattr__(self, name: str) -> Any:
            if name == "_lib":
                raise AttributeError(name)
            return getattr(library, name)

    library = _llvm.llvm().ffi.lib
    monkeypatch.setattr(_llvm.llvm().ffi, "lib", Library())
    assert seven() == 7

"""One compiled function called from many threads, while specialisations are added, and after a fork."""

from __future__ import annotations

import os
import threading
import warnings

import numpy as np
import pytest
from lamina.runtime.signature import ArrayParam


def run_threads(count, work):
    errors = []

    def guarded(index):
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.thorough
@pytest.mark.parametrize("work", [0, 1 << 30])  # with and without the GIL
def test_eight_threads(tools, work):
    # the scratch memory is on the heap and every result passes through it
    f = tools.copies(ArrayParam.of_shape("x", "int64", (100,)), arena_bytes=20_000, work=work)
    calls = 10_000 if tools.native else 1_000

    def many(index):
        x = np.full(100, index)
        for i in range(calls):
            x[0] = i
            y = f(x)
            if y[0] != i or y[1] != index or y[-1] != index:
                raise AssertionError(y)

    run_threads(8, many)


def test_install_while_calling(tools):
    slow_calls = []
    f = tools.NativeFunction(lambda x: slow_calls.append(1) or x)
    executables = [tools.copies_executable(ArrayParam.of_shape("x", "float64", (n,)), work=1 << 30) for n in range(12)]
    stop = threading.Event()

    def work(index):
        if index == 0:
            for executable in executables:
                f.install(executable)
            stop.set()
            return
        while not stop.is_set():
            for n in range(12):
                x = np.full(n, float(n))
                assert (f(x) == x).all()

    run_threads(4, work)
    slow_calls.clear()
    for n in range(12):
        f(np.zeros(n))
    assert not slow_calls


@pytest.mark.thorough
def test_concurrent_installs(tools):
    """No specialisation is lost, and none is freed while the chain points to it."""
    for _ in range(20):
        f = tools.NativeFunction(lambda x: 1 / 0)
        executables = [tools.copies_executable(ArrayParam.of_shape("x", "float64", (n,))) for n in range(8)]
        run_threads(8, lambda i, f=f, executables=executables: f.install(executables[i]))
        assert len(f.executables) == 8
        for n in range(8):
            assert f(np.zeros(n)).shape == (n,)


def test_dropped_while_running(tools):
    """A call holds a reference to its function: dropping all others does not unload running code."""
    text = """
define void @f(ptr noalias %x, ptr noalias %r, ptr noalias %arena) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %v = load volatile i64, ptr %x
  %next = add i64 %i, 1
  %go = icmp ult i64 %next, 30000000
  br i1 %go, label %loop, label %done
done:
  store i64 %next, ptr %r
  ret void
}"""
    from lamina.runtime.signature import Signature

    signature = Signature(
        "spin", (ArrayParam.of_shape("x", "int64", ()),), (ArrayParam.of_shape("r", "int64", ()),), work=1 << 30
    )
    box = [tools.compiled(signature, text)]
    answers = []
    thread = threading.Thread(target=lambda: answers.append(box[0](np.array(1))))
    thread.start()
    box.clear()
    thread.join()
    assert not answers or answers == [30000000]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork(tools):
    f = tools.copies(ArrayParam.of_shape("x", "int64", (100,)), arena_bytes=20_000, work=1 << 30)
    x = np.arange(100)
    f(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process that has had threads
        child = os.fork()
    if child == 0:
        try:
            good = all((f(x + i) == x + i).all() for i in range(100))
            os._exit(0 if good else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(f(x), x)

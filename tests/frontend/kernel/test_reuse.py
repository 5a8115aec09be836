"""Kernels as objects: what is compiled when, schedules that change, threads, and the end of it all."""

from __future__ import annotations

import gc
import inspect
import pickle
import threading
import weakref
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import ScheduleError
from lamina.executor import executor


def scale_of(factor: float) -> Any:
    """A new kernel, with a constant of its own."""

    @lm.kernel
    def scale(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
        """y = factor * x"""
        for i in range(M):
            for j in range(N):
                y[i, j] = factor * x[i, j]

    return scale


def check(kernel: Any, factor: float, m: int = 5, n: int = 7, **options: Any) -> None:
    x, y = np.arange(m * n, dtype=np.float32).reshape(m, n), np.zeros((m, n), np.float32)
    kernel(x, y, **options)
    np.testing.assert_array_equal(y, np.float32(factor) * x)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The modules that are compiled from here on."""
    found: list[Any] = []
    original = executor.kernels.build

    def build(built: Any, *args: Any, **options: Any) -> Any:
        found.append(built)
        return original(built, *args, **options)

    monkeypatch.setattr(executor.kernels, "build", build)
    monkeypatch.setenv("LAMINA_CACHE", "0")  # what is found by its source is not built
    return found


def test_one_compilation_serves_all_sizes(builds: list[Any]) -> None:
    kernel = scale_of(3.0)
    assert builds == []  # nothing is compiled before it is needed
    for m, n in ((5, 7), (0, 3), (1, 1), (64, 33), (3, 0), (5, 7)):
        check(kernel, 3.0, m, n)
        check(kernel, 3.0, m, n, threads=2)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for given in (np.asfortranarray(x), x[::-1], x[:, ::2], x.astype(">f4")):
        y = np.zeros(given.shape, np.float32)
        kernel(y=y, x=given)
        np.testing.assert_array_equal(y, 3 * given)
    assert len(builds) == 1
    assert kernel.compile() is kernel.compile()
    assert len(builds) == 1


def test_equal_kernels_share_no_state() -> None:
    one, other = scale_of(2.0), scale_of(4.0)
    check(one, 2.0)
    check(other, 4.0)
    s = one.schedule()
    s.split(s["j"], 4)
    assert str(other.schedule()) == ""
    check(one, 2.0)
    check(other, 4.0)


def test_a_schedule_changes_what_later_calls_run(builds: list[Any]) -> None:
    kernel = scale_of(2.0)
    check(kernel, 2.0)
    first = kernel.compile()
    s = kernel.schedule()
    assert kernel.schedule() is s
    check(kernel, 2.0)
    assert len(builds) == 1  # no step yet
    outer, inner = s.split(s["j"], 4)
    check(kernel, 2.0)
    second = kernel.compile()
    assert second is not first and len(builds) == 2
    assert [loop.name for loop in s.loops] == ["i", outer.name, inner.name]
    s.parallelize("i")
    s.unroll(inner)
    for _ in range(2):
        check(kernel, 2.0)
        check(kernel, 2.0, threads=2)
    assert kernel.compile() not in (first, second) and len(builds) == 3
    assert "parallel" in kernel.as_text("scheduled") and "parallel" not in kernel.as_text("loop")


def test_a_step_that_is_refused_changes_nothing(builds: list[Any]) -> None:
    kernel = scale_of(2.0)
    check(kernel, 2.0)
    compiled = kernel.compile()
    with pytest.raises(ScheduleError):
        kernel.schedule().split("k", 4)
    assert kernel.compile() is compiled and len(builds) == 1


def test_reset_forgets_the_schedule() -> None:
    kernel = scale_of(2.0)
    before = kernel.as_text("scheduled")
    s = kernel.schedule()
    s.split(s["j"], 4)
    check(kernel, 2.0)
    assert kernel.as_text("scheduled") != before
    kernel.reset()
    assert kernel.as_text("scheduled") == before
    check(kernel, 2.0)
    assert kernel.schedule() is not s and str(kernel.schedule()) == ""
    s.parallelize("i")  # the old one is nobody's any more
    assert kernel.as_text("scheduled") == before
    check(kernel, 2.0)


def test_texts_of_all_phases() -> None:
    kernel = scale_of(2.0)
    texts = {phase: kernel.as_text(phase) for phase in ("loop", "scheduled", "llvmir", "asm")}
    assert texts["loop"].count("loop.for") == 2 and "loop.kernel @scale" in texts["loop"]
    assert "define" in texts["llvmir"] and "scale:" in texts["asm"]
    assert str(kernel.module) + "\n" == texts["loop"]
    with pytest.raises(ValueError, match="no phase 'object'; there are: loop, scheduled, llvmir, asm"):
        kernel.as_text("object")


def test_what_a_kernel_says_of_itself() -> None:
    kernel = scale_of(2.0)
    assert kernel.__name__ == "scale" and kernel.__doc__ == "y = factor * x"
    assert str(kernel.signature) == "scale(x: float32[M,N], y: inout float32[M,N])"
    assert list(inspect.signature(kernel).parameters) == ["x", "y"]
    assert "scale" in repr(kernel)
    copied = kernel.module
    next(iter(copied.body.block.ops)).detach()
    check(kernel, 2.0)  # the module handed out was a copy
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(kernel)


def test_wrong_arguments_name_them_and_leave_the_kernel_usable() -> None:
    kernel = scale_of(2.0)
    x, shared = np.ones((3, 4), np.float32), np.ones(16, np.float32)
    for args, error, message in (
        ((x,), TypeError, "missing argument 'y'"),
        ((shared[:12].reshape(3, 4), shared[4:].reshape(3, 4)), ValueError, "must not overlap"),
        ((x, np.ones((3, 5), np.float32)), ValueError, "size 'N' is 4"),
        ((x, np.ones((3, 4))), TypeError, "argument 'y' must be a NumPy array of float32"),
        ((x, x[0]), ValueError, "with 2 dims"),
        ((x, None), TypeError, "argument 'y'"),
    ):
        for _ in range(2):
            with pytest.raises(error, match=message):
                kernel(*args)
        check(kernel, 2.0)


def test_called_and_scheduled_from_eight_threads(builds: list[Any]) -> None:
    kernel = scale_of(2.0)
    barrier, faults = threading.Barrier(8), []

    def work(number: int) -> None:
        try:
            barrier.wait()
            for k in range(30):
                check(kernel, 2.0, number + 1, k % 9)
                if number == 0 and k == 10:
                    kernel.schedule().split("j", 4)
                if number == 1 and k == 25:
                    kernel.reset()
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    check(kernel, 2.0)


def test_the_first_call_from_eight_threads_compiles_once(builds: list[Any]) -> None:
    kernel = scale_of(2.0)
    barrier, found, faults = threading.Barrier(8), [], []

    def work() -> None:
        try:
            barrier.wait()
            check(kernel, 2.0)
            found.append(kernel.compile())
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(builds) == 1 and len({id(one) for one in found}) == 1


@pytest.mark.thorough
def test_kernels_end_without_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        kernel = scale_of(2.0)
        check(kernel, 2.0)
        state = weakref.ref(kernel.__kernel__)
        kernel.schedule().split("j", 4)
        check(kernel, 2.0)
        kernel.reset()
        kernel.schedule()
        gone = weakref.ref(kernel)
        del kernel
        assert gone() is None
        gc.collect()
        assert state() is None
    finally:
        gc.enable()


def test_a_schedule_outlives_its_kernel() -> None:
    kernel = scale_of(2.0)
    s = kernel.schedule()
    del kernel
    gc.collect()
    s.split("j", 4)
    assert str(s) == "loop-split{loop=j size=4}"


def test_in_classes_and_from_plain_functions() -> None:
    class Holder:
        scale = scale_of(2.0)

    check(Holder.scale, 2.0)
    function = inspect.unwrap(scale_of(2.0))
    assert lm.kernel(check_bounds=True)(function).__name__ == "scale"

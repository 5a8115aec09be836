"""Results on memory of the pool: they are ordinary arrays, outlive everything, and their memory comes back or goes."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import subprocess
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.runtime import pool
from lamina.runtime.array import Array
from lamina.runtime.pool import SMALLEST_BYTES, ResultPool, get_result_pool, set_result_pool
from lamina.runtime.signature import ArrayParam


@pytest.fixture
def native(toolbox):
    return toolbox(True)


@pytest.fixture(autouse=True)
def settings_back():
    before = get_result_pool()
    yield
    set_result_pool(before.limit_bytes, before.idle_seconds)


def copying(tools, size: int, dtype: str = "uint8", **options):
    return tools.copies(ArrayParam.of_shape("x", "bool" if dtype == "uint8" else dtype, (size,)), **options)


def allocator(array: np.ndarray) -> str | None:
    return np._core.multiarray.get_handler_name(array)  # pyright: ignore[reportAttributeAccessIssue]


def empty_pool() -> None:
    limit = get_result_pool().limit_bytes
    set_result_pool(0)
    set_result_pool(limit)


SIZES = [SMALLEST_BYTES, SMALLEST_BYTES + 1, 5000, 65536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_000_000, (8 << 20) + 7]


@pytest.mark.parametrize("size", SIZES)
def test_a_large_result_is_an_ordinary_array_of_the_pool(native, size):
    x = np.random.default_rng(size).integers(0, 2, size).astype(bool)
    y = copying(native, size)(x)
    assert allocator(y) == "lamina" and y.ctypes.data % 64 == 0
    assert type(y) is Array and y.base is None and y.flags.owndata and y.flags.carray
    np.testing.assert_array_equal(x, y)
    y[...] = ~x
    np.testing.assert_array_equal(y, ~x)


def test_a_small_result_is_left_to_numpy(native):
    y = copying(native, SMALLEST_BYTES - 1)(np.ones(SMALLEST_BYTES - 1, bool))
    assert allocator(y) == "default_allocator"


@pytest.mark.parametrize("size", [5000, 2 << 20, 9 << 20])
def test_memory_comes_back(native, size):
    f, x = copying(native, size), np.ones(size, bool)
    address = f(x).ctypes.data
    for _ in range(5):
        assert f(x).ctypes.data == address
    held = [f(x) for _ in range(3)]
    assert len({y.ctypes.data for y in held}) == 3


def test_sizes_of_one_class_share_memory(native):
    small, large = copying(native, 17 << 16), copying(native, (20 << 16) - 5)  # the class between 16 and 20 << 16
    empty_pool()
    address = small(np.ones(17 << 16, bool)).ctypes.data
    assert large(np.ones((20 << 16) - 5, bool)).ctypes.data == address


def test_numpy_does_with_results_what_it_does_with_arrays(native):
    x = np.arange(50_000, dtype=np.float64)
    f = copying(native, 50_000, "float64")
    for size in (50_001, 60_000, 3, 0, 1_000_000, 50_000):
        y = f(x)
        y.resize(size, refcheck=False)
        wanted = np.zeros(size)
        wanted[: min(size, 50_000)] = x[:size]
        np.testing.assert_array_equal(y, wanted)
        y.resize(7, refcheck=False)
        np.testing.assert_array_equal(y[: min(size, 7)], wanted[:7])
    y = f(x)
    again = pickle.loads(pickle.dumps(y))
    np.testing.assert_array_equal(again, x)
    y.__setstate__(np.arange(3.0).__reduce__()[2])  # frees what was there
    np.testing.assert_array_equal(y, [0, 1, 2])
    y = f(x)
    y.shape = (100, 500)
    y.dtype = np.int64
    np.testing.assert_array_equal(y.view(np.float64).ravel(), x)


@pytest.mark.thorough
def test_results_outlive_function_views_outlive_results(native):
    f, x = copying(native, 100_000), np.ones(100_000, bool)
    y = f(x)
    gone = weakref.ref(f)
    view = y[10:20]
    del f, y
    gc.collect()
    assert gone() is None
    filler = [copying(native, 100_000)(~x) for _ in range(3)]
    assert view.all() and not any(z.any() for z in filler)


def test_threads_never_share_a_block(native):
    size = 300_000
    f = copying(native, size, work=1 << 30)  # releases the GIL
    failures = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).integers(0, 2, size).astype(bool)
        held = []
        for k in range(200):
            y = f(x)
            held.append(y)
            if len(held) > k % 5:
                z = held.pop(0)
                if not np.array_equal(z, x):
                    failures.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=60), st.sampled_from([0, 100_000, 1 << 30]))
def test_any_order_of_results_and_ends(steps, limit):
    """Results are held and dropped in any order under any limit: each keeps its contents, and no more is kept than allowed."""
    functions = test_any_order_of_results_and_ends.functions  # type: ignore[attr-defined]
    set_result_pool(limit)
    held: list[tuple[np.ndarray, float]] = []
    for number, (which, drop) in enumerate(steps):
        size, f = functions[which]
        held.append((f(np.full(size, float(number))), float(number)))
        if drop < len(held):
            del held[drop]
        assert get_result_pool().kept_bytes <= limit
        assert all((array == value).all() for array, value in held)


@pytest.fixture(autouse=True, scope="module")
def _functions(toolbox):
    sizes = (600, 5000, 60_000, 400_000)
    made = [(size, copying(toolbox(True), size, "float64")) for size in sizes]
    test_any_order_of_results_and_ends.functions = made  # type: ignore[attr-defined]


def test_no_more_is_kept_than_the_limit(native):
    f, x = copying(native, 1 << 20), np.ones(1 << 20, bool)
    empty_pool()
    set_result_pool(3 << 20)
    held = [f(x) for _ in range(6)]
    held.clear()
    assert 2 << 20 <= get_result_pool().kept_bytes <= 3 << 20
    set_result_pool(0)
    assert get_result_pool().kept_bytes == 0
    f(x)
    assert get_result_pool().kept_bytes == 0


def test_idle_memory_goes_back(native):
    """The rounds are run here rather than waited for: what a round leaves behind is what the next finds unused."""
    f, x = copying(native, 1 << 20), np.ones(1 << 20, bool)
    empty_pool()
    f(x)
    assert get_result_pool().kept_bytes >= 1 << 20
    keeper = pool._Keeper()
    keeper.idle_seconds = 0.001
    assert not keeper.round()
    f(x)  # used: stays
    assert not keeper.round()
    assert get_result_pool().kept_bytes >= 1 << 20
    assert keeper.round()
    assert get_result_pool().kept_bytes == 0 and not pool._STATE.keeping
    f(x)  # a new keeper starts
    assert pool._STATE.keeping and get_result_pool().kept_bytes >= 1 << 20


@pytest.mark.thorough
def test_a_thread_gives_back_idle_memory():
    code = """
import time, numpy as np, lamina as lm
lm.set_result_pool(idle_seconds=0.02)
f = lm.jit(lambda x: x + 1)
x = np.ones(1 << 20, np.float32)
f(x)
until = time.time() + 20
while lm.get_result_pool().kept_bytes and time.time() < until:
    time.sleep(0.01)
print(lm.get_result_pool().kept_bytes, f(x)[0])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["0", "2.0"]


@pytest.mark.thorough
def test_results_at_exit():
    """Arrays in globals, in cycles and in threads that still run die after everything else."""
    code = """
import threading, numpy as np, lamina as lm
f = lm.jit(lambda x: (x + 1, x * 2))
x = np.ones((1000, 1000), np.float32)
kept = f(x)
class Cycle: pass
cycle = Cycle(); cycle.me, cycle.arrays = cycle, f(x)
def spin():
    while True:
        f(x)
threading.Thread(target=spin, daemon=True).start()
import builtins; builtins.kept = f(x)
print(kept[0][0, 0])
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout == "2.0\n" and not done.stderr, done.stderr


def _in_child(queue, f, x, held):
    ok = bool((held == x).all())
    for _ in range(3):
        ok = ok and bool((f(x) == x).all())
    queue.put((ok, get_result_pool().kept_bytes))


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_fork(native):
    x = np.random.default_rng(0).integers(0, 2, 3 << 20).astype(bool)
    f = copying(native, x.size)
    held = f(x)
    f(x)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue, f, x, held))
    child.start()
    ok, kept = queue.get(timeout=60)
    child.join()
    assert ok and child.exitcode == 0 and kept >= x.size  # a keeper of its own
    np.testing.assert_array_equal(held, x)


def test_scratch_memory_comes_from_the_pool(native):
    f, x = copying(native, 10, arena_bytes=10 << 20), np.ones(10, bool)
    empty_pool()
    f(x)
    assert get_result_pool().kept_bytes >= 10 << 20
    f(x)
    assert 10 << 20 <= get_result_pool().kept_bytes < 20 << 20


def test_tracemalloc_sees_results(native):
    f, x = copying(native, 1 << 20), np.ones(1 << 20, bool)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        y = f(x)
        assert tracemalloc.get_traced_memory()[0] - before >= 1 << 20
        del y
        assert tracemalloc.get_traced_memory()[0] - before < 1 << 19
    finally:
        tracemalloc.stop()


def test_settings():
    set_result_pool(1 << 22)
    set_result_pool(idle_seconds=2)
    assert get_result_pool()[:2] == (1 << 22, 2.0) and isinstance(get_result_pool(), ResultPool)
    for wrong in (-1, 1 << 63):
        with pytest.raises(ValueError, match="from 0 on"):
            set_result_pool(wrong)
    for wrong in (True, 1.5, "1"):
        with pytest.raises(TypeError, match="a number of bytes"):
            set_result_pool(wrong)
    for wrong in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="above 0"):
            set_result_pool(idle_seconds=wrong)
    with pytest.raises(TypeError, match="idle_seconds as a number"):
        set_result_pool(idle_seconds="1")
    assert get_result_pool()[:2] == (1 << 22, 2.0)


@pytest.mark.parametrize(("said", "limit"), [("12345", "12345"), ("0", "0"), ("", ""), ("1GB", "ignored")])
def test_environment(said, limit):
    code = (
        f"import os; os.environ['LAMINA_RESULT_POOL'] = {said!r}\nimport lamina as lm; print(lm.get_result_pool().limit_bytes)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    if limit.isdecimal():
        assert done.stdout.strip() == limit
    else:
        assert 1 << 26 <= int(done.stdout) <= 2 << 30 and limit in done.stderr

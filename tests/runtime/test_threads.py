"""Threads: what runs where, forks, the number of threads."""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from lamina.codegen import parallel, workers
from lamina.codegen.compile import compile_object
from lamina.codegen.thread_runtime import load_object
from lamina.runtime import threads

MUCH = 1 << 40

# @fill writes 3 * i + 7, counts the visits and notes the thread; @ranges notes begin and end; @meet waits for another one;
# @nested is a parallel loop of four iterations in each iteration; @halve multiplies the least normal number by a half.
TEXT = """
declare void @lamina_parallel(ptr, ptr, i64, i64, i64)
declare ptr @pthread_self()
declare i32 @sched_yield()

define void @run(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {
  call void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads)
  ret void
}

define void @fill(ptr %data, i64 %begin, i64 %end) {
  %values = load ptr, ptr %data
  %visits.at = getelementptr ptr, ptr %data, i64 1
  %visits = load ptr, ptr %visits.at
  %who.at = getelementptr ptr, ptr %data, i64 2
  %who = load ptr, ptr %who.at
  %me = call ptr @pthread_self()
  br label %test
test:
  %i = phi i64 [ %begin, %0 ], [ %i.next, %iteration ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %iteration, label %done
iteration:
  %triple = mul i64 %i, 3
  %value = add i64 %triple, 7
  %value.at = getelementptr i64, ptr %values, i64 %i
  store i64 %value, ptr %value.at
  %visit.at = getelementptr i64, ptr %visits, i64 %i
  %visit = atomicrmw add ptr %visit.at, i64 1 monotonic
  %me.at = getelementptr ptr, ptr %who, i64 %i
  store ptr %me, ptr %me.at
  %i.next = add i64 %i, 1
  br label %test
done:
  ret void
}

define void @ranges(ptr %data, i64 %begin, i64 %end) {
  %n = atomicrmw add ptr %data, i64 2 monotonic
  %first = getelementptr i64, ptr %data, i64 1
  %begin.at = getelementptr i64, ptr %first, i64 %n
  store i64 %begin, ptr %begin.at
  %second = getelementptr i64, ptr %data, i64 2
  %end.at = getelementptr i64, ptr %second, i64 %n
  store i64 %end, ptr %end.at
  ret void
}

define void @meet(ptr %data, i64 %begin, i64 %end) {
  %before = atomicrmw add ptr %data, i64 1 seq_cst
  br label %wait
wait:
  %tries = phi i64 [ 0, %0 ], [ %tries.next, %wait ]
  call i32 @sched_yield()
  %arrived = load atomic i64, ptr %data seq_cst, align 8
  %tries.next = add i64 %tries, 1
  %met = icmp sge i64 %arrived, 2
  %tired = icmp sge i64 %tries, 10000000
  %stop = or i1 %met, %tired
  br i1 %stop, label %note, label %wait
note:
  br i1 %met, label %good, label %done
good:
  %good.at = getelementptr i64, ptr %data, i64 1
  %good.before = atomicrmw add ptr %good.at, i64 1 seq_cst
  br label %done
done:
  ret void
}

define void @inner(ptr %data, i64 %begin, i64 %end) {
  %n = sub i64 %end, %begin
  %sum = atomicrmw add ptr %data, i64 %n monotonic
  ret void
}
define void @nested(ptr %data, i64 %begin, i64 %end) {
  br label %iteration
iteration:
  %i = phi i64 [ %begin, %0 ], [ %i.next, %iteration ]
  call void @lamina_parallel(ptr @inner, ptr %data, i64 4, i64 1099511627776, i64 2)
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %end
  br i1 %more, label %iteration, label %done
done:
  ret void
}

define void @halve(ptr %data, i64 %begin, i64 %end) {
  %least.at = getelementptr double, ptr %data, i64 1000
  br label %iteration
iteration:
  %i = phi i64 [ %begin, %0 ], [ %i.next, %iteration ]
  %least = load volatile double, ptr %least.at
  %half = fmul double %least, 0.5
  %at = getelementptr double, ptr %data, i64 %i
  store double %half, ptr %at
  %yield = call i32 @sched_yield()
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %end
  br i1 %more, label %iteration, label %done
done:
  ret void
}
"""
MODES = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @modes(i64 %modes) {
  %at = alloca i32
  %word = trunc i64 %modes to i32
  store i32 %word, ptr %at
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  ret void
}
"""
BODIES = ("fill", "ranges", "meet", "nested", "halve")


class Loops:
    """The loops above, called with the GIL released."""

    def __init__(self):
        self.library = load_object(compile_object(TEXT), ["run", *BODIES], parallel.imports())
        words = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64]
        self._run = self.library.function("run", None, *words)

    def run(self, body, data, count, work=MUCH, threads=0):
        self._run(self.library.address(body), data.ctypes.data, count, work, threads)

    def fill(self, count, work=MUCH, threads=0, room=0):
        """Check that each iteration ran once; return the thread of each."""
        arrays = np.zeros((3, count + room), np.int64)
        pointers = np.array([row.ctypes.data for row in arrays])
        self.run("fill", pointers, count, work, threads)
        values, visits, who = arrays
        np.testing.assert_array_equal(values[:count], 3 * np.arange(count) + 7)
        assert (visits[:count] == 1).all()
        assert not arrays[:, count:].any()
        return who[:count]


@pytest.fixture(scope="module")
def loops():
    return Loops()


@pytest.fixture
def runtime(loops):
    """For tests of what only happens where there are threads."""
    if not threads.THREADED:
        pytest.skip("there are no POSIX threads")
    return threads.STATE


@pytest.fixture(autouse=True)
def number():
    """Tests may set the number of threads."""
    before = threads.get_threads()
    yield
    threads.STATE.threads = before


# Where iterations run


@pytest.mark.parametrize("count_threads", [1, 2, 7])
def test_each_iteration_runs_once(loops, count_threads):
    for count in range(1001):
        loops.fill(count, threads=count_threads, room=2)


@pytest.mark.parametrize("count", [2, 7, 8, 9, 1001, (1 << 62) + 12345, (1 << 63) - 1])
@pytest.mark.parametrize("count_threads", [2, 7])
@pytest.mark.parametrize(("flag", "each"), [(0, 4), (threads.ONCE, 1)])
def test_chunks_are_the_whole_and_nearly_equal(loops, runtime, count, count_threads, flag, each):
    notes = np.zeros(1 + 2 * each * count_threads, np.int64)
    loops.run("ranges", notes, count, MUCH, count_threads + flag)
    chunks = min(count, each * count_threads)
    assert notes[0] == 2 * chunks
    ranges = sorted((int(b), int(e)) for b, e in notes[1 : 1 + 2 * chunks].reshape(-1, 2))
    assert ranges[0][0] == 0 and ranges[-1][1] == count
    assert all(a[1] == b[0] for a, b in itertools.pairwise(ranges))
    sizes = {e - b for b, e in ranges}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("count", "work", "count_threads"),
    [(1000, threads.AWAKE_THRESHOLD - 1, 2), (1000, 0, 7), (1000, -1, 2), (1000, MUCH, 1), (1, MUCH, 2)],
)
def test_what_is_not_worth_it_stays_in_the_calling_thread(loops, runtime, count, work, count_threads):
    before = runtime.regions
    assert set(loops.fill(count, work, count_threads)) == {threading.get_ident()}
    assert runtime.regions == before


@pytest.mark.parametrize("count", [0, 1, -1])
def test_fewer_than_two_iterations_are_one_call(loops, count):
    notes = np.zeros(3, np.int64)
    loops.run("ranges", notes, count, MUCH, 2)
    assert notes.tolist() == [2, 0, count]


def test_enough_work_makes_a_region(loops, runtime):
    before = runtime.regions
    loops.fill(1000, threads.ASLEEP_THRESHOLD, 2)
    assert runtime.regions == before + 1


def test_less_is_enough_when_workers_are_awake(runtime):
    program("""
        loops = load()
        state = threads.STATE
        # without workers in truth: regions are counted all the same
        for workers, sleepers, regions in [(2, 0, 1), (5, 3, 1), (2, 1, 0), (2, 2, 0), (0, 0, 0)]:
            before, state.workers, state.sleepers = state.regions, workers, sleepers
            loops.fill(1000, 2 * threads.AWAKE_THRESHOLD, 3)
            assert state.regions == before + regions, (workers, sleepers)
    """)


@pytest.mark.parametrize(("work", "team"), [(threads.ASLEEP_THRESHOLD, 9), (20 * threads.AWAKE_THRESHOLD, 21), (MUCH, 64)])
def test_no_more_threads_than_the_work_is_worth(loops, runtime, work, team):
    notes = np.zeros(1 + 2 * 4 * team, np.int64)
    loops.run("ranges", notes, 10_000, work, 64)
    assert notes[0] == 2 * 4 * team


def test_two_threads_run_at_once(loops, runtime):
    notes = np.zeros(2, np.int64)
    loops.run("meet", notes, 2, MUCH, 2)  # each waits for the other
    assert notes.tolist() == [2, 2]


def test_default_number_of_threads(loops, runtime):
    for n in (1, 2, 5):
        threads.set_threads(n)
        notes = np.zeros(1 + 2 * 20, np.int64)
        loops.run("ranges", notes, 1000)
        assert notes[0] == (2 if n == 1 else 8 * n)
    loops.run("ranges", notes := np.zeros(1 + 2 * 12, np.int64), 1000, MUCH, 3)  # its own number comes first
    assert notes[0] == 24


def test_a_loop_in_a_loop_runs_in_one_thread(loops, runtime):
    before = runtime.regions
    total = np.zeros(1, np.int64)
    loops.run("nested", total, 1000, MUCH, 2)
    assert total[0] == 4000
    assert runtime.regions == before + 1
    assert runtime.busy == 0


def test_a_region_is_left_to_the_thread_that_is_in_one(loops, runtime):
    runtime.busy = 1
    try:
        assert set(loops.fill(1000, threads=2)) == {threading.get_ident()}
    finally:
        runtime.busy = 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="sets a register of x86")
def test_workers_round_like_the_calling_thread(loops, runtime):
    set_modes = load_object(compile_object(MODES), ["modes"]).function("modes", None, ctypes.c_int64)
    default, flushing = 0x1F80, 0x9FC0
    data = np.zeros(1001)
    least = np.finfo(np.float64).tiny
    loops.fill(1000, threads=4)  # the workers exist
    for modes, expected in [(default, least / 2), (flushing, 0.0), (default, least / 2)] * 5:
        data[:1000], data[1000] = -1.0, least
        set_modes(modes)
        try:
            loops.run("halve", data, 1000, MUCH, 4)
        finally:
            set_modes(default)
        assert (data[:1000] == expected).all()


# Programs of their own


def program(text, *, timeout=120, **environment):
    """Run a program that has the loops at hand; a region that never ends is a failure."""
    start = f"""
        import importlib.util, os, sys, threading, time, warnings
        def load():
            spec = importlib.util.spec_from_file_location("test_threads", {str(Path(__file__))!r})
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module.Loops()
        def count_threads():
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("Threads:"))
        def settles(condition):  # threads end a while after they have been joined or dismissed
            for _ in range(3000):
                if condition():
                    return True
                time.sleep(0.01)
        def child(work):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    work()
                    code = 0
                except BaseException:
                    import traceback
                    traceback.print_exc()
                finally:
                    os._exit(code)
            assert os.waitpid(pid, 0)[1] == 0
        from lamina.runtime import threads
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_NUM_")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(start) + textwrap.dedent(text)],
        env={**variables, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
def test_eight_threads_share_the_workers(runtime):
    program("""
        loops = load()
        before = count_threads()
        loops.fill(1000, threads=3)
        errors = []
        start, pause, stop = (threading.Barrier(9) for _ in range(3))
        def work():
            try:
                start.wait()
                for i in range(300):
                    loops.fill(100 + i, threads=3)
            except BaseException as error:
                errors.append(error)
            pause.wait()
            stop.wait()
        workers = [threading.Thread(target=work) for _ in range(8)]
        for worker in workers:
            worker.start()
        start.wait()
        pause.wait()
        assert not errors, errors
        assert count_threads() == before + 8 + 2, count_threads()
        assert threads.STATE.busy == 0
        stop.wait()
        for worker in workers:
            worker.join()
        regions = threads.STATE.regions
        for _ in range(20):  # later threads have their turn
            worker = threading.Thread(target=loops.fill, args=(1000,), kwargs={"threads": 3})
            worker.start()
            worker.join()
        assert threads.STATE.regions == regions + 20
        assert settles(lambda: count_threads() == before + 2)
    """)


@linux
def test_number_of_threads_is_bounded(runtime):
    program("""
        loops = load()
        before = count_threads()
        for n in (2, 5, 3, 2, 4, 1, 5) * 20:
            loops.fill(1000, threads=n)
        assert count_threads() == before + 4, count_threads()
    """)


@linux
def test_fewer_workers_than_asked_for(runtime):
    program("""
        import resource
        loops = load()
        running = count_threads()
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, resource.RLIM_INFINITY))  # no room for further stacks
        for _ in range(20):
            loops.fill(1000, threads=300)
        assert count_threads() < running + 299
    """)


@pytest.mark.thorough
@linux
@pytest.mark.parametrize("count_threads", [2, 7])
def test_idle_workers_sleep(runtime, count_threads):
    program(f"""
        loops = load()
        for _ in range(10):
            loops.fill(1000, threads={count_threads})
            assert settles(lambda: threads.STATE.sleepers == {count_threads} - 1)
            cpu, wall = time.process_time(), time.perf_counter()
            time.sleep(0.1)
            assert time.process_time() - cpu < (time.perf_counter() - wall) / 2
        assert threads.STATE.busy == threads.STATE.awaited == 0
    """)


def test_workers_come_again_after_each_sleep(runtime):
    program("""
        import numpy as np
        loops = load()
        for pause in [0.0, 0.0002, 0.001, 0.002, 0.005] * 20:
            notes = np.zeros(2, np.int64)
            loops.run("meet", notes, 2, 1 << 40, 2)  # each of two iterations waits for the other
            assert notes.tolist() == [2, 2], (pause, notes)
            time.sleep(pause)
    """)


@linux
def test_workers_leave_signals_to_others(runtime):
    program("""
        import signal
        loops = load()
        main = threading.get_native_id()
        loops.fill(1000, threads=4)
        python = {thread.native_id for thread in threading.enumerate()}
        blocked = 0
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/status") as file:
                mask = next(int(line.split()[1], 16) for line in file if line.startswith("SigBlk:"))
            takes = lambda number: not mask >> (number - 1) & 1
            if int(task) not in python and not takes(signal.SIGINT):
                blocked += 1
                assert not takes(signal.SIGALRM) and takes(signal.SIGSEGV) and takes(signal.SIGFPE)
            if int(task) == main:
                assert takes(signal.SIGINT)
        assert blocked >= 3
    """)


@linux
def test_exit_while_workers_run(runtime):
    for wait in ("0", "0.0005", "0.01"):
        program(f"""
            loops = load()
            worker = threading.Thread(target=lambda: [loops.fill(10000, threads=4) for _ in range(100000)], daemon=True)
            worker.start()
            time.sleep({wait})
            loops.fill(1000, threads=4)
        """)


def test_fork_after_use(runtime):
    program("""
        loops = load()
        for _ in range(20):
            loops.fill(1000, threads=4)
        threads.STATE.busy = 1  # as if another thread were in a region, with a worker, and held the mutex
        threads.STATE.ticket += 1
        import ctypes
        ctypes.CDLL(None).pthread_mutex_lock(ctypes.c_void_p(ctypes.addressof(threads.STATE) + threads.State.mutex.offset))
        def work():
            assert threads.STATE.busy == threads.STATE.workers == 0
            regions = threads.STATE.regions
            loops.fill(1000, threads=1)
            for n in (2, 7):
                loops.fill(1000, threads=n)  # with workers of its own
            threads.set_threads(3)
            loops.fill(1000)
            assert threads.STATE.regions == regions + 3 and threads.STATE.workers == 6
            child(lambda: loops.fill(1000, threads=4))
        child(work)
    """)


def test_fork_before_use(runtime):
    program("""
        loops = load()
        def work():
            for n in (1, 2, 7):
                loops.fill(1000, threads=n)
        child(work)
        child(work)
        work()
    """)


def test_fork_before_loading(runtime):
    program("""
        child(lambda: load().fill(1000, threads=4))
        load().fill(1000, threads=4)
    """)


@linux
def test_fork_that_python_does_not_know_of(runtime):
    program("""
        import ctypes
        loops = load()
        loops.fill(1000, threads=3)
        pid = ctypes.CDLL(None).fork()
        if pid == 0:  # there are no workers, and nobody says so: the calling thread does it all
            loops.fill(1000, threads=3)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    """)


def test_systems_without_threads(monkeypatch):
    monkeypatch.setattr(threads, "THREADED", False)
    library = load_object(compile_object(workers.parallel_module("x86_64")), workers.PARALLEL_SYMBOLS)
    alone = Loops()
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)(library.address("lamina_parallel"))
    notes = np.zeros(3, np.int64)
    run(alone.library.address("ranges"), notes.ctypes.data, 1000, MUCH, 4)
    assert notes.tolist() == [2, 0, 1000]


# How many


def test_set_and_get():
    import lamina

    for n in (1, 3, np.int32(2), threads.MAX_THREADS):
        lamina.set_threads(n)
        assert lamina.get_threads() == n
        assert type(lamina.get_threads()) is int


@pytest.mark.parametrize("n", [0, -1, threads.MAX_THREADS + 1, 1 << 70])
def test_set_refuses_numbers(n):
    before = threads.get_threads()
    with pytest.raises(ValueError, match=rf"from 1 to {threads.MAX_THREADS}, got {n}"):
        threads.set_threads(n)
    assert threads.get_threads() == before


@pytest.mark.parametrize("n", [2.0, "2", None, True, [2]])
def test_set_refuses_types(n):
    with pytest.raises(TypeError, match=f"takes an integer, got {type(n).__name__}"):
        threads.set_threads(n)


@pytest.mark.parametrize(("value", "expected"), [("1", 1), (" 5 ", 5), ("0012", 12), ("1024", 1024)])
def test_variable(monkeypatch, value, expected):
    monkeypatch.setenv("LAMINA_NUM_THREADS", value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert threads._default_threads() == expected


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", "1025", "9" * 5000, "٣", "2;3"])
def test_bad_variable(monkeypatch, value):
    monkeypatch.delenv("LAMINA_NUM_THREADS", raising=False)
    usual = threads._default_threads()
    monkeypatch.setenv("LAMINA_NUM_THREADS", value)
    with pytest.warns(RuntimeWarning, match="LAMINA_NUM_THREADS") as caught:
        assert threads._default_threads() == usual
    assert len(caught) == 1


def test_bad_variable_is_said_once():
    out = program(
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import lamina
            lamina.get_threads()
            lamina.get_threads()
            load().fill(10)
        print([str(each.message) for each in caught if "LAMINA_NUM_THREADS" in str(each.message)])
    """,
        LAMINA_NUM_THREADS="many",
    )
    assert out.count("'many'") == 1


@linux
def test_affinity_counts(monkeypatch):
    monkeypatch.delenv("LAMINA_NUM_THREADS", raising=False)
    for usable, quota, expected in [(1, None, 1), (12, None, 12), (12, 3, 3), (2, 3, 2), (5000, None, threads.MAX_THREADS)]:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, usable=usable: set(range(usable)))
        monkeypatch.setattr(threads, "quota_threads", lambda quota=quota: quota)
        assert threads._default_threads() == expected


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "1000 100000\n"}, 1),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, 3),
        ("0::/a/b\n", {"a/b/cpu.max": "400000 100000\n", "a/cpu.max": "600000 100000\n"}, 4),
        ("0::/a/b\n", {"cpu.max": "400000 100000\n"}, 4),  # a container that sees the path of the host
        ("0::/../x\n", {"cpu.max": "400000 100000\n"}, 4),
        ("0::/a\n", {"unified/a/cpu.max": "400000 100000\n"}, 4),
        ("3:cpu,x:/a\n0::/\n", {"cpu,x/a/cpu.cfs_quota_us": "250000", "cpu,x/a/cpu.cfs_period_us": "100000"}, 3),
        ("3:cpuacct,cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "50000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, 1),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ("3:cpuset:/a\n", {"cpuset/a/cpu.cfs_quota_us": "50000\n", "cpuset/a/cpu.cfs_period_us": "100000\n"}, None),
        ("0::/\n", {"cpu.max": "nonsense\n"}, None),
        ("0::/\n", {"cpu.max": "100000 0\n"}, None),
        ("0::/\n", {"cpu.max": ""}, None),
        ("0::/\n", {}, None),
        ("nonsense\n\n:\n", {}, None),
        (None, {"cpu.max": "200000 100000\n"}, None),
    ],
)
def test_quota(tmp_path, groups, files, expected):
    if groups is not None:
        (tmp_path / "cgroup").write_text(groups)
    for name, text in files.items():
        path = tmp_path / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert threads.quota_threads(tmp_path / "cgroup", tmp_path / "fs") == expected


# The code


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64", "arm64", "riscv64"])
def test_text_is_valid(architecture):
    from lamina.codegen import targets
    from lamina.codegen.compile import verify_llvm

    text = workers.parallel_module(architecture)
    verify_llvm(text)
    if architecture == "aarch64":
        assert compile_object(text, targets.get("aarch64"), isolated=True)

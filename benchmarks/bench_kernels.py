"""Handwritten kernels: the cost of a call and of a parallel region, and a matmul against the machine's limits.

python benchmarks/bench_kernels.py
"""

from __future__ import annotations

import ctypes
import sys
import time
from pathlib import Path

import lamina as lm
import numpy as np
from lamina.codegen.compile import compile_object
from lamina.codegen.machine import peak_flops
from lamina.codegen.parallel import imports
from lamina.codegen.thread_runtime import load_object
from measure import interleaved, readable, show
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "kernels"))
import matmul as example


@lm.kernel
def saxpy(a: lm.f32, x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(len(x)):
        y[i] += a * x[i]


@lm.kernel
def saxpy_again(a: lm.f32, x: lm.f32["N"], y: lm.f32["N"], rounds: lm.i64):
    for _r in range(rounds):
        for i in range(len(x)):
            y[i] += a * x[i]


def calls() -> None:
    """A call on 1,000 elements beside the same loop run many times inside of one call, and NumPy."""
    for kernel in (saxpy, saxpy_again):
        s = kernel.schedule()
        s.vectorize(s["i"], lm.target().lanes(32) * 2)
    x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    before = y.copy()
    saxpy(0.5, x, y)
    np.testing.assert_allclose(y, before + 0.5 * x)
    many = 1000
    medians = interleaved(
        {
            "lamina": lambda: saxpy(0.5, x, y),
            f"lamina, {many} times in one call": lambda: saxpy_again(0.5, x, y, many),
            "numpy, y += a * x": lambda: np.add(y, 0.5 * x, out=y),
            "numpy, np.add(x, y, out=y)": lambda: np.add(x, y, out=y),
        }
    )
    loop = medians.pop(f"lamina, {many} times in one call") / many
    medians["the loop itself"] = loop
    show("saxpy of 1,000 float32: a call", medians)
    print(f"over the loop itself: {readable(medians['lamina'] - loop)} a call\n")


_REGION = """
declare void @lamina_parallel(ptr, ptr, i64, i64, i64)
declare void @GOMP_parallel(ptr, ptr, i32, i32)
define void @body(ptr %data, i64 %begin, i64 %end) {
  ret void
}
define void @region(ptr %data) {
  ret void
}
define void @ours(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void @lamina_parallel(ptr @body, ptr null, i64 64, i64 1000000000, i64 2)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @theirs(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void @GOMP_parallel(ptr @region, ptr null, i32 2, i32 0)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def regions() -> None:
    """A parallel region of two threads, ours and OpenMP's; and NumPy right after one."""
    ours = imports()
    try:
        libgomp = ctypes.CDLL("libgomp.so.1")
    except OSError:
        print("no OpenMP runtime: regions are not measured\n")
        return
    address = ctypes.cast(libgomp.GOMP_parallel, ctypes.c_void_p).value or 0
    library = load_object(compile_object(_REGION), ["ours", "theirs"], {**ours, "GOMP_parallel": address})
    functions = {name: library.function(name, None, ctypes.c_int64) for name in ("ours", "theirs")}
    n = 100
    medians = interleaved({"lamina": lambda: functions["ours"](n), "GOMP_parallel": lambda: functions["theirs"](n)})
    show("a parallel region of two threads, 100 in a row", {name: seconds / n for name, seconds in medians.items()})
    a = np.ones((256, 256), np.float32)

    def after() -> float:
        functions["ours"](1)
        start = time.perf_counter()
        a @ a
        return time.perf_counter() - start

    def alone() -> float:
        time.sleep(0.002)
        start = time.perf_counter()
        a @ a
        return time.perf_counter() - start

    pairs = [(after(), alone()) for _ in range(101)]
    one, two = (float(np.median([pair[k] for pair in pairs])) for k in (0, 1))
    print(f"NumPy's 256x256 product right after a region: {readable(one)}, alone: {readable(two)}\n")


def products() -> None:
    """The matrix product of examples/kernels/matmul.py at one and two threads."""
    example.matmul.reset()
    example.schedule(example.matmul.schedule())
    peak = peak_flops()
    table = Table(title=f"a product scheduled by hand, n x n float32; one core does at most {peak / 1e9:.0f} GFLOP/s")
    for column in ("n", "threads", "median", "GFLOP/s", "share of the peak", "NumPy / lamina", "second thread"):
        table.add_column(column, justify="right")
    rng = np.random.default_rng(0)
    for n in (768, 1536):
        A, B = (rng.standard_normal((n, n), dtype=np.float32) for _ in range(2))
        C, D = np.zeros((n, n), np.float32), np.zeros((n, n), np.float32)
        example.matmul(A, B, C)
        np.testing.assert_allclose(C, A @ B, rtol=1e-3, atol=1e-3 * n**0.5)
        medians = interleaved(
            {
                "1": lambda A=A, B=B, C=C: example.matmul(A, B, C, threads=1),
                "2": lambda A=A, B=B, C=C: example.matmul(A, B, C, threads=2),
                "numpy": lambda A=A, B=B, D=D: np.matmul(A, B, out=D),
            },
            rounds=15,
        )
        for count in ("1", "2"):
            speed = 2 * n**3 / medians[count]
            table.add_row(
                str(n),
                count,
                readable(medians[count]),
                f"{speed / 1e9:.0f}",
                f"{100 * speed / peak / int(count):.0f} %",
                f"{medians['numpy'] / medians[count]:.2f}",
                f"{medians['1'] / medians['2']:.2f}" if count == "2" else "",
            )
    Console().print(table)


def main() -> None:
    calls()
    regions()
    products()


if __name__ == "__main__":
    main()

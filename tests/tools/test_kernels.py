"""Kernels in lamina-run, and as functions of C through lamina-compile."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from lamina.tools import lamina_compile, lamina_run

SAXPY = """
loop.kernel @saxpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %old = loop.load %y[%i] : memref<?xf32>
    %v = loop.load %x[%i] : memref<?xf32>
    %new = math.fma %a, %v, %old : f32
    loop.store %new, %y[%i] : memref<?xf32>
  }
}
"""
# sizes before arrays; a flag; strides; threads, and memory for each of them
ROWS = """
loop.kernel @rows(%N: index, %double: i1, %x: memref<?x?xf64, strided<[?, 1]>>, %M: index, %sum: memref<?xf64>,
    %last: memref<?xi64>, %ld: index) shapes(%x[%M, %N] strides [%ld, 1], %sum[%M], %last[%M]) {
  loop.for parallel %i = 0 to %M {
    %row = loop.alloc scratch(%N) : memref<?xf64>
    %zero = arith.constant 0.0 : f64
    loop.for seq %j = 0 to %N {
      %v = loop.load %x[%i, %j] : memref<?x?xf64, strided<[?, 1]>>
      %w = arith.addf %v, %v : f64
      %z = arith.select %double, %w, %v : f64
      loop.store %z, %row[%j] : memref<?xf64>
    }
    %s = loop.for seq %k = 0 to %N carry %t = %zero : f64 {
      %u = loop.load %row[%k] : memref<?xf64>
      %r = arith.addf %t, %u : f64
      loop.yield %r : f64
    }
    loop.store %s, %sum[%i] : memref<?xf64>
    %n = arith.index_cast %i : index to i64
    loop.store %n, %last[%i] : memref<?xi64>
  }
}
"""
CHECKED = """
loop.kernel @pick(%i: i64, %x: memref<?xf32>, %y: memref<1xf32>, %N: index) shapes(%x[%N])
    checks("dim 0 of x") {
  %at = arith.index_cast %i : i64 to index
  %fine = arith.cmpi ult, %at, %N : index
  loop.check %fine, %at, 1
  loop.for seq %k = 0 to 1 {
    %v = loop.load %x[%at] : memref<?xf32>
    loop.store %v, %y[%k] : memref<1xf32>
  }
}
"""


@pytest.fixture
def saxpy(tmp_path: Path) -> str:
    path = tmp_path / "saxpy.mlir"
    path.write_text(SAXPY)
    return str(path)


ARGS = ["--args", "2.0", "iota:8xf32", "ones:8xf32"]


@pytest.mark.parametrize("mode", [[], ["--interpret"], ["-p", "loop-vectorize{loop=i lanes=4}"]], ids=str)
@pytest.mark.parametrize("entry", [[], ["--entry", "saxpy"]], ids=str)
def test_run(saxpy: str, capsys: pytest.CaptureFixture[str], mode: list[str], entry: list[str]):
    assert lamina_run.main([saxpy, *mode, *entry, *ARGS]) == 0
    assert capsys.readouterr().out == "y: float32 8\n[ 1.  3.  5.  7.  9. 11. 13. 15.]\n"


def test_compare_time_and_save(saxpy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    np.save(tmp_path / "y.npy", np.ones(8, np.float32))
    args = [saxpy, "--compare", "--time", "--args", "2.0", "iota:8xf32", str(tmp_path / "y.npy")]
    assert lamina_run.main([*args, "--save", str(tmp_path / "out.npy")]) == 0
    printed = capsys.readouterr().out
    assert "y: largest difference 0, 0 of 8 elements differ" in printed
    assert re.search(r"^\d+ ns per call$", printed, re.M)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), 1 + 2 * np.arange(8))


@pytest.mark.parametrize("mode", [[], ["--interpret"]], ids=str)
def test_any_order_of_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: list[str]):
    path = tmp_path / "rows.mlir"
    path.write_text(SAXPY + ROWS)
    args = [str(path), *mode, "--entry", "rows", "--args", "true", "iota:2x3xf64", "zeros:2xf64", "zeros:2xi64"]
    assert lamina_run.main(args) == 0
    assert capsys.readouterr().out == "sum: float64 2\n[ 6. 24.]\nlast: int64 2\n[0 1]\n"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--args", "2.0", "iota:8xf32"], r"@saxpy takes 3 arguments \(a: float32, x: float32\[N\], y: float32\[N\]\), got 2"),
        (
            ["--args", "2.0", "iota:8xf32", "ones:7xf32"],
            "size 'N' is 8 by dim 0 of argument 'x' .* and 7 by dim 0 of argument 'y'",
        ),
        (["--args", "2.0", "iota:8xf64", "ones:8xf32"], r"argument 'x' must be float32\[\?\], got float64\[8\]"),
        (["--args", "[1, 2]", "iota:8xf32", "ones:8xf32"], r"argument 'a' must be float32\[\], got"),
        (["--entry", "other"], "no kernel @other to run; there are: @saxpy"),
    ],
)
def test_run_refuses(saxpy: str, capsys: pytest.CaptureFixture[str], extra: list[str], message: str):
    assert lamina_run.main([saxpy, *extra]) == 1
    printed = capsys.readouterr().err
    assert re.search(message, printed), printed
    assert "Traceback" not in printed and "internal" not in printed


@pytest.mark.parametrize("mode", [[], ["--interpret"]], ids=str)
def test_kernels_that_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: list[str]):
    path = tmp_path / "pick.mlir"
    path.write_text(CHECKED)
    assert lamina_run.main([str(path), *mode, "--args", "3", "iota:4xf32", "[0.0]"]) == 0
    assert "[3.]" in capsys.readouterr().out
    assert lamina_run.main([str(path), *mode, "--args", "4", "iota:4xf32", "[0.0]"]) == 1
    printed = capsys.readouterr().err
    assert "failed for 4" in printed if mode else "index 4 of dim 0 of x is out of bounds" in printed


# --------------------------------------------------------------------------------------------------------------------
# In C


def build(tmp_path: Path, module: str, main: str, *flags: str, name: str = "kernels") -> str:
    """What a C program prints that calls the kernels of a module."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / f"{name}.mlir").write_text(module)
    paths = [str(tmp_path / f"{name}.{suffix}") for suffix in ("mlir", "o", "h")]
    assert lamina_compile.main([paths[0], "-o", paths[1], "--header", paths[2]]) == 0
    (tmp_path / "main.c").write_text(main)
    program = str(tmp_path / "program")
    command = [compiler, "-Wall", "-Werror", str(tmp_path / "main.c"), paths[1], "-o", program, *flags]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if done.returncode and "-fopenmp" in flags and "gomp" in done.stderr:
        pytest.skip("the C compiler has no OpenMP")
    assert done.returncode == 0, done.stderr
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def test_a_kernel_is_a_function_of_c(tmp_path: Path):
    main = """
#include <stdio.h>
#include "kernels.h"
int main(void) {
  float x[5] = {1, 2, 3, 4, 5}, y[5] = {1, 1, 1, 1, 1};
  if (kernels_saxpy(2, x, y, 5)) return 1;
  for (int i = 0; i < 5; i++) printf("%g ", y[i]);
}
"""
    assert build(tmp_path, SAXPY, main).split() == ["3", "5", "7", "9", "11"]
    header = (tmp_path / "kernels.h").read_text()
    assert "\nint kernels_saxpy(float a, const float *x, float *y, int64_t N);\n" in header


ROWS_C = """
#include <stdio.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "kernels.h"
int main(void) {
  enum { M = 301, N = 1000, LD = 1024 };
  double *x = malloc(sizeof(double) * M * LD), sum[M];
  int64_t last[M], wrong = 0, status = 0;
  for (int i = 0; i < M * LD; i++) x[i] = i % 7;
  for (int threads = 0; threads < 4; threads++) {
    for (int i = 0; i < M; i++) last[i] = -1;
    status |= kernels_rows(threads % 2, x, sum, last, N, M, LD, threads);
    for (int i = 0; i < M; i++) {
      double s = 0;
      for (int j = 0; j < N; j++) s += x[i * LD + j];
      wrong += sum[i] != s * (1 + threads % 2) || last[i] != i;
    }
  }
#ifdef _OPENMP
  printf("%d ", omp_get_max_threads() > 0);
#endif
  printf("%d %d", (int)wrong, (int)status);
}
"""


@pytest.mark.parametrize("flags", [[], ["-fopenmp"], ["-static"]], ids=str)
def test_threads_without_our_runtime(tmp_path: Path, flags: list[str]):
    printed = build(tmp_path, ROWS, ROWS_C, *flags).split()
    assert printed[-2:] == ["0", "0"] and len(printed) == (3 if flags == ["-fopenmp"] else 2)
    header = (tmp_path / "kernels.h").read_text()
    declared = (
        "int kernels_rows(bool double_, const double *x, double *sum, int64_t *last, int64_t N, int64_t M, int64_t ld, "
        "int64_t threads);"
    )
    assert declared in header and "x: float64[M, N], in steps of ld, 1 elements, read\n" in header


def test_programs_and_several_objects(tmp_path: Path):
    """A function with a loop for threads and a kernel beside it, each in an object of its own."""
    function = """
func.func @total(%x: tensor<1000x300xf32>) -> tensor<1000xf32> {
  %e = graph.mul %x, %x : tensor<1000x300xf32>
  %y = graph.reduce add %e over [1] : tensor<1000x300xf32> -> tensor<1000xf32>
  return %y : tensor<1000xf32>
}
"""
    (tmp_path / "total.mlir").write_text(function)
    args = [str(tmp_path / "total.mlir"), "-o", str(tmp_path / "total.o"), "--header", str(tmp_path / "total.h")]
    assert lamina_compile.main(args) == 0
    main = """
#include <stdio.h>
#include "kernels.h"
#include "total.h"
static float x[300000], y[1000];
static _Alignas(64) unsigned char arena[total_ARENA_BYTES + 64];
int main(void) {
  double z[2] = {1, 2}, sum[1];
  int64_t last[1];
  for (int i = 0; i < 300000; i++) x[i] = 2;
  if (total(x, y, arena, sizeof arena)) return 1;
  if (kernels_rows(true, z, sum, last, 2, 1, 2, 0)) return 2;
  printf("%g %g %g", y[0], y[999], sum[0]);
}
"""
    assert build(tmp_path, ROWS, main, str(tmp_path / "total.o")).split() == ["1200", "1200", "6"]


@pytest.mark.parametrize("target", ["host", "x86-64-v2", "x86-64-v4", "aarch64"])
def test_targets(tmp_path: Path, target: str):
    (tmp_path / "rows.mlir").write_text(ROWS)
    assert lamina_compile.main([str(tmp_path / "rows.mlir"), "-o", str(tmp_path / "rows.o"), "--target", target]) == 0
    assert lamina_compile.main([str(tmp_path / "rows.mlir"), "-o", str(tmp_path / "rows.s"), "--target", target]) == 0
    text = (tmp_path / "rows.s").read_text()
    assert re.search(r"\.weak\s+lamina_parallel", text) and re.search(r"\.weak\s+GOMP_parallel", text)


def test_llvm_ir_runs_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The text may be loaded beside our runtime."""
    function = """
func.func @main(%x: tensor<4000x3000xf32>) -> tensor<4000xf32> {
  %y = graph.reduce max %x over [1] : tensor<4000x3000xf32> -> tensor<4000xf32>
  return %y : tensor<4000xf32>
}
"""
    (tmp_path / "f.mlir").write_text(function)
    assert lamina_compile.main([str(tmp_path / "f.mlir"), "-o", str(tmp_path / "f.ll")]) == 0
    assert "define weak void @lamina_parallel" in (tmp_path / "f.ll").read_text()
    out = str(tmp_path / "out.npy")
    options = ["--results", "4000xf32", "--args", "ones:4000x3000xf32", "--save", out]
    assert lamina_run.main([str(tmp_path / "f.ll"), *options]) == 0
    np.testing.assert_array_equal(np.load(out), np.ones(4000, np.float32))


def test_a_kernel_may_have_the_name_of_a_function_of_c(tmp_path: Path):
    main = """
#include <stdio.h>
#include "kernels.h"
int main(void) {
  float x[2] = {1, 2}, y[2] = {1, 1};
  if (kernels_memcpy(2, x, y, 2)) return 1;
  printf("%g %g", y[0], y[1]);
}
"""
    assert build(tmp_path, SAXPY.replace("@saxpy", "@memcpy"), main).split() == ["3", "5"]

"""`lamina_parallel` in objects that are used without our runtime."""

from __future__ import annotations

import dataclasses
import doctest
import shutil
import subprocess
from pathlib import Path

import pytest
from lamina.codegen import standalone as module
from lamina.codegen.compile import compile_object
from lamina.codegen.standalone import standalone
from lamina.codegen.targets.host import host

TEXT = """
declare void @lamina_parallel(ptr, ptr, i64, i64, i64)
define void @run(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {
  call void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads)
  ret void
}
"""
MAIN = """
#include <stdint.h>
#include <stdio.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
static int omp_get_num_threads(void) { return 1; }
#endif
void run(void (*body)(void *, int64_t, int64_t), void *data, int64_t count, int64_t work, int64_t threads);
static int pieces, most;
static void body(void *data, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) __atomic_fetch_add((int *)data + i, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&pieces, begin < end || begin == 0, __ATOMIC_RELAXED);
  if (omp_get_num_threads() > most) most = omp_get_num_threads();
}
int main(void) {
  static int counts[3000];
  int64_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 3000};
  for (int k = 0; k < 8; k++)
    for (int64_t threads = 0; threads < 4; threads++)
      for (int64_t work = 1; work <= 1 << 20; work <<= 20) {
        pieces = most = 0;
        for (int i = 0; i < 3000; i++) counts[i] = 0;
        run(body, counts, sizes[k], work, threads);
        for (int i = 0; i < 3000; i++) if (counts[i] != (i < sizes[k])) return 1;
        int alone = sizes[k] < 2 || work == 1 || threads == 1;
        if (alone && (pieces != 1 || most != 1)) return 2;
        if (!alone && threads > 1) printf("%d ", most == threads);
      }
  return 0;
}
"""


def test_doctests():
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("system", ["openmp", "linux", "darwin"])
def test_every_iteration_runs_once(tmp_path: Path, system: str):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    target = host() if system != "darwin" else dataclasses.replace(host(), triple="arm64-apple-darwin")
    text = standalone(TEXT, target)
    assert ("GOMP_parallel" in text) == ("linux" in target.triple)
    (tmp_path / "run.o").write_bytes(compile_object(text))
    (tmp_path / "main.c").write_text(MAIN)
    flags = ["-fopenmp"] if system == "openmp" else []
    program = str(tmp_path / "program")
    command = [compiler, "-O1", str(tmp_path / "main.c"), str(tmp_path / "run.o"), "-o", program, *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "gomp" in done.stderr:
        pytest.skip("the C compiler has no OpenMP")
    assert done.returncode == 0, done.stderr
    # requested threads exist, also on one processor
    done = subprocess.run([program], capture_output=True, text=True, env={"OMP_DYNAMIC": "false", "OMP_THREAD_LIMIT": "8"})
    assert done.returncode == 0
    assert set(done.stdout.split()) == ({"1"} if system == "openmp" and "linux" in target.triple else {"0"})

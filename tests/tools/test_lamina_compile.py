"""lamina-compile: headers C takes whatever the IR calls things."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lamina.dialects.element_types import TABLE
from lamina.tools import lamina_compile

ODD = """
func.func @"scale.by$two"(%double: tensor<4xf32>, %x.a: tensor<4xf32>, %x$a: tensor<4xi1>) -> tensor<4xf32> {
  %a = graph.add %double, %x.a : tensor<4xf32>
  %z = graph.select %x$a, %a, %double : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
"""


def test_names_become_those_of_c(tmp_path: Path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "odd.mlir").write_text(ODD)
    args = [str(tmp_path / "odd.mlir"), "-o", str(tmp_path / "odd.o"), "--header", str(tmp_path / "odd-names.h")]
    assert lamina_compile.main(args) == 0
    header = (tmp_path / "odd-names.h").read_text()
    assert "int odd_scale_by_two(const float *double_, const float *x_a, const bool *x_a_1, float *" in header
    (tmp_path / "main.c").write_text("""
#include <stdio.h>
#include "odd-names.h"
int main(void) {
  static _Alignas(64) unsigned char arena[odd_scale_by_two_ARENA_BYTES + 64];
  float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, y[4];
  bool c[4] = {true, false, true, false};
  if (odd_scale_by_two(a, b, c, y, arena, sizeof arena)) return 1;
  for (int i = 0; i < 4; i++) printf("%g ", y[i]);
}
""")
    program = str(tmp_path / "program")
    command = [compiler, "-Wall", "-Werror", str(tmp_path / "main.c"), str(tmp_path / "odd.o"), "-o", program, "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout.split() == ["11", "2", "33", "4"]


def test_every_element_type_has_one_in_c(tmp_path: Path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    types = [(row.dtype.name, f"tensor<2x{row.name}>") for row in TABLE]
    lines = [f"func.func @f_{name}(%x: {type}) -> {type} {{\n  return %x : {type}\n}}" for name, type in types]
    (tmp_path / "types.mlir").write_text("\n".join(lines))
    args = [str(tmp_path / "types.mlir"), "-o", str(tmp_path / "types.o"), "--header", str(tmp_path / "types.h")]
    assert lamina_compile.main(args) == 0
    header = (tmp_path / "types.h").read_text()
    assert "int types_f_uint8(const uint8_t *x, uint8_t *result" in header
    sizes = [f'_Static_assert(sizeof({row.c}) == {row.dtype.itemsize}, "{row.name}");' for row in TABLE]
    (tmp_path / "main.c").write_text("\n".join(['#include "types.h"', *sizes]))
    subprocess.run([compiler, "-Wall", "-Werror", "-c", "main.c", "-o", "main.o"], check=True, cwd=tmp_path)


def test_any_name_becomes_one_of_c(tmp_path: Path):
    text = ODD.replace("scale.by$two", "gr\u00f6\u00dfe */") + ODD.replace("scale.by$two", "gr  e __")
    (tmp_path / "odd.mlir").write_text(text)
    (tmp_path / "odd.mlir").rename(tmp_path / "exp.mlir")
    args = [str(tmp_path / "exp.mlir"), "-o", str(tmp_path / "odd.o"), "--header", str(tmp_path / "odd.h")]
    assert lamina_compile.main(args) == 0
    header = (tmp_path / "odd.h").read_text()
    assert "\nint exp__gr__e___(" in header and "\nint exp__gr__e____1(" in header
    if (compiler := shutil.which("cc")) is not None:
        subprocess.run([compiler, "-Wall", "-Werror", "-fsyntax-only", "-xc", str(tmp_path / "odd.h")], check=True)


@pytest.mark.parametrize("prefix", ["main", "exp", "2x", "double", "a-b", "lamina_x", ""])
def test_prefixes_that_clash_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], prefix: str):
    (tmp_path / "odd.mlir").write_text(ODD)
    assert lamina_compile.main([str(tmp_path / "odd.mlir"), "-o", str(tmp_path / "x.o"), f"--prefix={prefix}"]) == 1
    assert f"prefix '{prefix}' is" in capsys.readouterr().err and not (tmp_path / "x.o").exists()


def test_cpp_links_what_the_header_declares(tmp_path: Path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (tmp_path / "twice.mlir").write_text("""
func.func @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = graph.add %x, %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
""")
    args = [str(tmp_path / "twice.mlir"), "-o", str(tmp_path / "twice.o"), "--header", str(tmp_path / "twice.h")]
    assert lamina_compile.main(args) == 0
    (tmp_path / "main.cpp").write_text("""
#include "twice.h"
int main() {
  alignas(64) static unsigned char arena[twice_ARENA_BYTES + 64];
  float x[3] = {1, 2, 3}, y[3];
  if (twice(x, y, arena, sizeof arena)) return 1;
  return y[0] == 2 && y[1] == 4 && y[2] == 6 ? 0 : 1;
}
""")
    program = str(tmp_path / "program")
    subprocess.run([compiler, str(tmp_path / "main.cpp"), str(tmp_path / "twice.o"), "-o", program, "-lm"], check=True)
    subprocess.run([program], check=True)


@pytest.mark.parametrize("fault", ["name", "folder"])
def test_a_header_that_fails_leaves_the_object_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str):
    private = "private " if fault == "name" else ""
    (tmp_path / "x.mlir").write_text(
        f"func.func {private}@f(%x: tensor<2xf32>) -> tensor<2xf32> {{\n  return %x : tensor<2xf32>\n}}\n"
    )
    (tmp_path / "x.o").write_bytes(b"old")
    header = tmp_path / ("x.h" if fault == "name" else "missing/x.h")
    assert lamina_compile.main([str(tmp_path / "x.mlir"), "-o", str(tmp_path / "x.o"), "--header", str(header)]) != 0
    assert capsys.readouterr().err
    assert (tmp_path / "x.o").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.mlir", "x.o"]


COUNTING = """
#include <dirent.h>
#include <stdio.h>
#include "wide.h"
int main(void) {
  static float x[4096 * 64], y[4096 * 64];
  int count = 0;
  static _Alignas(64) unsigned char arena[wide_ARENA_BYTES + 64];
  if (wide(x, y, arena, sizeof arena)) return 1;
  DIR *tasks = opendir("/proc/self/task");
  while (readdir(tasks)) count++;
  printf("%d %g", count - 2, y[4096 * 64 - 1]);
}
"""
"""Threads of OpenMP wait for more work: they are there after the call."""


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an object that has a parallel loop, in three forms."""
    folder = tmp_path_factory.mktemp("wide")
    (folder / "wide.mlir").write_text("""
func.func @wide(%x: tensor<4096x64xf32>) -> tensor<4096x64xf32> {
  %y = graph.exp %x : tensor<4096x64xf32>
  return %y : tensor<4096x64xf32>
}
""")
    for name, options in (
        ("default", ["--header", str(folder / "wide.h")]),
        ("threads", ["--threads"]),
        ("alone", ["--no-threads"]),
    ):
        args = [str(folder / "wide.mlir"), "-o", str(folder / f"{name}.o"), *options]
        assert lamina_compile.main(args) == 0
    for name in ("wide.a", "wide.so"):
        assert lamina_compile.main([str(folder / "wide.mlir"), "-o", str(folder / name)]) == 0
    (folder / "main.c").write_text(COUNTING)
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("flags", ["-O1", "-O3 -flto", "-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections", "-static"])
def test_parallel_loops_run_on_threads_of_openmp(wide: Path, tmp_path: Path, flags: str):
    """No function of OpenMP's is called in the program itself: the linker alone decides whether there is a runtime."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    for name, openmp, threads in (("default", True, 3), ("default", False, 1), ("threads", True, 3), ("alone", True, 1)):
        program = str(tmp_path / name)
        command = [compiler, *flags.split(), *(["-fopenmp"] if openmp else []), str(wide / "main.c"), str(wide / f"{name}.o")]
        done = subprocess.run([*command, "-o", program], capture_output=True, text=True)
        if done.returncode and ("gomp" in done.stderr or "-lc" in done.stderr):
            pytest.skip("the C compiler has no OpenMP")
        assert done.returncode == 0, done.stderr
        done = subprocess.run([program], capture_output=True, text=True, env={"OMP_NUM_THREADS": "3", "OMP_DYNAMIC": "false"})
        assert done.stdout.split() == [str(threads), "1"], (name, openmp)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("library", ["wide.a", "wide.so"])
def test_libraries_run_on_threads_of_openmp(wide: Path, tmp_path: Path, library: str):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    for flags, threads in (["-fopenmp"], 3), ([], 1):
        program = str(tmp_path / "program")
        command = [compiler, *flags, str(wide / "main.c"), str(wide / library), f"-Wl,-rpath,{wide}", "-o", program]
        subprocess.run(command, check=True, capture_output=True)
        done = subprocess.run([program], capture_output=True, text=True, env={"OMP_NUM_THREADS": "3", "OMP_DYNAMIC": "false"})
        assert done.stdout.split() == [str(threads), "1"]


def test_required_threads_do_not_link_without_a_runtime(wide: Path, tmp_path: Path):
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler")
    command = [compiler, str(wide / "main.c"), str(wide / "threads.o"), "-o", str(tmp_path / "program")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "GOMP_parallel" in done.stderr


def test_one_file_cannot_be_the_object_and_the_header(wide: Path, capsys: pytest.CaptureFixture[str]):
    name, other = str(wide / "same.o"), str(wide / ".." / wide.name / "same.o")
    assert lamina_compile.main([str(wide / "wide.mlir"), "-o", name, "--header", other]) == 2
    assert "are the same file" in capsys.readouterr().err and not (wide / "same.o").exists()

"""lamina-compile: headers C takes whatever the IR calls things."""

from __future__ import annotations

import shutil
import subprocess
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
    assert "void scale_by_two(const float *double_ /* 4 */, const float *x_a /* 4 */, const bool *x_a_1 /* 4 */," in header
    (tmp_path / "main.c").write_text("""
#include <stdio.h>
#include "odd-names.h"
int main(void) {
  static _Alignas(64) unsigned char arena[scale_by_two_ARENA_BYTES + 64];
  float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, y[4];
  bool c[4] = {true, false, true, false};
  scale_by_two(a, b, c, y, arena);
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
    assert "void f_uint8(const uint8_t *x /* 2 */, uint8_t *result" in header
    sizes = [f'_Static_assert(sizeof({row.c}) == {row.dtype.itemsize}, "{row.name}");' for row in TABLE]
    (tmp_path / "main.c").write_text("\n".join(['#include "types.h"', *sizes]))
    subprocess.run([compiler, "-Wall", "-Werror", "-c", "main.c", "-o", "main.o"], check=True, cwd=tmp_path)


def test_names_that_c_cannot_reach_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "odd.mlir").write_text(ODD.replace("scale.by$two", "scale-by-two"))
    args = [str(tmp_path / "odd.mlir"), "-o", str(tmp_path / "odd.o"), "--header", str(tmp_path / "odd.h")]
    assert lamina_compile.main(args) == 1
    assert "@scale-by-two has a name no assembler takes from C" in capsys.readouterr().err
    assert not (tmp_path / "odd.h").exists()
    assert lamina_compile.main(args[:3]) == 0


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
  twice(x, y, arena);
  return y[0] == 2 && y[1] == 4 && y[2] == 6 ? 0 : 1;
}
""")
    program = str(tmp_path / "program")
    subprocess.run([compiler, str(tmp_path / "main.cpp"), str(tmp_path / "twice.o"), "-o", program, "-lm"], check=True)
    subprocess.run([program], check=True)


@pytest.mark.parametrize("fault", ["name", "folder"])
def test_a_header_that_fails_leaves_the_object_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str):
    name = '@"a b"' if fault == "name" else "@f"
    (tmp_path / "x.mlir").write_text(
        f"func.func {name}(%x: tensor<2xf32>) -> tensor<2xf32> {{\n  return %x : tensor<2xf32>\n}}\n"
    )
    (tmp_path / "x.o").write_bytes(b"old")
    header = tmp_path / ("x.h" if fault == "name" else "missing/x.h")
    assert lamina_compile.main([str(tmp_path / "x.mlir"), "-o", str(tmp_path / "x.o"), "--header", str(header)]) != 0
    assert capsys.readouterr().err
    assert (tmp_path / "x.o").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.mlir", "x.o"]

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

"""Functions of `?` sizes from text to C: a parameter for each free size, and checks of the arrays of other callers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lamina.runtime.shared_object import load

from .programs import built, compiled, output

TEXT = """
func.func private @step(%i: tensor<i64>, %w: tensor<?xf32>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.add %w, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func private @left(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func private @right(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  return %y : tensor<?xf32>
}
func.func @joined(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %z: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c = graph.concat %x, %y along 0 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = graph.add %c, %z : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
func.func @steps(%c: tensor<i1>, %w: tensor<?xf32>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %l = graph.for @step count 3 consts(%w) carry(%x) over() : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
  %y = graph.case %c [@left, @right](%w, %l) : (tensor<i1>, tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
  return %y : tensor<?xf32>
}
"""
PROGRAM = """
#include <stdio.h>
#include "sizes.h"
int main(void) {
  _Alignas(64) static char arena[4096];
  float x[2 * 3] = {1, 2, 3, 4, 5, 6}, y[1 * 3] = {7, 8, 9}, z[3 * 3] = {10, 20, 30, 40, 50, 60, 70, 80, 90}, s[3 * 3];
  bool yes = true, no = false;
  if (sizes_joined_arena_size(2, 3, 1) > 4096 || sizes_joined(x, y, z, s, 2, 3, 1, arena, 4096)) return 1;
  printf("%g %g %g\\n", s[0], s[5], s[8]);
  if (sizes_steps(&yes, x, y, s, 3, arena, 4096) || sizes_steps(&no, x, y, s + 3, 3, arena, 4096)) return 2;
  printf("%g %g %g %g\\n", s[0], s[2], s[3], s[5]);
  return sizes_joined(x, y, z, s, -1, 3, 1, arena, 4096) != SIZES_BAD_SIZE;
}
"""


def test_a_c_program_gives_the_free_sizes(tmp_path: Path):
    (tmp_path / "sizes.mlir").write_text(TEXT)
    made = compiled(tmp_path / "sizes.mlir", "sizes.o")
    assert output([built(tmp_path, PROGRAM, made)]) == "11 66 99\n10 18 1 3\n"


def test_arrays_whose_sizes_disagree_are_refused(tmp_path: Path):
    (tmp_path / "sizes.mlir").write_text(TEXT)
    functions = load(compiled(tmp_path / "sizes.mlir", "sizes.so"))
    x, y, z = (np.ones(shape, np.float32) for shape in ((2, 3), (1, 3), (3, 3)))
    np.testing.assert_array_equal(functions.joined(x, y, z), np.full((3, 3), 2, np.float32))
    np.testing.assert_array_equal(functions.steps(np.array(True), x[0], x[1]), np.full(3, 4, np.float32))
    for arrays in ((x, y[:, :2], z), (x, y, z[:2]), (x[:1], y, z)):
        with pytest.raises(ValueError, match=r"must be float32\[.*\] with N = "):
            functions.joined(*[np.ascontiguousarray(a) for a in arrays])
    with pytest.raises(ValueError, match=r"'x' must be float32\[N\] with N = 3, got \[2\]"):
        functions.steps(np.array(True), x[0], x[1, :2])

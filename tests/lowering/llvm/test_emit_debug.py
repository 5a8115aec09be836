"""Line tables: LLVM accepts them, they name the lines of the source, and change nothing else."""

from __future__ import annotations

import re

import lamina as lm
import llvmlite.binding as llvm
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.lowering.llvm.emit import emit_module
from lamina.lowering.target import target_of
from lamina.pipeline import compile_to, run_to

LAYER = """
func.func @main(%x: tensor<9x7xf32>, %w: tensor<7x5xf32>) -> tensor<9x5xf32> {
  %h = graph.dot %x, %w contract [1] with [0] : (tensor<9x7xf32>, tensor<7x5xf32>) -> tensor<9x5xf32>
  %e = graph.exp %h : tensor<9x5xf32>
  %s = graph.softmax %e over [1] : tensor<9x5xf32>
  return %s : tensor<9x5xf32>
}
"""


def llvmir(text: str, name: str) -> str:
    context = make_context()
    found = compile_to(parse_module(context, text, name), "llvmir", context, debug_info=True)
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("name", ["layer.mlir", "folder/layer.mlir", 'a "quoted" näme.mlir', "back\\slash"])
def test_names_of_files_and_lines_are_kept(name: str) -> None:
    text = llvmir(LAYER, name)
    llvm.parse_assembly(text).verify()
    assert {int(line) for line in re.findall(r"!DILocation\(line: (\d+)", text)} >= {3, 4, 5}
    assert text.count("!DIFile(") == 1


def test_the_ir_is_that_without_line_tables() -> None:
    context = make_context()
    module = parse_module(context, LAYER, "layer.mlir")
    run_to(module, "program", context)
    target = target_of(module)
    plain, located = (emit_module(module, target, debug_info=wanted) for wanted in (False, True))
    stripped = "\n".join(re.sub(r",? !dbg !\d+", "", line) for line in located.split("\n") if not re.match(r"!\d|!llvm", line))
    assert stripped.rstrip() == plain.rstrip()
    instructions = [line for line in located.split("\n") if line.startswith("  ")]
    assert all("!dbg" in line for line in instructions)


def test_parallel_loops_and_branches_have_lines() -> None:
    def f(x):
        return lm.fori_loop(0, 3, lambda i, y: lm.cond(y[0, 0] > i, lambda: y @ x, lambda: y.sort()), x)

    module = lm.jit(f).lower(np.ones((130, 130), np.float32)).module
    text = compile_to(module, "llvmir", debug_info=True)
    assert isinstance(text, str)
    llvm.parse_assembly(text).verify()
    assert '!DIFile(filename: "test_emit_debug.py"' in text
    assert "parallel" in text

"""Register tiles come from the data of a target: one schedule, another shape and other instructions on each."""

from __future__ import annotations

import re

import pytest
from lamina.codegen import targets
from lamina.codegen.compile import emit_asm
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.frontend.kernel.schedules import Schedule
from lamina.lowering.llvm.emit import emit_module

TEXT = """
loop.kernel @tile(%A: memref<{m}x?x{t}>, %B: memref<?x{n}x{t}>, %C: memref<{m}x{n}x{t}>, %K: index)
    shapes(%A[{m}, %K], %B[%K, {n}]) {{
  loop.for seq %i = 0 to {m} {{
    loop.for seq %j = 0 to {n} {{
      loop.for seq %k = 0 to %K {{
        %c = loop.load %C[%i, %j] : memref<{m}x{n}x{t}>
        %a = loop.load %A[%i, %k] : memref<{m}x?x{t}>
        %b = loop.load %B[%k, %j] : memref<?x{n}x{t}>
        %s = math.fma %a, %b, %c : {t}
        loop.store %s, %C[%i, %j] : memref<{m}x{n}x{t}>
      }}
    }}
  }}
}}
"""

CASES = [
    ("x86-64-v2", "f32", r"\bmulps\b.*%xmm"),
    ("x86-64-v2", "f64", r"\bmulpd\b.*%xmm"),
    ("x86-64-v3", "f32", r"\bvfmadd231ps\b.*%ymm"),
    ("x86-64-v3", "f64", r"\bvfmadd231pd\b.*%ymm"),
    ("x86-64-v4", "f32", r"\bvfmadd231ps\b.*%zmm"),
    ("x86-64-v4", "f64", r"\bvfmadd231pd\b.*%zmm"),
    ("aarch64", "f32", r"\bfmla\b\s+v\d+\.4s"),
    ("aarch64", "f64", r"\bfmla\b\s+v\d+\.2d"),
]


@pytest.mark.parametrize(("name", "element", "instruction"), CASES)
def test_the_tile_of_the_target_stays_in_its_registers(name: str, element: str, instruction: str) -> None:
    target = targets.get(name)
    rows, columns = target.tile_of(int(element[1:]))
    lanes = target.lanes(32 if element == "f32" else 64)
    s = Schedule(parse_module(make_context(), TEXT.format(m=rows, n=columns, t=element)))
    s.reorder(s["k", "i", "j"])
    i_in, j_in, i_out, j_out = s.accumulate("C", at=s["k"])
    for loop in (s["j"], j_in, j_out):
        s.unroll(s.vectorize(loop, lanes) if columns > lanes else loop)
    for loop in (s["i"], i_in, i_out):
        s.unroll(loop)
    asm = emit_asm(emit_module(s.module, target), target)
    vectors = rows * columns // lanes
    assert vectors + columns // lanes < target.vector_registers
    assert len(re.findall(instruction, asm)) == vectors
    # the loop over k is the block that jumps to its own label: it stores nothing
    loop = max(re.findall(r"^(\.?L\w+):\n(.*?)^\s+(?:j\w+|b\.\w+)\s+\1$", asm, re.S | re.M), key=lambda found: len(found[1]))[1]
    stores = [line for line in loop.splitlines() if re.search(r"^\s+(v?movup[sd]|st[rp])\b.*(,\s*\S*\(%\w+\)|^\s+st)", line)]
    assert not stores

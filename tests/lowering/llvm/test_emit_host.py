"""Host functions: views, constants, copies and launches, compiled and called by the ABI."""

from __future__ import annotations

import cProfile
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from lamina.errors import CompileError
from lamina.lowering.llvm.emit import emit_module
from lamina.lowering.plan_buffers import PlanBuffersPass

sys.path.insert(0, str(Path(__file__).parent.parent))
from emitting import DTYPES, TYPE, Compiled, context, elementwise, emit, parse

ADD = elementwise("%r = arith.addf %a, %b : R", ["f32", "f32"], "f32", 12).replace("@k", "@add")
ALLOC = '"memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> '


def planned(text: str) -> str:
    module = parse(text)
    PlanBuffersPass().apply(context(), module)
    module.verify()
    return str(module)


def test_launches_on_planned_memory():
    text = f"""
    {ADD}
    program.func @main(%x: memref<3x4xf32>) -> (%y: memref<12xf32>) {{
      %flat = "memref.collapse_shape"(%x) <{{reassociation = [[0 : i64, 1 : i64]]}}> : (memref<3x4xf32>) -> memref<12xf32>
      %a = {ALLOC} memref<12xf32>
      %b = {ALLOC} memref<2x6xf32>
      loop.launch @add(%flat, %flat, %a) : (memref<12xf32>, memref<12xf32>, memref<12xf32>)
      %c = memref.reinterpret_cast %b to offset: [0], sizes: [12], strides: [1] : memref<2x6xf32> to memref<12xf32>
      loop.launch @add(%flat, %a, %c) : (memref<12xf32>, memref<12xf32>, memref<12xf32>)
      %d = {ALLOC} memref<12xf32>
      "memref.copy"(%c, %d) : (memref<12xf32>, memref<12xf32>) -> ()
      loop.launch @add(%d, %a, %y) : (memref<12xf32>, memref<12xf32>, memref<12xf32>)
    }}"""
    with pytest.raises(CompileError, match=r"'memref.alloc' op of memref<12xf32> has no memory yet: run plan-buffers first"):
        emit(text)
    x, y, arena = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros(12, np.float32), np.zeros(3 * 64, np.uint8)
    compiled = Compiled(planned(text), "main")
    assert "define internal void @add(" in compiled.ir
    compiled(x, y, arena)
    np.testing.assert_array_equal(y, 5 * x.ravel())


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_are_bytes(dtype):
    """Any element type, quotes, backslashes and zeros in the data; an odd name."""
    values = np.array([0, 34, 92, 1, 255 % 128]).astype(dtype)
    shown = [str(v).lower() for v in values.tolist()]
    t = f"memref<5x{TYPE[dtype]}>"
    text = f"""
    "memref.global"() <{{sym_name = "odd \\"name", sym_visibility = "private", type = {t}, constant,
      initial_value = dense<[{", ".join(shown)}]> : tensor<5x{TYPE[dtype]}>}}> : () -> ()
    "memref.global"() <{{sym_name = "zeros", sym_visibility = "private", type = {t}, constant,
      initial_value = dense<{shown[0]}> : tensor<5x{TYPE[dtype]}>}}> : () -> ()
    program.func @main() -> (%y: {t}, %z: {t}) {{
      %g = memref.get_global @"odd \\"name" : {t}
      "memref.copy"(%g, %y) : ({t}, {t}) -> ()
      %h = memref.get_global @zeros : {t}
      "memref.copy"(%h, %z) : ({t}, {t}) -> ()
    }}"""
    y, z = np.ones(5, dtype), np.ones(5, dtype)
    compiled = Compiled(text, "main")
    assert "zeroinitializer" in compiled.ir
    compiled(y, z)
    np.testing.assert_array_equal(y, values)
    np.testing.assert_array_equal(z, np.zeros(5, dtype))


def test_launch_passes_sizes_and_scalars():
    text = """
    loop.kernel @k(%y: memref<?xf64>, %n: index, %s: f64) {
      loop.for parallel %i = 0 to %n {
        loop.store %s, %y[%i] : memref<?xf64>
      }
    }
    program.func @main(%y: memref<6xf64>) -> () {
      %n = arith.constant 4 : index
      %s = arith.constant 2.5 : f64
      %z = "memref.cast"(%y) : (memref<6xf64>) -> memref<?xf64>
      loop.launch @k(%z, %n, %s) : (memref<?xf64>, index, f64)
    }"""
    y = np.zeros(6)
    Compiled(text, "main")(y)
    assert y.tolist() == [2.5] * 4 + [0, 0]


def test_repeated_calls_share_the_arena():
    text = f"""
    {ADD}
    program.func @main(%x: memref<12xf32>) -> (%y: memref<12xf32>) {{
      %i = {ALLOC} memref<i64>
      %a = {ALLOC} memref<12xf32>
      "memref.copy"(%x, %y) : (memref<12xf32>, memref<12xf32>) -> ()
      loop.repeat @twice count 2 index(%i) consts() carry(%y) spare(%a) over() into()
        : (memref<i64>, memref<12xf32>, memref<12xf32>)
    }}
    program.func private @twice(%i: memref<i64>, %x: memref<12xf32>) -> (%y: memref<12xf32>) {{
      %a = {ALLOC} memref<12xf32>
      "memref.copy"(%x, %a) : (memref<12xf32>, memref<12xf32>) -> ()
      loop.launch @add(%x, %a, %y) : (memref<12xf32>, memref<12xf32>, memref<12xf32>)
    }}"""
    x, y, arena = np.arange(12, dtype=np.float32), np.zeros(12, np.float32), np.zeros(192, np.uint8)
    Compiled(planned(text), "main")(x, y, arena)
    np.testing.assert_array_equal(y, 4 * x)


def test_scratch_of_a_kernel_lives_in_the_arena():
    """Two launches of a kernel use the same scratch memory; buffers that are in use lie elsewhere."""
    text = f"""
    loop.kernel @turn(%x: memref<200x100xf32>, %y: memref<200x100xf32>) {{
      %t = loop.alloc scratch : memref<200x100xf32>
      loop.for seq %i = 0 to 200 {{
        loop.for seq %j = 0 to 100 {{
          %a = loop.load %x[%i, %j] : memref<200x100xf32>
          loop.store %a, %t[199 - %i, %j] : memref<200x100xf32>
        }}
      }}
      loop.for seq %i = 0 to 200 {{
        loop.for seq %j = 0 to 100 {{
          %a = loop.load %t[%i, 99 - %j] : memref<200x100xf32>
          loop.store %a, %y[%i, %j] : memref<200x100xf32>
        }}
      }}
    }}
    program.func @main(%x: memref<200x100xf32>) -> (%y: memref<200x100xf32>) {{
      %a = {ALLOC} memref<200x100xf32>
      loop.launch @turn(%x, %a) : (memref<200x100xf32>, memref<200x100xf32>)
      %b = {ALLOC} memref<200x100xf32>
      loop.launch @turn(%a, %b) : (memref<200x100xf32>, memref<200x100xf32>)
      loop.launch @turn(%b, %y) : (memref<200x100xf32>, memref<200x100xf32>)
    }}"""
    ready = planned(text)
    assert "arena(%arena: memref<240000xi8>)" in ready  # 3 * 200 * 100 * 4
    x, y, arena = np.random.rand(200, 100).astype(np.float32), np.zeros((200, 100), np.float32), np.zeros(240000, np.uint8)
    Compiled(ready, "main")(x, y, arena)
    np.testing.assert_array_equal(y, x[::-1, ::-1])
    with pytest.raises(CompileError, match="gives no scratch memory to @turn: run plan-buffers first"):
        emit(re.sub(r" scratch \d+", "", ready))
    for byte in (240000, 160064, 32):
        with pytest.raises(CompileError, match=f"80000 bytes of scratch memory at byte {byte}: not aligned, or not in"):
            emit(re.sub(r" scratch \d+", f" scratch {byte}", ready))
    assert "@malloc" in emit(text[: text.index("program.func")])  # a kernel that nobody launches takes it by itself


BAD = [
    ("loop.launch @nothing() : ()", r"'loop.launch' op names @nothing, which is no loop.kernel of this module"),
    ("loop.launch @add(%x) : (memref<12xf32>)", r"'loop.launch' op passes \(memref<12xf32>\) to @add, which takes"),
    ("%g = memref.get_global @add : memref<12xf32>", "'memref.get_global' op names @add, which is no memref.global"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_unknown_names_are_refused(line, message):
    with pytest.raises(CompileError, match=message):
        emit(f"{ADD}\nprogram.func @main(%x: memref<12xf32>) -> () {{\n{line}\n}}", verify=False)


def test_emission_is_linear():
    """Twice the ops, twice the work, counted in Python calls."""
    from lamina.codegen.targets import host

    counts = []
    for n in (500, 1000):
        body = "\n".join(f"%v{k} = arith.addf {f'%v{k - 1}' if k else '%a'}, %b : R" for k in range(n))
        module = parse(elementwise(body + f"\n%r = arith.negf %v{n - 1} : R", ["f32", "f32"], "f32", 64, 8), verify=False)
        profile = cProfile.Profile()
        profile.runcall(emit_module, module, host())
        counts.append(sum(row.callcount for row in profile.getstats()))
    assert counts[1] < 2.2 * counts[0], counts

"""Offsets from lifetimes, results in place, and the output of the pass."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.dialects.program import FuncOp
from lamina.errors import CompileError
from lamina.lowering.plan_buffers import (
    ALIGNMENT,
    Lifetime,
    PlanBuffersPass,
    _place_early_first,
    _place_large_first,
    aligned,
    plan_offsets,
)

sys.path.insert(0, str(Path(__file__).parent))
from emitting import Compiled, context, parse

ALLOC = '"memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> '
LIFETIMES = st.tuples(st.integers(0, 1000), st.integers(0, 30), st.integers(0, 8)).map(
    lambda drawn: Lifetime(drawn[0], drawn[1], drawn[1] + drawn[2])
)


def _meet(one: Lifetime, other: Lifetime) -> bool:
    """Whether some op needs both."""
    return one.first <= other.last and other.first <= one.last


@given(st.lists(LIFETIMES, max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_two_live_buffers_overlap(lifetimes):
    plan = plan_offsets(lifetimes)
    spans = [(offset, offset + life.size_bytes) for offset, life in zip(plan.offsets, lifetimes, strict=True)]
    for k, a in enumerate(lifetimes):
        assert spans[k][0] % ALIGNMENT == 0 and spans[k][1] <= plan.arena_bytes
        for j in range(k):
            if _meet(a, lifetimes[j]) and a.size_bytes and lifetimes[j].size_bytes:
                assert spans[k][1] <= spans[j][0] or spans[j][1] <= spans[k][0]
    assert plan.peak_bytes <= plan.arena_bytes <= sum(aligned(life.size_bytes) for life in lifetimes)
    assert plan == plan_offsets(list(lifetimes))


@given(
    st.lists(st.sampled_from([Lifetime(64 << a, b, b + 2 * c) for a in (0, 1) for b in (0, 1, 3) for c in (0, 1)]), max_size=40)
)
@settings(max_examples=200, deadline=None)
def test_buffers_go_where_they_would_go_one_by_one(lifetimes):
    """Both orders beside a search of all that was placed before; what is placed in groups, too."""
    numbers = range(len(lifetimes))
    large = sorted(numbers, key=lambda k: (-lifetimes[k].size_bytes, lifetimes[k].first, k))
    early = sorted(numbers, key=lambda k: (lifetimes[k].first, -lifetimes[k].size_bytes, k))
    assert _place_large_first(lifetimes)[0] == _one_by_one(lifetimes, large)
    assert _place_early_first(lifetimes)[0] == _one_by_one(lifetimes, early)


def _one_by_one(lifetimes, order):
    offsets: dict[int, int] = {}
    for k in order:
        life = lifetimes[k]
        taken = sorted((offsets[j], offsets[j] + lifetimes[j].size_bytes) for j in offsets if _meet(life, lifetimes[j]))
        gaps, end = [], 0
        for start, stop in taken:
            gaps.append((start - end, end))
            end = max(end, stop)
        offsets[k] = min((gap for gap in gaps if gap[0] >= life.size_bytes), default=(0, end))[1]
    return [offsets[k] for k in range(len(lifetimes))]


def test_many_buffers_are_placed_with_little_waste():
    random = np.random.default_rng(7)
    lifetimes = [Lifetime(int(random.choice([256, 4096, 65536])), k // 8, 600 - k // 8) for k in range(900)]
    plan = plan_offsets(lifetimes)
    assert plan.peak_bytes <= plan.arena_bytes <= plan.peak_bytes + plan.peak_bytes // 8


def test_very_many_buffers_of_a_training_step_are_placed_with_little_waste():
    """What a forward pass keeps for the backward pass, and what each step of that needs, in steps that grow as n log n."""
    random, n = np.random.default_rng(7), 40_000
    sizes = (64 * random.integers(1, 1000, n)).tolist()
    lifetimes = [Lifetime(size, k, 2 * n - k) if k % 2 else Lifetime(size, n + k, n + k + 2) for k, size in enumerate(sizes)]
    plan = plan_offsets(lifetimes)
    assert plan.arena_bytes <= plan.peak_bytes + plan.peak_bytes // 64


def test_a_chain_needs_two_places():
    """Each buffer meets only its neighbours."""
    plan = plan_offsets([Lifetime(64, k, k + 1) for k in range(20)])
    assert plan.arena_bytes == plan.peak_bytes == 128


@st.composite
def programs(draw):
    """Host functions of copies, additions and in-place negations on buffers and views of them."""
    lines, buffers, size = [], ["%x"], 40
    for k in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(["copy", "add", "neg", "neg", "view"]))
        a, b = draw(st.sampled_from(buffers)), draw(st.sampled_from(buffers))
        if kind == "view":
            lines.append(
                f"%b{k} = memref.reinterpret_cast {a} to offset: [0], sizes: [{size}], strides: [1] : T to memref<{size}xf32>"
            )
        else:
            lines.append(f"%b{k} = {ALLOC} T")
            operands = {"copy": f"{a}", "neg": f"{a}", "add": f"{a}, {b}"}[kind]
            if kind == "copy":
                lines.append(f'"memref.copy"({a}, %b{k}) : (T, T) -> ()')
            else:
                types = ", ".join(["T"] * (operands.count("%") + 1))
                lines.append(f"loop.launch @{kind}({operands}, %b{k}) : ({types})")
        buffers.append(f"%b{k}")
    total = buffers[draw(st.integers(0, len(buffers) - 1))]
    lines.append(f"loop.launch @add({total}, {buffers[-1]}, %y) : (T, T, T)")
    return "\n".join(lines).replace("T", f"memref<{size}xf32>"), [line for line in lines]


KERNELS = """
loop.kernel @neg(%p: memref<40xf32>, %q: memref<40xf32>) in_place(%q over %p) {
  loop.for parallel %i = 0 to 40 step 8 {
    %a = loop.load %p[%i] : memref<40xf32>, vector<8xf32>
    %b = arith.negf %a : vector<8xf32>
    loop.store %b, %q[%i] : memref<40xf32>, vector<8xf32>
  }
}
loop.kernel @add(%p: memref<40xf32>, %q: memref<40xf32>, %r: memref<40xf32>) in_place(%r over %p, %r over %q) {
  loop.for parallel %i = 0 to 40 {
    %a = loop.load %p[%i] : memref<40xf32>
    %b = loop.load %q[%i] : memref<40xf32>
    %s = arith.addf %a, %b : f32
    %one = arith.constant 1.0 : f32
    %t = arith.addf %s, %one : f32
    loop.store %t, %r[%i] : memref<40xf32>
  }
}
"""


def interpret(lines: list[str], x: np.ndarray) -> np.ndarray:
    import re

    values = {"%x": x}
    for line in lines:
        names = re.findall(r"%\w+", line)
        if "reinterpret_cast" in line:
            values[names[0]] = values[names[1]]
        elif "copy" in line:
            values[names[1]] = values[names[0]].copy()
        elif "@neg" in line:
            values[names[1]] = -values[names[0]]
        elif "@add" in line:
            values[names[2]] = values[names[0]] + values[names[1]] + 1
    return values["%y"]


@pytest.mark.thorough
@given(programs())
@settings(max_examples=25, deadline=None)
def test_planned_programs_compute_the_same(program):
    """Memory is shared and taken over, and no value is lost."""
    text, lines = program
    header = "program.func @main(%x: memref<40xf32>) -> (%y: memref<40xf32>) {"
    module = parse(f"{KERNELS}\n{header}\n{text}\n}}")
    PlanBuffersPass().apply(context(), module)
    module.verify()
    (bytes_,) = (op.arena_bytes for op in module.body.block.ops if isinstance(op, FuncOp))
    x, y, arena = np.arange(40, dtype=np.float32), np.zeros(40, np.float32), np.full(bytes_ + 64, 7, np.uint8)
    Compiled(str(module), "main")(x, y, arena)
    np.testing.assert_array_equal(y, interpret(lines, x))
    np.testing.assert_array_equal(x, np.arange(40))
    assert (arena[bytes_:] == 7).all()


def test_sizes_that_are_no_arguments_are_refused():
    module = parse(
        f"""program.func @main() -> (%y: memref<4xf32>) {{
      %n = arith.constant 4 : index
      %a = "memref.alloc"(%n) <{{operandSegmentSizes = array<i32: 1, 0>}}> : (index) -> memref<?xf32>
      %b = {ALLOC} memref<4xf32>
      "memref.copy"(%a, %a) : (memref<?xf32>, memref<?xf32>) -> ()
    }}"""
    )
    message = r"test.mlir:3:\d+: 'memref.alloc' op of memref<\?xf32> needs sizes that are arguments of @main"
    with pytest.raises(CompileError, match=message):
        PlanBuffersPass().apply(context(), module)


def test_running_twice_changes_nothing():
    header = "program.func @main(%x: memref<40xf32>) -> (%y: memref<40xf32>) {"
    body = f"%a = {ALLOC} memref<40xf32>\nloop.launch @neg(%x, %a) : (memref<40xf32>, memref<40xf32>)"
    module = parse(f"{KERNELS}\n{header}\n{body}\n}}")
    PlanBuffersPass().apply(context(), module)
    once = str(module)
    assert "in_place" not in once
    PlanBuffersPass().apply(context(), module)
    assert str(module) == once

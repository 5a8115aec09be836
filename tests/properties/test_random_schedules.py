"""Random kernels under random schedules: each step is legal and changes nothing, or is refused.

Kernels and steps are drawn from seeds (strategies.py). What is scheduled runs as machine code, on one thread and several,
and with the iterations of parallel loops one by one in reverse; on small sizes it is interpreted too. All results are those of
the kernel without a schedule, bit for bit; of floating-point sums whose order a step changes, up to rounding.

LAMINA_TEST_EXAMPLES says how many pairs of a kernel and a schedule there are, LAMINA_TEST_SEED from which seed on.
"""

from __future__ import annotations

import math
import os
import random
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lamina import passes
from lamina.codegen.executable import load_executable, object_for
from lamina.codegen.targets.host import host
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.loop import grain
from lamina.dialects.loop.loops import ForOp
from lamina.dialects.parsing import parse_module
from lamina.errors import ScheduleError
from lamina.executor import executor, kernels
from lamina.frontend.kernel.schedules import Schedule, primitives
from lamina.lowering.analysis.bounds import constant_extent
from lamina.lowering.analysis.dependence import Conflict
from lamina.lowering.default_threads import place_loops
from lamina.lowering.llvm.emit import emit_module
from lamina.lowering.schedule.base import Primitive
from lamina.lowering.schedule.pad import Pad
from lamina.lowering.target import set_target, target_of
from lamina.runtime.callable import KernelFunction
from lamina.runtime.interpreter import Interpreter
from lamina.runtime.module_signatures import kernel_signature_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

sys.path.insert(0, str(Path(__file__).parent))
import strategies
from strategies import MARGIN, Drawn, draw_kernel, draw_step, product_steps, reassociates

CONTEXT = make_context()
EXAMPLES = int(os.environ.get("LAMINA_TEST_EXAMPLES", "208"))
FIRST_SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
GROUPS = 16
"""Pairs are spread over so many test cases."""
BY_KERNEL = 3
"""Schedules for each kernel."""
MOST_STEPS = 8
MOST_OPS = 160
MOST_EMITTED = 1200
"""Ops, each copy in an unrolled loop counted: code that compiles soon enough."""
BACKWARDS = 999
"""As a number of threads: the iterations of parallel loops one by one, the last one first."""

# Parallel loops call this instead of the runtime, which leaves a loop of little work to the calling thread. Of the many regions
# of a parallel loop in others, each of which costs microseconds, some go to threads.
FORCED = f"""
@test.regions = internal global i64 0
define internal void @test.parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {{
  %odd = icmp eq i64 %threads, {BACKWARDS}
  br i1 %odd, label %head, label %usual
usual:
  %region = atomicrmw add ptr @test.regions, i64 1 monotonic
  %few = icmp ult i64 %region, 100
  %some = urem i64 %region, 97
  %now = icmp eq i64 %some, 0
  %force = or i1 %few, %now
  %large = select i1 %force, i64 1000000000, i64 %work
  call void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %large, i64 %threads)
  ret void
head:
  %n = phi i64 [ %count, %0 ], [ %k, %one ]
  %on = icmp sgt i64 %n, 0
  br i1 %on, label %one, label %out
one:
  %k = sub i64 %n, 1
  call void %body(ptr %data, i64 %k, i64 %n)
  br label %head
out:
  ret void
}}
"""


@dataclass
class Case:
    """A kernel, what it computes without a schedule at some sizes, and what the interpreter says at the small ones of them."""

    drawn: Drawn
    module: ModuleOp
    sizes: list[dict[str, int]]
    results: list[list[np.ndarray]] = field(default_factory=list)
    meant: list[list[np.ndarray] | None] = field(default_factory=list)


def parsed(text: str) -> ModuleOp:
    module = parse_module(CONTEXT, text, "kernel.mlir")
    verify_module(module)
    return module


def compiled(module: ModuleOp) -> Any:
    """The kernel as a function of this machine whose parallel loops always use threads."""
    module = module.clone()
    set_target(module, host())
    kernel = kernels.find_kernel(module)
    if "loop.for parallel" not in str(module):
        return KernelFunction(executor.kernel(module))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"WORTH_OPS": 0, "LEAST_CHUNK_OPS": 0, "MOST_AGAIN": math.inf}.items():
            patch.setattr(grain, name, value)
        set_target(module, replace(host(), wake_ops=0))
        place_loops(module)
        text = emit_module(module, target_of(module), callable_kernels=True)
    if "@lamina_parallel" in text:
        text = re.sub(r"call void @lamina_parallel\(", "call void @test.parallel(", text) + FORCED
    signature = kernel_signature_of(kernel)
    return KernelFunction(load_executable(signature, object_for(signature, text)))


def ran(case: Case, function: Any, sizes: Mapping[str, int], threads: int = 1) -> list[np.ndarray]:
    """The arrays after a call of machine code; nothing is written around them."""
    arguments, memory = case.drawn.arguments(kernels.find_kernel(case.module), sizes, seed=1)
    function(*arguments, threads=threads)
    for whole in memory:
        assert (whole[:MARGIN] == 77).all() and (whole[len(whole) - MARGIN :] == 77).all(), "wrote outside of an array"
    return [a for a in arguments if isinstance(a, np.ndarray)]


def interpreted(case: Case, module: ModuleOp, sizes: Mapping[str, int]) -> list[np.ndarray]:
    kernel = kernels.find_kernel(case.module)
    arguments, _ = case.drawn.arguments(kernel, sizes, seed=1)
    given = [*arguments, *(sizes[a.name_hint or ""] for a in kernel.index_arguments)]
    with np.errstate(all="ignore"):
        Interpreter(module, limit=200_000).launch(kernel.sym_name.data, given)
    return [a for a in arguments if isinstance(a, np.ndarray)]


def compare(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], close: bool, what: str) -> None:
    """Bits are equal but for the kind of NaN; or elements are close, seen from the greatest one."""
    for k, (x, y) in enumerate(zip(found, wanted, strict=True)):
        if x.dtype.kind == "f" and close:
            if not np.isfinite(y).all() or (y.size and np.abs(y).max() > 1e15):
                continue
            scale = max(1.0, float(np.abs(y).max())) if y.size else 1.0
            np.testing.assert_allclose(
                x, y, rtol=1e-3, atol=scale * (2e-4 if x.dtype == np.float32 else 1e-9), err_msg=f"array {k}, {what}"
            )
            continue
        same = x.view(f"u{x.itemsize}") == y.view(f"u{y.itemsize}") if x.dtype.kind == "f" else x == y
        if x.dtype.kind == "f":
            same |= np.isnan(x) & np.isnan(y)
        if not same.all():
            where = tuple(map(int, np.argwhere(~same)[0])) if x.ndim else ()
            raise AssertionError(f"array {k}, {what}: {int((~same).sum())} differ, at {where} {x[where]!r} is not {y[where]!r}")


def case_of(drawn: Drawn, rng: random.Random) -> Case:
    """A kernel with random sizes, run without a schedule."""
    some = rng.randint(5, 40)
    given = [(0, rng.randint(0, 5)), (1, rng.randint(0, 3)), (rng.randint(2, 40), rng.randint(0, 40)), (some, some)]
    small = [(rng.randint(0, 2), 3), (rng.randint(3, 5), rng.randint(2, 4))]
    try:
        case = Case(drawn, parsed(drawn.text), [drawn.sizes(rng, {"N": n, "M": m}) for n, m in given + small])
        function = compiled(case.module)
        for k, sizes in enumerate(case.sizes):
            case.results.append(ran(case, function, sizes))
            case.meant.append(interpreted(case, case.module, sizes) if k >= len(given) else None)
            if (meant := case.meant[-1]) is not None:
                compare(meant, case.results[-1], True, f"interpreted at {sizes}")
    except Exception as error:
        pytest.fail(f"the kernel itself: {type(error).__name__}: {error}\n{drawn.text}", pytrace=True)
    return case


def check(case: Case, scheduled: ModuleOp, close: bool) -> None:
    """Scheduled or not, it computes the same."""
    function = compiled(scheduled)
    parallel = "loop.for parallel" in str(scheduled)
    for sizes, wanted, meant in zip(case.sizes, case.results, case.meant, strict=True):
        first, what = ran(case, function, sizes), f"at {sizes}"
        compare(first, wanted, close, what)
        for threads in (2, 7, BACKWARDS) if parallel else ():
            compare(ran(case, function, sizes, threads), first, False, f"{what}, {threads} threads")
        if meant is not None:
            compare(interpreted(case, scheduled, sizes), meant, close, f"{what}, interpreted")


def replay(case: Case, steps: str) -> ModuleOp:
    """The parsed text after the steps as text."""
    module = case.module.clone()
    passes.run_passes(module, CONTEXT, steps)
    return module


def letters(text: str) -> str:
    """What stays when the terms of a subscript are written in another order."""
    return "".join(sorted(re.sub(r"[-+ ]", "", text)))


def explained(case: Case, steps: Sequence[Primitive], error: BaseException) -> str:
    seed = f"LAMINA_TEST_SEED={FIRST_SEED}"
    return f"{seed}: {type(error).__name__}: {error}\n\n{case.drawn.text}\n{','.join(step.as_text() for step in steps)}"


def check_refusal(case: Case, schedule: Schedule, step: Primitive, error: ScheduleError) -> None:
    """A refusal says why; the iterations it names do meet."""
    try:
        assert str(error).strip()
        if isinstance(error.witness, Conflict):
            added = {step.loop: step.size} if isinstance(step, Pad) else None
            strategies.replay(error.witness, step.name in strategies.ORDERED, added)
    except Exception as wrong:
        pytest.fail(f"{explained(case, [*schedule.steps, step], wrong)}\n{error}", pytrace=False)


def schedule_once(case: Case, rng: random.Random) -> tuple[Schedule, bool, dict[str, int]]:
    """A schedule of some legal steps, whether it reorders sums, and what happened to each verb."""
    schedule, close = Schedule(case.module), False
    recent: list[str] = []
    counts: dict[str, int] = {}
    wanted = rng.choice((1, 2, 3, 3, 4, 5, MOST_STEPS))
    often = rng.sample(sorted(primitives()), rng.choice((0, 3)))
    planned = list(product_steps(rng)) if case.drawn.is_product and rng.random() < 0.7 else []
    wanted = max(wanted, len(planned) + 1 if planned else 0)
    for _ in range(5 * wanted):
        if planned:
            verb, given = planned.pop(0)
            step = primitives()[verb](**given)
        else:
            step = draw_step(rng, schedule, recent, often)
        reorders = reassociates(schedule, step)
        before = str(schedule.module) if rng.random() < 0.2 else None
        try:
            made = schedule.take(step)
        except ScheduleError as error:
            assert before is None or str(schedule.module) == before, f"{step.as_text()} was refused and changed the kernel"
            check_refusal(case, schedule, step, error)
            counts[f"{step.name} refused"] = counts.get(f"{step.name} refused", 0) + 1
            continue
        except Exception as error:
            pytest.fail(explained(case, [*schedule.steps, step], error), pytrace=True)
        counts[step.name] = counts.get(step.name, 0) + 1
        close = close or reorders
        recent = [loop.name for loop in (made if isinstance(made, tuple) else (made,))]
        if len(schedule.steps) >= wanted or sum(1 for _ in schedule.module.walk()) > MOST_OPS:
            break
    return schedule, close and case.drawn.type[0] == "f", counts


def emitted(op: Operation) -> int:
    """How many ops there are when unrolled loops are copied."""
    inside = sum(emitted(inner) for region in op.regions for block in region.blocks for inner in block.ops)
    return 1 + inside * ((constant_extent(op) or 1) if isinstance(op, ForOp) and op.kind.data == "unroll" else 1)


def pairs(seed: int, count: int) -> dict[str, int]:
    """Check some pairs; how often each verb was legal or refused."""
    rng = random.Random(seed)
    total: dict[str, int] = {"pairs": 0}
    while total["pairs"] < count:
        case = case_of(draw_kernel(rng), rng)
        for _ in range(min(BY_KERNEL, count - total["pairs"])):
            schedule, close, counts = schedule_once(case, rng)
            for name, n in counts.items():
                total[name] = total.get(name, 0) + n
            if not schedule.steps or emitted(kernels.find_kernel(schedule.module)) > MOST_EMITTED:
                continue
            try:
                verify_module(schedule.module)
                check(case, schedule.module, close)
                text = str(schedule.module)
                assert str(replay(case, str(schedule))) == text, "the steps as text lead elsewhere"
                again = str(parse_module(CONTEXT, text, "printed.mlir"))
                assert letters(again) == letters(text), "it reads back as another"
            except Exception as error:
                pytest.fail(explained(case, schedule.steps, error), pytrace=False)
            total["pairs"] += 1
    return total


FOUND = {
    "strips of a loop that is shorter than one": (
        Drawn(
            """loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %N: index, %M: index)
    shapes(%x[%N + 4], %y[%N + 4], %z[%M + 4]) {
  loop.for seq %i = 0 to 4 {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.store %a, %y[%i] : memref<?xf32>
  }
  loop.for seq %j = 0 to 4 {
    %b = loop.load %y[%j] : memref<?xf32>
    loop.store %b, %z[%j] : memref<?xf32>
  }
}""",
            "f32",
        ),
        "loop-interleave{first=i second=j size=8 halo=1}",
    ),
    "a tile where the loop never runs": (
        Drawn(
            """loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %N: index, %M: index) shapes(%x[%N + 3], %y[%M + 3]) {
  loop.for seq %i = 5 to 2 {
    loop.for seq %j = 0 to %M - 1 {
      %a = loop.load %x[%i] : memref<?xf32>
      loop.store %a, %y[%j] : memref<?xf32>
    }
  }
}""",
            "f32",
        ),
        "loop-accumulate{buffer=y at=i}",
    ),
    "a copy where a loop never runs": (
        Drawn(
            """loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %N: index, %M: index) shapes(%x[%M + 3], %y[%N + 3]) {
  loop.for seq %b = 0 to %N {
    loop.for seq %i = 5 to 2 {
      loop.for seq %j = 0 to %M - 1 {
        %a = loop.load %x[%j] : memref<?xf32>
        loop.store %a, %y[%b] : memref<?xf32>
      }
    }
  }
}""",
            "f32",
        ),
        "loop-stage{buffer=x at=b order=j}",
    ),
    "a zero after the loop that is padded": (
        Drawn(
            """loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %N: index, %M: index) shapes(%x[%N], %y[%M + 1]) {
  loop.for seq %b = 0 to %N step 4 {
    loop.for seq %i = 0 to min(4, %N - %b) {
      %a = loop.load %x[%b + %i] : memref<?xf32>
      loop.store %a, %y[%M] : memref<?xf32>
    }
  }
  %zero = arith.constant 0.0 : f32
  loop.store %zero, %y[0] : memref<?xf32>
}""",
            "f32",
        ),
        "loop-stage{buffer=x at=b order=i pad=i}",
    ),
    "rows of a local buffer of a size that is computed": (
        Drawn(
            """loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %N: index, %M: index) shapes(%x[%N], %y[%M + 1]) {
  %t = loop.alloc scratch(%N) : memref<?xf32>
  loop.for parallel %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.store %a, %t[%i] : memref<?xf32>
  }
  loop.for seq %j = 0 to %N {
    %b = loop.load %t[%j] : memref<?xf32>
    loop.store %b, %y[0] : memref<?xf32>
  }
}""",
            "f32",
        ),
        "loop-set-layout{buffer=t order=0 pad=3},loop-vectorize{loop=i lanes=4}",
    ),
    "a producer with positions": (
        Drawn(
            """loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %p: memref<?xi64>, %N: index, %M: index)
    shapes(%x[%M + 1], %y[%N], %p[%N]) {
  %t = loop.alloc scratch(%N) : memref<?xf32>
  loop.for seq %i = 0 to %N {
    %q = loop.load %p[%i] : memref<?xi64>
    %at = arith.index_cast %q : i64 to index
    %a = loop.load %x[%at] : memref<?xf32>
    loop.store %a, %t[%i] : memref<?xf32>
  }
  loop.for seq %j = 0 to %N {
    %b = loop.load %t[%j] : memref<?xf32>
    loop.store %b, %y[%j] : memref<?xf32>
  }
}""",
            "f32",
            positions={"p": {"M": 1, "": 1}},
        ),
        "loop-inline{buffer=t}",
    ),
}
"""What random schedules found once: kernels, and the steps that went wrong; where a loop never runs, they are refused."""


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found_once(what: str) -> None:
    drawn, steps = FOUND[what]
    case = case_of(drawn, random.Random(0))
    if "never runs" in what:
        with pytest.raises(ScheduleError, match="has no constant upper bound on its extent"):
            replay(case, steps)
        return
    scheduled = replay(case, steps)
    verify_module(scheduled)
    check(case, scheduled, close=False)
    assert str(Schedule(case.module)) == "" and steps == ",".join(step.as_text() for step in passes.parse_passes(steps))


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_schedules_change_nothing(group: int) -> None:
    count = -(-EXAMPLES // GROUPS)
    found = pairs(FIRST_SEED * GROUPS + group, count)
    assert found["pairs"] == count
    known = {cls.name for cls in primitives().values()}
    assert sum(found.get(name, 0) for name in known) >= count

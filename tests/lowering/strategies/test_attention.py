"""The plain loops of attention, scheduled: any sizes, on any target, give the op's results."""

from __future__ import annotations

import os
import random
import re

import lamina as lm
import numpy as np
import pytest
from lamina.codegen.targets import get
from lamina.codegen.targets.host import why_not_here
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.executor import executor, kernels
from lamina.lowering.schedule.auto import schedule_module
from lamina.passes import replay
from ops_table import SUM, Row, check, inputs, make_module, op_of

SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
EXAMPLES = int(os.environ.get("LAMINA_TEST_EXAMPLES", "320")) // 8
GROUPS = 4
TARGETS = [text for text in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "host{l1=1K l2=4K}") if why_not_here(get(text)) is None]


def draw(rng: random.Random) -> Row:
    """Attention over some queries and keys, with heads that share keys, masks and biases, or none."""
    groups, each = rng.choice(((1, 1), (2, 1), (1, 3), (2, 2)))
    queries, keys = (rng.choice((1, 3, 8, 17, 64, 65, 100, 130, 150)) for _ in "qk")
    dim, dim_v = (rng.choice((1, 4, 5, 16, 33)) for _ in "qv")
    element = rng.choice(("f32", "f32", "f64"))
    shapes = [(groups * each, queries, dim), (groups, keys, dim), (groups, keys, dim_v)]
    operands = ["x".join(map(str, (*shape, element))) for shape in shapes]
    if rng.random() < 0.5:
        bias = [rng.choice((1, n)) for n in (groups * each, queries, keys)]
        operands.append("x".join(map(str, (*bias, rng.choice((element, "i1"))))))
    props = {"mask": rng.choice(("none", "causal")), "scale": 0.5}
    return Row(
        "attention", tuple(operands), props, ulp=8 * SUM, scale=lambda q, k, v, *_: np.abs(v).max(initial=1), zeros=False
    )


@pytest.mark.thorough
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_attention(group: int) -> None:
    for seed in range(SEED + group, SEED + EXAMPLES, GROUPS):
        rng = random.Random(seed)
        row, target = draw(rng), rng.choice(TARGETS)
        args = inputs(row, np.random.default_rng(seed), "normal")
        got = executor.program(make_module(row), target=get(target)).run(args)
        try:
            check(got, op_of(row).evaluate(*args)[0], row, args)
        except AssertionError as error:
            pytest.fail(f"LAMINA_TEST_SEED={seed}, {target}: {row}: {error}")


EDITS = {"lanes=": "lanes=2", "factor=": "factor=2", "loop-split": "size=16"}


@pytest.mark.thorough
@pytest.mark.parametrize("queries", [128, 150])
def test_the_schedule_is_edited_and_replayed(queries: int) -> None:
    """The default schedule as text, and with each number replaced by another, gives the same results."""
    args = [np.random.default_rng(k).standard_normal((3, queries, 16)).astype(np.float32) for k in range(3)]
    function = lm.jit(lambda q, k, v: lm.nn.attention(q, k, v, causal=True))
    text = function.lower(*args).as_text("loop", "x86-64-v2")
    steps: list[str] = []
    schedule_module(parse_module(make_context(), text), lambda kernel, taken: steps.append(taken.step.as_text()))
    assert any(step.startswith("loop-hoist") for step in steps)
    want = np.asarray(function(*args))
    edits = [(k, new) for k, step in enumerate(steps) for word, new in EDITS.items() if word in step]
    for k, new in [(None, ""), *(edit for edit in edits if queries % 64 == 0 or "size" not in edit[1])]:
        module = parse_module(make_context(), text)
        edited = [re.sub(r"(lanes|factor|size)=\d+", new, step) if n == k else step for n, step in enumerate(steps)]
        replay(kernels.find_kernel(module), ",".join(edited))
        np.testing.assert_allclose(executor.program(module).run(args), want, rtol=1e-5, atol=1e-5)

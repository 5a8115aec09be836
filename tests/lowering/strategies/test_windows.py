"""The plain loops of sliding windows, scheduled: any windows, on any target, give the op's results."""

from __future__ import annotations

import os
import random
import re
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.codegen.targets import get
from lamina.codegen.targets.host import why_not_here
from lamina.dialects.context import make_context
from lamina.dialects.graph.convolution import placed
from lamina.dialects.parsing import parse_module
from lamina.executor import executor, kernels
from lamina.lowering.schedule.auto import schedule_module
from lamina.passes import replay
from ops_table import SUM, Row, check, inputs, make_module, op_of

SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
EXAMPLES = int(os.environ.get("LAMINA_TEST_EXAMPLES", "320")) // 4
GROUPS = 8
TARGETS = [text for text in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "host{l1=1K l2=4K}") if why_not_here(get(text)) is None]


def text_of(shape: tuple[int, ...], element: str) -> str:
    return "".join(f"{n}x" for n in shape) + element


def draw_slide(rng: random.Random, rank: int) -> dict[str, tuple[int, ...]]:
    """Windows, some of which do not slide along some dims, with padding that may cut."""
    names = ("window", "stride", "low", "high", "dilation")
    choices = ((1, 2, 3, 3, 4, 7), (1, 2, 2, 3), (0, 0, 1, 2, -1), (0, 0, 1, 3, -1), (1, 1, 1, 2, 3))
    still = [rng.random() < 0.4 for _ in range(rank)]
    return {
        name: tuple(int(name in ("window", "stride", "dilation")) if s else rng.choice(c) for s in still)
        for name, c in zip(names, choices, strict=True)
    }


def draw_windows(rng: random.Random) -> Row:
    """A reduction over windows, or the element where one has its extreme."""
    shape = tuple(rng.choice((1, 3, 5, 8, 19, 34)) for _ in range(rng.choice((1, 2, 3, 3))))
    props: dict[str, Any] = draw_slide(rng, len(shape))
    element = rng.choice(("f32", "f32", "f64"))
    x = text_of(shape, element)
    if rng.random() < 0.7:
        kind = rng.choice(("max", "min", "add"))
        return Row("reduce_window", (x,), {"kind": kind, **props}, ulp=SUM, scale=lambda x: 200 * np.abs(x).max(initial=1))
    return Row("window_pick", (x, x), {"kind": rng.choice(("max", "min")), **props}, zeros=False)


def draw_conv(rng: random.Random) -> Row:
    """A convolution, depthwise, with features last in the result, or with dims in any order."""
    groups, depth = rng.choice(((2, 1), (5, 1), (17, 1), (1, 3), (1, 18), (2, 4)))
    each, n = rng.choice((1, 2, 5) if depth == 1 else (1, 6, 17, 40)), rng.choice((1, 2))
    slide = {name: values[-2:] for name, values in draw_slide(rng, 2).items()}
    dims = [tuple(rng.sample(range(4), 4)) if rng.random() < 0.5 else (0, 1, 2, 3) for _ in "xwy"]
    if depth > 1 and rng.random() < 0.7:
        dims = [rng.choice(((0, 3, 1, 2), dims[0])), rng.choice(((3, 2, 0, 1), dims[1])), (0, 3, 1, 2)]
    sizes = (n, groups * depth, rng.choice((1, 5, 9)), rng.choice((4, 11, 21)))
    filters = (groups * each, depth, *slide.pop("window"))
    props: dict[str, Any] = {**slide, "base_dilation": rng.choice(((1, 1), (1, 1), (2, 1), (2, 3))), "groups": groups}
    props |= dict(zip(("x_dims", "w_dims", "y_dims"), dims, strict=True))
    x, w = (text_of(tuple(placed(values, at)), "f32") for values, at in zip((sizes, filters), dims, strict=False))
    return Row("conv", (x, w), props, ulp=SUM, scale=lambda x, w: 200 * np.abs(x).max(initial=1), zeros=False)


def draw_points(rng: random.Random) -> Row:
    """A convolution with features first: one to three dims, few or many features, whose numbers blocks divide or not."""
    rank, groups = rng.choice((1, 2, 2, 3)), rng.choice((1, 1, 2, 3))
    depth, each = rng.choice((1, 2, 7, 33, 64)), rng.choice((1, 3, 16, 65, 97))
    sizes = [rng.choice((1, 2, 5, 8, 13) if rank == 3 else (1, 3, 8, 17, 29)) for _ in range(rank)]
    choices = {
        "stride": (1, 1, 2, 3),
        "low": (0, 1, 2, -1),
        "high": (0, 1, 3, -1),
        "dilation": (1, 1, 2),
        "base_dilation": (1, 1, 2),
    }
    props: dict[str, Any] = {name: tuple(rng.choice(c) for _ in range(rank)) for name, c in choices.items()}
    element, window = rng.choice(("f32", "f32", "f64")), [rng.choice((1, 2, 3, 5, 7)) for _ in range(rank)]
    x = text_of((rng.choice((0, 1, 1, 3)), groups * depth, *sizes), element)
    w = text_of((groups * each, depth, *window), element)
    return Row(
        "conv", (x, w), {**props, "groups": groups}, ulp=SUM, scale=lambda x, w: 400 * np.abs(x).max(initial=1), zeros=False
    )


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_windows(group: int) -> None:
    for seed in range(SEED + group, SEED + EXAMPLES, GROUPS):
        rng = random.Random(seed)
        row = rng.choice((draw_windows, draw_conv, draw_points))(rng)
        try:
            op = op_of(row)
        except lm.errors.ShapeError:
            continue
        target = rng.choice(TARGETS)
        args = inputs(row, np.random.default_rng(seed), "normal")
        got = executor.program(make_module(row), target=get(target)).run(args)
        try:
            check(got, op.evaluate(*args)[0], row, args)
        except AssertionError as error:
            pytest.fail(f"LAMINA_TEST_SEED={seed}, {target}: {error}")


SHOWN = {
    "max-pool": (lambda x: lm.nn.max_pool2d(x, 3, stride=2, padding=1), [(1, 3, 21, 37)]),
    "features last": (lambda x, k: lm.nn.conv2d(x, k, padding=1, stride=2, layout="NHWC"), [(2, 9, 13, 5), (3, 3, 5, 40)]),
    "features first": (lambda x, k: lm.nn.conv2d(x, k, padding=1, tile=1), [(2, 6, 9, 13), (7, 6, 3, 3)]),
    "blocks of rows": (lambda x, k: lm.nn.conv2d(x, k, padding=1, tile=1), [(1, 40, 16, 16), (96, 40, 3, 3)]),
    "depthwise": (lambda x, k: lm.nn.conv2d(x, k, padding=1, groups=3), [(2, 3, 9, 40), (3, 1, 3, 3)]),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHOWN)
def test_schedules_are_edited_and_replayed(name: str) -> None:
    """The default schedule as text, and with each number of lanes, or the size of blocks, replaced, gives the same results."""
    function, shapes = SHOWN[name]
    args = [np.random.default_rng(k).standard_normal(shape).astype(np.float32) for k, shape in enumerate(shapes)]
    text = lm.jit(function).lower(*args).as_text("loop", "x86-64-v2")
    steps: list[str] = []
    schedule_module(parse_module(make_context(), text), lambda kernel, taken: steps.append(taken.step.as_text()))
    assert any(step.startswith(("loop-compute-at", "loop-unroll-and-jam")) for step in steps)
    want = np.asarray(lm.jit(function)(*args))
    edits = [k for k, step in enumerate(steps) if "lanes=" in step or "size=" in step]
    assert edits
    for k in (None, *edits):
        module = parse_module(make_context(), text)
        edited = [re.sub(r"(lanes|size)=\d+", r"\1=2", step) if n == k else step for n, step in enumerate(steps)]
        replay(kernels.find_kernel(module), ",".join(edited))
        np.testing.assert_allclose(executor.program(module).run(args), want, rtol=1e-5, atol=1e-5)

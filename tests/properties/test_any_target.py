"""Programs for machines that nobody built: any caches, vector widths and tiles give the same numbers, and no strategy fails.

LAMINA_TEST_EXAMPLES says how many programs there are, LAMINA_TEST_SEED from which seed on.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina import nn
from lamina.codegen.targets import TARGETS, Target, get, host
from lamina.executor import executor

EXAMPLES = int(os.environ.get("LAMINA_TEST_EXAMPLES", "320")) // 4
FIRST_SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
GROUPS = 8

Program = tuple[Callable[..., Any], list[tuple[int, ...]], Callable[..., Any]]


def draw_target(rng: random.Random) -> Target:
    """The host with other caches, narrower vectors, another tile or other costs."""
    level = TARGETS[host().name]
    widths = [bits for bits in (128, 256, 512) if bits <= level.vector_bits]
    vectors = rng.randint(1, 4)
    rows = rng.randint(1, max(1, (level.vector_registers - 1 - vectors) // vectors))
    l1 = 1024 << rng.randint(0, 7)
    options = [f"vector={rng.choice(widths)}", f"tile={rows}x{vectors}", f"l1={l1} l2={l1 << rng.randint(0, 8)}"]
    options += [f"l3={rng.choice((0, 1 << 20, 64 << 20))}", f"wake={rng.choice((0, 1 << 15, 1 << 30))}"]
    options += [f"stream={rng.choice((0, 1024, 4 << 20))}", f"div={rng.choice(('1/1', '8/16', '500/900'))}"]
    return get(f"host{{{' '.join(rng.sample(options, rng.randint(1, len(options))))}}}")


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def conv(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), axis=(2, 3))
    return np.einsum("nchwrs,ocrs->nohw", windows, w)


def draw_program(rng: random.Random) -> Program:
    """A function, the shapes of its arguments, and its meaning."""
    m, n, k = (rng.choice((1, 2, 3, 7, 16, 31, 64, 65, 127, 200, 257)) for _ in range(3))
    few, many = rng.randint(1, 9), rng.choice((511, 512, 1000))
    programs: list[Program] = [
        (lambda x, y: x @ y, [(m, k), (k, n)], lambda x, y: x @ y),
        (lambda x, y: x @ y, [(few, many), (many, 700)], lambda x, y: x @ y),
        (lambda x, y: x.T @ y, [(k, m), (k, n)], lambda x, y: x.T @ y),
        (lambda x, y: lnp.tanh(x @ y + 1), [(256 + m, k), (k, n)], lambda x, y: np.tanh(x @ y + 1)),
        (lambda x, y: x @ y, [(few, m, k), (few, k, n)], lambda x, y: x @ y),
        (lambda x: x.sum(0), [(m, n)], lambda x: x.sum(0)),
        (lambda x: x.sum(), [(m, many)], lambda x: x.sum()),
        (lambda x: x.T * 2, [(many, n)], lambda x: x.T * 2),
        (lambda x: nn.softmax(x), [(m, many)], softmax),
        (lambda x, w: nn.conv2d(x, w, padding=1), [(2, few, 9 + few, 15), (few + 3, few, 3, 3)], conv),
        (lambda x, y: lnp.exp(-abs(x)) / (1 + y * y), [(m, many), (m, many)], lambda x, y: np.exp(-abs(x)) / (1 + y * y)),
    ]
    return rng.choice(programs)


def runs(seed: int) -> None:
    rng = random.Random(f"any target {seed}")
    function, shapes, meaning = draw_program(rng)
    target, dtype = draw_target(rng), rng.choice((np.float32, np.float64))
    numbers = np.random.default_rng(seed)
    arrays = [numbers.standard_normal(shape).astype(dtype) for shape in shapes]
    what = f"seed {seed}: {target}, {[x.shape for x in arrays]} of {np.dtype(dtype)}"
    try:
        found = executor.program(lm.jit(function).lower(*arrays).module, target=target).run(arrays)
        wanted = meaning(*(x.astype(np.float64) for x in arrays))
        scale = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=scale * (2e-5 if dtype == np.float32 else 1e-12))
    except Exception as error:
        pytest.fail(f"{what}: {type(error).__name__}: {error}")


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("group", range(GROUPS))
def test_numbers_are_the_same_on_any_target(group: int) -> None:
    for seed in range(FIRST_SEED + group, FIRST_SEED + EXAMPLES, GROUPS):
        runs(seed)

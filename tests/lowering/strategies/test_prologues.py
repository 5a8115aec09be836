"""Elementwise ops on the operands of products in the default schedule: where they are computed, and that they are right."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from lamina.lowering.strategies import skinny

TARGET = "x86-64-v4"
"""What schedules are shown for; what they compute is computed on this machine."""
EXAMPLES = int(os.environ.get("LAMINA_TEST_EXAMPLES", "40"))
RNG = np.random.default_rng(0)


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def agrees(f: Callable[..., Any], *args: np.ndarray, reference: Callable[..., Any] | None = None) -> None:
    """What a program gives on one thread and on two is the same, and what NumPy gives for `reference` in doubles."""
    program, threads = lm.jit(f), lm.get_threads()
    try:
        lm.set_threads(1)
        one = program(*args)
        lm.set_threads(2)
        two = program(*args)
    finally:
        lm.set_threads(threads)
    assert one.tobytes() == two.tobytes()
    expected = (reference or f)(*(a if a.dtype == np.int32 else a.astype(np.float64) for a in args))
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(one, expected, rtol=0, atol=(2e-5 if one.dtype == np.float32 else 1e-13) * scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_vector_times_a_matrix_whose_columns_are_scaled(dtype):
    agrees(lambda x, w, s: x @ (w * s), random(1, 256, dtype=dtype), random(256, 4096, dtype=dtype), random(4096, dtype=dtype))


def test_a_vector_times_integers_that_are_scaled():
    weights = RNG.integers(-127, 127, (256, 4096)).astype(np.int32)
    agrees(lambda x, w, s: x @ (w.astype(np.float32) * s), random(1, 256), weights, random(4096))


def scheduled(f: Callable[..., Any], *args: np.ndarray) -> str:
    return lm.jit(f).lower(*args).as_text("scheduled", TARGET)


@pytest.fixture
def small_operands(small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks, of few rows too."""
    monkeypatch.setattr(skinny, "LEAST_BYTES", 1 << 14)
    monkeypatch.setattr(skinny, "LEAST_BLOCKS", 2)


def test_what_is_packed_is_computed_while_it_is_packed():
    text = scheduled(lambda x, w, s: x @ (w * s), random(256, 256), random(256, 256), random(256))
    assert text.count("loop.launch") == 1
    assert "%mul = loop.alloc" not in text  # not stored, but for the copy
    copy = text.split("%mul_packed = loop.alloc")[1].split("reduce<add>")[0]
    assert "loop.load %w[" in copy
    assert "loop.load %s[" in copy
    assert "arith.mulf" in copy
    assert "loop.load %w[" not in text.split("reduce<add>")[1]


def test_halves_are_converted_while_they_are_packed():
    half = random(256, 256, dtype=np.float16)
    text = scheduled(lambda x, w: x @ w, half, half + half)
    packed = text.split("_packed = loop.alloc")[1].split("reduce<add>")[0]
    assert "arith.extf" in packed
    assert "arith.extf" not in text.split("reduce<add>")[1]


def test_rows_that_one_block_of_columns_needs_are_computed_for_that_block():
    text = scheduled(lambda x, w: lnp.tanh(x) @ w, random(4096, 64), random(64, 64))
    before, inside = text.split("%tanh = loop.alloc scratch")
    assert "loop.for parallel %ko" in before
    assert "math.tanh" in inside


def test_what_several_blocks_need_is_computed_once():
    text = scheduled(lambda x, w: lnp.tanh(x) @ w, random(512, 512), random(512, 512))
    assert text.count("math.tanh") == 1
    assert "math.tanh" in text.split("reduce<add>")[0]
    assert text.count("loop.launch") == 1


def test_few_rows_read_a_matrix_that_is_scaled_once_as_it_lies():
    text = scheduled(lambda x, w, s: x @ (w * s), random(32, 1024), random(1024, 1024), random(1024))
    assert "loop.prefetch %w" in text
    assert "%mul = loop.alloc" not in text


def test_columns_along_the_depth_are_computed_for_a_part_of_it():
    text = scheduled(lambda x, w, s: x @ (w * s).T, random(32, 1024), random(1024, 1024), random(1024, 1))
    before, inside = text.split("loop.for parallel", 1)
    assert "loop.alloc scratch" not in before
    assert re.search(r"%mul\w* = loop.alloc scratch : memref<6x1024xf32>", inside)


def test_the_end_of_a_reduction_is_no_prologue():
    text = scheduled(lambda x, w: lm.nn.softmax(x) @ w, random(128, 128), random(128, 128))
    assert text.count("loop.launch") == 2
    text = scheduled(lambda x, v, w: lm.nn.relu(x @ v) @ w, random(128, 128), random(128, 128), random(128, 128))
    assert "@dot_max" in text


def test_what_is_also_read_elsewhere_is_no_prologue():
    def both(x: Any, w: Any) -> Any:
        y = lnp.maximum(x, 0)
        return y @ w, y.sum()

    assert "@max_dot" not in scheduled(both, random(128, 128), random(128, 128))


def plain(x: Any, v: Any, c: Any) -> Any:
    return x


def rectified(x: Any, v: Any, c: Any) -> Any:
    return np.maximum(x, 0.25) if isinstance(x, np.ndarray) else lnp.maximum(x, 0.25)


def affine(x: Any, v: Any, c: Any) -> Any:
    return x * v + v


def standardized(x: Any, v: Any, c: Any) -> Any:
    return (x - c) / (c * c + 0.5)


def squashed(x: Any, v: Any, c: Any) -> Any:
    return np.tanh(x * c) if isinstance(x, np.ndarray) else lnp.tanh(x * c)


def mirrored(x: Any, v: Any, c: Any) -> Any:
    return x * v - x[::-1]


PROLOGUES = (plain, rectified, affine, standardized, squashed, mirrored)
DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32)


@pytest.mark.thorough
@pytest.mark.usefixtures("small_operands")
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    sizes=st.tuples(*(st.sampled_from((1, 2, 5, 16, 33, 70, 129)) for _ in range(3))),
    prologues=st.tuples(st.sampled_from(PROLOGUES), st.sampled_from(PROLOGUES)),
    dtypes=st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    across=st.tuples(st.booleans(), st.booleans()),
    batch=st.sampled_from((None, None, 3)),
    ending=st.booleans(),
)
@example((2, 70, 129), (affine, mirrored), (np.float64, np.float16), (False, False), None, False)
def test_random_prologues_of_random_products(sizes, prologues, dtypes, across, batch, ending):
    m, n, k = sizes
    wide = np.float64 if np.float64 in dtypes else np.float32

    def operand(rows: int, columns: int, dtype: Any, turned: bool) -> np.ndarray:
        shape = (columns, rows) if turned else (rows, columns)
        array = RNG.standard_normal(shape if batch is None else (batch, *shape))
        return (array * 4).astype(dtype) if dtype is np.int32 else array.astype(dtype)

    x, w = operand(m, k, dtypes[0], across[0]), operand(k, n, dtypes[1], across[1])
    extra = [random(x.shape[-1], dtype=wide), random(x.shape[-2], 1, dtype=wide)]
    extra += [random(w.shape[-1], dtype=wide), random(w.shape[-2], 1, dtype=wide)]

    def product(dtype: Any) -> Callable[..., Any]:
        def of(x: Any, w: Any, *extra: Any) -> Any:
            left, right = prologues[0](x.astype(dtype), *extra[:2]), prologues[1](w.astype(dtype), *extra[2:])
            left, right = (y.swapaxes(-1, -2) if turned else y for y, turned in ((left, across[0]), (right, across[1])))
            y = left @ right
            return y * 2 + 1 if ending else y

        return of

    agrees(product(wide), x, w, *extra, reference=product(np.float64))


def convolved(x: Any, w: Any, stride: int, padding: int) -> Any:
    return lm.nn.conv2d(x, w, stride=stride, padding=((padding, padding),) * 2)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize(("stride", "window"), [(1, 3), (2, 3), (1, 1), (2, 1), (1, 5)])
@pytest.mark.parametrize("features", [1, 5, 32])
def test_convolutions_of_cheap_prologues(features, stride, window, padding, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE", "0")
    x, w, s = random(2, features, 13, 18), random(7, features, window, window), random(features, 1, 1)

    def fused(x: Any, w: Any, s: Any) -> Any:
        return convolved(lnp.maximum(x * s + s, 0), w, stride, padding)

    apart = lm.jit(lambda x, w: convolved(x, w, stride, padding))(np.maximum(x * s + s, 0), w)
    np.testing.assert_allclose(lm.jit(fused)(x, w, s), apart, rtol=0, atol=2e-5 * np.abs(apart).max())


def test_an_image_is_rectified_while_it_is_copied():
    x, w = random(1, 16, 28, 28), random(16, 16, 5, 5)
    text = scheduled(lambda x, w: convolved(lnp.maximum(x, 0), w, 1, 2), x, w)
    assert text.count("loop.launch") == 1
    assert "arith.maximumf" in text.split("reduce<add>")[0]
    functions = scheduled(lambda x, w: convolved(lnp.tanh(x), w, 1, 2), x, w)
    assert functions.count("loop.launch") == 2

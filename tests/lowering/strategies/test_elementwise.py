"""The default schedule of transposes, broadcasts and elementwise functions: right for all shapes, the same on any threads."""

from __future__ import annotations

import re

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.codegen.targets import get

TARGET = "x86-64-v4"
"""What schedules are shown for; what they compute is computed on this machine."""
SIZES = st.sampled_from([1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 33, 40])
DTYPES = ["float32", "float64", "int32", "int64", "bool"]


def random(shape, dtype, seed=0):
    return (np.random.default_rng(seed).normal(size=shape) * 10).astype(dtype)


def scheduled(function, *shapes) -> str:
    return lm.jit(function).lower(*(lm.TensorSpec(shape, "float32") for shape in shapes)).as_text("scheduled", TARGET)


@pytest.fixture
def threads():
    before = lm.get_threads()
    yield lm.set_threads
    lm.set_threads(before)


@st.composite
def permutations(draw):
    shape = tuple(draw(st.lists(SIZES, min_size=2, max_size=4)))
    return shape, tuple(draw(st.permutations(range(len(shape))))), draw(st.sampled_from(DTYPES))


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(permutations())
def test_transposes(case):
    shape, perm, dtype = case
    x = random(shape, dtype)
    y = random([shape[p] for p in perm], dtype, 1)
    np.testing.assert_array_equal(lm.jit(lambda x: lnp.transpose(x, perm))(x), np.transpose(x, perm))
    got = lm.jit(lambda x, y: lnp.maximum(lnp.transpose(x, perm), y))(x, y)
    np.testing.assert_array_equal(got, np.maximum(np.transpose(x, perm), y))
    rows = y.max(axis=-1, keepdims=True)
    got = lm.jit(lambda x, rows: lnp.minimum(lnp.transpose(x, perm), rows))(x, rows)
    np.testing.assert_array_equal(got, np.minimum(np.transpose(x, perm), rows))


@st.composite
def broadcasts(draw):
    shape = draw(st.lists(SIZES, min_size=1, max_size=4))
    shapes = [[1 if draw(st.booleans()) else n for n in shape][draw(st.integers(0, len(shape))) :] for _ in range(2)]
    return shapes, draw(st.sampled_from(DTYPES[:4]))


@settings(max_examples=25, deadline=None)
@given(broadcasts())
def test_broadcasts(case):
    shapes, dtype = case
    x, y = (random(shape, dtype, k) for k, shape in enumerate(shapes))
    np.testing.assert_array_equal(lm.jit(lambda x, y: x * y - x)(x, y), x * y - x)


LARGE = {
    "blocks": (lambda x, y: x * y + x, (300_007,), (300_007,)),
    "blocks that divide": (lambda x, y: x * y + x, (320_000,), (320_000,)),
    "rows": (lambda x, y: x * y + x, (700, 500), (500,)),
    "few long rows": (lambda x, y: x * y + x, (3, 200_003), (3, 1)),
    "columns": (lambda x, y: x * y + x, (200_001, 3), (3,)),
    "outer": (lambda x, y: x * y + x, (700, 1), (1, 501)),
    "transpose": (lambda x, y: x.T + y, (643, 709), (709, 643)),
    "few strips": (lambda x, y: x.T + y, (100_003, 16), (16, 100_003)),
    "flat strips": (lambda x, y: x.T + y, (16, 100_003), (100_003, 16)),
    "heads": (lambda x, y: x.swapaxes(1, 2) * y, (4, 300, 6, 40), (1,)),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_on_any_number_of_threads(name, threads):
    function, *shapes = LARGE[name]
    x, y = (random(shape, "float32", k) for k, shape in enumerate(shapes))
    compiled = lm.jit(function)
    assert "loop.for parallel" in scheduled(function, *shapes)
    for number in (1, 2, 3):
        threads(number)
        np.testing.assert_array_equal(compiled(x, y), function(x, y))


def test_a_long_loop_is_split_into_blocks_without_rest():
    text = scheduled(lambda x, y: x * y, (1_000_000,), (1_000_000,))
    assert re.search(r"loop.for parallel %io = 0 to 1000000 step (\d+) threads \{\n\s*loop.for vector %ii = 0 to \1 step", text)
    assert text.count("loop.for") == 2


def test_a_short_loop_is_left_whole():
    assert "parallel" not in scheduled(lambda x, y: x * y, (10_000,), (10_000,))


def test_a_transpose_gets_square_tiles():
    text = scheduled(lambda x: x.T, (512, 256))
    lanes = get(TARGET).lanes(32)
    assert f"loop.for unroll %ii = 0 to {lanes}" in text and f"step {lanes}" in text and "along 0" in text


def test_a_transpose_that_computes_much_is_not_copied_for_each_row():
    def much(x):
        for _ in range(13):
            x = x * x + 1
        return x.T

    assert "unroll" not in scheduled(much, (512, 512))


def test_rows_in_another_order_are_read_in_theirs():
    text = scheduled(lambda x: x.swapaxes(1, 2), (8, 512, 12, 64))
    assert re.search(r"%i = 0 to 8 .*\n.*%k = 0 to 512 .*\n.*%j = 0 to 12 ", text)
    short = scheduled(lambda x: x.swapaxes(1, 2), (8, 512, 12, 4))
    assert re.search(r"%i = 0 to 8 .*\n.*%j = 0 to 12 .*\n.*%k = 0 to 512 ", short)


def test_permuted_dims_that_stay_together_are_one_loop():
    text = scheduled(lambda x: lnp.transpose(x, (0, 3, 1, 2)) + 1, (8, 14, 14, 64))
    assert "memref<8x196x64xf32>" in text and "memref<8x64x196xf32>" in text


def test_quotients_of_integers_are_vectors():
    text = (
        lm.jit(lambda x, y: x // y).lower(*(lm.TensorSpec((100_000,), "int32") for _ in range(2))).as_text("scheduled", TARGET)
    )
    assert re.search(r"arith\.divsi .* : vector<\d+xi32>", text)


def test_values_put_side_by_side_are_read_in_their_order():
    text = scheduled(lambda x, y, z: lnp.stack([x, y, z], axis=-1), (1000, 300), (1000, 300), (1000, 300))
    assert "memref<300000x3xf32>" in text


def test_constants_of_a_long_chain_are_no_arrays():
    def polynomial(x):
        y = x
        for k in range(12):
            y = y * x * 0.5 + k
        return y

    assert scheduled(polynomial, (100_000,)).count("loop.kernel") == 1
    x = random((1000,), "float32") / 10
    np.testing.assert_allclose(lm.jit(polynomial)(x), polynomial(x), rtol=1e-4)


def test_transposes_with_a_number_for_each_row_have_tiles():
    text = scheduled(lambda x, rows: lnp.maximum(x.T + rows, 0), (500, 700), (700, 1))
    assert "loop.for unroll" in text
    x, rows = random((50, 70), "float32"), random((70, 1), "float32", 1)
    np.testing.assert_array_equal(lm.jit(lambda x, rows: lnp.maximum(x.T + rows, 0))(x, rows), np.maximum(x.T + rows, 0))


def test_columns_at_places_are_read_row_by_row():
    """Along the columns each lane would touch a line of the caches of its own."""
    taken = lm.jit(lambda x, at: x[:, at]).lower(lm.TensorSpec((1000, 900), "float32"), lm.TensorSpec((500,), "int64"))
    kernels = taken.as_text("scheduled", TARGET).split("loop.kernel")
    (gather,) = [kernel for kernel in kernels if "1000x900" in kernel and "loop.for" in kernel]
    assert "along 0" not in gather

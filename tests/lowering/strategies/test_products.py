"""Products of matrices in the default schedule: what form each kind gets, and that it multiplies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.codegen.targets import get
from lamina.lowering.strategies import blocked, matvec
from lamina.lowering.strategies.tiled import tile_width

TARGET = "x86-64-v4"
"""What schedules are shown for; what they compute is computed on this machine."""
MACHINE = get(TARGET)
RNG = np.random.default_rng(0)


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def scheduled(f: Callable[..., Any], *args: np.ndarray) -> str:
    return lm.jit(f).lower(*args).as_text("scheduled", TARGET)


def product(x: Any, w: Any) -> Any:
    return x @ w


def test_a_large_product_packs_what_does_not_lie_well_and_has_one_inner_loop():
    text = scheduled(product, random(512, 512), random(512, 500))
    assert "%w_packed = loop.alloc scratch" in text
    assert "%x_packed" not in text
    assert "%x_packed = loop.alloc scratch" in scheduled(lambda x, w: x.T @ w, random(512, 512), random(512, 500))
    assert text.count("reduce<add>") == 1
    assert "mask" not in text.split("reduce<add>")[1].split("loop.yield")[0]


@pytest.mark.thorough
def test_a_deep_product_adds_block_by_block_in_memory():
    text = scheduled(product, random(256, 5000), random(5000, 256))
    assert "%ko_results = loop.alloc" in text
    assert text.count("reduce<add>") == 1


def test_rows_of_a_deep_product_with_few_columns_are_one_block():
    """Blocks of rows would each pack the right operand again."""
    text = scheduled(product, random(100, 10000), random(10000, 100))
    assert "%io" not in text.split("%x_packed = loop.alloc")[0].split("%ko_results = loop.alloc")[1]
    assert "memref<104x" in text.split("%ko_results")[1].splitlines()[0]


def test_few_rows_leave_the_columns_to_the_threads():
    text = scheduled(product, random(130, 4096), random(4096, 4096))
    assert "loop.for parallel %jo" in text
    few_columns = scheduled(product, random(1024, 1024), random(1024, 128))
    assert "loop.for seq %jo" in few_columns
    assert "loop.for parallel %io" in few_columns


def test_threads_pack_the_columns_that_they_read():
    before, inside = scheduled(product, random(512, 512), random(512, 512)).split("loop.for parallel %jo")
    assert "%w_packed" not in before
    assert "%w_packed = loop.alloc scratch" in inside


@pytest.mark.parametrize("shape", [(512, 512, 64), (300, 1100, 33)], ids=lambda s: "x".join(map(str, s)))
def test_functions_that_follow_a_product_leave_the_registers_to_its_sums(shape):
    """Where threads share the columns, what computes the functions is called by each of them for a block of rows."""
    m, n, k = shape
    x, w = random(m, k, dtype=np.float32), random(k, n) / np.float32(k**0.5)
    f = lm.jit(lambda x, w: lm.numpy.tanh(x @ w))
    lowered = f.lower(x, w)
    assert "loop.for parallel %jo" in lowered.as_text("scheduled", TARGET)
    one, other = (part.split("\n}")[0] for part in lowered.as_text("llvmir", TARGET).split("noinline {")[1:])
    assert "@llvm.fma.v" in one
    assert "call void" in one
    assert "fdiv" not in one
    assert "fdiv" in other
    before = lm.get_threads()
    try:
        results = []
        for threads in (1, 2, 7):
            lm.set_threads(threads)
            results.append(f(x, w))
    finally:
        lm.set_threads(before)
    np.testing.assert_allclose(results[0], np.tanh(x @ w), rtol=1e-4, atol=1e-5)
    assert len({result.tobytes() for result in results}) == 1


def test_a_deep_product_has_one_pass_over_its_sums_and_packs_both_operands():
    """Rows of 8 KiB, a power of two apart, are not read in place."""
    text = lm.jit(product).lower(random(512, 2048), random(2048, 512)).as_text("scheduled", "x86-64-v4{l2=1M}")
    assert "%x_packed = loop.alloc scratch" in text
    assert "_results = loop.alloc scratch" not in text


def test_a_small_product_is_not_packed():
    assert "%x_packed" not in scheduled(product, random(64, 64), random(64, 64))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_packing_absorbs_transposes(left, right):
    def f(x: Any, w: Any) -> Any:
        return (x.T if left else x) @ (w.T if right else w)

    text = lm.jit(f).lower(random(512, 512), random(512, 512)).as_text("scheduled", TARGET)
    assert text.count("loop.launch") == 1
    assert ("%x_packed" in text) == left
    assert "%w_packed" in text


SHAPES = [
    (8, 48, 16), (7, 47, 15), (9, 49, 17), (1, 64, 64), (64, 1, 64), (64, 64, 1), (0, 8, 8), (8, 0, 8), (8, 8, 0),
    (33, 40, 100), (50, 97, 41), (64, 96, 80), (65, 100, 130), (130, 193, 20), (67, 128, 40), (5, 64, 300),
]  # fmt: skip


@pytest.mark.thorough(every=8)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize(
    ("dtype", "transposes"), [(np.float32, "nn"), (np.float64, "tn"), (np.float32, "nt"), (np.float64, "tt")]
)
def test_blocks_of_any_shape_multiply(shape, dtype, transposes):
    m, n, k = shape
    x = random(*((k, m) if transposes[0] == "t" else (m, k)), dtype=dtype)
    w = random(*((n, k) if transposes[1] == "t" else (k, n)), dtype=dtype)
    bias, residual = random(n, dtype=dtype), random(m, n, dtype=dtype)

    def f(x: Any, w: Any, bias: Any, residual: Any) -> Any:
        x = x.T if transposes[0] == "t" else x
        return (x @ (w.T if transposes[1] == "t" else w) + bias) * residual

    wide = [a.astype(np.float64) for a in (x, w, bias, residual)]
    tolerance = 4 * max(k, 1) * np.finfo(dtype).eps
    np.testing.assert_allclose(lm.jit(f)(x, w, bias, residual), f(*wide), rtol=tolerance, atol=tolerance * 4)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("shape", [(300, 200, 90), (40, 200, 90)], ids=["rows", "columns"])
def test_results_do_not_depend_on_the_number_of_threads(shape):
    m, n, k = shape
    x, w = random(m, k), random(k, n)
    f = lm.jit(product)
    before = lm.get_threads()
    try:
        results = []
        for threads in (1, 2, 7):
            lm.set_threads(threads)
            results.append(f(x, w).tobytes())
    finally:
        lm.set_threads(before)
    assert len(set(results)) == 1


@pytest.mark.thorough(every=8)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("shape", [(256, 512, 32), (300, 520, 37), (257, 1030, 5)], ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("blocks", [1, 2])
def test_a_left_operand_across_is_turned_once_for_all_columns(shape, dtype, blocks, monkeypatch):
    """Threads share the copying, then the columns; rows of the copy run along the depth, some of zeros fill its tiles."""
    m, n, k = shape
    monkeypatch.setattr(blocked, "WIDTH_BYTES", m * k * np.dtype(dtype).itemsize // blocks + 1)
    x, w, bias = random(k, m, dtype=dtype), random(k, n, dtype=dtype), random(n, dtype=dtype)

    def f(x: Any, w: Any, bias: Any) -> Any:
        return x.T @ w + bias

    jitted = lm.jit(f)
    turned, shared = jitted.lower(x, w, bias).as_text("scheduled", TARGET).split("loop.for parallel %jo")
    assert "loop.for parallel %k_xo" in turned
    assert "%w_packed" in shared
    before = lm.get_threads()
    try:
        results = []
        for threads in (1, 2, 7):
            lm.set_threads(threads)
            results.append(jitted(x, w, bias))
    finally:
        lm.set_threads(before)
    tolerance = 8 * k * np.finfo(dtype).eps
    np.testing.assert_allclose(results[0], f(*(a.astype(np.float64) for a in (x, w, bias))), rtol=tolerance, atol=4 * tolerance)
    assert len({result.tobytes() for result in results}) == 1


BACKWARDS = {"all": slice(None, None, -1), "some": slice(-3, None, -1), "every other": slice(None, None, -2)}


@pytest.mark.parametrize("rows", BACKWARDS)
@pytest.mark.parametrize("shape", [(257, 129, 300), (700, 512, 64)], ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_left_operand_may_go_backwards(rows, shape, dtype):
    """Tiles beyond the last row read the first one again where the operand is read in place, unpacked."""
    (m, n, k), rows = shape, BACKWARDS[rows]
    x, w = (RNG.integers(-3, 4, size).astype(dtype) for size in ((m, k), (k, n)))
    np.testing.assert_array_equal(lm.jit(lambda x, w: x[rows] @ w)(x, w), x[rows] @ w)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("batch", [1, 3])
def test_batches_of_blocks_multiply(batch):
    x, w = random(batch, 50, 45), random(batch, 45, 60)
    np.testing.assert_allclose(lm.jit(product)(x, w), x @ w, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("small_blocks")
def test_one_array_times_itself():
    x = random(60, 60)
    np.testing.assert_allclose(lm.jit(lambda x: x @ x)(x), x @ x, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(lm.jit(lambda x: x.T @ x)(x), x.T @ x, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("small_blocks")
def test_non_finite_numbers_stay_where_they_are():
    """Zeros that fill up tiles meet no number that a result keeps."""
    x, w = random(50, 30), random(30, 50)
    x[49, 29], w[3, 49] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        want = x @ w
    np.testing.assert_allclose(lm.jit(product)(x, w), want, rtol=1e-4, atol=1e-4)


@pytest.mark.thorough
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("depth", [30, 90], ids=["one block", "several blocks"])
def test_functions_of_the_sums_are_computed_in_a_nest_of_their_own(depth):
    """Beside the blocks of rows, so that their constants take no registers from the sums."""
    x, w = random(300, depth), random(depth, 100)
    f = lm.jit(lambda x, w: lm.numpy.tanh(x @ w))
    assert f.lower(x, w).as_text("scheduled", TARGET).count("loop.for parallel %io") >= 2
    np.testing.assert_allclose(f(x, w), np.tanh(x @ w), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_vector_times_a_matrix_reads_rows(dtype):
    x, w, bias = random(64, dtype=dtype), random(64, 4096, dtype=dtype), random(4096, dtype=dtype)

    def f(x: Any, w: Any, bias: Any) -> Any:
        return x @ w + bias

    jitted = lm.jit(f)
    assert "loop.for seq %jo = 0 to 64 step 8" in jitted.lower(x, w, bias).as_text("scheduled", TARGET)
    np.testing.assert_allclose(jitted(x, w, bias), f(x, w, bias), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(128, 64), (131, 65), (1001, 333)], ids=lambda s: "x".join(map(str, s)))
def test_a_matrix_times_a_vector_reads_several_rows_at_once(shape, dtype, monkeypatch):
    monkeypatch.setattr(matvec, "LEAST_ROW_BYTES", 0)
    w, x, bias = random(*shape, dtype=dtype), random(shape[1], dtype=dtype), random(shape[0], dtype=dtype)

    def f(w: Any, x: Any, bias: Any) -> Any:
        return w @ x + bias

    jitted = lm.jit(f)
    text = jitted.lower(w, x, bias).as_text("scheduled", TARGET)
    assert f"loop.for parallel %io = 0 to {shape[0] // 8 * 8} step 8" in text
    assert "packed" not in text
    sums = text.split("reduce<add> %j =")[1].split("loop.yield")[0]
    assert sums.count("loop.load %w") == 8
    assert sums.count("loop.load %x") == 1
    assert "reduce_lanes" not in sums
    np.testing.assert_allclose(jitted(w, x, bias), f(w, x, bias), rtol=1e-4, atol=1e-4)


def test_each_of_several_vectors_times_a_matrix_of_its_own(monkeypatch):
    monkeypatch.setattr(matvec, "LEAST_ROW_BYTES", 0)
    q, keys = random(3, 1, 64), random(3, 200, 64)

    def f(q: Any, keys: Any) -> Any:
        return (q * keys).sum(-1)

    jitted = lm.jit(f)
    assert "loop.for parallel %jo = 0 to 200 step 8" in jitted.lower(q, keys).as_text("scheduled", TARGET)
    np.testing.assert_allclose(jitted(q, keys), f(q, keys), rtol=1e-4, atol=1e-4)


def test_rows_of_a_product_with_a_vector_do_not_depend_on_threads_or_tiles():
    """A row's terms are added in the same order in a tile of rows, in the rows that fill none, and on any thread."""
    w, x = np.tile(random(1, 777), (1003, 1)), random(777)
    f = lm.jit(product)
    before = lm.get_threads()
    try:
        for threads in (1, 2, 7):
            lm.set_threads(threads)
            assert np.unique(f(w, x)).size == 1
    finally:
        lm.set_threads(before)


def test_tiles_are_as_wide_as_registers_allow_and_columns_fill():
    lanes = MACHINE.lanes(32)
    widest = 4 if MACHINE.vector_registers >= 32 else 2
    assert tile_width(12 * lanes, 32, MACHINE) == widest * lanes
    assert tile_width(6 * lanes, 32, MACHINE) == 2 * lanes
    assert tile_width(4 * lanes + 1, 32, MACHINE) == 2 * lanes
    assert tile_width(lanes, 32, MACHINE) == lanes


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("turned", ["", "left", "right", "left right"])
@pytest.mark.parametrize(
    "shape", [(2, 16, 2), (13, 31, 3), (40, 64, 9), (25, 33, 15), (24, 17, 17), (31, 100, 33), (45, 40, 63)]
)
def test_products_of_few_columns_and_turned_operands_stay_in_registers(shape, turned):
    m, k, n = shape
    x, w = random(m, k), random(k, n)
    x, w = (np.ascontiguousarray(a.T) if side in turned else a for a, side in ((x, "left"), (w, "right")))

    def f(x: Any, w: Any) -> Any:
        return (x.T if "left" in turned else x) @ (w.T if "right" in turned else w)

    text = lm.jit(f).lower(x, w).as_text("scheduled", TARGET)
    assert "loop.for vector" in text
    assert ("w_packed" in text) == ("right" in turned and m > 12)
    np.testing.assert_allclose(lm.jit(f)(x, w), f(x, w), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(5, 64, 64, 64), (3, 64, 20, 128), (2, 7, 33, 192), (4, 50, 9, 80), (2, 130, 40, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batches_of_small_products_stay_in_registers(shape, dtype):
    """Nothing is packed where a tile is as wide as the operand; threads share the batch."""
    batch, m, k, n = shape
    x, w = random(batch, m, k, dtype=dtype), random(batch, k, n, dtype=dtype)
    f = lm.jit(product)
    text = f.lower(x, w).as_text("scheduled", TARGET)
    assert f"loop.for parallel %i = 0 to {batch}" in text
    if tile_width(n, x.itemsize * 8, MACHINE) == n:
        assert "packed" not in text
    np.testing.assert_allclose(f(x, w), x @ w, rtol=1e-4, atol=1e-4)
    before = lm.get_threads()
    try:
        results = set()
        for threads in (1, 2, 7):
            lm.set_threads(threads)
            results.add(f(x, w).tobytes())
    finally:
        lm.set_threads(before)
    assert len(results) == 1


def test_a_stack_of_symbolic_size_has_a_version_for_one_matrix():
    """Its rows leave a partial tile, and nothing says that the operand has a last row to read again."""
    w, b = np.ones((256, 512), np.float32), np.ones(512, np.float32)
    layer = lm.jit(lambda x: x + (x @ w + b)[:, :, :256], dynamic={"x": ("n", None, None)})
    for n in (1, 2, 5):
        x = np.random.default_rng(n).normal(size=(n, 197, 256)).astype(np.float32)
        np.testing.assert_allclose(layer(x), x + (x @ w + b)[:, :, :256], rtol=1e-4, atol=1e-4)

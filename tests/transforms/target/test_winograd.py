"""Convolutions by Winograd's algorithm: against float64, within the bound that is stated for them, in every kind of block."""

from __future__ import annotations

import re

import lamina as lm
import numpy as np
import pytest
from lamina.codegen.targets.x86_64_v3 import TARGET
from lamina.dialects.context import make_context
from lamina.dialects.graph.winograd_transforms import transforms
from lamina.dialects.parsing import parse_module
from lamina.errors import ShapeError
from lamina.executor import executor, kernels
from lamina.lowering.schedule.auto import schedule_module
from lamina.lowering.strategies.winograd import find_blocks
from lamina.passes import replay
from lamina.runtime import threads
from numpy.lib.stride_tricks import sliding_window_view

UNIT = 2.0**-24
"""The rounding error of one operation on float32, relative."""

OPERATIONS = 32
"""Roundings on the way through the transforms, at most; a result has gone through as many more as a filter has features."""

TILES = [2, 4]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def exact(x: np.ndarray, w: np.ndarray, padding=((1, 1), (1, 1))) -> np.ndarray:
    """`[n, i, y, x]` with `[o, i, 3, 3]` in float64."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *padding))
    windows = sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("niyxkl,oikl->noyx", windows, w.astype(np.float64), optimize=True)


def conv(x: np.ndarray, w: np.ndarray, tile: int | None, layout: str = "NCHW", padding=1) -> np.ndarray:
    """The convolution of features first, in either layout."""
    if layout == "NHWC":
        x, w = x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy()
    y = lm.jit(lambda x, w: lm.nn.conv2d(x, w, 1, padding, layout=layout, tile=tile))(x, w)
    return y.transpose(0, 3, 1, 2) if layout == "NHWC" else y


def bound(x: np.ndarray, w: np.ndarray, tile: int) -> float:
    """How far from the exact result every element may be: as `Transforms.amplification` says."""
    largest = np.abs(x).max(axis=(0, 2, 3)).astype(np.float64)
    magnitude = (np.abs(w).sum(axis=(2, 3)) @ largest).max()
    return transforms(tile).amplification * (w.shape[1] + OPERATIONS) * UNIT * magnitude


@pytest.mark.parametrize("tile", TILES)
def test_matrices_compute_a_convolution(tile: int) -> None:
    by = transforms(tile)
    d, g = np.random.default_rng(1).standard_normal((2, by.size))
    got = by.result @ ((by.filter @ g[:3]) * (by.image @ d))
    np.testing.assert_allclose(got, np.correlate(d, g[:3]), rtol=1e-12, atol=1e-12)


def test_amplification_is_what_documentation_says() -> None:
    assert [round(transforms(tile).amplification) for tile in TILES] == [16, 157]


SHAPES = [
    # images, features, height, width, filters, padding
    (1, 16, 8, 8, 16, 1),
    (1, 5, 7, 9, 3, 1),
    (3, 20, 14, 14, 33, 1),
    (2, 3, 5, 6, 70, 0),
    (1, 20, 17, 150, 24, 1),
    (2, 130, 9, 9, 100, ((2, 0), (1, 3))),
    (1, 4, 1, 1, 4, 1),
    (4, 150, 4, 4, 130, 1),
]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_against_float64(shape, tile: int) -> None:
    """Sizes that tiles, vectors and blocks do not divide; images side by side; both layouts."""
    n, depth, high, wide, filters, padding = shape
    x, w = normal(n, depth, high, wide), normal(filters, depth, 3, 3, seed=1)
    want = exact(x, w, ((padding, padding), (padding, padding)) if isinstance(padding, int) else padding)
    for layout in ("NCHW", "NHWC"):
        got = conv(x, w, tile, layout, padding)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=0, atol=3e-6 * np.abs(want).max())


@pytest.mark.parametrize("tile", TILES)
def test_errors_of_random_inputs_are_near_those_of_the_direct_form(tile: int) -> None:
    x, w = normal(1, 64, 16, 16), normal(16, 64, 3, 3, seed=1)
    want = exact(x, w)
    errors = [np.sqrt(np.mean((conv(x, w, by) - want) ** 2)) for by in (1, tile)]
    assert errors[1] < {2: 1.5, 4: 3.0}[tile] * errors[0]


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("kind", ["random", "aligned", "spike"])
def test_errors_stay_within_the_bound(tile: int, kind: str) -> None:
    """Also where all terms of the transforms have one sign, and where one large element stands beside small ones."""
    x, w = normal(1, 32, 13, 11), normal(8, 32, 3, 3, seed=1)
    if kind == "aligned":
        signs = np.sign(transforms(tile).image[1]).astype(np.float32)
        x = np.abs(x) * np.resize(signs, (13, 1)) * np.resize(signs, (1, 11))
        w = np.abs(w)
    elif kind == "spike":
        x *= np.float32(1e-4)
        x[0, :, 6, 5] = 1e4
    error = np.abs(conv(x, w, tile) - exact(x, w)).max()
    assert error <= bound(x, w, tile)


def test_one_element_spoils_the_tile_that_reads_it() -> None:
    """The price that is stated: what is not finite spreads over a tile, no further."""
    x, w = normal(1, 16, 16, 16), normal(16, 16, 3, 3, seed=1)
    want = conv(x, w, 4)
    x[0, 3, 1, 1] = np.inf
    got = conv(x, w, 4)
    assert np.isnan(got[0, :, :4, :4]).all()
    np.testing.assert_array_equal(got[0, :, 4:, 4:], want[0, :, 4:, 4:])


@pytest.mark.parametrize("dims", [("n", None, None, None), (None, None, "h", "w")], ids=str)
def test_open_sizes(dims) -> None:
    """The schedule has one image a block where their number is open; where the image is, it is the default one."""
    w = normal(64, 64, 3, 3, seed=1)
    f = lm.jit(lambda x, w: lm.nn.conv2d(x, w, padding=1), dynamic={"x": dims})
    for n in (2, 1, 3):
        x = normal(n if dims[0] else 2, 64, 8 + n * (dims[0] is None), 8)
        want = exact(x, w, ((1, 1), (1, 1)))
        np.testing.assert_allclose(f(x, w), want, rtol=0, atol=3e-6 * np.abs(want).max())


def test_default_is_in_tiles_where_there_is_much_to_compute() -> None:
    x, w = normal(1, 64, 32, 32), normal(64, 64, 3, 3, seed=1)
    np.testing.assert_array_equal(conv(x, w, None), conv(x, w, 4))
    small = normal(1, 4, 8, 8), normal(4, 4, 3, 3, seed=1)
    np.testing.assert_array_equal(conv(*small, None), conv(*small, 1))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_what_follows_is_computed_too(layout: str) -> None:
    x, w = normal(2, 24, 10, 13), normal(40, 24, 3, 3, seed=1)
    rest, bias = normal(2, 40, 10, 13, seed=2), normal(40, seed=3)
    want = np.maximum(exact(x, w) + bias[:, None, None] + rest, 0)
    args = (x, w, bias[:, None, None].copy(), rest)
    if layout == "NHWC":
        args = (x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy(), bias, rest.transpose(0, 2, 3, 1).copy())

    def block(x, w, bias, rest):
        return lm.nn.relu(lm.nn.conv2d(x, w, 1, 1, layout=layout, tile=4) + bias + rest)

    got = lm.jit(block)(*args)
    got = got.transpose(0, 3, 1, 2) if layout == "NHWC" else got
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


@pytest.mark.thorough
def test_one_convolution_after_the_other() -> None:
    """The image between them is not transposed back and forth."""
    x, w, bias = normal(1, 24, 14, 13), normal(24, 24, 3, 3, seed=1) / np.float32(15), normal(24, seed=2)
    want = exact(np.maximum(exact(x, w) + bias[:, None, None], 0), w)

    def two(x, w, bias):
        def conv(x):
            return lm.nn.conv2d(x, w, 1, 1, tile=4)

        return conv(lm.nn.relu(conv(x) + bias.reshape(-1, 1, 1)))

    np.testing.assert_allclose(lm.jit(two)(x, w, bias), want, rtol=0, atol=1e-5 * np.abs(want).max())
    assert lm.jit(two).lower(x, w, bias).as_text("optimized").count("graph.transpose") == 2


@pytest.mark.parametrize("tile", [1, 4])
def test_gradients(tile: int) -> None:
    x, w = normal(1, 16, 9, 10), normal(24, 16, 3, 3, seed=1)

    def gradients(tile: int | None):
        return lm.jit(lm.grad(lambda x, w: (lm.nn.conv2d(x, w, 1, 1, tile=tile) ** 2).sum(), argnums=(0, 1)))(x, w)

    for got, want in zip(gradients(tile), gradients(None), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-5 * np.abs(want).max())


def test_batches_of_images_and_of_filters() -> None:
    x, w = normal(3, 2, 8, 6, 7), normal(3, 9, 8, 3, 3, seed=1)

    def one(x, w):
        return lm.nn.conv2d(x, w, 1, 1, tile=4)

    got = lm.jit(lm.vmap(one))(x, w)
    images = lm.jit(lm.vmap(one, in_axes=(0, None)))(x, w[0])
    for k in range(3):
        np.testing.assert_allclose(got[k], exact(x[k], w[k]), rtol=0, atol=1e-4)
        np.testing.assert_allclose(images[k], exact(x[k], w[0]), rtol=0, atol=1e-4)


@pytest.mark.parametrize("depth", [64, 200])
def test_any_number_of_threads_gives_the_same(depth: int) -> None:
    x, w = normal(1, depth, 22, 21), normal(96, depth, 3, 3, seed=1)
    before, found = threads.get_threads(), []
    try:
        for count in (1, 2):
            threads.set_threads(count)
            found.append(conv(x, w, 4))
    finally:
        threads.set_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("sizes", [(1, 14, 14), (8, 4, 4), (6, 1, 2), (1, 3, 400), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("features", [(1, 1), (64, 64), (256, 256), (600, 72), (3, 1000)], ids=str)
@pytest.mark.parametrize("tile", TILES)
def test_blocks_fit_the_cache(sizes, features, tile: int) -> None:
    by, (depth, filters) = transforms(tile), features
    blocks = find_blocks(sizes, depth, filters, by.size**2, TARGET.lanes(32), TARGET.l2_bytes)
    of_point = by.size**2 * 4
    assert sizes[0] % blocks.images == 0
    assert blocks.columns * blocks.count >= filters > blocks.columns * (blocks.count - 1)
    assert blocks.rows <= sizes[1] and blocks.width <= sizes[2] and 1 <= blocks.depth <= depth
    assert blocks.images == 1 or (blocks.rows, blocks.width) == sizes[1:]
    assert blocks.columns * blocks.depth * of_point <= TARGET.l2_bytes // 2 or blocks.depth == 1
    assert blocks.tiles * blocks.columns * of_point <= TARGET.l2_bytes // 2 or blocks.tiles == 1


@pytest.mark.parametrize(("features", "divided"), [(64, 0), (5, 4)])
def test_the_copy_with_padding_becomes_vectors_once(features: int, divided: int) -> None:
    """Before it is divided into what is padding and what is not, unless there are fewer features than lanes."""
    x, w = normal(1, 14, 14, features), normal(3, 3, features, 64)
    function = lm.jit(lambda x, w: lm.nn.conv2d(x, w, padding=1, layout="NHWC", tile=2))
    module = parse_module(make_context(), function.lower(x, w).as_text("loop", "x86-64-v3{l2=2M}"))
    steps: list[str] = []
    schedule_module(module, lambda kernel, taken: steps.append(taken.step.as_text()))
    assert any(step.startswith("loop-partition") for step in steps)
    widened = [step for step in steps if step.startswith("loop-vectorize") and ("_start" in step or "_end" in step)]
    assert len(widened) == divided


EDITS = {"lanes=": r"lanes=2", "factor=": "factor=2", "size=": "size=1", "pad=": "pad=2"}


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(1, 24, 24, 20, 48), (2, 70, 9, 13, 70)], ids=str)
def test_the_schedule_is_edited_and_replayed(shape) -> None:
    """The default schedule as text, and with each number replaced by another, gives the same results."""
    n, depth, high, wide, filters = shape
    args = [normal(n, high, wide, depth), normal(3, 3, depth, filters, seed=1)]
    function = lm.jit(lambda x, w: lm.nn.conv2d(x, w, padding=1, layout="NHWC", tile=2))
    text = function.lower(*args).as_text("loop", "x86-64-v2{l2=32K}")
    steps: list[str] = []
    schedule_module(parse_module(make_context(), text), lambda kernel, taken: steps.append(taken.step.as_text()))
    for name in ("loop-compute-at", "loop-collapse-dims", "loop-demote", "loop-unroll-and-jam"):
        assert any(step.startswith(name) for step in steps)
    want = exact(args[0].transpose(0, 3, 1, 2), args[1].transpose(3, 2, 0, 1)).transpose(0, 2, 3, 1)
    padded = any(step.startswith("loop-pad") for step in steps)  # these say the size of a block, too
    edits = [(k, word) for k, step in enumerate(steps) for word in EDITS if word in step and (word != "size=" or not padded)]
    edits = [(k, word) for k, word in edits if word != "factor=" or not any("_rest" in step for step in steps[k + 1 :])]
    for k, word in [(None, "lanes="), *edits]:
        module = parse_module(make_context(), text)
        edited = [re.sub(rf"{word}\d+", EDITS[word], step) if at == k else step for at, step in enumerate(steps)]
        replay(kernels.find_kernel(module), ",".join(edited))
        np.testing.assert_allclose(executor.program(module).run(args), want, rtol=0, atol=3e-6 * np.abs(want).max())


def test_tiles_that_there_are_not() -> None:
    x, w = normal(1, 4, 8, 8), normal(4, 4, 3, 3)
    for tile, stride, dtype in ((3, 1, "f4"), (4, 2, "f4"), (4, 1, "f8")):
        with pytest.raises(ShapeError, match="tile must be of ones"):
            lm.nn.conv2d(x.astype(dtype), w.astype(dtype), stride, 1, tile=tile)

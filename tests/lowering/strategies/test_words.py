"""Products of bytes and of bf16 numbers by words: the same numbers on targets with the instructions and without."""

from __future__ import annotations

import itertools

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest
from lamina.codegen.targets import get
from lamina.codegen.targets.host import detect, host, why_not_here
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.runtime.interpreter import interpret

from tests.properties.test_half import run

WITH_WORDS = "{features=+avx512vnni,+avx512bf16}"
NARROW = "x86-64-v4{features=+avx512vnni,+avx512bf16 vector=256 tile=4x2}"
TARGETS = [text for text in ("x86-64-v4" + WITH_WORDS, NARROW, "host") if not why_not_here(get(text))]
BYTES = [np.dtype(np.int8), np.dtype(np.uint8)]
RNG = np.random.default_rng(5)


def drawn(shape, dtype):
    """Numbers of the whole range."""
    if dtype in BYTES:
        return RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)
    return RNG.normal(size=shape).astype(dtype)


def product(x, y):
    return lnp.matmul(x, y, preferred_element_type=np.int32)


def words(function, target, *args):
    """How many products a program makes by words."""
    return lm.jit(function).lower(*args).as_text("optimized", target=str(target)).count("graph.dot_words")


@pytest.mark.parametrize("target", TARGETS)
def test_products_of_bytes_are_exact(target):
    target = get(target)
    for (m, k, n), left, right in itertools.product([(33, 131, 50), (64, 256, 17)], BYTES, BYTES):
        x, y = drawn((m, k), left), drawn((k, n), right)
        found = run(product, target, x, y)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, x.astype(np.int64) @ y.astype(np.int64))
        if target.has_any(("avx512vnni",)):
            assert words(product, target, x, y) == 1


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("target", TARGETS)
def test_dims_of_products_in_any_order(target):
    target = get(target)
    cases = {
        "ik,jk->ij": ((40, 64), (24, 64)), "ki,kj->ij": ((64, 40), (64, 24)), "bik,bkj->bij": ((3, 16, 68), (3, 68, 32)),
        "kbi,jbk->bij": ((68, 3, 16), (32, 3, 68)), "ik,k->i": ((64, 64), (64,)), "abk,ck->abc": ((5, 8, 64), (32, 64)),
    }  # fmt: skip
    for subscripts, shapes in cases.items():
        for left, right in itertools.product(BYTES, BYTES):
            x, y = drawn(shapes[0], left), drawn(shapes[1], right)
            found = run(lambda x, y, s=subscripts: lnp.einsum(s, x, y, preferred_element_type=np.int32), target, x, y)
            np.testing.assert_array_equal(found, np.einsum(subscripts, x.astype(np.int64), y.astype(np.int64)), subscripts)


@pytest.mark.parametrize("target", TARGETS)
def test_products_of_bf16_are_summed_in_f32(target):
    target = get(target)
    for m, k, n in ((33, 130, 50), (16, 256, 64), (33, 131, 50)):
        x, y = drawn((m, k), ml_dtypes.bfloat16), drawn((k, n), ml_dtypes.bfloat16)
        found = run(lambda x, y: lnp.matmul(x, y, preferred_element_type=np.float32), target, x, y)
        exact = x.astype(np.float64) @ y.astype(np.float64)
        sizes = np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64))
        assert (np.abs(found - exact) <= k * 2.0**-24 * sizes).all()  # products are exact, each sum rounds
    x = drawn((16, 64), ml_dtypes.bfloat16)
    x[3, 5], x[4, 6], x[5] = np.nan, np.inf, 0
    with np.errstate(all="ignore"):
        found = run(lambda x: lnp.matmul(x, x.T, preferred_element_type=np.float32), target, x)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(x.astype(np.float32) @ x.astype(np.float32).T))


@pytest.mark.parametrize("target", TARGETS)
def test_zero_points_leave_the_sums(target):
    """Differences of bytes and a number, which is an argument; sums are exact in integers that wrap."""
    target = get(target)

    def shifted(x, p, y, q):
        return lnp.matmul(x.astype(np.int32) - p, y.astype(np.int32) - q)

    for (m, k, n), left, right in itertools.product([(33, 131, 50), (16, 64, 17)], BYTES, BYTES):
        x, y = drawn((m, k), left), drawn((k, n), right)
        for p, q in itertools.product(map(np.int32, (0, -128, 255)), map(np.int32, (3, 200))):
            wanted = (x.astype(np.int64) - p) @ (y.astype(np.int64) - q)
            np.testing.assert_array_equal(run(shifted, target, x, np.asarray(p), y, np.asarray(q)), wanted)


def random_convolution(rng, element):
    """A quantized image, filters, their scales and zero point, and the options of a convolution."""
    rank, groups = rng.integers(1, 3), rng.choice([1, 1, 2])
    depth, filters = groups * rng.choice([1, 3, 4, 8, 9] if groups == 1 else [4, 8]), groups * rng.integers(8, 20)
    window, size = rng.integers(1, 4, rank), rng.integers(6, 14, rank)
    low = int(np.iinfo(element).min)
    q = rng.integers(low, low + 256, (rng.integers(1, 3), depth, *size)).astype(element)
    w = rng.integers(-128, 128, (filters, depth // groups, *window)).astype(np.int8)
    scales = rng.uniform(0.01, 0.1, (filters,)).astype(np.float32)
    zero = int(rng.choice([low, low + 128, low + 255, rng.integers(low, low + 256)]))
    options = {
        "window_strides": tuple(map(int, rng.integers(1, 3, rank))),
        "padding": [tuple(map(int, rng.integers(0, 3, 2))) for _ in range(rank)],
        "rhs_dilation": tuple(map(int, rng.integers(1, 3, rank))),
        "feature_group_count": int(groups),
    }
    return q, w, scales, zero, options


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize("seed", range(24))
def test_convolutions_of_quantized_numbers(seed):
    """In integers the sums are exact; in floats, too, where they are brought to integers, else as those of floats."""
    rng = np.random.default_rng(seed)
    for target, element in itertools.product(TARGETS, BYTES):
        q, w, scales, zero, options = random_convolution(rng, element)

        def layer(q, w, scales, zero=zero, options=options):
            x = (q.astype(np.int32) - zero).astype(np.float32) * np.float32(0.5)
            f = w.astype(np.int32).astype(np.float32) * scales.reshape(-1, *[1] * (w.ndim - 1))
            return lm.lax.conv_general_dilated(x, f, **options)

        def integers(q, w, zero=zero, options=options):
            return lm.lax.conv_general_dilated(q.astype(np.int32) - zero, w.astype(np.int32), **options)

        exact = np.asarray(lm.lax.conv_general_dilated(q.astype(np.float64) - zero, w.astype(np.float64), **options))
        np.testing.assert_array_equal(run(integers, get(target), q, w), exact)
        scale = np.float32(0.5) * scales.reshape(-1, *[1] * (w.ndim - 2))
        found = run(layer, get(target), q, w, scales)
        sizes = [np.abs(a.astype(np.float64)) for a in (q.astype(np.int32) - zero, w)]
        bound = 2.0**-24 * (w[0].size + 4) * np.asarray(lm.lax.conv_general_dilated(*sizes, **options)) * scale
        assert (np.abs(found - exact * scale.astype(np.float64)) <= bound).all()


@pytest.mark.parametrize("dtype", BYTES)
def test_weights_are_packed_once(dtype):
    """Arrays that a function closes over become what its products read; calls see the same numbers."""
    w, x = drawn((130, 48), dtype), drawn((40, 130), np.int8)
    function = lm.jit(lambda x: product(x, w))
    np.testing.assert_array_equal(function(x), x.astype(np.int64) @ w.astype(np.int64))
    np.testing.assert_array_equal(function.lower(x).compile()(x), x.astype(np.int64) @ w.astype(np.int64))
    (made,) = function._dispatcher.specializations.values()
    if host().has_any(("avx512vnni", "avxvnni")):
        assert {(a.dtype.name, a.shape) for a in made.traced.captured} >= {("int32", (33, 48))}
    table = drawn((300, 40), dtype)  # not of a product: read as it is
    np.testing.assert_array_equal(lm.jit(lambda i: table[i])(np.int64(7)), table[7])


def test_phases_mean_the_same():
    """The interpreter knows words at every level."""
    x, y = drawn((16, 132), np.int8), drawn((132, 40), np.int8)
    wanted = x.astype(np.int32) @ y.astype(np.int32)
    lowered = lm.jit(product).lower(x, y)
    for phase in ("optimized", "loop", "scheduled"):
        module = parse_module(make_context(), lowered.as_text(phase, target="x86-64-v4" + WITH_WORDS))
        np.testing.assert_array_equal(interpret(module, "main", [x, y])[0], wanted, phase)


def test_quantized_layers_are_differentiated_and_mapped():
    w, scale = drawn((64, 32), np.int8), np.float32(0.01)

    def layer(x, scale):
        q = lnp.clip(lnp.round(x / scale), -128, 127).astype(np.int8)
        return product(q, w).astype(np.float32) * scale

    x = RNG.normal(size=(16, 64)).astype(np.float32)
    q = np.clip(np.round(x / scale), -128, 127).astype(np.int32)
    wanted = (q @ w.astype(np.int32)).astype(np.float32) * scale
    np.testing.assert_allclose(lm.jit(layer)(x, scale), wanted, rtol=1e-6)
    np.testing.assert_allclose(lm.vmap(lambda row: layer(row, scale))(x), wanted, rtol=1e-6)
    slope = lm.grad(lambda scale: lnp.sum(layer(x, scale)))(scale)
    np.testing.assert_allclose(slope, wanted.astype(np.float64).sum() / scale, rtol=1e-4)


def test_the_host_uses_what_it_has():
    x, y = drawn((64, 64), np.int8), drawn((64, 64), np.int8)
    target = detect()
    assert words(product, target, x, y) == target.has_any(("avx512vnni", "avxvnni"))

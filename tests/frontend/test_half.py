"""float16 and bfloat16: stored as they are, computed with in float32, converted bit for bit as NumPy and ml_dtypes do."""

from __future__ import annotations

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest
from lamina import pipeline
from lamina.codegen.targets.host import host
from lamina.codegen.targets.x86_64_v2 import TARGET as WITHOUT_F16
from lamina.runtime.callable import NativeFunction

HALVES = [np.float16, ml_dtypes.bfloat16]
TARGETS = [host(), *([WITHOUT_F16] if "x86" in host().triple else [])]


def same_bits(x, y):
    x, y = np.asarray(x), np.asarray(y)
    assert x.dtype == y.dtype
    bits = f"u{x.itemsize}"
    nan = np.isnan(x.astype(np.float64)) & np.isnan(y.astype(np.float64))
    assert ((x.view(bits) == y.view(bits)) | nan).all()


def run(function, target, *args):
    executable = pipeline.build(lm.jit(function).lower(*args).module, target=target)
    native = NativeFunction(lambda *a: pytest.fail("the arguments fit"))
    native.install(executable)
    return native(*args)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("half", HALVES)
def test_every_value_to_float32(half, target):
    x = np.arange(1 << 16, dtype=np.uint16).view(half)
    with np.errstate(all="ignore"):
        same_bits(run(lambda x: x.astype(np.float32), target, x), x.astype(np.float32))


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("half", HALVES)
def test_from_float32_to_the_nearest(half, target):
    with np.errstate(all="ignore"):
        exact = np.arange(1 << 16, dtype=np.uint16).view(half).astype(np.float32).view(np.uint32).astype(np.int64)
        # around every value, and around the middle to the next one in the last bits of either format
        near = (exact[:, None] + np.array([0, 1, -1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001])).astype(np.uint32)
        x = np.concatenate([near.ravel(), np.random.default_rng(0).integers(0, 1 << 32, 100_000, dtype=np.uint32)])
        same_bits(run(lambda x: x.astype(half), target, x.view(np.float32)), x.view(np.float32).astype(half))


@pytest.mark.parametrize("half", HALVES)
def test_products_accumulate_in_float32(half):
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 1, (33, 500)).astype(half), rng.uniform(-1, 1, (500, 17)).astype(half)
    found = lm.jit(lambda a, b: a @ b)(a, b)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("half", HALVES)
def test_results_are_float32_until_converted(half):
    x = np.linspace(-2, 2, 7).astype(half)
    wide = x.astype(np.float32)
    for f in (lnp.exp, lambda x: lnp.add(x, x), lambda x: lnp.multiply(x, 2), lm.nn.softmax, lnp.sum, lnp.flip, lnp.negative):
        for found in (f(x), lm.jit(f)(x)):
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, f(wide), rtol=1e-6)
    stored = lm.jit(lambda x: (x, x.astype(half), lnp.tanh(x).astype(half)))(x)
    assert [r.dtype for r in stored] == [np.dtype(half)] * 3
    same_bits(stored[0], x)
    assert lnp.add(x, np.float64(1)).dtype == np.float64
    assert lm.jit(lambda v: v.astype(half))(np.arange(5)).dtype == half


@pytest.mark.parametrize("half", HALVES)
def test_gradients_have_the_dtype_of_the_argument(half):
    x = np.linspace(-2, 2, 7).astype(half)
    gradient = lm.grad(lambda x: lnp.sum(lnp.tanh(x) * x))(x)
    assert gradient.dtype == half
    wide = x.astype(np.float64)
    wanted = np.tanh(wide) + wide / np.cosh(wide) ** 2
    np.testing.assert_allclose(gradient.astype(np.float64), wanted, rtol=2 * ml_dtypes.finfo(half).eps, atol=0)
    assert lm.grad(lambda x, y: lnp.sum(y), argnums=0)(x, x).tolist() == [0.0] * 7


@pytest.mark.parametrize("half", HALVES)
def test_batches_loops_and_closures(half):
    x = np.arange(12).reshape(3, 4).astype(half)
    assert lm.vmap(lambda row: lnp.sum(row))(x).tolist() == [6.0, 22.0, 38.0]
    total, _ = lm.scan(lambda c, row: (c + lnp.sum(row), None), np.float32(0), x)
    assert total == 66
    assert lm.jit(lambda y: y + x)(np.float32(1)).dtype == np.float32


def test_what_is_refused():
    with pytest.raises(lm.DTypeError, match="for storage float16 and bfloat16"):
        lnp.exp(np.zeros(3, np.clongdouble))


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("rows", [None, 1, 2, 20, 64], ids=str)
@pytest.mark.parametrize("transposed", [False, True], ids=["n", "t"])
def test_a_large_matrix_is_converted_where_it_is_read(half, rows, transposed):
    """No array in float32 is made of it, and the sums are those of one."""
    rng = np.random.default_rng(2)
    shape = (1031, 521) if transposed else (521, 1031)
    x, w = rng.uniform(-1, 1, 521 if rows is None else (rows, 521)).astype(np.float32), rng.uniform(-1, 1, shape).astype(half)

    def product(x, w):
        w = w.astype(np.float32)
        return x @ (w.T if transposed else w)

    jitted = lm.jit(product)
    assert jitted.lower(x, w).as_text("loop").count("loop.launch") == 1
    np.testing.assert_allclose(jitted(x, w), product(x.astype(np.float64), w), rtol=0, atol=521 * np.finfo(np.float32).eps)

"""float16 and bfloat16: computed with in float32, rounded once a function, converted bit for bit as NumPy and ml_dtypes do."""

from __future__ import annotations

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest
from lamina.codegen.targets.host import host
from lamina.codegen.targets.x86_64_v2 import TARGET as WITHOUT_F16
from lamina.executor import executor
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
    executable = executor.program(lm.jit(function).lower(*args).module, target=target)
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
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    found = lm.jit(lambda a, b: a @ b)(a, b)
    assert found.dtype == half
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=ml_dtypes.finfo(half).eps / 2, atol=1e-4)
    found = lm.jit(lambda a, b: lnp.matmul(a, b, preferred_element_type=np.float32))(a, b)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


FUNCTIONS = {
    "exp": lnp.exp, "add": lambda x: x + x, "number": lambda x: lnp.multiply(x, 2.5), "softmax": lm.nn.softmax, "sum": lnp.sum,
    "mean": lnp.mean, "var": lnp.var, "prod": lnp.prod, "flip": lnp.flip, "negative": lnp.negative, "sort": lnp.sort,
    "cumsum": lnp.cumsum, "norm": lm.nn.layer_norm, "slice": lambda x: x[1:], "where": lambda x: lnp.where(x > 0, x, 0.5),
    "set": lambda x: lnp.asarray(x).at[1].set(2.5), "take": lambda x: lnp.take(x, np.arange(3)), "gelu": lm.nn.gelu,
    "modf": lambda x: lnp.modf(x)[0], "stack": lambda x: lnp.stack([x, x]), "norm2": lm.linalg.norm,
}  # fmt: skip


@pytest.mark.parametrize("half", HALVES)
def test_a_function_rounds_what_it_has_computed_once(half):
    x = np.linspace(-2, 2, 7).astype(half)
    wide = x.astype(np.float32)
    compiled = lm.jit(lambda x: [f(x) for f in FUNCTIONS.values()])(x)
    with np.errstate(all="ignore"):
        for (name, f), found in zip(FUNCTIONS.items(), compiled, strict=True):
            wanted = np.asarray(f(wide))
            for y in (f(x), found):
                assert y.dtype == half, name
                # twice the rounding of a half: what is rounded may lie on the other side of a middle
                np.testing.assert_allclose(
                    y.astype(np.float32), wanted, rtol=ml_dtypes.finfo(half).eps, atol=1e-6, err_msg=name
                )


@pytest.mark.parametrize("half", HALVES)
def test_each_operation_rounds(half):
    """No result has more digits than its dtype, wherever it is fused: `(x + 1) - x` is what NumPy gives."""
    x = (np.arange(200) / 7 + 300).astype(half)
    for f in (lambda x: (x + 1) - x, lambda x: x * x / x, lambda x: lnp.sum(x * 3) - lnp.sum(x)):
        with np.errstate(all="ignore"):
            same_bits(lm.jit(f)(x), np.asarray(f(lnp.asarray(x))))
    with np.errstate(all="ignore"):
        same_bits(lm.jit(lambda x: (x * x + 1) - x / 3)(x), (x * x + half(1)) - x / half(3))


@pytest.mark.parametrize("half", HALVES)
def test_dtypes_of_results(half):
    x = np.linspace(-2, 2, 7).astype(half)
    stored = lm.jit(lambda x: (x, x.astype(half), lnp.tanh(x).astype(half)))(x)
    assert [r.dtype for r in stored] == [np.dtype(half)] * 3
    same_bits(stored[0], x)
    other = HALVES[HALVES.index(half) - 1]
    pairs = {
        np.float64: np.float64,
        np.float32: np.float32,
        np.int8: half,
        np.bool_: half,
        np.complex64: np.complex64,
        other: np.float32,
    }
    for dtype, wanted in pairs.items():
        y = np.ones(7, dtype)
        assert lnp.add(x, y).dtype == lnp.where(y != 0, x, y).dtype == lm.jit(lnp.multiply)(x, y).dtype == wanted
    for asked in (np.float32, "float32", np.dtype("float32")):
        assert (
            lnp.sum(x, dtype=asked).dtype
            == lnp.astype(x, asked).dtype
            == lm.jit(lambda x, d=asked: x.astype(d))(x).dtype
            == np.float32
        )
    assert lnp.argsort(x).dtype == np.int64
    assert (lnp.asarray(x) > 1).dtype == bool
    assert lm.jit(lambda v: v.astype(half))(np.arange(5)).dtype == half


@pytest.mark.parametrize("half", HALVES)
def test_gradients_have_the_dtype_of_the_argument(half):
    x = np.linspace(-2, 2, 7).astype(half)
    gradient = lm.grad(lambda x: lnp.sum(lnp.tanh(x) * x))(x)
    assert gradient.dtype == half
    wide = x.astype(np.float64)
    wanted = np.tanh(wide) + wide / np.cosh(wide) ** 2
    # tanh, two products and a sum are rounded
    np.testing.assert_allclose(gradient.astype(np.float64), wanted, rtol=3 * ml_dtypes.finfo(half).eps, atol=0)
    assert lm.grad(lambda x, y: lnp.sum(y), argnums=0)(x, x).tolist() == [0.0] * 7


@pytest.mark.parametrize("half", HALVES)
def test_batches_loops_and_closures(half):
    x = np.arange(12).reshape(3, 4).astype(half)
    assert lm.vmap(lambda row: lnp.sum(row))(x).tolist() == [6.0, 22.0, 38.0]
    for start in (np.float32(0), half(0)):
        total, _ = lm.scan(lambda c, row: (c + lnp.sum(row), None), start, x)
        assert total == 66
        assert total.dtype == start.dtype
    assert lm.jit(lambda y: y + x)(np.float32(1)).dtype == np.float32
    _, pull = lm.vjp(lambda x: lm.vmap(lnp.sum)(x) * 2, x)
    (slopes,) = pull(np.ones(3, half))
    assert slopes.dtype == half
    assert (slopes == 2).all()
    value, change = lm.jvp(lambda x: lnp.exp(x), (x,), (np.ones_like(x),))
    same_bits(value, change)
    assert value.dtype == half
    twice = lm.jit(lambda x: lm.cond(x[0, 0] > 1, lambda x: x * 2, lambda x: x - 1, x))(x)
    same_bits(twice, x - half(1))
    many = lm.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1]
    same_bits(many, x * half(32))


def test_gradients_through_loops_that_close_over_halves():
    """The cotangents of what all iterations read are added up."""
    w = np.full((2, 2), 0.25)
    x = np.array([[0.5, 1.0], [0.25, -1.0], [1.0, 0.0]])

    def loss(w, x):
        def step(h, row):
            h = lnp.tanh(h @ w + row)
            return h, h

        return lm.scan(step, x[0], x)[1].astype(np.float32).sum()

    expected = lm.grad(loss)(w, x)
    for half in HALVES:
        found = lm.jit(lm.grad(loss))(w.astype(half), x.astype(half))
        assert found.dtype == half
        # three sums of a few products, each rounded to a half
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=20 * float(ml_dtypes.finfo(half).eps))


def test_what_is_refused():
    with pytest.raises(lm.DTypeError, match="nextafter takes float32 and float64, got float16, which is computed in float32"):
        lnp.nextafter(np.ones(2, np.float16), np.ones(2, np.float16))
    with pytest.raises(lm.DTypeError, match="for storage float16 and bfloat16"):
        lnp.exp(np.zeros(3, np.clongdouble))


@pytest.mark.thorough(every=8)
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


CHANGES = {
    "insert": lambda a, v: lnp.insert(a, 2, v),
    "put": lambda a, v: lnp.put(a, [2], v, inplace=False),
    "put_along_axis": lambda a, v: lnp.put_along_axis(a, np.array([2]), v, 0, inplace=False),
    "place": lambda a, v: lnp.place(a, np.arange(4) == 2, lnp.asarray([v]), inplace=False),
    "fill_diagonal": lambda a, v: lnp.fill_diagonal(lnp.stack([a, a]), v, inplace=False)[0][:1].repeat(3),
    "at": lambda a, v: lnp.asarray(a).at[2].set(v),
}


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", CHANGES)
def test_wider_values_that_are_stored_are_rounded_once(name: str, dtype: type) -> None:
    """A value just above the middle of two halves, by less than a float32 tells."""
    step = float(ml_dtypes.finfo(dtype).eps)
    value = np.float64(1 + step / 2 + 2.0**-30)
    for f in (CHANGES[name], lm.jit(CHANGES[name])):
        changed = np.asarray(f(np.zeros(4, dtype), value))
        assert (changed.dtype, float(changed[2])) == (dtype, 1 + step)

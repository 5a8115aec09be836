"""`lm.config`: promotion as NumPy, as jax and strict, for all pairs of dtypes and Python numbers; no dtypes of 64 bits."""

from __future__ import annotations

import threading

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest
from lamina.dialects.element_types import TABLE

from tests.oracles import by_jax

DTYPES = [row.dtype for row in TABLE]
OF_NUMPY = [dtype for dtype in DTYPES if dtype.isbuiltin == 1]
NUMBERS = [2, 2.5, 2j, True]


def of(dtype):
    return np.ones(2, dtype)


def given(f, *args):
    """The dtype of a result, or that there is none."""
    try:
        return str(f(*args).dtype)
    except (TypeError, lm.DTypeError):
        return "none"


@pytest.mark.thorough
def test_numpy_is_asked_by_default():
    for a in OF_NUMPY:
        for b in OF_NUMPY:
            assert lnp.result_type(a, b) == lnp.promote_types(a, b) == np.result_type(a, b)
            assert lnp.add(of(a), of(b)).dtype == np.add(of(a), of(b)).dtype
            assert lnp.stack([of(a), of(b)]).dtype == np.result_type(a, b)
        for number in NUMBERS:
            assert lnp.multiply(of(a), number).dtype == np.multiply(of(a), number).dtype, (a, number)


def test_casts_of_traced_arrays_are_those_of_their_dtypes():
    @lm.jit(capture="trace")
    def widened(x):
        assert lnp.can_cast(x, np.float64) and not lnp.can_cast(x, "float16") and lnp.can_cast(x, "f2", casting="same_kind")
        assert lnp.can_cast("int8", x.dtype) and not np.can_cast(x, np.int32)
        return x

    widened(np.ones(3, np.float32))


def test_dtypes_that_numpy_lacks_follow_jax_beside_numbers_and_integers():
    half = ml_dtypes.bfloat16
    for b in (np.bool_, np.int8, np.int64, np.uint32):
        assert lnp.add(of(half), of(b)).dtype == half
    assert [lnp.add(of(half), number).dtype for number in NUMBERS] == [half, half, np.complex64, half]
    assert lnp.add(of(half), of(np.float16)).dtype == np.float32


TABLE_OF_JAX = """
import ml_dtypes
def dtype_of(f):
    try:
        return str(jax.eval_shape(f).dtype)
    except Exception:
        return "none"
names = str(names_given).split()
numbers = [2, 2.5, 2j, True]
results = []
for strict in (False, True):
    for x64 in (True, False):
        with jax.numpy_dtype_promotion("strict" if strict else "standard"), jax.enable_x64(x64):
            arrays = [jnp.ones(2, n) for n in names]
            found = [dtype_of(lambda: jnp.add(a, b)) for a in arrays for b in [*arrays, *numbers]]
            if not strict:
                found += [dtype_of(lambda: jnp.sin(a)) for a in arrays]
                found += [dtype_of(lambda: jnp.true_divide(a, b)) for a in arrays for b in arrays]
                found += [dtype_of(lambda: (a + 1.5) * jnp.ones(2, jnp.float16)) for a in arrays]
                found += [dtype_of(lambda: jnp.equal(a, b)) for a in arrays for b in arrays]
            results.append(np.array(" ".join(found)))
"""


@pytest.mark.thorough
def test_jax_and_strict_promotion_are_those_of_jax():
    names = [str(dtype) for dtype in DTYPES]
    tables = [str(x).split() for x in by_jax(TABLE_OF_JAX, {"names_given": np.array(" ".join(names))})]
    cases = [(strict, x64) for strict in (False, True) for x64 in (True, False)]
    for (strict, x64), wanted in zip(cases, tables, strict=True):
        with lm.config(promotion="strict" if strict else "jax", x64=x64):
            arrays = [of(n) for n in DTYPES]
            labels = [(a, b) for a in names for b in [*names, *NUMBERS]]
            found = [given(lnp.add, a, b) for a in arrays for b in [*arrays, *NUMBERS]]
            if not strict:
                labels += [("sin", a) for a in names]
                found += [given(lnp.sin, a) for a in arrays]
                labels += [("/", a, b) for a in names for b in names]
                found += [given(lnp.true_divide, a, b) for a in arrays for b in arrays]
                labels += [("weak", a) for a in names]
                found += [given(lm.jit(lambda a: (a + 1.5) * of(np.float16)), a) for a in arrays]
                labels += [("==", a, b) for a in names for b in names]
                found += [given(lnp.equal, a, b) for a in arrays for b in arrays]
        wrong = [(label, x, y) for label, x, y in zip(labels, found, wanted, strict=True) if x != y]
        assert not wrong, (strict, x64)


def test_strict_promotion_is_of_what_the_user_calls():
    x, n = of(np.float32), of(np.int32)
    with lm.config(promotion="strict"):
        with pytest.raises(lm.DTypeError, match="float32 and int32 have no common dtype, strict promotion"):
            lnp.add(x, n)
        with pytest.raises(lm.DTypeError, match="strict promotion"):
            lm.jit(lambda x, n: lnp.where(x > 0, x, n))(x, n)
        with pytest.raises(lm.DTypeError, match="strict promotion"):
            lnp.concatenate([x, n])
        assert lnp.mean(n) == 1  # which divides by a number inside
        assert lm.nn.softmax(x).dtype == np.float32
        assert (lm.jit(lambda x: x * 2 + 0.5)(x)).dtype == np.float32
        assert lnp.take(x, n).tolist() == [1, 1]
    assert lnp.add(x, n).dtype == np.float64


def test_without_64_bits():
    with lm.config(x64=False, promotion="jax"):
        for made in (
            lnp.zeros(3),
            lnp.linspace(0, 1, 3),
            lnp.multiply(np.arange(3), 0.5),
            lnp.asarray([1.5]),
            lnp.sqrt(np.arange(3)),
        ):
            assert made.dtype == np.float32
        for made in (lnp.arange(3), lnp.argmax(of(float)), lnp.asarray([1, 2]), lnp.sum(of(np.int8)), lnp.full(2, 7)):
            assert made.dtype == np.int32
        assert lnp.asarray(of(np.uint64)).dtype == np.uint32
        assert lnp.add(of(complex), of(float)).dtype == np.complex64
        assert of(float).astype(float).dtype == np.float64  # NumPy's own
        made = lm.jit(lambda x, i: {"x": x * 2.5, "n": i + lnp.arange(2), "m": lnp.mean(x)})(of(float), of(np.int64))
        assert {k: v.dtype.name for k, v in made.items()} == {"x": "float32", "n": "int32", "m": "float32"}
        assert lm.grad(lambda x: lnp.sum(x * x))(of(float)).dtype == np.float32
        assert lm.vmap(lambda x: x / 3)(of(float)).dtype == np.float32


def test_numbers_without_64_bits():
    with lm.config(x64=False, promotion="jax"):
        of_numbers = {
            "float32": (
                lm.grad(lambda x: x**3)(2.0), lm.vjp(lambda x: x * x, 2.0)[1](np.float32(1))[0], lm.jit(lambda x: x)(2.0),
                lm.jit(lambda x: lm.cond(x > 0, lambda: 1.0, lambda: x))(2.0), lm.jit(lambda: 1.0)(),
                lnp.asarray(2**32, dtype=float), lnp.asarray(np.array([2**32]), dtype=float),
            ),
            "int32": (lm.jit(lambda: 1)(), lm.jit(lambda x: x * 2)(3), lm.fori_loop(0, 3, lambda i, c: c + i, 0)),
            "complex64": (lm.jit(lambda: 1j)(),),
        }  # fmt: skip
        for name, made in of_numbers.items():
            assert [x.dtype.name for x in made] == [name] * len(made)
        assert lnp.asarray(2**32, dtype=float) == 2.0**32 and lnp.asarray([2**32, 1], dtype=float)[0] == 2.0**32
        assert (lnp.ones(2) * 2**40 == 2.0**40).all()
        for wrong in (lambda: lnp.asarray(2**32), lambda: lnp.asarray([1, -(2**31) - 1]), lambda: lm.jit(lambda x: x)(2**40)):
            with pytest.raises(OverflowError, match="out of bounds for int32"):
                wrong()


def test_numbers_that_differ_between_calls_keep_their_values_without_64_bits():
    with lm.config(x64=False, promotion="jax"):
        x = lnp.ones(3)
        for k in range(3):  # what differs becomes an argument
            assert (lm.grad(lambda a, n=k: (a * lnp.asarray(2**31 + n, dtype=float)).sum())(x) == 2.0**31).all()
            assert (lm.grad(lambda a, n=k: lnp.minimum(a * 2.0**n, 2**33 + n).sum())(x) == 2.0**k).all()


@pytest.mark.parametrize(("value", "dtype"), [(300, np.uint8), ([1, -1], np.uint32), (2**63, np.int64), ([128], np.int8)])
def test_integers_that_do_not_fit_are_refused_as_in_numpy(value, dtype):
    for module in (np, lnp):
        with pytest.raises(OverflowError, match=r"out of bounds|too large"):
            module.asarray(value, dtype=dtype)
    assert lnp.asarray(np.array([300]), dtype=np.uint8) == np.asarray(np.array([300]), dtype=np.uint8)


def test_integers_that_are_arguments_of_jit_are_converted_as_arrays_are():
    x = np.array([1, 2, 3], np.uint8)
    np.testing.assert_array_equal(lm.jit(lambda x, n: x * n)(x, 300), x * np.int64(300).astype(np.uint8))
    np.testing.assert_array_equal(lm.jit(lambda x, n: x < n)(x, 300), [True] * 3)
    for function in (lm.jit(lambda x, n: x * n, static_argnums=1), lm.compile(lambda x, n: x * n)):
        with pytest.raises(OverflowError, match="300"):
            function(x, 300)


def test_operators_and_methods_of_results_follow_the_options():
    def dtypes(x, f):
        made = (
            x / 2, x * f, 3 - x, 2**x, x[0], x[0] / 2, x[1:] @ f[1:], np.sin(x), np.mean(x), x.mean(), x.std(), x.sum(),
            x.cumsum(), x.argmax(), (x > 1).sum(), divmod(x, 2)[0], np.add.reduce(x), next(iter(x)), x.astype(float),
            lnp.divide(x, 2),
        )  # fmt: skip
        return [y.dtype.name for y in made]

    def results():
        return lnp.arange(3), lnp.ones(3, np.float32)

    usual, alone = dtypes(*results()), dtypes(np.arange(3), np.ones(3, np.float32))
    assert usual == alone
    with lm.config(promotion="jax", x64=False):
        traced = lm.eval_shape(lambda x, f: (x / 2, x * f, 3 - x, 2**x, x[0], x[0] / 2, x[1:] @ f[1:], np.sin(x)), *results())
        found = dtypes(*results())
        assert found[: len(traced)] == [spec.dtype.name for spec in traced]
        assert all(name in ("int32", "float32") for name in found)
        x = results()[0]
        y = x
        y += 1
        y += 0.5
        assert x.tolist() == [0, 1, 2] and y.dtype == np.float32 and y.tolist() == [1.5, 2.5, 3.5]  # as in jax
        assert dtypes(np.arange(3), np.ones(3, np.float32))[:4] == alone[:4]  # NumPy's own arrays
        assert float(x[1]) == 1.0 and f"{x[1]}" == "1" and list(range(x[1])) == [0]
    with lm.config(promotion="jax"):
        assert (results()[0] * results()[1]).dtype == np.float32
    with lm.config(promotion="strict"), pytest.raises(lm.DTypeError, match="strict promotion"):
        results()[0] * results()[1]
    assert dtypes(*results()) == usual and "__array_ufunc__" not in vars(lm.Array)


def test_options_are_part_of_what_compiled_functions_are_found_by():
    x, n = of(np.float32), of(np.int32)
    f, inner = lm.jit(lambda x, n: x + n), lm.jit(lambda x, n: x * n)
    outer = lm.jit(lambda x, n: inner(x, n))
    for _ in range(2):
        for g in (f, inner, outer, lnp.add, lambda x, n: lm.vmap(lnp.add)(x, n)):
            assert g(x, n).dtype == np.float64
            with lm.config(promotion="jax"):
                assert g(x, n).dtype == np.float32
                with lm.config(promotion="numpy", x64=False):
                    assert g(x, n).dtype == np.float32
                with lm.config(promotion="numpy"):
                    assert g(x, n).dtype == np.float64
            assert g(x, n).dtype == np.float64
    assert f(x, n).dtype == np.float64
    assert f.executables  # machine code serves it again


def test_threads_have_blocks_of_their_own_and_share_the_options_of_the_process():
    x, n = of(np.float32), of(np.int32)
    f = lm.jit(lambda x, n: x + n)
    inside, leave = threading.Event(), threading.Event()
    seen = []

    def other():
        with lm.config(promotion="jax"):
            inside.set()
            leave.wait()
            seen.append(f(x, n).dtype)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    assert f(x, n).dtype == np.float64
    assert f(x, n).dtype == np.float64
    leave.set()
    thread.join()
    assert seen == [np.float32]
    try:
        lm.config.update(promotion="jax")
        assert f(x, n).dtype == np.float32
        thread = threading.Thread(target=lambda: seen.append(f(x, n).dtype))
        thread.start()
        thread.join()
        assert seen[1] == np.float32
    finally:
        lm.config.update(promotion="numpy")
    assert f(x, n).dtype == np.float64
    with lm.config(promotion="jax"):
        assert (
            repr(lm.config) == "config(promotion='jax', x64=True, lazy=False, variants=True, jit=True, nans=False, watched=())"
        )


def test_what_config_refuses():
    for wrong, error, text in (
        ({"promotion": "torch"}, ValueError, "promotion must be one of numpy, jax, strict, got 'torch'"),
        ({"x64": 1}, TypeError, "x64 must be a bool"),
        ({"speed": 2}, TypeError, "no option 'speed', options are: jit, lazy, nans, promotion, variants, watched, x64"),
    ):
        with pytest.raises(error, match=text), lm.config(**wrong):
            pass
        with pytest.raises(error, match=text):
            lm.config.update(**wrong)


def test_classes_of_dtypes_that_numpy_lacks() -> None:
    """Against jax's meaning: ml_dtypes' floats are floats, its integers integers."""
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "float32"):
        dtype = np.dtype(getattr(lnp, name))
        for one in (dtype, dtype.type, name if name != "float8_e5m2" else dtype):
            assert lnp.issubdtype(one, lnp.floating) and lnp.issubdtype(one, np.number) and lnp.issubdtype(one, dtype)
            assert not lnp.issubdtype(one, np.integer) and not lnp.issubdtype(one, np.float64)
        assert (
            lnp.isdtype(dtype, "real floating") and lnp.isdtype(dtype, ("bool", dtype)) and not lnp.isdtype(dtype, "integral")
        )
    for name, kind in (("int4", np.signedinteger), ("uint4", np.unsignedinteger), ("int8", np.signedinteger)):
        dtype = np.dtype(getattr(lnp, name))
        assert lnp.issubdtype(dtype, kind) and lnp.issubdtype(dtype, lnp.integer) and not lnp.issubdtype(dtype, np.inexact)
        assert lnp.isdtype(dtype, "numeric") and not lnp.isdtype(dtype, "real floating")
    assert lnp.issubdtype(np.floating, np.inexact) and not lnp.issubdtype(np.floating, np.float32)
    assert not lnp.issubdtype(lnp.float32, lnp.bfloat16)


def test_precision_of_products_is_taken() -> None:
    """jax's programs name a precision; factors are never rounded, so it changes nothing."""
    x = np.arange(9.0).reshape(3, 3)
    for f in (lnp.matmul, lnp.dot, lnp.inner, lnp.vdot, lnp.vecdot, lnp.tensordot):
        np.testing.assert_array_equal(f(x, x, precision="highest"), f(x, x))
    np.testing.assert_array_equal(lnp.einsum("ij,jk", x, x, precision="highest"), x @ x)

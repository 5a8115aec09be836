"""lamina.random: Threefry against its published vectors, streams against jax, parameters, transformations; shifts and bits."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dialects.element_types import TABLE, Kind
from lamina.library.random.bits import threefry2x32

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "dialects"))
from oracles import by_jax
from test_threefry import VECTORS

INTEGERS = [row.dtype for row in TABLE if row.kind in (Kind.SIGNED, Kind.UNSIGNED) and not row.is_stored]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
of_integers = pytest.mark.parametrize("dtype", INTEGERS, ids=str)
of_floats = pytest.mark.parametrize("dtype", FLOATS, ids=str)
EITHER = pytest.mark.parametrize("run", [lambda f: f, lm.jit], ids=["eager", "jit"])
Run = Callable[[Callable[..., Any]], Callable[..., Any]]


@EITHER
@pytest.mark.parametrize(("counter", "key", "want"), VECTORS)
def test_published_vectors(run: Run, counter: Any, key: Any, want: Any) -> None:
    words = run(threefry2x32)(np.array(key, np.uint32), *np.array(counter, np.uint32)[:, None])
    assert [int(word[0]) for word in words] == list(want)


# --------------------------------------------------------------------------------------------------------------------
# jax's streams: the same expressions of `random`, `np` and arrays

EXACT = (
    "random.key_data(random.key(-3))",
    "random.PRNGKey(1234567890123456789)",
    "random.PRNGKey(np.asarray(-7, 'int32'))",
    "random.split(key)",
    "random.split(key, 5)",
    "random.split(key, (2, 3))",
    "random.fold_in(key, 77)",
    "random.fold_in(key, np.asarray(4000000000, 'uint32'))",
    *(f"random.bits(key, (7, 3), '{dtype}')" for dtype in ("uint8", "uint16", "uint32", "uint64")),
    "random.bits(key)",
    "random.bits(key, (0,))",
    "random.uniform(key, (1001,), 'float32')",
    "random.uniform(key, (3, 5))",
    "random.uniform(key, ())",
    *(f"random.randint(key, (50,), -3, 17, '{dtype}')" for dtype in ("int8", "int16", "int32", "int64")),
    *(f"random.randint(key, (50,), 0, 200, '{dtype}')" for dtype in ("uint8", "uint16", "uint32", "uint64")),
    "random.randint(key, (50,), -128, 128, 'int8')",
    "random.randint(key, (50,), -2**31, 2**31, 'int32')",
    "random.randint(key, (50,), 0, 2**32, 'uint32')",
    "random.randint(key, (5,), 9, 9)",
    "random.randint(key, (5,), 9, 3)",
    "random.randint(key, (4,), np.asarray([0, 5, -9, 1]), np.asarray([1, 50, 9, 1000000]))",
    "random.bernoulli(key, shape=(40,))",
    "random.bernoulli(key, p)",
    "random.bernoulli(key, p, (3, 4))",
    "random.rademacher(key, (20,))",
    "random.rademacher(key, (20,), 'float32')",
    "random.choice(key, 10, (20,))",
    "random.choice(key, x, (2, 3))",
    "random.choice(key, x, (2, 3), axis=1)",
    "random.choice(key, 4, (30,), p=p)",
    "random.choice(key, 10, (2, 4), replace=False)",
    "random.choice(key, x, (2,), replace=False)",
    "random.choice(key, x, (3,), replace=False, axis=1)",
    "random.choice(key, 4, (3,), replace=False, p=p)",
    "random.permutation(key, 0)",
    "random.permutation(key, 1)",
    "random.permutation(key, 2000)",
    "random.permutation(key, x)",
    "random.permutation(key, x, axis=1)",
    "random.permutation(key, x, axis=1, independent=True)",
    "random.categorical(key, x)",
    "random.categorical(key, x, axis=0)",
    "random.categorical(key, x, axis=0, shape=(6, 5))",
)
# within ulps: logarithms and the like differ between libraries
NEAR = (
    *(
        f"random.{name}(key, (1000,), '{dtype}')"
        for name in ("normal", "exponential", "gumbel", "logistic", "laplace", "cauchy", "maxwell")
        for dtype in ("float32", "float64")
    ),
    "random.normal(key)",
    "random.uniform(key, (500,), 'float32', -1.5, 7.25)",
    "random.uniform(key, (3, 4), 'float64', p, 2 + p)",
    "random.truncated_normal(key, -1.0, 2.0, (500,), 'float32')",
    "random.truncated_normal(key, -p, p)",
    "random.lognormal(key, 0.5, (100,), 'float32')",
    "random.pareto(key, 3.0, (100,), 'float32')",
    "random.rayleigh(key, 2.0, (100,), 'float32')",
    "random.weibull_min(key, 2.0, 1.5, (100,), 'float32')",
    "random.triangular(key, -1.0, 0.5, 2.0, (100,), 'float32')",
    "random.geometric(key, 0.3, (100,))",
)
ULP = 64
"""Where the logarithm of a logarithm or a difference cancels, an ulp before becomes a few after."""
ARRAYS = {"x": np.random.default_rng(0).normal(size=(4, 5)), "p": np.array([0.1, 0.2, 0.3, 0.4])}


def of_jax(texts: Sequence[str]) -> dict[str, np.ndarray]:
    program = "from jax import random\nimport jax.numpy as np\n"
    program += "assert jax.config.jax_threefry_partitionable\njax.config.update('jax_enable_x64', True)\n"
    program += f"key = random.PRNGKey(42)\nresults = [{', '.join(texts)}]"
    return dict(zip(texts, by_jax(program, ARRAYS), strict=True))


def drawn(text: str, run: Run) -> np.ndarray:
    """An expression in our names; compiled with key and arrays as arguments."""
    names = tuple(ARRAYS)

    def function(key: Any, *arrays: Any) -> Any:
        return eval(text, {"random": lm.random, "np": np, "key": key, **dict(zip(names, arrays, strict=True))})

    return np.asarray(lm.random.key_data(run(function)(lm.random.key(42), *ARRAYS.values())))


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(2))
def test_streams_are_those_of_jax(part: int) -> None:
    for text, want in of_jax(EXACT[part::2]).items():
        for run in (lambda f: f, lm.jit):
            got = drawn(text, run)
            assert (got.dtype, got.shape) == (want.dtype, want.shape), text
            np.testing.assert_array_equal(got, want, text)


@pytest.mark.thorough
def test_distributions_are_those_of_jax() -> None:
    for text, want in of_jax(NEAR).items():
        for run in (lambda f: f, lm.jit):
            got = drawn(text, run)
            assert (got.dtype, got.shape) == (want.dtype, want.shape), text
            eps = np.finfo(want.dtype).eps if want.dtype.kind == "f" else 0
            np.testing.assert_allclose(got, want, ULP * eps, ULP * eps, err_msg=text)


# what jax 0.10 gives with 64-bit types: the shape, and the last two numbers
SAMPLERS = {
    "gamma(key, a, (20, 5))": ((20, 5), [2.403768308824038, 43.33879384302065]),
    "beta(key, a, 2.0)": ((5,), [0.4700544485668264, 0.9772974339640963]),
    "dirichlet(key, a, (3, ))": ((3, 5), [0.04902247972297333, 0.9268551707918979]),
    "t(key, a, (4, 5))": ((4, 5), [0.37248754961590413, -2.703845424087831]),
    "generalized_normal(key, 1.5, (6, ))": ((6,), [-0.7066332568387986, 0.8831255496538444]),
    "ball(key, 3, 2, (5, ))": ((5, 3), [-0.6244491462740972, 0.19883342075133634]),
    "multivariate_normal(key, mean, cov, (4, ))": ((4, 3), [1.1208159042867165, 0.1996919835509341]),
    "orthogonal(key, 3, (2, ), m=5)": ((2, 3, 5), [0.10038694925391493, -0.7736647689536116]),
    "double_sided_maxwell(key, 1.0, 2.0, (4, ))": ((4,), [4.7138077011187836, 4.037642910563967]),
    "wald(key, a)": ((5,), [1.8483467590483706, 0.4578555317941664]),
    "poisson(key, lam)": ((7,), [29.0, 983.0]),
    "poisson(key, 3.5, (50, ))": ((50,), [5.0, 4.0]),
    "binomial(key, n, p)": ((5,), [278.0, 1.0]),
    "multinomial(key, 40.0, p/p.sum(), shape=(3, 5))": ((3, 5), [5.0, 3.0]),
}
PARAMETERS = {
    "a": np.array([0.05, 0.5, 1.0, 2.5, 40.0]),
    "lam": np.array([0.0, 0.5, 3.0, 9.9, 10.0, 35.0, 1000.0]),
    "n": np.array([1.0, 5, 40, 1000, 3]),
    "p": np.array([0.1, 0.5, 0.9, 0.3, 0.05]),
    "mean": np.array([1.0, 2, 3]),
    "cov": np.array([[2.0, 0.5, 0], [0.5, 1, 0.1], [0, 0.1, 3]]),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("text", SAMPLERS)
def test_samplers_with_loops(text: str) -> None:
    (shape, last), samplers = SAMPLERS[text], {name: getattr(lm.random, name) for name in lm.random.__all__}
    got = eval(text, {**samplers, "key": lm.random.key(42), **PARAMETERS})
    assert got.shape == shape
    np.testing.assert_allclose(got.ravel()[-2:], last, rtol=1e-12)


@pytest.mark.thorough
def test_samplers_by_moments_and_slopes() -> None:
    """Means and variances of many numbers; by its parameter a gamma number moves as its distribution does."""
    key = lm.random.key(5)
    x = lm.random.gamma(key, 3.0, (20000,))
    assert abs(x.mean() - 3) < 0.05 and abs(x.var() - 3) < 0.15
    slope = lm.grad(lambda a: lm.random.gamma(key, a, (2000,)).mean())(3.0)
    assert abs(slope - 1) < 0.05  # the mean is the parameter
    shape = (2, 20000)
    for y, mean, variance in (
        (lm.random.poisson(key, np.array([[4.0], [60.0]]), shape), (4, 60), (4, 60)),
        (lm.random.binomial(key, np.array([[100.0], [9.0]]), np.array([[0.3], [0.8]]), shape), (30, 7.2), (21, 1.44)),
    ):
        assert (np.abs(y.mean(1) - mean) < 5 * np.sqrt(np.array(variance) / shape[1])).all()
        assert (np.abs(y.var(1) - variance) < 0.1 * np.array(variance)).all()


def test_errors_of_samplers() -> None:
    key = lm.random.key(0)
    with pytest.raises(lm.DTypeError, match="poisson gives integers, got float64"):
        lm.random.poisson(key, 3.0, (2,), np.float64)
    with pytest.raises(lm.ShapeError, match="needs a vector of parameters"):
        lm.random.dirichlet(key, 1.0)
    with pytest.raises(lm.ShapeError, match=r"multivariate_normal needs \[..., n\] and \[..., n, n\]"):
        lm.random.multivariate_normal(key, np.zeros(3), np.eye(2))
    with pytest.raises(ValueError, match="method must be cholesky, eigh or svd"):
        lm.random.multivariate_normal(key, np.zeros(2), np.eye(2), method="lu")
    with pytest.raises(lm.ShapeError, match="4 are to be drawn from 3 categories without replacement"):
        lm.random.categorical(key, np.zeros(3), shape=(4,), replace=False)
    with pytest.raises(ValueError, match="mode must be 'low' or 'high', got 'middle'"):
        lm.random.gumbel(key, (2,), mode="middle")
    with pytest.raises(lm.ShapeError, match="cannot broadcast shape"):
        lm.random.gamma(key, np.ones(3), (2,))


# --------------------------------------------------------------------------------------------------------------------
# Transformations


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize(
    "draw",
    [
        lambda key: lm.random.uniform(key, (3,)),
        lambda key: lm.random.bits(key, (), np.uint32),
        lambda key: lm.random.split(key, 2),
        lambda key: lm.random.fold_in(key, 5),
        lambda key: lm.random.randint(key, (4,), 0, 9),
        lambda key: lm.random.categorical(key, ARRAYS["x"]),
    ],
)
def test_vmap_over_keys(draw: Callable[[Any], Any]) -> None:
    keys = lm.random.split(lm.random.key(5), 4)
    want = np.stack([lm.random.key_data(draw(key)) for key in keys])
    for given in (keys, keys.data):
        np.testing.assert_array_equal(lm.random.key_data(lm.vmap(draw)(given)), want)
        np.testing.assert_array_equal(lm.random.key_data(lm.jit(lm.vmap(draw))(given)), want)


def test_vmap_over_seeds_and_steps() -> None:
    numbers = np.arange(5)
    assert (lm.vmap(lm.random.key)(numbers) == lnp.stack([lm.random.key(int(n)) for n in numbers])).all()
    key = lm.random.PRNGKey(1)
    found = lm.vmap(lambda n: lm.random.fold_in(key, n))(numbers)
    np.testing.assert_array_equal(found, np.stack([lm.random.fold_in(key, int(n)) for n in numbers]))


def test_derivatives_by_parameters() -> None:
    key = lm.random.key(3)
    unit, standard = lm.random.uniform(key, (50,)), lm.random.normal(key, (50,))
    low, high = lm.grad(lambda a, b: lm.random.uniform(key, (50,), minval=a, maxval=b).sum(), (0, 1))(-1.0, 2.0)
    np.testing.assert_allclose([low, high], [(1 - unit).sum(), unit.sum()], 1e-12)
    mean, scale = lm.grad(lambda m, s: (m + s * lm.random.normal(key, (50,))).sum(), (0, 1))(0.5, 2.0)
    np.testing.assert_allclose([mean, scale], [50, standard.sum()], 1e-12)
    sigma = lm.grad(lambda s: lm.random.lognormal(key, s, (50,)).sum())(0.5)
    np.testing.assert_allclose(sigma, (standard * np.exp(0.5 * standard)).sum(), 1e-12)


def test_keys_are_carried_through_loops() -> None:
    def step(key: Any, _: Any) -> Any:
        key, own = lm.random.split(key)
        return key, lm.random.uniform(own)

    key, found = lm.random.key(9), lm.scan(step, lm.random.key(9), length=4)[1]
    for got in found:
        key, own = lm.random.split(key)
        assert got == lm.random.uniform(own)


@of_floats
def test_moments(dtype: np.dtype[Any]) -> None:
    x = lm.random.normal(lm.random.key(0), (200_000,), dtype)
    u = lm.random.uniform(lm.random.key(1), (200_000,), dtype)
    assert abs(x.mean()) < 0.01 and abs(x.var() - 1) < 0.01 and abs((x**4).mean() - 3) < 0.1
    assert abs(u.mean() - 0.5) < 0.003 and abs(u.var() - 1 / 12) < 0.001 and u.min() >= 0 and u.max() < 1


def test_what_is_refused() -> None:
    key = lm.random.key(0)
    with pytest.raises(lm.ShapeError, match=r"uniform\(\) takes one key, got keys of shape \[3\]: map over them with vmap"):
        lm.random.uniform(lm.random.split(key, 3))
    with pytest.raises(lm.DTypeError, match=r"a key is two uint32, as of random.PRNGKey\(0\), got .* \[3, 2\]; map over"):
        lm.random.uniform(lm.random.split(key.data, 3))
    with pytest.raises(lm.DTypeError, match="a key is two uint32"):
        lm.random.uniform(np.zeros(2))
    with pytest.raises(lm.DTypeError, match="a seed is an integer, got float64"):
        lm.random.key(1.5)
    with pytest.raises(OverflowError):
        lm.random.key(1 << 64)
    with pytest.raises(lm.DTypeError, match="random floats are float32 or float64, got float16"):
        lm.random.normal(key, (), np.float16)
    with pytest.raises(lm.DTypeError, match="bits are of an unsigned dtype, got int32"):
        lm.random.bits(key, (), np.int32)
    with pytest.raises(lm.DTypeError, match="randint gives integers, got float32"):
        lm.random.randint(key, (), 0, 1, np.float32)
    with pytest.raises(lm.ShapeError, match=r"cannot broadcast shape \[3\] to \[2\]"):
        lm.random.uniform(key, (2,), minval=np.zeros(3))
    with pytest.raises(lm.ShapeError, match="fold_in takes one integer"):
        lm.random.fold_in(key, np.arange(3))
    with pytest.raises(lm.ShapeError, match="less than 2\\*\\*32 numbers"):
        lm.random.bits(key, (1 << 16, 1 << 16))
    with pytest.raises(lm.ShapeError, match="6 are to be chosen from 5 without replacement"):
        lm.random.choice(key, 5, (2, 3), replace=False)
    with pytest.raises(lm.ShapeError, match="nothing to choose from"):
        lm.random.choice(key, 0, (2,))
    with pytest.raises(lm.ShapeError, match=r"one probability for each of 3 choices, got shape \[2\]"):
        lm.random.choice(key, 3, (2,), p=np.ones(2))
    with pytest.raises(lm.ShapeError, match=r"must end in that of the logits without the axis, \[4\]"):
        lm.random.categorical(key, ARRAYS["x"], shape=(5,))
    with pytest.raises(lm.DTypeError, match="a probability is a float, got int64"):
        lm.random.bernoulli(key, np.int64(1))


# --------------------------------------------------------------------------------------------------------------------
# Shifts and bits


def _numbers(dtype: np.dtype[Any]) -> np.ndarray:
    limits = np.iinfo(dtype)
    near = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, limits.max, limits.max - 1]
    low = [-1, -2, -8, limits.min, limits.min + 1] if limits.min else []
    return np.array([n for n in (*near, *low) if limits.min <= n <= limits.max], dtype)


@pytest.mark.thorough(every=8)
@EITHER
@of_integers
def test_shifts_by_any_amount(dtype: np.dtype[Any], run: Run) -> None:
    x, amount = (a.ravel() for a in np.meshgrid(_numbers(dtype), _numbers(dtype)))
    for name in ("left_shift", "right_shift"):
        np.testing.assert_array_equal(run(getattr(lnp, name))(x, amount), getattr(np, name)(x, amount))
    np.testing.assert_array_equal(run(lnp.bitwise_count)(x), np.bitwise_count(x))
    for by in (0, 1, dtype.itemsize * 8 - 1, dtype.itemsize * 8):
        np.testing.assert_array_equal(run(lambda x, by=by: lnp.left_shift(x, by))(x), x << by)
        np.testing.assert_array_equal(run(lambda x, by=by: lnp.right_shift(x, by))(x), x >> by)


def test_operators_and_promotion() -> None:
    x, y = np.array([1, 2, 3], np.int32), np.array([1, 40, 2], np.int64)
    for function in (lambda x, y: x << y, lambda x, y: x >> y, lambda x, y: 5 << y, lambda x, y: 1000 >> x):
        got, want = lm.jit(function)(x, y), function(x, y)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    with pytest.raises(lm.DTypeError, match="left_shift has no meaning for float64"):
        lm.jit(lambda x: x << 1)(np.ones(2))


@EITHER
@of_floats
def test_nextafter(dtype: np.dtype[Any], run: Run) -> None:
    limits = np.finfo(dtype)
    edges = [0.0, 1.0, 2.0, 0.1, math.inf, limits.max, limits.tiny, limits.smallest_subnormal]
    x, y = (a.ravel() for a in np.meshgrid(*[np.array([*edges, *(-e for e in edges), math.nan], dtype)] * 2))
    got = run(lnp.nextafter)(x, y)
    with np.errstate(all="ignore"):
        want = np.nextafter(x, y)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got) | np.isnan(got), np.signbit(want) | np.isnan(want))
    np.testing.assert_array_equal(lm.grad(lambda x: lnp.nextafter(x, 2.0).sum())(np.ones(3, dtype)), 0)


def test_views_of_one_width() -> None:
    rng = np.random.default_rng(0)
    for source, target in itertools.product([*INTEGERS, *FLOATS], repeat=2):
        x = np.frombuffer(rng.bytes(35 * source.itemsize), source)
        if source.itemsize == target.itemsize:
            got = lm.jit(lambda x, target=target: x.view(target))(x)
            assert got.dtype == target and got.tobytes() == x.tobytes()
        else:
            with pytest.raises(lm.DTypeError, match="of the same width"):
                lm.jit(lambda x, target=target: x.view(target))(x)
    for dtype in (np.bool_, np.float16):
        with pytest.raises(lm.DTypeError, match="view takes a computed dtype"):
            lm.jit(lambda x: x.view(np.uint8))(np.ones(3, dtype))

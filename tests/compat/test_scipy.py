"""`lamina.scipy` against SciPy: distributions, samples, signals, transforms, minimization. Against jax: conformance."""

from __future__ import annotations

import warnings

import lamina as lm
import lamina.scipy.signal as signal
import lamina.scipy.stats as stats
import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.stats
from lamina.errors import ShapeError

CONTINUOUS = {
    "norm": (), "uniform": (), "expon": (), "laplace": (), "logistic": (), "cauchy": (), "t": (3.5,), "gamma": (2.2,),
    "chi2": (3.0,), "beta": (2.0, 3.5), "pareto": (1.5,), "gumbel_r": (), "gumbel_l": (), "gennorm": (1.3,),
    "vonmises": (2.0,), "wrapcauchy": (0.4,), "truncnorm": (-0.5, 3.0),
}  # fmt: skip
DISCRETE = {
    "bernoulli": (0.3,), "binom": (5, 0.3), "nbinom": (4.0, 0.3), "geom": (0.3,), "poisson": (2.5,), "betabinom": (6, 2.0, 3.0),
}  # fmt: skip
NOT_MOVED = {"gennorm", "vonmises", "wrapcauchy", "bernoulli"}
POINTS = np.array([-2.5, -1, -0.3, 0, 0.2, 0.5, 0.9, 1, 1.7, 4, 8.0, np.nan])
INTEGERS = np.array([-1, 0, 1, 2, 3, 5, 6, 7, 1.5])
PROBABILITIES = np.array([1e-3, 0.2, 0.5, 0.9])
METHODS = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "logpmf", "pmf")


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_distributions(name):
    shapes = CONTINUOUS.get(name) or DISCRETE.get(name, ())
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    places = [()] if name in NOT_MOVED else [(), (0.5, 2.0) if name in CONTINUOUS else (1,)]
    for method in METHODS:
        if not hasattr(ours, method):
            continue
        x = PROBABILITIES if method in ("ppf", "isf") else POINTS if name in CONTINUOUS else INTEGERS
        for place in places:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = getattr(theirs, method)(x, *shapes, *place)
            got = np.asarray(getattr(ours, method)(x, *shapes, *place))
            assert np.allclose(got, want, rtol=1e-10, atol=1e-13, equal_nan=True), method
    density = "logpdf" if name in CONTINUOUS else "logpmf"
    assert getattr(ours, density)(np.float32([0.5]), *shapes).dtype == np.float32
    with pytest.raises(TypeError, match="argument"):
        getattr(ours, density)(1.0, *shapes, 0.0, 1.0, 2.0)


def test_slopes_of_densities_outside_of_the_support_are_zero():
    assert lm.grad(lambda y: stats.beta.logpdf(y, 2.0, 3.0))(1.5) == 0
    assert lm.grad(lambda y: stats.gamma.pdf(y, 2.0))(-1.0) == 0
    slope = lm.grad(lambda a: stats.gamma.logpdf(2.0, a))(2.0)
    assert np.isclose(slope, np.log(2) - (1 - np.euler_gamma), rtol=1e-14)


def test_distributions_of_several_variables():
    x, mean, cov = np.random.default_rng(0).normal(size=(5, 2)), np.array([0.1, 0.2]), np.array([[2, 0.3], [0.3, 1]])
    for points in (x, x[0]):
        want = scipy.stats.multivariate_normal.logpdf(points, mean, cov)
        assert np.allclose(stats.multivariate_normal.logpdf(points, mean, cov), want, rtol=1e-12)
    p, alpha, counts = np.array([0.2, 0.3, 0.5]), np.array([1.0, 2, 3]), np.array([1, 2, 3])
    assert np.isclose(stats.dirichlet.logpdf(p, alpha), scipy.stats.dirichlet.logpdf(p, alpha), rtol=1e-12)
    assert np.isclose(stats.multinomial.pmf(counts, 6, p), scipy.stats.multinomial.pmf(counts, 6, p), rtol=1e-12)
    with pytest.raises(ShapeError, match="square covariance"):
        stats.multivariate_normal.logpdf(x, mean, np.ones((2, 3)))


def test_samples():
    a = np.random.default_rng(0).integers(0, 4, (3, 7)).astype(float)
    for axis in (None, 0, 1):
        for method in ("average", "min", "max", "dense", "ordinal"):
            got, want = stats.rankdata(a, method, axis=axis), scipy.stats.rankdata(a, method, axis=axis)
            assert np.array_equal(np.asarray(got), want), (method, axis)
        got, want = stats.mode(a, axis=axis, keepdims=True), scipy.stats.mode(a, axis=axis, keepdims=True)
        assert np.array_equal(got.mode, want.mode)
        assert np.array_equal(got.count, want.count)
        assert np.allclose(stats.sem(a, axis=axis), scipy.stats.sem(a, axis=axis), rtol=1e-14)
    assert stats.rankdata(np.zeros(0)).shape == (0,)
    points = np.random.default_rng(3).normal(size=(2, 20))
    got, want = stats.gaussian_kde(points, "silverman"), scipy.stats.gaussian_kde(points, "silverman")
    assert np.allclose(got(points[:, :5] + 0.1), want(points[:, :5] + 0.1), rtol=1e-10)
    with pytest.raises(ValueError, match="a method of average"):
        stats.rankdata(a, "mean")


def test_signals():
    rng = np.random.default_rng(1)
    for first, second in (((7,), (3,)), ((3,), (7,)), ((5, 6), (2, 3)), ((8,), (4,))):
        a, b = rng.normal(size=first), rng.normal(size=second)
        for mode in ("full", "same", "valid"):
            for f in ("convolve", "correlate", "fftconvolve", *(("convolve2d", "correlate2d") if len(first) == 2 else ())):
                got, want = getattr(signal, f)(a, b, mode), getattr(scipy.signal, f)(a, b, mode)
                assert got.shape == want.shape
                assert np.allclose(got, want, rtol=1e-10, atol=1e-12), (f, mode, first)
    z = rng.normal(size=6) + 1j * rng.normal(size=6)
    assert np.allclose(signal.correlate(z, z[:3]), scipy.signal.correlate(z, z[:3]), rtol=1e-12)
    x = rng.normal(size=(3, 200))
    for options in ({"nperseg": 50, "noverlap": 20, "nfft": 64, "detrend": "linear", "scaling": "spectrum"}, {"nperseg": 33}):
        got, want = signal.csd(x, x[::-1], fs=2.0, **options), scipy.signal.csd(x, x[::-1], fs=2.0, **options)
        assert all(np.allclose(g, w, rtol=1e-9, atol=1e-12) for g, w in zip(got, want, strict=True))
    spectrum, want = signal.stft(x, nperseg=32), scipy.signal.stft(x, nperseg=32)
    assert all(np.allclose(g, w, rtol=1e-9, atol=1e-12) for g, w in zip(spectrum, want, strict=True))
    assert np.allclose(np.asarray(signal.istft(spectrum[2], nperseg=32)[1])[:, :200], x, rtol=1e-9)
    assert np.allclose(signal.detrend(x, bp=[30, 60]), scipy.signal.detrend(x, bp=[30, 60]), atol=1e-12)
    with pytest.raises(ShapeError, match="overlap by fewer, got noverlap 8"):
        signal.stft(x, nperseg=8, noverlap=8)
    with pytest.raises(ShapeError, match="operands of one rank"):
        signal.convolve(x, x[0])


def test_cosine_transforms_and_coordinates():
    rng = np.random.default_rng(2)
    for n in (1, 2, 5, 8):
        x = rng.normal(size=(3, n))
        for norm in (None, "ortho"):
            for f in ("dct", "idct", "dctn", "idctn"):
                assert np.allclose(getattr(lm.scipy.fft, f)(x, norm=norm), getattr(scipy.fft, f)(x, norm=norm), atol=1e-12), f
    a, at = rng.normal(size=(4, 5)), rng.uniform(-6, 9, size=(2, 60))
    for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
        grid = {"constant": "grid-constant", "wrap": "grid-wrap"}.get(mode, mode)
        for order in (0, 1):
            want = scipy.ndimage.map_coordinates(a, at, order=order, mode=grid, cval=1.5)
            assert np.allclose(lm.scipy.ndimage.map_coordinates(a, at, order, mode, 1.5), want, rtol=1e-10), (mode, order)
    with pytest.raises(ShapeError, match="for each of 2 dims, got 1"):
        lm.scipy.ndimage.map_coordinates(a, at[:1], 1)


def test_minimize():
    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    found = lm.scipy.optimize.minimize(rosenbrock, np.full(3, -1.2), method="BFGS")
    assert bool(found.success)
    assert np.allclose(found.x, 1, atol=1e-5)
    few = lm.scipy.optimize.minimize(rosenbrock, np.full(2, -1.2), method="BFGS", options={"maxiter": 2})
    assert (bool(few.success), int(few.status), int(few.nit)) == (False, 1, 2)
    with pytest.raises(ShapeError, match='the method "BFGS"'):
        lm.scipy.optimize.minimize(rosenbrock, np.zeros(2), method="CG")


def test_counts_and_numbers_take_the_dtype_of_the_floats_beside_them():
    counts, rate, x = np.arange(3), np.float32([0.5, 1.5, 2.5]), np.ones(32, np.float32)
    results = (
        stats.poisson.logpmf(counts, rate),
        stats.binom.pmf(counts, 4, rate / 3),
        stats.multinomial.logpmf(counts, 3, rate / 4.5),
        stats.multivariate_normal.logpdf(rate, np.float32(0.5), 2.0),
        lm.scipy.signal.welch(x, nperseg=16)[1],
        lm.scipy.signal.csd(x, 2 * x, fs=2.0, nperseg=16)[1].real,
    )
    assert [y.dtype for y in results] == [np.float32] * len(results)
    assert stats.poisson.logpmf(counts, 2).dtype == np.float64


def test_matrices_have_the_defaults_of_scipy() -> None:
    rng = np.random.default_rng(0)
    a, tall, b = rng.normal(size=(4, 4)), rng.normal(size=(5, 3)), rng.normal(size=4)
    p = a @ a.T + 4 * np.eye(4)
    for call in (
        lambda m: m.cholesky(p),
        lambda m: m.cholesky(p, lower=True, check_finite=False),
        lambda m: m.solve(a, b, overwrite_a=True),
        lambda m: m.solve(np.triu(p), b, assume_a="pos"),
        lambda m: m.solve(np.tril(p), b, lower=True, assume_a="pos"),
        lambda m: m.solve(np.triu(p), b, assume_a="sym"),
        lambda m: np.abs(m.qr(tall, mode="r")[0]),
        lambda m: np.abs(m.qr(tall)[0][:, :3]),
        lambda m: np.abs(m.qr(tall, mode="economic")[1]),
        lambda m: m.eigh(np.tril(p), eigvals_only=True),
        lambda m: m.eigh(np.triu(p), lower=False)[0],
        lambda m: m.svd(tall, check_finite=False)[1],
        lambda m: m.lu_solve(m.lu_factor(a, check_finite=True), b),
        lambda m: m.cho_solve(m.cho_factor(p), b, overwrite_b=True),
        lambda m: m.solve_triangular(np.triu(p), b, check_finite=False),
    ):
        np.testing.assert_allclose(call(lm.scipy.linalg), call(scipy.linalg), rtol=1e-10, atol=1e-12)
    for wrong, error in (
        (lambda: lm.scipy.linalg.qr(a, pivoting=True), ValueError),
        (lambda: lm.scipy.linalg.solve(a, b, assume_a="banded"), ValueError),
        (lambda: lm.scipy.linalg.eigh(p, type=4), ValueError),
        (lambda: lm.scipy.linalg.eigh(p, eigvals=(1, 9)), ValueError),
    ):
        with pytest.raises(error):
            wrong()


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("type", [1, 2, 3])
@pytest.mark.parametrize("lower", [True, False])
def test_eigenvalues_of_two_matrices(dtype, type, lower):
    draw = np.random.default_rng(3)
    for n in (1, 2, 7, 33):
        a, b = (draw.normal(size=(n, n)).astype(dtype) for _ in range(2))
        if dtype is np.complex128:
            a, b = a + 1j * draw.normal(size=(n, n)), b - 1j * draw.normal(size=(n, n))
        a, b = a + a.conj().T, b @ b.conj().T + n * np.eye(n)
        triangle = np.tril if lower else np.triu
        values, vectors = lm.scipy.linalg.eigh(triangle(a), triangle(b), lower=lower, type=type)
        want = scipy.linalg.eigh(a, b, eigvals_only=True, type=type)
        np.testing.assert_allclose(values, want, rtol=1e-10, atol=1e-10)
        left, right = {1: (a, b), 2: (a @ b, np.eye(n)), 3: (b @ a, np.eye(n))}[type]
        np.testing.assert_allclose(left @ vectors, right @ vectors * values, atol=1e-9 * np.abs(want).max())
        metric = np.linalg.inv(b) if type == 3 else b
        np.testing.assert_allclose(np.conj(vectors).T @ metric @ vectors, np.eye(n), atol=1e-10)
        some, of_some = lm.scipy.linalg.eigh(a, b, type=type, eigvals=(n // 2, n - 1))
        np.testing.assert_allclose(some, want[n // 2 :], rtol=1e-10, atol=1e-10)
        assert of_some.shape == (n, n - n // 2)

"""Combinations, elliptic integrals, functions of complex numbers and formulas of lamina.special, against SciPy."""

from __future__ import annotations

from typing import Any

import lamina as lm
import mpmath
import numpy as np
import pytest
import scipy.special

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=200) * 3, [1e-9, -1e-9, 0.0, 40]])
POSITIVE, PARAMETERS = np.abs(X) + 0.01, RNG.uniform(-50, 1, 300)
CASES: dict[str, tuple[tuple[Any, ...], float]] = {
    "agm": ((POSITIVE, POSITIVE[::-1]), 4), "comb": (tuple(RNG.integers(0, 45, (2, 200))), 2), "cosm1": ((X,), 6),
    "ellipe": ((PARAMETERS,), 5), "ellipk": ((PARAMETERS,), 5), "ellipkm1": ((10.0 ** RNG.uniform(-300, 1, 200),), 6),
    "erfcinv": ((RNG.uniform(size=100) * 2,), 6), "erfi": ((X / 2,), 16), "exp10": ((X,), 4), "exprel": ((X,), 3),
    "huber": ((1.0, X), 1), "inv_boxcox": ((POSITIVE, 0.3), 8), "inv_boxcox1p": ((POSITIVE / 1e3, 0.3), 3),
    "log_expit": ((X,), 3), "perm": (tuple(RNG.integers(0, 15, (2, 200))), 1), "pseudo_huber": ((2.0, X), 4),
    "rgamma": ((X,), 100), "softplus": ((X,), 3),
}  # fmt: skip
"""Arguments, and how many units in the last place a result may differ by."""
EDGES = np.array([0.0, 1, 2, 3, -1, -2, np.inf, -np.inf, np.nan])


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    args, units = CASES[name]
    ours, theirs = getattr(lm.special, name), getattr(scipy.special, name)
    for function in (ours, lm.jit(ours)):
        np.testing.assert_allclose(function(*args), theirs(*args), rtol=units * 2.3e-16, atol=1e-300)
    narrow = [np.float32(a) for a in args]
    assert np.asarray(ours(*narrow)).dtype == np.float32


@pytest.mark.thorough(every=7)
@pytest.mark.parametrize("name", ["ellipe", "ellipk", "ellipkm1", "erfcinv", "exprel", "loggamma", "rgamma"])
def test_edges(name: str) -> None:
    with np.errstate(all="ignore"):
        want = getattr(scipy.special, name)(EDGES)
    np.testing.assert_allclose(getattr(lm.special, name)(EDGES), want, rtol=4e-15)


@pytest.mark.thorough
def test_complex_numbers() -> None:
    rng = np.random.default_rng(0)  # SciPy's own errors are of this size: other numbers would need wider bounds
    z = rng.normal(size=500) * 10 ** rng.uniform(-2, 2, 500) + 1j * rng.normal(size=500) * 10 ** rng.uniform(-2, 2, 500)
    with mpmath.workdps(40):
        want = np.array([complex(mpmath.loggamma(mpmath.mpc(x))) for x in z])
    got = lm.special.loggamma(z)
    assert (np.abs(got - want) <= 40 * 2.3e-16 * np.maximum(np.abs(want), 1)).all()
    above = np.abs(z.real) + 1j * np.abs(z.imag)
    for points, units in ((above, 80), (np.conj(above), 80 + np.abs(z) ** 2)):
        with np.errstate(all="ignore"):
            want = scipy.special.wofz(points)
        got = lm.jit(lm.special.wofz)(points)
        fine = np.isfinite(want)
        assert (np.abs(got - want) <= units * 2.3e-16 * np.maximum(np.abs(want), np.abs(np.exp(-(points**2)))))[fine].all()
    assert lm.special.wofz(np.complex64(1)).dtype == np.complex64


def test_spherical_harmonics() -> None:
    n, m = np.meshgrid(np.arange(12), np.arange(-12, 13))
    want = np.where(np.abs(m) <= n, scipy.special.sph_harm_y(n, m, 0.7, 1.1), 0)
    np.testing.assert_allclose(lm.special.sph_harm_y(n, m, 0.7, 1.1), want, atol=1e-15)
    traced = lm.jit(lambda n, m: lm.special.sph_harm_y(n, m, np.float32(0.7), np.float32(1.1), n_max=11))(n, m)
    assert traced.dtype == np.complex64
    np.testing.assert_allclose(traced, want, atol=1e-5)
    with pytest.raises(ValueError, match=r"no diff_n: differentiate it with lm\.jvp"):
        lm.special.sph_harm_y(1, 0, 0.1, 0.2, 1)


@pytest.mark.thorough
def test_derivatives() -> None:
    step = 1e-6
    of = scipy.special
    cases = (
        (lambda t: lm.special.sph_harm_y(5, 2, t, 0.3).real, lambda t: of.sph_harm_y(5, 2, t, 0.3).real),
        (lambda t: lm.special.wofz(t * (1 - 0.5j)).real, lambda t: of.wofz(t * (1 - 0.5j)).real),
        (lambda t: lm.special.loggamma(t * (-1 + 0.5j)).imag, lambda t: of.loggamma(t * (-1 + 0.5j)).imag),
        (lm.special.ellipk, of.ellipk), (lm.special.ellipe, of.ellipe), (lm.special.exprel, of.exprel),
        (lm.special.rgamma, of.rgamma), (lambda n: lm.special.comb(n, 2.0), lambda n: n * (n - 1) / 2),
    )  # fmt: skip
    for ours, theirs in cases:
        want = (theirs(0.7 + step) - theirs(0.7 - step)) / (2 * step)
        if ours is cases[-1][0]:
            assert lm.grad(ours)(5.0) == pytest.approx(4.5)
            continue
        np.testing.assert_allclose(lm.grad(ours)(0.7), want, rtol=1e-7)
        np.testing.assert_allclose(lm.jvp(ours, (0.7,), (1.0,))[1], want, rtol=1e-7)
    assert lm.grad(lm.special.exprel)(0.0) == 0.5

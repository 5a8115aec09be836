"""lamina.special against mpmath with 40 digits: errors in units in the last place, and slopes; lamina.lax against jax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest

mp: Any = pytest.importorskip("mpmath")
special = lm.special
RNG = np.random.default_rng(3)


def spread(low: float, high: float, count: int = 60) -> np.ndarray:
    """Numbers from low to high, both positive, by their logarithms."""
    return np.exp(RNG.uniform(np.log(low), np.log(high), count))


TAILS = np.concatenate([spread(1e-30, 0.5), 1 - spread(1e-6, 0.5)])
A = spread(0.05, 300)


def owens_t(h: Any, a: Any) -> Any:
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t) / (2 * mp.pi), [0, a / 2, a])


def betainc(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


Row = tuple[Callable[..., Any], tuple[np.ndarray, ...], float]
ROWS: dict[str, Row] = {  # the function of mpmath, points, the most units in the last place
    "erfinv": (mp.erfinv, (np.concatenate([RNG.uniform(-1, 1, 60), 1e-9 * RNG.uniform(-1, 1, 9)]),), 6),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), (np.concatenate([RNG.uniform(-2, 9, 60), spread(9, 1e6)]),), 24),
    "ndtri": (lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), (TAILS,), 64),
    "gamma": (mp.gamma, (np.concatenate([RNG.uniform(-6, 6, 60), RNG.uniform(6, 20, 20)]),), 160),
    "factorial": (mp.factorial, (np.arange(0.0, 20.0),), 128),
    "beta": (mp.beta, (spread(0.1, 10), spread(0.1, 10)), 96),
    "poch": (mp.rf, (spread(0.1, 10), RNG.uniform(-0.05, 4, 60)), 96),
    "zeta": (lambda s, a: mp.zeta(s, a), (1 + spread(0.01, 9), spread(0.05, 50)), 24),
    "polygamma": (mp.polygamma, (RNG.integers(0, 5, 60).astype(float), spread(0.3, 30)), 64),
    "i1": (lambda x: mp.besseli(1, x), (RNG.uniform(-20, 20, 90),), 64),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), (np.concatenate([RNG.uniform(-20, 20, 60), spread(20, 1e6)]),), 12),
    "boxcox": (lambda x, p: (x**p - 1) / p if p else mp.log(x), (spread(0.1, 9), RNG.integers(-2, 3, 60) / 2.0), 24),
    "exp1": (mp.e1, (spread(1e-6, 60),), 12),
    "expi": (mp.ei, (np.concatenate([spread(1e-6, 60), -spread(1e-3, 40), [0.3, 0.37]]),), 12),
    "spence": (lambda x: mp.polylog(2, 1 - x).real, (np.concatenate([spread(1e-6, 1e4), 1 - spread(1e-9, 0.4)]),), 12),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (np.append(spread(1e-3, 60), -spread(0.1, 9)),), 16),
    "j0": (lambda x: mp.besselj(0, x), (RNG.uniform(-60, 60, 90),), 32),
    "j1": (lambda x: mp.besselj(1, x), (RNG.uniform(-60, 60, 90),), 32),
    "owens_t": (owens_t, (RNG.uniform(-3, 3, 18), np.append(spread(0.01, 5, 9), -spread(0.01, 5, 9))), 48),
    "gammainc": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), (A, A * spread(0.4, 2.5)), 160),
    "gammaincc": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), (A, A * spread(0.4, 2.5)), 160),
    "betainc": (betainc, (spread(0.1, 30), spread(0.1, 30), RNG.uniform(0.05, 0.95, 60)), 512),
    "expn": (mp.expint, (RNG.integers(0, 9, 60).astype(float), spread(0.01, 40)), 48),
    "hyp1f1": (mp.hyp1f1, (spread(0.1, 5), spread(0.1, 5), RNG.uniform(0, 20, 60)), 24),
    "hyp2f1": (mp.hyp2f1, (spread(0.1, 5), spread(0.1, 5), spread(0.1, 5), RNG.uniform(0, 0.9, 60)), 48),
    "boxcox1p": (lambda x, p: mp.expm1(p * mp.log1p(x)) / p if p else mp.log1p(x), (spread(1e-9, 9), np.zeros(60)), 12),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_errors_in_units_of_the_last_place(name: str, dtype: str) -> None:
    oracle, points, most = ROWS[name]
    args = [x.astype(dtype)[:: 1 if dtype == "float64" else 2] for x in points]
    with mp.workdps(40):
        exact = [oracle(*(mp.mpf(float(v)) for v in row)) for row in zip(*args, strict=True)]
    # near a zero of the function an error of the argument counts
    near_zeros = ("ndtri", "polygamma", "boxcox", "gamma")
    floor = np.finfo(dtype).eps * (1.0 if name in near_zeros else 1e-30) if name not in ("j0", "j1") else 0.1
    got = np.asarray(getattr(special, name)(*args))
    assert (got.dtype == dtype and np.array_equal(got, np.asarray(lm.jit(getattr(special, name))(*args)), equal_nan=True)) or (
        np.allclose(got, lm.jit(getattr(special, name))(*args), rtol=most * np.finfo(dtype).eps)
    )
    largest = float(np.finfo(dtype).max)
    errors = [
        abs(float((mp.mpf(float(g)) - w) / max(abs(w), floor))) / np.finfo(dtype).eps
        for g, w in zip(got, exact, strict=True)
        if abs(w) < largest and abs(w) > np.finfo(dtype).tiny
    ]
    assert max(errors) <= most, f"{max(errors):.1f} units at {[float(a[int(np.argmax(errors))]) for a in args]}"


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", sorted(ROWS.keys() - {"factorial", "polygamma", "boxcox1p", "expn"}, reverse=True))
def test_slopes(name: str) -> None:
    """By differences with 40 digits, in every argument."""
    oracle, points, _ = ROWS[name]
    some = [x[::23] for x in points]
    for k in range(len(some)):
        if name == "boxcox" and k == 1:
            continue  # the points are where the formula changes
        slopes = lm.vmap(lm.grad(getattr(special, name), k))(*some)
        for at, row in enumerate(zip(*some, strict=True)):
            with mp.workdps(40):
                want = float(mp.diff(lambda v, row=row, k=k: oracle(*row[:k], v, *row[k + 1 :]), mp.mpf(float(row[k]))))
            np.testing.assert_allclose(slopes[at], want, rtol=1e-8, atol=1e-10, err_msg=f"{name} {row}")


@pytest.mark.thorough
def test_edges() -> None:
    inf, nan = np.inf, np.nan
    for name, x, want in [
        ("erfinv", [1, -1, 2, nan], [inf, -inf, nan, nan]),
        ("ndtri", [0, 1, 0.5, -1, 2, nan], [-inf, inf, 0, nan, nan, nan]),
        ("erfcx", [inf, -inf, nan, 0], [0, inf, nan, 1]),
        ("gammasgn", [-0.5, -1.5, -1, 0, -0.0, 2, nan], [-1, 1, nan, 1, -1, 1, nan]),
        ("gamma", [0, -0.0, -1, inf, 200, nan], [inf, -inf, nan, inf, inf, nan]),
        ("factorial", [-1, 0, 3, inf, nan], [0, 1, 6, inf, nan]),
        ("zeta", [1, 0.5, inf, nan], [inf, nan, 1, nan]),
        ("i1e", [0, inf, nan], [0, 0, nan]),
        ("exp1", [0, -1, inf, nan], [inf, nan, 0, nan]),
        ("expi", [0, inf, -inf, nan], [-inf, inf, 0, nan]),
        ("spence", [0, 1, -1, inf, nan], [math.pi**2 / 6, 0, nan, -inf, nan]),
        ("j0", [0, inf, nan], [1, 0, nan]),
        ("j1", [0, -inf, nan], [0, 0, nan]),
    ]:
        got = getattr(special, name)(np.array(x, float))
        np.testing.assert_allclose(got, want, rtol=1e-14, err_msg=name)
    np.testing.assert_array_equal(special.kl_div(np.array([0.0, 1, 1, -1]), np.array([2.0, 1, 0, 1])), [2, 0, inf, inf])
    np.testing.assert_allclose(special.bernoulli(8), [1, -1 / 2, 1 / 6, 0, -1 / 30, 0, 1 / 42, 0, -1 / 30], rtol=1e-15)


@pytest.mark.thorough
def test_edges_of_incomplete_functions() -> None:
    """Against scipy, where it and we have one convention."""
    scipy = pytest.importorskip("scipy.special")
    ends = np.array([0.0, 0.5, 1.0, 3.0, np.inf, -1.0, np.nan])
    a, x = (part.ravel() for part in np.meshgrid(ends, ends))
    a, x = np.append(a, [2e4] * 3), np.append(x, 2e4 + np.array([-300.0, 0, 300]))
    got = special.gammainc(a, x)
    np.testing.assert_allclose(got[:-3], scipy.gammainc(a, x)[:-3], rtol=1e-13)
    np.testing.assert_allclose(got[-3:], scipy.gammainc(a, x)[-3:], rtol=1e-11)
    np.testing.assert_allclose(special.gammaincc(a, x)[:-3], scipy.gammaincc(a, x)[:-3], rtol=1e-13)
    n, x = (part.ravel() for part in np.meshgrid(np.arange(0.0, 4), [0.0, 0.5, 1.0, 30.0, np.inf, -1.0]))
    np.testing.assert_allclose(special.expn(n, x), scipy.expn(n, x), rtol=1e-13)
    p, q, x = (part.ravel() for part in np.meshgrid([0.5, 1.0, 3.0], [0.5, 2.0], [0.0, 0.25, 1.0]))
    outside = ([-1.0, 1, 1], [1.0, 1, 1], [0.5, 1.5, np.nan])
    got = special.betainc(*(np.append(inner, outer) for inner, outer in zip((p, q, x), outside, strict=True)))
    np.testing.assert_allclose(got[:-3], scipy.betainc(p, q, x), rtol=1e-13)
    assert np.isnan(got[-3:]).all()


@pytest.mark.thorough
def test_slopes_where_fractions_end() -> None:
    """At whole parameters continued fractions have a term that is 0, but not its slope."""
    with mp.workdps(30):
        want = float(mp.diff(lambda a: mp.gammainc(a, 7, mp.inf, regularized=True), 3))
        beta = float(mp.diff(lambda b: betainc(9, b, mp.mpf(0.6)), 3))
    np.testing.assert_allclose(lm.grad(special.gammaincc)(3.0, 7.0), want, rtol=1e-11)
    np.testing.assert_allclose(lm.grad(special.betainc, 1)(9.0, 3.0, 0.6), beta, rtol=1e-11)


@pytest.mark.thorough
def test_pairs_of_integrals() -> None:
    """Both results of `sici` and `fresnel`, the orders of `bessel_jn`, and their slopes."""
    x = np.concatenate([[0.0], spread(1e-2, 200, 30), -spread(0.1, 60, 8)])
    si, ci = special.sici(x)
    np.testing.assert_allclose(si, [float(mp.si(v)) for v in x], rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(ci[x > 0], [float(mp.ci(v)) for v in x[x > 0]], rtol=4e-15, atol=1e-15)
    assert ci[0] == -np.inf and np.isnan(ci[x < 0]).all()
    s, c = special.fresnel(x)
    np.testing.assert_allclose(s, [float(mp.fresnels(v)) for v in x], rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(c, [float(mp.fresnelc(v)) for v in x], rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(lm.grad(lambda v: special.fresnel(v)[0])(1.3), np.sin(np.pi / 2 * 1.69), rtol=1e-14)
    np.testing.assert_allclose(lm.grad(lambda v: special.sici(v)[0])(0.0), 1.0)
    orders = special.bessel_jn(x, v=4)
    for k, row in enumerate(orders):
        small = np.abs(x) < 20
        np.testing.assert_allclose(row[small], [float(mp.besselj(k, v)) for v in x[small]], rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="0 <= v <= n_iter"):
        special.bessel_jn(x, v=51)


@pytest.mark.thorough
def test_multigammaln() -> None:
    scipy = pytest.importorskip("scipy.special")
    for d in (1, 2, 3, 5):
        a = np.array([d / 2 + 0.1, 7.5, 40.0])
        np.testing.assert_allclose(special.multigammaln(a, d), scipy.multigammaln(a, d), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("bits", [(5, 10), (8, 7), (4, 3), (5, 2), (8, 23), (3, 0)])
def test_reduce_precision(bits: tuple[int, int]) -> None:
    jax = pytest.importorskip("jax")
    x = np.concatenate([RNG.standard_normal(400) * 2.0 ** RNG.integers(-20, 20, 400), [0, -0.0, np.inf, -np.inf, np.nan]])
    x = np.concatenate([x, 1 + 2.0 ** -np.arange(1, 24), 2.0 ** np.arange(-30.0, 30)]).astype(np.float32)
    want = np.asarray(jax.lax.reduce_precision(x, *bits))
    for run in (lm.lax.reduce_precision, lm.jit(lm.lax.reduce_precision, static_argnums=(1, 2))):
        np.testing.assert_array_equal(np.asarray(run(x, *bits)).view(np.int32)[~np.isnan(x)], want.view(np.int32)[~np.isnan(x)])
    np.testing.assert_array_equal(lm.grad(lambda v: (2 * lm.lax.reduce_precision(v, *bits)).sum())(x), 2)
    with pytest.raises(lm.ShapeError, match="exponent_bits >= 1"):
        lm.lax.reduce_precision(x, 0, 3)


def test_names_of_lax() -> None:
    jax = pytest.importorskip("jax")
    x, i = RNG.standard_normal((2, 3, 4)).astype(np.float32), RNG.integers(-99, 99, 7).astype(np.int32)
    for name, args in {
        "collapse": (x, 1, 3), "split": (x, [1, 3], 2), "shift_right_logical": (i, np.int32(3) + 0 * i), "tile": (x, (2, 1, 2)),
        "bitcast_convert_type": (x, np.int32), "population_count": (np.abs(i),), "shift_left": (i, i * 0 + 2),
        "shift_right_arithmetic": (i, i * 0 + 2), "erf_inv": (x / 9,), "bessel_i1e": (x,), "nextafter": (x, -x),
    }.items():  # fmt: skip
        got, want = lm.tree.leaves(getattr(lm.lax, name)(*args)), jax.tree.leaves(getattr(jax.lax, name)(*args))
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=2e-6, err_msg=name)
    for dtype in (np.int8, np.uint8, np.int32, np.int64):
        got = lm.lax.shift_right_logical(i.astype(dtype), 3)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, (i.astype(dtype).view(f"u{i.astype(dtype).itemsize}") >> 3).astype(dtype))
    with pytest.raises(lm.DTypeError, match="shift_right_logical needs integers"):
        lm.lax.shift_right_logical(x, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cube_roots_of_all_sizes(dtype: Any) -> None:
    info = np.finfo(dtype)
    x = np.concatenate(
        [spread(float(info.tiny), float(info.max), 300), 2.0 ** np.arange(info.minexp, info.maxexp, 7.0)]
    ).astype(dtype)
    x = np.concatenate([x, info.smallest_subnormal * np.arange(1, 40, dtype=dtype), [info.tiny, info.max, 1, 8, 27]]).astype(
        dtype
    )
    found = np.asarray(lm.jit(lm.numpy.cbrt)(np.concatenate([x, -x])))
    want = [mp.cbrt(mp.mpf(float(v))) for v in x]
    ends = np.array([float(v) for v in want]).astype(dtype)
    errors = [abs(mp.mpf(float(y)) - v) / float(np.spacing(e)) for y, v, e in zip(found[: x.size], want, ends, strict=True)]
    assert max(errors) < 1.5
    np.testing.assert_array_equal(found[x.size :], -found[: x.size])
    special_ones = np.array([0, -0.0, np.inf, -np.inf, np.nan], dtype)
    np.testing.assert_array_equal(
        lm.jit(lm.numpy.cbrt)(special_ones).view(f"i{info.bits // 8}"), special_ones.view(f"i{info.bits // 8}")
    )

"""Derivatives where they are easily lost: where results saturate, at removable singularities, at the ends of domains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

special, nn = lm.special, lm.nn
INF = math.inf


def slopes(function: Callable[[Any], Any], x: np.ndarray, order: int = 1, compiled: bool = True) -> list[np.ndarray]:
    """Derivatives of an elementwise function in reverse and forward mode, eager and, unless it is not asked for, compiled."""
    reverse = forward = function
    for _ in range(order):
        reverse = lm.grad(lambda v, f=reverse: f(v).sum())
        forward = (lambda f: lambda v: lm.jvp(f, (v,), (lnp.ones_like(v),))[1])(forward)
    return [np.asarray(f(x)) for f in (reverse, forward, *((lm.jit(reverse), lm.jit(forward)) if compiled else ()))]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return e / (1 + e) ** 2


def _tanh(x: np.ndarray) -> np.ndarray:
    return 4 * _sigmoid(2 * x)


SATURATING: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray], float]] = {
    "tanh": (lnp.tanh, _tanh, 1),
    "sigmoid": (nn.sigmoid, _sigmoid, 2),
    "expm1": (lnp.expm1, np.exp, 2),
    "softplus": (nn.softplus, lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))), 2),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SATURATING)
def test_saturated_results_keep_their_slopes(name: str, dtype: str) -> None:
    function, oracle, scale = SATURATING[name]
    rng = np.random.default_rng(0)
    end = {"float32": 40, "float64": 340}[dtype] * scale
    size = np.exp(rng.uniform(math.log(1e-8), math.log(end), 500))
    x = (size * rng.choice([-1, 1], 500)).astype(dtype)
    with np.errstate(over="ignore"):
        want = oracle(x.astype(np.longdouble))
        kept = np.abs(want) < np.finfo(dtype).max
    for got in slopes(function, x):
        assert got.dtype == dtype
        np.testing.assert_allclose(got[kept], want[kept].astype(dtype), rtol=float(8 * np.finfo(dtype).eps))


ENDS: list[tuple[str, Callable[[Any], Any], list[float], list[float]]] = [
    ("cbrt", lnp.cbrt, [0.0, INF, -INF], [INF, 0.0, 0.0]),
    ("entr", special.entr, [0.0], [INF]),
    ("arcsin", lnp.arcsin, [1.0, -1.0], [INF, INF]),
    ("arccos", lnp.arccos, [1.0, -1.0], [-INF, -INF]),
    ("arccosh", lnp.arccosh, [1.0, INF], [INF, 0.0]),
    ("arctanh", lnp.arctanh, [1.0, -1.0], [INF, INF]),
    ("logit", special.logit, [0.0, 1.0], [INF, INF]),
    ("log", lnp.log, [0.0, INF], [INF, 0.0]),
    ("log1p", lnp.log1p, [-1.0], [INF]),
    ("sqrt", lnp.sqrt, [0.0], [INF]),
    ("sinh", lnp.sinh, [800.0, -800.0], [INF, INF]),
    ("cosh", lnp.cosh, [800.0, -800.0], [INF, -INF]),
    ("relu6", nn.relu6, [0.0, 6.0, 7.0, -1.0, 3.0], [0.0, 0.0, 0.0, 0.0, 1.0]),
    ("hard_swish", nn.hard_swish, [3.0, -3.0, 4.0, -4.0], [1.0, 0.0, 1.0, 0.0]),
    ("sigmoid", nn.sigmoid, [INF, -INF, 800.0], [0.0, 0.0, 0.0]),
    ("tanh", lnp.tanh, [INF, -INF], [0.0, 0.0]),
]


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize(("function", "points", "want"), [case[1:] for case in ENDS], ids=[case[0] for case in ENDS])
def test_slopes_at_the_ends_of_domains(function: Callable[[Any], Any], points: list[float], want: list[float]) -> None:
    for dtype in (np.float32, np.float64):
        for got in slopes(function, np.array(points, dtype)):
            np.testing.assert_array_equal(got, want)


def test_second_slopes_at_ends() -> None:
    table: list[tuple[Callable[[Any], Any], list[float], int, list[float]]] = [
        (lnp.arccosh, [1.0, INF], 2, [-INF, 0.0]),
        (lnp.arctanh, [1.0, -1.0], 2, [INF, -INF]),
        (lnp.arctanh, [1.0, -1.0], 3, [INF, INF]),
        (lnp.arcsin, [1.0, -1.0], 2, [INF, -INF]),
        (lnp.arcsinh, [INF, -INF, 0.0], 2, [0.0, 0.0, 0.0]),
        (special.gammaln, [INF], 1, [INF]),
        (special.gammaln, [0.0], 2, [INF]),
        (special.i0e, [0.0, INF], 1, [0.0, 0.0]),
        (special.i0e, [0.0], 2, [0.5]),
        (special.i1e, [0.0], 1, [0.5]),
        (special.i1e, [0.0], 2, [0.0]),
    ]
    for function, points, order, want in table:
        for got in slopes(function, np.array(points), order, compiled=False):
            np.testing.assert_allclose(got, want, atol=1e-14)


def test_second_slopes_of_what_overflows() -> None:
    for function, want in ((lnp.sinh, [INF, -INF]), (lnp.cosh, [INF, INF])):
        for got in slopes(function, np.array([800.0, -800.0]), 2):
            np.testing.assert_array_equal(got, want)


def _integral_of(weight: Callable[[np.ndarray], np.ndarray]) -> float:
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return float(0.5 * (weights * weight(0.5 * (nodes + 1))).sum())


def _exprel(x: float, order: int) -> float:
    return _integral_of(lambda t: t**order * np.exp(x * t))


def _spence(x: float, order: int) -> float:
    u = x - 1  # spence'(x) = -log1p(u) / u, the integral of -1 / (1 + u t)
    k = order - 1
    return _integral_of(lambda t: -((-1.0) ** k) * math.factorial(k) * t**k / (1 + u * t) ** order)


def _box_cox(power: float, order: int) -> float:
    log = math.log(3.0)
    return log ** (order + 1) * _exprel(power * log, order)


REMOVABLE: list[tuple[str, Callable[[Any], Any], Callable[[float, int], float], float]] = [
    ("exprel", special.exprel, _exprel, 0.0),
    ("spence", special.spence, _spence, 1.0),
    ("boxcox", lambda power: special.boxcox(lnp.full_like(power, 3.0), power), _box_cox, 0.0),
    ("boxcox1p", lambda power: special.boxcox1p(lnp.full_like(power, 2.0), power), _box_cox, 0.0),
]


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(("function", "oracle", "at"), [case[1:] for case in REMOVABLE], ids=[case[0] for case in REMOVABLE])
def test_removable_singularities(
    function: Callable[[Any], Any], oracle: Callable[[float, int], float], at: float, order: int
) -> None:
    steps = np.array([0.0, 1e-300, 1e-12, 1e-8, 1e-4, 1e-2, 0.1, 0.1249, 0.1251, 0.3])
    x = at + np.concatenate([steps, -steps])
    want = [oracle(v, order) for v in x]
    for got in slopes(function, x, order):
        np.testing.assert_allclose(got, want, rtol=1e-10 if order == 3 else 1e-12)


EVEN: list[tuple[str, Callable[[Any], Any], Callable[[np.ndarray], list[np.ndarray]]]] = [
    # derivatives of order 1 to 3, by their series
    ("j0", special.j0, lambda x: [-x / 2 + x**3 / 16, -0.5 + 3 * x**2 / 16, 3 * x / 8 - 5 * x**3 / 96]),
    ("j1", special.j1, lambda x: [0.5 - 3 * x**2 / 16, -3 * x / 8 + 5 * x**3 / 96, -0.375 + 5 * x**2 / 32]),
    ("si", lambda x: special.sici(x)[0], lambda x: [1 - x**2 / 6, -x / 3 + x**3 / 30, -1 / 3 + x**2 / 10]),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("function", "series"), [case[1:] for case in EVEN], ids=[case[0] for case in EVEN])
def test_what_is_divided_by_its_argument(function: Callable[[Any], Any], series: Callable[[np.ndarray], list[np.ndarray]]):
    steps = np.array([0.0, 1e-12, 1e-8, 1e-5, 1e-3])
    x = np.concatenate([steps, -steps])
    for order, want in enumerate(series(x), 1):
        for got in slopes(function, x, order, compiled=order == 3):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-14)


@pytest.mark.thorough
@pytest.mark.parametrize("x", [8.1, 2.5, 7.9, 30.0])
def test_third_slopes_of_bessel_functions(x: float):
    """By Bessel's equation and its derivative."""
    j, dj, d2j, d3j = special.j1(x), *(slopes(special.j1, np.array([x]), k, compiled=False)[0][0] for k in (1, 2, 3))
    np.testing.assert_allclose(x * x * d2j + x * dj + (x * x - 1) * j, 0, atol=1e-13 * x * x)
    np.testing.assert_allclose(x * x * d3j + 3 * x * d2j + x * x * dj + 2 * x * j, 0, atol=1e-12 * x * x)


LOOPS: dict[str, Callable[[Any], Any]] = {
    "gammainc": lambda x: special.gammainc(1.5, x),
    "betainc": lambda x: special.betainc(1.5, 2.0, x),
    "hyp1f1": lambda x: special.hyp1f1(1.5, 2.25, x),
    "hyp1f1 by a": lambda a: special.hyp1f1(a, 2.25, 0.3),
    "hyp2f1": lambda x: special.hyp2f1(0.5, 1.5, 2.25, x),
}


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("name", LOOPS)
def test_second_slopes_of_loops(name: str):
    function, x, step = LOOPS[name], 0.3, 1e-4
    slope = lm.grad(function)
    want = (slope(x + step) - slope(x - step)) / (2 * step)
    for second in (lm.grad(slope), lm.grad(lambda v: lm.jvp(function, (v,), (1.0,))[1])):
        np.testing.assert_allclose(second(x), want, rtol=1e-6)


def test_the_inverse_of_box_cox_by_its_power() -> None:
    # of exp(y - p y^2 / 2 + p^2 y^3 / 3 - ...) at p = 0
    y, e = 0.5, math.exp(0.5)
    want = [-e * y * y / 2, e * (y**4 / 4 + 2 * y**3 / 3)]
    for order, value in enumerate(want, 1):
        for got in slopes(lambda power: special.inv_boxcox(lnp.full_like(power, y), power), np.zeros(2), order):
            np.testing.assert_allclose(got, value, rtol=1e-14)


@pytest.mark.thorough
def test_gammas_of_large_numbers() -> None:
    a = np.array([20.0, 1e5, 1e10, 1e15])
    error = 64 * np.finfo(float).eps
    one, two = np.ones(4), np.full(4, 2.0)
    np.testing.assert_allclose(special.beta(a, one), 1 / a, rtol=error)
    np.testing.assert_allclose(special.beta(two, a), 1 / a / (a + 1), rtol=4 * error)
    np.testing.assert_allclose(special.poch(a, one), a, rtol=error)
    np.testing.assert_allclose(special.poch(a, -one), 1 / (a - 1), rtol=error)
    np.testing.assert_allclose(special.comb(a, 3.0), a * (a - 1) * (a - 2) / 6, rtol=4 * error)


def _cosine_integral(x: Any) -> Any:
    return special.sici(x)[1]


def _beta_by_one(x: Any) -> Any:
    return special.beta(x, 1.0)


POLES: list[tuple[str, Callable[[Any], Any], float, list[float]]] = [
    ("digamma", special.digamma, 0.0, [-INF, INF, -INF, INF]),
    ("digamma below", special.digamma, -0.0, [INF, INF, INF, INF]),
    ("digamma at -2", special.digamma, -2.0, [math.nan, INF, -INF, INF]),
    ("digamma at infinity", special.digamma, INF, [INF, 0, 0, 0]),
    (
        "digamma at a half",
        special.digamma,
        -0.5,
        [0.03648997397857652, 8.934802200544679, -0.8287966442343199, 193.40909103400242],
    ),
    ("gammaln", special.gammaln, 0.0, [INF, -INF, INF, -INF]),
    ("gamma", special.gamma, 0.0, [INF, -INF, INF]),
    ("gamma at infinity", special.gamma, INF, [INF, INF, INF, INF]),
    ("rgamma", special.rgamma, 0.0, [0, 1, 1.1544313298030657, -3.935268429121522]),
    ("rgamma at -3", special.rgamma, -3.0, [0, -6, 15.073412021181614, 25.707844458230333]),
    ("rgamma at -800", special.rgamma, -800.0, [0, INF, -INF, INF]),
    ("rgamma at -801", special.rgamma, -801.0, [0, -INF, INF, -INF]),
    ("rgamma at -800.5", special.rgamma, -800.5, [-INF, INF, -INF, INF]),
    ("rgamma at -172 and a bit", special.rgamma, float(np.nextafter(-172.0, 0)), [6.0667590582115628e297, INF, -INF]),
    ("rgamma at -infinity", special.rgamma, -INF, [0, 0, 0]),
    ("rgamma at infinity", special.rgamma, INF, [0, 0, 0]),
    ("spence", special.spence, 0.0, [math.pi**2 / 6, -INF, INF, -INF]),
    ("spence at infinity", special.spence, INF, [-INF, 0, 0]),
    ("zeta", special.zeta, 1.0, [INF, -INF, INF]),
    ("ellipk", special.ellipk, 1.0, [INF, INF, INF]),
    ("ellipe", special.ellipe, 1.0, [1, -INF, -INF]),
    ("logit", special.logit, 0.0, [-INF, INF, -INF]),
    ("cosine integral", _cosine_integral, 0.0, [-INF, INF, -INF]),
    ("cosine integral at infinity", _cosine_integral, INF, [0, 0, 0]),
    ("beta by one", _beta_by_one, 0.0, [INF, -INF]),
    ("beta by zero", lambda x: special.beta(x, 0.0), 1.0, [INF, -(math.pi**2) / 6, 2.404113806319188]),
    ("beta of zero", lambda x: special.beta(0.0, x), 2.0, [INF, 1 - math.pi**2 / 6]),
    ("beta at -2, 1", _beta_by_one, -2.0, [-1 / 2, -1 / 4]),
]
"""Functions at their poles and ends: values and derivatives of order 1, 2 ..."""


NAMES = {function: next(name for name, other, *_ in POLES if other is function) for _, function, *_ in POLES}


@pytest.mark.thorough(every=7)
@pytest.mark.parametrize("function", NAMES, ids=NAMES.values())
def test_slopes_at_poles(function: Callable[[Any], Any]) -> None:
    rows = [(name, point, want) for name, f, point, want in POLES if f is function]
    for order in range(max(len(want) for *_, want in rows)):
        names, points, values = zip(*((name, p, want[order]) for name, p, want in rows if order < len(want)), strict=True)
        for got in slopes(function, np.array(points), order, compiled=False):
            np.testing.assert_allclose(got, values, rtol=1e-13, atol=1e-14, err_msg=f"{order} {names}")


def test_beta_at_zero() -> None:
    zero, one = np.array(0.0), np.array(1.0)
    np.testing.assert_allclose(lm.grad(special.beta, (0, 1))(zero, one), [-INF, -(math.pi**2) / 6], rtol=1e-13)
    np.testing.assert_array_equal(lm.grad(special.beta, (0, 1))(zero, zero), [-INF, -INF])


def test_beta_of_whole_numbers() -> None:
    a, b = (x.ravel().astype(float) for x in np.meshgrid(np.arange(-6, 7), np.arange(-6, 7)))
    scipy = pytest.importorskip("scipy.special")
    for ours, theirs in ((special.beta(a, b), scipy.beta(a, b)), (special.betaln(a, b), scipy.betaln(a, b))):
        finite = np.isfinite(theirs)
        np.testing.assert_allclose(ours[finite], theirs[finite], rtol=1e-13, atol=1e-14)
        assert np.isinf(ours[~finite]).all()


# points, one a column; by each operand the first and the second derivative there: limits, from inside of the domain
NAN = math.nan
OF_TWO: dict[str, tuple[Callable[..., Any], list[list[float]], list[list[list[float]]]]] = {
    "huber": (
        special.huber,
        [[0, 1, 1, 0, 1, INF, 1], [0, 0, 1, 1, INF, 1, -3]],
        [[[0, 0, 0, 1, INF, 0, 2], [0, 0, 0, -1, -1, 0, -1]], [[0, 0, 1, 0, 1, 1, -1], [1, 1, 1, 0, 0, 1, 0]]],
    ),
    "pseudo_huber": (
        special.pseudo_huber,
        [[1, 0, 1, INF, -1], [0, 1, INF, 1, 1]],
        [[[0, 1, INF, 0, 0], [0, -2, -2, 0, 0]], [[0, 0, 1, 1, 0], [1, 0, 0, 1, 0]]],
    ),
    "boxcox": (
        special.boxcox,
        [[0, 1, 0, 0, INF, INF, INF, 0], [0, 0, 1, 2, 0, 1, -1, -1]],
        [
            [[INF, 1, 1, 0, 0, 1, 0, INF], [-INF, -1, 0, 1, 0, 0, 0, -INF]],
            [[INF, 0, 1, 0.25, INF, INF, 1, INF], [-INF, 0, -2, -0.25, INF, INF, 2, -INF]],
        ],
    ),
    "boxcox1p": (
        special.boxcox1p,
        [[0, -1, 0, INF, INF, INF, -1], [0, 1, 2, 0, 1, -1, 0]],
        [
            [[1, 1, 1, 0, 1, 0, INF], [-1, 0, 1, 0, 0, 0, -INF]],
            [[0, 1, 0, INF, INF, 1, INF], [0, -2, 0, INF, INF, 2, -INF]],
        ],
    ),
    "inv_boxcox": (
        special.inv_boxcox,
        [[0, 0, INF, INF, INF, -INF, 2, -1, -0.5, -2], [0, 2, 0, 1, 2, 0, INF, 1, 2, 0.5]],
        [
            [[1, 1, INF, 1, 0, 0, 0, 1, INF, 0], [1, -1, INF, 0, 0, 0, 0, 0, -INF, 0.5]],
            [[0, 0, -INF, -INF, -INF, 0, 0, -1, -INF, 0], [0, 0, INF, INF, INF, 0, 0, -INF, -INF, 8]],
        ],
    ),
    "inv_boxcox1p": (
        special.inv_boxcox1p,
        [[0, INF, INF, -INF, -1], [2, 0, 1, 0, 1]],
        [[[1, INF, 1, 0, 1], [-1, INF, 0, 0, 0]], [[0, -INF, -INF, 0, -1], [0, INF, INF, 0, -INF]]],
    ),
    "zeta": (
        special.zeta,
        [[1, INF, 2, INF, INF, 1], [1, 1, INF, 2, 0.5, INF]],
        [
            [[-INF, 0, 0, 0, INF, 0], [INF, 0, 0, 0, INF, 0]],
            [[-(math.pi**2) / 6, -INF, 0, 0, -INF, 0], [2.404113806319188, INF, 0, 0, INF, 0]],
        ],
    ),
    "betaln": (
        special.betaln,
        [[0, 1, -1, -0.5, -2, INF, 1, 0], [1, 0, 0, 0.5, 1, 1, INF, 0]],
        [
            [[-INF, 0, 0, INF, 0.5, 0, -INF, -INF], [INF, 0, 0, NAN, 0.25, 0, 0, INF]],
            [[0, -INF, -INF, INF, -1, -INF, 0, -INF], [0, INF, INF, NAN, 2.289868133696453, 0, 0, INF]],
        ],
    ),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", OF_TWO)
def test_slopes_by_each_operand_at_ends(name: str) -> None:
    function, points, want = OF_TWO[name]
    operands = [np.array(x, np.float64) for x in points]
    for k, known in enumerate(want):

        def along(v: Any, k: int = k) -> Any:
            return function(*operands[:k], v, *operands[k + 1 :])

        def reverse(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
            return lm.grad(lambda v: f(v).sum())

        def forward(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
            return lambda v: lm.jvp(f, (v,), (lnp.ones_like(v),))[1]

        first = lm.jit(lambda v: (reverse(along)(v), forward(along)(v)))(operands[k])
        second = lm.jit(lambda v: (reverse(forward(along))(v), forward(forward(along))(v)))(operands[k])
        for found, limit in zip((first, second), known, strict=True):
            for got in found:
                kept = ~np.isnan(limit)
                np.testing.assert_allclose(got[kept], np.array(limit)[kept], rtol=1e-13, atol=1e-13)


@pytest.mark.thorough
def test_beta_where_it_is_zero() -> None:
    """`gamma(a) gamma(b) (-1)^n n!` where `a + b = -n`; at infinity."""
    a, b = np.array([-0.5, -0.5, -1.25, 0.25, INF, 2.0]), np.array([-0.5, 0.5, -1.75, -3.25, 1.0, INF])
    gamma, n = np.frompyfunc(math.gamma, 1, 1), np.rint(-(a + b)[:4])
    want = [*(gamma(a[:4]) * gamma(b[:4]) * (-1.0) ** n * gamma(n + 1)), 0.0, 0.0]
    for got in lm.grad(lambda a, b: special.beta(a, b).sum(), (0, 1))(a, b):
        np.testing.assert_allclose(got, np.array(want, np.float64), rtol=1e-13)


def test_zero_tangents_of_rules_that_divide() -> None:
    """A tangent that is zero stays zero beside an infinite slope, also where the rule divides it."""

    @lm.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return lnp.log(x) + y

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] / primals[0] + tangents[1]))
    assert lm.jvp(lambda y: f(0.0, y), (1.0,), (1.0,))[1] == 1.0
    assert lm.jvp(lambda x: f(x, 1.0), (0.0,), (1.0,))[1] == INF

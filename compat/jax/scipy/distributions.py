"""Distributions of one variable: each is a row of formulas of its standard form, from which the methods follow.

`loc` and `scale` move and stretch the standard form; outside of its support a density is 0. Formulas are those of Johnson, Kotz
and Balakrishnan, Continuous Univariate Distributions, and Johnson, Kemp and Kotz, Univariate Discrete Distributions; logarithms
of tails are computed without the tails where these would vanish.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

from ....library.numpy import namespace as lnp
from ....library.special import namespace as special

Formula = Callable[..., Any]
_LOG_2PI = math.log(2 * math.pi)


class Distribution:
    """A distribution: its methods take the point (or the probability), the shape parameters, then `loc` and `scale`.

    They broadcast, and have derivatives by all of their arguments where the formulas have them.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.stats.norm.cdf(np.array([0.0, 5.0]), 5.0, 2.0)
    array([0.00620967, 0.5       ])
    """

    def __init__(self, name: str, methods: Mapping[str, Formula]):
        self.name = name
        for key, method in methods.items():
            method.__name__, method.__qualname__ = key, f"{name}.{key}"
            method.__doc__ = f"{_MEANINGS[key]} of the distribution `{name}`."
            setattr(self, key, method)

    def __repr__(self) -> str:
        return f"<distribution {self.name}>"


_MEANINGS = {
    "cdf": "The probability of values up to `x`",
    "isf": "The value that is exceeded with probability `q`",
    "logcdf": "The logarithm of the probability of values up to `x`",
    "logpdf": "The logarithm of the density",
    "logpmf": "The logarithm of the probability of the integer `k`",
    "logsf": "The logarithm of the probability of values above `x`",
    "pdf": "The density",
    "pmf": "The probability of the integer `k`",
    "ppf": "The value that is not exceeded with probability `q`",
    "sf": "The probability of values above `x`",
}


def _method(parameters: tuple[str, ...], formula: Formula, fixed: int) -> Formula:
    """A function of `parameters`, those after the first `fixed` with the defaults of `loc` and `scale`."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults = {"loc": 0, "scale": 1}
    signature = inspect.Signature(
        [
            inspect.Parameter(name, kind, default=inspect.Parameter.empty if k < fixed else defaults[name])
            for k, name in enumerate(parameters)
        ]
    )

    def method(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return formula(*bound.arguments.values())

    # read by `inspect` and help(); the type of functions does not list it
    method.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return method


def operands(*xs: Any) -> list[Any]:
    """Arguments as floats of one dtype; integers, which are counts, in that of the floats beside them."""
    floats = [x for x in xs if lnp.issubdtype(lnp.result_type(x), lnp.inexact)]
    wide = lnp.result_type(*floats or (float,))
    return [lnp.asarray(x).astype(wide) for x in xs]


def _continuous(
    name: str,
    log_density: Formula,
    shapes: tuple[str, ...] = (),
    support: tuple[Any, Any] = (-math.inf, math.inf),
    moved: bool = True,
    **more: Formula,
) -> Distribution:
    """A distribution with a density.

    Args:
        log_density: of the standard variable and the shape parameters, within the support.
        support: its ends: numbers, or functions of the shape parameters.
        moved: whether the methods take `loc` and `scale`.
        more: formulas of other methods of the standard form.
    """
    places = ("loc", "scale") if moved else ()

    def ends(args: Any) -> tuple[Any, Any]:
        low, high = (end(*args) if callable(end) else end for end in support)
        return low, high

    def standard(x: Any, rest: tuple[Any, ...]) -> tuple[Any, list[Any], Any]:
        x, *given = operands(x, *rest)
        args, scale = (given[: len(shapes)], given[-1]) if moved else (given, None)
        return (x - given[-2]) / scale if moved else x, args, scale

    def logpdf(x: Any, *rest: Any) -> Any:
        y, args, scale = standard(x, rest)
        low, high = ends(args)
        outside = (y < low) | (y > high)
        inner = lnp.where(outside, _inside(low, high), y)  # so that the slope outside is 0 and not NaN
        found = lnp.where(outside, -math.inf, log_density(inner, *args))
        return found if scale is None else found - lnp.log(scale)

    def at_ends(formula: Formula, below: float, above: float) -> Formula:
        def value(x: Any, *rest: Any) -> Any:
            y, args, _ = standard(x, rest)
            low, high = ends(args)
            inner = lnp.where((y <= low) | (y >= high), _inside(low, high), y)
            return lnp.where(y <= low, below, lnp.where(y >= high, above, formula(inner, *args)))

        return value

    def quantile(formula: Formula) -> Formula:
        def value(q: Any, *rest: Any) -> Any:
            q, *given = operands(q, *rest)
            found = formula(q, *given[: len(shapes)])
            return found * given[-1] + given[-2] if moved else found

        return value

    formulas = {"logpdf": logpdf, "pdf": lambda *args: lnp.exp(logpdf(*args))}
    limits = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-math.inf, 0.0), "logsf": (0.0, -math.inf)}
    for key, formula in _completed(more).items():
        formulas[key] = at_ends(formula, *limits[key]) if key in limits else quantile(formula)
    count = 1 + len(shapes)
    names = {key: ("q" if key in ("ppf", "isf") else "x", *shapes, *places) for key in formulas}
    return Distribution(name, {key: _method(names[key], formula, count) for key, formula in formulas.items()})


def _inside(low: Any, high: Any) -> Any:
    """A point within a support."""
    if isinstance(low, float | int) and isinstance(high, float | int):
        return (low + high) / 2 if math.isfinite(low) and math.isfinite(high) else low + 1 if math.isfinite(low) else 0.0
    return (low + high) / 2


def _completed(formulas: Mapping[str, Formula]) -> dict[str, Formula]:
    """Probabilities with their logarithms, and logarithms with theirs."""
    found = dict(formulas)
    for key in ("cdf", "sf"):
        log = f"log{key}"
        if key in found and log not in found:
            found[log] = lambda *args, f=found[key]: lnp.log(f(*args))
        elif log in found and key not in found:
            found[key] = lambda *args, f=found[log]: lnp.exp(f(*args))
    return found


def _log1mexp(x: Any) -> Any:
    """`log(1 - exp(x))` of negative `x` (Maechler, Accurately Computing log(1 - exp(-|a|)), 2012)."""
    near = x > -math.log(2)
    return lnp.where(near, lnp.log(-lnp.expm1(lnp.where(near, x, -1.0))), lnp.log1p(-lnp.exp(lnp.where(near, -1.0, x))))


norm = _continuous(
    "norm",
    lambda y: -(y * y + _LOG_2PI) / 2,
    cdf=special.ndtr,
    logcdf=special.log_ndtr,
    sf=lambda y: special.ndtr(-y),
    logsf=lambda y: special.log_ndtr(-y),
    ppf=special.ndtri,
    isf=lambda q: -special.ndtri(q),
)
uniform = _continuous("uniform", lambda y: y * 0, support=(0, 1), cdf=lambda y: y, sf=lambda y: 1 - y, ppf=lambda q: q)
expon = _continuous(
    "expon",
    lambda y: -y,
    support=(0, math.inf),
    cdf=lambda y: -lnp.expm1(-y),
    logcdf=lambda y: _log1mexp(-y),
    sf=lambda y: lnp.exp(-y),
    logsf=lambda y: -y,
    ppf=lambda q: -lnp.log1p(-q),
    isf=lambda q: -lnp.log(q),
)
laplace = _continuous(
    "laplace",
    lambda y: -lnp.abs(y) - math.log(2),
    cdf=lambda y: _laplace_cdf(y),
    sf=lambda y: _laplace_cdf(-y),
    ppf=lambda q: lnp.where(q < 0.5, lnp.log(2 * q), -lnp.log(2 * (1 - q))),
)
logistic = _continuous(
    "logistic",
    lambda y: -lnp.abs(y) - 2 * lnp.log1p(lnp.exp(-lnp.abs(y))),
    cdf=special.expit,
    logcdf=lambda y: -lnp.logaddexp(0, -y),
    sf=lambda y: special.expit(-y),
    logsf=lambda y: -lnp.logaddexp(0, y),
    ppf=special.logit,
    isf=lambda q: -special.logit(q),
)
cauchy = _continuous(
    "cauchy",
    lambda y: -math.log(math.pi) - lnp.log1p(y * y),
    cdf=lambda y: 0.5 + lnp.arctan(y) / math.pi,
    sf=lambda y: 0.5 - lnp.arctan(y) / math.pi,
    ppf=lambda q: lnp.tan(math.pi * (q - 0.5)),
    isf=lambda q: lnp.tan(math.pi * (0.5 - q)),
)
t = _continuous(
    "t",
    lambda y, df: (
        special.gammaln((df + 1) / 2)
        - special.gammaln(df / 2)
        - lnp.log(df * math.pi) / 2
        - (df + 1) / 2 * lnp.log1p(y * y / df)
    ),
    shapes=("df",),
)
gamma = _continuous(
    "gamma",
    lambda y, a: special.xlogy(a - 1, y) - y - special.gammaln(a),
    shapes=("a",),
    support=(0, math.inf),
    cdf=lambda y, a: special.gammainc(a, y),
    sf=lambda y, a: special.gammaincc(a, y),
)
chi2 = _continuous(
    "chi2",
    lambda y, df: special.xlogy(df / 2 - 1, y) - y / 2 - special.gammaln(df / 2) - df / 2 * math.log(2),
    shapes=("df",),
    support=(0, math.inf),
    cdf=lambda y, df: special.gammainc(df / 2, y / 2),
    sf=lambda y, df: special.gammaincc(df / 2, y / 2),
)
beta = _continuous(
    "beta",
    lambda y, a, b: special.xlogy(a - 1, y) + special.xlog1py(b - 1, -y) - special.betaln(a, b),
    shapes=("a", "b"),
    support=(0, 1),
    cdf=lambda y, a, b: special.betainc(a, b, y),
    sf=lambda y, a, b: special.betainc(b, a, 1 - y),
)
pareto = _continuous(
    "pareto",
    lambda y, b: lnp.log(b) - (b + 1) * lnp.log(y),
    shapes=("b",),
    support=(1, math.inf),
    cdf=lambda y, b: -lnp.expm1(-b * lnp.log(y)),
    logsf=lambda y, b: -b * lnp.log(y),
    ppf=lambda q, b: lnp.exp(-lnp.log1p(-q) / b),
)
gumbel_r = _continuous(
    "gumbel_r",
    lambda y: -y - lnp.exp(-y),
    logcdf=lambda y: -lnp.exp(-y),
    sf=lambda y: -lnp.expm1(-lnp.exp(-y)),
    logsf=lambda y: _log1mexp(-lnp.exp(-y)),
    ppf=lambda q: -lnp.log(-lnp.log(q)),
)
gumbel_l = _continuous(
    "gumbel_l",
    lambda y: y - lnp.exp(y),
    cdf=lambda y: -lnp.expm1(-lnp.exp(y)),
    logcdf=lambda y: _log1mexp(-lnp.exp(y)),
    logsf=lambda y: -lnp.exp(y),
    ppf=lambda q: lnp.log(-lnp.log1p(-q)),
)
gennorm = _continuous(
    "gennorm",
    lambda y, beta: lnp.log(beta / 2) - special.gammaln(1 / beta) - lnp.abs(y) ** beta,
    shapes=("beta",),
    moved=False,
    cdf=lambda y, beta: (1 + lnp.sign(y) * special.gammainc(1 / beta, lnp.abs(y) ** beta)) / 2,
)
vonmises = _continuous(
    "vonmises",
    lambda y, kappa: kappa * (lnp.cos(y) - 1) - _LOG_2PI - lnp.log(special.i0e(kappa)),
    shapes=("kappa",),
    moved=False,
)
wrapcauchy = _continuous(
    "wrapcauchy",
    lambda y, c: lnp.log1p(-c * c) - _LOG_2PI - lnp.log1p(c * (c - 2 * lnp.cos(y))),
    shapes=("c",),
    support=(0, 2 * math.pi),
    moved=False,
)


def _laplace_cdf(y: Any) -> Any:
    tail = lnp.exp(-lnp.abs(y)) / 2
    return lnp.where(y <= 0, tail, 1 - tail)


def _log_normal_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability that a normal variable lies between `a` and `b`."""
    turned = a > 0  # in the upper tail, differences of the lower one are exact
    low, high = lnp.where(turned, -b, a), lnp.where(turned, -a, b)
    beside = low * high < 0
    tail_low, tail_high = (lnp.where(beside, start, x) for x, start in ((low, -1.0), (high, 0.0)))
    log_high = special.log_ndtr(tail_high)
    of_tail = log_high + _log1mexp(lnp.minimum(special.log_ndtr(tail_low) - log_high, -1e-300))
    around = lnp.log1p(-special.ndtr(low) - special.ndtr(-high))
    return lnp.where(beside, around, of_tail)


truncnorm = _continuous(
    "truncnorm",
    lambda y, a, b: -(y * y + _LOG_2PI) / 2 - _log_normal_mass(a, b),
    shapes=("a", "b"),
    support=(lambda a, b: a, lambda a, b: b),
    logcdf=lambda y, a, b: _log_normal_mass(a, y) - _log_normal_mass(a, b),
    logsf=lambda y, a, b: _log_normal_mass(y, b) - _log_normal_mass(a, b),
)


# --------------------------------------------------------------------------------------------------------------------
# Integers


def _discrete(
    name: str,
    log_mass: Formula,
    shapes: tuple[str, ...],
    first: int = 0,
    last: Callable[..., Any] | None = None,
    cdf: Formula | None = None,
    moved_cdf: bool = True,
    ppf: Formula | None = None,
) -> Distribution:
    """A distribution of integers from `first` to `last(*shapes)`, or without end."""

    def standard(k: Any, rest: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        k, *given = operands(k, *rest)
        return k - given[-1] if len(given) > len(shapes) else k, given[: len(shapes)]

    def logpmf(k: Any, *rest: Any) -> Any:
        y, args = standard(k, rest)
        outside = (y < first) | (y != lnp.floor(lnp.where(lnp.isnan(y), 0, y))) & ~lnp.isnan(y)
        if last is not None:
            outside = outside | (y > last(*args))
        inner = lnp.where(outside, float(first), y)
        return lnp.where(outside, -math.inf, log_mass(inner, *args))

    def cumulated(k: Any, *rest: Any) -> Any:
        y, args = standard(k, rest)
        y = lnp.floor(y)
        assert cdf is not None
        found = lnp.where(y < first, 0.0, cdf(lnp.where(y < first, float(first), y), *args))
        return found if last is None else lnp.where(y >= last(*args), 1.0, found)

    names, count = ("k", *shapes, "loc"), 1 + len(shapes)
    methods = {
        "logpmf": _method(names, logpmf, count),
        "pmf": _method(names, lambda *args: lnp.exp(logpmf(*args)), count),
    }
    if cdf is not None:
        methods["cdf"] = _method(names if moved_cdf else names[:-1], cumulated, count)
    if ppf is not None:
        methods["ppf"] = _method(("q", *shapes), lambda *args: ppf(*operands(*args)), count)
    return Distribution(name, methods)


def _log_choose(n: Any, k: Any) -> Any:
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


bernoulli = _discrete(
    "bernoulli",
    lambda k, p: special.xlogy(k, p) + special.xlog1py(1 - k, -p),
    ("p",),
    last=lambda p: 1.0,
    cdf=lambda k, p: 1 - p,
    moved_cdf=False,
    ppf=lambda q, p: lnp.where((q < 0) | (q > 1) | (p < 0) | (p > 1), math.nan, (q > 1 - p).astype(q.dtype)),
)
binom = _discrete(
    "binom",
    lambda k, n, p: _log_choose(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p),
    ("n", "p"),
    last=lambda n, p: n,
)
nbinom = _discrete(
    "nbinom",
    lambda k, n, p: (
        special.gammaln(k + n) - special.gammaln(k + 1) - special.gammaln(n) + n * lnp.log(p) + special.xlog1py(k, -p)
    ),
    ("n", "p"),
)
geom = _discrete("geom", lambda k, p: special.xlog1py(k - 1, -p) + lnp.log(p), ("p",), first=1)
poisson = _discrete(
    "poisson",
    lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1) - mu,
    ("mu",),
    cdf=lambda k, mu: special.gammaincc(k + 1, mu),
)
betabinom = _discrete(
    "betabinom",
    lambda k, n, a, b: (
        -lnp.log1p(n) - special.betaln(n - k + 1, k + 1) + special.betaln(k + a, n - k + b) - special.betaln(a, b)
    ),
    ("n", "a", "b"),
    last=lambda n, a, b: n,
)

"""Random numbers by rejection: gamma, Poisson and binomial ones, and those derived from them.

Streams are those of jax: keys are split as there, and the loops are those of the papers that are named. Loops run over whole
arrays until all elements are accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, broadcast_tracer, build, full_like_tracer, lift, lift_as
from ...api.dtypes import canonical, is_integer_dtype
from ...api.errors import DTypeError, ShapeError
from ...api.functions import scan, vmap, while_loop, with_slopes
from ..nn.namespace import softmax
from ..numpy.axes_and_shapes import reshape_tracer, static_int, static_shape
from ..numpy.contract import matvec
from ..numpy.create import diagonal
from ..numpy.elementwise import compare, select
from ..numpy.index import take
from ..numpy.logic import where
from ..numpy.looped import looped
from ..numpy.reduce import all as all_of
from ..numpy.reduce import any as any_of
from ..numpy.scan import cumsum
from ..numpy.shape import matrix_transpose, moveaxis
from ..numpy.ufuncs import floor
from ..special.incomplete import gamma_sample_slope
from ..special.namespace import gammaln
from .bits import float_dtype, sample_shape, split, uniform_floats
from .distributions import exponential, maxwell, normal, rademacher
from .keys import takes_keys


def _looped(*known: str) -> Callable[..., Any]:
    """As `looped`, of functions of a key."""
    return lambda function: takes_keys(looped(*known)(function))


def _keys(key: Any, count: int) -> list[Any]:
    return [take(split(key, count), k, 0) for k in range(count)]


def _shaped(what: str, shape: Any, *parameters: Tracer) -> tuple[int, ...]:
    """The shape that is requested, to which the parameters must broadcast."""
    wanted = sample_shape(shape, *(p.shape for p in parameters))
    for p in parameters:
        broadcast_tracer(p, wanted) if p.ndim <= len(wanted) else _refuse(what, wanted, p)
    return wanted


def _refuse(what: str, wanted: tuple[int, ...], p: Tracer) -> None:
    raise ShapeError(f"{what} of shape {list(wanted)} cannot have parameters of shape {list(p.shape)}")


# --------------------------------------------------------------------------------------------------------------------
# Gamma


def _cube(key: Any, d: Tracer, c: Tracer) -> Tracer:
    """The accepted values of `(1 + c x)^3` for normal `x`: G. Marsaglia, W. W. Tsang, ACM Trans. Math. Software 26 (2000)
    363."""
    dtype = d.dtype
    zero, one, two = (lift_as(v, dtype) for v in (0, 1, 2))

    def positive(key: Any) -> tuple[Any, Any]:
        def draw(state: Any) -> Any:
            key, _, _ = state
            key, own = _keys(key, 2)
            x = lift(normal(own, (), dtype))
            return key, x, 1 + x * c

        return while_loop(lambda state: state[2] <= 0, draw, (key, zero, -one))[1:]

    def step(state: Any) -> Any:
        key, of_normal, of_uniform = _keys(state[0], 3)
        x, v = positive(of_normal)
        return key, x * x, v * v * v, uniform_floats(of_uniform, (), dtype)

    def rejected(state: Any) -> Any:
        _, x, v, u = state
        log = build("log", u)
        return (u >= 1 - 0.0331 * (x * x)) & (log >= 0.5 * x + d * (1 - v + build("log", v)))

    return while_loop(rejected, step, (key, zero, one, two))[2]


def _one_gamma(key: Any, alpha: Tracer, log_space: bool) -> Tracer:
    large = alpha >= 1
    boosted = where(large, alpha, alpha + 1)
    d = boosted - 1 / 3
    c = (1 / 3) / build("sqrt", d)
    key, own = _keys(key, 2)
    v = _cube(key, d, c)
    if log_space:
        log = -lift(exponential(own, (), alpha.dtype))
        boost = where(large | (log == 0), 0.0, log * (1 / alpha))
        return build("log", d) + build("log", v) + boost
    rest = 1 - uniform_floats(own, (), alpha.dtype)
    return d * v * where(large, 1.0, build("pow", rest, 1 / alpha))


def gammas(key: Any, alpha: Tracer, log_space: bool) -> Tracer:
    """Gamma numbers, or their logarithms, of parameters, each with a key of its own; with slopes by the parameters."""
    if not alpha.size:
        return alpha

    def draw(alpha: Tracer) -> Tracer:
        rows = reshape_tracer(alpha, (alpha.size,))
        y = vmap(lambda key, a: _one_gamma(key, a, log_space))(split(key, alpha.size), rows)
        return reshape_tracer(lift(y), alpha.shape)

    def slope(y: Tracer, alpha: Tracer) -> Tracer:
        if not log_space:
            return lift(gamma_sample_slope(alpha, y))
        sample = build("max", build("exp", y), full_like_tracer(y, float(np.finfo(y.dtype).tiny)))
        return lift(gamma_sample_slope(alpha, sample)) / sample

    return with_slopes(draw, slope)(alpha)


def _gamma(key: Any, a: Any, shape: Any, dtype: Any, log_space: bool) -> Tracer:
    a = lift_as(a, float_dtype(dtype))
    return gammas(key, broadcast_tracer(a, _shaped("gamma", shape, a)), log_space)


@_looped("shape", "dtype")
def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Gamma numbers of density `x^(a - 1) exp(-x) / gamma(a)`; results can be differentiated by `a`.

    Args:
        key: uint32[2].
        a: a number or an array that broadcasts to the shape.
        shape: sizes, known while tracing; None is the shape of `a`.
        dtype: float32 or float64.

    >>> import numpy as np, lamina as lm
    >>> lm.random.gamma(lm.random.key(0), np.array([0.5, 20.0])).round(4)
    array([ 0.0981, 17.6294])
    """
    return _gamma(key, a, shape, dtype, False)


@_looped("shape", "dtype")
def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Logarithms of gamma numbers, which for small `a` are not too small for the dtype."""
    return _gamma(key, a, shape, dtype, True)


@_looped("shape", "dtype")
def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Beta numbers of density `x^(a - 1) (1 - x)^(b - 1) / beta(a, b)`."""
    dtype = float_dtype(dtype)
    a, b = lift_as(a, dtype), lift_as(b, dtype)
    shape = _shaped("beta", shape, a, b)
    logs = [gammas(own, broadcast_tracer(p, shape), True) for own, p in zip(_keys(key, 2), (a, b), strict=True)]
    most = build("max", *logs)
    x, y = (build("exp", log - most) for log in logs)
    return x / (x + y)


@_looped("shape", "dtype")
def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Vectors of positive numbers whose sum is 1, of density proportional to the product of `x^(alpha - 1)`.

    Args:
        alpha: `[..., n]`, the parameters along the last dim.
        shape: the dims in front of the last one.
    """
    a = lift_as(alpha, float_dtype(dtype))
    if not a.ndim:
        raise ShapeError("dirichlet needs a vector of parameters, got a number")
    rows = a.shape[:-1] if shape is None else static_shape(shape)
    return softmax(gammas(key, broadcast_tracer(a, (*rows, a.shape[-1])), True), -1)


@_looped("shape", "dtype")
def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Chi-square numbers: sums of squares of `df` normal ones."""
    return _chisquare(key, lift_as(df, float_dtype(dtype)), shape)


def _chisquare(key: Any, df: Tracer, shape: Any) -> Tracer:
    return build("exp", _gamma(key, df / 2.0, shape, df.dtype, True)) * 2.0


@_looped("shape", "dtype")
def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = float) -> Any:
    """F numbers: ratios of two chi-square numbers over their degrees of freedom."""
    dtype = float_dtype(dtype)
    top, bottom = lift_as(dfnum, dtype), lift_as(dfden, dtype)
    shape = _shaped("f", shape, top, bottom)
    of_bottom, of_top = _keys(key, 2)
    return (_chisquare(of_top, top, shape) / top) / (_chisquare(of_bottom, bottom, shape) / bottom)


@_looped("shape", "dtype")
def t(key: Any, df: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Student's t numbers of `df` degrees of freedom."""
    half = lift_as(df, float_dtype(dtype)) / 2.0
    shape = _shaped("t", shape, half)
    of_normal, of_gamma = _keys(key, 2)
    g = _gamma(of_gamma, half, shape, half.dtype, False)
    return lift(normal(of_normal, shape, half.dtype)) * build("sqrt", broadcast_tracer(half, shape) / g)


@_looped("p", "shape", "dtype")
def generalized_normal(key: Any, p: float, shape: Any = (), dtype: Any = float) -> Any:
    """Numbers of density proportional to `exp(-|x|^p)`."""
    return _generalized_normal(key, p, static_shape(shape), float_dtype(dtype))


def _generalized_normal(key: Any, p: float, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    of_gamma, of_sign = _keys(key, 2)
    g = _gamma(of_gamma, 1 / p, shape, dtype, False)
    return lift(rademacher(of_sign, shape, dtype)) * build("pow", g, full_like_tracer(g, 1 / p))


@_looped("d", "p", "shape", "dtype")
def ball(key: Any, d: int, p: float = 2, shape: Any = (), dtype: Any = float) -> Any:
    """Points of `d` dims whose `p`-norm is at most 1, uniform: F. Barthe et al., Annals of Probability 33 (2005) 480."""
    shape, dtype = static_shape(shape), float_dtype(dtype)
    first, second = _keys(key, 2)
    g = _generalized_normal(first, p, (*shape, static_int(d, "d")), dtype)
    powers = build("pow", build("abs", g), full_like_tracer(g, p))
    length = (powers.sum(-1) + lift(exponential(second, shape, dtype))) ** (1 / p)
    return g / length[..., None]


# --------------------------------------------------------------------------------------------------------------------
# Normal vectors and matrices, other continuous numbers


@_looped("shape", "dtype", "method")
def multivariate_normal(key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: str = "cholesky") -> Any:
    """Normal vectors of a mean and a covariance.

    Args:
        mean: `[..., n]`.
        cov: `[..., n, n]`, positive definite, for the methods "eigh" and "svd" semidefinite.
        shape: the dims in front of the last one.
        method: the factor of the covariance that normal numbers are multiplied by.

    Raises:
        ShapeError: sizes differ.
        ValueError: there is no such method.
    """
    from ..linalg import factors as linalg_factors

    m, c = lift(mean), lift(cov)
    dtype = float_dtype((m.dtype if m.dtype.kind == "f" else float) if dtype is None else dtype)
    m, c = lift_as(m, dtype), lift_as(c, dtype)
    if method not in ("cholesky", "eigh", "svd"):
        raise ValueError(f"multivariate_normal method must be cholesky, eigh or svd, got {method!r}")
    if m.ndim < 1 or c.ndim < 2 or c.shape[-2:] != (m.shape[-1],) * 2:
        raise ShapeError(f"multivariate_normal needs [..., n] and [..., n, n], got {list(m.shape)} and {list(c.shape)}")
    rows = sample_shape(shape, m.shape[:-1], c.shape[:-2])
    if method == "cholesky":
        factor = linalg_factors.cholesky(c)
    else:
        w, v = linalg_factors.eigh(c) if method == "eigh" else linalg_factors.svd(c)[1::-1]
        factor = v * build("sqrt", lift(w))[..., None, :]
    return m + matvec(factor, normal(key, (*rows, m.shape[-1]), dtype))


@_looped("n", "shape", "dtype", "m")
def orthogonal(key: Any, n: int, shape: Any = (), dtype: Any = float, m: int | None = None) -> Any:
    """Orthogonal matrices, uniform: the factor Q of normal ones, with the signs of R's diagonal (Mezzadri 2007).

    Args:
        n, m: rows and columns; the fewer of the two are orthonormal.
        shape: the dims in front.
    """
    from ..linalg import factors as linalg_factors

    rows, columns = static_int(n, "n"), static_int(n if m is None else m, "m")
    sizes = (*static_shape(shape), max(rows, columns), min(rows, columns))
    q, r = linalg_factors.qr(lift(normal(key, sizes, float_dtype(dtype))))
    x = q * build("sign", lift(diagonal(r, 0, -2, -1)))[..., None, :]
    return matrix_transpose(x) if rows < columns else x


@_looped("shape", "dtype")
def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = float) -> Any:
    """`loc + scale x` of Maxwell numbers `x` with random signs; the shape of the parameters is added to the one given."""
    dtype = float_dtype(dtype)
    loc, scale = lift_as(loc, dtype), lift_as(scale, dtype)
    together = sample_shape(None, loc.shape, scale.shape)
    shape = (*(static_shape(shape) or together), *together)
    first, second = _keys(key, 2)
    return lift(rademacher(second, shape, dtype)) * lift(maxwell(first, shape, dtype)) * scale + loc


@_looped("shape", "dtype")
def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Wald numbers (inverse Gaussian of scale 1): J. Michael, W. Schucany, R. Haas, American Statistician 30 (1976) 88."""
    mean = lift_as(mean, float_dtype(dtype))
    mean = broadcast_tracer(mean, _shaped("wald", shape, mean))
    first, second = _keys(key, 2)
    v = lift(normal(first, mean.shape, mean.dtype))
    z = uniform_floats(second, mean.shape, mean.dtype)
    y = v * v
    root = build("sqrt", 4.0 * mean * y + mean * mean * (y * y))
    x = mean + mean * mean * y / 2.0 - mean / 2.0 * root
    return select(compare("le", z, mean / (mean + x)), x, mean * mean / x)


# --------------------------------------------------------------------------------------------------------------------
# Counts


def _accepted(step: Any, key: Any, start: Tracer) -> Tracer:
    """Values of `step(key) -> value, accepted`, the last accepted one where all have been accepted once."""

    def body(state: Any) -> Any:
        key, value, done = state
        key, first, second = _keys(key, 3)
        found, accept = step(first, second)
        return key, select(accept, found, value), build("or", done, accept)

    none = compare("ne", start, start)
    return while_loop(lambda state: ~all_of(state[2]), body, (key, start, none))[1]


def _poisson_products(key: Any, rate: Tracer) -> Tracer:
    """How many uniform numbers have a product above `exp(-rate)`: D. Knuth, The Art of Computer Programming 2, 3.4.1."""

    def body(state: Any) -> Any:
        key, count, log = state
        key, own = _keys(key, 2)
        u = uniform_floats(own, rate.shape, rate.dtype)
        return key, build("add", count, lift_as(compare("gt", log, -rate), count.dtype)), log + build("log", u)

    zeros = full_like_tracer(rate, 0)
    start = key, lift_as(zeros, np.dtype(np.int64)), zeros
    return while_loop(lambda state: any_of(compare("gt", state[2], -rate)), body, start)[1] - 1


def _poisson_rejection(key: Any, rate: Tracer) -> Tracer:
    """Transformed rejection: W. Hormann, Insurance: Mathematics and Economics 12 (1993) 39."""
    log_rate = build("log", rate)
    b = 0.931 + 2.53 * build("sqrt", rate)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    accepted_below = 0.9277 - 3.6224 / (b - 2.0)

    def step(first: Any, second: Any) -> tuple[Tracer, Tracer]:
        u = uniform_floats(first, rate.shape, rate.dtype) - 0.5
        v = uniform_floats(second, rate.shape, rate.dtype)
        shifted = 0.5 - build("abs", u)
        k = floor((2.0 * a / shifted + b) * u + rate + 0.43)
        s = build("log", v * inverse / (a / (shifted * shifted) + b))
        t = -rate + k * log_rate - gammaln(k + 1.0)
        rejected = (k < 0) | ((shifted < 0.013) & (v > shifted))
        return k, ((shifted >= 0.07) & (v <= accepted_below)) | (~rejected & (s <= t))

    return _accepted(step, key, full_like_tracer(rate, -1))


@_looped("shape", "dtype")
def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = int) -> Any:
    """Poisson numbers of mean `lam`: how many events there are; -1 where it is NaN or negative.

    Args:
        lam: a number or an array that broadcasts to the shape.
        dtype: of the result, integers.
    """
    dtype = canonical(dtype)
    if not is_integer_dtype(dtype):
        raise DTypeError(f"poisson gives integers, got {dtype}")
    rate = lift_as(lam, np.dtype(np.float32))  # as in jax: streams are of this dtype
    rate = broadcast_tracer(rate, _shaped("poisson", shape, rate))
    few = build("or", compare("ne", rate, rate), compare("lt", rate, full_like_tracer(rate, 10)))
    zero = full_like_tracer(rate, 0)
    products = _poisson_products(key, select(few, rate, zero))
    rejection = _poisson_rejection(key, select(few, full_like_tracer(rate, 1e5), rate))
    y = select(few, lift_as(products, dtype), lift_as(rejection, dtype))
    return select(compare("eq", rate, zero), full_like_tracer(y, 0), y)


def _binomial_inversion(key: Any, count: Tracer, p: Tracer) -> Tracer:
    """How many geometric numbers have a sum of at most `count`."""
    log = build("log1p", -p)

    def body(state: Any) -> Any:
        key, found, total = state
        own, key = _keys(key, 2)
        going = compare("le", total, count)
        u = uniform_floats(own, p.shape, p.dtype)
        return key, found + lift_as(going, p.dtype), total + build("ceil", build("log", u) / log)

    zeros = full_like_tracer(p, 0)
    return while_loop(lambda state: any_of(compare("le", state[2], count)), body, (key, zeros, zeros))[1] - 1.0


_STIRLING_TAIL = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
    0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip
"""`log(k!)` less Stirling's formula at `k + 1`, for k from 0 on."""


def _stirling_tail(k: Tracer) -> Tracer:
    square = (k + 1.0) * (k + 1.0)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1.0)
    inside = build("min", build("max", k, full_like_tracer(k, 0)), full_like_tracer(k, 9))
    table = lift_as(np.array(_STIRLING_TAIL), k.dtype)
    known = lift(take(table, lift_as(floor(inside), np.dtype(np.int64))))
    return select(compare("le", k, full_like_tracer(k, 9)), known, series)


def _binomial_rejection(key: Any, count: Tracer, p: Tracer) -> Tracer:
    """Transformed rejection: W. Hormann, Journal of Statistical Computation and Simulation 46 (1993) 101, BTRS."""
    deviation = build("sqrt", count * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = count * p + 0.5
    accepted_below = 0.92 - 4.2 / b
    r = p / (1.0 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = floor((count + 1.0) * p)

    def step(first: Any, second: Any) -> tuple[Tracer, Tracer]:
        u = uniform_floats(first, p.shape, p.dtype)
        v = uniform_floats(second, p.shape, p.dtype)
        u = u - 0.5
        shifted = 0.5 - build("abs", u)
        sure = (shifted >= 0.07) & (v <= accepted_below)
        k = floor((2.0 * a / shifted + b) * u + c)
        rejected = (k < 0) | (k > count)
        v = build("log", v * alpha / (a / (shifted * shifted) + b))
        bound = (
            (m + 0.5) * build("log", (m + 1.0) / (r * (count - m + 1.0)))
            + (count + 1.0) * build("log", (count - m + 1.0) / (count - k + 1.0))
            + (k + 0.5) * build("log", r * (count - k + 1.0) / (k + 1.0))
            + _stirling_tail(m)
            + _stirling_tail(count - m)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        return k, sure | (~rejected & (v <= bound))

    return _accepted(step, key, full_like_tracer(p, -1))


def _binomial(key: Any, n: Any, p: Any, shape: Any, dtype: np.dtype[Any]) -> Tracer:
    prob = lift(p)
    prob = prob if prob.dtype.kind == "f" else lift_as(prob, np.dtype(np.float64))
    count = lift_as(n, prob.dtype)
    shape = _shaped("binomial", shape, count, prob)
    count, prob = broadcast_tracer(count, shape), broadcast_tracer(prob, shape)
    less = prob < 0.5
    q = where(less, prob, 1.0 - prob)
    no_count = (count != count) | (count < 0)
    no_chance = (q != q) | (q < 0)
    infinite = count == math.inf
    q = lift(where(no_chance, 0.01, q))
    few = no_count | (count * q <= 10.0)
    count = floor(count)
    many = _binomial_rejection(key, where(few | infinite, 1e4, count), where(few, 0.5, q))
    y = where(few, _binomial_inversion(key, where(few, count, 0.0), q), many)
    y = where(infinite, math.inf, where(no_count | no_chance, math.nan, y))
    y = where(less | no_count | no_chance | infinite, y, count - y)
    return lift_as(y, dtype)


@_looped("shape", "dtype")
def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = float) -> Any:
    """Binomial numbers: how many of `n` trials of probability `p` succeed, as floats; NaN where there are none such.

    Args:
        n, p: numbers or arrays that broadcast to the shape.
    """
    return _binomial(key, n, p, shape, float_dtype(dtype))


@_looped("shape", "dtype")
def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = float) -> Any:
    """How many of `n` trials have each outcome, as floats.

    Args:
        n: trials, an array that broadcasts to the shape without its last dim.
        p: probabilities along the last dim.
        shape: of the result; None is that of `p`.
    """
    p = lift(p)
    p = p if p.dtype.kind == "f" else lift_as(p, np.dtype(np.float64))
    shape = p.shape if shape is None else static_shape(shape)
    trials = broadcast_tracer(lift_as(n, p.dtype), shape[:-1])
    rows = lift(moveaxis(broadcast_tracer(p, shape), -1, 0))
    left = lift(cumsum(rows, 0, reverse=True))
    ratios = rows / where(left == 0, 1.0, left)

    def step(left: Any, x: Any) -> Any:
        ratio, own = x
        ratio = build("min", build("max", ratio, full_like_tracer(ratio, 0)), full_like_tracer(ratio, 1))
        count = _binomial(own, left, ratio, None, p.dtype)
        return left - count, count

    counts = scan(step, trials, (ratios, split(key, rows.shape[0])))[1]
    return lift_as(moveaxis(counts, 0, -1), float_dtype(dtype))

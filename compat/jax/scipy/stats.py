"""`lamina.scipy.stats`: distributions (`distributions.py`), those of several variables, ranks and statistics of samples."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ....api.errors import ShapeError
from ....library.linalg import namespace as linalg
from ....library.numpy import namespace as lnp
from ....library.numpy.scan import cummax, cummin
from ....library.special import namespace as special
from ....names import public
from . import distributions
from .distributions import Distribution
from .distributions import bernoulli as bernoulli
from .distributions import beta as beta
from .distributions import betabinom as betabinom
from .distributions import binom as binom
from .distributions import cauchy as cauchy
from .distributions import chi2 as chi2
from .distributions import expon as expon
from .distributions import gamma as gamma
from .distributions import gennorm as gennorm
from .distributions import geom as geom
from .distributions import gumbel_l as gumbel_l
from .distributions import gumbel_r as gumbel_r
from .distributions import laplace as laplace
from .distributions import logistic as logistic
from .distributions import nbinom as nbinom
from .distributions import norm as norm
from .distributions import pareto as pareto
from .distributions import poisson as poisson
from .distributions import t as t
from .distributions import truncnorm as truncnorm
from .distributions import uniform as uniform
from .distributions import vonmises as vonmises
from .distributions import wrapcauchy as wrapcauchy
from .kde import gaussian_kde as gaussian_kde

__all__ = list(public("scipy.stats"))


def _with_exponential(name: str, of: str, logarithm: Any) -> Distribution:
    """A distribution of several variables, by the logarithm of its density or of its probabilities."""

    def plain(*args: Any, **kwargs: Any) -> Any:
        return lnp.exp(logarithm(*args, **kwargs))

    return Distribution(name, {f"log{of}": logarithm, of: plain})


def _dirichlet(x: Any, alpha: Any) -> Any:
    x, alpha = distributions.operands(x, alpha)
    if alpha.ndim != 1 or x.ndim < 1 or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ShapeError(f"dirichlet takes components along dim 0 of x, got {list(x.shape)} for alpha {list(alpha.shape)}")
    if x.shape[0] < alpha.shape[0]:
        x = lnp.concatenate([x, 1 - x.sum(0, keepdims=True)])
    column = alpha.reshape(-1, *(1 for _ in x.shape[1:]))
    inside = (x > 0).all(0) & (lnp.abs(x.sum(0) - 1) < 1e-6)
    found = special.xlogy(column - 1, lnp.where(x > 0, x, 1)).sum(0)
    constant = special.gammaln(alpha).sum() - special.gammaln(alpha.sum())
    return lnp.where(inside, found - constant, -math.inf)


def _multinomial(x: Any, n: Any, p: Any) -> Any:
    x, n, p = distributions.operands(x, n, p)
    found = special.gammaln(n + 1) + (special.xlogy(x, p) - special.gammaln(x + 1)).sum(-1)
    return lnp.where(x.sum(-1) == n, found, -math.inf)


def _multivariate_normal(x: Any, mean: Any = 0.0, cov: Any = 1.0, allow_singular: None = None) -> Any:
    if allow_singular is not None:
        raise ShapeError("multivariate_normal takes no allow_singular: the covariance must be positive definite")
    x, mean, cov = distributions.operands(x, mean, cov)
    if not cov.ndim:  # independent components of one variance
        distance = x - mean
        count = distance.shape[-1] if distance.ndim else 1
        square = (distance**2).sum(-1) if distance.ndim else distance**2
        return -(square / cov + count * (math.log(2 * math.pi) + lnp.log(cov))) / 2
    if cov.ndim < 2 or cov.shape[-1] != cov.shape[-2]:
        raise ShapeError(f"multivariate_normal needs a square covariance, got {list(cov.shape)}")
    factor = linalg.cholesky(cov)
    distance = lnp.broadcast_to(x - mean, (*lnp.broadcast_shapes((x - mean).shape, cov.shape[:-1]),))
    factor = lnp.broadcast_to(factor, (*distance.shape, distance.shape[-1]))
    scaled = linalg.solve_triangular(factor, distance[..., None], lower=True)[..., 0]
    half_log_det = lnp.log(lnp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    return -((scaled**2).sum(-1) + distance.shape[-1] * math.log(2 * math.pi)) / 2 - half_log_det


dirichlet = _with_exponential("dirichlet", "pdf", _dirichlet)
multinomial = _with_exponential("multinomial", "pmf", _multinomial)
multivariate_normal = _with_exponential("multivariate_normal", "pdf", _multivariate_normal)


# --------------------------------------------------------------------------------------------------------------------
# Samples


def _propagating(nan_policy: str, what: str) -> None:
    if nan_policy != "propagate":
        raise ValueError(f'{what} has nan_policy "propagate" alone, got {nan_policy!r}')


def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """`scipy.stats.sem`: the standard error of the mean, `std(a, ddof) / sqrt(n)`.

    With `nan_policy="omit"`, NaN is no element.

    Raises:
        ValueError: another `nan_policy`.
    """
    a = lnp.asarray(a)
    if nan_policy == "omit":
        there = lnp.sum(~lnp.isnan(a), axis=axis, keepdims=keepdims)
        return lnp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims) / lnp.sqrt(there.astype(a.dtype))
    _propagating(nan_policy, "sem")
    count = a.size if axis is None else a.shape[axis]
    deviation = lnp.std(a, axis=axis, ddof=ddof, keepdims=keepdims)
    return deviation / (math.sqrt(count) if isinstance(count, int) else lnp.sqrt(lnp.asarray(count, deviation.dtype)))


_TIES = ("average", "min", "max", "dense", "ordinal")


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Any:
    """`scipy.stats.rankdata`: the ranks of elements in sorted order, from 1.

    Args:
        method: the rank of equal elements: "average", "min" or "max" of their ranks, "dense" (the number of the value),
            "ordinal" (in the order in which they stand).
        axis: ranks are of the elements along it; None ranks all, in one dim.

    Raises:
        ValueError: another method or `nan_policy`.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.stats.rankdata(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    _propagating(nan_policy, "rankdata")
    if method not in _TIES:
        raise ValueError(f"rankdata takes a method of {', '.join(_TIES)}, got {method!r}")
    a = lnp.asarray(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    rows = lnp.moveaxis(a, axis, -1)
    order = lnp.argsort(rows, axis=-1, stable=True)
    place = lnp.argsort(order, axis=-1, stable=True)
    if method == "ordinal":
        ranks = place + 1
    else:
        ranks = _ranks_of_ties(rows, order, place, method)
    if lnp.issubdtype(a.dtype, lnp.floating):
        ranks = lnp.where(lnp.isnan(rows).any(-1, keepdims=True), math.nan, ranks)
    return lnp.moveaxis(ranks, -1, axis)


def _ranks_of_ties(rows: Any, order: Any, place: Any, method: str) -> Any:
    ordered = lnp.take_along_axis(rows, order, -1)
    n = rows.shape[-1]
    if not n:
        return place + 1.0 if method == "average" else place
    edge = lnp.ones((*rows.shape[:-1], 1), bool)
    is_first = lnp.concatenate([edge, ordered[..., 1:] != ordered[..., :-1]], -1)
    is_last = lnp.concatenate([is_first[..., 1:], edge], -1)
    number = lnp.arange(1, n + 1)
    if method == "dense":
        ranks = lnp.cumsum(is_first, -1)
    else:
        first = cummax(lnp.where(is_first, number, 1), -1)
        last = cummin(lnp.where(is_last, number, n), -1, reverse=True)
        ranks = {"min": first, "max": last, "average": (first + last) / 2}[method]
    return lnp.take_along_axis(ranks, place, -1)


class ModeResult(NamedTuple):
    """The most frequent values, and how often each is met."""

    mode: Any
    count: Any


def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """`scipy.stats.mode`: the most frequent value along an axis, the least of several, and its number.

    Raises:
        ValueError: another `nan_policy`, or no elements.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.stats.mode(np.array([3, 1, 3, 1, 2])).mode
    array(1)
    """
    _propagating(nan_policy, "mode")
    a = lnp.asarray(a)
    shape = a.shape
    rows = a.reshape(-1) if axis is None else lnp.moveaxis(a, axis, -1)
    if not rows.shape[-1]:
        raise ValueError("mode needs elements along the axis")
    ordered = lnp.sort(rows, axis=-1)
    ranks = [rankdata(ordered, method, axis=-1) for method in ("max", "min")]
    counts = (ranks[0] - ranks[1] + 1).astype(int)
    at = lnp.argmax(counts, axis=-1, keepdims=True)
    values = [lnp.take_along_axis(x, at, -1)[..., 0] for x in (ordered, counts)]
    if lnp.issubdtype(a.dtype, lnp.floating):
        has_nan = lnp.isnan(rows).any(-1)
        counted = lnp.isnan(rows).sum(-1)
        values = [lnp.where(has_nan, math.nan, values[0]), lnp.where(has_nan, counted, values[1])]
    if keepdims:
        dims = [1] * len(shape) if axis is None else [n if d != axis % len(shape) else 1 for d, n in enumerate(shape)]
        values = [x.reshape(dims) for x in values]
    return ModeResult(*values)

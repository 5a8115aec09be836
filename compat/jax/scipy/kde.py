"""Kernel density estimation by Gaussians: `gaussian_kde`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....api.errors import ShapeError
from ....library.linalg import namespace as linalg
from ....library.numpy import namespace as lnp
from ....library.random import namespace as random
from ....library.special import namespace as special


class gaussian_kde:
    """`scipy.stats.gaussian_kde`: the density of points, each a Gaussian of the covariance of all, made narrower by a factor.

    Args:
        dataset: points, `tensor[n]` or `tensor[d, n]`.
        bw_method: the factor: a number, a function of the estimate, "scott" (`n**(-1 / (d + 4))`) or "silverman".
        weights: of the points, `tensor[n]`; equal ones if None.

    Raises:
        ShapeError: there are less than two points, or weights for another number of them.
        ValueError: another `bw_method`.

    Source: Scott, Multivariate Density Estimation, 1992; Silverman, Density Estimation, 1986.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.stats.gaussian_kde(np.array([-1.0, 0.0, 1.0])).pdf(0.0).shape
    (1,)
    """

    def __init__(self, dataset: Any, bw_method: str | float | Callable[[Any], Any] | None = None, weights: Any = None):
        dataset = lnp.asarray(dataset)
        self.dataset = lnp.atleast_2d(dataset if lnp.issubdtype(dataset.dtype, lnp.floating) else dataset.astype(float))
        self.d, self.n = self.dataset.shape
        if self.dataset.size < 2:
            raise ShapeError(f"gaussian_kde needs at least two points, got {list(self.dataset.shape)}")
        given = lnp.ones(self.n, self.dataset.dtype) if weights is None else lnp.atleast_1d(lnp.asarray(weights))
        if given.shape != (self.n,):
            raise ShapeError(f"gaussian_kde needs a weight for each of {self.n} points, got {list(given.shape)}")
        self.weights = given / given.sum()
        self.neff = 1 / (self.weights**2).sum()
        self.factor = self._factor(bw_method)
        centered = self.dataset - (self.dataset * self.weights).sum(1, keepdims=True)
        spread = (centered * self.weights) @ centered.T / (1 - (self.weights**2).sum())
        self.covariance = spread * self.factor**2
        self._root = linalg.cholesky(self.covariance)

    def _factor(self, method: Any) -> Any:
        if method is None or method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if method == "silverman":
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        if callable(method):
            return method(self)
        if isinstance(method, str):
            raise ValueError(f'gaussian_kde takes "scott", "silverman", a number or a function, got {method!r}')
        return method

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at points `tensor[m]` or `tensor[d, m]`."""
        points = lnp.atleast_2d(lnp.asarray(x))
        if self.d > 1 and points.shape == (1, self.d):
            points = points.T
        if points.shape[0] != self.d:
            raise ShapeError(f"gaussian_kde of {self.d} dims takes points of as many, got {list(points.shape)}")
        whitened = [linalg.solve_triangular(self._root, p, lower=True) for p in (points, self.dataset)]
        square = ((whitened[0][:, :, None] - whitened[1][:, None, :]) ** 2).sum(0)
        constant = self.d * math.log(2 * math.pi) / 2 + lnp.log(lnp.diagonal(self._root)).sum()
        return special.logsumexp(-square / 2, axis=1, b=self.weights) - constant

    def pdf(self, x: Any) -> Any:
        """The density at points `tensor[m]` or `tensor[d, m]`."""
        return lnp.exp(self.logpdf(x))

    evaluate = __call__ = pdf

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of an interval, of points of one dim."""
        if self.d != 1:
            raise ShapeError(f"integrate_box_1d is of one dim, the points have {self.d}")
        deviation = lnp.sqrt(self.covariance[0, 0])
        ends = [special.ndtr((end - self.dataset[0]) / deviation) for end in (low, high)]
        return ((ends[1] - ends[0]) * self.weights).sum()

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Points drawn from the density, `tensor[d, *shape]`."""
        first, second = random.split(key)
        chosen = random.choice(first, self.n, shape, p=self.weights)
        noise = random.normal(second, (self.d, *shape), self.dataset.dtype)
        return self.dataset[:, chosen] + lnp.tensordot(self._root, noise, 1)

"""Random numbers of symbolic sizes: the same ones as for known sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

random = lm.random

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "bits": lambda key, x: random.bits(key, x.shape),
    "uniform": lambda key, x: random.uniform(key, (2, x.shape[0], 3), minval=x[0], maxval=2.0),
    "normal": lambda key, x: random.normal(key, x.shape),
    "randint": lambda key, x: random.randint(key, x.shape, 0, x.shape[0]),
    "bernoulli": lambda key, x: random.bernoulli(key, x),
    "categorical": lambda key, x: random.categorical(key, lnp.log(x), shape=(5,)),
    "choice": lambda key, x: random.choice(key, x, x.shape),
    "choice with probabilities": lambda key, x: random.choice(key, x, (3,), p=x / x.sum()),
    "choice without replacement": lambda key, x: random.choice(key, x.shape[0], (3,), replace=False),
    "choice without replacement, with probabilities": lambda key, x: random.choice(key, x, (3,), replace=False, p=x / x.sum()),
    "permutation": lambda key, x: random.permutation(key, x),
    "permutation of numbers": lambda key, x: random.permutation(key, x.shape[0]),
    "permutation of rows": lambda key, x: random.permutation(key, lnp.stack([x, x], 1), independent=True),
    "keys": lambda key, x: lm.vmap(lambda key: random.normal(key, ()))(random.split(key, x.shape[0])),
    "truncated_normal": lambda key, x: random.truncated_normal(key, -1.0, 1.0, x.shape),
    "orthogonal": lambda key, x: random.orthogonal(key, 3, x.shape),
}
LONG: dict[str, Callable[[Any, Any], Any]] = {
    "gamma": lambda key, x: random.gamma(key, x),
    "beta": lambda key, x: random.beta(key, x, x),
    "dirichlet": lambda key, x: random.dirichlet(key, x),
    "poisson": lambda key, x: random.poisson(key, x),
    "binomial": lambda key, x: random.binomial(key, 10, x),
    "t": lambda key, x: random.t(key, 3.0, x.shape),
    "multivariate_normal": lambda key, x: random.multivariate_normal(key, x, lnp.eye(x.shape[0])),
    "ball": lambda key, x: random.ball(key, x.shape[0]),
}
"""Those that compile for seconds, or for each size."""


def _check(function: Callable[[Any, Any], Any], *sizes: int) -> None:
    compiled = lm.jit(function, dynamic={"x": ("n",)})
    key = random.PRNGKey(3)
    for n in sizes:
        x = np.random.default_rng(n).uniform(0.1, 0.9, n)
        wanted, found = function(key, x), compiled(key, x)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)


@pytest.mark.filterwarnings("error:.*is compiled for each size by itself")
@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("name", CASES)
def test_open_sizes(name: str) -> None:
    _check(CASES[name], 3, 5, 7)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is compiled for each size by itself")
@pytest.mark.parametrize("name", LONG)
def test_open_sizes_of_long_programs(name: str) -> None:
    _check(LONG[name], 3, 5, 7)


@pytest.mark.thorough
def test_rounds_of_permutations() -> None:
    """More elements are sorted more often: 1 round up to 1625, 2 up to 2,642,245."""
    _check(CASES["permutation of numbers"], 1625, 1626, 1700)

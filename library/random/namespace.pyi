# from the table names.toml by `make names`: do not edit
"""`lamina.random`: random numbers as functions of keys, under the names of `jax.random` and with its streams."""

from typing import Any

from ...compat.jax.random import clone as clone
from ...compat.jax.random import key_impl as key_impl
from ...compat.jax.random import wrap_key_data as wrap_key_data
from .bits import PRNGKey as PRNGKey
from .bits import bits as bits
from .bits import fold_in as fold_in
from .bits import key as key
from .bits import key_data as key_data
from .bits import randint as randint
from .bits import split as split
from .bits import uniform as uniform
from .distributions import bernoulli as bernoulli
from .distributions import categorical as categorical
from .distributions import choice as choice
from .distributions import geometric as geometric
from .distributions import gumbel as gumbel
from .distributions import lognormal as lognormal
from .distributions import pareto as pareto
from .distributions import permutation as permutation
from .distributions import rademacher as rademacher
from .distributions import rayleigh as rayleigh
from .distributions import triangular as triangular
from .distributions import truncated_normal as truncated_normal
from .distributions import weibull_min as weibull_min
from .samplers import ball as ball
from .samplers import beta as beta
from .samplers import binomial as binomial
from .samplers import chisquare as chisquare
from .samplers import dirichlet as dirichlet
from .samplers import double_sided_maxwell as double_sided_maxwell
from .samplers import f as f
from .samplers import gamma as gamma
from .samplers import generalized_normal as generalized_normal
from .samplers import loggamma as loggamma
from .samplers import multinomial as multinomial
from .samplers import multivariate_normal as multivariate_normal
from .samplers import orthogonal as orthogonal
from .samplers import poisson as poisson
from .samplers import t as t
from .samplers import wald as wald

def cauchy(key: Any, shape: Any = Ellipsis, dtype: Any = Ellipsis) -> Any:
    """Cauchy numbers, of density `1 / (pi (x^2 + 1))`. `shape` are sizes, `dtype` is float32 or float64."""

def exponential(key: Any, shape: Any = Ellipsis, dtype: Any = Ellipsis) -> Any:
    """Exponential numbers of mean 1. `shape` are sizes, `dtype` is float32 or float64."""

def laplace(key: Any, shape: Any = Ellipsis, dtype: Any = Ellipsis) -> Any:
    """Laplace numbers, of density `exp(-|x|) / 2`. `shape` are sizes, `dtype` is float32 or float64."""

def logistic(key: Any, shape: Any = Ellipsis, dtype: Any = Ellipsis) -> Any:
    """Logistic numbers, whose distribution function is the sigmoid. `shape` are sizes, `dtype` is float32 or float64."""

def maxwell(key: Any, shape: Any = Ellipsis, dtype: Any = Ellipsis) -> Any:
    """Maxwell numbers: lengths of normal vectors of three dims. `shape` are sizes, `dtype` is float32 or float64."""

def normal(key: Any, shape: Any = Ellipsis, dtype: Any = Ellipsis) -> Any:
    """Normal numbers of mean 0 and variance 1. `shape` are sizes, `dtype` is float32 or float64."""

__all__ = [
    "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy", "chisquare", "choice", "clone",
    "dirichlet", "double_sided_maxwell", "exponential", "f", "fold_in", "gamma", "generalized_normal", "geometric", "gumbel",
    "key", "key_data", "key_impl", "laplace", "loggamma", "logistic", "lognormal", "maxwell", "multinomial",
    "multivariate_normal", "normal", "orthogonal", "pareto", "permutation", "poisson", "rademacher", "randint", "rayleigh",
    "split", "t", "triangular", "truncated_normal", "uniform", "wald", "weibull_min", "wrap_key_data",
]

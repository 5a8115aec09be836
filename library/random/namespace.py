"""`lamina.random`: random numbers as functions of keys, under the names of `jax.random` and with its streams."""

from . import bits as random_bits
from . import distributions as random_distributions
from . import samplers as random_samplers
from .bits import *
from .distributions import *
from .samplers import *

__all__ = [*random_bits.__all__, *random_distributions.__all__, *random_samplers.__all__]

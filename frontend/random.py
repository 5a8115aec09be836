"""`lamina.random`: random numbers as functions of keys, under the names of `jax.random` and with its streams."""

from . import random_bits, random_distributions
from .random_bits import *
from .random_distributions import *

__all__ = [*random_bits.__all__, *random_distributions.__all__]

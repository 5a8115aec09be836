"""`lamina.random`: random numbers as functions of keys, under the names of `jax.random` and with its streams."""

from . import random_bits, random_distributions, random_samplers
from .random_bits import *
from .random_distributions import *
from .random_samplers import *

__all__ = [*random_bits.__all__, *random_distributions.__all__, *random_samplers.__all__]

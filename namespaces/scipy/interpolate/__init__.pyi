# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.scipy.interpolate import *
from lamina.compat.jax.scipy.interpolate import __all__ as __all__

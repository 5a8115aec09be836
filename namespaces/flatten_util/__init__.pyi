# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.flatten_util import *
from lamina.compat.jax.flatten_util import __all__ as __all__

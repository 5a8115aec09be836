# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.ops import *
from lamina.compat.jax.ops import __all__ as __all__

# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.tree import *
from lamina.compat.jax.tree import __all__ as __all__

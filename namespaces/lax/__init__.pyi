# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.lax.namespace import *
from lamina.compat.jax.lax.namespace import __all__ as __all__

# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.lax.linalg import *
from lamina.compat.jax.lax.linalg import __all__ as __all__

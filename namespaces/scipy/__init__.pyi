# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.scipy import *
from lamina.compat.jax.scipy import __all__ as __all__

# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.dtypes import *
from lamina.compat.jax.dtypes import __all__ as __all__

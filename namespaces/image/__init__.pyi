# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.image import *
from lamina.compat.jax.image import __all__ as __all__

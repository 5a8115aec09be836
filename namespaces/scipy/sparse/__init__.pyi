# from the table names.toml by `make names`: do not edit
from lamina.compat.jax.scipy.sparse import *
from lamina.compat.jax.scipy.sparse import __all__ as __all__

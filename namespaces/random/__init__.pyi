# from the table names.toml by `make names`: do not edit
from lamina.library.random.namespace import *
from lamina.library.random.namespace import __all__ as __all__

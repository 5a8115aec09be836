# from the table names.toml by `make names`: do not edit
from lamina.library.nn.initializers import *
from lamina.library.nn.initializers import __all__ as __all__

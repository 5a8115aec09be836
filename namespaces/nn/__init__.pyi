# from the table names.toml by `make names`: do not edit
from lamina.library.nn.namespace import *
from lamina.library.nn.namespace import __all__ as __all__

# from the table names.toml by `make names`: do not edit
from lamina.library.numpy.namespace import *
from lamina.library.numpy.namespace import __all__ as __all__

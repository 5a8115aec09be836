# from the table names.toml by `make names`: do not edit
from lamina.library.special.namespace import *
from lamina.library.special.namespace import __all__ as __all__

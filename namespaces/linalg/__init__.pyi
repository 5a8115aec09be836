# from the table names.toml by `make names`: do not edit
from lamina.library.linalg.namespace import *
from lamina.library.linalg.namespace import __all__ as __all__

# from the table names.toml by `make names`: do not edit
from lamina.frontend.extend import *
from lamina.frontend.extend import __all__ as __all__

# from the table names.toml by `make names`: do not edit
from lamina.frontend.functions.debug import *
from lamina.frontend.functions.debug import __all__ as __all__

# from the table names.toml by `make names`: do not edit
from lamina.frontend.testing import *
from lamina.frontend.testing import __all__ as __all__

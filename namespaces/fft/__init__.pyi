# from the table names.toml by `make names`: do not edit
from lamina.library.fft import *
from lamina.library.fft import __all__ as __all__

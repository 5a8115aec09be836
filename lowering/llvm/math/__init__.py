"""Elementary functions as LLVM IR: range reduction plus polynomial, any vector width, no library.

Every function takes `(builder, operand, ..., type)` and returns the value of the result. Errors stay below 2 ulp everywhere,
of sech2 below 3; special values follow C99 (Annex F). sin, cos and tan end the current block (see `Builder.block`). A file of
this folder is found by itself, and `@writer` above a function makes it that of the op of its name.
"""

from __future__ import annotations

import importlib
import pkgutil

from .common import FUNCTIONS

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f".{_file.name}", __name__)

__all__ = ["FUNCTIONS"]

"""Elementary functions as LLVM IR: range reduction plus polynomial, any vector width, no library.

Every function takes `(builder, operand, ..., type)` and returns the value of the result. Errors stay below 2 ulp everywhere,
of sech2 below 3; special values follow C99 (Annex F). sin, cos and tan end the current block (see `Builder.block`).
"""

from __future__ import annotations

from collections.abc import Callable

from .atan import atan, atan2
from .erfc import erfc
from .exp import exp, exp2, expm1, expm1_slope, gauss
from .log import log, log1p
from .pow import powf
from .roots import rsqrt, sqrt
from .tanh import erf, sech2, tanh
from .trig import cos, sin, tan

FUNCTIONS: dict[str, Callable[..., str]] = {
    "atan": atan,
    "atan2": atan2,
    "cos": cos,
    "erf": erf,
    "erfc": erfc,
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "expm1_slope": expm1_slope,
    "gauss": gauss,
    "log": log,
    "log1p": log1p,
    "powf": powf,
    "rsqrt": rsqrt,
    "sech2": sech2,
    "sin": sin,
    "sqrt": sqrt,
    "tan": tan,
    "tanh": tanh,
}
"""From the name of an operation of `math` or `scalar`, without its dialect, to its emitter."""

"""StableHLO and CHLO, the ops of other compilers' programs, as jax prints them: read and printed, not computed.

`--convert-stablehlo-to-graph` makes graph ops of them. An op keeps the attributes of the generic form under upstream's names,
whichever form it was read from; `syntax.py` has the custom forms, `foreign/attribute_text.py` the attributes as text and as
Python values.
"""

from xdsl.ir import Dialect

from .ops import CHECK_OPS, CHLO_OPS, SHARDING_OPS, STABLEHLO_OPS

StableHlo = Dialect("stablehlo", list(STABLEHLO_OPS), [])
Chlo = Dialect("chlo", list(CHLO_OPS), [])
Check = Dialect("check", list(CHECK_OPS), [])
Sdy = Dialect("sdy", list(SHARDING_OPS), [])

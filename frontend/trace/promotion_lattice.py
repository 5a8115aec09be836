"""jax's lattice of dtypes, and the strict one: which dtypes stand directly above which, as data (JEP 9263).

The common dtype of several is the least one that is above all of them. `int`, `float` and `complex` stand for Python numbers.
NumPy's own dtypes are promoted by NumPy by default (`promotion.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ...dialects.element_types import TABLE, Kind

_ABOVE = {
    "bool": "int",
    "int": "int8 uint8 int4 uint4",
    "uint8": "int16 uint16",
    "uint16": "int32 uint32",
    "uint32": "int64 uint64",
    "uint64": "float",
    "int8": "int16",
    "int16": "int32",
    "int32": "int64",
    "int64": "float",
    "float": "complex bfloat16 float16 " + " ".join(str(row.dtype) for row in TABLE if row.is_narrow_float),
    "bfloat16": "float32",
    "float16": "float32",
    "float32": "float64 complex64",
    "float64": "complex128",
    "complex": "complex64",
    "complex64": "complex128",
}
_NAMES = {kind: [str(row.dtype) for row in TABLE if row.kind in kinds] for kind, kinds in {
    "int": (Kind.SIGNED, Kind.UNSIGNED), "float": (Kind.FLOAT,), "complex": (Kind.COMPLEX,),
}.items()}  # fmt: skip
_STRICT = {
    "int": " ".join(["float", *_NAMES["int"]]),
    "float": " ".join(["complex", *_NAMES["float"]]),
    "complex": " ".join(_NAMES["complex"]),
}


@cache
def _up(name: str, strict: bool, x64: bool) -> frozenset[str]:
    """A dtype and all above it."""
    above = (_STRICT if strict else _ABOVE).get(name, "")
    if name == "uint32" and not (strict or x64):
        above = "int32 uint64"  # no 64 bits come of 32
    return frozenset({name}).union(*(_up(other, strict, x64) for other in above.split()))


@cache
def least_above(names: Sequence[str], strict: bool = False, x64: bool = True) -> str | None:
    """The least dtype above all of these; None if there is none.

    >>> least_above(("int32", "float16")), least_above(("bool", "float")), least_above(("int8", "float"), strict=True)
    ('float16', 'float', None)
    """
    common = frozenset.intersection(*(_up(name, strict, x64) for name in names))
    return next((name for name in common if common <= _up(name, strict, x64)), None)

"""NumPy's scalar types as `lamina.numpy` has them: the same dtypes, and called with a traced array they convert it.

`np.float32(x)` is a scalar of C, which no traced array can be. Otherwise a type here behaves as NumPy's: it is equal to it,
its instances are NumPy's, `np.dtype` accepts it, and it is called with numbers and arrays as before.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Conversion = Callable[[Any, type[np.generic]], Any]
"""From an argument and a type of NumPy to the argument in that type; None where NumPy converts it."""


class ScalarType(type):
    """The type of such types."""

    numpy: type[np.generic]
    conversion: Conversion

    def __call__(cls, *args: Any) -> Any:
        found = cls.conversion(args[0], cls.numpy) if len(args) == 1 else None
        return cls.numpy(*args) if found is None else found

    def __eq__(cls, other: object) -> bool:
        """All objects equal to NumPy's type: itself, its dtype, and objects that compare equal to it.

        A name (`"float32"`) or a type of Python (`float`) is equal to a dtype and not to a scalar type, as in NumPy.
        """
        if isinstance(other, np.dtype):
            return bool(other == cls.numpy)
        return True if other is cls or other is cls.numpy else NotImplemented

    def __hash__(cls) -> int:
        """That of NumPy's type, which differs from that of its dtype: one of them is no key for the other, as in NumPy."""
        return hash(cls.numpy)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.numpy)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, cls.numpy)

    def __repr__(cls) -> str:
        return repr(cls.numpy)


@cache
def scalar_type(of: type[np.generic], conversion: Conversion) -> Any:
    """A type of NumPy or of ml_dtypes that converts traced arrays, too."""
    described = {"__slots__": (), "__doc__": of.__doc__, "__module__": of.__module__}
    return ScalarType(of.__name__, (of,), {**described, "numpy": of, "conversion": staticmethod(conversion)})


copyreg.pickle(ScalarType, lambda cls: (scalar_type, (cls.numpy, cls.conversion)))  # pyright: ignore[reportArgumentType]

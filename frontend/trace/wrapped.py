"""Values that wrap arrays and are no arrays themselves: classes that functions of arrays hand their calls to.

Such a class, of arrays of keys for example, is a tree node (`pytree.register_dataclass`) and derives from `WrappedArray`. A
function of `lamina.numpy` that finds one among its arguments, or in a list of them, calls its `apply_function`
instead of tracing, as NumPy does with `__array_function__`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


class WrappedArray:
    """Base class of values that wrap one array."""

    element_ndim = 0
    """How many of the last dims of the wrapped array make up one element: `vmap` counts axes from the end without them."""

    @classmethod
    def apply_function(cls, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a function of arrays gives for arguments of which some are of this class.

        Raises:
            DTypeError: it has no meaning for them.
        """
        raise NotImplementedError(f"{cls.__name__} wraps arrays and has no apply_function: define it")


def wrapped_class(values: Iterable[Any]) -> type[WrappedArray] | None:
    """The class of the first wrapped array among values, or in lists and tuples of them; None if there is none."""
    for x in values:
        if isinstance(x, WrappedArray):
            return type(x)
        if type(x) in (list, tuple) and (found := wrapped_class(x)) is not None:
            return found
    return None

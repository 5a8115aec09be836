"""`lm.debug_nans` and `lm.watch`: looking into compiled functions without changing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import LaminaError
from ...executor import executor
from ..trace.config import config
from ..trace.pytree import flatten

if TYPE_CHECKING:
    from .lowered import Lowered

__all__ = ["debug_nans", "watch"]


def debug_nans(enable: bool = True) -> AbstractContextManager[None]:
    """A block of this thread in which a compiled function that returns a NaN raises an error that names its origin.

    The function runs as it is compiled. Only where a result has a NaN, its graph is run again by the reference interpreter,
    before any optimization, and the first op that makes a NaN of operands without one is named, with its line and operands. The
    process has it by `lm.config.update(nans=True)`. It costs a pass over the results of each call.

    Args:
        enable: False allows NaNs in a block inside of such a block.

    Raises:
        FloatingPointError: in the block, from the call.

    >>> import numpy as np, lamina as lm
    >>> f = lm.jit(lambda x: lm.numpy.sqrt(x - 2) * 3)
    >>> with lm.debug_nans():  # doctest: +ELLIPSIS
    ...     f(np.float32([3, 1]))
    Traceback (most recent call last):
        ...
    lamina.debugging.nans.NanError: <lambda>() gave a NaN: the first NaN is made by 'graph.sqrt' at ..., element [1]...
    """
    return config(nans=enable)


class Watched(list[Any]):
    """The values of a variable, one for each call of a compiled function that has it, in order."""


_watched: dict[str, list[Watched]] = {}


@contextmanager
def watch(name: str) -> Iterator[Watched]:
    """A block of this thread in which calls of compiled functions also tell the value of one of their variables.

    Compiled code is unchanged: the part of the graph that computes the variable is compiled by itself, once for each
    graph, and run beside the function.

    Args:
        name: of a variable that the function assigns, or of a value in textual IR.

    Raises:
        LaminaError: in the block, from a call of a function that has no such variable; with the names that it has.

    >>> import numpy as np, lamina as lm
    >>> f = lm.jit(lambda x: lm.numpy.exp(x).sum())
    >>> with lm.watch("x") as seen:
    ...     y = f(np.zeros(3, np.float32))
    >>> seen[0]
    array([0., 0., 0.], dtype=float32)
    """
    seen = Watched()
    _watched.setdefault(name, []).append(seen)
    try:
        with config(watched=(*config.options.watched, name)):
            yield seen
    finally:
        _watched[name].remove(seen)


def is_watching() -> bool:
    """Whether calls are to be looked at."""
    return bool(config.options.watched)


def look(name: str, lower: Callable[[], Lowered], leaves: Sequence[Any], result: Any) -> None:
    """Apply the options to one call: raise on NaNs, keep values of watched variables.

    Args:
        name: of the function.
        lower: traces it for these arguments.
        leaves: the arguments.
        result: the result of the call.
    """
    nans = config.options.nans and any(map(_has_nan, flatten(result)[0]))
    if not nans and not config.options.watched:
        return
    lowered = lower()
    args = [np.asarray(x, aval.dtype) for x, aval in zip(leaves, lowered.in_avals, strict=True)]
    args += [np.asarray(x) for x in lowered.traced.captured]
    watched = config.options.watched
    with config(nans=False, watched=()):
        for variable in dict.fromkeys(watched):
            value = _value(lowered, variable, args, name)
            for seen in _watched[variable]:
                seen.append(value)
        if nans:
            _raise(lowered, args, name)


def _value(lowered: Lowered, variable: str, args: Sequence[np.ndarray], name: str) -> Any:
    from ...debugging.slicing import computing, names_in

    if variable in lowered.paths:
        return args[lowered.paths.index(variable)]
    part = computing(lowered.module_with_places(), variable)
    if part is None:
        have = ", ".join(dict.fromkeys((*lowered.paths, *names_in(lowered.module_with_places())))) or "none"
        raise LaminaError(f"watch: {name}() has no variable '{variable}'; there are: {have}")
    return executor.function(part)(*args)


def _raise(lowered: Lowered, args: Sequence[np.ndarray], name: str) -> None:
    from ...debugging.nans import NanError, find_nan

    given = [path for path, x in zip(lowered.paths, args, strict=False) if _has_nan(x)]
    if given:
        raise NanError(f"{name}() gave a NaN: it was given one, in {', '.join(given)}")
    origin = find_nan(lowered.module_with_places(), args)
    said = "none in the graph by itself: an optimization or the machine code makes it" if origin is None else str(origin)
    raise NanError(f"{name}() gave a NaN: {said}")


def _has_nan(x: Any) -> bool:
    from ...debugging.nans import has_nan

    return has_nan(x)

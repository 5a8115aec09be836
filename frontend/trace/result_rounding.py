"""Rounds the results of `lamina.numpy` to the dtypes that promotion and `lm.config` say.

Storage-only arrays are computed in a wider dtype. A function rounds its result once, when it returns to the user: a sum of
float16 is accumulated in float32 and then rounded. Results that functions compute for each other are not rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ...errors import DTypeError
from .config import config
from .promotion import STORED, Token, canonical, computed, narrowed, stored_result
from .tracer import Tracer
from .tracing import Deferred, lift_as, token


def finished(out: Any, promotes: bool | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The results of a function of these arguments; `promotes`: they are operands all, or, None, the first one is changed."""
    stored = None
    if not _are_plain(args) or (kwargs and not _are_plain(kwargs.values())):
        stored = _stored(promotes, args, kwargs)
    if stored is None and config.x64:
        return out
    return _converted(out, stored)


def _stored(promotes: bool | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> np.dtype[Any] | None:
    """The storage-only dtype which results are rounded to, if there is one."""
    if promotes is None:
        first = token(args[0]) if args and isinstance(args[0], Tracer | np.ndarray | np.generic | Deferred) else None
        return first if isinstance(first, np.dtype) and first in STORED else None
    operands = [*_arrays(args), *_arrays(kwargs.values())]
    if not any(x.dtype in STORED for x in operands):
        return None
    tokens: list[Token] = [token(x) for x in operands]
    stored = stored_result(tokens, promotes)
    return None if stored is not None and computed(stored) in _asked((*args, *kwargs.values())) else stored


_PLAIN = frozenset({bool, complex, float, int, str, type(None)})


def _are_plain(args: Iterable[Any]) -> bool:
    """Whether arguments are tracers of dtypes that are computed with, numbers and the like: there is nothing to round."""
    for x in args:
        kind = type(x)
        if x.dtype in STORED if kind is Tracer else kind not in _PLAIN:
            return False
    return True


def _converted(out: Any, stored: np.dtype[Any] | None) -> Any:
    if isinstance(out, Tracer):
        dtype = stored if stored is not None and out.dtype == computed(stored) else narrowed(out.dtype)
        if dtype == out.dtype:
            return out
        result = lift_as(out, dtype)
        result.weak = out.weak
        return result
    if isinstance(out, tuple | list):
        make = getattr(type(out), "_make", type(out))
        return make([_converted(item, stored) for item in out])
    return out


def _arrays(args: Iterable[Any]) -> Iterator[Any]:
    """The arrays among arguments, and in lists and dicts of them."""
    for x in args:
        if isinstance(x, Tracer | np.ndarray | np.generic | Deferred):
            yield x
        elif isinstance(x, list | tuple):
            yield from _arrays(x)
        elif isinstance(x, dict):
            yield from _arrays(x.values())


def _asked(args: Iterable[Any]) -> set[np.dtype[Any]]:
    """The dtypes that arguments name."""
    found: set[np.dtype[Any]] = set()
    for x in args:
        if isinstance(x, type | np.dtype | str):
            try:
                found.add(canonical(x))
            except (DTypeError, ValueError, SyntaxError):  # no dtype: NumPy reads any text as formats of fields
                continue
    return found

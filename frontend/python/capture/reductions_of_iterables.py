"""`sum`, `any`, `all`, `min`, `max` and `len` of an iterable with a traced filter: item by item, as Python does."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

from ....errors import TracingError
from ...trace.locations import located
from ...trace.tracer import Tracer
from .branches import and_, or_, ternary
from .builtin import FUNCTIONS

Item = Callable[[], Any]
Pairs = Iterable[tuple[Any, Item]]


def fold(function: Any, pairs: Pairs, whole: Callable[[], Any], **options: Any) -> Any:
    """`function(item() for holds, item in pairs if holds)`. `whole` returns the items for any other function."""
    if function not in _FOLDS:
        return function(whole(), **options)
    kept: list[Any] = []
    waiting = iter(pairs)
    for holds, item in waiting:
        if isinstance(holds, Tracer):
            return _FOLDS[function](kept, _chained((holds, item), waiting), **options)
        if holds:
            kept.append(item())
    known: Any = FUNCTIONS.get(function, function)
    return known(kept, **options)


def _chained(first: tuple[Any, Item], rest: Pairs) -> Pairs:
    yield first
    yield from rest


def _sum(kept: list[Any], pairs: Pairs, start: Any = 0) -> Any:
    total = builtins.sum(kept, start)
    for holds, item in pairs:
        total = ternary(holds, lambda item=item, total=total: total + item(), lambda total=total: total)
    return total


def _len(kept: list[Any], pairs: Pairs) -> Any:
    return _sum([1] * len(kept), ((holds, lambda: 1) for holds, _ in pairs))


def _any(kept: list[Any], pairs: Pairs) -> Any:
    found = FUNCTIONS[any](kept)
    for holds, item in pairs:
        found = or_(False, True, found, lambda holds=holds, item=item: and_(False, True, holds, item))
    return found


def _all(kept: list[Any], pairs: Pairs) -> Any:
    found = FUNCTIONS[all](kept)
    for holds, item in pairs:
        found = and_(False, True, found, lambda holds=holds, item=item: ternary(holds, item, lambda: True))
    return found


_UNKNOWN = object()


def _extreme(function: Any) -> Callable[..., Any]:
    def extreme(kept: list[Any], pairs: Pairs, default: Any = _UNKNOWN, key: Any = None) -> Any:
        if not kept and default is _UNKNOWN:
            text = f"{function.__name__}() of items that a traced filter leaves, perhaps none"
            raise located(TracingError(f"{text}: give a default=, or choose with lnp.where"))
        given = {} if key is None else {"key": key}
        best, found = (FUNCTIONS[function](kept, **given), True) if kept else (default, False)
        for holds, item in pairs:

            def better(item: Item = item, best: Any = best, found: Any = found) -> Any:
                value = item()
                return ternary(found, lambda: FUNCTIONS[function]([best, value], **given), lambda: value)

            best = ternary(holds, better, lambda best=best: best)
            found = or_(True, True, found, lambda holds=holds: holds)
        return best

    return extreme


_FOLDS: dict[Any, Callable[..., Any]] = {
    sum: _sum, len: _len, any: _any, all: _all, min: _extreme(min), max: _extreme(max),
}  # fmt: skip

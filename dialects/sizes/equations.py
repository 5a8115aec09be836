"""Sizes that must be equal: type rules say which, and one symbol of each equation is replaced by what it equals.

graph.add of [N] and [M]             M becomes N
graph.add of [N + M] and [K]         K becomes N + M: in a call, an argument of size K must have that many elements
graph.add of [N] and [N + 1]         no sizes
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import gcd
from typing import Any

from .atoms import Symbol
from .polynomial import Size


class _Found(threading.local):
    pairs: list[tuple[Any, Any]] | None = None


_found = _Found()


@contextmanager
def equations() -> Iterator[list[tuple[Any, Any]]]:
    """A block in which symbolic sizes that a type rule compares count as equal: the list gets the pairs."""
    outer, _found.pairs = _found.pairs, []
    try:
        yield _found.pairs
    finally:
        _found.pairs = outer


def assumed_equal(a: Any, b: Any) -> bool:
    """Whether two different sizes, of which one is symbolic, count as equal, since a block notes what must be."""
    if _found.pairs is None or not (isinstance(a, Size) or isinstance(b, Size)):
        return False
    _found.pairs.append((a, b))
    return True


def solved(a: Any, b: Any, among: Sequence[Symbol]) -> tuple[Symbol, Any] | None:
    """A symbol, and the size that it has where two different sizes are equal.

    >>> n, m = Size.symbol("N"), Size.symbol("M")
    >>> solved(2 * n, 4 * m + 2, n.symbols)
    (Symbol(name='N', low=0, high=None, multiple=1), 2 * M + 1)

    Args:
        among: the symbols that may be replaced, the first one first.

    Returns:
        None where they are never equal, no such symbol follows, or both have symbols and only one number makes them equal,
        as 0 does `N` and `2 * N`: what grows in a loop is a mistake.
    """
    difference = a - b
    if not isinstance(difference, Size):
        return None
    divisor = gcd(*(c for _, c in difference.terms))
    for symbol in among:
        factor = sum(c for monomial, c in difference.terms if monomial == (symbol,))
        if abs(factor) != divisor:
            continue
        value = Size.product((symbol,)) - Size([(monomial, c // factor) for monomial, c in difference.terms])
        stays = isinstance(value, Size) and symbol in value.symbols  # as in n * m or floordiv(n, 2)
        is_number = isinstance(value, int)
        if not stays and not (is_number and (symbol.why_not(value) or (isinstance(a, Size) and isinstance(b, Size)))):
            return symbol, value
    return None

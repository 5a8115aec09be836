"""The interval of a size, from the bounds of its symbols."""

from __future__ import annotations

from math import comb, inf
from typing import TYPE_CHECKING, Any

from .atoms import Atom, Positive, Quotient, Symbol

if TYPE_CHECKING:
    from .polynomial import Size

CASES = 3
"""Largest number of `max(e, 0)` in a size that are split into cases to find its bounds."""


def bounds_of(size: Any, cases: int = CASES) -> tuple[float, float]:
    """The interval of a size: the sum of its terms' intervals, and for `max(e, 0)` the union of both cases."""
    if isinstance(size, int):
        return size, size
    low, high = _interval(size)
    if low == -inf or high == inf:
        found = _of_polynomial(size)
        low, high = max(low, found[0]), min(high, found[1])
    if cases:
        atom = next((a for monomial, _ in size.terms for a in monomial if isinstance(a, Positive)), None)
        if atom is not None:
            found = [
                bounds_of(_where(_with(size, atom, other), atom.of, is_positive), cases - 1)
                for is_positive, other in ((False, 0), (True, atom.of))
            ]
            low, high = max(low, min(least for least, _ in found)), min(high, max(most for _, most in found))
        quotient = next((a for monomial, _ in size.terms for a in monomial if isinstance(a, Quotient)), None)
        if quotient is not None and all(a != quotient or len(m) == 1 for m, _ in size.terms for a in m):
            low, high = _through_quotient(size, quotient, cases, low, high)
    return low, high


def _where(size: Any, of: Size, is_positive: bool) -> Any:
    """A size where another one is at least, or at most, 0: that narrows the symbol in which the other one is linear."""
    symbols = of.symbols
    if len(symbols) != 1 or [monomial for monomial, _ in of.monomials] != [symbols] or isinstance(size, int):
        return size
    (symbol,), ((_, c),) = symbols, of.monomials
    step, low, high = c * symbol.multiple, symbol.low, symbol.high
    if is_positive == (c > 0):
        low = max(low, -(of.constant // step) * symbol.multiple)
    else:
        most = -of.constant // step * symbol.multiple
        high = most if high is None else min(high, most)
    if high is not None and low > high:
        return size  # the case is impossible
    return size.substitute(lambda s: size.symbol(s.name, low, high, s.multiple) if s == symbol else size.product((s,)))


def _through_quotient(size: Size, atom: Quotient, cases: int, low: float, high: float) -> tuple[float, float]:
    """`by * size` lies between its values with `e - by + 1` and with `e` substituted for `by * (e floordiv by)`."""
    c = next(c for monomial, c in size.terms if monomial == (atom,))
    rest = size - size.product((atom,)) * c
    ends = [bounds_of(rest * atom.by + shifted * c, cases - 1) for shifted in (atom.of - (atom.by - 1), atom.of)]
    lowest, highest = min(least for least, _ in ends), max(most for _, most in ends)
    if lowest > -inf:
        low = max(low, -(-int(lowest) // atom.by))
    if highest < inf:
        high = min(high, int(highest) // atom.by)
    return low, high


def _with(size: Size, atom: Atom, other: Any) -> Any:
    """A size with an atom replaced."""
    total: Any = 0
    for monomial, c in size.terms:
        product: Any = c
        for factor in monomial:
            product = product * (other if factor == atom else size.product((factor,)))
        total = total + product
    return total


def _interval(size: Size) -> tuple[float, float]:
    low = high = 0.0
    for monomial, c in size.terms:
        ends = (1.0, 1.0)
        for atom in monomial:
            ends = _times(ends, _atom_bounds(atom))
        one, other = _times(ends, (c, c))
        low, high = low + one, high + other
    return low, high


VALUES = 4
"""Number of values of its symbol at which a polynomial is evaluated before its monotonic part must begin."""


def _of_polynomial(size: Size) -> tuple[float, float]:
    """The interval of a polynomial of one symbol: from a value on where all its derivatives have one sign, it is monotonic."""
    symbol, *others = size.symbols
    degree = max(len(monomial) for monomial, _ in size.terms)
    if others or degree < 2 or any(not isinstance(a, Symbol) for monomial, _ in size.terms for a in monomial):
        return -inf, inf
    shifted = [0] * (degree + 1)  # coefficients of powers of t where the symbol is t + low
    for monomial, c in size.terms:
        for k in range(len(monomial) + 1):
            shifted[k] += c * comb(len(monomial), k) * symbol.low ** (len(monomial) - k)
    values: list[int] = []
    for _ in range(VALUES):
        values.append(shifted[0])
        if all(c >= 0 for c in shifted[1:]):
            return min(values), inf
        if all(c <= 0 for c in shifted[1:]):
            return -inf, max(values)
        for k in range(degree):  # of t + 1
            for j in range(degree - 1, k - 1, -1):
                shifted[j] += shifted[j + 1]
    return -inf, inf


def _atom_bounds(atom: Atom) -> tuple[float, float]:
    if isinstance(atom, Symbol):
        return atom.low, inf if atom.high is None else atom.high
    low, high = atom.of.bounds
    if isinstance(atom, Positive):
        return max(low, 0), max(high, 0)
    return low // atom.by if low > -inf else low, high // atom.by if high < inf else high


def _times(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    ends = [0.0 if 0 in (x, y) else x * y for x in a for y in b]
    return min(ends), max(ends)

"""The atoms of the polynomials that sizes are: symbols, quotients `floordiv(e, c)` and `max(e, 0)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .polynomial import Size


@dataclass(frozen=True, order=True)
class Symbol:
    """A size by name, from `low` to `high` (None: no limit), a multiple of `multiple`."""

    name: str
    low: int = 0
    high: int | None = None
    multiple: int = 1

    def __str__(self) -> str:
        return self.name

    def spell(self) -> str:
        """The symbol with its bounds and divisor: `n`, `n in 1..4096 by 8`."""
        if (self.low, self.high, self.multiple) == (0, None, 1):
            return self.name
        by = "" if self.multiple == 1 else f" by {self.multiple}"
        return f"{self.name} in {self.low}..{'' if self.high is None else self.high}{by}"

    def why_not(self, value: int) -> str:
        """Why the size cannot be a number; empty if it can."""
        if value < self.low:
            return f"must be at least {self.low}"
        if self.high is not None and value > self.high:
            return f"must be at most {self.high}"
        return f"must be a multiple of {self.multiple}" if value % self.multiple else ""


@dataclass(frozen=True)
class Quotient:
    """`floordiv(of, by)`."""

    of: Size
    by: int

    def __str__(self) -> str:
        return f"floordiv({self.of}, {self.by})"


@dataclass(frozen=True)
class Positive:
    """`max(of, 0)`."""

    of: Size

    def __str__(self) -> str:
        return f"max({self.of}, 0)"


Atom = Symbol | Quotient | Positive
Monomial = tuple[Atom, ...]
"""A product of atoms, sorted by their text; the empty product is 1."""
Terms = Mapping[Monomial, int]

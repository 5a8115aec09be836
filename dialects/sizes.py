"""Sizes that a call gives: a number, or a symbol plus a number, and the values that arguments bind symbols to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_CONSTANT_LIMIT = 1 << 40
"""Of what is added to a symbol: arithmetic on sizes then stays within 64 bits."""


@dataclass(frozen=True)
class Dim:
    """A size or stride in elements: `symbols[symbol] + constant`, or `constant` alone.

    >>> Dim(0, 1).spell(("N",)), Dim(0).spell(("N",)), Dim(None, 3).spell(())
    ('N + 1', 'N', '3')
    """

    symbol: int | None
    constant: int = 0

    def __post_init__(self) -> None:
        if abs(self.constant) > (_CONSTANT_LIMIT if self.symbol is not None else (1 << 63) - 1):
            raise ValueError(f"{self.constant} is out of the range of sizes")

    def spell(self, symbols: Sequence[str]) -> str:
        """The expression in messages."""
        if self.symbol is None:
            return str(self.constant)
        sign = f" {'+' if self.constant > 0 else '-'} {abs(self.constant)}" if self.constant else ""
        return f"{symbols[self.symbol]}{sign}"


class Bindings:
    """The values of symbols in one call: the first argument that has a symbol binds it, the others must agree.

    >>> sizes = Bindings(("N",))
    >>> sizes.bind(Dim(0, 1), 5, "dim 0 of 'x'"), sizes.bind(Dim(0), 4, "dim 0 of 'y'"), sizes.bind(Dim(0), 5, "dim 0 of 'z'")
    (True, True, False)
    >>> sizes.values, sizes.conflict(Dim(0), 5, "dim 0 of 'z'")
    ({0: 4}, "size 'N' is 4 by dim 0 of 'x' and 5 by dim 0 of 'z'")
    """

    def __init__(self, names: Sequence[str]):
        self.names = names
        self.values: dict[int, int] = {}
        self._sources: dict[int, str] = {}

    def bind(self, dim: Dim, extent: int, source: str) -> bool:
        """Whether a size or stride agrees with its dim, of which a symbol without a value gets one."""
        value = extent - dim.constant
        if dim.symbol is None:
            return not value
        if dim.symbol not in self.values:
            self.values[dim.symbol], self._sources[dim.symbol] = value, source
        return self.values[dim.symbol] == value

    def conflict(self, dim: Dim, extent: int, source: str) -> str:
        """Why a size does not agree with a symbol that has a value."""
        assert dim.symbol is not None
        first = f"{self.values[dim.symbol]} by {self._sources[dim.symbol]}"
        return f"size '{self.names[dim.symbol]}' is {first} and {extent - dim.constant} by {source}"

    def value(self, dim: Dim) -> int | None:
        """The number that a dim stands for, if its symbol has a value."""
        known = 0 if dim.symbol is None else self.values.get(dim.symbol)
        return None if known is None else known + dim.constant

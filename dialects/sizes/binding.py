"""Sizes of parameters: a number, or a symbol plus a number, and the values that arguments bind symbols to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .atoms import Symbol
from .polynomial import Size

_CONSTANT_LIMIT = 1 << 40
"""Largest number that may be added to a symbol, so that arithmetic on sizes stays within 64 bits."""


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


def is_symbol(size: Size) -> bool:
    """Whether a size is a symbol alone."""
    return (
        len(size.terms) == 1
        and size.terms[0][1] == 1
        and len(size.terms[0][0]) == 1
        and isinstance(size.terms[0][0][0], Symbol)
    )


def is_plain_symbol(size: Size) -> bool:
    """Whether a size is a symbol alone, of which nothing more is known."""
    return is_symbol(size) and size.symbols[0].spell() == size.symbols[0].name


def dims_of(meant: Sequence[Size]) -> list[Dim]:
    """How arguments bind symbols: a size that is a symbol plus a number binds the symbol."""
    symbols = {size: k for k, size in enumerate(meant) if is_symbol(size)}
    return [
        Dim(symbols[base], size.constant) if (base := size - size.constant) in symbols else Dim(k)
        for k, size in enumerate(meant)
    ]


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

    def complete(self, meant: Sequence[Any]) -> None:
        """Give the symbols that follow from others their values, where `meant` says what each of them is.

        Raises:
            ValueError: a size is not what its symbol may be.
        """
        known: dict[str, int] = {}
        for k, size in enumerate(meant):
            if is_symbol(size):
                (symbol,) = size.symbols
                known[symbol.name] = value = self.values.get(k, 0)
                if k in self.values and (reason := symbol.why_not(value)):
                    raise ValueError(f"size '{symbol.name}' {reason}, it is {value} by {self._sources[k]}")
        for k, size in enumerate(meant):
            self.values[k] = size.at(known)

    def value(self, dim: Dim) -> int | None:
        """The number that a dim stands for, if its symbol has a value."""
        known = 0 if dim.symbol is None else self.values.get(dim.symbol)
        return None if known is None else known + dim.constant

"""Symbolic sizes: what `jit(dynamic=)` says about arguments."""

from __future__ import annotations

import keyword
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...dialects.sizes.atoms import Symbol
from ...dialects.sizes.polynomial import Size, substituted, symbols_of
from ...errors import LeastSizeError, ShapeError
from .program import Aval

_TAKEN = ("floordiv", "max")
"""Words of the text of sizes."""


def dim(name: str, *, min: int = 0, max: int | None = None, multiple_of: int = 1, special: Sequence[int] = ()) -> Any:
    """A symbolic size, for `jit(dynamic=)`.

    Args:
        name: equal names are equal sizes.
        min: its least value. Bounds are used: with `min=1` a maximum over it has a value. An index implies its own bound: after
            `x[2]` a size is at least 3, and a smaller one is specialized.
        max: its greatest value.
        multiple_of: a divisor of it, so that it can be divided by that.
        special: sizes that are specialized, beside the code for all: a matmul of one row reads its matrix in place, that of any
            number of rows packs it.

    Returns:
        The size: a call with a size that violates these raises ValueError. It may stand in a sum: `dim("n") + 1`.

    >>> import lamina as lm, numpy as np
    >>> n = lm.dim("n", min=1, max=4096, multiple_of=8)
    >>> pairs = lm.jit(lambda x: x.reshape(x.shape[0] // 8, 8).sum(1), dynamic={"x": (n,)})
    >>> pairs(np.ones(16, np.float32)), pairs(np.ones(24, np.float32))
    (array([8., 8.], dtype=float32), array([8., 8., 8.], dtype=float32))
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in _TAKEN:
        raise ValueError(f"dim() needs a name as that of a variable, got {name!r}")
    for what, value in (("min", min), ("max", max), ("multiple_of", multiple_of)):
        if (isinstance(value, bool) or not isinstance(value, int)) and not (what == "max" and value is None):
            raise TypeError(f"dim() {what} must be an int, got {value!r}")
    if min < 0 or multiple_of < 1:
        raise ValueError(f"dim() needs min of at least 0 and multiple_of of at least 1, got {min} and {multiple_of}")
    low = -(-min // multiple_of) * multiple_of
    high = None if max is None else max // multiple_of * multiple_of
    if high is not None and high < low:
        raise ValueError(f"dim() {name!r} can be nothing: no multiple of {multiple_of} is from {min} to {max}")
    made = Size.symbol(name, low, high, multiple_of)
    if isinstance(made, Size):
        made.special = frozenset(map(operator.index, special))
    return made


class Dynamic:
    """The sizes that `jit(dynamic=)` declares, by the paths of arguments."""

    def __init__(self, given: Mapping[str, Sequence[Any]] | None):
        self.specs: dict[str, tuple[Any, ...]] = {}
        self.special: dict[str, frozenset[int]] = {}
        """The specialized sizes, by symbol."""
        known: dict[str, Symbol] = {}
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"jit takes dynamic as a dict from arguments to sizes, got {type(given).__name__}: {given!r:.60}")
        for path, spec in (given or {}).items():
            if not isinstance(path, str) or isinstance(spec, str) or not isinstance(spec, tuple | list):
                rule = "jit takes dynamic as a dict from the names of arguments to one entry for each dim"
                raise TypeError(f'{rule}, as {{"x": ("batch", None)}}, got {path!r}: {spec!r:.60}')
            self.specs[path] = tuple([_entry(path, entry) for entry in spec])
        for path, spec in self.specs.items():
            for entry, symbol in ((e, s) for e in spec if isinstance(e, Size) for s in e.symbols):
                self.special[symbol.name] = self.special.get(symbol.name, frozenset()) | entry.special
                plain, other = Symbol(symbol.name), known.get(symbol.name, symbol)
                if other not in (symbol, plain) and symbol != plain:
                    raise ValueError(
                        f"size {symbol.name!r} is declared as '{other.spell()}' and, for {path!r}, '{symbol.spell()}'"
                    )
                known[symbol.name] = symbol if other == plain else other

        def declared(symbol: Symbol) -> Any:
            return Size.product((known[symbol.name],))

        for path, spec in self.specs.items():
            self.specs[path] = tuple([substituted(entry, declared) for entry in spec])

    def __bool__(self) -> bool:
        return bool(self.specs)

    def applied(self, name: str, paths: Sequence[str], avals: Sequence[Aval]) -> tuple[Aval, ...]:
        """The abstract values of arguments, with the declared sizes instead of those of this call.

        Raises:
            ValueError: `dynamic` names no argument, or one of another rank or size.
        """
        for path in self.specs:
            if path not in paths:
                rule = f"{name}() has no argument {path!r} to be dynamic: there are"
                raise ValueError(f"{rule} {', '.join(map(repr, paths)) or 'none'}")
        found = tuple([self._applied(name, path, aval) for path, aval in zip(paths, avals, strict=True)])
        known = self._specials(found, avals) if any(self.special.values()) else {}
        return _with(found, known) if known else found

    def variants(self, avals: Sequence[Aval]) -> Iterator[tuple[Aval, ...]]:
        """The same arguments with a specialized number instead of a symbol, one after the other."""
        for symbol in symbols_of([size for aval in avals for size in aval.shape]):
            for number in sorted(self.special[symbol.name]):
                if not symbol.why_not(number):
                    yield _with(avals, {symbol: number})

    def enlarged(self, avals: Sequence[Aval], error: LeastSizeError) -> tuple[Aval, ...]:
        """The same arguments with a symbol that is as large as an index needs it; each call is then checked for that.

        Raises:
            LeastSizeError: no argument has the symbol.
        """
        shapes = enlarged([aval.shape for aval in avals], error)
        return tuple([Aval(a.dtype, shape, a.weak) for a, shape in zip(avals, shapes, strict=True)])

    def smaller(self, asked: Sequence[Aval], declared: Sequence[Aval], avals: Sequence[Aval]) -> tuple[Aval, ...] | None:
        """The declared arguments with the numbers of a call for symbols that are smaller than a program needs them.

        Args:
            asked: the arguments that the program accepts, larger than declared.
            declared: as they were declared.
            avals: those of the call.

        Returns:
            None if the program rejects the call for another reason.
        """
        low = {symbol.name: symbol.low for symbol in symbols_of([size for aval in asked for size in aval.shape])}
        found = {
            symbol: value
            for symbol, value in _values(declared, avals).items()
            if value < low.get(symbol.name, 0) and not symbol.why_not(value)
        }
        return _with(declared, found) if found else None

    def _specials(self, declared: Sequence[Aval], avals: Sequence[Aval]) -> dict[Symbol, int]:
        """The symbols for which a call has a specialized size."""
        values = _values(declared, avals)
        return {s: v for s, v in values.items() if v in self.special[s.name] and not s.why_not(v)}

    def _applied(self, name: str, path: str, aval: Aval) -> Aval:
        spec = self.specs.get(path)
        if spec is None:
            return aval
        if Ellipsis in spec:
            at = spec.index(Ellipsis)
            spec = (*spec[:at], *(None,) * (len(aval.shape) - len(spec) + 1), *spec[at + 1 :])
        if len(spec) != len(aval.shape):
            shown = ", ".join("None" if entry is None else str(entry) for entry in spec)
            rule = f"{name}() argument '{path}' is declared dynamic as ({shown})"
            raise ShapeError(f"{rule}, got {aval}: pass an array of {len(spec)} dims")
        for axis, (entry, size) in enumerate(zip(spec, aval.shape, strict=True)):
            if isinstance(entry, int) and entry != size:
                raise ShapeError(f"{name}() argument '{path}' is declared dynamic with {entry} for dim {axis}, got {aval}")
        return Aval(aval.dtype, tuple([n if e is None else e for e, n in zip(spec, aval.shape, strict=True)]), aval.weak)


def enlarged(shapes: Sequence[Sequence[Any]], error: LeastSizeError) -> list[tuple[Any, ...]]:
    """The same shapes with a symbol that is as large as an index needs it.

    Raises:
        LeastSizeError: none of them has the symbol.
    """
    for symbol in symbols_of([size for shape in shapes for size in shape]):
        if symbol.name == error.name:
            low = -(-error.least // symbol.multiple) * symbol.multiple
            larger = {symbol: Size.symbol(symbol.name, low, symbol.high, symbol.multiple)}
            return [_substituted(shape, larger) for shape in shapes]
    raise error


def _values(declared: Sequence[Aval], avals: Sequence[Aval]) -> dict[Symbol, int]:
    """The values of symbols in a call whose arguments agree."""
    values: dict[Symbol, set[int]] = {}
    for one, other in zip(declared, avals, strict=True):
        for size, extent in zip(one.shape, other.shape, strict=True):
            for symbol in size.symbols if isinstance(size, Size) else ():
                values.setdefault(symbol, set()).add(extent - size.constant)  # pyright: ignore[reportAttributeAccessIssue]
    return {symbol: max(found) for symbol, found in values.items() if len(found) == 1}


def _with(avals: Sequence[Aval], known: Mapping[Symbol, Any]) -> tuple[Aval, ...]:
    """The same with numbers, or other sizes, for symbols."""
    return tuple([Aval(a.dtype, _substituted(a.shape, known), a.weak) for a in avals])


def _substituted(shape: Sequence[Any], known: Mapping[Symbol, Any]) -> tuple[Any, ...]:
    return tuple([substituted(size, lambda symbol: known.get(symbol, Size.product((symbol,)))) for size in shape])


def _entry(path: str, entry: Any) -> Any:
    """The entry of a dim: None, an int, or a size."""
    if entry is None or entry is Ellipsis or (isinstance(entry, int) and not isinstance(entry, bool)):
        return entry
    if isinstance(entry, Size):
        shift = entry - entry.constant
        if not isinstance(shift, Size) or len(shift.terms) != 1 or shift.terms[0][1] != 1 or len(shift.symbols) != 1:
            raise ValueError(f"jit dynamic {path!r}: a dim must be a name plus a number, got {entry}")
        return entry
    if isinstance(entry, str):
        return dim(entry)
    raise TypeError(f"jit dynamic {path!r}: a dim must be a name, lm.dim(...), a number or None, got {entry!r:.60}")

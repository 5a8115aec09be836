"""Symbolic sizes as values: a `Size` stands for one in a shape, `n` as well as `2*n + 1`.

A size is a polynomial with integer coefficients over *atoms*: symbols, quotients `floordiv(e, c)` and `max(e, 0)`. It has a
normal form, so that sizes known to be equal compare equal; constants are plain `int`. Comparisons that the bounds of symbols
decide give a bool, others raise.

    >>> n = Size.symbol("n")
    >>> (n + 1) * 2 - n, n * 64 // 64 == n, n < n + 1
    (n + 2, True, True)
"""

from __future__ import annotations

import operator
import sys
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from math import gcd
from typing import Any, ClassVar

from ...errors import LeastSizeError, ShapeError, SizeError
from .atoms import Atom, Monomial, Positive, Quotient, Symbol
from .bounds import bounds_of


class _Estimates(threading.local):
    depth = 0


_estimates = _Estimates()


@contextmanager
def estimates() -> Iterator[None]:
    """A block for cost models, in which comparisons and conversions of sizes use their expected values."""
    _estimates.depth += 1
    try:
        yield
    finally:
        _estimates.depth -= 1


TYPICAL = 256
"""The value of a symbol in cost models."""


class Size:
    """A symbolic size. It is immutable and never constant: arithmetic whose result is constant gives an `int`."""

    __slots__ = ("__dict__", "_hash", "terms")
    __array_priority__ = 2000  # NumPy's operators defer to ours
    special: frozenset[int] = frozenset()
    """The values for which programs of this size are also compiled separately."""

    def __init__(self, terms: Sequence[tuple[Monomial, int]]):
        self.terms = tuple(terms)
        self._hash = hash(self.terms)

    @staticmethod
    def symbol(name: str, low: int = 0, high: int | None = None, multiple: int = 1) -> Any:
        """The size of a symbol."""
        symbol = Symbol(name, low, high, multiple)
        return low if low == high else Size.product((symbol,))

    @staticmethod
    def product(atoms: Monomial) -> Size:
        """The product of one or more atoms."""
        return Size(((atoms, 1),))

    # -- facts

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> Any:
        """Whether both are one size. User code must not see sizes as different that may be equal in a call."""
        if self is other or (isinstance(other, Size) and self.terms == other.terms):
            return True
        if not (isinstance(other, Size) or _is_int(other)):
            return NotImplemented
        if _is_asked_by_user(self) and is_equal(self, other) is None:
            return _answered(self, "==", other)
        return False

    def __ne__(self, other: object) -> Any:
        found = self.__eq__(other)
        return not found if isinstance(found, bool) else found if found is NotImplemented else ~found

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        text = ""
        for monomial, c in self.terms:
            factors = [] if abs(c) == 1 and monomial else [str(abs(c))]
            sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
            text += sign + " * ".join([*factors, *map(str, monomial)])
        return text

    @property
    def constant(self) -> int:
        """The constant term."""
        return next((c for monomial, c in self.terms if not monomial), 0)

    @property
    def monomials(self) -> tuple[tuple[Monomial, int], ...]:
        """The other terms."""
        return tuple([(monomial, c) for monomial, c in self.terms if monomial])

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols in it, each once."""
        found: dict[Symbol, None] = {}
        for monomial, _ in self.terms:
            for atom in monomial:
                found.update(dict.fromkeys((atom,) if isinstance(atom, Symbol) else atom.of.symbols))
        return tuple(found)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value, from the bounds of the symbols."""
        return bounds_of(self)

    def at(self, values: Mapping[str, int]) -> int:
        """The value, given the values of all its symbols by name."""
        return self.substitute(lambda symbol: values[symbol.name])

    def substitute(self, value: Callable[[Symbol], Any]) -> Any:
        """The size with symbols replaced by sizes."""
        total: Any = 0
        for monomial, c in self.terms:
            product: Any = c
            for atom in monomial:
                product = product * _substituted(atom, value)
            total = total + product
        return total

    # -- arithmetic

    as_number: ClassVar[Callable[[Size], Any] | None] = None
    """Converts a size to an array for arithmetic with floats; set by the tracer."""
    is_asked_by_user: ClassVar[Callable[[Size], bool]] = staticmethod(lambda size: False)
    """Whether traced user code makes the comparison, whose outcome may differ between calls; set by the tracer."""
    compared: ClassVar[Callable[[Size, str, Any], Any]] = staticmethod(lambda size, sign, other: None)
    """The traced value of a comparison in user code; None where Python needs a bool."""
    located: ClassVar[Callable[[SizeError], SizeError]] = staticmethod(lambda error: error)
    """Adds the location in user code to an error; set by the tracer."""

    def _number(self) -> Any:
        """The operand for arithmetic with floats: the expected value in cost models, else an array of the trace."""
        if _estimates.depth:
            return expected_size(self)
        if Size.as_number is None:
            raise SizeError(f"size {self} is only known in a call: it takes part in arithmetic of ints alone")
        return Size.as_number(self)

    def __add__(self, other: Any) -> Any:
        if _is_value(other):
            return self._number() + other
        return NotImplemented if (terms := _terms(other)) is None else _sum(((self.terms, 1), (terms, 1)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if _is_value(other):
            return self._number() - other
        return NotImplemented if (terms := _terms(other)) is None else _sum(((self.terms, 1), (terms, -1)))

    def __rsub__(self, other: Any) -> Any:
        if _is_value(other):
            return other - self._number()
        return NotImplemented if (terms := _terms(other)) is None else _sum(((terms, 1), (self.terms, -1)))

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        """A NumPy function: of sizes and integers it gives a size, otherwise an array of the trace."""
        if method == "__call__" and ufunc.__name__ in _OF_UFUNC and not options:
            if all(isinstance(x, Size) or _is_int(x) for x in args):
                return _OF_UFUNC[ufunc.__name__](*[x if isinstance(x, Size) else int(x) for x in args])
        return self._number().__array_ufunc__(ufunc, method, *args, **options)

    def __neg__(self) -> Any:
        return 0 - self

    def __pos__(self) -> Any:
        return self

    def __mul__(self, other: Any) -> Any:
        if _is_value(other):
            return self._number() * other
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        products = [((_product(a, b), c * d),) for a, c in self.terms for b, d in terms]
        return _sum([(product, 1) for product in products])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._number() / (other._number() if isinstance(other, Size) else other)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self._number()

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, Size):
            quotient = floor_quotient(self, other)
            if quotient is None and _estimates.depth:
                return expected_size(self) // expected_size(other)
            if quotient is None and _is_asked_by_user(self):
                return self._number() // other._number()
            if quotient is None:
                rule = f"size {self} is not known to be a multiple of {other}"
                raise Size.located(SizeError(f"{rule}: divide by a number, or by a factor of it"))
            return quotient
        if _is_value(other):
            return self._number() // other
        return _divided(self, int(other)) if _is_int(other) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        if _estimates.depth:
            return other // expected_size(self)
        if _is_value(other):
            return other // self._number()
        if not _is_int(other):
            return NotImplemented
        if _is_asked_by_user(self):
            return other // self._number()
        if (quotient := floor_quotient(other, self)) is not None:
            return quotient
        raise Size.located(SizeError(f"a number cannot be divided by the size {self}: divide arrays, as lnp.asarray({self})"))

    def __mod__(self, other: Any) -> Any:
        if _is_value(other):
            return self._number() % other
        return self - self // other * other if isinstance(other, Size) or _is_int(other) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        if _is_value(other):
            return other % self._number()
        return other - other // self * self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, Size) or _is_value(other):
            return self._number() ** other
        if not _is_int(other) or other < 0:
            return NotImplemented
        result: Any = 1
        for _ in range(int(other)):
            result = self * result
        return result

    def __rpow__(self, other: Any) -> Any:
        return other ** self._number()

    def __abs__(self) -> Any:
        return greatest(self, -self)

    def __trunc__(self) -> Any:
        return self

    __floor__ = __ceil__ = __trunc__

    def __round__(self, digits: int | None = None) -> Any:
        return self

    def __and__(self, other: Any) -> Any:
        return self._number() & other

    def __or__(self, other: Any) -> Any:
        return self._number() | other

    def __xor__(self, other: Any) -> Any:
        return self._number() ^ other

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << other) if _is_int(other) and other >= 0 else self._number() << other

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << other) if _is_int(other) and other >= 0 else self._number() >> other

    def __rlshift__(self, other: Any) -> Any:
        return other << self._number()

    def __rrshift__(self, other: Any) -> Any:
        return other >> self._number()

    def __invert__(self) -> Any:
        return -self - 1

    # -- comparisons

    def __lt__(self, other: Any) -> Any:
        return _compare(self, other, "<", lambda low, high: True if high < 0 else False if low >= 0 else None)

    def __le__(self, other: Any) -> Any:
        return _compare(self, other, "<=", lambda low, high: True if high <= 0 else False if low > 0 else None)

    def __gt__(self, other: Any) -> Any:
        return _compare(self, other, ">", lambda low, high: True if low > 0 else False if high <= 0 else None)

    def __ge__(self, other: Any) -> Any:
        return _compare(self, other, ">=", lambda low, high: True if low >= 0 else False if high < 0 else None)

    def __bool__(self) -> bool:
        return self > 0 if self.bounds[0] >= 0 else not _compare(self, 0, "==", lambda low, high: _is_zero(low, high))

    def __index__(self) -> int:
        if _estimates.depth:
            return expected_size(self)
        rule = f"size {self} is not known while tracing and cannot be a Python int"
        remedy = "use it in shapes and arithmetic as it is, or leave that dim out of dynamic="
        raise Size.located(SizeError(f"{rule}: {remedy}"))

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> float:
        if _estimates.depth:
            return float(expected_size(self))
        rule = f"size {self} is not known while tracing and cannot be a Python float"
        raise Size.located(SizeError(f"{rule}: use it in arithmetic with arrays"))


_OF_UFUNC: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "floor_divide": operator.floordiv,
    "remainder": operator.mod, "negative": operator.neg, "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip


def _is_value(x: Any) -> bool:
    """Whether an operand is a NumPy array or a number other than an integer."""
    np = sys.modules.get("numpy")  # without the module there are no such values
    of_numpy = np is not None and isinstance(x, np.generic | np.ndarray)
    return (of_numpy or isinstance(x, float | complex)) and not _is_int(x)


def greatest(a: Any, b: Any) -> Any:
    """The greater of two sizes."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else b + positive(a - b)


def least(a: Any, b: Any) -> Any:
    """The smaller of two sizes."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else a - positive(a - b)


def positive(size: Any) -> Any:
    """`max(size, 0)`."""
    if isinstance(size, int):
        return max(size, 0)
    low, high = size.bounds
    if low >= 0:
        return size
    if high <= 0:
        return 0
    if size.terms[0][1] < 0:  # max(e, 0) is e + max(-e, 0): one of both is the normal form
        return size + positive(-size)
    return Size.product((Positive(size),))


def is_at_most(size: Any, limit: int) -> bool:
    """Whether a size is known to be no greater than a number."""
    return size <= limit if isinstance(size, int) else size.bounds[1] <= limit


def is_at_least(size: Any, limit: int) -> bool:
    """Whether a size is known to be no less than a number."""
    return size >= limit if isinstance(size, int) else size.bounds[0] >= limit


def ceil_quotient(size: Any, by: int) -> Any:
    """`size / by`, rounded up."""
    return (size + by - 1) // by


def symbols_of(sizes: Sequence[Any]) -> tuple[Symbol, ...]:
    """The symbols in some sizes, each once."""
    return tuple(dict.fromkeys(symbol for size in sizes if isinstance(size, Size) for symbol in size.symbols))


def require_at_least(size: Size, least: int) -> None:
    """Check that a size is at least a number.

    Raises:
        LeastSizeError: this holds only if its symbol is large enough.
        SizeError: it cannot be decided for another reason.
        ShapeError: it is smaller.
    """
    low, high = (size - least).bounds
    if low >= 0:
        return
    if high < 0:
        raise ShapeError(f"size {size} must be at least {least}")
    names = ", ".join(repr(symbol.name) for symbol in size.symbols)
    message = (
        f"size {size} must be at least {least}, which is not known while tracing: say more of {names}, as with lm.dim(min=)"
    )
    symbol, *others = size.symbols
    largest = 1 << 40
    if others or not _at_least(size, least, largest):
        raise SizeError(message)
    needed = bisect_left(range(largest), True, key=lambda low: _at_least(size, least, low))
    raise LeastSizeError(message, symbol.name, needed)


def _at_least(size: Size, least: int, low: int) -> bool:
    """Whether a size of one symbol is at least a number for all values of the symbol from `low` on."""
    found = substituted(size, lambda symbol: Size.symbol(symbol.name, low, None, symbol.multiple))
    return found >= least if isinstance(found, int) else found.bounds[0] >= least


def substituted(size: Any, value: Callable[[Symbol], Any]) -> Any:
    """A size or number, symbols replaced."""
    return size.substitute(value) if isinstance(size, Size) else size


def floor_quotient(size: Any, by: Size) -> Any:
    """`size / by` rounded down, where that is a size for all values of symbols; else None: `n * n // (n + 1)` is `n - 1`."""
    quotient, rest = _long_division(size, by)
    if isinstance(rest, int) and rest == 0:
        return quotient
    for _ in range(2):  # is the rest from -by to by - 1?
        if is_at_least(rest + by, 0) and is_at_least(by - rest, 1) and is_at_least(by, 1):
            return quotient - least(positive(-rest), 1)
        quotient, rest = quotient - 1, rest + by
    return None


def _long_division(size: Any, by: Size) -> tuple[Any, Any]:
    """Quotient and remainder of polynomials, as long as leading terms are multiples of the divisor's."""
    rest, quotient = size, 0
    lead, coefficient = _lead(by)
    for _ in range(16):
        if isinstance(rest, int):
            break
        monomial, c = _lead(rest)
        left = _without(monomial, lead)
        if left is None or not c // coefficient:
            break
        term = _sum([(((left, c // coefficient),), 1)])
        quotient, rest = quotient + term, rest - term * by
    return quotient, rest


def _content(monomial: Monomial, c: int) -> int:
    """A number of which a term is a multiple."""
    for atom in monomial:
        if isinstance(atom, Symbol):
            c *= atom.multiple
    return abs(c)


def _divided(size: Size, by: int) -> Any:
    """`floordiv(size, by)`: terms that are multiples of the divisor are divided at once."""
    if by < 0:
        return (0 - size) // -by
    if by == 0:
        raise ZeroDivisionError(f"size {size} divided by 0")
    if by == 1:
        return size
    whole: list[tuple[Monomial, int]] = []
    exact: list[Any] = []
    rest: list[tuple[Monomial, int]] = []
    for monomial, c in size.terms:
        if c % by == 0:
            whole.append((monomial, c // by))
        elif monomial and _content(monomial, c) % by == 0:
            exact.append(_exact_term(monomial, c, by))
        else:
            rest.append((monomial, c))
    total = _sum([(tuple(whole), 1)])
    for term in exact:
        total = term + total
    left = _sum([(tuple(rest), 1)])
    if isinstance(left, int):
        return total + left // by
    low, high = left.bounds
    if low >= 0 and high < by:
        return total
    if left.terms[0][1] < 0:  # the normal form has the dividend that grows with its symbols
        return total - (by - 1 - left) // by
    return total + Size.product((Quotient(left, by),))


def _exact_term(monomial: Monomial, c: int, by: int) -> Any:
    """A term divided by a number of which it is a multiple, since its symbols are multiples."""
    factors = list(monomial)
    shared = gcd(c, by)
    result, by = c // shared, by // shared
    total: Any = result
    for atom in factors:
        shared = gcd(atom.multiple, by) if isinstance(atom, Symbol) else 1
        by //= shared
        one = Size.product((atom,))
        total = (Size.product((Quotient(one, shared),)) if shared > 1 else one) * total
    return total


def _product(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted((*a, *b), key=str)) if a and b else a or b


def _without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in factor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _lead(size: Size) -> tuple[Monomial, int]:
    return max(size.terms, key=lambda term: (len(term[0]), list(map(str, term[0]))))


def _is_int(value: object) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool)
    np = sys.modules.get("numpy")
    return np is not None and isinstance(value, np.integer)


def _terms(value: Any) -> Sequence[tuple[Monomial, int]] | None:
    if isinstance(value, Size):
        return value.terms
    if _is_int(value) or (hasattr(value, "__index__") and not isinstance(value, bool) and not hasattr(value, "trace")):
        number = value.__index__()
        return (((), number),) if number else ()
    return None


def _sum(parts: Sequence[tuple[Sequence[tuple[Monomial, int]], int]]) -> Any:
    """The sum of lists of terms, each times a factor: a `Size`, or an int."""
    total: dict[Monomial, int] = {}
    again: list[Any] = []
    for terms, factor in parts:
        for monomial, c in terms:
            total[monomial] = total.get(monomial, 0) + c * factor
    for monomial, c in list(total.items()):
        whole = _whole(monomial, c) if c else None
        if whole is not None:
            del total[monomial]
            again.append(whole)
    kept = sorted(((m, c) for m, c in total.items() if c), key=lambda term: (-len(term[0]), list(map(str, term[0]))))
    result: Any = (kept[0][1] if kept else 0) if not kept or (len(kept) == 1 and not kept[0][0]) else Size(kept)
    for part in again:
        result = part + result
    return result


def _whole(monomial: Monomial, c: int) -> Any:
    """A term `c * (e floordiv d)` as `c / d * e` where `e` is a multiple of `d` and `c`, too; None for other terms."""
    for k, atom in enumerate(monomial):
        if not isinstance(atom, Quotient) or c % atom.by or len(atom.of.terms) != 1:
            continue
        (inner, factor) = atom.of.terms[0]
        if _content(inner, factor) % atom.by == 0:
            rest = monomial[:k] + monomial[k + 1 :]
            return _sum([(((_product(inner, rest), factor * (c // atom.by)),), 1)])
    return None


def _substituted(atom: Atom, value: Callable[[Symbol], Any]) -> Any:
    if isinstance(atom, Symbol):
        return value(atom)
    inner = atom.of.substitute(value)
    return inner // atom.by if isinstance(atom, Quotient) else positive(inner)


def _compare(size: Size, other: Any, sign: str, decide: Callable[[float, float], bool | None]) -> Any:
    if isinstance(other, float) and _estimates.depth:
        return bool(decide(value := expected_size(size) - other, value))
    if _terms(other) is None:
        return NotImplemented
    difference = size - other
    low, high = (difference, difference) if isinstance(difference, int) else difference.bounds
    decided = decide(low, high)
    if decided is None and _estimates.depth:
        return bool(decide(value := expected_size(difference), value))
    if decided is None:
        if _is_asked_by_user(size):
            return _answered(size, sign, other)
        raise _undecided(size, sign, other, decide)
    return decided


def _answered(size: Size, sign: str, other: Any) -> Any:
    """The outcome of a comparison in user code, as a traced value.

    Raises:
        SizeError: Python needs a bool.
    """
    found = Size.compared(size, sign, other)
    if found is None:
        raise _undecided(size, sign, other)
    return found


def _is_zero(low: float, high: float) -> bool | None:
    return False if low > 0 or high < 0 else True if low == high else None


def is_equal(a: Any, b: Any) -> bool | None:
    """Whether two sizes are equal; None if that may differ between calls."""
    difference = a - b
    return difference == 0 if isinstance(difference, int) else _is_zero(*difference.bounds)


def _is_asked_by_user(size: Size) -> bool:
    return not _estimates.depth and Size.is_asked_by_user(size)


DECIDED_FROM = 1024
"""Largest lower bound that is suggested to decide a comparison, in elements: smaller sizes then get separate code."""


def _undecided(size: Size, sign: str, other: Any, decide: Callable[[float, float], bool | None] | None = None) -> SizeError:
    """The error of an undecided comparison, with the least size from which on it is decided, if that is small."""
    difference = size - other
    names = ", ".join(repr(s.name) for s in difference.symbols)
    message = (
        f"whether {size} {sign} {other} is not known while tracing: say more of {names}, as with "
        f"lm.dim({names.split(',')[0]}, min=1, max=1024), or use lnp.where"
    )
    if decide is None or len(difference.symbols) != 1:
        return Size.located(SizeError(message))
    (symbol,) = difference.symbols
    most = DECIDED_FROM if symbol.high is None else min(DECIDED_FROM, symbol.high)
    lows = range(symbol.low + 1, most + 1)
    k = bisect_left(lows, True, key=lambda low: decide(*_bounds_from(difference, low)) is not None)
    if k < len(lows):
        return LeastSizeError(message, symbol.name, lows[k])
    return Size.located(SizeError(message))


def _bounds_from(size: Size, low: int) -> tuple[float, float]:
    """The bounds of a size of one symbol for values of the symbol from `low` on."""
    found = substituted(size, lambda symbol: Size.symbol(symbol.name, low, symbol.high, symbol.multiple))
    return (found, found) if isinstance(found, int) else found.bounds


@lru_cache(maxsize=1024)
def expected_size(size: Any) -> int:
    """The value of a size in cost models: each symbol is `TYPICAL`, or the nearest value within its bounds."""

    def value(symbol: Symbol) -> int:
        number = max(symbol.low, TYPICAL - TYPICAL % symbol.multiple)
        return number if symbol.high is None else min(number, symbol.high)

    return substituted(size, value)

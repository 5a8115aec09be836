"""Loops that sort rows.

There are three ways, none with a branch that depends on data:

* many rows by a network of comparators, which is the same for all of them, so that each lane of a vector sorts its own
  row: bitonic merges (Batcher, "Sorting networks and their applications", 1968), each comparator with its least element first;
* few short rows by ranks: how many elements come before each one is where it goes, and these counts are sums over vectors;
* few long rows by digits, the least significant one first: blocks count their digits, running sums of the counts say where the
  elements with each digit go, and blocks move them there. All operands move; digits are read off those that are keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..sizes.polynomial import ceil_quotient, is_at_most
from ..types import element_of, expected, index, is_float, width_of
from .sort_keys import Digit, digits_of, element_of_key, key_type, ordered, total

if TYPE_CHECKING:
    from .nest_writer import NestWriter

SHORT = 64
"""Longest row that is sorted by ranks, in elements; it takes `n * n / lanes` steps."""
_DIGIT_BITS = 11
"""Largest digit, in bits: 3 passes sort 32 bits, and the 2048 counts of a block stay in the first-level cache."""
FEW_DIGIT_BITS, _FEW = 8, 4096
"""Largest digit for short rows, in bits: with larger ones the passes over counts take longer than those over elements."""
_NETWORK_BYTES = 16 << 10
"""Largest row that is sorted by a network, in bytes: the rows of all lanes of a vector fit the second-level cache."""
_LEAST_LANES = 16
"""Fewest rows for which a network is used."""
_BLOCK = 1 << 15
"""Smallest block, in elements: sixteen times as many as counts."""
_MOST_BLOCKS = 64
MANY_ROWS = 16
"""Fewest rows that threads share row by row; fewer rows are sorted in turn, each in parallel blocks."""


def sort_rows(b: NestWriter, elements: Sequence[Attribute], keys: int, read: Any, write: Any, load: Any) -> None:
    """Sort the rows of an op.

    Args:
        elements: the types of the moved operands, the keys first.
        read, write: element `k` at a point before and after; an operand without a result is not written.
        load: reads a written element at a point; None where not all operands are written.
    """
    *rows, n = b.op.result_shape()
    if 0 in (*rows, n):
        return
    network = _Network.of(rows, n, elements, keys, are_places=load is None)
    is_short = is_at_most(n, SHORT)
    many = expected(prod(rows)) >= MANY_ROWS or is_short or network is not None
    with ExitStack() as loops:
        row = [loops.enter_context(b.loop(size, "parallel" if many else "seq")).index for size in rows]

        def from_row(k: int, at: Any) -> SSAValue:
            return read(k, [*row, at])

        def to_row(k: int, value: SSAValue, at: Any) -> None:
            write(k, value, [*row, at])

        if network is not None:
            network.sort(b, n, from_row, to_row)
        elif is_short:
            by_ranks(b, n, keys, elements, from_row, to_row)
        else:
            result = _rows_of(b, n, elements) if load is None else Rows(lambda k, at: load(k, [*row, at]), to_row)
            by_digits(b, n, elements[:keys], elements, 1 if many else _blocks(expected(n)), from_row, result)
            if load is None:
                with b.loop(n) as i:
                    to_row(keys, result.load(keys, i.index), i.index)


class Rows(NamedTuple):
    """The buffers of operands between passes: how element `i` of one is read and written."""

    load: Callable[[int, Any], SSAValue]
    store: Callable[[int, SSAValue, Any], None]


def _rows_of(b: NestWriter, n: int, elements: Sequence[Attribute]) -> Rows:
    """Local rows for all operands."""
    buffers = [b.local((n,), element, "scratch", name="moved") for element in elements]
    return Rows(lambda k, at: b.load(buffers[k], [at]), lambda k, value, at: b.store(value, buffers[k], [at]))


def _blocks(n: int) -> int:
    return max(1, min(_MOST_BLOCKS, n // _BLOCK))


@dataclass(frozen=True)
class _Network:
    """A network of comparators for rows of which each lane of a vector has one.

    Attributes:
        elements: the types of what is sorted.
        keys: how many of these are compared; equal ones are ordered by their position in the row, unless there are only keys.
        told: the elements that need not be moved, since the keys and positions determine them.
    """

    elements: Sequence[Attribute]
    keys: int
    told: frozenset[int]

    @staticmethod
    def of(rows: Sequence[int], n: int, elements: Sequence[Attribute], keys: int, *, are_places: bool) -> _Network | None:
        """The network for the rows of an op; None where they are few, long, or symbolic in number."""
        if not (isinstance(n, int) and rows and isinstance(rows[-1], int)):
            return None
        told = range(len(elements)) if are_places else [k for k, e in enumerate(elements[:keys]) if not is_float(e)]
        size = n * sum(max(8, width_of(e)) for e in elements) // 8
        fits = n > 2 and rows[-1] >= _LEAST_LANES and size <= _NETWORK_BYTES
        return _Network(elements, keys, frozenset(told)) if fits else None

    def sort(self, b: NestWriter, n: int, read: Any, write: Any) -> None:
        """Sort a row."""
        alone = len(self.elements) == 1
        to_key = total if alone else ordered
        size = -(-n // 4) * 4
        words = [b.local((size,), key_type(e), "scratch", name="keys") for e in self.elements[: self.keys]]
        decide = len(words) + (not alone)
        moved = self.moved
        words += [b.local((size,), self.elements[k], "scratch", name="moved") for k in moved]
        for k, word in enumerate(words):
            with b.loop(n) as i:
                value = read(k, i.index) if k < self.keys else read(moved[k - self.keys], i.index)
                b.store(to_key(b.scalar, value) if k < self.keys else value, word, [i.index])
        if not alone:
            words.insert(self.keys, b.local((size,), i32, "scratch", name="places"))
            with b.loop(size) as i:
                b.store(b.scalar.convert(b.position(i.index), i32), words[self.keys], [i.index])
        for word in words[: self.keys] if size > n else ():
            with b.loop(size - n) as i:  # the greatest of all
                b.store(b.scalar.identity("and", element_of(word)), word, [i.index + n])
        _bitonic(b, size, words, decide)
        for k, element in enumerate(self.elements):
            with b.loop(n) as i:
                if k in moved:
                    write(k, b.load(words[decide + moved.index(k)], [i.index]), i.index)
                elif k < self.keys:
                    write(k, element_of_key(b.scalar, b.load(words[k], [i.index]), element), i.index)
                else:
                    write(k, b.load(words[self.keys], [i.index]), i.index)

    @property
    def moved(self) -> list[int]:
        """The elements that are moved beside keys and positions: those that these do not determine."""
        return [k for k, e in enumerate(self.elements) if k not in self.told and (k >= self.keys or len(self.elements) > 1)]


_Element = list[SSAValue]
"""The words of an element."""


def _in_order(b: NestWriter, first: _Element, second: _Element, decide: int) -> tuple[_Element, _Element]:
    """Two elements in order, compared by their first `decide` words."""
    if len(first) == 1:
        return [b.scalar.min(first[0], second[0])], [b.scalar.max(first[0], second[0])]
    *others, last = range(decide)
    before = b.scalar.cmp("lt", second[last], first[last])
    for k in reversed(others):
        before = b.scalar.binary("and", b.scalar.cmp("eq", second[k], first[k]), before)
        before = b.scalar.binary("or", b.scalar.cmp("lt", second[k], first[k]), before)
    pairs = list(zip(first, second, strict=True))
    return [b.scalar.select(before, y, x) for x, y in pairs], [b.scalar.select(before, x, y) for x, y in pairs]


_SORT_FOUR = ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2))
_MERGE_FOUR = ((0, 2), (1, 3), (0, 1), (2, 3))


def _bitonic(b: NestWriter, n: int, words: Sequence[SSAValue], decide: int) -> None:
    """Merges of blocks of 4, 8, 16 ... of `n` elements, a multiple of 4; missing elements count as greatest and stay last.

    Four neighbours are sorted, and later go through the last two steps of each merge, in registers.
    """

    def compared(places: Sequence[AffineExpr], comparators: Sequence[tuple[int, int]]) -> None:
        elements = [[b.load(word, [place]) for word in words] for place in places]
        for i, j in comparators:
            elements[i], elements[j] = _in_order(b, elements[i], elements[j], decide)
        for place, element in zip(places, elements, strict=True):
            for word, value in zip(words, element, strict=True):
                b.store(value, word, [place])

    def fours(comparators: Sequence[tuple[int, int]]) -> None:
        with b.loop(n // 4) as four:
            compared([four.index * 4 + k for k in range(4)], comparators)

    def step(power: SSAValue, is_first: bool) -> None:
        """The comparators of blocks of `2 << power` elements: from the middle outwards, or half a block apart."""
        one, size = b.scalar.const(1, index), b.scalar.const(n, index)
        half = b.scalar.binary("shl", one, power)
        mask = b.scalar.sub(half, one)
        whole = b.scalar.binary("shl", b.scalar.binary("shr", size, b.scalar.add(power, one)), power)
        left = b.scalar.binary("and", size, b.scalar.add(half, mask))  # elements of a block that is not full
        more = b.scalar.max(b.scalar.sub(left, half), b.scalar.const(0, index))
        with b.loop(b.index_of(b.scalar.add(whole, more))) as pair:
            at = b.position(pair.index)
            place = b.scalar.binary("and", at, mask)
            begin = b.scalar.sub(b.scalar.add(at, at), place)
            if is_first:
                end = b.scalar.add(b.scalar.sub(begin, place), half)
                low, high = b.scalar.sub(b.scalar.sub(end, one), place), b.scalar.add(end, place)
            else:
                low, high = begin, b.scalar.add(begin, half)
            compared([b.index_of(low), b.index_of(high)], [(0, 1)])

    fours(_SORT_FOUR)
    merges = (n - 1).bit_length() - 2
    if merges > 0:
        with b.loop(merges, "seq") as merge:
            step(b.position(merge.index + 2), True)
            with b.loop(merge.index, "seq") as part:
                step(b.position(merge.index + part.index * -1 + 1), False)
            fours(_MERGE_FOUR)


def by_ranks(b: NestWriter, n: int, keys: int, elements: Sequence[Attribute], read: Any, write: Any) -> None:
    """Sort a short row: an element goes to the number of elements that come before it."""
    count = i64 if max(width_of(e) for e in elements[:keys]) > 32 else i32
    rows = [b.local((n,), key_type(e), name="keys") for e in elements[:keys]]
    with b.loop(n) as i:
        for k, row in enumerate(rows):
            b.store(ordered(b.scalar, read(k, i.index)), row, [i.index])

    ranks = b.local((n,), count, name="ranks")

    def before(i: Any, j: Any) -> SSAValue:
        """Whether element `j` comes before element `i`: by the first key that differs, or by its position."""
        found = b.scalar.cmp("lt", *(b.scalar.convert(b.position(at), count) for at in (j, i)))
        for row in reversed(rows):
            x, y = b.load(row, [j]), b.load(row, [i])
            found = b.scalar.binary("and", b.scalar.cmp("eq", x, y), found)
            found = b.scalar.binary("or", b.scalar.cmp("lt", x, y), found)
        return found

    with b.loop(n) as i:
        zero, one = (b.scalar.const(x, count) for x in (0, 1))
        with b.loop(n, "reduce", monoid="add", inits=[zero]) as j:
            j.give(b.scalar.select(before(i.index, j.index), one, zero))
        b.store(j.results[0], ranks, [i.index])
    with b.loop(n) as i:
        to = b.index_of(b.scalar.convert(b.load(ranks, [i.index]), index))
        for k, _ in enumerate(elements):
            write(k, read(k, i.index), to)


def by_digits(
    b: NestWriter, n: int, keys: Sequence[Attribute], elements: Sequence[Attribute], blocks: int, read: Any, result: Rows
) -> None:
    """Sort a long row by one digit after the other; each pass is stable."""
    digits = digits_of(keys, FEW_DIGIT_BITS if expected(n) < _FEW else _DIGIT_BITS)
    counts = b.local(
        (blocks, 1 << max(d.bits for d in digits)), i32 if is_at_most(n, 2**31 - 1) else i64, "scratch", name="counts"
    )
    between = _rows_of(b, n, elements) if len(digits) > 1 else result
    load = read
    for k, digit in enumerate(digits):
        target = result if (len(digits) - k) % 2 else between
        _pass(b, n, digit, len(elements), blocks, counts, load, target.store)
        load = target.load


def _first_of(b: NestWriter, block: Any, size: int) -> AffineExpr:
    """Where a block of a row begins; a product with a symbolic size is computed at run time."""
    if isinstance(size, int):
        return block * AffineConstantExpr(size)
    return b.index_of(b.scalar.mul(b.position(block), b.position(size)))


def _pass(b: NestWriter, n: int, digit: Digit, operands: int, blocks: int, counts: SSAValue, load: Any, store: Any) -> None:
    """Move all operands into the order of one digit."""
    bins, size = 1 << digit.bits, ceil_quotient(n, blocks)
    element = element_of(counts)
    zero, one = b.scalar.const(0, element), b.scalar.const(1, element)

    def each(step: Callable[[Any, Any], None]) -> None:
        """`step(block, i)` for all elements in order; blocks are independent."""
        with b.loop(blocks) as block:
            first = _first_of(b, block.index, size) if blocks > 1 else AffineConstantExpr(0)
            with b.loop([size, first * -1 + AffineConstantExpr(n)], "seq") as i:
                step(block.index, first + i.index)

    def counted(block: Any, i: Any) -> None:
        at = [block, b.index_of(digit.of(b.scalar, load(digit.operand, i)))]
        b.store(b.scalar.add(b.load(counts, at), one), counts, at)

    def moved(block: Any, i: Any) -> None:
        values = [load(k, i) for k in range(operands)]
        at = [block, b.index_of(digit.of(b.scalar, values[digit.operand]))]
        place = b.load(counts, at)
        b.store(b.scalar.add(place, one), counts, at)
        to = b.index_of(b.scalar.convert(place, index))
        for k, value in enumerate(values):
            store(k, value, to)

    with b.loop(blocks) as block, b.loop(bins) as d:
        b.store(zero, counts, [block.index, d.index])
    each(counted)
    with b.loop(bins, "seq", inits=[zero]) as d:
        with b.loop(blocks, "seq", inits=[d.carried[0]]) as block:
            at = [block.index, d.index]
            count = b.load(counts, at)
            b.store(block.carried[0], counts, at)
            block.give(b.scalar.add(block.carried[0], count))
        d.give(block.results[0])
    each(moved)

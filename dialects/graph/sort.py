"""Order: rows sorted by keys, and the greatest elements of rows.

Elements are compared as unsigned integers that order as they do: `ordered` turns floats and signed integers into those. Loops
sort in one of three ways, none with a branch that depends on data:

* many rows by a network of comparators, which is the same for all of them, so that each lane of a vector sorts a row of its
  own: bitonic merges (Batcher, "Sorting networks and their applications", 1968), each comparator with its least element first;
* few short rows by ranks: how many elements come before each one is where it goes, and these counts are sums over vectors;
* few long rows by digits, the least significant one first: blocks count their digits, running sums of the counts say where the
  elements with each digit go, and blocks move them there. All operands move; digits are read off those that are keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def

from ...errors import ShapeError
from ..symbolic import ceil_quotient, is_at_least, is_at_most
from ..types import (
    DYNAMIC,
    element_of,
    element_type,
    expected,
    index,
    is_bool,
    is_float,
    is_unsigned,
    shape_of,
    show_shape,
    tensor,
    width_of,
)
from .base import Custom, GraphOp, Props, Types, Zero, graph_op, integer, require_same_shape
from .batching import alike

SHORT = 64
"""The longest row that is sorted by ranks, in `n * n / lanes` steps."""
_DIGIT_BITS = 11
"""Bits of a digit at most: 3 passes for 32 bits, and the 2048 counts of a block stay in the nearest cache."""
_FEW_DIGIT_BITS, _FEW = 8, 4096
"""The same for rows of fewer elements, where it takes longer to go over counts than over elements."""
_NETWORK_BYTES = 16 << 10
"""Of a row at most that is sorted by a network: the rows of all lanes of a vector fit the second-level cache."""
_LEAST_LANES = 16
"""Rows at least that are worth a network."""
_BLOCK = 1 << 15
"""Elements of a block at least: sixteen times as many as counts."""
_MOST_BLOCKS = 64
_MANY_ROWS = 16
"""So many rows are shared among threads as they are; fewer are sorted one after the other, each in blocks."""


def position_type(n: int) -> Attribute:
    """The narrowest type of indices that holds the positions of `n` elements."""
    return i32 if is_at_most(n, 2**31 - 1) else i64


def take_in_rows(b: Any, x: SSAValue, positions: SSAValue) -> SSAValue:
    """The elements of the rows of `x` at positions in their own rows."""
    last = len(shape_of(x)) - 1
    return b.gather(x, positions, at=(last,), batch=tuple(range(last)))


# --------------------------------------------------------------------------------------------------------------------
# Keys as unsigned integers


def _key_type(element: Attribute) -> Any:
    return element_type(np.dtype(f"u{max(8, width_of(element)) // 8}"))


def ordered(b: Any, x: SSAValue) -> SSAValue:
    """An unsigned integer of the width of a scalar, that orders as it does: zeros alike, and all NaN alike and the greatest."""
    element = x.type
    key = _key_type(element)
    if is_bool(element) or is_unsigned(element):
        return b.convert(x, key)
    bits, sign = b.bitcast(x, key), b.const(1 << (width_of(element) - 1), key)
    if not is_float(element):
        return b.binary("xor", bits, sign)
    above = b.binary("or", bits, sign)  # of either zero the same
    found = b.select(b.cmp("lt", x, b.const(0, element)), b.invert(bits), above)
    return b.select(b.cmp("ne", x, x), b.identity("and", key), found)


class _Digit(NamedTuple):
    """The bits `[shift, shift + bits)` of a key."""

    operand: int
    shift: int
    bits: int

    def of(self, b: Any, x: SSAValue) -> SSAValue:
        """The digit of a scalar, an index."""
        key = ordered(b, x)
        if self.shift:
            key = b.binary("shr", key, b.const(self.shift, key.type))
        if self.shift + self.bits < width_of(key.type):
            key = b.binary("and", key, b.const((1 << self.bits) - 1, key.type))
        return b.convert(key, index)


def _digits(elements: Sequence[Attribute], most: int) -> list[_Digit]:
    """The digits of all keys, from the least significant one on."""
    found: list[_Digit] = []
    for operand, element in reversed(list(enumerate(elements))):
        width = width_of(element)
        each = -(-width // -(-width // most))
        found += [_Digit(operand, shift, min(each, width - shift)) for shift in range(0, width, each)]
    return found


def _total(b: Any, x: SSAValue) -> SSAValue:
    """An unsigned integer that orders as a scalar does and tells it: -0.0 comes before 0.0, all NaN are positive ones."""
    element = x.type
    if not is_float(element):
        return ordered(b, x)
    key = _key_type(element)
    bits, sign = b.bitcast(x, key), b.const(1 << (width_of(element) - 1), key)
    is_negative = b.cmp("gt", bits, b.bitcast(b.const(float("-inf"), element), key))  # the NaN among these
    is_negative = b.binary("xor", b.cmp("ge", bits, sign), is_negative)
    return b.select(is_negative, b.invert(bits), b.binary("or", bits, sign))


def _element(b: Any, key: SSAValue, element: Attribute) -> SSAValue:
    """The scalar of which `_total` makes an integer."""
    if is_bool(element) or is_unsigned(element):
        return b.convert(key, element)
    sign = b.const(1 << (width_of(element) - 1), key.type)
    flipped = b.binary("xor", key, sign)
    if is_float(element):
        flipped = b.select(b.cmp("ge", key, sign), flipped, b.invert(key))
    return b.bitcast(flipped, element)


# --------------------------------------------------------------------------------------------------------------------
# sort


def _jvp_sort(b: Any, op: SortOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    places = b.argsort(*op.operands[: integer(op.keys)])
    return [None if t is None else take_in_rows(b, t, places) for t in tangents]


@graph_op
class SortOp(GraphOp):
    """Rows, along the last dim, in the ascending order of the first `keys` operands; the others are moved along with them.

    The first key decides, the next one where it is equal, and so on; what is equal in all keys keeps its order. Zeros of either
    sign are equal, and so are all NaN, which come last; of a row that is sorted alone, which zero comes first is open.

    ```mlir
    %y = graph.sort %x keys 1 : tensor<2x9xf32> -> tensor<2x9xf32>
    %z, %w = graph.sort %x, %i keys 1 : (tensor<2x9xf32>, tensor<2x9xi64>) -> (tensor<2x9xf32>, tensor<2x9xi64>)
    ```

    (C1) All operands have one shape, with at least one dim.
    (C2) There is a key at least, and an operand for each.
    """

    name = "graph.sort"
    xs = var_operand_def(TensorType)
    keys = prop_def(IntegerAttr)
    ys = var_result_def(TensorType)
    syntax = "*xs keys #keys"
    derivative = Custom(_jvp_sort)
    batching = alike

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_shape(operands, [f"operand {k}" for k in range(len(operands))])  # C1
        if not operands[0].get_shape():  # C1
            raise ShapeError(f"rows need a dim, got {show_shape(())}")
        if not 0 < integer(props["keys"]) <= len(operands):  # C2
            most = f"the number of operands, {len(operands)}"
            raise ShapeError(f"keys must be between 1 and {most}, got {integer(props['keys'])}")
        return tuple(operands)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        keys = operands[: integer(self.keys)]
        order = np.lexsort(keys[::-1], axis=-1) if operands[0].size else np.zeros(operands[0].shape, np.int64)
        return tuple(np.take_along_axis(x, order, -1) for x in operands)

    def nest(self, b: Any) -> None:
        def load(k: int, at: Any) -> SSAValue:
            return b.load(b.results[k], at)

        def write(k: int, value: SSAValue, at: Any) -> None:
            b.write(value, at, k)

        _sort(b, [element_of(x) for x in self.operands], integer(self.keys), b.read, write, load)


@graph_op
class ArgsortOp(GraphOp):
    """The positions of the elements of rows, along the last dim, in the ascending order of the keys, as `graph.sort` has it.

    ```mlir
    %p = graph.argsort %x : tensor<2x9xf32> -> tensor<2x9xi64>
    %q = graph.argsort %x, %y : (tensor<2x9xf32>, tensor<2x9xi32>) -> tensor<2x9xi64>
    ```

    (C1) All operands have one shape, with at least one dim.
    (C2) There is a key at least.
    """

    name = "graph.argsort"
    xs = var_operand_def(TensorType)
    places = result_def(TensorType)
    syntax = "*xs"
    derivative = Zero()
    batching = alike

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        if not operands:  # C2
            raise ShapeError("keys must be at least 1, got none")
        require_same_shape(operands, [f"operand {k}" for k in range(len(operands))])  # C1
        if not operands[0].get_shape():  # C1
            raise ShapeError(f"rows need a dim, got {show_shape(())}")
        return (tensor(i64, operands[0].get_shape()),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        order = np.lexsort(operands[::-1], axis=-1) if operands[0].size else np.zeros(operands[0].shape, np.int64)
        return (order.astype(np.int64),)

    def nest(self, b: Any) -> None:
        keys = [element_of(x) for x in self.operands]
        place = position_type(self.result_shape()[-1])

        def read(k: int, at: Any) -> SSAValue:
            return b.read(k, at) if k < len(keys) else b.scalar.convert(b.position(at[-1]), place)

        def write(k: int, value: SSAValue, at: Any) -> None:
            if k == len(keys):
                b.write(b.scalar.convert(value, i64), at)

        _sort(b, [*keys, place], len(keys), read, write, None)


def _sort(b: Any, elements: Sequence[Attribute], keys: int, read: Any, write: Any, load: Any) -> None:
    """Sort the rows of an op.

    Args:
        elements: the types of what is moved, the keys first.
        read, write: element `k` at a point before and after; what has no result is not written.
        load: what has been written at a point; None where not all is.
    """
    *rows, n = b.op.result_shape()
    if 0 in (*rows, n):
        return
    network = _Network.of(rows, n, elements, keys, are_places=load is None)
    is_short = is_at_most(n, SHORT)
    many = expected(prod(rows)) >= _MANY_ROWS or is_short or network is not None
    with ExitStack() as loops:
        row = [loops.enter_context(b.loop(size, "parallel" if many else "seq")).index for size in rows]

        def from_row(k: int, at: Any) -> SSAValue:
            return read(k, [*row, at])

        def to_row(k: int, value: SSAValue, at: Any) -> None:
            write(k, value, [*row, at])

        if network is not None:
            network.sort(b, n, from_row, to_row)
        elif is_short:
            _by_ranks(b, n, keys, elements, from_row, to_row)
        else:
            result = _rows_of(b, n, elements) if load is None else _Rows(lambda k, at: load(k, [*row, at]), to_row)
            _by_digits(b, n, elements[:keys], elements, 1 if many else _blocks(expected(n)), from_row, result)
            if load is None:
                with b.loop(n) as i:
                    to_row(keys, result.load(keys, i.index), i.index)


class _Rows(NamedTuple):
    """Where operands stand in between: how element `i` of one is read, and written."""

    load: Callable[[int, Any], SSAValue]
    store: Callable[[int, SSAValue, Any], None]


def _rows_of(b: Any, n: int, elements: Sequence[Attribute]) -> _Rows:
    """Local rows for all operands."""
    buffers = [b.local((n,), element, "scratch", name="moved") for element in elements]
    return _Rows(lambda k, at: b.load(buffers[k], [at]), lambda k, value, at: b.store(value, buffers[k], [at]))


def _blocks(n: int) -> int:
    return max(1, min(_MOST_BLOCKS, n // _BLOCK))


@dataclass(frozen=True)
class _Network:
    """A network of comparators for rows of which each lane of a vector has one.

    Attributes:
        elements: the types of what is sorted.
        keys: how many of these decide; where they are equal the place in the row does, unless there are no others to tell.
        told: the elements that need not be moved beside keys and places, since these tell them.
    """

    elements: Sequence[Attribute]
    keys: int
    told: frozenset[int]

    @staticmethod
    def of(rows: Sequence[int], n: int, elements: Sequence[Attribute], keys: int, *, are_places: bool) -> _Network | None:
        """That of the rows of an op; None where they are few, long, or of a number that only a call knows."""
        if not (isinstance(n, int) and rows and isinstance(rows[-1], int)):
            return None
        told = range(len(elements)) if are_places else [k for k, e in enumerate(elements[:keys]) if not is_float(e)]
        size = n * sum(max(8, width_of(e)) for e in elements) // 8
        fits = n > 2 and rows[-1] >= _LEAST_LANES and size <= _NETWORK_BYTES
        return _Network(elements, keys, frozenset(told)) if fits else None

    def sort(self, b: Any, n: int, read: Any, write: Any) -> None:
        """Sort a row."""
        alone = len(self.elements) == 1
        to_key = _total if alone else ordered
        size = -(-n // 4) * 4
        words = [b.local((size,), _key_type(e), "scratch", name="keys") for e in self.elements[: self.keys]]
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
                    write(k, _element(b.scalar, b.load(words[k], [i.index]), element), i.index)
                else:
                    write(k, b.load(words[self.keys], [i.index]), i.index)

    @property
    def moved(self) -> list[int]:
        """Which elements are moved as they are, beside keys and places: those that neither tells."""
        return [k for k, e in enumerate(self.elements) if k not in self.told and (k >= self.keys or len(self.elements) > 1)]


_Element = list[SSAValue]
"""The words of an element."""


def _in_order(b: Any, first: _Element, second: _Element, decide: int) -> tuple[_Element, _Element]:
    """Two elements in order, of which the first `decide` words say what that is."""
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


def _bitonic(b: Any, n: int, words: Sequence[SSAValue], decide: int) -> None:
    """Merges of blocks of 4, 8, 16 ... of `n` elements, a multiple of 4; those that lack would be the greatest, and stay.

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


def _by_ranks(b: Any, n: int, keys: int, elements: Sequence[Attribute], read: Any, write: Any) -> None:
    """Sort a short row: an element goes to the number of elements that come before it."""
    count = i64 if max(width_of(e) for e in elements[:keys]) > 32 else i32
    rows = [b.local((n,), _key_type(e), name="keys") for e in elements[:keys]]
    with b.loop(n) as i:
        for k, row in enumerate(rows):
            b.store(ordered(b.scalar, read(k, i.index)), row, [i.index])

    ranks = b.local((n,), count, name="ranks")

    def before(i: Any, j: Any) -> SSAValue:
        """Whether element `j` comes before element `i`: by its first key that is another one, or by its position."""
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


def _by_digits(
    b: Any, n: int, keys: Sequence[Attribute], elements: Sequence[Attribute], blocks: int, read: Any, result: _Rows
) -> None:
    """Sort a long row by one digit after the other, each in an order that keeps what is equal."""
    digits = _digits(keys, _FEW_DIGIT_BITS if expected(n) < _FEW else _DIGIT_BITS)
    counts = b.local(
        (blocks, 1 << max(d.bits for d in digits)), i32 if is_at_most(n, 2**31 - 1) else i64, "scratch", name="counts"
    )
    between = _rows_of(b, n, elements) if len(digits) > 1 else result
    load = read
    for k, digit in enumerate(digits):
        target = result if (len(digits) - k) % 2 else between
        _pass(b, n, digit, len(elements), blocks, counts, load, target.store)
        load = target.load


def _first_of(b: Any, block: Any, size: int) -> AffineExpr:
    """Where a block of a row begins; a product with a size that only a call knows is computed."""
    if isinstance(size, int):
        return block * AffineConstantExpr(size)
    return b.index_of(b.scalar.mul(b.position(block), b.position(size)))


def _pass(b: Any, n: int, digit: _Digit, operands: int, blocks: int, counts: SSAValue, load: Any, store: Any) -> None:
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


# --------------------------------------------------------------------------------------------------------------------
# top_k

_GROUP = 64
"""Elements that are passed over together where the greatest of them is too small."""
_FEW_PER_GROUP = 8
"""Groups for each element that is asked for: in fewer, most of them would hold one."""


def _jvp_top_k(b: Any, op: TopKOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    return [take_in_rows(b, tangents[0], op.places), None]


@graph_op
class TopKOp(GraphOp):
    """The `k` greatest elements of rows, along the last dim, in descending order, and their positions.

    Of equal elements the first ones are taken, in their order. Zeros of either sign are equal; NaN are the greatest.

    ```mlir
    %y, %i = graph.top_k %x first 3 : tensor<2x9xf32> -> (tensor<2x3xf32>, tensor<2x3xi64>)
    ```

    (C1) The operand has a dim.
    (C2) Rows have `k` elements at least, and `k` is not negative.
    """

    name = "graph.top_k"
    x = operand_def(TensorType)
    k = prop_def(IntegerAttr)
    y = result_def(TensorType)
    places = result_def(TensorType)
    syntax = "$x first #k"
    derivative = Custom(_jvp_top_k)
    batching = alike

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        shape, k = operands[0].get_shape(), integer(props["k"])
        if not shape:  # C1
            raise ShapeError(f"rows need a dim, got {show_shape(shape)}")
        if k < 0 or (shape[-1] != DYNAMIC and shape[-1] < k):  # C2
            raise ShapeError(f"k must be within the size of rows, got {k} of {shape[-1]}")
        taken = (*shape[:-1], k)
        return tensor(operands[0].element_type, taken), tensor(i64, taken)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        descending = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        places = x.shape[-1] - 1 - descending[..., : integer(self.k)]
        return np.take_along_axis(x, places, -1), np.ascontiguousarray(places)

    def nest(self, b: Any) -> None:
        (*rows, n), k, element = self.shape(), integer(self.k), element_of(self.x)
        if k == 0 or 0 in rows:
            return
        with ExitStack() as loops:
            many = "parallel" if expected(prod(rows)) >= _MANY_ROWS else "seq"
            row = [loops.enter_context(b.loop(size, many)).index for size in rows]

            def key(i: Any) -> SSAValue:
                return ordered(b.scalar, b.read(0, [*row, i]))

            keys = b.local((n,), _key_type(element), "scratch", name="keys")
            places = b.local((n,), position_type(n), "scratch", name="places")
            if is_at_least(n, _GROUP * _FEW_PER_GROUP * k):
                count = _candidates(b, n, k, key, keys, places)
            else:
                count = b.position(n)
                with b.loop(n) as i:
                    b.store(key(i.index), keys, [i.index])
                    b.store(b.scalar.convert(b.position(i.index), element_of(places)), places, [i.index])
            least, equal = _select(b, keys, b.index_of(count), b.scalar.const(k, i64))
            _keep(b, keys, places, b.index_of(count), least, equal)

            def write(operand: int, value: SSAValue, at: Any) -> None:
                if operand:
                    b.write(b.scalar.convert(value, i64), [*row, at], 1)
                    b.write(b.read(0, [*row, b.index_of(b.scalar.convert(value, index))]), [*row, at], 0)

            _descending(b, k, keys, places, write)


def _candidates(b: Any, n: int, k: int, key: Callable[[Any], SSAValue], keys: SSAValue, places: SSAValue) -> SSAValue:
    """Store the keys and places, in order, of some elements with the `k` greatest among them; how many these are.

    `k` groups have an element as great as the `k`-th of the groups' greatest, so the elements that are as great are enough.
    """
    groups, one = -(-n // _GROUP), b.scalar.const(1, index)
    greatest = b.local((groups,), element_of(keys), "scratch", name="greatest")

    def ends(group: Any) -> list[Any]:
        return [_GROUP] if n % _GROUP == 0 else [_GROUP, group * -_GROUP + n]

    with b.loop(groups) as group:
        first = group.index * _GROUP
        lowest = b.scalar.const(0, element_of(keys))
        with b.loop(ends(group.index), "reduce", monoid="max", inits=[lowest]) as i:
            i.give(key(first + i.index))
        b.store(i.results[0], greatest, [group.index])
    least, _ = _select(b, greatest, groups, b.scalar.const(k, i64))

    with b.loop(groups, "seq", inits=[b.scalar.const(0, index)]) as group:
        first = group.index * _GROUP

        def found() -> Sequence[SSAValue]:
            with b.loop(ends(group.index), "seq", inits=[group.carried[0]]) as i:
                here = first + i.index
                (count,) = i.carried
                value, to = key(here), b.index_of(count)
                b.store(value, keys, [to])  # behind what is kept: the next one takes its place unless it counts
                b.store(b.scalar.convert(b.position(here), element_of(places)), places, [to])
                i.give(b.scalar.select(b.scalar.cmp("ge", value, least), b.scalar.add(count, one), count))
            return i.results

        has_some = b.scalar.cmp("ge", b.load(greatest, [group.index]), least)
        group.give(*b.either(has_some, found, [group.carried[0]]))
    return group.results[0]


def _select(b: Any, keys: SSAValue, count: Any, k: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The `k`-th greatest of the first `count` keys, and how many of those equal to it are among the `k` greatest.

    The digits of the key are found from the most significant one on, each by counting the keys that begin as it does.
    """
    element = element_of(keys)
    digits = _digits([element], _FEW_DIGIT_BITS)
    bins = 1 << digits[0].bits
    counts = b.local((bins,), i64, name="counts")
    zero, one = b.scalar.const(0, i64), b.scalar.const(1, i64)
    least = b.scalar.const(0, element)
    for digit in reversed(digits):
        with b.loop(bins) as d:
            b.store(zero, counts, [d.index])
        with b.loop(count, "seq") as i:
            key = b.load(keys, [i.index])
            alike = None
            if digit.shift + digit.bits < width_of(element):
                above = b.scalar.const(digit.shift + digit.bits, element)
                alike = b.scalar.cmp("eq", *(b.scalar.binary("shr", value, above) for value in (key, least)))
            more = one if alike is None else b.scalar.select(alike, one, zero)
            at = [b.index_of(digit.of(b.scalar, key))]
            b.store(b.scalar.add(b.load(counts, at), more), counts, at)
        with b.loop(bins, "seq", inits=[zero, zero, zero]) as d:
            greater, found, before = d.carried
            at = d.index * -1 + (bins - 1)
            total = b.scalar.add(greater, b.load(counts, [at]))
            hit = b.scalar.binary("and", b.scalar.cmp("lt", greater, k), b.scalar.cmp("ge", total, k))
            d.give(
                total, b.scalar.select(hit, b.scalar.convert(b.position(at), i64), found), b.scalar.select(hit, greater, before)
            )
        _, found, before = d.results
        k = b.scalar.sub(k, before)
        shifted = b.scalar.binary("shl", b.scalar.convert(found, element), b.scalar.const(digit.shift, element))
        least = b.scalar.binary("or", least, shifted)
    return least, k


def _keep(b: Any, keys: SSAValue, places: SSAValue, count: Any, least: SSAValue, equal: SSAValue) -> None:
    """Move the keys greater than `least`, and the first of those equal to it, to the front, in their order."""
    none, first, one = b.scalar.const(0, i64), b.scalar.const(0, index), b.scalar.const(1, index)
    with b.loop(count, "seq", inits=[first, none]) as i:
        kept, met = i.carried
        key, place = b.load(keys, [i.index]), b.load(places, [i.index])
        is_equal = b.scalar.cmp("eq", key, least)
        counts = b.scalar.binary("and", is_equal, b.scalar.cmp("lt", met, equal))
        taken = b.scalar.binary("or", b.scalar.cmp("gt", key, least), counts)
        with b.when(taken):
            to = b.index_of(kept)
            b.store(key, keys, [to])
            b.store(place, places, [to])
        i.give(
            b.scalar.select(taken, b.scalar.add(kept, one), kept),
            b.scalar.select(is_equal, b.scalar.add(met, b.scalar.const(1, i64)), met),
        )


def _descending(b: Any, k: int, keys: SSAValue, places: SSAValue, write: Callable[[int, SSAValue, Any], None]) -> None:
    """Write `k` keys and their places in the order of descending keys."""
    elements = [element_of(keys), element_of(places)]

    def read(operand: int, at: Any) -> SSAValue:
        return b.load(places, [at]) if operand else b.scalar.invert(b.load(keys, [at]))

    if k <= SHORT:
        _by_ranks(b, k, 1, elements, read, write)
        return
    into = [b.local((k,), element, "scratch", name="ordered") for element in elements]
    rows = _Rows(lambda j, at: b.load(into[j], [at]), lambda j, value, at: b.store(value, into[j], [at]))
    _by_digits(b, k, elements[:1], elements, 1, read, rows)
    with b.loop(k) as i:
        for operand in range(2):
            write(operand, b.load(into[operand], [i.index]), i.index)

"""Order: rows sorted by keys.

Elements are compared as unsigned integers that order as they do: `_ordered` turns floats and signed integers into those. Loops
sort in one of two ways, both stable, neither with a branch that depends on data:

* short rows by ranks: how many elements come before each one is where it goes, and these counts are sums over vectors;
* long rows by digits, the least significant one first: blocks count their digits, running sums of the counts say where the
  elements with each digit go, and blocks move them there. All operands move; digits are read off those that are keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import prod
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure

from ...errors import ShapeError
from ..types import element_of, element_type, index, is_bool, is_float, is_unsigned, shape_of, show_shape, tensor, width_of
from .base import Custom, GraphOp, Props, graph_op, integer, require_same_shape

SHORT = 64
"""The longest row that is sorted by ranks, in `n * n / lanes` steps."""
_DIGIT_BITS = 11
"""Bits of a digit at most: 3 passes for 32 bits, and the 2048 counts of a block stay in the nearest cache."""
_FEW_DIGIT_BITS, _FEW = 8, 4096
"""The same for rows of fewer elements, where it takes longer to go over counts than over elements."""
_BLOCK = 1 << 15
"""Elements of a block at least: sixteen times as many as counts."""
_MOST_BLOCKS = 64
_MANY_ROWS = 16
"""So many rows are shared among threads as they are; fewer are sorted one after the other, each in blocks."""


def position_type(n: int) -> Attribute:
    """The narrowest type of indices that holds the positions of `n` elements."""
    return i32 if n < 2**31 else i64


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


# --------------------------------------------------------------------------------------------------------------------
# sort


def _jvp_sort(b: Any, op: SortOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    shape = op.shape()
    *_, places = b.sort(*op.operands, b.iota(dim=len(shape) - 1, result=tensor(position_type(shape[-1]), shape)), keys=op.keys)
    return [None if t is None else take_in_rows(b, t, places) for t in tangents]


def _batch_sort(b: Any, op: SortOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    size = next(shape_of(o)[0] for o, flag in zip(operands, batched, strict=True) if flag)
    dims = tuple(range(1, len(op.shape()) + 1))
    full = [
        o if flag else b.broadcast(o, dims, (size, *shape_of(o))) for o, flag in zip(operands, batched, strict=True)
    ]
    found = b.sort(*full, keys=op.keys)
    return [found] if len(full) == 1 else list(found)


@graph_op
class SortOp(GraphOp):
    """Rows, along the last dim, in the ascending order of the first `keys` operands; the others are moved along with them.

    The first key decides, the next one where it is equal, and so on; what is equal in all keys keeps its order. Zeros of either
    sign are equal, and so are all NaN, which come last.

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
    traits = traits_def(Pure())
    syntax = "*xs keys #keys"
    derivative = Custom(_jvp_sort)
    batching = _batch_sort

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        require_same_shape(operands, [f"operand {k}" for k in range(len(operands))])  # C1
        if not operands[0].get_shape():  # C1
            raise ShapeError(f"rows need a dim, got {show_shape(())}")
        if not 0 < integer(props["keys"]) <= len(operands):  # C2
            raise ShapeError(f"keys must be one at least and operands, got {integer(props['keys'])} of {len(operands)}")
        return tuple(operands)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        keys = operands[: integer(self.keys)]
        order = np.lexsort(keys[::-1], axis=-1) if operands[0].size else np.zeros(operands[0].shape, np.int64)
        return tuple(np.take_along_axis(x, order, -1) for x in operands)

    def nest(self, b: Any) -> None:
        *rows, n = self.result_shape()
        elements = [element_of(x) for x in self.operands]
        keys = elements[: integer(self.keys)]
        many = prod(rows) >= _MANY_ROWS or n <= SHORT
        with ExitStack() as loops:
            row = [loops.enter_context(b.loop(size, "parallel" if many else "seq")).index for size in rows]

            def write(k: int, value: SSAValue, at: Any) -> None:
                b.write(value, [*row, at], k)

            def load(k: int, at: Any) -> SSAValue:
                return b.load(b.results[k], [*row, at])

            def read(k: int, at: Any) -> SSAValue:
                return b.read(k, [*row, at])

            if n <= SHORT:
                _by_ranks(b, n, len(keys), elements, read, write)
            else:
                _by_digits(b, n, keys, elements, 1 if many else _blocks(n), read, _Rows(load, write))


class _Rows(NamedTuple):
    """Where operands stand in between: how element `i` of one is read, and written."""

    load: Callable[[int, Any], SSAValue]
    store: Callable[[int, SSAValue, Any], None]


def _blocks(n: int) -> int:
    return max(1, min(_MOST_BLOCKS, n // _BLOCK))


def _by_ranks(b: Any, n: int, keys: int, elements: Sequence[Attribute], read: Any, write: Any) -> None:
    """Sort a short row: an element goes to the number of elements that come before it."""
    count = i64 if max(width_of(e) for e in elements[:keys]) > 32 else i32
    rows = [b.local((max(1, n),), _key_type(e), name="keys") for e in elements[:keys]]
    with b.loop(n) as i:
        for k, row in enumerate(rows):
            b.store(ordered(b.scalar, read(k, i.index)), row, [i.index])

    ranks = b.local((max(1, n),), count, name="ranks")

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
    digits = _digits(keys, _FEW_DIGIT_BITS if n < _FEW else _DIGIT_BITS)
    counts = b.local((blocks, 1 << max(d.bits for d in digits)), i32 if n < 2**31 else i64, "scratch", name="counts")
    spare = [b.local((n,), element, "scratch", name="moved") for element in elements] if len(digits) > 1 else []
    between = _Rows(lambda k, at: b.load(spare[k], [at]), lambda k, value, at: b.store(value, spare[k], [at]))
    load = read
    for k, digit in enumerate(digits):
        target = result if (len(digits) - k) % 2 else between
        _pass(b, n, digit, len(elements), blocks, counts, load, target.store)
        load = target.load


def _pass(b: Any, n: int, digit: _Digit, operands: int, blocks: int, counts: SSAValue, load: Any, store: Any) -> None:
    """Move all operands into the order of one digit."""
    bins, size = 1 << digit.bits, -(-n // blocks)
    element = element_of(counts)
    zero, one = b.scalar.const(0, element), b.scalar.const(1, element)

    def each(step: Callable[[Any, Any], None]) -> None:
        """`step(block, i)` for all elements in order; blocks are independent."""
        with b.loop(blocks) as block:
            first = block.index * size
            with b.loop([size, first * -1 + n], "seq") as i:
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

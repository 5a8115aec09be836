"""The greatest elements of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import ShapeError
from ..facts import OpFacts, Rounding
from ..sizes.polynomial import is_at_least
from ..types import DYNAMIC, element_of, expected, index, show_shape, tensor, width_of
from .base import Custom, GraphOp, Props, Types, graph_op, integer
from .batching import alike
from .sort_keys import digits_of, key_type, ordered, position_type, take_in_rows
from .sort_loops import FEW_DIGIT_BITS, MANY_ROWS, SHORT, Rows, by_digits, by_ranks

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

_GROUPS = (64, 32, 16)
"""Sizes of groups, in elements; the first that leaves enough groups is taken. Groups without a large element are skipped."""
_MANY = 448
"""Fewest keys for which long digits (half as many passes, more counts) take less time."""
_FEW_PER_GROUP = 8
"""Groups per requested element; with fewer, most groups contain a winner."""


def _jvp_top_k(b: GraphBuilder, op: TopKOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
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
    facts = OpFacts(rounding=Rounding.NONE)
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

    def nest(self, b: NestWriter) -> None:
        (*rows, n), k, element = self.shape(), integer(self.k), element_of(self.x)
        if k == 0 or 0 in rows:
            return
        with ExitStack() as loops:
            many = "parallel" if expected(prod(rows)) >= MANY_ROWS else "seq"
            row = [loops.enter_context(b.loop(size, many)).index for size in rows]

            def key(i: Any) -> SSAValue:
                return ordered(b.scalar, b.read(0, [*row, i]))

            keys = b.local((n,), key_type(element), "scratch", name="keys")
            places = b.local((n,), position_type(n), "scratch", name="places")
            size = next((size for size in _GROUPS if is_at_least(n, size * _FEW_PER_GROUP * k)), None)
            if size is not None:
                count = _candidates(b, n, k, size, key, keys, places)
            else:
                count = b.position(n)
                with b.loop(n) as i:
                    b.store(key(i.index), keys, [i.index])
                    b.store(b.scalar.convert(b.position(i.index), element_of(places)), places, [i.index])
            likely = expected(n) if size is None else k * size
            least, equal = _select(b, keys, b.index_of(count), b.scalar.const(k, i64), likely)
            _keep(b, keys, places, b.index_of(count), least, equal)

            def write(operand: int, value: SSAValue, at: Any) -> None:
                if operand:
                    b.write(b.scalar.convert(value, i64), [*row, at], 1)
                    b.write(b.read(0, [*row, b.index_of(b.scalar.convert(value, index))]), [*row, at], 0)

            _descending(b, k, keys, places, write)


def _candidates(
    b: NestWriter, n: int, k: int, size: int, key: Callable[[Any], SSAValue], keys: SSAValue, places: SSAValue
) -> SSAValue:
    """Store the keys and positions, in order, of candidates that include the `k` greatest elements; how many these are.

    `k` groups have an element as great as the `k`-th of the groups' greatest, so the elements that are as great are enough.
    """
    groups, one = -(-n // size), b.scalar.const(1, index)
    greatest = b.local((groups,), element_of(keys), "scratch", name="greatest")

    def ends(group: Any) -> list[Any]:
        return [size] if n % size == 0 else [size, group * -size + n]

    with b.loop(groups) as group:
        first = group.index * size
        lowest = b.scalar.const(0, element_of(keys))
        with b.loop(ends(group.index), "reduce", monoid="max", inits=[lowest]) as i:
            i.give(key(first + i.index))
        b.store(i.results[0], greatest, [group.index])
    least, _ = _select(b, greatest, groups, b.scalar.const(k, i64), expected(groups))

    with b.loop(groups, "seq", inits=[b.scalar.const(0, index)]) as group:
        first = group.index * size

        def found() -> Sequence[SSAValue]:
            with b.loop(ends(group.index), "seq", inits=[group.carried[0]]) as i:
                here = first + i.index
                (count,) = i.carried
                value, to = key(here), b.index_of(count)
                b.store(value, keys, [to])  # stored after the kept ones: the next one overwrites it unless it is kept
                b.store(b.scalar.convert(b.position(here), element_of(places)), places, [to])
                i.give(b.scalar.select(b.scalar.cmp("ge", value, least), b.scalar.add(count, one), count))
            return i.results

        has_some = b.scalar.cmp("ge", b.load(greatest, [group.index]), least)
        group.give(*b.either(has_some, found, [group.carried[0]]))
    return group.results[0]


def _select(b: NestWriter, keys: SSAValue, count: Any, k: SSAValue, likely: int) -> tuple[SSAValue, SSAValue]:
    """The `k`-th greatest of the first `count` keys, and how many of those equal to it are among the `k` greatest.

    The digits of the key are found from the most significant one on, each by counting the keys that begin as it does. They are
    short where `likely`, the expected number of keys, is small compared with the counts of long digits.
    """
    element = element_of(keys)
    digits = digits_of([element], FEW_DIGIT_BITS if likely >= _MANY else FEW_DIGIT_BITS // 2)
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


def _keep(b: NestWriter, keys: SSAValue, places: SSAValue, count: Any, least: SSAValue, equal: SSAValue) -> None:
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


def _descending(b: NestWriter, k: int, keys: SSAValue, places: SSAValue, write: Callable[[int, SSAValue, Any], None]) -> None:
    """Write `k` keys and their positions in the order of descending keys."""
    elements = [element_of(keys), element_of(places)]

    def read(operand: int, at: Any) -> SSAValue:
        return b.load(places, [at]) if operand else b.scalar.invert(b.load(keys, [at]))

    if k <= SHORT:
        by_ranks(b, k, 1, elements, read, write)
        return
    into = [b.local((k,), element, "scratch", name="ordered") for element in elements]
    rows = Rows(lambda j, at: b.load(into[j], [at]), lambda j, value, at: b.store(value, into[j], [at]))
    by_digits(b, k, elements[:1], elements, 1, read, rows)
    with b.loop(k) as i:
        for operand in range(2):
            write(operand, b.load(into[operand], [i.index]), i.index)

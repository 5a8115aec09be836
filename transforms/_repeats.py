"""Repeated bodies in a block: sequences of equal ops, as an unrolled loop leaves them.

A block is read as a sequence of numbers, equal for ops that are equal but for their operands. Where it repeats with a period,
bodies are compared op by op: an operand from the body itself must have the same position in each. Slices of a value outside may
differ between bodies, such as those of keys or sizes for all layers: they stay outside. The comparison is exact; only the
candidate periods are guessed, from the distances of equal windows. Linear time in the ops of the block.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.graph.shape import SliceOp
from ..dialects.sizes.polynomial import Size
from ..thresholds import number

WINDOW = 4
"""Length of the windows that are compared to find candidate periods, in ops."""
MOST_PERIODS = 8
"""Largest number of periods that are tried."""


@dataclass(frozen=True)
class Repeated:
    """Equal bodies that follow each other.

    Attributes:
        bodies: their ops, equally many in each; slices of values outside may stand between them.
    """

    bodies: Sequence[Sequence[Operation]]

    @property
    def saved(self) -> int:
        """How many ops fewer there are with one body."""
        return (len(self.bodies) - 1) * len(self.bodies[0])


def find_repeated(
    block: Block,
    ops: Sequence[Operation],
    is_heavy: Callable[[Operation], bool],
    pays: Callable[[Repeated], bool],
    least: int,
    numbers: Numbers,
) -> Repeated | None:
    """The bodies among the ops of a block, in an order that may be theirs (`in_order`, `leaf_by_leaf`), that save most ops, at
    least `least`, of those that pay.

    Bodies begin where the fewest values cross from one to the next and, if there are several such positions, before a heavy
    op: its operands are in memory in any case.
    """
    sequence = np.array(numbers.of(ops))
    crossing: list[int] = []
    sources: list[tuple[Source | None, ...]] = []
    best: Repeated | None = None
    for first, stop, period in sorted(_runs(sequence, least), key=lambda run: (run[0] - run[1] + run[2], run[2])):
        if best is not None and best.saved >= stop - first - period:
            break
        if not crossing:
            sources, crossing = _dataflow(block, ops)
        start = _start(ops, crossing, first, stop, period, is_heavy)
        found = _equal_bodies(ops, sources, start, stop, period)
        if found is not None and found.saved >= least and (best is None or found.saved > best.saved) and pays(found):
            best = found
    return best


def in_order(block: Block) -> list[Operation]:
    """The ops of a block but its last one; constants belong to no body."""
    return [op for op in block.ops if op is not block.last_op and op.name != "graph.const"]


def leaf_by_leaf(ops: Sequence[Operation], is_heavy: Callable[[Operation], bool]) -> tuple[list[Operation], list[Operation]]:
    """The ops before and in a tail that no heavy op reads, and the tail so that what leads to one of its ends stands together.

    An optimizer updates a tree in several maps, each over all leaves: averages, then their squares, then steps. Leaf by leaf
    the ops of a layer's parameters are a body. Ops that several ends read stand before the first of these; those that
    serve more than half of the ends, such as rates, stand before all.
    """
    ends: dict[Operation, tuple[int, int]] = {}  # by op of the tail: the first and the last one that it leads to
    first = 0
    for op in reversed(ops):
        if is_heavy(op) or op.regions:
            continue
        found = [ends.get(user) for user in _users(op) if not _is_last(user)]
        if not found:
            first -= 1
            found = [(first, first)]
        known = [both for both in found if both is not None]
        if len(known) == len(found):
            ends[op] = min(one for one, _ in known), max(one for _, one in known)

    def place(op: Operation) -> int:
        one, other = ends[op]
        return one if 2 * (one - other) >= first else first - 1

    return [op for op in ops if op not in ends], sorted(reversed(ends), key=place)


def _users(op: Operation) -> Iterator[Operation]:
    return (use.operation for result in op.results for use in result.uses)


def _is_last(op: Operation) -> bool:
    block = op.parent
    return block is not None and op is block.last_op


class Numbers:
    """A number for each op, equal for ops that are equal but for their operands, or in where they slice; one of its own for an
    op with regions. Ops that are queried again must be unchanged."""

    def __init__(self) -> None:
        self._of_ops: dict[Operation, int] = {}
        self._of_keys: dict[object, int] = {}
        self._equal: dict[Attribute, int] = {}
        self._same: dict[int, int] = {}  # by identity, which repeated attributes mostly share
        self._kept: list[Attribute] = []  # kept alive so that their identities stay unique

    def of(self, ops: Sequence[Operation]) -> list[int]:
        known = self._of_ops
        for op in ops:
            if op not in known:
                known[op] = self._of_keys.setdefault(op if op.regions else self._key(op), len(self._of_keys))
        return [known[op] for op in ops]

    def _number(self, attribute: Attribute) -> int:
        self._kept.append(attribute)
        found = self._same[id(attribute)] = self._equal.setdefault(attribute, len(self._equal) + 1)
        return found

    def _key(self, op: Operation) -> object:
        """All properties that decide what the op computes from its operands; of a slice all but its start."""
        same, number = self._same, self._number
        parts: list[object] = [op.name]
        for operand in op._operands:
            type = operand._type
            parts.append(same.get(id(type)) or number(type))
        for result in op.results:
            type = result._type
            parts.append(-1 - (same.get(id(type)) or number(type)))
        if op.properties and not _may_differ(op):
            parts += sorted([(name, same.get(id(value)) or number(value)) for name, value in op.properties.items()])
        return tuple(parts)


MOST_SLICED = number("transforms.repeats.MOST_SLICED")


def _may_differ(op: Operation) -> bool:
    """Whether bodies may differ in an op, as layers that take rows of one array do: its results then become arguments."""
    if not isinstance(op, SliceOp):
        return False
    sizes = op.result_shape()
    return op.offset is not None or (not any(isinstance(n, Size) for n in sizes) and math.prod(sizes) <= MOST_SLICED)


def _runs(numbers: np.ndarray, least: int) -> list[tuple[int, int, int]]:
    """(first, stop, period) of parts of a sequence that repeat with a period and would save `least`."""
    last: dict[tuple[int, ...], int] = {}
    distances: Counter[int] = Counter()
    listed = numbers.tolist()
    for k, window in enumerate(zip(*(listed[j:] for j in range(WINDOW)), strict=False)):
        if window in last:
            distances[k - last[window]] += 1
        last[window] = k
    found: list[tuple[int, int, int]] = []
    for period, _ in distances.most_common(MOST_PERIODS):
        differs = np.flatnonzero(numbers[:-period] != numbers[period:])
        firsts, stops = np.concatenate(([0], differs + 1)), np.append(differs, len(numbers) - period)
        long = np.flatnonzero(stops - firsts >= max(least, period))
        found += [(int(firsts[k]), int(stops[k]) + period, period) for k in long]
    return found


def _start(
    ops: Sequence[Operation], crossing: Sequence[int], first: int, stop: int, period: int, is_heavy: Callable[[Operation], bool]
) -> int:
    """Where the first of the bodies begins, within a period of `first`."""
    n_bodies = (stop - first) // period
    middle = (n_bodies // 2) * period

    def rank(start: int) -> tuple[int, bool, bool, int]:
        return crossing[start + middle], not is_heavy(ops[start]), (stop - start) // period < n_bodies, start

    return min(range(first, min(first + period, stop - middle)), key=rank)


Source = tuple[int, int]
"""The distance from an op to the op of its operand, in ops, and the number of that op's result."""


def _dataflow(block: Block, ops: Sequence[Operation]) -> tuple[list[tuple[Source | None, ...]], list[int]]:
    """For each op where its operands come from, None for values of none of the ops; and how many values of those before it are
    read by it or later."""
    at: dict[SSAValue, tuple[int, int, int]] = {}
    last: list[int] = []  # by value, the op that reads it last; first its own
    sources: list[tuple[Source | None, ...]] = []
    for k, op in enumerate(ops):
        found: list[Source | None] = []
        for operand in op._operands:
            place = at.get(operand)
            if place is None:
                found.append(None)
            else:
                found.append((k - place[0], place[1]))
                last[place[2]] = k
        sources.append(tuple(found))
        for j, result in enumerate(op.results):
            at[result] = k, j, len(last)
            last.append(k)
    for op in (*(op for op in ops if op.regions), *((block.last_op,) if block.last_op is not None else ())):
        for inner in op.walk():
            for operand in inner.operands if inner.parent is not block or inner is block.last_op else ():
                if (place := at.get(operand)) is not None:
                    last[place[2]] = len(ops) - 1
    changes = np.zeros(len(ops) + 1, np.int64)
    np.add.at(changes, [k + 1 for k, op in enumerate(ops) for _ in op.results], 1)
    np.subtract.at(changes, np.array(last, np.int64) + 1, 1)
    return sources, np.cumsum(changes[:-1]).tolist()


def _equal_bodies(
    ops: Sequence[Operation], sources: Sequence[tuple[Source | None, ...]], start: int, stop: int, period: int
) -> Repeated | None:
    """The longest sequence of bodies from `start` on whose operands come from the same positions."""
    begins = range(start, stop - period + 1, period)
    best, k = range(0), 0
    while k < len(begins):
        end = k + 1
        while end < len(begins) and _is_equal(ops, sources, begins[k], begins[end], period):
            end += 1
        best, k = max(best, range(k, end), key=len), end
    if len(best) < 2:
        return None
    rows = [ops[begins[k] : begins[k] + period] for k in best]
    same = [k for k in range(period) if not any(_differ(rows[0][k], row[k]) for row in rows)]
    return Repeated([[row[k] for k in same] for row in rows])


def _is_equal(
    ops: Sequence[Operation], sources: Sequence[tuple[Source | None, ...]], one: int, other: int, period: int
) -> bool:
    """Whether the same operands of two bodies come from within them, and from the same ops there; and whether the values that
    they slice differently are outside of them."""
    for k in range(period):
        a, b = sources[one + k], sources[other + k]
        if a != b and [_within(source, k) for source in a] != [_within(source, k) for source in b]:
            return False
        if _differ(ops[one + k], ops[other + k]) and any(_within(source, k) is not None for source in a):
            return False
    return True


def _differ(one: Operation, other: Operation) -> bool:
    """Whether two ops with the same number compute different results from equal operands."""
    return one.name == "graph.slice" and one.properties != other.properties


def _within(source: Source | None, k: int) -> Source | None:
    """A source of the op at position `k` of a body, if it belongs to the body."""
    return None if source is None or source[0] > k else source

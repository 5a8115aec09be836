"""Repeated bodies in a block: ops that stand there again and again, as a loop leaves them that was unrolled.

A block is read as a sequence of numbers, equal for ops that are equal but for their operands. Where it repeats with a period,
bodies are compared op by op: a value of the body itself must be the same one in each. What is found is exact; only which
periods are tried is guessed, from how far apart equal windows stand. Linear time in the ops of the block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

WINDOW = 4
"""How many ops are compared to find out what a period may be."""
MOST_PERIODS = 8
"""How many periods are tried."""


@dataclass(frozen=True)
class Repeated:
    """Equal bodies that follow each other.

    Attributes:
        bodies: their ops, as many in each.
    """

    bodies: Sequence[Sequence[Operation]]

    @property
    def saved(self) -> int:
        """How many ops there would be less with one body."""
        return (len(self.bodies) - 1) * len(self.bodies[0])


def find_repeated(
    block: Block, is_heavy: Callable[[Operation], bool], pays: Callable[[Repeated], bool], least: int
) -> Repeated | None:
    """The bodies of a block that save most ops, at least `least`, of those that pay; consts stand in none of them.

    Bodies begin where the fewest values cross from one to the next and, if there are several such places, before an op that is
    heavy: its operands are in memory in any case.
    """
    ops = [op for op in block.ops if op is not block.last_op and op.name != "graph.const"]
    numbers = _numbers(ops)
    best: Repeated | None = None
    for first, stop, period in sorted(_runs(numbers, least), key=lambda run: (run[0] - run[1] + run[2], run[2])):
        if best is not None and best.saved >= stop - first - period:
            break
        start = _start(ops, first, stop, period, is_heavy)
        found = _equal_bodies(ops, start, stop, period)
        if found is not None and found.saved >= least and (best is None or found.saved > best.saved) and pays(found):
            best = found
    return best


def _numbers(ops: Sequence[Operation]) -> list[int]:
    """A number for each op, equal for ops that differ in their operands alone; one of its own for an op with regions."""
    known: dict[object, int] = {}
    return [known.setdefault(_key(op, k), len(known)) for k, op in enumerate(ops)]


def _key(op: Operation, k: int) -> object:
    if op.regions:
        return k
    properties = tuple(sorted(op.properties.items(), key=lambda item: item[0])) if op.properties else ()
    return op.name, properties, tuple([o.type for o in op.operands]), tuple([r.type for r in op.results])


def _runs(numbers: Sequence[int], least: int) -> list[tuple[int, int, int]]:
    """(first, stop, period) of parts of a sequence that repeat with a period and would save `least`."""
    last: dict[tuple[int, ...], int] = {}
    distances: Counter[int] = Counter()
    for k in range(len(numbers) - WINDOW + 1):
        window = tuple(numbers[k : k + WINDOW])
        if window in last:
            distances[k - last[window]] += 1
        last[window] = k
    found: list[tuple[int, int, int]] = []
    for period, _ in distances.most_common(MOST_PERIODS):
        first = 0
        for k in range(len(numbers) - period + 1):
            if k == len(numbers) - period or numbers[k] != numbers[k + period]:
                if k - first >= max(least, period):
                    found.append((first, k + period, period))
                first = k + 1
    return found


def _start(ops: Sequence[Operation], first: int, stop: int, period: int, is_heavy: Callable[[Operation], bool]) -> int:
    """Where the first of the bodies begins, within a period of `first`."""
    crossing = _crossing(ops)
    n_bodies = (stop - first) // period
    middle = (n_bodies // 2) * period

    def rank(start: int) -> tuple[int, bool, bool, int]:
        return crossing[start + middle], not is_heavy(ops[start]), (stop - start) // period < n_bodies, start

    return min(range(first, min(first + period, stop - middle)), key=rank)


def _crossing(ops: Sequence[Operation]) -> list[int]:
    """For each op how many values of those before it are read by it or later."""
    position = {op: k for k, op in enumerate(ops)}
    changes = [0] * (len(ops) + 1)
    for k, op in enumerate(ops):
        for result in op.results:
            last = max((position.get(use.operation, len(ops) - 1) for use in result.uses), default=k)
            changes[min(k + 1, len(ops))] += 1
            changes[last + 1] -= 1
    total, found = 0, list[int]()
    for change in changes[:-1]:
        total += change
        found.append(total)
    return found


def _equal_bodies(ops: Sequence[Operation], start: int, stop: int, period: int) -> Repeated | None:
    """The longest row of bodies from `start` on whose values come from the same places."""
    bodies = [ops[k : k + period] for k in range(start, stop - period + 1, period)]
    rows = [_sources(body) for body in bodies]
    best, k = range(0), 0
    while k < len(rows):
        end = k + 1
        while end < len(rows) and rows[end] == rows[k]:
            end += 1
        best, k = max(best, range(k, end), key=len), end
    return Repeated([bodies[k] for k in best]) if len(best) > 1 else None


def _sources(body: Sequence[Operation]) -> list[tuple[int, int] | None]:
    """For each operand of the ops of a body which result of which op of it that is; None for values from outside."""
    at: dict[SSAValue, tuple[int, int]] = {}
    found: list[tuple[int, int] | None] = []
    for k, op in enumerate(body):
        found += [at.get(operand) for operand in op.operands]
        at.update((result, (k, j)) for j, result in enumerate(op.results))
    return found

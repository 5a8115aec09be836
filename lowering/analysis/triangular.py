"""The bounds of nested loops in another order, where inner bounds depend on outer loops: Fourier and Motzkin's elimination.

Neighbouring loops are interchanged one pair at a time. The new outer loop runs from the least to the greatest value that any
iteration of the other one allows; the new inner one has its own bounds, and those of the other, solved for its index.

    for i = 0 to N                          for j = 0 to N + M - 1
      for j = i to M + i                      for i = max(0, j - M + 1) to min(N, j + 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.loop.loops import ForOp
from .affine import Affine, Part
from .regions import lowers, uppers

_MOST_BOUNDS = 8
"""Expressions of a bound, before redundant ones are dropped."""


@dataclass
class Range:
    """The expressions of a loop's bounds: it runs from the greatest of the first to below the least of the others."""

    low: list[Affine]
    high: list[Affine]


def rebounded(band: Sequence[ForOp], order: Sequence[ForOp]) -> dict[ForOp, Range] | None:
    """The bounds of a band in another order, of the loops for which they change; None where they are not affine then."""
    found = {loop: Range(lowers(loop), uppers(loop)) for loop in band}
    now, changed = list(band), dict[ForOp, Range]()
    for place, loop in enumerate(order):
        for k in range(now.index(loop), place, -1):
            outer, inner = now[k - 1], now[k]
            now[k - 1 : k + 1] = inner, outer
            if not _depends(found[inner], outer):
                continue
            new = _interchanged(outer, inner, found[outer], found[inner])
            if new is None:
                return None
            found[inner], found[outer] = new
            changed[inner], changed[outer] = new
    return changed


def _depends(range: Range, loop: ForOp) -> bool:
    return any(value is loop.index for form in (*range.low, *range.high) for value in form.values())


def _interchanged(outer: ForOp, inner: ForOp, i: Range, j: Range) -> tuple[Range, Range] | None:
    """The range of the inner loop that goes outside, and that of the outer one in it."""
    kinds = {outer.kind.data, inner.kind.data}
    if not kinds <= {"seq", "parallel"}:
        return None
    new_i, new_j = Range([*i.low], [*i.high]), Range([], [])
    index = Affine.of(inner.index)
    for form in j.low:  # index >= c * i + rest
        c, rest = _split(form, outer)
        if rest is None:
            return None
        if c > 0:
            new_i.high.append((index - rest) // c + 1)
            new_j.low += [low * c + rest for low in i.low]
        elif c < 0:
            new_i.low.append((rest - index).ceildiv(-c))
            new_j.low += [(high - 1) * c + rest for high in i.high]
        else:
            new_j.low.append(form)
        if c and inner.step.value.data != 1:
            return None  # it starts elsewhere in each iteration
    for form in j.high:  # index < c * i + rest
        c, rest = _split(form, outer)
        if rest is None:
            return None
        if c > 0:
            new_i.low.append((index - rest + 1).ceildiv(c))
            new_j.high += [(high - 1) * c + rest for high in i.high]
        elif c < 0:
            new_i.high.append((rest - index - 1) // -c + 1)
            new_j.high += [low * c + rest for low in i.low]
        else:
            new_j.high.append(form)
    if len(new_i.low) > len(i.low) and outer.step.value.data != 1:
        return None
    if max(map(len, (new_i.low, new_i.high, new_j.low, new_j.high))) > _MOST_BOUNDS:
        return None
    return new_j, new_i


def _split(form: Affine, loop: ForOp) -> tuple[int, Affine | None]:
    """A form as a multiple of a loop's index and the rest; None where the index stands in a division."""
    c = form.terms.get(loop.index, 0)
    rest = form - Affine.of(loop.index) * c
    inside = any(isinstance(atom, Part) and loop.index in {*atom.x.values(), *atom.y.values()} for atom in rest.terms)
    return c, None if inside else rest

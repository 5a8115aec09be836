"""Exact dependences between accesses: two iterations that touch one element, or a proof that there are none.

Whether iteration `x` of one access and `y` of another conflict is a system of linear constraints over integers: both are in the
bounds of their loops, their subscripts are equal, and `x` precedes `y` in the requested relation (Pugh, "The Omega test",
1991). A solution is a witness that a user can check by hand; no solution is a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from ...dialects.loop.assume import INCREASING, PERMUTATION
from ...dialects.loop.loops import ForOp
from ...dialects.loop.memory import LoadOp, StoreOp
from .accesses import Access, Instance, Terms, accesses, combine, private_to
from .conditions import assumed_at
from .linear import System, Undecided
from .nests import buffer_name, name_of, place


class CannotDecide(Exception):
    """Neither a witness nor a proof: a subscript or a condition depends on data."""


@dataclass(frozen=True)
class Conflict:
    """Two iterations that touch one element, at least one of them writing: a witness.

    Attributes:
        first, second: the accesses; `first` runs before `second` in the kernel as it stands.
        at_first, at_second: the loop variables of each, by name.
        sizes: the sizes at which it happens.
        element: the subscripts of the element in its buffer.
    """

    first: Access
    second: Access
    at_first: Mapping[str, int]
    at_second: Mapping[str, int]
    sizes: Mapping[str, int]
    element: tuple[int, ...]

    def __str__(self) -> str:
        name = f"{buffer_name(self.first.buffer)}[{', '.join(map(str, self.element))}]"
        does = [f"{'write' if a.writes else 'read'}" for a in (self.first, self.second)]
        apart = [k for k in self.at_first if k in self.at_second and self.at_first[k] != self.at_second[k]]
        one, two = (", ".join(f"{k}={at[k]}" for k in apart or at) for at in (self.at_first, self.at_second))
        lines = [place(a.op) for a in (self.first, self.second)]
        if does[0] == does[1]:
            what = f"iterations {one} and {two} both {does[0]} {name}"
        else:
            what = f"iteration {one} {does[0]}s {name} and iteration {two} {does[1]}s it"
        lines = [line for k, line in enumerate(lines) if line and line not in lines[:k]]
        where = f" ({' and '.join(lines)})" if lines else ""
        sizes = f", with {', '.join(f'{k}={v}' for k, v in self.sizes.items())}" if self.sizes else ""
        return what + where + sizes


def find_conflict(
    first: Access,
    second: Access,
    relations: Mapping[ForOp, str],
    within: int | None = None,
    ahead: tuple[ForOp, ForOp, int] | None = None,
) -> Conflict | None:
    """A pair of iterations of two accesses of one buffer that touch the same element, in the given relation.

    Args:
        relations: for loops around both: `=` the same iteration, `<` the first's is before the second's, `>` after it, `*` any.
            Loops around both that are not named run the same iteration.
        within: the iterations of each loop related by `<` or `>` are less than this many iterations apart.
        ahead: a loop around the first access, one around the second, and by how much the index of the one is at least greater.

    Raises:
        CannotDecide: neither a witness nor a proof was found.

    Cost: 0.2 to 2 ms.
    """
    assert first.buffer is second.buffer
    if any(relations.get(loop, "=") != "=" for loop in private_to(first.buffer)):
        return None
    both = [loop for loop in first.loops if loop in second.loops]
    if _moves_with_one_loop(first, second, both, relations):
        return None
    system = System()
    shared = {loop: name_of(loop) for loop in both if relations.get(loop, "=") == "="}
    one, two = Instance(system, first, "a", shared), Instance(system, second, "b", shared)
    for loop in both:
        relation = relations.get(loop, "=")
        if relation not in "<>":
            continue
        x, y = one.variables[loop.index], two.variables[loop.index]
        if relation == ">":
            x, y = y, x
        step = loop.step.value.data
        system.ge({y: 1, x: -1}, -step)
        if within is not None:
            system.ge({x: 1, y: -1}, (within - 1) * step)
    if ahead is not None:
        system.ge({one.variables[ahead[0].index]: 1, two.variables[ahead[1].index]: -1}, -ahead[2])
    subscripts = one.subscripts()
    for (x, a), (y, b) in zip(subscripts, two.subscripts(), strict=True):
        system.eq(combine(x, y, -1), a - b)
    _add_facts(system, one, two)
    try:
        point = system.sample()
    except Undecided as error:
        raise CannotDecide(str(error)) from None
    if point is None:
        return None
    if one.opaque or two.opaque:
        raise CannotDecide(f"a subscript of {buffer_name(first.buffer)} depends on data")
    if first.conditional or second.conditional:
        raise CannotDecide(f"an access to {buffer_name(first.buffer)} stands under a condition")
    at_first, at_second = (
        {name_of(loop): point.get(i.variables[loop.index], 0) for loop in i.access.loops} for i in (one, two)
    )
    return Conflict(
        first,
        second,
        at_first,
        at_second,
        _sizes(one, point) | _sizes(two, point),
        tuple(_at(terms, constant, point) for terms, constant in subscripts),
    )


def _add_facts(system: System, one: Instance, two: Instance) -> None:
    """What `loop.assume` says of the elements that subscripts and bounds are, of the two accesses."""
    facts = assumed_at(one.access.loops) & assumed_at(two.access.loops)
    if not facts:
        return
    for x, y in zip(one.access.sources, two.access.sources, strict=True):
        if x is not None and y is not None and x.buffer is y.buffer and (PERMUTATION, x.buffer) in facts:
            (at, a), (there, b) = _index(one, x), _index(two, y)  # elements are equal, so are their subscripts
            system.eq(combine(at, there, -1), a - b)
    for name, x in [*one.loaded]:
        for other, y in [*two.loaded]:
            if x.buffer is not y.buffer or x.lanes + y.lanes > 2 or (INCREASING, x.buffer) not in facts:
                continue
            (at, a), (there, b) = _index(one, x), _index(two, y)
            for sign in (1, -1):
                beyond = system.copy()
                beyond.ge({v: sign * c for v, c in combine(at, there, -1).items()}, sign * (a - b) - 1)
                if beyond.is_surely_empty():  # one subscript is never above the other, so no element is
                    system.ge({other: sign, name: -sign})


def _index(instance: Instance, load: LoadOp) -> tuple[Terms, int]:
    terms, constant = instance.linear(load.map.data.results[0], load.indices)
    if load.lanes > 1:
        lane = f"{instance.tag}.element"
        instance.system.ge({lane: 1})
        instance.system.ge({lane: -1}, load.lanes - 1)
        terms = combine(terms, {lane: 1}, load.lane_step())
    return terms, constant


def _moves_with_one_loop(first: Access, second: Access, both: Sequence[ForOp], relations: Mapping[ForOp, str]) -> bool:
    """Whether some subscript is the same for both accesses except for one loop, in which the iterations differ.

    The common case, proved without a system: `c * x + rest == c * y + rest` has no solution with `x < y`.
    """
    apart = {loop.index: relations.get(loop, "=") for loop in both}
    one, two = first.op, second.op
    if not isinstance(one, LoadOp | StoreOp) or not isinstance(two, LoadOp | StoreOp) or one.lanes > 1 or two.lanes > 1:
        return False
    for form, other in zip(first.terms, second.terms, strict=True):
        if form is None or form != other:
            continue
        moving = [index for index in form[0] if apart.get(index) != "="]
        if len(moving) == 1 and apart.get(moving[0]) in ("<", ">"):
            return True
    return False


def _sizes(instance: Instance, point: Mapping[str, int]) -> dict[str, int]:
    indices = {loop.index for loop in instance.access.loops}
    return {name: point.get(name, 0) for value, name in instance.variables.items() if value not in indices and "." not in name}


def _at(terms: Terms, constant: int, point: Mapping[str, int]) -> int:
    return sum([c * point.get(name, 0) for name, c in terms.items()], constant)


def pairs(found: Sequence[Access], others: Sequence[Access] | None = None) -> Iterator[tuple[Access, Access]]:
    """Ordered pairs of accesses to one buffer, at least one of which writes, including an access with itself.

    The second ones are from `others`, if given.
    """
    for one in found:
        for two in found if others is None else others:
            if one.buffer is two.buffer and (one.writes or two.writes):
                yield one, two


def carried_conflict(loop: ForOp, within: int | None = None) -> Conflict | None:
    """Two iterations of a loop that touch one element, with equal outer loops; None: the iterations are independent.

    Raises:
        CannotDecide: neither a conflict nor a proof was found.
    """

    def conflict(one: Access, two: Access) -> Conflict | None:
        relations = {inner: "*" for inner in one.loops if inner in two.loops and _inside(inner, loop)}
        return find_conflict(one, two, {**relations, loop: "<"}, within)

    return first_conflict(pairs(accesses(loop)), conflict)


def first_conflict(
    found: Iterable[tuple[Access, Access]], conflict: Callable[[Access, Access], Conflict | None]
) -> Conflict | None:
    """The first conflict of any pair of accesses; None: there is none.

    Raises:
        CannotDecide: no pair is known to conflict, but one may.
    """
    undecided: CannotDecide | None = None
    for one, two in found:
        try:
            if (witness := conflict(one, two)) is not None:
                return witness
        except CannotDecide as error:
            undecided = undecided or error
    if undecided is not None:
        raise undecided
    return None


def _inside(loop: Operation, outer: ForOp) -> bool:
    parent = loop.parent_op()
    while parent is not None:
        if parent is outer:
            return True
        parent = parent.parent_op()
    return False

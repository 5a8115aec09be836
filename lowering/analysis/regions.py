"""Regions of elements that loops touch: greatest extents, loops that always run, subscripts in bounds, execution order.

Primitives that move or copy memory check here that they touch no more than the kernel did before. All answers are proofs: False
and None mean only that there is no proof.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp, WhileOp
from ...dialects.loop.memory import AllocOp
from ...dialects.loop.subscripts import linear_form
from ...errors import ScheduleError
from .accesses import Access, Instance, Terms, private_to
from .affine import Affine, forms
from .conditions import known_at
from .dependence import CannotDecide, Conflict, find_conflict
from .linear import System, Undecided
from .nests import around, name_of, ops_in


def find_local(kernel: KernelOp, name: str, step: str) -> AllocOp:
    """The allocation of a local buffer whose layout a primitive changes.

    Raises:
        ScheduleError: there is none of that name, or it is an argument.
    """
    alloc = find_buffer(kernel, name, step).owner
    if not isinstance(alloc, AllocOp):
        raise ScheduleError(f"{step}: {name} is an argument of the kernel: its layout is the caller's")
    return alloc


def find_buffer(kernel: KernelOp, name: str, step: str) -> SSAValue:
    """The buffer with a name, an argument or a local one.

    Raises:
        ScheduleError: there is none; the message lists the existing ones.
    """
    known: dict[str, SSAValue] = {
        v.name_hint: v for v in kernel.body.block.args if isinstance(v.type, MemRefType) and v.name_hint
    }
    for op in ops_in(kernel, AllocOp):
        if op.buffer.name_hint:
            known.setdefault(op.buffer.name_hint, op.buffer)
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, 2)
    hint = f", did you mean {' or '.join(close)}?" if close else f"; there are: {', '.join(known) or 'none'}"
    raise ScheduleError(f"{step}: no buffer '{name}' in kernel @{kernel.sym_name.data}{hint}")


def lowers(loop: ForOp) -> list[Affine]:
    """The expressions of the lower bound."""
    return forms(loop.lower.data, loop.lower_operands)


def uppers(loop: ForOp) -> list[Affine]:
    """The expressions of the upper bound."""
    return forms(loop.upper.data, loop.upper_operands)


def has_linear_bounds(loop: ForOp) -> bool:
    """Whether no bound of a loop has a `mod`, a division or a product of two values."""
    bounds = (loop.lower.data, loop.lower_operands), (loop.upper.data, loop.upper_operands)
    if all(linear_form(expr, map.num_dims) is not None for map, _ in bounds for expr in map.results):
        return True
    return all(form.is_linear for bound in bounds for form in forms(*bound))  # values may be constants


class Domain:
    """The iterations of some nested loops, outermost first, as constraints; variables may stand for further inner loops."""

    def __init__(self, loops: Sequence[ForOp]):
        self.system = System()
        self.loops = tuple(loops)
        access = Access(
            cast(Operation, None), cast(SSAValue, None), False, tuple(loops)
        )  # its loops are all that is asked of it
        self.instance = Instance(self.system, access, "d", {loop: f"d.{k}" for k, loop in enumerate(loops)})

    def linear(self, form: Affine) -> tuple[Terms, int]:
        operands: list[SSAValue] = []
        expr = form.expr(operands)
        return self.instance.linear(expr, operands)

    def never(self, form: Affine) -> bool:
        """Whether `form >= 0` has no solution."""
        terms, constant = self.linear(form)
        system = self.system.copy()
        system.ge(terms, constant)
        return system.is_surely_empty()

    def example(self, form: Affine) -> dict[str, int]:
        """Small values of loop variables and sizes at which `form >= 0`; nothing where none are found."""
        terms, constant = self.linear(form)
        system = self.system.copy()
        system.ge(terms, constant)
        try:
            point = system.sample() or {}
        except Undecided:
            return {}
        names = {f"d.{k}": name_of(loop) for k, loop in enumerate(self.loops)}
        sizes = {name: value for name, value in point.items() if "." not in name and "/" not in name}
        return {name: point[variable] for variable, name in names.items() if variable in point} | sizes

    def greatest(self, form: Affine) -> int | None:
        """An upper bound of an expression."""
        terms, constant = self.linear(form)
        try:
            return self.system.bounds(terms, constant)[1]
        except Undecided:
            return None


@dataclass(frozen=True)
class Extent:
    """A loop normalized to count from 0: `base` is a lower bound, `count` the greatest trip count, `step` the step."""

    base: Affine
    count: int
    step: int

    def number(self, at: Affine) -> Affine:
        """The number of an iteration."""
        return (at - self.base) // self.step

    @property
    def end(self) -> Affine:
        """The upper bound for this number of iterations."""
        return self.base + self.count * self.step


def extent(loop: ForOp, given: Sequence[ForOp] | None = None) -> Extent | None:
    """The greatest constant extent of a loop: `0 to min(16, N - j)` has 16; None when there is none.

    If it must hold even where a loop around it never runs, `given` has the other loops, including those that its bounds need.
    """
    step = loop.step.value.data
    found: list[tuple[int, Affine]] = []
    pairs = [(low, high) for low in lowers(loop) for high in uppers(loop)]
    for low, high in pairs:
        if (number := (high - low).number) is not None:
            found.append((number, low))
    if not found:  # from a condition around the nest
        known = list(known_at((around(loop) or [loop])[0]))
        found = [(n, low) for low, high in pairs for form in known if (n := (form + (high - low)).number) is not None]
    if not found:  # for example 8 - i, where i is nonnegative
        domain = Domain(around(loop) if given is None else given)
        for low, high in pairs:
            if (greatest := domain.greatest(high - low)) is not None:
                found.append((greatest, low))
    if not found:
        return None
    length, base = min(found, key=lambda one: one[0])
    return Extent(base, max(0, -(-length // step)), step)


def always_runs(loop: ForOp, given: Sequence[ForOp]) -> bool:
    """Whether a loop has an iteration in every iteration of the loops in `given`, which are around it."""
    domain = Domain(given)
    return all(domain.never(low - high) for low in lowers(loop) for high in uppers(loop))


def all_run(loops: Sequence[ForOp], asked: Iterable[ForOp]) -> bool:
    """Whether the given loops of a nest, outermost first, run whenever the loops before them do."""
    wanted = set(asked)
    return all(always_runs(loop, loops[:k]) for k, loop in enumerate(loops) if loop in wanted)


def in_bounds(kernel: KernelOp, buffer: SSAValue, subscripts: Sequence[Affine], loops: Sequence[ForOp]) -> bool:
    """Whether subscripts are in the bounds of a buffer in all iterations of some loops."""
    domain = Domain(loops)
    for form, size in zip(subscripts, sizes(kernel, buffer), strict=True):
        if not (domain.never(Affine.of(-1) - form) and domain.never(form - size)):
            return False
    return True


def sizes(kernel: KernelOp, buffer: SSAValue) -> list[Affine]:
    """The sizes of an argument or of a local buffer."""
    if isinstance(owner := buffer.owner, AllocOp):
        given = iter(owner.sizes)
        shape = owner.buffer.type.get_shape()
        return [Affine.of(next(given)) if n == DYNAMIC_INDEX else Affine.of(n) for n in shape]
    indices = kernel.index_arguments
    found = kernel.given_shapes().get(buffer)
    if found is None:  # dynamic sizes without a given value may be 0
        shape = cast(MemRefType, buffer.type).get_shape()
        return [Affine.of(0 if n == DYNAMIC_INDEX else n) for n in shape]
    return [Affine.parse(expr, indices) for expr in found[0]]


def conditional_in(op: Operation, outer: Operation) -> bool:
    """Whether an op in another may not run in an iteration of all `for` loops up to that one."""
    parent = op.parent_op()
    while parent is not None and parent is not outer:
        if not isinstance(parent, ForOp):
            return True
        parent = parent.parent_op()
    return False


def statement_in(block: Block, op: Operation) -> Operation | None:
    """The op of a block that is or contains an op."""
    current: Operation | None = op
    while current is not None and current.parent is not block:
        current = current.parent_op()
    return current


def runs_before(first: Access, second: Access, scope: Sequence[ForOp], in_text: bool) -> Conflict | None:
    """An instance of `first` that touches an element before an instance of `second` does, in one iteration of `scope`.

    Args:
        in_text: in one iteration of all loops around both, `first` runs before `second`.

    Raises:
        CannotDecide: neither such a pair nor a proof of its absence was found.
    """
    shared = [loop for loop in first.loops if loop in second.loops and loop not in scope]
    for k, loop in enumerate(shared):
        for order in "<>" if loop.kind.data == "parallel" else "<":  # a parallel loop runs in any order
            relations = {loop: order, **{inner: "*" for inner in shared[k + 1 :]}}
            if (conflict := find_conflict(first, second, relations)) is not None:
                return conflict
    return find_conflict(first, second, {}) if in_text else None


def no_common_while(first: Operation, second: Operation, scope: Operation) -> None:
    """Raise CannotDecide if a `while` in an op contains two accesses: the order of its runs is unknown."""
    found: set[Operation] = set()
    for op in first, second:
        parent = op.parent_op()
        while parent is not None and parent is not scope:
            if isinstance(parent, WhileOp):
                if parent in found:
                    raise CannotDecide("a `while` loop holds both accesses")
                found.add(parent)
            parent = parent.parent_op()


def private_in(buffer: SSAValue, loop: ForOp) -> bool:
    """Whether each iteration of a loop has a separate copy of a buffer."""
    return loop in private_to(buffer)

"""Extend a loop to its full tile: the additional iterations only touch padding.

    before                                       after loop-pad{loop=ii size=8}
    %t = loop.alloc stack : memref<8xf32>        %t = loop.alloc stack : memref<8xf32>
    loop.for seq %ii = 0 to min(8, %N - %io) {   loop.for seq %ii = 0 to 8 {
      %a = loop.load %t[%ii]                       %a = loop.load %t[%ii]
      %b = arith.addf %a, %a                       %b = arith.addf %a, %a
      loop.store %b, %t[%ii]                       loop.store %b, %t[%ii]
    }                                            }

Requires a loop without carried values, from 0 or from an expression, from which it is then counted. Legal when in the
additional iterations every access stays inside its buffer, all written elements are local, and no original iteration reads any
of them later. In buffers of `clamp` they may read beyond the end: they then read the last element instead, `%x[min(%io + %ii,
%N - 1)]`, or, where they go backwards, the first one instead of those before the beginning: `%x[max(%N - 1 - %io - %ii, 0)]`.
Returns the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...dialects.loop.loops import ForOp, KernelOp, WhileOp
from ...dialects.loop.memory import AllocOp, CheckOp, LoadOp, StoreOp
from ...dialects.scalar import ScalarBuilder
from ..analysis.accesses import Access, Instance, Terms, accesses, combine, private_to
from ..analysis.affine import Affine
from ..analysis.bounds import constant_extent, set_bounds
from ..analysis.dependence import CannotDecide, Conflict
from ..analysis.linear import System, Undecided
from ..analysis.nests import around, buffer_name, find, name_of, ops_in, place, walk
from ..analysis.regions import Domain, find_buffer, sizes
from .base import Primitive
from .cloning import computed, is_vector, redirect, subscripts
from .rewriting import on_original, start_at_zero

Linear = tuple[Terms, int]


class _Padding:
    """A kernel with an extended loop, and the iterations that this adds."""

    def __init__(self, kernel: KernelOp, loop: ForOp, size: int, clamped: Sequence[str] = ()):
        self.kernel, self.loop, self.clamped = kernel, loop, clamped
        self.ends, self.values = list(loop.upper.data.results), list(loop.upper_operands)
        set_bounds(loop, ([AffineConstantExpr(0)], []), ([AffineConstantExpr(size)], []))
        self.found = accesses(kernel)
        self.within = [access for access in self.found if loop in access.loops]

    def past(self, instance: Instance, end: AffineExpr) -> None:
        """Constrain the instance to an iteration that an old bound excludes."""
        terms, constant = instance.linear(end, self.values)
        instance.system.ge(combine({instance.variables[self.loop.index]: 1}, terms, -1), -constant)

    def before(self, instance: Instance) -> None:
        """Constrain the instance to an original iteration."""
        for end in self.ends:
            terms, constant = instance.linear(end, self.values)
            instance.system.ge(combine(terms, {instance.variables[self.loop.index]: 1}, -1), constant - 1)

    # # -- accesses stay in bounds

    def leaves(self) -> str | None:
        """An access that leaves its buffer in the additional iterations."""
        for access in self.within:
            for end in self.ends:
                system = System()
                instance = Instance(system, access, "at", {loop: name_of(loop) for loop in access.loops})
                self.past(instance, end)
                subscripts = instance.subscripts()
                sizes = self.sizes(instance)
                for dim, (at, size) in enumerate(zip(subscripts, sizes, strict=True)):
                    for outside, is_held in zip(((({}, -1), at), (at, size)), self.held(access, dim), strict=True):
                        point = None if is_held else self.ordered(system, *outside)
                        if point is None:
                            continue
                        if instance.opaque or access.conditional:
                            raise CannotDecide(f"where {buffer_name(access.buffer)} is accessed depends on data")
                        return self.told(access, instance, point, dim, _at(at, point), _at(size, point))
        return None

    def held(self, access: Access, dim: int) -> tuple[bool, bool]:
        """Whether an access is clamped at the beginning and at the end of a dim."""
        if access.writes or buffer_name(access.buffer) not in self.clamped or not isinstance(access.op, LoadOp):
            return False, False
        return _ends(subscripts(access.op)[dim], self.loop)

    @staticmethod
    def ordered(system: System, low: Linear, high: Linear) -> dict[str, int] | None:
        """A point with `low >= high`, written with the smaller one second."""
        asked = system.copy()
        asked.ge(combine(low[0], high[0], -1), low[1] - high[1])
        return asked.sample()

    def sizes(self, instance: Instance) -> list[Linear]:
        buffer = instance.access.buffer
        if not isinstance(buffer.owner, AllocOp):
            return [instance.linear(size, self.kernel.index_arguments) for size in self.kernel.sizes_of(buffer)]
        given = iter(buffer.owner.sizes)
        shape = buffer.owner.buffer.type.get_shape()
        return [instance.value(next(given)) if n == DYNAMIC_INDEX else ({}, n) for n in shape]

    def told(self, access: Access, instance: Instance, point: dict[str, int], dim: int, at: int, size: int) -> str:
        variables = ", ".join(f"{name_of(loop)}={point.get(name_of(loop), 0)}" for loop in access.loops)
        sizes = ", ".join(f"{name}={value}" for name, value in _sizes(instance, point).items())
        does = "writes" if access.writes else "reads"
        where = f" ({place(access.op)})" if place(access.op) else ""
        what = f"{does} {buffer_name(access.buffer)} at {at} of dim {dim}, which has {size} elements"
        return f"the added iteration {variables} {what}{where}{', with ' + sizes if sizes else ''}"

    # # -- results stay the same

    def read_later(self) -> Conflict | None:
        """An additional iteration and a later original one, where the first writes an element that the second reads."""
        for one in self.within:
            for two in self.found:
                if one.writes and not two.writes and one.buffer is two.buffer and self.loop not in private_to(one.buffer):
                    if self.stays_in_its_iteration(one, two):
                        continue
                    for relations in self.orders(one, two):
                        for end in self.ends:
                            conflict = self.meets(one, two, relations, end)
                            if conflict is not None:
                                return conflict
        return None

    def stays_in_its_iteration(self, one: Access, two: Access) -> bool:
        """Whether two accesses to an element are in one iteration of the loop: a dim of both is its index.

        This test comes first, since it needs no proof. Bounds may differ in other iterations of the loops around it: the buffer
        has to be local to one.
        """
        if self.loop not in two.loops or any(loop not in private_to(one.buffer) for loop in around(self.loop)):
            return False
        if not (isinstance(one.op, LoadOp | StoreOp) and isinstance(two.op, LoadOp | StoreOp)):
            return False
        dims = zip(subscripts(one.op), subscripts(two.op), strict=True)
        return any(x.value is self.loop.index and x == y for x, y in dims)

    def orders(self, one: Access, two: Access) -> Iterator[dict[ForOp, str]]:
        """The relations of the loops around both accesses when `two` happens after `one` on the same buffer."""
        both = [loop for loop in one.loops if loop in two.loops]
        for k, loop in enumerate(both):
            if loop in private_to(one.buffer):
                continue
            for relation in "<>" if loop.kind.data == "parallel" else "<":  # parallel iterations have no order
                yield dict.fromkeys(both[:k], "=") | {loop: relation}
        if self.loop not in both and self.found.index(one) < self.found.index(two):
            yield dict.fromkeys(both, "=")

    def meets(self, one: Access, two: Access, relations: dict[ForOp, str], end: AffineExpr) -> Conflict | None:
        system = System()
        shared = {loop: name_of(loop) for loop, relation in relations.items() if relation == "="}
        first, second = Instance(system, one, "a", shared), Instance(system, two, "b", shared)
        for loop, relation in relations.items():
            if relation != "=":
                x, y = (i.variables[loop.index] for i in ((first, second) if relation == "<" else (second, first)))
                system.ge({y: 1, x: -1}, -loop.step.value.data)
        self.past(first, end)
        if self.loop in two.loops:
            self.before(second)
        subscripts = first.subscripts()
        for (x, a), (y, b) in zip(subscripts, second.subscripts(), strict=True):
            system.eq(combine(x, y, -1), a - b)
        point = system.sample()
        if point is None:
            return None
        if first.opaque or second.opaque or one.conditional or two.conditional:
            raise CannotDecide(f"where {buffer_name(one.buffer)} is accessed depends on data")
        at = [{name_of(loop): point.get(i.variables[loop.index], 0) for loop in i.access.loops} for i in (first, second)]
        element = tuple(_at(subscript, point) for subscript in subscripts)
        return Conflict(one, two, at[0], at[1], _sizes(first, point) | _sizes(second, point), element)


def _at(linear: Linear, point: dict[str, int]) -> int:
    return sum([c * point.get(name, 0) for name, c in linear[0].items()], linear[1])


def _sizes(instance: Instance, point: dict[str, int]) -> dict[str, int]:
    loops = {loop.index for loop in instance.access.loops}
    return {name: point.get(name, 0) for value, name in instance.variables.items() if value not in loops and "." not in name}


@dataclass(frozen=True)
class Pad(Primitive):
    """Extend `loop` to run from 0 to `size`.

    Attributes:
        loop: a loop whose extent is at most that.
        size: its new extent, in iterations.
        clamp: read-only buffers of which the additional iterations read the last element, or the first one where they go
            backwards, where they would leave the buffer.
    """

    name = "loop-pad"
    loop: str
    size: int
    clamp: tuple[str, ...] = ()

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if loop.results:
            raise self.refuse(f"{self.loop} carries values, which more iterations would change")
        most = constant_extent(loop)
        if most is None or (most - 1) * loop.step.value.data >= self.size:
            raise self.refuse(f"{self.loop} may run further than {self.size}")
        for op in walk(loop):
            if isinstance(op, WhileOp | CheckOp):
                raise self.refuse(f"what '{op.name}' would do in more iterations cannot be known")
        self._check_clamped(kernel, loop)
        copy = kernel.clone()
        copied = find(copy, self.loop, self.name)
        if not start_at_zero(copied):
            raise self.refuse(f"{self.loop} does not start at 0; a loop that split has made does")
        padding = _Padding(copy, copied, self.size, self.clamp)
        for access in padding.within:
            if access.writes and not isinstance(access.buffer.owner, AllocOp):
                raise self.refuse(f"more iterations would write {buffer_name(access.buffer)}, which is not local to the kernel")
        try:
            outside = padding.leaves()
            if outside is not None:
                raise self.refuse(outside)
            conflict = padding.read_later()
        except (CannotDecide, Undecided) as error:
            raise self.refuse(f"cannot decide: {error}") from None
        if conflict is not None:
            conflict = on_original(conflict, copy, kernel, {})
            raise self.refuse(f"an added iteration writes what another reads: {conflict}", conflict)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        start_at_zero(loop)
        set_bounds(loop, ([AffineConstantExpr(0)], []), ([AffineConstantExpr(self.size)], []))
        for read in self._clamped_reads(kernel, loop):
            _clamp(kernel, read, loop)
        return (self.loop,)

    def _clamped_reads(self, kernel: KernelOp, loop: ForOp) -> list[LoadOp]:
        """The reads of the buffers in `clamp` whose subscripts change with the loop."""
        buffers = [find_buffer(kernel, name, self.name) for name in self.clamp]
        reads = [op for op in ops_in(loop, LoadOp) if op.buffer in buffers]
        return [op for op in reads if any(loop.index in form.values() for form in subscripts(op))]

    def _check_clamped(self, kernel: KernelOp, loop: ForOp) -> None:
        """Check that a last element exists, and that the read is of one element."""
        for read in self._clamped_reads(kernel, loop):
            if is_vector(read):
                raise self.refuse(f"a read of {buffer_name(read.buffer)} moves a vector: pad before you vectorize")
            if not all(form.is_linear for form in subscripts(read)):
                raise self.refuse(f"a read of {buffer_name(read.buffer)} has a subscript that is not linear: stage it first")
            domain = Domain(around(loop))
            if not all(domain.never(Affine.of(0) - size) for size in sizes(kernel, read.buffer)):
                raise self.refuse(f"{buffer_name(read.buffer)} may be empty: it has no last element")


def _ends(form: Affine, loop: ForOp) -> tuple[bool, bool]:
    """Whether a linear subscript may leave a dim at its beginning and at its end as a loop advances."""
    step = form.terms.get(loop.index, 0)
    return step < 0, step > 0


def _clamp(kernel: KernelOp, read: LoadOp, loop: ForOp) -> None:
    """Clamp a read whose subscript changes with a loop at the end of its buffer that it approaches."""
    at = subscripts(read)
    for dim, (form, size) in enumerate(zip(at, sizes(kernel, read.buffer), strict=True)):
        if loop.index not in form.values():
            continue
        home, before = _innermost(read, form)
        block = Block()
        builder = ScalarBuilder(block, read.location)
        if _ends(form, loop) == (True, False):
            place = builder.max(computed(form, builder), computed(Affine.of(0), builder))
        else:
            place = builder.min(computed(form, builder), computed(size - 1, builder))
        place.name_hint = loop.index.name_hint
        ops = list(block.ops)
        for op in ops:
            op.detach()
        home.insert_ops_before(ops, before)
        at[dim] = Affine.of(place)
    redirect(read, read.buffer, at)


def _innermost(read: LoadOp, form: Affine) -> tuple[Block, Operation]:
    """The block in which all values of an expression are defined, and the op in it that is or contains the read."""
    homes = [value.owner if isinstance(value.owner, Block) else value.owner.parent for value in form.values()]
    op: Operation = read
    while (block := op.parent_block()) not in homes:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    assert block is not None
    return block, op

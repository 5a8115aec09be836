"""Compute the elements of a local buffer where they are read, instead of storing them.

Requires a local buffer that a single op stores to, at subscripts that are distinct loop variables of its nest or constants,
with a pure computation. Every element that is read must have been stored, from inputs that are not written in between.

    before                                         after, buffer=t
    %t = loop.alloc scratch : memref<64xf32>       loop.for parallel %j = 0 to 63 {
    loop.for parallel %i = 0 to 64 {                 %a = loop.load %x[%j + 1]
      %a = loop.load %x[%i]                          %b = arith.mulf %a, %a : f32
      %b = arith.mulf %a, %a : f32                   loop.store %b, %y[%j]
      loop.store %b, %t[%i]                        }
    }
    loop.for parallel %j = 0 to 63 {
      %c = loop.load %t[%j + 1]
      loop.store %c, %y[%j]
    }

The nest and the buffer are removed. Returns the names of the copied loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.loop.gather import GatherOp
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, PrefetchOp, StoreOp
from ..analysis.accesses import Access
from ..analysis.affine import show
from ..analysis.dependence import CannotDecide
from ..analysis.nests import around, name_of, ops_in, place, walk
from ..analysis.producers import Producer, Unfit, outside_of, producer, written_before
from ..analysis.regions import conditional_in, find_buffer
from .base import Primitive
from .cloning import Copier, Values, discard, is_vector, remove, subscripts


@dataclass(frozen=True)
class Inline(Primitive):
    """Recompute the elements of a local buffer where they are read.

    Attributes:
        buffer: the local buffer.
    """

    name = "loop-inline"

    buffer: str

    def check(self, kernel: KernelOp) -> None:
        found, loads = self._find(kernel)
        for load in loads:
            block = Block()
            self._copy(kernel, found, load, block)
            try:
                for op in walk(block):
                    if isinstance(op, LoadOp | GatherOp):
                        read = Access(op, op.buffer, False, (*around(load), *around(op)))
                        if (conflict := written_before(kernel, found, read, load)) is not None:
                            raise self.refuse(
                                f"what {self.buffer} is computed from changes before it is read: {conflict}", conflict
                            )
            except CannotDecide as error:
                raise self.refuse(f"cannot decide: {error}") from None
            finally:
                discard(block)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        found, loads = self._find(kernel)
        names: list[str] = []
        for load in loads:
            block, home = Block(), load.parent_block()
            assert home is not None
            value, taken = self._copy(kernel, found, load, block)
            names += taken
            for op in list(block.ops):
                op.detach()
                home.insert_op_before(op, load)
            load.value.replace_all_uses_with(value)
            remove(load)
        for use in list(found.alloc.buffer.uses):
            if isinstance(use.operation, PrefetchOp):
                remove(use.operation)
        found.outer.detach()
        found.outer.erase()
        remove(found.alloc)
        return tuple(names)

    def _find(self, kernel: KernelOp) -> tuple[Producer, list[LoadOp]]:
        """The nest that computes the buffer, and its reads."""
        buffer = find_buffer(kernel, self.buffer, self.name)
        readers = [op for op in ops_in(kernel, LoadOp, GatherOp) if op.buffer is buffer]
        if not readers:
            raise self.refuse(f"nothing reads {self.buffer}")
        loads = [op for op in readers if isinstance(op, LoadOp) and not is_vector(op)]
        if len(loads) != len(readers):
            raise self.refuse(f"a read of {self.buffer} moves a vector: inline before you vectorize")
        try:
            found = producer(buffer, loads)
        except Unfit as error:
            raise self.refuse(str(error)) from None
        self._check_nest(found)
        for load in loads:
            self._check_load(found, load)
        return found, loads

    def _check_nest(self, found: Producer) -> None:
        """Check that each iteration of the nest stores a different element, and has no other effects."""
        if is_vector(found.store):
            raise self.refuse(f"what computes {self.buffer} stores vectors: inline before you vectorize")
        variables = [form.value for form in found.at if form.number is None]
        known = {loop.index for loop in around(found.store)}
        if len(set(variables)) != len(variables) or not set(variables) <= known:
            raise self.refuse(f"{self.buffer} must be stored at distinct loop variables and numbers, not at {show(found.at)}")
        for loop in found.loops:
            if loop.index not in variables:
                raise self.refuse(f"every iteration of loop {name_of(loop)} stores the same element of {self.buffer}")
            if loop.results:
                raise self.refuse(f"loop {name_of(loop)} carries values from one element of {self.buffer} to the next")
        if found.loops and conditional_in(found.store, found.loops[0]):
            raise self.refuse(f"{self.buffer} is stored under a condition")
        if isinstance(found.outer, ForOp | StoreOp) and not any(
            isinstance(op, StoreOp) and op is not found.store for op in walk(found.outer)
        ):
            return
        raise self.refuse(f"what computes {self.buffer} uses local buffers or conditions")

    def _check_load(self, found: Producer, load: LoadOp) -> None:
        """Check that a read takes an element that was stored in the same iteration of the loops around both."""
        where = f" ({place(load)})" if place(load) else ""
        at, inside = subscripts(load), {loop.index for loop in found.loops}
        for target, form in zip(found.at, at, strict=True):
            if target.value not in inside and form != target:
                raise self.refuse(f"{self.buffer}{show(at)}{where} may come from another iteration of {target}")
        miss = outside_of(found, at, around(load))
        if miss is not None:
            shown = ", ".join(f"{k}={v}" for k, v in miss.items())
            raise self.refuse(f"{self.buffer}{show(at)}{where} may be an element that is not computed: at {shown}", miss)
        values = self._values(found, load)
        for value in (found.store.value, *(value for op in _needed(found) for inner in walk(op) for value in _plain(inner))):
            if value in values and not values[value].is_linear:
                raise self.refuse(f"{self.buffer}{show(at)}{where} needs the value of {value.name_hint}: {values[value]}")

    @staticmethod
    def _values(found: Producer, load: LoadOp) -> Values:
        """The values of the nest's loop variables for the element that is read."""
        return {target.value: form for target, form in zip(found.at, subscripts(load), strict=True) if target.value is not None}

    def _copy(self, kernel: KernelOp, found: Producer, load: LoadOp, block: Block) -> tuple[SSAValue, list[str]]:
        """Clone the computation of the element that is read into a block; returns its value and the names of new loops."""
        copier = Copier(kernel, self._values(found, load))
        for op in _needed(found):
            copier.copy(op, block)
        return copier.operand(found.store.value, block, found.store), copier.taken


def _plain(op: Operation) -> Sequence[SSAValue]:
    """The operands of an op that occur in no subscript or bound."""
    if isinstance(op, ForOp):
        return op.inits
    skipped = set(op.indices) if isinstance(op, LoadOp | StoreOp | PrefetchOp) else set[SSAValue]()
    return [value for value in op.operands if value not in skipped]


def _needed(found: Producer) -> Sequence[Operation]:
    """The ops of the nest that the stored value needs, in order; inner loops with their whole bodies."""
    wanted = {found.store.value}
    kept: list[Operation] = []
    levels = [loop.body.block for loop in found.loops]
    for block in reversed(levels):
        for op in reversed(list(block.ops)):
            if op in found.loops or not any(result in wanted for result in op.results):
                continue
            kept.append(op)
            for inner in walk(op):
                wanted.update(inner.operands)
    return kept[::-1]

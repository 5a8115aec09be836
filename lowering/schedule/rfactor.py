"""Reduce parts of a loop in parallel, then combine the partial results.

    before                                      after loop-rfactor{loop=i size=64}
    %s = loop.for reduce<add> %i = 0 to 256     %i_parts = loop.alloc scratch : memref<4xf32>
        init %z {                               loop.for parallel %io = 0 to 4 {
      %a = loop.load %x[%i]                       %p = loop.for reduce<add> %ii = 0 to 64 init %zero {
      loop.yield %a                                 %a = loop.load %x[%io * 64 + %ii]
    }                                               loop.yield %a
                                                  }
                                                  loop.store %p, %i_parts[%io]
                                                }
                                                %s = loop.for reduce<add> %i = 0 to 4 init %z {
                                                  %p = loop.load %i_parts[%i]
                                                  loop.yield %p
                                                }

With `at`, a parallel loop around it, the parts are reduced in a separate nest before that loop, one for each iteration of the
loops from `at` to the reduction: `for io { for at ... { reduce ii } }`, into an array `<loop>_parts[io, at ...]`. The ops of
the body around it that the reduction needs are computed there, too.

Requires a reduction that counts from 0 by 1 to a constant, a multiple of `size`, and that writes nothing. With `at`, such loops
nested perfectly down to the body of the reduction; of that body it may need arithmetic, reductions, and loads from buffers that
nothing in `at` writes. Combines in another order, which depends on `size` alone. Returns the loop over the parts, the copies of
the loops from `at`, the one that reduces a part, then the one that combines the parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from ...dialects.loop.loops import PAIR_MONOIDS, ForOp, KernelOp, YieldOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.operations import clone
from ...dialects.scalar import ScalarBuilder
from ...dialects.scalar_ops import is_arithmetic
from ...dialects.types import memref
from ..analysis.nests import buffer_name, find, fresh, name_of, ops_in, perfect_band, walk
from ..widening.reduce import identity, starts_neutral
from .base import Primitive
from .rewriting import place_at_start, put_instead, replace_index


def _needed(loop: ForOp) -> list[Operation]:
    """The ops of the body around a loop that compute its operands, in order."""
    used = {operand for op in walk(loop) for operand in op.operands}
    found: list[Operation] = []
    op = loop.prev_op
    while op is not None:
        if any(result in used for result in op.results):
            found.append(op)
            used.update(operand for inner in walk(op) for operand in inner.operands)
        op = op.prev_op
    return found[::-1]


def _effects(root: Operation) -> list[Operation]:
    """The ops inside another that are more than arithmetic, loads and loops."""
    harmless = ForOp | LoadOp | YieldOp
    return [op for op in walk(root) if not isinstance(op, harmless) and not is_arithmetic(op)]


def _counts(loop: ForOp) -> int | None:
    """The trip count of a loop that counts from 0 by 1 to a constant."""
    bounds = loop.constant_bounds()
    return bounds[1] if bounds is not None and bounds[0] == 0 and loop.step.value.data == 1 else None


@dataclass(frozen=True)
class Rfactor(Primitive):
    """Reduce parts of `size` iterations each, as a parallel loop, and combine them.

    Attributes:
        loop: the reduction.
        size: iterations in a part.
        at: the parallel loop before which all parts are reduced; by default the reduction itself.
    """

    name = "loop-rfactor"

    loop: str
    size: int
    at: str | None = None

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if loop.kind.data != "reduce":
            raise self.refuse(f"only a reduce loop has parts to combine, {self.loop} is {loop.kind.data}")
        trips = _counts(loop)
        if trips is None:
            raise self.refuse(f"{self.loop} does not count from 0 by 1 to a constant")
        if self.size < 1 or trips % self.size or trips <= self.size:
            raise self.refuse(
                f"the {trips} iterations of {self.loop} are not several parts of {self.size}: peel the rest first"
            )
        for op in _effects(loop):
            raise self.refuse(f"'{op.name}' in {self.loop} is more than arithmetic and loads")
        if self.at is not None:
            self._check_band(kernel, loop, self.at)

    def _check_band(self, kernel: KernelOp, loop: ForOp, at: str) -> None:
        for around in self._band(kernel, loop):
            if around.kind.data != "parallel":
                raise self.refuse(f"{name_of(around)} is no parallel loop")
            if _counts(around) is None:
                raise self.refuse(f"{name_of(around)} does not count from 0 by 1 to a constant")
        needed = _needed(loop)
        for op in needed:
            for inner in _effects(op):
                raise self.refuse(f"{self.loop} needs what '{inner.name}' gives, which has effects and cannot be repeated")
        written = {op.buffer for op in ops_in(find(kernel, at, self.name), StoreOp)}
        for op in (*needed, loop):
            for inner in walk(op):
                if isinstance(inner, LoadOp) and inner.buffer in written:
                    raise self.refuse(f"{buffer_name(inner.buffer)} is read by {self.loop} and written in {at}")

    def _band(self, kernel: KernelOp, loop: ForOp) -> list[ForOp]:
        """The loops from `at` to the one around the reduction."""
        if self.at is None:
            return []
        outer, around = find(kernel, self.at, self.name), loop.parent_op()
        band = perfect_band(outer, around) if isinstance(around, ForOp) else None
        if band is None:
            raise self.refuse(f"the loops from {self.at} to {self.loop} are not nested perfectly")
        return band

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        band = self._band(kernel, loop)
        parts = (_counts(loop) or 0) // self.size
        names: list[str] = []
        for wanted in (f"{self.loop}o", *map(name_of, band), f"{self.loop}i", self.loop):
            names.append(wanted if wanted == self.loop else fresh(kernel, wanted, names))
        top = Block()
        over, *copies, part = self._partial(loop, band, parts, names, top)
        shape = [parts, *(_counts(around) or 0 for around in band)]
        buffers = [
            AllocOp.build_alloc("scratch", memref(result.type, shape), name=fresh(kernel, f"{self.loop}_parts", names))
            for result in loop.results
        ]
        indices = [over.index, *(copy.index for copy in copies)]
        inside, last = part.parent, None if part.parent is None else part.parent.last_op
        assert inside is not None and last is not None
        for result, buffer in zip(part.results, buffers, strict=True):
            store = StoreOp.build_store(result, buffer.buffer, AffineMap.identity(len(indices)), indices)
            inside.insert_op_before(store, last)
        for op in (*buffers, over):
            op.location = loop.location
        home = band[0] if band else loop
        block = home.parent
        assert block is not None
        block.insert_ops_before([*buffers, over], home)
        for inner in [op for op in ops_in(over, ForOp) if op not in (over, *copies, part)]:
            inner.index.name_hint = fresh(kernel, inner.index.name_hint or "i", names)
        constants = list(top.ops)
        for op in constants:
            op.detach()
        place_at_start(constants, kernel.body.block)
        combined = _combined(loop, [buffer.buffer for buffer in buffers], [around.index for around in band], parts)
        put_instead(loop, [combined], combined.results)
        return tuple(names)

    def _partial(self, loop: ForOp, band: list[ForOp], parts: int, names: list[str], top: Block) -> list[ForOp]:
        """The nest that reduces the parts: the loop over them, copies of the band, the reduction of a part."""
        values: dict[SSAValue, SSAValue] = {}
        made = [ForOp.build_loop(0, parts, kind="parallel", name=names[0])]
        for around, name in zip(band, names[1:], strict=False):
            made.append(ForOp.build_loop(0, _counts(around) or 0, kind="parallel", name=name))
            values[around.index] = made[-1].index
        inside = made[-1].body.block
        inside.add_ops([clone(op, values) for op in _needed(loop)] if band else [])
        part = loop.clone(values)
        builder, monoid = ScalarBuilder(top, loop.location), _monoid(loop)
        if monoid not in PAIR_MONOIDS or starts_neutral(loop):  # a pair combined with itself is unchanged
            inits = [builder.const(identity(monoid, k, init.type), init.type) for k, init in enumerate(loop.inits)]
            part.operands = inits
        part.properties["upper"] = AffineMapAttr(AffineMap(0, 0, (AffineConstantExpr(self.size),)))
        index = AffineExpr.dimension(0) * self.size + AffineExpr.dimension(1)
        replace_index(part.index, index, [made[0].index, part.index], part.body.block, loop.location)
        part.index.name_hint = names[-2]
        for new in made:
            new.location = loop.location
        inside.add_op(part)
        for outer, inner in itertools.pairwise(made):
            outer.body.block.add_op(inner)
        for new in made:
            new.body.block.add_op(YieldOp.create())
        return [*made, part]


def _combined(loop: ForOp, buffers: Sequence[SSAValue], indices: Sequence[SSAValue], parts: int) -> ForOp:
    """The loop that combines the parts of one iteration of the band, from the initial value of the reduction."""
    combined = ForOp.build_loop(0, parts, kind="reduce", monoid=_monoid(loop), inits=loop.inits, name=loop.index.name_hint)
    combined.location = loop.location
    at = [combined.index, *indices]
    loads = [LoadOp.build_load(buffer, AffineMap.identity(len(at)), at) for buffer in buffers]
    combined.body.block.add_ops([*loads, YieldOp.create(operands=[load.value for load in loads])])
    return combined


def _monoid(loop: ForOp) -> str:
    assert loop.monoid is not None
    return loop.monoid.data

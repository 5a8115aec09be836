"""Run `factor` iterations of a loop at once, jammed in the loops inside it.

    before                                  after loop-unroll-and-jam{loop=i factor=2}
    loop.for parallel %i = 0 to 64 {        loop.for parallel %io = 0 to 64 step 2 {
      %s = loop.for reduce<add> %k            %s, %s1 = loop.for reduce<add> %k
          = 0 to %K init %z {                     = 0 to %K init %z, %z {
        %a = loop.load %x[%i, %k]               %a = loop.load %x[%io, %k]
        loop.yield %a                           %b = loop.load %x[%io + 1, %k]
      }                                         loop.yield %a, %b
      loop.store %s, %y[%i]                   }
    }                                         loop.store %s, %y[%io]
                                              loop.store %s1, %y[%io + 1]
                                            }

Loop-invariant ops are computed once; inner loops have the carried values of all copies. In a perfect nest the inner part of the
split loop becomes the innermost loop instead, of kind `unroll`. Iterations that fill no tile stay in a separate loop.

Requires inner loops whose bounds are invariant in the loop. Legal when no two of `factor` neighbouring iterations touch one
element, one of them writing; in a perfect nest, when none that are interchanged do. Returns the outer loop, in a perfect nest
then the unrolled one, then the remainder loop if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import PAIR_MONOIDS, ForOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp, CheckOp, LoadOp, StoreOp
from ...dialects.operations import append, clone, create, ops_of
from ..analysis.bounds import too_much_code
from ..analysis.dependence import CannotDecide, carried_conflict
from ..analysis.nests import FreshNames, find, holds, is_inside, name_of, only_loop_in, ops_in, walk
from .base import Primitive
from .cloning import subscripts
from .peel import can_peel, peel_loop
from .reorder import CHANGED, objection, rearrange
from .rewriting import on_original, put_instead, replace_index, replaced_subscripts
from .split import split_loop
from .unroll import unroll_loop


def inner_band(loop: ForOp) -> list[ForOp] | None:
    """The loop and those inside it when they nest perfectly down to a body without loops."""
    band = [loop]
    while (following := only_loop_in(band[-1])) is not None:
        band.append(following)
    holds_loops = holds(band[-1].body.block, ForOp, WhileOp)
    return None if holds_loops or band[-1].results else band


def jammed_loops(block: Block) -> list[ForOp]:
    """The loops in a block whose copies are jammed: those not under a condition."""
    found: list[ForOp] = []
    for op in ops_of(block):
        if isinstance(op, ForOp):
            found += [op, *jammed_loops(op.body.block)]
    return found


def moves_on(loop: ForOp) -> bool:
    """Whether every buffer that a loop writes has a dim along which each iteration is disjoint from the others.

    A proof by subscripts alone, for most loops: the dependence analysis tests every pair of accesses.
    """
    outside = [op for op in ops_in(loop, LoadOp, StoreOp) if not is_inside(op.buffer, loop)]
    others = holds(loop, GatherOp, ScatterOp)
    written = {op.buffer for op in outside if isinstance(op, StoreOp)}
    return not others and all(_moves_on([op for op in outside if op.buffer is buffer], loop) for buffer in written)


def _moves_on(accesses: Sequence[LoadOp | StoreOp], loop: ForOp) -> bool:
    """Whether in some dim the subscripts of all accesses differ by less than one iteration advances them."""
    at = [subscripts(op) for op in accesses]
    for dim, form in enumerate(at[0]):
        still = all(value is loop.index or not is_inside(value, loop) for value in form.values())
        if not still or not form.is_linear:
            continue
        starts = [number for other in at if (number := (other[dim] - form).number) is not None]
        if len(starts) < len(at):
            continue
        ahead = [(op.lanes - 1) * op.lane_step() if op.lane_dim() == dim else 0 for op in accesses]
        low = min(start + min(0, lanes) for start, lanes in zip(starts, ahead, strict=True))
        high = max(start + max(0, lanes) for start, lanes in zip(starts, ahead, strict=True))
        if high - low < abs(form.terms.get(loop.index, 0)) * loop.step.value.data:
            return True
    return False


_OWN = {AllocOp, StoreOp, ScatterOp, CheckOp}
"""The ops that are copied even if all copies compute the same."""


@dataclass
class _Jam:
    """Copies the body of a loop of a static number of iterations from 0, statement by statement."""

    kernel: KernelOp
    loop: ForOp
    copies: int
    values: list[dict[SSAValue, SSAValue]] = field(default_factory=list)
    differing: set[SSAValue] = field(default_factory=set)
    """The values that differ between the copies."""

    def run(self) -> None:
        # each copy has a separate index, which becomes a constant at the end
        indices = Block(arg_types=[IndexType()] * self.copies)
        self.values = [{self.loop.index: index} for index in indices.args]
        self.differing.add(self.loop.index)
        target = Block()
        self.block(self.loop.body.block, target)
        ops = list(target.ops)
        for op in ops:
            op.detach()
        home = self.loop.parent
        assert home is not None
        put_instead(self.loop, ops, [])
        for index in reversed(indices.args):
            index.name_hint = self.name
            replace_index(index, self.numbers[index.index], [], home)

    def __post_init__(self) -> None:
        step, self.name = self.loop.step.value.data, self.loop.index.name_hint
        self.numbers = [AffineConstantExpr(k * step) for k in range(self.copies)]
        self.fresh = FreshNames(self.kernel)

    def varies(self, op: Operation) -> bool:
        """Whether the copies of an op differ."""
        ops = walk(op) if op.regions else (op,)
        return any(type(inner) in _OWN or not self.differing.isdisjoint(inner._operands) for inner in ops)

    def block(self, source: Block, target: Block) -> None:
        for op in ops_of(source):
            if isinstance(op, YieldOp):
                continue
            varies = self.varies(op)
            if varies and isinstance(op, ForOp):
                self.side_by_side(op, target)
            elif varies:
                self.differing.update(op.results)
                for k, new in enumerate(self.copies_of(op)):
                    append(target, new)
                    if k:
                        self.rename(new)
            else:
                first = self.values[0]
                append(target, clone(op, first))
                for values in self.values[1:]:
                    values.update({old: first[old] for old in op.results})

    def copies_of(self, op: Operation) -> Iterator[Operation]:
        """The op of each copy, whose number is substituted in subscripts at once."""
        if op.regions:
            yield from [clone(op, values) for values in self.values]
            return
        index, types = self.loop.index, [result._type for result in op.results]
        numbered = op if isinstance(op, LoadOp | StoreOp) and index in op.indices else None
        operands: Sequence[SSAValue] = op._operands
        properties: Mapping[str, Attribute] = op.properties
        for number, values in zip(self.numbers, self.values, strict=True):
            if numbered is not None:
                operands, changes, _ = replaced_subscripts(numbered, index, number, [])
                properties = {**op.properties, **changes}
            new = create(
                type(op),
                operands=[values.get(operand, operand) for operand in operands],
                result_types=types,
                properties=properties,
                attributes=op.attributes,
                location=op.location,
            )
            for old, result in zip(op.results, new.results, strict=True):
                values[old], result._name = result, old._name
            yield new

    def rename(self, new: Operation) -> None:
        """Give loops and buffers unique names."""
        for op in ops_in(new, ForOp, AllocOp):
            named = op.index if isinstance(op, ForOp) else op.buffer
            if named.name_hint is not None:
                named.name_hint = self.fresh.of(named.name_hint)

    def side_by_side(self, op: ForOp, target: Block) -> None:
        """A loop with the carried values of all copies; all copies of one value are adjacent."""
        first = self.values[0]
        inits = [values.get(init, init) for init in op.inits for values in self.values]
        arguments = op.body.block.args
        body = Block(arg_types=[IndexType(), *(a.type for a in arguments[1:] for _ in self.values)])
        body.args[0].name_hint = arguments[0].name_hint
        self.differing.update(arguments[1:], op.results)
        for k, values in enumerate(self.values):
            values[arguments[0]] = body.args[0]
            for argument, copy in zip(arguments[1:], body.args[1 + k :: self.copies], strict=True):
                values[argument] = copy
                copy.name_hint = argument.name_hint
        self.block(op.body.block, body)
        body.add_op(YieldOp.create(operands=[values.get(v, v) for v in op.yielded for values in self.values]))
        new = ForOp.build_loop(
            (op.lower.data, [first.get(v, v) for v in op.lower_operands]),
            (op.upper.data, [first.get(v, v) for v in op.upper_operands]),
            step=op.step.value.data,
            kind=op.kind.data,
            monoid=op.monoid.data if op.monoid is not None else None,
            inits=inits,
            body=body,
        )
        new.location, new.dynamic = op.location, op.dynamic
        target.add_op(new)
        for k, values in enumerate(self.values):
            for old, result in zip(op.results, new.results[k :: self.copies], strict=True):
                values[old] = result
                result.name_hint = old.name_hint


@dataclass(frozen=True)
class UnrollAndJam(Primitive):
    """Run `factor` iterations of `loop` at once, jammed in the loops inside."""

    name = "loop-unroll-and-jam"
    loop: str
    factor: int

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if self.factor < 2:
            raise self.refuse(f"the factor must be 2 or more, got {self.factor}")
        if (reason := too_much_code(loop, self.factor)) is not None:
            raise self.refuse(f"{reason}; give a smaller factor")
        if loop.results:
            raise self.refuse(f"{self.loop} carries values from one iteration to the next")
        for inner in jammed_loops(loop.body.block):
            for value in (*inner.lower_operands, *inner.upper_operands):
                of_loop = isinstance(value.owner, Block) and isinstance(value.owner.parent_op(), ForOp)
                if value is loop.index or (is_inside(value, loop) and not of_loop):
                    raise self.refuse(f"the bounds of {name_of(inner)} may change with {self.loop}")
        if inner_band(loop) is not None:
            self._check_perfect(kernel)
            return
        for inner in jammed_loops(loop.body.block):
            if inner.monoid is not None and inner.monoid.data in PAIR_MONOIDS:
                raise self.refuse(f"{name_of(inner)} reduces by {inner.monoid.data}, which takes one value at a time")
        if not can_peel(loop, size=self.factor):
            raise self.refuse(f"the bounds of {self.loop} are several expressions: full tiles cannot be split from the rest")
        if moves_on(loop):
            return
        try:
            conflict = carried_conflict(loop, within=self.factor)
        except CannotDecide as error:
            raise self.refuse(f"cannot decide: {error}") from None
        if conflict is not None:
            raise self.refuse(f"iterations that would run at once touch one element: {conflict}", conflict)

    def _check_perfect(self, kernel: KernelOp) -> None:
        copy = kernel.clone()
        outer, inner = split_loop(copy, find(copy, self.loop, self.name), self.loop, self.factor)
        band = inner_band(inner)
        assert band is not None
        found = objection(band, [*band[1:], inner])
        if found is None:
            return
        reason, conflict = found
        if conflict is not None:
            conflict = on_original(conflict, copy, kernel, {self.loop: (name_of(outer), name_of(inner))})
            reason = f"{CHANGED}{conflict}"
        raise self.refuse(reason, conflict)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        fills = (loop.trip_count() or 1) % self.factor == 0
        is_perfect, peels = inner_band(loop) is not None, not fills and can_peel(loop, size=self.factor)
        outer, inner = split_loop(kernel, loop, self.loop, self.factor)
        rest = peel_loop(outer)[1] if peels else None
        left: Sequence[str] = () if rest is None else (name_of(rest),)
        if not is_perfect:
            _Jam(kernel, inner, self.factor).run()
            return (name_of(outer), *left)
        band = inner_band(inner)
        assert band is not None
        rearrange(band, [*band[1:], inner])
        return (name_of(outer), name_of(unroll_loop(kernel, inner)), *left)

"""Loop nests of graph ops that no equation describes: scans, scatters, windows with padding, blocked composites.

Such an op writes its loop form itself, in `GraphOp.nest(b)`, with the builder below. Index points are affine expressions over
the open loops, so that elements of an operand are pulled through the equations of its producers as everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..codegen.targets import Target
from ..dialects.loop.loops import ForOp, IfOp, WhileOp, YieldOp
from ..dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ..dialects.scalar import ScalarBuilder
from ..dialects.sizes.polynomial import Size
from ..dialects.types import memref
from .target import target_of

if TYPE_CHECKING:
    from ..dialects.graph.base import GraphOp
    from .fusion_to_loops import KernelEmitter


@dataclass(eq=False)
class Loop:
    """An open loop: its index for points, its carried values, and after its end its results."""

    index: AffineExpr
    carried: Sequence[SSAValue]
    results: Sequence[SSAValue] = ()
    given: Sequence[SSAValue] = field(default=(), repr=False)

    def give(self, *values: SSAValue) -> None:
        """Yield values from an iteration: the next carried values, or the contribution to a reduce loop."""
        self.given = values


class NestBuilder:
    """Writes loops into the kernel that an emitter builds.

        with b.loop(n) as i, b.loop(m, "reduce", monoid="add", inits=[b.scalar.const(0.0, f32)]) as j:
            j.give(b.read(0, [i.index, j.index]))

    Attributes:
        results: the buffers of the op's results, to `load` from and `store` to; `write` stores by number.
    """

    def __init__(self, emitter: KernelEmitter, op: GraphOp):
        self.emitter = emitter
        self.op = op
        self.results: Sequence[SSAValue] = emitter.targets

    @property
    def target(self) -> Target:
        """The target, for lanes of vectors."""
        return target_of(self.emitter.module)

    @property
    def scalar(self) -> ScalarBuilder:
        """Scalar arithmetic at the insertion point."""
        builder = self.emitter.levels[-1].builder
        builder.location = self.op.location
        return builder

    @contextmanager
    def loop(
        self,
        size: AffineExpr | int | Sequence[AffineExpr | int],
        kind: str = "parallel",
        *,
        lower: AffineExpr | int | Sequence[AffineExpr | int] = 0,
        step: int = 1,
        monoid: str | None = None,
        inits: Sequence[SSAValue] = (),
    ) -> Iterator[Loop]:
        """A loop from `lower` to `size`, the maximum and the minimum of several; both may depend on the loops around it.

        `seq` loops carry `inits`; `reduce` loops combine what they yield with `monoid`.
        """
        emitter = self.emitter
        bounds = [emitter.access(_exprs(bound)) for bound in (lower, size)]
        depth = len(emitter.indices)
        block, index = emitter.open_loop([] if kind == "reduce" else [value.type for value in inits])
        opened = Loop(index, block.args[1:])
        yield opened
        emitter.insert(YieldOp.create(operands=list(opened.given)))
        emitter.close_to(depth)
        made = ForOp.build_loop(*bounds, step=step, kind=kind, monoid=monoid, inits=inits, body=block)
        made.location = self.op.location
        emitter.insert(made)
        opened.results = made.results

    def drop_empty_loop(self) -> None:
        """Remove the loop that was written last if nothing is done in it."""
        last = self.emitter.levels[-1].block.last_op
        if isinstance(last, ForOp) and len(last.body.block.ops) == 1:
            last.detach()
            last.erase()

    @contextmanager
    def when(self, condition: SSAValue) -> Iterator[None]:
        """Ops built inside run only where an i1 scalar holds."""
        emitter = self.emitter
        then = Block()
        depth = emitter.open_branch(then)
        yield
        emitter.insert(YieldOp.create())
        emitter.close_branch(depth)
        made = IfOp.create(operands=[condition], regions=[Region(then), Region()])
        made.location = self.op.location
        emitter.insert(made)

    def either(
        self, condition: SSAValue | None, then: Callable[[], Sequence[SSAValue]], otherwise: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """`then()` where an i1 scalar holds, computed only there, else `otherwise`; no condition always holds."""
        if condition is None:
            return then()
        emitter = self.emitter
        blocks = Block(), Block()
        depth = emitter.open_branch(blocks[0], guards=True)
        emitter.insert(YieldOp.create(operands=list(then())))
        emitter.close_branch(depth)
        blocks[1].add_op(YieldOp.create(operands=list(otherwise)))
        types = [value.type for value in otherwise]
        made = IfOp.create(operands=[condition], result_types=types, regions=[Region(block) for block in blocks])
        made.location = self.op.location
        emitter.insert(made)
        return made.results

    def branches(
        self,
        condition: SSAValue,
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
        types: Sequence[Attribute],
    ) -> Sequence[SSAValue]:
        """The values of `then()` where an i1 scalar holds, else those of `otherwise()`; each writes only what it computes."""
        emitter, blocks = self.emitter, (Block(), Block())
        for block, write in zip(blocks, (then, otherwise), strict=True):
            depth = emitter.open_branch(block, guards=bool(types))
            emitter.insert(YieldOp.create(operands=list(write())))
            emitter.close_branch(depth)
        regions = [Region(block) if types or block is blocks[0] or len(block.ops) > 1 else Region() for block in blocks]
        made = IfOp.create(operands=[condition], result_types=types, regions=regions)
        made.location = self.op.location
        emitter.insert(made)
        return made.results

    def repeat(
        self, condition: SSAValue, inits: Sequence[SSAValue], body: Callable[[Sequence[SSAValue]], Sequence[SSAValue]]
    ) -> Sequence[SSAValue]:
        """The last carried values of a loop while a condition holds: first `condition`, then the first value of `body`."""
        emitter = self.emitter
        made = WhileOp.build_loop(condition, inits)
        made.location = self.op.location
        block = made.body.block
        depth = emitter.open_branch(block, guards=True)
        emitter.insert(YieldOp.create(operands=list(body(block.args))))
        emitter.close_branch(depth)
        emitter.insert(made)
        return made.results

    def kernel(self) -> None:
        """The loops of the kernel that the op's class names (`OpFacts.kernels`)."""
        from .kernel_nest import write_kernel

        write_kernel(self, self.op)

    def index_of(self, position: SSAValue) -> AffineExpr:
        """A computed `index` value as a part of points, until the loop around it closes. Such accesses are indirect."""
        return self.emitter.open_value(position)

    def position(self, expr: AffineExpr | int) -> SSAValue:
        """The `index` value of an affine expression of the open loops."""
        return self.emitter.index_value(_expr(expr))

    def read(self, operand: int, point: Sequence[AffineExpr | int]) -> SSAValue:
        """The element of an operand of the op at a point."""
        return self.emitter.pull(self.op.operands[operand], tuple(map(_expr, point)))

    def write(self, value: SSAValue, point: Sequence[AffineExpr | int], result: int = 0) -> None:
        """Store an element of a result, or the value that the fusion computes from it."""
        if self.emitter.follows(self.op):
            self.emitter.store_following(value, self.op.results[result], tuple(map(_expr, point)))
        else:
            self.store(value, self.results[result], point)

    def local(self, shape: Sequence[int], element: Attribute, space: str = "stack", name: str | None = None) -> SSAValue:
        """A local buffer of the innermost open loop; its contents start undefined."""
        sizes = [self.emitter.size_value(size) for size in shape if isinstance(size, Size)]
        alloc = AllocOp.build_alloc("scratch" if sizes else space, memref(element, tuple(shape)), sizes, name=name)
        self.emitter.insert(alloc)
        return alloc.buffer

    def load(self, buffer: SSAValue, point: Sequence[AffineExpr | int]) -> SSAValue:
        """The current element of a local buffer or a result."""
        map, indices = self.emitter.access(tuple(_expr(e) for e in point))
        return self.scalar.insert(LoadOp.build_load(buffer, map, indices))

    def store(self, value: SSAValue, buffer: SSAValue, point: Sequence[AffineExpr | int]) -> None:
        """Store into a local buffer or a result."""
        map, indices = self.emitter.access(tuple(_expr(e) for e in point))
        op = StoreOp.build_store(value, buffer, map, indices)
        op.location = self.op.location
        self.emitter.insert(op)


def _exprs(values: AffineExpr | int | Sequence[AffineExpr | int]) -> tuple[AffineExpr, ...]:
    return (_expr(values),) if isinstance(values, AffineExpr | int | Size) else tuple(map(_expr, values))


def _expr(value: AffineExpr | int | Size) -> AffineExpr:
    return value if isinstance(value, AffineExpr) else AffineConstantExpr(value)  # pyright: ignore[reportArgumentType]

"""Tapes: local arrays that keep a value of the forward run for each iteration of the loops around it.

A tape is made where a block runs forward and then backward. It has a dim for each loop between that block and the value, as
long as the loop may run: for bounds that depend on other such loops, in the worst case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.loop.loops import ForOp
from ...dialects.loop.memory import AllocOp, StoreOp
from ...dialects.types import DYNAMIC, i64, memref, numpy_dtype
from ...dialects.types import index as index_type
from ..analysis.affine import Affine, as_map, forms
from .activity import refusal
from .copies import index_value, load
from .slopes import SlopeBuilder

if TYPE_CHECKING:
    from .adjoints import Frame

_STACK_BYTES = 1 << 12
"""Larger arrays are scratch memory."""


class Tapes:
    """Makes tapes for values while blocks run backward.

    Attributes:
        frames: those of the blocks that run backward, outermost first.
    """

    def __init__(self, frames: list[Frame]):
        self.frames = frames

    def allocated(
        self, b: SlopeBuilder, element: Attribute, sizes: Sequence[Affine], name: str, before: Operation | None = None
    ) -> SSAValue:
        """A local array, made at the end of a block or before an op in it."""
        known = [DYNAMIC if size.number is None else max(size.number, 0) for size in sizes]
        scratch = Block()
        inner = SlopeBuilder(scratch, b.location)
        dynamic = [size for size in sizes if size.number is None]
        given = [inner.binary("max", index_value(inner, size), inner.const(0, index_type)) for size in dynamic]
        bytes_ = numpy_dtype(element).itemsize
        for size in known:
            bytes_ *= max(size, 1)
        space = "scratch" if DYNAMIC in known or bytes_ > _STACK_BYTES else "stack"
        inner.insert_op(op := AllocOp.build_alloc(space, memref(element, known), given, name))
        for made in list(scratch.ops):
            made.detach()
            if before is None:
                b.insert_op(made)
            else:
                b.block.insert_op_before(made, before)
        return op.buffer

    def kept(self, value: SSAValue, frame: int) -> SSAValue:
        """A value of the forward run of the block with a frame."""
        home = next(k for k in reversed(range(frame + 1)) if self.frames[k].is_whole)
        whole, between = self.frames[home], self.frames[home + 1 : frame + 1]
        loops = [loop for f in between if isinstance(loop := f.old.parent_op(), ForOp)]
        box = self._box(loops, whole, home)
        top = self._top(value, whole.old)
        copied = whole.values[value]
        maker = whole.values.get(top.results[0]) if top.results else None
        before = maker.owner if maker is not None else self._copy_of(top, whole)
        assert isinstance(before, Operation)
        known = self._known(whole, home)
        lows = [low.substitute(known) for low, _ in box.values()]
        sizes = [(high - low + 1).substitute(known) for low, high in box.values()]
        element = i64 if value.type == index_type else value.type
        name = f"{(value.name_hint or 'value').split('.')[0].rstrip('_0123456789') or 'value'}tape"
        tape = self.allocated(whole.b, element, sizes, name, before)
        self._record(copied, tape, [Affine.of(whole.values[loop.index]) - low for loop, low in zip(loops, lows, strict=True)])
        b = self.frames[frame].b
        indices = [self._index(loop) - low for loop, low in zip(loops, lows, strict=True)]
        found = load(b, tape, indices)
        return b.convert(found, index_type) if value.type == index_type else found

    def _index(self, loop: ForOp) -> Affine:
        return next(f.indices[loop.index] for f in self.frames if loop.index in f.indices)

    def _record(self, copied: SSAValue, tape: SSAValue, subscripts: Sequence[Affine]) -> None:
        """Store a value of the forward run as soon as it is there."""
        owner = copied.owner
        block = owner if isinstance(owner, Block) else owner.parent
        assert block is not None
        scratch = Block()
        b = SlopeBuilder(scratch)
        value = b.convert(copied, i64) if copied.type == index_type else copied
        b.insert_op(StoreOp.build_store(value, tape, *as_map(subscripts)))
        anchor = None if isinstance(owner, Block) else owner
        for made in list(scratch.ops):
            made.detach()
            if anchor is not None:
                block.insert_op_after(made, anchor)
            elif block.first_op is not None:
                block.insert_op_before(made, block.first_op)
            anchor = made

    def _top(self, value: SSAValue, block: Block) -> Operation:
        """The op of a block that a value is defined in."""
        op = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
        while op is not None and op.parent is not block:
            op = op.parent_op()
        assert op is not None
        return op

    def _copy_of(self, op: Operation, whole: Frame) -> Operation:
        """The copy, in the forward run, of an op of its block without results."""
        inner = next(a for region in op.regions for block in region.blocks for a in _defined(block))
        found = whole.values[inner].owner
        made = found.parent_op() if isinstance(found, Block) else found
        while made is not None and made.parent is not whole.b.block:
            made = made.parent_op()
        assert made is not None
        return made

    def _known(self, whole: Frame, home: int) -> Mapping[SSAValue, Affine]:
        """Values outside of the loops, in the new kernel."""
        found: dict[SSAValue, Affine] = {}
        blocks = {frame.old for frame in self.frames[: home + 1]}
        for frame in self.frames[: home + 1]:
            for old, new in frame.values.items():
                block = old.owner if isinstance(old.owner, Block) else old.owner.parent
                if new.type == index_type and block in blocks:  # not in a loop of the forward run
                    found[old] = Affine.of(new)
            found.update(frame.indices)
        return found

    def _box(self, loops: Sequence[ForOp], whole: Frame, home: int) -> dict[ForOp, tuple[Affine, Affine]]:
        """The least and the greatest index of each loop, over values from outside of all of them."""
        known = self._known(whole, home)
        ends: dict[SSAValue, tuple[Affine, Affine]] = {}
        found: dict[ForOp, tuple[Affine, Affine]] = {}
        for loop in loops:
            low = self._extreme(loop, forms(loop.lower.data, loop.lower_operands)[0], ends, known, False)
            high = self._extreme(loop, forms(loop.upper.data, loop.upper_operands)[0], ends, known, True)
            found[loop] = ends[loop.index] = low, high - 1
        return found

    def _extreme(
        self,
        loop: ForOp,
        form: Affine,
        ends: Mapping[SSAValue, tuple[Affine, Affine]],
        known: Mapping[SSAValue, Affine],
        greatest: bool,
    ) -> Affine:
        total = Affine.of(form.constant)
        for atom, c in form.terms.items():
            part = Affine({atom: c})
            if isinstance(atom, SSAValue) and atom in ends:
                part = ends[atom][(c > 0) == greatest] * c
            elif any(value not in known for value in part.values()):
                raise refusal(
                    loop,
                    "reverse mode keeps values of this loop, and how often it may run depends on data",
                    "bound the loop by a size and put a condition inside",
                )
            total = total + part
        return total


def _defined(block: Block) -> list[SSAValue]:
    """The values that a block defines, those of nested blocks included."""
    found: list[SSAValue] = list(block.args)
    for op in block.ops:
        found += op.results
        for region in op.regions:
            for inner in region.blocks:
                found += _defined(inner)
    return found

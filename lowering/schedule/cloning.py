"""Clones of loops, accesses redirected to another buffer, and recomputed expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp, YieldOp
from ...dialects.loop.memory import AllocOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.scalar import ScalarBuilder, scalar_attribute
from ..analysis.affine import Affine, as_map, forms
from ..analysis.nests import FreshNames, fresh, name_of
from ..analysis.regions import lowers, uppers

Values = dict[SSAValue, Affine]
"""The expressions that replace index values."""


def subscripts(op: LoadOp | StoreOp | PrefetchOp) -> list[Affine]:
    """The subscripts of an access."""
    return forms(op.map.data, op.indices)


def is_vector(op: LoadOp | StoreOp) -> bool:
    return isinstance(op.element_type_(), VectorType)


def load_of(like: Operation, buffer: SSAValue, at: Sequence[Affine], name: str | None = None) -> LoadOp:
    """A load of one element, with the source location of another op."""
    op = LoadOp.build_load(buffer, *as_map(at))
    op.location, op.value.name_hint = like.location, name
    return op


def store_of(like: Operation, value: SSAValue, buffer: SSAValue, at: Sequence[Affine]) -> StoreOp:
    """A store of one element, with the source location of another op."""
    op = StoreOp.build_store(value, buffer, *as_map(at))
    op.location = like.location
    return op


def redirect(op: LoadOp | StoreOp, buffer: SSAValue, at: Sequence[Affine]) -> None:
    """Replace an access by one of another buffer; lanes go along the same dim as before, under the same mask."""
    block = op.parent_block()
    assert block is not None
    map, operands = as_map(at)
    along, stride = (op.lane_dim() if is_vector(op) else None), op.lane_step()
    if isinstance(op, LoadOp):
        lanes = op.lanes if is_vector(op) else None
        new = LoadOp.build_load(buffer, map, operands, lanes=lanes, along=along, stride=stride, mask=op.mask)
        new.value.name_hint = op.value.name_hint
        block.insert_op_before(new, op)
        op.value.replace_all_uses_with(new.value)
    else:
        new = StoreOp.build_store(op.value, buffer, map, operands, along=along, stride=stride, mask=op.mask)
        block.insert_op_before(new, op)
    new.location, new.attributes = op.location, dict(op.attributes)
    remove(op)


def remove(op: Operation) -> None:
    """Detach an op without users from its block."""
    op.detach()
    op.erase()


def loop_like(loop: ForOp, name: str, values: Values, like: Operation | None = None) -> ForOp:
    """An empty loop with the bounds of another; `values` maps the old variable to the new one."""
    body = Block(arg_types=[IndexType()])
    kind = "seq" if loop.kind.data in ("reduce", "vector") else loop.kind.data
    new = ForOp.build_loop(
        as_map([form.substitute(values) for form in lowers(loop)]),
        as_map([form.substitute(values) for form in uppers(loop)]),
        step=loop.step.value.data,
        kind=kind,
        body=body,
        name=name,
    )
    new.location, new.dynamic = (like or loop).location, loop.dynamic if kind == "parallel" else None
    values[loop.index] = Affine.of(new.index)
    return new


def fill(loop: ForOp, ops: Sequence[Operation]) -> ForOp:
    """Give an empty loop its body."""
    loop.body.block.add_ops([*ops, YieldOp.create()])
    return loop


def zero(kernel: KernelOp, type: Attribute) -> SSAValue:
    """The constant 0 of a type, at the top of the kernel; an existing one is moved there."""
    block = kernel.body.block
    value = scalar_attribute(0.0, type)
    for op in block.ops:
        if isinstance(op, arith.ConstantOp) and op.value == value and not str(op.value).startswith("-"):
            break
    else:
        home = Block()
        ScalarBuilder(home, kernel.location).const(0, type).name_hint = fresh(kernel, "zero")
        op = home.first_op
    assert op is not None
    result = op.results[0]
    op.detach()
    if block.first_op is None:
        block.add_op(op)
    else:
        block.insert_op_before(op, block.first_op)
    return result


@dataclass
class Copier:
    """Copies ops into a block, with values replaced: index values by expressions, others by values.

    Subscripts and bounds take expressions directly; where the value of an index is needed elsewhere, it is computed.
    """

    kernel: KernelOp
    indices: Values
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)
    """Names of the new loops and local buffers."""

    def __post_init__(self) -> None:
        self._fresh = FreshNames(self.kernel, self.taken)

    def copy(self, op: Operation, target: Block) -> Operation:
        """Append a copy of an op."""
        if isinstance(op, LoadOp | StoreOp | PrefetchOp):
            new = self._access(op)
        elif isinstance(op, ForOp):
            new = self._loop(op, target)
        else:
            operands = [self.operand(operand, target, op) for operand in op.operands]
            mapped = dict(zip(op.operands, operands, strict=True))
            new = op.clone_without_regions(mapped)
            if isinstance(op, AllocOp) and op.buffer.name_hint is not None:
                self.taken.append(self._fresh.of(op.buffer.name_hint))
            for old, region in zip(op.regions, new.regions, strict=True):
                for block in old.blocks:
                    region.add_block(self._block(block))
        target.add_op(new)
        new.location = op.location
        for old, result in zip(op.results, new.results, strict=True):
            self._replace(old, result)
            result.name_hint = self.taken[-1] if isinstance(op, AllocOp) and old.name_hint else old.name_hint
        return new

    def _access(self, op: LoadOp | StoreOp | PrefetchOp) -> Operation:
        map, operands = as_map([form.substitute(self.indices) for form in subscripts(op)])
        buffer = self.values.get(op.buffer, op.buffer)
        if isinstance(op, PrefetchOp):
            return PrefetchOp.build_prefetch(buffer, map, operands)
        along, stride = (op.lane_dim() if is_vector(op) else None), op.lane_step()
        mask = None if op.mask is None else self.values.get(op.mask, op.mask)
        if isinstance(op, LoadOp):
            lanes = op.lanes if is_vector(op) else None
            return LoadOp.build_load(buffer, map, operands, lanes=lanes, along=along, stride=stride, mask=mask)
        value = self.values.get(op.value, op.value)
        return StoreOp.build_store(value, buffer, map, operands, along=along, stride=stride, mask=mask)

    def _loop(self, op: ForOp, target: Block) -> ForOp:
        name = self._fresh.of(name_of(op))
        self.taken.append(name)
        inits = [self.operand(value, target, op) for value in op.inits]
        body = Block(arg_types=[argument.type for argument in op.body.block.args])
        body.args[0].name_hint = name
        for old, new in zip(op.body.block.args[1:], body.args[1:], strict=True):
            self._replace(old, new)
            new.name_hint = old.name_hint
        bounds = [as_map([form.substitute(self.indices) for form in bound(op)]) for bound in (lowers, uppers)]
        self.indices[op.index] = Affine.of(body.args[0])
        for inner in op.body.block.ops:
            self.copy(inner, body)
        made = ForOp.build_loop(
            *bounds,
            step=op.step.value.data,
            kind=op.kind.data,
            monoid=None if op.monoid is None else op.monoid.data,
            inits=inits,
            body=body,
        )
        made.dynamic = op.dynamic
        return made

    def _block(self, block: Block) -> Block:
        new = Block(arg_types=[argument.type for argument in block.args])
        for old, argument in zip(block.args, new.args, strict=True):
            self._replace(old, argument)
            argument.name_hint = old.name_hint
        for op in block.ops:
            self.copy(op, new)
        return new

    def _replace(self, old: SSAValue, new: SSAValue) -> None:
        """A value of the copy that may appear in subscripts and bounds."""
        self.values[old] = new
        if isinstance(new.type, IndexType):
            self.indices[old] = Affine.of(new)

    def operand(self, value: SSAValue, target: Block, like: Operation) -> SSAValue:
        """The value of the copy that replaces one; an index that is an expression is computed at the end of the block."""
        if value in self.values or value not in self.indices:
            return self.values.get(value, value)
        return computed(self.indices[value], ScalarBuilder(target, like.location))


def computed(form: Affine, builder: ScalarBuilder) -> SSAValue:
    """The value of a linear expression, by arithmetic on index values."""
    if form.value is not None:
        return form.value
    assert form.is_linear
    total: SSAValue | None = None
    for atom, c in form.terms.items():
        assert isinstance(atom, SSAValue)
        term = atom if c == 1 else builder.mul(atom, builder.const(c, IndexType()))
        total = term if total is None else builder.add(total, term)
    if total is None or form.constant:
        constant = builder.const(form.constant, IndexType())
        total = constant if total is None else builder.add(total, constant)
    return total


def discard(block: Block) -> None:
    """Erase detached ops."""
    for op in reversed(list(block.ops)):
        op.detach()
        op.erase(safe_erase=False)

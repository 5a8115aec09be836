"""Copies of the ops of a kernel into another one, their values replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.kernel import KernelOp
from ...dialects.loop.loops import ForOp, YieldOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.loop.shapes import NumberedShape, shapes_attribute
from ...dialects.operations import append
from ...dialects.types import index as index_type
from ..analysis.affine import Affine, as_map, forms
from .slopes import SlopeBuilder

Indices = Mapping[SSAValue, Affine]


def copy(op: Operation, values: dict[SSAValue, SSAValue], block: Block) -> Operation:
    """Append a copy of an op, nested ops included, with its location; results are entered into `values`."""
    new = op.clone(values)
    for old, made in zip(op.walk(), new.walk(), strict=True):
        made.location = old.location
        for a, b in zip(old.results, made.results, strict=True):
            values[a] = b
        for region, other in zip(old.regions, made.regions, strict=True):
            for one, two in zip(region.blocks, other.blocks, strict=True):
                values.update(zip(one.args, two.args, strict=True))
    append(block, new)
    return new


def at(map: AffineMap, indices: Sequence[SSAValue], new: Indices) -> list[Affine]:
    """The subscripts or bounds of an op, with index values replaced."""
    return [form.substitute(new) for form in forms(map, indices)]


def load(b: SlopeBuilder, buffer: SSAValue, subscripts: Sequence[Affine]) -> SSAValue:
    return b.insert(LoadOp.build_load(buffer, *as_map(subscripts)))


def store(b: SlopeBuilder, value: SSAValue, buffer: SSAValue, subscripts: Sequence[Affine]) -> StoreOp:
    op = StoreOp.build_store(value, buffer, *as_map(subscripts))
    if b.location is not None:
        op.location = b.location
    append(b.block, op)
    return op


def index_value(b: SlopeBuilder, form: Affine) -> SSAValue:
    """An affine expression as an index value."""
    if (value := form.value) is not None:
        return value
    total: SSAValue | None = None
    for atom, c in form.terms.items():
        if isinstance(atom, SSAValue):
            term = atom
        else:
            word = {"FloorDiv": "floordiv"}.get(atom.kind.name)
            assert word is not None, atom.kind
            term = b.binary(word, index_value(b, atom.x), index_value(b, atom.y))
        term = term if c == 1 else b.mul(term, b.const(c, index_type))
        total = term if total is None else b.add(total, term)
    if total is None:
        return b.const(form.constant, index_type)
    return b.add(total, b.const(form.constant, index_type)) if form.constant else total


def fill(b: SlopeBuilder, buffer: SSAValue, sizes: Sequence[Affine], value: SSAValue | None = None) -> None:
    """Loops that set all elements of a buffer: to a number, or to the elements of another buffer of that shape."""
    _fill(b, buffer, sizes, value, [])


def _fill(b: SlopeBuilder, buffer: SSAValue, sizes: Sequence[Affine], value: SSAValue | None, indices: list[Affine]) -> None:
    type = buffer.type
    assert isinstance(type, MemRefType)
    if len(indices) == len(sizes):
        if value is not None and isinstance(value.type, MemRefType):
            element = load(b, value, indices)
        else:
            element = b.const(0, type.element_type) if value is None else value
        store(b, element, buffer, indices)
        return
    name = f"{(buffer.name_hint or 'fill').rstrip('_0123456789')}{'xyzuvw'[len(indices) % 6]}"
    loop = ForOp.build_loop(0, as_map([sizes[len(indices)]]), name=name)
    _fill(SlopeBuilder(loop.body.block, b.location), buffer, sizes, value, [*indices, Affine.of(loop.index)])
    append(loop.body.block, YieldOp.create())
    b.insert_op(loop)


@dataclass(frozen=True)
class NewParameter:
    """A parameter of a derived kernel: one with the type, and the shape, of an argument of the first kernel, or a number."""

    name: str
    like: BlockArgument
    type: Attribute | None = None
    """Its type, if that is another: then one without symbolic sizes."""


def derived_kernel(kernel: KernelOp, name: str, parameters: Sequence[NewParameter]) -> tuple[KernelOp, list[BlockArgument]]:
    """An empty kernel with these parameters and the sizes of another; and the arguments for the parameters, then sizes."""
    taken: set[str] = {a.name_hint or "" for a in kernel.index_arguments}
    arguments: list[tuple[str, Attribute]] = []
    shapes: list[NumberedShape] = []
    given = kernel.given_shapes()
    for k, parameter in enumerate(parameters):
        unique = parameter.name
        while unique in taken:
            unique += "b"
        taken.add(unique)
        arguments.append((unique, parameter.like.type if parameter.type is None else parameter.type))
        if parameter.type is None and parameter.like in given:
            shapes.append((k, *given[parameter.like]))
    arguments += [(a.name_hint or "size", a.type) for a in kernel.index_arguments]
    new = KernelOp.build_kernel(name, arguments, shapes)
    new.location = kernel.location
    return new, list(new.body.block.args)


def drop_arguments(kernel: KernelOp, dropped: Sequence[BlockArgument]) -> None:
    """Remove parameters that are not used."""
    block = kernel.body.block
    symbols = kernel.index_arguments
    shapes = [(a, *shape) for a, shape in kernel.given_shapes().items() if a not in dropped]
    for argument in dropped:
        block.erase_arg(argument)
    arguments = list(block.args)
    numbered = [(arguments.index(a), sizes, strides) for a, sizes, strides in shapes]  # pyright: ignore[reportArgumentType]
    if numbered:
        kernel.properties["shapes"] = shapes_attribute(numbered, len(symbols))
    else:
        kernel.properties.pop("shapes", None)

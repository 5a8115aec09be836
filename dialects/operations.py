"""The base of our ops, and functions that create, copy and append any op in a third of the time of xDSL's methods.

Compiling a network makes tens of thousands of ops and asks each a hundred questions. xDSL 0.74 sets the operands of an op
through a property, looks up defaults of properties in the definition of the op each time, sets operands of a copy twice, and
finds named operands through two more calls. What is shorter here does the same (tests/dialects/test_operations.py compares). It
belongs to our classes and to our callers: ops of other packages keep xDSL's methods. `xdsl_patches.py` lists what is replaced
in xDSL itself.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Self, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.ir.core import SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef
from xdsl.irdl.operations import BeforeVariadicSingleAccessor, VarIRConstruct

_Op = TypeVar("_Op", bound=Operation)


class _Named(BeforeVariadicSingleAccessor):
    """A named operand, result or region, read where it is kept."""

    def __get__(self, obj: Any, objtype: Any = None) -> Any:
        construct = self.construct
        if construct is VarIRConstruct.OPERAND:
            return tuple.__getitem__(obj._operands, self.idx)
        if construct is VarIRConstruct.RESULT:
            return tuple.__getitem__(obj.results, self.idx)
        if construct is VarIRConstruct.REGION:
            return obj.regions[self.idx]
        return super().__get__(obj, objtype)


class _OpType(ABCMeta):
    """The type of our classes of ops: whether a value is an instance, its type alone says."""

    __instancecheck__ = type.__instancecheck__

    def __setattr__(cls, name: str, value: Any) -> None:
        if type(value) is BeforeVariadicSingleAccessor:  # what `irdl_op_definition` sets
            value = _Named(value.construct, value.idx)
        super().__setattr__(name, value)


class BaseOp(IRDLOperation, metaclass=_OpType):
    """The base of the ops of our dialects."""

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = {},
        attributes: Mapping[str, Attribute] = {},
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        return create(
            cls,
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
            location=location,
            successors=successors,
            regions=regions,
        )

    def clone(
        self,
        value_mapper: dict[SSAValue, SSAValue] | None = None,
        block_mapper: dict[Block, Block] | None = None,
        *,
        clone_name_hints: bool = True,
        clone_operands: bool = True,
    ) -> Self:
        return clone(self, value_mapper, block_mapper, clone_name_hints=clone_name_hints, clone_operands=clone_operands)


def create(
    cls: type[_Op],
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    attributes: Mapping[str, Attribute] = {},
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> _Op:
    """What `cls.create` of xDSL makes."""
    op = cls.__new__(cls)
    op._operands = values = SSAValues(operands)
    if values:
        op._operand_uses = _used_by(op, values)
    op.results = SSAValues([OpResult(type, op, k) for k, type in enumerate(result_types)]) if result_types else _NONE
    op.properties, op.attributes = dict(properties), dict(attributes) if attributes else {}
    op.location = UNKNOWN_LOC if location is None else location
    if successors:
        op.successors = list(successors)
    for region in regions:
        op.add_region(region)
    defaults = _defaults(cls)
    if defaults is None:
        op.__post_init__()
    elif defaults:
        for is_property, name, value in defaults:
            (op.properties if is_property else op.attributes).setdefault(name, value)
    return op


_NONE: SSAValues[Any] = SSAValues(())

_use: Any = Use.__new__


def _used_by(op: Operation, values: SSAValues) -> tuple[Use, ...]:
    """The uses of values by an op that has them as operands from now on."""
    uses: list[Use] = []
    for k, value in enumerate(values):
        use = _use(Use)  # what its `__init__` and `add_use` do, which are 0.4 us a call
        following = value.first_use
        use._operation, use._index, use._prev_use, use._next_use = op, k, None, following
        if following is not None:
            following._prev_use = use
        value.first_use = use
        uses.append(use)
    return tuple(uses)


@cache
def _defaults(cls: type[Operation]) -> tuple[tuple[bool, str, Attribute], ...] | None:
    """The properties, and the attributes, of a class of ops that have a default: (whether a property, name, value).

    None of a class that completes its ops in its own way.
    """
    if not issubclass(cls, IRDLOperation) or cls.__post_init__ is not IRDLOperation.__post_init__:
        return None
    definition = cls.get_irdl_definition()
    return tuple(
        (members is definition.properties, name, member.default_value)
        for members in (definition.properties, definition.attributes)
        for name, member in members.items()
        if not isinstance(member, OptionalDef) and member.default_value is not None
    )


def append(block: Block, op: Operation) -> None:
    """Append an op without regions, which stands in no block, to a block."""
    if op.regions or op.parent is not None:
        block.add_op(op)  # which refuses a second block, and a block inside of the op
        return
    _link(block, op)


def _link(block: Block, op: Operation) -> None:
    op.parent, last = block, block._last_op
    if last is None:
        block._first_op = op
    else:
        last._next_op, op._prev_op = op, last
    block._last_op = op


def ops_of(block: Block) -> Iterator[Operation]:
    """The ops of a block, as `block.ops` iterates over them: an op may be detached when it was given."""
    op = block._first_op
    while op is not None:
        following = op._next_op
        yield op
        op = following


# Copies


def clone(
    op: _Op,
    values: dict[SSAValue, SSAValue] | None = None,
    blocks: dict[Block, Block] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> _Op:
    """What `op.clone` of xDSL makes: a copy with its regions, over the values and blocks that the dicts give for others.

    The dicts get what stands in the op and its copy.
    """
    values, blocks = {} if values is None else values, {} if blocks is None else blocks
    outside: list[tuple[Operation, int, SSAValue]] = []
    new = _copied(op, values, blocks, clone_name_hints, outside if clone_operands else None)
    for copy, k, operand in outside:  # results may stand after their first use
        if operand in values:
            copy.operands[k] = values[operand]
    return new


def _copied(
    op: _Op,
    values: dict[SSAValue, SSAValue],
    blocks: dict[Block, Block],
    names: bool,
    outside: list[tuple[Operation, int, SSAValue]] | None,
) -> _Op:
    """A copy of an op; `outside` gets the operands that have no copy yet, or is None where copies have no operands."""
    cls = type(op)
    if not _is_copied_here(cls):
        new = op.clone(values, blocks, clone_name_hints=names, clone_operands=outside is not None)
        if outside is not None:
            outside += [(inner, k, operand) for inner in new.walk() for k, operand in enumerate(inner._operands)]
        return new
    operands = () if outside is None else [values.get(operand, operand) for operand in op._operands]
    new = create(
        cls,
        operands=operands,
        result_types=[result._type for result in op.results],
        attributes=op.attributes,
        properties=op.properties,
        location=op.location,
        successors=[blocks.get(successor, successor) for successor in op._successors] if op._successors else (),
        regions=[Region() for _ in op.regions] if op.regions else (),
    )
    if outside is not None:
        outside += [(new, k, operand) for k, operand in enumerate(op._operands) if operands[k] is operand]
    for result, made in zip(op.results, new.results, strict=True):
        values[result] = made
        if names:
            made._name = result._name
    for region, made in zip(op.regions, new.regions, strict=True):
        _copy_blocks(region, made, values, blocks, names, outside)
    return new


def _copy_blocks(
    region: Region,
    made: Region,
    values: dict[SSAValue, SSAValue],
    blocks: dict[Block, Block],
    names: bool,
    outside: list[tuple[Operation, int, SSAValue]] | None,
) -> None:
    sources = list(region.blocks)
    copies = [Block(arg_types=[argument._type for argument in source._args]) for source in sources]
    blocks.update(zip(sources, copies, strict=True))
    for copy in copies:
        made.add_block(copy)
    for source, copy in zip(sources, copies, strict=True):
        for argument, copied in zip(source._args, copy._args, strict=True):
            values[argument], copied.location = copied, argument.location
            if names:
                copied._name = argument._name
        inner = source._first_op
        while inner is not None:
            copied = _copied(inner, values, blocks, names, outside)
            _link(copy, copied)
            inner = inner._next_op


@cache
def _is_copied_here(cls: type[Operation]) -> bool:
    """Whether a class of ops has no way of its own to create or copy them."""
    creates, clones = cls.create.__func__, cls.clone  # pyright: ignore[reportFunctionMemberAccess]
    return creates in _CREATE and clones in (Operation.clone, BaseOp.clone)


_CREATE = (Operation.create.__func__, BaseOp.create.__func__)  # pyright: ignore[reportFunctionMemberAccess]

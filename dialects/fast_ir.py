"""xDSL's most frequent operations on IR, without what they do in vain: the same results in a third of the time.

Compiling a network makes tens of thousands of ops and asks each a hundred questions, and a third of that time went to Python
that xDSL 0.74 runs around them: hashes that are Python functions, iterators and views that are dataclasses, defaults of
properties looked up by going through the definition of the op, clones whose operands are set twice. `install` replaces these
methods, once; tests/dialects/test_fast_ir.py compares them with xDSL's.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Data, Operation, OpResult, ParametrizedAttribute, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr
from xdsl.ir.core import BlockOps, IRWithName, OpOperands, RegionBlocks, SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef
from xdsl.irdl.operations import BeforeVariadicSingleAccessor, VarIRConstruct, get_op_constructs
from xdsl.traits import SymbolOpInterface, SymbolTable


def install() -> None:
    """Replace the methods in this process. May be called any number of times."""
    for by_identity in (SSAValue, Operation, IRDLOperation, Block, Region):
        for name in ("__hash__", "__eq__"):
            setattr(by_identity, name, getattr(object, name))
    for (cls, name), function in REPLACED.items():
        setattr(cls, name, function)
    for root in (Operation, Attribute, SSAValue, AffineExpr):
        _let_types_answer(root)


class _TypesAnswer(ABCMeta):
    """Of classes that no other class pretends to derive from: whether a value is an instance, its type alone says."""

    __instancecheck__ = type.__instancecheck__


def _let_types_answer(cls: type) -> None:
    if type(cls) is ABCMeta:
        cls.__class__ = _TypesAnswer
    for derived in cls.__subclasses__():
        _let_types_answer(derived)


# Sequences


def _item(values: SSAValues, index: Any) -> Any:
    found = tuple.__getitem__(values, index)
    return SSAValues(found) if type(found) is tuple else found


def _ops(ops: BlockOps) -> Iterator[Operation]:
    op = ops.block._first_op
    while op is not None:
        following = op._next_op  # it may be detached meanwhile
        yield op
        op = following


def _blocks(blocks: RegionBlocks) -> Iterator[Block]:
    block = blocks._region.first_block
    while block is not None:
        following = block._next_block
        yield block
        block = following


# Ops


def _init(
    self: Operation,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    attributes: Mapping[str, Attribute] = {},
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    self._operands = values = SSAValues(operands)
    if values:
        self._operand_uses = _used_by(self, values)
    self.results = SSAValues([OpResult(type, self, k) for k, type in enumerate(result_types)]) if result_types else _NONE
    self.properties, self.attributes = dict(properties), dict(attributes) if attributes else {}
    self.location = UNKNOWN_LOC if location is None else location
    if successors:
        self.successors = list(successors)
    for region in regions:
        self.add_region(region)
    if type(self) not in _WITHOUT_DEFAULTS:
        self.__post_init__()


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


def _drop_uses(op: Operation) -> None:
    for value, use in zip(op._operands, op._operand_uses, strict=False):  # an op whose references are dropped has no uses
        before, following = use._prev_use, use._next_use
        if following is not None:
            following._prev_use = before
        if before is not None:
            before._next_use = following
        else:
            value.first_use = following


def _set_operands(self: Operation, new: Sequence[SSAValue]) -> None:
    _drop_uses(self)
    self._operands = values = SSAValues(new)
    self._operand_uses = _used_by(self, values)


def _set_operand(operands: OpOperands, idx: int, operand: SSAValue) -> None:
    op = operands._op
    values, use = list(op._operands), op._operand_uses[idx]
    values[idx].remove_use(use)
    operand.add_use(use)
    values[idx] = operand
    op._operands = SSAValues(values)


def _replace_all_uses_with(self: SSAValue, value: SSAValue) -> None:
    if value is self:
        return
    use = self.first_use
    while use is not None:
        op, following = use._operation, use._next_use
        values = list(op._operands)
        values[use._index] = value
        op._operands = SSAValues(values)
        value.add_use(use)
        use = following
    self.first_use = None
    if value._name is None:
        value.name_hint = self._name


_erase_value: Any = SSAValue.erase


def _erase(self: SSAValue, safe_erase: bool = True) -> None:
    if self.first_use is not None:
        _erase_value(self, safe_erase)


def _drop_all_references(self: Operation) -> None:
    self.parent = None
    _drop_uses(self)
    self._operand_uses = ()
    if self._successors:
        for successor, use in zip(self._successors, self._successor_uses, strict=False):
            successor.remove_use(use)
        self._successor_uses = self._successors = ()
    for region in self.regions:
        region.drop_all_references()


@cache
def _defaults(cls: type[IRDLOperation]) -> tuple[tuple[bool, str, Attribute], ...]:
    """The properties, and the attributes, of a class of ops that have a default: (whether a property, name, value)."""
    definition = cls.get_irdl_definition()
    return tuple(
        (members is definition.properties, name, member.default_value)
        for members in (definition.properties, definition.attributes)
        for name, member in members.items()
        if not isinstance(member, OptionalDef) and member.default_value is not None
    )


_WITHOUT_DEFAULTS: set[type] = set()
"""Classes of ops for which there is nothing to do after `__init__`."""


def _post_init(self: IRDLOperation) -> None:
    cls = type(self)
    if not _defaults(cls) and cls.__post_init__ is _post_init:
        _WITHOUT_DEFAULTS.add(cls)
    for is_property, name, value in _defaults(cls):
        (self.properties if is_property else self.attributes).setdefault(name, value)


def _named(self: BeforeVariadicSingleAccessor, obj: Operation, objtype: object = None) -> Any:
    construct = self.construct
    if construct is VarIRConstruct.REGION:
        return obj.regions[self.idx]
    if construct is VarIRConstruct.OPERAND:
        return tuple.__getitem__(obj._operands, self.idx)
    if construct is VarIRConstruct.RESULT:
        return tuple.__getitem__(obj.results, self.idx)
    return self.index(get_op_constructs(obj, construct))


def _block_init(self: Block, ops: Iterable[Operation] = (), *, arg_types: Iterable[Attribute] = ()) -> None:
    self._args = tuple([BlockArgument(type, self, k, UNKNOWN_LOC) for k, type in enumerate(arg_types)])
    self._first_op = self._last_op = None
    for op in ops:
        self.add_op(op)


def _add_op(self: Block, operation: Operation) -> None:
    _attach(self, operation)
    last = self._last_op
    if last is None:
        self._first_op = operation
    else:
        last._next_op, operation._prev_op = operation, last
    self._last_op = operation


def _attach(self: Block, operation: Operation) -> None:
    if operation.parent is not None:
        raise ValueError("Can't add to a block an operation already attached to a block.")
    if operation.regions and operation.is_ancestor(self):
        raise ValueError("Can't add an operation to a block contained in the operation.")
    operation.parent = self


def _lookup_symbol(op: Operation, name: str | StringAttr | SymbolRefAttr) -> Operation | None:
    anchor: Operation | None = op
    while anchor is not None and not anchor.has_trait(SymbolTable):
        anchor = anchor.parent_op()
    if anchor is None:
        raise ValueError(f"Operation {op} has no SymbolTable ancestor")
    root = name if isinstance(name, str) else (name.root_reference if isinstance(name, SymbolRefAttr) else name).data
    for found in anchor.regions[0].block.ops:
        symbol = found.properties.get("sym_name") or found.attributes.get("sym_name")
        if type(symbol) is StringAttr and symbol.data == root and found.has_trait(SymbolOpInterface):
            nested = name.nested_references.data if isinstance(name, SymbolRefAttr) else ()
            return _lookup_symbol(found, SymbolRefAttr(nested[0], nested[1:])) if nested else found
    return None


# Attributes


@cache
def _is_attribute(cls: type) -> bool:
    return issubclass(cls, Data | ParametrizedAttribute)


@cache
def _is_checked(cls: type[Attribute]) -> bool:
    """Whether attributes of a class have anything to verify."""
    return cls.verify is not Attribute.verify or cls._verify is not Attribute._verify


def _attribute_post_init(self: Attribute) -> None:
    cls = type(self)
    if _is_checked(cls):
        self._verify()
    if not _is_attribute(cls):
        raise TypeError("Attributes should only be Data or ParametrizedAttribute")


def _shape(self: Any) -> tuple[int, ...]:
    known = self.__dict__
    if "_sizes" not in known:
        known["_sizes"] = tuple([size.data for size in self.shape.data])
    return known["_sizes"]


def _numbers(self: Any) -> tuple[Any, ...]:
    known = self.__dict__
    if "_numbers" not in known:
        known["_numbers"] = self.elt_type.unpack(self.data.data, len(self))
    return known["_numbers"]


def _hashed_once(cls: type) -> Any:
    """The hash of immutable objects, as the class computes it, kept in them: keys of caches and of equal values."""
    computed: Any = cls.__hash__

    def kept(self: Any) -> int:
        known = self.__dict__
        found = known.get("_hash")
        if found is None:
            found = known["_hash"] = computed(self)
        return found

    return kept


_KEYS = (
    AffineBinaryOpExpr,
    AffineMap,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
    VectorType,
)

# Affine expressions


def _replaced(self: AffineExpr, new_dims: Sequence[AffineExpr], new_symbols: Sequence[AffineExpr]) -> AffineExpr:
    if isinstance(self, AffineBinaryOpExpr):
        lhs, rhs = _replaced(self.lhs, new_dims, new_symbols), _replaced(self.rhs, new_dims, new_symbols)
        return AffineExpr.binary(self.kind, lhs, rhs)
    if isinstance(self, AffineDimExpr) and self.position < len(new_dims):
        return new_dims[self.position]
    if isinstance(self, AffineSymExpr) and self.position < len(new_symbols):
        return new_symbols[self.position]
    return self


def _used_dims(self: AffineExpr) -> set[int]:
    if isinstance(self, AffineDimExpr):
        return {self.position}
    return _used_dims(self.lhs) | _used_dims(self.rhs) if isinstance(self, AffineBinaryOpExpr) else set()


# Clones


def _clone(
    self: Operation,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> Operation:
    values = {} if value_mapper is None else value_mapper
    blocks = {} if block_mapper is None else block_mapper
    outside: list[tuple[Operation, int, SSAValue]] = []
    new = _copied(self, values, blocks, clone_name_hints, outside if clone_operands else None)
    for op, k, operand in outside:  # results may stand after their first use
        if operand in values:
            op.operands[k] = values[operand]
    return new


def _copied(
    op: Operation,
    values: dict[SSAValue, SSAValue],
    blocks: dict[Block, Block],
    names: bool,
    outside: list[tuple[Operation, int, SSAValue]] | None,
) -> Operation:
    """A copy of an op; `outside` gets the operands that have no copy yet, or is None where copies have no operands."""
    operands = () if outside is None else [values.get(operand, operand) for operand in op._operands]
    new = type(op).create(
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
            for inner in source.ops:
                copy.add_op(_copied(inner, values, blocks, names, outside))
    return new


_MEMBERS = (
    (IRWithName, "name_hint", "_name"),
    (SSAValue, "type", "_type"),
    (OpResult, "owner", "op"),
    (BlockArgument, "owner", "block"),
    (Operation, "next_op", "_next_op"),
    (Operation, "prev_op", "_prev_op"),
    (Block, "args", "_args"),
    (Block, "first_op", "_first_op"),
    (Block, "last_op", "_last_op"),
    (Region, "first_block", "_first_block"),
)
"""Properties that read one member, and that member."""

REPLACED: Mapping[tuple[type, str], Any] = {
    (SSAValues, "__getitem__"): _item,
    (BlockOps, "__iter__"): _ops,
    (RegionBlocks, "__iter__"): _blocks,
    (OpOperands, "__setitem__"): _set_operand,
    (Operation, "__init__"): _init,
    (Operation, "operands"): property(vars(Operation)["operands"].fget, _set_operands),
    (Operation, "drop_all_references"): _drop_all_references,
    (Operation, "clone"): _clone,
    (SymbolTable, "lookup_symbol"): staticmethod(_lookup_symbol),
    (IRDLOperation, "__post_init__"): _post_init,
    (BeforeVariadicSingleAccessor, "__get__"): _named,
    (SSAValue, "replace_all_uses_with"): _replace_all_uses_with,
    (SSAValue, "erase"): _erase,
    (Block, "__init__"): _block_init,
    (Block, "add_op"): _add_op,
    (Block, "_attach_op"): _attach,
    (Attribute, "__post_init__"): _attribute_post_init,
    (TensorType, "get_shape"): _shape,
    (MemRefType, "get_shape"): _shape,
    (VectorType, "get_shape"): _shape,
    (DenseArrayBase, "get_values"): _numbers,
    (IRWithName, "extract_valid_name"): classmethod(lru_cache(maxsize=4096)(IRWithName.extract_valid_name.__func__)),
    (AffineExpr, "replace_dims_and_symbols"): _replaced,
    (AffineExpr, "used_dims"): _used_dims,
    (AffineExpr, "dimension"): staticmethod(cache(AffineDimExpr)),
    **{(cls, "__hash__"): _hashed_once(cls) for cls in _KEYS},
    **{(cls, name): property(attrgetter(member), vars(cls)[name].fset) for cls, name, member in _MEMBERS},
}

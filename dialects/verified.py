"""Verifying ops whose like was verified already: what many ops must satisfy follows from their class, types and attributes.

A module of 10,000 ops has few kinds of them. xDSL's verification of one takes 60 us, a look-up 3.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.traits import OpTrait

_OF_TYPES = ("SameOperandsAndResultType", "_HasCanonicalizationPatternsInterfaceTrait", "_HasFolderInterfaceTrait")
"""Traits that verify types, or that the class has what they promise."""

_F = TypeVar("_F", bound=Callable[..., None])


def by_types(verify: _F) -> _F:
    """Mark the `verify_` of a class that reads nothing but types, properties and attributes. Use it as a decorator."""
    verify.by_types = True  # pyright: ignore[reportFunctionMemberAccess]
    return verify


def _reads_types(trait: OpTrait) -> bool:
    """Whether a trait asks for nothing, or of the class and the types alone."""
    return type(trait).verify is OpTrait.verify or type(trait).__name__ in _OF_TYPES


@cache
def _is_by_types(cls: type[Operation]) -> bool:
    """Whether an op of a class is valid wherever one of the same types and attributes is."""
    if not issubclass(cls, IRDLOperation) or not all(map(_reads_types, cls.traits.traits)):
        return False
    verify: Any = cls.verify_
    cells = dict(zip(verify.__code__.co_freevars, verify.__closure__ or (), strict=True))  # as `irdl_op_definition` makes it
    if "op_def" not in cells:
        return False
    own = cells["custom_verify"].cell_contents if "custom_verify" in cells else None
    return own is None or own is Operation.verify_ or getattr(own, "by_types", False)


class Verified:
    """The kinds of ops that were found valid in one walk over IR, which does not change meanwhile."""

    def __init__(self) -> None:
        self._kinds: set[tuple[object, ...]] = set()

    def verify(self, op: Operation) -> None:
        """Verify an op, its regions aside.

        Raises:
            VerifyException, or whatever verifiers of foreign dialects raise: it is not valid.
        """
        block = op.parent
        if op.regions or op.successors or not _is_by_types(type(op)) or (block is not None and block.last_op is op):
            op.verify(verify_nested_ops=False)
            return
        types = (*[id(value.type) for value in op.operands], None, *[id(result.type) for result in op.results])
        kind = (type(op), *types)
        if op.properties or op.attributes:
            named = (*op.properties.items(), None, *op.attributes.items())
            kind = (*kind, *[None if item is None else (item[0], id(item[1])) for item in named])
        if kind not in self._kinds:
            op.verify(verify_nested_ops=False)
            self._kinds.add(kind)

"""Control flow of host functions: loops that call functions on alternating buffers, and calls of one of several functions.

loop.repeat         a counted loop
loop.repeat_while   a loop that runs while another function returns true
loop.branch         one of several functions
loop.call           one function
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IndexType,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..assembly import counted_call
from ..syntax import TextOp
from ..types import element_of, memref, shape_of
from .base import LoopOp
from .loops import segment_sizes

_INDEX = memref(i64, ())
_FLAG = memref(i1, ())
_MORE = " (temporaries(temporaries) sizes(sizes) counts [counts])? (arena(arena))?"
"""The end of the syntax of all these ops: the temporaries, sizes and arena of the called functions."""

Buffer = tuple[SSAValue, bool]
"""A buffer that a function gets, and whether the function gets a slice of it along the first dim."""


class HostCallOp(LoopOp, TextOp, ABC):
    """Base of the ops that call other host functions. The last operand may be an arena for the functions' own buffers.

    Functions with symbolic sizes need more operands, which precede the arena: the `temporaries` of all functions, then the
    `sizes` of all; `counts` has two numbers for each function, how many of both it takes.
    """

    TYPES: ClassVar[str] = "operands"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    if TYPE_CHECKING:
        arena: SSAValue | None

    @property
    @abstractmethod
    def callees(self) -> tuple[str, ...]:
        """The names of the functions."""

    @abstractmethod
    def buffers(self) -> list[list[Buffer]]:
        """The buffers that each function gets, in the order of `callees`, without temporaries and arena; of stacks, a slice."""

    def given(self) -> list[list[Attribute]]:
        """The types of the buffers that each function gets."""
        return [[_sliced(value) if is_slice else value.type for value, is_slice in given] for given in self.buffers()]

    @classmethod
    def _made(cls, properties: dict[str, Attribute], *groups: Sequence[SSAValue], memory: Sequence[SSAValue] = ()) -> Self:
        """The op on groups of operands and an arena, for functions without temporaries and sizes."""
        operands = [*(value for group in groups for value in group), *memory]
        segments = segment_sizes(*map(len, groups), 0, 0, len(memory))
        return cls.create(operands=operands, properties={**properties, **segments})

    @property
    def memory(self) -> SSAValue | None:
        """The memory for buffers of the functions, if it is planned."""
        sizes: Any = self.properties["operandSegmentSizes"]
        return self.operands[-1] if sizes.get_values()[-1] else None

    @property
    def more(self) -> list[tuple[Sequence[SSAValue], Sequence[SSAValue]]]:
        """For each function its temporaries and its sizes."""
        counts: Any = self.properties.get("counts")
        numbers = [0] * (2 * len(self.callees)) if counts is None else list(counts.get_values())
        segments: Any = self.properties["operandSegmentSizes"]
        *_, n_temporaries, n_sizes, n_arenas = segments.get_values()
        first = len(self.operands) - n_arenas - n_sizes - n_temporaries
        given, found = list(self.operands), list[tuple[Sequence[SSAValue], Sequence[SSAValue]]]()
        at, of_sizes = first, first + n_temporaries
        for n, m in zip(numbers[::2], numbers[1::2], strict=True):
            found.append((given[at : at + n], given[of_sizes : of_sizes + m]))
            at, of_sizes = at + n, of_sizes + m
        return found

    def with_more(self, more: Sequence[tuple[Sequence[SSAValue], Sequence[SSAValue]]]) -> HostCallOp:
        """The same with temporaries and sizes for each function."""
        segments: Any = self.properties["operandSegmentSizes"]
        *lengths, n_temporaries, n_sizes, n_arenas = segments.get_values()
        first = len(self.operands) - n_arenas - n_sizes - n_temporaries
        groups = [[v for t, _ in more for v in t], [v for _, s in more for v in s]]
        properties = {
            **self.properties,
            "counts": DenseArrayBase.from_list(i64, [len(part) for pair in more for part in pair]),
            **segment_sizes(*lengths, *map(len, groups), n_arenas),
        }
        operands = [*self.operands[:first], *groups[0], *groups[1], *self.operands[len(self.operands) - n_arenas :]]
        made = type(self).create(operands=operands, properties=properties, attributes=self.attributes)
        made.location = self.location
        return made

    def verify_counts(self) -> None:
        """Raise VerifyException unless `counts` divides temporaries and sizes among the functions."""
        counts: Any = self.properties.get("counts")
        segments: Any = self.properties["operandSegmentSizes"]
        *_, n_temporaries, n_sizes, _ = segments.get_values()
        numbers = [0, 0] * len(self.callees) if counts is None else list(counts.get_values())
        if len(numbers) != 2 * len(self.callees) or min(numbers, default=0) < 0:
            raise VerifyException(f"'{self.name}' op counts must be two numbers for each function, got {numbers}")
        if [sum(numbers[::2]), sum(numbers[1::2])] != [n_temporaries, n_sizes]:
            raise VerifyException(
                f"'{self.name}' op counts {numbers} must be of {n_temporaries} temporaries and {n_sizes} sizes"
            )

    def with_arena(self, arena: SSAValue) -> HostCallOp:
        """The same with memory for the functions' own buffers."""
        sizes: Any = self.properties["operandSegmentSizes"]
        properties = {**self.properties, **segment_sizes(*sizes.get_values()[:-1], 1)}
        made = type(self).create(operands=[*self.operands, arena], properties=properties, attributes=self.attributes)
        made.location = self.location
        return made


def _sliced(stack: SSAValue) -> Attribute:
    return memref(element_of(stack), shape_of(stack)[1:])


def _whole(values: Sequence[SSAValue]) -> list[Buffer]:
    return [(value, False) for value in values]


def _types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [value.type for value in values]


def _share_carried(op: HostCallOp, spare: int, carry: Sequence[SSAValue], pairs: Sequence[tuple[int, int]]) -> None:
    """Carry some values in one buffer instead of two; `spare` is the number of the first operand that is a second buffer."""
    for result, _ in pairs:
        op.operands[spare + result] = carry[result]


@irdl_op_definition
class RepeatOp(HostCallOp):
    """Call a host function `count` times, each time on the results of the call before.

    `carry` holds the carried values, before and after; `spare` is a second buffer for each, and the calls alternate
    between both, or it is the same buffer where the function may overwrite the value. `over` and `into` are stacks: call
    `i` reads slice `i` of the former and writes slice `i` of the latter. `index` is where `i` is stored for the function, which
    runs from 0, or with `reverse` from the last down to 0.

    ```mlir
    loop.repeat @step count 10 index(%i) consts(%w) carry(%h) spare(%t) over(%xs) into(%ys)
        : (memref<i64>, memref<4x4xf32>, memref<4xf32>, memref<4xf32>, memref<10x4xf32>, memref<10x4xf32>)
    ```

    (C1) There is a spare buffer of the same type for every carried value.
    (C2) The first dim of every stack is the count, which is a number where there are stacks.
    (C3) A count is a number that is not negative, or a memref<i64>, whose value is taken as 0 when it is negative.
    (C4) The function gets the sizes that it takes, and buffers of these (`sizes(%n) counts [0, 1]`).
    """

    name = "loop.repeat"
    SYNTAX: ClassVar[str] = (
        "@callee count #trips|$count ?reverse index(index) consts(consts) carry(carry) spare(spare) over(over) into(into)"
        + _MORE
    )
    callee = prop_def(FlatSymbolRefAttrConstr)
    trips = prop_def(IntegerAttr)
    reverse = opt_prop_def(UnitAttr)
    count = opt_operand_def(MemRefType)
    index = operand_def(MemRefType)
    consts = var_operand_def(MemRefType)
    carry = var_operand_def(MemRefType)
    spare = var_operand_def(MemRefType)
    over = var_operand_def(MemRefType)
    into = var_operand_def(MemRefType)
    temporaries = var_operand_def(MemRefType)
    sizes = var_operand_def(IndexType)
    arena = opt_operand_def(MemRefType)
    counts = opt_prop_def(DenseArrayBase.constr(i64))

    @staticmethod
    def make(
        callee: str,
        count: int | SSAValue,
        index: SSAValue,
        groups: Sequence[Sequence[SSAValue]],
        *,
        reverse: bool = False,
        arena: SSAValue | None = None,
    ) -> RepeatOp:
        """The op; `groups` are consts, carry, spare, over and into."""
        trips, dynamic = (count, []) if isinstance(count, int) else (-1, [count])
        memory = [] if arena is None else [arena]
        return RepeatOp._made(counted_call(callee, trips, reverse), dynamic, [index], *groups, memory=memory)

    @property
    def groups(self) -> list[Sequence[SSAValue]]:
        """Consts, carry, spare, over and into."""
        return [self.consts, self.carry, self.spare, self.over, self.into]

    @property
    def callees(self) -> tuple[str, ...]:
        return (self.callee.string_value(),)

    def buffers(self) -> list[list[Buffer]]:
        consts, carry, _, over, into = self.groups
        slices = [[(stack, True) for stack in stacks] for stacks in (over, into)]
        return [[*_whole([self.index, *consts, *carry]), *slices[0], *_whole(carry), *slices[1]]]

    @property
    def in_place(self) -> list[tuple[int, int]]:
        return [(k, 1 + len(self.consts) + k) for k in range(len(self.carry))]

    def share(self, pairs: Sequence[tuple[int, int]]) -> None:
        first = int(self.count is not None) + 1 + len(self.consts) + len(self.carry)
        _share_carried(self, first, self.carry, pairs)

    def verify_(self) -> None:
        self.verify_counts()
        trips = self.trips.value.data
        if (trips < 0) != (self.count is not None):  # C3
            raise VerifyException(f"'loop.repeat' op count must be a number that is not negative or a value, got {trips}")
        for name, value in (("count", self.count), ("index", self.index)):
            if value is not None and value.type != _INDEX:  # C3
                raise VerifyException(f"'loop.repeat' op {name} must be a memref<i64>, got {value.type}")
        if [v.type for v in self.carry] != [v.type for v in self.spare]:  # C1
            raise VerifyException("'loop.repeat' op needs a spare buffer of the same type for every carried value")
        for stack in (*self.over, *self.into):
            shape = shape_of(stack)
            if not shape or shape[0] != trips:  # C2
                raise VerifyException(f"'loop.repeat' op stacks need a first dim of the count {trips}, got {stack.type}")


@irdl_op_definition
class RepeatWhileOp(HostCallOp):
    """Call a host function while another one returns true, each time on the results of the call before.

    The condition stores into `flag` whether to continue. Both get the `consts` and the carried values; `carry` and `spare` are
    as in `loop.repeat`.

    ```mlir
    loop.repeat_while @going do @step flag(%f) consts(%w) carry(%h) spare(%t)
        : (memref<i1>, memref<4x4xf32>, memref<4xf32>, memref<4xf32>)
    ```

    (C1) There is a spare buffer of the same type for every carried value.
    (C2) The flag is a memref<i1>.
    """

    name = "loop.repeat_while"
    SYNTAX: ClassVar[str] = "@condition do @callee flag(flag) consts(consts) carry(carry) spare(spare)" + _MORE
    condition = prop_def(FlatSymbolRefAttrConstr)
    callee = prop_def(FlatSymbolRefAttrConstr)
    flag = operand_def(MemRefType)
    consts = var_operand_def(MemRefType)
    carry = var_operand_def(MemRefType)
    spare = var_operand_def(MemRefType)
    temporaries = var_operand_def(MemRefType)
    sizes = var_operand_def(IndexType)
    arena = opt_operand_def(MemRefType)
    counts = opt_prop_def(DenseArrayBase.constr(i64))

    @staticmethod
    def make(condition: str, callee: str, flag: SSAValue, groups: Sequence[Sequence[SSAValue]]) -> RepeatWhileOp:
        """The op; `groups` are consts, carry and spare."""
        properties: dict[str, Attribute] = {"condition": SymbolRefAttr(condition), "callee": SymbolRefAttr(callee)}
        return RepeatWhileOp._made(properties, [flag], *groups)

    @property
    def callees(self) -> tuple[str, ...]:
        return self.condition.string_value(), self.callee.string_value()

    def buffers(self) -> list[list[Buffer]]:
        read = [*self.consts, *self.carry]
        return [_whole([*read, self.flag]), _whole([*read, *self.carry])]

    @property
    def in_place(self) -> list[tuple[int, int]]:
        return [(k, len(self.consts) + k) for k in range(len(self.carry))]

    def share(self, pairs: Sequence[tuple[int, int]]) -> None:
        _share_carried(self, 1 + len(self.consts) + len(self.carry), self.carry, pairs)

    def verify_(self) -> None:
        self.verify_counts()
        if _types(self.carry) != _types(self.spare):  # C1
            raise VerifyException("'loop.repeat_while' op needs a spare buffer of the same type for every carried value")
        if self.flag.type != _FLAG:  # C2
            raise VerifyException(f"'loop.repeat_while' op flag must be a memref<i1>, got {self.flag.type}")


class CalledOnceOp(HostCallOp, ABC):
    """Base of the ops that call one function, once: it reads some buffers and writes others."""

    if TYPE_CHECKING:
        read: Sequence[SSAValue]
        into: Sequence[SSAValue]

    def buffers(self) -> list[list[Buffer]]:
        return [_whole([*self.read, *self.into]) for _ in self.callees]


@irdl_op_definition
class BranchOp(CalledOnceOp):
    """Call one of several host functions, by the number in `index`: below 0 the first, past the end the last.

    ```mlir
    loop.branch %k [@same, @twice] read(%x) into(%y) : (memref<i64>, memref<4xf32>, memref<4xf32>)
    ```

    (C1) There is a function, and two where the index is a memref<i1>.
    (C2) The index is a memref<i1> or a memref<i64>.
    """

    name = "loop.branch"
    SYNTAX: ClassVar[str] = "$index [@branches] read(read) into(into)" + _MORE
    branches = prop_def(ArrayAttr)
    index = operand_def(MemRefType)
    read = var_operand_def(MemRefType)
    into = var_operand_def(MemRefType)
    temporaries = var_operand_def(MemRefType)
    sizes = var_operand_def(IndexType)
    arena = opt_operand_def(MemRefType)
    counts = opt_prop_def(DenseArrayBase.constr(i64))

    @staticmethod
    def make(index: SSAValue, branches: Sequence[str], given: Sequence[SSAValue], into: Sequence[SSAValue]) -> BranchOp:
        """The op on the buffers that the functions read and write."""
        return BranchOp._made({"branches": _names(branches)}, [index], given, into)

    @property
    def callees(self) -> tuple[str, ...]:
        return tuple(name.string_value() for name in self.branches.data if isinstance(name, SymbolRefAttr))

    def verify_(self) -> None:
        self.verify_counts()
        n = len(self.branches.data)
        if self.index.type not in (_FLAG, _INDEX):  # C2
            raise VerifyException(f"'loop.branch' op index must be a memref<i1> or a memref<i64>, got {self.index.type}")
        if n == 0 or (self.index.type == _FLAG and n != 2):  # C1
            raise VerifyException(f"'loop.branch' op needs a function, and two for a memref<i1>, got {n}")


@irdl_op_definition
class CallOp(CalledOnceOp):
    """Call a host function.

    ```mlir
    loop.call @layer read(%x, %w) into(%y) : (memref<4xf32>, memref<4x4xf32>, memref<4xf32>)
    ```

    The function exists, and takes the buffers that it gets.
    """

    name = "loop.call"
    SYNTAX: ClassVar[str] = "@callee read(read) into(into)" + _MORE
    callee = prop_def(FlatSymbolRefAttrConstr)
    read = var_operand_def(MemRefType)
    into = var_operand_def(MemRefType)
    temporaries = var_operand_def(MemRefType)
    sizes = var_operand_def(IndexType)
    arena = opt_operand_def(MemRefType)
    counts = opt_prop_def(DenseArrayBase.constr(i64))

    @staticmethod
    def make(callee: str, given: Sequence[SSAValue], into: Sequence[SSAValue]) -> CallOp:
        """The op on the buffers that the function reads and writes."""
        return CallOp._made({"callee": SymbolRefAttr(callee)}, given, into)

    @property
    def callees(self) -> tuple[str, ...]:
        return (self.callee.string_value(),)

    def verify_(self) -> None:
        self.verify_counts()


def _names(branches: Sequence[str]) -> ArrayAttr:
    return ArrayAttr([SymbolRefAttr(name) for name in branches])

"""Loop nests by name: finding loops, unique names, perfect nests, and source locations of ops."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar, cast

from xdsl.dialects.builtin import FileLineColLoc, FusedLoc, MemRefType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp
from ...errors import ScheduleError
from .facts import at_first, forget, kept, known

_Op = TypeVar("_Op", bound=Operation)


def walk(root: Operation | Block) -> list[Operation]:
    """An op and all nested ops, or all ops in a block, in the order of `root.walk()` and in an eighth of its time."""
    return _collected(root, None)


def ops_in(root: Operation | Block, *types: type[_Op]) -> list[_Op]:
    """The ops of some types in an op or a block, including the op itself, in the order of the text.

    The types are exact: a negative `isinstance` takes ten times as long.
    """
    return cast("list[_Op]", _collected(root, types))


def _collected(root: Operation | Block, types: tuple[type[Operation], ...] | None) -> list[Operation]:
    facts = known(root)
    if facts is None:
        found: list[Operation] = []
        if type(root) is Block:
            _collect(root, found)
        else:
            op = cast("Operation", root)
            found.append(op)
            _enter(op, found)
    elif root not in facts.spans:
        found = [cast("Operation", root)]
    elif types is not None:
        key = _collected, root, types
        if key not in facts.answers:
            begin, end = facts.spans[root]
            facts.answers[key] = [op for op in facts.ops[begin:end] if type(op) in types]
        return facts.answers[key].copy()
    else:
        begin, end = facts.spans[root]
        return facts.ops[begin:end]
    return found if types is None else [op for op in found if type(op) in types]


def _enter(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region._first_block
        while block is not None:
            _collect(block, found)
            block = block._next_block


def _collect(block: Block, found: list[Operation]) -> None:
    op = block._first_op
    while op is not None:
        found.append(op)
        if op.regions:
            _enter(op, found)
        op = op._next_op


def holds(root: Operation | Block, *types: type[Operation]) -> bool:
    """Whether an op or a block contains an op of some types, including the op itself."""
    return bool(_collected(root, types))


def is_inside(value: SSAValue, loop: ForOp | WhileOp) -> bool:
    """Whether a value is defined in a loop."""
    block: Block | None = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while block is not None:
        if block is loop.body.block:
            return True
        parent = block.parent_op()
        block = parent.parent if parent is not None else None
    return False


@kept
def loops(kernel: Operation) -> dict[str, ForOp]:
    """The loops in an op by name, in the order of the text; a loop without a name is called `loop<k>` by its position."""
    found: dict[str, ForOp] = {}
    for k, op in enumerate(ops_in(kernel, ForOp)):
        name = op.index._name or f"loop{k}"
        if name not in found:
            found[name] = op
    return found


def name_of(loop: ForOp) -> str:
    """The name of a loop, as `loops` has it: that of its variable, else `loop<k>` by its position in the kernel."""
    if loop.index.name_hint:
        return loop.index.name_hint
    root: Operation = loop
    while not isinstance(root, KernelOp) and (parent := root.parent_op()) is not None:
        root = parent
    return next((name for name, op in loops(root).items() if op is loop), "?")


def find(kernel: KernelOp, name: str, step: str) -> ForOp:
    """The loop with a name.

    Raises:
        ScheduleError: there is none; the message lists the existing ones.
    """
    loop = at_first(loops, kernel).get(name)
    if loop is not None and loop.index._name == name and _is_in(loop, kernel):  # else the calling rewrite has changed it
        return loop
    named = loops(kernel)
    if name in named:
        return named[name]
    close = difflib.get_close_matches(name, named, 2)
    hint = f", did you mean {' or '.join(close)}?" if close else ""
    raise ScheduleError(f"{step}: no loop '{name}' in kernel @{kernel.sym_name.data}{hint}\n{outline(kernel)}")


def _is_in(op: Operation, kernel: KernelOp) -> bool:
    block = op.parent
    while block is not None and (region := block.parent) is not None and (parent := region.parent) is not None:
        if parent is kernel:
            return True
        block = parent.parent
    return False


def kernel_of(op: Operation) -> KernelOp:
    """The kernel around an op."""
    current: Operation | None = op
    while current is not None and not isinstance(current, KernelOp):
        current = current.parent_op()
    assert current is not None
    return current


def around(op: Operation) -> list[ForOp]:
    """The loops around an op, outermost first."""
    found: list[ForOp] = []
    block = op.parent
    while block is not None and (region := block.parent) is not None:
        parent = region.parent
        if parent is None or type(parent) is KernelOp:
            break
        if type(parent) is ForOp:
            found.append(parent)
        block = parent.parent
    return found[::-1]


def statements(block: Block) -> list[Operation]:
    """The ops of a block except its terminator."""
    found: list[Operation] = []
    op = block._first_op
    while op is not None:
        if type(op) is not YieldOp:
            found.append(op)
        op = op._next_op
    return found


def only_loop_in(loop: ForOp) -> ForOp | None:
    """The loop that is the whole body of another, when neither carries values."""
    inside = statements(loop.body.block)
    if len(inside) == 1 and isinstance(inside[0], ForOp) and not inside[0].results and not loop.results:
        return inside[0]
    return None


def perfect_band(outer: ForOp, inner: ForOp) -> list[ForOp] | None:
    """The loops from `outer` to `inner` when each is the whole body of the one before, else None."""
    band = [outer]
    while band[-1] is not inner:
        following = only_loop_in(band[-1])
        if following is None:
            return None
        band.append(following)
    return band


class FreshNames:
    """Names that no value of a kernel has, each returned once."""

    def __init__(self, kernel: KernelOp, taken: Sequence[str] = ()):
        self._kernel, self._taken = kernel, taken

    @cached_property
    def _used(self) -> set[str | None]:
        """The names of all values in the kernel, and those returned."""
        names: set[str | None] = set(self._taken)
        for result in self._kernel.results:
            names.add(result._name)
        for region in self._kernel.regions:
            _add_names(region, names)
        return names

    def of(self, wanted: str) -> str:
        """`wanted`, or with the first number after it that makes it unique."""
        name, k = wanted, 1
        while name in self._used:
            k += 1
            name = f"{wanted}{k}"
        self._used.add(name)
        return name


def _add_names(region: Region, names: set[str | None]) -> None:
    block = region._first_block
    while block is not None:
        for argument in block._args:
            names.add(argument._name)
        op = block._first_op
        while op is not None:
            for result in op.results:
                names.add(result._name)
            for inner in op.regions:
                _add_names(inner, names)
            op = op._next_op
        block = block._next_block


def fresh(kernel: KernelOp, wanted: str, taken: Sequence[str] = ()) -> str:
    """`wanted`, or with the first number after it that makes it unique among the values of the kernel."""
    return FreshNames(kernel, taken).of(wanted)


@kept
def unique_names(kernel: KernelOp) -> None:
    """Number loops and buffers that share a name: primitives find them by name, and dependence queries name variables."""
    inside = ops_in(kernel, ForOp)
    local = [op.results[0] for op in ops_in(kernel, AllocOp)]
    buffers = [*[x for x in kernel.body.block.args if isinstance(x.type, MemRefType)], *local]
    names = {buffer._name for buffer in buffers}
    if len(names) < len(buffers) or None in names:
        _unique_buffers(kernel, buffers)
    if len(loops(kernel)) < len(inside):
        _unique_loops(kernel, inside)


def _unique_loops(kernel: KernelOp, inside: Sequence[ForOp]) -> None:
    seen: set[str] = set()
    for loop in inside:
        name = loop.index.name_hint
        if name is not None and name in seen:
            name = fresh(kernel, name)
            loop.index.name_hint = name
            forget()
        if name is not None:
            seen.add(name)


def _unique_buffers(kernel: KernelOp, buffers: Sequence[SSAValue]) -> None:
    seen: set[str] = set()
    for buffer in buffers:
        name = buffer.name_hint
        if name is None or name in seen:
            buffer.name_hint = name = fresh(kernel, name or "buffer")
            forget()
        seen.add(name)


def place(op: Operation) -> str:
    """`file:line` of an op in the user's source, or nothing."""
    location: Attribute = op.location
    while isinstance(location, FusedLoc):
        location = next(iter(location.locations.data))  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data.rpartition('/')[2]}:{location.line.data}"
    return ""


def buffer_name(buffer: SSAValue) -> str:
    return buffer.name_hint or "a buffer"


def outline(kernel: Operation, marked: Sequence[ForOp] = ()) -> str:
    """The loops of a kernel as an indented list, for messages; `marked` ones get an arrow."""
    lines: list[str] = []

    def visit(block: Block, depth: int) -> None:
        for op in block.ops:
            inside = depth
            if isinstance(op, ForOp):
                where = f"  ({place(op)})" if place(op) else ""
                arrow = "  <---" if op in marked else ""
                lines.append(f"  {'  ' * depth}{op.kind.data} {name_of(op)}{where}{arrow}")
                inside = depth + 1
            elif isinstance(op, WhileOp):
                lines.append(f"  {'  ' * depth}while")
                inside = depth + 1
            for region in op.regions:
                for inner in region.blocks:
                    visit(inner, inside)

    for region in kernel.regions:
        for block in region.blocks:
            visit(block, 0)
    return "\n".join(lines)

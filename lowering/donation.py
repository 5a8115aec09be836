"""Donation: which donated argument of a host function a result may overwrite.

The Python caller gives arguments away (`donated`). Where the last read of one in the host function precedes the first write of
a result of the same type, or where both are in one launch of a kernel that stores each element after its last load of it
(`in_place`), both may share one buffer: the result is then written `over` the argument. Callers that pass two buffers are
unaffected. The body of a loop overwrites its carried values in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ..dialects import program
from ..dialects.loop.memory import LaunchOp
from ..dialects.loop.repeat import BranchOp, CalledOnceOp
from ..dialects.symbols import find_symbol
from ..dialects.types import is_complex
from .analysis.nests import walk

Pairs = Sequence[tuple[int, int]]
"""Argument numbers (result, operand) of a kernel that may share a buffer."""

WHOLE_VIEWS = (
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.reinterpret_cast",
    "program.reinterpret_cast",
)
"""Ops that may view a buffer in another shape; a `reinterpret_cast` may also view a part."""


@dataclass
class _Uses:
    """The accesses to an argument of a function: numbers of ops, and the operand positions of the last or first of them."""

    at: list[int] = field(default_factory=list)
    ops: list[Operation] = field(default_factory=list)
    whole: bool = True


def donate(function: program.FuncOp, in_place: Mapping[str, Pairs]) -> Iterator[tuple[str, int, int]]:
    """Pair results with donated inputs; returns the (kernel, result, operand) triples that this relies on."""
    free = list(function.donated_inputs)
    if not free:
        return
    roots, uses = _uses(function)
    pairs: list[tuple[int, int]] = []
    for result, target in enumerate(function.outputs):
        for number in free:
            given, relied_on = function.inputs[number], None
            if given.type == target.type and function.sizes_of(given) == function.sizes_of(target):
                relied_on = _in_place(given, target, roots, uses, in_place)
            if relied_on is not None:
                free.remove(number)
                pairs.append((result, number))
                yield from relied_on
                break
    if pairs:
        function.donation_pairs = pairs


def carry_in_place(
    function: program.FuncOp, carried: Sequence[tuple[int, int]], in_place: Mapping[str, Pairs]
) -> Iterator[tuple[str, int, int]]:
    """Let the body of a loop, or a branch in it, overwrite the inputs that its results replace, where it reads these before.

    Args:
        carried: the numbers of such a result and of its input.
    """
    roots, uses = _uses(function)
    pairs: list[tuple[int, int]] = []
    for result, number in carried:
        relied_on = _in_place(function.inputs[number], function.outputs[result], roots, uses, in_place)
        if relied_on is not None:
            pairs.append((result, number))
            yield from relied_on
    if pairs:
        function.donation_pairs = pairs


def _uses(function: program.FuncOp) -> tuple[dict[SSAValue, SSAValue], dict[SSAValue, _Uses]]:
    """The argument that each buffer is or views, and the accesses to each argument."""
    arguments = function.body.block.args
    roots: dict[SSAValue, SSAValue] = {a: a for a in arguments}
    uses: dict[SSAValue, _Uses] = {a: _Uses() for a in arguments}
    for at, op in enumerate(function.body.block.ops):
        source = roots.get(op.operands[0]) if op.operands else None
        if source is not None and op.results and isinstance(op.results[0].type, MemRefType):
            roots[op.results[0]] = source
            uses[source].whole &= _shows_all(op)
            continue
        for inner in walk(op):
            for operand in inner.operands:
                if operand in roots and (not uses[roots[operand]].at or uses[roots[operand]].at[-1] != at):
                    uses[roots[operand]].at.append(at)
                    uses[roots[operand]].ops.append(op)
    return roots, uses


def _shows_all(op: Operation) -> bool:
    """Whether the result of a view is all of its operand, element by element."""
    before, after = op.operands[0].type, op.results[0].type
    sizes = [type.element_count() * _parts(type) for type in (before, after) if isinstance(type, MemRefType)]
    return op.name in WHOLE_VIEWS and len(sizes) == 2 and sizes[0] == sizes[1]


def _parts(type: MemRefType) -> int:
    """The number of scalars in an element."""
    return 2 if is_complex(type.element_type) else 1


def _in_place(
    argument: SSAValue,
    result: SSAValue,
    roots: Mapping[SSAValue, SSAValue],
    uses: Mapping[SSAValue, _Uses],
    in_place: Mapping[str, Pairs],
) -> list[tuple[str, int, int]] | None:
    """The triples that make overwriting the argument legal; None where it is not."""
    read, written = uses[argument], uses[result]
    if not written.at:
        return None
    if not read.at or read.at[-1] < written.at[0]:
        return []
    op = read.ops[-1]
    if read.at[-1] != written.at[0] or not (read.whole and written.whole):
        return None
    if isinstance(op, memref.CopyOp):
        return []
    if isinstance(op, CalledOnceOp):
        reads = [k for k, operand in enumerate(op.read) if roots.get(operand) is argument]
        if result not in op.into or len(reads) != 1 or (isinstance(op, BranchOp) and roots.get(op.index) is argument):
            return None
        return [] if (list(op.into).index(result), reads[0]) in pairs_of_all(op) else None
    if not isinstance(op, LaunchOp):
        return None
    name = op.kernel.string_value()
    reads = [k for k, operand in enumerate(op.arguments) if roots.get(operand) is argument]
    writes = [k for k, operand in enumerate(op.arguments) if roots.get(operand) is result]
    if len(writes) != 1 or any((writes[0], k) not in in_place.get(name, ()) for k in reads):
        return None
    return [(name, writes[0], k) for k in reads]


def pairs_of_all(op: CalledOnceOp) -> set[tuple[int, int]]:
    """(result, input) numbers that may share a buffer in all functions of a branch or call."""
    functions = [find_symbol(op, name) for name in op.callees]
    pairs = [set(f.donation_pairs) if isinstance(f, program.FuncOp) else set[tuple[int, int]]() for f in functions]
    return set.intersection(*pairs)


def aliased_arguments(function: program.FuncOp) -> set[int]:
    """The arguments of a host function that may share a buffer with another."""
    n_inputs = len(function.inputs)
    return {k for result, number in function.donation_pairs for k in (n_inputs + result, number)}

"""Rules between the ops of a module, which keep a program within the memory that it owns.

An op verifies its own types. This file verifies that a view stays inside its arena, and that a launch or a call fits the
function that it names, on modules whose ops verify one by one; `module_rules.py` calls it for each op about memory.

    'loop.launch' op passes memref<4xf32> for argument #0 of @scale, which takes memref<64xf32>
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ..errors import SizeError
from . import program
from .foreign.layouts import layout_of
from .loop.effects import CallbackOp
from .loop.gather import ScatterOp
from .loop.loops import KernelOp
from .loop.memory import AllocOp, LaunchOp, StoreOp
from .loop.repeat import Buffer, HostCallOp, RepeatOp, RepeatWhileOp
from .sizes.polynomial import Size
from .types import is_complex, part_of, shape_of

SMALL = 4096
"""Largest local array of known size that is on the stack for any element type, in elements."""
AnySize = int | Size
"""A size: a number or a symbolic size."""
Complaint = str
Check = Callable[[Any], Iterator[Complaint]]


def complaints(op: Operation, symbols: dict[str, Operation]) -> Iterator[Complaint]:
    """The errors of an op about memory, given the symbols of its module."""
    if isinstance(op, program.FuncOp):
        yield from _function(op)
    elif isinstance(op, LaunchOp):
        yield from _launch(op, symbols)
    elif isinstance(op, HostCallOp):
        yield from _host_call(op, symbols)
    elif op.name in _OPS:
        yield from _OPS[op.name](op)


def effects_of(module: ModuleOp) -> list[CallbackOp]:
    """The effects of the host functions of a module, in the order of the numbers that machine code has for them."""
    hosts = (op for op in module.body.block.ops if isinstance(op, program.FuncOp))
    return [op for host in hosts for op in host.body.block.ops if isinstance(op, CallbackOp)]


def may_stop(symbols: Mapping[str, Operation]) -> set[str]:
    """The functions and kernels that may end early: an effect raises, or there is no memory for local arrays of a kernel.

    Those that run one of them are among them.
    """
    users: dict[str, list[str]] = {}
    stopping: list[str] = []
    for name, op in symbols.items():
        for inner in op.body.block.ops if isinstance(op, program.FuncOp) else ():
            if isinstance(inner, HostCallOp):
                for called in inner.callees:
                    users.setdefault(called, []).append(name)
            if isinstance(inner, LaunchOp):
                users.setdefault(inner.kernel.string_value(), []).append(name)
            if isinstance(inner, CallbackOp):
                stopping.append(name)
        if isinstance(op, KernelOp) and _allocates(op):
            stopping.append(name)
    found: set[str] = set()
    while stopping:
        if (name := stopping.pop()) not in found:
            found.add(name)
            stopping += users.get(name, ())
    return found


def _allocates(kernel: KernelOp) -> bool:
    """Whether a kernel may take memory from the system: local arrays of symbolic size, or large ones."""
    return any(
        isinstance(op, AllocOp) and op.space.data == "scratch" and (bool(op.sizes) or prod(shape_of(op.buffer)) > SMALL)
        for op in kernel.walk()
    )


def _function(op: program.FuncOp) -> Iterator[Complaint]:
    module = op.parent_op()
    if op.arena is None and module is not None and module.attributes.get("lamina.phase") == StringAttr("program"):
        yield "needs an arena in a module of phase program"


# Launches


def _launch(op: LaunchOp, symbols: dict[str, Operation]) -> Iterator[Complaint]:
    name = op.kernel.string_value()
    kernel = symbols.get(name)
    if not isinstance(kernel, KernelOp):
        yield f"names @{name}, which is no loop.kernel of this module"
        return
    parameters = kernel.body.block.args
    if len(parameters) != len(op.arguments):
        yield f"passes {len(op.arguments)} values to @{name}, which takes {len(parameters)}"
        return
    sizes = [_size(v) for v in op.arguments if isinstance(v.type, IndexType)]
    for k, (parameter, given) in enumerate(zip(parameters, op.arguments, strict=True)):
        shown = f"passes {given.type} for argument #{k} of @{name}, which takes {parameter.type}"
        if not isinstance(parameter.type, MemRefType) or not isinstance(given.type, MemRefType):
            if parameter.type != given.type:
                yield shown
            continue
        if parameter.type.element_type != given.type.element_type:
            yield shown
            return
        wanted = [_value(size, sizes) for size in kernel.sizes_of(parameter)]
        if len(wanted) != given.type.get_num_dims():
            yield shown
            return
        if None in wanted:
            yield f"{shown}: its sizes must be arith.constant here"
        elif wanted != _sizes_of(given):
            yield f"{shown} of sizes [{', '.join(map(_spelled, wanted))}]"
        elif given.type.layout != parameter.type.layout and not _strides_agree(kernel, parameter, given.type, sizes):
            yield f"{shown}: its strides must be those of the buffer"
    written = {store.buffer for store in kernel.walk() if isinstance(store, StoreOp | ScatterOp)}
    shared = {frozenset(pair) for pair in kernel.in_place_pairs}
    for k, (parameter, given) in enumerate(zip(parameters, op.arguments, strict=True)):
        if parameter in written and _is_constant(given):
            yield f"passes a constant for argument #{k} of @{name}, which is written"
    places = [_place(v) for v in op.arguments]
    for k, parameter in enumerate(parameters):
        for other, place in enumerate(places):
            mine = places[k]
            if parameter in written and other != k and mine is not None and place is not None and _meet(mine, place):
                planned = not isinstance(mine[0].owner, memref.AllocOp)  # before that every buffer is separate
                if frozenset((k, other)) not in shared or mine != place or not planned:
                    yield f"passes memory for argument #{k} of @{name}, which is written, that argument #{other} overlaps"


def _host_call(op: HostCallOp, symbols: dict[str, Operation]) -> Iterator[Complaint]:
    """The functions exist, take the buffers that they get, have an arena for their own, and may overwrite shared ones."""
    memory = None if op.memory is None else _bytes(op.memory.type)
    for name, given, buffers, more in zip(op.callees, op.given(), op.buffers(), op.more, strict=True):
        callee = symbols.get(name)
        if not isinstance(callee, program.FuncOp):
            yield f"names @{name}, which is no program.func of this module"
            return
        wanted = [a.type for a in (*callee.inputs, *callee.outputs)]
        temporaries, sizes = more
        if given != wanted or [v.type for v in temporaries] != [v.type for v in callee.temporaries]:
            shown = [", ".join(map(str, types)) for types in (given, [a.type for a in callee.body.block.args])]
            yield f"gives ({shown[0]}) to @{name}, which takes ({shown[1]})"
        elif list(map(_size, sizes)) != list(callee.meant_sizes()):
            shown = [", ".join(map(str, part)) for part in (map(_size, sizes), callee.meant_sizes())]
            yield f"gives sizes ({shown[0]}) to @{name}, which takes ({shown[1]})"
        elif (wrong := _other_sizes(callee, [*buffers, *((v, False) for v in temporaries)])) is not None:
            yield f"gives @{name} a buffer of other sizes for argument #{wrong}"
        if callee.arena is not None and (memory is None or memory < callee.arena_bytes):
            yield f"gives {memory or 0} bytes of memory to @{name}, which needs {callee.arena_bytes}"
        if (callee.arena is None) != (memory is None):
            yield f"gives {'no ' if memory is None else ''}memory to @{name}, which takes {'it' if callee.arena else 'none'}"
    if not isinstance(op, RepeatOp | RepeatWhileOp):
        return
    body = symbols[op.callees[-1]]
    assert isinstance(body, program.FuncOp)
    for pair, one, other in zip(op.in_place, op.carry, op.spare, strict=True):
        if one is other and pair not in body.donation_pairs:
            yield f"carries value {pair[0]} in one buffer, but @{op.callees[-1]} does not write it over what it was"


def _other_sizes(callee: program.FuncOp, buffers: Sequence[Buffer]) -> int | None:
    """The number of the first argument of a function for which a buffer has other sizes; None if all agree."""
    for k, (argument, (buffer, is_slice)) in enumerate(
        zip((*callee.inputs, *callee.outputs, *callee.temporaries), buffers, strict=True)
    ):
        if list(map(_size, callee.sizes_of(argument))) != _sizes_of(buffer)[int(is_slice) :]:
            return k
    return None


def _strides_agree(kernel: KernelOp, parameter: SSAValue, given: MemRefType, sizes: Sequence[AnySize | None]) -> bool:
    """Whether a kernel assumes the strides of a buffer that it gets; those of dims of size 1 do not matter."""
    _, strides = kernel.given_shapes().get(parameter, ((), None))
    known = given.get_strides()
    if strides is None or known is None:
        return False
    steps = zip(strides, known, given.get_shape(), strict=True)
    return 0 in given.get_shape() or all(size == 1 or _value(expr, sizes) == step for expr, step, size in steps)


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr):
        return None
    return owner.value.value.data


def _size(value: Any) -> AnySize | None:
    """The value of an index: a number, or the meaning of a size of its function."""
    if isinstance(value, int):
        return value
    function = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if isinstance(function, program.FuncOp) and value in function.sizes:
        return function.meant_sizes()[list(function.sizes).index(value)]
    return _constant(value)


def _value(expr: AffineExpr, sizes: Sequence[AnySize | None]) -> AnySize | None:
    """A size, given the index arguments; None if it depends on one that is not known, or is not an expression of them."""
    if isinstance(expr, AffineConstantExpr):
        return expr.value
    used = {dim.position for dim in expr.dfs() if isinstance(dim, AffineDimExpr)}
    if any(k >= len(sizes) or sizes[k] is None for k in used):
        return None
    try:
        return expr.eval([0 if size is None else size for size in sizes], [])  # pyright: ignore[reportArgumentType]
    except SizeError:
        return None


def _sizes_of(buffer: SSAValue) -> list[AnySize | None]:
    """The sizes of a buffer; None where they are not known."""
    shape, owner = list(shape_of(buffer)), buffer.owner
    if isinstance(owner, memref.AllocOp | memref.ReinterpretCastOp):
        given = iter(owner.dynamic_sizes if isinstance(owner, memref.AllocOp) else owner.sizes)
        return [_size(next(given)) if size == DYNAMIC_INDEX else size for size in shape]
    function = owner.parent_op() if isinstance(owner, Block) else None
    return list(map(_size, function.sizes_of(buffer))) if isinstance(function, program.FuncOp) else list(shape)


def _spelled(size: AnySize | None) -> str:
    return str(size)


def _place(value: SSAValue) -> tuple[SSAValue, int, int] | None:
    """(memory, first byte, byte after the last) of a buffer; None where that is not known."""
    op = value.owner
    if not isinstance(value.type, MemRefType):
        return None
    if not isinstance(op, Operation) or isinstance(op, memref.AllocOp):
        return value, 0, _bytes(value.type) if _static(value.type) else _MOST_BYTES
    if not _static(value.type):
        return None
    if isinstance(op, memref.ViewOp):
        source, shift = op.source, _constant(op.byte_shift)
    elif isinstance(op, memref.ReinterpretCastOp):
        (offset,) = op.static_offsets.get_values()
        source, shift = op.source, offset * _element_bytes(value.type)
    else:
        return None
    memory = _place(source)
    if memory is None or shift is None:
        return None
    return memory[0], memory[1] + shift, memory[1] + shift + _bytes(value.type)


def _is_constant(value: SSAValue) -> bool:
    """Whether a buffer is read-only memory."""
    op = value.owner
    while isinstance(op, memref.ReinterpretCastOp | memref.CastOp | memref.SubviewOp):
        op = op.operands[0].owner
    return isinstance(op, memref.GetGlobalOp)


_MOST_BYTES = 1 << 63


def _meet(one: tuple[SSAValue, int, int], two: tuple[SSAValue, int, int]) -> bool:
    return one[0] is two[0] and one[1] < two[2] and two[1] < one[2]


# Views


def _element_bytes(type: Any) -> int:
    return max(8, getattr(part_of(type.element_type), "bitwidth", 64)) // 8 * (2 if is_complex(type.element_type) else 1)


def _bytes(type: Any) -> int:
    return prod(type.get_shape()) * _element_bytes(type)


def _static(type: Attribute) -> bool:
    return isinstance(type, MemRefType) and DYNAMIC_INDEX not in type.get_shape()


def _view(op: memref.ViewOp) -> Iterator[Complaint]:
    source, result = op.source.type, op.results[0].type
    shift = _constant(op.byte_shift)
    if not _static(source) or not _static(result) or list(op.operands[2:]):
        yield f"needs static shapes, got {source} to {result}"
        return
    if shift is None:
        yield "needs a byte shift that is an arith.constant"
        return
    if not 0 <= shift <= _bytes(source) - _bytes(result):
        yield f"of {_bytes(result)} bytes at byte {shift} is not inside {source}"
    elif shift % _element_bytes(result):
        yield f"at byte {shift} is not aligned to the elements of {result}"


def _reinterpret(op: memref.ReinterpretCastOp) -> Iterator[Complaint]:
    source: Any = op.source.type
    result: Any = op.result.type
    if op.sizes:
        yield from _reshape(op)
        return
    if not _static(source) or not _static(result) or op.offsets or op.sizes or op.strides:
        yield f"needs static offsets, sizes and strides, got {source} to {result}"
        return
    offsets, sizes, strides = (list(a.get_values()) for a in (op.static_offsets, op.static_sizes, op.static_strides))
    if len(offsets) != 1 or len(strides) != len(sizes):
        yield f"needs one offset, and a stride for each of {len(sizes)} sizes, got {offsets} and {strides}"
        return
    offset = offsets[0]
    if sizes != list(result.get_shape()):
        yield f"has sizes {sizes} for {result}"
    layout = layout_of(result)
    if layout is not None and layout[0] != [None if stride == DYNAMIC_INDEX else stride for stride in strides]:
        yield f"has strides {strides} for {result}"
    last = offset + sum((n - 1) * stride for n, stride in zip(sizes, strides, strict=True))
    count = _bytes(source) // _element_bytes(result)
    if 0 not in sizes and (offset < 0 or min(strides, default=0) < 0 or last >= count):
        yield f"reaches element {max(last, offset)} of {count} of {source}"


def _reshape(op: memref.ReinterpretCastOp) -> Iterator[Complaint]:
    """A view of symbolic sizes covers the whole buffer, without gaps."""
    sizes, before = _sizes_of(op.result), _sizes_of(op.source)
    given = iter(op.strides)
    strides = [_size(next(given)) if stride == DYNAMIC_INDEX else stride for stride in op.static_strides.get_values()]
    wanted: list[Any] = [1]
    for size in reversed(sizes[1:]):
        wanted.insert(0, 0 if size is None else size * wanted[0])
    whole = None not in (*sizes, *before) and prod(sizes) == prod(before)  # pyright: ignore[reportArgumentType, reportCallIssue]
    if not whole or strides != wanted[: len(sizes)] or list(op.static_offsets.get_values()) != [0]:
        shown = [", ".join(map(_spelled, part)) for part in (before, sizes, strides)]
        yield f"needs as many elements, without gaps, got [{shown[0]}] to [{shown[1]}] with strides [{shown[2]}]"


def _subview(op: memref.SubviewOp) -> Iterator[Complaint]:
    source: Any = op.source.type
    if not _static(source) or op.offsets or op.sizes or op.strides:
        return  # no lowering accepts it
    offsets, sizes, strides = (list(a.get_values()) for a in (op.static_offsets, op.static_sizes, op.static_strides))
    for dim, (n, first, size, stride) in enumerate(zip(source.get_shape(), offsets, sizes, strides, strict=True)):
        last = first + (size - 1) * stride
        if size and not (0 <= first < n and 0 <= last < n):
            yield f"takes elements {first} to {last} of dim {dim} of {source}"


def _cast(op: memref.CastOp) -> Iterator[Complaint]:
    source, result = op.source.type, op.results[0].type
    if not isinstance(source, MemRefType) or not isinstance(result, MemRefType):
        return
    for known, said in zip(source.get_shape(), result.get_shape(), strict=False):
        if known != said and said != DYNAMIC_INDEX:
            yield f"cannot know that {source} is {result}"
            return


def _copy(op: memref.CopyOp) -> Iterator[Complaint]:
    source, target = op.source.type, op.destination.type
    if _is_constant(op.destination):
        yield "copies to a constant"
    if isinstance(source, MemRefType) and isinstance(target, MemRefType):
        sizes = _sizes_of(op.source)
        if None in sizes or sizes != _sizes_of(op.destination) or source.element_type != target.element_type:
            yield f"copies {source} to {target}"


_OPS: dict[str, Check] = {
    "memref.view": _view,
    "memref.reinterpret_cast": _reinterpret,
    "program.reinterpret_cast": _reinterpret,
    "memref.subview": _subview,
    "memref.cast": _cast,
    "memref.copy": _copy,
}

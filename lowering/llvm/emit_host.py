"""The host function: views of planned memory, constants, copies, launches and repeated calls of other host functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, MemRefType, NoneAttr, i1
from xdsl.ir import Block, Operation, SSAValue

from ...codegen.text import I8, I64
from ...dialects import program
from ...dialects.loop.loops import KernelOp
from ...dialects.loop.memory import LaunchOp
from ...dialects.loop.repeat import BranchOp, CallOp, HostCallOp, RepeatOp, RepeatWhileOp
from ...dialects.types import element_of, numpy_dtype, shape_of, width_of
from ..plan_buffers import ALIGNMENT
from .emit_core import Effect, FunctionEmitter, ModuleEmitter
from .emit_needs import needs_of
from .emit_types import buffer_strides, element_count, fail, memory_type


def symbol(name: str) -> str:
    """A global name, quoted where LLVM needs it."""
    plain = name.isascii() and all(c.isalnum() or c in "_.$-" for c in name) and not name[:1].isdigit()
    return "@" + (name if plain and name else '"' + name.encode().decode("latin-1").translate(ESCAPES) + '"')


# each byte of a c"..." string or a quoted name as LLVM spells it
ESCAPES = {k: chr(k) if 32 <= k < 127 and chr(k) not in '"\\' else f"\\{k:02X}" for k in range(256)}


CALLED = frozenset({"malloc", "free", "memcpy", "memmove", "memset", "fma", "fmaf", "fmod", "fmodf", "lamina_parallel"})
"""Functions that compiled code, or LLVM by itself, calls: kernels of these names are renamed."""


def kernel_symbol(name: str) -> str:
    """The global name of a kernel."""
    return symbol(f"{name}.kernel" if name in CALLED else name)


def takes_status(module: ModuleEmitter, function: Operation | None) -> bool:
    """Whether a host function takes a pointer to its status as its last argument."""
    return module.reports or (isinstance(function, program.FuncOp) and function.sym_name.data in module.stopping)


def global_text(op: memref.GlobalOp) -> str:
    """The definition of a constant, as bytes."""
    type, value = op.type, op.initial_value
    if DYNAMIC_INDEX in type.get_shape():
        raise fail(op, f"needs a static shape, got {type}")
    name = symbol(op.sym_name.data)
    if not isinstance(value, DenseIntOrFPElementsAttr):
        size = element_count(type.get_shape()) * (width_of(type.element_type) + 7) // 8
        return f"{name} = internal global [{size} x i8] zeroinitializer, align 64"
    count = element_count(type.get_shape())
    size = numpy_dtype(type.element_type).itemsize
    data = value.data.data
    if len(data) == size:
        data *= count
    if len(data) != count * size:
        raise fail(op, f"has {len(data)} bytes for {type}")
    head = f"{name} = {'private unnamed_addr constant' if op.constant is not None else 'internal global'} [{len(data)} x i8] "
    if not any(data):
        return head + "zeroinitializer, align 64"
    return f'{head}c"{data.decode("latin-1").translate(ESCAPES)}", align 64'


def _shift(e: FunctionEmitter, op: Operation, offset: int | str, elem: str) -> None:
    """The result is the first operand, `offset` elements further."""
    x = e.value(op.operands[0], op)
    result = op.results[0]
    e.define(result, x if offset in (0, "0") else e.b.gep(x, str(offset), elem, " inbounds"))


def _view(e: FunctionEmitter, op: memref.ViewOp) -> None:
    _shift(e, op, e.value(op.byte_shift, op), I8)


def _same_address(e: FunctionEmitter, op: Operation) -> None:
    for type in (op.operands[0].type, op.results[0].type):
        if not isinstance(type, MemRefType):
            raise fail(op, f"needs ranked memrefs, got {type}")
    if not isinstance(op, memref.CastOp):
        _contiguous(op.operands[0].type, op)
    _shift(e, op, 0, I8)


def _offset_of(type: Any) -> int:
    return 0 if isinstance(type.layout, NoneAttr) else type.layout.get_offset() or 0


def _reinterpret(e: FunctionEmitter, op: memref.ReinterpretCastOp) -> None:
    """Pointers here are to element 0 of the view itself: the offset is added once."""
    result: Any = op.result.type
    if op.sizes and not op.offsets and list(op.static_offsets.get_values()) == [0]:
        _shift(e, op, 0, I8)  # all of the buffer, without gaps, as the verifier of modules ensures
        return
    if op.offsets or op.sizes or op.strides:
        raise fail(op, "needs static offsets, sizes and strides")
    elem = memory_type(e.ty(result.element_type, op))
    (offset,) = op.static_offsets.get_values()
    _shift(e, op, offset - _offset_of(op.source.type), elem)


def _subview(e: FunctionEmitter, op: memref.SubviewOp) -> None:
    source: Any = op.source.type
    if op.offsets or op.sizes or op.strides:
        raise fail(op, "needs static offsets, sizes and strides")
    strides = buffer_strides(source, op)
    offset = sum(a * b for a, b in zip(op.static_offsets.get_values(), strides, strict=True))
    _shift(e, op, offset, memory_type(e.ty(source.element_type, op)))


def _alloc(e: FunctionEmitter, op: Operation) -> None:
    raise fail(op, f"of {op.results[0].type} has no memory yet: run plan-buffers first")


def _get_global(e: FunctionEmitter, op: memref.GetGlobalOp) -> None:
    name = op.name_.string_value()
    if not isinstance(e.module.symbols.get(name), memref.GlobalOp):
        raise fail(op, f"names @{name}, which is no memref.global of this module")
    e.define(op.results[0], symbol(name))


def _contiguous(type: Any, op: Operation) -> int:
    """The size of a buffer without gaps, in bytes."""
    shape = type.get_shape()
    if DYNAMIC_INDEX in shape:
        raise fail(op, f"needs a static shape, got {type}")
    expected = 1
    for size, stride in zip(reversed(shape), reversed(buffer_strides(type, op)), strict=True):
        if size != 1 and stride != expected:
            raise fail(op, f"needs memory without gaps, got {type}")
        expected *= size
    return expected


def buffer_sizes(value: SSAValue, op: Operation) -> list[Any]:
    """The sizes of a buffer of a host function: numbers and index values."""
    owner = value.owner
    if isinstance(owner, memref.ReinterpretCastOp):
        given = iter(owner.sizes)
        return [next(given) if size == DYNAMIC_INDEX else size for size in shape_of(value)]
    function = owner.parent_op() if isinstance(owner, Block) else None
    if not isinstance(function, program.FuncOp):
        raise fail(op, f"needs a static shape, got {value.type}")
    return list(function.sizes_of(value))


def _copy(e: FunctionEmitter, op: memref.CopyOp) -> None:
    type: Any = op.source.type
    item = numpy_dtype(type.element_type).itemsize
    if DYNAMIC_INDEX in type.get_shape():
        size: Any = _bytes_of(e, op.source, op)
    else:
        size = _contiguous(type, op) * item
        _contiguous(op.destination.type, op)
    if size:
        source, target = e.value(op.source, op), e.value(op.destination, op)
        align = memory_type(e.ty(type.element_type, op)).bits // 8
        end = ""
        if source in e.aliased and target in e.aliased:  # both may be one buffer: then there is nothing to copy
            apart, end = e.b.fresh_label("copy"), e.b.fresh_label("copied")
            e.b.cond_br(e.b.emit(f"icmp ne ptr {source}, {target}"), apart, end)
            e.b.label(apart)
        _memcpy(e, target, source, size, align)
        if end:
            e.b.br(end)
            e.b.label(end)


def _launch(e: FunctionEmitter, op: LaunchOp) -> None:
    name = op.kernel.string_value()
    callee = e.module.symbols.get(name)
    if not isinstance(callee, KernelOp):
        raise fail(op, f"names @{name}, which is no loop.kernel of this module")
    wanted = [a.type for a in callee.body.block.args]
    given = [v.type for v in op.operands]
    if len(wanted) != len(given) or any(map(_differ, wanted, given)):
        shown = [", ".join(map(str, types)) for types in (wanted, given)]
        raise fail(op, f"passes ({shown[1]}) to @{name}, which takes ({shown[0]})")
    arguments = [f"{e.ty(v.type, op)} {e.value(v, op)}" for v in op.operands]
    needs = needs_of(e.module, callee)
    if size := needs.scratch_bytes:
        if op.scratch is None or e.arena is None:
            raise fail(op, f"gives no scratch memory to @{name}: run plan-buffers first")
        first = op.scratch.value.data
        host = op.parent_op()
        if not isinstance(host, program.FuncOp) or first % ALIGNMENT or first + size > host.arena_bytes:
            rule = "not aligned, or not in the arena"
            raise fail(op, f"gives @{name} {size} bytes of scratch memory at byte {first}: {rule}")
        arguments.append(f"ptr {e.b.gep(e.arena, str(first), I8)}")
    status: str | None = None
    if needs.status:
        status = e.alloca("[4 x i64]", 8)
        e.b.store("0", status, I64, 8)
        arguments += ["i64 0", f"ptr {status}"]
    e.b.emit_void(f"call void {kernel_symbol(name)}({', '.join(arguments)})")
    if status is not None:  # no memory for its local arrays, and no status to report it
        failed, fine = e.b.fresh_label("failed"), e.b.fresh_label("fine")
        e.b.cond_br(e.b.icmp("eq", e.b.load(status, I64, 8), "0", I64), fine, failed)
        e.b.label(failed)
        e.leave(e.b.load(status, I64, 8) if e.module.reports else "-1", "0")
        e.b.label(fine)


class _Turns:
    """The buffers of carried values: a call goes from one of two to the other, or stays if both are the same."""

    def __init__(self, e: FunctionEmitter, carry: Sequence[SSAValue], spare: Sequence[SSAValue], op: Operation):
        self.e, self.op = e, op
        self.values = carry
        self.buffers = [(e.value(x, op), e.value(y, op)) for x, y in zip(carry, spare, strict=True)]

    def pointers(self, odd: str) -> tuple[list[str], list[str]]:
        """The buffers that an iteration reads and writes, given whether its number is odd."""
        one, other = zip(*(self._pair(odd, x, y) for x, y in self.buffers), strict=True) if self.buffers else ((), ())
        return list(one), list(other)

    def _pair(self, odd: str, x: str, y: str) -> tuple[str, str]:
        b = self.e.b
        return (
            (x, x) if x == y else (b.emit(f"select i1 {odd}, ptr {y}, ptr {x}"), b.emit(f"select i1 {odd}, ptr {x}, ptr {y}"))
        )

    def keep(self, odd: str) -> None:
        """Bring the values back if they are in the second buffers after an odd number of iterations."""
        moved = [(value, x, y) for value, (x, y) in zip(self.values, self.buffers, strict=True) if x != y]
        if not moved:
            return
        e, b = self.e, self.e.b
        back, end = b.fresh_label("repeat.back"), b.fresh_label("repeat.end")
        b.cond_br(odd, back, end)
        b.label(back)
        for value, x, y in moved:
            _memcpy(e, x, y, _bytes_of(e, value, self.op), 1)
        b.br(end)
        b.label(end)


def _memcpy(e: FunctionEmitter, target: str, source: str, size: int | str, align: int) -> None:
    callee = e.b.module.declare("llvm.memcpy.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1"))
    e.b.emit_void(f"call void {callee}(ptr align {align} {target}, ptr align {align} {source}, i64 {size}, i1 false)")


def _call_host(e: FunctionEmitter, op: HostCallOp, number: int, pointers: Sequence[str]) -> None:
    """Call another host function, one of those of an op by number."""
    name, (temporaries, sizes) = op.callees[number], op.more[number]
    given = [f"ptr {p}" for p in (*pointers, *(e.value(v, op) for v in temporaries))]
    given += [f"i64 {e.value(v, op)}" for v in sizes]
    given += [] if op.memory is None else [f"ptr {e.value(op.memory, op)}"]
    may_end = [e.status] if takes_status(e.module, e.module.symbols.get(name)) else []
    given += [f"ptr {status}" for status in may_end]
    e.b.emit_void(f"call void {symbol(name)}({', '.join(given)})")
    for status in may_end:
        going = e.b.fresh_label("going")
        e.leaves = True
        e.b.cond_br(e.b.icmp("eq", e.b.load(str(status), I64, 8), "0", I64), going, "exit")
        e.b.label(going)


def _repeat(e: FunctionEmitter, op: RepeatOp) -> None:
    """A loop that contains one call."""
    b = e.b
    _check_callees(e, op)
    if op.count is None:
        count = str(op.trips.value.data)
    else:
        given = b.load(e.value(op.count, op), I64, 8)
        count = b.select(b.icmp("sgt", given, "0", I64), given, "0", I64)
    done = e.alloca("i64", 8)
    b.store("0", done, I64, 8)
    head, body, exit = (b.fresh_label(f"repeat.{part}") for part in ("head", "body", "exit"))
    b.br(head)
    b.label(head)
    n = b.load(done, I64, 8)
    b.cond_br(b.icmp("slt", n, count, I64), body, exit)
    b.label(body)
    at = n if op.reverse is None else b.sub(b.sub(count, "1", I64), n, I64)
    b.store(at, e.value(op.index, op), I64, 8)
    turns = _Turns(e, op.carry, op.spare, op)
    sources, targets = turns.pointers(_odd(e, n))
    over = [b.gep(e.value(v, op), b.mul(at, _bytes_of(e, v, op, 1), I64), I8) for v in op.over]
    into = [b.gep(e.value(v, op), b.mul(at, _bytes_of(e, v, op, 1), I64), I8) for v in op.into]
    consts = [e.value(v, op) for v in op.consts]
    _call_host(e, op, 0, [e.value(op.index, op), *consts, *sources, *over, *targets, *into])
    b.store(b.add(n, "1", I64), done, I64, 8)
    b.br(head)
    b.label(exit)
    turns.keep(_odd(e, count))


def _odd(e: FunctionEmitter, n: str) -> str:
    return e.b.icmp("ne", e.b.binary("and", n, "1", I64), "0", I64)


def _repeat_while(e: FunctionEmitter, op: RepeatWhileOp) -> None:
    """A loop that contains two calls, the first of which decides whether the second runs."""
    b = e.b
    _check_callees(e, op)
    done = e.alloca("i64", 8)
    b.store("0", done, I64, 8)
    head, body, exit = (b.fresh_label(f"while.{part}") for part in ("head", "body", "exit"))
    b.br(head)
    b.label(head)
    n = b.load(done, I64, 8)
    turns = _Turns(e, op.carry, op.spare, op)
    odd = _odd(e, n)
    sources, targets = turns.pointers(odd)
    consts, flag = [e.value(v, op) for v in op.consts], e.value(op.flag, op)
    _call_host(e, op, 0, [*consts, *sources, flag])
    b.cond_br(b.icmp("ne", b.load(flag, I8, 1), "0", I8), body, exit)
    b.label(body)
    _call_host(e, op, 1, [*consts, *sources, *targets])
    b.store(b.add(n, "1", I64), done, I64, 8)
    b.br(head)
    b.label(exit)
    turns.keep(odd)


def _branch(e: FunctionEmitter, op: BranchOp) -> None:
    """A call of one of several functions."""
    b = e.b
    _check_callees(e, op)
    index = e.value(op.index, op)
    labels = [b.fresh_label("branch") for _ in op.callees]
    end = b.fresh_label("branch.end")
    if element_of(op.index) == i1:
        b.cond_br(b.icmp("ne", b.load(index, I8, 1), "0", I8), labels[1], labels[0])
    else:
        given = b.load(index, I64, 8)
        k = b.select(b.icmp("sgt", given, "0", I64), given, "0", I64)
        chosen = " ".join(f"i64 {n}, label %{label}" for n, label in enumerate(labels[:-1]))
        b.emit_void(f"switch i64 {k}, label %{labels[-1]} [{chosen}]")
    pointers = [e.value(v, op) for v in (*op.read, *op.into)]
    for number, label in enumerate(labels):
        b.label(label)
        _call_host(e, op, number, pointers)
        b.br(end)
    b.label(end)


def _call(e: FunctionEmitter, op: CallOp) -> None:
    _check_callees(e, op)
    _call_host(e, op, 0, [e.value(v, op) for v in (*op.read, *op.into)])


def _bytes_of(e: FunctionEmitter, buffer: SSAValue, op: Operation, first: int = 0) -> str:
    """The size of a buffer without gaps, or of the part that one index of its `first` dims selects."""
    if DYNAMIC_INDEX not in shape_of(buffer):
        _contiguous(buffer.type, op)
        return str(element_count(shape_of(buffer)[first:]) * numpy_dtype(element_of(buffer)).itemsize)
    total = str(numpy_dtype(element_of(buffer)).itemsize)
    for size in buffer_sizes(buffer, op)[first:]:
        total = e.b.mul(total, str(size) if isinstance(size, int) else e.value(size, op), I64)
    return total


def _check_callees(e: FunctionEmitter, op: HostCallOp) -> None:
    """The functions take the buffers that they get."""
    for name, given, more in zip(op.callees, op.given(), op.more, strict=True):
        callee = e.module.symbols.get(name)
        if not isinstance(callee, program.FuncOp):
            raise fail(op, f"names @{name}, which is no program.func of this module")
        given = [*given, *(v.type for part in more for v in part), *([] if op.memory is None else [op.memory.type])]
        wanted = [a.type for a in callee.body.block.args]
        if len(wanted) != len(given) or any(map(_differ, wanted, given)):
            shown = [", ".join(map(str, types)) for types in (given, wanted)]
            raise fail(op, f"gives ({shown[0]}) to @{name}, which takes ({shown[1]})")


def _differ(wanted: Any, given: Any) -> bool:
    if wanted == given:
        return False
    if not isinstance(wanted, MemRefType) or not isinstance(given, MemRefType):
        return True
    return wanted.element_type != given.element_type or len(wanted.get_shape()) != len(given.get_shape())


EFFECTS: dict[str, Effect] = {
    "memref.view": _view,
    "memref.collapse_shape": _same_address,
    "memref.expand_shape": _same_address,
    "memref.cast": _same_address,
    "memref.reinterpret_cast": _reinterpret,
    "program.reinterpret_cast": _reinterpret,
    "memref.subview": _subview,
    "memref.alloc": _alloc,
    "memref.get_global": _get_global,
    "program.get_global": _get_global,
    "memref.copy": _copy,
    "loop.launch": _launch,
    "loop.repeat": _repeat,
    "loop.repeat_while": _repeat_while,
    "loop.branch": _branch,
    "loop.call": _call,
}

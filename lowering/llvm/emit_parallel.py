"""Parallel loops: the body becomes a function of a range of iterations, the loop a call of the thread runtime.

    @lamina_parallel(ptr body, ptr data, i64 count, i64 work, i64 threads)

`data` holds the values from outside that the body uses. The function that unpacks them calls another one, whose pointer
arguments are `noalias` as those of the kernel are. Results do not depend on which thread runs an iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineMap

from ...codegen.text import I64, OPTIMIZED, PTR, Ty
from ...dialects.loop.grain import TYPICAL_TRIPS
from ...dialects.loop.loops import ForOp, WhileOp, YieldOp
from ...dialects.loop.memory import STREAMED, LoadOp, StoreOp
from ...dialects.operations import ops_of
from ..analysis.bounds import constant_extent
from ..analysis.columns import Columns, find_columns
from ..analysis.nests import kernel_of, name_of, ops_in, walk
from ..analysis.parallel import plain_cost
from ..analysis.placement import Region, obstacle, region_of, sequence_in
from .emit_affine import affine, bound
from .emit_chunks import iterations_of_first
from .emit_columns import begin_before_row, share_of_columns
from .emit_core import START, Buffer, FunctionEmitter
from .emit_integer import is_number
from .emit_needs import uses_heap
from .emit_types import fail

_ONCE = 1 << 32
"""Added to the number of threads: limits the number of pieces to it (`ONCE` of runtime/threads.py)."""
_MANY = 1 << 33
"""Added to the number of threads: many chunks (`MANY` of runtime/threads.py)."""

WriteLoop = Callable[[FunctionEmitter, ForOp, str, str, int, int | None, list[str]], list[str]]
"""Writes a loop with given bounds, step, trip count and initial values: `emit_loops.rotated`."""


def _emitted_work(e: FunctionEmitter, block: Block, count: str, inside: set[SSAValue]) -> str:
    """The work of one of `count` runs of a block, as a value known before; terms that depend on the loop are estimated."""
    fixed = 0.0
    parts: list[str] = []
    for op in ops_of(block):
        if isinstance(op, ForOp):
            known = (*op.lower_operands, *op.upper_operands)
            body = _emitted_work(e, op.body.block, count, inside | set(op.body.block.args))
            if any(v in inside or v not in e.values for v in known):
                limit = constant_extent(op)
                trips = _share(e, op, count) if limit is None else str(limit)
            else:
                lower = bound(e, "smax", op.lower.data.results, op.lower_operands, op)
                upper = bound(e, "smin", op.upper.data.results, op.upper_operands, op)
                trips = _trips(e, lower, upper, op.step.value.data)
            if is_number(trips) and is_number(body):
                fixed += max(0, int(trips)) * int(body)
            else:
                parts.append(e.b.emit(f"mul i64 {trips}, {body}"))
        elif isinstance(op, WhileOp):
            fixed += TYPICAL_TRIPS * plain_cost(op)
        elif not isinstance(op, YieldOp):
            fixed += plain_cost(op)
    total = str(int(fixed))
    for part in parts:
        total = e.b.emit(f"add i64 {total}, {part}")
    return total


def _share(e: FunctionEmitter, loop: ForOp, count: str) -> str:
    """An estimated trip count for a loop with bounds from data: its `count` runs together cover a dim of an argument once."""
    kernel = kernel_of(loop)
    sizes = [
        size
        for op in walk(loop.body.block)
        if isinstance(op, LoadOp | StoreOp) and op.buffer in kernel.body.block.args
        for size, form in zip(kernel.sizes_of(op.buffer), op.map.data.results, strict=True)
        if any(op.indices[k] is loop.index for k in form.used_dims())
    ]
    if not sizes or any(value not in e.values for value in kernel.index_arguments):
        return str(TYPICAL_TRIPS // loop.step.value.data)
    dim = affine(e, sizes[0], kernel.index_arguments, loop)
    share = e.b.emit(f"udiv i64 {dim}, {e.b.intrinsic('smax', I64, count, '1')}")
    steps = e.b.emit(f"udiv i64 {share}, {loop.step.value.data}")
    return e.b.intrinsic("smax", I64, steps, str(TYPICAL_TRIPS // loop.step.value.data))


def _trips(e: FunctionEmitter, lower: str, upper: str, step: int) -> str:
    """ceil((upper - lower) / step), not below 0."""
    b = e.b
    if is_number(lower) and is_number(upper):
        return str(max(0, -(-(int(upper) - int(lower)) // step)))
    span = upper if lower == "0" else b.emit(f"sub nsw i64 {upper}, {lower}")
    span = b.intrinsic("smax", I64, span, "0")
    if step == 1:
        return span
    return b.emit(f"udiv i64 {b.emit(f'add nuw nsw i64 {span}, {step - 1}')}, {step}")


def parallel(e: FunctionEmitter, op: ForOp, lower: str, upper: str, write: WriteLoop) -> None:
    """Write a parallel loop as a call of the thread runtime; `write` writes its body's loops."""
    b, step = e.b, op.step.value.data
    count = _trips(e, lower, upper, step)
    each = _emitted_work(e, op.body.block, count, {op.index})
    work = b.emit(f"mul i64 {count}, {each}")
    if (reason := obstacle(op)) is not None:
        raise fail(op, reason)
    region = region_of(op)
    inner = prod(region.inner_trips)
    count = str(int(count) * inner) if is_number(count) else count if inner == 1 else b.emit(f"mul i64 {count}, {inner}")
    name, fields = _outlined(e, region, lower, write)
    offsets, words = _layout(fields)
    data = e.alloca(f"[{max(1, words)} x i64]", 64)
    for k, (ty, x) in zip(offsets, fields, strict=True):
        b.store(x, data if k == 0 else b.gep(data, str(k), "i64"), ty, 8)
    callee = b.module.declare("lamina_parallel", "void", ("ptr", "ptr", "i64", "i64", "i64"))
    threads = e.threads
    if op.interchange is not None:  # one piece for each thread: each visits all rows
        threads = str(int(threads) + _ONCE) if is_number(threads) else b.emit(f"add i64 {threads}, {_ONCE}")
    if op.dynamic is not None:
        threads = str(int(threads) + _MANY) if is_number(threads) else b.emit(f"add i64 {threads}, {_MANY}")
    b.emit_void(f'call void {callee}(ptr @"{name}", ptr {data}, i64 {count}, i64 {work}, i64 {threads})')
    _stop_where_failed(e)


def _stop_where_failed(e: FunctionEmitter) -> None:
    """Leave the function if the preceding call has set the kernel's status to a failure."""
    b = e.b
    if e.status is not None:
        failed, fine = b.fresh_label("failed"), b.fresh_label("fine")
        b.cond_br(b.icmp("eq", b.load(e.status, I64, 8), "0", I64), fine, failed)
        b.label(failed)
        e.leaves = True
        b.br("exit")
        b.label(fine)


def outlined(e: FunctionEmitter, op: ForOp, lower: str, upper: str, write: WriteLoop) -> None:
    """Write a loop as a call of an outlined function, in the same thread."""
    count = _trips(e, lower, upper, op.step.value.data)
    name, fields = _outlined(e, Region((op,), (op.trip_count(),)), lower, write)
    arguments = ", ".join(["i64 0", f"i64 {count}", *(f"{ty} {x}" for ty, x in fields)])
    e.b.emit_void(f'call void @"{name}.body"({arguments})')
    _stop_where_failed(e)


def _outlined(e: FunctionEmitter, region: Region, lower: str, write: WriteLoop) -> tuple[str, list[tuple[Ty, str]]]:
    """Outline a loop's body: returns the function's name, and the values that it needs."""
    name = f"{e.name}.parallel{len(e.module.outlined)}"
    e.module.outlined.append("")  # reserves the number, also for loops inside
    place = len(e.module.outlined) - 1
    fields, text = _body(e, region, name, lower, write)
    e.module.outlined[place] = text
    return name, fields


def _layout(fields: list[tuple[Ty, str]]) -> tuple[list[int], int]:
    """The offset of each field, in words of 8 bytes, and the total."""
    offsets: list[int] = []
    total = 0
    for ty, _ in fields:
        offsets.append(total)
        total += -(-ty.bits * ty.lanes // 64)
    return offsets, total


def _captured(op: ForOp) -> list[SSAValue]:
    """The values from outside that a loop's body uses, in the order of their first use."""
    inside = {op.index}
    found: dict[SSAValue, None] = {}
    for inner in walk(op.body.block):
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.args)
        inside.update(inner.results)
    for inner in walk(op.body.block):
        found.update([(v, None) for v in inner._operands if v not in inside])
    return list(found)


def _interchanged(op: ForOp, inside: ForOp, columns: Columns | None) -> Block:
    """A parallel loop between two arguments of a block, inside the loop that forms its whole body.

    With `columns` a second one follows, over a part that begins before the row, from the third argument to the fourth.
    """
    share = Block(arg_types=[IndexType()] * (2 if columns is None else 4))
    outer, parts = _parts(op, inside, *share.args[:2])
    body = outer.body.block
    body.add_op(parts)
    if columns is not None:
        other, parts = _parts(op, inside, *share.args[2:])
        begin_before_row(columns, parts.body.block, parts.index)
        other.index.replace_all_uses_with(outer.index)
        body.add_op(parts)
    body.add_op(YieldOp.create())
    share.add_op(outer)
    return share


def _parts(op: ForOp, inside: ForOp, *ends: SSAValue) -> tuple[ForOp, ForOp]:
    """A copy of the loop that forms the whole body of a parallel one, without ops, and a loop over parts that has its body."""
    body = Block(arg_types=[IndexType()])
    outer = inside.clone({op.index: body.args[0]})
    for moved in list(outer.body.block.ops):
        moved.detach()
        body.add_op(moved)
    bounds = [(AffineMap.identity(1), [end]) for end in ends]
    inner = ForOp.build_loop(*bounds, step=op.step.value.data, kind="seq", body=body, name=name_of(op))
    inner.location = op.location
    return outer, inner


def _rows(e: FunctionEmitter, op: ForOp, inside: ForOp, first: str, last: str, write: WriteLoop) -> None:
    """Write the share of a thread in consecutive rows: a single part of each unchanged, several parts row by row.

    Parts begin with cache lines (`emit_columns.py`) if the loop's attribute says so, unless the thread has all of them.
    """
    b, step = e.b, op.step.value.data
    slot = e.open_slot()
    columns = None if op.align is None else find_columns(op)
    ends = (first, last) if columns is None else share_of_columns(e, columns, first, last)
    first, last, *before = ends
    is_one = b.icmp("sle", b.emit(f"sub nsw i64 {last}, {first}"), str(step), I64)
    if before:
        is_one = b.emit(f"and i1 {is_one}, {b.icmp('eq', before[0], before[1], I64)}")
    single, several, done = b.fresh_label("single"), b.fresh_label("several"), b.fresh_label("shared")
    b.cond_br(is_one, single, several)
    b.label(single)
    e.push(slot, certain=False, branch=True)
    write(e, op, first, last, step, None, [])
    e.pop()
    b.br(done)
    b.label(several)
    e.push(slot, certain=False, branch=True)
    share = _interchanged(op, inside, columns)
    for argument, x in zip(share.args, ends, strict=True):
        e.define(argument, x)
    e.run(share)
    e.pop()
    b.br(done)
    b.label(done)


def _body(e: FunctionEmitter, region: Region, name: str, lower: str, write: WriteLoop) -> tuple[list[tuple[Ty, str]], str]:
    """(type and value of each field of the data, the text of the functions)."""

    op = region.loops[0]
    step = op.step.value.data

    child = FunctionEmitter(e.module, name)
    child.optimized = e.optimized
    child.on_threads = True
    child.read_only, child.scratch = e.read_only, e.scratch
    fields: list[tuple[Ty, str]] = []
    parameters: list[str] = []
    names: dict[str, str] = {}

    def take(ty: Ty, x: str, attributes: str = "") -> str:
        """The child's name for a value of the parent."""
        if x[0] != "%":
            return x
        if x not in names:
            names[x] = f"%c{len(names)}"
            child.levels[names[x]] = 0
            if x in e.not_negative:
                child.not_negative.add(names[x])
            if x in e.aliased:
                child.aliased.add(names[x])
            fields.append((ty, x))
            parameters.append(f"{ty}{attributes} {names[x]}")
        return names[x]

    streamed = {store.buffer for store in ops_in(op, StoreOp) if STREAMED in store.attributes}
    for value in _captured(op):
        if not isinstance(value.type, MemRefType):
            child.values[value] = take(e.ty(value.type, op), e.value(value, op))
            continue
        buffer = e.buffer(value, op)
        pointer = take(PTR, buffer.pointer, "" if buffer.pointer in e.aliased else " noalias")
        strides = tuple(s if isinstance(s, int) else take(I64, s) for s in buffer.strides)
        child.values[value] = pointer
        child.buffers[value] = Buffer(pointer, buffer.elem, strides, buffer.read_only)
        child.small[value] = take(I64, e.is_small(value)) if value in streamed else "0"
    if e.status is not None:
        child.status = take(PTR, e.status)
    start = take(I64, lower)
    if uses_heap(child, op):
        child.starts_later = True
        child.b.block = START
    b = child.b
    chunks = iterations_of_first(child, region)
    first, last = (b.emit(f"add nsw i64 {start}, {b.emit(f'mul nsw i64 {x}, {step}')}") for x in chunks)
    if start == "0" or start in child.not_negative or (is_number(start) and int(start) >= 0):
        child.not_negative.add(first)
    inside = sequence_in(op)
    if inside is None or op.interchange is None:
        write(child, op, first, last, step, None, [])
    else:
        _rows(child, op, inside, first, last, write)
    text = child.finish()
    loads = []
    arguments = []
    for k, (ty, _) in zip(_layout(fields)[0], fields, strict=True):
        loads += [f"  %at{k} = getelementptr i64, ptr %data, i64 {k}", f"  %f{k} = load {ty}, ptr %at{k}, align 8"]
        arguments.append(f"{ty} %f{k}")
    passed = ", ".join(["i64 %begin", "i64 %end", *arguments])
    header = ", ".join(["i64 %begin", "i64 %end", *parameters])
    return fields, "\n".join(
        [
            f'define internal void @"{name}"(ptr %data, i64 %begin, i64 %end) nounwind {{',
            *loads,
            f'  tail call void @"{name}.body"({passed})',
            "  ret void",
            "}",
            "",
            f'define internal void @"{name}.body"({header}) nounwind noinline{OPTIMIZED if e.optimized else ""} {{',
            "entry:",
            text,
            "}",
        ]
    )

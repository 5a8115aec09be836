"""`loop.load`, `loop.store`, `loop.alloc`: affine subscripts to addresses, lanes to vector, gathered or masked accesses.

An address is the buffer's pointer plus its index terms, outermost first, each partial sum written at the outermost level where
it is known and reused by the accesses that follow. Loads from buffers that the kernel never stores to are hoisted like
arithmetic, over loops that certainly run, and to the entry of a loop that may not run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...codegen.targets.base import LINE_BYTES
from ...codegen.text import I64, Builder, Ty, const
from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.memory import STREAMED, AllocOp, CheckOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.loop.subscripts import linear_form
from ..plan_buffers import STACK_LIMIT_BYTES
from .emit_affine import affine, gather_terms
from .emit_core import Buffer, Effect, FunctionEmitter
from .emit_integer import is_number
from .emit_masks import masked_load, masked_store, unfolded_mask
from .emit_strided import every_other, few_apart, reverse, store_in_turns
from .emit_transpose import can_transpose, transposed
from .emit_types import element_count, fail, memory_type


@dataclass(frozen=True)
class Plan:
    """The properties of an access that all of its unrolled copies share."""

    buffer: Buffer
    indices: Sequence[SSAValue]
    mask: SSAValue | None
    forms: Sequence[tuple[Sequence[int], int] | None]
    linear: tuple[Sequence[int], int] | None
    """The subscripts as one linear form in elements; None when one of them contains a division."""
    lane_stride: int | str
    """The stride between lanes, in elements."""
    ty: Ty


def _plan(e: FunctionEmitter, op: LoadOp | StoreOp, value: SSAValue, skip: int) -> Plan:
    found = e.plans.get(op)
    if found is not None:
        return found
    operands, properties = op._operands, op.properties
    buffer = e.buffer(operands[skip], op)
    map: Any = properties["map"]
    n = map.data.num_dims
    indices = operands[skip + 1 : skip + 1 + n]
    mask = operands[skip + 1 + n] if len(operands) > skip + 1 + n else None
    forms, linear = _forms(map.data, buffer.strides)
    ty = e.ty(value.type, op)
    lane_stride: int | str = 0
    if ty.lanes > 1:
        along: Any = properties.get("along")
        step: Any = properties.get("stride")
        lane_stride = e.product(
            buffer.strides[-1 if along is None else along.value.data], 1 if step is None else step.value.data
        )
    plan = e.plans[op] = Plan(buffer, indices, mask, forms, linear, lane_stride, ty)
    return plan


@lru_cache(maxsize=8192)
def _forms(
    map: AffineMap, strides: tuple[int | str, ...]
) -> tuple[Sequence[tuple[Sequence[int], int] | None], tuple[Sequence[int], int] | None]:
    """The subscripts of an access as linear forms, and all of them as one."""
    forms = [linear_form(expr, map.num_dims) for expr in map.results]
    coefficients, constant = [0] * map.num_dims, 0
    for form, stride in zip(forms, strides, strict=True):
        if form is None or not isinstance(stride, int):
            return forms, None
        coefficients = [a + stride * b for a, b in zip(coefficients, form[0], strict=True)]
        constant += stride * form[1]
    return forms, (coefficients, constant)


def _terms(e: FunctionEmitter, op: LoadOp | StoreOp | PrefetchOp, plan: Plan) -> tuple[dict[str, int], int]:
    if plan.linear is not None:
        return gather_terms(e, plan.linear, plan.indices, op)
    terms: dict[str, int] = {}
    constant = 0
    for expr, form, stride in zip(op.map.data.results, plan.forms, plan.buffer.strides, strict=True):
        if form is None:
            x = affine(e, expr, plan.indices, op)
            more, offset = ({}, int(x)) if is_number(x) else ({x: 1}, 0)
        else:
            more, offset = gather_terms(e, form, plan.indices, op)
        if isinstance(stride, int):
            constant += stride * offset
            for x, c in more.items():
                terms[x] = terms.get(x, 0) + stride * c
            continue
        if offset:
            terms[stride] = terms.get(stride, 0) + offset
        for x, c in more.items():
            y = times(e, x, stride)
            terms[y] = terms.get(y, 0) + c
    return terms, constant


def times(e: FunctionEmitter, x: str, y: str) -> str:
    """The product of two values, written at the level where both are known."""
    level = max(e.levels.get(x, 0), e.levels.get(y, 0))
    result = e.shared(level, ("mul", x, y), lambda: e.b.emit(f"mul nsw i64 {x}, {y}"))
    if x in e.not_negative and y in e.not_negative:
        e.not_negative.add(result)
    return result


def _base(e: FunctionEmitter, buffer: Buffer, terms: dict[str, int], exact: bool) -> tuple[str, int]:
    """Pointer plus all terms, and its level. `exact` addresses are known to be accessed."""
    b, pointer, elem = e.b, buffer.pointer, buffer.elem
    total_level = e.levels.get(pointer, 0)
    rising = True
    for level, of_level in e.by_level(terms):
        total_level = max(level, total_level)
        # partial sums of nonnegative terms stay inside the buffer
        rising = rising and all(c > 0 and x in e.not_negative for x, c in of_level)
        flags = " inbounds" if rising and exact else ""
        known = e.scopes[total_level].addresses.get((pointer, of_level, flags, elem))
        if known is not None:
            pointer = known
            continue

        def write(pointer: str = pointer, terms: tuple[tuple[str, int], ...] = of_level, flags: str = flags) -> str:
            offset = ""
            for x, c in terms:
                part = x if c == 1 else b.emit(f"mul nsw i64 {x}, {c}")
                offset = b.emit(f"add nsw i64 {offset}, {part}") if offset else part
            return b.gep(pointer, offset, elem, flags)

        pointer = e.shared(total_level, (pointer, of_level, flags, elem), write)
    return pointer, total_level


def _at(b: Builder, pointer: str, offset: int, elem: Ty) -> str:
    """The address `offset` elements away."""
    return pointer if offset == 0 else b.gep(pointer, str(offset), elem, "")


def _lane(e: FunctionEmitter, pointer: str, constant: int, lane: int, stride: int | str, elem: Ty) -> str:
    if isinstance(stride, int):
        return _at(e.b, pointer, constant + lane * stride, elem)
    base = _at(e.b, pointer, constant, elem)
    return base if lane == 0 else e.b.gep(base, str(e.product(stride, lane)), elem, "")


def load(e: FunctionEmitter, op: LoadOp) -> None:
    result = op.results[0]
    plan = _plan(e, op, result, 0)
    terms, constant = _terms(e, op, plan)
    mask = None if plan.mask is None else e.value(plan.mask, op)
    pointer, level = _base(e, plan.buffer, terms, mask is None)
    if mask is not None:
        level = max(level, e.levels.get(mask, 0))
    if plan.buffer.read_only and level < e.uncertain_depth and e.scopes[e.uncertain_depth].entered is not None:
        e.values[result] = e.entering(lambda: _load(e, plan, pointer, constant, mask))
    elif plan.buffer.read_only and (level := max(level, e.uncertain_depth)) < e.depth:
        x = e.hoisted(level, lambda: _load(e, plan, pointer, constant, mask))
        e.values[result] = x
    else:
        e.values[result] = x = _column(e, plan, pointer, constant, mask) or _load(e, plan, pointer, constant, mask)
        e.levels[x] = e.depth


def _column(e: FunctionEmitter, plan: Plan, pointer: str, constant: int, mask: str | None) -> str | None:
    """A vector across rows that copies of an unrolled loop read side by side; None when it is no such vector."""
    ty, stride = plan.ty, plan.lane_stride
    if ty.lanes == 1 or stride in (-1, 0, 1) or plan.linear is None or not plan.buffer.read_only or memory_type(ty) is not ty:
        return None
    for index in plan.indices:
        window = e.windows.get(index)
        if window is None or _coefficient(plan, index) != 1 or (plan.mask is not None and _depends(plan.mask, index)):
            continue
        if (window.depth, window.block) != (e.depth, e.b.block) or not can_transpose(window, ty):
            continue
        number = int(e.values[index]) - window.first
        key = pointer, constant - number, stride, ty, plan.mask
        if key not in window.columns:
            window.columns[key] = _columns(e, plan, pointer, constant - number, window.trips, mask)
        return window.columns[key][number]
    return None


def _coefficient(plan: Plan, index: SSAValue) -> int:
    """The stride of a read in an index, in elements."""
    assert plan.linear is not None
    return sum(c for c, other in zip(plan.linear[0], plan.indices, strict=True) if other is index)


def _depends(value: SSAValue, index: SSAValue) -> bool:
    """Whether a value is computed from an index."""
    owner = value.owner
    return value is index or (isinstance(owner, Operation) and any(_depends(operand, index) for operand in owner.operands))


def _columns(e: FunctionEmitter, plan: Plan, pointer: str, begin: int, count: int, mask: str | None) -> list[str]:
    """The first `count` columns of rows that begin `lane_stride` elements apart; rows whose lane is off are zeros."""
    b, ty, elem = e.b, plan.ty, plan.buffer.elem
    columns: list[str] = []
    for at in range(begin, begin + count, ty.lanes):
        rows: list[str] = []
        for lane in range(ty.lanes):
            address = _lane(e, pointer, at, lane, plan.lane_stride, elem)
            if mask is not None:
                address = b.emit(f"select i1 {b.extract(mask, lane, ty.bool)}, ptr {address}, ptr {_spare(e, ty, zero=True)}")
            rows.append(b.load(address, ty, elem.bits // 8))
        columns += transposed(b, rows, ty)
    return columns


def _load(e: FunctionEmitter, plan: Plan, pointer: str, constant: int, mask: str | None) -> str:
    b, ty, elem, stride = e.b, plan.ty, plan.buffer.elem, plan.lane_stride
    memory = memory_type(ty)
    align = elem.bits // 8
    in_memory = ty.lanes >= 4 and plan.buffer.strides[-1:] == (1,) and not plan.buffer.register
    is_second = stride == 2 and in_memory
    if mask is not None and plan.mask is not None and (is_second or _is_masked(plan)):
        mask = unfolded_mask(e, plan.mask, mask, memory, in_order=stride == 1)
    if ty.lanes == 1:
        address = _at(b, pointer, constant, elem)
        if mask is not None:
            address = b.emit(f"select i1 {mask}, ptr {address}, ptr {_spare(e, elem, zero=True)}")
        x = b.load(address, memory, align)
    elif stride == 1 or stride == -1:
        if stride == -1:
            constant -= ty.lanes - 1
            mask = mask and reverse(b, mask, ty.bool)
        address = _at(b, pointer, constant, elem)
        if mask is None:
            x = b.load(address, memory, align)
        elif plan.buffer.register:  # a masked load would keep the tile out of registers
            x = b.select(mask, b.load(address, memory, align), const(0, memory), memory)
        else:
            x = masked_load(b, address, mask, memory, align)
        if stride == -1:
            x = reverse(b, x, memory)
    elif stride == 0 and mask is None:
        x = b.splat(b.load(_at(b, pointer, constant, elem), elem, align), memory)
    elif is_second:
        x = every_other(b, _at(b, pointer, constant, elem), mask, memory, align)
    elif stride in (3, 4) and in_memory and mask is None and (whole := _register(e, ty, elem)) >= 8:
        x = few_apart(b, _at(b, pointer, constant, elem), stride, memory, whole)
    else:
        spare = None if mask is None else _spare(e, elem, zero=True)
        x = "poison"
        for lane in range(ty.lanes):
            address = _lane(e, pointer, constant, lane, stride, elem)
            if mask is not None:
                address = b.emit(f"select i1 {b.extract(mask, lane, ty.bool)}, ptr {address}, ptr {spare}")
            x = b.insert(x, b.load(address, elem, align), lane, memory)
    return b.icmp("ne", x, const(0, memory), memory) if memory is not ty else x


def _register(e: FunctionEmitter, ty: Ty, elem: Ty) -> int:
    """The number of elements of a vector that one register holds."""
    return math.gcd(ty.lanes, e.module.target.lanes(elem.bits))


def _is_masked(plan: Plan) -> bool:
    """Whether an access with a mask is one of contiguous elements in memory."""
    return plan.ty.lanes > 1 and plan.lane_stride in (1, -1) and not plan.buffer.register


def _others_between(e: FunctionEmitter, op: StoreOp, plan: Plan, terms: Any, constant: int) -> list[StoreOp]:
    """The stores after a strided one that fill the elements in between; none if they do not."""
    stride, others = plan.lane_stride, list[StoreOp]()
    if stride not in (2, 3, 4) or plan.mask is not None or plan.buffer.register:
        return []
    if stride > 2 and _register(e, plan.ty, plan.buffer.elem) < 4:
        return []
    following = op.next_op
    while isinstance(following, StoreOp) and len(others) < stride - 1:
        beside = _plan(e, following, following._operands[0], 1)
        if (beside.buffer, beside.ty, beside.lane_stride, beside.mask) != (plan.buffer, plan.ty, stride, None):
            return []
        if _terms(e, following, beside) != (terms, constant + len(others) + 1):
            return []
        others.append(following)
        following = following.next_op
    return others if len(others) == stride - 1 else []


def store(e: FunctionEmitter, op: StoreOp) -> None:
    b = e.b
    if op in e.stored:
        e.stored.discard(op)
        return
    value = op._operands[0]
    plan = _plan(e, op, value, 1)
    ty, elem, stride = plan.ty, plan.buffer.elem, plan.lane_stride
    terms, constant = _terms(e, op, plan)
    if ty.lanes > 1 and memory_type(ty) is ty and (others := _others_between(e, op, plan, terms, constant)):
        pointer, _ = _base(e, plan.buffer, terms, True)
        values = [e.value(each._operands[0], each) for each in (op, *others)]
        store_in_turns(b, values, _at(b, pointer, constant, elem), ty, _register(e, ty, elem))
        e.stored.update(others)
        return
    mask = None if plan.mask is None else e.value(plan.mask, op)
    pointer, _ = _base(e, plan.buffer, terms, mask is None)
    x = e.value(value, op)
    memory, align = memory_type(ty), elem.bits // 8
    if memory is not ty:
        x = b.cast("zext", x, ty, memory)
    if mask is not None and plan.mask is not None and _is_masked(plan):
        mask = unfolded_mask(e, plan.mask, mask, memory, in_order=plan.lane_stride == 1)
    if ty.lanes == 1:
        address = _at(b, pointer, constant, elem)
        if mask is not None:
            address = b.emit(f"select i1 {mask}, ptr {address}, ptr {_spare(e, elem, zero=False)}")
        b.store(x, address, memory, align)
    elif stride == 1 or stride == -1:
        if stride == -1:
            constant -= ty.lanes - 1
            x = reverse(b, x, memory)
            mask = mask and reverse(b, mask, ty.bool)
        address = _at(b, pointer, constant, elem)
        if mask is None and STREAMED in op.attributes and _is_aligned(memory):
            _stream(e, op.buffer, x, address, memory, align)
        elif mask is None:
            b.store(x, address, memory, align)
        elif plan.buffer.register:
            b.store(b.select(mask, x, b.load(address, memory, align), memory), address, memory, align)
        else:
            masked_store(b, x, address, mask, memory, align)
    else:
        spare = None if mask is None else _spare(e, elem, zero=False)
        for lane in range(ty.lanes):
            address = _lane(e, pointer, constant, lane, stride, elem)
            if mask is not None:
                address = b.emit(f"select i1 {b.extract(mask, lane, ty.bool)}, ptr {address}, ptr {spare}")
            b.store(b.extract(x, lane, memory), address, elem, align)


def _is_aligned(ty: Ty) -> bool:
    """Whether consecutive vectors begin and end with cache lines, or divide them."""
    size = ty.lanes * ty.bits // 8
    return size % LINE_BYTES == 0 or LINE_BYTES % size == 0


def _stream(e: FunctionEmitter, buffer: SSAValue, x: str, address: str, memory: Ty, align: int) -> None:
    """Use a non-temporal store for a vector if it begins with a cache line, or with a vector if these are shorter.

    A buffer whose size is known only at run time has to be large enough for that.
    """
    b, whole = e.b, min(LINE_BYTES, memory.lanes * memory.bits // 8)
    rest = b.emit(f"and i64 {b.emit(f'ptrtoint ptr {address} to i64')}, {whole - 1}")
    if (small := e.is_small(buffer)) != "0":
        rest = b.emit(f"or i64 {rest}, {small}")
    aligned, plain, stored = b.fresh_label("aligned"), b.fresh_label("plain"), b.fresh_label("stored")
    b.cond_br(b.icmp("eq", rest, "0", I64), aligned, plain)
    b.label(aligned)
    b.store(x, address, memory, whole, ", !nontemporal !{i32 1}")
    b.br(stored)
    b.label(plain)
    b.store(x, address, memory, align)
    b.br(stored)
    b.label(stored)
    e.streams = True


def _spare(e: FunctionEmitter, elem: Ty, zero: bool) -> str:
    """The memory that masked-off lanes of strided accesses read as zero, or write to: no branches needed."""
    key = ("spare", elem, zero)
    found = e.scopes[0].addresses.get(key)
    if found is None:
        found = e.scopes[0].addresses[key] = e.alloca(elem, 8)
        if zero:
            e.entry.append(f"  store {elem} zeroinitializer, ptr {found}, align 8")
    return found


def alloc(e: FunctionEmitter, op: AllocOp) -> None:
    type = op.results[0].type
    assert isinstance(type, MemRefType)
    elem = memory_type(e.ty(type.element_type, op))
    register = op.space.data == "register"
    found = e.plans.get(op)
    if found is None:  # unrolled copies share it: contents start undefined
        found = e.plans[op] = _memory(e, op, type, elem), _shape(e, op, type)
        e.levels[found[0]] = 0
    pointer, shape = found
    e.values[op.results[0]] = pointer
    e.buffers[op.results[0]] = Buffer(pointer, elem, e.strides(type, shape, op), register=register)


def _shape(e: FunctionEmitter, op: AllocOp, type: MemRefType) -> tuple[list[str], None] | None:
    if not op.sizes:
        return None
    given = iter(op.sizes)
    return [_size(e, next(given), op) if size == DYNAMIC_INDEX else str(size) for size in type.get_shape()], None


def _size(e: FunctionEmitter, value: SSAValue, op: AllocOp) -> str:
    """A size as a number, a parameter, or a value computed from these at the start of the function, before allocations."""
    x, owner = e.value(value, op), value.owner
    if x[:2] != "%v" or "." in x:  # not an instruction
        return x
    if not isinstance(owner, Operation) or owner.name not in _SIZES:
        raise fail(op, "has a size that is not known at the start of the kernel")
    sizes = [_size(e, operand, op) for operand in owner.operands]
    lines, e.b.lines = e.b.lines, e.entry
    x = e.module.pure[owner.name](e, owner, sizes, I64)
    e.b.lines = lines
    return x


_SIZES = {f"arith.{op}" for op in "addi subi muli floordivsi ceildivsi divsi minsi maxsi index_cast".split()}
"""The ops that compute sizes."""


def _memory(e: FunctionEmitter, op: AllocOp, type: MemRefType, elem: Ty) -> str:
    """A pointer to the buffer: in the arena, on the stack or, allocated at the start of the function, on the heap."""
    if op in e.scratch and not e.on_threads:
        found = e.b.name()
        e.entry.append(f"  {found} = getelementptr inbounds i8, ptr %scratch, i64 {e.scratch[op]}")
        return found
    if not op.sizes:
        count = element_count(type.get_shape())
        size = count * elem.bits // 8
        if size <= STACK_LIMIT_BYTES:
            return e.alloca(f"[{max(1, count)} x {elem}]", 64)
        if op.space.data != "scratch":
            raise fail(
                op,
                f"takes {size} bytes, more than the {STACK_LIMIT_BYTES} a kernel may keep on its stack; "
                "make it a scratch buffer, or tile the loops around it first",
            )
        bytes_ = str(size)
    else:
        shape = _shape(e, op, type)
        assert shape is not None
        lines, e.b.lines = e.b.lines, e.entry
        bytes_ = str(elem.bits // 8)
        for x in shape[0]:  # unsigned and saturating: none wraps to a small one, and a negative size is too much
            callee = e.b.module.declare("llvm.umul.fix.sat.i64", "i64", ("i64", "i64", "i32 immarg"))
            bytes_ = e.b.emit(f"call i64 {callee}(i64 {bytes_}, i64 {x}, i32 0)")
            e.least_size = e.b.intrinsic("smin", I64, e.least_size, x)  # as an unsigned number, a negative one is too much
        e.b.lines = lines
    return e.take(bytes_)


def prefetch(e: FunctionEmitter, op: PrefetchOp) -> None:
    n = op.map.data.num_dims
    buffer = e.buffer(op.buffer, op)
    forms = [linear_form(expr, n) for expr in op.map.data.results]
    plan = Plan(buffer, list(op.indices), None, forms, None, 0, buffer.elem)
    terms, constant = _terms(e, op, plan)
    pointer, _ = _base(e, buffer, terms, False)
    callee = e.b.module.declare("llvm.prefetch.p0", "void", ("ptr", "i32 immarg", "i32 immarg", "i32 immarg"))
    e.b.emit_void(f"call void {callee}(ptr {_at(e.b, pointer, constant, buffer.elem)}, i32 0, i32 3, i32 1)")


def _addresses(e: FunctionEmitter, op: GatherOp | ScatterOp, ty: Ty) -> list[str]:
    """The address of each lane."""
    b, buffer = e.b, e.buffer(op.buffer, op)
    base: dict[str, int] = {}
    constant = 0
    lanes: list[dict[str, int]] = [{} for _ in range(ty.lanes)]
    wide = I64.with_lanes(ty.lanes)
    for subscript, stride in zip(op.subscripts, buffer.strides, strict=True):
        x = e.value(subscript, op)
        if not isinstance(subscript.type, VectorType):
            if is_number(x) and isinstance(stride, int):
                constant += int(x) * stride
            elif isinstance(stride, int):
                base[x] = base.get(x, 0) + stride
            else:
                y = stride if is_number(x) else times(e, x, stride)
                base[y] = base.get(y, 0) + (int(x) if is_number(x) else 1)
            continue
        for lane, terms in enumerate(lanes):
            one = b.extract(x, lane, wide)
            if isinstance(stride, str):
                one, stride_ = b.emit(f"mul nsw i64 {one}, {stride}"), 1
            else:
                stride_ = stride
            terms[one] = terms.get(one, 0) + stride_
    pointer, _ = _base(e, buffer, base, False)
    pointer = _at(b, pointer, constant, buffer.elem)
    found: list[str] = []
    for terms in lanes:
        address = pointer
        for x, c in terms.items():
            address = b.gep(address, x if c == 1 else b.emit(f"mul nsw i64 {x}, {c}"), buffer.elem, "")
        found.append(address)
    return found


def gather(e: FunctionEmitter, op: GatherOp) -> None:
    b, ty = e.b, e.ty(op.value.type, op)
    memory, elem = memory_type(ty), e.buffer(op.buffer, op).elem
    mask = None if op.mask is None else e.value(op.mask, op)
    spare = None if mask is None else _spare(e, elem, zero=True)
    x = "poison"
    for lane, address in enumerate(_addresses(e, op, ty)):
        if mask is not None:
            address = b.emit(f"select i1 {b.extract(mask, lane, ty.bool)}, ptr {address}, ptr {spare}")
        one = b.load(address, elem, elem.bits // 8)
        x = one if ty.lanes == 1 else b.insert(x, one, lane, memory)
    e.define(op.value, b.icmp("ne", x, const(0, memory), memory) if memory is not ty else x)


def scatter(e: FunctionEmitter, op: ScatterOp) -> None:
    b, ty = e.b, e.ty(op.value.type, op)
    memory, elem = memory_type(ty), e.buffer(op.buffer, op).elem
    mask = None if op.mask is None else e.value(op.mask, op)
    spare = None if mask is None else _spare(e, elem, zero=False)
    x = e.value(op.value, op)
    if memory is not ty:
        x = b.cast("zext", x, ty, memory)
    for lane, address in enumerate(_addresses(e, op, ty)):
        if mask is not None:
            address = b.emit(f"select i1 {b.extract(mask, lane, ty.bool)}, ptr {address}, ptr {spare}")
        b.store(x if ty.lanes == 1 else b.extract(x, lane, memory), address, elem, elem.bits // 8)


def check(e: FunctionEmitter, op: CheckOp) -> None:
    """Leave the function with a status unless the condition holds."""
    b = e.b
    condition, value = e.value(op.condition, op), e.value(op.value, op)
    if condition == "true":
        return
    bad, good = b.fresh_label("bad"), b.fresh_label("good")
    b.cond_br(condition, good, bad)
    b.label(bad)
    e.leave(str(op.status.value.data), value)
    b.label(good)
    e.doubt()


EFFECTS: dict[str, Effect] = {
    "loop.load": load,
    "loop.store": store,
    "loop.alloc": alloc,
    "loop.prefetch": prefetch,
    "loop.gather": gather,
    "loop.scatter": scatter,
    "loop.check": check,
    "loop.assume": lambda e, op: None,
}

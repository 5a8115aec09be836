"""Assign every intermediate buffer of a host function an offset in one arena, before anything runs.

Each `memref.alloc` becomes a `memref.view` of the arena, a new last argument. Buffers with disjoint lifetimes (first to last
use in op order, views counting for their source) may share memory. A kernel with `in_place(%result over %operand)` stores each
element of the result after its last load of that element of the operand: where the operand dies at the launch, the result takes
over its memory. Pairs that no launch uses are dropped, so that their arguments can be `noalias`.

A buffer of dynamic size becomes an argument of the function, a temporary.

A kernel's `loop.alloc scratch` that is too large for its stack is in the arena while the kernel runs; the launch has its offset
(`scratch`).

Results that may be written over donated arguments (`donation.py`) are such pairs, too.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import groupby
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects import program
from ..dialects.loop.loops import KernelOp, segment_sizes
from ..dialects.loop.memory import AllocOp, LaunchOp
from ..dialects.loop.repeat import CalledOnceOp, HostCallOp, RepeatOp, RepeatWhileOp
from ..dialects.operations import create
from ..dialects.types import IntegerType, element_of, index, is_complex, part_of
from ..dialects.types import memref as memref_type
from ..errors import CompileError
from .analysis.nests import ops_in, walk
from .donation import Pairs, carry_in_place, donate
from .llvm.emit_types import fail

ALIGNMENT = 64
_I8 = IntegerType(8)
_VIEWS = (
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.memory_space_cast",
    "memref.reinterpret_cast",
    "memref.subview",
    "memref.view",
    "program.reinterpret_cast",
)


MANY, TOO_MANY = 256, 1 << 14
"""Numbers of buffers up to which both orders are always tried, and up to which large first is: its time grows with their
square, 0.5 s of processor time for 8,000.
"""


@dataclass(frozen=True)
class Lifetime:
    """A piece of memory: its size in bytes and the first and last op, by number, that touches it."""

    size_bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    """Offsets in the order of the lifetimes, the size of their arena, and a lower bound for all plans, in bytes."""

    offsets: tuple[int, ...]
    arena_bytes: int
    peak_bytes: int


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def plan_offsets(lifetimes: Sequence[Lifetime]) -> Plan:
    """Place buffers one after the other into the tightest gap between those with overlapping lifetimes.

    Two orders are tried, early first and large first, and the smaller arena is kept; the result depends on the input alone. For
    many buffers the second order is only tried where the first one wastes more than a 64th, and there are not too many.
    """
    peak = _most_in_use(lifetimes)
    early = _place_early_first(lifetimes)
    many = len(lifetimes) > MANY
    if early[1] <= (peak + peak // 64 if many else peak) or len(lifetimes) > TOO_MANY:
        return Plan(tuple(early[0]), early[1], peak)
    offsets, arena = min(_place_large_first(lifetimes), early, key=lambda placed: placed[1])
    return Plan(tuple(offsets), arena, peak)


class _FreeMemory:
    """The gaps below the end of what is in use, by size, where a gap that is freed joins those beside it."""

    def __init__(self) -> None:
        self.end = 0
        self._by_size: list[tuple[int, int]] = []  # (size, start), sorted
        self._ends: dict[int, int] = {}  # the end of a gap by its start
        self._starts: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The start of the tightest gap, the first one of equals, or the end."""
        at = bisect_left(self._by_size, (size, 0))
        if at == len(self._by_size):
            start, self.end = self.end, self.end + size
            return start
        start = self._by_size[at][1]
        end = self._remove(start)
        if start + size < end:
            self._add(start + size, end)
        return start

    def free(self, start: int, end: int) -> None:
        if (before := self._starts.get(start)) is not None:
            self._remove(before)
            start = before
        if end in self._ends:
            end = self._remove(end)
        if end == self.end:
            self.end = start
        else:
            self._add(start, end)

    def _add(self, start: int, end: int) -> None:
        insort(self._by_size, (end - start, start))
        self._ends[start], self._starts[end] = end, start

    def _remove(self, start: int) -> int:
        end = self._ends.pop(start)
        del self._starts[end], self._by_size[bisect_left(self._by_size, (end - start, start))]
        return end


def _place_early_first(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """In n log n steps: the buffers that overlap a buffer and precede it in this order are those in use at its first op."""
    offsets, arena, free = [0] * len(lifetimes), 0, _FreeMemory()
    in_use: list[tuple[int, int, int]] = []  # a heap of (last op, start, end)
    for k in sorted(range(len(lifetimes)), key=lambda k: (lifetimes[k].first, -lifetimes[k].size_bytes, k)):
        size, first, last = aligned(lifetimes[k].size_bytes), *_span(lifetimes[k])
        while in_use and in_use[0][0] < first:  # two buffers used by one op must not share memory
            free.free(*heappop(in_use)[1:])
        if size:
            offsets[k] = start = free.take(size)
            arena = max(arena, start + size)
            heappush(in_use, (last, start, start + size))
    return offsets, arena


def _place_large_first(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    order = sorted(range(len(lifetimes)), key=lambda k: (-lifetimes[k].size_bytes, lifetimes[k].first, k))
    offsets, arena, n = [0] * len(lifetimes), 0, 0
    placed = np.empty((4, len(lifetimes)), np.int64)
    """The first `n` buffers as columns, by offset: first and last op, start and end."""
    for (size, first, last), equal in groupby(order, lambda k: (aligned(lifetimes[k].size_bytes), *_span(lifetimes[k]))):
        if size == 0:
            continue
        members = list(equal)
        # two buffers used by one op must not share memory
        taken = placed[2:, :n][:, (placed[0, :n] <= last) & (placed[1, :n] >= first)]
        ends = np.maximum.accumulate(np.concatenate(([0], taken[1])))
        for k, start in zip(members, _starts(size, len(members), ends, taken[0] - ends[:-1]), strict=True):
            offsets[k] = start
            arena = max(arena, start + size)
            at = int(placed[2, :n].searchsorted(start))
            placed[:, at + 1 : n + 1] = placed[:, at:n]
            placed[:, at] = first, last, start, start + size
            n += 1
    return offsets, arena


def _span(life: Lifetime) -> tuple[int, int]:
    return life.first, life.last


def _starts(size: int, count: int, ends: np.ndarray[Any, Any], gaps: np.ndarray[Any, Any]) -> list[int]:
    """The offsets of equal buffers: in the tightest gaps, each of which begins at an end, then after the last end."""
    starts: list[int] = []
    fitting = np.flatnonzero(gaps >= size)
    for gap, start in sorted(zip(gaps[fitting].tolist(), ends[fitting].tolist(), strict=True)):
        starts += range(start, start + min(gap // size, count - len(starts)) * size, size)
        if len(starts) == count:
            return starts
    end = int(ends[-1])
    return [*starts, *range(end, end + (count - len(starts)) * size, size)]


def _most_in_use(lifetimes: Sequence[Lifetime]) -> int:
    changes: dict[int, int] = {}
    for life in lifetimes:
        changes[life.first] = changes.get(life.first, 0) + aligned(life.size_bytes)
        changes[life.last + 1] = changes.get(life.last + 1, 0) - aligned(life.size_bytes)
    in_use = most = 0
    for at in sorted(changes):
        in_use += changes[at]
        most = max(most, in_use)
    return most


# Scratch memory of a kernel

STACK_LIMIT_BYTES = 64 << 10
"""Largest local buffer of a kernel on the stack, in bytes."""


def scratch_layout(kernel: KernelOp) -> tuple[dict[AllocOp, int], int]:
    """The offsets of the scratch buffers that do not fit the stack in the scratch memory of a launch, and its size in bytes."""
    offsets: dict[AllocOp, int] = {}
    total = 0
    for op in ops_in(kernel, AllocOp):
        if op.space.data == "scratch" and not op.sizes:
            size = size_bytes(op.buffer.type, op)
            if size > STACK_LIMIT_BYTES:
                offsets[op] = total
                total += aligned(size)
    return offsets, total


# Liveness of a function


@dataclass(eq=False)
class _Storage:
    """Memory of one alloc, of several that share it, or of the arena of a callee."""

    size: int
    first: int
    last: int
    allocs: list[memref.AllocOp] = field(default_factory=list)


def known_bytes(type: Any) -> int | None:
    """The size of a buffer without gaps and dynamic dims."""
    if not isinstance(type, MemRefType) or not isinstance(type.layout, NoneAttr) or DYNAMIC_INDEX in type.get_shape():
        return None
    return math.prod(type.get_shape()) * _element_bytes(type.element_type)


def _element_bytes(element: Any) -> int:
    if is_complex(element):
        return 2 * _element_bytes(part_of(element))
    return 8 if element == index else -(-element.bitwidth // 8)


def size_bytes(type: Any, op: Operation) -> int:
    size = known_bytes(type)
    if size is None:
        raise fail(op, f"needs a static shape without layout to be planned, got {type}")
    return size


def _covers(value: SSAValue) -> bool:
    """Whether a buffer is a whole alloc, possibly in another shape, so that equal positions are equal addresses."""
    owner = value.owner
    while isinstance(owner, Operation) and owner.name in _VIEWS:
        before, after = known_bytes(owner.operands[0].type), known_bytes(owner.results[0].type)
        if owner.name in ("memref.view", "memref.subview") or before is None or before != after:
            return False
        owner = owner.operands[0].owner
    return isinstance(owner, memref.AllocOp)


def share_temporaries(function: program.FuncOp) -> None:
    """Make arguments of the allocs of dynamic size: those of one type and size, and not in use at once, share one.

    Raises:
        CompileError: a size is no argument of the function.
    """
    uses: dict[memref.AllocOp, list[int]] = {}
    end = len(list(function.body.block.ops))
    for at, op in enumerate(function.body.block.ops):
        if isinstance(op, memref.AllocOp) and op.operands:
            uses[op] = []
        for operand in op.operands:
            if operand.owner in uses:
                # through a view it may be used from there to the end
                uses[operand.owner] += [at, end] if op.results else [at]  # pyright: ignore[reportArgumentType]
    slots: dict[object, list[tuple[SSAValue, int]]] = {}
    for alloc, at in uses.items():
        type, sizes = alloc.memref.type, list(alloc.dynamic_sizes)
        if any(size not in function.sizes for size in sizes):
            raise fail(alloc, f"of {type} needs sizes that are arguments of @{function.sym_name.data}")
        free = slots.setdefault((type, *sizes), [])
        found = next((slot for slot in free if at and slot[1] < min(at)), None)
        if found is None:
            given = iter(sizes)
            shape = [next(given) if size == DYNAMIC_INDEX else size for size in type.get_shape()]
            slot = function.add_temporary(type, shape)
            slot.name_hint = alloc.memref.name_hint
        else:
            slot = found[0]
            free.remove(found)
        free.append((slot, max(at, default=0)))
        alloc.memref.replace_all_uses_with(slot)
        alloc.detach()
        alloc.erase()


def give_temporaries(function: program.FuncOp, hosts: Mapping[str, program.FuncOp]) -> None:
    """Let a function allocate the temporaries that its callees take."""
    block = function.body.block
    for op in list(block.ops):
        if not isinstance(op, HostCallOp) or not any(name in hosts and hosts[name].temporaries for name in op.callees):
            continue
        more: list[tuple[list[SSAValue], Sequence[SSAValue]]] = []
        for name, (known, sizes) in zip(op.callees, op.more, strict=True):
            callee = hosts.get(name)
            missing = () if callee is None else callee.temporaries[len(known) :]
            more.append(([*known, *(_temporary(callee, t, sizes, op) for t in missing)], sizes))  # pyright: ignore[reportArgumentType]
        if [len(given) for given, _ in more] != [len(given) for given, _ in op.more]:
            block.insert_op_before(op.with_more(more), op)
            op.detach()
            op.erase()


def _temporary(callee: program.FuncOp, temporary: SSAValue, given: Sequence[SSAValue], before: HostCallOp) -> SSAValue:
    numbers = dict(zip(callee.sizes, given, strict=True))
    sizes = [numbers[size] for size in callee.sizes_of(temporary) if not isinstance(size, int)]
    alloc = create(
        memref.AllocOp,
        operands=sizes,
        result_types=[temporary.type],
        properties=segment_sizes(len(sizes), 0),
    )
    alloc.location = before.location
    block = before.parent
    assert block is not None
    block.insert_op_before(alloc, before)
    alloc.memref.name_hint = temporary.name_hint
    return alloc.memref


class _Planner:
    """Plans one function; `analyse`, then `storages`, then `rewrite`."""

    def __init__(self, function: program.FuncOp, kernels: dict[str, KernelOp]):
        self.function = function
        self.kernels = kernels
        self.root: dict[SSAValue, memref.AllocOp] = {}
        self.launches: list[tuple[int, LaunchOp | HostCallOp]] = []
        self.storage: dict[memref.AllocOp, _Storage] = {}
        self.calls: list[tuple[HostCallOp, _Storage]] = []
        self.scratch: list[tuple[LaunchOp, _Storage]] = []
        self.in_place: list[tuple[str, int, int]] = []

    def analyse(self) -> None:
        """Find lifetimes, and the buffers that take over memory of others."""
        first: dict[memref.AllocOp, int] = {}
        last: dict[memref.AllocOp, int] = {}
        root = self.root
        for at, op in enumerate(self.function.body.block.ops):
            if isinstance(op, memref.AllocOp):
                root[op.results[0]] = op
                continue
            if op.name in _VIEWS:
                if (alloc := root.get(op._operands[0])) is not None:
                    root[op.results[0]] = alloc
                continue
            for inner in walk(op) if op.regions else (op,):
                for operand in inner._operands if inner.name not in _VIEWS else ():
                    if (alloc := root.get(operand)) is not None:
                        first.setdefault(alloc, at)
                        last[alloc] = at
            if isinstance(op, LaunchOp | HostCallOp):
                self.launches.append((at, op))
        sizes: dict[Any, int] = {}  # hundreds of buffers have few types
        for alloc in dict.fromkeys(root.values()):
            type = alloc.results[0].type
            if alloc in first and type not in sizes:
                sizes[type] = size_bytes(type, alloc)
            size = sizes[type] if alloc in first else 0
            self.storage[alloc] = _Storage(size, first.get(alloc, 0), last.get(alloc, 0), [alloc])
        for at, op in self.launches:
            if isinstance(op, LaunchOp):
                self._reuse(op, at)

    def storages(self, scratch_sizes: Mapping[str, int], callees: Mapping[str, int]) -> list[_Storage]:
        """All memory that the function needs, given the needs of kernels and planned functions."""
        for at, op in self.launches:
            if isinstance(op, LaunchOp):
                if size := scratch_sizes.get(op.kernel.string_value()):
                    self.scratch.append((op, _Storage(size, at, at)))
            elif sizes := [callees[c] for c in op.callees if c in callees]:
                self.calls.append((op, _Storage(max(sizes), at, at)))  # in sequence, or only one of them
        return list(dict.fromkeys([*self.storage.values(), *(storage for _, storage in (*self.calls, *self.scratch))]))

    def _reuse(self, launch: LaunchOp, at: int) -> None:
        """Let a result take over the memory of an operand that dies here."""
        name = launch.kernel.string_value()
        pairs = self.kernels[name].in_place_pairs if name in self.kernels else ()
        arguments = launch.arguments
        for result, operand in pairs:
            new, old = self.root.get(arguments[result]), self.root.get(arguments[operand])
            if new is None or old is None or self.storage[new] is self.storage[old]:
                continue
            of_new, of_old = self.storage[new], self.storage[old]
            widths = {_element_bytes(element_of(arguments[k])) for k in (result, operand)}
            if of_new.first != at or of_old.last != at or of_new.size != of_old.size or len(widths) != 1:
                continue
            if not (_covers(arguments[result]) and _covers(arguments[operand])):
                continue
            uses = [k for k, a in enumerate(arguments) if (r := self.root.get(a)) and self.storage[r] is of_old]
            aliases = [k for k, a in enumerate(arguments) if (r := self.root.get(a)) and self.storage[r] is of_new]
            if aliases != [result] or any((result, k) not in pairs or not _covers(arguments[k]) for k in uses):
                continue
            of_old.last = of_new.last
            of_old.allocs += of_new.allocs
            for alloc in of_new.allocs:  # not all of the function's: this runs for each launch
                self.storage[alloc] = of_old
            self.in_place += [(name, result, k) for k in uses]

    def rewrite(self, offsets: dict[_Storage, int], plan: Plan) -> None:
        block = self.function.body.block
        arena = self.function.add_arena(plan.arena_bytes, plan.peak_bytes)
        constants: dict[int, SSAValue] = {}
        start = block.first_op
        for offset in sorted(set(offsets.values())):
            constant = create(arith.ConstantOp, result_types=[index], properties={"value": IntegerAttr(offset, index)})
            assert start is not None  # storage has ops
            block.insert_op_before(constant, start)
            constant.result.name_hint = f"at{offset}"
            constants[offset] = constant.result
        for alloc, storage in self.storage.items():
            old = alloc.results[0]
            if old.first_use is None:  # contents are written over an argument: the arena has no room for them
                alloc.detach()
                alloc.erase()
                continue
            view = create(memref.ViewOp, operands=[arena, constants[offsets[storage]]], result_types=[old.type])
            view.location = alloc.location
            block.insert_op_before(view, alloc)
            view.results[0].name_hint = old.name_hint
            old.replace_all_uses_with(view.results[0])
            alloc.detach()
            alloc.erase()
        for call, storage in self.calls:
            type = memref_type(_I8, (storage.size,))
            view = create(memref.ViewOp, operands=[arena, constants[offsets[storage]]], result_types=[type])
            view.location = call.location
            block.insert_op_before(view, call)
            block.insert_op_before(call.with_arena(view.results[0]), call)
            call.detach()
            call.erase()
        for launch, storage in self.scratch:
            launch.properties["scratch"] = IntegerAttr(offsets[storage], i64)


@dataclass(frozen=True)
class PlanBuffersPass(ModulePass):
    """Replace the allocs of host functions by views of a planned arena."""

    name = "plan-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        planners: dict[str, _Planner] = {}
        relied = pairs_in_use(op, planners)
        kernels = {k.sym_name.data: k for k in op.body.block.ops if isinstance(k, KernelOp)}
        scratch_sizes = {name: scratch_layout(kernel)[1] for name, kernel in kernels.items()}
        hosts = {f.sym_name.data: f for f in op.body.block.ops if isinstance(f, program.FuncOp)}
        planned: dict[str, int] = {}
        in_progress: list[str] = []

        def visit(name: str) -> None:
            function = hosts[name]
            if name in planned or function.arena is not None:
                return
            if name in in_progress:
                raise CompileError(f"function @{name} calls itself: its memory cannot be planned")
            in_progress.append(name)
            for inner in walk(function):
                for callee in inner.callees if isinstance(inner, HostCallOp) else ():
                    if callee in hosts:
                        visit(callee)
            in_progress.pop()
            planner = planners[name]
            storages = planner.storages(scratch_sizes, planned)
            plan = plan_offsets([Lifetime(s.size, s.first, s.last) for s in storages])
            planner.rewrite(dict(zip(storages, plan.offsets, strict=True)), plan)
            planned[name] = plan.arena_bytes

        for name in hosts:
            visit(name)
        for name, kernel in kernels.items():
            kernel.in_place_pairs = relied[name]


def pairs_in_use(module: ModuleOp, planners: dict[str, _Planner] | None = None) -> dict[str, list[tuple[int, int]]]:
    """The `in_place` pairs that a launch uses, by kernel; no schedule of a kernel changes them.

    Allocs of dynamic size become arguments, donated arguments get their results, and carried values that can stay in one buffer
    do.

    Args:
        planners: receives the planner of each function that is not planned yet, after `analyse`.
    """
    kernels = {k.sym_name.data: k for k in module.body.block.ops if isinstance(k, KernelOp)}
    pairs = {name: kernel.in_place_pairs for name, kernel in kernels.items()}
    used: dict[str, set[tuple[int, int]]] = {name: set() for name in kernels}
    for kernel, result, operand in _carry_in_place(module, pairs):
        used[kernel].add((result, operand))
    hosts = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, program.FuncOp)}
    for function in _callees_first(hosts):
        if function.arena is not None:  # it was planned before, and may rely on all of them
            used = {name: set(all_pairs) for name, all_pairs in pairs.items()}
            continue
        give_temporaries(function, hosts)
        share_temporaries(function)
        planner = _Planner(function, kernels)
        planner.analyse()
        if planners is not None:
            planners[function.sym_name.data] = planner
        for kernel, result, operand in (*planner.in_place, *donate(function, pairs)):
            used[kernel].add((result, operand))
    return {name: [pair for pair in all_pairs if pair in used[name]] for name, all_pairs in pairs.items()}


def _carry_in_place(module: ModuleOp, pairs: Mapping[str, Pairs]) -> Iterator[tuple[str, int, int]]:
    """Carry values in one buffer where the body of a loop allows it; returns the (kernel, result, operand) triples used."""
    hosts = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, program.FuncOp) and f.arena is None}
    ordered = _callees_first(hosts)
    wanted: dict[str, list[tuple[int, int]]] = {}
    for function in reversed(ordered):
        over = {(function.outputs[j], function.inputs[k]) for j, k in wanted.get(function.sym_name.data, ())}
        for op in function.body.block.ops:
            if isinstance(op, RepeatOp | RepeatWhileOp):
                wanted.setdefault(op.callees[-1], []).extend(op.in_place)
            elif over and isinstance(op, CalledOnceOp):
                places = [(j, k) for j, b in enumerate(op.into) for k, a in enumerate(op.read) if (b, a) in over]
                for name in op.callees:
                    wanted.setdefault(name, []).extend(places)
    for function in ordered:
        name = function.sym_name.data
        if function.is_private and _each_once(chosen := list(dict.fromkeys(wanted.get(name, ())))):
            yield from carry_in_place(function, chosen, pairs)
        for op in function.body.block.ops:
            if isinstance(op, RepeatOp | RepeatWhileOp) and op.callees[-1] in hosts:
                op.share([pair for pair in hosts[op.callees[-1]].donation_pairs if pair in op.in_place])


def _each_once(pairs: Sequence[tuple[int, int]]) -> bool:
    return all(len({pair[side] for pair in pairs}) == len(pairs) for side in (0, 1))


def _callees_first(hosts: Mapping[str, program.FuncOp]) -> list[program.FuncOp]:
    ordered: dict[program.FuncOp, None] = {}

    def visit(function: program.FuncOp, callers: tuple[program.FuncOp, ...]) -> None:
        if function in callers:
            raise CompileError(f"function @{function.sym_name.data} calls itself: its memory cannot be planned")
        for op in function.body.block.ops:
            for name in op.callees if isinstance(op, HostCallOp) else ():
                if name in hosts and hosts[name] not in ordered:
                    visit(hosts[name], (*callers, function))
        ordered[function] = None

    for function in hosts.values():
        if function not in ordered:
            visit(function, ())
    return list(ordered)

"""The state of one function while its body is written: values, types, nesting, hoisted code, addresses.

The optimizer that follows has no loop-invariant code motion, so each value is written directly at its final level. A *scope* is
a loop body or a branch; the level of a value is the depth of the scope it depends on. A pure value of a lower level than the
current one goes to the *slot* of the loop that need not repeat it: the lines of its preheader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...codegen.targets import Target
from ...codegen.text import I64, PTR, Builder, Module, Ty
from ...dialects.operations import ops_of
from ...dialects.verify_module import may_stop
from ...errors import CompileError, placed
from .emit_debug import LineTable, LocatedBuilder
from .emit_transpose import Window
from .emit_types import buffer_strides, fail, llvm_type, memory_type

Effect = Callable[["FunctionEmitter", Any], None]
"""Writes an op with effects or control flow: loops, accesses."""
Pure = Callable[["FunctionEmitter", Any, list[str], Ty], str]
"""Writes a pure op: takes operands and the type of the result, returns the result."""


@dataclass(eq=False)
class Buffer:
    """Memory as an access sees it: the address of element 0, and strides."""

    pointer: str
    elem: Ty
    """The type of an element in memory: i8 for i1."""
    strides: tuple[int | str, ...]
    """Strides in elements; one known only at run time is the name of a value."""
    read_only: bool = False
    register: bool = False
    """Whether the optimizer should keep it in registers: subscripts of all accesses must be constant."""


@dataclass(eq=False)
class Scope:
    """A loop body or a branch during emission."""

    slot: list[str]
    """The lines of the preheader, or before the conditional."""
    certain: bool
    """Whether the body runs at least once when its surroundings run: a loop of known positive trip count."""
    branch: bool
    entered: list[str] | None = None
    """The lines before the first iteration of a loop that may not run: after its guard."""
    addresses: dict[Any, str] = field(default_factory=dict)


@dataclass(eq=False)
class ModuleEmitter:
    """State that the functions of one module share."""

    text: Module
    target: Target
    effects: dict[str, Effect]
    pure: dict[str, Pure]
    symbols: dict[str, Operation]
    numbers: dict[Operation, int] = field(default_factory=dict)
    """The numbers of the effects of host functions, by which the process identifies them."""
    outlined: list[str] = field(default_factory=list)
    """Outlined bodies of loops, as functions."""
    needs: dict[Operation, Any] = field(default_factory=dict)
    """The hidden arguments of kernels (`emit_needs.Needs`)."""
    types: dict[Attribute, Ty] = field(default_factory=dict)
    by_identity: dict[int, tuple[Attribute, Ty]] = field(default_factory=dict)
    table: LineTable | None = None
    """The source lines of instructions, if requested."""
    reports: bool = False
    """Whether every host function takes a pointer to its status, as those with effects do."""

    @cached_property
    def stopping(self) -> set[str]:
        """The host functions that may end early."""
        return may_stop(self.symbols)


START = "start"
"""The block after `entry` in functions that allocate on the heap, which may fail."""


def opaque(b: Builder, index: str) -> str:
    """The same i64, through an intrinsic that scalar evolution does not see through; it costs nothing.

    Otherwise each address in a loop is an expression in the indices of all loops around it, and loop strength reduction tries
    all ways to divide these among them, although each part is already written in the loop that it depends on.
    """
    return f"call i64 {b.module.declare('llvm.expect.i64', 'i64', ('i64', 'i64'))}(i64 {index}, i64 0)"


class FunctionEmitter:
    """Writes the body of one function; `effects` and `pure` of the module are the table from op name to writer."""

    def __init__(self, module: ModuleEmitter, name: str = ""):
        self.module = module
        self.name = name
        self.b = Builder(module.text) if module.table is None else LocatedBuilder(module.text, module.table)
        self.values: dict[SSAValue, str] = {}
        self.buffers: dict[SSAValue, Buffer] = {}
        self.read_only: set[SSAValue] = set()
        self.aliased: set[str] = set()
        """Pointers that may alias others."""
        self.levels: dict[str, int] = {}
        self.not_negative: set[str] = set()
        self.fused: set[Operation] = set()
        self.plans: dict[Operation, Any] = {}
        self.stored: set[Operation] = set()
        """Stores that were written together with the one before them."""
        self.windows: dict[SSAValue, Window] = {}
        """The current unrolled loops, by their index."""
        self.affordable: set[tuple[Operation, int]] = set()
        """The loops for which so many copies are not too much code."""
        self.scratch: Mapping[Any, int] = {}
        self.shapes: dict[SSAValue, tuple[list[str], list[str] | None]] = {}
        """Sizes and strides of buffers that are known only at run time, as numbers and names."""
        self.heap: list[str] = []
        """Heap memory allocated at the start of the function, to be freed at its end."""
        self.optimized = False
        """Whether LLVM's own optimizations run over this function (`analysis/llvm_gains.py`)."""
        self.leaves = False
        self.starts_later = False
        self.on_threads = False
        """Whether this function is the body of a parallel loop."""
        self.divided: dict[Operation, Any] = {}
        """The loops that are divided among threads with the one around them, each with the `Share` of this function."""
        self.status: str | None = None
        self.least_size = "0"
        """The dynamic sizes of local arrays, and 0: reported where their allocation fails."""
        self.threads = "0"
        self.streams = False
        """Whether there are non-temporal stores, which are not ordered with others."""
        self.small: dict[SSAValue, str] = {}
        """For buffers with non-temporal stores if they are large enough: an i64 that is not 0 where they are not."""
        self.arena: str | None = None
        self.entry: list[str] = []
        self.slots: list[tuple[int, list[str]]] = [(0, self.entry)]
        self.scopes: list[Scope] = [Scope(self.entry, True, False)]
        self.branch_depth = 0
        self.uncertain_depth = 0

    # Types

    def ty(self, type: Attribute, op: Operation) -> Ty:
        """The LLVM type of a scalar or vector value."""
        # hashing an xDSL type takes longer than writing an instruction
        found = self.module.by_identity.get(id(type))
        if found is not None:
            return found[1]
        ty = self.module.types.get(type)
        if ty is None:
            ty = self.module.types[type] = llvm_type(type, op)
        self.module.by_identity[id(type)] = (type, ty)
        return ty

    # Bodies

    def run(self, block: Block) -> None:
        """Write the ops of a block."""
        pure, effects, values, levels = self.module.pure, self.module.effects, self.values, self.levels
        op: Operation | None = None
        located = self.b if isinstance(self.b, LocatedBuilder) else None
        try:
            for op in ops_of(block):
                if located is not None:
                    located.locate(op)
                write = pure.get(op.name)
                if write is None:
                    effect = effects.get(op.name)
                    if effect is None:
                        raise fail(op, "has no translation to LLVM IR")
                    effect(self, op)
                    continue
                if op in self.fused:
                    continue
                level = self.branch_depth
                operands: list[str] = []
                for operand in op._operands:
                    x = values.get(operand)
                    if x is None:
                        raise self.missing(op, operand)
                    operands.append(x)
                    of_operand = levels.get(x, 0)
                    if of_operand > level:
                        level = of_operand
                result = op.results[0]
                ty = self.ty(result.type, op)
                if level < len(self.scopes) - 1:
                    b = self.b
                    lines, b.lines = b.lines, self.scopes[level + 1].slot
                    x = write(self, op, operands, ty)
                    b.lines = lines
                else:
                    x = write(self, op, operands, ty)
                values[result] = x
                if x[0] == "%" and x not in levels:
                    levels[x] = level
        except Exception as error:
            placed(error, op)
            raise

    def value(self, value: SSAValue, op: Operation) -> str:
        """The operand text of a value."""
        x = self.values.get(value)
        if x is None:
            raise self.missing(op, value)
        return x

    def define(self, value: SSAValue, x: str) -> None:
        """Record the text of a value computed at the insertion point."""
        self.values[value] = x
        self.levels.setdefault(x, self.depth)

    def missing(self, op: Operation, value: SSAValue) -> CompileError:
        if isinstance(value.type, MemRefType):
            return fail(op, f"takes a scalar or a vector, got {value.type}")
        return fail(op, "uses a value before it is defined")

    def buffer(self, value: SSAValue, op: Operation) -> Buffer:
        """The memory of a memref."""
        found = self.buffers.get(value)
        if found is None:
            pointer = self.values.get(value)
            type = value.type
            if pointer is None or not isinstance(type, MemRefType):
                raise fail(op, "uses a buffer before it is defined")
            elem = memory_type(self.ty(type.element_type, op))
            strides = self.strides(type, self.shapes.get(value), op)
            found = self.buffers[value] = Buffer(pointer, elem, strides, value in self.read_only)
        return found

    def strides(
        self, type: MemRefType, shape: tuple[list[str], list[str] | None] | None, op: Operation
    ) -> tuple[int | str, ...]:
        """Strides in elements along each dim; `shape` has the sizes that the type leaves open."""
        if shape is None:
            return buffer_strides(type, op)
        sizes, given = shape
        if given is not None:
            return tuple(int(x) if x.lstrip("-").isdigit() else x for x in given)
        strides: list[int | str] = []
        stride: int | str = 1
        for size in reversed(sizes):
            strides.append(stride)
            stride = self.product(stride, int(size) if size.isdigit() else size)
        return tuple(reversed(strides))

    def product(self, x: int | str, y: int | str) -> int | str:
        """The product of two sizes or strides, written at the start of the function."""
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        if isinstance(x, int):
            x, y = y, x
        if y == 1:
            return x
        if y == 0:
            return 0
        result = self.shared(0, ("mul", x, y), lambda: self.b.emit(f"mul nsw i64 {x}, {y}"))
        self.not_negative.add(result)
        return result

    def is_small(self, buffer: SSAValue) -> str:
        """An i64 that is not 0 where a buffer has too few bytes for non-temporal stores, statically or at run time."""
        found = self.small.get(buffer)
        least = self.module.target.stream_bytes
        if found is None and not least:
            found = self.small[buffer] = "1"
        if found is None:
            b, size = self.b, str(self.buffers[buffer].elem.bits // 8)

            def write() -> str:
                total = size
                for dim in self.shapes[buffer][0]:
                    total = b.emit(f"mul i64 {total}, {dim}")
                return b.emit(f"zext i1 {b.icmp('slt', total, str(least), I64)} to i64")

            found = self.small[buffer] = self.hoisted(0, write) if buffer in self.shapes else "0"
        return found

    # Scopes

    @property
    def depth(self) -> int:
        return len(self.scopes) - 1

    def open_slot(self) -> list[str]:
        """A slot for hoisted lines at the insertion point."""
        slot: list[str] = []
        self.slots.append((len(self.b.lines), slot))
        return slot

    def push(self, slot: list[str], certain: bool, branch: bool = False, entered: list[str] | None = None) -> None:
        """Enter a loop body or a branch."""
        self.scopes.append(Scope(slot, certain, branch, entered))
        self._depths()

    def pop(self) -> None:
        self.scopes.pop()
        self._depths()

    def doubt(self) -> None:
        """Note that code which follows may not be reached although the loops around it are entered."""
        for scope in self.scopes:
            scope.certain, scope.entered = False, None
        self._depths()

    def _depths(self) -> None:
        scopes = self.scopes
        self.branch_depth = max((k for k, s in enumerate(scopes) if s.branch), default=0)
        self.uncertain_depth = max((k for k, s in enumerate(scopes) if s.branch or not s.certain), default=0)

    def hoisted(self, level: int, write: Callable[[], str]) -> str:
        """Write a pure value whose operands are of at most `level` where it is not repeated."""
        b = self.b
        if level < self.depth:
            lines, b.lines = b.lines, self.scopes[level + 1].slot
            x = write()
            b.lines = lines
        else:
            level = self.depth
            x = write()
        if x[0] == "%":
            self.levels.setdefault(x, level)
        return x

    def entering(self, write: Callable[[], str]) -> str:
        """Write a pure value where the innermost loop that may not run is entered; its operands are of outer levels."""
        entered = self.scopes[self.uncertain_depth].entered
        assert entered is not None
        lines, self.b.lines = self.b.lines, entered
        x = write()
        self.b.lines = lines
        self.levels[x] = self.uncertain_depth
        return x

    def shared(self, level: int, key: Any, write: Callable[[], str]) -> str:
        """`hoisted`, written once for every key in the scope of that level."""
        found = self.scopes[level].addresses
        x = found.get(key)
        if x is None:
            x = found[key] = self.hoisted(level, write)
        return x

    def alloca(self, ty: str, align: int) -> str:
        """Stack memory, allocated once at the start of the function."""
        x = self.b.name()
        self.entry.append(f"  {x} = alloca {ty}, align {align}")
        return x

    def take(self, size: str) -> str:
        """Heap memory of a number of bytes, allocated once at the start of the function."""
        b = self.b
        lines, b.lines = b.lines, self.entry
        allocate = b.module.declare("malloc", "ptr", ("i64",))
        whole = b.emit(f"call i64 {b.module.declare('llvm.uadd.sat.i64', 'i64', ('i64', 'i64'))}(i64 {size}, i64 64)")
        block = b.emit(f"call ptr {allocate}(i64 {whole})")
        address = b.emit(f"ptrtoint ptr {block} to i64")
        shift = b.emit(f"and i64 {b.emit(f'sub i64 0, {address}')}, 63")
        pointer = b.gep(block, shift, "i8", "")
        b.lines = lines
        self.heap.append(block)
        return pointer

    def leave(self, status: str, value: str) -> None:
        """Return from the middle of the function with a status; the current block ends."""
        if self.status is None:
            self.b.emit_void(f"call void {self.b.module.declare('llvm.trap', 'void', ())}()")
        else:
            self.b.store(status, self.status, I64, 8)
            self.b.store(value, self.b.gep(self.status, "1", "i64"), I64, 8)
        self.leaves = True
        self.b.br("exit")

    def finish(self) -> str:
        """End the function after its last op: free heap memory, return; the whole body as text."""
        b = self.b
        heap = list(self.heap)
        if heap:
            b.lines, lines = self.entry, b.lines
            missing = "false"
            for block in heap:
                missing = b.emit(f"or i1 {missing}, {b.icmp('eq', block, 'null', PTR)}")
            b.cond_br(missing, "no_memory", START)
            b.lines.append("no_memory:")
            self.leave("-1", self.least_size)
            b.lines.append(f"{START}:")
            b.lines = lines
        elif self.starts_later:
            self.entry += [f"  br label %{START}", f"{START}:"]
        if self.leaves:
            b.br("exit")
            b.label("exit")
        for block in heap:
            b.emit_void(f"call void {b.module.declare('free', 'void', ('ptr',))}(ptr {block})")
        if self.streams and self.module.target.triple.startswith("x86_64"):
            b.emit_void(f"call void {b.module.declare('llvm.x86.sse.sfence', 'void', ())}()")
        b.ret()
        return self.body()

    def body(self) -> str:
        """The finished body, with hoisted lines in their slots."""
        lines, last = self.b.lines, 0
        parts: list[str] = []
        for position, slot in self.slots:
            if slot:
                parts += lines[last:position]
                parts += slot
                last = position
        parts += lines[last:]
        return "\n".join(parts)

    # Index arithmetic

    def sum(self, terms: dict[str, int], constant: int, op: Operation) -> str:
        """`sum(coefficient * value) + constant` as an i64, outer parts first."""
        total = ""
        for level, of_level in self.by_level(terms):
            key = ("sum", total, of_level)

            def write(total: str = total, of_level: tuple[tuple[str, int], ...] = of_level) -> str:
                for x, c in of_level:
                    part = x if c == 1 else self.b.emit(f"mul nsw i64 {x}, {c}")
                    total = self.b.emit(f"add nsw i64 {total}, {part}") if total else part
                return total

            positive = total in self.not_negative or not total
            total = self.shared(level, key, write)
            if positive and all(c > 0 and x in self.not_negative for x, c in of_level):
                self.not_negative.add(total)
        if not total:
            return str(constant)
        if constant:
            key, base = ("sum", total, constant), total
            total = self.shared(self.levels.get(base, 0), key, lambda: self.b.emit(f"add nsw i64 {base}, {constant}"))
            if constant > 0 and base in self.not_negative:
                self.not_negative.add(total)
        return total

    def by_level(self, terms: dict[str, int]) -> list[tuple[int, tuple[tuple[str, int], ...]]]:
        """Terms grouped by the level of their value, outermost first."""
        groups: dict[int, list[tuple[str, int]]] = {}
        for x, c in terms.items():
            if c:
                groups.setdefault(self.levels.get(x, 0), []).append((x, c))
        return [(level, tuple(sorted(groups[level]))) for level in sorted(groups)]

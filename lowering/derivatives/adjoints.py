"""Reverse mode: the kernel that turns cotangents of results of a kernel into those of its parameters.

    for i: y[i] = x[i] * x[i]       ->       for i: gx[i] += cy[i] * x[i] + cy[i] * x[i]

The ops are visited backwards; each adds to the cotangents of its operands. A buffer has a second one for cotangents: a load
adds to the element, a store takes it and leaves 0, unless nothing came before it there. `x[i] += v` only reads it.

What slopes consist of is computed again where that needs nothing but parameters, indices, and elements that keep their values
until the kernel ends, which the dependence analysis proves. What remains, such as carried values, is kept in arrays with an
element for each iteration (`tapes.py`).

The iterations of a loop that are independent run one after the other forward and then backward, so that such arrays have room
for one iteration. Others run forward, all of them, and then backward, in the opposite order if that matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, MemRefType, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.parameters import parameters_of
from ...dialects.operations import append
from ...dialects.types import index as index_type
from ...dialects.types import memref
from ..analysis.affine import Affine, as_map
from ..analysis.nests import ops_in, unique_names, walk
from .activity import active_values, refusal
from .copies import NewParameter, at, copy, derived_kernel, drop_arguments, fill, index_value, load, store
from .dead_code import remove_dead
from .order import Order, is_local
from .partial_sums import keep_partial_sums
from .slopes import CONVERSIONS, SlopeBuilder, slopes_of
from .sums import gather_sums, store_whole
from .tapes import Tapes


@dataclass(frozen=True)
class Role:
    """What a parameter of an adjoint kernel is.

    Attributes:
        what: `primal`: what the first kernel gets for parameter `number`; `cotangent` of what it writes there; `gradient`: the
            cotangent of the parameter. The cotangent of an array that the kernel also reads becomes the gradient of its
            initial contents.
    """

    what: str
    number: int


@dataclass
class Frame:
    """A block of the first kernel that is run backward, and where.

    Attributes:
        is_whole: whether the block runs forward there, before it runs backward; then `values` has all values of it, and those
            inside of its loops as they are in the forward run.
    """

    old: Block
    b: SlopeBuilder
    is_whole: bool
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    indices: dict[SSAValue, Affine] = field(default_factory=dict)


def adjoint_kernel(kernel: KernelOp, name: str, wrt: Sequence[int]) -> KernelOp:
    """The kernel of cotangents.

    Args:
        wrt: the numbers of the parameters, floats that it reads, whose cotangents are computed.

    Returns:
        The kernel; `roles_of` says what each of its parameters is. It adds to gradients of arrays; those of numbers are arrays
        of one element.

    Raises:
        DifferentiationError: an op on the way has no derivative, or a loop has an unknown number of iterations.
    """
    parameters = parameters_of(kernel)
    active = active_values(kernel, [parameters[k].argument for k in wrt])
    roles = [Role("primal", k) for k, p in enumerate(parameters) if p.reads or not p.writes or p.argument not in active]
    roles += [Role("cotangent", k) for k, p in enumerate(parameters) if p.writes and p.argument in active]
    roles += [Role("gradient", k) for k in wrt if not parameters[k].writes]
    new: list[NewParameter] = []
    for role in roles:
        p = parameters[role.number]
        prefix = {"primal": "", "cotangent": "c", "gradient": "g"}[role.what]
        is_number = role.what == "gradient" and not p.is_array
        new.append(NewParameter(prefix + p.name, p.argument, memref(p.element, [1]) if is_number else None))
    made, arguments = derived_kernel(kernel, name, new)
    writer = _Adjoint(kernel, active, made)
    given = {(role.what, role.number): argument for role, argument in zip(roles, arguments, strict=False)}
    writer.run(
        {parameters[k].argument: a for (what, k), a in given.items() if what == "primal"},
        {parameters[k].argument: a for (what, k), a in given.items() if what != "primal"},
        {parameters[k].argument for k in wrt},
    )
    remove_dead(made)
    gather_sums(made)
    store_whole(made, [a for role, a in zip(roles, arguments, strict=False) if role.what == "gradient"])
    remove_dead(made)
    keep_partial_sums(made)
    unused = _unused(made, [a for r, a in zip(roles, arguments, strict=False) if r.what == "primal"])
    roles = [role for role, a in zip(roles, arguments, strict=False) if a not in unused]
    drop_arguments(made, unused)
    made.let_reassociate()
    unique_names(made)
    made.attributes[_ROLES] = ArrayAttr([StringAttr(f"{role.what} {role.number}") for role in roles])
    return made


def _unused(kernel: KernelOp, candidates: Sequence[BlockArgument]) -> list[BlockArgument]:
    """The parameters that are not used and without which all sizes are known."""
    shapes = kernel.given_shapes()
    found: list[BlockArgument] = []
    for argument in candidates:
        if not argument.uses:
            sizes = [e for a, (s, _) in shapes.items() if a is not argument and a not in found for e in s]
            known = {d for e in sizes for d in e.used_dims()}
            if set(range(len(kernel.index_arguments))) <= known:
                found.append(argument)
    return found


_ROLES = "lamina.roles"


def roles_of(kernel: KernelOp) -> list[Role]:
    """What each parameter of a kernel that `adjoint_kernel` made is."""
    texts: Any = kernel.attributes[_ROLES]
    return [Role(what, int(number)) for what, number in (text.data.split() for text in texts)]


class _Values(Sequence[SSAValue]):
    """The operands of an op as they are while it runs backward, each computed if it is needed."""

    def __init__(self, adjoint: _Adjoint, op: Operation):
        self._adjoint, self._op = adjoint, op

    def __len__(self) -> int:
        return len(self._op.operands)

    def __getitem__(self, k: int) -> SSAValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._adjoint.get(self._op.operands[k])

    def __iter__(self) -> Iterator[SSAValue]:
        return (self[k] for k in range(len(self)))


class _Adjoint:
    def __init__(self, kernel: KernelOp, active: set[SSAValue], made: KernelOp):
        self.kernel, self.active, self.made = kernel, active, made
        self.order = Order(kernel)
        self.adding = self.order.accumulations()
        self.passed_by = set(self.adding.values())
        self.frames: list[Frame] = []
        self.tapes = Tapes(self.frames)
        self.changes: dict[SSAValue, SSAValue] = {}
        """The cotangents of values so far."""
        self.bars: dict[SSAValue, SSAValue] = {}
        """The buffers of cotangents."""
        self.wanted: set[SSAValue] = set()

    def run(self, primals: dict[SSAValue, SSAValue], bars: dict[SSAValue, SSAValue], wrt: set[SSAValue]) -> None:
        block, old = self.made.body.block, self.kernel.body.block
        b = SlopeBuilder(block, self.kernel.location)
        frame = Frame(old, b, is_whole=True)
        symbols = self.made.index_arguments
        frame.values.update(zip(self.kernel.index_arguments, symbols, strict=True))
        self.frames.append(frame)
        self.wanted = wrt
        numbers: list[tuple[SSAValue, SSAValue]] = []
        for argument in old.args:
            if not isinstance(argument.type, MemRefType):
                if argument in primals:
                    frame.values[argument] = primals[argument]
                if argument in bars:
                    numbers.append((argument, bars[argument]))
                continue
            if argument in bars:
                self.bars[argument] = bars[argument]
            sizes = [Affine.parse(size, symbols) for size in self.kernel.sizes_of(argument)]
            if argument not in self.order.stores:
                frame.values[argument] = primals[argument]
            else:
                frame.values[argument] = self._local(b, argument, sizes, primals.get(argument))
        self.whole(frame)
        for argument, bar in numbers:
            value = self.changes.pop(argument, None)
            b.location = self.kernel.location
            store(b, b.const(0.0, argument.type) if value is None else value, bar, [Affine.of(0)])

    def _local(self, b: SlopeBuilder, like: SSAValue, sizes: Sequence[Affine], source: SSAValue | None) -> SSAValue:
        """A local buffer that stands for an array which the kernel writes."""
        type = like.type
        assert isinstance(type, MemRefType)
        local = self.tapes.allocated(b, type.element_type, sizes, f"{like.name_hint or 'array'}l")
        if source is not None and like in self.order.loads:
            fill(b, local, sizes, source)
        return local

    # -- values of the forward run

    def frame_of(self, value: SSAValue) -> int:
        """The number of the frame of the block that a value is defined in."""
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        return next(k for k in reversed(range(len(self.frames))) if self.frames[k].old is block)

    def get(self, value: SSAValue) -> SSAValue:
        """A value of the forward run, while its block runs backward."""
        k = self.frame_of(value)
        frame = self.frames[k]
        if value in frame.values:
            return frame.values[value]
        owner = value.owner
        if isinstance(value, BlockArgument) and value in frame.indices:
            found = index_value(frame.b, frame.indices[value])
        elif isinstance(owner, Operation) and self._is_computed(owner):
            found = self._again(owner, frame, value)
        else:
            found = self.tapes.kept(value, k)
        frame.values[value] = found
        return found

    def _is_computed(self, op: Operation) -> bool:
        """Whether an op is computed again: it needs what is there."""
        if isinstance(op, LoadOp):
            if not self._has_contents(op.buffer):
                return False
            return self.order.is_final(op)
        if isinstance(op, IfOp):
            return all(
                isinstance(inner, YieldOp) or (not isinstance(inner, ForOp) and self._is_computed(inner))
                for inner in walk(op)[1:]
            )
        return not op.regions and not isinstance(op, AllocOp | StoreOp)

    def _has_contents(self, buffer: SSAValue) -> bool:
        """Whether a buffer has its contents while the block of its alloc runs backward."""
        return not is_local(buffer) or self.frames[self.frame_of(buffer)].is_whole

    def _again(self, op: Operation, frame: Frame, value: SSAValue) -> SSAValue:
        b = frame.b
        b.location = op.location
        if isinstance(op, LoadOp):
            return load(b, self.get(op.buffer), self.at(op))
        inside = {v for inner in walk(op) for v in inner.results}
        values = {v: self.get(v) for inner in walk(op) for v in inner.operands if v not in inside}
        new = copy(op, values, b.block)
        return new.results[op.results.index(value)]

    def affine(self, value: SSAValue) -> Affine:
        """An index value as an expression of what is there."""
        for frame in reversed(self.frames):
            if value in frame.indices:
                return frame.indices[value]
        return Affine.of(self.get(value))

    def at(self, op: LoadOp | StoreOp) -> list[Affine]:
        """The subscripts of an access."""
        return at(op.map.data, op.indices, {v: self.affine(v) for v in op.indices})

    # -- forward and backward

    def whole(self, frame: Frame) -> None:
        """Run a block forward, then backward."""
        ops = [op for op in frame.old.ops if not isinstance(op, YieldOp)]
        last = ops[-1] if ops else None
        for op in ops:
            if not (op is last and isinstance(op, ForOp) and not op.results and self._may_split(op, True)):
                for value in _free(op, frame.values):
                    frame.values[value] = self.get(value)
                copy(op, frame.values, frame.b.block)
        self.backward(frame)

    def backward(self, frame: Frame) -> None:
        """The ops of a block, the last one first."""
        ops = [op for op in frame.old.ops if not isinstance(op, YieldOp)]
        b = frame.b
        for op in ops:
            if isinstance(op, AllocOp) and op.buffer in self.active:
                self._alloc_bar(op, frame)
        for k, op in enumerate(reversed(ops)):
            b.location = op.location
            if isinstance(op, StoreOp):
                self._store(op, b)
            elif isinstance(op, LoadOp):
                self._load(op, b)
            elif isinstance(op, ForOp):
                self._for(op, b, frame.is_whole and self._may_split(op, k == 0))
            elif isinstance(op, IfOp):
                self._if(op, b)
            elif isinstance(op, WhileOp):
                self._while(op)
            elif op.results and (change := self.changes.pop(op.results[0], None)) is not None:
                self._arithmetic(op, change, b)

    def _may_split(self, loop: ForOp, is_last: bool) -> bool:
        """Whether each iteration of a loop may run forward again just before it runs backward."""
        kind = loop.kind.data
        if loop.results and (kind != "reduce" or loop.monoid is None or loop.monoid.data != "add"):
            return False
        if not self.order.is_independent(loop):
            return False
        inside = {op.buffer for op in ops_in(loop, AllocOp)}
        if is_last and not loop.results:
            return True
        return all(op.buffer in inside or op.buffer not in self.order.stores for op in ops_in(loop, LoadOp))

    def add(self, value: SSAValue, change: SSAValue, b: SlopeBuilder) -> None:
        """Add to the cotangent of a value."""
        if value in self.active:
            known = self.changes.get(value)
            self.changes[value] = change if known is None else b.add(known, change)

    def _alloc_bar(self, op: AllocOp, frame: Frame) -> None:
        b = frame.b
        b.location = op.location
        sizes = [self.get(size) for size in op.sizes]
        type = op.buffer.type
        assert isinstance(type, MemRefType)
        bar = AllocOp.build_alloc(op.space.data, type, sizes, f"c{op.buffer.name_hint or 'local'}")
        b.insert_op(bar)
        rest = iter(sizes)
        fill(b, bar.buffer, [Affine.of(next(rest)) if n < 0 else Affine.of(n) for n in type.get_shape()])
        self.bars[op.buffer] = bar.buffer

    def _store(self, op: StoreOp, b: SlopeBuilder) -> None:
        if op.buffer not in self.active:
            return
        bar, where = self.bars[op.buffer], self.at(op)
        if op.value in self.active:
            self.add(op.value, load(b, bar, where), b)
        if op not in self.adding and self._leaves_zero(op):
            store(b, b.const(0.0, op.value.type), bar, where)

    def _leaves_zero(self, op: StoreOp) -> bool:
        """Whether the cotangent of an element must be 0 for what came before the store: something did."""
        if op.buffer in self.wanted:
            return True
        loads = [x for x in self.order.loads.get(op.buffer, ()) if x.value in self.active]
        return any(self.order.meets(x, op) for x in (*self.order.stores[op.buffer], *loads))

    def _load(self, op: LoadOp, b: SlopeBuilder) -> None:
        change = self.changes.pop(op.value, None)
        if change is None or op in self.passed_by:
            return
        bar, where = self.bars[op.buffer], self.at(op)
        store(b, b.add(load(b, bar, where), change), bar, where)

    def _arithmetic(self, op: Operation, change: SSAValue, b: SlopeBuilder) -> None:
        xs = _Values(self, op)
        for x, slope in zip(op.operands, slopes_of(op), strict=True):
            if slope is None or x not in self.active:
                continue
            if isinstance(op, CONVERSIONS):
                self.add(x, b.convert(change, x.type), b)
            else:
                self.add(x, slope.through(b, change, xs, self.get(op.results[0]) if slope.needs_result else None), b)

    def _while(self, op: WhileOp) -> None:
        changing = any(value in self.active for value in op.results)
        if changing or any(isinstance(inner, StoreOp) and inner.buffer in self.active for inner in walk(op)):
            raise refusal(
                op,
                "a while loop, or one that break or return ends, has no derivative in reverse mode: how often it runs is only "
                "known when it has",
                "write a for loop with a condition inside, take jvp",
            )

    # -- loops and branches

    def _touches(self, op: Operation) -> bool:
        """Whether running an op backward does anything: cotangents of results, or of what it stores."""
        if any(result in self.changes for result in op.results):
            return True
        return any(isinstance(inner, StoreOp) and inner.buffer in self.active for inner in walk(op))

    def _for(self, op: ForOp, b: SlopeBuilder, is_split: bool) -> None:
        if not self._touches(op):
            for result in op.results:
                self.changes.pop(result, None)
            return
        old = op.body.block
        is_sum = op.kind.data == "reduce"
        if is_sum and (op.monoid is None or op.monoid.data != "add") and any(r in self.active for r in op.results):
            raise refusal(op, "a reduction by another operator than + has no derivative in reverse mode")
        if op.kind.data == "vector":
            raise refusal(op, "the kernel has been scheduled: derivatives are made from the loops as they are written")
        carried = [k for k, r in enumerate(op.results) if r in self.active]
        given = {k: self.changes.pop(op.results[k], None) for k in carried}
        zero = {k: b.const(0.0, op.results[k].type) for k, v in given.items() if v is None and not is_sum}
        block = Block(arg_types=[index_type])
        frame = Frame(old, SlopeBuilder(block, op.location), is_whole=is_split)
        lower, upper, step = self._index(op, frame, block.args[0], b, reversed_=not is_split and self._in_order(op, carried))
        if is_split:
            frame.values[op.index] = block.args[0]
        outer, self.changes = self.changes, {}
        arguments: dict[int, BlockArgument] = {}
        inits: list[SSAValue] = []
        for k in carried:
            start = given[k]
            if is_sum:
                if start is not None:
                    self.add(op.yielded[k], start, frame.b)
                continue
            start = zero[k] if start is None else start
            arguments[k] = block.insert_arg(start.type, len(block.args))
            inits.append(start)
            self.add(op.yielded[k], arguments[k], frame.b)
        self.frames.append(frame)
        self.whole(frame) if is_split else self.backward(frame)
        self.frames.pop()
        frame.b.location = op.location
        ends: list[SSAValue] = []
        for k in arguments:
            found = self.changes.pop(old.args[1 + k], None)
            ends.append(frame.b.const(0.0, arguments[k].type) if found is None else found)
        rest = {v: change for v, change in self.changes.items() if not self._is_in(v, old)}
        self.changes = outer
        kind, monoid = ("seq", None) if arguments or not rest else ("reduce", "add")
        for value, change in rest.items():
            known = outer.get(value)
            inits.append(b.const(0.0, value.type) if known is None else known)
            if kind == "seq":
                total = block.insert_arg(change.type, len(block.args))
                change = frame.b.add(total, change)
            ends.append(change)
        append(block, YieldOp.create(operands=ends))
        loop = ForOp.build_loop(
            as_map(lower), as_map(upper), step=step, kind=kind, monoid=monoid, inits=inits, body=block, name=op.index.name_hint
        )
        loop.location = op.location
        b.insert_op(loop)
        results = iter(loop.results)
        for k in arguments:
            self.add(op.inits[k], next(results), b)
        for value in rest:
            self.changes[value] = next(results)
        if is_sum:
            for k, start in given.items():
                if start is not None:
                    self.add(op.inits[k], start, b)

    def _is_in(self, value: SSAValue, block: Block) -> bool:
        owner = value.owner
        inner = owner if isinstance(owner, Block) else owner.parent
        return inner is block

    def _in_order(self, op: ForOp, carried: Sequence[int]) -> bool:
        """Whether iterations must run in the opposite order: cotangents go from one to another."""
        if op.results and op.kind.data != "reduce" and carried:
            return True
        written = {s.buffer for s in ops_in(op, StoreOp) if s.buffer in self.active}
        written -= {a.buffer for a in ops_in(op, AllocOp)}
        stores = any(s.buffer in written and s not in self.adding for s in ops_in(op, StoreOp))
        loads = any(x.buffer in written and x not in self.passed_by and x.value in self.active for x in ops_in(op, LoadOp))
        return (stores or loads) and not self.order.is_independent(op)

    def _index(
        self, op: ForOp, frame: Frame, new: SSAValue, b: SlopeBuilder, *, reversed_: bool
    ) -> tuple[list[Affine], list[Affine], int]:
        """The bounds and the step of the loop in place of another one; enters what the index of that is."""
        lower, upper, step = (
            self._bounds(op.lower.data, op.lower_operands),
            self._bounds(op.upper.data, op.upper_operands),
            op.step.value.data,
        )
        if not reversed_:
            frame.indices[op.index] = Affine.of(new)
            return lower, upper, step
        low, high = (self._one(b, forms, word) for forms, word in ((lower, "max"), (upper, "min")))
        if step == 1:
            frame.indices[op.index] = low + high - 1 - Affine.of(new)
            return [low], [high], 1
        last = (high - low - 1) // step
        frame.indices[op.index] = low + last * step - Affine.of(new) * step
        return [Affine.of(0)], [last + 1], 1

    def _bounds(self, map: object, operands: Sequence[SSAValue]) -> list[Affine]:
        return at(map, operands, {v: self.affine(v) for v in operands})  # pyright: ignore[reportArgumentType]

    def _one(self, b: SlopeBuilder, forms: Sequence[Affine], word: str) -> Affine:
        first, *others = forms
        if not others:
            return first
        total = index_value(b, first)
        for form in others:
            total = b.binary(word, total, index_value(b, form))
        return Affine.of(total)

    def _if(self, op: IfOp, b: SlopeBuilder) -> None:
        if not self._touches(op):
            return
        condition = self.get(op.condition)
        given = [self.changes.pop(r, None) for r in op.results]
        outer = self.changes
        found: list[tuple[Block, dict[SSAValue, SSAValue]]] = []
        for region in (op.then, op.otherwise):
            old = region.blocks[0] if region.blocks else Block()
            frame = Frame(old, SlopeBuilder(Block(), op.location), is_whole=False)
            self.changes = {}
            last = old.last_op
            for value, change in zip(last.operands if isinstance(last, YieldOp) else (), given, strict=False):
                if change is not None:
                    self.add(value, change, frame.b)
            self.frames.append(frame)
            self.backward(frame)
            self.frames.pop()
            found.append((frame.b.block, {v: c for v, c in self.changes.items() if not self._is_in(v, old)}))
        self.changes = outer
        values = list(dict.fromkeys(value for _, changes in found for value in changes))
        for block, changes in found:
            inner = SlopeBuilder(block, op.location)
            ends = [changes[v] if v in changes else inner.const(0.0, v.type) for v in values]
            append(block, YieldOp.create(operands=ends))
        new = IfOp.create(
            operands=[condition], result_types=[v.type for v in values], regions=[Region(block) for block, _ in found]
        )
        new.location = op.location
        b.insert_op(new)
        for value, result in zip(values, new.results, strict=True):
            self.add(value, result, b)


def _free(op: Operation, known: Mapping[SSAValue, SSAValue]) -> list[SSAValue]:
    """The values that an op and what is in it use, but for those that are known or that it defines."""
    ops = walk(op)
    inside: set[SSAValue] = {v for inner in ops for v in inner.results}
    inside.update(a for inner in ops for region in inner.regions for block in region.blocks for a in block.args)
    return list(dict.fromkeys(v for inner in ops for v in inner.operands if v not in inside and v not in known))

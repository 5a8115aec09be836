"""Widen one loop: each iteration computes a vector of `lanes` consecutive iterations; what remains runs once under a mask.

Requires a `parallel` or `reduce` loop with constant bounds and step 1, whose accesses move along at most one buffer dim.

    before                                         after, lanes=8
    loop.for parallel %i = 0 to 20 {             loop.for vector %i = 0 to 16 step 8 {
      %a = loop.load %x[%i]                        %a = loop.load %x[%i] : ..., vector<8xf32>
      loop.store %a, %y[%i]                        loop.store %a, %y[%i] : ..., vector<8xf32>
    }                                            }
                                                 loop.for vector %i = 16 to 24 step 8 {  // once, 4 lanes on
                                                   %a = loop.load %x[%i] mask %m ...

Values that do not change with the loop stay scalars until a vector meets them. Loops inside are kept, their carried values
become vectors. A reduction keeps a vector of partial results, combined at the end in a fixed tree, so its order is a fact of
the schedule and not of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.memory import LoadOp, ReduceLanesOp, StoreOp
from ...dialects.loop.structure import PAIR_MONOIDS, ForOp, KernelOp, YieldOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.scalar import ScalarBuilder, identity_value
from ...dialects.types import is_bool
from ...dialects.types import vector as vector_type
from ...dialects.vocabulary import StepOp
from ...errors import CompileError

_INDEX = IndexType()


def lane_stride(op: LoadOp | StoreOp, index: SSAValue) -> tuple[int, int] | None:
    """(buffer dim, elements) an access moves by when `index` grows by one; (0, 0): it does not; None: along several dims."""
    try:
        position = list(op.indices).index(index)
    except ValueError:
        return 0, 0
    moves: list[tuple[int, int]] = []
    for dim, expr in enumerate(op.map.data.results):
        form = linear_form(expr, len(op.indices))
        if form is None:
            if position in expr.used_dims():
                return None
        elif form[0][position]:
            moves.append((dim, form[0][position]))
    if len(moves) > 1:
        return None
    return moves[0] if moves else (0, 0)


def varying_values(loop: ForOp) -> set[SSAValue]:
    """The values in the loop that change with its index."""
    varying: set[SSAValue] = {loop.index}
    if loop.kind.data != "reduce":
        varying.update(loop.body.block.args[1:])

    def visit(block: Block) -> None:
        for op in block.ops:
            if isinstance(op, ForOp):
                before = -1
                while before != len(varying):
                    before = len(varying)
                    for init, argument in zip(op.inits, op.body.block.args[1:], strict=False):
                        if init in varying:
                            varying.add(argument)
                    visit(op.body.block)
                    pair = op.monoid is not None and op.monoid.data in PAIR_MONOIDS
                    moved = [v in varying or i in varying for v, i in zip(op.yielded, op.inits, strict=True)]
                    for k in range(len(moved)):
                        if moved[k] or (pair and any(moved)):
                            varying.add(op.results[k])
                            if op.kind.data != "reduce":
                                varying.add(op.body.block.args[k + 1])
            elif any(operand in varying for operand in op.operands):
                varying.update(op.results)

    visit(loop.body.block)
    return varying


@dataclass(frozen=True)
class Vectorize:
    """Compute `lanes` iterations of a loop at once.

    Attributes:
        lanes: elements of each vector, a power of two; may be a multiple of what a register holds, which then takes several.
    """

    lanes: int

    def check(self, loop: ForOp) -> str | None:
        """Why the loop cannot be widened, or None."""
        if loop.kind.data not in ("parallel", "reduce"):
            return f"only a parallel or reduce loop can be vectorized, this one is {loop.kind.data}"
        if self.lanes < 2 or self.lanes & (self.lanes - 1):
            return f"lanes must be a power of two above 1, got {self.lanes}"
        if loop.constant_bounds() is None or loop.step.value.data != 1:
            return "the loop needs constant bounds and step 1"
        varying = varying_values(loop)
        for op in loop.body.block.walk():
            if isinstance(op, LoadOp | StoreOp):
                if op.lanes != 1:
                    return "the loop holds vectors already"
                stride = lane_stride(op, loop.index)
                if stride is None:
                    return f"{op.buffer.name_hint or 'an access'} moves along several dims with the loop"
                if isinstance(op, StoreOp) and stride[1] == 0:
                    return f"every iteration stores to the same element of {op.buffer.name_hint or 'a buffer'}"
                if any(i in varying and i is not loop.index for i in op.indices):
                    return "a subscript is computed from the loop's index"
            elif isinstance(op, ForOp):
                if any(v in varying for v in (*op.lower_operands, *op.upper_operands)):
                    return "the bounds of a loop inside depend on it"
                if op.kind.data == "vector":
                    return "a loop inside is vectorized already"
            elif not isinstance(op, YieldOp) and not _widens(op):
                return f"'{op.name}' has no vector form"
        return None

    def apply(self, loop: ForOp) -> list[ForOp]:
        """Replace the loop; returns the vector loop and, when a remainder exists, its masked iteration."""
        if (reason := self.check(loop)) is not None:
            raise CompileError(f"loop-vectorize cannot widen loop %{loop.index.name_hint}: {reason}")
        bounds = loop.constant_bounds()
        assert bounds is not None
        lower, upper = bounds
        middle = lower + (upper - lower) // self.lanes * self.lanes
        block = loop.parent_block()
        assert block is not None
        top = Block()
        builder = ScalarBuilder(top, loop.location)
        reducing = loop.kind.data == "reduce"
        values: list[SSAValue] = []
        if reducing:
            values = [self._neutral(builder, loop, k) for k in range(len(loop.results))]
        loops: list[ForOp] = []
        parts: list[tuple[int, int, int | None]] = [(lower, middle, None)] if middle > lower else []
        if upper > middle:
            parts.append((middle, middle + self.lanes, upper - middle))
        for start, stop, active in parts:
            body = Block(arg_types=[_INDEX])
            body.args[0].name_hint = loop.index.name_hint
            _Widening(self.lanes, loop, body, top, active).run()
            kind = "reduce" if reducing else "vector"
            monoid = loop.monoid.data if loop.monoid is not None else None
            new = ForOp.build_loop(start, stop, step=self.lanes, kind=kind, monoid=monoid, inits=values, body=body)
            new.location = loop.location
            loops.append(new)
            values = list(new.results)
        _place(top, loop)
        for new in loops:
            block.insert_op_before(new, loop)
        if reducing:
            self._finish(loop, values, block)
        loop.detach()
        loop.erase(safe_erase=False)
        return loops

    def _neutral(self, builder: ScalarBuilder, loop: ForOp, k: int) -> SSAValue:
        """The vector a partial result starts from."""
        type = loop.results[k].type
        assert loop.monoid is not None
        monoid = loop.monoid.data
        if monoid in PAIR_MONOIDS:
            value = identity_value(monoid.removeprefix("arg"), type) if k == 0 else 0
        else:
            value = identity_value(monoid, type)
        return builder.const(value, vector_type(type, self.lanes))

    def _finish(self, loop: ForOp, values: list[SSAValue], block: Block) -> None:
        """Combine the lanes, then with what the loop started from."""
        assert loop.monoid is not None
        reduce = ReduceLanesOp.create(
            operands=values, result_types=[r.type for r in loop.results], properties={"monoid": loop.monoid}
        )
        reduce.location = loop.location
        block.insert_op_before(reduce, loop)
        final: list[SSAValue] = list(reduce.results)
        if not self._starts_neutral(loop):
            if loop.monoid.data in PAIR_MONOIDS:
                raise CompileError("loop-vectorize cannot widen a pair reduction that does not start from the neutral pair")
            scratch = Block()
            ScalarBuilder(scratch, loop.location).combine(loop.monoid.data, loop.inits[0], final[0])
            op = scratch.last_op
            assert op is not None
            op.detach()
            block.insert_op_before(op, loop)
            final = [op.results[0]]
        for old, new in zip(loop.results, final, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)

    @staticmethod
    def _starts_neutral(loop: ForOp) -> bool:
        assert loop.monoid is not None
        monoid = loop.monoid.data
        for k, init in enumerate(loop.inits):
            if not isinstance(init.owner, arith.ConstantOp):
                return False
            value = init.owner.value
            number = value.value.data  # pyright: ignore[reportAttributeAccessIssue]
            if monoid in PAIR_MONOIDS:
                neutral = identity_value(monoid.removeprefix("arg"), init.type) if k == 0 else 0
            else:
                neutral = identity_value(monoid, init.type)
            if is_bool(init.type):
                number, neutral = bool(number), bool(neutral)
            if number != neutral:
                return False
        return True


def _place(top: Block, loop: ForOp) -> None:
    """Move ops before the loop; constants go to the top of the kernel, equal ones are one."""
    block = loop.parent_block()
    kernel: Operation | None = loop
    while kernel is not None and not isinstance(kernel, KernelOp):
        kernel = kernel.parent_op()
    assert block is not None and kernel is not None
    home = kernel.body.block
    known = {op.value: op for op in home.ops if isinstance(op, arith.ConstantOp)}
    for op in list(top.ops):
        op.detach()
        if not isinstance(op, arith.ConstantOp):
            block.insert_op_before(op, loop)
        elif op.value in known:
            op.results[0].replace_all_uses_with(known[op.value].results[0])
            op.erase()
        else:
            known[op.value] = op
            assert home.first_op is not None
            home.insert_op_before(op, home.first_op)


def _widens(op: Operation) -> bool:
    """Whether an op on scalars means the same, lane by lane, on vectors."""
    return op.name.startswith(("arith.", "math.")) and not op.regions


@dataclass
class _Widening:
    """Copies a loop body into a block, scalars that vary with the loop as vectors."""

    lanes: int
    loop: ForOp
    body: Block
    top: Block
    active: int | None
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    vectors: dict[SSAValue, SSAValue] = field(default_factory=dict)
    mask: SSAValue | None = None

    def run(self) -> None:
        self.varying = varying_values(self.loop)
        if self.active is not None:
            type = vector_type(i1, self.lanes)
            bits = [int(k < self.active) for k in range(self.lanes)]
            value = DenseIntOrFPElementsAttr.from_list(type, bits)  # pyright: ignore[reportCallIssue, reportArgumentType]
            mask = arith.ConstantOp.create(result_types=[type], properties={"value": value})
            self.top.add_op(mask)
            self.mask = mask.results[0]
            self.mask.name_hint = "mask"
        self.values[self.loop.index] = self.body.args[0]
        self._block(self.loop.body.block, self.body, outermost=True)

    def _block(self, source: Block, target: Block, outermost: bool = False) -> None:
        for op in source.ops:
            if isinstance(op, LoadOp):
                self._load(op, target)
            elif isinstance(op, StoreOp):
                self._store(op, target)
            elif isinstance(op, ForOp):
                self._for(op, target)
            elif isinstance(op, YieldOp):
                self._yield(op, target, outermost)
            elif any(operand in self.varying for operand in op.operands):
                self._op(op, target)
            else:
                clone = op.clone(self.values)
                self._add(clone, op, target)
                for old, new in zip(op.results, clone.results, strict=True):
                    self.values[old] = new

    @staticmethod
    def _add(new: Operation, old: Operation, target: Block) -> None:
        new.location = old.location
        target.add_op(new)
        for a, b in zip(old.results, new.results, strict=False):
            b.name_hint = a.name_hint

    def _scalar(self, value: SSAValue) -> SSAValue:
        return self.values.get(value, value)

    def _vector(self, value: SSAValue, target: Block) -> SSAValue:
        """The vector form of a value: itself when it varies, its broadcast when it does not."""
        scalar = self._scalar(value)
        if value in self.varying and value is not self.loop.index:
            return scalar
        if scalar in self.vectors and self._visible(self.vectors[scalar], target):
            return self.vectors[scalar]
        lanes = vector_type(scalar.type, self.lanes)
        if value not in self.values:
            target = self.top  # from outside the loop: broadcast once
        if isinstance(scalar.owner, arith.ConstantOp):
            splat = ScalarBuilder(self.top).const(scalar.owner.value.value.data, lanes)  # pyright: ignore
        else:
            op = vector.BroadcastOp.create(operands=[scalar], result_types=[lanes])
            target.add_op(op)
            splat = op.results[0]
        if value is self.loop.index:
            step = StepOp.create(result_types=[lanes])
            target.add_op(step)
            splat = ScalarBuilder(target).add(splat, step.results[0])
        self.vectors[scalar] = splat
        return splat

    @staticmethod
    def _visible(value: SSAValue, target: Block) -> bool:
        """Whether a value stands in the block or around it."""
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        block: Block | None = target
        while block is not None:
            if block is home:
                return True
            parent = block.parent_op()
            block = parent.parent if parent is not None else None
        return home is not None and home.parent is None

    def _op(self, op: Operation, target: Block) -> None:
        operands = [self._vector(operand, target) for operand in op.operands]
        types: list[Attribute] = [vector_type(result.type, self.lanes) for result in op.results]
        new = type(op).create(operands=operands, result_types=types, properties=dict(op.properties))
        self._add(new, op, target)
        for old, result in zip(op.results, new.results, strict=True):
            self.values[old] = result

    def _map(self, op: LoadOp | StoreOp) -> tuple[AffineMap, list[SSAValue]]:
        return op.map.data, [self._scalar(index) for index in op.indices]

    def _load(self, op: LoadOp, target: Block) -> None:
        stride = lane_stride(op, self.loop.index)
        assert stride is not None
        map, indices = self._map(op)
        if stride[1] == 0:
            new = LoadOp.build_load(self._scalar(op.buffer), map, indices)
        else:
            self.varying.add(op.value)
            new = LoadOp.build_load(
                self._scalar(op.buffer), map, indices, lanes=self.lanes, along=stride[0], stride=stride[1], mask=self.mask
            )
        self._add(new, op, target)
        self.values[op.value] = new.value

    def _store(self, op: StoreOp, target: Block) -> None:
        stride = lane_stride(op, self.loop.index)
        assert stride is not None
        map, indices = self._map(op)
        value = self._vector(op.value, target)
        new = StoreOp.build_store(
            value, self._scalar(op.buffer), map, indices, along=stride[0], stride=stride[1], mask=self.mask
        )
        self._add(new, op, target)

    def _for(self, op: ForOp, target: Block) -> None:
        inits = [
            self._vector(init, target) if result in self.varying else self._scalar(init)
            for init, result in zip(op.inits, op.results, strict=True)
        ]
        body = Block(arg_types=[_INDEX, *(i.type for i in inits[: len(op.body.block.args) - 1])])
        for old, new in zip(op.body.block.args, body.args, strict=True):
            self.values[old] = new
            new.name_hint = old.name_hint
        loop = ForOp.build_loop(
            (op.lower.data, [self._scalar(v) for v in op.lower_operands]),
            (op.upper.data, [self._scalar(v) for v in op.upper_operands]),
            step=op.step.value.data,
            kind=op.kind.data,
            monoid=op.monoid.data if op.monoid is not None else None,
            inits=inits,
            body=body,
        )
        target.add_op(loop)
        loop.location = op.location
        self._block(op.body.block, body)
        for old, new in zip(op.results, loop.results, strict=True):
            self.values[old] = new
            new.name_hint = old.name_hint

    def _yield(self, op: YieldOp, target: Block, outermost: bool) -> None:
        if outermost:
            results = self.loop.results
            values = [self._vector(value, target) for value in op.operands]
            if self.mask is not None and results:
                values = [self._neutral_off(value, k, target) for k, value in enumerate(values)]
        else:
            parent = op.parent_op()
            assert isinstance(parent, ForOp)
            values = [
                self._vector(value, target) if result in self.varying else self._scalar(value)
                for value, result in zip(op.operands, parent.results, strict=True)
            ]
        target.add_op(YieldOp.create(operands=values))

    def _neutral_off(self, value: SSAValue, k: int, target: Block) -> SSAValue:
        """The contribution with neutral elements in the lanes that are off."""
        assert self.loop.monoid is not None and self.mask is not None
        monoid = self.loop.monoid.data
        element = self.loop.results[k].type
        if monoid in PAIR_MONOIDS:
            neutral = identity_value(monoid.removeprefix("arg"), element) if k == 0 else 0
        else:
            neutral = identity_value(monoid, element)
        splat = ScalarBuilder(self.top).const(neutral, value.type)
        return ScalarBuilder(target).select(self.mask, value, splat)

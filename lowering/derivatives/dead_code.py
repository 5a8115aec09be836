"""Removes from a kernel what no result of it depends on, stores to local buffers that are not read included."""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import CheckOp, LoadOp, StoreOp
from ...dialects.operations import append
from ..analysis.nests import walk

_Carrier = ForOp | WhileOp | IfOp


def remove_dead(kernel: KernelOp) -> None:
    """Erase the ops, and carried values, that neither arguments nor checks depend on."""
    marks = _Marks(kernel)
    for op in reversed(walk(kernel)):
        if op is kernel or isinstance(op, YieldOp):
            continue
        if op not in marks.ops:
            op.detach()
            op.erase(safe_erase=False)
    for op in reversed(walk(kernel)):
        if isinstance(op, _Carrier) and any((op, k) not in marks.carried for k in range(len(op.results))):
            _narrow(op, [k for k in range(len(op.results)) if (op, k) in marks.carried])


class _Marks:
    """What is live: ops, and positions of carried values."""

    def __init__(self, kernel: KernelOp):
        self.ops: set[Operation] = set()
        self.carried: set[tuple[Operation, int]] = set()
        self._stores: dict[SSAValue, list[StoreOp]] = {}
        self._read: set[SSAValue] = set()
        self._todo: list[Operation] = []
        for op in walk(kernel):
            if isinstance(op, StoreOp):
                self._stores.setdefault(op.buffer, []).append(op)
        for op in walk(kernel):
            if isinstance(op, CheckOp) or (isinstance(op, StoreOp) and isinstance(op.buffer, BlockArgument)):
                self._op(op)
        while self._todo:
            self._visit(self._todo.pop())

    def _op(self, op: Operation) -> None:
        if op not in self.ops:
            self.ops.add(op)
            self._todo.append(op)

    def _visit(self, op: Operation) -> None:
        parent = op.parent_op()
        if parent is not None and not isinstance(parent, KernelOp):
            self._op(parent)
        if isinstance(op, ForOp):
            operands = [*op.lower_operands, *op.upper_operands]
        elif isinstance(op, WhileOp):
            operands = [op.condition, op.yielded[0]]
        elif isinstance(op, IfOp):
            operands = [op.condition]
        else:
            operands = list(op.operands)
        for value in operands:
            self._value(value)
        if isinstance(op, LoadOp) and op.buffer not in self._read:
            self._read.add(op.buffer)
            for store in self._stores.get(op.buffer, ()):
                if not isinstance(op.buffer, BlockArgument):
                    self._op(store)

    def _value(self, value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, Block):
            loop = owner.parent_op()
            if isinstance(loop, ForOp | WhileOp) and isinstance(value, BlockArgument):
                k = value.index - isinstance(loop, ForOp)
                if k >= 0:
                    self._position(loop, k)
            return
        self._op(owner)
        if isinstance(owner, _Carrier):
            self._position(owner, owner.results.index(value))

    def _position(self, op: _Carrier, k: int) -> None:
        if (op, k) in self.carried:
            return
        self.carried.add((op, k))
        self._op(op)
        if isinstance(op, IfOp):
            for region in (op.then, op.otherwise):
                last = region.blocks[0].last_op if region.blocks else None
                if isinstance(last, YieldOp):
                    self._value(last.operands[k])
        else:
            self._value(op.inits[k])
            self._value(op.yielded[k + isinstance(op, WhileOp)])


def _narrow(op: _Carrier, kept: list[int]) -> None:
    """Replace an op by one with the carried values at some positions."""
    first = isinstance(op, WhileOp)
    for region in op.regions:
        if region.blocks:
            block = region.blocks[0]
            last = block.last_op
            assert isinstance(last, YieldOp)
            values = list(last.operands)
            found = [*values[:first], *(values[k + first] for k in kept)]
            last.detach()
            last.erase()
            append(block, YieldOp.create(operands=found))
    lead = 1 if isinstance(op, ForOp) else 0
    if not isinstance(op, IfOp) and not (isinstance(op, ForOp) and op.kind.data == "reduce"):
        block = op.body.block
        for k in reversed(range(len(op.results))):
            if k not in kept:
                block.erase_arg(block.args[k + lead])
    new: Operation
    if isinstance(op, ForOp):
        bounds = (op.lower.data, list(op.lower_operands)), (op.upper.data, list(op.upper_operands))
        inits = [op.inits[k] for k in kept]
        kind, monoid = op.kind.data, None if op.monoid is None else op.monoid.data
        if kind == "reduce" and not kept:
            kind, monoid = "seq", None
        body = op.body.detach_block(0)
        new = ForOp.build_loop(*bounds, step=op.step.value.data, kind=kind, monoid=monoid, inits=inits, body=body)
    elif isinstance(op, WhileOp):
        inits = [op.inits[k] for k in kept]
        new = WhileOp.create(
            operands=[op.condition, *inits],
            result_types=[v.type for v in inits],
            regions=[Region(op.body.detach_block(0))],
        )
    else:
        regions = [Region(region.detach_block(0)) if region.blocks else Region() for region in (op.then, op.otherwise)]
        new = IfOp.create(operands=[op.condition], result_types=[op.results[k].type for k in kept], regions=regions)
    new.location = op.location
    parent = op.parent
    assert parent is not None
    parent.insert_op_before(new, op)
    for k, result in zip(kept, new.results, strict=True):
        result.name_hint = op.results[k].name_hint
        op.results[k].replace_all_uses_with(result)
    op.detach()
    op.erase(safe_erase=False)

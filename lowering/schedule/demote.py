"""Keep the carried values of a loop in memory, in the elements where its results are stored.

    before                                         after loop-demote{loop=ko}
    %s = loop.for seq %ko = 0 to %K step 64        loop.store %zero, %y[%i]
        carry %acc = %zero : f32 {                 loop.for seq %ko = 0 to %K step 64 {
      %t = loop.for reduce<add> %ki = ...            %acc = loop.load %y[%i]
          init %acc { ... }                          %t = loop.for reduce<add> %ki = ...
      loop.yield %t : f32                                init %acc { ... }
    }                                                loop.store %t, %y[%i]
    loop.store %s, %y[%i]                          }

The loop then carries nothing, so that it can be interchanged with the loops around it: a sum that is accumulated block by
block.

Requires a `seq` loop whose results are each stored, after it, to an element that is invariant in it, and have no other uses.
Legal when nothing in the loop, or between it and the stores, accesses these buffers, and no argument may alias them. Returns
the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation

from ...dialects.loop.loops import ForOp, KernelOp, YieldOp
from ...dialects.loop.memory import CheckOp, LoadOp, StoreOp
from ..analysis.accesses import accesses
from ..analysis.nests import buffer_name, find, walk
from .base import Primitive
from .cloning import is_vector, load_of, remove, store_of, subscripts
from .rewriting import take_body


@dataclass(frozen=True)
class Demote(Primitive):
    """Carry the values of `loop` in memory, in the elements where its results are stored."""

    name = "loop-demote"
    loop: str

    def check(self, kernel: KernelOp) -> None:
        self._stores(kernel, find(kernel, self.loop, self.name))

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        stores = self._stores(kernel, loop)
        starts = [
            store_of(store, init, store.buffer, subscripts(store)) for store, init in zip(stores, loop.inits, strict=True)
        ]
        old = take_body(loop)
        body = Block(arg_types=[IndexType()])
        body.args[0].name_hint = self.loop
        old.args[0].replace_all_uses_with(body.args[0])
        for argument, store in zip(old.args[1:], stores, strict=True):
            load = load_of(store, store.buffer, subscripts(store), argument.name_hint)
            body.add_op(load)
            argument.replace_all_uses_with(load.value)
        yielded = list(old.last_op.operands) if old.last_op is not None else []
        for op in list(old.ops):
            op.detach()
            if isinstance(op, YieldOp):
                op.erase()
            else:
                body.add_op(op)
        for load in [op for op in body.ops if isinstance(op, LoadOp) and op.buffer in {store.buffer for store in stores}]:
            _sink_to_use(load, body)
        for value, store in zip(yielded, stores, strict=True):
            body.add_op(store_of(store, value, store.buffer, subscripts(store)))
        body.add_op(YieldOp.create())
        new = ForOp.build_loop(
            (loop.lower.data, list(loop.lower_operands)),
            (loop.upper.data, list(loop.upper_operands)),
            step=loop.step.value.data,
            kind=loop.kind.data,
            body=body,
        )
        new.location = loop.location
        for store in stores:
            remove(store)
        block = loop.parent
        assert block is not None
        block.insert_ops_before([*starts, new], loop)
        remove(loop)
        return (self.loop,)

    def _stores(self, kernel: KernelOp, loop: ForOp) -> list[StoreOp]:
        """The element to which each result of the loop is stored."""
        if not loop.results or loop.kind.data != "seq":
            remedy = ": split it first" if loop.kind.data == "reduce" else ""
            raise self.refuse(f"{self.loop} is no seq loop that carries values{remedy}")
        stores: list[StoreOp] = []
        for result in loop.results:
            users = [use.operation for use in result.uses]
            if len(users) != 1 or not isinstance(store := users[0], StoreOp) or store.parent is not loop.parent:
                raise self.refuse(f"%{result.name_hint or 'a result'} is not just stored after {self.loop}")
            if is_vector(store) or store.mask is not None:
                raise self.refuse("the store of a result moves a vector: demote before you vectorize")
            stores.append(store)
        buffers = [store.buffer for store in stores]
        if len(set(buffers)) < len(buffers):
            raise self.refuse("two results are stored to one buffer")
        if kernel.in_place_pairs and any(buffer in kernel.body.block.args for buffer in buffers):
            raise self.refuse("the result is stored to an argument that may be the memory of another one")
        self._check_between(loop, stores)
        return stores

    def _check_between(self, loop: ForOp, stores: list[StoreOp]) -> None:
        """Check that nothing touches the buffers from the start of the loop to the stores."""
        buffers = {store.buffer for store in stores}
        for access in accesses(loop):
            if access.buffer in buffers:
                raise self.refuse(f"{self.loop} accesses {buffer_name(access.buffer)}, where it is to keep what it carries")
        op: Operation | None = loop.next_op
        left = {*stores}
        while op is not None and left:
            if isinstance(op, StoreOp) and op in left:
                left.discard(op)
            elif any(operand in buffers for inner in walk(op) for operand in inner.operands) or isinstance(op, CheckOp):
                raise self.refuse(f"'{op.name}' between {self.loop} and the stores of its results may not come after these")
            for value in op.results:
                if any(value in store.operands for store in stores):
                    raise self.refuse(f"where a result is stored is computed after {self.loop}")
            op = op.next_op


def _sink_to_use(load: LoadOp, body: Block) -> None:
    """Move a load down to the first statement of a body that uses it, which separates the ops before it."""
    users = {use.operation for use in load.value.uses}
    for op in body.ops:
        if any(inner in users for inner in walk(op)):
            if op is not load.next_op:
                load.detach()
                body.insert_op_before(load, op)
            return

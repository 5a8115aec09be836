"""Which accesses of a kernel come before others that touch the same element."""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp, WhileOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ..analysis.accesses import Access, accesses
from ..analysis.affine import forms
from ..analysis.dependence import CannotDecide, carried_conflict, find_conflict
from ..analysis.nests import ops_in, walk


class Order:
    """Questions about the memory of a kernel that is not changed meanwhile; answers are kept."""

    def __init__(self, kernel: KernelOp):
        self._accesses = {access.op: access for access in accesses(kernel)}
        self._position = {op: k for k, op in enumerate(walk(kernel))}
        self.stores: dict[SSAValue, list[StoreOp]] = {}
        self.loads: dict[SSAValue, list[LoadOp]] = {}
        for op in ops_in(kernel, StoreOp):
            self.stores.setdefault(op.buffer, []).append(op)
        for op in ops_in(kernel, LoadOp):
            self.loads.setdefault(op.buffer, []).append(op)
        self.meets = lru_cache(maxsize=None)(self._meets)
        self.is_independent = lru_cache(maxsize=None)(self._is_independent)

    def is_final(self, op: LoadOp) -> bool:
        """Whether an element has the loaded value until the kernel ends."""
        return not any(self.meets(op, store) for store in self.stores.get(op.buffer, ()))

    def _is_independent(self, loop: ForOp) -> bool:
        """Whether iterations of a loop touch no element that others write."""
        if loop.kind.data == "parallel":
            return True
        try:
            return carried_conflict(loop) is None
        except CannotDecide:
            return False

    def _meets(self, first: LoadOp | StoreOp, second: LoadOp | StoreOp) -> bool:
        """Whether an execution of one access may come before one of another that touches the same element."""
        one, two = self._accesses[first], self._accesses[second]
        both = [loop for loop in one.loops if loop in two.loops]
        if _in_one_while(first, second):
            return True
        for level, loop in enumerate(both):
            relations = {inner: "*" for inner in both[level + 1 :]}
            if self._conflict(one, two, {**relations, loop: "<"}):
                return True
        if self._position[first] >= self._position[second]:
            return False
        return self._conflict(one, two, {})

    def _conflict(self, one: Access, two: Access, relations: dict[ForOp, str]) -> bool:
        try:
            return find_conflict(one, two, relations) is not None
        except CannotDecide:
            return True

    def accumulations(self) -> dict[StoreOp, LoadOp]:
        """Stores that only add to their element, `x[i] += v`, with the load of it."""
        from xdsl.dialects import arith, math

        found: dict[StoreOp, LoadOp] = {}
        for buffer, stores in self.stores.items():
            for op in stores:
                value = op.value.owner
                if not isinstance(value, Operation) or value.parent is not op.parent or not _used_once(op.value):
                    continue
                if isinstance(value, arith.AddfOp):
                    terms = list(value.operands)
                elif isinstance(value, arith.SubfOp):
                    terms = [value.operands[0]]
                else:
                    terms = [value.operands[2]] if isinstance(value, math.FmaOp) else []
                for term in terms:
                    load = term.owner
                    if not isinstance(load, LoadOp) or load.buffer is not buffer or load.parent is not op.parent:
                        continue
                    same = forms(load.map.data, load.indices) == forms(op.map.data, op.indices)
                    between = any(
                        self._position[load] < self._position[other] < self._position[op] for other in stores if other is not op
                    )
                    if same and not between and _used_once(term):
                        found[op] = load
                        break
        return found


def _used_once(value: SSAValue) -> bool:
    return len(list(value.uses)) == 1


def _in_one_while(first: Operation, second: Operation) -> bool:
    def loops(op: Operation) -> set[Operation]:
        found: set[Operation] = set()
        parent = op.parent_op()
        while parent is not None:
            if isinstance(parent, WhileOp):
                found.add(parent)
            parent = parent.parent_op()
        return found

    return bool(loops(first) & loops(second))


def is_local(buffer: SSAValue) -> bool:
    """Whether a buffer is made in the kernel."""
    return isinstance(buffer.owner, AllocOp)

"""Outline repeated bodies, as a Python loop over layers leaves them, into one function, which is compiled once and called.

    %h1 = dot %x, %w1                        %h1 = graph.call @f_body(%x, %w1)
    %y1 = tanh %h1                           %h2 = graph.call @f_body(%h1, %w2)
    %h2 = dot %y1, %w2          becomes      func.func private @f_body(%x, %w) { tanh(dot %x, %w) }
    %y2 = tanh %h2

Values that differ between layers, such as weights, are arguments: nothing is stacked or copied, as a loop over layers would
need. Compile time then depends on the number of distinct bodies. The price is fusion and simplification across calls. So bodies
become functions if they have matmuls, convolutions or other ops that write their own loops, or if they fuse with no op around
them, as updates of parameters do; and if at least `least` ops are saved. Linear time; before batching and derivatives, which
then also see each body once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from ..dialects.facts import Cost
from ..dialects.graph.autodiff import VjpOp
from ..dialects.graph.base import GraphOp, ints
from ..dialects.graph.conditional import CallOp
from ..dialects.graph.control import ControlOp
from ..dialects.graph.effects import has_effects
from ..dialects.graph.fusion import structure_of
from ..dialects.operations import clone
from ..dialects.symbols import remember_symbol, unique_name
from ._functions import called_function, callees_first, copy_locations, has_body
from ._repeats import Numbers, Repeated, find_repeated, in_order, leaf_by_leaf
from ._residuals import is_heavy as fuses_with_nothing

Place = tuple[int, int]
"""An op of a body and one of its operands or results, by number."""


@dataclass(frozen=True)
class GraphRerollPass(ModulePass):
    """Outline repeated bodies into functions.

    Attributes:
        least: how many ops must be saved.
    """

    name = "graph-reroll"
    least: int = 64

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        waiting = [f for f in op.body.block.ops if isinstance(f, FuncOp) and len(f.body.blocks) == 1]
        waiting = [f for f in waiting if sum(1 for _ in f.body.block.ops) > self.least]
        if waiting:
            merge_equal_functions(op)
        numbers = Numbers()
        while waiting:
            function = waiting.pop(0)  # called functions come first: gradients of a body are read as those of a call
            while function.parent is not None:
                found = self._found(function.body.block, numbers)
                if found is None:
                    break
                waiting.append(_outline(function, found))

    def _found(self, block: Block, numbers: Numbers) -> Repeated | None:
        ops = in_order(block)
        updates: dict[str, bool] = {}

        def is_no_update(op: Operation) -> bool:
            return not (isinstance(op, FuncCallOp) or _is_pointwise(op)) or is_heavy(op)

        def is_heavy(op: Operation) -> bool:
            if not isinstance(op, FuncCallOp):
                return fuses_with_nothing(op)
            if (name := op.callee.string_value()) not in updates:
                updates[name] = has_body(op) and _is_elementwise(called_function(op))
            return not updates[name]

        def pays(repeated: Repeated) -> bool:
            return _pays(repeated, is_heavy)

        if found := find_repeated(block, ops, is_heavy, pays, self.least, numbers):
            return found
        before, tail = leaf_by_leaf(ops, is_no_update)
        if len(tail) <= self.least:
            return None
        if found := find_repeated(block, [*before, *tail], is_heavy, pays, self.least, numbers):
            _move_to_end(block, tail)
        return found


def _is_elementwise(function: FuncOp) -> bool:
    """Whether a function that is inlined later computes updates of parameters, as ops at its call would."""
    ops = [op for block in function.body.blocks for op in block.ops]
    return all(isinstance(op, ReturnOp) or _is_pointwise(op) for op in ops)


def _is_pointwise(op: Operation) -> bool:
    return isinstance(op, GraphOp) and op.facts.pointwise


def _move_to_end(block: Block, ops: Sequence[Operation]) -> None:
    last = block.last_op
    assert last is not None
    for op in ops:
        op.detach()
        block.insert_op_before(op, last)


def _pays(repeated: Repeated, is_heavy: Callable[[Operation], bool]) -> bool:
    """Whether bodies lose almost no fusion as functions: they have a heavy op, or no neighbours with which they could fuse."""
    bodies = repeated.bodies
    if all(isinstance(op, CallOp) for op in bodies[0]):
        return False
    return any(map(is_heavy, bodies[0])) or (_reads_memory(bodies) and _writes_memory(bodies))


def _reads_memory(bodies: Sequence[Sequence[Operation]]) -> bool:
    """Whether the values that bodies read from outside are in memory, or the same for all of them."""
    parameters, _ = _parameters(bodies)
    values = [{_operand(body, places[0]) for body in bodies} for places in parameters]
    return all(len(mine) == 1 or all(map(_is_in_memory, mine)) for mine in values)


def _is_in_memory(value: SSAValue) -> bool:
    """Whether a value is an argument, or the result of a function that stays a call once derivatives are expanded."""
    op = value.owner
    if isinstance(op, VjpOp) and isinstance(value, OpResult):
        function = called_function(op).body.block
        gradient = value.index - (len(op.results) - len(op.wrt))
        if gradient < 0:
            return False
        use = function.args[ints(op.wrt)[gradient]].get_unique_use()
        return use is not None and isinstance(use.operation, CallOp)
    return not isinstance(op, Operation) or isinstance(op, ControlOp)


def _writes_memory(bodies: Sequence[Sequence[Operation]]) -> bool:
    """Whether the values of bodies that are used outside are returned, or read by called functions."""
    places = _results(bodies)
    uses = [use.operation for body in bodies for k, j in places for use in body[k].results[j].uses]
    members = {op for body in bodies for op in body}
    return all(op in members or isinstance(op, ReturnOp | ControlOp) for op in uses) and not _are_chained(bodies)


def _are_chained(bodies: Sequence[Sequence[Operation]]) -> bool:
    """Whether a body reads values that another one computes."""
    owner = {op: k for k, body in enumerate(bodies) for op in body}
    return any(
        owner.get(operand.owner, k) != k  # pyright: ignore[reportArgumentType, reportCallIssue]
        for k, body in enumerate(bodies)
        for op in body
        for operand in op.operands
    )


def merge_equal_functions(module: ModuleOp) -> None:
    """Let ops name one of the private functions that compute the same: each tracing of a loop body makes a function anew."""
    alike = Counter(_outline_of(f) for f in module.body.block.ops if isinstance(f, FuncOp) and _is_private(f))
    if max(alike.values(), default=0) < 2:
        return
    kept: dict[object, FuncOp] = {}
    names: dict[str, SymbolRefAttr] = {}
    for function in callees_first(module):
        _rename(function, names)
        if not _is_private(function) or alike[_outline_of(function)] < 2:
            continue
        block = function.body.block
        if any(op.regions or has_effects(op) for op in block.ops):
            continue
        first = kept.setdefault(structure_of(block).key, function)
        if first is not function:
            names[function.sym_name.data] = SymbolRefAttr(first.sym_name.data)


def _is_private(function: FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _outline_of(function: FuncOp) -> tuple[object, ...]:
    """The key of a function, equal for equal functions."""
    return function.function_type, tuple([op.name for op in function.body.block.ops])


def _rename(function: FuncOp, names: dict[str, SymbolRefAttr]) -> None:
    if not names:
        return
    for op in function.walk():
        for key, attribute in op.properties.items():
            if isinstance(attribute, SymbolRefAttr):
                op.properties[key] = names.get(attribute.string_value(), attribute)
            elif isinstance(attribute, ArrayAttr) and any(isinstance(name, SymbolRefAttr) for name in attribute.data):
                op.properties[key] = ArrayAttr(
                    [
                        names.get(name.string_value(), name) if isinstance(name, SymbolRefAttr) else name
                        for name in attribute.data
                    ]
                )


def _outline(function: FuncOp, repeated: Repeated) -> FuncOp:
    """Replace bodies by calls of a new function."""
    bodies = repeated.bodies
    parameters, constants = _parameters(bodies)
    results = _results(bodies)
    first = bodies[0]
    body = Block(arg_types=[_operand(first, places[0]).type for places in parameters])
    values: dict[SSAValue, SSAValue] = {}
    for argument, places in zip(body.args, parameters, strict=True):
        argument.name_hint = _operand(first, places[0]).name_hint
    given = {place: argument for argument, places in zip(body.args, parameters, strict=True) for place in places}
    for constant in constants:
        _clone(constant, body, values)
    for k, op in enumerate(first):
        copied = _clone(op, body, values)
        for j in range(len(op.operands)):
            if (k, j) in given:
                copied.operands[j] = given[k, j]
    last = ReturnOp(*(values[first[k].results[j]] for k, j in results))
    last.location = first[-1].location
    body.add_op(last)
    types: list[Attribute] = [value.type for value in last.operands]
    name = unique_name(function, f"{function.sym_name.data}_body")
    made = FuncOp(name, ([a.type for a in body.args], types), Region(body), "private")
    made.location = first[0].location
    functions = function.parent_block()
    assert functions is not None
    functions.insert_op_before(made, function)
    remember_symbol(made)
    for ops in bodies:
        _call(made, ops, [_operand(ops, places[0]) for places in parameters], results)
    return made


def _clone(op: Operation, block: Block, values: dict[SSAValue, SSAValue]) -> Operation:
    copied = clone(op, values)
    copy_locations(op, copied)
    block.add_op(copied)
    return copied


def _call(function: FuncOp, ops: Sequence[Operation], arguments: Sequence[SSAValue], results: Sequence[Place]) -> None:
    """Replace the ops of a body by a call."""
    call = CallOp.make(function, arguments)
    call.location = ops[0].location
    block = ops[-1].parent
    assert block is not None
    block.insert_op_before(call, ops[-1])  # only constants stand between its ops
    for (k, j), new in zip(results, call.results, strict=True):
        old = ops[k].results[j]
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    for op in reversed(ops):
        op.detach()
        op.erase(safe_erase=False)


def _operand(body: Sequence[Operation], place: Place) -> SSAValue:
    k, j = place
    return body[k].operands[j]


def _parameters(bodies: Sequence[Sequence[Operation]]) -> tuple[list[list[Place]], list[Operation]]:
    """The operands from outside, grouped if they are one value in each body; and the ops that compute others from constants,
    the same in all bodies."""
    inside = {result for op in bodies[0] for result in op.results}
    groups: dict[tuple[SSAValue, ...], list[Place]] = {}
    constants: dict[Operation, None] = {}
    for k, op in enumerate(bodies[0]):
        for j, operand in enumerate(op.operands):
            if operand in inside:
                continue
            values = tuple([body[k].operands[j] for body in bodies])
            if (ops := _of_constants(values)) is not None:
                constants.update(dict.fromkeys(ops))
            else:
                groups.setdefault(values, []).append((k, j))
    return list(groups.values()), list(constants)


def _of_constants(values: Sequence[SSAValue]) -> list[Operation] | None:
    """The ops that compute a value from constants, the same for all bodies, in their order."""
    owner = values[0].owner
    if not isinstance(owner, GraphOp) or owner.facts.cost is not Cost.INDEX:
        return None
    if not owner.operands:
        is_same = all(v.owner is owner or (isinstance(v.owner, Operation) and _key(v.owner) == _key(owner)) for v in values)
        return [owner] if is_same else None
    if len(set(values)) > 1:
        return None
    found: list[Operation] = []
    for operand in owner.operands:
        before = _of_constants([operand])
        if before is None:
            return None
        found += before
    return [*found, owner]


def _key(op: Operation) -> tuple[object, ...]:
    return op.name, op.properties, [result.type for result in op.results]


def _results(bodies: Sequence[Sequence[Operation]]) -> list[Place]:
    """The values of a body that are used outside of it, in at least one of the bodies."""
    found: dict[Place, None] = {}
    for body in bodies:
        members = set(body)
        for k, op in enumerate(body):
            for j, result in enumerate(op.results):
                use = result.first_use
                while use is not None:
                    if use._operation not in members:
                        found[k, j] = None
                        break
                    use = use._next_use
    return sorted(found)

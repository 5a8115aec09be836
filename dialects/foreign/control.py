"""Rules of `scf`, `cf` and `func`: which values are passed along which edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Attribute, Block, Operation

from .types import Rule


def _spell(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))


def _edge(op: Operation, given: Sequence[Attribute], wanted: Sequence[Attribute], source: str, target: str) -> Iterator[str]:
    edge = f"along control flow edge from {source} to {target}"
    if len(given) != len(wanted):
        yield f"{edge}: region branch point has {len(given)} operands, but region successor needs {len(wanted)} inputs"
        return
    for k, (one, other) in enumerate(zip(given, wanted, strict=True)):
        if one != other:
            yield f"{edge}: successor operand type #{k} '{one}' should match successor input type #{k} '{other}'"
            return


def _ends(op: Operation, name: str, number: int = -1) -> Iterator[Operation]:
    regions = op.regions if number < 0 else op.regions[number : number + 1]
    for region in regions:
        for block in region.blocks:
            if block.last_op is not None and block.last_op.name == name:
                yield block.last_op


def _types(values: Sequence[Any]) -> list[Attribute]:
    return [value.type for value in values]


def _scf_for(op: Any) -> Iterator[str]:
    block: Block = op.body.block
    if len(op.iter_args) != len(op.results):
        yield "mismatch in number of loop-carried values and defined values"
    elif len(block.args) - 1 != len(op.results):
        yield "mismatch in number of basic block args and defined values"
    for k, (given, carried, result) in enumerate(zip(op.iter_args, block.args[1:], op.results, strict=False)):
        for one, what in ((given.type, "operand"), (carried.type, "iter_arg")):
            if one != result.type:
                yield f"{k}-th region {what} and {k}-th loop result have different type: '{one}' != '{result.type}'"
                return
    for end in _ends(op, "scf.yield"):
        yield from _edge(op, _types(end.operands), _types(op.results), "Operation scf.yield", "parent")


def _scf_if(op: Operation) -> Iterator[str]:
    if op.results and not op.regions[1].blocks:
        yield "must have an else block if defining values"
    yield from _yields(op)


def _yields(op: Operation) -> Iterator[str]:
    for end in _ends(op, "scf.yield"):
        yield from _edge(op, _types(end.operands), _types(op.results), "Operation scf.yield", "parent")


def _scf_while(op: Operation) -> Iterator[str]:
    before, after = (region.blocks[0] if region.blocks else None for region in op.regions)
    if before is None or after is None:
        return
    yield from _edge(op, _types(op.operands), _types(before.args), "parent", "Region #0")
    for end in _ends(op, "scf.condition", 0):
        given = _types(end.operands[1:])
        yield from _edge(op, given, _types(op.results), "Operation scf.condition", "parent")
        yield from _edge(op, given, _types(after.args), "Operation scf.condition", "Region #1")
    for end in _ends(op, "scf.yield", 1):
        yield from _edge(op, _types(end.operands), _types(before.args), "Operation scf.yield", "Region #0")


def _return(op: Operation) -> Iterator[str]:
    function = op.parent_op()
    if not isinstance(function, func.FuncOp):
        return
    wanted, name = list(function.function_type.outputs), function.sym_name.data
    if len(op.operands) != len(wanted):
        yield f"has {len(op.operands)} operands, but enclosing function (@{name}) returns {len(wanted)}"
    for k, (value, type) in enumerate(zip(op.operands, wanted, strict=False)):
        if value.type != type:
            given = f"type of return operand {k} ('{value.type}')"
            yield f"{given} doesn't match function result type ('{type}') in function @{name}"


def _branch(op: Any) -> Iterator[str]:
    groups: list[Sequence[Any]]
    if op.name == "cf.br":
        groups = [op.operands]
    elif op.name == "cf.cond_br":
        groups = [op.then_arguments, op.else_arguments]
    else:
        groups = [op.default_operands, *op.case_operand]
    for number, (block, values) in enumerate(zip(op.successors, groups, strict=False)):
        if len(values) != len(block.args):
            yield f"branch has {len(values)} operands for successor #{number}, but target block has {len(block.args)}"
            return
        for k, (value, argument) in enumerate(zip(values, block.args, strict=True)):
            if value.type != argument.type:
                yield f"type mismatch for bb argument #{k} of successor #{number}"
                return


RULES: dict[str, Rule] = {
    "func.return": _return,
    "scf.for": _scf_for,
    "scf.if": _scf_if,
    "scf.while": _scf_while,
    **dict.fromkeys(("scf.execute_region", "scf.index_switch"), _yields),
    **dict.fromkeys(("cf.br", "cf.cond_br", "cf.switch"), _branch),
}

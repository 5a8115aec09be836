"""Programs that are derived from the graph of a run: the tangents and adjoints of its nodes, and checks of frozen values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.graph.autodiff import JvpOp, VjpOp
from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.effects import AssertOp
from ...dialects.operations import clone
from ...dialects.types import element_of, i64, is_bool, is_complex, is_float, shape_of
from ...executor import executor
from ..trace.locations import file_location
from ..trace.program import Program
from ..trace.tracer import Read

Array = np.ndarray[Any, Any]


@dataclass
class Copy:
    """A copy of the graph of a run.

    Attributes:
        module: it; with the functions that `@main` calls.
        mapping: its values by those of the original.
        nodes: its nodes in the order of the run, arguments first.
    """

    module: ModuleOp
    mapping: dict[SSAValue, SSAValue]
    nodes: list[SSAValue]
    program: Program

    @staticmethod
    def of(program: Program, nodes: Sequence[SSAValue]) -> Copy:
        mapping: dict[SSAValue, SSAValue] = {}
        module = clone(program.module, mapping)
        return Copy(module, mapping, [mapping[value] for value in nodes], program)

    @property
    def function(self) -> FuncOp:
        (found,) = (op for op in self.module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
        return found


def adjoints(
    run: Copy, seeds: Sequence[Array], inputs: Sequence[Array], results: Sequence[int]
) -> tuple[list[int], Sequence[Array]]:
    """Which nodes are of floats, and the derivatives of `results` along `seeds` by each of them."""
    function = run.function
    block = function.body.block
    n, ends = len(block.args), _end(function).operands
    seeded = [ends[k].type for k in results]
    wrt = [k for k, x in enumerate(run.nodes) if _is_inexact(x)]
    for k in wrt[sum(k < n for k in wrt) :]:
        _add_argument(run.nodes[k], block)
    _retype(function)
    main, given = _main(run, [*(x.type for x in block.args[:n]), *seeded])
    b = GraphBuilder(main.body.block)
    zeros = [b.full(0, x.type) for x in block.args[n:]]
    by = [*(k for k in wrt if k < n), *range(n, len(block.args))]
    op = VjpOp.make(function, [*given[:n], *zeros], given[n:], by)
    b.insert(op)
    return wrt, _run(run, main, op.results[len(ends) :], [*inputs, *seeds])


def tangents(
    run: Copy, vectors: Sequence[Array], inputs: Sequence[Array]
) -> tuple[list[int], list[Array | None], Sequence[Array]]:
    """Which nodes are of floats, the tangents of the results along `vectors` of the arguments, and those of these nodes."""
    function = run.function
    block, end = function.body.block, _end(function)
    ends = list(end.operands)
    floats = [k for k, x in enumerate(run.nodes) if _is_inexact(x)]
    block.add_op(ReturnOp(*ends, *(run.nodes[k] for k in floats)))
    end.detach()
    _retype(function)
    wrt = [k for k in range(len(vectors)) if _is_inexact(block.args[k])]
    main, given = _main(run, [*(x.type for x in block.args), *(block.args[k].type for k in wrt)])
    n = len(block.args)
    op = JvpOp.make(function, given[:n], given[n:], wrt)
    GraphBuilder(main.body.block).insert(op)
    found = _run(run, main, op.results[len(ends) + len(floats) :], [*inputs, *(vectors[k] for k in wrt)])
    moved = iter(found)
    results = [next(moved) if _is_inexact(value) else None for value in ends]
    return floats, results, list(moved)


def add_check(read: Read, value: SSAValue) -> None:
    """Let the program fail where Python would have read another value: for a condition another truth, for an integer another
    integer, else any other value."""
    after = value.owner
    place = InsertPoint.at_start(after) if isinstance(after, Block) else InsertPoint.after(after)
    b = GraphBuilder(place, None if read.place is None else file_location(*read.place))
    same = _same(b, read, value)
    if shape_of(same):
        same = b.reduce(same, kind="and", dims=list(range(len(shape_of(same)))))
    text = f"frozen: {read}".replace("{", "{{").replace("}", "}}")
    b.insert(AssertOp.make(same, f"{text} when the run was recorded, got {{0}}", [value]))


def _same(b: GraphBuilder, read: Read, value: SSAValue) -> SSAValue:
    element, frozen = element_of(value), read.value
    if read.what == "a condition" and not is_bool(element):
        value, frozen = b.cmp(value, b.full(0, value.type), predicate="ne"), frozen != 0
    elif read.what == "int()" and is_float(element):
        value, frozen = b.convert(value, i64), frozen.astype(np.int64)
    same = b.cmp(value, b.const(frozen), predicate="eq")
    if frozen.dtype.kind in "fc" and np.isnan(frozen).any():
        same = b.or_(same, b.and_(b.cmp(value, value, predicate="ne"), b.const(np.isnan(frozen))))
    return same


def _is_inexact(value: SSAValue) -> bool:
    return is_float(element_of(value)) or is_complex(element_of(value))


def _end(function: FuncOp) -> Operation:
    end = function.body.block.last_op
    assert isinstance(end, ReturnOp)
    return end


def _add_argument(value: SSAValue, block: Block) -> None:
    """Add a new argument of the function to a value, wherever it is used."""
    assert not isinstance(value, BlockArgument)
    owner = value.owner
    assert isinstance(owner, Operation)
    argument = block.insert_arg(value.type, len(block.args))
    users = list(value.uses)
    total = GraphBuilder(InsertPoint.after(owner), owner.location).add(value, argument)
    for use in users:
        use.operation.operands[use.index] = total


def _retype(function: FuncOp) -> None:
    """Give a function the types of its block and another name, private."""
    types = [x.type for x in function.body.block.args], [x.type for x in _end(function).operands]
    function.properties["function_type"] = FunctionType.from_lists(*types)
    function.properties["sym_name"] = StringAttr("recorded")
    function.properties["sym_visibility"] = StringAttr("private")


def _main(run: Copy, types: Sequence[Attribute]) -> tuple[FuncOp, Sequence[SSAValue]]:
    main = FuncOp("main", (list(types), []), Region(Block(arg_types=types)), "public")
    run.module.body.block.add_op(main)
    return main, main.body.block.args


def _run(run: Copy, main: FuncOp, results: Sequence[SSAValue], inputs: Sequence[Array]) -> Sequence[Array]:
    """The values of `results` at inputs, as all that `@main` returns."""
    if not results:
        return ()
    main.body.block.add_op(ReturnOp(*results))
    types = [x.type for x in main.body.block.args], [x.type for x in results]
    main.properties["function_type"] = FunctionType.from_lists(*types)
    out = executor.function(run.module, functions=run.program.callbacks)(*inputs)
    return out if isinstance(out, tuple) else (out,)

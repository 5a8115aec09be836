"""Merge a chain of branches that compare one value with constants into one case.

    if k == 3: a()                      case (k == 3 -> 0, k == 7 -> 1, else 2) [@a, @b, @c]
    elif k == 7: b()         becomes
    else: c()

The `else` of each condition must hold nothing but the next condition on the same integer scalar and its branches. The number of
the branch is a sum of selects on scalars, and which one runs is decided once (a jump table, where machine code has one). The
chain is at least `least` conditions long. Linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.base import GraphOp
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.conditional import FLAG, CaseOp
from ..dialects.types import is_float, shape_of
from ._fold_control import constant
from ._for_loops import new_function, types_of
from ._functions import called_functions, callees_first, clone_body, replace_op
from .graph_inline import drop_unused_functions


@dataclass(frozen=True)
class GraphIfsToCasePass(ModulePass):
    """Turn chains of conditions on one value into one case.

    Attributes:
        least: how many conditions a chain has.
    """

    name = "graph-ifs-to-case"
    least: int = 2

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in reversed(callees_first(op)):  # the longest chain, not the end of it
            for case in [inner for inner in function.body.block.ops if isinstance(inner, CaseOp)]:
                chain = _chain(case)
                if len(chain.taken) >= self.least:
                    replace_op(case, _one_case(case, chain))
        drop_unused_functions(op)


@dataclass
class _Branch:
    """A function and the arguments that it gets, as values around the outermost condition."""

    function: FuncOp
    arguments: list[SSAValue]


@dataclass
class _Chain:
    """Branches by the constant that the value equals, in the order of the tests, and the last `else`."""

    value: SSAValue | None
    taken: list[tuple[int, _Branch]]
    rest: _Branch | None


def _chain(op: CaseOp) -> _Chain:
    chain = _Chain(None, [], None)
    outside: dict[SSAValue, SSAValue] | None = None  # arguments of an `else` as values around the first condition
    while True:
        found = _test(op, outside)
        if found is None or (chain.value is not None and found[0] is not chain.value):
            return chain
        chain.value, number, when, other = found
        chain.taken.append((number, when))
        chain.rest = other
        inner = _only_case(other.function)
        if inner is None:
            return chain
        outside = dict(zip(other.function.body.block.args, other.arguments, strict=True))
        op = inner


def _test(op: CaseOp, outside: dict[SSAValue, SSAValue] | None) -> tuple[SSAValue, int, _Branch, _Branch] | None:
    """The value that a condition compares with a constant, that constant, and the branches for equal and not."""
    compare = op.index.owner
    if op.index.type != FLAG or not isinstance(compare, Operation) or compare.name != "graph.cmp":
        return None
    predicate = compare.properties["predicate"]
    assert isinstance(predicate, StringAttr)
    x, y = compare.operands
    if constant(x) is not None:
        x, y = y, x
    number = constant(y)
    if predicate.data not in ("eq", "ne") or number is None or shape_of(x) or is_float(x.type.element_type):  # pyright: ignore[reportAttributeAccessIssue]
        return None
    value = x if outside is None else outside.get(x)
    if value is None or number.dtype.kind not in "iu":
        return None
    arguments: list[SSAValue] = []
    for argument in op.arguments:
        known = argument if outside is None else outside.get(argument)
        if known is None:  # computed in the `else`
            return None
        arguments.append(known)
    other, when = (_Branch(function, arguments) for function in called_functions(op))
    return (value, int(number), when, other) if predicate.data == "eq" else (value, int(number), other, when)


def _only_case(function: FuncOp) -> CaseOp | None:
    """The case of a function that consists of a condition and a case, and returns the results of the case."""
    ops = list(function.body.block.ops)
    cases = [op for op in ops if isinstance(op, CaseOp)]
    others = [op for op in ops[:-1] if not isinstance(op, CaseOp)]
    if len(cases) != 1 or not all(isinstance(op, GraphOp) for op in others):  # pure ops, for the condition alone
        return None
    (case,), last = cases, ops[-1]
    if not isinstance(last, ReturnOp) or list(last.operands) != list(case.results):
        return None
    return case if all(isinstance(v, BlockArgument) for v in case.arguments) else None


def _one_case(op: CaseOp, chain: _Chain) -> Sequence[SSAValue]:
    assert chain.value is not None and chain.rest is not None
    b = GraphBuilder(InsertPoint.before(op), op.location)
    first = {number: k for k, (number, _) in reversed(list(enumerate(chain.taken)))}
    index = b.const(len(chain.taken), i64)
    for number, k in sorted(first.items(), key=lambda item: -item[1]):
        index = b.select(b.cmp(chain.value, b.full_like(chain.value, number), predicate="eq"), b.const(k, i64), index)
    branches = [*(branch for _, branch in chain.taken), chain.rest]
    arguments = list(dict.fromkeys(value for branch in branches for value in branch.arguments))

    def taking(branch: _Branch) -> FuncOp:
        def build(block: Block) -> list[SSAValue]:
            known = dict(zip(arguments, block.args, strict=True))
            return clone_body(branch.function, [known[v] for v in branch.arguments], block.add_op)[0]

        return new_function(op, "of_value", types_of(arguments), build, branch.function)

    new = CaseOp.make(index, [taking(branch) for branch in branches], arguments)
    b.insert(new)
    return new.results

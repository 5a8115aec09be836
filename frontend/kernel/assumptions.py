"""`assume(...)`: facts that a kernel may rely on, each of which a call checks; where one fails, loops without it run.

    assume(n % 8 == 0)                    comparisons of sizes and integers
    assume(lm.permutation(idx))           x[idx[i]] are different elements
    assume(lm.increasing(indptr))         ranges from indptr[i] to indptr[i + 1] do not overlap
    assume(lm.disjoint(x, y))             what calls check of different parameters anyway

The rest of the kernel is read twice, as the branches of a condition: with the facts and without. In Python `assume` does
nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import BlockArgument

from ...dialects.loop.assume import INCREASING, PERMUTATION, AssumeOp, holds_for, is_written
from ...dialects.types import is_integer, shape_of
from . import prelude_facts
from .values import Array, Extreme, Index, Number, Scalar, Value

if TYPE_CHECKING:
    from .statements import Statements


def assume(condition: Any) -> None:
    """A fact that the loops after it may rely on; in Python nothing happens.

    Args:
        condition: comparisons of sizes and integers, `disjoint`, `increasing`, `permutation`, or several of them with `and`. It
            is checked when the kernel is called: comparisons cost nothing, arrays one pass. If it does not hold, the kernel
            runs loops that do not rely on it: results are right in any case.

    >>> assume(3 < 4)
    """


def disjoint(*arrays: np.ndarray) -> bool:
    """Whether no two arrays share an element.

    >>> x = np.zeros(4)
    >>> disjoint(x[:2], x[2:]), disjoint(x, x[1:])
    (True, False)
    """
    return not any(np.shares_memory(x, y) for k, x in enumerate(arrays) for y in arrays[:k])


def permutation(indices: np.ndarray) -> bool:
    """Whether an array has the numbers from 0 to its size, each once; in kernels one pass, and a byte of memory an element.

    >>> permutation(np.array([2, 0, 1])), permutation(np.array([2, 0, 2]))
    (True, False)
    """
    return holds_for(PERMUTATION, indices)


def increasing(values: np.ndarray) -> bool:
    """Whether no element of an array is greater than the next one, as of the offsets of CSR; one pass.

    >>> increasing(np.array([0, 3, 3, 7])), increasing(np.array([0, 3, 2]))
    (True, False)
    """
    return holds_for(INCREASING, values)


_CHECKS = {permutation: (PERMUTATION, prelude_facts.is_permutation), increasing: (INCREASING, prelude_facts.is_increasing)}
_RULE = "assume takes comparisons of integers, lm.permutation, lm.increasing and lm.disjoint: write an if"


def is_assumption(statements: Statements, node: ast.stmt) -> bool:
    """Whether a statement is `assume(...)`."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and statements.resolve(node.value.func) is assume


class Assumptions:
    """The conditions of consecutive `assume` statements, and the facts that they imply."""

    def __init__(self, statements: Statements):
        self.statements = statements
        self.condition: Value = Number(True)
        self.facts: list[AssumeOp] = []

    def add(self, call: ast.Call) -> None:
        """Another statement."""
        s = self.statements
        if len(call.args) != 1 or call.keywords:
            s.refuse(call, "assume takes one condition: join several with 'and'")
        for part in _conjuncts(call.args[0]):
            check = self._check(part)
            self.condition = check if self.condition == Number(True) else s.math(part).both(self.condition, check)

    def _check(self, node: ast.expr) -> Value:
        s = self.statements
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        called = s.resolve(node.func) if isinstance(node, ast.Call) else None
        if called not in (disjoint, *_CHECKS) or not isinstance(node, ast.Call) or node.keywords:
            s.refuse(node, _RULE)
        arrays = [self._array(arg) for arg in node.args]
        if called is disjoint:
            buffers = [array.buffer for array in arrays]
            return Number(len(set(buffers)) == len(buffers))
        if len(arrays) != 1 or len(shape_of(arrays[0].buffer)) != 1 or not is_integer(arrays[0].element):
            s.refuse(node, f"'{ast.unparse(node.func)}' takes one array of integers with one dim: pass such a parameter")
        kind, check = _CHECKS[called]
        fact = AssumeOp.build_assume(kind, arrays[0].buffer)
        fact.location = s.source.location(node)
        self.facts.append(fact)
        return s.inlined(node, check, arrays)

    def _array(self, node: ast.expr) -> Array:
        s = self.statements
        found = s.seen(node)
        if not isinstance(found, Array) or found.axes is not None or not isinstance(found.buffer, BlockArgument):
            s.refuse(node, "facts are about parameters that are arrays: write a parameter's name, not a view")
        return found

    def _comparison(self, node: ast.Compare) -> Value:
        """A comparison, in which integer parameters are index expressions: then the analyses understand it."""
        s, before = self.statements, dict(self.statements.env)
        b = s.math(node)
        try:
            for name in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & before.keys():
                value = before[name]
                if isinstance(value, Scalar) and is_integer(value.type):
                    s.env[name] = b.affine(value)
            operands = [s.value(operand) for operand in (node.left, *node.comparators)]
            if not all(isinstance(x, Index | Extreme) or (isinstance(x, Number) and type(x.value) is int) for x in operands):
                s.refuse(node, _RULE)
            return s.value(node)
        finally:
            s.env = before


def _conjuncts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for value in node.values:
            yield from _conjuncts(value)
    else:
        yield node


def add_assumptions(statements: Statements, body: Sequence[ast.stmt]) -> None:
    """The statements from an `assume` on: with its facts, or else without them."""
    s, found = statements, Assumptions(statements)
    if s.depth or s.block is not s.entry:
        s.refuse(body[0], "assume stands outside of loops, conditions and functions, before the loops that rely on it")
    count = next((k for k, one in enumerate(body) if not is_assumption(s, one)), len(body))
    for one in body[:count]:
        assert isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
        found.add(one.value)
    rest = list(body[count:])
    if isinstance(found.condition, Number) or not rest:
        s.run(rest)
        return
    both = ast.copy_location(ast.If(ast.Constant(True), rest, rest), body[0])
    s.branches(both, s.math(body[0]).truth(found.condition), found.facts)
    for fact in found.facts:
        if is_written(fact.buffer):
            name = fact.buffer.name_hint
            s.refuse(body[0], f"the kernel writes '{name}': facts are about arrays that it only reads; write another one")

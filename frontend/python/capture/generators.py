"""Generators: a statement that yields, or jumps around a `yield`, stays Python's; all others are rewritten as in functions.

if t:                           if t:                   (selected, though `t` is traced)
    yield a            ->           value = a
else:                           else:
    yield b                         value = b
                                yield value
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from .code_objects import assign, at, load
from .jumps import jumps_out, lower_loops
from .names import own_nodes
from .statement_facts import Notes

_YIELDS = (ast.Yield, ast.YieldFrom)
_BLOCKS = ("body", "orelse", "finalbody")


def is_generator(node: ast.AST) -> bool:
    """Whether a function, or a statement of one, yields."""
    return bool(own_nodes(node, _YIELDS))


def is_capturable(node: ast.AST) -> bool:
    """Whether a function awaits nothing, and yields in statements of their own, `yield x` or `y = yield x`, alone."""
    if own_nodes(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
        return False
    alone = [s.value for s in own_nodes(node, (ast.Expr, ast.Assign)) if isinstance(s.value, _YIELDS)]
    inside = [inner for one in alone for inner in own_nodes(one, _YIELDS)]
    return len(alone) == len(own_nodes(node, _YIELDS)) and not inside


def lower_yields(node: ast.FunctionDef, notes: Notes) -> None:
    """Rewrite the body of a generator: noted as `plain` are the statements that stay Python's."""
    node.body = _lowered(_Joined().block(node.body), notes)


def _lowered(statements: Sequence[ast.stmt], notes: Notes) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for s in statements:
        if not _stays(s):
            out += lower_loops([s], notes)
            continue
        notes[s].plain = True
        for block in _blocks_of(s):
            block[:] = _lowered(block, notes)
        out.append(s)
    return out


def _stays(s: ast.stmt) -> bool:
    return (
        isinstance(s, ast.Return | ast.Break | ast.Continue)
        or bool(own_nodes(s, (*_YIELDS, ast.Return)))
        or any(jumps_out(s, kind) for kind in (ast.Break, ast.Continue))
    )


def _blocks_of(s: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []
    inner = [*getattr(s, "handlers", ()), *getattr(s, "cases", ())]
    return [block for one in (s, *inner) for name in _BLOCKS if (block := getattr(one, name, None))]


class _Joined:
    """A branch that ends with a `yield` on both paths becomes one that chooses what is yielded after it."""

    def __init__(self) -> None:
        self.count = 0

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            for block in _blocks_of(s):
                block[:] = self.block(block)
            out.append(s)
            if isinstance(s, ast.If) and len(own_nodes(s, _YIELDS)) == 2:
                ends = [_yielded(block) for block in (s.body, s.orelse)]
                if None not in ends:
                    out.append(self.joined(s, ends))
        return out

    def joined(self, s: ast.If, ends: Sequence[Any]) -> ast.stmt:
        self.count += 1
        name = f"yielded{self.count}@"
        for block, value in zip((s.body, s.orelse), ends, strict=True):
            block[-1] = at(assign(name, value), block[-1])
        return at(ast.Expr(ast.Yield(load(name))), s)


def _yielded(block: Sequence[ast.stmt]) -> ast.expr | None:
    """The value that the last statement of a block yields."""
    last = block[-1] if block else None
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Yield):
        return None
    return last.value.value or ast.Constant(None)

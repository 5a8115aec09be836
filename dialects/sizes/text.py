"""Sizes as text: `n - 1 where n in 1..4096 by 8`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from .atoms import Symbol
from .polynomial import Size, positive, symbols_of


def spell(size: Any) -> str:
    """A size with the bounds of its symbols: `n - 1 where n in 1..4096 by 8`. `read` is the inverse."""
    said = [s.spell() for s in symbols_of([size]) if s.spell() != s.name]
    return f"{size} where {', '.join(said)}" if said else str(size)


_SYMBOL = re.compile(r"([A-Za-z_]\w*) in (\d+)\.\.(\d*)(?: by (\d+))?")


def read(text: str) -> Any:
    """A size from its text.

    >>> read("floordiv(n + 1, 2) * m where m in 1..8").bounds
    (0.0, inf)

    Raises:
        ValueError: the text is no size.
    """
    expression, _, where = text.partition(" where ")
    known: dict[str, Symbol] = {}
    for part in where.split(", ") if where else ():
        match = _SYMBOL.fullmatch(part)
        if match is None:
            raise _error(text)
        name, low, high, multiple = match.groups()
        known[name] = Symbol(name, int(low), int(high) if high else None, int(multiple or 1))
    try:
        return _value(ast.parse(expression, mode="eval").body, known)
    except (SyntaxError, RecursionError):
        raise _error(text) from None


def _error(text: str) -> ValueError:
    rule = "a size must be made of integers and symbols by +, -, *, floordiv(e, 2) and max(e, 0), as '2 * n where n in 1..8'"
    return ValueError(f"{rule}, got {text!r:.60}")


def _value(node: ast.AST, known: Mapping[str, Symbol]) -> Any:
    match node:
        case ast.Constant(int(number)):
            return number
        case ast.Name(name):
            return Size.product((known.get(name, Symbol(name)),))
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, known)
        case ast.BinOp(left, ast.Add(), right):
            return _value(left, known) + _value(right, known)
        case ast.BinOp(left, ast.Sub(), right):
            return _value(left, known) - _value(right, known)
        case ast.BinOp(left, ast.Mult(), right):
            return _value(left, known) * _value(right, known)
        case ast.Call(ast.Name("floordiv"), [of, ast.Constant(int(by))], []) if by > 0:
            return _value(of, known) // by
        case ast.Call(ast.Name("max"), [of, ast.Constant(0)], []):
            return positive(_value(of, known))
        case _:
            raise _error(ast.unparse(node))

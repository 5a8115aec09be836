"""The dims of a model's inputs: numbers, names, and sums and products of names, as `past + 1`."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...api.sizes import dim

_OPERATIONS: dict[type[ast.operator], Any] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_LONGEST = 200
"""Characters of an expression; the names that exporters write have fewer than fifty."""


class DimNames:
    """What the texts of symbolic dims mean.

    A text is an expression if it has sums and products of names each of which is a dim of an input by itself: the value of such
    an expression follows from the sizes of arrays. Any other text is a name, whatever its characters (`batch-size`).

    Args:
        texts: the texts of all inputs.
    """

    def __init__(self, texts: Collection[str]):
        names = set(texts)
        self.expressions = {
            text: found for text in names if (found := _parsed(text)) is not None and _names(found) <= names - {text}
        }

    def size(self, text: str, sizes: Mapping[str, Any]) -> Any:
        """The value of an expression, for the sizes of its names; None if one of them is not known."""
        try:
            return _evaluated(self.expressions[text], sizes)
        except KeyError:
            return None

    def symbolic(self, text: str, words: Mapping[str, str]) -> Any:
        """A dim as `jit` takes it, with words for the names.

        That is a name plus a number. Any other expression is a name here, as is one of other names than these.
        """
        found = self.expressions.get(text)
        if found is None or not _names(found) <= words.keys() or not _is_name_plus_number(found):
            return dim(words[text])
        return _evaluated(found, {name: dim(words[name]) for name in _names(found)})


def texts_of(shapes: Sequence[Sequence[Any] | None]) -> set[str]:
    """The texts of all symbolic dims."""
    return {n for shape in shapes for n in shape or () if isinstance(n, str)}


def _parsed(text: str) -> ast.expr | None:
    if len(text) > _LONGEST or not re.fullmatch(r"[\w\s+*()-]*[+*-][\w\s+*()-]*", text, re.ASCII):
        return None
    try:
        found = ast.parse(text.strip(), mode="eval").body
        _names(found)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return found


def _names(e: ast.expr) -> set[str]:
    """The names of an expression.

    Raises:
        ValueError: it has something else than sums and products of names and numbers.
    """
    if isinstance(e, ast.Name):
        return {e.id}
    if isinstance(e, ast.Constant) and type(e.value) is int:
        return set()
    if isinstance(e, ast.BinOp) and type(e.op) in _OPERATIONS:
        return _names(e.left) | _names(e.right)
    raise ValueError(f"no size: {ast.dump(e)}")


def _is_name_plus_number(e: ast.expr) -> bool:
    names = _names(e)
    return len(names) <= 1 and all(
        _evaluated(e, dict.fromkeys(names, n)) - n * len(names) == _at_zero(e, names) for n in (1, 2)
    )


def _at_zero(e: ast.expr, names: Collection[str]) -> int:
    return _evaluated(e, dict.fromkeys(names, 0))


def _evaluated(e: ast.expr, sizes: Mapping[str, Any]) -> Any:
    if isinstance(e, ast.BinOp):
        return _OPERATIONS[type(e.op)](_evaluated(e.left, sizes), _evaluated(e.right, sizes))
    return sizes[e.id] if isinstance(e, ast.Name) else e.value  # pyright: ignore[reportAttributeAccessIssue]

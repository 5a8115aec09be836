"""The part of a graph that computes one variable of the source: found by the assignment in whose lines its ops were written."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ..diagnostics import position_of
from ..dialects.program import functions_of
from .reduction import remove_dead


@lru_cache(maxsize=64)
def assignments(file: str) -> tuple[tuple[str, int, int], ...]:
    """The assignments to plain names in a source file: name, first line, last line."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    return tuple(_targets(tree))


def _targets(tree: ast.AST) -> Iterator[tuple[str, int, int]]:
    for node in ast.walk(tree):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign | ast.AugAssign)
            else []
        )
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    yield name.id, node.lineno, node.end_lineno or node.lineno  # pyright: ignore[reportAttributeAccessIssue]


def value_named(module: ModuleOp, name: str, entry: str = "main") -> SSAValue | None:
    """The last value of a function that an assignment to a name computes, or that text calls so."""
    found: SSAValue | None = None
    for op in functions_of(module)[entry].body.block.ops:
        if not op.results or op.name == "graph.const":
            continue
        place = position_of(op.location)
        lines = () if place is None else assignments(place.file)
        by_line = place is not None and any(n == name and first <= place.line <= last for n, first, last in lines)
        if by_line or any(result.name_hint == name for result in op.results):
            found = op.results[0]
    return found


def names_in(module: ModuleOp, entry: str = "main") -> list[str]:
    """The names that `value_named` finds something for."""
    places = [position_of(op.location) for op in functions_of(module)[entry].body.block.ops if op.results]
    found = {
        n for place in places if place is not None for n, first, last in assignments(place.file) if first <= place.line <= last
    }
    return sorted(found)


def computing(module: ModuleOp, name: str, entry: str = "main") -> ModuleOp | None:
    """A copy of a module whose entry returns one variable and nothing else; None if there is none of that name."""
    copy = module.clone()
    for old, new in zip(module.walk(), copy.walk(), strict=True):
        new.location = old.location
    value = value_named(copy, name, entry)
    if value is None:
        return None
    function = functions_of(copy)[entry]
    last: Operation | None = function.body.block.last_op
    assert isinstance(function, func.FuncOp) and last is not None
    last.operands = [value]
    function.properties["function_type"] = func.FunctionType.from_lists([*function.function_type.inputs], [value.type])
    for name_ in ("res_attrs", "arg_attrs"):
        function.properties.pop(name_, None)
    remove_dead(copy)
    return copy


__all__ = ["computing", "names_in", "value_named"]

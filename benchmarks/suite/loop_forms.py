"""A function with the annotations of `lm.kernel`, as numba compiles it and as Python runs it.

Both take the arrays alone: sizes, which annotations name, are taken from the shapes at the start of the body. Casts such as
`lm.i32(x)` become NumPy's, and `lm.zeros` becomes `np.zeros`.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

_DTYPES = {"f": "float", "i": "int", "ui": "uint"}


def plain(function: Callable[..., None]) -> Callable[..., None]:
    """The function without annotations, on NumPy arrays and scalars."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    sizes: dict[str, ast.stmt] = {}
    for argument in tree.args.args:
        if isinstance(argument.annotation, ast.Subscript):
            dims = argument.annotation.slice
            for axis, dim in enumerate(dims.elts if isinstance(dims, ast.Tuple) else [dims]):
                if isinstance(dim, ast.Constant) and isinstance(dim.value, str):
                    size = ast.parse(f"{dim.value} = {argument.arg}.shape[{axis}]").body[0]
                    sizes.setdefault(dim.value, size)
        argument.annotation = None
    tree.body = [*sizes.values(), *tree.body[1:]]
    module = ast.fix_missing_locations(ast.Module([_Names().visit(tree)], []))
    made: dict[str, Any] = {"np": np}
    exec(compile(module, f"<{function.__name__}>", "exec"), made)
    return made[function.__name__]


class _Names(ast.NodeTransformer):
    """From names of lamina to those of NumPy."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if not (isinstance(node.value, ast.Name) and node.value.id == "lm"):
            return node
        kind = node.attr.rstrip("0123456789")
        name = _DTYPES[kind] + node.attr[len(kind) :] if kind in _DTYPES else node.attr
        return ast.Attribute(ast.Name("np", ast.Load()), name, node.ctx)

"""`lm.pad_read`: elements beside an array, in the modes of `np.pad`; in kernels without loops for the edges by hand.

Inside of the array the element is loaded as any other; outside, its subscripts are computed. The default schedule gives the
iterations that stay inside loops of their own (`lowering/strategies/borders.py`).
"""

# pyright: basic, reportOptionalMemberAccess=false

from __future__ import annotations

import ast
from typing import Any

from xdsl.dialects.builtin import UnitAttr

from ...dialects.loop.loops import BORDER, IfOp
from .values import Scalar

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def edge(index, size):
    return min(max(index, 0), size - 1)


def reflect(index, size):
    period = max(2 * size - 2, 1)
    k = index % period
    return k if k < size else period - k


def symmetric(index, size):
    period = 2 * size
    k = index % period
    return k if k < size else period - 1 - k


def wrap(index, size):
    return index % size


_MAPPED = {"edge": edge, "reflect": reflect, "symmetric": symmetric, "wrap": wrap}


def pad_read(x: Any, *indices: Any, mode: str = "constant", value: Any = 0) -> Any:
    """The element of an array at indices that may lie outside, as if `np.pad` had made the array large enough.

    Args:
        x: an array with an element in each dim.
        indices: one for each dim, of any size; negative ones lie before the array, and do not count from its end.
        mode: "constant", "edge", "reflect", "symmetric" or "wrap", as of `np.pad`.
        value: the element outside in mode "constant".

    Raises:
        ValueError: there is no such mode.

    >>> import numpy as np
    >>> x = np.array([1, 2, 3])
    >>> [int(pad_read(x, i, mode="reflect")) for i in range(-3, 6)]
    [2, 3, 2, 1, 2, 3, 2, 1, 2]
    >>> [int(pad_read(x, i, value=7)) for i in range(-1, 4)]
    [7, 1, 2, 3, 7]
    """
    if mode not in MODES:
        raise ValueError(f"mode of pad_read is one of {', '.join(MODES)}, got {mode!r}")
    if mode == "constant":
        inside = all(0 <= i < n for i, n in zip(indices, x.shape, strict=True))
        return x[indices] if inside else x.dtype.type(value)
    return x[tuple(_MAPPED[mode](i, n) for i, n in zip(indices, x.shape, strict=True))]


def read(reader: Any, node: ast.Call) -> Any:
    """The value of a call in a kernel."""
    found = reader.value(padded(reader, node))
    if isinstance(found, Scalar) and isinstance(choice := found.ssa.owner, IfOp):
        choice.attributes[BORDER] = UnitAttr()
    return found


def padded(reader: Any, node: ast.Call) -> ast.expr:
    """The conditional expression that a call in a kernel means."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    mode = given.pop("mode", ast.Constant("constant"))
    value = given.pop("value", ast.Constant(0))
    name: Any = mode.value if isinstance(mode, ast.Constant) else reader.resolve(mode)
    if given or name not in MODES:
        reader.refuse(
            node, f"pad_read takes an array, an index for each dim, mode and value: mode is one of {', '.join(MODES)}"
        )
    array = reader.seen(node.args[0]) if node.args else None
    if array is None or not hasattr(array, "sizes"):
        reader.refuse(node, "pad_read takes an array, then an index for each dim: pass a parameter, a local array or a view")
    x, indices = node.args[0], node.args[1:]
    if len(indices) != len(array.sizes) or any(isinstance(i, ast.Starred) for i in indices):
        reader.refuse(
            node, f"pad_read takes an index for each of {len(array.sizes)} dims, got {len(indices)}: pad_read(x, i - 1)"
        )
    tests: list[ast.expr] = []
    mapped: list[ast.expr] = []
    for dim, index in enumerate(indices):
        size = ast.Subscript(ast.Attribute(x, "shape", ast.Load()), ast.Constant(dim), ast.Load())
        tests.append(ast.Compare(index, [ast.GtE()], [ast.Constant(0)]))
        tests.append(ast.Compare(index, [ast.Lt()], [size]))
        if name != "constant":
            function = f"pad_read.{name}"  # no name of a program
            reader.source.names.setdefault(function, _MAPPED[name])
            mapped.append(ast.Call(ast.Name(function, ast.Load()), [index, size], []))
    outside = value if name == "constant" else _element(x, mapped)
    made = ast.IfExp(ast.BoolOp(ast.And(), tests), _element(x, indices), outside)
    for one in ast.walk(made):
        if not hasattr(one, "lineno"):
            ast.copy_location(one, node)
    return made


def _element(x: ast.expr, indices: list[ast.expr]) -> ast.expr:
    return ast.Subscript(x, indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load()), ast.Load())

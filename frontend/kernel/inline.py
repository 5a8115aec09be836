"""Calls of other kernels, whose statements are inlined."""

from __future__ import annotations

import ast
from typing import Any

from ...dialects.types import i64, is_float
from .annotations import ArrayType, ScalarType
from .parameters import parameters_of
from .source import assigned, read
from .statements import Statements
from .values import Array, Index, Mismatch, Number, Scalar, Value, default, kind_of

_DEEPEST = 16


def inline(caller: Statements, node: ast.Call, kernel: Any) -> None:
    """Read the statements of another kernel in place of a call of it."""
    function = kernel.__kernel__.function
    tree, source = read(function)
    parameters = parameters_of(function, tree, source)
    if caller.depth >= _DEEPEST:
        caller.refuse(node, f"kernel '{tree.name}' calls itself, or kernels are called more than {_DEEPEST} deep")
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            caller.refuse(arg, "kernels have no starred arguments: write them out")
    if node.keywords or len(node.args) != len(parameters.types):
        names = ", ".join(parameters.types)
        caller.refuse(node, f"kernel '{tree.name}' takes {len(parameters.types)} positional arguments here: {names}")
    inner = Statements(source, assigned(tree.body)[0], inline, caller.loop_names, caller.depth + 1)
    sizes: dict[str, Index] = {}
    for arg, (name, type) in zip(node.args, parameters.types.items(), strict=True):
        what = f"parameter '{name}' of kernel '{tree.name}'"
        if isinstance(type, ScalarType):
            inner.env[name] = _scalar(caller, arg, type, what)
            continue
        array = caller.array(arg)
        if array is None:
            caller.refuse(arg, f"{what} takes an array of this kernel")
        if array.element != type.element.type or len(array.sizes) != len(type.sizes):
            caller.refuse(arg, f"{what} takes {type}, not '{array.name}'")
        _unify(caller, arg, type, array, sizes, what)
        inner.env[name] = array
    for symbol in parameters.symbols:
        if symbol in sizes:
            inner.env[symbol] = sizes[symbol]
        else:
            inner.lost[symbol] = "is a stride: it has no value where the kernel is called by another one"
    with inner.within(caller.block):
        inner.run(tree.body)


def _scalar(caller: Statements, arg: ast.expr, type: ScalarType, what: str) -> Value:
    """The value of an argument: index expressions and integers are unchanged, so that subscripts stay affine."""
    value = caller.value(arg)
    if is_float(default(kind_of(value))) and not is_float(type.type):
        caller.refuse(arg, f"{what} takes an integer, got a float: write int(...)")
    if type.type == i64 and (isinstance(value, Index) or (isinstance(value, Number) and isinstance(value.value, int))):
        return value
    try:
        return Scalar(caller.math(arg).scalar(value, type.type))
    except Mismatch as mismatch:
        caller.refuse(arg, f"{what}: {mismatch}")


def _unify(caller: Statements, arg: ast.expr, type: ArrayType, array: Array, sizes: dict[str, Index], what: str) -> None:
    """Bind the symbols of an array's sizes; numbers and bound symbols must be equal for all sizes."""
    for k, (size, given) in enumerate(zip(type.sizes, array.sizes, strict=True)):
        b = caller.math(arg)
        rest = b.binary("-", given, Number(size.constant))
        assert isinstance(rest, Index)
        if size.symbol is not None and size.symbol not in sizes:
            sizes[size.symbol] = rest
            continue
        wanted = Index.number(0) if size.symbol is None else sizes[size.symbol]
        difference = b.binary("-", rest, wanted)
        if not isinstance(difference, Index) or difference.constant != 0:
            caller.refuse(arg, f"{what} takes {type}: it cannot be proved that dim {k} of '{array.name}' has size {size}")

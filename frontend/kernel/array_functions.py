"""Functions of arrays and views in kernels: sums, products and extremes of all elements, and sums of products."""

from __future__ import annotations

import ast
import builtins
from typing import Any

import numpy as np

from ...dialects.scalar import identity_value
from ...dialects.types import computed_in, element_type, f64, i64, is_bool, is_float, is_unsigned
from . import prelude_arrays
from .source import MISSING
from .values import Array, Number, Scalar

REDUCTIONS = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "mean": "add"}
"""Methods of arrays, and functions of NumPy, by their monoids."""
_FUNCTIONS: dict[Any, str] = {
    np.sum: "sum",
    np.prod: "prod",
    np.max: "max",
    np.min: "min",
    np.mean: "mean",
    np.amax: "max",
    np.amin: "min",
    builtins.max: "max",
    builtins.min: "min",
}
_PRODUCTS = (np.dot, np.inner, np.vdot, np.vecdot)


def reduction_of(reader: Any, node: ast.Call, function: Any) -> Any:
    """`np.sum(x)`, `x[i].max()` or `np.dot(x, y)`; None for other calls.

    Types are NumPy's: sums of integers have 64 bits, means are floats; those of f16 and bf16 are computed in f32. Elements are
    added in their order. An extreme of no elements is the infinity, or the end of the integer type, that leaves others as they
    are.
    """
    if node.keywords:
        return None
    if function in _PRODUCTS and len(node.args) == 2:
        return _product(reader, node)
    if function is MISSING and isinstance(node.func, ast.Attribute) and node.func.attr in REDUCTIONS and not node.args:
        name, given = node.func.attr, reader.array(node.func.value)
    elif _is_known(function) and len(node.args) == 1:
        name, given = _FUNCTIONS[function], reader.seen(node.args[0])
    else:
        return None
    if not isinstance(given, Array) or not given.sizes:
        return None
    if given.is_complex or len(given.sizes) > 3:
        what = "complex numbers" if given.is_complex else "more than 3 dims"
        reader.refuse(node, f"'{ast.unparse(node.func)}' takes no arrays of {what}: write loops")
    b, monoid, element = reader.math(node), REDUCTIONS[name], given.element
    type = element if monoid in ("max", "min") else _of_sums(element)
    type = f64 if name == "mean" and not is_float(type) else type
    start = Scalar(b.builder.const(identity_value(monoid, type), computed_in(type)))
    found = reader.inlined(node, prelude_arrays.REDUCTIONS[monoid][len(given.sizes) - 1], [given, start])
    if name != "mean":
        return Scalar(b.scalar(found, type))
    count: Any = Number(1)
    for size in given.sizes:
        count = b.binary("*", count, size)
    mean = b.builder.div(b.scalar(found), b.scalar(count, computed_in(type)))
    return Scalar(b.builder.convert(mean, type))


def _is_known(function: Any) -> bool:
    return any(function is one for one in _FUNCTIONS)


def _of_sums(element: Any) -> Any:
    """The type of sums of elements, as in NumPy."""
    if is_float(element):
        return element
    return element_type(np.dtype(np.uint64)) if is_unsigned(element) and not is_bool(element) else i64


def _product(reader: Any, node: ast.Call) -> Any:
    """The sum of the products of two vectors."""
    x, y = (reader.seen(arg) for arg in node.args)
    what = ast.unparse(node.func)
    if not all(isinstance(v, Array) and len(v.sizes) == 1 and not v.is_complex for v in (x, y)):
        reader.refuse(node, f"'{what}' takes two arrays of one dim: write loops over the other dims")
    b = reader.math(node)
    difference = b.binary("-", x.sizes[0], y.sizes[0])
    if getattr(difference, "constant", None) != 0 and not (isinstance(difference, Number) and difference.value == 0):
        reader.refuse(
            node, f"'{what}': it cannot be proved that '{x.name}' and '{y.name}' have equal sizes: give them one symbol"
        )
    if x.element != y.element:
        reader.refuse(node, f"'{what}' takes arrays of one type, got {x.element} and {y.element}: convert in a loop")
    start = Scalar(b.builder.const(0, computed_in(x.element)))
    found = reader.inlined(node, prelude_arrays.products, [x, y, start])
    return Scalar(b.scalar(found, x.element))

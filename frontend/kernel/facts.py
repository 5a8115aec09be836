"""The facts that identify a kernel without translating it: its text and the meaning of its free names.

Translating a kernel proves that its accesses are in bounds, which costs milliseconds. Equal facts give equal kernels, so they
are the key of compiled kernels.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .annotations import ScalarType
from .calls import is_helper
from .parameters import annotated
from .source import MISSING, Source, assigned, read

_DEEPEST = 16


class _Unknown(Exception):
    """A name means something whose part in the kernel is not known."""


def facts_of(function: Callable[..., Any], check_bounds: bool = False, reassociate: bool = False) -> str | None:
    """A text that is equal only for functions that are the same kernel; None if no text can say it.

    It has the source, the types of the parameters, and for each name and attribute in the body that is not the function's own
    what it means outside: a number by its value, a function by its home, another kernel by its own facts. The location of the
    source counts when accesses are checked at run time, since the messages name it.

    Raises:
        KernelError: as `build_kernel`, for a function without source or with wrong parameters.

    >>> import lamina as lm
    >>> def scale(x: lm.f32["N"]):
    ...     for i in range(len(x)):
    ...         x[i] = FACTOR * x[i]
    >>> facts_of(scale)  # doctest: +SKIP
    'def scale... FACTOR = float 0x1.0000000000000p+1'
    """
    try:
        return "\n".join(["reassociate" if reassociate else "in order", *_facts(function, check_bounds, 0)])
    except (_Unknown, RecursionError):
        return None


def _facts(function: Callable[..., Any], has_place: bool, depth: int, is_kernel: bool = True) -> Iterator[str]:
    tree, source = read(function)
    types = annotated(function, tree, source, everything=is_kernel)
    yield source.text
    yield repr(source.place(tree)[:2]) if has_place else ""
    yield repr(types)
    for value in function.__defaults__ or ():
        yield _number(value)
    own = {*(a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)), *types, *assigned(tree.body)[0]}
    outside = {
        _spelled(node): node
        for statement in tree.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Attribute) and _spelled(node).partition(".")[0] not in own
    }
    for spelled, node in outside.items():
        yield f"{spelled} = {_meaning(source, node, has_place, depth)}"


def _spelled(node: ast.expr) -> str:
    """A name with its attributes; of other expressions nothing is said, since they mean nothing outside."""
    if isinstance(node, ast.Attribute):
        return f"{_spelled(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "(...)"


def _meaning(source: Source, node: ast.expr, has_place: bool, depth: int) -> str:
    found = source.resolve(node)
    if found is MISSING:
        return "nothing"
    if isinstance(found, bool | int | float | np.generic | list | tuple):
        return _number(found)
    if isinstance(found, np.ndarray):
        data = np.ascontiguousarray(found)
        return f"array {data.dtype.str} {data.shape} {hashlib.sha256(data.tobytes()).hexdigest()}"
    if isinstance(found, ModuleType):
        return f"module {found.__name__}"
    if isinstance(found, ScalarType):
        return repr(found)
    if isinstance(found, str):
        return f"text {found!r}"
    if is_helper(found) and depth == _DEEPEST:
        raise _Unknown
    if isinstance(found, FunctionType) and is_helper(found):
        return "function\n" + "\n".join(_facts(found, has_place, depth + 1, is_kernel=False)) + "\nend"
    if is_helper(found):
        kernel: Any = found
        return "kernel\n" + "\n".join(_facts(kernel.__kernel__.function, has_place, depth + 1)) + "\nend"
    return _home(found)


def _number(found: Any) -> str:
    """A number, or a tuple or list of such."""
    if type(found).__module__ not in ("builtins", "numpy"):  # classes of the user's may print as they like
        raise _Unknown
    if isinstance(found, list | tuple):
        return f"{type(found).__name__} ({', '.join(map(_number, found))})"
    if not isinstance(found, bool | int | float | np.generic):
        raise _Unknown
    return f"{type(found).__name__} {found.hex() if isinstance(found, float) else found!r}"


def _home(found: Any) -> str:
    """Where an object is defined. Nothing else of it plays a part in a kernel, and it is no other one of that name."""
    if isinstance(found, type) and issubclass(found, np.generic) and found.__module__ != "numpy":
        raise _Unknown  # converts to the type it is derived from, which its name does not say
    name, module = getattr(found, "__name__", None), getattr(found, "__module__", None)
    if not isinstance(name, str):
        return f"a {type(found).__module__}.{type(found).__qualname__}"
    home = module if isinstance(module, str) else type(found).__module__
    is_there = getattr(sys.modules.get(home), name, None) is found
    return f"{'the' if is_there else 'a'} {home}.{name}"

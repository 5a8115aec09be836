"""Converts functions for capture: the user's are rewritten, once for each code object; those of libraries are unchanged, but
the user's functions among their arguments are captured.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from contextlib import contextmanager
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from ....errors import TracingError
from ...run.jit import JitBase
from ...trace.locations import is_ours, is_users, placed
from ...trace.tracer import Tracer, asked
from . import builtin, session, writes
from .code_objects import code_inside, definition
from .generators import is_capturable
from .helper_sites import RefusedError, Site
from .helper_table import TABLE
from .jumps import HELPERS
from .rewrite import SITES, rewritten
from .session import state
from .source import find

_codes: dict[CodeType, Callable[[FunctionType], FunctionType] | None] = {}
_rewritten: set[CodeType] = set()


def captured(function: Any) -> Any:
    """A callable with the control flow of the user's code in it captured; itself where there is nothing to capture."""
    if isinstance(function, functools.partial):
        arguments = [_captured_argument(x) for x in function.args]
        return functools.partial(captured(function.func), *arguments, **function.keywords)
    if isinstance(function, MethodType):
        return MethodType(captured(function.__func__), function.__self__)
    if isinstance(function, FunctionType):
        return _function(function)
    if isinstance(function, type | JitBase) or not callable(function):
        return function
    if (plain := getattr(function, "compiled_from", None)) is not None:
        return captured(plain)
    call = _call_of(function)
    if isinstance(call, FunctionType) and is_users(call.__code__):
        return MethodType(_function(call), function)
    return function


def _call_of(function: Any) -> Any:
    """The method that runs when an object is called, as Python finds it."""
    return next((vars(cls)["__call__"] for cls in type(function).__mro__ if "__call__" in vars(cls)), None)


def _function(function: FunctionType) -> FunctionType:
    code = function.__code__
    if code in _rewritten:
        return function
    if is_ours(code.co_filename):
        return _with_captured_cells(function)
    if not is_users(code):
        return function
    if code not in _codes:
        _codes[code] = _maker(function)
    make = _codes[code]
    return function if make is None else make(function)


def _with_captured_cells(function: FunctionType) -> FunctionType:
    """A function of this package, as `grad` returns, over the captured forms of the functions that it was made from."""
    cells = function.__closure__ or ()
    found = [_captured_argument(cell.cell_contents) if not _is_empty(cell) else None for cell in cells]
    if all(_is_empty(cell) or new is cell.cell_contents for cell, new in zip(cells, found, strict=True)):
        return function
    made = [cell if _is_empty(cell) else CellType(new) for cell, new in zip(cells, found, strict=True)]
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(made))
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    return copy


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def _captured_argument(x: Any) -> Any:
    """An argument of a function that is not captured, captured where it is a function, or a list of such."""
    if isinstance(x, FunctionType | MethodType | functools.partial):
        return captured(x)
    if type(x) in (list, tuple) and any(isinstance(y, FunctionType | MethodType) for y in x):
        return type(x)(_captured_argument(y) for y in x)
    return x


# Rewriting


def _maker(function: FunctionType) -> Callable[[FunctionType], FunctionType] | None:
    """A factory of the captured form of functions of one code object; None if that is the function itself."""
    code = function.__code__
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return None
    source = find(function)
    if source is None:
        return None
    node = definition(source.node, "<lambda>")
    if node is None or not is_capturable(node):
        return None
    sites: list[Site] = []
    try:
        new = rewritten(node, source.owner, sites)
    except RefusedError as error:
        place = source.file, getattr(error.node, "lineno", 1), getattr(error.node, "col_offset", 0) + 1
        raise placed(TracingError(f"{function.__name__}() cannot be captured: {error}"), place) from None
    compiled = _compiled(new, source.file, code)
    _rewritten.update(_all_codes(compiled))

    def make(function: FunctionType) -> FunctionType:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells |= {HELPERS: CellType(TABLE), SITES: CellType(sites)}
        closure = tuple(cells[name] for name in compiled.co_freevars)
        made = FunctionType(compiled, function.__globals__, function.__name__, function.__defaults__, closure)
        made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
        return made

    return make


def _compiled(node: ast.FunctionDef, file: str, code: CodeType) -> CodeType:
    """The code of a rewritten function: that of a function inside of one that has the variables it closes over."""
    free = sorted({*code.co_freevars, HELPERS, SITES})
    name = node.name
    return _named(code_inside(node, free, file), name, code.co_qualname)


def _named(code: CodeType, name: str, qualified: str) -> CodeType:
    """A code object under the user's name of the function, as tracebacks show it, with the blocks that were made of it."""
    consts = tuple(_named(c, name, qualified) if isinstance(c, CodeType) and "@" in c.co_name else c for c in code.co_consts)
    return code.replace(co_name=name, co_qualname=qualified, co_consts=consts)


def _all_codes(code: CodeType) -> set[CodeType]:
    """A function's code and that of the functions in it, but for methods: bodies of classes stay as they are."""
    inside = [c for c in code.co_consts if isinstance(c, CodeType) and c.co_flags & inspect.CO_OPTIMIZED]
    return {code, *(inner for c in inside for inner in _all_codes(c))}


# Calls


def convert(function: Any) -> Any:
    """The function that a call in captured code calls."""
    try:
        found = builtin.FUNCTIONS.get(function)
    except TypeError:  # not hashable
        found = None
    if found is not None:
        return found
    if isinstance(function, FunctionType | MethodType):
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if code is not None and code not in _rewritten and not is_users(code):
            return _Outside(function)
        return captured(function)
    if isinstance(function, BuiltinMethodType) or writes.is_mutator(function):
        owner = getattr(function, "__self__", None)
        if writes.is_mutator(function) and isinstance(owner, list | dict | set | bytearray):
            return functools.partial(_mutating, function, owner)
    if isinstance(function, type):
        return _Made(function)
    call = _call_of(function)
    return captured(function) if isinstance(call, FunctionType) else _Outside(function)


def attribute(owner: Any, name: str) -> Any:
    """`owner.name`, of which a property of the user's class is captured."""
    found = getattr(type(owner), name, None)
    if isinstance(found, property) and isinstance(found.fget, FunctionType) and is_users(found.fget.__code__):
        return captured(found.fget)(owner)
    return getattr(owner, name)


def _mutating(function: Any, owner: Any, *args: Any, **kwargs: Any) -> Any:
    writes.restructured(owner, f".{function.__name__}()")
    return function(*args, **{k: _captured_argument(v) for k, v in kwargs.items()})


class _Made:
    """A call of a class: its instance is new."""

    def __init__(self, cls: Any):
        self.cls = cls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = self.cls(*args, **kwargs)
        return made if isinstance(made, Tracer | np.generic | int | float | str | tuple) else writes.fresh(made)


_ALIASES = {"asarray", "reshape", "ravel", "view", "transpose", "swapaxes", "squeeze", "broadcast_to", "block_until_ready"}


class _Outside:
    """A function that is not captured."""

    def __init__(self, function: Any):
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self.function
        if not _is_pure(function):
            session.impure(f"{getattr(function, '__name__', 'a function')}()")
        result = function(*map(_captured_argument, args), **{k: _captured_argument(v) for k, v in kwargs.items()})
        if isinstance(result, Tracer) and getattr(function, "__name__", "") not in _ALIASES:
            if result is getattr(function, "__self__", None) or any(result is a for a in args):
                return Tracer(result.within, result.value, result.shape, result.dtype, result.weak)  # NumPy copies
        return result


_PURE = {"numpy", "math", "operator", "functools", "itertools", "builtins", "cmath", "copy", "collections", "dataclasses"}
_IMPURE = {"input", "open", "setattr", "delattr", "next", "exec", "eval", "__import__"}


def _is_pure(function: Any) -> bool:
    """Whether Python cannot tell if a function was called once or twice."""
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, type) and getattr(owner, "__name__", None) is None:
        return isinstance(owner, Tracer | np.ndarray | str | int | float | tuple | list | dict | set | frozenset | range)
    name = getattr(function, "__module__", None) or type(function).__module__
    code = getattr(function, "__code__", None)
    if code is not None and is_ours(code.co_filename):
        return True
    return name.split(".")[0] in _PURE and getattr(function, "__name__", "") not in _IMPURE


def run(function: Callable[..., Any]) -> Callable[..., Any]:
    """The captured form of a function, as `jit` traces it.

    Raises:
        TracingError: its source cannot be read, or has a construct that cannot be captured.
    """
    made = captured(function)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _session():
            return made(*args, **kwargs)

    return wrapper


@contextmanager
def _session() -> Any:
    """The state of a captured function lasts as long as its trace."""
    kept, before = dict(state.__dict__), asked.captured
    state.__init__()
    asked.captured = True
    try:
        yield
    finally:
        state.__dict__.update(kept)
        asked.captured = before

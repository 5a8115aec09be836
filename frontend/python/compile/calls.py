"""Calls in a region: which functions become part of the graph, which are traced into, which end the region."""

from __future__ import annotations

import collections
import functools
import inspect
import types
from collections.abc import Callable
from types import BuiltinFunctionType, BuiltinMethodType, CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from ....runtime.array import Array
from ...run.jit import JitBase
from ...trace.array_functions import arrays as lnp
from ...trace.locations import is_ours
from ...trace.promotion import FLOAT64, INT64
from ...trace.pytree import is_registered
from ...trace.tracer import Tracer, asked, view_of
from ..capture import builtin, convert, writes
from .breaks import LIBRARIES, VALUES, GraphBreak, SourceError, is_users
from .effects import MISSING
from .environment import CONTAINERS, Reading
from .hooks import Hooks, has_tracer
from .instrument import HOOKS
from .instrumented import codes_of, instrumented_code
from .symbolic_ints import Number, as_argument

_EFFECTS = {
    "save", "load", "record", "tune", "explain", "compile", "update", "set_result_pool", "set_threads", "Loader", "fit",
    "no_breaks", "no_recompile", "io_callback", "device_put", "register_op", "register_rule", "register_pass",
    "register_kernel",
}  # fmt: skip
"""Functions of this package that do more than compute."""

_NUMPY_EFFECTS = {
    "copyto", "put", "putmask", "place", "fill_diagonal", "put_along_axis", "save", "savez", "savetxt", "load", "loadtxt",
    "fromfile", "genfromtxt", "seterr", "set_printoptions", "empty", "empty_like", "frombuffer", "memmap", "asarray",
    "ascontiguousarray",
}  # fmt: skip
_OPERATOR_EFFECTS = {
    "setitem", "delitem", "iadd", "isub", "imul", "iconcat", "ior", "iand", "ixor", "itruediv", "imatmul", "ipow",
}  # fmt: skip
_ALIASES = {"asarray", "reshape", "ravel", "view", "transpose", "swapaxes", "squeeze", "broadcast_to", "block_until_ready"}
_VIEWS = {"reshape", "ravel", "transpose", "swapaxes", "squeeze", "view", "diagonal", "asarray"}
_LAYERS = "lamina.train.modules"
_PLAIN = {
    len, range, zip, enumerate, reversed, float, int, bool, min, max, any, all, sum, abs, divmod, pow, round, sorted, tuple,
    list, dict, set, frozenset, slice, str, repr, complex, chr, ord, map, filter, callable, bytes, collections.OrderedDict,
    collections.deque,
}  # fmt: skip
_ON_SCALARS = {str, repr, round, chr, ord, hash, bytes}


def call(hooks: Hooks, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call in instrumented code."""
    reading = hooks.reading
    special = _SPECIAL.get(function) if _is_hashable(function) else None
    if special is not None:
        return special(hooks, *args, **kwargs)
    if isinstance(function, functools.partial):
        return call(hooks, function.func, (*function.args, *args), {**function.keywords, **kwargs})
    if isinstance(function, MethodType):
        return _method(hooks, function, args, kwargs)
    if isinstance(function, FunctionType):
        if function.__code__ in reading.codes:
            return function(*args, **kwargs)
        if convert.is_users(function.__code__) or _is_layer(function, args):
            return inlined(reading, function)(*args, **kwargs)
        if _is_ours(function):
            return _ours(hooks, function, args, kwargs)
        if _root(function) in ("numpy", "functools", "operator") and not isinstance(
            getattr(function, "__wrapped__", None), FunctionType
        ):
            return _library(hooks, function, args, kwargs)
        raise GraphBreak(f"{_name(function)}() is a library function", "compute with lamina.numpy, or call it outside")
    of = getattr(function, "compiled_from", None)
    if of is not None:
        return call(hooks, of, args, kwargs)
    if isinstance(function, JitBase):
        reading.is_numpy = False
        return function(*reading.whole(args), **reading.whole(kwargs))
    if isinstance(function, type):
        return _class(hooks, function, args, kwargs)
    if isinstance(function, np.ufunc):
        return _library(hooks, function, args, kwargs)
    if isinstance(function, BuiltinFunctionType | BuiltinMethodType):
        return _builtin(hooks, function, args, kwargs)
    found = next((vars(c)["__call__"] for c in type(function).__mro__ if "__call__" in vars(c)), None)
    if isinstance(found, FunctionType):
        if is_users(type(function)) and not _is_ours(found) and not reading.is_known(function):
            raise GraphBreak(f"an object of {type(function).__name__} whose origin is not known is called")
        return _method(hooks, MethodType(found, function), args, kwargs)
    if _root(function) == "numpy":
        return _library(hooks, function, args, kwargs)
    raise GraphBreak(f"{_name(function)}() is run by Python")


def _is_ours(function: FunctionType) -> bool:
    """Whether a function is of this package: also one that it made of the user's, but none that stands in no file."""
    return function.__globals__.get("__name__", "").split(".")[0] == "lamina"


def _is_hashable(function: Any) -> bool:
    return isinstance(function, type | BuiltinFunctionType | FunctionType)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


def _root(function: Any) -> str:
    return (getattr(function, "__module__", None) or type(function).__module__ or "").split(".")[0]


# The user's functions


def inlined(reading: Reading, function: FunctionType) -> FunctionType:
    """A function of the user's with hooks, for one trace."""
    guards, code = reading.guards, function.__code__
    if code in reading.codes:
        return function
    made_code = instrumented_code(function)
    k = guards.constant(function)
    test = f"{k}.__code__ is {guards.constant(code)} and {k}.__defaults__ is {guards.constant(function.__defaults__)}"
    guards.require(test, f"{function.__name__} is the same function", listed=False)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    made = with_hooks(reading, made_code, cells, function.__globals__, function.__name__)
    if function.__defaults__:
        loaded = []
        for j, value in enumerate(function.__defaults__):
            loaded.append(
                reading.load(value, guards.path(f"{k}.__defaults__[{j}]", f"default {j + 1} of {function.__name__}()"))
            )
        made.__defaults__ = tuple(loaded)
    if function.__kwdefaults__:
        made.__kwdefaults__ = {
            name: reading.load(value, guards.path(f"{k}.__kwdefaults__[{name!r}]", f"default {name} of {function.__name__}()"))
            for name, value in function.__kwdefaults__.items()
        }
    return convert.captured(made) if reading.from_source else made


def with_hooks(reading: Reading, code: CodeType, cells: dict[str, Any], scope: dict[str, Any], name: str) -> FunctionType:
    """Instrumented code as a function of one trace."""
    hooks = Hooks(reading, scope, cells, call)
    found = {**cells, HOOKS: CellType(hooks)}
    made = FunctionType(code, scope, name, None, tuple(found[n] for n in code.co_freevars))
    reading.codes.update(codes_of(code))
    return made


def _is_layer(function: FunctionType, args: tuple[Any, ...]) -> bool:
    """Whether a function is a method of a layer of this package that holds something of the user's: it is traced into."""
    if not args or not function.__module__.startswith(_LAYERS):
        return False
    waiting, seen = [args[0]], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, FunctionType | MethodType | functools.partial):
            code = getattr(getattr(one, "__func__", one), "__code__", None)
            if code is None or not is_ours(code.co_filename):
                return True
        elif isinstance(one, list | tuple | dict):
            waiting += one.values() if isinstance(one, dict) else one
        elif hasattr(one, "__dict__") and not isinstance(one, Tracer | type) and id(one) not in seen:
            seen.add(id(one))
            if is_users(type(one)):
                return True
            waiting += vars(one).values()
    return False


# Functions of libraries


def _ours(hooks: Hooks, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of this package: part of the graph."""
    if function.__name__ in _EFFECTS or ".data." in function.__module__ or ".training." in function.__module__:
        raise GraphBreak(f"{_name(function)}() does more than compute", "call it outside")
    hooks.reading.is_numpy = False
    given = [_argument(hooks, a) for a in args]
    named = {k: _argument(hooks, v) for k, v in kwargs.items()}
    result = _with_cells(hooks, function)(*given, **named)
    return _copied(hooks, function, result, (*given, *named.values()))


def _argument(hooks: Hooks, x: Any) -> Any:
    """An argument of a library's function: containers as a whole, the user's functions with hooks."""
    if callable(x) and not isinstance(x, type | Tracer | np.ndarray | np.generic) and not is_registered(type(x)):
        return _callback(hooks, x)
    x = hooks.reading.whole(as_argument(x))
    if type(x) in (list, tuple) and any(isinstance(y, FunctionType | MethodType | functools.partial) for y in x):
        return type(x)(_argument(hooks, y) for y in x)
    return x


def _callback(hooks: Hooks, function: Any) -> Any:
    if isinstance(function, FunctionType):
        if function.__code__ in hooks.reading.codes:
            return function
        if convert.is_users(function.__code__):
            return inlined(hooks.reading, function)
        if _is_ours(function):
            return _with_cells(hooks, function)
        if _root(function) not in LIBRARIES:
            raise GraphBreak(f"{_name(function)}() is a library function that another function calls", "call it outside")
        return function
    if isinstance(function, MethodType):
        return MethodType(_callback(hooks, function.__func__), function.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(_callback(hooks, function.func), *function.args, **function.keywords)
    if isinstance(function, BuiltinFunctionType | BuiltinMethodType):
        owner = function.__self__
        is_method = owner is not None and not isinstance(owner, types.ModuleType | str | tuple)
        if is_method or not (function in _PLAIN or _root(function) in ("math", "cmath", "_operator", "numpy")):
            raise GraphBreak(f"{_name(function)}() is run by Python", "call it outside")
        return function
    if isinstance(function, functools._lru_cache_wrapper):
        raise GraphBreak(f"{_name(function)}() caches its results", "call it outside")
    if isinstance(function, JitBase | type) or not is_users(type(function)):
        return function

    @functools.wraps(type(function).__call__, ())
    def called(*args: Any, **kwargs: Any) -> Any:
        return call(hooks, function, args, kwargs)

    return called


def _with_cells(hooks: Hooks, function: FunctionType) -> FunctionType:
    """A function of this package, as `grad` returns, over the functions with hooks that it was made from."""
    cells = function.__closure__ or ()
    if not cells or function.__code__.co_filename.endswith("hooks.py"):
        return function
    found = []
    for cell in cells:
        value = convert._is_empty(cell) or cell.cell_contents
        found.append(_callback(hooks, value) if isinstance(value, FunctionType | MethodType | functools.partial) else value)
    if all(convert._is_empty(c) or new is c.cell_contents for c, new in zip(cells, found, strict=True)):
        return function
    made = [c if convert._is_empty(c) else CellType(new) for c, new in zip(cells, found, strict=True)]
    new = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(made))
    new.__kwdefaults__ = function.__kwdefaults__
    new.__dict__.update({k: v for k, v in function.__dict__.items() if k != "__wrapped__"})
    return new


def _copied(hooks: Hooks, function: Any, result: Any, args: tuple[Any, ...]) -> Any:
    """A result that NumPy would have copied, as another tracer; one that it would not, as a view."""
    name = getattr(function, "__name__", "")
    if isinstance(result, Tracer) and any(result is a for a in args) and name not in _ALIASES:
        return Tracer(result.within, result.value, result.shape, result.dtype, result.weak)
    if name in _VIEWS and args:
        return view_of(args[0], result, False)
    return result


def _library(hooks: Hooks, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy or of Python's own: computes, on numbers or on tracers."""
    name = getattr(function, "__name__", "")
    module = getattr(function, "__module__", None) or ""
    if _root(function) == "numpy":
        if module.startswith("numpy.random") or (name in _NUMPY_EFFECTS and not _is_static(args)) or "out" in kwargs:
            remedy = "use lm.random, with a key" if "random" in module else "use lamina.numpy"
            raise GraphBreak(f"np.{name}() needs the values, or does more than compute", remedy)
    if name in _OPERATOR_EFFECTS:
        raise GraphBreak(f"operator.{name}() changes its argument")
    given = tuple(_argument(hooks, a) for a in args)
    named = {k: _argument(hooks, v) for k, v in kwargs.items()}
    for x in (*given, *named.values()):
        if hooks.reading.is_known(x) and is_users(type(x)) and not isinstance(x, tuple):
            raise GraphBreak(f"{name}() is given an object of {type(x).__name__}")
    return _copied(hooks, function, function(*given, **named), given)


def _is_static(args: tuple[Any, ...]) -> bool:
    return not any(map(has_tracer, args))


def _builtin(hooks: Hooks, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    owner = getattr(function, "__self__", None)
    reading = hooks.reading
    name = function.__name__
    if owner is None or isinstance(owner, types.ModuleType):
        if function in _PLAIN or (_root(function) in ("math", "cmath")):
            return _plain(hooks, function, args, kwargs)
        if _root(function) in ("numpy", "_operator", "operator", "_functools", "functools"):
            return _library(hooks, function, args, kwargs)
        raise GraphBreak(f"{name}() is run by Python", "compute with lamina.numpy, or call it outside")
    if isinstance(owner, list | dict | set | bytearray | collections.deque):
        if reading.is_known(owner):
            if type(owner) not in (*CONTAINERS, set, frozenset) and not name.startswith("append"):
                raise GraphBreak(f"{type(owner).__name__}.{name}() is run by Python", "use a list or a dict")
            if writes.is_mutator(function) or name not in _READERS:
                return reading.effects.call(hooks, owner, name, args, kwargs)
            if name == "get" and type(owner) is dict and args and type(args[0]) in VALUES:
                if hooks.inside(args[0], owner, False):
                    return hooks.item(owner, args[0])
                return args[1] if len(args) > 1 else None
            function = getattr(reading.whole(owner), name)
        elif reading.from_source:
            function = convert.convert(function)
        if name in _STORING and not reading.is_known(owner):
            return function(*args, **kwargs)
        return function(*[_argument(hooks, a) for a in args], **{k: _argument(hooks, v) for k, v in kwargs.items()})
    if isinstance(owner, str | bytes | int | float | tuple | frozenset | range | slice | np.generic | np.dtype | type):
        if isinstance(owner, type) and not (owner in _PLAIN or _root(owner) == "numpy"):
            raise GraphBreak(f"{owner.__name__}.{name}() is run by Python")
        if isinstance(owner, tuple):
            function = getattr(reading.whole(owner), name)
        if isinstance(owner, str | bytes) and not _is_static((*args, *kwargs.values())):
            raise GraphBreak("text of an array", "make it of the result")
        return function(*[hooks.plain(a) for a in args], **{k: hooks.plain(v) for k, v in kwargs.items()})
    if isinstance(owner, np.ndarray):  # one that the region has made
        return function(*[_argument(hooks, a) for a in args], **{k: _argument(hooks, v) for k, v in kwargs.items()})
    raise GraphBreak(f"{type(owner).__name__}.{name}() is run by Python")


_STORING = {"append", "appendleft", "insert", "setdefault", "add"}
"""Methods that only store their arguments."""

_READERS = {
    "get",
    "items",
    "keys",
    "values",
    "index",
    "count",
    "copy",
    "issubset",
    "issuperset",
    "union",
    "intersection",
    "difference",
}


def _plain(hooks: Hooks, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One of Python's own functions."""
    args = tuple(hooks.iterated(a) if type(a) in CONTAINERS else a if type(a) is Number else _argument(hooks, a) for a in args)
    kwargs = {k: v if type(v) is Number else _argument(hooks, v) for k, v in kwargs.items()}
    if any(type(a) is Number for a in args):
        if any(isinstance(a, Tracer) for a in args):
            args = tuple(map(as_argument, args))
        elif function is int and type(args[0].value) is int:
            return args[0]
    for x in (*args, *kwargs.values()):
        if isinstance(x, type) and function in (map, filter, sorted, min, max) and x not in _PLAIN:
            raise GraphBreak(f"objects of {x.__name__} are made", "make them outside")
        if hooks.reading.is_known(x) and not callable(x) and type(x) not in CONTAINERS and not isinstance(x, tuple):
            raise GraphBreak(f"{function.__name__}() is given an object of {type(x).__name__}")
        if isinstance(x, Tracer) and function in _ON_SCALARS and function is not round:
            raise GraphBreak(f"{function.__name__}() of an array", "do it with the result")
    if _root(function) in ("math", "cmath") and any(isinstance(x, Tracer) for x in args):
        hooks.reading.number(f"{function.__name__}()", *args)
        raise GraphBreak(f"math.{function.__name__}() of an array makes a float", f"use lnp.{function.__name__}")
    if function in (float, int, complex) and args and isinstance(args[0], Tracer):
        if len(args) == 1 and not kwargs and (made := _number(hooks, function, args[0])) is not None:
            return made
        raise GraphBreak(f"{function.__name__}() of an array", "keep it an array")
    if function in (round, divmod, pow) and any(isinstance(x, Tracer) for x in args):
        hooks.reading.number(f"{function.__name__}()", *args)
    if function in (map, filter, sorted, min, max):
        args = tuple(_called(hooks, a) for a in args)
        kwargs = {k: _called(hooks, v) for k, v in kwargs.items()}
    counterpart = builtin.FUNCTIONS.get(function)
    if counterpart is not None and (hooks.reading.from_source or function is range):
        if not hooks.reading.from_source and any(isinstance(x, Tracer) for x in args):
            asked.values = True
            raise SourceError
        if not hooks.reading.from_source:
            return function(*args, **kwargs)
        result = counterpart(*args, **kwargs)
        return hooks.reading.boolean(result) if function in (bool, any, all) else result
    return function(*args, **kwargs)


def _called(hooks: Hooks, x: Any) -> Any:
    """One of Python's own functions as it is called with values of the trace."""
    if not isinstance(x, type | BuiltinFunctionType) or x not in _PLAIN:
        return x
    return lambda *args: call(hooks, x, args, {})


def _number(hooks: Hooks, function: Any, x: Tracer) -> Tracer | None:
    """`float(x)` or `int(x)` of one element: a weakly typed number, as Python's; None if it may
    raise, or differ from Python's result."""
    kind = x.dtype.kind
    if x.shape != () or kind not in "fbiu" or x.dtype == np.uint64 or (function is int and kind == "f") or function is complex:
        return None
    if x.weak and kind == ("f" if function is float else "i") and id(x) not in hooks.reading.booleans:
        return x
    x = lnp.astype(x, FLOAT64 if function is float else INT64)
    return Tracer(x.within, x.value, x.shape, x.dtype, True)


def _item(hooks: Hooks, x: Tracer) -> Any:
    """`x.item()` of an array of rank 0."""
    if x.dtype.kind == "b" and x.shape == ():
        return hooks.reading.boolean(x)
    return _number(hooks, float if x.dtype.kind == "f" else int, x)


def _class(hooks: Hooks, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if cls in _PLAIN:
        return _plain(hooks, cls, args, kwargs)
    if _root(cls) == "numpy":
        return _library(hooks, cls, args, kwargs)
    if (issubclass(cls, BaseException) and not isinstance(cls.__init__, FunctionType)) or (
        issubclass(cls, tuple) and hasattr(cls, "_fields") and cls.__new__.__module__.startswith("namedtuple")
    ):
        return cls(*args, **kwargs)
    if is_ours(getattr(inspect.getmodule(cls), "__file__", "") or ""):
        return cls(*[_argument(hooks, a) for a in args], **{k: _argument(hooks, v) for k, v in kwargs.items()})
    raise GraphBreak(f"an object of {cls.__name__} is made", "make it outside, or use a dict or a named tuple")


def _method(hooks: Hooks, method: MethodType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    function, owner = method.__func__, method.__self__
    name = getattr(function, "__name__", "")
    if isinstance(owner, Tracer):
        if name in ("item", "tolist") and not args and not kwargs and (made := _item(hooks, owner)) is not None:
            return made
        if name in ("item", "tolist", "tobytes", "tofile"):
            raise GraphBreak(f".{name}() of an array", "keep it an array")
        if name in ("sort", "fill", "put", "resize", "partition", "itemset", "setflags"):
            raise GraphBreak(f".{name}() changes an array in place", "use a function of lamina.numpy")
        if kwargs.get("out") is not None:
            raise GraphBreak("out= changes an array in place", "use the result")
        given = [_argument(hooks, a) for a in args]
        return _copied(hooks, function, method(*given, **{k: _argument(hooks, v) for k, v in kwargs.items()}), (owner, *given))
    if isinstance(function, FunctionType) and _is_ours(function) and not _is_layer(function, (owner,)):
        if name == "__call__" and any(isinstance(v, FunctionType) and not _is_ours(v) for v in _values_of(owner)):
            raise GraphBreak(f"a {type(owner).__name__} holds a function of its own", "call it outside")
        if isinstance(owner, Array):
            return method(*[_argument(hooks, a) for a in args], **kwargs)
        return _ours(hooks, function, (owner, *args), kwargs)
    if isinstance(function, FunctionType):
        return call(hooks, function, (owner, *args), kwargs)
    raise GraphBreak(f"{name}() is run by Python")


def _values_of(owner: Any) -> list[Any]:
    """The contents of an object of this package."""
    slots = [getattr(owner, n, None) for c in type(owner).__mro__ for n in getattr(c, "__slots__", ()) if isinstance(n, str)]
    return [*getattr(owner, "__dict__", {}).values(), *slots]


# Functions that read objects


def _isinstance(hooks: Hooks, x: Any, cls: Any) -> Any:
    if type(x) is Number:
        return isinstance(x.value, cls)
    if isinstance(x, Tracer):
        known = hooks.reading.outside.get(id(x))
        classes = cls if isinstance(cls, tuple) else (cls,)
        if all(c in (list, tuple, dict, str, set, bytes, type(None)) for c in classes):
            return False
        if known is None and x.weak:
            kind = "b" if id(x) in hooks.reading.booleans else x.dtype.kind
            return issubclass({"b": bool, "i": int, "f": float}.get(kind, complex), cls)
        if known is None and not x.weak and x.ndim and all(c in (np.ndarray, Array, int, float, bool) for c in classes):
            return np.ndarray in classes or Array in classes
        if known is not None:
            held = next(h for h, t in hooks.reading.trace.captured if t is known[0])
            return issubclass(held.kind, cls)
        raise GraphBreak("isinstance() of an array or number that the graph computes", "decide by its shape or dtype")
    known = hooks.reading.known.get(id(x))
    if known is not None:
        hooks.reading.guards.of_type(known[1], type(x))
    return isinstance(x, cls)


def _type(hooks: Hooks, *args: Any) -> Any:
    if len(args) == 1 and type(args[0]) is Number:
        return type(args[0].value)
    if len(args) == 1 and isinstance(args[0], Tracer):
        held = next((h for h, t in hooks.reading.trace.captured if t is args[0]), None)
        if held is None:
            raise GraphBreak("type() of an array that the graph computes", "decide by its shape or dtype")
        return held.kind
    if len(args) != 1:
        raise GraphBreak("type() makes a class")
    known = hooks.reading.known.get(id(args[0]))
    if known is not None:
        hooks.reading.guards.of_type(known[1], type(args[0]))
    return type(args[0])


def _getattr(hooks: Hooks, owner: Any, name: str, *default: Any) -> Any:
    if default and not _hasattr(hooks, owner, name):
        return default[0]
    return hooks.attribute(owner, name)


def _hasattr(hooks: Hooks, owner: Any, name: str) -> bool:
    if isinstance(owner, Tracer):
        raise GraphBreak("hasattr() of an array", "decide by its shape or dtype")
    if hooks.reading.effects.attribute(owner, name) is not MISSING:
        return True
    found = inspect.getattr_static(owner, name, MISSING) is not MISSING
    if not found and hasattr(type(owner), "__getattr__"):
        raise GraphBreak(f"{type(owner).__name__} defines __getattr__")
    known = hooks.reading.known.get(id(owner))
    if known is not None:
        guards, path = hooks.reading.guards, known[1]
        said = "has" if found else "has no"
        guards.require(f"hasattr({path.code}, {name!r}) is {found}", f"{path.text} {said} attribute {name!r}")
    return found


def _len(hooks: Hooks, x: Any) -> Any:
    known = hooks.reading.known.get(id(x))
    if known is not None and type(x) in (*CONTAINERS, set, frozenset):
        reading, path = hooks.reading, known[1]
        shadow = reading.effects.shadow(x)
        if shadow is not None:
            return len(shadow)
        reading.guards.of_type(path, type(x))
        n = reading.load(len(x), reading.guards.path(f"len({path.code})", f"len({path.text})"))
        more = reading.effects.grown(x)
        return n + more if more else n
    if known is not None:
        return hooks.call(hooks.attribute(x, "__len__"))
    return len(x)


def _super(hooks: Hooks, cls: type, owner: Any) -> Any:
    return super(cls, owner)


_SPECIAL: dict[Any, Callable[..., Any]] = {
    isinstance: _isinstance,
    type: _type,
    getattr: _getattr,
    hasattr: _hasattr,
    len: _len,
    super: _super,
}

"""`lm.compile`: a Python function as regions of graphs, with Python between them where it must be."""

from __future__ import annotations

import ast
import functools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CellType, FunctionType, MethodType
from typing import Any

from ....errors import CheckError, GraphBreakError, LaminaError, RecompileError
from ...run.jit import JitBase
from ...trace.locations import is_ours, placed
from ...trace.program import is_staging
from ..capture import convert, source
from ..capture.code_objects import definition, function_node, positional
from .breaks import GraphBreak
from .guards import MISS
from .regions import FALLBACK, Mark, Place, Region, Source
from .split import NOTHING, ROUTE, Splitter, code_of, place_of

LIMIT = 8
_SPLIT: Any = object()

MOST_OUT_OF_RANGE = 4
"""Calls of a region whose trace may end in an index out of range, before the index expression is left to Python."""


class _Strict(threading.local):
    breaks = False
    recompiles = False


_strict = _Strict()
strict: list[int] = []
"""Not empty while some thread is inside of `no_breaks()`."""


@contextmanager
def no_breaks() -> Generator[None]:
    """Inside of the block, a function of `lm.compile` that would leave a graph raises.

    Raises:
        GraphBreakError: from the call, with the source location, the reason and a remedy.

    >>> import numpy as np, lamina as lm
    >>> f = lm.compile(lambda x: x * 2)
    >>> with lm.no_breaks():
    ...     f(np.ones(2))
    array([2., 2.])
    """
    before, _strict.breaks = _strict.breaks, True
    strict.append(1)
    try:
        yield
    finally:
        _strict.breaks = before
        strict.pop()


@contextmanager
def no_recompile() -> Generator[None]:
    """Inside of the block, a function of `lm.compile` that would compile anything raises.

    Raises:
        RecompileError: from the call, with the guard that failed.

    >>> import numpy as np, lamina as lm
    >>> f = lm.compile(lambda x: x * 2)
    >>> y = f(np.ones(2))
    >>> with lm.no_recompile():
    ...     f(np.zeros(2))
    array([0., 0.])
    """
    before, _strict.recompiles = _strict.recompiles, True
    try:
        yield
    finally:
        _strict.recompiles = before


class Compiled:
    """The result of `lm.compile`: call it as the Python function.

    Attributes:
        compiled_from: the Python function.
        breaks: where Python runs, and why.
        regions: the parts that are graphs.
    """

    def __init__(self, function: FunctionType, limit: int = LIMIT, dynamic: bool = True, name: str | None = None):
        self.compiled_from = self.function = function
        self.__name__: str = function.__name__
        self.limit, self.dynamic = limit, dynamic
        self.lock = threading.RLock()
        self.cells: dict[str, CellType] = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self.marks: dict[Place, Mark] = {}
        self.breaks: list[Mark] = []
        self.regions: list[Region] = []
        self.run: Callable[..., Any] = self._first
        self.why_python = ""
        self.class_name: str | None = None
        self.code, self.defaults = function.__code__, function.__defaults__
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self.function
        if function.__defaults__ is not self.defaults or function.__code__ is not self.code:
            self._changed()
        if strict and _strict.breaks:
            self._refuse_breaks()
        return self.run(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self.function.__qualname__}>"

    # -- running

    def _first(self, *args: Any, **kwargs: Any) -> Any:
        self.prepare()
        return self.run(*args, **kwargs)

    def _changed(self) -> None:
        """The function was given other code or other defaults."""
        with self.lock:
            self.code, self.defaults = self.function.__code__, self.function.__defaults__
            self.marks, self.regions, self.run = {}, [], self._first

    def prepare(self) -> None:
        """Make the function that runs, if it is not there."""
        with self.lock:
            if self.run == self._first:
                self._make()

    def _make(self) -> None:
        """Make the function that runs, with a region for each run of statements in which no break is known."""
        function = self.function
        code = function.__code__
        found = None if code.co_flags & 0x280 or is_ours(code.co_filename) else source.find(function)
        if found is None:
            self.why_python = "it is a coroutine" if code.co_flags & 0x280 else "its source is not to be read"
            self.run = function
            return
        self.class_name = found.owner
        node = definition(found.node)
        assert node is not None, "no coroutine, as its flags say"
        splitter = Splitter(node, self.class_name, found.file, code.co_freevars, self.marks, self)
        made = splitter.function()
        self._keep(splitter)
        self.breaks = sorted(splitter.breaks.values(), key=lambda m: m.place)
        run = self._linked(made, splitter)
        run.__defaults__, run.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        self.run = run

    def _keep(self, splitter: Splitter) -> None:
        """Let regions that were there before stay, with their variants."""
        old = {r.source.key: r for r in self.regions}
        splitter.regions = [old.get(region.source.key, region) for region in splitter.regions]
        self.regions = splitter.regions

    def _linked(self, node: ast.FunctionDef, splitter: Splitter) -> FunctionType:
        """The function of a tree that calls regions."""
        function = self.function
        names: dict[str, Any] = {ROUTE: route, NOTHING: FALLBACK}
        names |= {f"region{k}@": region for k, region in enumerate(splitter.regions)}
        code = function.__code__
        new = code_of(node, splitter.file, code.co_freevars, list(names), code.co_name)
        cells = {**self.cells, **{name: CellType(value) for name, value in names.items()}}
        return FunctionType(new, function.__globals__, function.__name__, None, tuple(cells[n] for n in new.co_freevars))

    # -- calls that no variant serves

    def missed(self, region: Region, args: tuple[Any, ...]) -> Any:
        """A call of a region that none of its variants serves."""
        if is_staging() or region.python:
            return FALLBACK
        out = self._compiled(region, args)
        if out is not _SPLIT:
            return out
        if region.rest is None:
            return FALLBACK
        result = region.rest(*args)  # not under the lock: it runs arbitrary Python code
        return (result,) if region.source.outputs is None else result

    def _compiled(self, region: Region, args: tuple[Any, ...]) -> Any:
        """The result of a new variant of a region; `_SPLIT` if there is a break in it, and other regions have replaced it."""
        known = len(region.variants)
        with self.lock:
            if region not in self.regions and self.regions and (region.rest is not None or not region.is_inner):
                return _SPLIT
            if len(region.variants) > known and (out := region.served(args)) is not MISS:
                return out  # by a variant that another thread has compiled
            if _strict.recompiles:
                raise self._recompile_error(region, args)
            if len(region.variants) >= self.limit:
                self._warn(region, args)
                return FALLBACK
            try:
                variant = self._variant(region, args)
            except GraphBreak as error:
                if error.is_out_of_range and region.out_of_range < MOST_OUT_OF_RANGE:
                    region.out_of_range += 1
                    return FALLBACK  # Python runs the statements of this call, and raises
                mark = self._mark(region, error)
                if _strict.breaks:
                    raise self._break_error(mark) from None
                self.run = self._first
                if mark.place in self.marks:
                    region.python = mark.reason
                    return FALLBACK
                self.marks[mark.place] = mark
                if region.source.is_apart:
                    region.rest = self._rest(region.source)
                return _SPLIT
            if variant is None:
                region.empty += 1
                if region.empty > 2 and not region.variants:
                    region.python = "nothing in it is computed with arrays"
                return FALLBACK
            try:
                out = variant.run(*args)
            except CheckError:  # which Python raises in its own way
                out = FALLBACK
            if out is MISS:
                region.python = "what it reads is another thing each time"
                return FALLBACK
            region.variants.append(variant)
            region.latest = variant.run
            return out

    def _rest(self, found: Source) -> FunctionType:
        """The replacement of a split region, as a function: the call that finds a break continues in its later regions."""
        self._make()
        node = function_node(found.name, positional(*found.parameters), [*found.declarations, *found.statements])
        splitter = Splitter(node, self.class_name, found.file, self.function.__code__.co_freevars, self.marks, self)
        made = splitter.rest(found)
        known = {r.source.key: r for r in self.regions}
        splitter.regions = [known.get(region.source.key, region) for region in splitter.regions]
        for region in splitter.regions:
            region.is_inner = region.source.key not in known
        return self._linked(made, splitter)

    def _variant(self, region: Region, args: tuple[Any, ...]) -> Any:
        if self.dynamic and not region.static_sizes and (sizes := region.generalized(args)):
            region.sizes = sizes
            try:
                made = region.trace(args)
                if made is not None and made.probe(*args) is None:
                    return made
            except (GraphBreak, LaminaError):
                pass
            finally:
                region.sizes = {}
            region.static_sizes = True
        counts = [(v, v.count(*args)) for v in region.variants]
        found = {text for v, now in counts for text, n in now.items() if type(n) is int and n != v.integers[text]}
        found -= region.constants
        if found:
            region.varying |= found
            try:
                made = region.trace(args)
                if not found & region.constants:
                    return made
            except (GraphBreak, LaminaError):
                pass
            region.varying -= found
            region.constants |= found
        return region.trace(args)

    def _mark(self, region: Region, error: GraphBreak) -> Mark:
        """Where a trace has ended, as a node of the source."""
        found = region.source
        variable = getattr(error, "variable", None)
        if variable is not None:
            return Mark(found.last_bound.get(variable, found.end), error.reason, error.remedy)
        place, trace = found.end, error.__traceback__
        frames = [*error.frames]
        while trace is not None and not error.frames:
            frames.insert(0, (trace.tb_frame.f_code, trace.tb_lasti, trace.tb_lineno))
            trace = trace.tb_next
        for code, instruction, at in frames:
            if code.co_filename == found.file and found.lines[0] <= at <= found.lines[1]:
                line, last, column, end = list(code.co_positions())[instruction // 2]
                if line is not None and column is not None:
                    place = line, column, last or line, end or column
                    break
        places = region.source.places
        if place not in places or place in self.marks:
            around = [p for p in places if p[0] <= place[0] <= p[2] and p not in self.marks and places[p]]
            place = max(around, default=found.end)
        return Mark(place, error.reason, error.remedy)

    # -- errors

    def _where(self, place: Place) -> tuple[str, int, int]:
        return self.function.__code__.co_filename, place[0], place[1] + 1

    def _refuse_breaks(self) -> None:
        self.prepare()
        if self.why_python:
            raise GraphBreakError(f"{self.__name__}() is run by Python: {self.why_python}")
        for mark in self.breaks:
            raise self._break_error(mark)

    def _break_error(self, mark: Mark) -> Exception:
        remedy = f": {mark.remedy}" if mark.remedy else ""
        text = f"{self.__name__}() must be one graph inside of no_breaks(), and this is left to Python: {mark.reason}{remedy}"
        return placed(GraphBreakError(text), self._where(mark.place))

    def _recompile_error(self, region: Region, args: tuple[Any, ...]) -> Exception:
        why = region.why_not(region.variants[-1], args) if region.variants else "it was not called before"
        text = f"{self.__name__}() would be compiled anew inside of no_recompile(): {why}: call it so before the block"
        return placed(RecompileError(text), self._where(region.source.end))

    def _warn(self, region: Region, args: tuple[Any, ...]) -> None:
        if region.is_full:
            return
        region.is_full = True
        why = region.why_not(region.variants[-1], args)
        first, last = region.source.lines
        where = f"lines {first} to {last}" if last > first else f"line {first}"
        limit = f"{self.limit} variants are compiled, the limit, and a guard still fails: {why}"
        remedy = "make the value an array, which becomes an argument, or raise variants="
        warnings.warn(
            f"{self.__name__}(), {where}: {limit}. Calls that none of them serves run in Python: {remedy}",
            RuntimeWarning,
            stacklevel=_depth(),
        )


def _depth() -> int:
    """How many calls away the user's line is."""
    frame, depth = sys._getframe(1), 0
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame, depth = frame.f_back, depth + 1
    return depth + 1


_routed: weakref.WeakKeyDictionary[Any, Compiled] = weakref.WeakKeyDictionary()
_seen: dict[Any, int] = {}
_MANY = 4


def route(function: Any) -> Any:
    """The callee of a call in Python's part of a compiled function: a user's function is compiled, too."""
    kind = type(function)
    if kind is FunctionType:
        found = _routed.get(function)
        return found if found is not None else _route(function)
    if kind is MethodType and type(function.__func__) is FunctionType:
        inner = route(function.__func__)
        return function if inner is function.__func__ else MethodType(inner, function.__self__)
    return function


def _route(function: FunctionType) -> Any:
    code = function.__code__
    if not convert.is_users(code) or code.co_flags & 0x2A0 or _seen.get(code, 0) >= _MANY:
        return function
    _seen[code] = _seen.get(code, 0) + 1
    made = _routed[function] = Compiled(function)
    return made


def compile(function: Callable[..., Any] | None = None, *, variants: int = LIMIT, dynamic: bool = True) -> Any:
    """Make any Python function faster, and change nothing that it does.

    What can be captured becomes graphs, which are compiled; what cannot stays Python, between them. What a graph takes for
    granted (globals, cells of closures, attributes, items of containers, types, dtypes and shapes, options) is checked at each
    call; if it no longer holds, another variant is compiled. docs/compile.md says what is captured.

    Args:
        function: a function, method, callable object, or function that `lm.jit` or `lm.compile` made.
        variants: how many graphs one part of it may have; calls that none of them serves then run in Python, with a warning.
        dynamic: whether a size that has differed once becomes symbolic.

    Returns:
        A callable. A call of a function that is one graph costs about 1 us and 40 ns a guard.

    Raises:
        TypeError: it is not callable.

    >>> import numpy as np, lamina as lm
    >>> scale = 2
    >>> @lm.compile
    ... def f(x):
    ...     y = lm.numpy.tanh(x) * scale
    ...     if float(y.sum()) > 1:
    ...         print("large")
    ...     return y + 1
    >>> f(np.float32([0, 0]))
    array([1., 1.], dtype=float32)
    """
    if function is None:
        return functools.partial(compile, variants=variants, dynamic=dynamic)
    if isinstance(variants, bool) or not isinstance(variants, int) or variants < 1:
        raise ValueError(f"compile takes variants= as a number of at least 1, got {variants!r:.60}")
    if isinstance(function, Compiled):
        return Compiled(function.function, variants, dynamic)
    if isinstance(function, JitBase):
        return compile(function._dispatcher.function, variants=variants, dynamic=dynamic)
    if isinstance(function, MethodType):
        return MethodType(compile(function.__func__, variants=variants, dynamic=dynamic), function.__self__)
    if isinstance(function, functools.partial):
        made = compile(function.func, variants=variants, dynamic=dynamic)
        return functools.partial(made, *function.args, **function.keywords)
    if isinstance(function, FunctionType):
        return Compiled(function, variants, dynamic)
    if not callable(function):
        raise TypeError(f"compile takes a function, got {type(function).__name__}: {function!r:.60}")
    kind: type = type(function)
    found = next((vars(c)["__call__"] for c in kind.__mro__ if "__call__" in vars(c)), None)
    if isinstance(found, FunctionType):
        return MethodType(Compiled(found, variants, dynamic), function)
    return function


__all__ = ["Compiled", "compile", "no_breaks", "no_recompile", "place_of"]

"""The specializations of a function that `jit` has made: found for a call, or traced and compiled on demand."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, UnitAttr

from ...errors import CompileError, FixedSizeError, LeastSizeError, SizeError, is_interruption
from ...runtime.arguments import prepare
from ...runtime.arrays import plain
from ...runtime.callable import MISS
from ...runtime.executable import OUT, Executable
from ...runtime.gc_pause import collecting_later
from ...runtime.results import apart, check_results
from ..functions import unjitted
from ..functions.axes import axes_in_scope
from ..trace.config import config
from ..trace.dynamic import Dynamic
from ..trace.locations import user_place
from ..trace.program import (
    Aval,
    Interface,
    Program,
    TracedFunction,
    abstract,
    argument_paths,
    call_function,
    is_staging,
    staging,
    trace_function,
)
from ..trace.pytree import TreeDef, flatten
from ..trace.tracer import asked
from . import watching
from .lowered import Lowered, runner
from .parameters import has_parameter
from .weights import compute_from_weights, has_quantized_weights

_STATIC = Dynamic(None)


class Specialization:
    """The compiled code for one structure, dtypes and shapes."""

    def __init__(self, traced: Interface, executable: Executable):
        self.traced = traced
        self.executable = executable
        self.options = config.options
        self.run = runner(executable, traced)
        self.dtypes = [aval.dtype for aval in traced.avals]
        # for calls without keyword arguments: straight from the tuple of arguments to its leaves
        args, kwargs = traced.structure.children
        self.flatten = None if kwargs.children or any(a.weak for a in traced.avals) else args.flattener()
        self.flat = self.is_flat()

    def call(self, leaves: Sequence[Any], name: str) -> Any:
        arrays = self.arrays(leaves)
        out = self.run(arrays)
        if out is MISS:  # sizes that do not agree, or differ from their declaration
            prepare(dataclasses.replace(self.executable.signature, name=name), [*arrays, *self.traced.captured], {})
        return out

    def arrays(self, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """The arguments as native code takes them."""
        return [plain(np.asarray(x, dtype), dtype) for x, dtype in zip(leaves, self.dtypes, strict=True)]

    def call_into(self, leaves: Sequence[Any], out: Any, name: str) -> Any:
        """The same, with the results stored in the arrays of `out`, which is returned."""
        results, structure = flatten(out)
        if structure != self.traced.out_structure:
            raise TypeError(f"{name}() has results {self.traced.out_structure}, got out={structure}")
        signature, arrays = (
            dataclasses.replace(self.executable.signature, name=name),
            [*self.arrays(leaves), *self.traced.captured],
        )
        check_results(signature, results, prepare(signature, arrays, {}).sizes)
        self.executable.run_into(apart(arrays, results), results)
        return out

    def is_flat(self) -> bool:
        """Whether native code can serve calls of the Python function itself: arrays in, one array or a tuple out."""
        args, out = self.traced.structure.children[0], self.traced.out_structure
        return (
            self.flatten is not None
            and not self.traced.captured
            and all(child.kind is None for child in args.children)
            and (
                out.kind is None or (out.kind is tuple and len(out.children) > 1 and all(c.kind is None for c in out.children))
            )
        )


_ENLARGED = 8
"""How often the least sizes of a program are raised for the choices of its loops."""


class Dispatcher:
    """Finds or makes the specialization for a call."""

    def __init__(
        self,
        function: Callable[..., Any],
        static: tuple[int, ...],
        static_names: frozenset[str],
        donated: frozenset[int] = frozenset(),
        dynamic: Dynamic = _STATIC,
        capture: str = "auto",
    ):
        self.function = function
        self.capture = capture
        self.static = static
        self.static_names = static_names
        self.donated = donated
        self.dynamic = dynamic
        self.takes_out = not has_parameter(function, OUT)
        self.name = getattr(function, "__name__", "fn")
        self.specializations: dict[Any, Specialization] = {}
        self.latest: Specialization | None = None
        self.each_size: set[Any] = set()
        """The structures and static arguments for which each size is compiled for by itself, since no code serves all."""
        self.exact: list[Executable] = []
        """Of a function of dynamic sizes, the specializations for static ones."""
        self.lock = threading.RLock()
        self.install: Callable[[Executable], None] = lambda executable: None
        self.is_served: Callable[[], bool] = lambda: True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The slow path of the native function: trees, numbers, new specializations."""
        latest = self.latest
        if (
            latest is not None
            and latest.options is config.options
            and not kwargs
            and not self.is_withdrawn(latest)
            and not config.options.nans
            and not watching.is_watching()
        ):
            try:
                leaves = latest.flatten(args)  # pyright: ignore[reportOptionalCall]
            except Exception as error:  # another structure
                if is_interruption(error, timeouts=False):
                    raise
                return self.general(args, kwargs)
            out = latest.run(leaves)
            if out is not MISS:
                return out
        return self.general(args, kwargs)

    def is_withdrawn(self, found: Specialization) -> bool:
        """Whether native code served a specialization, until options changed."""
        return found.flat and not self.is_served()

    def general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Any call: flatten, look up, convert."""
        out = None
        if kwargs and self.takes_out:
            kwargs = dict(kwargs)
            out = kwargs.pop(OUT, None)
        if unjitted.is_disabled():
            return unjitted.called(self.function, args, kwargs, out)
        args, kwargs, statics = self.split(args, kwargs)
        leaves, structure = flatten((args, kwargs))
        avals = self.abstract(leaves, structure)
        if is_staging():
            if out is not None:
                raise TypeError(f"{self.name}() is called with out= in a function that is traced: use the result")
            return self.inline(leaves, structure, statics, avals)
        declared = avals if (structure, statics) in self.each_size else self.with_dynamic(avals, structure, statics)
        try:
            found = self.specialization(structure, statics, declared)
        except FixedSizeError as error:
            if not self.dynamic:
                raise
            self.warn(str(error).partition("\n")[0])
            self.each_size.add((structure, statics))
            declared = avals
            found = self.specialization(structure, statics, avals)
        if found.traced.avals != declared:
            smaller = self.dynamic.smaller(found.traced.avals, declared, avals)
            if smaller is not None:
                found = self.specialization(structure, statics, smaller)
        if not statics and found.flatten is not None:
            self.latest = found
            if self.is_withdrawn(found):
                self.install_flat(dataclasses.replace(found.executable, takes_out=self.takes_out))
        result = found.call(leaves, self.name) if out is None else found.call_into(leaves, out, self.name)
        if config.options.nans or watching.is_watching():
            watching.look(self.name, lambda: self.lower(structure, statics, found.traced.avals), leaves, result)
        return result

    def warn(self, reason: str) -> None:
        """Say that no code serves all sizes."""
        text = f"{self.name}() is compiled for each size by itself, against dynamic=: {reason}"
        file, line, _ = user_place() or ("<unknown>", 0, 0)
        warnings.warn_explicit(text, UserWarning, file, line)

    def specialization(self, structure: TreeDef, statics: tuple[Any, ...], avals: tuple[Aval, ...]) -> Specialization:
        """The specialization for some types, compiled on demand."""
        key = (structure, statics, avals, config.options.of_code)
        found = self.specializations.get(key)
        if found is None:
            with self.lock:
                found = self.specializations.get(key) or self.specialize(key, structure, statics, avals)
        return found

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
        """Arguments without the static ones, and these: pairs of position or name and value."""
        if not self.static and not self.static_names:
            return args, kwargs, ()
        statics = [(k, args[k]) for k in self.static if k < len(args)]
        statics += [(name, kwargs[name]) for name in sorted(self.static_names & kwargs.keys())]
        for parameter, value in statics:
            try:
                hash(value)
            except TypeError:
                raise TypeError(
                    f"{self.name}() static argument {parameter} must be hashable, got {type(value).__name__}: {value!r:.60}"
                ) from None
        moving = tuple(x for k, x in enumerate(args) if k not in self.static)
        # equal values of different types (1, 1.0, True) trace differently
        typed = tuple((parameter, type(value), value) for parameter, value in statics)
        return moving, {k: v for k, v in kwargs.items() if k not in self.static_names}, typed

    def trace(self, program: Program, statics: tuple[Any, ...], *facts: Any, **names: Any) -> TracedFunction:
        """Trace the function; from its source where its control flow depends on traced values."""
        if self.capture != "source":
            before = asked.values, asked.may
            asked.values, asked.may = False, self.capture == "auto"
            back = program.checkpoint()
            try:
                return trace_function(program, self.bound(statics, self.function), *facts, **names)
            except Exception as error:
                if self.capture == "trace" or isinstance(error, LeastSizeError) or is_interruption(error, timeouts=False):
                    raise
                if not (asked.values or isinstance(error, SizeError)):
                    raise
                back()
            finally:
                asked.values, asked.may = before
        run = importlib.import_module("..python.capture.runtime", __package__).run  # first needed here, and imports this file
        traced = trace_function(program, self.bound(statics, run(self.function)), *facts, **names)
        if self.capture == "auto":
            self.capture = "source"  # a function that reads values once does so at other shapes
        return traced

    def bound(self, statics: tuple[Any, ...], of: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the arguments that are not static."""
        if not statics:
            return of
        positions = {parameter: value for parameter, _, value in statics if isinstance(parameter, int)}
        names = {parameter: value for parameter, _, value in statics if isinstance(parameter, str)}

        @functools.wraps(self.function)
        def function(*args: Any, **kwargs: Any) -> Any:
            moving = iter(args)
            merged = [positions[k] if k in positions else next(moving) for k in range(len(args) + len(positions))]
            return of(*merged, **kwargs, **names)

        return function

    def paths(self, structure: TreeDef, statics: tuple[Any, ...]) -> list[str]:
        """The names of the leaves in messages."""
        return argument_paths(self.function, structure, [parameter for parameter, *_ in statics if isinstance(parameter, int)])

    def abstract(self, leaves: Sequence[Any], structure: TreeDef) -> tuple[Aval, ...]:
        try:
            return tuple([abstract(leaf) for leaf in leaves])
        except TypeError:
            for leaf, path in zip(leaves, argument_paths(self.function, structure, self.static), strict=True):
                abstract(leaf, f"{self.name}() argument {path}")
            raise

    def with_dynamic(self, avals: Sequence[Aval], structure: TreeDef, statics: tuple[Any, ...]) -> tuple[Aval, ...]:
        """The arguments of a call with sizes that are declared dynamic as symbols."""
        return self.dynamic.applied(self.name, self.paths(structure, statics), avals) if self.dynamic else tuple(avals)

    def lower(self, structure: TreeDef, statics: tuple[Any, ...], avals: Sequence[Aval], limit: float | None = None) -> Lowered:
        """Trace the function into a module of its own."""
        program = Program() if limit is None else Program(limit)
        paths = self.paths(structure, statics)
        try:
            traced = self.trace(program, statics, structure, avals, name="main", paths=paths, public=True)
        except LeastSizeError as error:
            return self.lower(structure, statics, self.dynamic.enlarged(avals, error), limit)
        if not traced.closed():
            raise TypeError(f"{self.name}() reads traced values of an enclosing function and must be called inside it")
        if leaves := self.donated_leaves(structure, statics):
            given = [DictionaryAttr({"lamina.donated": UnitAttr()} if k in leaves else {}) for k in range(len(avals))]
            traced.op.properties["arg_attrs"] = ArrayAttr(given)
        return Lowered(program, traced, self.name, paths)

    def donated_leaves(self, structure: TreeDef, statics: tuple[Any, ...]) -> list[int]:
        """The numbers of the leaves of donated arguments."""
        static = {parameter for parameter, *_ in statics}
        found: list[int] = []
        position = start = 0
        for child in structure.children[0].children:
            while position in static:
                position += 1
            if position in self.donated:
                found += range(start, start + child.num_leaves)
            position, start = position + 1, start + child.num_leaves
        return found

    def specialize(self, key: Any, structure: TreeDef, statics: tuple[Any, ...], avals: tuple[Aval, ...]) -> Specialization:
        with collecting_later():
            made = self.specializations[key] = self.compiled(structure, statics, avals)
            if not statics and made.flat:
                self.install_flat(dataclasses.replace(made.executable, takes_out=self.takes_out))
            for variant in self.dynamic.variants(avals):
                if (other := (structure, statics, variant, config.options)) not in self.specializations:
                    self.specialize(other, structure, statics, variant)
        return made

    def compiled(self, structure: TreeDef, statics: tuple[Any, ...], avals: tuple[Aval, ...]) -> Specialization:
        """The code for some types.

        Raises:
            FixedSizeError: no code serves all symbolic sizes.
        """
        reason: SizeError | None = None
        for _ in range(_ENLARGED):
            lowered = self.lower(structure, statics, avals)
            try:
                if has_quantized_weights(lowered):
                    lowered = compute_from_weights(lowered)
                return Specialization(lowered.traced.interface, lowered.executable(consume=True))
            except LeastSizeError as error:
                avals = self.dynamic.enlarged(avals, error)
                reason = error
            except (SizeError, CompileError) as error:
                if not self.dynamic:
                    raise
                raise FixedSizeError(str(error)) from error
        raise FixedSizeError(str(reason))

    def install_flat(self, executable: Executable) -> None:
        """Let native code serve calls: that for one size before that for all."""
        self.install(executable)
        if executable.signature.symbols:
            for other in self.exact:
                self.install(other)
        elif self.dynamic:
            self.exact.append(executable)

    def inline(self, leaves: Sequence[Any], structure: TreeDef, statics: tuple[Any, ...], avals: tuple[Aval, ...]) -> Any:
        """A call from a traced function: a `func.call` of a private function, traced once for each signature."""
        trace = staging()
        assert trace.program is not None
        tracers = [trace.lift(leaf) for leaf in leaves]
        rules = (trace.derivatives, trace.transposed, trace.in_rule)
        key = (id(self), structure, statics, avals, rules, config.options, axes_in_scope())
        traced = trace.program.cache.get(key)
        if traced is None:
            traced = self.trace(trace.program, statics, structure, avals, name=self.name, paths=self.paths(structure, statics))
            if traced.closed():
                trace.program.cache[key] = traced
        return call_function(traced, tracers)

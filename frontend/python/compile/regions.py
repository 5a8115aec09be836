"""A region: statements of a function that become graphs, one for each set of guards."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ....dialects.facts import Cost
from ....dialects.graph.base import GraphOp
from ....errors import BoundsError, CheckError, LaminaError, LeastSizeError, SizeError, is_interruption
from ....executor import executor
from ....runtime.arrays import plain
from ....runtime.callable import MISS as UNFIT
from ....runtime.gc_pause import collecting_later
from ...trace.config import config
from ...trace.dynamic import dim, enlarged
from ...trace.program import Program, end_function
from ...trace.promotion import canonical
from ...trace.pytree import TreeDef, flatten
from ...trace.tracer import asked
from ...trace.tracing import Trace
from ..capture import convert, runtime
from ..capture.session import state
from . import calls
from .breaks import GraphBreak, SourceError, SpecializeError
from .environment import Leaf, Reading
from .guards import MISS, Path
from .outputs import Outputs

FALLBACK: Any = object()
"""The result of a region where Python shall run its statements."""

assert runtime is not None

measuring: list[int] = []
"""Not empty while `explain` measures calls."""


Place = tuple[int, int, int, int]
"""Line, column, last line and its end of a node."""


@dataclass
class Mark:
    """Where a region ends: the source location, the reason, and a remedy."""

    place: Place
    reason: str
    remedy: str


@dataclass
class Variant:
    """One graph of a region, and its assumptions."""

    run: Callable[..., Any]
    probe: Callable[..., tuple[int, str] | None]
    facts: list[str]
    measure: Callable[..., dict[str, tuple[int, ...]]]
    integers: dict[str, int]
    """The integers that are constants, by their paths."""
    count: Callable[..., dict[str, Any]]
    """A function that returns their values in a call."""
    shapes: dict[str, tuple[Any, ...]]
    arrays: dict[str, tuple[str, tuple[Any, ...]]]
    module: ModuleOp


@dataclass
class Source:
    """The code of a region.

    Attributes:
        code: the region as an instrumented function of `parameters`, which returns the live variables.
        shown: the names that the user sees for variables made by splitting.
        outputs: the variables that live out; None if it returns from the function around it.
        passed: parameters that are returned unchanged.
        lines: first and last line.
        last_bound: the statement that binds each variable last.
        end: the last statement.
        places: source locations of all expressions and statements; whether it is a statement.
        text: the statements as text.
        statements: the statements.
        is_apart: whether they can be outlined: no inner function captures their variables, no handler catches their errors.
        declarations: `global` and `nonlocal` declarations of the function.
        shared: its own variables that functions inside see.
    """

    code: CodeType
    parameters: list[str]
    shown: dict[str, str]
    outputs: list[str] | None
    passed: set[str]
    lines: tuple[int, int]
    name: str
    file: str
    last_bound: dict[str, Place]
    end: Place
    places: dict[Place, bool]
    text: str
    statements: list[ast.stmt]
    is_apart: bool
    declarations: list[ast.stmt]
    shared: set[str]

    @property
    def key(self) -> Any:
        """The facts about a region that splitting does not change."""
        return self.lines, self.end, tuple(self.parameters), tuple(self.outputs or ("return",)), self.text


class Region:
    """Statements that become graphs. Called with the values of the variables that live into them.

    Returns:
        The values of the variables that live out, or the value that is returned, in a tuple; `FALLBACK` if Python must run the
        statements.
    """

    def __init__(self, source: Source, owner: Any):
        self.source = source
        self.owner = owner
        self.variants: list[Variant] = []
        self.constants: set[str] = set()
        self.varying: set[str] = set()
        self.from_source = False
        self.python = ""
        """Why Python runs it, where it always does."""
        self.rest: Callable[..., Any] | None = None
        """The function that replaces it since a break was found in it."""
        self.is_inner = False
        """Whether only such a `rest` calls it."""
        self.empty = 0
        self.out_of_range = 0
        """Traces that an index out of range has ended."""
        self.is_full = False
        """Whether a call was left to Python because there are as many variants as there may be."""
        self.latest: Callable[..., Any] = _none
        self.calls = 0
        self.seconds = 0.0
        self.timed = 0
        """Calls that `explain` has measured, and the time that they took."""
        self.compile_seconds = 0.0
        self.sizes: dict[str, tuple[Any, ...]] = {}
        self.extents: dict[str, int] = {}
        """The values of the symbols in `sizes` in the traced call."""
        self.static_sizes = False

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        if measuring:
            return self.measured(args)
        try:
            out = self.latest(*args)
        except CheckError:  # which Python raises in its own way
            return FALLBACK
        return out if out is not MISS else self.other(args)

    def measured(self, args: tuple[Any, ...]) -> Any:
        """A call that is timed, without its compilations."""
        start, before = time.perf_counter(), self.compile_seconds
        try:
            out = self.latest(*args)
        except CheckError:
            return FALLBACK
        out = out if out is not MISS else self.other(args)
        if out is not FALLBACK:
            self.seconds += time.perf_counter() - start - (self.compile_seconds - before)
            self.timed += 1
        return out

    def other(self, args: tuple[Any, ...]) -> Any:
        """A call that the latest variant does not serve."""
        out = self.served(args)
        return out if out is not MISS else self.owner.missed(self, args)

    def served(self, args: tuple[Any, ...]) -> Any:
        """The result of the first variant whose guards hold; `MISS` if none do."""
        for variant in self.variants:
            try:
                out = variant.run(*args)
            except CheckError:
                return FALLBACK
            if out is not MISS:
                self.latest = variant.run
                return out
        return MISS

    # -- tracing

    def trace(self, args: tuple[Any, ...]) -> Variant | None:
        """A variant for these arguments, None if nothing is computed.

        Raises:
            GraphBreak: the region has to be split, at `error.place`.
        """
        start = time.perf_counter()
        try:
            for _ in range(8):
                try:
                    return self._attempt(args)
                except SpecializeError:
                    continue
                except LeastSizeError as error:
                    self._enlarge(error)
            raise GraphBreak("too many numbers are specialized")
        finally:
            self.compile_seconds += time.perf_counter() - start

    def _enlarge(self, error: LeastSizeError) -> None:
        """Let a size be as large as an index needs it; each call is checked for that.

        Raises:
            GraphBreak: this call's size is less.
        """
        if self.extents.get(error.name, 0) < error.least:
            raise self.broken(error) from None
        self.sizes = dict(zip(self.sizes, enlarged(list(self.sizes.values()), error), strict=True))

    def _attempt(self, args: tuple[Any, ...]) -> Variant | None:
        if not self.from_source:
            before, asked.values = asked.values, False
            try:
                return self._traced(args, False)
            except (SpecializeError, LeastSizeError):
                raise
            except GraphBreak:
                if not asked.values:
                    raise
            except SourceError:
                pass
            except Exception as error:  # any exception is raised again where Python runs the statement
                if is_interruption(error, timeouts=False):
                    raise
                if not (asked.values or isinstance(error, SizeError)):
                    raise self.broken(error) from None
            finally:
                asked.values = before
        try:
            made = self._traced(args, True)
        except (SpecializeError, GraphBreak, LeastSizeError):
            raise
        except SourceError as error:
            raise self.broken(error) from None
        except Exception as error:
            if is_interruption(error, timeouts=False):
                raise
            raise self.broken(error) from None
        self.from_source = True
        return made

    def broken(self, error: BaseException) -> GraphBreak:
        """An error of the trace as the reason why a region ends."""
        if isinstance(error, GraphBreak):
            return error
        text = str(error).partition("\n")[0]
        if isinstance(error, LaminaError):
            text = (
                text.partition(": ")[2]
                if text.partition(": ")[0].count(":") >= 2 or ".py:" in text.partition(": ")[0]
                else text
            )
            made = GraphBreak(text or type(error).__name__)
        elif isinstance(error, SourceError):
            made = GraphBreak("it depends on values of arrays in a way that is not captured")
        else:
            made = GraphBreak(f"{type(error).__name__}: {text}")
        made.__traceback__ = error.__traceback__
        made.is_out_of_range = isinstance(error, BoundsError | OverflowError)
        return made

    def _traced(self, args: tuple[Any, ...], from_source: bool) -> Variant | None:
        source = self.source
        program = Program()
        with collecting_later(), convert._session(), Trace(program) as trace:
            trace.own_arguments = 0
            state.reader = reading = Reading(trace, self.constants, self.varying, from_source, self.sizes)
            trace.narrowing = reading.narrowed
            guards = reading.guards
            reading.effects.shared, reading.effects.stale = source.shared, source.shared & source.last_bound.keys()
            k, options = guards.constant(config), guards.constant(config.options)
            guards.require(f"{k}.common is {options} or {k}.options == {options}", "lm.config is the same", listed=False)
            owner = self.owner
            made = calls.with_hooks(reading, source.code, owner.cells, owner.function.__globals__, source.name)
            if from_source:
                made = convert.captured(made)
            names = [source.shown.get(p, p) for p in source.parameters]
            values = []
            for j, (name, text, value) in enumerate(zip(source.parameters, names, args, strict=True)):
                path = Path(f"p{j}", text)
                values.append(reading.pass_on(path) if name in source.passed else reading.load(value, path))
            result = made(*values)
            outputs = Outputs(reading)
            results = []
            if source.outputs is None:
                results.append(outputs.code(result, "the value returned"))
            else:
                for name, value in zip(source.outputs, result, strict=True):
                    try:
                        results.append(outputs.code(value, source.shown.get(name, name)))
                    except GraphBreak as error:
                        error.variable = name
                        raise
            changes = outputs.reading.effects.finish(outputs)
            outputs.check_views()
            is_empty = all(_only_fills(op) for op in trace.block.ops)
            count = len(outputs.results)
            leaves = TreeDef(tuple, count, (TreeDef(None),) * count)
            structure = flatten(((), {}))[1]
            traced = end_function(trace, program.unique("main"), structure, [], leaves, outputs.results, public=True)
        if is_empty:
            return None
        names = [held.code if isinstance(held, Leaf) else f"constant{j}" for j, held in enumerate(traced.captured)]
        native = executor.function(program.module, names, program.callbacks)
        outputs.lines += changes
        return self._variant(reading, outputs, results, traced.captured, native, program.module)

    def _variant(
        self, reading: Reading, outputs: Outputs, results: list[str], captured: Sequence[Any], native: Any, module: ModuleOp
    ) -> Variant:
        guards = reading.guards
        leaves: list[str] = []
        prepared: list[str] = []
        avals: list[Any] = []
        for k, held in enumerate(captured):
            if not isinstance(held, Leaf):
                leaves.append(guards.constant(held))
                avals.append(None)
                continue
            avals.append(held.aval)
            if held.convert:
                prepared.append(f"a{k} = {guards.constant(np.asarray)}({held.code}, {guards.constant(held.aval.dtype)})")
                if held.kind not in (float, int, complex, bool):
                    guards.require(
                        f"{held.code}.dtype == {guards.constant(held.aval.dtype)}", f"{held.code} has the same dtype"
                    )
            leaves.append(f"a{k}" if held.convert else held.code)
        guards.names["native"], guards.names["UNFIT"] = native, UNFIT
        guards.names["again"] = _again(native, avals)
        count = len(outputs.results)
        finish = [*prepared, f"out = native({', '.join(leaves)})", "if out is UNFIT:", f"    out = again({', '.join(leaves)})"]
        finish += ["    if out is UNFIT: return MISS"]
        if count == 1:
            finish.append("o0 = out")
        elif count:
            finish.append(f"{', '.join(f'o{k}' for k in range(count))}, = out")
        finish += [*outputs.lines, f"return ({', '.join(results)}{',' if results else ''})"]
        parameters = [f"p{j}" for j in range(len(self.source.parameters))]
        run, probe = guards.function(parameters, finish), guards.prober(parameters)
        codes = {h.text: h.code for h in captured if isinstance(h, Leaf)}
        shapes = {h.text: h.aval.shape for h in captured if isinstance(h, Leaf)}
        arrays = {h.text: (str(h.aval.dtype), h.aval.shape) for h in captured if isinstance(h, Leaf)}
        return Variant(
            run,
            probe,
            guards.listed,
            guards.measurer(parameters, codes),
            guards.integers,
            guards.counter(parameters),
            shapes,
            arrays,
            module,
        )

    def why_not(self, variant: Variant, args: tuple[Any, ...]) -> str:
        """The guard of a variant that arguments fail, with its value."""
        failed = variant.probe(*args)
        if failed is not None:
            return failed[1]
        now = variant.measure(*args)
        said = [f"{n} has the shape {list(s)}; it is {list(now[n])}" for n, s in variant.shapes.items() if now[n] != s]
        return "; ".join(said) or "an array has another dtype"

    def generalized(self, args: tuple[Any, ...]) -> dict[str, tuple[Any, ...]]:
        """Shapes with a symbol for each size that differs from that of a variant whose other guards hold; empty if none."""
        for variant in reversed(self.variants):
            if variant.probe(*args) is not None:
                continue
            now, names = variant.measure(*args), dict[tuple[Any, int], Any]()
            found: dict[str, tuple[Any, ...]] = {}
            for path, before in variant.shapes.items():
                after = now[path]
                if len(after) != len(before):
                    return {}
                sizes: list[Any] = []
                for old, new in zip(before, after, strict=True):
                    if isinstance(old, int) and old != new and min(old, new) < 2:
                        return {}
                    if isinstance(old, int) and old != new:
                        sizes.append(names.setdefault((old, new), dim(f"n{len(names)}", min=2)))
                    else:
                        sizes.append(new)
                if tuple(sizes) != after:
                    found[path] = tuple(sizes)
            self.extents = {f"n{k}": new for k, (_, new) in enumerate(names)}
            return found if all(isinstance(s, int) for shape in variant.shapes.values() for s in shape) else {}
        return {}


def _again(native: Any, avals: Sequence[Any]) -> Callable[..., Any]:
    """Arrays that native code does not take as they are, converted: those in another byte order, or not aligned."""

    def again(*arrays: Any) -> Any:
        made = []
        for array, aval in zip(arrays, avals, strict=True):
            if aval is None:
                made.append(array)
                continue
            array = np.asarray(array)
            if canonical(array.dtype) != aval.dtype or len(array.shape) != len(aval.shape):
                return UNFIT
            made.append(plain(array, aval.dtype))
        return native(*made)

    return again


def _none(*args: Any) -> Any:
    return MISS


def _only_fills(op: Operation) -> bool:
    """Whether an op computes nothing: constants, and arrays filled with one."""
    return isinstance(op, GraphOp) and op.facts.pointwise and op.facts.cost is Cost.INDEX

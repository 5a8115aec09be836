"""Python functions as functions of a module: one trace makes one `func.func`, calls make `func.call`."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Region

from ...dialects.module_rules import ONE_VARIANT
from ...dialects.sizes.polynomial import Size
from ...errors import DTypeError, LaminaError, TracingError
from .config import config
from .locations import located, place_of
from .promotion import BOOL, COMPLEX128, FLOAT64, INT64, canonical
from .pytree import TreeDef, flatten
from .tracer import Tracer
from .tracing import CONST_LIMIT, Trace, concrete_array, current

if TYPE_CHECKING:
    from ...dialects.loop.loops import KernelOp


class Aval(NamedTuple):
    """The abstract value of an array. `weak`: a Python number, which takes the dtype of the other operand."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    weak: bool = False

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class TensorSpec:
    """A shape and a dtype instead of an array, for `f.lower` and `make_graph`.

    `weak_type` says that the dtype yields to others, as that of a Python number does. `sharding` is accepted and ignored: there
    is one device.

    >>> TensorSpec((2, 3), "float32")
    TensorSpec((2, 3), 'float32')
    """

    def __init__(
        self, shape: Sequence[int] | int, dtype: Any = np.float32, *, sharding: Any = None, weak_type: bool = False
    ) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = canonical(dtype)
        self.sharding, self.weak_type = sharding, weak_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._facts == other._facts

    def __hash__(self) -> int:
        return hash(self._facts)

    @property
    def _facts(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.weak_type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"TensorSpec({self.shape}, {str(self.dtype)!r})"


class Program:
    """A module under construction.

    Attributes:
        const_limit: closed-over arrays of more elements become hidden arguments.
        varying: which Python numbers become hidden arguments, by their position in `numbers`.
        numbers: the Python numbers that were met, in the order of the trace.
        cache: functions already traced into the module, by the key of their trace.
        kernels: hand-written kernels of the module, by their originals.
        callbacks: the Python functions that the module calls, by the names it has for them.
    """

    def __init__(self, const_limit: float = CONST_LIMIT, varying: frozenset[int] = frozenset()):
        self.module = ModuleOp([], {} if config.variants else {ONE_VARIANT: UnitAttr()})
        self.const_limit = const_limit
        self.varying = varying
        self.numbers: list[tuple[str, bytes]] = []
        self._snapshots: dict[int, tuple[Any, np.ndarray[Any, Any]]] = {}
        self.cache: dict[Hashable, TracedFunction] = {}
        self.kernels: dict[Hashable, KernelOp] = {}
        self.callbacks: dict[str, Callable[..., Any]] = {}
        self._names: set[str] = set()

    def unique(self, name: str) -> str:
        """A symbol name that is still free."""
        name = re.sub(r"\W", "", name) or "fn"
        chosen, k = name, 0
        while chosen in self._names:
            k += 1
            chosen = f"{name}_{k}"
        self._names.add(chosen)
        return chosen

    def callback(self, name: str, function: Callable[..., Any]) -> str:
        """The name by which the module calls a Python function."""
        chosen, k = name, 0
        while chosen in self.callbacks:
            k += 1
            chosen = f"{name}_{k}"
        self.callbacks[chosen] = function
        return chosen

    def remove(self, traced: TracedFunction) -> None:
        """Take a function out of the module that nothing there names."""
        self._names.discard(traced.name)
        traced.op.detach()

    def checkpoint(self) -> Callable[[], None]:
        """A function that restores the current state of the program."""
        kept = [(table, table.copy()) for table in (self.cache, self.kernels, self.callbacks)]
        names, numbers, block = self._names.copy(), len(self.numbers), self.module.body.block
        last = block.last_op

        def back() -> None:
            while block.last_op is not last and block.last_op is not None:
                block.last_op.detach()
            for table, before in kept:
                table.clear()
                table.update(before)  # pyright: ignore[reportArgumentType, reportCallIssue]
            self._names = names
            del self.numbers[numbers:]

        return back

    def is_argument(self, number: np.ndarray[Any, Any]) -> bool:
        """Count a Python number; whether it becomes a hidden argument."""
        self.numbers.append((number.dtype.char, number.tobytes()))
        if len(self.numbers) - 1 not in self.varying:
            return False
        self._snapshots[id(number)] = (number, number)  # of the dtype that it was made in, for traces around this one, too
        return True

    def snapshot(self, x: Any) -> np.ndarray[Any, Any]:
        """The contents of an array as they are now: one read-only copy for all uses between two changes.

        The function that is traced may write into its own NumPy arrays, and the caller into those that it closes over. Each use
        compares the array with its last copy, which costs as much as reading both.
        """
        known = self._snapshots.get(id(x))
        if known is not None and known[0] is known[1]:
            return known[1]  # a copy of ours
        array = concrete_array(x)
        if known is not None and _same_bits(known[1], array):
            return known[1]
        held = array.copy() if np.may_share_memory(array, x) else array
        held.flags.writeable = False
        self._snapshots[id(x)] = (x, held)  # which keeps `x`, so that its identity stays its own
        self._snapshots[id(held)] = (held, held)
        return held

    def kernel(self, key: Hashable, kernel: KernelOp, name: str | None = None) -> KernelOp:
        """The copy of a hand-written kernel in the module, made when it is first requested under this key."""
        found = self.kernels.get(key)
        if found is None:
            from ...dialects.loop.parameters import clone_kernel

            found = self.kernels[key] = clone_kernel(kernel, self.unique(kernel.sym_name.data if name is None else name))
            self.module.body.block.add_op(found)
        return found


def _same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two contiguous arrays hold the same, NaN and the signs of zeros included."""
    word = np.dtype(f"u{min(a.dtype.itemsize, 8)}")
    return a.dtype == b.dtype and a.shape == b.shape and bool((a.reshape(-1).view(word) == b.reshape(-1).view(word)).all())


@dataclass
class Interface:
    """The calling convention of a traced function for Python.

    Attributes:
        captured: arrays, and tracers of enclosing traces, that it reads beside its arguments.
    """

    structure: TreeDef
    avals: tuple[Aval, ...]
    out_structure: TreeDef
    out_avals: tuple[Aval, ...]
    captured: list[Any]


@dataclass
class TracedFunction(Interface):
    """A function of a module, and its calling convention for Python.

    Attributes:
        op: its `func.func`: arguments are the leaves, then one for each captured value.
    """

    op: FuncOp

    @property
    def name(self) -> str:
        return self.op.sym_name.data

    @property
    def interface(self) -> Interface:
        """The same without the op, which keeps its module alive."""
        return Interface(self.structure, self.avals, self.out_structure, self.out_avals, self.captured)

    def closed(self) -> bool:
        """Whether it reads no value of an enclosing trace, so that any caller may use it."""
        return not any(isinstance(x, Tracer) for x in self.captured)


_NUMBERS: dict[type, np.dtype[Any]] = {int: INT64, float: FLOAT64, complex: COMPLEX128}


def abstract(leaf: Any, path: str = "an argument") -> Aval:
    """The abstract value of an argument.

    Raises:
        TypeError: not an array or number.
    """
    kind = type(leaf)
    if kind is Tracer:
        return Aval(leaf.dtype, leaf.shape, leaf.weak)
    if kind is np.ndarray or isinstance(leaf, np.ndarray | np.generic):
        if isinstance(leaf, np.ma.MaskedArray):
            raise TypeError(f"{path} is a masked array: fill it with .filled() first")
        try:
            return Aval(canonical(leaf.dtype), leaf.shape)
        except DTypeError as error:
            raise DTypeError(f"{path}: {error}") from None
    if kind is bool:
        return Aval(BOOL, ())
    if kind in _NUMBERS:
        return Aval(canonical(_NUMBERS[kind]), (), True)
    if isinstance(leaf, Size):
        return Aval(INT64, (), True)
    if isinstance(leaf, TensorSpec):
        return Aval(leaf.dtype, leaf.shape, leaf.weak_type)
    if hasattr(leaf, "__array__"):
        return abstract(np.asarray(leaf), path)
    raise TypeError(
        f"{path}: expected an array or a number, got {kind.__name__}: {leaf!r:.60}; "
        "make it static with static_argnums, or close over it"
    )


def argument_paths(function: Callable[..., Any], structure: TreeDef, skip: Sequence[int] = ()) -> list[str]:
    """How messages name the leaves of `(args, kwargs)`: `params['w1']`. `skip` are the positions of static arguments."""
    args, kwargs = structure.children
    names: list[str] = []
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    places = [k for k in range(len(args.children) + len(skip)) if k not in skip]
    for place, child in zip(places, args.children, strict=False):
        root = positional[place] if place < len(positional) else f"{rest}[{place - len(positional)}]"
        names += child.paths(root)
    for key, child in zip(kwargs.data, kwargs.children, strict=True):
        names += child.paths(key)
    return names


def trace_function(
    program: Program,
    function: Callable[..., Any],
    structure: TreeDef,
    avals: Sequence[Aval],
    *,
    name: str | None = None,
    paths: Sequence[str] | None = None,
    public: bool = False,
    known: Sequence[Any] = (),
    derivatives: int = 0,
) -> TracedFunction:
    """Call `function(*args, **kwargs)` on tracers and add its ops to the program.

    Args:
        structure: the structure of `(args, kwargs)`.
        avals: its leaves.
        known: the values of the leaves, where a function outside of `jit` may read them (`Trace.known`).
        derivatives: 1 for a function that is differentiated, -1 for one that computes the derivative of another.

    Raises:
        TracingError: the function needs values; or an error of its operations.
    """
    _refuse_lists_of_numbers(structure, avals, paths)
    place = place_of(inspect.unwrap(function))
    location = None if place is None else FileLineColLoc(StringAttr(place[0]), IntAttr(place[1]), IntAttr(place[2]))
    symbol = program.unique(name or getattr(function, "__name__", "fn"))
    with Trace(program, location, known, derivatives) as trace:
        tracers = [trace.argument(aval.dtype, aval.shape, aval.weak) for aval in avals]
        trace.own_arguments = len(tracers)
        for k, tracer in enumerate(tracers):
            tracer.value.name_hint = _hint(paths[k] if paths is not None else f"arg{k}")
        args, kwargs = structure.unflatten(tracers)
        out = function(*args, **kwargs)
        leaves, out_structure = flatten(out)
        results = [_result(trace, leaf, out_structure, k, symbol) for k, leaf in enumerate(leaves)]
    return end_function(trace, symbol, structure, avals, out_structure, results, public=public)


def end_function(
    trace: Trace,
    symbol: str,
    structure: TreeDef,
    avals: Sequence[Aval],
    out_structure: TreeDef,
    results: Sequence[Tracer],
    *,
    public: bool = False,
) -> TracedFunction:
    """The function whose ops a trace has recorded, added to its program."""
    assert trace.program is not None
    # not its constructor, which asks of a tuple whether it is one of all classes of operations: a millisecond
    trace.block.add_op(ReturnOp.create(operands=[r.value for r in results]))
    types = [a.type for a in trace.block.args], [r.value.type for r in results]
    op = FuncOp(symbol, types, Region(trace.block), "public" if public else "private")
    if trace.location is not None:
        op.location = trace.location
    trace.program.module.body.block.add_op(op)
    out_avals = tuple(Aval(r.dtype, r.shape, r.weak) for r in results)
    return TracedFunction(structure, tuple(avals), out_structure, out_avals, [held for held, _ in trace.captured], op)


def _refuse_lists_of_numbers(structure: TreeDef, avals: Sequence[Aval], paths: Sequence[str] | None) -> None:
    # [1.0, 2.0] * 2 would repeat a list of scalars where an array was meant
    def visit(node: TreeDef, first: int) -> None:
        if node.kind is list and node.children and all(c.kind is None for c in node.children):
            if all(aval.weak for aval in avals[first : first + len(node.children)]):
                name = "an argument" if paths is None else f"argument {paths[first].removesuffix('[0]')}"
                raise TypeError(f"{name} is a list of numbers: pass np.array(...), or a tuple for separate scalars")
        for child in node.children:
            visit(child, first)
            first += child.num_leaves

    visit(structure, 0)


def _hint(path: str) -> str | None:
    hint = re.sub(r"\W+", "_", path).strip("_")
    return hint if re.fullmatch(r"[A-Za-z_]\w*", hint) else None


def _result(trace: Trace, leaf: Any, structure: TreeDef, k: int, name: str) -> Tracer:
    try:
        return trace.lift(leaf)
    except TypeError as error:
        if isinstance(error, LaminaError):
            raise located(error) from None
        path = structure.paths("result")[k]
        if inspect.iscoroutine(leaf) or inspect.isasyncgen(leaf) or inspect.isgenerator(leaf):
            if not inspect.isasyncgen(leaf):
                leaf.close()  # it would warn that it was never awaited
            what = "a generator" if inspect.isgenerator(leaf) else "an async function"
            remedy = "return a list" if inspect.isgenerator(leaf) else "await around a plain function that computes"
            raise TypeError(f"{name}() is {what}, which cannot be traced: {remedy}") from None
        raise TypeError(f"{name}() must return arrays, {path} is {type(leaf).__name__}: {leaf!r:.60}") from None


def call_function(traced: TracedFunction, leaves: Sequence[Tracer]) -> Any:
    """Call a function of the current trace's program; the result in its structure."""
    trace = staging()
    operands = [*leaves, *(trace.lift(x) for x in traced.captured)]
    op = CallOp(traced.name, [x.value for x in operands], list(traced.op.function_type.outputs))
    trace.builder.insert(op)
    return traced.out_structure.unflatten(
        Tracer(trace, value, aval.shape, aval.dtype, aval.weak)
        for value, aval in zip(op.results, traced.out_avals, strict=True)
    )


def staging() -> Trace:
    """The current trace, which must be of a function."""
    trace = current()
    if trace is None or trace.program is None:
        raise TracingError("this needs a function under trace")
    return trace


def is_staging() -> bool:
    """Whether a function is being traced on this thread."""
    trace = current()
    return trace is not None and trace.program is not None

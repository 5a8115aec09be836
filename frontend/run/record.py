"""`lm.record`: the dynamic graph of one run with the value of every node, and programs derived from it.

A run is recorded as a transformation records it (`concrete_values.py`), and all nodes are evaluated. Tangents and adjoints of
the nodes come from a program derived from the graph: for tangents it returns every node, for adjoints a number is added to
every node and the program is differentiated with respect to it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.operations import clone
from ...errors import DifferentiationError, LaminaError, TracingError
from ...runtime.array import as_array
from ...runtime.arrays import plain
from ..trace.concrete_values import run_all
from ..trace.locations import located
from ..trace.program import Aval, Program, abstract, argument_paths, is_staging, trace_function
from ..trace.promotion import is_inexact_dtype
from ..trace.pytree import TreeDef, flatten
from ..trace.tracer import Read
from ..trace.tracing import current
from . import record_programs, record_text
from .lowered import Lowered
from .record_programs import Copy

Array = np.ndarray[Any, Any]


@dataclass
class Node:
    """A value of the run.

    Attributes:
        name: `v1`, `v2` ...; of the `n` arguments `v-n+1` to `v0`; of arrays that the function reads beside them `c1` ...
        expression: its expression in names of nodes: `v1 + v2`; of an argument, its name.
        operands: names of the nodes that it is computed from.
        place: file, line and column of the user's expression.
        value: the array, read-only.
        tangent, adjoint: arrays, once there was a forward or backward run; None of integers.
    """

    name: str
    expression: str
    operands: tuple[str, ...]
    place: tuple[str, int, int] | None
    value: Array
    tangent: Array | None = None
    adjoint: Array | None = None


def record(function: Callable[..., Any], *args: Any, grad: bool = False, **kwargs: Any) -> Record:
    """Run a function once and keep its graph, with the values of all nodes.

    `if`, `while`, `float()` and the like work, as in un-jitted `grad`: the graph is that of the run which the values chose.
    A function that `jit` made is recorded as the Python function that it is made from.

    Args:
        function: any function of trees of arrays and numbers.
        args, kwargs: where to run it.
        grad: whether to run `backward()` at once.

    Returns:
        A `Record`; printed it is the evaluation trace: a node a line, with its value and the user's line.

    Raises:
        TracingError: in a function under trace, where there are no values.

    >>> import lamina as lm, lamina.numpy as lnp
    >>> run = lm.record(lambda x1, x2: lnp.log(x1) + x1 * x2 - lnp.sin(x2), 2.0, 5.0, grad=True)
    >>> print(run.text(places=False))
           node       value  adjoint
      v-1  x1             2      5.5
       v0  x2             5    1.716
       v1  log(v-1)   0.693        1
       v2  v-1 * v0      10        1
       v3  v1 + v2   10.693        1
       v4  sin(v0)   -0.959       -1
       v5  v3 - v4   11.652        1
        y  v5        11.652        1
    """
    if is_staging():
        raise located(TracingError("lm.record needs values: call it outside of functions under trace"))
    try:
        made = Record(inspect.unwrap(function), args, kwargs)
        if grad:
            made.backward()
    except LaminaError as error:
        raise located(error) from None
    return made


class Record:
    """The result of `lm.record`.

    Attributes:
        nodes: the values of the run in order: arguments, arrays that the function has closed over, results of ops.
        result: the result of the function.
        outputs: the names of the nodes that it returned, by their paths: `{"y": "v5"}`.
        frozen: the values that Python has read; the graph holds only for runs in which it reads the same ones.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]):
        self.name = getattr(function, "__name__", "fn")
        leaves, structure = flatten((args, kwargs))
        paths = argument_paths(function, structure)
        avals = [abstract(leaf, f"record({self.name}) argument {path}") for leaf, path in zip(leaves, paths, strict=True)]
        # copies: the function, or whoever holds the arrays, may change them
        self._arguments = [np.array(x, aval.dtype, order="C") for x, aval in zip(leaves, avals, strict=True)]
        self._structure, self._paths = structure, paths
        self._program = Program()
        reads: list[Read] = []
        values: dict[SSAValue, Array] = {}

        def recorded(*args: Any, **kwargs: Any) -> Any:
            trace = current()
            assert trace is not None
            trace.reads = reads
            out = function(*args, **kwargs)
            for leaf in flatten(out)[0]:
                trace.lift(leaf)  # arrays that are returned as they are
            run_all(trace)
            values.update(trace.values)
            return out

        recorded.__name__ = self.name
        recorded.__wrapped__ = function  # pyright: ignore[reportFunctionMemberAccess]
        self._traced = trace_function(
            self._program, recorded, structure, avals, name="main", paths=paths, public=True, known=self._arguments
        )
        self.frozen = tuple(reads)
        graph = record_text.Names(self._traced.op.body.block, paths)
        self._values = graph.values
        self.nodes = tuple(Node(*facts, value=values[v]) for v, facts in zip(graph.values, graph.facts, strict=True))
        self._by_name = {node.name: node for node in self.nodes}
        out = self._traced.out_structure
        ends = graph.end.operands
        self.outputs = dict(zip(out.paths("y"), map(graph.operand, ends), strict=True))
        self.result = out.unflatten([as_array(values[value].copy()) for value in ends])

    def __getitem__(self, name: str) -> Node:
        """The node of a name, `run["v3"]`."""
        return self._by_name[name]

    def find(self, name: str) -> Node | None:
        """The node of a name; None for a constant."""
        return self._by_name.get(name)

    def __repr__(self) -> str:
        return self.text()

    def text(self, places: bool = True) -> str:
        """The run as a table: a node a line, with its value, its tangent and adjoint once they are known, and the user's line;
        then the frozen values. Arrays are shown by their type, least element, mean and greatest element.

        Args:
            places: whether to show lines.
        """
        return record_text.table(self, places)

    def picture(self, path: str | Path | None = None) -> str:
        """The graph in the DOT language.

        Args:
            path: a file to write; an `.svg`, `.png` or `.pdf` is drawn by graphviz's `dot`, if it is installed, else by
                networkx and matplotlib, any other file gets the text.

        Raises:
            ImportError: nothing is there to draw with.
        """
        return record_text.picture(self, None if path is None else Path(path))

    # -- derivatives

    def backward(self, seed: Any = 1) -> Any:
        """Get the adjoint of each node: the derivative of the result by it, along `seed`.

        Args:
            seed: a number or an array like the result, a tree for a tree of results.

        Returns:
            The gradient by the arguments: a tuple, of one tree for each argument that was given by position; None of integers.

        Raises:
            DifferentiationError: `seed` is not like the result, or an op of the run has no derivative.
        """
        ends = self._traced.out_avals
        seeds = _like(seed, self._traced.out_structure, ends, "seed")
        floats = [k for k, aval in enumerate(ends) if is_inexact_dtype(aval.dtype)]
        if not floats:
            raise DifferentiationError(f"backward of {self.name} needs a float result, got {', '.join(map(str, ends))}")
        wrt, results = record_programs.adjoints(self.graph_copy(), [seeds[k] for k in floats], self._inputs(), floats)
        for node in self.nodes:
            node.adjoint = None
        for k, adjoint in zip(wrt, results, strict=True):
            self.nodes[k].adjoint = adjoint
        return self._of_arguments([node.adjoint for node in self.nodes])

    def forward(self, *tangents: Any) -> Any:
        """Get the tangent of each node: its derivative along `tangents`, one like each argument that was given by position.

        Returns:
            The tangent of the result, a tree like it; None of integers.

        Raises:
            DifferentiationError: tangents are not like the arguments, or an op of the run has no derivative.
        """
        n = len(self._structure.children[0].children)
        if len(tangents) != n:
            raise DifferentiationError(f"forward of {self.name} takes {n} tangents, one for each argument, got {len(tangents)}")
        avals = self._traced.avals
        vectors: list[Array] = []
        for tangent, structure in zip(tangents, self._structure.children[0].children, strict=True):
            first = len(vectors)
            vectors += _like(tangent, structure, avals[first : first + structure.num_leaves], "tangent")
        floats, results, moved = record_programs.tangents(self.graph_copy(), vectors, self._inputs())
        for node in self.nodes:
            node.tangent = None
        for k, tangent in zip(floats, moved, strict=True):
            self.nodes[k].tangent = tangent
        return self._traced.out_structure.unflatten([None if x is None else as_array(x) for x in results])

    def _inputs(self) -> list[Array]:
        return [*self._arguments, *(plain(x, x.dtype) for x in self._traced.captured)]

    def _of_arguments(self, arrays: Sequence[Any]) -> Any:
        given = self._structure.children[0]
        return given.unflatten([None if x is None else as_array(x) for x in arrays[: given.num_leaves]])

    # -- static forms

    @property
    def graph(self) -> ModuleOp:
        """The run as a module of the graph dialect, a fresh copy; its entry is `@main`."""
        return clone(self._program.module)

    def jit(self, check: bool = False) -> Static:
        """The run as a static function, compiled for arguments of the same structure, dtypes and shapes.

        It takes the branches of this run for all arguments: `frozen` names them.

        Args:
            check: whether a call raises `CheckError` where Python would have read another value than it did in this run: for a
                condition, another truth, for `int()`, another integer, else any other value.
        """
        program, found = copy.copy(self._program), self.graph_copy()
        program.module = found.module
        for read in self.frozen if check else ():
            record_programs.add_check(read, found.mapping[read.of])
        return Static(Lowered(program, self._traced, self.name, self._paths), self.frozen)

    def graph_copy(self) -> Copy:
        """A copy of the graph, to be changed."""
        return Copy.of(self._program, self._values)


class Static:
    """A static function that a record was turned into: call it with arguments of the recorded structure, dtypes and shapes.

    Attributes:
        frozen: the values that Python had read, which the function therefore assumes.
    """

    def __init__(self, lowered: Lowered, frozen: Sequence[Read]):
        self._lowered = lowered
        self._compiled = lowered.compile()
        self.frozen = tuple(frozen)
        self.__name__ = lowered.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def as_text(self, phase: str = "graph") -> str:
        """The program at a phase, as that of `jit`."""
        return self._lowered.as_text(phase)

    def __repr__(self) -> str:
        return "\n".join([f"<static {self._compiled!r}>", *record_text.frozen(self.frozen)])


def _like(tree: Any, structure: TreeDef, avals: Sequence[Aval], what: str) -> list[Array]:
    """The leaves of a tree that must have a structure and shapes, in the dtypes of `avals`."""
    leaves, found = flatten(tree)
    if found != structure:
        raise DifferentiationError(f"{what} must have the structure {structure}, got {found}")
    arrays = []
    for leaf, aval, path in zip(leaves, avals, structure.paths(), strict=True):
        array = np.asarray(leaf)
        if array.shape != aval.shape:
            raise DifferentiationError(f"{what}{path} must be {aval}, got {abstract(leaf)}: give an array of its shape")
        arrays.append(plain(array.astype(aval.dtype, copy=False), aval.dtype))
    return arrays

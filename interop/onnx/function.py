"""`from_onnx`: a model as a function of arrays."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import NameLoc, NoneAttr, StringAttr
from xdsl.dialects.func import FuncOp

from ...api import TensorSpec, Tracer, is_traced
from ...api.functions import jit, make_graph
from ...api.sizes import dim
from .errors import OnnxError, UnknownValue
from .functions import check_calls
from .model import LARGEST_DIM, Model, read_model
from .nodes import Node, Spec
from .run import Scope, run_node
from .sizes import DimNames, texts_of
from .values import is_storable


class OnnxFunction:
    """A model as a function: call it with arrays, in the order of its inputs or by their names.

    A call is compiled for the shapes of its arguments; dims that the model gives a name are symbolic, so that one compilation
    serves all of their sizes. Ops whose results have sizes that depend on values, as NonZero, run between compiled programs.
    Within `jit`, `grad` and `vmap` the function takes part as one that is written in Python.

    Attributes:
        inputs: name, dtype and sizes of each input.
        outputs: the same of each output.
        parameters: the weights of floats, by name; `apply` takes others.
    """

    def __init__(self, model: Model, name: str):
        graph = model.graph
        self.model, self.__name__ = model, name
        self.inputs = [s for s in graph.inputs if s.name not in graph.constants]
        self.optional = [s for s in graph.inputs if s.name in graph.constants]
        self.outputs = graph.outputs
        self.parameters = {n: x for n, x in graph.constants.items() if x.ndim and np.dtype(x.dtype).kind == "f"}
        names = _identifiers([s.name for s in self.inputs])
        self.dims = DimNames(texts_of([s.shape for s in self.inputs]))
        self.dynamic = _dynamic(dict(zip(names, self.inputs, strict=True)), self.dims) or None
        """The symbolic sizes of the inputs, as `jit` takes them."""
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
        self.__signature__ = inspect.Signature(parameters)
        self.cuts: set[int] = set()
        """Nodes that need the value of an input, and run by themselves."""
        self.segments: list[_Segment] | None = None

    def __repr__(self) -> str:
        return f"<OnnxFunction {self.__name__}({', '.join(map(str, self.inputs))}) -> {', '.join(map(str, self.outputs))}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        values = self._bound(args, named)
        if is_traced(values):
            return self._results(self._evaluated(values))
        return self._results(self._run(values))

    def apply(self, parameters: Mapping[str, Any], *args: Any, **named: Any) -> Any:
        """The function with other weights, which may be traced: for derivatives by them.

        Args:
            parameters: arrays by name; weights that are not among them keep their values.

        Raises:
            OnnxError: a name is not one of `parameters`.
        """
        unknown = parameters.keys() - self.model.graph.constants.keys()
        if unknown:
            raise OnnxError(f"{self.__name__} has no weights {sorted(unknown)}")
        return self._results(self._evaluated(self._bound(args, named), parameters))

    def lower(self, *args: Any) -> Any:
        """The graph of the model for arrays or `TensorSpec`s, as `jit(f).lower`.

        Raises:
            OnnxError: the model is not one program, because an op needs values.
        """
        segments = self._split()
        while True:
            if len(segments) != 1:
                nodes = [self.model.graph.nodes[i].where for i in sorted(self.cuts)]
                raise OnnxError(f"{self.__name__} is not one program: values are needed by {', '.join(nodes)}")
            try:
                return segments[0].program.lower(*args)
            except UnknownValue as error:
                segments = self._cut(segments[0], error)

    def module(self) -> Any:
        """The graph of the model as a module with the entry `@main`: weights are constants, dims with a name symbolic sizes.

        Ops have the names of their nodes as locations. A dim without a name is called by its input and axis, `x_0`.

        Raises:
            OnnxError: an input is no array or of unknown rank, or the model is not one program, because an op needs values.
        """
        specs, words = [], _words(self.inputs)
        for s in self.inputs:
            if s.shape is None or s.dtype is None:
                raise OnnxError(f"{self.__name__} takes {s}, for which the model says no type and sizes: call it with an array")
            if not is_storable(s.dtype):
                raise OnnxError(f"{self.__name__} takes input {s}, and programs have no arrays of {np.dtype(s.dtype).name}")
            shape = [dim(identifier(f"{s.name}_{k}")) if n is None else n for k, n in enumerate(s.shape)]
            specs.append(TensorSpec([self.dims.symbolic(n, words) if isinstance(n, str) else n for n in shape], s.dtype))
        try:
            module = make_graph(_Segment(self, 0, len(self.model.graph.nodes)).function_of_arrays)(*specs)
        except UnknownValue as error:
            raise OnnxError(f"{self.__name__} is not one program: {error}") from error
        for function in module.body.block.ops:
            if isinstance(function, FuncOp) and function.sym_name.data == "main":
                function.location = NameLoc(StringAttr(self.__name__), NoneAttr())
        return module

    # ----------------------------------------------------------------------------------------------------------------

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        if len(args) > len(self.inputs):
            raise OnnxError(f"{self.__name__} takes {len(self.inputs)} arrays, got {len(args)}")
        given = {s.name: x for s, x in zip(self.inputs, args, strict=False)}
        for name, x in named.items():
            spec = next((s for s in self.inputs if name in (s.name, identifier(s.name))), None)
            if spec is None or spec.name in given:
                what = "twice" if spec else f"which is none of {', '.join(s.name for s in self.inputs)}"
                raise OnnxError(f"{self.__name__} got {name!r}, {what}")
            given[spec.name] = x
        missing = [s.name for s in self.inputs if s.name not in given and s.kind != "optional"]
        if missing:
            raise OnnxError(f"{self.__name__} needs {', '.join(missing)}")
        sizes: dict[str, Any] = {}
        values = [_checked(self.__name__, s, given.get(s.name), sizes) for s in self.inputs]
        for text in self.dims.expressions:
            wanted = self.dims.size(text, sizes)
            if text in sizes and wanted is not None and sizes[text] != wanted:
                spec = next(s for s in self.inputs if text in (s.shape or ()))
                raise OnnxError(f"{self.__name__} takes {spec}, got the size {sizes[text]} for {text}, which is {wanted}")
        return values

    def _results(self, values: Sequence[Any]) -> Any:
        return values[0] if len(values) == 1 else tuple(values)

    def _scope(self, values: Sequence[Any], parameters: Mapping[str, Any] | None = None) -> Scope:
        scope = Scope()
        scope.update(self.model.graph.constants)
        scope.update(parameters or {})
        scope.update({s.name: x for s, x in zip(self.inputs, values, strict=True)})
        return scope

    def _evaluated(self, values: Sequence[Any], parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """All nodes, within the trace of a caller."""
        scope = self._scope(values, parameters)
        for node in self.model.graph.nodes:
            scope.update(zip(node.outputs, run_node(node, [scope[n] for n in node.inputs], scope), strict=False))
            scope[""] = None
        return [scope[s.name] for s in self.outputs]

    def _run(self, values: Sequence[Any]) -> list[Any]:
        """One compiled program after the other, and between them the nodes that need values."""
        segments = self._split()
        scope = self._scope(values)
        i = 0
        while i < len(segments):
            try:
                segments[i].run(scope)
            except UnknownValue as error:
                segments = self._cut(segments[i], error)
                continue  # the first part of what has failed stands at the same position
            i += 1
        return [_owned(scope[s.name]) for s in self.outputs]

    def _cut(self, segment: _Segment, error: UnknownValue) -> list[_Segment]:
        """Segments in which the node that needs a value runs by itself."""
        position = segment.stopped
        if position is None or position in self.cuts:
            raise error
        self.cuts.add(position)
        before, self.segments = self.segments or [], None
        kept = {(s.first, s.last, s.alone): s for s in before}
        self.segments = [kept.get((s.first, s.last, s.alone), s) for s in self._split()]
        return self.segments

    def _split(self) -> list[_Segment]:
        if self.segments is None:
            nodes, segments, start = self.model.graph.nodes, [], 0
            for i in [*sorted(self.cuts), len(nodes)]:
                if i > start or not nodes:
                    segments.append(_Segment(self, start, i))
                if i < len(nodes):
                    segments.append(_Segment(self, i, i + 1, alone=True))
                start = i + 1
            self.segments = segments or [_Segment(self, 0, 0)]
        return self.segments


class _Segment:
    """Neighbouring nodes: one compiled program, or one node by itself."""

    def __init__(self, function: OnnxFunction, first: int, last: int, alone: bool = False):
        graph = function.model.graph
        self.function, self.first, self.last, self.alone = function, first, last, alone
        self.nodes = graph.nodes[first:last]
        self.stopped: int | None = None
        """The node at which tracing ended, because it needs a value."""
        made = {name for node in self.nodes for name in node.outputs if name}
        whole = first == 0 and last == len(graph.nodes)
        uses = _used(self.nodes)
        self.given = [s.name for s in function.inputs if whole or s.name in uses]
        earlier = [o for node in graph.nodes[:first] for o in node.outputs if o and o in uses]
        self.given += earlier
        later = _used(graph.nodes[last:]) | {s.name for s in function.outputs}
        if whole:
            self.made = [s.name for s in function.outputs]
        else:
            self.made = [name for node in self.nodes for name in node.outputs if name in later and name in made]
        specs = {s.name: s for s in function.inputs}
        self.names = _identifiers(self.given)
        dynamic = (
            {}
            if alone
            else _dynamic({n: specs[g] for n, g in zip(self.names, self.given, strict=True) if g in specs}, function.dims)
        )

        def program(*values: Any) -> Any:
            return tuple(self.traced(values))

        program.__name__ = program.__qualname__ = function.__name__
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in self.names]
        program.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
        self.function_of_arrays: Callable[..., Any] = program
        self.program = jit(program, dynamic=dynamic or None)

    def traced(self, values: Sequence[Any]) -> list[Any]:
        """The outputs, for values of the inputs."""
        scope = Scope()
        scope.update(self.function.model.graph.constants)
        scope.update(zip(self.given, values, strict=True))
        for position, node in enumerate(self.nodes, self.first):
            try:
                results = run_node(node, [scope[n] for n in node.inputs], scope)
            except UnknownValue:
                self.stopped = position
                raise
            scope.update((n, x) for n, x in zip(node.outputs, results, strict=False) if n)
        return [scope[n] for n in self.made]

    def run(self, scope: Scope) -> None:
        """Compute the outputs into a scope of arrays."""
        given = [scope[n] for n in self.given]
        by_itself = self.alone or not all(isinstance(x, np.ndarray) and is_storable(x.dtype) for x in given)
        scope.update(zip(self.made, self.traced(given) if by_itself else self.program(*given), strict=True))


def _used(nodes: Sequence[Node]) -> set[str]:
    """Names that nodes use, those of their bodies included."""
    names: set[str] = set()
    for node in nodes:
        names |= {n for n in node.inputs if n}
        for body in node.subgraphs():
            names |= body.free_names()
    return names


def _words(specs: Iterable[Spec]) -> dict[str, str]:
    """A word of Python for each symbolic size."""
    return {text: identifier(text) for text in texts_of([spec.shape for spec in specs])}


def _dynamic(specs: Mapping[str, Spec], dims: DimNames) -> dict[str, tuple[Any, ...]]:
    """The symbolic sizes of inputs, as `jit` takes them."""
    made, words = {}, _words(specs.values())
    for name, spec in specs.items():
        if spec.shape and any(isinstance(n, str) for n in spec.shape):
            made[name] = tuple(dims.symbolic(n, words) if isinstance(n, str) else None for n in spec.shape)
    return made


def identifier(name: str) -> str:
    """A name as a word of Python: other characters become `_`."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    word = word if word and not word[0].isdigit() else f"_{word}"
    return f"{word}_" if keyword.iskeyword(word) or word in ("floordiv", "max") else word


def _identifiers(names: Sequence[str]) -> list[str]:
    made: list[str] = []
    for name in names:
        word = identifier(name)
        while word in made:
            word += "_"
        made.append(word)
    return made


def _checked(function: str, spec: Spec, x: Any, sizes: dict[str, Any]) -> Any:
    """An argument as the model's input, after its type and sizes are compared."""
    if x is None or spec.kind == "sequence" or (isinstance(x, list) and spec.dtype is None):
        return x
    if not isinstance(x, Tracer):
        held = np.asarray(x)
        if spec.dtype is not None and held.dtype != spec.dtype:
            if hasattr(x, "dtype") and not np.can_cast(held.dtype, spec.dtype, "safe"):
                raise OnnxError(f"{function} takes {spec}, got dtype {held.dtype.name}")
            held = held.astype(spec.dtype)
        x = held if not isinstance(x, np.ndarray) or x.dtype != held.dtype else x
    elif spec.dtype is not None and x.dtype != spec.dtype:
        if not (x.weak or np.can_cast(x.dtype, spec.dtype, "safe")):
            raise OnnxError(f"{function} takes {spec}, got dtype {x.dtype.name}")
        x = x.astype(spec.dtype)
    if spec.shape is None:
        return x
    fits = len(x.shape) == len(spec.shape)
    for n, wanted in zip(x.shape, spec.shape, strict=False):
        if isinstance(wanted, int):
            fits = fits and (not isinstance(n, int) or n == wanted)
        elif isinstance(wanted, str):
            fits = fits and (sizes.setdefault(wanted, n) == n)
    if not fits:
        raise OnnxError(f"{function} takes {spec}, got shape {list(x.shape)}")
    return x


def _owned(x: Any) -> Any:
    """A result that shares no memory with weights or arguments, as what NumPy computes between programs may."""
    if isinstance(x, list):
        return [_owned(v) for v in x]
    return x.copy() if type(x) is np.ndarray else x


def from_onnx(source: Any, dims: Mapping[str, int] | None = None) -> OnnxFunction:
    """An ONNX model as a function of arrays.

    Args:
        source: the path of a model, its bytes, or an `onnx.ModelProto`. Weights in other files lie within its folder.
        dims: sizes for dims of inputs that have a name in the model, as `{"batch": 4}`; a dim without a name is called by
            its input and axis, `x_0`. Others stay symbolic.

    Returns:
        A function of the model's inputs. It may be called, and used in `jit`, `grad`, `vmap` and `lower`, as any other.

    Raises:
        OnnxError: the package `onnx` is missing, or the model is malformed, too large, or has an op that is not supported; or
            `dims` names no dim.

    >>> import numpy as np, onnx, lamina as lm
    >>> node = onnx.helper.make_node("Relu", ["x"], ["y"])
    >>> of = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 3])
    >>> f = lm.from_onnx(onnx.helper.make_model(onnx.helper.make_graph([node], "f", [of("x")], [of("y")])))
    >>> f(np.float32([[1, -2, 3]]))
    array([[1., 0., 3.]], dtype=float32)
    """
    model = read_model(source)
    check_calls({(f.domain, f.name): f for f in model.proto.functions})
    if dims:
        model.graph.inputs = _sized(model.graph.inputs, dims)
    name = identifier(model.graph.name) if model.graph.name else "model"
    return OnnxFunction(model, name)


def _sized(inputs: Sequence[Spec], dims: Mapping[str, int]) -> list[Spec]:
    """Inputs with numbers for some of their symbolic sizes."""
    known: set[str] = set()
    expressions = DimNames(texts_of([spec.shape for spec in inputs]))
    made = []
    for spec in inputs:
        names = [f"{spec.name}_{k}" if n is None else n for k, n in enumerate(spec.shape or ())]
        known |= {n for n in names if isinstance(n, str)}
        found = [
            (dims.get(name) if name in dims else expressions.size(name, dims)) if isinstance(name, str) else None
            for name in names
        ]
        sizes = tuple([n if size is None else size for size, n in zip(found, spec.shape or (), strict=True)])
        made.append(spec if spec.shape is None else replace(spec, shape=sizes))
    for name, size in dims.items():
        if name not in known:
            raise OnnxError(f"no input has a dim {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= LARGEST_DIM:
            raise OnnxError(f"dim {name!r} needs a size from 0 to {LARGEST_DIM}, got {size!r}")
    return made

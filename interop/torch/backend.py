"""`torch.compile(model, backend="lamina")`: graphs of ATen's ops, forward and backward ones of AOTAutograd, as programs.

torch finds `lamina` by the entry point of the package. Tensors and arrays are of one memory on both sides: nothing is copied at
the border, unless the elements of an argument are not in order.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from ...api.dtypes import INT64
from ...api.errors import LaminaError
from ...api.functions import jit
from ...library.numpy import namespace as lnp
from .errors import UnsupportedOp
from .run import load_ops, node_function, run_graph, where
from .sizes import dynamic_sizes
from .tensors import as_numpy, as_tensor, is_tensor


class LaminaFallback(UserWarning):
    """A graph of `torch.compile` runs op by op in torch, because it has something that is not supported; it says what."""


def lamina(module: Any, examples: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend of `torch.compile`: what computes a graph that dynamo has captured.

    In training AOTAutograd makes a forward and a backward graph of it. A graph with an op that is not supported runs in torch,
    with a warning `LaminaFallback` that names the op.

    Args:
        module: the graph, a `torch.fx.GraphModule` of torch's functions.
        examples: its arguments, as fake tensors.
        options: none are known.

    Raises:
        TypeError: there are options.

    >>> import torch
    >>> from lamina.interop.torch.backend import lamina
    >>> f = torch.compile(lambda x: torch.relu(x) * 2, backend=lamina)
    >>> f(torch.tensor([1.0, -1.0]))
    tensor([2., 0.])
    """
    if options:
        raise TypeError(f"the backend lamina has no options {sorted(options)}")
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def compiler(graph: Any, inputs: Sequence[Any]) -> Any:
        return make_boxed_func(compiled_graph(graph))

    made = aot_autograd(fw_compiler=compiler, bw_compiler=compiler, decompositions=_decompositions())
    with _attention_of(examples):
        return made(module, examples)


def _attention_of(examples: Sequence[Any]) -> AbstractContextManager[Any]:
    """In training, attention as products and a softmax: torch's op for it keeps sums that only its own backward op reads."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    trains = torch.is_grad_enabled() and any(is_tensor(x) and x.requires_grad for x in examples)
    return sdpa_kernel(SDPBackend.MATH) if trains else nullcontext()


@cache
def _decompositions() -> dict[Any, Any]:
    """torch's way to the core ops, and dropout by a mask, which is drawn as torch draws it where it does not compile."""
    import torch
    from torch._decomp import core_aten_decompositions

    def native_dropout(x: Any, p: float, train: bool | None) -> Any:
        if not train or p == 0:
            return x, torch.ones_like(x, dtype=torch.bool)
        if p == 1:
            return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
        mask = torch.ops.aten.bernoulli.p(x, 1 - p)
        return x * (mask / (1 - p)), mask.to(torch.bool)

    return {**core_aten_decompositions(), torch.ops.aten.native_dropout.default: native_dropout}


def compiled_graph(module: Any) -> Callable[..., Any]:
    """A graph of ATen's ops as a function of tensors; in torch if it has an op that is not supported."""
    load_ops()
    try:
        return GraphProgram(module)
    except LaminaError as error:
        return _fallen_back(module, error)


def _fallen_back(module: Any, error: LaminaError) -> Callable[..., Any]:
    warnings.warn(f"a graph runs in torch: {error}", LaminaFallback, stacklevel=2)
    return module.forward


class GraphProgram:
    """A graph as a program: takes and returns what the graph does.

    Numbers of torch's generator are drawn by torch, in the order of the graph, and are arguments of the program.

    Raises:
        UnsupportedOp: an op of the graph has no function.
    """

    def __init__(self, module: Any):
        nodes = list(module.graph.nodes)
        self.module = module
        self._drawn = [n for n in nodes if _draws(n)]
        for node in nodes:
            if node.op == "call_function" and node not in self._drawn:
                _check(node)
        self._inputs = [n for n in nodes if n.op == "placeholder"]
        specs = {n.name: n.meta.get("val") for n in (*self._inputs, *self._drawn)}
        self._arrays = [n.name for n in self._inputs if is_tensor(specs[n.name])]
        self._numbers = {n.name: specs[n.name] for n in self._inputs if not is_tensor(specs[n.name])}
        self._results = _results(nodes[-1])
        self._views = _views(self._results, self._inputs)
        """Results that share memory: torch makes views of the base, which is one of the program's outputs."""
        self._made = list(dict.fromkeys([self._views.get(i, (n, ()))[0] for i, n in enumerate(self._results)]))
        self._outputs = [n.meta.get("val") if hasattr(n, "meta") else n for n in self._made]
        self._orders = [_order(v) for v in self._outputs]
        ranges = _ranges(specs.values())
        given = {n: specs[n] for n in (*self._arrays, *[d.name for d in self._drawn])}
        self._dynamic = dynamic_sizes(given, ranges)
        self._places = _places(given)
        self._names, self._fixed = list(given), [n for n, v in self._numbers.items() if not self._bound(v)]
        self._programs: dict[tuple[Any, ...], Any] = {}
        self._other: Callable[..., Any] | None = None

    def _bound(self, number: Any) -> bool:
        """Whether a number is a size that arrays have."""
        return hasattr(number, "node") and number.node.expr.is_Symbol and str(number.node.expr) in self._places

    def __call__(self, *args: Any) -> Any:
        if self._other is not None:
            return self._other(*args)
        values = dict(zip([n.name for n in self._inputs], args, strict=True))
        fixed = tuple(values[n] for n in self._fixed)
        arrays = [as_numpy(values[n]) for n in self._arrays]
        drawn = self._draw(values) if self._drawn else []
        try:
            program = self._programs.get(fixed)
            if program is None:
                program = self._programs[fixed] = self._program(fixed)
            made = program(*arrays, *map(as_numpy, drawn))
        except LaminaError as error:  # an op is refused when it is traced
            if self._programs.pop(fixed, None) is None and not isinstance(error, UnsupportedOp):
                raise
            self._other = _fallen_back(self.module, error)
            return self._other(*args)
        found = {n: self._result(*row) for n, *row in zip(self._made, self._outputs, self._orders, made, strict=True)}
        return [self._seen(i, n, found) for i, n in enumerate(self._results)]

    def _seen(self, i: int, node: Any, found: Mapping[Any, Any]) -> Any:
        base, chain = self._views.get(i, (node, ()))
        tensor = found[base]
        for view in chain:
            tensor = view.target(tensor, *view.args[1:], **view.kwargs)
        return tensor

    def _program(self, fixed: Sequence[Any]) -> Any:
        """The program for numbers that are no sizes of arrays."""
        constants = dict(zip(self._fixed, fixed, strict=True))

        def graph(*arrays: Any) -> Any:
            values = dict(zip(self._names, arrays, strict=True))
            inputs = [self._input(n.name, values, constants) for n in self._inputs]
            drawn = {n: values[n.name] for n in self._drawn}
            made = run_graph(self.module, inputs, drawn, self._made)
            return tuple(_in_memory(x, order) for x, order in zip(made, self._orders, strict=True))

        names = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in self._names]
        graph.__signature__ = inspect.Signature(names)  # pyright: ignore[reportFunctionMemberAccess]
        return jit(graph, dynamic=self._dynamic or None, capture="trace")

    def _input(self, name: str, arrays: Mapping[str, Any], constants: Mapping[str, Any]) -> Any:
        if name in arrays:
            return arrays[name]
        if name in constants:
            return constants[name]
        array, dim = self._places[str(self._numbers[name].node.expr)]
        return arrays[array].shape[dim]

    def _draw(self, values: Mapping[str, Any]) -> list[Any]:
        """Numbers of torch's generator, by torch's own ops on tensors of the same shapes."""
        import torch

        known = {s: values[array].shape[d] for s, (array, d) in self._places.items() if array in values}
        known |= {str(v.node.expr): values[n] for n, v in self._numbers.items() if hasattr(v, "node")}

        def number(n: Any) -> Any:
            return int(n.node.expr.subs(known)) if hasattr(n, "node") else n

        def argument(x: Any) -> Any:
            x = x.meta["val"] if hasattr(x, "meta") else x
            if isinstance(x, list | tuple):
                return [argument(v) for v in x]
            if is_tensor(x):
                return torch.empty([number(n) for n in x.shape], dtype=x.dtype)
            return number(x)

        with torch.no_grad():
            made = []
            for node in self._drawn:
                made.append(node.target(*[argument(x) for x in node.args], **{k: argument(x) for k, x in node.kwargs.items()}))
            return made

    @staticmethod
    def _result(spec: Any, order: Sequence[int] | None, array: Any) -> Any:
        if spec is None:
            return None
        if not is_tensor(spec):
            return array.item()
        tensor = as_tensor(array)
        return tensor if order is None else tensor.permute([order.index(d) for d in range(len(order))])


_DRAWS = {"rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "bernoulli.p"}
"""Ops of which torch's generator and the shape of their arguments decide alone."""


def _draws(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    name = schema.name.split("::")[1]
    return name in _DRAWS or f"{name}.{node.target._overloadname}" in _DRAWS


def _check(node: Any) -> None:
    """
    Raises:
        UnsupportedOp: no function computes a node.
    """
    try:
        node_function(node)
    except UnsupportedOp as error:
        raise UnsupportedOp(f"{where(node)}: {error}") from None


def _ranges(specs: Any) -> dict[Any, Any]:
    """The bounds of the symbols in sizes, from torch's environment of shapes."""
    for spec in specs:
        for n in (*getattr(spec, "shape", ()), spec):
            if hasattr(n, "node"):
                return dict(n.node.shape_env.var_to_range)
    return {}


def _places(specs: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """For each symbol that is a size, an array and the dim that has it."""
    found: dict[str, tuple[str, int]] = {}
    for name, spec in specs.items():
        for d, n in enumerate(spec.shape):
            if hasattr(n, "node") and n.node.expr.is_Symbol:
                found.setdefault(str(n.node.expr), (name, d))
    return found


def _results(output: Any) -> list[Any]:
    """The nodes, numbers and Nones that a graph returns."""
    results = output.args[0]
    return list(results) if isinstance(results, list | tuple) else [results]


def _views(results: Sequence[Any], inputs: Sequence[Any]) -> dict[int, tuple[Any, list[Any]]]:
    """Results that are views of one array that the graph computes: that array, and the ops in their order."""
    found: dict[int, tuple[Any, list[Any]]] = {}
    for i, node in enumerate(results):
        chain: list[Any] = []
        while getattr(getattr(node, "target", None), "is_view", False) and not any(hasattr(n, "op") for n in _leaves(node)):
            chain.insert(0, node)
            node = node.args[0]
        if hasattr(node, "meta") and node not in inputs and is_tensor(node.meta.get("val")):
            found[i] = (node, chain)
    bases = [base for base, _ in found.values()]
    return {i: row for i, row in found.items() if bases.count(row[0]) > 1}


def _leaves(node: Any) -> list[Any]:
    """The arguments of a node after the first, also those in lists."""
    args = (*node.args[1:], *node.kwargs.values())
    return [v for x in args for v in (x if isinstance(x, list | tuple) else [x])]


def _order(spec: Any) -> list[int] | None:
    """The dims of a result from the outermost in memory, or None where that is their order.

    AOTAutograd makes views of results by the strides that it knows, so memory must be as torch's would be.
    """
    if not is_tensor(spec):
        return None
    strides = [_hint(s) for s in spec.stride()]
    if None in strides or any(n == 0 for n in map(_hint, spec.shape)):
        return None
    order = sorted(range(len(strides)), key=lambda d: -strides[d])
    return None if order == sorted(order) else order


def _hint(n: Any) -> Any:
    return n if isinstance(n, int) else getattr(n.node, "hint", None)


def _in_memory(x: Any, order: Sequence[int] | None) -> Any:
    """An output as the program returns it: with the dims of torch's memory in order; None and numbers as arrays."""
    if x is None:
        return np.zeros((), np.int64)
    if not hasattr(x, "shape"):
        return lnp.asarray(x, dtype=None if isinstance(x, bool | float) else INT64)
    return x if order is None else lnp.transpose(x, tuple(order))

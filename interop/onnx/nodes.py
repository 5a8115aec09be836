"""Nodes and graphs of a model, and the table of functions that compute nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import OnnxError


@dataclass(frozen=True)
class Node:
    """An op with its attributes; names of values are those of its graph, "" for an input or output that is left out."""

    op: str
    domain: str
    version: int
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    proto: Any = field(repr=False, compare=False)
    functions: Mapping[tuple[str, str], Any] = field(repr=False, compare=False, default_factory=dict)

    @property
    def where(self) -> str:
        """The node as messages name it."""
        return f"node {self.name!r} ({self.op})" if self.name else f"node {self.op} of {', '.join(filter(None, self.outputs))}"

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or the default."""
        return self.attributes.get(name, default)

    def need(self, name: str) -> Any:
        """An attribute without a default.

        Raises:
            OnnxError: it is missing.
        """
        if name not in self.attributes:
            raise OnnxError(f"{self.op} needs attribute {name!r}")
        return self.attributes[name]

    def wants(self, position: int) -> bool:
        """Whether an output is used at all: one that is left out has an empty name."""
        return position < len(self.outputs) and bool(self.outputs[position])

    def subgraphs(self) -> list[Graph]:
        """Graphs among its attributes."""
        found = []
        for value in self.attributes.values():
            found += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, Graph)]
        return found


@dataclass(frozen=True)
class Spec:
    """What a model says of an input or output: a NumPy dtype or None, and sizes, each a number, a name or None; or unknown."""

    name: str
    dtype: Any = None
    shape: tuple[Any, ...] | None = None
    kind: str = "tensor"

    def __str__(self) -> str:
        sizes = "..." if self.shape is None else ", ".join("?" if n is None else str(n) for n in self.shape)
        return f"{self.name}: {self.kind if self.dtype is None else np.dtype(self.dtype).name}[{sizes}]"


@dataclass
class Graph:
    """Nodes in an order in which each value is defined before it is used."""

    name: str
    inputs: list[Spec]
    outputs: list[Spec]
    constants: dict[str, np.ndarray]
    nodes: list[Node]

    def free_names(self) -> set[str]:
        """Values of enclosing graphs that it uses."""
        bound = {s.name for s in self.inputs} | self.constants.keys()
        free: set[str] = set()
        for node in self.nodes:
            used = {n for n in node.inputs if n}
            for inner in node.subgraphs():
                used |= inner.free_names()
            free |= used - bound
            bound |= set(node.outputs)
        return free | {s.name for s in self.outputs if s.name not in bound}


@dataclass(frozen=True)
class Handler:
    """How an op is computed.

    Attributes:
        function: takes the node and the values of its inputs, None for one that is left out; returns the output or a tuple.
        body: it takes, after the node, the scope that the graphs among its attributes see.
    """

    function: Callable[..., Any]
    body: bool = False


HANDLERS: dict[str, Handler] = {}


def op(*names: str, body: bool = False) -> Any:
    """Make a function the one that computes ops of these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            HANDLERS[name] = Handler(function, body)
        return function

    return register


def pairs(pads: Sequence[Any]) -> list[tuple[Any, Any]]:
    """ONNX's list of all beginnings and all ends as a pair for each dim."""
    half = len(pads) // 2
    return list(zip(pads[:half], pads[half:], strict=True))


def normalized(axis: int, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        OnnxError: it is none of the array's.
    """
    if not -rank <= axis < max(rank, 1):
        raise OnnxError(f"axis {axis} is none of an array of {rank} dims")
    return int(axis) % rank if rank else 0

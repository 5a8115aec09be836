"""The graph of a run as a table and as a picture."""

from __future__ import annotations

import linecache
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, FileLineColLoc, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.graph.base import GraphOp
from ...dialects.graph.builder import dense_array
from ...dialects.types import shape_of
from ..trace.locations import shortened
from ..trace.tracer import Read

if TYPE_CHECKING:
    from .record import Node, Record

_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_HIDDEN = ("operandSegmentSizes", "callee", "wrt")


class Names:
    """The names of the values of a run, and the expression of each.

    Constants are written where they are used.

    Attributes:
        values: the values that have names, in order: arguments, then results of ops.
        facts: of each, its name, its expression, the names of its operands, its source location.
        end: the op that returns the results.
    """

    def __init__(self, block: Block, paths: Sequence[str]):
        self._names: dict[SSAValue, str] = {}
        self.values: list[SSAValue] = []
        self.facts: list[tuple[str, str, tuple[str, ...], tuple[str, int, int] | None]] = []
        n = len(paths)
        for k, argument in enumerate(block.args):
            name, meaning = (f"v{k - n + 1}", paths[k]) if k < n else (f"c{k - n + 1}", "an array of the function")
            self._add(argument, name, meaning, (), None)
        count = 0
        for op in block.ops:
            if isinstance(op, ReturnOp):
                self.end = op
            elif constant_text(op) is not None:
                continue
            for k, result in enumerate(op.results):
                count += 1
                text = self._expression(op) + (f" [{k}]" if len(op.results) > 1 else "")
                used = tuple(dict.fromkeys(self._names[x] for x in op.operands if x in self._names))
                self._add(result, f"v{count}", text, used, _place(op))

    def _add(self, value: SSAValue, *facts: Any) -> None:
        self._names[value] = facts[0]
        self.values.append(value)
        self.facts.append(facts)  # pyright: ignore[reportArgumentType]

    def operand(self, value: SSAValue) -> str:
        """The text of a value in an expression: a name or a constant."""
        if (name := self._names.get(value)) is not None:
            return name
        assert isinstance(value.owner, Operation)
        return constant_text(value.owner) or "?"

    def _expression(self, op: Operation) -> str:
        operands = [self.operand(x) for x in op.operands]
        name = op.name.removeprefix("graph.")
        if name == "neg":
            return f"-{operands[0]}"
        if name == "cmp":
            return f" {_COMPARISONS[_shown(op.properties['predicate'])]} ".join(operands)
        if isinstance(op, GraphOp) and op.facts.symbol:
            return f" {op.facts.symbol} ".join(operands)
        callee = op.properties.get("callee")
        of = f" of {callee.root_reference.data}" if isinstance(callee, SymbolRefAttr) else ""
        options = [f"{k}={text}" for k, v in op.properties.items() if k not in _HIDDEN and (text := _shown(v)) != "[]"]
        return f"{name}{of}({', '.join([*operands, *options])})"


def constant_text(op: Operation) -> str | None:
    """A constant, or a number for each element of an array; None for other ops."""
    if op.name == "graph.broadcast":
        source = op.operands[0].owner
        return constant_text(source) if isinstance(source, Operation) and not shape_of(op.operands[0]) else None
    if op.name != "graph.const":
        return None
    array = dense_array(op.properties["value"])  # pyright: ignore[reportArgumentType]
    return number(array[()]) if array.ndim == 0 else f"<{_type(array)}>"


def _place(op: Operation) -> tuple[str, int, int] | None:
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    return location.filename.data, location.line.data, location.column.data


def _shown(attribute: Attribute) -> str:
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, IntegerAttr):
        return str(attribute.value.data)
    if isinstance(attribute, DenseArrayBase):
        return str(list(attribute.get_values()))
    return str(attribute)


# --------------------------------------------------------------------------------------------------------------------
# Values


def number(x: Any) -> str:
    """A number in few digits: three after the point, or four in all where these say too little."""
    if isinstance(x, np.bool_ | np.integer | bool | int):
        return str(x)
    if isinstance(x, complex | np.complexfloating):
        return f"({number(x.real)}{'+' if x.imag >= 0 or x.imag != x.imag else ''}{number(x.imag)}j)"
    if x == 0 or not 1e-3 <= abs(x) < 1e6:
        return f"{float(x):.4g}"
    return f"{float(x):.3f}".rstrip("0").rstrip(".")


def summary(array: np.ndarray[Any, Any] | None) -> str:
    """A number, or the type of an array with its least element, mean and greatest element."""
    if array is None:
        return "-"
    if array.ndim == 0:
        return number(array[()])
    if not array.size or array.dtype.kind not in "fiu":
        return _type(array)
    with np.errstate(all="ignore"):
        mean = array.mean(dtype=np.float64)
    return f"{_type(array)} {number(array.min())} .. {number(mean)} .. {number(array.max())}"


def _type(array: np.ndarray[Any, Any]) -> str:
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


# --------------------------------------------------------------------------------------------------------------------
# The table


def table(run: Record, places: bool) -> str:
    """The nodes of a run, one a line."""
    columns: dict[str, list[str]] = {"name": [""], "node": ["node"], "value": ["value"]}
    for what in ("tangent", "adjoint"):
        if any(getattr(node, what) is not None for node in run.nodes):
            columns[what] = [what]
    if places:
        columns["place"] = [""]
    results = [(path, name, run.find(name)) for path, name in run.outputs.items()]
    for node in run.nodes:
        _add_row(columns, node.name, node.expression, node, _line(node.place))
    for path, name, node in results:
        _add_row(columns, path, name, node, "")
    widths = {key: max(map(len, cells)) for key, cells in columns.items()}
    left = ("node", "place")
    aligned = [[c.ljust(widths[k]) if k in left else c.rjust(widths[k]) for c in cells] for k, cells in columns.items()]
    lines = [f"  {'  '.join(row)}".rstrip() for row in zip(*aligned, strict=True)]
    return "\n".join([*lines, *frozen(run.frozen)])


def _add_row(columns: dict[str, list[str]], name: str, expression: str, node: Node | None, line: str) -> None:
    cells = {"name": name, "node": expression, "place": line}
    for key, column in columns.items():
        column.append(cells[key] if key in cells else "" if node is None else summary(getattr(node, key)))


def _line(place: tuple[str, int, int] | None) -> str:
    if place is None:
        return ""
    return f"{shortened(place[0])}:{place[1]}: {linecache.getline(place[0], place[1]).strip()}".rstrip(": ")


def frozen(reads: Sequence[Read]) -> Iterator[str]:
    """The assumptions of a run, one reading a line."""
    if reads:
        yield "frozen, as Python read values:"
        yield from (f"  {read}" for read in reads)


# --------------------------------------------------------------------------------------------------------------------
# The picture


def picture(run: Record, path: Path | None) -> str:
    """The graph in the DOT language; drawn where the suffix of the file requires it."""
    text = dot(run)
    if path is None:
        return text
    if path.suffix not in (".svg", ".png", ".pdf"):
        path.write_text(text, encoding="utf-8")
    elif (program := shutil.which("dot")) is not None:
        subprocess.run([program, f"-T{path.suffix[1:]}", "-o", str(path)], input=text, text=True, check=True)
    else:
        _draw(run, path)
    return text


def dot(run: Record) -> str:
    """The graph in the DOT language."""
    lines = [f"digraph {_quoted(run.name)} {{", "  rankdir=TB; node [shape=box, fontname=monospace];"]
    for node in run.nodes:
        lines.append(f"  {_quoted(node.name)} [label={_quoted(_label(node))}];")
        lines += [f"  {_quoted(used)} -> {_quoted(node.name)};" for used in node.operands]
    for path, name in run.outputs.items():
        lines.append(f"  {_quoted(path)} [shape=plaintext];")
        if run.find(name) is not None:
            lines.append(f"  {_quoted(name)} -> {_quoted(path)};")
    return "\n".join([*lines, "}", ""])


def _label(node: Node) -> str:
    derivatives = [
        f"{what} {summary(x)}" for what, x in (("tangent", node.tangent), ("adjoint", node.adjoint)) if x is not None
    ]
    return "\n".join([f"{node.name} = {node.expression}", summary(node.value), *derivatives])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _draw(run: Record, path: Path) -> None:
    try:
        import matplotlib.figure
        import networkx
    except ImportError:
        raise ImportError(
            f"drawing {path.name} needs graphviz's `dot`, or matplotlib and networkx: install one, or write a .dot file"
        ) from None
    graph = networkx.DiGraph()
    graph.add_nodes_from(node.name for node in run.nodes)
    graph.add_edges_from((used, node.name) for node in run.nodes for used in node.operands)
    layers = list(networkx.topological_generations(graph))
    for k, layer in enumerate(layers):
        for name in layer:
            graph.nodes[name]["layer"] = -k
    places = networkx.multipartite_layout(graph, subset_key="layer", align="horizontal")
    figure = matplotlib.figure.Figure(figsize=(2.4 * max(map(len, layers), default=1) + 1, 1.1 * len(layers) + 1))
    axes = figure.add_subplot()
    axes.set_axis_off()
    labels = {node.name: _label(node) for node in run.nodes}
    box = {"boxstyle": "round", "facecolor": "white"}
    networkx.draw_networkx(graph, places, ax=axes, labels=labels, node_size=1800, node_color="none", font_size=7, bbox=box)
    figure.savefig(path)

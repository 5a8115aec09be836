"""Reading a model: the protobuf, its weights, and graphs of nodes with checked names.

Nothing in a model is trusted: sizes of weights are compared with their bytes before anything is allocated, files of external
data stay within the folder of the model, and names are defined once and before their use.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .errors import OnnxError, UnsupportedOp
from .nodes import Graph, Node, Spec

MOST_BYTES = 16 << 30
"""Largest model with its weights, in bytes."""
MOST_NODES = 1_000_000
"""Most nodes of a model."""
LARGEST_DIM = 1 << 40
"""Largest size of a dim, in elements."""


def package() -> Any:
    """The `onnx` package.

    Raises:
        OnnxError: it is not installed.
    """
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise OnnxError("reading ONNX models needs the package 'onnx': pip install 'lamina[onnx]'") from error
    return onnx


@dataclass
class Model:
    """A model: its graph, and the versions of the op sets that it imports, by domain."""

    graph: Graph
    opsets: Mapping[str, int]
    proto: Any = field(repr=False)


def read_model(source: Any) -> Model:
    """A model of a path, of bytes, or of a `ModelProto`.

    Raises:
        OnnxError: it is malformed, too large, or refers to files elsewhere.
    """
    onnx = package()
    folder = None
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        folder = path.resolve().parent
        try:
            if path.stat().st_size > MOST_BYTES:
                raise OnnxError(f"{path.name} has {path.stat().st_size} bytes, more than {MOST_BYTES}")
            source = path.read_bytes()
        except OSError as error:
            raise OnnxError(f"cannot read the model: {error.strerror or error}: {path}") from None
    if isinstance(source, bytes | bytearray | memoryview):
        proto = onnx.ModelProto()
        try:
            proto.ParseFromString(bytes(source))
        except Exception as error:  # protobuf's own class is not public in all of its releases
            raise OnnxError(f"not an ONNX model: {error}") from None
    elif isinstance(source, onnx.ModelProto):
        proto = source
    else:
        raise OnnxError(f"a model is a path, bytes or a ModelProto, got {type(source).__name__}")
    return _Reader(onnx, proto, folder).model()


class _Reader:
    """Reads one protobuf."""

    def __init__(self, onnx: Any, proto: Any, folder: Path | None):
        self.onnx, self.proto, self.folder = onnx, proto, folder
        self.nodes = 0
        self.bytes = 0
        self.functions: dict[tuple[str, str], Any] = {}

    def model(self) -> Model:
        proto = self.proto
        opsets = {text(d.domain): int(d.version) for d in proto.opset_import}
        if not proto.HasField("graph"):
            raise OnnxError("the model has no graph")
        newest = self.onnx.defs.onnx_opset_version()
        version = opsets.get("", opsets.get("ai.onnx"))
        if version is None:
            version = opsets[""] = 1
        if version > newest:
            raise OnnxError(
                f"the model is of opset {version}; the installed onnx package knows opsets up to {newest}: upgrade it"
            )
        opsets[""] = opsets["ai.onnx"] = version
        for function in proto.functions:
            self.functions[text(function.domain), text(function.name)] = function
        graph = self.graph(proto.graph, opsets, set(), 0)
        return Model(graph, opsets, proto)

    def graph(self, proto: Any, opsets: Mapping[str, int], outer: set[str], depth: int, partial: bool = False) -> Graph:
        """A graph; one that is `partial` may leave outputs out, as bodies of functions do."""
        if depth > 50:
            raise OnnxError(f"graph {proto.name!r}: subgraphs are nested more than 50 deep")
        constants = {}
        for tensor in proto.initializer:
            constants[text(tensor.name)] = self.tensor(tensor, f"initializer {tensor.name!r}")
        for sparse in proto.sparse_initializer:
            constants[text(sparse.values.name)] = self.sparse(sparse)
        inputs = [self.spec(v) for v in proto.input]
        bound = {s.name for s in inputs} | constants.keys()
        if len({s.name for s in inputs}) < len(inputs):
            raise OnnxError(f"graph {proto.name!r}: two inputs have one name")
        nodes = self.sorted(proto, bound | outer)
        made = []
        visible = outer | bound
        for node in nodes:
            made.append(self.node(node, opsets, visible, depth))
            visible |= {o for o in node.output if o}
        outputs = [self.spec(v) for v in proto.output]
        for spec in outputs:
            if spec.name not in visible and not partial:
                raise OnnxError(f"graph {proto.name!r}: output {spec.name!r} is computed by no node")
        return Graph(text(proto.name), inputs, outputs, constants, made)

    def sorted(self, proto: Any, bound: set[str]) -> list[Any]:
        """The nodes, each after those that it uses; the order of the file where it is one."""
        maker: dict[str, int] = {}
        for i, node in enumerate(proto.node):
            for name in filter(None, node.output):
                if text(name) in maker or name in bound:
                    raise OnnxError(f"{_where(node)}: value {name!r} is defined twice")
                maker[name] = i
        waits = [0] * len(proto.node)
        users: dict[int, list[int]] = {}
        for i, node in enumerate(proto.node):
            for name in self.used(node):
                if name in maker:
                    users.setdefault(maker[name], []).append(i)
                    waits[i] += 1
                elif name not in bound:
                    raise OnnxError(f"{_where(node)}: input {name!r} is neither an input of the model nor computed by a node")
        import heapq

        ready = [i for i, n in enumerate(waits) if not n]
        order = []
        while ready:
            i = heapq.heappop(ready)
            order.append(proto.node[i])
            for user in users.get(i, ()):
                waits[user] -= 1
                if not waits[user]:
                    heapq.heappush(ready, user)
        if len(order) < len(proto.node):
            stuck = next(n for n, w in zip(proto.node, waits, strict=True) if w)
            raise OnnxError(f"{_where(stuck)}: it depends on its own result")
        return order

    def used(self, node: Any) -> set[str]:
        """Names that a node uses, those of its subgraphs included."""
        names = {n for n in node.input if n}
        for attribute in node.attribute:
            for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                inner = {v.name for v in graph.input} | {t.name for t in graph.initializer}
                inner |= {o for n in graph.node for o in n.output}
                for child in graph.node:
                    names |= self.used(child) - inner
                names |= {v.name for v in graph.output if v.name not in inner}
        return names

    def node(self, proto: Any, opsets: Mapping[str, int], visible: set[str], depth: int) -> Node:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise OnnxError(f"the model has more than {MOST_NODES} nodes")
        for name in (proto.op_type, proto.domain, proto.name, *proto.input, *proto.output):
            text(name)
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        version = opsets.get(domain, 1)
        attributes = {}
        for a in proto.attribute:
            if a.ref_attr_name:
                raise OnnxError(f"{_where(proto)}: attribute {a.name!r} refers to that of a function, outside of one")
            attributes[text(a.name)] = self.attribute(proto, a, opsets, visible, depth)
        return Node(
            proto.op_type,
            domain,
            version,
            proto.name,
            tuple(proto.input),
            tuple(proto.output),
            attributes,
            proto,
            self.functions,
        )

    def attribute(self, node: Any, a: Any, opsets: Mapping[str, int], visible: set[str], depth: int) -> Any:
        kinds = self.onnx.AttributeProto
        what = f"{_where(node)}: attribute {a.name!r}"
        if a.type == kinds.FLOAT:
            return float(a.f)
        if a.type == kinds.INT:
            return int(a.i)
        if a.type == kinds.STRING:
            return a.s.decode("utf-8", "replace")
        if a.type == kinds.FLOATS:
            return [float(v) for v in a.floats]
        if a.type == kinds.INTS:
            return [int(v) for v in a.ints]
        if a.type == kinds.STRINGS:
            return [s.decode("utf-8", "replace") for s in a.strings]
        if a.type == kinds.TENSOR:
            return self.tensor(a.t, what)
        if a.type == kinds.GRAPH:
            return self.graph(a.g, opsets, visible, depth + 1)
        if a.type == kinds.GRAPHS:
            return [self.graph(g, opsets, visible, depth + 1) for g in a.graphs]
        if a.type == kinds.SPARSE_TENSOR:
            return self.sparse(a.sparse_tensor)
        if a.type == kinds.TYPE_PROTO:
            return a.tp
        raise OnnxError(f"{what} has an unknown type {a.type}")

    def spec(self, value: Any) -> Spec:
        text(value.name)
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return Spec(value.name, None, None, (kind or "value").removesuffix("_type"))
        tensor = value.type.tensor_type
        dtype = None if not tensor.elem_type else self.dtype(tensor.elem_type, f"value {value.name!r}")
        if not tensor.HasField("shape"):
            return Spec(value.name, dtype)
        shape = []
        for d in tensor.shape.dim:
            if d.HasField("dim_value"):
                if not 0 <= d.dim_value <= LARGEST_DIM:
                    raise OnnxError(f"value {value.name!r} has a dim of size {d.dim_value}")
                shape.append(int(d.dim_value))
            else:
                shape.append(text(d.dim_param) or None)
        return Spec(value.name, dtype, tuple(shape))

    def dtype(self, code: int, what: str) -> Any:
        return dtype_of(code, what)

    def tensor(self, t: Any, what: str) -> np.ndarray:
        """A tensor, after its sizes are compared with its bytes."""
        dims = [int(n) for n in t.dims]
        count = 1
        for n in dims:
            if not 0 <= n <= LARGEST_DIM:
                raise OnnxError(f"{what} has a dim of size {n}")
            count *= n
        if count > MOST_BYTES:
            raise OnnxError(f"{what} of shape {dims} has too many elements")
        if t.data_type == self.onnx.TensorProto.STRING:
            return np.array(list(t.string_data), object).reshape(dims) if len(t.string_data) == count else _wrong(what, dims)
        dtype = self.dtype(t.data_type, what)
        if t.data_location == self.onnx.TensorProto.EXTERNAL:
            return self.external(t, dims, count, dtype, what)
        stored = max(len(t.raw_data), max(len(getattr(t, f)) for f in _FIELDS))
        if not stored and count:
            raise OnnxError(f"{what} of shape {dims} has no data")
        try:
            array = np.asarray(self.onnx.numpy_helper.to_array(t))
        except Exception as error:  # whatever the package makes of bytes that do not fit
            raise OnnxError(f"{what} of shape {dims} and type {np.dtype(dtype).name} cannot be read: {error}") from None
        self.bytes += array.nbytes
        if self.bytes > MOST_BYTES:
            raise OnnxError(f"the model has more than {MOST_BYTES} bytes of weights")
        return array

    def external(self, t: Any, dims: Sequence[int], count: int, dtype: Any, what: str) -> np.ndarray:
        """Weights in a file beside the model, mapped into memory."""
        entries = {e.key: e.value for e in t.external_data}
        if self.folder is None:
            raise OnnxError(f"{what} is in the file {entries.get('location')!r}: give from_onnx the path of the model")
        if "\0" in entries.get("location", ""):
            raise OnnxError(f"{what} is in {entries['location']!r}, which is no name of a file")
        path = self.folder / entries.get("location", "")
        real = path.resolve()
        if not entries.get("location") or not real.is_relative_to(self.folder) or path.is_symlink() or not real.is_file():
            raise OnnxError(f"{what} is in {entries.get('location')!r}, which is no file within the folder of the model")
        kind = np.dtype(dtype)
        bits = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}.get(kind.name, kind.itemsize * 8)
        size = (count * bits + 7) // 8
        try:
            offset, length = int(entries.get("offset", 0)), int(entries.get("length", size))
        except ValueError:
            raise OnnxError(f"{what} has an offset or length that is no number") from None
        if offset < 0 or length != size or offset + size > real.stat().st_size:
            raise OnnxError(
                f"{what} needs {size} bytes at {offset} of {real.name} of {real.stat().st_size}; the model says {length}"
            )
        self.bytes += size
        if self.bytes > MOST_BYTES:
            raise OnnxError(f"the model has more than {MOST_BYTES} bytes of weights")
        if not size:
            return np.zeros(dims, kind)
        if bits >= 8:
            return (
                np.memmap(real, kind, "r", offset, tuple(dims))
                if dims
                else np.fromfile(real, kind, 1, offset=offset).reshape(())
            )
        held = self.onnx.TensorProto()
        held.CopyFrom(t)
        held.ClearField("external_data")
        held.data_location = self.onnx.TensorProto.DEFAULT
        with open(real, "rb") as file:
            file.seek(offset)
            held.raw_data = file.read(size)
        return np.asarray(self.onnx.numpy_helper.to_array(held))

    def sparse(self, s: Any) -> np.ndarray:
        """A sparse tensor, made dense."""
        what = f"sparse tensor {s.values.name!r}"
        values, indices = self.tensor(s.values, what), self.tensor(s.indices, what)
        dims = [int(n) for n in s.dims]
        if any(not 0 <= n <= LARGEST_DIM for n in dims) or np.prod(dims, dtype=float) > MOST_BYTES / 8:
            raise OnnxError(f"{what} of shape {dims} has too many elements")
        made = np.zeros(dims, values.dtype)
        try:
            if indices.ndim == 1:
                made.reshape(-1)[indices] = values
            else:
                made[tuple(indices.T)] = values
        except (IndexError, ValueError) as error:
            raise OnnxError(f"{what}: {error}") from None
        return made


_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")


def text(name: Any) -> str:
    """A name; protobuf gives one that is no UTF-8 as bytes.

    Raises:
        OnnxError: it is no text.
    """
    if not isinstance(name, str):
        raise OnnxError(f"a name of the model is not text: {name!r:.60}")
    return name


def _wrong(what: str, dims: Sequence[int]) -> Any:
    raise OnnxError(f"{what} of shape {list(dims)} has another number of elements")


def _where(node: Any) -> str:
    return f"node {node.name!r} ({node.op_type})" if node.name else f"node {node.op_type} of {', '.join(node.output)}"


def dtype_of(code: int, what: str) -> Any:
    """The NumPy dtype of an element type's code.

    Raises:
        OnnxError: there is none.
    """
    onnx = package()
    if code == onnx.TensorProto.STRING:
        return np.dtype(object)
    try:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code))
    except (KeyError, ValueError, TypeError):
        raise UnsupportedOp(f"{what} has element type {code}, which is none of ONNX's") from None

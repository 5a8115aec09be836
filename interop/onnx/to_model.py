"""`to_onnx`: the model of a function, which other runtimes load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...api.functions import make_graph
from ...api.ops import CompositeOp
from ...api.programs import make_context, run_passes
from ...api.sizes import Size
from ..stablehlo.to_text import PASSES
from .errors import OnnxError
from .from_graph import RULES, Writer, load
from .from_graph.writer import dtype_of, shape_of
from .model import package

OPSET = 21
"""The version of the op set that models are written in."""
IR_VERSION = 10
AFTER = "graph-simplify,graph-cse,graph-dce"


def to_onnx(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The ONNX model of a function and its arguments, as an `onnx.ModelProto`.

    Its inputs are the leaves of `args` and `kwargs`, its outputs, `result_0` and so on, the leaves of the function's result.
    Arrays that it closes over are weights, sizes made by `lm.dim` in a `TensorSpec` are named dims, loops and branches are
    `Loop` and `If`. The model has opset 21 and is checked, with inferred shapes, before it is returned.

    Args:
        function: a function of arrays, a function of `jit`, `grad` or `vmap`, or a module of graph IR (`make_graph`) with the
            entry `@main`, which takes no further arguments.
        args, kwargs: arrays, numbers or `TensorSpec`s; only their shapes and dtypes count.

    Raises:
        CompileError: an op has no form in ONNX (complex numbers, factorizations, callbacks, kernels); with its line.
        OnnxError: the package `onnx` is missing, or the model has more than 2 GiB, which no file of this format holds.

    >>> import lamina as lm
    >>> model = lm.to_onnx(lambda x: lm.numpy.tanh(x) + 1, lm.TensorSpec((lm.dim("n"), 3), "float32"))
    >>> [node.op_type for node in model.graph.node]
    ['Tanh', 'Add']
    >>> lm.from_onnx(model)
    <OnnxFunction main(x: float32[n, 3]) -> result_0: float32[n, 3]>
    """
    onnx = package()
    load()
    module = make_graph(function)(*args, **kwargs) if callable(function) else function.clone()
    ctx = make_context()
    run_passes(module, ctx, PASSES)
    while composites := {
        op.name.removeprefix("graph.")
        for op in module.walk()
        if isinstance(op, CompositeOp) and op.name.removeprefix("graph.") not in RULES
    }:
        run_passes(module, ctx, [("graph-decompose", {"ops": tuple(sorted(composites))})])
    run_passes(module, ctx, AFTER)
    model = _model(onnx, module)
    try:
        onnx.checker.check_model(model)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except ValueError as error:
        raise OnnxError(f"the model cannot be written: {error}") from error


def _model(onnx: Any, module: Any) -> Any:
    """The model of a module with the entry `@main`."""
    w = Writer(onnx)
    w.functions = {f.properties["sym_name"].data: f for f in module.body.block.ops if f.name == "func.func"}
    if "main" not in w.functions:
        raise OnnxError("a module needs the function @main to be a model")
    block = w.functions["main"].body.blocks[0]
    names = [w.fresh(argument.name_hint or f"x{k}") for k, argument in enumerate(block.args)]
    for name, argument in zip(names, block.args, strict=True):
        for axis, size in enumerate(shape_of(argument)):
            _see(w, name, axis, size)
    results = w.inline("main", names)
    outputs = []
    last = next(op for op in block.ops if op.name == "func.return")
    for k, (made, value) in enumerate(zip(results, last.operands, strict=True)):
        name = w.fresh(f"result_{k}")
        w.nodes.append(onnx.helper.make_node("Identity", [made], [name]))
        outputs.append(w.info(name, dtype_of(value), shape_of(value)))
    _rename_last(w, names)
    inputs = [w.info(name, dtype_of(argument), shape_of(argument)) for name, argument in zip(names, block.args, strict=True)]
    graph = onnx.helper.make_graph(w.nodes, "main", inputs, outputs, w.initializers)
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="lamina"
    )


def _see(w: Writer, name: str, axis: int, size: Any) -> None:
    """Note where a symbol's value is found: in a dim of the symbol, plus a number."""
    if not isinstance(size, Size) or len(size.symbols) != 1:
        return
    (symbol,) = size.symbols
    more = size.constant
    if size - more == Size.product((symbol,)) and (symbol.name not in w.symbols or not more):
        w.symbols[symbol.name] = (name, axis, more)


def _rename_last(w: Writer, inputs: Sequence[str]) -> None:
    """Results are called by the nodes that compute them, where nothing else reads them."""
    makers = {name: node for node in w.nodes for name in node.output}
    reads: dict[str, int] = {}
    for node in w.nodes:
        for name in _read(node):
            reads[name] = reads.get(name, 0) + 1
    for node in [n for n in w.nodes if n.op_type == "Identity" and n.output[0].startswith("result_")]:
        source = node.input[0]
        if source in makers and reads[source] == 1 and source not in inputs:
            outputs = list(makers[source].output)
            makers[source].output[outputs.index(source)] = node.output[0]
            w.nodes.remove(node)


def _read(node: Any) -> list[str]:
    """Names that a node reads, in its bodies, too."""
    found = list(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                found += _read(inner)
            found += [v.name for v in attribute.g.output]
    return found

"""`lm.to_stablehlo`: the StableHLO of a function, which jax compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...api.functions import make_graph
from ...api.ops import CompositeOp
from ...api.programs import make_context, run_passes

PASSES = "graph-while-to-for,graph-vmap,graph-linearize,graph-transpose,graph-fold-conditions,graph-name-sizes"
AFTER = "graph-simplify,graph-cse,graph-dce,convert-graph-to-stablehlo"


def to_stablehlo(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The text of a StableHLO module for a function and its arguments, with the entry `@main`.

    Its arguments are the leaves of `args` and `kwargs`, its results the leaves of the function's. Arrays that it closes
    over are constants. jax compiles and runs it, as do other programs that read StableHLO.

    Args:
        function: a function of arrays; one of `jit`, `grad` or `vmap`, too.
        args, kwargs: arrays, numbers or `TensorSpec`s; only their shapes and dtypes count.

    Raises:
        CompileError: an op has no form in StableHLO.

    >>> import lamina as lm
    >>> print(lm.to_stablehlo(lambda x: x * x, lm.TensorSpec((3,), "float32")))
    builtin.module {
      func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
        %0 = stablehlo.multiply %x, %x : tensor<3xf32>
        func.return %0 : tensor<3xf32>
      }
    }
    """
    module = make_graph(function)(*args, **kwargs)
    ctx = make_context()
    run_passes(module, ctx, PASSES)
    while composites := {op.name.removeprefix("graph.") for op in module.walk() if isinstance(op, CompositeOp)}:
        run_passes(module, ctx, [("graph-decompose", {"ops": tuple(sorted(composites))})])
    run_passes(module, ctx, AFTER)
    for name in [name for name in module.attributes if name.startswith("lamina.")]:
        del module.attributes[name]
    return str(module)

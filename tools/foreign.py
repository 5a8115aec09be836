"""Programs of other systems as the tools take them: models of ONNX by their file, modules of StableHLO by their ops.

`interop` is imported when there is such a program, so that the tools load nothing of it for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .arguments import UsageError

if TYPE_CHECKING:
    import numpy as np
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from ..interop.onnx import OnnxFunction

DIALECTS = ("stablehlo.", "chlo.")
"""The dialects of other compilers that a pass translates."""


def add_dims(add: Any) -> None:
    """Add the option `--dim`."""
    add(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="a number for a symbolic dim, as batch=4; may be given several times",
    )


def dims_of(words: Sequence[str]) -> dict[str, int]:
    """The sizes of `--dim`.

    Raises:
        UsageError: one is not NAME=SIZE, or given twice.
    """
    found: dict[str, int] = {}
    for word in words:
        name, equals, size = word.rpartition("=")
        if not equals or not name or not size.isdecimal():
            raise UsageError(f"--dim takes NAME=SIZE, as batch=4, got {word}")
        if name in found:
            raise UsageError(f"--dim gives {name} twice")
        found[name] = int(size)
    return found


def is_model(name: str) -> bool:
    """Whether a file is a model of ONNX."""
    return name.endswith(".onnx")


def read_model(name: str, dims: Sequence[str]) -> OnnxFunction:
    """A model of ONNX as a function, with sizes for its dims."""
    from ..interop.onnx import from_onnx

    return from_onnx(name, dims_of(dims))


def module_has_foreign_ops(module: ModuleOp) -> bool:
    """Whether a module has StableHLO."""
    return any(op.name.startswith(DIALECTS) for op in module.walk())


def convert_foreign(module: ModuleOp, ctx: Context, entry: str, shapes: Sequence[Sequence[int]] = ()) -> None:
    """Translate StableHLO to graph ops, for the shapes of the arguments where its types leave them open."""
    from ..dialects.types import DYNAMIC
    from ..passes import run_passes

    given: tuple[str, ...] = ()
    for function in module.body.block.ops:
        if function.name == "func.func" and function.properties["sym_name"].data == entry:  # pyright: ignore[reportAttributeAccessIssue]
            types = list(function.function_type.inputs)  # pyright: ignore[reportAttributeAccessIssue]
            if len(types) == len(shapes) and any(DYNAMIC in type.get_shape() for type in types if type.name == "tensor"):
                given = tuple("x".join(map(str, shape)) or "_" for shape in shapes)
    run_passes(module, ctx, [("convert-stablehlo-to-graph", {"shapes": given, "entry": entry})])


def random_inputs(specs: Sequence[tuple[str, np.dtype[Any], Sequence[Any]]], seed: int) -> list[Any]:
    """Arguments of the declared types: floats uniform in [0, 1), integers in 0..7.

    Args:
        specs: name, dtype and sizes of each.

    Raises:
        UsageError: a size is no number.
    """
    import numpy as np

    from ..runtime.inputs import random_array

    rng = np.random.default_rng(seed)
    for name, _, sizes in specs:
        for size in sizes:
            if not isinstance(size, int) or size < 0:
                raise UsageError(f"--random: argument '{name}' has a dim {size} without a number; give it with --dim {size}=4")
    return [random_array(dtype, tuple(sizes), rng) for _, dtype, sizes in specs]

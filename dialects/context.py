"""The context in which every entry point parses and rewrites: dialects of xDSL, ours and extensions, loaded on first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect

from .. import extensions
from . import vocabulary
from .foreign.attribute_text import ForeignContext

OURS = {
    "graph": ("graph", "Graph"),
    "loop": ("loop", "Loop"),
    "program": ("program", "Program"),
    "scalar": ("scalar_ops", "Scalar"),
    "stablehlo": ("stablehlo", "StableHlo"),
    "chlo": ("stablehlo", "Chlo"),
    "check": ("stablehlo", "Check"),
    "sdy": ("stablehlo", "Sdy"),
    "quant": ("stablehlo.quantized", "Quant"),
}
"""Our dialects: the folder or file under `dialects/` and the `Dialect` object that it holds."""


def _ours(folder: str, name: str) -> Callable[[], Dialect]:
    return lambda: getattr(importlib.import_module(f".{folder}", __package__), name)


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows every dialect; a dialect is imported on first use.

    Args:
        allow_unregistered: accept ops, attributes and types of unknown dialects in generic syntax.
    """
    ctx = ForeignContext(allow_unregistered=allow_unregistered)
    for name, factory in get_all_dialects().items():
        if name not in (*OURS, "arith", "math", "vector"):
            ctx.register_dialect(name, factory)
    ctx.register_dialect("arith", vocabulary.arith_dialect)
    ctx.register_dialect("math", vocabulary.math_dialect)
    ctx.register_dialect("vector", vocabulary.vector_dialect)
    for dialect, (file, name) in OURS.items():
        ctx.register_dialect(dialect, _ours(file, name))
    if extensions.extensions():
        from .graph.registered import dialects

        for name, factory in dialects().items():
            ctx.register_dialect(name, factory)
    return ctx

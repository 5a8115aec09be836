"""The graph dialect: tensors, values, a DAG of pure ops; one file per op family."""

from __future__ import annotations

import importlib
from typing import Any

from xdsl.ir import Dialect

from .base import GraphOp

FAMILIES = (
    *("structure", "create", "unary", "binary", "choose", "shape", "reduce", "contract", "composite"),
    *("conv", "window", "norms"),
    *("index", "scan"),
    *("attention", "autodiff", "control", "kernel"),
)


def _collect() -> dict[str, Any]:
    ops: dict[str, Any] = {}
    for family in FAMILIES:
        module = importlib.import_module(f".{family}", __name__)
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__ and "name" in vars(value):
                ops[value.name.removeprefix("graph.")] = value
    return ops


OPS: dict[str, type[GraphOp]] = _collect()
"""Every op class of the dialect by its name without `graph.`."""

Graph = Dialect("graph", list(OPS.values()), [])

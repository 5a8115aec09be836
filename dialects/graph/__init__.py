"""The graph dialect: tensors, values, a DAG of pure ops; one file per op family."""

from __future__ import annotations

import importlib
from typing import Any

from xdsl.ir import Dialect

from ..size_lists import SizesAttr
from .base import OPS

FAMILIES = (
    *("structure", "create", "unary", "binary", "choose", "random", "shape", "reduce", "contract", "composite"),
    *("complex", "fft", "conv", "window", "norms"),
    *("index", "scan", "sort", "factor", "orthogonal", "spectral", "solving"),
    *("attention", "autodiff", "custom", "control", "conditional", "kernel"),
)


def _collect() -> None:
    for family in FAMILIES:
        module = importlib.import_module(f".{family}", __name__)
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__ and "name" in vars(value):
                found: Any = value
                OPS[found.name.removeprefix("graph.")] = found


_collect()

Graph = Dialect("graph", list(OPS.values()), [SizesAttr])

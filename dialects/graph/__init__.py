"""The graph dialect: tensors, values, a DAG of pure ops; one file per op family."""

from __future__ import annotations

import importlib
from typing import Any

from xdsl.ir import Dialect
from xdsl.pattern_rewriter import RewritePattern

from ..sizes.attribute import SizesAttr
from . import base
from .base import OPS

FAMILIES = (
    *("fusion", "create", "unary", "binary", "choose", "random", "shape", "pad", "reduce", "contract", "composite"),
    *("complex", "fft", "conv", "window", "norms"),
    *(
        "gather",
        "scatter",
        "scan",
        "sort",
        "top_k",
        "factor",
        "orthogonal",
        "eigh",
        "svd",
        "schur",
        "eig",
        "solving",
    ),
    *("attention", "autodiff", "collective", "custom", "control", "conditional", "effects", "kernel", "packed_dot"),
)


def _collect() -> None:
    for family in FAMILIES:
        module = importlib.import_module(f".{family}", __name__)
        for value in (*vars(module).values(), *getattr(module, "OF_FUNCTIONS", ())):
            if isinstance(value, type) and value.__module__ == module.__name__ and "name" in vars(value):
                found: Any = value
                OPS[found.name.removeprefix("graph.")] = found


def _patterns_of(name: str) -> tuple[RewritePattern, ...]:
    from .rules import canonicalization_patterns  # loaded on first use

    return canonicalization_patterns(name)


_collect()
base.patterns_of = _patterns_of

Graph = Dialect("graph", list(OPS.values()), [SizesAttr])

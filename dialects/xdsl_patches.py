"""What is replaced in xDSL itself, for everybody in the process: one table, with the reason of each row.

Speed is not among the reasons unless a row is worth at least 3 % of the time of compiling a network; what is faster otherwise
stands in classes and functions of our own (`operations.py`). A row of speed changes no behaviour. `LAMINA_XDSL_PATCHES=off` in
the environment leaves rows of speed out, `remove` does so in a process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.core import _IRNode
from xdsl.irdl import IRDLOperation

from .printing import is_splat, print_without_type
from .sizes.attribute import print_tensor_type


@dataclass(frozen=True)
class Patch:
    """Methods of xDSL's classes that are replaced.

    Attributes:
        why: what is wrong without it, or what takes the time.
        methods: what stands in for each method, by class and name.
        gain: the part of the time of compiling a network to LLVM IR that it saves; None: it is there for correct results.
    """

    why: str
    methods: Mapping[tuple[type, str], Any]
    gain: float | None = None


_BY_IDENTITY = (SSAValue, _IRNode, IRDLOperation)

PATCHES = (
    Patch(
        "constants print as MLIR reads them: 0.0 and -0.0 differ, NaNs keep their bits (printing.py)",
        {
            (DenseIntOrFPElementsAttr, "is_splat"): is_splat,
            (DenseIntOrFPElementsAttr, "print_without_type"): print_without_type,
        },
    ),
    Patch(
        "tensor types print sizes that have names, which xDSL has no text for (sizes/attribute.py)",
        {(TensorType, "print_builtin"): print_tensor_type},
    ),
    Patch(
        "values, ops, blocks and regions are keys by identity: xDSL's `id(self)` and `self is other` are functions in Python, "
        "which a network calls 150,000 times; those of `object` do the same in C",
        {(cls, name): getattr(object, name) for cls in _BY_IDENTITY for name in ("__hash__", "__eq__")},
        gain=0.03,
    ),
)

LEAST_GAIN = 0.03
"""The least part of the time of compiling a network for which xDSL's own classes are touched."""

SWITCH = "LAMINA_XDSL_PATCHES"
"""The variable of the environment that is `off` where xDSL's own methods run."""

_originals: dict[tuple[type, str], Any] = {}


def install() -> None:
    """Replace the methods in this process. May be called any number of times."""
    for patch in PATCHES:
        if patch.gain is not None and os.environ.get(SWITCH) == "off":
            continue
        for (cls, name), function in patch.methods.items():
            _originals.setdefault((cls, name), vars(cls).get(name))  # None: inherited
            setattr(cls, name, function)


def remove() -> None:
    """Put xDSL's own methods back where speed is all that they lack."""
    for patch in PATCHES:
        for cls, name in patch.methods if patch.gain is not None else ():
            if (cls, name) not in _originals:
                continue
            original = _originals.pop((cls, name))
            if original is None:
                delattr(cls, name)
            else:
                setattr(cls, name, original)

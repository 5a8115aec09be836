"""Rules of whole modules, whose ops verify one by one: attributes of the module and its functions, and widths of vectors.

Rules of launches, buffers and views are in `verify_module.py`, which is loaded when a module has such ops: most modules of
upstream's dialects have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, StringAttr, UnitAttr, VectorType
from xdsl.ir import Operation

from ..errors import CompileError, placed
from . import text_versions
from .hints import closest
from .types import MOST_LANES

ONE_VARIANT = "lamina.one_variant"
"""The attribute of a module whose kernels get no separate code for small trip counts."""
KNOWN_ATTRIBUTES = ("lamina.phase", "lamina.target", text_versions.ATTRIBUTE, ONE_VARIANT)
"""Attributes of modules that the compiler reads."""
PHASES = ("graph", "optimized", "loop", "scheduled", "program")
"""The phases that `lamina.phase` may name."""
HOST_DIALECTS = ("loop", "program", "memref")
"""Dialects whose ops are about memory."""

Complaint = str


def errors_in_module(module: ModuleOp) -> Iterator[tuple[Operation, Complaint]]:
    """The rules that a module breaks: the op at fault, and a message."""
    symbols: dict[str, Operation] = {}
    for op in module.body.block.ops:
        if isinstance(name := op.properties.get("sym_name"), StringAttr):
            symbols[name.data] = op
            if not name.data:
                yield op, f"'{op.name}' op needs a symbol name that is not empty"
    yield from _told(module, _module_attributes(module))
    for op in module.body.block.ops:
        if op.name == "func.func":
            yield from _told(op, _graph_function(op))
        for inner in op.walk():
            if inner.name.partition(".")[0] in HOST_DIALECTS:
                from .verify_module import complaints

                yield from _told(inner, complaints(inner, symbols))
            yield from _told(inner, _vectors(inner))


def _told(op: Operation, complaints: Iterator[Complaint]) -> Iterator[tuple[Operation, Complaint]]:
    for complaint in complaints:
        yield op, f"'{op.name}' op {complaint}"
        return  # errors that follow from the first would be reported as well


def require_single_blocks(module: ModuleOp) -> None:
    """Refuse functions with branches, which parse and verify, but which no pass of ours lowers.

    Raises:
        CompileError: at the first block of a function that it branches to.
    """
    for op in module.body.block.ops:
        if op.name == "func.func" and len(blocks := op.regions[0].blocks) > 1:
            rule = "only functions of one block are compiled: write graph.case or graph.while, in kernels loop.if or loop.while"
            name: Any = op.properties["sym_name"]
            error = CompileError(f"'func.func' op @{name.data} has {len(blocks)} blocks: {rule}")
            raise placed(error, blocks[0].last_op or op)


def _unknown(names: Iterable[str], known: Sequence[str]) -> Iterator[Complaint]:
    """Errors about attributes of our prefix that the compiler does not read."""
    for name in names:
        if name.startswith("lamina.") and name not in known:
            meant = closest(name, known)
            hint = f"did you mean {meant}?" if meant else f"there are {', '.join(sorted(known))}"
            yield f"attribute {name} is not known: {hint}"


def _module_attributes(module: ModuleOp) -> Iterator[Complaint]:
    phase, target = module.attributes.get("lamina.phase"), module.attributes.get("lamina.target")
    yield from _unknown(module.attributes, KNOWN_ATTRIBUTES)
    if phase is not None and not (isinstance(phase, StringAttr) and phase.data in PHASES):
        yield f"attribute lamina.phase must be one of {', '.join(PHASES)}, got {phase}"
    version = module.attributes.get(text_versions.ATTRIBUTE)
    if version is not None and not (isinstance(version, IntegerAttr) and 1 <= version.value.data <= text_versions.VERSION):
        yield f"attribute {text_versions.ATTRIBUTE} must be a version from 1 to {text_versions.VERSION}, got {version}"
    if target is not None and not isinstance(target, StringAttr):
        yield f"attribute lamina.target must be a string, got {target}"


def _graph_function(op: Operation) -> Iterator[Complaint]:
    given: Any = op.properties.get("arg_attrs")
    for number, attributes in enumerate(() if given is None else given.data):
        yield from _unknown(attributes.data, ("lamina.donated",))
        if not isinstance(attributes.data.get("lamina.donated", UnitAttr()), UnitAttr):
            yield f"attribute lamina.donated of argument #{number} must have no value"


def _vectors(op: Operation) -> Iterator[Complaint]:
    for result in op.results:
        if isinstance(result.type, VectorType) and prod(result.type.get_shape()) > MOST_LANES:
            yield f"makes {result.type}, vectors have at most {MOST_LANES} lanes"
    positions: Any = op.properties.get("static_position") if op.name in ("vector.extract", "vector.insert") else None
    if positions is None:
        return
    whole = op.operands[0] if op.name == "vector.extract" else op.operands[1]
    for at, size in zip(positions.get_values(), getattr(whole.type, "get_shape", tuple)(), strict=False):
        if at != DYNAMIC_INDEX and not 0 <= at < size:
            yield f"position {at} is outside of {whole.type}"

"""Ops of other packages: classes like those of this folder, in their own dialects, such as `mine.soft_cap`.

All parts of the compiler read the declarations in an op's class, so nothing else is needed for it to be traced, verified,
printed, parsed, interpreted, differentiated, batched, fused, scheduled and compiled. `check_op` says what a class lacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from ... import extensions
from ...errors import CompileError, ExtensionError
from .base import OPS, CompositeOp, GraphOp, NotDifferentiable, graph_op

if TYPE_CHECKING:
    from .builder import GraphBuilder

OpT = TypeVar("OpT", bound=GraphOp)

_TAKEN = frozenset(("graph", "loop", "program"))


def register_op(cls: type[OpT]) -> type[OpT]:
    """Make a class an op of the compiler. Use it as a decorator, in place of `irdl_op_definition`.

    An op says its name with a dialect of its own, its operands and properties as xDSL's ops do, its `syntax`, `infer_types`
    and `evaluate` (its meaning in NumPy), and how it is computed: `decompose`, if it is a `CompositeOp`, `equations`, `nest`,
    or `facts.kernels`, the module that registers a kernel for it. A composite is differentiated and batched through its
    decomposition unless it says otherwise; another op has a derivative and a batching rule if it declares `derivative` and
    `batching`.

    Returns:
        The class, for `lamina.call_op`.

    Raises:
        ExtensionError: the class lacks something, or the name is taken.
    """
    problem = _problem(cls)
    if problem is not None:
        raise ExtensionError(f"register_op: {cls.__name__} {problem}")
    declared = {name for base in cls.__mro__ if base is not GraphOp and base is not CompositeOp for name in vars(base)}
    extensions.add("op", cls.name, cls.__module__)
    defined = cls if "get_irdl_definition" in vars(cls) else graph_op(cls)
    defaults: dict[str, Any] = {}
    if not issubclass(defined, CompositeOp) and "derivative" not in declared:
        defaults["derivative"] = NotDifferentiable(lambda op: f"'{op.name}' op declares none: add derivative to its class")
    if "batching" not in declared:
        defaults["batching"] = None if issubclass(defined, CompositeOp) else staticmethod(_not_batched)
    for name, value in defaults.items():
        setattr(defined, name, value)
    OPS[defined.name] = defined
    return defined


def _problem(cls: type[GraphOp]) -> str | None:
    """The reasons why a class cannot be registered as an op."""
    if not (isinstance(cls, type) and issubclass(cls, GraphOp)):
        return "must derive from GraphOp or CompositeOp"
    name = vars(cls).get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z]\w*\.[a-z]\w*(\.\w+)*", name):
        return f"needs a name of a dialect and an op, as name = 'mine.soft_cap', got {name!r}"
    dialect = name.partition(".")[0]
    if dialect in _TAKEN or dialect in get_all_dialects():
        return f"is called '{name}', and dialect '{dialect}' belongs to others: take one of your own"
    if not hasattr(cls, "syntax"):
        return "needs a syntax: what stands between its name and the colon, as syntax = '$x'"
    for member in ("infer_types", "evaluate"):
        if getattr(cls, member) is getattr(GraphOp, member) or _same_function(cls, GraphOp, member):
            return f"needs {member}"
    if issubclass(cls, CompositeOp):
        return "needs decompose" if _same_function(cls, CompositeOp, "decompose") else None
    if _same_function(cls, GraphOp, "equations") and _same_function(cls, GraphOp, "nest") and cls.facts.kernels is None:
        rule = "derive from CompositeOp and write decompose, write equations or nest, or name the module of its kernels"
        return f"says nowhere how it is computed: {rule}"
    return None


def _same_function(cls: type, base: type, name: str) -> bool:
    """Whether a class has a method as one of its bases defines it."""
    one, other = getattr(cls, name), getattr(base, name)
    return getattr(one, "__func__", one) is getattr(other, "__func__", other)


def _not_batched(b: GraphBuilder, op: Operation, operands: Sequence[SSAValue], flags: Sequence[bool]) -> Sequence[SSAValue]:
    error = CompileError(f"'{op.name}' op has no batching rule: declare batching in its class, or call it outside of vmap")
    error.location = op.location
    raise error


def dialects() -> dict[str, Callable[[], Dialect]]:
    """The dialects of registered ops, by name."""
    extensions.load()
    found: dict[str, list[type[IRDLOperation]]] = {}
    for name, cls in OPS.items():
        if "." in name:
            found.setdefault(name.partition(".")[0], []).append(cls)
    return {name: partial(Dialect, name, list(ops), []) for name, ops in found.items()}

"""The target of a module: its attribute `lamina.target`.

    builtin.module attributes {lamina.target = "x86-64-v3{l2=256K}"} { ... }

Passes that depend on the machine read it here. A module without it gets the host, once: its printed text then says for which
machine it was scheduled, and compilation that resumes from it, there or elsewhere, continues for that machine.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ..codegen.targets import Target, get, host
from ..errors import CompileError

ATTRIBUTE = "lamina.target"


def set_target(module: ModuleOp, target: Target) -> None:
    """Set the target of a module."""
    module.attributes[ATTRIBUTE] = StringAttr(str(target))


def declared_target(module: ModuleOp) -> Target | None:
    """The target of a module; None if it has none.

    Raises:
        CompileError: the attribute is no valid target.
    """
    said = module.attributes.get(ATTRIBUTE)
    if said is None:
        return None
    try:
        if not isinstance(said, StringAttr):
            raise CompileError(f'must be a string, as "x86-64-v3{{l2=256K}}", got {said}')
        return get(said.data)
    except CompileError as error:
        placed = CompileError(f"{ATTRIBUTE}: {error}")
        placed.op = module
        raise placed from None


def target_of(op: Operation) -> Target:
    """The target of the module around an op (or of the module itself); the host, which is recorded, if it has none.

    Raises:
        CompileError: the attribute is no valid target.
    """
    while (parent := op.parent_op()) is not None:
        op = parent
    if not isinstance(op, ModuleOp):
        return host()
    target = declared_target(op)
    if target is None:
        target = host()
        set_target(op, target)
    return target

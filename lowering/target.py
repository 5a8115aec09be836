"""The target of a module: what its attribute `lamina.target` says.

    builtin.module attributes {lamina.target = "x86-64-v3{l2=256K}"} { ... }

Passes that depend on the machine read it here. A module that names none gets the host, once: what is printed then says for
which machine it was scheduled, and what resumes it, there or elsewhere, goes on for that machine.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ..codegen.targets import Target, get, host
from ..errors import CompileError

ATTRIBUTE = "lamina.target"


def set_target(module: ModuleOp, target: Target) -> None:
    """Let a module be for a target."""
    module.attributes[ATTRIBUTE] = StringAttr(str(target))


def declared_target(module: ModuleOp) -> Target | None:
    """The target that a module names; None if it names none.

    Raises:
        CompileError: the attribute is the text of no target.
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
    """The target of the module around an op (or of the module itself); the host, which is recorded, if it names none.

    Raises:
        CompileError: the attribute is the text of no target.
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

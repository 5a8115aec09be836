"""Translate StableHLO and CHLO to graph ops, each function with what it calls.

Functions that nothing calls are traced, op by op, as `lm.from_stablehlo` does; functions without foreign ops stay. Sizes must
be known: `shapes` gives those of the arguments of `entry` where its types have `?`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...api.errors import CompileError, about
from ...api.programs import Aval, Program, trace_function
from ...api.trees import structure as tree_structure
from .program import Module
from .values import DYNAMIC, dtype_of, is_tensor

FOREIGN = ("stablehlo.", "chlo.")


def foreign_functions(module: Any) -> list[str]:
    """The functions of a module that have foreign ops, and those that these call."""
    functions = {f.properties["sym_name"].data: f for f in module.body.block.ops if f.name == "func.func"}
    pending = [name for name, f in functions.items() if any(op.name.startswith(FOREIGN) for op in f.walk())]
    found: dict[str, None] = {}
    while pending:
        name = pending.pop(0)
        if name in functions and name not in found:
            found[name] = None
            pending += _callees(functions[name])
    return list(found)


def _callees(function: Any) -> list[str]:
    names = [op.properties["callee"].root_reference.data for op in function.walk() if op.name == "func.call"]
    composites = (op.get("decomposition") for op in function.walk() if op.name == "stablehlo.composite")
    return [*names, *(name for name in composites if name)]


@dataclass(frozen=True)
class ConvertStablehloToGraphPass(ModulePass):
    """Translate StableHLO and CHLO to graph ops.

    Attributes:
        entry: the function whose arguments `shapes` are for.
        shapes: sizes of its arguments, as `2x3`, `_` for a scalar.
    """

    name = "convert-stablehlo-to-graph"

    entry: str = "main"
    shapes: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = foreign_functions(op)
        if not names:
            return
        module = Module(op)
        called = {name for function in names for name in _callees(module.functions[function])}
        roots = [name for name in names if name not in called] or names[:1]
        program = Program(float("inf"))
        for name in roots:
            with about(module.functions[name]):
                avals = self.avals(name, module.functions[name])
            structure = tree_structure((tuple([0] * len(avals)), {}))
            trace_function(program, module.callable(name), structure, avals, name=name, public=True)
        for name in names:
            module.functions[name].detach()
        for function in list(program.module.body.block.ops):
            function.detach()
            op.body.block.add_op(function)
        for key in [key for key in op.attributes if key.startswith(("mhlo.", "stablehlo.", "jax."))]:
            del op.attributes[key]
        for mesh in [inner for inner in op.body.block.ops if inner.name == "sdy.mesh"]:
            mesh.detach()
        op.attributes.update(program.module.attributes)

    def avals(self, name: str, function: Any) -> Sequence[Aval]:
        """The types of a function's arguments."""
        types = list(function.function_type.inputs)
        shapes = list(self.shapes) if name == self.entry and self.shapes else ["" for _ in types]
        if len(shapes) != len(types):
            raise CompileError(f"@{name} takes {len(types)} arguments, {len(shapes)} shapes are given")
        found = []
        for k, (type, given) in enumerate(zip(types, shapes, strict=True)):
            if not is_tensor(type):
                raise CompileError(f"@{name} argument {k} is of type {type}: a program takes tensors")
            sizes = tuple(type.get_shape())
            if given:
                sizes = () if given == "_" else tuple(int(size) for size in given.split("x"))
            if DYNAMIC in sizes:
                raise CompileError(f"@{name} argument {k} has sizes that are not known, {type}: give them with shapes=")
            found.append(Aval(dtype_of(type), sizes))
        return found

"""Translate graph ops to StableHLO and CHLO, of which jax's compiler takes the text.

Derivatives, batches and composites are expanded before (`graph-vmap`, `graph-linearize`, `graph-transpose`, `graph-decompose`).
Functions without graph ops stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from . import faults
from .faults import UnsupportedError
from .from_graph import RULES
from .writing import Writer


@dataclass(frozen=True)
class ConvertGraphToStablehloPass(ModulePass):
    """Translate graph ops to StableHLO and CHLO."""

    name = "convert-graph-to-stablehlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if not inner.name.startswith("graph."):
                continue
            block = inner.parent
            assert block is not None
            writer = Writer(ctx, lambda made, block=block, inner=inner: block.insert_op_before(made, inner), inner.location)
            try:
                rule = RULES.get(inner.name.removeprefix("graph."))
                if rule is None:
                    raise UnsupportedError("has no form in StableHLO")
                results = list(rule(writer, inner))
            except Exception as error:
                if not faults.is_fault(error):
                    raise
                raise faults.at(inner, error) from error
            for before, after in zip(inner.results, results, strict=True):
                after.name_hint = before.name_hint
                before.replace_all_uses_with(after)
            inner.detach()
            inner.erase()
        op.attributes.pop("lamina.phase", None)

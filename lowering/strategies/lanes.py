"""Loops that no other strategy took become vectors where a cost estimate says that it gains."""

from __future__ import annotations

from ...codegen.targets import Target
from ...dialects.loop.structure import KernelOp
from ..analysis.nests import name_of
from ..loop_auto_vectorize import Planner
from ..schedule.vectorize import Vectorize
from .base import Take

REGISTERS = 4
"""How many registers a vector of a reduction spans: several chains at once hide the latency of their additions."""


def schedule_lanes(kernel: KernelOp, target: Target, take: Take) -> None:
    """Widen the loops of a kernel that are cheapest to run on vectors."""
    for loop, lanes in Planner(target, REGISTERS).block(kernel.body.block).widened:
        take(Vectorize(name_of(loop), lanes))

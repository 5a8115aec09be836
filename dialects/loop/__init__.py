"""The loop dialect: kernels over memrefs with explicit loops, and the schedule they carry."""

from __future__ import annotations

from xdsl.ir import Dialect

from .assume import AssumeOp
from .effects import CallbackOp
from .gather import GatherOp, ScatterOp
from .loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from .memory import AllocOp, CheckOp, LaunchOp, LoadOp, PrefetchOp, ReduceLanesOp, StoreOp
from .prints import PrintOp
from .repeat import BranchOp, CallOp, RepeatOp, RepeatWhileOp

Loop = Dialect(
    "loop",
    [
        *(KernelOp, ForOp, WhileOp, IfOp, YieldOp),
        *(AllocOp, LoadOp, StoreOp, GatherOp, ScatterOp, PrefetchOp, CheckOp, PrintOp, AssumeOp, ReduceLanesOp, LaunchOp),
        *(RepeatOp, RepeatWhileOp, BranchOp, CallOp, CallbackOp),
    ],
    [],
)

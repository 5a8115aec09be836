"""The loop dialect: kernels over memrefs with explicit loops, and the schedule they carry."""

from __future__ import annotations

from xdsl.ir import Dialect

from .memory import AllocOp, LaunchOp, LoadOp, ReduceLanesOp, StoreOp
from .structure import ForOp, IfOp, KernelOp, YieldOp

Loop = Dialect("loop", [KernelOp, ForOp, IfOp, YieldOp, AllocOp, LoadOp, StoreOp, ReduceLanesOp, LaunchOp], [])

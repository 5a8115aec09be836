"""The base class of the ops of the dialect."""

from __future__ import annotations

from xdsl.irdl import IRDLOperation


class LoopOp(IRDLOperation):
    """The base of the ops of the loop dialect."""

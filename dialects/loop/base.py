"""The base class of the ops of the dialect."""

from __future__ import annotations

from ..operations import BaseOp


class LoopOp(BaseOp):
    """The base of the ops of the loop dialect."""

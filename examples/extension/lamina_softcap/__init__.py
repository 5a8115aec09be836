"""Soft caps of logits, `cap * tanh(x / cap)`, and other extensions of lamina.

>>> import numpy as np
>>> soft_cap(np.float32([0, 1, 1000]), cap=50.0)
array([ 0.       ,  0.9998668, 50.       ], dtype=float32)
"""

from __future__ import annotations

from . import devices, kernels, ops, passes, schedules, targets
from .ops import DifferencesOp, SoftCapOp, differences, soft_cap

__all__ = [
    "DifferencesOp", "SoftCapOp", "devices", "differences", "kernels", "ops", "passes", "schedules", "soft_cap", "targets",
]  # fmt: skip

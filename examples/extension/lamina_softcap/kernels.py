"""A kernel that computes an op where its cost is least."""

from __future__ import annotations

from typing import Any

import lamina as lm

from .ops import DifferencesOp


def _is_short(op: Any, target: lm.extend.Target) -> bool:
    return all(isinstance(size, int) and 0 < size <= 64 for size in op.result_shape())


@lm.register_kernel(DifferencesOp, when=_is_short, cost=lambda op, target: 1.0)
@lm.kernel
def short_differences(x: lm.f32["M"], y: lm.f32["N"], z: lm.f32["M", "N"]):
    for i in range(M):
        for j in range(N):
            z[i, j] = x[i] - y[j]

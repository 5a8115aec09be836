"""Functions of rows, as softmax: values shared by several passes over a row are kept in a local buffer of a row.

The passes over a row find it in the first-level cache, so that each pass costs only its arithmetic. Expensive values, as an
exponential, are computed in the first pass that needs them. Where the last pass stores a result, the intermediate value is kept
in the memory of that result.
"""

from __future__ import annotations

from itertools import combinations

from xdsl.ir import SSAValue

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import StoreOp
from ..analysis.nests import buffer_name, name_of, ops_in, statements
from ..costs import element_bits
from ..schedule.reuse import WORTH, Reuse, count_of, shared_values, waiting_store
from .base import Take


def schedule_rows(kernel: KernelOp, target: Target, take: Take) -> None:
    """Keep the values that passes over rows have in common, in every body with several passes."""
    for loop in ops_in(kernel, ForOp):
        passes = [op for op in statements(loop.body.block) if isinstance(op, ForOp)]
        for first, second in combinations(passes, 2):
            count = count_of(first)
            if count is None or count != count_of(second):
                continue
            kept = shared_values(first, second, WORTH)
            if kept and sum(count * element_bits(value.type) // 8 for value, _ in kept) <= target.l2_bytes // 2:
                take(Reuse(name_of(first), name_of(second), into=_result_row(kernel, second, kept[0][0])))


def _result_row(kernel: KernelOp, second: ForOp, value: SSAValue) -> str:
    """The result whose memory may hold a value: its lines are fetched during the arithmetic, not when all is stored."""
    kept = any(isinstance(use.operation, StoreOp) for use in value.uses)
    stored = [] if kept else [op.buffer for op in statements(second.body.block) if isinstance(op, StoreOp)]
    found = [buffer for buffer in stored if waiting_store(kernel, buffer, second, value) is not None]
    return buffer_name(found[0]) if found else ""

"""What a program computes from quantized weights alone is computed when the program is made, once.

Weights are arrays that a function closes over; they are arguments of the compiled program, so that equal layers share code and
objects stay small. Where some are matrices or filters of bytes, the target decides how products read them
(`graph-integer-products`): the steps that decide it run here first, and what depends on weights alone, as packing, becomes
other weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp

from ... import pipeline
from ...transforms._ahead import Ahead, are_quantized

if TYPE_CHECKING:
    from .lowered import Lowered


def has_quantized_weights(lowered: Lowered) -> bool:
    """Whether a program closes over matrices or filters of bytes."""
    return any(are_quantized(x.dtype, x.ndim) for x in lowered.traced.captured)


def compute_from_weights(lowered: Lowered) -> Lowered:
    """The program without the ops that depend on weights alone, whose results become weights. The module is changed."""
    module = lowered.module_with_places()
    pipeline.choose_weights(module)
    main = next(f for f in module.body.block.ops if isinstance(f, FuncOp) and f.sym_name.data == "main")
    block, captured = main.body.blocks[0], list(lowered.traced.captured)
    first = len(block.args) - len(captured)
    ahead = Ahead(block, dict(zip(block.args[first:], map(np.asarray, captured), strict=True)))
    for value in ahead.results():
        argument = block.insert_arg(value.type, len(block.args))
        argument.name_hint = f"captured{len(captured)}"
        ahead.replace(value, argument)
        captured.append(ahead.arrays[value])
    ahead.erase()
    for k in reversed(range(len(captured))):
        if block.args[first + k].first_use is None:
            block.erase_arg(block.args[first + k])
            del captured[k]
    main.function_type = FunctionType.from_lists([a.type for a in block.args], list(main.function_type.outputs.data))
    return lowered.with_weights(replace(lowered.traced, captured=captured))

"""Helpers of the frontend's tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import CallOp, ReturnOp


def _interpret(module: Any, *arrays: Any, entry: str = "main") -> tuple[np.ndarray, ...]:
    """Evaluate a function of a module of graph ops, op by op."""
    functions = {op.sym_name.data: op for op in module.body.block.ops}
    block = functions[entry].body.block
    values: dict[Any, Any] = dict(zip(block.args, map(np.asarray, arrays), strict=True))
    for op in block.ops:
        operands = [values[v] for v in op.operands]
        if isinstance(op, ReturnOp):
            return tuple(operands)
        if isinstance(op, CallOp):
            results = _interpret(module, *operands, entry=op.callee.root_reference.data)
        else:
            results = op.evaluate(*operands)
        values.update(zip(op.results, results, strict=True))
    raise AssertionError("a function ends with a return")


@pytest.fixture(scope="session")
def interpret() -> Any:
    """`interpret(module, *arrays)`: the reference meaning of a module."""
    return _interpret

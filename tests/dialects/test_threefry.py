"""graph.threefry2x32 against its published vectors."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from lamina.dialects.graph.random import Threefry2x32Op

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from ops_table import Row, check, op_of
from test_equations import run

# Random123, tests/kat_vectors: threefry2x32 of 20 rounds, counter, key, result
VECTORS = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
)


@pytest.mark.parametrize("word", ["first", "second", "xor"])
def test_published_vectors(word: str) -> None:
    operands = [np.array(column, np.uint32) for column in zip(*(key + counter for counter, key, _ in VECTORS), strict=True)]
    first, second = np.array([result for *_, result in VECTORS], np.uint32).T
    want = {"first": first, "second": second, "xor": first ^ second}[word]
    row = Row("threefry2x32", (f"{len(VECTORS)}xui32",) * 4, {"word": word})
    op = op_of(row)
    assert isinstance(op, Threefry2x32Op)
    check(op.evaluate(*operands)[0], want, row, operands)
    (equation,) = op.equations()
    result = np.zeros_like(want)
    run(op, equation, operands, result)
    check(result, want, row, operands)

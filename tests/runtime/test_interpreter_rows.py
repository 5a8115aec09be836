"""The interpreter on the rows of the table of ops, at the phases where they are loops: its own meaning of every scalar op."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from lamina import pipeline
from lamina.runtime.interpreter import interpret

sys.path.insert(0, str(Path(__file__).parent.parent))
from ops_table import ROWS, Row, check, in_groups, inputs, make_module, op_of

BLOCKED = "householder_product"
"""The op whose loops run over whole blocks of 64 columns, whatever its sizes are: a row takes seconds, so one is enough."""
OTHERS = [row for row in ROWS[::3] if row.op != BLOCKED]


@pytest.mark.thorough(every=8)
@in_groups([*OTHERS, next(row for row in ROWS if row.op == BLOCKED and row.operands == ("5x3xf64",))])
def test_loops_mean_what_the_op_means(rows: list[Row]) -> None:
    for row in rows:
        if sum(np.prod(r.type.get_shape()) for r in op_of(row).results) <= 64:
            check_loops(row)


def check_loops(row: Row) -> None:
    module = make_module(row)
    pipeline.run_to(module, "program")
    rng = np.random.default_rng(3)
    for kind in ("normal", "edge"):
        args = inputs(row, rng, kind)
        with np.errstate(all="ignore"):
            wanted = op_of(row).evaluate(*args)
        for got, want in zip(interpret(module, "main", args), wanted, strict=True):
            check(got, want, row, args)

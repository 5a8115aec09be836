"""Every row of the table of ops: its syntax, and its compiled result against its meaning in NumPy."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from lamina.dialects.graph import OPS
from lamina.dialects.graph.base import CompositeOp
from lamina.dialects.types import shape_of
from lamina.executor import executor
from lamina.runtime.callable import Compiled
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "transforms"))
from graphs import parse, run
from ops_table import ROWS, Row, check, groups, in_groups, inputs, make_module, make_text, op_of

KINDS = ("normal", "edge", "edge", "edge")


def generic(module: ModuleOp) -> str:
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def arguments(row: Row) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(7)
    return [inputs(row, rng, kind) for kind in (KINDS if row.operands else KINDS[:1])]


@pytest.mark.thorough(every=8)
@in_groups(ROWS)
def test_syntax_round_trips(rows: list[Row]) -> None:
    text = str(make_module(*rows))
    assert str(parse(text)) == text


@pytest.mark.thorough
def test_generic_form_round_trips(mlir_opt: str) -> None:
    """Upstream reads it, and so do we: every third row, and of each op some."""
    modules = [make_module(*rows[::3]) for _, rows in groups(ROWS)]
    texts = [generic(module) for module in modules]
    command = [mlir_opt, "--allow-unregistered-dialect", "--split-input-file"]
    result = subprocess.run(command, input="\n// -----\n".join(texts), capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr[:4000]
    assert result.stdout.count('"graph.') == sum(text.count('"graph.') for text in texts)
    for module, text in zip(modules, texts, strict=True):
        assert str(parse(text)) == str(module)


@pytest.mark.thorough(every=6)
@in_groups(ROWS)
def test_compiled_equals_evaluate(rows: list[Row]) -> None:
    compiled = Compiled(executor.program(make_module(*rows)))
    ops = [op_of(row) for row in rows]
    for columns in zip(*map(arguments, rows), strict=True):
        got = compiled(*(array for args in columns for array in args))
        results = iter(got if isinstance(got, tuple) else (got,))
        for row, op, args in zip(rows, ops, columns, strict=True):
            for want in op.evaluate(*args):
                check(next(results), want, row, args)


EVERY_COMPOSITE = ",".join(name for name, op in OPS.items() if issubclass(op, CompositeOp))


@pytest.mark.thorough(every=8)
@in_groups([row for row in ROWS if issubclass(OPS[row.op], CompositeOp)])
def test_decomposition_equals_evaluate(rows: list[Row]) -> None:
    for row in rows:
        op = op_of(row)
        module = run(make_module(row), f"graph-decompose{{ops={EVERY_COMPOSITE}}}")
        assert not any(isinstance(inner, CompositeOp) for inner in module.walk())
        for args in arguments(row):
            check(interpret(module, "main", args)[0], op.evaluate(*args)[0], row, args)


RANK_OF_THEIR_OWN = {"butterflies", "conv", "cross_entropy", "dim"}
"""Ops whose definition says how many dims there are."""


@pytest.mark.parametrize("name", sorted({row.op for row in ROWS}))
def test_every_op_has_rows_without_elements_and_of_rank_8(name: str) -> None:
    ops = [op_of(row) for row in ROWS if row.op == name]
    shapes = [shape_of(value) for op in ops for value in (*op.operands, *op.results)]
    assert any(0 in shape for shape in shapes) or name == "dim"
    assert name in RANK_OF_THEIR_OWN or any(len(shape) == 8 for shape in shapes)


@pytest.mark.thorough
def test_no_row_stands_twice() -> None:
    texts = Counter(make_text(row) for row in ROWS)
    assert [text for text, count in texts.items() if count > 1] == []

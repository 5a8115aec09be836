"""Every row of the table of ops: its syntax, and its compiled result against its meaning in NumPy."""

from __future__ import annotations

import io
import os
import platform
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from lamina.dialects.graph import OPS
from lamina.dialects.graph.base import CompositeOp
from lamina.dialects.types import shape_of
from lamina.pipeline import build
from lamina.runtime.callable import Compiled
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "transforms"))
from graphs import parse, run
from ops_table import ROWS, Row, check, check_results, inputs, make_module, make_text, op_of

KINDS = ("normal", "edge", "edge", "edge")
NAMES = [f"{k}-{row}" for k, row in enumerate(ROWS)]
every_row = pytest.mark.parametrize("row", ROWS, ids=NAMES)


def generic(module: ModuleOp) -> str:
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def arguments(row: Row) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(7)
    return [inputs(row, rng, kind) for kind in (KINDS if row.operands else KINDS[:1])]


@every_row
def test_syntax_round_trips(row: Row) -> None:
    text = make_text(row)
    module = parse(text)
    assert str(module) == text
    again = parse(generic(module))
    assert str(again) == text
    assert generic(again) == generic(module)


def test_upstream_reads_the_generic_form(mlir_opt: str) -> None:
    text = "\n// -----\n".join(generic(make_module(row)) for row in ROWS)
    command = [mlir_opt, "--allow-unregistered-dialect", "--split-input-file"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr[:4000]
    assert result.stdout.count('"graph.') == len(ROWS)


@every_row
def test_compiled_equals_evaluate(row: Row) -> None:
    op = op_of(row)
    compiled = Compiled(build(parse(make_text(row))))
    for args in arguments(row):
        check_results(compiled(*args), op.evaluate(*args), row, args)


COMPILE_ALL = """
import sys
sys.path[:0] = sys.argv[1:]
import numpy as np
from graphs import parse
from ops_table import ROWS, check_results, inputs, make_text, op_of
from lamina.codegen.targets.host import host
from lamina.pipeline import build
from lamina.runtime.callable import Compiled

assert host().name == "x86-64-v3", host()
rng = np.random.default_rng(11)
for row in ROWS[::3]:
    compiled = Compiled(build(parse(make_text(row))))
    for kind in ("normal", "edge"):
        args = inputs(row, rng, kind)
        check_results(compiled(*args), op_of(row).evaluate(*args), row, args)
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="compiles for x86-64")
def test_compiled_for_another_target() -> None:
    """With the vectors of AVX2, whatever the host has: a third of the table in one process."""
    folders = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "transforms")]
    environment = {**os.environ, "LAMINA_TARGET": "x86-64-v3"}
    command = [sys.executable, "-c", COMPILE_ALL, *folders]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
    assert result.returncode == 0, result.stderr[-4000:]


EVERY_COMPOSITE = ",".join(name for name, op in OPS.items() if issubclass(op, CompositeOp))
COMPOSITES = [(name, row) for name, row in zip(NAMES, ROWS, strict=True) if issubclass(OPS[row.op], CompositeOp)]


@pytest.mark.parametrize("row", [row for _, row in COMPOSITES], ids=[name for name, _ in COMPOSITES])
def test_decomposition_equals_evaluate(row: Row) -> None:
    op = op_of(row)
    module = run(parse(make_text(row)), f"graph-decompose{{ops={EVERY_COMPOSITE}}}")
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


def test_no_row_stands_twice() -> None:
    texts = Counter(make_text(row) for row in ROWS)
    assert [text for text, count in texts.items() if count > 1] == []

"""Every row of the table of ops: its syntax, and its compiled result against its meaning in NumPy."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from lamina.dialects.graph import OPS
from lamina.dialects.graph.base import CompositeOp
from lamina.pipeline import build
from lamina.runtime.callable import Compiled
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "transforms"))
from graphs import parse, run
from ops_table import ROWS, Row, inputs, make_module, make_text

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


def unit(values: np.ndarray) -> np.ndarray:
    """The distance to the next float, in f64 (of f64 values near the largest one it is halved, not infinite)."""
    return np.spacing(np.abs(values)).astype(np.longdouble)


def check(got: np.ndarray, want: np.ndarray, row: Row, args: Sequence[np.ndarray]) -> None:
    """Equal dtypes and shapes, values within the row's ulp, NaN where NaN is wanted."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    if row.zeros:
        same &= (want != 0) | (np.signbit(got) == np.signbit(want))
    elif not row.ulp:
        same |= (got == 0) & (want == 0)
    with np.errstate(all="ignore"):
        magnitude = np.abs(want)
        if row.scale is not None:
            magnitude = np.maximum(magnitude, np.asarray(row.scale(*args), want.dtype))
        error = np.abs(got.astype(np.longdouble) - want) / unit(magnitude)
    close = same | (np.isfinite(got) & np.isfinite(want) & (error <= row.ulp))
    if close.all():
        return
    at = tuple(int(k) for k in np.argwhere(~close)[0])
    there = [a[at] for a in args if a.shape == want.shape]
    raise AssertionError(
        f"{(~close).sum()} of {close.size} differ, first at {at}: got {got[at]!r}, want {want[at]!r}, {error[at]:.3g} ulp"
        f" of {row.ulp}, operands {there}\n{make_text(row)}"
    )


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
    op = next(iter(make_module(row).body.block.first_op.body.block.ops))
    compiled = Compiled(build(parse(make_text(row))))
    for args in arguments(row):
        check(compiled(*args), op.evaluate(*args)[0], row, args)


COMPOSITES = [(name, row) for name, row in zip(NAMES, ROWS, strict=True) if issubclass(OPS[row.op], CompositeOp)]


@pytest.mark.parametrize("row", [row for _, row in COMPOSITES], ids=[name for name, _ in COMPOSITES])
def test_decomposition_equals_evaluate(row: Row) -> None:
    op = next(iter(make_module(row).body.block.first_op.body.block.ops))
    module = run(parse(make_text(row)), "graph-decompose")
    assert not any(isinstance(inner, CompositeOp) for inner in module.walk())
    for args in arguments(row):
        check(interpret(module, "main", args)[0], op.evaluate(*args)[0], row, args)


def test_the_table_is_distinct() -> None:
    assert len({make_text(row) for row in ROWS}) > 0.97 * len(ROWS)
    assert not math.isnan(sum(row.ulp for row in ROWS))

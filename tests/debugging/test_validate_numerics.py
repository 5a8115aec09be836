"""How near results must stay is what the pass promises; what cannot be checked is said."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lamina import pipeline
from lamina.debugging import comparison, validate
from lamina.debugging.comparison import Near
from lamina.debugging.conditioned import Condition, Perturbed
from lamina.debugging.validate import Report, ValidationError, validate_each
from lamina.dialects.context import make_context
from lamina.dialects.graph.builder import GraphBuilder
from lamina.dialects.parsing import parse_module
from xdsl.rewriter import InsertPoint

COPY = """func.func @main(%x: tensor<64xf64>) -> tensor<64xf64> {
  return %x : tensor<64xf64>
}"""
SUM = """func.func @main(%x: tensor<100xf32>) -> tensor<f32> {
  %y = graph.reduce add %x over [0] : tensor<100xf32> -> tensor<f32>
  return %y : tensor<f32>
}"""


class Step:
    """A pass that replaces what a function returns."""

    def __init__(self, name: str, numerics: str | None, change: Callable[..., Any] | None = None):
        self.name, self.change = name, change
        if numerics is not None:
            self.numerics = numerics

    def apply(self, ctx: Any, module: Any) -> None:
        for op in list(module.walk()):
            if op.name == "func.return" and self.change is not None:
                op.operands[0] = self.change(GraphBuilder(InsertPoint.before(op)), op.operands[0])


def check(text: str, *steps: Step, seed: int = 0) -> tuple[Report, list[str]]:
    notes: list[str] = []
    ctx = make_context()
    return validate_each(parse_module(ctx, text), steps, ctx, seed, notes.append), notes


def ulps(k: int) -> Callable[..., Any]:
    """Multiplies by 1 + k eps: k units in the last place for 1, k to 2k for others."""
    return lambda b, x: b.mul(x, b.full_like(x, 1 + k * 2.0**-52))


def test_ulps_are_counted_exactly():
    check(COPY, Step("near", "ulp(2)", ulps(1)))
    with pytest.raises(ValidationError, match="pass 'far'"):
        check(COPY, Step("far", "ulp(2)", ulps(3)))
    one = np.ones(1)
    pairs = [(0.0, 5e-324, 1), (-5e-324, 5e-324, 2), (1.0, 1 + 2.0**-52, 1), (0.0, -0.0, np.inf), (1e308, np.inf, np.inf)]
    for a, b, want in pairs:
        assert comparison.ulps(a * one, b * one) == want
    assert comparison.ulps(-1.7e308 * one, 1.7e308 * one) > 1e18


@pytest.mark.parametrize("numerics", ["exact", "ulp(4)"])
def test_signs_of_zeros_belong_to_the_meaning(numerics: str):
    with pytest.raises(ValidationError, match=r"result 0 at \[\d+\] is 0.0, before it was -0.0 \(\d+ of 64 elements differ\)"):
        check(COPY, Step("plus-zero", numerics, lambda b, x: b.add(x, b.full_like(x, 0.0))))
    check(COPY, Step("plus-zero", None, lambda b, x: b.add(x, b.full_like(x, 0.0))))


def test_only_finite_inputs_count_where_a_pass_says_so():
    def tamed(b: GraphBuilder, x: Any) -> Any:  # infinities become finite
        return b.max(b.min(x, b.full_like(x, sys.float_info.max)), b.full_like(x, -sys.float_info.max))

    check(COPY, Step("tamed", "finite", tamed))
    with pytest.raises(ValidationError, match="pass 'tamed'"):
        check(COPY, Step("tamed", None, tamed))
    with pytest.raises(ValidationError, match="pass 'doubled'"):
        check(COPY, Step("doubled", "finite", lambda b, x: b.add(x, x)))


def flush(b: GraphBuilder, x: Any, below: float) -> Any:
    return b.select(b.cmp(b.abs(x), b.full_like(x, below), predicate="lt"), b.full_like(x, 0.0), x)


@pytest.mark.parametrize("below", [1e-4, 1e-300])
def test_small_elements_count_beside_large_ones(below: float):
    with pytest.raises(ValidationError, match="pass 'flush' changed the meaning of @main") as caught:
        check(COPY, Step("flush", None, lambda b, x: flush(b, x, below)))
    (x,) = caught.value.inputs
    # minimised to one element, and the message shows it
    odd = ~np.isin(x, (0, 1))
    assert odd.sum() == 1 and 0 < abs(x[odd][0]) < below
    assert re.search(rf"all [01]\.0 but {re.escape(str(x[odd][0]))} at \[{np.argmax(odd)}\]", str(caught.value))


@pytest.mark.parametrize("seed", range(4))
def test_a_pass_answers_for_its_own_change_only(seed: int):
    def regroup(b: GraphBuilder, y: Any) -> Any:
        rows = b.reduce(b.reshape(y.owner.operands[0], (10, 10)), kind="add", dims=[1])
        return b.reduce(rows, kind="add", dims=[0])

    def twice(b: GraphBuilder, y: Any) -> Any:
        return b.neg(b.neg(y))

    report, _ = check(SUM, Step("regroup", "reassociating", regroup), Step("negated twice", "exact", twice), seed=seed)
    assert report.runs == 10


def test_infinities_and_nans_are_no_rounding():
    with pytest.raises(ValidationError, match="on the edge input"):
        check(SUM, Step("no-nan", None, lambda b, x: b.select(b.cmp(x, x, predicate="ne"), b.full_like(x, 0.0), x)))


def test_functions_that_cannot_be_run_are_noted():
    text = f"""{COPY}
func.func @outside(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %z = func.call @elsewhere(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}}
func.func private @elsewhere(tensor<2xf32>) -> tensor<2xf32>
"""
    report, notes = check(text, Step("nothing", "exact"))
    assert report.runs == 5
    assert notes == ["validation of @outside: not run: no function @elsewhere to run; there are: @main, @outside, @elsewhere"]


def test_long_runs_are_cut_and_noted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(validate, "MAX_ITERATIONS", 50)
    ctx, notes = make_context(), []
    module = parse_module(ctx, SUM)
    steps = [step.make() for step in pipeline.steps_to(module, "loop")]
    report = validate_each(module, steps, ctx, note=notes.append)
    assert report.unchanged > 10  # what changes nothing is not run again, but for the first pass
    assert report.runs == 5 * (len(steps) - 1 - report.unchanged)
    assert len(notes) == 1 and "from 'convert-graph-to-loop' on not run: more loop iterations than allowed (50)" in notes[0]


def test_scalars_are_generated():
    text = """func.func @main(%x: f32) -> f32 {
      %z = arith.addf %x, %x : f32
      return %z : f32
    }"""
    assert check(text, Step("nothing", "exact"))[0].runs == 5


def test_sums_at_the_end_of_the_range_are_not_blamed():
    """One order overflows and another does not, which a bounded function behind the sum hides."""
    near = Near("reassociating", lambda: Condition((np.float32([np.nan, 1.0]),), [np.zeros(2)]), finite=True)
    before, after = np.float32([-1.0, 1.0]), np.float32([1.0, 0.5])
    assert near.each(0, before, after).tolist() == [True, False]
    assert not Near("reassociating", near.condition).each(0, before, after).any()
    op = Perturbed(parse_module(make_context(), ""), None, None, 0, np.random.default_rng(0))
    assert np.isnan(op._ordered(np.float32(np.inf), np.float32(3e38), np.float32(3e38)))
    assert op._ordered(np.float32(np.inf), np.float32(np.inf)) == np.inf

"""From a fault to a file of a few ops: the module is reduced, the rule and its application are named."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lamina import debug_counters, pipeline
from lamina.debugging.bisection import bisect
from lamina.debugging.faults import find_fault
from lamina.debugging.reduction import op_count, reduced
from lamina.debugging.reproduce import reproduce
from lamina.debugging.schedule_steps import ScheduleStep, faulty_step
from lamina.debugging.trial import Ended, in_child
from lamina.dialects.context import make_context
from lamina.dialects.graph import rules
from lamina.dialects.parsing import parse_module
from lamina.lowering.schedule.vectorize import Vectorize
from xdsl.passes import ModulePass

CHAIN = 8


def program() -> Any:
    """A chain of many ops, in which one `sub(x, neg(y))` stands among others."""
    lines = ["func.func @main(%x: tensor<6x5xf32>, %y: tensor<6x5xf32>) -> (tensor<6x5xf32>, tensor<6xf32>) {"]
    last = "%x"
    for k in range(CHAIN):
        lines.append(f"  %a{k} = graph.tanh {last} : tensor<6x5xf32>")
        lines.append(f"  %b{k} = graph.mul %a{k}, %y : tensor<6x5xf32>")
        last = f"%b{k}"
    lines += [
        "  %n = graph.neg %y : tensor<6x5xf32>",
        f"  %s = graph.sub {last}, %n : tensor<6x5xf32>",
        "  %e = graph.exp %s : tensor<6x5xf32>",
        "  %r = graph.reduce add %e over [1] : tensor<6x5xf32> -> tensor<6xf32>",
        "  return %e, %r : tensor<6x5xf32>, tensor<6xf32>",
        "}",
    ]
    return parse_module(make_context(), "\n".join(lines))


@pytest.fixture
def wrong_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """`sub(x, neg(y)) -> sub(x, y)`, which is wrong."""

    def wrong(op: Any, b: Any) -> Any:
        inner = op.rhs.owner
        return b.sub(op.lhs, inner.x) if getattr(inner, "name", "") == "graph.neg" else None

    wrong.__name__ = "sub_of_neg"
    found = rules.rules_by_root()
    changed = tuple(replace(rule, apply=wrong) if rule.name == "sub_of_neg" else rule for rule in found["graph.sub"])
    monkeypatch.setitem(found, "graph.sub", changed)


def test_a_wrong_rule_becomes_a_file_of_a_few_ops(wrong_rule: None, tmp_path: Path) -> None:
    said: list[str] = []
    found = reproduce(program(), path=tmp_path / "fault.mlir", tell=said.append)
    assert found is not None and found.fault.step == "graph-simplify"
    assert found.ops <= 4 and found.passes == ["graph-simplify"]
    assert str(found.application) == "application 1 of 1 of rule 'sub_of_neg'"
    text = found.path.read_text()
    assert "// RUN: lamina-opt %s -p 'graph-simplify' --validate-each --seed 0\n" in text
    assert "// versions: lamina " in text and "// input 0: float32" in text and f"of {found.ops} ops" in said[0]
    again = find_fault(parse_module(make_context(), text), None, native=False)
    assert again is not None and again.step == "graph-simplify"


def test_without_a_fault_there_is_nothing_to_reproduce() -> None:
    assert find_fault(program()) is None


def test_reduction_keeps_what_fails_only() -> None:
    def has_exp_of_sub(module: Any) -> bool:
        return any(op.name == "graph.exp" and op.operands[0].owner.name == "graph.sub" for op in module.walk())

    module = program()
    small = reduced(module, has_exp_of_sub)
    assert op_count(small) == 2 and op_count(module) == 2 * CHAIN + 4
    assert "tensor<1x1xf32>" in str(small)


def test_bisection_names_the_application() -> None:
    from lamina import debug_counters

    done: list[int] = []

    def fails() -> bool:
        done[:] = [k for k in range(7) if debug_counters.allows("harmless") and debug_counters.allows("culprit")]
        return 4 in done and len(done) >= 5

    found = bisect(fails)
    assert found is not None and (found.rule, found.of) == ("harmless", 7) and found.number == 5


def test_python_writes_a_reproducer(
    wrong_rule: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import lamina as lm

    monkeypatch.setenv("LAMINA_DEBUG", "reproduce")
    monkeypatch.setenv("LAMINA_REPRODUCERS", str(tmp_path))
    x = np.ones((3, 4), np.float32)
    with pytest.raises(Exception, match="pass 'graph-simplify' changed the meaning of @main"):
        lm.jit(lambda x, y: lm.numpy.tanh(x * 2) - -y)(x, x)
    (file,) = tmp_path.glob("lamina-*.mlir")
    assert file.read_text().count("graph.") <= 12
    assert str(file) in capfd.readouterr().err


def test_the_tool_leaves_a_file_of_a_mismatch(
    wrong_rule: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lamina.tools.lamina_opt import main

    monkeypatch.setenv("LAMINA_REPRODUCERS", str(tmp_path))
    source = tmp_path / "source.mlir"
    source.write_text(
        "func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {\n  %n = graph.neg %y : tensor<3xf32>\n"
        "  %s = graph.sub %x, %n : tensor<3xf32>\n  return %s : tensor<3xf32>\n}\n"
    )
    assert main([str(source), "-p", "graph-simplify", "--validate-each"]) == 1
    (file,) = tmp_path.glob("lamina-*.mlir")
    assert f"note: reproducer: {file}" in capsys.readouterr().err
    assert "// error: pass 'graph-simplify' changed the meaning of @main" in file.read_text()
    assert main([str(source), "-p", "graph-simplify", "--bisect"]) == 0
    assert "application 1 of 1 of rule 'sub_of_neg'" in capsys.readouterr().out


def test_a_wrong_step_of_the_default_schedule_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`loop-vectorize` forgets an operand of a sum, in one of two kernels."""
    right = Vectorize.rewrite

    def wrong(self: Vectorize, kernel: Any) -> tuple[str, ...]:
        made = right(self, kernel)
        if kernel.sym_name.data == "add":
            for addition in [op for op in kernel.walk() if op.name == "arith.addf"][:1]:
                addition.results[0].replace_all_uses_with(addition.operands[0])
        return made

    monkeypatch.setattr(Vectorize, "rewrite", wrong)
    module = parse_module(
        make_context(),
        """func.func @main(%x: tensor<16x24xf32>, %y: tensor<16x24xf32>) -> (tensor<16x24xf32>, tensor<16xf32>) {
          %z = graph.add %x, %y : tensor<16x24xf32>
          %w = graph.reduce add %z over [1] : tensor<16x24xf32> -> tensor<16xf32>
          return %z, %w : tensor<16x24xf32>, tensor<16xf32>
        }""",
    )
    fault = find_fault(module, native=False)
    assert fault is not None and fault.step == "loop-auto"
    steps = [step.make() for step in pipeline.steps_to(module.clone(), "program")]
    found = faulty_step(module, steps)
    assert found is not None and found.text.startswith("loop-vectorize{") and "kernel=add" in found.text
    assert 1 <= found.number <= found.of and "loop-vectorize" in found.fault.message
    written = reproduce(module, passes=steps, path=tmp_path / "fault.mlir", tell=lambda _: None)
    assert written is not None and isinstance(written.application, ScheduleStep)
    assert re.search(r"step \d of \d of the default schedule: loop-vectorize\{", written.path.read_text())
    monkeypatch.undo()
    assert faulty_step(module, steps) is None


class _Fatal(ModulePass):
    """A pass that ends the process, or never ends, where a module has two ops."""

    name = "fatal"
    act: Any = None

    def apply(self, ctx: Any, op: Any) -> None:
        if {"graph.tanh", "graph.exp"} <= {inner.name for inner in op.walk()}:
            type(self).act()


def _hang() -> None:
    while True:
        pass


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.thorough
def test_a_crash_is_reduced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Trials run in children: the reducer survives what it reduces."""
    monkeypatch.setattr(_Fatal, "act", staticmethod(_crash))
    found = reproduce(program(), passes=[_Fatal()], path=tmp_path / "small.mlir", tell=lambda _: None)
    assert found is not None
    assert (found.fault.kind, found.fault.step, found.ops) == ("crash", "fatal", 2)
    assert "pass 'fatal' ended by SIGSEGV" in found.path.read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_hang_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Fatal, "act", staticmethod(_hang))
    fault = find_fault(program(), [_Fatal()], seconds=0.1)
    assert fault is not None
    assert (fault.kind, fault.step) == ("hang", "fatal")
    assert "took more than 0 s" in fault.message


def test_an_outcome_and_its_counts_come_back() -> None:
    """What a child returns or counts, and its end without a result."""

    def work(note: Any) -> str:
        debug_counters.allows("some rule")
        note("the middle")
        return "done"

    debug_counters.limit({"": (0, None)})
    try:
        assert in_child(work, 10) == "done"
        assert debug_counters.applications() == {"some rule": 1}
    finally:
        debug_counters.limit()
    ended = in_child(lambda note: (note("here"), os._exit(3)), 10)
    assert ended == Ended("crash", "", "here")

"""`--why` and `--whence`: from a value or line through rules and passes to loops; a mistake is told with what there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from lamina.tools.lamina_opt import main

TEXT = """func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x5xf32>) -> tensor<4x5xf32> {
  %h = graph.dot %x, %w contract [1] with [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  %two = graph.const dense<2.0> : tensor<4x5xf32>
  %17 = graph.pow %h, %two : tensor<4x5xf32>
  %y = graph.tanh %17 : tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "source.mlir"
    path.write_text(TEXT)
    return str(path)


def test_why_names_line_rule_kernel_and_loops(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, "--why", "%17"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"%17 is from {file}:4\n  graph: graph.pow\n")
    assert "graph-simplify: graph.mul (rules: " in said and "pow_two" in said
    assert "kernel @dot_mul_tanh\n" in said and "parallel i" in said


def test_whence_takes_the_end_of_a_path(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, "--whence", "source.mlir:2"]) == 0
    said = capsys.readouterr().out
    assert "graph: graph.dot" in said and "reduce k" in said


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--why", "%nothing", "the input defines no value %nothing"),
        ("--whence", "source.mlir:99", "no op is from source.mlir:99; ops are from: "),
        ("--whence", "source.mlir", "--whence takes FILE:LINE, got source.mlir"),
    ],
)
def test_mistakes_are_told(file: str, option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, option, value]) == 1
    assert message in capsys.readouterr().err


def test_reduce_bisect_and_reproduce_are_tasks_of_their_own(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file, "--reduce", "sh -c '! grep -q graph.tanh %s'", "--reduce-seconds", "20"]) == 0
    assert capsys.readouterr().out.count("graph.") == 1
    assert main([file, "-p", "graph-simplify", "--bisect"]) == 1
    assert "validation of the pipeline finds no fault" in capsys.readouterr().err
    assert main([file, "--reduce", "true"]) == 2
    assert "the command succeeds on the input" in capsys.readouterr().err
    assert main([file, "--bisect", "--reproduce", str(tmp_path / "r.mlir")]) == 2

"""Models of ONNX on the command line: run, translated, compiled for C, summarized."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")
import lamina as lm
from lamina.tools import lamina_compile, lamina_opt, lamina_run
from onnx_models import model, node, value

rng = np.random.default_rng(0)
W = rng.normal(size=(3, 4)).astype(np.float32)


def wanted(x: np.ndarray) -> np.ndarray:
    return np.tanh(x @ W)


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "layer.onnx"
    nodes = [node("MatMul", "x w", "h", name="project"), node("Tanh", "h", "y", name="squash")]
    file.write_bytes(model(nodes, [value("x", ["batch", 3])], [value("y", ["batch", 4])], {"w": W}))
    return str(file)


def counting(tmp_path: Path) -> str:
    """A model that is not one program."""
    file = tmp_path / "counting.onnx"
    file.write_bytes(model([node("NonZero", "x", "i")], [value("x", [4])], [value("i", None, 7)]))
    return str(file)


@pytest.mark.parametrize("mode", [[], ["--interpret"], ["--target", "x86-64-v2"], ["-p", "graph-cse"]])
def test_runs_on_a_file(path: str, tmp_path: Path, mode: list[str]) -> None:
    x = rng.normal(size=(5, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "y.npy"
    assert lamina_run.main([path, *mode, "--args", str(tmp_path / "x.npy"), "--save", str(out)]) == 0
    np.testing.assert_allclose(np.load(out), wanted(x), rtol=1e-5, atol=1e-6)


def test_random_arguments(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "y.npy"
    assert lamina_run.main([path, "--random", "--dim", "batch=2", "--seed", "3", "--save", str(out)]) == 0
    x = np.random.default_rng(3).random((2, 3)).astype(np.float32)
    np.testing.assert_allclose(np.load(out), wanted(x), rtol=1e-5, atol=1e-6)
    assert lamina_run.main([path, "--random", "--dim=batch=2", "--compare", "--time"]) == 0
    assert "largest difference" in capsys.readouterr().out


def test_random_arguments_of_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "double.mlir"
    file.write_text(
        'func.func @main(%x: tensor<?x2xf32, #graph.sizes<"n + 1">>) -> tensor<?x2xf32, #graph.sizes<"n + 1">> {\n'
        '  %y = graph.add %x, %x : tensor<?x2xf32, #graph.sizes<"n + 1">>\n'
        '  return %y : tensor<?x2xf32, #graph.sizes<"n + 1">>\n}\n'
    )
    assert lamina_run.main([str(file), "--random", "--dim", "n=3"]) == 0
    assert "float32 4x2" in capsys.readouterr().out
    assert lamina_run.main([str(file), "--random"]) == 2
    assert "has a dim n + 1 without a number" in capsys.readouterr().err


def test_a_model_that_is_not_one_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = counting(tmp_path)
    assert lamina_run.main([file, "--args", "[0, 2, 0, 3]"]) == 0
    assert "i: int64 1x2\n[[1 3]]" in capsys.readouterr().out
    for tool, args in ((lamina_run, ["--interpret", "--random"]), (lamina_opt, ["--compile-to=graph"])):
        assert tool.main([file, *args]) == 1
        assert "is not one program: node NonZero of i" in capsys.readouterr().err


@pytest.mark.parametrize("phase", ["graph", "optimized", "loop", "scheduled", "program", "llvmir", "asm"])
def test_every_phase(path: str, tmp_path: Path, phase: str) -> None:
    out = tmp_path / "out.mlir"
    assert lamina_opt.main([path, f"--compile-to={phase}", "-o", str(out), "--mlir-print-debuginfo"]) == 0
    text = out.read_text()
    if phase in ("llvmir", "asm"):
        assert "main" in text
        return
    assert 'loc("squash")' in text
    assert '"batch"' in text
    assert lamina_opt.main([path, f"--compile-to={phase}", "-o", str(out), "--dim", "batch=2"]) == 0
    if phase != "program":
        assert lamina_run.main([str(out), "--random", "--save", str(tmp_path / "y.npy")]) == 0
        x = np.random.default_rng(0).random((2, 3)).astype(np.float32)
        np.testing.assert_allclose(np.load(tmp_path / "y.npy"), wanted(x), rtol=1e-5, atol=1e-6)


def test_a_shared_object(path: str, tmp_path: Path) -> None:
    x = rng.normal(size=(3, 3)).astype(np.float32)
    for weights in ("embed", "file"):
        out = tmp_path / f"{weights}.so"
        assert lamina_compile.main([path, "-o", str(out), "--header", str(tmp_path / "h.h"), f"--weights={weights}"]) == 0
        assert "const float *x" in (tmp_path / "h.h").read_text()
        np.testing.assert_allclose(lm.load(out)(x), wanted(x), rtol=1e-5, atol=1e-6)


def test_stablehlo_is_translated_on_the_way(tmp_path: Path) -> None:
    file = tmp_path / "double.mlir"
    file.write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %y = stablehlo.add %x, %x : tensor<4xf32>\n"
        "  return %y : tensor<4xf32>\n}\n"
    )
    assert lamina_opt.main([str(file), "--compile-to=asm", "-o", str(tmp_path / "a.s")]) == 0
    assert lamina_opt.main([str(file), "--summary", "-o", str(tmp_path / "table.txt")]) == 0
    assert "1 op: 1 add" in (tmp_path / "table.txt").read_text()
    assert lamina_compile.main([str(file), "-o", str(tmp_path / "double.so")]) == 0
    np.testing.assert_array_equal(lm.load(tmp_path / "double.so")(np.ones(4, np.float32)), [2, 2, 2, 2])


def test_a_summary_names_nodes(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lamina_opt.main([path, "--summary", "--dim", "batch=8"]) == 0
    (row,) = [line.split() for line in capsys.readouterr().out.split("\n") if "dot_tanh" in line]
    assert row[:3] == ["squash", "dot_tanh", "12"]
    assert row[3] == str(2 * 8 * 3 * 4 + 8 * 4)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--dim", "batch"], "--dim takes NAME=SIZE, as batch=4, got batch"),
        (["--dim", "batch=x"], "--dim takes NAME=SIZE"),
        (["--dim", "batch=1", "--dim", "batch=2"], "--dim gives batch twice"),
        (["--dim", "rows=1"], "no input has a dim 'rows'; there are: batch"),
        (["--random", "--args", "1"], "exclude each other"),
        (["--random"], "argument 'x' has a dim batch without a number; give it with --dim batch=4"),
        (["--args", "ones:2x2xf32"], "takes x: float32[batch, 3], got shape [2, 2]"),
    ],
)
def test_what_is_wrong_is_said(path: str, capsys: pytest.CaptureFixture[str], args: list[str], message: str) -> None:
    assert lamina_run.main([path, *args]) in (1, 2)
    assert message in capsys.readouterr().err


def test_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.onnx").write_bytes(b"\xff" * 20)
    for tool in (lamina_run, lamina_opt):
        assert tool.main([str(tmp_path / "x.onnx")]) == 1
        assert "not an ONNX model" in capsys.readouterr().err
        assert tool.main([str(tmp_path / "y.onnx")]) == 1
        assert "cannot read the model" in capsys.readouterr().err


def test_texts_need_nothing_of_onnx() -> None:
    program = (
        "import sys\nfrom lamina.tools import lamina_opt, lamina_run, lamina_compile\n"
        "lamina_opt.main(['examples/deployment/classifier.mlir', '--compile-to=asm', '-o', '/dev/null'])\n"
        "print([n for n in sys.modules if n.startswith(('onnx', 'lamina.interop', 'lamina.frontend'))])"
    )
    root = Path(__file__).parent.parent.parent
    run = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"

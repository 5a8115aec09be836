"""lamina-run and lamina-compile: what they print and write, and how they refuse."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from lamina.tools import lamina_compile, lamina_run

LAYER = """
func.func @main(%x: tensor<3x4xf32>, %w: tensor<4x2xf32>, %b: tensor<2xf32>) -> (tensor<3x2xf32>, tensor<3xi64>) {
  %h = graph.dot %x, %w contract [1] with [0] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %bb = graph.broadcast %b to [1] : tensor<2xf32> -> tensor<3x2xf32>
  %s = graph.add %h, %bb : tensor<3x2xf32>
  %y = graph.relu %s : tensor<3x2xf32>
  %a = graph.argmax %s along 1 : tensor<3x2xf32> -> tensor<3xi64>
  return %y, %a : tensor<3x2xf32>, tensor<3xi64>
}
"""
ANY = """
func.func @main(%x: tensor<?x4xf32>) -> tensor<?xf32> {
  %y = graph.reduce add %x over [1] : tensor<?x4xf32> -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"""


@pytest.fixture
def layer(tmp_path: Path) -> str:
    path = tmp_path / "layer.mlir"
    path.write_text(LAYER)
    return str(path)


def arrays() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return tuple(rng.normal(size=shape).astype(np.float32) for shape in ((3, 4), (4, 2), (2,)))


@pytest.mark.parametrize("mode", [[], ["--interpret"]])
def test_runs_on_files_and_saves(layer: str, tmp_path: Path, mode: list[str]):
    x, w, b = arrays()
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "w.npz", w=w, b=b)
    out = tmp_path / "out.npz"
    args = [layer, *mode, "--save", str(out), "--args", str(tmp_path / "x.npy"), str(tmp_path / "w.npz")]
    assert lamina_run.main(args) == 0
    with np.load(out) as saved:
        np.testing.assert_allclose(saved["arr_0"], np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(saved["arr_1"], (x @ w + b).argmax(1))


def test_prints_times_and_compares(layer: str, capsys: pytest.CaptureFixture[str]):
    args = [layer, "--time", "--compare", "--args", "rand:3x4xf32", "randn:4x2xf32", "[0.5, -1]"]
    assert lamina_run.main(args) == 0
    printed = capsys.readouterr().out
    assert "result 0: float32 3x2" in printed and "result 1: int64 3" in printed
    assert re.search(r"^\d+ ns per call$", printed, re.M)
    assert re.search(r"result 0: largest difference [\de.-]+, \d+ of 6 elements differ", printed)


def test_open_sizes_come_from_the_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "any.mlir"
    path.write_text(ANY)
    assert lamina_run.main([str(path), "--args", "ones:3x4xf32"]) == 0
    assert "[4. 4. 4.]" in capsys.readouterr().out


def test_runs_llvm_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "twice.ll"
    path.write_text("""define void @main(ptr %x, ptr %y, ptr %arena) {
  %a = load <4 x float>, ptr %x, align 4
  %b = fadd <4 x float> %a, %a
  store <4 x float> %b, ptr %y, align 4
  ret void
}
""")
    assert lamina_run.main([str(path), "--args", "iota:4xf32", "--results", "4xf32"]) == 0
    assert "[0. 2. 4. 6.]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "status", "message"),
    [
        (["--args", "rand:3x4xf32"], 1, "@main takes 3 arguments, got 1"),
        (["--args", "rand:3x4xf64", "rand:4x2xf32", "[1, 2]"], 1, r"argument 'x' must be float32\[3,4\], got float64\[3,4\]"),
        (["--args", "rand:3x5xf32", "rand:4x2xf32", "[1, 2]"], 1, r"argument 'x' must be float32\[3,4\], got float32\[3,5\]"),
        (["--args", "rand:3x4xf32", "rand:4x2xf32", "hello"], 1, "argument 'hello' is no number"),
        (["--args", "rand:3x4xf99", "rand:4x2xf32", "1"], 1, "must be like rand:128x64xf32"),
        (["--args", "missing.npy", "rand:4x2xf32", "1"], 1, "no file missing.npy"),
        (["--entry", "other"], 1, "no function @other to run; there are: @main"),
        (["--save", "x.txt"], 2, "takes a .npy or .npz file"),
        (["--frobnicate"], 2, "unknown option --frobnicate"),
        (["--seed", "-1"], 2, "--seed takes a whole number from 0"),
        (["--args", "rand:3x4xf32", "rand:4x2xf32", "[1e400, 1]"], 1, "number 1e400 is out of range"),
        (["--args", "rand:3x4xf32", "[[1], [2, 3]]", "[1, 1]"], 1, "has rows of different lengths"),
        (["-p", "graph-fus"], 2, "graph-fuse"),
    ],
)
def test_refuses_in_one_message(layer: str, capsys: pytest.CaptureFixture[str], extra: list[str], status: int, message: str):
    assert lamina_run.main([layer, *extra]) == status
    printed = capsys.readouterr().err
    assert re.search(message, printed), printed
    assert "Traceback" not in printed


def test_bad_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.mlir"
    path.write_text(LAYER.replace("graph.relu %s", "graph.relu %nothing"))
    assert lamina_run.main([str(path)]) == 1
    assert "bad.mlir:6" in capsys.readouterr().err
    assert lamina_run.main([str(tmp_path / "none.mlir")]) == 2
    assert lamina_run.main([str(tmp_path)]) == 2


def test_bad_archives_are_refused(layer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "junk.npz").write_bytes(b"PK\x03\x04 nothing")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for name in ("junk.npz", "objects.npy"):
        assert lamina_run.main([layer, "--args", str(tmp_path / name)]) == 1
        assert "cannot read" in capsys.readouterr().err


def test_an_object_links_with_c(layer: str, tmp_path: Path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    assert (
        lamina_compile.main([layer, "-o", str(tmp_path / "named.o"), "--header", str(tmp_path / "named.h"), "--prefix=named"])
        == 0
    )
    (tmp_path / "main.c").write_text("""
#include <stdio.h>
#include "named.h"
static _Alignas(64) unsigned char arena[named_ARENA_BYTES + 64];
int main(void) {
  float x[12] = {1, 2, 3, 4, 0, 0, 0, 0, -1, -1, -1, -1}, w[8] = {1, 0, 1, 0, 1, 0, 1, 0}, b[2] = {0.5f, 1}, y[6];
  int64_t a[3];
  if (named(x, w, b, y, a, arena, sizeof arena)) return 1;
  for (int i = 0; i < 6; i++) printf("%g ", y[i]);
  for (int i = 0; i < 3; i++) printf("%d ", (int)a[i]);
}
""")
    program = tmp_path / "program"
    command = [compiler, str(tmp_path / "main.c"), str(tmp_path / "named.o"), "-o", str(program), "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["10.5", "1", "0.5", "1", "0", "1", "0", "1", "1"]


def test_compile_refuses(layer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert lamina_compile.main([layer, "-o", str(tmp_path / "x.exe")]) == 2
    assert "must end in .o, .a, .so, .s or .ll" in capsys.readouterr().err
    assert lamina_compile.main([layer, "-o", str(tmp_path / "x.o"), "--target", "pdp11"]) == 2
    assert "pdp11" in capsys.readouterr().err
    assert lamina_compile.main([layer, "-o", str(tmp_path / "x.s"), "--target", "aarch64"]) == 0
    assert "fmla" in (tmp_path / "x.s").read_text()

"""lamina-run: scalars, LLVM IR that does not fit, and arguments at the edge of the syntax."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from lamina.tools import lamina_run

SCALAR = """func.func @main(%x: f32, %n: i32) -> f32 {
  %z = arith.addf %x, %x : f32
  return %z : f32
}
"""
DOUBLE = """define void @main(ptr align(4) %x, ptr %y, ptr %arena) {
  %a = load <4 x float>, ptr %x, align 4
  %b = fadd <4 x float> %a, %a
  store <4 x float> %b, ptr %y, align 4
  ret void
}
"""


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("options", [["--args", "rand:4xf32"], ["--random"], ["--random", "--interpret"]])
def test_functions_with_branches_are_refused(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  func.return %x : tensor<4xf32>
}
"""
    assert lamina_run.main([write(tmp_path / "two.mlir", text), *options]) == 1
    error = capsys.readouterr().err
    assert "two.mlir:2:3: error: 'func.func' op @main has 2 blocks" in error and "internal" not in error


def test_scalars_are_interpreted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path / "scalar.mlir", SCALAR)
    assert lamina_run.main([file, "--interpret", "--args", "1.5", "7"]) == 0
    assert "result 0: float32 scalar\n3." in capsys.readouterr().out
    assert lamina_run.main([file, "--args", "1.5", "7"]) == 1
    assert "@main takes or returns f32: only tensors are compiled; --interpret runs it" in capsys.readouterr().err
    assert lamina_run.main([file, "--interpret", "--args", "1.5", "7.5"]) == 1
    assert "argument 'n' must be int32" in capsys.readouterr().err


LLVM = ["--args", "iota:4xf32", "--results", "4xf32"]


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        ([*LLVM, "--entry", "other"], 1, "no function @other to run; there are: @main"),
        ([*LLVM, "--interpret"], 2, "LLVM IR is compiled and run as it is"),
        ([*LLVM, "-p", "cse"], 2, "LLVM IR is compiled and run as it is"),
        (["--args", "--results", "4xf32"], 1, "@main takes 3 pointers: it would be given 0 arguments, 1 results and the arena"),
        ([*LLVM, "4xf32"], 1, "@main takes 3 pointers: it would be given 1 arguments, 2 results and the arena"),
        (["--args", "iota:4xf32"], 2, "give --results"),
        (["--args", "iota:4xf32", "--results", "\N{SUPERSCRIPT TWO}xf32"], 1, "must be like rand:128x64xf32"),
    ],
)
def test_llvm_ir_must_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str], status: int, message: str):
    assert lamina_run.main([write(tmp_path / "double.ll", DOUBLE), *args]) == status
    printed = capsys.readouterr().err
    assert message in printed and "internal" not in printed


SYSTEM = (
    DOUBLE.replace("  %b =", "  %s = call i32 @system(ptr null)\n  %b =")
    + """
declare i32 @"\\73ystem"(ptr)
"""
)
SYSCALL = DOUBLE.replace("  %b =", '  %s = call i64 asm sideeffect "syscall", "={ax},{ax}"(i64 39)\n  %b =')
READ = DOUBLE.replace("  %b =", "  %s = load ptr, ptr @environ\n  %b =") + "@environ = external global ptr\n"
INDIRECT = DOUBLE + "declare i32 @getpid()\n@table = global ptr @getpid\n"
ALIAS = DOUBLE + "@run = alias i32 (), ptr @inner\ndefine i32 @inner() {\n  %s = call i32 @getpid()\n  ret i32 %s\n}\n"
ALIAS += "declare i32 @getpid()\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SYSTEM, "the text calls or reads @system, which is not of compiled code: --trust runs it all the same"),
        (SYSCALL, "the text has assembly of its own, as 'syscall': --trust runs it all the same"),
        (READ, "@environ"),
        (INDIRECT, "@getpid"),
        (ALIAS, "@getpid"),
        ('module asm "nop"\n' + DOUBLE, "'nop'"),
        ('target triple = "riscv64-unknown-linux-gnu"\n' + DOUBLE, "the text is for riscv64, this machine is "),
    ],
)
def test_llvm_ir_calls_only_what_compiled_code_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
):
    file = write(tmp_path / "evil.ll", text)
    assert lamina_run.main([file, *LLVM]) == 1
    assert message in capsys.readouterr().err
    if text in (SYSTEM, INDIRECT):
        assert lamina_run.main([file, "--trust", *LLVM]) == 0
        assert "[0. 2. 4. 6.]" in capsys.readouterr().out


def test_llvm_ir_comes_through_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(DOUBLE.encode())))
    assert lamina_run.main(["-", *LLVM]) == 0
    assert "[0. 2. 4. 6.]" in capsys.readouterr().out


@pytest.mark.parametrize("damage", [120, 60, 200])
def test_damaged_archives_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: int):
    file = write(tmp_path / "scalar.mlir", SCALAR)
    np.savez_compressed(tmp_path / "w.npz", a=np.random.default_rng(0).normal(size=100))
    data = bytearray((tmp_path / "w.npz").read_bytes())
    data[damage : damage + 40] = b"\xff" * 40
    (tmp_path / "w.npz").write_bytes(bytes(data))
    (tmp_path / "w.npy").write_bytes(bytes(data))
    for name in ("w.npz", "w.npy"):
        assert lamina_run.main([file, "--interpret", "--args", str(tmp_path / name), "1"]) == 1
        printed = capsys.readouterr().err
        assert re.search(r"cannot read|is an archive", printed) and "internal" not in printed, printed

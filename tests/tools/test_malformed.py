"""Malformed input: each a clear message with a location, exit status 1 or 2, no traceback, no hang."""

from __future__ import annotations

import contextlib
import io
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamina.tools.lamina_opt import main

VALID = """func.func @layer(%x: tensor<32x64xf32>, %w: tensor<64x10xf32>) -> tensor<32x64xf32> {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %h = graph.add %x, %x : tensor<32x64xf32>
  %y = graph.neg %h : tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}
func.func @loops(%m: memref<8xf32>, %n: index) {
  scf.for %i = %n to %n step %n {
    %a = memref.load %m[%i] : memref<8xf32>
    memref.store %a, %m[%i] : memref<8xf32>
  }
  return
}
"""

TOKENS = re.compile(r"[%@]\w+|[\w.]+|->|[^\s\w]")

BROKEN_TOKENS = ("", "}", "<", "%nope", "@", "0x", "!graph.none", '"', "tensor<?x", "graph.nope", "-1", "\x00", "é", "->", "i0")

SPECIAL = {
    "empty_braces": b"{",
    "unknown_op": b"%0 = graph.nope : tensor<2xf32>",
    "doubled_alias": b"!a0 = tuple<f32>\n" + b"".join(b"!a%d = tuple<!a%d, !a%d>\n" % (k + 1, k, k) for k in range(40)),
    "doubled_location": b'#a0 = loc("a":1:1)\n'
    + b"".join(b"#a%d = loc(fused[#a%d, #a%d])\n" % (k + 1, k, k) for k in range(30)),
    "unknown_dialect": b"%0 = nope.op : i32",
    "unknown_generic_op": b'"nope.op"() : () -> ()',
    "unknown_type": b"func.func @f(%x: !nope.type) { return }",
    "unknown_attribute": b"module attributes {a.b = #nope.attr} {}",
    "wrong_operand_type": b"func.func @f(%x: f32, %y: i32) { %z = arith.addf %x, %y : f32\n return }",
    "wrong_shape": b"func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> { return %x : tensor<2xf32> }",
    "undefined_value": b"func.func @f() -> f32 { return %x : f32 }",
    "use_before_definition": b"func.func @f(%x: f32) { %a = arith.addf %b, %x : f32\n %b = arith.addf %x, %x : f32\n return }",
    "redefined_value": b"func.func @f(%x: f32) { %x = arith.constant 1.0 : f32\n return }",
    "missing_terminator": b"func.func @f() { %x = arith.constant 1.0 : f32 }",
    "missing_block": b"func.func @f() { cf.br ^nope }",
    "symbol_twice": b"func.func @f() { return }\nfunc.func @f() { return }",
    "huge_splat": b"%0 = arith.constant dense<0.0> : tensor<1000000x1000000xf32>",
    "huge_integer": b"%0 = arith.constant 99999999999999999999999999999 : i32",
    "huge_width": b"func.func @f(%x: i99999999999) { return }",
    "negative_dim": b"func.func @f(%x: tensor<-3xf32>) { return }",
    "dim_overflow": b"%0 = arith.constant dense<1> : tensor<99999999999999999999x99999999999999999999xi8>",
    "deep_brackets": b"module attributes {a.b = " + b"[" * 100_000 + b"} {}",
    "deep_tuples": b"func.func @f(%x: " + b"tuple<" * 50_000 + b") { return }",
    "deep_dense": b"%0 = arith.constant dense<" + b"[" * 50_000 + b"> : tensor<1xf32>",
    "deep_regions": b"module {" * 5_000,
    "deep_closed_regions": b"module {" * 400 + b"}" * 400,
    "deep_locations": b"func.func @f() { return loc(" + b"fused[" * 20_000 + b") }",
    "deep_functions": b"func.func @f(%x: " + b"(" * 50_000 + b") { return }",
    "deep_affine": b"module attributes {a.b = affine_map<(d0) -> (" + b"(" * 50_000 + b"d0)>} {}",
    "deep_dict": b"module attributes {a.b = " + b"{x = " * 20_000 + b"} {}",
    "long_line": b"func.func @f(" + b"%x, " * 50_000 + b") { return }",
    "binary": bytes(range(256)) * 8,
    "elf": b"\x7fELF\x02\x01\x01" + b"\0" * 64,
    "utf16": "func.func @f() { return }".encode("utf-16"),
    "latin1": "// caf\u00e9\nfunc.func".encode("latin-1"),
    "zero_byte": b"func.func @f() {\0 return }",
    "string_without_end": b'module attributes {a.b = "abc} {}',
    "bad_escape": b'module attributes {a.b = "\\q"} {}',
    "attribute_twice": b"module attributes {a.b = 1 : i32, a.b = 2 : i32} {}",
    "hex_blob_odd": b'%0 = arith.constant dense<"0x123"> : tensor<2xf32>',
    "hex_blob_short": b'%0 = arith.constant dense<"0x12"> : tensor<2xf32>',
    "ragged": b"%0 = arith.constant dense<[[1, 2], [3]]> : tensor<2x2xi32>",
    "dynamic_dense": b"%0 = arith.constant dense<0> : tensor<?xi32>",
    "result_count": b"%0, %1 = arith.constant 1 : i32",
    "operand_count": b"%0 = arith.addi : i32",
    "python": b"import os\nprint(os)\n",
    "json": b'{"a": [1, 2, 3]}',
    "llvm": b"define i32 @f() {\n  ret i32 0\n}\n",
}


def malformed() -> Iterator[tuple[str, bytes]]:
    """Name and contents of every malformed input."""
    yield from SPECIAL.items()
    inside = [k for k in range(1, len(VALID)) if _depth(VALID[:k])]
    for k in inside[:: max(1, len(inside) // 100)]:
        yield f"cut_at_{k}", VALID[:k].encode()
    rng = random.Random(20)
    tokens = list(TOKENS.finditer(VALID))
    for _ in range(120):
        at, new = rng.choice(tokens), rng.choice(BROKEN_TOKENS)
        text = VALID[: at.start()] + f" {new} " + VALID[at.end() :]
        if new != at.group() and _matters(text):
            yield f"token_{at.start()}_{new.encode().hex()}", text.encode()


def _depth(text: str) -> int:
    return text.count("{") - text.count("}") + text.count('"') % 2


def _matters(text: str) -> bool:
    """Whether a changed text is no program any more (a renamed function still is one)."""
    from lamina.dialects.context import make_context
    from lamina.dialects.dominance import verify_module
    from lamina.dialects.parsing import parse_module

    try:
        verify_module(parse_module(make_context(), text))
    except Exception:
        return True
    return False


CASES = list({contents: name for name, contents in malformed()}.items())


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 200


def check(status: int, output: str, errors: str) -> None:
    """A clean failure: status, one message at least, no traceback, nothing on standard output."""
    assert status in (1, 2), (status, output, errors)
    assert "Traceback" not in errors
    assert "internal:" not in errors, errors
    assert "error: " in errors, errors
    assert len(errors) < 8000, errors[:500]
    assert output == ""


@pytest.mark.thorough(every=8)
@pytest.mark.timeout(20)
@pytest.mark.parametrize(("contents", "name"), CASES, ids=[name for _, name in CASES])
def test_is_refused_with_a_message(contents: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "input.mlir"
    path.write_bytes(contents)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(path)])
    check(status, out.getvalue(), err.getvalue())
    assert re.search(r"input\.mlir:\d+:\d+: error: \S", err.getvalue()), err.getvalue()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["deep_brackets", "deep_closed_regions", "binary", "huge_splat", "use_before_definition"])
def test_is_refused_in_a_process_of_its_own(name: str, tmp_path: Path) -> None:
    path = tmp_path / "input.mlir"
    path.write_bytes(SPECIAL[name])
    command = [sys.executable, "-m", "lamina.tools.lamina_opt", str(path)]
    done = subprocess.run(command, capture_output=True, timeout=60)
    check(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p", "nope"],
        ["-p", "canonicalize{"],
        ["-p", "canonicalize{nope=1}"],
        ["-p", "canonicalize,,cse"],
        ["-p", "}"],
        ["-p", '"'],
        ["--nope"],
        ["--compile-to=nope"],
        ["--compile-to"],
        ["-t", "nope"],
        ["--print-ir-after=nope"],
        ["one.mlir", "two.mlir"],
        ["missing.mlir"],
        ["."],
        ["\0"],
        ["x" * 5000],
        ["-o", "/no/such/folder/out.mlir"],
    ],
    ids=lambda arguments: " ".join(arguments)[:30].replace("\0", "NUL"),
)
def test_bad_arguments(arguments: list[str], tmp_path: Path) -> None:
    path = tmp_path / "valid.mlir"
    path.write_text("func.func @f() { return }")
    needs_input = arguments[0].startswith("-")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([*([str(path)] if needs_input else []), *arguments])
    assert status == 2
    assert err.getvalue().startswith("lamina-opt: error: ")
    assert err.getvalue().count("\n") == 1
    assert out.getvalue() == ""

"""`lm.from_stablehlo` against jax, in a child process, and texts that are wrong."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
from oracles import of_jax_once

HERE = Path(__file__).parent
NAMES = [
    line.strip().split('"')[1] for line in (HERE / "jax_programs.py").read_text().splitlines() if line.startswith('        "')
]


@pytest.fixture(scope="module")
def oracle() -> Any:
    """The texts, arguments and results of jax."""
    pytest.importorskip("jax")
    program = HERE / "jax_programs.py"

    def run(path: Path) -> None:
        subprocess.run([sys.executable, str(program), str(path)], check=True, capture_output=True, timeout=300)

    with np.load(of_jax_once(program.read_text(), run)) as archive:
        return {name: archive[name] for name in archive.files}


def _numbered(oracle: Any, kind: str) -> list[np.ndarray]:
    found = []
    while f"{kind}:{len(found)}" in oracle:
        found.append(oracle[f"{kind}:{len(found)}"])
    return found


def _bound(dtype: str) -> float:
    return {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5}.get(dtype, 1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_equals_jax(name: str, oracle: Any) -> None:
    custom, generic = json.loads(str(oracle["texts"]))[name]
    arguments, wanted = _numbered(oracle, f"{name}:argument"), _numbered(oracle, f"{name}:result")
    for text in (custom, generic):
        got = lm.from_stablehlo(text)(*arguments)
        got = got if isinstance(got, tuple) else (got,)
        assert len(got) == len(wanted)
        for k, (a, b) in enumerate(zip(got, wanted, strict=True)):
            dtype = str(oracle[f"{name}:dtype:{k}"])
            assert str(a.dtype) == dtype
            wide = np.result_type(b.dtype, np.float64) if b.dtype.kind in "fc" else b.dtype
            np.testing.assert_allclose(np.asarray(a).astype(wide), b.astype(wide), _bound(dtype), _bound(dtype))


MLP = """
func.func @main(%x: tensor<3x4xf32>, %w: tensor<4x2xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.tanh %0 : tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}
"""


def test_is_a_function_like_any_other() -> None:
    x, w = (np.random.default_rng(0).normal(size=s).astype(np.float32) for s in ((3, 4), (4, 2)))
    f = lm.from_stablehlo(MLP)
    np.testing.assert_allclose(f(x, w), np.tanh(x @ w), 1e-5, 1e-5)
    slope = lm.grad(lambda w: f(x, w).sum())(w)
    np.testing.assert_allclose(slope, x.T @ (1 - np.tanh(x @ w) ** 2), 1e-4, 1e-4)
    np.testing.assert_allclose(lm.vmap(f, (0, None))(np.stack([x, 2 * x]), w)[1], np.tanh(2 * x @ w), 1e-5, 1e-5)
    assert "graph.tanh" in f.lower(x, w).as_text()
    assert f.lower(x, w).compile()(x, w).shape == (3, 2)


def test_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mlp.stablehlo.mlir"
    path.write_text(MLP)
    assert lm.from_stablehlo(path)(np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)).shape == (3, 2)
    with pytest.raises(FileNotFoundError):
        lm.from_stablehlo(tmp_path / "missing.mlir")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("stablehlo.tanh", "stablehlo.tangens", "stablehlo.tangens is not registered"),
        ("[1] x [0]", "[1] x [1]", r"<stablehlo>:3:8: 'stablehlo.dot_general' op .*contracting sizes differ"),
        ("tanh %0", "tanh %7", "%7 is used but not defined"),
        ("tensor<3x2xf32>\n  return", "tensor<3x2xf32\n  return", "<stablehlo>:"),
        ("[1] x [0]", "[9] x [0]", "<stablehlo>:3:8: 'stablehlo.dot_general' op"),
        ("@main", "@other", "there is no function @main; there are: @other"),
    ],
    ids=["name", "sizes", "value", "syntax", "dim", "entry"],
)
def test_errors_have_line_and_reason(before: str, after: str, message: str) -> None:
    text = MLP.replace(before, after)
    assert text != MLP
    with pytest.raises(lm.CompileError, match=message):
        lm.from_stablehlo(text)(np.ones((3, 4), np.float32), np.ones((4, 2), np.float32))


def test_arguments_are_checked() -> None:
    f = lm.from_stablehlo(MLP)
    with pytest.raises(ValueError, match=r"argument 1 is float32\[4,3\], its type is tensor<4x2xf32>|argument 1 is"):
        f(np.ones((3, 4), np.float32), np.ones((4, 3), np.float32))
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        f(np.ones((3, 4), np.float32))


OPEN = """
#loc1 = loc("model.py":4:36 to :55)
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32> loc(#loc1)
  %0 = call @ones(%n, %x) : (tensor<i32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
func.func private @ones(%n: tensor<i32>, %x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c = stablehlo.constant dense<4> : tensor<1xi32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %1 = stablehlo.concatenate %0, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %2 = stablehlo.dynamic_broadcast_in_dim %one, %1, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
  %3 = stablehlo.add %x, %2 : tensor<?x4xf32>
  return %3 : tensor<?x4xf32>
}
"""


def test_open_sizes_are_those_of_the_arguments() -> None:
    f = lm.from_stablehlo(OPEN)
    for n in (0, 1, 5):
        x = np.arange(4.0 * n, dtype=np.float32).reshape(n, 4)
        np.testing.assert_array_equal(f(x), x + 1)
    with pytest.raises(lm.CompileError, match="has sizes that depend on the values of arguments"):
        lm.from_stablehlo(OPEN, "ones")(np.array(2, np.int32), np.ones((2, 4), np.float32))


BOUNDED = """
func.func @main(%x: tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>> {
  %size = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.add %x, %x : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  %1 = "stablehlo.set_dimension_size"(%0, %size) <{dimension = 0 : i64}> : (
      tensor<?x4xf32, #stablehlo.bounds<8, ?>>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  return %1 : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
}
"""


def test_bounds_of_sizes_are_compared() -> None:
    f = lm.from_stablehlo(BOUNDED)
    for n in (2, 8):
        x = np.arange(4.0 * n, dtype=np.float32).reshape(n, 4)
        np.testing.assert_array_equal(f(x), 2 * x[:2])
    with pytest.raises(ValueError, match=r"argument 0 is float32\[9,4\]|argument 0 is float32\[9, 4\].*bounds<8, \?>"):
        f(np.ones((9, 4), np.float32))
    with pytest.raises(lm.CompileError, match=r"<stablehlo>:5:8: .* gives dim 0 of \[1, 4\] the size 2"):
        f(np.ones((1, 4), np.float32))
    with pytest.raises(lm.CompileError, match="has bounds 8 for 2 dims"):
        lm.from_stablehlo(BOUNDED.replace("bounds<8, ?>", "bounds<8>"))(np.ones((2, 4), np.float32))


def test_checks_compare_where_the_program_runs() -> None:
    text = """
    func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.add %x, %x : tensor<2xf32>
      check.expect_eq_const %0, dense<[2.0, 0x7FC00000]> : tensor<2xf32>
      stablehlo.custom_call @check.expect_close(%x, %y) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
      return %0 : tensor<2xf32>
    }"""
    f = lm.from_stablehlo(text)
    x = np.float32([1, np.nan])
    assert f(x, x)[0] == 2
    with pytest.raises(lm.CheckError, match="<stablehlo>:4:7: expected"):
        f(x + 1, x + 1)
    with pytest.raises(lm.CheckError, match="<stablehlo>:5:7: expected"):
        f(x, np.float32([2, np.nan]))


SCAN = """
func.func @main(%x: tensor<2x5xf32>, %init: tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>) {{
  %y, %c = "chlo.scan"(%x, %init) <{{dimension = 1 : i64, is_reverse = {reverse}, operandSegmentSizes = array<i32: 1, {inits}>,
      resultSegmentSizes = array<i32: 1, 1>}}> ({{
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %s = stablehlo.subtract %b, %a : tensor<2xf32>
    stablehlo.return %s, %s : tensor<2xf32>, tensor<2xf32>
  }}) : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
  return %y, %c : tensor<2x5xf32>, tensor<2xf32>
}}"""


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_carries_along_a_dim(reverse: bool) -> None:
    x, init = np.arange(10, dtype=np.float32).reshape(2, 5), np.float32([1, 2])
    y, carried = lm.from_stablehlo(SCAN.format(reverse=str(reverse).lower(), inits=1))(x, init)
    order = slice(None, None, -1 if reverse else 1)
    want = (init[:, None] - np.cumsum(x[:, order], 1))[:, order]
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(carried, want[:, 0 if reverse else -1])
    with pytest.raises(lm.CompileError, match=r"<stablehlo>:3:12: .* has 2 operands in segments \[1, 2\]"):
        lm.from_stablehlo(SCAN.format(reverse="false", inits=2))(x, init)


def mutated(text: str, rng: random.Random) -> str:
    """A text with a few characters, words or lines changed."""
    for _ in range(rng.randint(1, 3)):
        kind, at = rng.randrange(4), rng.randrange(len(text))
        if kind == 0:
            text = text[:at] + rng.choice('%<>[](){}x0123456789,=:-#@"!') + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + text[at + rng.randint(1, 30) :]
        else:
            words = text.split(" ")
            i, j = rng.randrange(len(words)), rng.randrange(len(words))
            words[i] = words[j] if kind == 2 else words[i] * 2
            text = " ".join(words)
        text = text or " "
    return text


@pytest.mark.parametrize("seed", range(2))
def test_mutated_texts_give_errors(seed: int, oracle: Any) -> None:
    """Whatever is changed, the text is a program or an error of the user's."""
    rng, texts = random.Random(seed), json.loads(str(oracle["texts"]))
    for _ in range(60):
        name = rng.choice(sorted(texts))
        text = mutated(rng.choice(texts[name]), rng)
        try:
            function = lm.from_stablehlo("\n" + text)
            function.lower(*_numbered(oracle, f"{name}:argument"))
        except (lm.LaminaError, TypeError) as error:
            assert str(error), text

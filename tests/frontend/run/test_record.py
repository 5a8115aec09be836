"""`lm.record`: the graph of one run, its values, tangents and adjoints, and the static function that it becomes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dialects.context import make_context
from xdsl.parser import Parser


def baydin(x1: Any, x2: Any) -> Any:
    return lnp.log(x1) + x1 * x2 - lnp.sin(x2)


def chosen(w: Any, x: Any, n: Any) -> Any:
    while x.sum() < 10:
        x = x * 2
    if int(n) > 1:
        x = x @ w
    scale = float(x[0])
    return {"a": (x * w[0]).sum() * scale, "b": x.argmax(), "c": [w, 1.5]}


W = np.arange(9.0).reshape(3, 3) / 8


def test_the_evaluation_trace() -> None:
    run = lm.record(baydin, 2.0, 5.0, grad=True)
    assert float(run.result) == float(baydin(2.0, 5.0))
    rows = {row[0]: row[1:] for line in run.text(places=False).splitlines()[1:] if (row := line.split())}
    assert rows["v-1"] == ["x1", "2", "5.5"] and rows["v0"] == ["x2", "5", "1.716"]
    assert rows["y"] == ["v5", "11.652", "1"] and rows["v4"] == ["sin(v0)", "-0.959", "-1"]
    assert [node.expression for node in run.nodes] == ["x1", "x2", "log(v-1)", "v-1 * v0", "v1 + v2", "sin(v0)", "v3 - v4"]
    assert run.forward(1.0, 0.0) == 5.5 and run.forward(0.0, 1.0) == pytest.approx(2 - np.cos(5.0))
    assert run["v2"].tangent == 2 and run["v1"].tangent == 0 and run["v0"].adjoint == pytest.approx(2 - np.cos(5.0))
    line = f"test_record.py:{baydin.__code__.co_firstlineno + 1}: return lnp.log(x1) + x1 * x2 - lnp.sin(x2)"
    assert repr(run).count(line) == 5


def test_the_graph_is_one_of_the_dialect() -> None:
    run = lm.record(chosen, W, np.ones(3), 3)
    text = str(run.graph)
    again = Parser(make_context(), text).parse_module()
    again.verify()
    assert str(again) == text and run.graph is not run.graph
    assert text.count("graph.mul") == 4, "two rounds of the loop, two products"


def test_what_was_frozen() -> None:
    run = lm.record(chosen, W, np.ones(3), 3)
    first = chosen.__code__.co_firstlineno
    found = [(read.what, read.value.item(), read.place[1] - first) for read in run.frozen if read.place is not None]
    scale = float((4 * np.ones(3) @ W)[0])
    assert found == [("a condition", t, 1) for t in (True, True, False)] + [("int()", 3, 3), ("float()", scale, 5)]
    text = re.sub(r".*/", "", run.text())
    assert f"test_record.py:{first + 3}: int() read 3" in text
    static = run.jit()
    assert static.frozen == run.frozen and "int() read 3" in repr(static)
    # other branches than Python's: two rounds of the loop whatever the sum
    x = np.full(3, 7.0)
    np.testing.assert_allclose(static(W, x, 3)["a"], (4 * x @ W @ W[0]) * scale)
    np.testing.assert_array_equal(static(W, np.ones(3), 3)["c"][0], W)


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ((W, np.full(3, 7.0), 3), "a condition read True when the run was recorded, got False"),
        ((W, np.ones(3), 4), r"int\(\) read 3 when the run was recorded, got 4"),
        ((W * 1.01, np.ones(3), 3), r"float\(\) read .* got "),
    ],
)
def test_checks_of_what_was_frozen(args: Any, what: str) -> None:
    static = lm.record(chosen, W, np.ones(3), 3).jit(check=True)
    want = chosen(lnp.asarray(W), lnp.ones(3), 3)
    np.testing.assert_allclose(static(W, np.ones(3), 3)["a"], want["a"], rtol=1e-14)
    with pytest.raises(lm.CheckError, match=what):
        static(*args)


def test_checks_of_nan_and_arrays() -> None:
    def f(x: Any, k: Any) -> Any:
        table = [10.0, 20.0, 30.0]
        return x * len(table[: k[1]]) * (0.0 if np.isnan(float(x[0])) else 1.0) + sum(k.tolist())

    x = np.array([np.nan, 1.0])
    static = lm.record(f, x, np.array([1, 2])).jit(check=True)
    np.testing.assert_array_equal(static(x, np.array([1, 2])), [np.nan, 3.0])
    for other, k in ((np.ones(2), [1, 2]), (x, [0, 2]), (x, [1, 3])):
        with pytest.raises(lm.CheckError, match="frozen: "):
            static(other, np.array(k))


def test_adjoints_and_tangents_of_arrays() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=4).astype(np.float32)
    bias = rng.normal(size=3).astype(np.float32)

    def layer(params: Any, x: Any, k: Any) -> Any:
        h = lnp.tanh(params["w"] @ x + bias)
        return h[k], h.sum()

    run = lm.record(layer, {"w": w}, x, np.int64(1))
    seed = (np.float32(2), np.float32(3))
    gradients = run.backward(seed)
    want = lm.vjp(lambda p, x: layer(p, x, np.int64(1)), {"w": w}, x)[1](seed)
    np.testing.assert_allclose(gradients[0]["w"], want[0]["w"], rtol=1e-5)
    np.testing.assert_allclose(gradients[1], want[1], rtol=1e-5)
    assert gradients[2] is None
    tangents = run.forward({"w": w * 0}, x, 0)
    moved = lm.jvp(lambda x: layer({"w": w}, x, np.int64(1)), (x,), (x,))[1]
    for a, b in zip(tangents, moved, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    # what a node is worth: the sum of adjoint times tangent is the same in every cut of the graph
    (h,) = (node for node in run.nodes if node.expression.startswith("tanh"))
    assert h.adjoint is not None and h.tangent is not None
    slope = 2 * tangents[0] + 3 * tangents[1]
    np.testing.assert_allclose((h.adjoint * h.tangent).sum(), slope, rtol=1e-4)
    assert "float32[3] " in run.text() and run["v0"].adjoint is None


def test_functions_inside_and_odd_results() -> None:
    inner = lm.jit(lambda x: (x * x).sum())

    def f(x: Any) -> Any:
        slope = lm.grad(lambda y: (y**3).sum() if y.sum() > 0 else y.sum())(x)
        return inner(slope) + lm.vmap(lambda a: a * 2)(x).sum(), x, 4

    x = np.array([1.0, 2.0])
    run = lm.record(f, x)
    assert float(run.result[0]) == (3 * x * x) @ (3 * x * x) + 6 and run.result[2] == 4
    assert [read.value.item() for read in run.frozen] == [True]
    np.testing.assert_allclose(run.backward((1.0, np.zeros(2), 0))[0], 36 * x**3 + 2)
    np.testing.assert_array_equal(run.jit(check=True)(x)[0], run.result[0])
    with pytest.raises(lm.CheckError, match="a condition read True"):
        run.jit(check=True)(-x)
    assert lm.record(lambda: 3).result == 3 and lm.record(lambda x: (), x).nodes[0].name == "v0"
    empty = lm.record(lambda x: x.sum(), np.zeros((0, 2)), grad=True)
    assert empty["v0"].adjoint is not None and empty["v0"].adjoint.shape == (0, 2) and "float64[0,2]" in repr(empty)
    # of a compiled function, the Python function
    assert lm.record(lm.jit(baydin), 2.0, 5.0)["v4"].expression == "sin(v0)"


def test_effects_happen_once_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[float] = []

    def f(x: Any) -> Any:
        seen.append(float(x))
        print("python", x)
        lm.check(x > 0, "negative {x}", x=x)
        return x * 2

    run = lm.record(f, 1.5)
    assert seen == [1.5] and capfd.readouterr().out == "python 1.5\n" and float(run.result) == 3
    with pytest.raises(lm.CheckError, match=r"negative -1\.5"):
        lm.record(f, -1.5)
    x = np.ones(2)
    run = lm.record(lambda x: x * x, x)
    x[:] = 5
    np.testing.assert_array_equal(run.backward(np.ones(2))[0], [2, 2])


def test_pictures(tmp_path: Path) -> None:
    run = lm.record(baydin, 2.0, 5.0, grad=True)
    text = run.picture(tmp_path / "run.dot")
    assert (tmp_path / "run.dot").read_text() == text
    assert '"v-1" -> "v1";' in text and r'"v4" [label="v4 = sin(v0)\n-0.959\nadjoint -1"];' in text and '"v5" -> "y";' in text
    pytest.importorskip("networkx")
    pytest.importorskip("matplotlib")
    run.picture(tmp_path / "run.svg")
    assert ElementTree.parse(tmp_path / "run.svg").getroot().tag.endswith("svg")


def test_refusals() -> None:
    run = lm.record(lambda x, k: (x * k, k), np.ones(2), 3)
    for call, message in [
        (lambda: run.backward(1.0), "seed must have the structure"),
        (lambda: run.backward((1.0, 0)), r"seed\[0\] must be float64\[2\], got float64\[\]: give an array of its shape"),
        (lambda: run.forward(np.ones(2)), "takes 2 tangents, one for each argument, got 1"),
        (lambda: run.forward(np.ones(3), 0), r"tangent must be float64\[2\], got float64\[3\]"),
        (lambda: lm.record(lambda k: k + 1, 3).backward(), "needs a float result, got int64"),
    ]:
        with pytest.raises(lm.DifferentiationError, match=message):
            call()
    with pytest.raises(TypeError, match=r"record\(.*\) argument x: expected an array or a number, got str"):
        lm.record(lambda x: x, "text")
    with pytest.raises(lm.TracingError, match="needs values: call it outside"):
        lm.jit(lambda x: lm.record(baydin, x, x).result)(1.0)
    with pytest.raises(TypeError, match="float64"):
        run.jit()(np.ones(2, np.float32), 3)
    with pytest.raises(ZeroDivisionError):
        lm.record(lambda x: x / (1 // 0), 1.0)

"""Capture from source: what users rely on beside the values of programs."""

from __future__ import annotations

import doctest
import functools
import traceback
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest


def test_examples_of_the_document() -> None:
    document = Path(__file__).parents[4] / "docs" / "capture.md"
    result = doctest.testfile(str(document), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0 and result.attempted > 8


def early(x: Any) -> Any:
    for _ in range(10):
        x = x * 2
        if x > 100:
            return x
    return -x


def test_modes() -> None:
    for capture in ("auto", "source"):
        assert lm.jit(early, capture=capture)(1.0) == 128
    with pytest.raises(lm.TracingError, match=r"a condition needs the values(.|\n)*if x > 100"):
        lm.jit(early, capture="trace")(1.0)
    with pytest.raises(ValueError, match="auto, trace, source, got 'x'"):
        lm.jit(early, capture="x")


def test_what_traces_is_traced_as_before() -> None:
    runs: list[int] = []

    def f(x: Any, n: int = 3) -> Any:
        runs.append(1)
        for k in range(n):
            x = x + k if k % 2 else x * 2
        return x

    assert "graph.case" not in lm.jit(f).lower(1.0).as_text("graph") and len(runs) == 1


def test_the_module_has_no_functions_of_what_was_tried() -> None:
    text = lm.jit(early).lower(1.0).as_text("graph")
    names = [line.split("@")[1].split("(")[0] for line in text.splitlines() if "func.func" in line]
    assert all(text.count(f"@{name}") > 1 for name in names if name != "main"), names


def test_transformations_nest() -> None:
    xs = np.array([1.0, 0.01, 27.0])
    want = np.array([128, -10.24, 108])
    slopes = np.array([128.0, -1024, 4])
    np.testing.assert_allclose(lm.jit(lm.vmap(early))(xs), want)
    np.testing.assert_allclose(lm.vmap(lm.jit(early))(xs), want)
    np.testing.assert_allclose(lm.jit(lm.vmap(lm.grad(early)))(xs), slopes)
    np.testing.assert_allclose([lm.grad(lm.jit(early))(x) for x in xs], slopes)
    np.testing.assert_allclose(lm.jit(lm.jacfwd(early))(1.0), 128)
    assert lm.jit(lm.hessian(lambda x: x**3 if x > 0 else x))(2.0) == 12


def test_functions_given_to_transformations_are_captured() -> None:
    @lm.jit
    def inner(x: Any) -> Any:
        return x if x > 0 else -x

    @lm.jit
    def outer(x: Any) -> Any:
        y = inner(x) + lm.grad(lambda v: v * v if v > 0 else v)(x)
        if y > 2:
            y = lm.fori_loop(0, 3, lambda i, v: v + i if v > 7 else v, y)
        return y

    assert [outer(3.0), outer(-0.5)] == [12, 1.5]

    def step(carry: Any, x: Any) -> Any:
        return (carry + x, x) if x > 0 else (carry, -x)

    total, out = lm.jit(lambda xs: lm.scan(step, 0.0, xs))(np.array([1.0, -2, 3]))
    assert total == 4 and out.tolist() == [1, 2, 3]
    assert lm.jit(functools.partial(lambda a, x: x if x > a else -x, 2.0))(1.0) == -1


def test_lambdas_of_one_line_are_told_apart() -> None:
    pair = [lambda x: x if x > 0 else 2.0, lambda x: -x if x > 0 else 5.0]
    assert [lm.jit(f)(3.0) for f in pair] == [3, -3]


def test_closures_are_read_when_traced() -> None:
    def make(a: float) -> Any:
        return lambda x: x * a if x > 0 else x

    assert [lm.jit(make(a))(2.0) for a in (2.0, 3.0)] == [4, 6]  # one code object


def test_ops_and_tracebacks_have_the_lines_of_the_source() -> None:
    def f(x: Any) -> Any:
        if x > 0:
            x = lnp.tanh(x)
        while x < 10:
            x = x @ lnp.ones((2, 3))
        return x

    first = f.__code__.co_firstlineno
    with pytest.raises(lm.ShapeError) as caught:
        lm.jit(f)(1.0)
    assert f"test_capture.py:{first + 4}:17" in str(caught.value)
    frames = [(one.lineno, one.name) for one in traceback.extract_tb(caught.value.__traceback__) if one.filename == __file__]
    assert frames[-2:] == [(first + 3, "f"), (first + 4, "f")]

    def g(x: Any) -> Any:
        if x > 0:
            x = lnp.tanh(x)
        return x

    module = lm.jit(g).lower(1.0).module
    (tanh,) = (op for op in module.walk() if op.name == "graph.tanh")
    assert f'test_capture.py":{g.__code__.co_firstlineno + 2}:17' in str(tanh.location)


def test_raise_and_assert_are_checks(capsys: pytest.CaptureFixture[str]) -> None:
    @lm.jit
    def root(x: Any) -> Any:
        if x < 0:
            raise ValueError(f"negative: {x:.1f}")
        assert x < 100, "too large"
        for _ in range(3):
            if x > 50:
                raise RuntimeError("large")
            x = x * 2
            print("x is", x)
        return x**0.5

    assert root(2.0) == 4
    assert capsys.readouterr().out == "x is 4.0\nx is 8.0\nx is 16.0\n"
    for x, text in ((-4.0, "negative: -4.0"), (200.0, "too large"), (60.0, "large")):
        with pytest.raises(lm.CheckError, match=text):
            root(x)


def test_print_in_a_branch_is_printed_where_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    @lm.jit
    def f(x: Any) -> Any:
        if x > 0:
            print("up", x, f"{x:.2f}", sep=", ")
        while x < 10:
            print("once more")
            x = x * 3
        return x

    f(2.0)
    assert capsys.readouterr().out == "up, 2.0, 2.00\nonce more\nonce more\n"
    f(11.0)
    assert capsys.readouterr().out == "up, 11.0, 11.00\n"


class Layer:
    def __init__(self, w: float) -> None:
        self.w, self.seen = w, 0

    def __call__(self, x: Any) -> Any:
        return x * self.w if x > 0 else x


def test_objects_of_python_are_not_copied() -> None:
    layer = Layer(2.0)
    f = lm.jit(lambda x: layer(x) + 1)
    assert f(3.0) == 7 and layer.seen == 0
    assert lm.jit(Layer(3.0).__call__)(2.0) == 6


def test_an_attribute_that_a_branch_assigns_is_chosen() -> None:
    class State:
        def __init__(self) -> None:
            self.best, self.history = 0.0, {"last": 0.0}

        def update(self, x: Any) -> None:
            if x > self.best:
                self.best = x
                self.history["last"] = x * 2

    @lm.jit
    def f(xs: Any) -> Any:
        state = State()
        for x in xs:
            state.update(x)
        return state.best, state.history["last"]

    assert [float(v) for v in f(np.array([1.0, 5, 2, 4, 3, 0]))] == [5, 10]


def test_functions_without_source_are_traced() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x if x > 0 else -x", names)
    with pytest.raises(lm.TracingError, match="a condition needs the values"):
        lm.jit(names["f"])(1.0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint8, np.int32, np.complex64])
def test_dtypes(dtype: Any) -> None:
    def f(x: Any) -> Any:
        n = 0
        while abs(x) < 50:
            x = x * 2
            n += 1
            if n > 20:
                break
        return x, n

    x, n = lm.jit(f)(dtype(3))
    assert x.dtype == dtype and (x, n) == (96, 5)


@pytest.mark.parametrize("n", [0, 1, 4, 5, 6, 13])
def test_lengths(n: int) -> None:
    def f(x: Any) -> Any:
        best, where = -1.0, -1
        for k, v in enumerate(x):
            if v > best:
                best, where = v, k
        return best, where

    x = np.random.default_rng(n).random(n)
    x[:1] = np.nan
    assert [float(v) for v in lm.jit(f)(x)] == [float(v) for v in f(x)]


def test_sizes_that_only_a_call_knows() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            if x[i] > 0:
                total += x[i]
        return total

    g = lm.jit(f, dynamic={"x": (lm.dim("n", min=1, max=64),)})
    for n in (1, 2, 7):
        x = np.random.default_rng(n).normal(size=n)
        np.testing.assert_allclose(g(x), f(x))

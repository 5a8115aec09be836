"""Tracing: what works on traced arrays, what is refused and how it is said, and where ops say they come from."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp

X = np.arange(6, dtype=np.float32).reshape(2, 3)
F32 = lm.TensorSpec((2, 3), "float32")


def main_of(module: ModuleOp) -> Any:
    return next(op for op in module.body.block.ops if op.sym_name.data == "main")


OPERATORS = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y,
    "//": lambda x, y: x // y, "%": lambda x, y: x % y, "<": lambda x, y: x < y, "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y, ">=": lambda x, y: x >= y, "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
    "divmod": lambda x, y: divmod(x, y), "@": lambda x, y: x @ y.T,
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_both_ways(name: str, interpret: Any) -> None:
    operator = OPERATORS[name]
    y = X + 1
    for function in (operator, lambda a, b: operator(b, a)):
        with np.errstate(all="ignore"):
            want = function(X, y)
        got = interpret(lm.make_graph(function)(X, y), X, y)
        for g, w in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
            assert g.dtype == w.dtype
            np.testing.assert_allclose(g, w, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in OPERATORS if n != "@"])
def test_operators_with_arrays_and_numbers_on_the_left(name: str, interpret: Any) -> None:
    operator = OPERATORS[name]
    for left in (2, 2.5, X + 1, np.float32(3)):
        want = operator(left, X + 2)
        got = interpret(lm.make_graph(lambda x, left=left: operator(left, x + 2))(X), X)
        for g, w in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
            assert g.dtype == w.dtype, left
            np.testing.assert_allclose(g, w, rtol=1e-6)


def test_unary_operators_and_bits(interpret: Any) -> None:
    i = np.array([1, 2, -5], np.int32)
    module = lm.make_graph(lambda x, i: (-x, +x, abs(x), ~i, i & 3, 1 | i, i ^ i, round(x, 1), x**2, 2.0**x))(X, i)
    got = interpret(module, X, i)
    want = (-X, +X, abs(X), ~i, i & 3, 1 | i, i ^ i, X.round(1), X**2, 2.0**X)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-6)


def test_methods(interpret: Any) -> None:
    def function(x: Any) -> Any:
        assert (x.shape, x.ndim, x.size, x.dtype, x.nbytes, len(x)) == ((2, 3), 2, 6, np.float32, 24, 2)
        rows = [row.sum() for row in x]
        return (
            x.T, x.mT, x.sum(), x.mean(0), x.var(1, ddof=1), x.std(), x.max(1, keepdims=True), x.min(), x.prod(0), x.any(),
            x.all(1), x.argmax(), x.argmin(1), x.reshape(3, 2), x.reshape((6,)), x.reshape(-1), x.transpose(1, 0),
            x.transpose(), x.ravel(), x.flatten(), x[None].squeeze(0), x.swapaxes(0, 1), x.repeat(2, 1), x.clip(1, 3),
            x.round(), x.dot(x.T), x.astype(int), x.copy(), *rows,
        )  # fmt: skip

    got = interpret(lm.make_graph(function)(X), X)
    want = (
        X.T, X.T, X.sum(), X.mean(0), X.var(1, ddof=1), X.std(), X.max(1, keepdims=True), X.min(), X.prod(0), X.any(),
        X.all(1), X.argmax(), X.argmin(1), X.reshape(3, 2), X.reshape((6,)), X.reshape(-1), X.transpose(1, 0), X.transpose(),
        X.ravel(), X.flatten(), X, X.swapaxes(0, 1), X.repeat(2, 1), X.clip(1, 3), X.round(), X.dot(X.T), X.astype(int), X,
        X[0].sum(), X[1].sum(),
    )  # fmt: skip
    for g, w in zip(got, want, strict=True):
        w = np.asarray(w)
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-6)


def test_numpy_functions_on_tracers(interpret: Any) -> None:
    def function(x: Any) -> Any:
        parts = np.split(x, 3, axis=1)
        return (
            np.sin(x),
            np.sum(x, axis=0),
            np.concatenate([x, x]),
            np.add.reduce(x),
            np.where(x > 2, x, 0),
            parts[1],
            np.zeros_like(x),
        )

    got = interpret(lm.make_graph(function)(X), X)
    want = (np.sin(X), X.sum(0), np.concatenate([X, X]), X.sum(0), np.where(X > 2, X, 0), X[:, 1:2], np.zeros_like(X))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6)
        assert g.dtype == w.dtype


def _sets(x: Any) -> None:
    x[0] = 1


def _escapes(x: Any) -> Any:
    kept: list[Any] = []
    lm.make_graph(lambda y: kept.append(y) or y)(x)
    return lm.make_graph(lambda y: y + kept[0])(x)


REFUSED = [
    (lambda x: x if x.sum() > 0 else -x, r"a condition needs the values.*lnp\.where"),
    (lambda x: x and x, "a condition"),
    (lambda x: float(x.sum()), r"float\(\) needs the values"),
    (lambda x: int(x.sum()), r"int\(\) needs the values"),
    (lambda x: range(x.sum()), "an index or size needs the values.*static_argnums"),
    (lambda x: np.asarray(x), "conversion to a NumPy array"),
    (lambda x: np.array([x, x]), "conversion to a NumPy array"),
    (lambda x: x.sum().item(), "item"),
    (lambda x: x.tolist(), "tolist"),
    (lambda x: lnp.where(x > 1), "depends on values: give size="),
    (_sets, r"cannot be changed in place.*lnp\.where"),
    (lambda x: list(x.sum()), "iteration over a traced scalar"),
    (lambda x: len(x.sum()), "len"),
    (lambda x: 1 in x, "any"),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 1), r"sliding_window_view is not available"),
    (lambda x: np.hypot.at(x, [0], 1.0), r"np\.hypot\.at is not available"),
    (lambda x: np.add(x, x, out=np.zeros((2, 3))), "out="),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2), "conversion to a NumPy array|is not available"),
    (lambda x: lnp.arange(x.sum()), "arange needs limits that are known"),
]


@pytest.mark.parametrize(("function", "match"), REFUSED)
def test_refused_while_tracing(function: Any, match: str) -> None:
    with pytest.raises(lm.TracingError, match=match) as caught:
        lm.make_graph(function)(X)
    assert "test_tracing.py:" in str(caught.value) and "^" in str(caught.value)


def test_escaped_tracers_are_named() -> None:
    with pytest.raises(lm.TracingError, match=r"escaped from the function"):
        _escapes(X)


@pytest.mark.parametrize("wrong", ["text", None, object(), {1, 2}])
def test_operands_that_are_no_arrays(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"expected an array|not supported"):
        lm.make_graph(lambda x: x + wrong)(X)


def test_results_must_be_arrays() -> None:
    with pytest.raises(TypeError, match=r"must return arrays, result\['a'\] is str"):
        lm.make_graph(lambda x: {"a": "b"})(X)


def test_unsupported_argument_dtypes() -> None:
    with pytest.raises(lm.DTypeError, match=r"argument x\['k'\]: dtype \w+ is not supported"):
        lm.make_graph(lambda x: x["k"])({"k": np.zeros(2, np.clongdouble)})


def test_ops_know_the_users_line_and_column() -> None:
    def function(x: Any) -> Any:
        y = lnp.exp(x)
        return y + lnp.tanh(y)

    first = function.__code__.co_firstlineno
    ops = list(main_of(lm.make_graph(function)(X)).body.block.ops)
    places = {}
    for op in ops:
        if op.name.startswith("graph."):
            assert isinstance(op.location, FileLineColLoc)
            assert op.location.filename.data == __file__
            places[op.name] = (op.location.line.data - first, op.location.column.data)
    assert places == {"graph.exp": (1, 13), "graph.tanh": (2, 20), "graph.add": (2, 16)}


def test_errors_show_the_users_line() -> None:
    def function(x: Any) -> Any:
        return x @ x

    line = function.__code__.co_firstlineno + 1
    with pytest.raises(lm.ShapeError) as caught:
        lm.make_graph(function)(X)
    text = str(caught.value)
    assert f"test_tracing.py:{line}:16: matmul contracting sizes differ: lhs dim 1 is 3, rhs dim 0 is 2" in text
    assert text.endswith("\n    return x @ x\n           ^")


def test_errors_tell_files_with_the_same_code_apart() -> None:
    for name in ("one.py", "other.py"):
        space: dict[str, Any] = {}
        exec(compile("def f(x, y):\n    return x + y\n", name, "exec"), space)
        with pytest.raises(lm.ShapeError, match=f"^{name}:2:12: "):
            lm.jit(space["f"])(np.ones(3, np.float32), np.ones(4, np.float32))


def test_weak_numbers_stay_weak(interpret: Any) -> None:
    def function(x: Any, rate: Any, count: Any) -> Any:
        return x * rate, x * (rate + count) / 2, count + 1, rate * 2

    module = lm.make_graph(function)(X, 0.5, 3)
    got = interpret(module, X, np.float64(0.5), np.int64(3))
    assert [g.dtype for g in got] == [np.float32, np.float32, np.int64, np.float64]
    np.testing.assert_allclose(got[1], X * 1.75)


def test_constants_are_shared() -> None:
    ops = [op.name for op in main_of(lm.make_graph(lambda x: (x + 1.0) * 1.0)(1.0)).body.block.ops]
    assert ops.count("graph.const") == 1


def test_values_without_tracers_are_computed_at_once() -> None:
    def function(x: Any) -> Any:
        assert isinstance(lnp.sin(np.float64(1.0)), lm.Array)
        assert isinstance(lnp.array([1, 2]), np.ndarray)
        assert not issubclass(type(lnp.zeros(3)), np.ndarray)
        assert isinstance(lnp.zeros(3), lm.Array) and isinstance(x, lnp.ndarray)  # what programs ask of their arguments
        return x

    lm.make_graph(function)(X)
    assert isinstance(lnp.zeros(3), np.ndarray)


def test_modules_verify_and_parse() -> None:
    module = lm.make_graph(lambda x: lm.nn.softmax(x @ x.T).sum(0))(F32)
    module.verify()
    assert "graph.softmax" in str(module)


def test_the_package_imports_lazily() -> None:
    code = (
        "import sys; import lamina as lm; import lamina.numpy, lamina.nn\n"
        "assert not any(name in sys.modules for name in ('numpy', 'xdsl', 'llvmlite'))\n"
        "import lamina.numpy as lnp; from lamina.nn import relu; from lamina.numpy import sin, float32\n"
        "assert lm.numpy is lnp and lnp.sin is sin and lm.nn.relu is relu\n"
        "assert 'jit' in dir(lm) and 'sin' in dir(lnp)\n"
        "assert lnp.sin(0.0) == 0 and 'llvmlite' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_names_of_the_package() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lm.nothing

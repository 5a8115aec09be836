"""`jit(dynamic=)`: one compilation for all sizes, and what is said of calls that do not fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina import nn, pipeline
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.errors import ShapeError, SizeError, TracingError
from lamina.executor import executor
from lamina.runtime.interpreter import interpret

SIZES = ((5, 3), (1, 2), (8, 8), (17, 4), (33, 70), (2, 9), (0, 3))


class Arg:
    """An array of given sizes: a number, `n` or `m`; `p` is `n`, but at least 1."""

    def __init__(self, *sizes: Any, dtype: Any = np.float32):
        self.sizes, self.dtype = sizes, np.dtype(dtype)

    @property
    def spec(self) -> tuple[Any, ...]:
        return tuple([lm.dim("p", min=1) if size == "p" else size if isinstance(size, str) else None for size in self.sizes])

    def array(self, n: int, m: int) -> np.ndarray:
        rng = np.random.default_rng(len(self.sizes))
        shape = [{"n": n, "m": m, "p": max(n, 1)}.get(size, size) for size in self.sizes]
        if self.dtype.kind == "f":
            return rng.normal(size=shape).astype(self.dtype)
        return rng.integers(0, 4, shape).astype(self.dtype)


def loss(params: Any, x: Any, y: Any) -> Any:
    hidden = nn.relu(x @ params["w1"] + params["b1"])
    return nn.cross_entropy(hidden @ params["w2"], y)


F = np.float32
MLP = {"w1": Arg(8, 16), "b1": Arg(16), "w2": Arg(16, 4)}
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "softmax": (lambda x: nn.softmax(x), [Arg("n", 10)]),
    "softmax over n": (lambda x: nn.softmax(x, axis=0), [Arg("n", 10)]),
    "layer_norm": (lambda x: nn.layer_norm(x), [Arg("n", 16)]),
    "statistics": (lambda x: (x.mean(0), x.var(0, ddof=1), x.std(1)), [Arg("p", 5)]),
    "concatenate": (lambda x, y: lnp.concatenate([x, y, x]) * 2 + 1, [Arg("n", 5), Arg("m", 5)]),
    "slices": (lambda x: (x[1:], x[:-1], x[::2], x[::-1], x[-3:], x[:3], x[1:] - x[:-1]), [Arg("n", 4)]),
    "pad": (lambda x: lnp.pad(x, ((1, 2), (0, 1))), [Arg("n", 4)]),
    "rows of a table": (lambda x, i: (x[i], lnp.take(x, i, axis=0)), [Arg(10, 4), Arg("n", dtype=np.int64)]),
    "cumsum": (lambda x: (lnp.cumsum(x, 0), lnp.cumsum(x)), [Arg("n", 4)]),
    "attention": (lambda q: nn.dot_product_attention(q, q, q), [Arg("n", 7, 2, 8)]),
    "attention over n keys": (lambda q: nn.dot_product_attention(q, q, q), [Arg(2, "p", 2, 8)]),
    "convolution": (lambda x, w: nn.conv2d(x, w, padding="same"), [Arg("n", 3, 8, 8), Arg(4, 3, 3, 3)]),
    "pooling": (lambda x: (nn.max_pool2d(x, 2), nn.avg_pool2d(x, 2)), [Arg("n", 3, 8, 8)]),
    "sort": (lambda x: (lnp.sort(x, -1), lnp.sort(x, 0), lnp.argsort(x, 0)), [Arg("n", 9)]),
    "one_hot": (lambda i: nn.one_hot(i, 5), [Arg("n", dtype=np.int64)]),
    "products": (lambda x, y: (x @ y.T, x.T @ x, x[:, None] * y[None]), [Arg("n", 5), Arg("m", 5)]),
    "products in batches": (lambda x, y: x @ y, [Arg("n", 2, 4, 5), Arg("n", 2, 5, 3)]),
    "reshapes": (lambda x: (x.reshape(x.shape[0], -1), x.ravel(), x.reshape(-1, 2, 10)), [Arg("p", 4, 5)]),
    "arrays of sizes": (lambda x: x * lnp.arange(x.shape[0]) + lnp.ones(x.shape[0]), [Arg("n")]),
    "arithmetic": (lambda x: x.sum() / x.shape[0] + x.shape[0] * 2.5 + 1 / x.shape[0] - (x.shape[0] + 1) // 2, [Arg("p")]),
    "triangles": (lambda x: (lnp.tril(x), x + lnp.eye(x.shape[0])), [Arg("n", "n")]),
    "roll": (lambda x: lnp.roll(x, 3, 0), [Arg("p", 2)]),
    "returned as it is": (lambda x: (x, x, x + 1), [Arg("n")]),
    "segments": (lambda x, i: lm.segment_sum(x, i, 4), [Arg("n", 3), Arg("n", dtype=np.int64)]),
    "top_k": (lambda x: lm.lax.top_k(x, 2), [Arg("n", 5)]),
    "integers": (lambda x: (x.sum(0), x // 2 + x % 3), [Arg("n", 3, dtype=np.int32)]),
    "doubles": (lambda x: lnp.exp(x).sum(0), [Arg("n", 3, dtype=np.float64)]),
    "vmap": (lambda x, w: lm.vmap(lambda r: lnp.tanh(r @ w))(x), [Arg("n", 8), Arg(8, 3)]),
    "loss and slopes": (lambda p, x, y: lm.value_and_grad(loss)(p, x, y), [MLP, Arg("p", 8), Arg("p", dtype=np.int64)]),
    "slopes of moves": (
        lambda x, y: lm.grad(lambda x: (lnp.concatenate([x[1:], y]) ** 2).sum() + ((x[1:] - x[:-1]) ** 2).sum())(x),
        [Arg("n", 2), Arg("m", 2)],
    ),
    "slopes of rows of a table": (lambda e, i: lm.grad(lambda e: (e[i] ** 2).sum())(e), [Arg(9, 4), Arg("n", dtype=np.int64)]),
    "slopes of a convolution": (
        lambda x, w: lm.grad(lambda x, w: (nn.max_pool2d(nn.conv2d(x, w), 2) ** 2).sum(), argnums=(0, 1))(x, w),
        [Arg("n", 3, 8, 8), Arg(4, 3, 3, 3)],
    ),
    "slopes of attention": (
        lambda q: lm.grad(lambda q: (nn.dot_product_attention(q, q, q) ** 2).sum())(q),
        [Arg("n", 5, 2, 4)],
    ),
}


def arrays(made: Any, n: int, m: int) -> Any:
    return {key: arrays(x, n, m) for key, x in made.items()} if isinstance(made, dict) else made.array(n, m)


def specs(function: Callable[..., Any], made: list[Any]) -> dict[str, Any]:
    named = dict(zip(inspect.signature(function).parameters, made, strict=True))
    return {name: arg.spec for name, arg in named.items() if isinstance(arg, Arg) and any(arg.spec)}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", CASES)
def test_one_compilation_for_all_sizes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, made = CASES[name]
    built: list[Any] = []
    program = executor.program
    monkeypatch.setattr(executor, "program", lambda *args, **options: built.append(args) or program(*args, **options))
    compiled = lm.jit(function, dynamic=specs(function, made))
    for n, m in SIZES:
        args = [arrays(x, n, m) for x in made]
        before = len(built)
        got, _ = lm.tree.flatten(compiled(*args))
        assert len(built) == before + (not before)
        leaves, _ = lm.tree.flatten(args)
        graph = lm.jit(function).lower(*args).module
        pipeline.run_to(graph, "optimized")
        want = interpret(graph, "main", leaves)
        for x, y in zip(got, want, strict=True):
            assert x.shape == y.shape and x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=3e-4, atol=3e-5, err_msg=f"n = {n}, m = {m}")


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", ["statistics", "concatenate", "slices", "softmax", "reshapes", "sort"])
@pytest.mark.parametrize("phase", ["graph", "optimized", "loop", "scheduled", "program"])
def test_text_of_every_phase_resumes_and_is_interpreted(name: str, phase: str) -> None:
    function, made = CASES[name]
    args = [arrays(x, 6, 4) for x in made]
    lowered = lm.jit(function, dynamic=specs(function, made)).lower(*args)
    text = lowered.as_text(phase)
    module = parse_module(make_context(), text)
    module.verify()
    assert str(module) + "\n" == text
    leaves, _ = lm.tree.flatten(args)
    want, _ = lm.tree.flatten(lm.jit(function)(*args))
    for got, expected in zip(interpret(module, "main", leaves), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=3e-4, atol=3e-5)
    pipeline.run_to(module, "program")
    module.verify()


def test_calls_that_do_not_fit() -> None:
    n = lm.dim("n", min=2, max=8, multiple_of=2)
    f = lm.jit(lambda x, y: x + y, dynamic={"x": (n, None), "y": ("n", None)})
    zeros = lambda *shape: np.zeros(shape, F)  # noqa: E731
    np.testing.assert_array_equal(f(zeros(4, 3), zeros(4, 3)), zeros(4, 3))
    for _ in range(2):  # before and after the first call has been made for other sizes
        with pytest.raises(ValueError, match=r"<lambda>\(\) size 'n' must be at least 2, it is 0 by dim 0 of argument 'x'"):
            f(zeros(0, 3), zeros(0, 3))
        with pytest.raises(ValueError, match="size 'n' must be at most 8, it is 10"):
            f(zeros(10, 3), zeros(10, 3))
        with pytest.raises(ValueError, match="size 'n' must be a multiple of 2, it is 3"):
            f(zeros(3, 3), zeros(3, 3))
        with pytest.raises(ValueError, match=r"size 'n' is 4 by dim 0 of argument 'x' .* and 2 by dim 0 of argument 'y'"):
            f(zeros(4, 3), zeros(2, 3))
    with pytest.raises(
        ShapeError, match=r"argument 'x' is declared dynamic as \(n, None\), got float32\[4\]: pass an array of 2 dims"
    ):
        f(zeros(4), zeros(4, 3))
    with pytest.raises(ShapeError, match="could not be broadcast"):
        f(zeros(4, 3), zeros(4, 5))  # which is traced anew
    np.testing.assert_array_equal(f(zeros(4, 5), zeros(4, 5)), zeros(4, 5))


def test_sizes_that_are_equal_by_accident_stay_two() -> None:
    f = lm.jit(lambda x, y: (x.sum() * y).sum() + x.shape[0] - y.shape[0], dynamic={"x": ("n",), "y": ("m",)})
    for n, m in ((3, 3), (3, 4), (1, 1), (1, 7)):
        assert f(np.ones(n, F), np.ones(m, F)) == n * m + n - m


def test_sizes_with_code_of_their_own() -> None:
    n = lm.dim("n", special=(1, 4))
    f = lm.jit(lambda x, y, w: (x + y) @ w, dynamic={"x": (n, None), "y": ("n", None)})
    w = np.ones((3, 2), F)
    for size in (1, 2, 4, 7, 1, 4, 3):
        x = np.full((size, 3), size, F)
        np.testing.assert_array_equal(f(x, x, w), np.full((size, 2), 6 * size, F))
    assert len(f._dispatcher.specializations) == 3
    with pytest.raises(ValueError, match=r"size 'n' is 1 by dim 0 of argument 'x' .* and 4 by dim 0 of argument 'y'"):
        f(np.ones((1, 3), F), np.ones((4, 3), F), w)


def test_many_calls_of_any_layout() -> None:
    w = np.random.default_rng(0).normal(size=(8, 3)).astype(F)
    f = lm.jit(lambda x, w: (lnp.tanh(x @ w), x.mean(0)), dynamic={"x": ("n", None)})
    rng = np.random.default_rng(1)
    for _ in range(1000):
        x = rng.normal(size=(int(rng.integers(1, 300)), 8)).astype(F)
        x = [x, np.asfortranarray(x), x[::-1], np.repeat(x, 2, 1)[:, ::2]][int(rng.integers(4))]
        y, mean = f(x, w)
        np.testing.assert_allclose(y, np.tanh(x @ w), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(mean, x.mean(0), rtol=1e-4, atol=1e-5)


def test_results_into_given_arrays() -> None:
    f = lm.jit(lambda x: lnp.concatenate([x, x]), dynamic={"x": ("n",)})
    for n in (1, 4, 9):
        x, out = np.arange(n, dtype=F), np.empty(2 * n, F)
        assert f(x, out=out) is out
        np.testing.assert_array_equal(out, np.tile(x, 2))


def test_leaves_of_trees_and_other_entries() -> None:
    f = lm.jit(lambda batch, k: batch["x"] * k + batch["y"][0], dynamic={"batch['x']": ("n", ...), "batch['y'][0]": ("n", 3)})
    for n in (1, 5):
        x = np.ones((n, 3), F)
        np.testing.assert_array_equal(f({"x": x, "y": (x,)}, 2.0), 3 * x)
    with pytest.raises(ShapeError, match=r"argument .* is declared dynamic with 3 for dim 1"):
        f({"x": np.ones((2, 4), F), "y": (np.ones((2, 4), F),)}, 2.0)
    g = lm.jit(lambda x, y: x[1:] + y, dynamic={"x": (lm.dim("n") + 1,), "y": ("n",)})
    np.testing.assert_array_equal(g(np.ones(5, F), np.ones(4, F)), np.full(4, 2, F))


@pytest.mark.parametrize(
    ("dynamic", "error", "message"),
    [
        ({"x": "n"}, TypeError, "one entry for each dim"),
        ({"x": (1.5,)}, TypeError, "a dim must be a name"),
        ({"x": ("2n",)}, ValueError, "needs a name as that of a variable"),
        ({"x": (lm.dim("n") * 2,)}, ValueError, "must be a name plus a number, got 2"),
        ({"x": (lm.dim("n", max=4),), "y": (lm.dim("n", max=5),)}, ValueError, "size 'n' is declared as"),
        (["x"], TypeError, "dynamic as a dict"),
    ],
)
def test_declarations_that_are_wrong(dynamic: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        lm.jit(lambda x, y: x, dynamic=dynamic)


def test_an_argument_that_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"<lambda>\(\) has no argument 'z' to be dynamic: there are 'x'"):
        lm.jit(lambda x: x, dynamic={"z": ("n",)})(np.ones(3, F))


def test_dims_that_can_be_nothing() -> None:
    with pytest.raises(ValueError, match="no multiple of 8 is from 1 to 7"):
        lm.dim("n", min=1, max=7, multiple_of=8)
    with pytest.raises(TypeError, match="max must be an int"):
        lm.dim("n", max=2.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="min of at least 0"):
        lm.dim("n", min=-1)


def test_what_python_asks_of_a_size() -> None:
    x = np.ones(3, F)

    def jitted(function: Any, **bounds: Any) -> Any:
        return lm.jit(function, dynamic={"x": (lm.dim("n", **bounds),)})(x)

    def traced(function: Any) -> Any:
        return lm.jit(function, dynamic={"x": ("n",)}, capture="trace")(x)

    with pytest.raises(SizeError, match=r"test_dynamic.py:\d+:\d+: size n .* cannot be a Python int"):
        traced(lambda x: x * int(x.shape[0]))
    with pytest.raises(SizeError, match=r"test_dynamic.py:\d+:\d+: whether n > 2 is not known while tracing: say more of 'n'"):
        traced(lambda x: x if x.shape[0] > 2 else -x)
    with pytest.raises(ShapeError, match="could not be broadcast together"):
        jitted(lambda x: x + lnp.ones(4))
    with pytest.raises(ShapeError, match=r"cannot reshape \[n\] .* as far as is known while tracing: say more, as with lm.dim"):
        jitted(lambda x: x.reshape(x.shape[0] // 2, 2))
    assert (jitted(lambda x: x if x.shape[0] > 2 else -x, min=3) == x).all()
    with pytest.raises(TracingError, match="has escaped"):
        kept: list[Any] = []
        jitted(lambda x: kept.append(x.shape[0]) or x)
        kept[0] * 0.5


def test_reductions_of_known_numbers_over_what_may_be_nothing() -> None:
    def f(x: Any) -> Any:
        none = lnp.full((x.shape[0], 4), np.inf, "float32")[1:]
        return lnp.all((x > x)[1:]), lnp.any(none[:, :1] > 0), lnp.sum(none), lnp.sum(none * 0 + 2)

    compiled = lm.jit(f, dynamic={"x": ("n", 4)})
    for n in (1, 2, 5):
        results = [np.asarray(y)[()] for y in compiled(np.zeros((n, 4), np.int32))]
        np.testing.assert_array_equal(results[:3], [n == 1, n > 1, 0 if n == 1 else np.inf])
        assert n > 1 or results[3] == 0


def test_long_rows_of_two_open_sizes_are_sorted() -> None:
    sort = lm.jit(lambda x: (lnp.sort(x.reshape(-1)), lnp.argsort(x.reshape(-1))), dynamic={"x": ("n", "n")})
    for n in (1, 2, 63, 64, 65, 200):
        x = np.random.default_rng(n).integers(0, 50, (n, n)).astype(np.float32)
        values, places = sort(x)
        np.testing.assert_array_equal(values, np.sort(x.ravel()))
        np.testing.assert_array_equal(places, np.argsort(x.ravel(), kind="stable"))


def test_an_index_says_how_large_a_size_must_be() -> None:
    """Programs of all larger sizes rely on it; a smaller one gets code of its own, as if it were known."""

    def check(f: Callable[[Any], Any], declared: Any, least: int, step: int = 1) -> None:
        compiled = lm.jit(f, dynamic={"x": declared})
        for n in (least + step, least, least + 4 * step):
            x = np.arange(float(n))
            np.testing.assert_array_equal(compiled(x), f(x))
        if least:
            with pytest.raises(IndexError, match="out of bounds for dim 0 of size"):
                compiled(np.zeros(least - step))

    check(lambda x: x[0], ("n",), 1)
    check(lambda x: x[-3] + x[1], ("n",), 3)
    check(lambda x: x[np.array([4, 0, 2])], ("n",), 5)
    check(lambda x: x[2:][1], ("n",), 4)
    check(lambda x: x.reshape(-1, 2)[2], (lm.dim("n", multiple_of=2),), 6, 2)
    inner = lm.jit(lambda x: x[6] * 2)
    check(lambda x: inner(x) + x[3], ("n",), 7)
    check(lambda x: x[3:], ("n",), 0)
    with pytest.raises(ShapeError, match=r"size n must be at least 6"):
        lm.jit(lambda x: x[5], dynamic={"x": (lm.dim("n", max=5),)})(np.ones(3))
    with pytest.raises(ShapeError, match=r"size max\(n - 5, 0\) must be at least 3"):
        lm.jit(lambda x: x[5:][2], dynamic={"x": (lm.dim("n", max=6),)})(np.ones(6))
    lowered = lm.jit(lambda x: x[2], dynamic={"x": ("n",)}).lower(np.ones(1))
    assert "n in 3.." in lowered.as_text("graph")

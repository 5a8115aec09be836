"""Guards, variants, strict blocks and reports of `lm.compile`."""

from __future__ import annotations

import doctest
import os
import threading
import warnings
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
X = np.linspace(-1, 2, 6).reshape(2, 3)


class Config:
    def __init__(self) -> None:
        self.depth, self.scale, self.mode, self.layers, self.table = 1, 0.5, "sin", [1.0, 2.0], {"a": X[0]}


CONFIG = Config()
GAIN: Any = 2


def helper(x: Any) -> Any:
    return x * GAIN


HELPER = helper


def program(x: Any, k: Any, extra: Any = None) -> Any:
    for _ in range(CONFIG.depth):
        x = lnp.sin(x) if CONFIG.mode == "sin" else x * CONFIG.scale
    for w in CONFIG.layers:
        x = x + w
    for name, value in CONFIG.table.items():
        x = x + value * len(name)
    y = HELPER(x) * k
    total = float(y.sum())
    if total > 10:
        CONFIG.table["last"] = total
    if extra is not None:
        extra.append(total)
        y = y + len(extra)
    return y, total


def _mutate(rng: np.random.Generator) -> None:
    """Change something that the program reads, or nothing."""
    global GAIN, HELPER
    what = int(rng.integers(0, 12))
    if what == 0:
        GAIN = [1, 2, 2.0, -0.0, np.float32(3), X[0]][int(rng.integers(0, 6))]
    elif what == 1:
        HELPER = helper if rng.random() < 0.5 else lnp.cos
    elif what == 2:
        CONFIG.depth = int(rng.integers(0, 3))
    elif what == 3:
        CONFIG.scale = float(rng.integers(0, 3)) / 2
    elif what == 4:
        CONFIG.mode = str(rng.choice(["sin", "other"]))
    elif what == 5:
        CONFIG.layers.append(float(rng.integers(0, 3)))
    elif what == 6 and len(CONFIG.layers) > 1:
        del CONFIG.layers[0]
    elif what == 7:
        CONFIG.table = {"bb": X[1], **CONFIG.table}
    elif what == 8:
        CONFIG.table["a"] = X[int(rng.integers(0, 2))] * float(rng.integers(1, 3))
    elif what == 9:
        CONFIG.table.pop("last", None)
    elif what == 10:
        vars(CONFIG)["unused"] = float(rng.random())


def test_state_that_changes_between_calls() -> None:
    global CONFIG, GAIN, HELPER
    compiled = lm.compile(program, variants=4)
    found, expected = [], []
    for function, out in ((compiled, found), (program, expected)):
        CONFIG, GAIN, HELPER = Config(), 2, helper
        rng = np.random.default_rng(SEED)
        seen: list[float] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for _ in range(40):
                _mutate(rng)
                x = X[: int(rng.integers(1, 3))] * float(rng.integers(1, 4))
                k = [1, 2, 0.5, True, np.float64(2), X[0]][int(rng.integers(0, 6))]
                out.append(function(x, k, seen if rng.random() < 0.2 else None))
        out.append((np.array(seen), len(CONFIG.table)))
    for (a, s), (b, t) in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
        assert type(s) is type(t)
        np.testing.assert_allclose(s, t, rtol=1e-9)


def test_what_was_not_read_does_not_fail() -> None:
    config = Config()

    @lm.compile
    def f(x):
        return x * config.depth + config.table["a"]

    f(X)
    config.scale, config.mode, config.table["b"] = 7.0, "else", 3
    with lm.no_recompile():
        np.testing.assert_allclose(f(X), X + X[0])
        config.table["a"][0] += 1  # an argument of the graph
        try:
            np.testing.assert_allclose(f(X), X + X[0])
        finally:
            config.table["a"][0] -= 1
    config.depth = 2
    with lm.no_recompile(), pytest.raises(lm.RecompileError, match=r"config\.depth == 1; it is 2"):
        f(X)
    np.testing.assert_allclose(f(X), 2 * X + X[0])


def test_sizes_and_integers_become_arguments() -> None:
    @lm.compile
    def f(x, k):
        return lnp.exp(x - x.max()) * k, x.shape[0]

    for n in (3, 4):
        f(np.arange(float(n)), n)
    f(np.arange(5.0), 5)
    with lm.no_recompile():
        for n in (6, 17, 2):
            y, size = f(np.arange(float(n)), n)
            np.testing.assert_allclose(y, np.exp(np.arange(n) - n + 1) * n, rtol=1e-12)
            assert size == n and type(size) is int
    fixed = lm.compile(dynamic=False)(f)
    fixed(np.ones(3), 1)
    fixed(np.ones(4), 1)
    with lm.no_recompile(), pytest.raises(lm.RecompileError, match=r"x has the shape \[4\]; it is \[5\]"):
        fixed(np.ones(5), 1)


def test_an_index_asks_each_call_for_a_size_that_is_large_enough() -> None:
    def plain(x):
        return np.sin(x[3]) + x[-2] * np.sum(x[2:])

    f = lm.compile(plain)
    for n in (5, 6):
        f(np.arange(float(n)))
    with lm.no_recompile(), lm.no_breaks():
        for n in (7, 4, 30):
            np.testing.assert_allclose(f(np.arange(float(n))), plain(np.arange(float(n))), rtol=1e-12)
    for n in (3, 2, 9):  # too small: Python says so, and what comes later is right
        x = np.arange(float(n))
        if n < 4:
            with pytest.raises(IndexError):
                f(x)
        else:
            np.testing.assert_allclose(f(x), plain(x), rtol=1e-12)


def test_where_sizes_decide_the_path_each_path_has_its_sizes() -> None:
    def plain(x):
        return x[5] + x[0] if len(x) > 5 else x[1] * 2

    f = lm.compile(plain)
    for n in (2, 3, 9, 7, 6, 5, 12, 4, 6):
        x = np.arange(float(n)) + 1
        np.testing.assert_array_equal(f(x), plain(x))


def test_a_limit_warns_once() -> None:
    @lm.compile(variants=2)
    def f(x, name):
        return x * len(name)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for k in range(5):
            np.testing.assert_allclose(f(X, "a" * k), X * k)
    assert len(said) == 1 and "name == 'a'; it is 'aa'" in str(said[0].message)
    assert said[0].filename == __file__
    assert "2 variants" in lm.explain(f) and "no more are compiled" in lm.explain(f)
    with lm.no_recompile():
        f(X, "a")  # which a variant serves


def test_strict_blocks() -> None:
    @lm.compile
    def prints(x):
        print(end="")
        return x * 2

    @lm.compile
    def reads(x):
        return x.tolist()[0]

    with lm.no_breaks():
        with pytest.raises(
            lm.GraphBreakError, match=r"test_guards.py:\d+:9: prints\(\) must be one graph .* print\(\) reaches"
        ):
            prints(X)
        with pytest.raises(lm.GraphBreakError, match=r"\.tolist\(\) of an array: keep it an array"):
            reads(X)
    assert reads(X) == X.tolist()[0]
    with lm.no_recompile(), pytest.raises(lm.RecompileError, match="it was not called before"):
        prints(X)


def test_transformations_of_and_around() -> None:
    @lm.compile
    def loss(x):
        y = lnp.sin(x)
        if float(y.sum()) > 0:
            y = y * 2
        return (y * y).sum()

    @lm.compile
    def branch(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    for x in (X, -X):
        np.testing.assert_allclose(lm.grad(loss)(x), lm.grad(loss.compiled_from)(x))
        np.testing.assert_allclose(lm.jit(branch)(x), branch.compiled_from(x))
        np.testing.assert_allclose(lm.jit(lambda x: branch(x) + 1)(x), branch.compiled_from(x) + 1)
    slope = lm.compile(lm.grad(lambda x: (branch(x) ** 2).sum()))
    np.testing.assert_allclose(slope(X), 8 * X)
    np.testing.assert_allclose(slope(-X), 2 * (-X - 1))
    np.testing.assert_allclose(lm.vmap(lm.compile(lambda r: r * r.sum()))(X), X * X.sum(1, keepdims=True))


def test_what_it_takes() -> None:
    class Adder:
        def __init__(self, k: float):
            self.k = k

        def __call__(self, x: Any) -> Any:
            return x + self.k

    adder = Adder(2.0)
    compiled = lm.compile(adder)
    np.testing.assert_allclose(compiled(X), X + 2)
    adder.k = 3.0
    np.testing.assert_allclose(compiled(X), X + 3)
    np.testing.assert_allclose(lm.compile(adder.__call__)(X), X + 3)
    np.testing.assert_allclose(lm.compile(lm.jit(lambda x: x * 3))(X), X * 3)
    np.testing.assert_allclose(lm.compile(eval("lambda x: x * 2"))(X), X * 2)
    assert lm.compile(len)([1]) == 1 and lm.compile(Adder)(3).k == 3
    with pytest.raises(TypeError, match="compile takes a function, got int: 3"):
        lm.compile(3)
    with pytest.raises(ValueError, match="variants= as a number of at least 1, got 0"):
        lm.compile(adder, variants=0)
    with pytest.raises(TypeError, match="explain takes a function, got int: 3"):
        lm.explain(3)  # pyright: ignore[reportArgumentType]


def test_threads_that_call_it_first_at_once() -> None:
    @lm.compile
    def f(x):
        y = lnp.sin(x)
        return y * float(y.sum())

    out: dict[int, list[Any]] = {}

    def work(k: int) -> None:
        out[k] = [f(X + k) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for k, found in out.items():
        for y in found:
            np.testing.assert_allclose(y, np.sin(X + k) * np.sin(X + k).sum())


def test_explain_of_a_call() -> None:
    @lm.compile
    def f(x):
        y = lnp.tanh(x) * CONFIG.scale
        name = str(y[0, 0] * 2)
        return y + 1, name

    f(X)
    f(X)
    text = str(lm.explain(f, X))
    assert "f(), test_guards.py:" in text and ": 2 regions, 1 break" in text
    assert "us a call" in text and "variant 1 for x float64[2,3]" in text
    line = f.__wrapped__.__code__.co_firstlineno + 3
    assert f"line {line}, column 16: break: str() of an array: do it with the result" in text


def test_the_examples_of_the_page() -> None:
    document = Path(__file__).parents[4] / "docs" / "compile.md"
    result = doctest.testfile(str(document), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 10 and not result.failed


def test_all_breaks_are_found_in_the_first_call() -> None:
    @lm.compile
    def f(x):
        a = lnp.sin(x)
        first = a.tolist()[0]
        b = a * 2
        seen = [str(b[0]) for _ in range(2)]
        for k in range(3):
            b = b + k
            seen.append(str(b))
        c = b * first
        seen.append(hash(first))
        return c - 1, seen

    want = f.compiled_from(X[0])
    for found in (f(X[0]), f(X[0])):
        np.testing.assert_allclose(found[0], want[0])
        assert found[1][:-1] == want[1][:-1]
    assert ": 5 regions, 4 breaks" in str(lm.explain(f)), lm.explain(f)
    with lm.no_recompile():
        f(X[0])


def test_an_index_out_of_range_ends_the_call_and_not_the_region() -> None:
    @lm.compile
    def item(x: Any, i: int) -> Any:
        return (x * 2)[i] + 1

    x = np.arange(4.0)
    for index in (7, 1, -5, 2, 3):
        if -4 <= index < 4:
            assert item(x, index) == 2 * x[index] + 1
        else:
            with pytest.raises(IndexError):
                item(x, index)
    report = str(lm.explain(item))
    assert "1 region, 0 breaks" in report and "variant" in report


def test_an_index_that_is_always_out_of_range_is_left_to_python() -> None:
    @lm.compile
    def caught(x: Any) -> Any:
        y = x * 2
        try:
            return y[9]
        except IndexError:
            return y + 1

    for _ in range(8):
        np.testing.assert_array_equal(caught(np.ones(3)), np.full(3, 3.0))

"""`lm.config(lazy=True)`: elementwise functions wait, and give the bits that they give alone."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.frontend.run import lazy
from lamina.frontend.run.lazy import Lazy

N = 1 << 16
"""From here on a function of one operation is compiled."""


@pytest.fixture(autouse=True)
def _eagerly_afterwards() -> Iterator[None]:
    yield
    assert not lm.config.lazy


def bits(x: Any) -> bytes:
    array = np.asarray(x)
    return array.tobytes() + str((array.dtype, array.shape)).encode()


def chain(x: Any, z: Any) -> list[Any]:
    y = lnp.exp(x * 0.1)
    y = lnp.tanh(y) * 2.5 + z
    w = lnp.sqrt(lnp.abs(y)) / (y * y + 1)
    product = y * w - z  # which one instruction would round once
    return [lnp.where(w > 0.2, lnp.sin(w), -w), y, product, lnp.maximum(product, 0.5) + lnp.arctan2(x, z) * lnp.log1p(y * y)]


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_bits_of_the_eager_run(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for shape in [(N + 1,), (256, 256), (0,)]:
        x, z = (rng.normal(size=shape).astype(dtype) for _ in range(2))
        if x.size:
            x.flat[:4] = [0, -0.0, np.inf, np.nan]
        want = chain(x, z)
        with lm.config(lazy=True):
            found = chain(x, z)
            assert all(type(y) is (Lazy if x.size >= N else lm.Array) for y in found if y.dtype != np.float16)
            again = [bits(y) for y in chain(x, z)]
        assert [bits(y) for y in found] == again == [bits(y) for y in want], (dtype, shape)


UNARY = "exp log sin cos tanh abs negative sqrt floor rint sign square reciprocal expm1 log1p arctan cbrt exp2 isnan".split()
BINARY = "add subtract multiply divide maximum minimum arctan2 hypot logaddexp fmax less equal remainder".split()


def test_random_chains() -> None:
    rng = np.random.default_rng(int(os.environ.get("LAMINA_TEST_SEED", "1")))
    leaves = [rng.normal(size=(256, 257)).astype(t) for t in (np.float32, np.float64)]
    leaves += [rng.integers(-5, 6, (256, 257)).astype(t) for t in (np.int32, np.int64)] + [
        rng.normal(size=257).astype(np.float32)
    ]
    for _ in range(2):
        steps = [(rng.choice(UNARY) if rng.random() < 0.5 else rng.choice(BINARY), rng.random(2)) for _ in range(14)]

        def run(steps: Any = steps) -> list[Any]:
            values: list[Any] = list(leaves)
            for name, (i, j) in steps:
                a, b = values[int(i * len(values))], values[int(j * len(values))]
                values.append(getattr(lnp, name)(a) if name in UNARY else getattr(lnp, name)(a, b))
            return values[len(leaves) :]

        want = run()
        with lm.config(lazy=True):
            found = run()
        assert any(isinstance(x, Lazy) and not x.is_ready() for x in found)
        order = rng.permutation(len(found))  # looked at in any order
        for k in order:
            assert bits(found[k]) == bits(want[k]), (k, steps)


X = np.linspace(-3, 3, N).astype(np.float32)


def test_who_looks_gets_values() -> None:
    want = lnp.exp(X)
    with lm.config(lazy=True):
        make = lambda: lnp.exp(X)  # noqa: E731
        looks = {
            "print": lambda y: str(y) == str(want) and repr(y) == repr(want) and f"{y[0]:.3f}" == f"{want[0]:.3f}",
            "NumPy": lambda y: np.asarray(y).tobytes() == want.tobytes() and np.concatenate([y, y]).size == 2 * N,
            "sum": lambda y: y.sum() == want.sum() and y.mean(dtype=np.float64) == want.mean(dtype=np.float64),
            "numbers": lambda y: float(y[0]) == want[0] and int(y[-1]) == int(want[-1]) and y[3].item() == want[3],
            "bool": lambda y: bool((y > 0).all()) and want[5] in y and len(y) == N and next(iter(y)) == want[0],
            "jit": lambda y: bits(lm.jit(lambda x: x * 2)(y)) == bits(want * 2),
            "grad": lambda y: bits(lm.grad(lambda x: (x * x).sum())(y)) == bits(want * 2),
            "operators": lambda y: all(
                bits(f(y)) == bits(f(want))
                for f in (
                    lambda v: v**2,
                    lambda v: 2 % v,
                    lambda v: v // 3,
                    lambda v: X @ v,
                    lambda v: np.float32(2) * v,
                    divmod_of,
                )
            ),
            "memory": lambda y: y.T.shape == (N,) and y.reshape(2, -1).nbytes == want.nbytes and y.flags.c_contiguous,
            "pickle": lambda y: bits(pickle.loads(pickle.dumps(y))) == bits(copy.deepcopy(y)) == bits(want),
            "foreign": lambda y: memoryview(np.asarray(y)).nbytes == want.nbytes and y.at[0].set(5)[0] == 5,
        }
        for name, look in looks.items():
            y = make()
            assert type(y) is Lazy and not y.is_ready() and y.shape == (N,) and y.dtype == np.float32, name
            assert look(y), name
            assert y.is_ready() and make().block_until_ready().is_ready()


def divmod_of(v: Any) -> Any:
    return divmod(v, np.float32(3))[1]


def test_arrays_may_change_while_others_wait() -> None:
    x = X.copy()
    with lm.config(lazy=True):
        y = lnp.exp(x)
        z = y * 2
        alias = y
        x[:] = 100
        y += 1
        y[0] = -5
        later = y * 3
        y[1] = 7
    want = lnp.exp(X)
    assert alias is y and bits(z) == bits(want * 2)
    changed = want + 1
    changed[0] = -5
    assert bits(later) == bits(changed * np.float32(3))
    changed[1] = 7
    assert bits(y) == bits(changed)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(y)[0] = 1
    with lm.config(lazy=True), pytest.raises(TypeError, match=r"out= is an array that is computed lazily"):
        np.add(X, X, out=lnp.exp(X))
    out = np.empty_like(X)
    with lm.config(lazy=True):
        assert np.add(lnp.exp(X), 1, out=out) is out and bits(out) == bits(want + 1)


def test_errors_are_at_the_line() -> None:
    with lm.config(lazy=True):
        y = lnp.exp(X)
        with pytest.raises(lm.ShapeError, match=r"test_lazy\.py:\d+:\d+: .*could not be broadcast"):
            lnp.add(y, np.ones((3,), np.float32))
        with pytest.raises(lm.LaminaError, match=r"test_lazy\.py"):
            lnp.bitwise_and(y, y)
        assert not y.is_ready()


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    compute = lazy._compute

    def counted(node: Any) -> None:
        counts.append(len(lazy._waiting([node])[0]))
        compute(node)

    monkeypatch.setattr(lazy, "_compute", counted)
    monkeypatch.setattr(lazy, "MOST_OPS", 8)
    with lm.config(lazy=True):
        y = lnp.exp(X)
        for _ in range(30):
            y = y * 0.5 + y
        np.asarray(y)
    assert max(counts) <= 10 and len(counts) >= 5
    counts.clear()
    monkeypatch.setattr(lazy, "MOST_BYTES", 3 * X.nbytes)
    with lm.config(lazy=True):
        y = lnp.exp(X)
        for _ in range(6):
            y = lnp.add(y, X)
    assert counts, "each operand is kept as it was"


def test_what_others_wait_for_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with lm.config(lazy=True):
        y = lnp.exp(X)
        a, b = lnp.sin(y), lnp.cos(y)
        dropped = lnp.exp(y)
        del y, dropped
        np.asarray(a)
        assert b._node.inputs[0].value is not None, "the exponential is not computed again"


def test_threads() -> None:
    want = [bits(y) for y in chain(X, -X)]
    found: list[Any] = []

    def run() -> None:
        with lm.config(lazy=True):
            found.append([bits(y) for y in chain(X, -X)])

    with lm.config(lazy=True):
        shared = chain(X, -X)
    threads = [threading.Thread(target=run) for _ in range(3)]
    threads += [threading.Thread(target=lambda: found.append([bits(y) for y in shared])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 6

"""Repeated calls of eager functions: native code finds them, and their keys distinguish them."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.frontend.run import eager, eager_programs
from lamina.runtime import abi, dispatch
from lamina.runtime.dispatch import gate

RNG = np.random.default_rng(11)
X = RNG.uniform(0.5, 1.5, (4, 6)).astype(np.float32)
V = X[0].copy()

native = pytest.mark.skipif(not abi.native_calls(), reason="calls go through ctypes")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The calls that reach the search for a program; native code serves calls from the second on."""
    monkeypatch.setattr(eager, "_WORTH_AN_ENTRY", 0)
    eager.forget()
    reached: list[Any] = []
    program = eager._program
    monkeypatch.setattr(eager, "_program", lambda *args: reached.append(args[0]) or program(*args))
    yield reached
    eager.forget()


CALLS: dict[str, Callable[[], Any]] = {
    "one operand": lambda: lnp.exp(V),
    "two operands": lambda: lnp.add(V, X),
    "three operands": lambda: lnp.where(X > 1, X, V),
    "numbers": lambda: lnp.clip(X, 0.7, 1.1),
    "keywords": lambda: lnp.sum(X, axis=1, keepdims=True),
    "a dtype": lambda: lnp.astype(X, np.dtype(np.float64)),
    "a type": lambda: lnp.sum(X, dtype=np.float64),
    "a shape": lambda: lnp.reshape(X, (3, -1)),
    "lists of arrays": lambda: lnp.concatenate([V, [1.0, 2.0], V]),
    "text": lambda: lnp.einsum("ij,kj->ik", X, X),
    "strides": lambda: lnp.multiply(X.T, X.T[::-1]),
    "our own results": lambda: lnp.add(lnp.exp(X), V),
    "no elements": lambda: lnp.exp(X[:0]),
    "rank 0": lambda: lnp.exp(np.full((), 0.5)),
    "several results": lambda: lnp.split(V, 3),
    "indices": lambda: lnp.take(X, np.array([2, -1, 0]), axis=1),
    "tables": lambda: lnp.polyder(V),
    "compiled": lambda: lnp.tanh(np.ones(eager_programs.COMPILED_WORK, np.float32)),
}


@native
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_came_twice_is_served(name: str, recorded: list[Any]) -> None:
    call = CALLS[name]
    found = [call() for _ in range(3)]
    reached = len(recorded)
    found += [call() for _ in range(3)]
    assert len(recorded) == reached
    for one in found[1:]:
        for a, b in zip(*(x if isinstance(x, list | tuple) else [x] for x in (found[0], one)), strict=True):
            assert type(b) is lm.Array and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
            assert b.flags.c_contiguous and b.flags.writeable


@native
def test_what_tells_calls_apart(recorded: list[Any]) -> None:
    n, big = np.arange(6), 10**30
    pairs: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
        (lambda: lnp.multiply(V, 0.0), lambda: lnp.multiply(V, -0.0)),
        (lambda: lnp.add(n, 1), lambda: lnp.add(n, 1.0)),
        (lambda: lnp.add(n, 1), lambda: lnp.add(n, True)),
        (lambda: lnp.sum(X, 0), lambda: lnp.sum(X, 1)),
        (lambda: lnp.sum(X, axis=0), lambda: lnp.sum(X, axis=0, keepdims=True)),
        (lambda: lnp.add(V, V.astype(np.float64)), lambda: lnp.add(V, V)),
        (lambda: lnp.exp(X), lambda: lnp.exp(X.reshape(6, 4))),
        (lambda: lnp.max(X, axis=(0,)), lambda: lnp.max(X, axis=(0, 1))),
        (lambda: lnp.concatenate([V, V]), lambda: lnp.concatenate([V, V, V])),
        (lambda: lnp.add(V.astype(">f4"), V), lambda: lnp.add(V, V)),
        (lambda: lnp.multiply(V, float(big)), lambda: lnp.multiply(V, 2.0)),
        (lambda: lnp.multiply(V, float("nan")), lambda: lnp.multiply(V, float("inf"))),
    ]
    for one, other in pairs:
        with np.errstate(all="ignore"):
            eager.forget()
            wanted = one()
            eager.forget()
            wanted_other = other()
            found = [(one(), other()) for _ in range(4)]
        for a, b in found:
            for got, want in ((a, wanted), (b, wanted_other)):
                assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()


@native
def test_errors_are_those_of_the_first_call(recorded: list[Any]) -> None:
    for _ in range(4):
        lnp.take(V, np.array([0, 5]))
        with pytest.raises(lm.ShapeError, match=r"test_dispatch.py:\d+:\d+: index 6 is out of bounds for dim 0 of size 6"):
            lnp.take(V, np.array([0, 6]))
        with pytest.raises(lm.ShapeError):
            lnp.add(V, V[:5])
        with pytest.raises(TypeError):
            lnp.exp()
        with pytest.raises(TypeError, match="masked"):
            lnp.exp(np.ma.masked_array(V, V > 1))
        lnp.exp(V)


@native
def test_options_and_traces_of_any_thread_close_the_gate(recorded: list[Any]) -> None:
    n = np.arange(6)
    for _ in range(3):
        for promotion, dtype in (("jax", np.float32), ("numpy", np.float64)):
            with lm.config(promotion=promotion):
                assert lnp.add(V, n).dtype == dtype
            assert lnp.add(V, n).dtype == np.float64
    assert lm.jit(lambda x: lnp.add(x, lnp.exp(V)))(V).dtype == np.float32
    np.testing.assert_allclose(lm.grad(lambda x: lnp.sum(lnp.exp(x)))(V), np.exp(V), rtol=1e-6)
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lm.config(promotion="jax"):
            inside.set()
            done.wait()

    other = threading.Thread(target=hold)
    other.start()
    inside.wait()
    try:
        assert lnp.add(V, n).dtype == np.float64
    finally:
        done.set()
        other.join()
    with pytest.raises(ValueError, match="stop"), eager.EagerTrace():
        raise ValueError("stop")
    for _ in range(3):
        lnp.add(V, n)
    reached = len(recorded)
    lnp.add(V, n)
    assert len(recorded) == reached and gate.number


@native
def test_threads_call_at_once_while_calls_come_and_go(recorded: list[Any]) -> None:
    arrays = [np.full(k % 37, 0.5, np.float32) for k in range(400)]

    def run(seed: int) -> bool:
        good = True
        for k in range(300):
            x = arrays[(k * 7 + seed) % len(arrays)]
            good &= lnp.add(x, x).shape == x.shape and bool((lnp.multiply(x, 3.0) == 1.5).all())
            if k % 100 == seed % 100:
                eager.forget()
        return good

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(8)))


@pytest.mark.thorough
@native
def test_memory_is_bounded_over_many_shapes(recorded: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MOST_CALLS", 64)
    monkeypatch.setattr(eager, "_KEPT", 100)
    held = []
    tracemalloc.start()
    try:
        for k in range(600):
            x = np.ones((1 + k % 20, 1 + k % 200 // 20), np.int8)  # types of tensors are kept by others
            lnp.negative(x)
            lnp.negative(x)
            if k % 200 == 199:
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert len(lnp.negative._keep[0]._entries) <= 64  # pyright: ignore
    assert held[2] < held[1] + 2**16


@native
def test_calls_are_served_at_once_where_compiled_code_has_loaded_the_entry(
    recorded: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lm.jit(lambda x: x + 1)(V)
    monkeypatch.setattr(eager, "_WORTH_AN_ENTRY", 1 << 30)
    results = [lnp.expm1(V) for _ in range(5)]
    assert len(recorded) <= 2 and all((result == results[0]).all() for result in results)


def test_functions_are_functions() -> None:
    assert lnp.add.__name__ == "add" and "sum" in (lnp.add.__doc__ or "") and inspect.signature(lnp.sum).parameters["axis"]
    assert copy.deepcopy(lnp.add) is lnp.add and pickle.loads(pickle.dumps(lnp.add)) is lnp.add

    class Layer:
        activation = lnp.tanh

    np.testing.assert_array_equal(Layer.activation(V), lnp.tanh(V))

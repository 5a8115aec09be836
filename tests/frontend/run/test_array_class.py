"""`lamina.Array`: the class of results is an ndarray in all of NumPy, and has what jax's arrays have."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)
MAKERS: dict[str, Any] = {
    "jit": lambda x: lm.jit(lambda x: x * 1)(x),
    "tree of jit": lambda x: lm.jit(lambda x: {"a": [x * 1]})(x)["a"][0],
    "eager": lambda x: lnp.multiply(x, np.ones((), x.dtype)),
    "eager, compiled": lambda x: lnp.broadcast_to(x, (1 << 13, *x.shape)).max(0),
    "asarray": lnp.asarray,
    "grad": lambda x: lm.grad(lambda y: (y * x).sum())(np.ones(x.shape, x.dtype)),
    "vmap": lambda x: lm.vmap(lambda y: y * 1)(x[None])[0] if x.ndim else lm.vmap(lambda y: y * 1)(x[None]).reshape(()),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4), (2, 0, 3)])
def test_all_results_are_arrays(maker: str, shape: tuple[int, ...]) -> None:
    x = np.resize(X, shape).astype(np.float32)
    y = MAKERS[maker](x)
    assert type(y) is lm.Array and isinstance(y, np.ndarray) and y.shape == shape and y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)
    assert y.block_until_ready() is y and y.is_ready() and y.devices() == {y.device} and not y.weak_type
    assert y.flags.writeable and (maker == "asarray" or not np.shares_memory(x, y))


UPDATES = ["set", "add", "multiply", "min", "max"]


@pytest.mark.parametrize("kind", UPDATES)
def test_at_of_results(kind: str) -> None:
    x = lm.jit(lambda x: x + 0)(X)
    want = lm.jit(lambda x: getattr(x.at[1, ::2], kind)(0.5))(X)
    got = getattr(x.at[1, ::2], kind)(0.5)
    assert type(got) is lm.Array
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(x.at[1].get(), X[1])


def test_numpy_takes_them() -> None:
    y = lnp.asarray(X)
    for name, function in {
        "ufunc": lambda a: np.sin(a) + a * 2,
        "in place": lambda a: np.add(a, 1, out=a.copy()),
        "reduce": lambda a: np.add.reduce(a, 0),
        "function": lambda a: np.concatenate([a, a[::2]]),
        "linalg": lambda a: np.linalg.qr(a)[1],
        "sorted": lambda a: np.sort(a, axis=None),
        "where": lambda a: np.where(a > 0, a, 0),
        "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
        "bytes": lambda a: a.tobytes(),
        "list": lambda a: a.tolist(),
        "buffer": lambda a: bytes(memoryview(a)),
        "slices": lambda a: a.T[1:, ::-1],
        "text": repr,
    }.items():
        np.testing.assert_array_equal(function(y), function(X), err_msg=name)
    y += 1
    y[0] = 7
    assert type(y) is lm.Array and (y[0] == 7).all() and type(y[0, 0]) is np.float32


def test_numbers() -> None:
    y = lm.jit(lambda x: x.sum())(np.full(5, 0.5, np.float32))
    assert float(y) == 2.5 and int(y) == 2 and bool(y) and y.item() == 2.5 and f"{y:.2f}" == "2.50" and round(y) == 2
    assert round(y, 1) == 2.5 and y + 1 == 3.5 and str(y) == "2.5" and [10, 20, 30][lnp.asarray(2)] == 30


def test_copies_and_files_keep_the_class() -> None:
    y = lnp.asarray(X)
    for z in (copy.copy(y), copy.deepcopy(y), *(pickle.loads(pickle.dumps(y, protocol)) for protocol in (2, 5))):
        assert type(z) is lm.Array
        np.testing.assert_array_equal(z, X)


def test_calls_neither_leak_nor_free_the_class() -> None:
    f = lm.jit(lambda x: (x + 1, x.sum()))
    f(X)
    gc.collect()
    before = sys.getrefcount(lm.Array)
    for _ in range(50):
        results = f(X)
        del results
    assert abs(sys.getrefcount(lm.Array) - before) < 10


def test_python_subclasses() -> None:
    class Mine(lm.Array):
        pass

    y = Mine((3,), np.float32)
    y[:] = 1
    y.extra = [y]  # the collector has its words before the object
    del y
    gc.collect()
    assert (lm.jit(lambda x: x + 1)(np.ones(3, np.float32).view(Mine)) == 2).all()


def test_devices() -> None:
    tree = lm.device_put({"w": X, "b": 1.0})
    assert all(type(leaf) is lm.Array for leaf in tree.values())
    back = lm.device_get(tree)
    assert all(type(leaf) is np.ndarray for leaf in back.values()) and back["b"] == 1
    assert lm.block_until_ready(tree) is tree


def test_namespace_of_the_array_api() -> None:
    x = lnp.zeros(3)
    assert x.__array_namespace__() is lnp and x.__array_namespace__(api_version="2022.12") is lnp
    with pytest.raises(ValueError, match=r"lamina.numpy is of the Array API 2025.12, got '1999.12'"):
        x.__array_namespace__(api_version="1999.12")
    info = lnp.__array_namespace_info__()
    assert info.dtypes(kind="complex floating") == {"complex64": np.dtype("c8"), "complex128": np.dtype("c16")}
    assert {np.dtype(bool), *info.dtypes(kind="numeric").values()} == {*info.dtypes().values()}
    with pytest.raises(ValueError, match=r"kind must be one of bool, .*, got 'float'"):
        info.dtypes(kind="float")
    with pytest.raises(ValueError, match="device must be 'cpu', got 'gpu'"):
        lnp.ones(3, device="gpu")


def test_a_traced_array_is_one_of_the_array_api() -> None:
    """Code for several libraries asks the array for its namespace, device and methods."""

    def standardized(x: Any) -> Any:
        xp = x.__array_namespace__(api_version="2024.12")
        y = (x - xp.mean(x, axis=-1, keepdims=True)).to_device(x.device)
        assert xp is lnp and x.devices() == {"cpu"} and x.is_ready() and not x.weak_type
        assert copy.copy(x) is x is copy.deepcopy(x)
        return (
            xp.sum(y.diagonal() ** 2) + y.trace() + y.ptp() + y[0].partition(1)[0] + y[:, 0].compress(y[:, 1] > 0, size=2).sum()
        )

    x = np.random.default_rng(0).normal(size=(3, 3))
    y = x - x.mean(-1, keepdims=True)
    wanted = (y.diagonal() ** 2).sum() + y.trace() + np.ptp(y) + y[0].min() + y[y[:, 1] > 0, 0][:2].sum()
    assert np.isclose(lm.jit(standardized)(x), wanted) and np.isclose(lm.grad(standardized)(x).sum(), 0, atol=1e-9)
    with pytest.raises(ValueError, match="device must be 'cpu', got 'gpu'"):
        lm.jit(lambda x: x.to_device("gpu"))(x)
    with pytest.raises(ValueError, match="of the Array API"):
        lm.jit(lambda x: x.__array_namespace__(api_version="1999.12"))(x)
    with pytest.raises(lm.errors.TracingError, match="__dlpack__ needs the memory"):
        lm.jit(np.from_dlpack)(x)


def test_what_is_shared_and_what_is_copied() -> None:
    x = np.arange(4.0)
    assert np.shares_memory(lnp.asarray(x), x) and np.shares_memory(lnp.from_dlpack(x), x)
    assert not np.shares_memory(lnp.asarray(x, copy=True), x)
    with pytest.raises(ValueError, match="a list cannot become an array of float64 without a copy"):
        lnp.asarray([1.0], copy=False)
    assert lnp.asarray(x[:0], copy=False).size == 0

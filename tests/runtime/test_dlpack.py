"""DLPack both ways: one memory, of all element types; strides, read-only memory, and how long memory lives."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest

BF16 = ml_dtypes.bfloat16


class Source:
    """A tensor of another library: an array behind the protocol, of the first version alone if `old`."""

    def __init__(self, array: Any, old: bool = False):
        self.array, self.old = array.view(type(lnp.zeros(1))), old

    def __dlpack__(self, **options: Any) -> Any:
        if self.old and options:
            raise TypeError("unexpected keyword arguments")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float16", "float32", "bool", "int8", "complex64"]
)
def test_one_memory(dtype: str, old: bool) -> None:
    x = np.arange(12).reshape(3, 4).astype(lnp.dtype(dtype))
    for given in (x, x.T, x[::2, ::-1], x[:, 1:], x[0, 0:1].reshape(()), x[:0]):
        got = lm.from_dlpack(Source(given, old))
        assert got.dtype == x.dtype and got.shape == given.shape
        if given.size:
            assert got.ctypes.data == given.ctypes.data and got.strides == given.strides
            assert lm.from_dlpack(Source(given, old), copy=True).ctypes.data != given.ctypes.data
            np.testing.assert_array_equal(got, given)


def test_results_are_functions_arguments() -> None:
    x = lm.from_dlpack(Source(np.float32([1, 2, 3]).astype(BF16)))
    np.testing.assert_array_equal(lm.jit(lambda x: x * 2)(x), np.float32([2, 4, 6]).astype(BF16))


def test_memory_lives_as_long_as_a_consumer() -> None:
    rng = np.random.default_rng(0)
    alive: list[Any] = []
    for i in range(600):
        base = np.full(int(rng.integers(1, 60)), i % 100).astype((BF16, np.float32)[i % 2])
        source = Source(base, bool(i % 3))
        consumer = lm.from_dlpack(source)
        if i % 5 == 0:
            consumer = lm.from_dlpack(Source(consumer))[::2]
        alive.append((i % 100, consumer, weakref.ref(base)))
        del base, source, consumer
        if len(alive) > 20:
            value, held, memory = alive.pop(int(rng.integers(len(alive))))
            assert memory() is not None and (held.astype(np.float32) == value).all()
            del held
            assert memory() is None
    left = [memory for _, _, memory in alive]
    alive.clear()
    gc.collect()
    assert not [memory for memory in left if memory() is not None]


def test_a_capsule_that_nobody_takes_keeps_nothing() -> None:
    x = np.ones(3, BF16)
    memory, capsule = weakref.ref(x), Source(x).__dlpack__()
    del x
    assert memory() is not None
    del capsule
    assert memory() is None


def test_memory_that_is_read_only() -> None:
    x = np.ones(3, BF16)
    x.flags.writeable = False
    assert not lm.from_dlpack(Source(x)).flags.writeable
    with pytest.raises(BufferError, match="readonly"):
        lm.from_dlpack(Source(x, old=True))


def test_what_is_no_tensor() -> None:
    class Elsewhere(Source):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    with pytest.raises(BufferError, match=r"in the memory of the CPU .*, got device type 2"):
        lm.from_dlpack(Elsewhere(np.ones(3, BF16)))
    with pytest.raises(TypeError, match="takes a tensor with __dlpack__, got list"):
        lm.from_dlpack([1, 2])
    capsule = Source(np.ones(3, BF16)).__dlpack__()

    class Twice(Source):
        def __dlpack__(self, **options: Any) -> Any:
            return capsule

    first = lm.from_dlpack(Twice(np.ones(3, BF16)))
    with pytest.raises(BufferError, match="was consumed"):
        lm.from_dlpack(Twice(np.ones(3, BF16)))
    assert (first == 1).all()

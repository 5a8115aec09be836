"""Pipelines of data: their elements, resuming at any position, and threads that end."""

from __future__ import annotations

import doctest
import gc
import importlib
import threading
from typing import Any

import lamina as lm
import numpy as np
import pytest

data = lm.train.dataset
KEY = lm.random.key(3)


def flat(dataset: Any, epochs: int = 1) -> list[list[int]]:
    return [np.asarray(x).tolist() for x in dataset.iterate(epochs)]


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 8, 9])
def test_batches(size: int) -> None:
    x = np.arange(size)
    for source in (data.from_arrays(x), data.from_iterable(list(x))):
        batches = source.batch(4)
        assert flat(batches) == [x[k : k + 4].tolist() for k in range(0, size, 4)]
        assert flat(source.batch(4, drop_last=True)) == [x[k : k + 4].tolist() for k in range(0, size - 3, 4)]
        assert flat(source) == x.tolist()
    assert len(data.from_arrays(x).batch(4)) == -(-size // 4) and len(data.from_arrays(x).batch(4, drop_last=True)) == size // 4


@pytest.mark.parametrize("source", [data.from_arrays(np.arange(20)), data.from_iterable(range(20))])
def test_shuffled(source: Any) -> None:
    epochs = flat(source.shuffle(KEY, 7), 2)
    first, second = epochs[:20], epochs[20:]
    assert sorted(first) == sorted(second) == list(range(20)) and first != second != list(range(20)) != first
    assert flat(source.shuffle(KEY, 7), 2) == epochs
    assert flat(source.shuffle(lm.random.key(4), 7)) != first
    rows = data.from_arrays({"x": np.arange(5), "y": (np.arange(5) * 10, np.eye(5))}).shuffle(KEY)
    for row in rows:
        assert row["y"][0] == 10 * row["x"] and row["y"][1][row["x"]] == 1


@lm.jit
def noisy(x: Any, key: Any) -> Any:
    return x + lm.random.uniform(key, (), np.float32)


PIPELINES = {
    "arrays": lambda: data.from_arrays(np.arange(13, dtype=np.float32)).shuffle(KEY).batch(3).map(noisy, key=KEY),
    "rows": lambda: data.from_arrays(np.arange(13, dtype=np.float32)).map(lambda x: x * 2).shuffle(KEY, 4).batch(3),
    "iterable": lambda: data.from_iterable(lambda: map(np.float32, range(13))).shuffle(KEY, 5).batch(3, drop_last=True),
    "prefetched": lambda: data.from_arrays(np.arange(13, dtype=np.float32)).shuffle(KEY).batch(3).map(noisy, KEY).prefetch(3),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_it_goes_on_anywhere(name: str) -> None:
    whole = flat(PIPELINES[name](), 3)
    for taken in range(len(whole) + 1):
        with PIPELINES[name]().iterate(3) as iteration:
            for _ in range(taken):
                next(iteration)
            state = iteration.state()
        rest = [np.asarray(x).tolist() for x in PIPELINES[name]().iterate(3, state)]
        assert rest == whole[taken:], taken


def threads() -> int:
    gc.collect()
    return sum(thread.name == "lamina-prefetch" for thread in threading.enumerate())


@pytest.mark.thorough
def test_prefetching_threads() -> None:
    def failing() -> Any:
        yield 1
        yield 2
        raise KeyError("lost")

    iteration = data.from_iterable(failing).prefetch(5).iterate()
    assert next(iteration) == 1 and next(iteration) == 2
    with pytest.raises(KeyError, match="lost"):
        next(iteration)
    assert threads() == 0
    # one that waits for room ends when the reader stops, closed or forgotten
    endless = data.from_iterable(lambda: iter(int, 1)).prefetch(2)
    with endless.iterate() as iteration:
        assert next(iteration) == 0 and threads() == 1
    assert threads() == 0
    iteration = iter(endless)
    assert next(iteration) == 0
    del iteration
    assert threads() == 0
    for _ in zip(range(3), endless, strict=False):
        pass
    assert threads() == 0
    seen = []
    main = threading.current_thread()
    for x in (
        data.from_arrays(np.arange(5)).map(lambda x: seen.append(threading.current_thread() is main) or x, jit=False).prefetch()
    ):
        assert x == len(seen) - 1 or x < len(seen)
    assert seen == [False] * 5 and threads() == 0


def test_maps_are_compiled_once() -> None:
    traced = []
    dataset = data.from_arrays({"x": np.arange(6.0)}).batch(2).map(lambda t: traced.append(1) or t["x"] ** 2)
    assert [y.tolist() for y in dataset] == [[0, 1], [4, 9], [16, 25]] and traced == [1]


def test_wrong_data() -> None:
    with pytest.raises(lm.ShapeError, match=r"\['a'\] has shape \[2\], \['b'\] has shape \[3\]"):
        data.from_arrays({"a": np.ones(2), "b": np.ones(3)})
    with pytest.raises(lm.ShapeError, match=r"it has shape \[\]"):
        data.from_arrays(np.float32(1))
    with pytest.raises(lm.ShapeError, match="got none"):
        data.from_arrays({})
    with pytest.raises(TypeError, match="list_iterator can be read once"):
        data.from_iterable(iter([1]))
    with pytest.raises(TypeError, match="got int"):
        data.from_iterable(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="batch takes a size of 1 or more, got 0"):
        data.from_arrays(np.ones(3)).batch(0)
    with pytest.raises(lm.ShapeError, match=r"elements of one shape, got \[2\] and \[3\]"):
        list(data.from_iterable([np.ones(2), np.ones(3)]).batch(2))
    with pytest.raises(ValueError, match=r"has epoch and position, got \['epoch'\]"):
        data.from_arrays(np.ones(3)).iterate(1, {"epoch": 0})
    with pytest.raises(TypeError, match="does not know how many"):
        len(data.from_iterable([1]))
    with pytest.raises(ValueError, match="cannot be iterated for ever"):
        next(data.from_iterable([]).iterate())


def test_examples() -> None:
    assert doctest.testmod(importlib.import_module("lamina.train.dataset.pipeline")).failed == 0

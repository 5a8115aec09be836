"""Data for training: sources, and stages that shuffle, batch, map and prefetch.

A `Dataset` defines the elements of each epoch; nothing runs before it is iterated. All randomness follows from a
key and the number of the epoch, so the position of an iteration is two numbers: the epoch and how many elements were consumed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ...api import trees
from ...api.errors import ShapeError
from ...api.functions import jit as compiled
from ...compat.jax.tree import keystr, leaves_with_path
from ...library.random import namespace as random
from .prefetch import prefetched

Tree = Any


class Dataset(ABC):
    """A sequence of elements; the stages below return another one and leave this one unchanged."""

    @abstractmethod
    def elements(self, epoch: int, skip: int) -> Iterator[Any]:
        """The elements of an epoch from number `skip` on."""

    def __len__(self) -> int:
        """How many elements an epoch has.

        Raises:
            TypeError: that is not known before they are read.
        """
        raise TypeError(f"{type(self).__name__} does not know how many elements it has")

    def __iter__(self) -> Iteration:
        return self.iterate(epochs=1)

    def iterate(self, epochs: int | None = None, state: Mapping[str, Any] | None = None) -> Iteration:
        """An iteration through epochs 0, 1, 2 and so on.

        Args:
            epochs: how many in all; None is endless.
            state: where another iteration stood (`Iteration.state`), to continue from there.
        """
        return Iteration(self, epochs, state)

    def shuffle(self, key: Any, buffer: int = 1024) -> Dataset:
        """The elements of each epoch in another order, which follows from the key and the epoch.

        Arrays are permuted as a whole. In a sequential source, each element is drawn from the next `buffer` ones; to
        continue within an epoch then reads it from its start.
        """
        return _ShuffledInOrder(self, key, buffer)

    def batch(self, size: int, drop_last: bool = False) -> Dataset:
        """Neighbouring elements as one, with a new first dim of `size`.

        Args:
            size: elements of a batch.
            drop_last: whether a last batch of less elements is left out, so that a compiled step sees one shape.
        """
        return _Batches(self, size, drop_last)

    def map(self, function: Callable[..., Any], key: Any = None, jit: bool = True) -> Dataset:
        """`function(element)`, or with a key `function(element, key)`, where each element of each epoch has a key of its own.

        Args:
            function: from an element to another.
            key: of `lamina.random`.
            jit: whether the function is compiled; not for functions with results other than arrays.
        """
        return _Mapped(self, compiled(function) if jit else function, key)

    def prefetch(self, size: int = 2) -> Dataset:
        """The same elements, made by another thread, up to `size` of them in advance."""
        return _Prefetched(self, size)


class Iteration:
    """An iterator over a dataset that knows where it stands.

    Close it (or use `with`) where it is not read to its end, so that a thread that prefetches ends, too.

    Attributes:
        epoch: the number of the epoch.
        position: how many of its elements were consumed.
    """

    def __init__(self, dataset: Dataset, epochs: int | None, state: Mapping[str, Any] | None):
        if state is not None and not {"epoch", "position"} <= set(state):
            raise ValueError(f"the state of an iteration has epoch and position, got {sorted(state)}")
        self.dataset, self.epochs = dataset, epochs
        self.epoch = 0 if state is None else int(state["epoch"])
        self.position = 0 if state is None else int(state["position"])
        self._elements: Iterator[Any] | None = None

    def __iter__(self) -> Iteration:
        return self

    def __next__(self) -> Any:
        empty = 0
        while self.epochs is None or self.epoch < self.epochs:
            if self._elements is None:
                self._elements = self.dataset.elements(self.epoch, self.position)
            try:
                element = next(self._elements)
            except StopIteration:
                empty = empty + 1 if self.position == 0 else 0
                if empty > 1 and self.epochs is None:
                    raise ValueError("the dataset has no elements: it cannot be iterated for ever") from None
                self.epoch, self.position, self._elements = self.epoch + 1, 0, None
                continue
            self.position += 1
            return element
        raise StopIteration

    def state(self) -> dict[str, Any]:
        """The position of the iteration, as arrays, which `lm.save` takes and from which `Dataset.iterate` continues."""
        return {"epoch": np.int64(self.epoch), "position": np.int64(self.position)}

    def close(self) -> None:
        """End the iteration, and the threads it has."""
        if self._elements is not None:
            self._elements.close()  # pyright: ignore[reportAttributeAccessIssue]  # all stages are generators
        self._elements, self.epochs = None, 0

    def __enter__(self) -> Iteration:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --------------------------------------------------------------------------------------------------------------------
# Sources


class _Arrays(Dataset):
    """Rows of arrays, in an order that may differ from epoch to epoch."""

    def __init__(self, arrays: Tree, key: Any = None):
        self.arrays, self.key = arrays, key
        leaves = leaves_with_path(arrays)
        if not leaves:
            raise ShapeError("from_arrays needs at least one array, got none")
        sizes = {path: np.shape(leaf)[:1] for path, leaf in leaves}
        if len(set(sizes.values())) != 1 or () in sizes.values():
            shown = ", ".join(f"{keystr(path) or 'it'} has shape {list(np.shape(leaf))}" for path, leaf in leaves)
            raise ShapeError(f"from_arrays needs arrays of one size of their first dims: {shown}")
        (self.size,) = next(iter(sizes.values()))

    def __len__(self) -> int:
        return self.size

    def order(self, epoch: int) -> np.ndarray[Any, Any]:
        """Which row each element of an epoch is."""
        if self.key is None:
            return np.arange(self.size)
        return np.asarray(random.permutation(random.fold_in(self.key, epoch), self.size))

    def rows(self, which: Any) -> Tree:
        return trees.map(lambda array: np.asarray(array)[which], self.arrays)

    def elements(self, epoch: int, skip: int) -> Iterator[Any]:
        for k in self.order(epoch)[skip:]:
            yield self.rows(k)

    def shuffle(self, key: Any, buffer: int = 1024) -> Dataset:
        return _Arrays(self.arrays, key)


class _Iterables(Dataset):
    """A source that can only be read in order."""

    def __init__(self, make: Callable[[], Iterable[Any]]):
        self.make = make

    def elements(self, epoch: int, skip: int) -> Iterator[Any]:
        yield from islice(self.make(), skip, None)


def from_arrays(arrays: Tree) -> Dataset:
    """The rows of arrays.

    Args:
        arrays: an array or a tree of arrays of one size of their first dims; an element is the tree of one row of each.

    Raises:
        ShapeError: sizes differ, or an array has no dims.

    >>> import lamina as lm, numpy as np
    >>> data = lm.train.dataset.from_arrays({"x": np.arange(5), "y": np.arange(5) ** 2})
    >>> [batch["y"].tolist() for batch in data.batch(2)]
    [[0, 1], [4, 9], [16]]
    """
    return _Arrays(arrays)


def from_iterable(source: Iterable[Any] | Callable[[], Iterable[Any]]) -> Dataset:
    """The elements of an iterable, which each epoch reads anew.

    Args:
        source: a list or another iterable that can be read several times, or a function that returns an iterator.

    Raises:
        TypeError: it is an iterator, which can be read once.
    """
    if callable(source):
        return _Iterables(source)
    if not isinstance(source, Iterable):
        raise TypeError(f"from_iterable takes an iterable or a function that makes one, got {type(source).__name__}")
    if isinstance(source, Iterator):
        raise TypeError(f"{type(source).__name__} can be read once: pass a function that makes it, from_iterable(lambda: ...)")
    return _Iterables(lambda: source)


# --------------------------------------------------------------------------------------------------------------------
# Stages


class _ShuffledInOrder(Dataset):
    def __init__(self, source: Dataset, key: Any, buffer: int):
        self.source, self.key, self.buffer = source, key, _positive("shuffle", "buffer", buffer)

    def __len__(self) -> int:
        return len(self.source)

    def elements(self, epoch: int, skip: int) -> Iterator[Any]:
        yield from islice(self._shuffled(epoch), skip, None)

    def _shuffled(self, epoch: int) -> Iterator[Any]:
        seed = int(random.bits(random.fold_in(self.key, epoch)))
        chance = np.random.Generator(np.random.Philox(seed))
        waiting: list[Any] = []
        for element in self.source.elements(epoch, 0):
            if len(waiting) < self.buffer:
                waiting.append(element)
                continue
            k = int(chance.integers(self.buffer))
            drawn, waiting[k] = waiting[k], element
            yield drawn
        for k in chance.permutation(len(waiting)):
            yield waiting[k]


class _Batches(Dataset):
    def __init__(self, source: Dataset, size: int, drop_last: bool):
        self.source, self.size, self.drop_last = source, _positive("batch", "size", size), drop_last

    def __len__(self) -> int:
        whole, rest = divmod(len(self.source), self.size)
        return whole + (rest > 0 and not self.drop_last)

    def elements(self, epoch: int, skip: int) -> Iterator[Any]:
        if isinstance(self.source, _Arrays):
            order = self.source.order(epoch)
            for k in range(skip, len(self)):
                yield self.source.rows(order[k * self.size : (k + 1) * self.size])
            return
        elements = self.source.elements(epoch, skip * self.size)
        while batch := list(islice(elements, self.size)):
            if len(batch) < self.size and self.drop_last:
                return
            yield _stacked(batch)


def _stacked(elements: Sequence[Any]) -> Tree:
    for column in zip(*map(trees.leaves, elements), strict=False):
        if len(shapes := {np.shape(leaf) for leaf in column}) > 1:
            raise ShapeError(f"batch needs elements of one shape, got {' and '.join(str(list(s)) for s in sorted(shapes))}")
    return trees.map(lambda *leaves: np.stack([np.asarray(x) for x in leaves]), *elements)


class _Mapped(Dataset):
    def __init__(self, source: Dataset, function: Callable[..., Any], key: Any):
        self.source, self.function, self.key = source, function, key

    def __len__(self) -> int:
        return len(self.source)

    def elements(self, epoch: int, skip: int) -> Iterator[Any]:
        of_epoch = None if self.key is None else random.fold_in(self.key, epoch)
        for k, element in enumerate(self.source.elements(epoch, skip), skip):
            yield self.function(element) if of_epoch is None else self.function(element, random.fold_in(of_epoch, k))


class _Prefetched(Dataset):
    def __init__(self, source: Dataset, size: int):
        self.source, self.size = source, _positive("prefetch", "size", size)

    def __len__(self) -> int:
        return len(self.source)

    def elements(self, epoch: int, skip: int) -> Iterator[Any]:
        return prefetched(self.source.elements(epoch, skip), self.size)


def _positive(stage: str, name: str, value: int) -> int:
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{stage} takes a {name} of 1 or more, got {value!r}")
    return int(value)

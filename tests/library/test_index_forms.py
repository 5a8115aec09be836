"""Rare forms of indices that NumPy takes: tuples in tuples, known bools; and functions that cannot be traced."""

from __future__ import annotations

import itertools
from typing import Any

import lamina as lm
import numpy as np
import pytest

X = np.arange(24.0).reshape(2, 3, 4)
PARTS: list[Any] = [
    *((0, 1), ((0, 1), (1, 0)), [1, 0], 1, slice(None), None, ..., np.True_, True, False, np.array(True), ()),
    *((True, False), np.array([True, False])),
]


def outcome(function: Any, x: Any) -> Any:
    try:
        return np.asarray(function(x))
    except (IndexError, lm.errors.LaminaError) as error:
        return error


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("length", [1, 2, 3])
def test_indices_are_numpys(third: int, length: int):
    drawn = list(itertools.product(PARTS, repeat=length))
    rng = np.random.default_rng(length)
    for k in rng.permutation(len(drawn))[third:120:3]:
        index = drawn[k]
        expected = outcome(lambda x: x[index], X)  # noqa: B023
        if isinstance(expected, Exception):
            continue

        def changed(x: Any) -> Any:
            return x[index], x.at[index].set(-1.0)  # noqa: B023

        got, after = lm.jit(changed)(X)
        assert got.shape == expected.shape and (np.asarray(got) == expected).all(), index
        right = X.copy()
        right[index] = -1
        assert (np.asarray(after) == right).all(), index
    assert (np.asarray(lm.jit(lambda x: x[(0, 1), (2, 2)])(X)) == X[(0, 1), (2, 2)]).all()
    assert lm.jit(lambda x: x[np.True_])(X).shape == (1, 2, 3, 4)


def test_gradients_of_such_indices():
    slope = lm.grad(lambda x: (x[(0, 1), (2, 2)] * 2).sum() + x[True].sum())(X)
    right = np.ones_like(X)
    right[(0, 1), (2, 2)] += 2
    assert (np.asarray(slope) == right).all()


async def later(x: Any) -> Any:
    return x


async def several(x: Any) -> Any:
    yield x


def generator(x: Any) -> Any:
    yield x


@pytest.mark.parametrize("transformed", [lm.jit, lm.grad, lm.vmap])
def test_async_functions_and_generators_are_refused_by_a_word(transformed: Any):
    for function, word in ((later, "is an async function"), (several, "is an async function"), (generator, "is a generator")):
        with pytest.raises(TypeError, match=word):
            transformed(function)(X)


def test_names_of_jax():
    from lamina.flatten_util import ravel_pytree
    from lamina.ops import segment_max

    assert (np.asarray(segment_max(np.array([1.0, 5, 2]), np.array([0, 0, 1]), 2)) == [5, 2]).all()
    flat, back = ravel_pytree({"a": np.ones(2), "b": np.zeros((2, 2))})
    assert flat.shape == (6,) and back(flat)["b"].shape == (2, 2)

"""Arrays that several names hold and that are changed in place: eager, under `jit` and `lm.compile` as in NumPy, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

A = np.arange(12.0).reshape(3, 4)


class Holder:
    x: Any = None


def name(x: Any) -> Any:
    y = x
    y += 1
    return x, y


def in_a_branch(x: Any) -> Any:
    y = x
    if x.sum() > 3:
        y += 1
    return x, y


def in_a_loop(x: Any) -> Any:
    y, total = x, 0.0
    for _ in range(3):
        y += 1
        total += x.sum()
    return x, y, total


def attribute(x: Any) -> Any:
    held = Holder()
    held.x = x
    held.x += 1
    return x, held.x


def item_of_a_dict(x: Any) -> Any:
    held = {"x": x}
    held["x"] *= 2
    return held, x


def item_of_a_list(x: Any) -> Any:
    held = [x, x]
    held[0] += 1
    return held


def item_of_a_list_in_a_branch(x: Any) -> Any:
    held = [x, x]
    if x.sum() > 3:
        held[0] -= 1
    return held


def argument_of_a_function(x: Any) -> Any:
    def change(z: Any) -> None:
        z += 1

    change(x)
    return x


def slices_of_itself(x: Any) -> Any:
    x[1:] += 5
    x[0, 0] *= 3
    return x


def copy_of_a_transposed(x: Any) -> Any:
    y = x.T.reshape(-1)
    y += 1
    return x, y


def view_of_what_nobody_reads(x: Any) -> Any:
    y = x.reshape(-1)
    y += 1
    return y


def fresh(x: Any) -> Any:
    y = x @ x.T
    y += 1
    y **= 2
    return y, x


def dtype_stays(x: Any) -> Any:
    y = x.astype(np.float32)
    y += x
    return y


def zeros_of_numpy(x: Any) -> Any:
    total = np.zeros(4)
    total += x[0]
    total += x[1]
    return total


def number(x: Any) -> Any:
    s = x[0, 0]
    s += 1
    return s, x


SAME = [
    name, in_a_branch, in_a_loop, attribute, item_of_a_dict, item_of_a_list, item_of_a_list_in_a_branch, argument_of_a_function,
    slices_of_itself, copy_of_a_transposed, view_of_what_nobody_reads, fresh, dtype_stays, zeros_of_numpy, number,
]  # fmt: skip


def view(x: Any) -> Any:
    y = x.reshape(-1)
    y += 1
    return y, x


def slice_of_rows(x: Any) -> Any:
    y = x[1:]
    y -= 1
    return x, y


def flat_rows(x: Any) -> Any:
    y = x[1:].ravel()
    y *= 2
    return x, y


def rows(x: Any) -> Any:
    for row in x:
        row += 1
    return x


VIEWS = [view, slice_of_rows, flat_rows, rows]


def check(function: Callable[..., Any], changed: Callable[..., Any], x: Any) -> None:
    want, got = lm.tree.leaves(function(A.copy())), lm.tree.leaves(changed(x))
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", SAME)
@pytest.mark.parametrize("way", [lambda f: f, lm.jit, lm.compile, lambda f: lm.jit(f, capture="source")])
def test_all_that_hold_an_array_see_it_changed(function: Any, way: Any) -> None:
    check(function, way(function), lnp.asarray(A.copy()))


@pytest.mark.parametrize("function", VIEWS)
def test_a_view_that_is_read_later_is_refused_under_jit_alone(function: Any) -> None:
    check(function, function, lnp.asarray(A.copy()))
    check(function, lm.compile(function), lnp.asarray(A.copy()))
    with pytest.raises(lm.TracingError, match=r"shares memory with 'x', which is read later.*\.copy\(\)"):
        lm.jit(function)(A)


@pytest.mark.parametrize("function", [name, in_a_branch, item_of_a_list, item_of_a_dict, *VIEWS])
@pytest.mark.parametrize("way", [lambda f: f, lm.jit, lm.compile, lambda f: lm.jit(f, capture="source")])
def test_programs_for_jax_make_new_arrays(function: Any, way: Any) -> None:
    with lm.config(promotion="jax"):
        x = lnp.asarray(A.copy())
        changed = lm.tree.leaves(way(function)(x))
        np.testing.assert_array_equal(x, A)
        assert any(np.array_equal(one, A) for one in changed)  # the other one
        assert function is rows or any(not np.array_equal(one, A) for one in changed)


def test_what_numpy_cannot_store_in_place_is_refused() -> None:
    def wider(x: Any) -> Any:
        y = x.astype(np.int32)
        y += 1.5
        return y

    def larger(x: Any) -> Any:
        y = x[0]
        y += x
        return y

    for function, error in ((wider, TypeError), (larger, ValueError)):
        for way in (lambda f: f, lm.jit, lm.compile):
            with pytest.raises(error):
                way(function)(lnp.asarray(A))


def test_gradients_are_of_what_the_function_returns() -> None:
    np.testing.assert_array_equal(lm.grad(lambda x: name(x * 1)[0].sum())(A), np.ones_like(A))
    np.testing.assert_array_equal(lm.jit(lm.grad(lambda x: (name(x * 1)[0] ** 2).sum()))(A), 2 * (A + 1))

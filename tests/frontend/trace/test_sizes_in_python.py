"""Symbolic sizes in ordinary Python: code written for numbers computes the same from one compilation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import CheckError, TracingError


def over_len(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s = s + x[i] * i
    return s


def with_last(x: Any) -> Any:
    s, i = 0.0, -1
    for i in range(x.shape[0]):
        s = s + x[i] * i
    return s, i


def while_below(x: Any) -> Any:
    s, i = 0.0, 0
    while i < x.shape[0]:
        s, i = s + x[i] / (i + 1), i + 1
    return s, i


def until(x: Any) -> Any:
    i = 0
    while i != len(x) and x[i] < 2:
        i += 1
    return i


def halved(x: Any) -> Any:
    n = len(x)
    while n > 1:
        n = n // 2
    return x * n


def backwards(x: Any) -> Any:
    s = 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        s = s * 2 + x[i]
    for i in range(1, x.shape[0], 2):
        s = s * 3 - x[i]
    return s


def in_pairs(x: Any) -> Any:
    s = 0.0
    for i, (a, b) in enumerate(zip(x, reversed(x))):  # noqa: B905
        s = s * 2 + a * b * i
    return s


def branches(x: Any) -> Any:
    n = x.shape[0]
    found = x.sum() if n > 3 else -x.sum()
    if n % 2 == 0:
        found = found + 10
    elif n in (3, 7):
        found = found + 20
    if not n:
        found = found + 30
    if 2 < n < 6 and x.sum() > 1:
        found = found + 40
    return found


def arithmetic(x: Any) -> Any:
    n = x.shape[0]
    whole = (n & 3, n | 8, n ^ 5, n**2, 2**n, abs(n - 4), round(n), ~n, n << 2, n >> 1, divmod(n, 3), -n % 4, 7 // (n + 1))
    return *whole, n / 2, n // 2.5, n % 1.5, 2.0 - n, 1j * n, n ** (n % 3), np.int64(3) * n - np.int32(2), np.float32(2) * n


def functions(x: Any) -> Any:
    n = len(x)
    whole = (int(n), math.floor(n / 2), math.ceil(n), bool(n), min(n, 3), max(2, n, 4), n and 3, n or 5, sum([n, n]))
    return *whole, float(n), math.sqrt(n), np.sqrt(n), any([n > 3, n > 8]), all([n > 3, n < 5]), max(n, x.sum())


def arrays(x: Any) -> Any:
    n = len(x)
    return (
        x[: min(n, 3)],
        lnp.zeros(max(n, 2)),
        lnp.where(n > 3, x, -x),
        np.arange(3) * n,
        lnp.ones(abs(n - 3)),
        x / np.int64(2) ** n,
    )


FUNCTIONS: list[Callable[[Any], Any]] = [
    over_len, with_last, while_below, until, halved, backwards, in_pairs, branches, arithmetic, functions, arrays,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_compilation_computes_what_python_does(function: Callable[[Any], Any]) -> None:
    compiled = lm.jit(function, dynamic={"x": ("n",)})
    for n in (5, 3, 0, 1, 7, 2, 4, 8):
        x = np.arange(float(n))
        wanted, found = lm.tree.leaves(function(x)), lm.tree.leaves(compiled(x))
        assert len(wanted) == len(found)
        for a, b in zip(wanted, found, strict=True):
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-15)
    assert len(compiled._dispatcher.specializations) <= 2  # where there is nothing to index, 0 is compiled for by itself


def test_a_variable_that_a_loop_binds_is_read_after_it() -> None:
    """A loop over a size runs where that is not 0; code of its own is what 0 gets, and Python's error."""

    def last(x: Any, y: Any) -> Any:
        for k, (a, b) in enumerate(zip(x, y)):  # noqa: B007, B905
            product = a * b
        return k, product  # pyright: ignore[reportPossiblyUnboundVariable]

    def second(x: Any) -> Any:
        for i in range(1, len(x)):  # noqa: B007
            pass
        return i  # pyright: ignore[reportPossiblyUnboundVariable]

    both = lm.jit(last, dynamic={"x": ("n",), "y": ("m",)})
    one = lm.jit(second, dynamic={"x": ("n",)})
    for n, m in ((5, 3), (2, 3), (1, 1)):
        assert both(np.arange(float(n)), np.arange(float(m))) == (min(n, m) - 1, (min(n, m) - 1) ** 2)
        assert one(np.zeros(n + 1)) == n
    with pytest.raises(UnboundLocalError):
        both(np.zeros(0), np.zeros(3))
    with pytest.raises(UnboundLocalError):
        one(np.zeros(1))


def test_checks_of_sizes_and_what_is_refused() -> None:
    def checked(x: Any) -> Any:
        assert x.shape[0] > 2, "too short"
        return x.sum()

    f = lm.jit(checked, dynamic={"x": ("n",)})
    assert f(np.ones(3)) == 3
    with pytest.raises(CheckError, match="too short"):
        f(np.ones(2))
    with pytest.raises(
        TracingError, match=r"test_sizes_in_python.py:\d+:\d+: the number of items is the size n: go over it in a"
    ):
        lm.jit(lambda x: [x[i] for i in range(len(x))], dynamic={"x": ("n",)})(np.ones(3))
    with pytest.raises(TracingError, match=r"test_sizes_in_python.py:\d+:\d+: .*\n.*x.shape == y.shape"):
        lm.jit(lambda x, y: x.sum() if x.shape == y.shape else y, dynamic={"x": ("n",), "y": ("m",)})(np.ones(3), np.ones(4))


def test_questions_of_libraries_give_small_sizes_code_of_their_own() -> None:
    """What is decided from a small size on is asked once: `lm.nn` or another package asks, and not the user."""
    code = compile("def asks(x):\n    return x * 2 if x.shape[0] < 32 else x * 3", "/site-packages/asking.py", "exec")
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    f = lm.jit(namespace["asks"], dynamic={"x": ("n",)})
    for n, factor in ((40, 3), (31, 2), (32, 3), (1, 2), (33, 3)):
        np.testing.assert_array_equal(f(np.ones(n)), np.full(n, float(factor)))

"""Conditions of loops that change variables: carried by the loop, or refused; never lost."""

from __future__ import annotations

import lamina as lm
import pytest


def changes_a_variable(a, c):
    def bump(x):
        nonlocal c
        c = (c + x) % 31
        return x - 1

    if a > 3:
        t = 0
        while t < 2 and bump(c) >= a:
            t += 1
        c = c + 1
    return a, c + 3


class Box:
    def __init__(self, n):
        self.n = n

    def step(self, k):
        self.n = self.n + k
        return self.n


def changes_an_attribute(a, c):
    box = Box(c)
    while box.step(a + 1) < 20:
        c = c + 2
    return box.n, c


def reads_an_attribute(a, c):
    box = Box(c)
    while box.n < 20:
        box.step(a)
    return box.n, c


@pytest.mark.parametrize("function", [changes_a_variable, reads_an_attribute])
@pytest.mark.parametrize("arguments", [(1, 5), (4, 2), (9, 7), (5, 30)])
def test_what_a_condition_changes_is_carried(function, arguments):
    assert tuple(map(int, lm.jit(function)(*arguments))) == function(*arguments)


def test_an_attribute_that_a_condition_changes_is_refused():
    with pytest.raises(lm.TracingError, match=r"the condition of the loop in line 34 changes Box\.n: ask in the loop"):
        lm.jit(changes_an_attribute)(1, 5)
    assert lm.compile(changes_an_attribute)(1, 5) == changes_an_attribute(1, 5)

"""Conditions of loops that change variables: carried by the loop, or refused; never lost."""

from __future__ import annotations

from itertools import product

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
    with pytest.raises(lm.TracingError, match=r"the condition of the loop in line 36 changes Box\.n: ask in the loop"):
        lm.jit(changes_an_attribute)(1, 5)
    assert lm.compile(changes_an_attribute)(1, 5) == changes_an_attribute(1, 5)


def more(held, a):
    held[0] = held[0] + a
    return held[0] < 20


@pytest.mark.parametrize("holder", [lambda c: [c, 0], lambda c: {0: c}])
def test_an_item_that_a_condition_changes(holder):
    def refused(a, c):
        held, k = holder(c), 0
        while more(held, a):
            k += 1
        return held[0], k

    def carried(a, c):
        held, k = holder(c), 0

        def goes_on():
            held[0] = held[0] + a
            return held[0] < 20

        while goes_on():
            k += 1
        return held[0], k

    def counted(a, c):
        held = holder(c)

        def bump(x):
            held[0] = held[0] * 2 + x

        for k in range(a):
            bump(k)
        return held[0], a

    with pytest.raises(
        lm.TracingError, match=r"the condition of the loop in line \d+ changes (list|dict)\[0\]: ask in the loop"
    ):
        lm.jit(refused)(3, 1)
    assert lm.compile(refused)(3, 1) == refused(3, 1)
    for function in (carried, counted):
        for arguments in ((3, 1), (1, 19), (4, 30)):
            assert tuple(map(int, lm.jit(function)(*arguments))) == function(*arguments)


def else_of_a_condition_that_assigns(s, b):
    t = 0
    for i in range(3):
        while (s := s - 1) > i:
            t += 1
            if t > b:
                break
        else:
            t += 10
            if t > 40:
                continue
            if t > 60:
                break
        t += 3
    return t, s


def returns_before_the_else(s, b):
    k = 0
    while (s := s - 1) > 0:
        k += 1
        if k == b:
            return -1, s
        if k == 2:
            continue
    else:
        k += 100
    return k + 7, s


def jumps_in_the_else(s, b):
    t = 0
    for i in range(4):
        for _ in range(s):
            t += 1
            if t > b:
                break
        else:
            t += 10
            if t > 12:
                continue
        while t < b:
            t += 2
        else:
            t += i
            if t > 30:
                break
        t += 3
    return t, s


@pytest.mark.parametrize("function", [else_of_a_condition_that_assigns, returns_before_the_else, jumps_in_the_else])
def test_the_else_of_a_loop(function):
    for transform in (lm.jit, lm.compile):
        compiled = transform(function)
        for s, b in product((-1, 0, 1, 2, 3, 6, 8), (0, 1, 3, 5, 15, 100)):
            assert tuple(map(int, compiled(s, b))) == function(s, b), (s, b)

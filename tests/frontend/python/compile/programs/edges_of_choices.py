"""Edges: what was there before a region and is chosen, carried or kept by values of arrays. `float(x[0, 0])` ends a region, so
that what follows reads its variables from outside."""

from __future__ import annotations

import dataclasses

import numpy as np

X = np.arange(6.0).reshape(2, 3) + 1
PAIRS = ((1.0, 2), (3.0, 4)), ((5.0, 2), (6.5, 4)), ((5.0, 3), (7.5, 9)), ((5.0, X), (7.5, X * 2))


@dataclasses.dataclass(frozen=True)
class Pair:
    a: float
    n: int


class Holder:
    best: tuple[float, int] = (1.0, 0)


def best_row(compile):
    @compile
    def f(x):
        best = None
        for i, row in enumerate(x):
            score = float(row.sum())
            if best is None or score > best[0]:
                best = (score, i)
        return best, x[best[1]]

    return [f(x) for x in (X, -X, X[::-1], X[::-1], X, X * 2)]


def chosen_tuples(compile):
    @compile
    def f(x, t, u):
        float(x[0, 0])
        y = t
        if x.sum() > 30:
            y = u
        return y, (t if x.sum() > 30 else u)

    return [f(k * X, t, u) for t, u in PAIRS for k in (1, 2)]


def chosen_lists(compile):
    @compile
    def f(x, t, u):
        float(x[0, 0])
        y = t
        if x.sum() > 30:
            y = u
        return y

    first, second = [1.0, 2.0], [3.0, 4.0]
    found = []
    for k in (1, 2, 1):
        f(k * X, first, second).append(k)
        found += [list(first), list(second), f(k * X, {"a": k}, {"a": k + 1.5})]
    return found


def chosen_objects(compile):
    @compile
    def f(x, t, u):
        float(x[0, 0])
        y = t
        if x.sum() > 30:
            y = u
        return y

    made = [f(k * X, Pair(k, 1), Pair(k + 1.5, 2)) for k in (1.0, 2.0, 3.0, 1.5)]
    return [(p.a, p.n) for p in made]


def nested_tuples(compile):
    @compile
    def f(x, t):
        float(x[0, 0])
        a = (t, 0)
        if x.sum() > 30:
            a = (t, 1)
        return a

    return [f(X, (1.0, 2)), f(X * 2, (3.0, 2)), f(X, (4.0, 2)), f(X * 2, (5.0, [1, 2]))]


def carried_tuples(compile):
    @compile
    def f(x, t):
        float(x[0, 0])
        s, k = t, 0
        while x.sum() > 10:
            x = x / 2
            s = (s[0] + 1, s[1] * 2)
            k = k + 1
        return s, k

    return [
        f(k * X, t) for k, t in ((1, (1.0, 2.0)), (1, (3.0, 4.0)), (9, (3.0, 5.0)), (0, (7.0, 8.0)), (1, (3, 4)), (1, (5, 6)))
    ]


def returned_early(compile):
    @compile
    def f(x, t):
        float(x[0, 0])
        if x.sum() > 30:
            return t
        return (x.sum(), 1)

    return [f(k * X, t) for t in ((1.0, 2), (3.0, 2), (4.0, 5)) for k in (1, 2)]


def an_attribute_of_the_best(compile):
    @compile
    def f(x):
        if x.sum() > Holder.best[0]:
            Holder.best = (x.sum(), x.shape[0])
        return Holder.best

    found = []
    for best in ((1.0, 0), (100.0, 0), (50.0, 3), (2.0, 3)):
        Holder.best = best
        found += [f(X), Holder.best]
    return found


def lists_of_tuples(compile):
    @compile
    def f(x, pairs):
        float(x[0, 0])
        s = 0.0
        for p in pairs:
            if x.sum() > p[0]:
                s = s + p[1]
            else:
                s = s - p[0]
        return s

    return [
        f(k * X, pairs)
        for k, pairs in ((1, [(1.0, 2.0), (30.0, 4.0)]), (1, [(1.0, 3.0), (30.0, 5.0)]), (2, [(1.0, 3.0), (31.0, 5.0)]))
    ]


def traced_membership(compile):
    @compile
    def f(x, low):
        y = x * 2 if x.sum() > 0 else x - 1
        return y + (1 if low in (x[0, 0], x[0, 1]) else 0)

    return [f(X, low) for low in (1.0, 5.0, 2.0)]

"""Edges: enums, frozen dataclasses, arrays that share memory, the order of effects, numbers that leave 64 bits."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import os

import lamina as lm
import lamina.numpy as lnp
import numpy as np

X = np.linspace(-1, 2, 6).reshape(2, 3)
FACTOR = [1.0]


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def enums(compile):
    @compile
    def f(x, c):
        if c is Color.RED:
            return lnp.sin(x)
        if c == Color.BLUE:
            return x * c.value
        return x

    return [f(X, c) for c in (Color.RED, Color.BLUE, None, Color.RED)]


def frozen_dc(compile):
    @dataclasses.dataclass(frozen=True)
    class C:
        a: float = 1.0
        b: tuple = (1, 2)

    @compile
    def f(x, c):
        return lnp.sin(x) * c.a + c.b[1] + len(c.b)

    return [f(X, C()), f(X, C(2.0)), f(X, C(2.0, (3, 4))), f(X, C(2.0, (3, 4, 5)))]


def other_same_path(compile):
    class O:
        pass

    a = O()
    a.p = O()
    a.p.v = 1.0
    b = O()
    b.p = a.p

    @compile
    def f(x):
        return lnp.sin(x) * a.p.v + b.p.v

    out = [f(X)]
    b.p = O()
    b.p.v = 1.0
    out.append(f(X))
    b.p.v = 9.0
    out.append(f(X))
    a.p = b.p
    out.append(f(X))
    return out


def view_arg_then_mutate(compile):
    @compile
    def f(x):
        r = x[0]
        y = lnp.exp(x)
        print(end="")
        r[0] = 9
        return y + x

    a = X.copy()
    return [f(a), a, f(a)]


def local_view_store(compile):
    @compile
    def f(x):
        r = x[0]
        r[1] = 5
        return x * 2

    a = X.copy()
    return [f(a), a]


def dict_view_store(compile):
    @compile
    def f(x):
        d = {"x": x}
        d["x"][0] = 5
        return d["x"] * 2

    a = X.copy()
    return [f(a), a]


def list_hold_store(compile):
    @compile
    def f(x):
        l = [x, x * 1]
        l[0][0] = 5
        l[1][1] = 7
        m = l
        m.append(x)
        m[2] += 1
        return l

    a = X.copy()
    return [f(a), a]


def reshape_store(compile):
    @compile
    def f(x):
        x.reshape(-1)[0] = 5
        y = lnp.exp(x)
        y.ravel()[0] = 3
        y.T[1] = 4
        return y

    a = X.copy()
    return [f(a), a]


def for_rows_store(compile):
    @compile
    def f(x):
        y = x * 1
        for row in y:
            row[0] = 9
        for row in x:
            row += 1
        return y, x

    a = X.copy()
    return [f(a), a]


def swapped(compile):
    @compile
    def f(x):
        y = lnp.exp(x)
        y[0], y[1] = y[1].copy(), y[0].copy()
        z = y
        z = z + 1
        return y, z

    return [f(X)]


def swapped_views(compile):
    @compile
    def f(x):
        y = lnp.exp(x)
        y[0], y[1] = y[1], y[0]
        return y

    return [f(X)]


def inner_fn_mutates(compile):
    def setz(a):
        a[0] = 0

    @compile
    def f(x):
        y = lnp.exp(x)
        setz(y)
        setz(x)
        return y + x

    a = X.copy()
    return [f(a), a]


def out_list_param(compile):
    def add(acc, v):
        acc.append(v)
        return acc

    @compile
    def f(x):
        acc = []
        for r in x:
            add(acc, lnp.sin(r))
        return acc

    return [f(X)]


def class_in(compile):
    @compile
    def f(x):
        class Acc:
            def __init__(s):
                s.t = 0

            def add(s, v):
                s.t = s.t + v

        a = Acc()
        for r in x:
            a.add(lnp.sin(r))
        return a.t

    return [f(X), f(X + 1)]


def ctx(compile):
    log = []

    @contextlib.contextmanager
    def c(n):
        log.append(n)
        yield n * 2
        log.append(-n)

    @compile
    def f(x, n):
        with c(n) as m, c(m):
            y = lnp.sin(x) * m
            if n > 2:
                return y
        return y + 1

    return [f(X, 1), f(X, 3), f(X, 2), log]


def match_(compile):
    @compile
    def f(x, cmd):
        match cmd:
            case ("scale", k):
                return lnp.sin(x) * k
            case {"add": v}:
                y = x + v
            case [a, *rest]:
                y = x * len(rest)
            case _:
                y = x
        return lnp.exp(y)

    return [f(X, c) for c in (("scale", 2), {"add": X}, [1, 2, 3], None, ("scale", 3.5))]


def chained(compile):
    @compile
    def f(x, lo, hi):
        s = x.sum()
        return (lo < s < hi), (x if lo < 1 < hi else x * 2), not s > 0, (s > 0 and lo), (lo or x)

    return [f(X, a, b) for a, b in ((0, 10), (5, 9), (0, 1))]


def lam_capture(compile):
    @compile
    def f(x):
        fs = [lambda v, k=k: v * k for k in range(3)]
        return [g(x) for g in fs], sorted([3, 1, 2], key=lambda v: -v), max([x[0], x[1]], key=lambda r: float(r.sum()))

    return [f(X), f(-X)]


def nested_calls_order(compile):
    log = []

    def a(x):
        log.append("a")
        return lnp.sin(x)

    def b(x):
        log.append("b")
        return x * 2

    def c(x, y):
        log.append("c")
        return x + y

    @compile
    def f(x):
        return c(a(x), b(a(x * 2))) - c(b(x), x)

    return [f(X), f(X), f(X + 1), log]


def attr_order(compile):
    class O:
        n = 1.0

    o = O()

    def bump(x):
        o.n += 1
        return x

    @compile
    def f(x):
        return o.n * lnp.sin(x) + bump(x) * o.n + (o.n if bump(1) else 0)

    return [f(X), f(X), f(X)]


def local_order(compile):
    @compile
    def f(x):
        n = 1

        def bump():
            nonlocal n
            n += 1
            return n

        y = n * lnp.sin(x) + bump() * n + bump()
        return y, n

    return [f(X), f(X), f(X)]


def idx_order(compile):
    @compile
    def f(x):
        l = [x, x + 1, x + 2]
        i = 0

        def nxt():
            nonlocal i
            i += 1
            return i

        return l[i] * l[nxt()] + l[nxt()] - l[i]

    return [f(X), f(X), f(X)]


def exc_type(compile):
    class E(Exception):
        def __init__(s, v):
            super().__init__(v)
            s.v = v

    @compile
    def f(x, n):
        y = lnp.sin(x)
        if y.sum() > n:
            raise E(float(y.sum()))
        return y

    out = []
    for n in (0, 10, 0, -1):
        try:
            out.append(f(X, n))
        except E as e:
            out.append(e.v)
    return out


def tb_zero(compile):
    @compile
    def f(x, d):
        k = len(d)
        q = 10 // k
        return x * q

    out = []
    for d in ("ab", "", [1], ""):
        try:
            out.append(f(X, d))
        except ZeroDivisionError as e:
            out.append(str(e))
    return out


def key_missing(compile):
    cfg = {"a": 1}

    @compile
    def f(x, k):
        return x * cfg[k]

    out = []
    for k in ("a", "b", "a"):
        try:
            out.append(f(X, k))
        except KeyError as e:
            out.append(str(e))
    cfg["b"] = X
    out.append(f(X, "b"))
    del cfg["a"]
    try:
        f(X, "a")
    except KeyError as e:
        out.append(str(e))
    return out


def itertools_(compile):
    @compile
    def f(x):
        s = 0
        for a, b in itertools.product(range(2), range(3)):
            s = s + x[a, b] * (a + 1)
        for a, b in itertools.pairwise([1, 2, 3]):
            s = s + a * b
        return s, functools.reduce(lambda a, b: a + b, [x, x, x]), collections.Counter("aab")["a"]

    return [f(X), f(X + 1)]


def np_funcs(compile):
    @compile
    def f(x):
        return (
            np.maximum(x, 0),
            np.concatenate([x, x]),
            np.where(x > 0, x, -x),
            np.linalg.norm(x),
            x.mean(0),
            np.zeros_like(x) + x,
            np.array([x.sum(), x.max()]),
            np.float32(x[0, 0]),
        )

    return [f(X), f(X + 1)]


def array_of_list_arg(compile):
    @compile
    def f(v):
        return np.array(v) * 2, lnp.asarray(v) + 1

    return [f([1.0, 2.0]), f([1.0, 3.0]), f([1, 2, 3]), f((1, 2))]


def float_list_vary(compile):
    @compile
    def f(x, v):
        return x * v[0] + sum(v), max(v)

    return [f(X, [1.0, 2.0]), f(X, [1.5, 3.0]), f(X, [2, 3.5]), f(X, (0.0, -0.0))]


def float_cmp(compile):
    @compile
    def f(x, a):
        return (x * 2 if a > 0.5 else x), a > 0.5, a == 1.0, -a, abs(a), a + 1

    return [f(X, a) for a in (0.1, 0.9, 1.0, float("nan"), float("inf"))]


def big_float(compile):
    @compile
    def f(x, a):
        return x.astype(np.float32) * a, a * a

    return [f(X, a) for a in (1e30, 1e300)]


def int_float_mix(compile):
    @compile
    def f(x, n, a):
        return x * n * a, n * a, n + 1, n * n

    return [f(X, n, a) for n, a in ((1, 0.5), (2, 0.25), (3, 0.5), (10**12, 2.0), (10**15, 2.0))]


def shape_of_loop(compile):
    @compile
    def f(x):
        out = []
        for k in range(x.shape[0]):
            out.append(x[k] * k)
        return out, x.shape, list(x.shape), x.shape[0] * 2, f"{x.shape}"

    return [f(np.ones((n, 2))) for n in (2, 3, 4, 5)]


def size_branch(compile):
    @compile
    def f(x):
        if len(x) > 4:
            return x[:4].sum()
        return lnp.exp(x).sum()

    return [f(np.arange(float(n))) for n in (2, 3, 4, 5, 6, 7, 1, 0)]


def generator_send(compile):
    @compile
    def f(x):
        got = yield lnp.sin(x)
        while got is not None:
            x = lnp.exp(x * got)
            got = yield x
        return 5

    g = f(X)
    out = [next(g), g.send(0.5), g.send(0.1)]
    try:
        g.send(None)
    except StopIteration as e:
        out.append(e.value)
    return out


def deleting_in_loop(compile):
    @compile
    def f(xs):
        while xs:
            y = xs.pop()
            if y.sum() > 3:
                continue
            z = lnp.sin(y)
            if z.sum() < 0:
                break
        else:
            return "all"
        return y, z, len(xs)

    return [f([X, X + 1, -X]), f([X, X]), f([X + 3]), f([])]


def super_cls(compile):
    class A:
        def __init__(s, k):
            s.k = k

        def f(s, x):
            return x * s.k

    class B(A):
        @compile
        def f(s, x):
            return super().f(lnp.sin(x)) + 1

    b = B(2.0)
    out = [b.f(X)]
    b.k = 3.0
    out.append(b.f(X))
    A.f = lambda s, x: x - s.k
    out.append(b.f(X))
    return out


def private_names(compile):
    class A:
        def __init__(s):
            s.__k = 2.0

        def set(s, v):
            s.__k = v

        @compile
        def f(s, x):
            y = lnp.sin(x) * s.__k
            print(end="")
            return y + s.__k

    a = A()
    out = [a.f(X)]
    a.set(5)
    out.append(a.f(X))
    return out


class Gain(lm.Module):
    layer: lm.Module
    gain: lm.Array

    def __call__(self, x):
        return self.layer(x) * self.gain * FACTOR[0]


def module_of_the_user_is_trained(compile):
    model = Gain(lm.train.modules.Linear(3, 2, key=lm.random.key(0)), lnp.asarray(2.0))

    @compile
    def step(model, x):
        value, slopes = lm.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        return lm.tree.map(lambda p, g: p - 0.01 * g, model, slopes), float(value)

    out = []
    for k in range(4):
        FACTOR[0] = [1.0, 1.0, 0.5, X[0, 1]][k]
        model, value = step(model, X)
        out += [value, model.gain, model.layer.weight]
    return out


def callbacks_with_effects(compile):
    log = []

    @functools.lru_cache
    def cached(k):
        return k * FACTOR[0]

    @compile
    def f(x):
        list(map(log.append, [1, 2]))
        return lnp.sin(x) * len(log) + sum(map(cached, [1, 2])) + sum(map(lambda k: k * FACTOR[0], [1, 2]))

    FACTOR[0] = 1.0
    out = [f(X)]
    FACTOR[0] = 3.0
    return [*out, f(X), log]


def layers_with_functions_of_the_user(compile):
    k = [1.0]
    layers = lm.train.modules.Sequential(lm.train.modules.Linear(3, 3, key=lm.random.key(0)), lambda x: x * k[0])

    @lm.custom_jvp
    def scaled(x):
        return lnp.sin(x) * k[0]

    scaled.defjvp(lambda p, t: (scaled(*p), t[0]))

    @compile
    def f(x):
        return layers(x), scaled(x), os.environ.get("LAMINA_TEST_COMPILE", "1")

    out = [f(X)]
    k[0] = 3.0
    out.append(f(X))
    os.environ["LAMINA_TEST_COMPILE"] = "2"
    out.append(f(X))
    del os.environ["LAMINA_TEST_COMPILE"]
    return out


def array_subclasses(compile):
    class Odd(np.ndarray):
        def sum(self, *args, **kwargs):
            return 42

    @compile
    def f(x, a):
        return lnp.sin(x) * a.sum()

    return [f(X, X.view(Odd)), f(X, X), f(X, X.view(Odd))]

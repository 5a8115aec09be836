"""Programs that change state outside, as users write them, and their edges."""

from __future__ import annotations

import types

import numpy as np

X = np.float64([[0.2, 1.0, -0.5], [2.0, 0.1, 0.3]])


def early_stop(compile):
    class T:
        def __init__(s):
            s.best = float("inf")
            s.bad = 0
            s.hist = []
            s.best_w = None

        @compile
        def step(s, w, x):
            loss = float(((x @ w) ** 2).mean())
            s.hist.append(loss)
            if loss < s.best - 1e-3:
                s.best = loss
                s.bad = 0
                s.best_w = w
            else:
                s.bad += 1
            return w - 0.3 * x.T @ (x @ w), s.bad >= 2

    t = T()
    w = np.ones(3)
    out = []
    for _ in range(12):
        w, stop = t.step(w, X)
        out.append((t.best, t.bad, stop))
        if stop:
            break
    return out, t.hist, t.best_w


def numbers_kinds(compile):
    o = types.SimpleNamespace(n=0, b=True, big=2**62, f=1)

    @compile
    def f(x):
        o.n -= 3
        o.big *= 2
        o.f += 0.5
        o.b = not o.b
        return (
            x * (o.n % 4),
            o.n // 2,
            o.n % -3,
            o.big,
            o.f,
            o.b,
            -o.n,
            abs(o.n),
            o.n / 4,
            o.n > -5,
            2 ** (-o.n),
            o.n & 3,
            x[o.n % 2],
            [1, 2, 3][o.n % 3],
            min(o.n, -4),
            str(o.n),
        )

    return [f(X) for _ in range(6)]


def kept_then_inplace(compile):
    h = []
    d = {}
    o = types.SimpleNamespace(a=None)

    @compile
    def f(x):
        y = x * 2
        h.append(y)
        y += 1
        d["z"] = y
        y[0] = 7
        o.a = [y]
        y *= 2
        return y.sum()

    return [f(X), f(X)], h, d, o.a


def kept_row(compile):
    h = []

    @compile
    def f(x):
        y = x * 2
        r = y[0]
        h.append(r)
        y[0] = 5
        return y

    return [f(X), f(X)], h


def two_objs_maybe_same(compile):
    class O:
        def __init__(s):
            s.v = 1.0

    a, b = O(), O()

    @compile
    def f(x, p, q):
        p.v = p.v + 1
        y = x * q.v
        q.v = q.v * 3
        return y, p.v, q.v

    return [f(X, *t) for t in ((a, b), (a, a), (b, a), (b, b), (a, b))], a.v, b.v


def cond_effects(compile):
    o = types.SimpleNamespace(best=1e9, n=0, w=None)
    log = []

    @compile
    def f(x):
        l = (x * x).sum()
        if l < o.best:
            o.best = l
            o.w = x
            o.n += 1
            log.append("better")
        elif l > 100:
            log.append("far")
            return None
        return l * o.n

    return [f(X * k) for k in (3, 2, 2.5, 1, 50, 0.5)], o.best, o.n, log, o.w


def iterate_and_change(compile):
    l = [1.0, 2.0, 3.0]

    @compile
    def f(x):
        out = 0
        for v in l:
            out = out + v
            if v < 3 and len(l) < 6:
                l.append(v + 1)
        for k in list(l):
            if k > 3:
                l.remove(k)
        return x * out, len(l)

    return [f(X) for _ in range(3)], l


def tuple_unpack_targets(compile):
    o = types.SimpleNamespace(a=0, l=[0, 0, 0])
    d = {}

    @compile
    def f(x):
        o.a, d["k"], *o.l[1:] = x.sum(), 1, 2, 3
        (o.b, [d["m"], c]) = (x.max(), (4, 5))
        o.a = d["q"] = z = x.min()
        return c, z, o.a, o.l, d["m"]

    return [f(X) for _ in range(2)], o.l, d


def prop_raises(compile):
    class P:
        def __init__(s):
            s.v = 0
            s.log = []

        @property
        def q(s):
            return s.v

        @q.setter
        def q(s, v):
            s.log.append(v)
            if v > 2:
                raise ValueError("big")
            s.v = v

    p = P()

    @compile
    def f(x):
        y = x * p.q
        p.q = p.q + 1
        p.log.append("after")
        return y

    out = []
    for _ in range(4):
        try:
            out.append(f(X))
        except ValueError as e:
            out.append(str(e))
    return out, p.log, p.v


def parser(compile):
    @compile
    def ev(toks, env):
        st = []
        for t in toks.split():
            if t in "+-*":
                b, a = st.pop(), st.pop()
                st.append({"+": a + b, "-": a - b, "*": a * b}[t])
            elif t in env:
                st.append(env[t])
            else:
                st.append(float(t))
        env["_"] = st[-1]
        return st.pop()

    env = {"x": X}
    return [ev(s, env) for s in ("x 2 *", "x x +", "_ 1 -", "3 4 *")], sorted(env)


def env_swap(compile):
    a, b = {"v": 1}, {"v": 2}

    @compile
    def f(x, p, q):
        p["v"], q["v"] = q["v"], p["v"] + 1
        return x * p["v"], q["v"]

    return [f(X, a, b), f(X, b, a), f(X, a, a), f(X, b, b), f(X, a, b)], a, b


def objs_in_list(compile):
    class N:
        def __init__(s, v):
            s.v = v
            s.kids = []

    root = N(1.0)
    a = N(2.0)
    root.kids = [a, N(3.0)]

    @compile
    def f(x):
        for k in root.kids:
            k.v += x.sum()
            k.kids.append(k.v)
        a.v = a.v * 2
        return [k.v for k in root.kids], x * a.v

    out = [f(X) for _ in range(3)]
    root.kids.append(a)
    return out + [f(X), f(X), len(a.kids)]

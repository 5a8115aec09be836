"""Edges: aliases, views, copies, zeros of either sign, indices out of range, rebound functions, objects with operators."""

from __future__ import annotations

import functools
import types

import lamina.numpy as lnp
import numpy as np

X = np.linspace(-1, 2, 6).reshape(2, 3)
SIGNED = 0.0
COUNT = 0


def copies(compile):
    @compile
    def f(x):
        y = x.copy()
        z = y
        w = y.copy()
        v = lnp.array(y)
        u = np.array(y)
        a = y.astype(y.dtype)
        print(end="")
        z[0] = 5
        w[1] = 6
        return x, y, z, w, v, u, a

    return [f(X), f(X + 1)]


def views_inside(compile):
    @compile
    def f(x):
        y = x * 2
        r = y[0]
        t = y.T
        s = y.reshape(-1)
        print(end="")
        r[0] = 100
        return y, r, t, s

    return [f(X), f(X + 1)]


def slices_of_new(compile):
    @compile
    def f(x):
        y = x * 2
        a, b = y[:1], y[1:]
        print(end="")
        a += 1
        return y, a, b

    return [f(X), f(X + 1)]


def aug_alias(compile):
    @compile
    def f(x):
        a = b = lnp.zeros(3)
        a += x[0]
        return a, b

    return [f(X), f(X + 1)]


def aug_shared_later(compile):
    @compile
    def f(x):
        a = x * 2
        b = a
        a += 1
        b *= 3
        c = a
        c -= b
        return a, b, c

    return [f(X)]


def int_overflow_args(compile):
    @compile
    def f(x, n):
        return x * n, n

    return [f(X, n) for n in (1, 2, 3, 2**40, -1)]


def floatdiv(compile):
    @compile
    def f(x, a, b):
        try_ = a / b
        return x * try_, try_

    out = []
    for a, b in ((1.0, 2.0), (1.0, 4.0), (2, 3), (2, 3.0), (1.0, 0.0), (3.0, 0)):
        try:
            out.append(f(X, a, b))
        except ZeroDivisionError as e:
            out.append(str(e))
    return out


def floatpow(compile):
    @compile
    def f(x, a):
        b = a * 2 + 1
        return x + b, b, round(b, 3), int(b), a > 1

    return [f(X, a) for a in (0.5, 1.5, -0.25, float(3), 2, 0.1)]


def neg_zero(compile):
    @compile
    def f(x, a):
        return lnp.arctan2(a, x), 1 / (x + a)

    return [f(np.array([-1.0, 1.0]), a) for a in (0.0, -0.0, 0, 0.0)]


def neg_zero_global(compile):
    global SIGNED

    @compile
    def f(x):
        return lnp.arctan2(SIGNED, x), str(SIGNED)

    out = []
    for SIGNED in (0.0, -0.0, 0, False, float("nan"), 1):
        out.append(f(np.array([-1.0, 1.0])))
    return out


def boolean_int(compile):
    @compile
    def f(x, k):
        return x * k, k, k is True

    return [f(X, k) for k in (1, True, 1.0, np.int64(1), np.True_, 0, False)]


def out_of_range(compile):
    @compile
    def f(x, k):
        return lnp.sin(x)[k] * 2

    out = []
    for k in (0, 1, 5, -1, -3, np.array(1), np.array(7), np.array([0, 1]), np.array([0, 9])):
        try:
            out.append(f(X, k))
        except IndexError:
            out.append("IndexError")
    return out


def index_while(compile):
    @compile
    def f(x):
        i = lnp.argmax(x[:, 0]) + 3
        return x[i]

    out = []
    for x in (X,):
        try:
            out.append(f(x))
        except IndexError:
            out.append("IndexError")
    return out


def globals_dictlist(compile):
    G = {"a": [1, {"b": X}]}

    @compile
    def f(x):
        return x + G["a"][1]["b"] * G["a"][0]

    out = [f(X)]
    G["a"][1]["b"] = X * 3
    out.append(f(X))
    G["a"][0] = 5
    out.append(f(X))
    G["a"] = [2, {"b": 2.0}]
    out.append(f(X))
    G["a"] = (2, {"b": 2})
    out.append(f(X))
    return out


def contained_none(compile):
    @compile
    def f(p, x):
        if p["b"] is None:
            return x @ p["w"]
        return x @ p["w"] + p["b"]

    w = np.ones((3, 2))
    return [f({"w": w, "b": None}, X), f({"w": w, "b": np.ones(2)}, X), f({"w": w, "b": 2.0}, X), f({"b": None, "w": w * 2}, X)]


def iter_params(compile):
    @compile
    def f(p):
        return {k: lnp.tanh(v) * (i + 1) for i, (k, v) in enumerate(p.items())}

    return [f({"a": X, "b": X}), f({"b": X, "a": X}), f({"a": X}), f({"a": X, "b": 1.0, "c": 2})]


def nested_unpack(compile):
    pairs = [(1, (X, 2.0)), (2, (X + 1, 3.0))]

    @compile
    def f(x):
        for k, (a, b) in pairs:
            x = lnp.sin(x) * k + a * b
        return x

    out = [f(X)]
    pairs[0] = (1, (X * 5, 2.0))
    out.append(f(X))
    pairs[1][1][0][0, 0] = 99
    out.append(f(X))
    pairs.append((1, (0.0, 0)))
    out.append(f(X))
    return out


def star_args(compile):
    L = [X, 2.0]

    def g(a, b, *, k=1):
        return a * b + k

    opts = {"k": 3}

    @compile
    def f(x):
        return g(*L, **opts) + lnp.exp(x)

    out = [f(X)]
    L[1] = 4.0
    out.append(f(X))
    opts["k"] = X
    out.append(f(X))
    L[0] = X + 1
    out.append(f(X))
    return out


def sum_of_list(compile):
    L = [X, X * 2]

    @compile
    def f(x):
        return sum(L) + x * max(1, len(L)), L + [x], [*L, x], (L * 2)[2]

    out = [f(X)]
    L.append(X * 3)
    out.append(f(X))
    L[0] = X * 9
    out.append(f(X))
    return out


def default_arrays(compile):
    W = np.ones(3)

    def h(x, w=W, c=[2]):
        return x * w * c[0]

    @compile
    def f(x):
        return h(x) + 1

    out = [f(X)]
    W[0] = 5
    out.append(f(X))
    h.__defaults__[1][0] = 7
    out.append(f(X))
    h.__defaults__ = (W * 2, [1])
    out.append(f(X))
    return out


def own_defaults(compile):
    def f(x, w=2.0):
        return lnp.sin(x) * w

    g = compile(f)
    out = [g(X)]
    f.__defaults__ = (3.0,)
    out.append(g(X))
    return out


def decorated(compile):
    def twice(fn):
        @functools.wraps(fn)
        def inner(*a, **k):
            return fn(*a, **k) * 2

        return inner

    @twice
    def g(x):
        return x + 1

    @compile
    def f(x):
        return lnp.cos(g(x))

    return [f(X), f(X + 1)]


def wrapped_self(compile):
    def twice(fn):
        @functools.wraps(fn)
        def inner(*a, **k):
            return fn(*a, **k) * 2

        return inner

    @compile
    @twice
    def g(x):
        return lnp.sin(x) + 1

    return [g(X), g(X + 1)]


def slots(compile):
    class P:
        __slots__ = ("a", "b")

    p = P()
    p.a = 1.0
    p.b = X

    @compile
    def f(x):
        return x * p.a + p.b

    out = [f(X)]
    p.a = 2.0
    out.append(f(X))
    p.b = X * 2
    out.append(f(X))
    p.a = 3
    out.append(f(X))
    return out


def getattr_magic(compile):
    class P:
        def __init__(s):
            s.d = {"k": 2}

        def __getattr__(s, n):
            if n.startswith("_"):
                raise AttributeError(n)
            return s.d[n]

        def __getitem__(s, n):
            return s.d[n]

        def __len__(s):
            return len(s.d)

        def __iter__(s):
            return iter(s.d)

        def __contains__(s, n):
            return n in s.d

        def __bool__(s):
            return s.d["k"] > 2

        def __eq__(s, o):
            return s.d == o

        def __add__(s, o):
            return s.d["k"] + o

    p = P()

    @compile
    def f(x):
        y = lnp.sin(x) * p.k + p["k"] + len(p)
        if p:
            y = y * 2
        if "z" in p:
            y = y + 1
        for n in p:
            y = y + p.d[n]
        if p == {"k": 2}:
            y = y - 1
        return y + (p + x)

    out = [f(X)]
    p.d["k"] = 3
    out.append(f(X))
    p.d["z"] = 1
    out.append(f(X))
    p.d = {"k": 2}
    out.append(f(X))
    return out


def class_const(compile):
    class A:
        rate = 2.0

    class B(A):
        pass

    b = B()

    @compile
    def f(x):
        return lnp.sin(x) * b.rate * A.rate

    out = [f(X)]
    B.rate = 3.0
    out.append(f(X))
    b.rate = 4.0
    out.append(f(X))
    A.rate = 7
    out.append(f(X))
    del b.rate
    out.append(f(X))
    del B.rate
    out.append(f(X))
    return out


def staticm(compile):
    class A:
        k = 3

        @staticmethod
        def s(x):
            return x * 2

        @classmethod
        def c(cls, x):
            return x * cls.k

    a = A()

    @compile
    def f(x):
        return a.s(x) + A.c(x) + a.c(x)

    out = [f(X)]
    A.k = 4
    out.append(f(X))
    A.s = staticmethod(lambda x: x * 9)
    out.append(f(X))
    return out


def closure_cell(compile):
    k = 1.0
    w = [2.0]

    def setk(v):
        nonlocal k
        k = v

    def g(x):
        return x * k

    @compile
    def f(x):
        return g(lnp.sin(x)) + k * w[0]

    out = [f(X)]
    setk(2.0)
    out.append(f(X))
    setk(5)
    out.append(f(X))
    w[0] = X
    out.append(f(X))
    setk(X)
    out.append(f(X))
    return out


def code_swap(compile):
    def g(x):
        return x + 1

    def h(x):
        return x * 5

    @compile
    def f(x):
        return lnp.sin(g(x))

    out = [f(X)]
    g.__code__ = h.__code__
    out.append(f(X))
    return out


def module_attr(compile):
    m = types.ModuleType("mymod")
    m.N = 2
    m.fn = lambda x: x + m.N

    @compile
    def f(x):
        return m.fn(lnp.sin(x)) * m.N

    out = [f(X)]
    m.N = 3
    out.append(f(X))
    m.fn = lambda x: x
    out.append(f(X))
    return out


def while_traced(compile):
    @compile
    def f(x, n):
        k = 0
        while x.sum() < n:
            x = x * 2 + 1
            k += 1
        return x, k

    return [f(X, 10), f(X, 100), f(X, 10.5), f(X, 0)]


def branch_types(compile):
    @compile
    def f(x):
        if x.sum() > 0:
            return "positive", x
        elif x.sum() < -5:
            return None
        return [x]

    return [f(X), f(-X), f(-X * 10), f(X)]


def undefined(compile):
    @compile
    def f(x, flag):
        if flag:
            y = x * 2
        for k in range(int(x.size) if flag else 0):
            z = k
        return y + z

    out = []
    for fl in (True, False, True):
        try:
            out.append(f(X, fl))
        except UnboundLocalError as e:
            out.append(str(e))
    return out


def undefined2(compile):
    @compile
    def f(x, flag):
        print(end="")
        if flag:
            y = lnp.sin(x) * 2
        print(end="")
        try:
            return y + 1
        except UnboundLocalError as e:
            return str(e)

    return [f(X, fl) for fl in (True, False, True)]


def loops_else(compile):
    @compile
    def f(xs, lim):
        for i, x in enumerate(xs):
            if float(x.sum()) > lim:
                break
            x = lnp.exp(x)
        else:
            return "none"
        while True:
            x = x * 0.5
            if x.sum() < 0.1:
                break
            if i:
                continue
            x = x - 0.001
        return i, x

    return [f(X, 1.0), f(X, 100.0), f(X + 1, 0.0), f(X, -9.0)]


def with_finally(compile):
    log = []

    @compile
    def f(x, bad):
        try:
            y = lnp.sin(x)
            if bad:
                raise KeyError("k")
            return y * 2
        except KeyError:
            log.append("e")
            return x - 1
        finally:
            log.append("f")

    return [f(X, b) for b in (0, 1, 0)] + [log]


def globals_store(compile):
    global COUNT
    COUNT = 0

    @compile
    def f(x):
        global COUNT
        COUNT += 1
        return lnp.sin(x) * COUNT

    return [f(X), f(X), COUNT]


def genexp(compile):
    @compile
    def f(x, n):
        return sum(x[k % 2] * k for k in range(n)), any(k > 2 for k in range(n)), [y.sum() for y in x if y.size > 2]

    return [f(X, n) for n in (1, 2, 4)]


def walrus(compile):
    @compile
    def f(x):
        if (n := len(x)) > 1 and (s := x.sum()) > 0:
            return s * n
        return x * n

    return [f(X), f(-X), f(X[:1])]


def masked_setitem(compile):
    @compile
    def f(x):
        y = lnp.exp(x)
        y[y > 1] = 0
        y[0, 0] += 5
        m = y
        m[1] = 2
        return y, m

    return [f(X), f(X + 1)]


def dict_of_results(compile):
    @compile
    def f(x):
        d = {}
        d["a"] = x * 2
        d["b"] = d["a"]
        d.setdefault("c", []).append(d)
        d["t"] = (x, d["b"])
        return d

    r = f(X)
    return [r["a"], r["b"], r["c"][0] is r, r["a"] is r["b"], r["t"][0] is X]


def set_use(compile):
    names = {"a", "b"}

    @compile
    def f(x, n):
        if n in names:
            x = lnp.sin(x)
        return x * len(names)

    out = [f(X, "a"), f(X, "z")]
    names.add("z")
    out += [f(X, "z"), f(X, "a")]
    return out


def np_random(compile):
    np.random.seed(0)

    @compile
    def f(x):
        return lnp.sin(x) + np.random.rand()

    return [f(X), f(X)]


def fortran_flags(compile):
    @compile
    def f(x):
        return x * 2, x.flags.c_contiguous, x.strides, x.dtype.name, x.nbytes

    return [f(X), f(X.T), f(X.astype(np.float32))]


def scalars_np(compile):
    @compile
    def f(a, b):
        return a * b + 1, a > b

    return [f(np.float32(2), np.float64(3)), f(2, 3), f(2.0, 3), f(np.int32(2), X), f(np.float32(2), 3.0), f(True, X)]


def array_kwargs(compile):
    @compile
    def f(*xs, **kw):
        return sum(xs) + sum(kw.values()), sorted(kw), len(xs)

    return [f(X, a=X), f(X, X, b=1), f(X, b=2.0, a=X), f()]


def swap_roles(compile):
    s = {"x": X}

    @compile
    def f(x):
        y = lnp.sin(s["x"])
        s["x"] = x
        z = lnp.cos(s["x"])
        return y, z

    return [f(X), f(X + 1), f(X)]


def obj_returned(compile):
    class N:
        def __init__(s, v):
            s.v = v
            s.next = None

    a = N(X)
    b = N(X + 1)
    a.next = b

    @compile
    def f(n):
        return n.next, lnp.sin(n.v), n.next.v

    r = f(a)
    out = [r[0] is b, r[1], r[2] is b.v]
    c = N(X * 5)
    a.next = c
    r = f(a)
    return out + [r[0] is c, r[2] is c.v, r[2]]


def tracer_bool_list(compile):
    @compile
    def f(x, idx):
        return x[idx], [x, x * 2, x * 3][int(idx[0])]

    return [f(X, np.array([0])), f(X, np.array([1])), f(X, np.array([1, 0]))]


def item_assign_arg_dict(compile):
    @compile
    def f(d):
        d["y"] = lnp.sin(d["x"])
        d["n"] = d.get("n", 0) + 1
        return d

    d = {"x": X}
    r = f(d)
    r2 = f(d)
    return [r is d, r2 is d, d]


def lazy_generator_arg(compile):
    @compile
    def f(g):
        t = 0
        for a in g:
            t = t + lnp.sin(a)
        return t

    return [f(x for x in X), f(iter(X * 2)), f(X), f([X, X])]


def string_ops(compile):
    @compile
    def f(x, mode):
        if mode.lower().startswith("s"):
            return lnp.sin(x), mode.upper(), f"{mode}-{x.shape}"
        return x, "-".join([mode, "q"])

    return [f(X, "Sin"), f(X, "cos"), f(X, "s")]


def complexes(compile):
    @compile
    def f(x, c):
        return x * c, c.real

    return [f(X, 1 + 2j), f(X, 1 + 3j), f(X + 1j, 2j)]


def big_ints(compile):
    @compile
    def f(x, n):
        return x * (n % 7), n + 1

    return [f(X, n) for n in (2**70, 2**70 + 1, 5, 6)]


def isinst(compile):
    @compile
    def f(x):
        if isinstance(x, (list, tuple)):
            return [lnp.sin(v) for v in x]
        if isinstance(x, np.ndarray):
            return lnp.sin(x)
        if isinstance(x, (int, float)):
            return x * 2
        return type(x).__name__

    return [f(v) for v in (X, [X], (X, 1.0), 2, 2.5, np.float64(2), "s", None, {"a": 1})]


def empty(compile):
    @compile
    def f(x):
        return x.sum(), x * 2, len(x)

    return [f(np.zeros(n)) for n in (0, 1, 2, 3, 7)]


def inplace_ops_on_new(compile):
    @compile
    def f(x):
        y = x * 1
        y += x
        y.sort(axis=0)
        np.add(y, 1, out=y)
        return y

    return [f(X), f(-X)]


def list_of_arrays_mut(compile):
    @compile
    def f(ws):
        for k in range(len(ws)):
            ws[k] = ws[k] * 0.5
        ws.append(lnp.ones(2))
        return sum(w.sum() for w in ws)

    ws = [X, X + 1]
    return [f(ws), f(ws), ws]

"""Functions whose guards flip: globals, attributes, methods, containers, types, sizes, aliases, exceptions midway."""

from __future__ import annotations

import threading

import lamina as lm
import lamina.numpy as lnp
import numpy as np

X = np.linspace(-1, 2, 6).reshape(2, 3)
SCALE, MODE, TABLE = 2.0, "plain", {"gain": 3, "bias": np.ones(3)}


def helper(x):
    return x + 1


def rebound_global_function(compile):
    global helper
    original = helper

    @compile
    def f(x):
        return lnp.tanh(helper(x)) * 2

    out = [f(X)]
    helper = lambda x: x - 1  # noqa: E731
    out.append(f(X))
    helper = lnp.sin
    out.append(f(X))
    helper = original
    return [*out, f(X)]


def globals_of_three_kinds(compile):
    global SCALE, MODE

    @compile
    def f(x):
        y = x * SCALE
        if MODE == "log":
            return lnp.log1p(lnp.abs(y)), MODE
        return y + TABLE["gain"] * TABLE["bias"], MODE

    out = [f(X)]
    SCALE = 3
    out.append(f(X))
    MODE = "log"
    out.append(f(X))
    SCALE, MODE = 2.0, "plain"
    TABLE["gain"] = 4
    out.append(f(X))
    TABLE["bias"] = np.zeros(3)
    out.append(f(X))
    TABLE["bias"][1] = 9
    TABLE["unused"] = 1
    out.append(f(X))
    TABLE.update(gain=3, bias=np.ones(3))
    return [*out, f(X)]


def deleted_attribute(compile):
    class Config:
        rate = 0.5

    config = Config()
    config.rate = 2.0

    @compile
    def f(x):
        return lnp.exp(x) * config.rate + getattr(config, "shift", 0)

    out = [f(X)]
    del config.rate
    out.append(f(X))
    config.shift = 3
    out.append(f(X))
    Config.rate = 0.25
    out.append(f(X))
    del config.shift
    return [*out, f(X)]


def class_with_counters(compile):
    class Meter:
        def __init__(self):
            self.calls, self.total = 0, 0.0

        @compile
        def measure(self, x):
            y = lnp.sqrt(lnp.abs(x)) + 1
            self.calls += 1
            self.total += float(y.sum())
            return y / self.calls

    meter, other = Meter(), Meter()
    out = [meter.measure(X), meter.measure(X), other.measure(X), meter.measure(X[0])]
    return [*out, meter.calls, meter.total, other.calls]


def subclass_with_a_property(compile):
    class Base:
        def __init__(self, n):
            self.n = n

    class Double(Base):
        @property
        def n(self):
            return self._n * 2

        @n.setter
        def n(self, value):
            self._n = value

    @compile
    def f(o, x):
        return lnp.cos(x) * o.n

    base, double = Base(3), Double(3)
    out = [f(base, X), f(double, X), f(base, X)]
    double._n = 5
    out.append(f(double, X))
    base.n = 1.5
    return [*out, f(base, X)]


def overridden_method(compile):
    class Net:
        def act(self, x):
            return lnp.tanh(x)

        def __call__(self, x):
            return self.act(x * 2)

    class Other(Net):
        def act(self, x):
            return super().act(x) + 1

    @compile
    def run(net, x):
        return net(x) - 1

    net = Net()
    out = [run(net, X), run(Other(), X)]
    net.act = lambda x: x * 10
    out.append(run(net, X))
    del net.act
    out.append(run(net, X))
    Net.act = lambda self, x: x + 100
    return [*out, run(net, X), run(Other(), X)]


def callable_object(compile):
    class Scaler:
        def __init__(self, k):
            self.k = k

        def __call__(self, x):
            if self.k > 2:
                print(end="")
            return x * self.k

    scaler = Scaler(2)
    f = compile(scaler)
    out = [f(X)]
    scaler.k = 3
    return [*out, f(X), f(X[0])]


def mutable_default(compile):
    @compile
    def collect(x, seen=[]):  # noqa: B006
        seen.append(float(x.sum()))
        return x * len(seen)

    return [collect(X), collect(X), collect(X, [1, 2]), collect(X)]


def argument_changed_in_place(compile):
    @compile
    def scale_rows(x, k):
        y = lnp.exp(x) * 2
        x[0] = 5
        x += 1
        return y + x * k

    a = X.copy()
    return [scale_rows(a, 2), a.copy(), scale_rows(a, 2), a.copy()]


def aliased_arguments(compile):
    @compile
    def f(a, b):
        a[0] = a[0] * 2
        return lnp.sin(b) + a

    x = X.copy()
    return [f(x, x), f(X.copy(), x), f(x, x), x]


def same_object(compile):
    @compile
    def f(a, b):
        if a is b:
            return lnp.sin(a["w"])
        return a["w"] + b["w"]

    p, q = {"w": X}, {"w": X}
    return [f(p, p), f(p, q), f(q, q), f(q, p)]


def list_contents(compile):
    weights = [1.0, 2.0]

    @compile
    def f(x):
        for w in weights:
            x = lnp.sin(x) * w
        return x + len(weights)

    out = [f(X)]
    weights.append(3.0)
    out.append(f(X))
    weights[0] = 4.0
    out.append(f(X))
    weights[:] = [2, 1]
    return [*out, f(X)]


def types_of_an_argument(compile):
    @compile
    def f(x, k):
        if isinstance(k, str):
            return x * len(k)
        if k is None:
            return x + 1
        return lnp.tanh(x) * k / 2

    return [f(X, k) for k in (2, 2.0, True, None, "abc", np.float32(2), np.array([1, 2, 3]), 2, 0, -0.0, 3 + 0j)]


def sizes_that_vary(compile):
    @compile
    def f(x):
        y = lnp.exp(x - x.max())
        return y / y.sum(), x.shape[0]

    return [f(np.arange(float(n))) for n in (3, 4, 5, 6, 7, 1, 2, 9)]


def dtypes_and_ranks(compile):
    @compile
    def f(x, y):
        return x * 2 + y

    rows = [np.ones(3), np.ones(3, np.float32), np.ones((2, 3)), np.arange(3), np.ones(3, bool), np.ones((3, 1))]
    return [f(x, y) for x in rows for y in (rows[1], 1)]


def strided_arrays(compile):
    @compile
    def f(x):
        return lnp.cumsum(x, axis=0) * 2

    a = np.arange(24.0).reshape(4, 6)
    return [f(a), f(a[:, ::2]), f(a.T), f(a[::-1]), f(np.asfortranarray(a)), f(a.astype(">f8")), f(a[:0])]


def exception_midway(compile):
    state = {"done": 0}

    @compile
    def f(x, bad):
        y = lnp.sin(x)
        state["done"] += 1
        if bad:
            raise RuntimeError("stop")
        state["done"] += 10
        return y

    out = []
    for bad in (False, True, False):
        try:
            out.append(f(X, bad))
        except RuntimeError as error:
            out.append(str(error))
        out.append(dict(state))
    return out


def reentrant(compile):
    calls = []

    @compile
    def f(x, depth):
        y = lnp.tanh(x) + depth
        calls.append(depth)
        if depth:
            y = y + f(y, depth - 1)
        return y * 2

    return [f(X, 0), f(X, 2), f(X, 1), calls]


def from_threads(compile):
    @compile
    def f(x, k):
        y = lnp.cos(x) * k
        s = float(y.sum())
        return y + s

    out = {}

    def work(k):
        out[k] = [f(X + k, 2), f(X, k)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [out[k] for k in sorted(out)]


def train_and_eval(compile):
    layer = lm.train.modules.Dropout(0.5)

    @compile
    def f(layer, x, key):
        return layer(lnp.ones(4), key=key) + x.sum()

    key = lm.random.key(0)
    return [f(layer, X, key), f(layer.eval(), X, key), f(layer.train(), X, key)]


class Mlp(lm.Module):
    first: lm.Module
    second: lm.Module

    def __call__(self, x):
        h = lm.nn.relu(self.first(x))
        if SCALE > 2:
            h = h * SCALE
        return self.second(h)


def module_of_the_user(compile):
    global SCALE
    model = Mlp(
        lm.train.modules.Linear(3, 4, key=lm.random.key(0)), lm.train.modules.Linear(4, 2, key=lm.random.key(1))
    )  # fmt: skip

    @compile
    def predict(model, x):
        y = model(x)
        best = int(lnp.argmax(y[0]))
        return y, best

    out = [predict(model, X)]
    SCALE = 5.0
    out.append(predict(model, X))
    SCALE = 2.0
    return [*out, predict(model, X * 2)]


def options_of_the_package(compile):
    @compile
    def f(x, n):
        return lnp.multiply(x, n)

    x, n = np.ones(3, np.float32), np.arange(3, dtype=np.int32)
    out = [f(x, n)]
    with lm.config(promotion="jax"):
        out.append(f(x, n))
    return [*out, f(x, n)]


def views_of_arguments(compile):
    @compile
    def f(x):
        row = x[0]
        flat = x.reshape(-1)
        return row, flat, x.T, (x * 2).T

    x = X.copy()
    row, flat, turned, new = f(x)
    x[0, 0] = 77.0
    row[1] = 5.0
    return [row, flat, turned, new, x]


def returns_its_argument(compile):
    @compile
    def f(x, params):
        y = x.copy()
        return x, y, params, params["w"], lnp.sin(x)

    x, params = X.copy(), {"w": X.copy()}
    a, b, c, d, e = f(x, params)
    b[0] = 3
    return [a is x, b is x, c is params, d is params["w"], a, b, e, x]


def changes_a_nested_list(compile):
    @compile
    def f(x, store):
        y = lnp.exp(x)
        store["rows"][-1].append(y.sum())
        store["n"] = store.get("n", 0) + 1
        return y * store["n"]

    store = {"rows": [[]]}
    return [f(X, store), f(X, store), f(X + 1, store), store]


def deletes_and_unpacks(compile):
    @compile
    def f(x, *rest):
        first, *others = [x, *rest]
        del x
        total = first * 2
        for other in others:
            total = total + lnp.sin(other)
        return total, len(others)

    return [f(X), f(X, X), f(X, X, X + 1), f(X[0], X[1])]

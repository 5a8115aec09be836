"""Changes of outside objects in the middle of what is computed."""

from __future__ import annotations

import contextlib
import enum
from types import SimpleNamespace

import lamina.numpy as lnp
import numpy as np

X = np.float64([[0.2, 1.0, -0.5], [2.0, 0.1, 0.3]])
STEP = 0


def everything_at_once(compile):
    global STEP
    STEP, history, stats = 0, [], {}
    model = SimpleNamespace(hidden=None, count=0, total=0.0, log=[], best=1e9)

    def record(key, value):
        stats[key] = value

    @compile
    def step(x, out):
        global STEP
        y = lnp.sin(x) + STEP
        STEP += 1
        history.append(y)
        stats["loss"] = y.sum()
        model.hidden = y
        model.count += 1
        model.log.append((model.count, len(history)))
        record("n", model.count)
        model.total += 0.5
        out.extend([y * 2, 3])
        if model.count % 3 == 0:
            out.append("third")
        stats.setdefault("k", 5)
        stats["k"] += 1
        if "old" in stats:
            del stats["old"]
        return history[-1] * model.count + len(out), model.hidden is y, stats.get("k")

    results = []
    for k in range(9):
        out = []
        if k == 5:
            stats["old"] = 1
        results.append((step(X, out), out, dict(stats), model.count, model.total, model.log[-1], STEP))
        results.append(model.hidden is history[-1])
    return results, history


def one_list_by_two_names(compile):
    @compile
    def f(x, a, b, c):
        a.append(1)
        n = len(b)
        b.append(x.sum())
        c["a"] = a
        c["a"].append(len(c["a"]))
        a[0] = "first"
        return lnp.sin(x), len(a) + n, a[0], b[-1], b[0], a is b

    results = []
    for _ in range(4):
        a, b, c = [], [0], {}
        results.append((f(X, a, b, c), f(X, a, a, c), f(X, b, a, c), a, b, c))
    return results


def lists_change_in_all_ways(compile):
    @compile
    def f(x, a, n):
        a.insert(1, x * 2)
        a[n] = x.sum()
        y = lnp.sin(a[n]) + a[-1]
        last = a.pop()
        first = a.pop(0)
        a += [last, "new"]
        a.reverse()
        if len(a) > 6:
            a.clear()
        del a[:0]
        return y, first, len(a)

    a = [1.0, 2.0, 3.0, 4.0]
    return [(f(X, a, n), list(a)) for n in (0, 1, -1, 1, 1, 1) if len(a) > 2 or not a.extend([5.0, 6.0, 7.0])]


def dicts_change_in_all_ways(compile):
    @compile
    def f(x, d, key):
        d["y"] = lnp.cos(x)
        z = d["y"].sum() + len(d)
        old = d.pop("gone", None)
        d.update(a=z, b=[1])
        d["b"].append(z)
        found = [k for k in d]
        if key in d:
            del d[key]
        d[key, 1] = "pair"
        return z, old, found, list(d), d.get(key), "a" in d

    d = {"gone": 3}
    return [(f(X, d, key), dict(d)) for key in ("a", "q", "y", "y", "a")]


def an_error_leaves_what_python_leaves(compile):
    log = []

    @compile
    def f(x, i):
        log.append("begun")
        y = lnp.exp(x)
        z = y[i]
        log.append(i)
        assert float(z.sum()) < 100, "too large"
        log.append("done")
        return z * 2

    results = []
    for i, scale in ((0, 1), (1, 1), (5, 1), (0, 50), (1, 1)):
        try:
            results.append(f(X * scale, i))
        except (IndexError, AssertionError) as error:
            results.append(type(error).__name__)
        results.append(list(log))
    return results


class Slots:
    __slots__ = ("seen", "value")
    made = 0

    def __init__(self):
        self.value = 0.0


class Watched:
    def __init__(self):
        self.names, self._rate = [], 0.1

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "last":
            self.names.append(name)

    @property
    def rate(self):
        return self._rate

    @rate.setter
    def rate(self, value):
        self._rate = value
        self.names.append("rate")


class Rates:
    def __init__(self):
        self._rate, self.changed = 0.5, 0

    @property
    def rate(self):
        return self._rate

    @rate.setter
    def rate(self, value):
        self._rate = value
        self.changed += 1


def attributes_of_all_kinds(compile):
    slots, watched, rates = Slots(), Watched(), Rates()

    @compile
    def f(x):
        slots.value = x.sum() + slots.value
        slots.seen = "yes"
        watched.last = slots.value * 2
        rates.rate = rates.rate * 0.5
        f_calls.calls += 1
        return x * rates.rate + watched.last, hasattr(slots, "seen"), rates.changed

    def f_calls():
        pass

    f_calls.calls = 0
    return [(f(X), slots.value, watched.names, rates.rate, f_calls.calls) for _ in range(4)]


def nested_objects_grow(compile):
    outside = []
    table = {"rows": [[1.0]], "n": 0}

    @compile
    def f(x):
        inner = [outside]
        holder = [inner]
        for one in holder:
            one.append(1)
        for row in table["rows"]:
            row.append(x[0, 0] * len(row))
        table["rows"].append([x.sum()])
        table["n"] += len(table["rows"])
        outside.append(inner)
        return len(inner), inner[0] is outside, lnp.sin(x)

    return [(f(X), len(outside), [list(r) for r in table["rows"]], table["n"]) for _ in range(4)]


def a_counter_of_a_function(compile):
    def counter():
        n = 0

        def tick(x):
            nonlocal n
            n += 1
            return x * n

        return tick, lambda: n

    tick, count = counter()
    other, _ = counter()

    @compile
    def f(x):
        return tick(x) + tick(x) + other(x), count()

    return [f(X) for _ in range(4)]


def a_variable_of_its_own_that_functions_see(compile):
    @compile
    def f(x):
        n = 1

        def get():
            return n

        print(end="")
        n = 2
        y = lnp.sin(x) * get()
        n = 3
        return y, get()

    return [f(X) for _ in range(3)]


def views_are_kept(compile):
    kept = {}

    @compile
    def f(x):
        kept["row"], kept["column"], kept["turned"] = x[0], x[:, 1:2], x.T
        return lnp.sin(x).sum()

    x = X.copy()
    results = []
    for k in range(3):
        results.append(f(x))
        x[0, 1] += k
        results += [kept["row"].copy(), kept["column"].copy(), kept["turned"].copy(), np.shares_memory(kept["row"], x)]
    return results


@contextlib.contextmanager
def logged(log, name):
    log.append(f"enter {name}")
    try:
        yield
    finally:
        log.append(f"leave {name}")


def context_managers_in_order(compile):
    log = []

    @compile
    def f(x, scale):
        with logged(log, "f"):
            y = lnp.sin(x) * scale
            log.append("computed")
            with contextlib.suppress(ZeroDivisionError):
                y = y + 1 / scale
                log.append("divided")
        return y

    return [(f(X, s), list(log)) for s in (1, 2, 0, 0.5)]


class Mode(enum.Enum):
    MEAN = 1
    LARGEST = 2


def tries_and_matches(compile):
    log = []

    @compile
    def f(x, table, key, mode):
        try:
            y = x * table[key]
            log.append("found")
        except KeyError as error:
            y = x - len(str(error))
            log.append("missing")
        else:
            y = y + 1
        finally:
            log.append("finally")
        match mode:
            case Mode.MEAN:
                y = y.mean()
            case Mode.LARGEST if key != "b":
                y = abs(y).max()
            case [first, *rest]:
                y = y * first + len(rest)
            case {"scale": scale}:
                y = y * scale
            case None | "none":
                return "nothing"
            case _:
                y = y - 1
        try:
            return lnp.sin(y)
        finally:
            table["calls"] = table.get("calls", 0) + 1

    table = {"a": 2.0, "b": 3.0}
    cases = [("a", Mode.MEAN), ("a", Mode.LARGEST), ("b", Mode.LARGEST), ("c", [2, 3, 4]), ("a", [2.5]), ("a", {"scale": 3})]
    cases += [("a", None), ("a", "none"), ("b", "other"), ("a", Mode.MEAN), ("a", (1, 2))]
    return [(f(X, table, key, mode), dict(table), list(log)) for key, mode in cases]


def handlers_see_what_was_computed(compile):
    @compile
    def f(x, i, d):
        y = x * 2
        try:
            y = y + 1
            d["before"] = y
            z = y[i].sum()
            d["after"] = z
        except IndexError:
            return "out", y, sorted(d)
        try:
            if float(z) > 3:
                raise ValueError(i)
            y = y * z
        except (ValueError, TypeError) as e:
            y = y + e.args[0]
        return y, z

    return [f(X, i, d) for i, d in ((0, {}), (1, {}), (7, {}), (0, {"x": 1}), (1, {}))]


def a_handler_deletes_its_variable(compile):
    @compile
    def f(x, table, seen):
        try:
            y = x * table["a"]
        except KeyError as e:
            try:
                y = x + table["b"]
            except KeyError as e:  # noqa: F841  deleted where the handler ends
                y = x - 1
            seen.append(float(y.sum()))
            seen.append(type(e).__name__)
        return y

    seen, results = [], []
    for table in ({"a": 2.0}, {"b": 3.0}, {}, {"a": 1.0}, {}):
        try:
            results.append(f(X, table, seen))
        except UnboundLocalError as error:
            results.append(str(error))
        results.append(list(seen))
    return results


def numbers_of_numpy_stay_numbers(compile):
    @compile
    def f(x, a, kept):
        a = a * 2 + x.sum()
        kept.append(a)
        print(end="")
        a += 1
        kept.append(x[0, 0] * 2)
        return a, type(a).__name__, isinstance(a, np.ndarray)

    kept = []
    return [f(X, np.float64(k), kept) for k in range(3)], kept, [type(k).__name__ for k in kept]


def values_choose_numbers_or_arrays(compile):
    @compile
    def f(x, k):
        y = x if x.sum() > k else 2
        z = y * np.ones(3, np.float16)
        total = 0
        for v in x:
            if v > k:
                total += v
        first = 2 if x[0] > k else 0.5
        largest = max(x[1], 0)
        return y, z, total, type(total).__name__, first, largest, type(largest).__name__

    rows = np.float32([1, -1, 3])
    return [f(rows, k) for k in (0, 5, 2, 100)]

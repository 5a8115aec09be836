"""Functions in functions, methods, objects, exceptions and what else Python has beside loops."""

import contextlib
import dataclasses
import functools
from typing import Any

import lamina.numpy as lnp
import numpy as np

SCALE = 3.0


def helper(x):
    if x > 1:
        return x * SCALE
    return x


def calls_helper(x):
    return helper(x) + helper(x - 1)


def nested_function(x):
    def inner(y):
        if y > x:
            return y
        return x

    return inner(x * 2) + inner(x / 2)


def nonlocal_counter(n):
    count = 0

    def bump():
        nonlocal count
        count += 2

    for _ in range(n):
        bump()
    return count


def lambda_in_loop(x, n):
    step = lambda v: v * 2 if v < 10 else v - 1  # noqa: E731
    for _ in range(n):
        x = step(x)
    return x


def function_argument(x):
    def apply(function, times):
        y = x
        for _ in range(times):
            y = function(y)
        return y

    return apply(helper, 3)


def with_partial(x):
    def scaled(factor, y):
        return y * factor if y > 0 else y

    return functools.partial(scaled, 2.0)(x)


def default_argument(x, n=4):
    def grow(y, by=1.5):
        return y * by if y < 100 else y

    for _ in range(n):
        x = grow(x)
    return x


def doubling(function):
    @functools.wraps(function)
    def wrapper(*args):
        return 2 * function(*args)

    return wrapper


@doubling
def decorated(x):
    if x > 0:
        return x
    return -3 * x


def calls_decorated(x):
    return decorated(x) + 1


def closure(factor):
    def scaled(x):
        if x > factor:
            return x * factor
        return x

    return scaled


closed_over = closure(2.0)


class Counter:
    def __init__(self):
        self.count = 0
        self.total = 0.0

    def add(self, x):
        if x > 0:
            self.count = self.count + 1
            self.total += x
        return self


def object_state(values):
    counter = Counter()
    for v in values:
        counter.add(v)
    return counter.count, counter.total


def object_in_while(x):
    counter = Counter()
    while counter.total < 10:
        counter.add(x)
        x = x * 1.5
    return counter.total, counter.count


class Network:
    def __init__(self, w, limit):
        self.w, self.limit = w, limit

    def __call__(self, x):
        for k in range(4):
            x = self.layer(x)
            if abs(x).max() > self.limit:
                break
        return x

    def layer(self, x):
        h = x @ self.w
        return h if h.sum() > 0 else -h


def callable_object(x, w):
    return Network(w, 3.0)(x)


class Base:
    def scale(self, x):
        return x * 2 if x > 0 else x


class Derived(Base):
    __factor = 5

    def scale(self, x):
        y = super().scale(x)
        if y > 4:
            y = y * self.__factor
        return y

    @property
    def offset(self):
        return 1.0

    @staticmethod
    def shifted(x):
        if x < 0:
            x = x + 10
        return x

    @classmethod
    def named(cls, x):
        return cls.shifted(x) if x < 5 else x


def inheritance(x):
    d = Derived()
    return d.scale(x) + d.offset + d.shifted(x) + Derived.named(x)


@dataclasses.dataclass
class Particle:
    x: Any
    v: Any


def dataclass_attributes(x, v, steps):
    p = Particle(x, v)
    for _ in range(steps):
        p.v = p.v - 0.1
        p.x = p.x + p.v
        if p.x < 0:
            p.x, p.v = -p.x, -p.v
    return p.x, p.v


def array_attribute(x):
    p = Particle(lnp.zeros(3), 0)
    for k in range(3):
        if x[k] > 0:
            p.x[k] = x[k]
    return p.x


def finally_runs(x):
    log = []
    try:
        if x > 0:
            y = x
        else:
            y = -x
    finally:
        log.append(1)
    return y * len(log)


def return_in_try(x):
    try:
        if x > 0:
            return x
        x = x - 1
    finally:
        done = 1
    return x * done


def static_exception(x):
    try:
        table = {"a": 1}
        k = table["b"]
    except KeyError:
        k = 2
    return x * k if x > 0 else x


def in_with(x):
    with contextlib.nullcontext(2.0) as factor:
        if x > 0:
            x = x * factor
        else:
            return x
    return x + 1


def static_stays(x, names=("a", "b", "c")):
    out = {}
    for k, name in enumerate(names):
        if name != "b":
            out[name] = x * k if x > 0 else x
    return [out[name] for name in sorted(out)]


def append_static(x):
    parts = []
    for k in range(6):
        value = x[k]
        if value > 0:
            value = value * 2
        parts.append(value)
    return lnp.stack(parts)


def list_as_stack(x):
    stack = [x, x * 2]
    total = 0.0
    while stack:
        top = stack.pop()
        if top > 3:
            total += top
    return total


def starred(x):
    first, *rest = [x, x + 1, x + 2]
    if first > 0:
        first, *rest = rest + [first]
    return first, rest


def chained_assignment(x):
    a = b = x
    if x > 0:
        a = b = x * 2
    return a, b


def annotated(x: float) -> float:
    y: float = x
    if x > 0:
        z: float = x * 2
        y = z
    return y


def delete(x):
    t = x * 2
    if x > 0:
        y = t
        del t
    else:
        y = x
    return y


def weak_numbers(x):
    if x > 0:
        y = 1
    else:
        y = x
    return y


def int_then_float(n):
    total = 0
    while n > 0:
        total = total + 0.5
        n -= 1
    return total


def conversions(x):
    k = int(x)
    if bool(k) and float(k) > 1:
        return k * 2
    return k


def shadowed(x):
    min = 3
    if x > min:
        x = x - min
    return x


def in_operator(n):
    if n in (2, 3, 5, 7):
        return 1
    if n not in [0, 1]:
        return 2
    return 3


def not_operator(x, y):
    if not (x > 0 and not y > 0):
        return x
    return y


def numbers_or(x, y):
    return x or y


def numbers_and(x, y):
    return x and y


def recursion(x, depth=3):
    if depth == 0:
        return x
    if x > 4:
        return recursion(x / 2, depth - 1)
    return recursion(x * 3, depth - 1) + 1


def generator_of_static(x):
    total = 0.0
    for k in (j * j for j in range(4)):
        if x > k:
            total += x - k
    return total


def dictionary_choice(x, kind="square"):
    table = {"square": lambda v: v * v if v > 1 else v, "half": lambda v: v / 2}
    return table[kind](x)


def map_filter(x):
    return sum(map(lambda v: v if v > 0 else 0.0, [x, -x, x * 2]))


def sorted_statically(x):
    order = sorted([3, 1, 2], key=lambda k: -k)
    for k in order:
        if x > k:
            x = x - k
    return x


def loop_variable_after(n):
    i = -1
    for i in range(n):
        if i * i > 20:
            break
    return i


def continue_everywhere(n):
    total = 0
    for i in range(n):
        if i % 2:
            continue
        for j in range(i):
            if j == 3:
                continue
            if j > 5:
                break
            total += i * j
        else:
            total += 100
    return total


def while_with_continue(n):
    total = 0
    while n > 0:
        n -= 1
        if n % 3 == 0:
            continue
        total += n
    return total


def return_from_depths(x, n):
    k = 0
    while k < n:
        j = 0
        while j < n:
            if x[k, j] < 0:
                return k, j
            j += 1
        k += 1
    return -1, -1


def tuple_return(x):
    if x > 0:
        return {"a": x, "b": (x, 1)}
    return {"a": -x, "b": (x * 2, 3)}


def static_flag(x, verbose=False):
    if verbose:
        print("not reached")
    if x > 0:
        mode = "up"
    else:
        mode = "up"
    return x if mode == "up" else -x


a = lambda *items: np.array(items, float)  # noqa: E731
f, i = np.float64, np.int64
BOTH = [(f(3),), (f(-2),)]
CASES = {
    calls_helper: BOTH, nested_function: BOTH, nonlocal_counter: [(i(4),)], lambda_in_loop: [(f(3), i(4))],
    function_argument: BOTH, with_partial: BOTH, default_argument: BOTH, calls_decorated: BOTH, decorated: BOTH,
    closed_over: BOTH, object_state: [(a(1, -2, 3, 4, -5, 6, 7),)], object_in_while: [(f(1),)],
    callable_object: [(a(1, 2), np.array([[1, 0.5], [0.2, 1]]))], inheritance: BOTH,
    dataclass_attributes: [(f(1), f(0), i(9))], array_attribute: [(a(1, -2, 3),)], finally_runs: BOTH, return_in_try: BOTH,
    static_exception: BOTH, in_with: BOTH, static_stays: BOTH, append_static: [(a(1, -2, 3, -4, 5, 6),)], list_as_stack: BOTH,
    starred: BOTH, chained_assignment: BOTH, annotated: BOTH, delete: BOTH, weak_numbers: BOTH, int_then_float: [(i(3),)],
    conversions: [(f(3.7),), (f(0.5),), (f(1.5),)], shadowed: [(f(5),), (f(1),)], in_operator: [(i(3),), (i(1),), (i(4),)],
    not_operator: [(f(1), f(-1)), (f(1), f(2))],
    numbers_or: [(f(0), f(3)), (f(2), f(3))], numbers_and: [(f(0), f(3)), (f(2), f(3))],
    recursion: [(f(3),), (f(20),)], generator_of_static: BOTH, dictionary_choice: BOTH, map_filter: BOTH,
    sorted_statically: [(f(5),)], loop_variable_after: [(i(3),), (i(9),), (i(0),)], continue_everywhere: [(i(9),)],
    while_with_continue: [(i(9),)], return_from_depths: [(np.array([[1.0, 2], [-1, 3]]), i(2)), (np.ones((2, 2)), i(2))],
    tuple_return: BOTH, static_flag: BOTH,
}  # fmt: skip
GRADIENTS = {
    calls_helper: "reverse", nested_function: "reverse", object_state: "reverse", object_in_while: "forward",
    callable_object: "reverse", inheritance: "reverse", return_in_try: "reverse", append_static: "reverse",
    recursion: "reverse", closed_over: "reverse",
}  # fmt: skip

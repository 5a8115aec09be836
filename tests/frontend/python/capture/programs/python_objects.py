"""Generators, records, enums, patterns, context managers and what else users write around the arrays."""

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import operator
from typing import Any, NamedTuple

import lamina.numpy as lnp
import numpy as np

# -- generators


def generator_of_terms(x):
    def terms(y):
        term = 1.0
        for k in range(1, 6):
            yield term
            term = term * y / k

    return sum(terms(x))


def generator_with_branch(x):
    def clipped(values):
        for v in values:
            if v > 2:
                yield 2.0
            else:
                yield v * 1.0

    total = 0.0
    for v in clipped(x):
        total = total + v
    return total


def pairs(x):
    for k in range(len(x) - 1):
        yield x[k], x[k + 1]


def generator_of_pairs(x):
    total = 0.0
    for a, b in pairs(x):
        if a > b:
            total += a - b
    return total


def generator_delegates(x):
    def both(y):
        yield y
        yield from (y + 1, y + 2)
        yield from scaled(y)

    def scaled(y):
        if y > 0:
            y = y * 10
        yield y

    return list(both(x))


def generator_expression(x):
    return sum(v * v if v > 0 else -v for v in x)


def generator_zipped(x, y):
    def halves(v):
        for k in range(len(v)):
            yield v[k] / 2 if v[k] > 1 else v[k]

    return [a * b for a, b in zip(halves(x), y)]


def windows(x, n):
    for k in range(len(x) - n + 1):
        yield x[k : k + n]


def generator_of_windows(x):
    best = -1e9
    for w in windows(x, 3):
        if w.sum() > best:
            best = w.sum()
    return best


def generator_unpacked(x):
    def three(y):
        yield y
        if y > 0:
            y = -y
        yield y
        yield y * 2

    a, b, c = three(x)
    return a + 2 * b + 3 * c


def generator_next(x):
    def counting(y):
        while True:
            y = y + 1
            yield y

    numbers = counting(x)
    first = next(numbers)
    second = next(numbers)
    if first > 3:
        return second
    return first


def generator_returns(x):
    def until(y):
        for k in range(4):
            yield y + k
        return

    return tuple(until(x * 2))


# -- comprehensions


def nested_comprehension(x):
    return [[a * b if a > b else a - b for b in x] for a in x]


def filter_static(x):
    return [v + 1 if v > 0 else v for k, v in enumerate(x) if k % 2 == 0]


def dict_comprehension(x):
    squares = {k: v * v if v > 0 else v for k, v in enumerate(x)}
    return sum(squares.values())


def any_all(x):
    if any(v > 3 for v in x) and all(v > -5 for v in x):
        return x.sum()
    return x[0]


def min_of_generator(x):
    return min(abs(v) for v in x), max(v * v for v in x)


def count_matching(x, low):
    return sum(1 for v in x if v > low)


def sum_matching(x):
    return sum(v * 2 for v in x if v > 0)


def sum_matching_list(x):
    return sum([v for v in x if v > 0 and v < 3])


def any_matching(x):
    return any(v > 4 for v in x if v > 0)


def max_matching(x):
    return max((v for v in x if v < 2), default=-1.0)


# -- lists


def list_grows_equally(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
        else:
            out.append(-v * 2)
    return out


def list_grows_three_ways(x):
    out = []
    for v in x:
        if v > 2:
            out.append(2.0)
        elif v < 0:
            out.append(0.0)
        else:
            out.append(v * 1.0)
    return lnp.stack(out) if len(out) > 1 else out[0]


def list_extended_equally(x):
    out = [x[0]]
    if x[1] > 0:
        out.extend([x[1], x[2]])
    else:
        out += [x[2], x[1]]
    return out


def dict_grows_equally(x):
    found = {}
    if x > 0:
        found["size"] = x
        found["sign"] = 1.0
    else:
        found["size"] = -x
        found["sign"] = -1.0
    return found["size"] * found["sign"], found["size"]


def list_popped_equally(x):
    stack = [x, x * 2, x * 3]
    if x > 0:
        y = stack.pop()
    else:
        y = -stack.pop()
    return y, sum(stack)


def list_of_lists(x):
    rows = [[], []]
    for v in x:
        if v > 0:
            rows[0].append(v)
            rows[1].append(0.0)
        else:
            rows[0].append(0.0)
            rows[1].append(v)
    return [sum(r) for r in rows]


# -- records


class Point(NamedTuple):
    x: Any
    y: Any

    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5


def namedtuple_chosen(x, y):
    p = Point(x, y)
    if p.norm() > 2:
        p = Point(p.x / 2, p.y / 2)
    return p.x, p.y


def namedtuple_in_loop(x, y):
    p = Point(x, y)
    while p.norm() > 1:
        p = p._replace(x=p.x * 0.5, y=p.y * 0.7)
    return p


@dataclasses.dataclass
class Ball:
    height: Any
    speed: Any
    bounces: Any = 0

    def step(self, dt):
        self.speed = self.speed - 9.8 * dt
        self.height = self.height + self.speed * dt
        if self.height < 0:
            self.height = -self.height
            self.speed = -0.9 * self.speed
            self.bounces += 1


def dataclass_mutated(height):
    ball = Ball(height, 0.0)
    for _ in range(30):
        ball.step(0.1)
    return ball.height, ball.bounces


@dataclasses.dataclass(frozen=True)
class State:
    position: Any
    velocity: Any


def dataclass_replaced(x, v):
    s = State(x, v)
    for _ in range(5):
        s = dataclasses.replace(s, position=s.position + s.velocity)
        if s.position > 3:
            s = dataclasses.replace(s, velocity=-s.velocity)
    return s.position, s.velocity


def dataclass_chosen(x):
    if x > 0:
        s = State(x, 1.0)
    else:
        s = State(-x, -1.0)
    return s.position * s.velocity


class Mode(enum.Enum):
    LINEAR = 1
    SQUARE = 2


def enum_static(x):
    def apply(mode, y):
        if mode is Mode.LINEAR:
            return y
        return y * y

    total = 0.0
    for mode in Mode:
        total = total + apply(mode, x) if x > 0 else total - apply(mode, x)
    return total


class Direction(enum.IntEnum):
    NORTH = 0
    EAST = 1
    SOUTH = 2
    WEST = 3


def int_enum_traced(d):
    if d == Direction.NORTH:
        return 10
    if d == Direction.EAST or d == Direction.WEST:
        return 20
    return 30


# -- patterns


def match_with_guard(n):
    match n:
        case 0:
            return 0.0
        case k if k < 0:
            return -1.0 * k
        case 1 | 2 | 3:
            return 0.5
        case _:
            return 2.0 * n


def match_sequence(x):
    match (x[0], x[1]):
        case (a, b) if a > b:
            return a - b
        case (a, b):
            return b + a


def match_static_class(x):
    def area(shape):
        match shape:
            case Point(x=a, y=b):
                return a * b if a > 0 else b
            case {"radius": r}:
                return 3 * r * r
            case [first, *rest]:
                return first + len(rest)

    return area(Point(x, 2.0)) + area({"radius": x}) + area([x, x, x])


def match_strings(x, name="square"):
    match name:
        case "square":
            return x * x if x > 0 else x
        case "cube" | "third":
            return x**3


# -- with, try, finally


@contextlib.contextmanager
def doubled_scale(state):
    state["scale"] *= 2
    try:
        yield state
    finally:
        state["scale"] /= 2


def with_manager(x):
    state = {"scale": 1.0}
    with doubled_scale(state) as s:
        y = x * s["scale"] if x > 0 else x - s["scale"]
    return y * state["scale"]


class Recorder:
    def __init__(self):
        self.depth = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, *exc):
        self.depth -= 1
        return False


def with_class(x):
    r = Recorder()
    with r as inner, contextlib.nullcontext(2.0) as two:
        if x > 0:
            y = x * two * inner.depth
        else:
            y = x
    return y + r.depth


def return_in_with(x):
    with Recorder() as r:
        if x > 1:
            return x * r.depth
    return -x


def break_in_with(x):
    total = 0.0
    for k in range(10):
        with Recorder():
            if total > x:
                break
            total += k
    return total


def try_finally_state(x):
    log = []
    try:
        if x > 0:
            y = x * 2
        else:
            y = -x
    finally:
        log.append(1)
    return y + len(log)


def return_in_try_finally(x):
    count = [0]

    def inner(y):
        try:
            if y > 0:
                return y * 2
            return -y
        finally:
            count[0] += 1

    return inner(x) + inner(-x) + count[0]


def try_else(x):
    try:
        scale = {"a": 2.0}["a"]
    except KeyError:
        scale = 1.0
    else:
        if x > 0:
            scale = scale + 1
    return x * scale


def suppressed(x):
    y = x
    with contextlib.suppress(KeyError):
        y = x * 2 if x > 0 else x
        {}["missing"]
        y = x * 100
    return y


# -- names


def walrus_in_if(x):
    if (y := x * 2) > 3:
        return y
    return y - 1


def walrus_in_while(n):
    steps = 0
    while (n := n // 2) > 0:
        steps += 1
    return steps


def walrus_in_comprehension(x):
    return [y if (y := v * 2) > 1 else -y for v in x], y


def star_arguments(x, y):
    def combine(first, *rest, scale=1.0, **named):
        total = first * scale
        for r in rest:
            if r > total:
                total = r
        for name, value in sorted(named.items()):
            total = total + value if len(name) > 1 else total - value
        return total

    args = (x, y, x + y)
    options = {"scale": 2.0, "a": x, "bb": y}
    return combine(*args, **options)


def star_targets(x):
    first, *middle, last = x
    if first > last:
        first, last = last, first
    return first, sum(middle), last


def nonlocal_traced(x):
    best = -1.0

    def visit(v):
        nonlocal best
        if v > best:
            best = v

    for v in x:
        visit(v)
    return best


def nonlocal_two_levels(x):
    total = 0.0

    def outer(v):
        def inner(w):
            nonlocal total
            if w > 1:
                total = total + w

        inner(v)
        inner(v * 2)

    for v in x:
        outer(v)
    return total


def value_before_target(x, k):
    c = 0

    def bump(y):
        nonlocal c
        if y > 0:
            c = c + 1
        return c * 1.0

    x[c + k] = bump(x[1])
    x[c], y = bump(x[0]), c
    return x, c, y


def call_in_comparison(x):
    c = 0

    def bump(y):
        nonlocal c
        c += 1
        return y * 2

    found = 0 < bump(x) < bump(x) + 1 < bump(x) * 3
    return c, found


def nonlocal_in_ternary(x):
    c = 1.0

    def bump(y):
        nonlocal c
        c = c + y
        return c

    y = bump(x) if x > 0 else x
    z = x > 1 and bump(y) > 2
    return y, z, c


def sibling_binds(x):
    c = 1.0

    def bump(y):
        nonlocal c
        c = c + y

    def visit(y):
        if y > 1:
            bump(y)
        while y < 3:
            y = y + 1
            bump(y)

    visit(x)
    visit(x / 2)
    return c


def closures_in_list(x):
    functions = [lambda v, k=k: v * k if v > k else v + k for k in range(4)]
    for f in functions:
        x = f(x)
    return x


def reduce_of_function(x):
    return functools.reduce(lambda a, b: a if a > b else b, list(x))


def accumulate_of_function(x):
    return list(itertools.accumulate(list(x), lambda a, b: a + b if b > 0 else a))


def product_of_lists(x, y):
    total = 0.0
    for a, b in itertools.product(x, y):
        if a > b:
            total += a * b
    return total


def pairwise(x):
    return sum(1.0 if b > a else 0.0 for a, b in itertools.pairwise(x))


def deque_as_queue(x):
    queue = collections.deque([x, x * 2])
    total = 0.0
    for _ in range(4):
        v = queue.popleft()
        queue.append(v + 1 if v > 2 else v * 2)
        total = total + v
    return total


def defaultdict_of_sums(x):
    sums = collections.defaultdict(float)
    for k, v in enumerate(x):
        sums[k % 2] += v if v > 0 else 0.0
    return sums[0], sums[1]


def cached_function(x):
    @functools.cache
    def table(n):
        return n if n < 2 else table(n - 1) + table(n - 2)

    return x * table(10) if x > 0 else x


def property_and_classmethod(x):
    class Scaled:
        factor = 2.0

        def __init__(self, v):
            self.v = v

        @property
        def positive(self):
            return self.v if self.v > 0 else -self.v

        @classmethod
        def of(cls, v):
            return cls(v * cls.factor)

        @staticmethod
        def limit(v):
            return v if v < 5 else 5.0

    s = Scaled.of(x)
    return Scaled.limit(s.positive)


def class_with_state(x):
    class Average:
        def __init__(self):
            self.value, self.count = 0.0, 0

        def __call__(self, v):
            self.count += 1
            if v > 0:
                self.value += (v - self.value) / self.count
            return self.value

    average = Average()
    for v in x:
        average(v)
    return average.value


def string_building(x, names=("a", "b")):
    text = ",".join(f"{n}={k}" for k, n in enumerate(names))
    return x * len(text) if x > 0 else x


def slice_objects(x):
    s = slice(1, None, 2)
    return x[s].sum() if x[0] > 0 else x[:2].sum()


def sorted_by_key(x):
    rows = [(3, x), (1, x * 2), (2, x * 3)]
    (_, a), *_ = sorted(rows, key=operator.itemgetter(0))
    return a if a > 0 else -a


def try_loop_retry(x):
    for scale in (0.0, 1.0, 2.0):
        try:
            y = x * (1 / scale)
        except ZeroDivisionError:
            continue
        if y > 0:
            return y
        break
    return -x


def early_return_in_nested(x):
    def search(values, limit):
        for k, v in enumerate(values):
            for w in values[k + 1 :]:
                if v + w > limit:
                    return v * w
        return -1.0

    return search(x, 3.0)


def while_else_traced(n):
    k = 2
    while k * k <= n:
        if n % k == 0:
            result = k
            break
        k += 1
    else:
        result = n
    return result


def for_else_search(x, target):
    for k, v in enumerate(x):
        if v == target:
            found = k
            break
    else:
        found = -1
    return found


def ternary_chain(x):
    return 1.0 if x > 2 else 2.0 if x > 1 else 3.0 if x > 0 else 4.0


def boolean_default(x, y):
    return (x > 0 and y > 0) or (x < -1 and not y > 5)


def comparisons(x):
    return 0 < x <= 2, x != 3 and x == x


def augmented_everything(x):
    y = x
    y += 1
    y -= 2
    y *= 3
    y /= 2
    y **= 2
    if y > 4:
        y //= 2
        y %= 5
    return y


def integer_augmented(n):
    m = n
    m <<= 2
    m |= 1
    if m > 9:
        m &= 7
        m ^= 2
        m >>= 1
    return m


def global_counter(x):
    global CALLS
    CALLS = CALLS + 1
    return x if x > 0 else -x


CALLS = 0


a = lambda *items: np.array(items, float)  # noqa: E731
f, i = np.float64, np.int64
V, W = a(1, -2, 3.5, 0.5, -0.25), a(2, 3, -1, 4, 6)
BOTH, ROW = [(f(2.5),), (f(-1.5),)], [(V,), (-V,)]
CASES = {
    generator_of_terms: BOTH, generator_with_branch: ROW, generator_of_pairs: ROW, generator_delegates: BOTH,
    generator_expression: ROW, generator_zipped: [(V, W), (W, V)], generator_of_windows: ROW, generator_unpacked: BOTH,
    generator_next: BOTH, generator_returns: BOTH, nested_comprehension: ROW, filter_static: ROW, dict_comprehension: ROW,
    any_all: ROW, min_of_generator: ROW, count_matching: [(V, f(0)), (V, f(2))], sum_matching: ROW, sum_matching_list: ROW,
    any_matching: ROW, max_matching: ROW, list_grows_equally: ROW, list_grows_three_ways: ROW, list_extended_equally: ROW,
    dict_grows_equally: BOTH, list_popped_equally: BOTH, list_of_lists: ROW,
    namedtuple_chosen: [(f(2.5), f(0.5)), (f(0.5), f(1))], namedtuple_in_loop: [(f(2.5), f(3)), (f(0.5), f(0.1))],
    dataclass_mutated: [(f(2),), (f(0.3),)], dataclass_replaced: [(f(0.3), f(1)), (f(2), f(-0.5))], dataclass_chosen: BOTH,
    enum_static: BOTH, int_enum_traced: [(i(k),) for k in range(4)], match_with_guard: [(i(k),) for k in (0, -3, 2, 7)],
    match_sequence: ROW, match_static_class: BOTH, match_strings: BOTH, with_manager: BOTH, with_class: BOTH,
    return_in_with: BOTH, break_in_with: [(f(3),), (f(100),)], try_finally_state: BOTH, return_in_try_finally: BOTH,
    try_else: BOTH, suppressed: BOTH, walrus_in_if: BOTH, walrus_in_while: [(i(9),), (i(0),)], walrus_in_comprehension: ROW,
    star_arguments: [(f(2.5), f(0.5)), (f(-1), f(3))], star_targets: ROW, nonlocal_traced: ROW, nonlocal_two_levels: ROW,
    value_before_target: [(a(1, -2, 3), i(0)), (a(1, 2, 3), i(1))], call_in_comparison: BOTH + [(f(0.3),)],
    nonlocal_in_ternary: BOTH, sibling_binds: BOTH,
    closures_in_list: BOTH, reduce_of_function: ROW, accumulate_of_function: ROW, product_of_lists: [(V, W)], pairwise: ROW,
    deque_as_queue: BOTH, defaultdict_of_sums: ROW, cached_function: BOTH, property_and_classmethod: [(f(1.5),), (f(-4),)],
    class_with_state: ROW, string_building: BOTH, slice_objects: ROW, sorted_by_key: BOTH, try_loop_retry: BOTH,
    early_return_in_nested: ROW, while_else_traced: [(i(k),) for k in (7, 12, 1, 25)],
    for_else_search: [(V, f(3.5)), (V, f(9))], ternary_chain: [(f(2.5),), (f(1.5),), (f(0.5),), (f(-1),)],
    boolean_default: [(f(2), f(1)), (f(-2), f(3)), (f(-2), f(9))], comparisons: [(f(1),), (f(3),)],
    augmented_everything: BOTH, integer_augmented: [(i(2),), (i(7),)], global_counter: BOTH,
}  # fmt: skip
GRADIENTS = {
    generator_with_branch: "reverse", generator_of_pairs: "reverse", generator_delegates: "reverse", sum_matching: "reverse",
    max_matching: "reverse", list_grows_equally: "reverse", list_popped_equally: "reverse", namedtuple_chosen: "reverse",
    namedtuple_in_loop: "forward", dataclass_replaced: "reverse", dataclass_chosen: "reverse", match_sequence: "reverse",
    nonlocal_traced: "reverse", property_and_classmethod: "reverse", class_with_state: "reverse",
}  # fmt: skip

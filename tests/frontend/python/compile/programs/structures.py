"""Functions with data-dependent structure of objects: heaps, trees, lists and dicts that grow, generators, closures."""

from __future__ import annotations

import heapq
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from functools import cache, partial

import lamina as lm
import lamina.numpy as lnp
import numpy as np

X = np.linspace(-1, 2, 6).reshape(2, 3)
Pair = namedtuple("Pair", "left right")


def cache_in_a_dict(compile):
    cache = {}

    @compile
    def table(n):
        if n not in cache:
            cache[n] = lnp.cos(lnp.arange(n) * 0.5)
        return cache[n] * 2

    out = [table(3), table(4), table(3)]
    cache[3] = np.zeros(3)
    return [*out, table(3), sorted(cache)]


def beam_search(compile):
    @compile
    def search(scores, width):
        beams = [(0.0, ())]
        for row in scores:
            logs = lnp.log(lnp.exp(row) / lnp.exp(row).sum())
            values = logs.tolist()
            grown = [(cost - v, (*path, k)) for cost, path in beams for k, v in enumerate(values)]
            beams = heapq.nsmallest(width, grown)
        return [path for _, path in beams], beams[0][0]

    return [search(X, 1), search(X, 2), search(X * 3, 2)]


def tree_sum(compile):
    @compile
    def total(tree, w):
        if isinstance(tree, dict):
            return {k: total(v, w) for k, v in tree.items()}
        if isinstance(tree, list):
            return sum((total(v, w) for v in tree), lnp.zeros(3))
        return lnp.tanh(tree * w)

    a = {"x": X[0], "y": [X[1], X[0]]}
    return [total(a, 2.0), total(a, 3.0), total({"x": X[0], "z": []}, 2.0), total([X[0]], 1.0)]


def recursion_over_nodes(compile):
    class Node:
        def __init__(self, value, left=None, right=None):
            self.value, self.left, self.right = value, left, right

    @compile
    def depth_weighted(node, x, depth):
        if node is None:
            return x * 0
        here = x * node.value / (depth + 1)
        return here + depth_weighted(node.left, x, depth + 1) + depth_weighted(node.right, x, depth + 1)

    tree = Node(1.0, Node(2.0), Node(3.0, Node(4.0)))
    out = [depth_weighted(tree, X, 0)]
    tree.left.value = 7.0
    out.append(depth_weighted(tree, X, 0))
    tree.right.left = None
    out.append(depth_weighted(tree, X, 0))
    tree.left.left = tree.right
    return [*out, depth_weighted(tree, X, 0)]


def grows_a_list(compile):
    @compile
    def prefix(x, limit):
        taken = []
        for row in x:
            taken.append(row * 2)
            if float(sum(t.sum() for t in taken)) > limit:
                break
        return taken, len(taken)

    return [prefix(X, 100.0), prefix(X, -5.0), prefix(X.T, 1.0), prefix(X + 1, 3.0)]


def generator_of_batches(compile):
    def batches(x, size):
        for k in range(0, len(x), size):
            yield x[k : k + size]

    @compile
    def epoch(x, size):
        total = lnp.zeros(3)
        for batch in batches(x, size):
            total = total + lnp.sin(batch).sum(axis=0)
        return total

    return [epoch(np.tile(X, (3, 1)), 2), epoch(np.tile(X, (3, 1)), 3), epoch(X, 2)]


def is_a_generator(compile):
    @compile
    def running(x):
        total = x[0] * 0
        for row in x:
            total = total + lnp.exp(row)
            yield total * 2

    return [list(running(X)), list(running(X.T))]


def list_of_layers(compile):
    layers = [lambda x: x * 2, lnp.tanh]

    @compile
    def network(x):
        for layer in layers:
            x = layer(x) + 1
        return x

    out = [network(X)]
    layers.append(lnp.sin)
    out.append(network(X))
    layers[0] = lambda x: x - 5
    out.append(network(X))
    layers.pop()
    return [*out, network(X)]


def stack_machine(compile):
    @compile
    def evaluate(program, x):
        stack = []
        for word in program.split():
            if word == "x":
                stack.append(x)
            elif word == "+":
                b, a = stack.pop(), stack.pop()
                stack.append(a + b)
            elif word == "*":
                b, a = stack.pop(), stack.pop()
                stack.append(a * b)
            elif word == "!":
                print(end="")
                stack.append(lnp.sin(stack.pop()))
            else:
                stack.append(float(word))
        return stack.pop()

    return [evaluate("x x *", X), evaluate("x 2 + !", X), evaluate("x 2 + x *", X), evaluate("3 4 *", X)]


def counter_by_key(compile):
    @compile
    def grouped(keys, x):
        sums = defaultdict(float)
        for key, row in zip(keys, x, strict=False):
            sums[key] = sums[key] + (row * row).sum()
        return {k: float(v) for k, v in sorted(sums.items())}

    return [grouped(["a", "b"], X), grouped(["a", "a"], X), grouped("aba", X.T)]


def window_in_a_deque(compile):
    window = deque(maxlen=3)

    @compile
    def smooth(x):
        window.append(lnp.tanh(x))
        return sum(window) / len(window)

    return [smooth(X * k) for k in range(5)]


def nonlocal_counter(compile):
    count = 0

    @compile
    def tick(x):
        nonlocal count
        count += 1
        return lnp.cos(x) * count

    return [tick(X), tick(X), tick(X), count]


def inner_nonlocal(compile):
    @compile
    def accumulate(rows):
        total = lnp.zeros(3)
        calls = 0

        def add(row):
            nonlocal total, calls
            total = total + row * row
            calls += 1

        for row in rows:
            add(row)
        return total, calls

    return [accumulate(X), accumulate(X * 2), accumulate(np.tile(X, (2, 1)))]


def closure_is_returned(compile):
    @compile
    def make(x):
        mean = x.mean(axis=0)

        def centered(y):
            return y - mean

        return centered

    return [make(X)(X), make(X + 1)(X)]


def memoized(compile):
    calls = []

    @cache
    def coefficient(k):
        calls.append(k)
        return 1.0 / (k + 1)

    @compile
    def series(x, n):
        total = x * 0
        for k in range(n):
            total = total + x**k * coefficient(k)
        return total

    return [series(X, 2), series(X, 3), series(X, 2), calls]


@dataclass
class State:
    step: int = 0
    best: float = float("inf")
    history: list = field(default_factory=list)


def dataclass_state(compile):
    @compile
    def update(state, w):
        w = w - 0.1 * lnp.sign(w)
        loss = float(lnp.abs(w).sum())
        state.step += 1
        if loss < state.best:
            state.best = loss
            state.history.append((state.step, loss))
        return w

    state, w = State(), X
    for _ in range(4):
        w = update(state, w)
    return [w, state.step, state.best, state.history]


def makes_a_dataclass(compile):
    @compile
    def summary(x):
        y = lnp.sort(x.ravel())
        state = State(step=len(y))
        state.history = [y[0], y[-1]]
        return state.step, state.history, y * 2

    return [summary(X), summary(X.T), summary(X[0])]


def named_tuples(compile):
    @compile
    def swap(pair, times):
        for _ in range(times):
            pair = Pair(pair.right + 1, pair.left * 2)
        return pair

    return [swap(Pair(X, X + 1), 1), swap(Pair(X, X + 1), 2), swap(Pair(X[0], 2.0), 1)]


def dict_order(compile):
    weights = OrderedDict(a=1.0, b=2.0)

    @compile
    def combine(x):
        for name, w in weights.items():
            x = lnp.sin(x) * w if name == "a" else x + w
        return x

    out = [combine(X)]
    weights.move_to_end("a")
    out.append(combine(X))
    weights["b"] = 5.0
    return [*out, combine(X)]


def optional_arguments(compile):
    @compile
    def attend(q, k=None, mask=None, *extra, scale=1.0, **options):
        k = q if k is None else k
        s = q @ k.T * scale
        if mask is not None:
            s = lnp.where(mask, s, -1e9)
        for e in extra:
            s = s + e
        if options.get("log"):
            options["log"].append(s.shape)
        return lnp.exp(s - s.max(axis=-1, keepdims=True))

    seen = []
    return [
        attend(X), attend(X, X + 1), attend(X, mask=np.eye(2) > 0), attend(X, None, None, 1.0, X[:, :2]),
        attend(X, scale=0.5), attend(X, log=seen), attend(X, scale=2.0, log=seen), seen,
    ]  # fmt: skip


def partial_functions(compile):
    def affine(x, a, b):
        return x * a + b

    steps = [partial(affine, a=2.0, b=1.0), partial(affine, b=3.0, a=0.5)]

    @compile
    def chain(x):
        for step in steps:
            x = lnp.tanh(step(x))
        return x

    out = [chain(X)]
    steps.reverse()
    return [*out, chain(X)]


def sorts_by_value(compile):
    @compile
    def ranked(named):
        scores = {name: (x * x).sum() for name, x in named.items()}
        best = sorted(scores, key=lambda name: float(scores[name]))
        return best, [scores[name] for name in best]

    return [ranked({"a": X, "b": X[0]}), ranked({"a": X[0], "b": X}), ranked({"c": X})]


def grad_inside(compile):
    @compile
    def step(w, x):
        def loss(w):
            return ((x @ w - 1) ** 2).mean()

        value, slope = lm.value_and_grad(loss)(w)
        if float(value) > 5:
            slope = slope / 10
        return w - 0.1 * slope

    return [step(np.ones(3), X), step(np.ones(3) * 10, X), step(np.zeros(3), X)]

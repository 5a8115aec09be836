"""Functions that read values: logging, conversion, early stopping, libraries between graphs. Each is given what compiles a
function, makes its own state, and returns all that can be seen of a sequence of calls."""

from __future__ import annotations

import io
import json
import logging
import math
import random
import tempfile
import time
from pathlib import Path

import lamina as lm
import lamina.numpy as lnp
import numpy as np

X = np.linspace(-1, 2, 6).reshape(2, 3)
THRESHOLD = 1.0


def logs_to_a_list(compile):
    seen = []

    @compile
    def step(x, rate):
        y = lnp.tanh(x) * rate
        loss = (y * y).sum()
        seen.append(f"loss {float(loss):.6f}")
        return y - lnp.mean(y)

    return [step(X, 0.5), step(X, 0.25), step(X[:1], 0.25), step(X.astype(np.float32), 0.5), seen]


def item_in_a_condition(compile):
    @compile
    def clip(x, limit):
        norm = lnp.sqrt((x * x).sum()).item()
        if norm > limit:
            return x * (limit / norm), True
        return x, False

    return [clip(X, 10.0), clip(X, 1.0), clip(2 * X, 1.0), clip(X[0], 1)]


def early_stopping(compile):
    @compile
    def fit(w, steps, tolerance):
        history = []
        for k in range(steps):
            grad = 2 * (w - 3)
            w = w - 0.25 * grad
            loss = float(((w - 3) ** 2).sum())
            history.append(loss)
            if loss < tolerance:
                return w, k, history
        return w, steps, history

    return [fit(X, 20, 1e-3), fit(X, 3, 1e-9), fit(X[0], 20, 1e-2)]


def prints_every_k_steps(compile):
    out = io.StringIO()

    @compile
    def train(w, steps, every):
        for k in range(steps):
            w = w * 0.9 + lnp.sin(w) * 0.01
            if k % every == 0:
                print("step", k, "norm", round(float(lnp.abs(w).max()), 6), file=out)
        return w

    return [train(X, 4, 2), train(X, 5, 3), out.getvalue()]


def numpy_between(compile):
    @compile
    def order(x):
        y = lnp.exp(x) - 1
        ranks = np.argsort(np.asarray(y).ravel(), kind="stable")
        z = y.ravel() * 2
        return z[ranks].cumsum()

    return [order(X), order(X[::-1]), order(-X)]


def asarray_of_a_library(compile):
    def smooth(values):
        return np.convolve(np.asarray(values), [0.25, 0.5, 0.25], mode="same")

    @compile
    def f(x):
        a = lnp.cos(x).ravel()
        b = smooth(a)
        return lnp.asarray(b) * a

    return [f(X), f(X * 2), f(X[0])]


def raises_on_a_value(compile):
    @compile
    def positive_log(x):
        if (x <= 0).any():
            raise ValueError(f"not positive: {float(x.min())}")
        return lnp.log(x) * 2

    out = []
    for x in (X, np.abs(X) + 1, X + 5, -X):
        try:
            out.append(positive_log(x))
        except ValueError as error:
            out.append(str(error))
    return out


def catches_an_exception(compile):
    @compile
    def safe(x, divisor):
        y = lnp.sin(x) + 1
        try:
            ratio = 10 // divisor
        except ZeroDivisionError:
            ratio = -1
        return y * ratio

    return [safe(X, 3), safe(X, 0), safe(X, 2), safe(X, 0)]


def asserts_values(compile):
    @compile
    def normalize(x):
        total = x.sum()
        assert total > 0, f"sum is {float(total)}"
        return x / total

    out = []
    for x in (X, -X, X + 1):
        try:
            out.append(normalize(x))
        except AssertionError as error:
            out.append(str(error))
    return out


def python_random(compile):
    rng = random.Random(3)

    @compile
    def augment(x):
        y = x * 2 + 1
        if rng.random() < 0.5:
            y = y[::-1]
        return lnp.sqrt(lnp.abs(y)) * rng.randint(1, 3)

    return [augment(X) for _ in range(6)]


def module_random(compile):
    @compile
    def drop(x, p):
        keep = random.random() > p
        return lnp.exp(-x) * (1.0 if keep else 0.0)

    random.seed(5)
    return [drop(X, 0.5) for _ in range(5)]


def measures_time(compile):
    @compile
    def timed(x):
        start = time.perf_counter()
        y = lnp.tanh(x @ x.T)
        passed = time.perf_counter() - start
        return y, passed >= 0

    return [timed(X), timed(X + 1)]


def reads_a_file(compile):
    folder = Path(tempfile.mkdtemp())

    @compile
    def scaled(x, name):
        y = x - x.mean()
        factor = float((folder / name).read_text())
        return y * factor

    (folder / "a").write_text("2.5")
    first = scaled(X, "a")
    (folder / "a").write_text("-1")
    return [first, scaled(X, "a")]


def json_config(compile):
    text = ['{"depth": 2, "scale": 0.5}']

    @compile
    def run(x):
        config = json.loads(text[0])
        for _ in range(config["depth"]):
            x = lnp.sin(x) * config["scale"]
        return x + config.get("shift", 0)

    out = [run(X)]
    text[0] = '{"depth": 3, "scale": 0.25, "shift": 4}'
    out.append(run(X))
    text[0] = '{"depth": 0, "scale": 1}'
    return [*out, run(X)]


def standard_logging(compile):
    stream = io.StringIO()
    logger = logging.getLogger("lamina.test.compile")
    logger.propagate = False
    logger.handlers = [logging.StreamHandler(stream)]
    logger.setLevel(logging.INFO)

    @compile
    def forward(x, w):
        hidden = lnp.maximum(x @ w, 0)
        logger.info("active %d of %d", int((hidden > 0).sum()), hidden.size)
        logger.debug("not shown")
        return hidden.sum(axis=0)

    w = np.arange(6.0).reshape(3, 2) - 2
    return [forward(X, w), forward(-X, w), stream.getvalue()]


def formats_a_table(compile):
    @compile
    def table(x):
        means = (x * x).mean(axis=1)
        lines = [f"{k}: {float(m):.3f}" for k, m in enumerate(means)]
        return "\n".join(lines), means + 1

    return [table(X), table(X.T), table(X * 10)]


def threshold_of_the_module(compile):
    global THRESHOLD
    THRESHOLD = 1.0

    @compile
    def count(x):
        above = (x > THRESHOLD).sum()
        return int(above), lnp.where(x > THRESHOLD, x, THRESHOLD)

    out = [count(X)]
    THRESHOLD = 0.0
    out.append(count(X))
    THRESHOLD = 2
    out.append(count(X))
    THRESHOLD = 1.0
    return [*out, count(X)]


def math_of_a_value(compile):
    @compile
    def entropy(p):
        q = p / p.sum()
        total = 0.0
        for value in q.tolist():
            if value > 0:
                total -= value * math.log(value)
        return total, lnp.log(q + 1)

    return [entropy(np.array([1.0, 2.0, 3.0])), entropy(np.array([1.0, 0.0])), entropy(np.ones(4))]


def newton_with_a_float(compile):
    @compile
    def root(a):
        x = a
        for step in range(50):
            new = (x + a / x) / 2
            if abs(float(new) - float(x)) < 1e-12:
                break
            x = new
        return x, step

    return [root(np.float64(2.0)), root(np.float64(9.0)), root(np.array(5.0))]


def histogram_of_words(compile):
    vocabulary = {"a": 0, "b": 1, "c": 2}

    @compile
    def embed(text, table):
        ids = []
        for word in text.split():
            if word not in vocabulary:
                vocabulary[word] = len(vocabulary)
            ids.append(vocabulary[word] % len(table))
        rows = table[np.array(ids)]
        return rows.sum(axis=0) / len(ids), len(vocabulary)

    table = np.arange(12.0).reshape(4, 3)
    return [embed("a b c", table), embed("a d", table), embed("d e f a", table), sorted(vocabulary)]


def power_iteration(compile):
    @compile
    def largest(a, v):
        last, count = None, 0
        while True:
            v = a @ v
            norm = float(lnp.linalg.norm(v))
            v = v / norm
            count += 1
            if (last is not None and abs(norm - last) < 1e-10) or count > 60:
                return norm, v, count
            last = norm

    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    return [largest(a, np.ones(2)), largest(a * 2, np.ones(2))]


def retries(compile):
    attempts = []

    def flaky(x):
        attempts.append(1)
        if len(attempts) % 3:
            raise OSError("try again")
        return x + len(attempts)

    @compile
    def robust(x):
        y = lnp.exp(x * 0.5)
        for _ in range(5):
            try:
                y = flaky(y)
                break
            except OSError:
                continue
        return y * 2

    return [robust(X), robust(X), len(attempts)]


def uses_a_context(compile):
    @compile
    def quiet(x):
        y = x * 3
        with np.errstate(divide="ignore"):
            z = 1 / np.asarray(y - y)
        return lnp.isinf(z).sum() + y

    return [quiet(X), quiet(X[0])]


def key_of_jax_style_random(compile):
    @compile
    def noisy(key, x, n):
        out = []
        for _ in range(n):
            key, sub = lm.random.split(key)
            out.append(x + lm.random.normal(sub, x.shape))
            if float(out[-1].sum()) > 1e6:
                break
        return lnp.stack(out).mean(axis=0)

    key = lm.random.key(0)
    return [noisy(key, X, 2), noisy(key, X, 3), noisy(lm.random.key(1), X, 2)]

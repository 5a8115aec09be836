"""Solvers, models and iterations that end when they have converged."""

import lamina.numpy as lnp
import numpy as np


def power_iteration(a, v):
    value = 0.0
    while True:
        w = a @ v
        new = lnp.sqrt((w * w).sum())
        v = w / new
        if abs(new - value) < 1e-10:
            return new, v
        value = new


def conjugate_gradient(a, b):
    x = lnp.zeros_like(b)
    r = b - a @ x
    p = r
    rs = r @ r
    steps = 0
    while rs > 1e-12 and steps < 50:
        ap = a @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
        steps += 1
    return x, steps


def jacobi(a, b):
    d = lnp.diag(a)
    x = lnp.zeros_like(b)
    for _ in range(200):
        new = (b - (a @ x - d * x)) / d
        if abs(new - x).max() < 1e-9:
            return new
        x = new
    return x


def gauss_seidel(a, b):
    x = lnp.zeros_like(b)
    error = 1.0
    while error > 1e-9:
        error = 0.0
        for i in range(len(b)):
            old = x[i]
            x[i] = (b[i] - (a[i] * x).sum() + a[i, i] * x[i]) / a[i, i]
            error = max(error, abs(x[i] - old))
    return x


def line_search(w):
    def loss(w):
        return ((w - 3) ** 2).sum() + (w[0] * w[1]) ** 2

    def slope(w):
        return 2 * (w - 3) + 2 * w[0] * w[1] * lnp.stack([w[1], w[0]])

    for _ in range(8):
        g = slope(w)
        t = 1.0
        while loss(w - t * g) > loss(w) - 0.5 * t * (g * g).sum():
            t *= 0.5
            if t < 1e-8:
                break
        w = w - t * g
    return w


def kmeans(x, centers):
    while True:
        distance = ((x[:, None] - centers[None]) ** 2).sum(-1)
        nearest = distance.argmin(1)
        new = centers
        sums = lnp.zeros_like(centers)
        counts = lnp.zeros(len(centers))
        for i in range(len(x)):
            sums[nearest[i]] += x[i]
            counts[nearest[i]] += 1
        new = sums / lnp.maximum(counts, 1)[:, None]
        if abs(new - centers).max() < 1e-9:
            break
        centers = new
    return centers, nearest


def euler_until(y, limit):
    t, dt = 0.0, 0.05
    while y < limit and t < 5:
        y += dt * y * (1 - 0.1 * y)
        t += dt
    return t, y


def rk45(y, end):
    def f(t, y):
        return -2 * y + t

    t, h = 0.0, 0.5
    rejected = 0
    while t < end:
        if t + h > end:
            h = end - t
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + 3 * h / 4, y + 3 * h / 4 * k2)
        new = y + h / 9 * (2 * k1 + 3 * k2 + 4 * k3)
        k4 = f(t + h, new)
        error = abs(h * (-5 / 72 * k1 + k2 / 12 + k3 / 9 - k4 / 8))
        if error < 1e-5:
            t, y = t + h, new
        else:
            rejected += 1
        h = h * min(2.0, max(0.3, 0.9 * (1e-5 / (error + 1e-30)) ** (1 / 3)))
    return y, rejected


def bouncing_ball(height, velocity):
    bounces = 0
    for _ in range(60):
        velocity -= 0.5
        height += velocity * 0.1
        if height < 0:
            height = -height
            velocity = -0.8 * velocity
            bounces += 1
    return height, velocity, bounces


def predator_prey(x, y):
    for _ in range(20):
        x, y = x + 0.1 * x * (1 - y), y + 0.1 * y * (x - 1)
        if x < 0.5:
            x = x * 0 + 0.5
    return x, y


def early_exit_network(x, weights):
    depth = 0
    for w in weights:
        x = lnp.tanh(x @ w)
        depth += 1
        if abs(x).max() > 0.9:
            break
    return x, depth


def layers_as_list(x, w1, w2, w3):
    for k, w in enumerate([w1, w2, w3]):
        h = x @ w
        if h.sum() > 0:
            x = lnp.maximum(h, 0)
        elif k < 2:
            x = lnp.tanh(h)
        else:
            x = h
    return x


def beam_search(logits, width):
    steps, words = logits.shape
    scores = lnp.zeros(3)
    for k in range(3):
        if k >= width:
            scores[k] = -1e9
    words_of = lnp.zeros((3, steps), int)
    for t in range(steps):
        total = (scores[:, None] + logits[t][None, :]).reshape(-1)
        best = lnp.argsort(-total)[:3]
        chosen = words_of[best // words]
        words_of = lnp.zeros_like(words_of)
        for k in range(3):
            for s in range(steps):
                if s < t:
                    words_of[k, s] = chosen[k, s]
            words_of[k, t] = best[k] % words
        scores = total[best]
    return scores, words_of


def greedy_decode(logits, stop):
    out = lnp.full(logits.shape[0], -1)
    previous = 0
    for t in range(logits.shape[0]):
        word = logits[t, previous].argmax()
        if word == stop:
            break
        out[t] = word
        previous = word
    return out


def perceptron(x, y):
    w = lnp.zeros(x.shape[1])
    mistakes = 1
    rounds = 0
    while mistakes > 0 and rounds < 20:
        mistakes = 0
        for xi, yi in zip(x, y):
            if yi * (w @ xi) <= 0:
                w = w + yi * xi
                mistakes += 1
        rounds += 1
    return w, rounds


def random_walk(steps, noise):
    position, furthest = 0, 0
    for k in range(steps):
        position += 1 if noise[k] > 0.5 else -1
        furthest = max(furthest, abs(position))
    return position, furthest


def metropolis(x, noise, accept):
    accepted = 0
    for step, u in zip(noise, accept):
        new = x + step
        if lnp.exp(x * x / 2 - new * new / 2) > u:
            x = new
            accepted += 1
    return x, accepted


def decision_forward(states, actions, rewards=None, mask=None):
    total = lnp.zeros(states.shape[1])
    for t in range(states.shape[0]):
        h = lnp.tanh(states[t])
        if actions[t] > 0:
            h = h * 2
        if rewards is not None:
            h = h + rewards[t]
        if mask is not None and mask[t] == 0:
            continue
        total = 0.5 * total + h
    return total


def gated(x, gate, training=False):
    if training:
        x = x * 0.5
    if gate > 0:
        x = lnp.exp(-x)
    return x.sum() if x.sum() > 1 else x.mean()


def masked_softmax(x, n):
    largest = -lnp.inf
    for i in range(len(x)):
        if i < n and x[i] > largest:
            largest = x[i]
    total = 0.0
    for i in range(len(x)):
        if i < n:
            total += lnp.exp(x[i] - largest)
    out = lnp.zeros_like(x)
    for i in range(len(x)):
        if i < n:
            out[i] = lnp.exp(x[i] - largest) / total
    return out


def rnn_until(x, w, limit):
    h = lnp.zeros(w.shape[0])
    for t in range(x.shape[0]):
        h = lnp.tanh(w @ h + x[t])
        if lnp.sqrt((h * h).sum()) > limit:
            return h, t
    return h, x.shape[0]


def pid(target, steps):
    value = total = last = 0.0
    for _ in range(steps):
        error = target - value
        total += error * 0.1
        if total > 2:
            total = 2.0
        value += 0.1 * (1.2 * error + 0.5 * total + 0.05 * (error - last))
        last = error
    return value


def simpson_adaptive(a, b):
    def f(x):
        return lnp.sin(x) * x

    total = 0.0
    h = (b - a) / 4
    x = a
    while x < b - 1e-12:
        coarse = h / 6 * (f(x) + 4 * f(x + h / 2) + f(x + h))
        fine = h / 12 * (f(x) + 4 * f(x + h / 4) + 2 * f(x + h / 2) + 4 * f(x + 3 * h / 4) + f(x + h))
        if abs(fine - coarse) < 1e-6:
            total += fine
            x += h
            if x + h > b:
                h = b - x
        else:
            h = h / 2
    return total


def nelder_1d(x):
    step = 1.0
    best = (x - 1.5) ** 2
    while step > 1e-4:
        improved = False
        for direction in (-1, 1):
            new = x + direction * step
            value = (new - 1.5) ** 2
            if value < best:
                x, best = new, value
                improved = True
                break
        if not improved:
            step /= 2
    return x, best


def householder_sign(v):
    alpha = lnp.sqrt((v * v).sum())
    if v[0] > 0:
        alpha = -alpha
    v = v.copy()
    v[0] -= alpha
    return v


def cholesky(a):
    n = a.shape[0]
    out = lnp.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if i == j:
                out[i, j] = lnp.sqrt(total)
            else:
                out[i, j] = total / out[j, j]
    return out


def adam(w, steps):
    m, v = lnp.zeros_like(w), lnp.zeros_like(w)
    for t in range(1, steps + 1):
        g = 2 * (w - 1)
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        w = w - 0.1 * (m / (1 - 0.9**t)) / (lnp.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return w


def parameters_as_tree(params, steps):
    for _ in range(steps):
        if params["w"].sum() > 1:
            params = {"w": params["w"] * 0.5, "b": params["b"]}
        else:
            params = {"w": params["w"], "b": params["b"] + 1}
    return params


def parameters_in_place(params, rate):
    for name in params:
        if params[name].sum() > 1:
            params[name] = params[name] - rate
    return params


def tuple_state(x, n):
    state = (x, x * 0, 0)
    while state[2] < n:
        a, b, k = state
        state = (a * 0.5 + b, a, k + 1)
    return state


rng = np.random.default_rng(5)
A = rng.normal(size=(4, 4))
SPD = A @ A.T + 4 * np.eye(4)
f, i = np.float64, np.int64
CASES = {
    power_iteration: [(SPD, np.ones(4))],
    conjugate_gradient: [(SPD, rng.normal(size=4))],
    jacobi: [(SPD + 8 * np.eye(4), rng.normal(size=4))],
    gauss_seidel: [(SPD, rng.normal(size=4))],
    line_search: [(np.array([0.5, -1.0]),)],
    kmeans: [(rng.normal(size=(8, 2)), rng.normal(size=(2, 2)))],
    euler_until: [(f(0.5), f(3))],
    rk45: [(f(1), f(2))],
    bouncing_ball: [(f(1), f(0))],
    predator_prey: [(f(1.5), f(1))],
    early_exit_network: [(rng.normal(size=3), rng.normal(size=(6, 3, 3))), (np.full(3, 5.0), np.ones((6, 3, 3)))],
    layers_as_list: [(rng.normal(size=3), *rng.normal(size=(3, 3, 3)))],
    beam_search: [(rng.normal(size=(3, 4)), i(2))],
    greedy_decode: [(rng.normal(size=(4, 3, 3)), i(1))],
    perceptron: [(np.array([[1.0, 2, 1], [2, 1, 1], [-1, -2, 1], [-2, 0, 1]]), np.array([1.0, 1, -1, -1]))],
    random_walk: [(i(12), rng.random(12))],
    metropolis: [(f(0.5), rng.normal(size=8), rng.random(8))],
    decision_forward: [
        (rng.normal(size=(6, 3)), np.array([1, -1, 1, 1, 0, 1])),
        (rng.normal(size=(6, 3)), np.array([1, -1, 1, 1, 0, 1]), rng.normal(size=(6, 3)), np.array([1, 0, 1, 1, 1, 0])),
    ],
    gated: [(rng.random(3), f(1)), (rng.random(3), f(-1))],
    masked_softmax: [(rng.normal(size=6), i(4))],
    rnn_until: [(rng.normal(size=(7, 2)), rng.normal(size=(2, 2)), f(1.1))],
    pid: [(f(1), i(25))],
    simpson_adaptive: [(f(0), f(3))],
    nelder_1d: [(f(0),)],
    householder_sign: [(rng.normal(size=3),)],
    cholesky: [(SPD,)],
    adam: [(np.array([3.0, -1]), i(6))],
    parameters_as_tree: [({"w": np.array([2.0, 3.0]), "b": np.array(1.0)}, i(4))],
    parameters_in_place: [({"w": np.array([2.0, 3.0]), "b": np.array([0.5])}, f(0.5))],
    tuple_state: [(np.array([1.0, 2.0]), i(5))],
}
GRADIENTS = {
    conjugate_gradient: "forward", euler_until: "forward", bouncing_ball: "reverse", predator_prey: "reverse",
    early_exit_network: "reverse", layers_as_list: "reverse", decision_forward: "reverse", gated: "reverse",
    masked_softmax: "reverse", rnn_until: "reverse", householder_sign: "reverse", cholesky: "reverse", pid: "forward",
    adam: "forward", tuple_state: "forward",
}  # fmt: skip

"""Twelve programs as people write them in jax: each a function under `jit`, with its arguments.

`benchmarks/bench_programs.py` measures their first calls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn, random

Case = tuple[Callable[..., Any], tuple[Any, ...]]
Tree = Any


def _normal(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)


def _adam(params: Tree, grads: Tree, state: Tree, rate: float = 1e-3) -> tuple[Tree, Tree]:
    first, second, count = state
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
    scales = 1 - 0.9**count, 1 - 0.999**count

    def step(p: Any, m: Any, v: Any) -> Any:
        return p - rate * (m / scales[0]) / (jnp.sqrt(v / scales[1]) + 1e-6)

    return jax.tree.map(step, params, first, second), (first, second, count)


def _adam_state(params: Tree) -> Tree:
    zeros = jax.tree.map(np.zeros_like, params)
    return zeros, zeros, np.float32(0)


# --------------------------------------------------------------------------------------------------------------------
# A linear dynamical system


def _filtered(model: Tree, observed: Any) -> tuple[Any, ...]:
    """The Kalman filter: means and covariances before and after each observation, and the likelihood."""
    a, c, q, r, mean, cov = (model[name] for name in ("a", "c", "q", "r", "mean", "cov"))

    def step(carry: Any, y: Any) -> Any:
        mean, cov = carry
        s = c @ cov @ c.T + r
        residual = y - c @ mean
        gain = jnp.linalg.solve(s, c @ cov).T
        _, logdet = jnp.linalg.slogdet(s)
        likelihood = -0.5 * (residual @ jnp.linalg.solve(s, residual) + logdet + len(y) * jnp.log(2 * jnp.pi))
        after, cov_after = mean + gain @ residual, cov - gain @ c @ cov
        return (a @ after, a @ cov_after @ a.T + q), (mean, cov, after, cov_after, likelihood)

    return lax.scan(step, (mean, cov), observed)[1]


def _smoothed(model: Tree, observed: Any) -> tuple[Any, ...]:
    """The Rauch-Tung-Striebel smoother."""
    before, covs_before, after, covs_after, likelihoods = _filtered(model, observed)
    a = model["a"]

    def step(carry: Any, given: Any) -> Any:
        mean_next, cov_next = carry
        after, cov_after, before_next, cov_before_next = given
        gain = jnp.linalg.solve(cov_before_next, a @ cov_after).T
        mean = after + gain @ (mean_next - before_next)
        cov = cov_after + gain @ (cov_next - cov_before_next) @ gain.T
        return (mean, cov), (mean, cov, gain @ cov_next)

    last = after[-1], covs_after[-1]
    given = after[:-1], covs_after[:-1], before[1:], covs_before[1:]
    means, covs, lags = lax.scan(step, last, given, reverse=True)[1]
    means = jnp.concatenate([means, last[0][None]])
    covs = jnp.concatenate([covs, last[1][None]])
    return means, covs, lags, likelihoods.sum()


def _maximized(model: Tree, observed: Any) -> tuple[Tree, Any]:
    """One step of expectation and maximization."""
    means, covs, lags, likelihood = _smoothed(model, observed)
    second = covs + means[:, :, None] * means[:, None, :]
    cross = (lags + means[:-1, :, None] * means[1:, None, :]).sum(0).T
    a = jnp.linalg.solve(second[:-1].sum(0), cross.T).T
    q = (second[1:].sum(0) - a @ cross.T) / (len(means) - 1)
    seen = jnp.einsum("ti,tj->ij", observed, means)
    c = jnp.linalg.solve(second.sum(0), seen.T).T
    r = (jnp.einsum("ti,tj->ij", observed, observed) - c @ seen.T) / len(means)
    new = {"a": a, "c": c, "q": 0.5 * (q + q.T), "r": 0.5 * (r + r.T), "mean": means[0], "cov": covs[0]}
    return new, likelihood


def _linear_system() -> tuple[Tree, np.ndarray]:
    eye = np.eye(4, dtype=np.float32)
    turn = 0.95 * (eye + 0.1 * _normal(0, 4, 4))
    mean = np.zeros(4, np.float32)
    model = {"a": turn, "c": _normal(1, 2, 4), "q": 0.1 * eye, "r": 0.5 * eye[:2, :2], "mean": mean, "cov": eye}
    return model, _normal(2, 40, 2)


def kalman_em() -> Case:
    """A Kalman smoother and five steps of EM."""

    def fit(model: Tree, observed: Any) -> Any:
        return lax.scan(lambda model, _: _maximized(model, observed), model, None, length=5)

    return fit, _linear_system()


def kalman_gradient() -> Case:
    """The gradient of the likelihood of a filter, and of smoothed means, by all matrices."""

    def loss(model: Tree, observed: Any) -> Any:
        means, covs, _, likelihood = _smoothed(model, observed)
        return -likelihood / 40 + 0.01 * (means**2).sum() + 0.01 * jnp.trace(covs.sum(0))

    return jax.value_and_grad(loss), _linear_system()


# --------------------------------------------------------------------------------------------------------------------
# Language models

WIDTH, HEADS, LAYERS, CONTEXT, WORDS = 32, 4, 2, 24, 50


def _gpt() -> Tree:
    def layer(seed: int) -> Tree:
        return {
            "qkv": _normal(seed, WIDTH, 3 * WIDTH, scale=0.1),
            "out": _normal(seed + 1, WIDTH, WIDTH, scale=0.1),
            "up": _normal(seed + 2, WIDTH, 4 * WIDTH, scale=0.1),
            "down": _normal(seed + 3, 4 * WIDTH, WIDTH, scale=0.1),
            "scale": np.ones((2, WIDTH), np.float32),
        }

    layers = [layer(10 * k) for k in range(LAYERS)]
    return {"words": _normal(100, WORDS, WIDTH, scale=0.1), "places": _normal(101, CONTEXT, WIDTH, scale=0.1), "layers": layers}


def _normed(x: Any, scale: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * scale


def _heads(x: Any) -> Any:
    return x.reshape(*x.shape[:-1], HEADS, WIDTH // HEADS)


def _block(layer: Tree, x: Any, attend: Callable[[Any, Any, Any], Any]) -> Any:
    q, k, v = jnp.split(_normed(x, layer["scale"][0]) @ layer["qkv"], 3, axis=-1)
    x = x + attend(_heads(q), _heads(k), _heads(v)).reshape(x.shape) @ layer["out"]
    return x + nn.gelu(_normed(x, layer["scale"][1]) @ layer["up"]) @ layer["down"]


def _causal(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(WIDTH // HEADS).astype(np.float32)
    mask = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(jnp.where(mask, scores, -1e9)), v)


def gpt_training() -> Case:
    """A training step of a small transformer, with Adam."""

    def loss(params: Tree, tokens: Any) -> Any:
        x = params["words"][tokens[:, :-1]] + params["places"][: tokens.shape[1] - 1]
        for layer in params["layers"]:
            x = _block(layer, x, _causal)
        scores = nn.log_softmax(x @ params["words"].T)
        return -jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1).mean()

    def step(params: Tree, state: Tree, tokens: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, tokens)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), grads)
        return *_adam(params, grads, state), value

    params = _gpt()
    tokens = np.random.default_rng(0).integers(0, WORDS, (4, CONTEXT)).astype(np.int32)
    return step, (params, _adam_state(params), tokens)


def gpt_cached() -> Case:
    """Words that a transformer writes, one after the other, with a cache of keys and values."""

    def attend(cache: Any, place: Any, written: list[Any], q: Any, k: Any, v: Any) -> Any:
        keys, values = (lax.dynamic_update_slice(old, new, (0, place, 0, 0)) for old, new in zip(cache, (k, v), strict=True))
        written.append((keys, values))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys) / np.sqrt(WIDTH // HEADS).astype(np.float32)
        scores = jnp.where(jnp.arange(CONTEXT) <= place, scores, -1e9)
        return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), values)

    def write(params: Tree, first: Any) -> Any:
        def step(carry: Any, place: Any) -> Any:
            caches, token = carry
            written: list[Any] = []
            x = params["words"][token][:, None] + params["places"][place]
            for layer, cache in zip(params["layers"], caches, strict=True):
                x = _block(layer, x, partial(attend, cache, place, written))
            scores = (x @ params["words"].T)[:, 0]
            token = jnp.argmax(scores, axis=-1).astype(jnp.int32)
            return (written, token), (token, scores.max(-1))

        empty = jnp.zeros((len(first), CONTEXT, HEADS, WIDTH // HEADS), jnp.float32)
        caches = [(empty, empty) for _ in params["layers"]]
        return lax.scan(step, (caches, first), jnp.arange(CONTEXT))[1]

    return write, (_gpt(), np.array([1, 7, 30], np.int32))


def hidden_markov() -> Case:
    """Forward and backward passes of a hidden Markov model, its posterior, its best path, and a gradient."""

    def forward(start: Any, move: Any, scores: Any) -> tuple[Any, Any]:
        def step(alpha: Any, score: Any) -> Any:
            alpha = nn.logsumexp(alpha[:, None] + move, axis=0) + score
            return alpha, alpha

        first = start + scores[0]
        _, rest = lax.scan(step, first, scores[1:])
        alphas = jnp.concatenate([first[None], rest])
        return alphas, nn.logsumexp(alphas[-1])

    def run(params: Tree, symbols: Any) -> Any:
        start, move = nn.log_softmax(params["start"]), nn.log_softmax(params["move"])

        def likelihood(params: Tree) -> Any:
            scores = nn.log_softmax(params["emit"]).T[symbols]
            return forward(nn.log_softmax(params["start"]), nn.log_softmax(params["move"]), scores)[1]

        scores = nn.log_softmax(params["emit"]).T[symbols]
        alphas, total = forward(start, move, scores)

        def back(beta: Any, score: Any) -> Any:
            new = nn.logsumexp(move + score + beta, axis=1)
            return new, beta

        first, betas = lax.scan(back, jnp.zeros(len(start)), scores[1:], reverse=True)
        posterior = nn.softmax(alphas + jnp.concatenate([first[None], betas]))

        def best(delta: Any, score: Any) -> Any:
            ways = delta[:, None] + move
            return ways.max(0) + score, ways.argmax(0)

        last, pointers = lax.scan(best, start + scores[0], scores[1:])
        _, path = lax.scan(lambda state, row: (row[state], state), last.argmax(), pointers, reverse=True)
        return total, posterior, path, jax.grad(likelihood)(params)

    params = {"start": _normal(0, 6), "move": _normal(1, 6, 6), "emit": _normal(2, 6, 9)}
    return run, (params, np.random.default_rng(3).integers(0, 9, 50).astype(np.int32))


# --------------------------------------------------------------------------------------------------------------------
# Samples and rollouts


def diffusion() -> Case:
    """A training step of a denoising model, and samples of it."""
    steps = 20

    def denoise(params: Tree, x: Any, time: Any) -> Any:
        angles = time[:, None] * jnp.exp(-jnp.arange(8.0) * 0.5)
        h = jnp.concatenate([x, jnp.sin(angles), jnp.cos(angles)], axis=-1)
        for weight, bias in params[:-1]:
            h = nn.silu(h @ weight + bias)
        return h @ params[-1][0] + params[-1][1]

    def train_and_sample(params: Tree, state: Tree, x: Any, key: Any) -> Any:
        betas = jnp.linspace(1e-3, 0.2, steps)
        kept = jnp.cumprod(1 - betas)
        key, of_time, of_noise, of_start = random.split(key, 4)
        time = random.randint(of_time, (len(x),), 0, steps)
        noise = random.normal(of_noise, x.shape)

        def loss(params: Tree) -> Any:
            level = kept[time][:, None]
            guess = denoise(params, jnp.sqrt(level) * x + jnp.sqrt(1 - level) * noise, time.astype(jnp.float32))
            return ((guess - noise) ** 2).mean()

        value, grads = jax.value_and_grad(loss)(params)
        params, state = _adam(params, grads, state)

        def step(carry: Any, t: Any) -> Any:
            y, key = carry
            key, sub = random.split(key)
            guess = denoise(params, y, jnp.full((len(y),), t, jnp.float32))
            mean = (y - betas[t] / jnp.sqrt(1 - kept[t]) * guess) / jnp.sqrt(1 - betas[t])
            y = jnp.where(t > 0, mean + jnp.sqrt(betas[t]) * random.normal(sub, y.shape), mean)
            return (y, key), None

        (samples, _), _ = lax.scan(step, (random.normal(of_start, (8, 2)), key), jnp.arange(steps), reverse=True)
        return params, state, value, samples

    sizes = (18, 32, 32, 2)
    params = [(_normal(k, a, b, scale=0.3), np.zeros(b, np.float32)) for k, (a, b) in enumerate(pairwise(sizes))]
    return train_and_sample, (params, _adam_state(params), _normal(9, 16, 2), random.PRNGKey(0))


def ppo() -> Case:
    """Rollouts of a policy in a simulated world, advantages, and updates with a clipped objective."""

    def act(params: Tree, seen: Any) -> tuple[Any, Any]:
        hidden = jnp.tanh(jnp.tanh(seen @ params["in"]) @ params["hidden"])
        return hidden @ params["policy"], (hidden @ params["value"])[..., 0]

    def world(state: Any, action: Any, key: Any) -> tuple[Any, Any, Any]:
        place, speed = state
        speed = jnp.clip(speed + 0.05 * (action - 1) - 0.01 * jnp.cos(3 * place), -0.3, 0.3)
        place = place + speed
        is_done = jnp.abs(place) > 1
        fresh = random.uniform(key, (), jnp.float32, -0.5, 0.5)
        return (jnp.where(is_done, fresh, place), jnp.where(is_done, 0.0, speed)), -jnp.abs(place), is_done

    def rollout(params: Tree, key: Any) -> Any:
        key, sub = random.split(key)

        def step(carry: Any, _: Any) -> Any:
            state, key = carry
            key, of_action, of_world = random.split(key, 3)
            seen = jnp.stack(state)
            scores, value = act(params, seen)
            action = random.categorical(of_action, scores)
            state, reward, is_done = world(state, action, of_world)
            return (state, key), (seen, action, nn.log_softmax(scores)[action], value, reward, is_done)

        start = random.uniform(sub, (), jnp.float32, -0.5, 0.5), jnp.float32(0)
        return lax.scan(step, (start, key), None, length=16)[1]

    def advantages(values: Any, rewards: Any, dones: Any) -> Any:
        def step(carry: Any, given: Any) -> Any:
            total, following = carry
            value, reward, is_done = given
            goes_on = 1.0 - is_done
            total = reward + 0.99 * following * goes_on - value + 0.95 * 0.99 * goes_on * total
            return (total, value), total

        return lax.scan(step, (jnp.float32(0), values[-1]), (values, rewards, dones), reverse=True)[1]

    def loss(params: Tree, seen: Any, actions: Any, before: Any, gains: Any, goals: Any) -> Any:
        scores, values = act(params, seen)
        logs = nn.log_softmax(scores)
        ratio = jnp.exp(jnp.take_along_axis(logs, actions[:, None], axis=1)[:, 0] - before)
        policy = -jnp.minimum(ratio * gains, jnp.clip(ratio, 0.8, 1.2) * gains).mean()
        return policy + 0.5 * ((values - goals) ** 2).mean() + 0.01 * (jnp.exp(logs) * logs).sum(1).mean()

    def train(params: Tree, state: Tree, key: Any) -> Any:
        seen, actions, logs, values, rewards, dones = jax.vmap(rollout, (None, 0))(params, random.split(key, 8))
        gains = jax.vmap(advantages)(values, rewards, dones)
        flat = [x.reshape(-1, *x.shape[2:]) for x in (seen, actions, logs, gains, gains + values)]
        flat[3] = (flat[3] - flat[3].mean()) / (flat[3].std() + 1e-6)

        def epoch(carry: Any, _: Any) -> Any:
            params, state = carry
            value, grads = jax.value_and_grad(loss)(params, *flat)
            return _adam(params, grads, state), value

        return lax.scan(epoch, (params, state), None, length=3)

    shapes = {"in": (2, 16), "hidden": (16, 16), "policy": (16, 3), "value": (16, 1)}
    params = {name: _normal(k, *shape, scale=0.4) for k, (name, shape) in enumerate(shapes.items())}
    return train, (params, _adam_state(params), random.PRNGKey(1))


# --------------------------------------------------------------------------------------------------------------------
# Others


def translation() -> Case:
    """A training step of two LSTMs, one of which reads and the other writes with attention."""
    width, words = 16, 20

    def cell(weights: Any, carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ weights[0] + weights[1], 4, axis=-1)
        c = nn.sigmoid(f + 1) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def loss(params: Tree, source: Any, target: Any) -> Any:
        start = jnp.zeros((len(source), width)), jnp.zeros((len(source), width))
        state, read = lax.scan(partial(cell, params["reader"]), start, params["words"][source].swapaxes(0, 1))

        def write(carry: Any, x: Any) -> Any:
            carry, h = cell(params["writer"], carry, x)
            weights = nn.softmax(jnp.einsum("bd,tbd->bt", h, read))
            return carry, jnp.concatenate([h, jnp.einsum("bt,tbd->bd", weights, read)], -1) @ params["out"]

        _, scores = lax.scan(write, state, params["words"][target[:, :-1]].swapaxes(0, 1))
        chosen = jnp.take_along_axis(nn.log_softmax(scores), target[:, 1:].T[..., None], axis=-1)[..., 0]
        mask = (target[:, 1:].T != 0).astype(jnp.float32)
        return -(chosen * mask).sum() / mask.sum()

    def step(params: Tree, state: Tree, source: Any, target: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, source, target)
        return *_adam(params, grads, state), value

    gates = lambda seed: (_normal(seed, 2 * width, 4 * width, scale=0.2), np.zeros(4 * width, np.float32))  # noqa: E731
    params = {
        "words": _normal(0, words, width),
        "reader": gates(1),
        "writer": gates(2),
        "out": _normal(3, 2 * width, words, scale=0.2),
    }
    draw = np.random.default_rng(5)
    texts = (draw.integers(0, words, (4, 10)).astype(np.int32) for _ in range(2))
    return step, (params, _adam_state(params), *texts)


def gaussian_process() -> Case:
    """Regression with a Gaussian process: ten steps on the hyperparameters, then predictions."""

    def kernel(params: Tree, a: Any, b: Any) -> Any:
        apart = ((a[:, None] - b[None]) ** 2 / jnp.exp(2 * params["length"])).sum(-1)
        return jnp.exp(2 * params["height"] - 0.5 * apart)

    def factored(params: Tree, x: Any, y: Any) -> tuple[Any, Any]:
        cov = kernel(params, x, x) + (jnp.exp(2 * params["noise"]) + 1e-5) * jnp.eye(len(x))
        lower = jnp.linalg.cholesky(cov)
        return lower, jax.scipy.linalg.cho_solve((lower, True), y)

    def loss(params: Tree, x: Any, y: Any) -> Any:
        lower, weights = factored(params, x, y)
        return 0.5 * y @ weights + jnp.log(jnp.diagonal(lower)).sum() + 0.5 * len(x) * jnp.log(2 * jnp.pi)

    def fit(params: Tree, x: Any, y: Any, new: Any) -> Any:
        def step(params: Tree, _: Any) -> Any:
            value, grads = jax.value_and_grad(loss)(params, x, y)
            return jax.tree.map(lambda p, g: p - 0.005 * g, params, grads), value

        params, values = lax.scan(step, params, None, length=10)
        lower, weights = factored(params, x, y)
        across = kernel(params, new, x)
        solved = jax.scipy.linalg.solve_triangular(lower, across.T, lower=True)
        return params, values, across @ weights, jnp.exp(2 * params["height"]) - (solved**2).sum(0)

    params = {"length": np.zeros(3, np.float32), "height": np.float32(0), "noise": np.float32(-1)}
    x = _normal(0, 40, 3)
    return fit, (params, x, np.sin(x.sum(1)), _normal(1, 15, 3))


def adjoint_ode() -> Case:
    """A neural ODE: Runge-Kutta steps, whose derivative is another ODE, solved backward."""

    def field(params: Tree, y: Any, t: Any) -> Any:
        return jnp.tanh(jnp.concatenate([y, jnp.full((len(y), 1), t)], -1) @ params["in"]) @ params["out"]

    def solve(f: Callable[..., Any], y: Any, start: float, end: float, count: int) -> Any:
        h = (end - start) / count

        def add(y: Any, scale: float, k: Any) -> Any:
            return jax.tree.map(lambda a, b: a + scale * b, y, k)

        def step(k: Any, y: Any) -> Any:
            t = start + k * h
            k1 = f(y, t)
            k2 = f(add(y, h / 2, k1), t + h / 2)
            k3 = f(add(y, h / 2, k2), t + h / 2)
            k4 = f(add(y, h, k3), t + h)
            slope = jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, k1, k2, k3, k4)
            return add(y, h, slope)

        return lax.fori_loop(0, count, step, y)

    @jax.custom_vjp
    def flow(params: Tree, y: Any) -> Any:
        return solve(partial(field, params), y, 0.0, 1.0, 12)

    def forward(params: Tree, y: Any) -> Any:
        end = flow(params, y)
        return end, (params, end)

    def backward(kept: Any, slope: Any) -> Any:
        params, end = kept

        def moved(state: Any, t: Any) -> Any:
            y, adjoint, _ = state
            dy, pull = jax.vjp(lambda params, y: field(params, y, t), params, y)
            by_params, by_y = pull(adjoint)
            return dy, -by_y, jax.tree.map(jnp.negative, by_params)

        _, by_start, by_params = solve(moved, (end, slope, jax.tree.map(jnp.zeros_like, params)), 1.0, 0.0, 12)
        return by_params, by_start

    flow.defvjp(forward, backward)

    def step(params: Tree, y: Any, goal: Any) -> Any:
        value, grads = jax.value_and_grad(lambda params: ((flow(params, y) - goal) ** 2).mean())(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    params = {"in": _normal(0, 3, 16, scale=0.5), "out": _normal(1, 16, 2, scale=0.5)}
    return step, (params, _normal(2, 10, 2), _normal(3, 10, 2))


def beam_search() -> Case:
    """The best texts of a recurrent model, found by a beam, as long as one of them has no end."""
    beams, words, longest, width = 4, 12, 15, 16

    def search(params: Tree, start: Any) -> Any:
        def goes_on(state: Any) -> Any:
            k, _, _, _, ended = state
            return (k < longest) & ~ended.all()

        def step(state: Any) -> Any:
            k, texts, scores, hidden, ended = state
            last = jnp.where(k > 0, texts[:, jnp.maximum(k - 1, 0)], 1)
            hidden = jnp.tanh(params["words"][last] + hidden @ params["move"])
            logs = nn.log_softmax(hidden @ params["out"])
            stays = jnp.where(jnp.arange(words) == 0, 0.0, -jnp.inf)
            ways = scores[:, None] + jnp.where(ended[:, None], stays, logs)
            scores, chosen = lax.top_k(ways.reshape(-1), beams)
            parent, word = chosen // words, (chosen % words).astype(jnp.int32)
            texts = texts[parent].at[:, k].set(word)
            return k + 1, texts, scores, hidden[parent], ended[parent] | (word == 0)

        first = jnp.where(jnp.arange(beams) == 0, 0.0, -jnp.inf)
        texts = jnp.zeros((beams, longest), jnp.int32)
        hidden = jnp.broadcast_to(start, (beams, width))
        return lax.while_loop(goes_on, step, (0, texts, first, hidden, jnp.zeros(beams, bool)))[:3]

    params = {"words": _normal(0, words, width), "move": _normal(1, width, width, scale=0.3), "out": _normal(2, width, words)}
    return jax.vmap(search, (None, 0)), (params, _normal(3, 3, width))


def resnet() -> Case:
    """A training step of convolutions with batch normalization and a way around them."""

    def convolved(x: Any, weight: Any, stride: int = 1) -> Any:
        return lax.conv_general_dilated(x, weight, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def normed(x: Any, scale: Any) -> Any:
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale[0] + scale[1]

    def loss(params: Tree, images: Any, labels: Any) -> Any:
        x = nn.relu(normed(convolved(images, params["stem"]), params["scale"]))
        for block in params["blocks"]:
            h = nn.relu(normed(convolved(x, block["first"], 2), block["scales"][0]))
            h = normed(convolved(h, block["second"]), block["scales"][1])
            x = nn.relu(h + convolved(x, block["around"], 2))
        scores = nn.log_softmax(x.mean((1, 2)) @ params["out"])
        return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()

    def step(params: Tree, speed: Tree, images: Any, labels: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, images, labels)
        speed = jax.tree.map(lambda s, g: 0.9 * s + g, speed, grads)
        return jax.tree.map(lambda p, s: p - 0.01 * s, params, speed), speed, value

    def block(seed: int, a: int, b: int) -> Tree:
        first, second = _normal(seed, 3, 3, a, b, scale=0.1), _normal(seed + 1, 3, 3, b, b, scale=0.1)
        scales = np.stack([np.ones((2, b)), np.zeros((2, b))], 1).astype(np.float32)
        return {"first": first, "second": second, "around": _normal(seed + 2, 1, 1, a, b, scale=0.3), "scales": scales}

    params = {"stem": _normal(0, 3, 3, 3, 8, scale=0.2), "scale": np.stack([np.ones(8), np.zeros(8)]).astype(np.float32)}
    params |= {"blocks": [block(10, 8, 16), block(20, 16, 16)], "out": _normal(30, 16, 10, scale=0.2)}
    labels = np.random.default_rng(1).integers(0, 10, 4).astype(np.int32)
    return step, (params, jax.tree.map(np.zeros_like, params), _normal(1, 4, 16, 16, 3), labels)


CASES: dict[str, Callable[[], Case]] = {
    make.__name__: make
    for make in (
        kalman_em,
        kalman_gradient,
        gpt_training,
        gpt_cached,
        hidden_markov,
        diffusion,
        ppo,
        translation,
        gaussian_process,
        adjoint_ode,
        beam_search,
        resnet,
    )
}


def _run(make: Callable[[], Case]) -> Any:
    function, arguments = make()
    return jax.jit(function)(*arguments)


PROGRAMS = {name: partial(_run, make) for name, make in CASES.items()}

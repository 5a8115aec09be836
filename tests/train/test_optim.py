"""Optimizers go where torch's go, and otherwise where their formulas do; schedules, clipping, masks; the step is one graph."""

from __future__ import annotations

import doctest
import importlib
import math
from typing import Any

import lamina as lm
import numpy as np
import pytest
from oracles import import_torch

torch = import_torch()
optim = lm.train.optim
STEPS = 20


class Net(lm.Module):
    w: Any
    b: Any
    seen: Any = lm.buffer()
    index: Any = lm.buffer()


def net(dtype: Any) -> Net:
    rng = np.random.default_rng(0)
    return Net(rng.normal(size=(3, 2)).astype(dtype), rng.normal(size=2).astype(dtype), np.ones(2, dtype), np.arange(2))


def gradients(dtype: Any) -> list[Net]:
    rng = np.random.default_rng(1)
    drawn = [(rng.normal(size=(3, 2)).astype(dtype), rng.normal(size=2).astype(dtype)) for _ in range(STEPS)]
    return [net(dtype).replace(w=w, b=b, seen=None, index=None) for w, b in drawn]


def run(optimizer: Any, dtype: Any = np.float64) -> list[Net]:
    """Parameters after each step, compiled: state and parameters of one structure, so traced once."""
    traced = []

    @lm.jit
    def step(grads: Net, state: Any, params: Net) -> Any:
        traced.append(1)
        return optimizer.step(grads, state, params)

    params = net(dtype)
    state, after = optimizer.init(params), []
    for grads in gradients(dtype):
        params, state = step(grads, state, params)
        after.append(params)
    assert len(traced) == 1 and params.w.dtype == dtype
    np.testing.assert_array_equal(params.seen, net(dtype).seen)
    np.testing.assert_array_equal(params.index, net(dtype).index)
    return after


TORCH = {
    "sgd": (optim.sgd(0.1), "SGD", {"lr": 0.1}),
    "momentum": (optim.sgd(0.1, 0.9, weight_decay=0.01), "SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    "nesterov": (optim.sgd(0.1, 0.8, nesterov=True), "SGD", {"lr": 0.1, "momentum": 0.8, "nesterov": True}),
    "adam": (optim.adam(0.1, weight_decay=0.02), "Adam", {"lr": 0.1, "weight_decay": 0.02}),
    "adamw": (optim.adamw(0.1, 0.8, 0.9, 1e-6), "AdamW", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-6}),
    "rmsprop": (optim.rmsprop(0.01, momentum=0.9), "RMSprop", {"lr": 0.01, "momentum": 0.9}),
    "rmsprop centered": (optim.rmsprop(0.01, 0.9, centered=True), "RMSprop", {"lr": 0.01, "alpha": 0.9, "centered": True}),
    "adagrad": (optim.adagrad(0.3, 0.1), "Adagrad", {"lr": 0.3, "initial_accumulator_value": 0.1}),
}  # fmt: skip


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", TORCH)
def test_torchs_trajectories(name: str) -> None:
    ours, kind, given = TORCH[name]
    start = net(np.float64)
    params = [torch.nn.Parameter(torch.tensor(start.w)), torch.nn.Parameter(torch.tensor(start.b))]
    theirs = getattr(torch.optim, kind)(params, **given)
    for found, grads in zip(run(ours), gradients(np.float64), strict=True):
        params[0].grad, params[1].grad = torch.tensor(grads.w), torch.tensor(grads.b)
        theirs.step()
        # 20 steps of a few operations of float64 each
        np.testing.assert_allclose(found.w, params[0].detach().numpy(), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found.b, params[1].detach().numpy(), rtol=1e-12, atol=1e-13)


def test_formulas() -> None:
    """Lion and Nadam, which torch has not or has otherwise, as in their papers; and float32 beside float64."""
    b1, b2, rate, decay = 0.9, 0.99, 0.01, 0.1
    w, m = net(np.float64).w, 0.0
    for found, grads in zip(run(optim.lion(rate, b1, b2, decay)), gradients(np.float64), strict=True):
        w = w - rate * (np.sign(b1 * m + (1 - b1) * grads.w) + decay * w)
        m = b2 * m + (1 - b2) * grads.w
        np.testing.assert_allclose(found.w, w, rtol=1e-12)
    w, m, v, b2 = net(np.float64).w, 0.0, 0.0, 0.999
    for t, (found, grads) in enumerate(zip(run(optim.nadam(rate)), gradients(np.float64), strict=True), 1):
        m, v = b1 * m + (1 - b1) * grads.w, b2 * v + (1 - b2) * grads.w**2
        ahead = b1 * m / (1 - b1 ** (t + 1)) + (1 - b1) * grads.w / (1 - b1**t)
        w = w - rate * ahead / (np.sqrt(v / (1 - b2**t)) + 1e-8)
        np.testing.assert_allclose(found.w, w, rtol=1e-12)
    narrow, wide = run(optim.adam(0.1), np.float32)[-1], run(optim.adam(0.1))[-1]
    np.testing.assert_allclose(narrow.w, wide.w, rtol=1e-5, atol=1e-6)


def test_halves() -> None:
    """Parameters of bfloat16 have moments of float32, and are rounded once a step."""
    bf16 = lm.numpy.bfloat16
    optimizer = optim.adam(0.1)
    params = {"w": np.ones(3, bf16)}
    state = optimizer.init(params)
    assert state[0].mu["w"].dtype == np.float32
    params, state = lm.jit(optimizer.step)({"w": np.ones(3, bf16)}, state, params)
    assert params["w"].dtype == bf16
    np.testing.assert_array_equal(
        np.asarray(params["w"], np.float32), np.asarray(np.float32(0.9)).astype(bf16).astype(np.float32)
    )


def by_hand(name: str, k: float) -> float:
    """The schedules of the test below, by their formulas."""
    cosine = lambda share: 0.5 * (1 + math.cos(math.pi * min(max(share, 0), 1)))  # noqa: E731
    return {
        "constant": 0.3,
        "linear": 1 + (3 - 1) * min(k / 4, 1),
        "cosine": 2 * (0.1 + 0.9 * cosine(k / 6)),
        "exponential": 2 * 0.5 ** (k / 3),
        "staircase": 2 * 0.5 ** (k // 3),
        "piecewise": 1.0 if k < 2 else 0.5 if k < 5 else 0.05,
        "warm-up": k / 3 if k < 3 else 0.1 + 0.9 * cosine((k - 3) / 7),
    }[name]


def test_schedules() -> None:
    schedules = {
        "constant": optim.constant_schedule(0.3),
        "linear": optim.linear_schedule(1, 3, 4),
        "cosine": optim.cosine_decay(2, 6, 0.1),
        "exponential": optim.exponential_decay(2, 3, 0.5),
        "staircase": optim.exponential_decay(2, 3, 0.5, staircase=True),
        "piecewise": optim.piecewise_constant(1.0, {2: 0.5, 5: 0.1}),
        "warm-up": optim.warmup_cosine_decay(0, 1, 3, 10, 0.1),
        "one cycle": optim.one_cycle(0.5, 10),
    }
    rates = lm.jit(lambda k: {name: schedule(k) for name, schedule in schedules.items()})
    theirs = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
    cycle = torch.optim.lr_scheduler.OneCycleLR(theirs, 0.5, 10)
    for k in range(12):
        found = rates(np.int32(k))
        for name in list(schedules)[:-1]:
            np.testing.assert_allclose(found[name], by_hand(name, k), rtol=1e-12, atol=1e-15, err_msg=f"{name} {k}")
        if k < 10:
            np.testing.assert_allclose(found["one cycle"], cycle.get_last_lr()[0], rtol=1e-9)
            theirs.step()
            if k < 9:
                cycle.step()
    rate = optim.piecewise_constant(0.1, {10: 0.5})
    after = run(optim.sgd(rate))
    w = net(np.float64).w
    for k, grads in enumerate(gradients(np.float64)):
        w = w - (0.1 if k < 10 else 0.05) * grads.w
    np.testing.assert_allclose(after[-1].w, w, rtol=1e-12)
    for wrong in (lambda: optim.linear_schedule(0, 1, 0), lambda: optim.warmup_cosine_decay(0, 1, 5, 5)):
        with pytest.raises(ValueError, match=r"needs at least one step|warms up"):
            wrong()


def test_clipping() -> None:
    tree = {"a": np.float64([3, -4]), "b": np.float64([12]), "c": None}
    clip = lambda part: part.update(tree, part.init(tree), None)[0]  # noqa: E731
    np.testing.assert_array_equal(clip(optim.clip(3.5))["a"], [3, -3.5])
    np.testing.assert_allclose(clip(optim.clip_by_norm(1.0))["a"], [0.6, -0.8])
    np.testing.assert_allclose(clip(optim.clip_by_norm(100.0))["b"], [12])
    np.testing.assert_allclose(clip(optim.clip_by_global_norm(1.0))["b"], [12 / 13])
    assert clip(optim.clip_by_global_norm(1.0))["c"] is None
    assert optim.global_norm(tree) == 13
    zeros = {"a": np.zeros(2, np.float32)}
    part = optim.clip_by_global_norm(1.0)
    np.testing.assert_array_equal(part.update(zeros, part.init(zeros), zeros)[0]["a"], 0)


def test_masks() -> None:
    params = net(np.float64)
    grads = gradients(np.float64)[0]
    for mask in (lambda p: lm.tree.map(lambda x: x.ndim > 1, p), lm.tree.map(lambda x: x.ndim > 1, params)):
        part = optim.add_decayed_weights(0.1, mask)
        updates, _ = part.update(grads, part.init(params), params)
        np.testing.assert_allclose(updates.w, grads.w + 0.1 * params.w, rtol=1e-12)
        np.testing.assert_array_equal(updates.b, grads.b)
    with pytest.raises(ValueError, match="needs the parameters"):
        part.update(grads, part.init(params), None)
    with pytest.raises(ValueError, match="needs a momentum"):
        optim.sgd(0.1, nesterov=True)
    with pytest.raises(ValueError, match=r"structure|begins"):
        optim.sgd(0.1).step({"x": np.ones(2)}, optim.sgd(0.1).init(params), params)


def test_accumulation_and_averages() -> None:
    """Each fourth step is one with the mean of four gradients; averages are those of the parameters after each step."""
    after = run(optim.accumulate(optim.adam(0.1), 4))
    plain = optim.adam(0.1)
    params = net(np.float64)
    state = plain.init(params)
    given = gradients(np.float64)
    for k in range(0, STEPS, 4):
        mean = lm.tree.map(lambda *g: sum(g) / 4, *given[k : k + 4])
        np.testing.assert_allclose(after[k + 2].w, params.w, rtol=1e-12)
        params, state = plain.step(mean, state, params)
        np.testing.assert_allclose(after[k + 3].w, params.w, rtol=1e-12)
    optimizer = optim.ema(optim.sgd(0.1), 0.5)
    params, average, missing = net(np.float64), 0.0, 1.0
    state = optimizer.init(params)
    for grads in given[:3]:
        params, state = optimizer.step(grads, state, params)
        average, missing = 0.5 * average + 0.5 * params.w, missing / 2
    found = optim.averaged(state, params)
    np.testing.assert_allclose(found.w, average / (1 - missing), rtol=1e-12)
    assert found.index is params.index
    with pytest.raises(ValueError, match="groups of at least one step"):
        optim.accumulate(optim.sgd(0.1), 0)


def test_a_training_step_is_one_program() -> None:
    """Forward, backward and update in one graph, in place of the memory given, down to the least squares solution."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 3)).astype(np.float32)
    true = rng.normal(size=(3, 2)).astype(np.float32)
    y = x @ true + np.float32(0.5)
    optimizer = optim.chain(optim.clip_by_global_norm(10.0), optim.adam(optim.cosine_decay(0.1, 400)))

    def loss(params: Net) -> Any:
        return ((x @ params.w + params.b - y) ** 2).mean()

    def step(params: Net, state: Any) -> Any:
        value, grads = lm.value_and_grad(loss)(params)
        params, state = optimizer.step(grads, state, params)
        return params, state, value

    params = net(np.float32)
    state = optimizer.init(params)
    assert lm.jit(step).lower(params, state).as_text("graph").count("func.func public") == 1
    train = lm.jit(lambda p, s: lm.fori_loop(0, 400, lambda k, ps: step(*ps)[:2], (p, s)), donate_argnums=(0, 1))
    params, state = train(params, state)
    np.testing.assert_allclose(params.w, true, atol=1e-3)
    np.testing.assert_allclose(params.b, 0.5, atol=1e-3)


@pytest.mark.parametrize("name", ["transformation", "schedules", "optimizers"])
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"lamina.train.optim.{name}"))
    assert result.failed == 0 and result.attempted > 0

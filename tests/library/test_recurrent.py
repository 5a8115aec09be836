"""Recurrent layers, group norms, dropout and rotary embeddings of lamina.nn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import ShapeError

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import import_torch

torch = import_torch()
RNG = np.random.default_rng(8)
GATES = {"rnn": 1, "lstm": 4, "gru": 3}


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def ours(name: str, x: Any, h: Any, c: Any, *weights: Any, **options: Any) -> tuple[Any, ...]:
    states = (h, c) if name == "lstm" else (h,)
    y, last = getattr(lm.nn, name)(x, *states, *weights, **options)
    return (y, *last) if name == "lstm" else (y, last)


def theirs(name: str, x: Any, h: Any, c: Any, *weights: Any) -> tuple[Any, ...]:
    states = (h[None], c[None]) if name == "lstm" else h[None]
    function = {"rnn": torch.rnn_tanh, "lstm": torch.lstm, "gru": torch.gru}[name]
    y, *last = function(x, states, weights, len(weights) == 4, 1, 0.0, False, False, False)
    return (y, *(state[0] for state in last))


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", GATES)
def test_equal_to_torch(name: str, bias: bool) -> None:
    time, batch, features, hidden, gates = 6, 3, 5, 4, GATES[name]
    weights = [normal(gates * hidden, features), normal(gates * hidden, hidden)]
    weights += [normal(gates * hidden) for _ in range(2)] if bias else []
    given = [normal(time, batch, features), normal(batch, hidden), normal(batch, hidden), *weights]
    tensors = [torch.tensor(a, requires_grad=True) for a in given]
    wanted = theirs(name, *tensors)
    for run in (lambda f: f, lm.jit):
        for got, want in zip(run(lambda *a: ours(name, *a))(*given), wanted, strict=True):
            np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-12, atol=1e-12)
    sum(torch.sin(want).sum() for want in wanted).backward()
    operands = [k for k, tensor in enumerate(tensors) if tensor.grad is not None]
    slopes = lm.jit(lm.grad(lambda *a: sum(lnp.sin(y).sum() for y in ours(name, *a)), argnums=tuple(operands)))(*given)
    for k, slope in zip(operands, slopes, strict=True):
        np.testing.assert_allclose(slope, tensors[k].grad.numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", GATES)
def test_reverse_and_batches(name: str) -> None:
    gates = GATES[name]
    x, h, c = normal(5, 2, 3, 4), normal(2, 3, 6), normal(2, 3, 6)
    weights = normal(gates * 6, 4), normal(gates * 6, 6)
    back = ours(name, x, h, c, *weights, reverse=True)
    ahead = ours(name, x[::-1], h, c, *weights)
    np.testing.assert_allclose(back[0], ahead[0][::-1], rtol=1e-12)
    mapped = lm.vmap(lambda x, h, c: ours(name, x, h, c, *weights), (1, 0, 0), 1 if name == "none" else 0)(x, h, c)
    np.testing.assert_allclose(np.moveaxis(mapped[0], 0, 1), ahead[0] * 0 + ours(name, x, h, c, *weights)[0], rtol=1e-12)


def test_rnn_activation() -> None:
    x, h, w, u = normal(4, 2, 3), normal(2, 5), normal(5, 3), normal(5, 5)
    want = torch.rnn_relu(*map(torch.tensor, (x, h[None])), [*map(torch.tensor, (w, u))], False, 1, 0.0, False, False, False)
    np.testing.assert_allclose(lm.nn.rnn(x, h, w, u, activation=lm.nn.relu)[0], want[0].numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 5, 4), 3), ((3, 4), 2), ((2, 4, 7), 1), ((2, 4, 3), 4)])
def test_group_norm(shape: tuple[int, ...], groups: int) -> None:
    x, w, b = normal(*shape), normal(shape[1]), normal(shape[1])
    tensors = [torch.tensor(a, requires_grad=True) for a in (x, w, b)]
    want = torch.nn.functional.group_norm(tensors[0], groups, *tensors[1:])
    np.testing.assert_allclose(lm.nn.group_norm(x, groups, w, b), want.detach().numpy(), rtol=1e-11, atol=1e-11)
    last = lm.nn.group_norm(np.moveaxis(x, 1, -1), groups, w, b, axis=-1)
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), want.detach().numpy(), rtol=1e-11, atol=1e-11)
    torch.sin(want).sum().backward()
    slopes = lm.grad(lambda *a: lnp.sin(lm.nn.group_norm(a[0], groups, *a[1:])).sum(), argnums=(0, 1, 2))(x, w, b)
    for slope, tensor in zip(slopes, tensors, strict=True):
        np.testing.assert_allclose(slope, tensor.grad.numpy(), rtol=1e-9, atol=1e-9)
    if groups == shape[1]:
        np.testing.assert_allclose(lm.nn.instance_norm(x, w, b), lm.nn.group_norm(x, groups, w, b), rtol=1e-12)


def test_normalize() -> None:
    x = normal(3, 4)
    want = torch.nn.functional.normalize(torch.tensor(x), dim=1).numpy()
    np.testing.assert_allclose(lm.nn.normalize(x), want, rtol=1e-12)
    np.testing.assert_array_equal(lm.nn.normalize(np.zeros((2, 3))), np.zeros((2, 3)))


def test_dropout() -> None:
    key, x = lm.random.key(3), np.ones((100, 200), np.float32)
    y = lm.nn.dropout(key, x, 0.3)
    assert set(np.unique(y)) == {np.float32(0), np.float32(1) / np.float32(0.7)}
    assert abs((y == 0).mean() - 0.3) < 0.02
    np.testing.assert_array_equal(lm.jit(lambda k, x: lm.nn.dropout(k, x, 0.3))(key, x), y)
    rows = lm.nn.dropout(key, x, 0.5, axis=0)
    assert (rows == rows[:, :1]).all() and 0.3 < (rows[:, 0] == 0).mean() < 0.7
    np.testing.assert_array_equal(lm.nn.dropout(key, x, 0), x)
    np.testing.assert_array_equal(lm.nn.dropout(key, x, 1), 0 * x)
    slope = lm.grad(lambda x: lm.nn.dropout(key, x, 0.3).sum())(x)
    np.testing.assert_array_equal(slope, y)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_embedding(interleaved: bool) -> None:
    x, places = normal(2, 3, 7, 8), RNG.integers(0, 50, (2, 1, 7))
    split = x.reshape(2, 3, 7, 4, 2) if interleaved else np.stack([x[..., :4], x[..., 4:]], -1)
    rates = 10000.0 ** (-np.arange(4) / 4)
    for positions in (None, places):
        angles = (np.arange(7) if positions is None else positions)[..., None] * rates
        turned = (split[..., 0] + 1j * split[..., 1]) * np.exp(1j * angles)
        parts = [turned.real, turned.imag]
        want = np.stack(parts, -1).reshape(x.shape) if interleaved else np.concatenate(parts, -1)
        got = lm.nn.rotary_embedding(x, positions, interleaved=interleaved)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lm.nn.lstm(*np.ones((3, 2, 3, 4)), np.ones((16, 4)), np.ones((15, 4))),
            "lstm needs w_hh of [16, 4], got [15, 4]",
        ),
        (
            lambda: lm.nn.gru(np.ones((5, 2, 4)), np.ones((3, 4)), np.ones((12, 4)), np.ones((12, 4))),
            "gru needs x[time, ..., features]",
        ),
        (
            lambda: lm.nn.group_norm(np.ones((2, 6)), 4),
            "group_norm needs channels in groups of one size, got 6 channels and 4 groups",
        ),
        (lambda: lm.nn.group_norm(np.ones((2, 6)), 2, axis=0), "needs a dim of examples before that of channels"),
        (lambda: lm.nn.dropout(lm.random.key(0), np.ones(3), 1.5), "rate must be between 0 and 1, got 1.5"),
        (
            lambda: lm.nn.rotary_embedding(np.ones((4, 3))),
            "rotary_embedding needs [..., length, dim] with an even dim, got [4, 3]",
        ),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ShapeError) as raised:
        call()
    assert message in str(raised.value)

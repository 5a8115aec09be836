"""Each layer is torch's of the same name: values, gradients by parameters and argument, and names of the state."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from oracles import import_torch

torch = import_torch()
nn = lm.train.modules
KEY = lm.random.key(0)


def compare(
    layer: Any, theirs: Any, x: np.ndarray, call: Callable[[Any, Any], Any] | None = None, tolerance: float = 2e-5
) -> None:
    """Value and gradients of a layer with torch's parameters and of torch's layer; sums are as long as the arguments here."""
    call = call or (lambda layer, x: layer(x))
    state = {name: value.detach().numpy() for name, value in theirs.state_dict().items()}
    assert set(layer.state_dict()) == set(state)
    layer = layer.load_state_dict(state)
    theirs.zero_grad()
    given = torch.tensor(x, requires_grad=x.dtype.kind == "f")
    expected = call(theirs, given)
    weights = np.random.default_rng(3).normal(size=tuple(expected.shape)).astype(np.float32)
    (expected * torch.tensor(weights)).sum().backward()

    def loss(layer: Any, x: Any) -> tuple[Any, Any]:
        y = call(layer, x)
        return (y * weights).sum(), y

    if x.dtype.kind == "f":
        (slopes, by_x), y = lm.jit(lm.grad(loss, (0, 1), has_aux=True))(layer, x)
        np.testing.assert_allclose(by_x, given.grad.numpy(), rtol=tolerance, atol=tolerance)
    else:
        slopes, y = lm.jit(lm.grad(loss, has_aux=True))(layer, x)
    np.testing.assert_allclose(y, expected.detach().numpy(), rtol=tolerance, atol=tolerance)
    found = {name: slope for name, slope in zip(slopes.leaf_names(), lm.tree.leaves(slopes), strict=True)}
    for name, parameter in theirs.named_parameters():
        np.testing.assert_allclose(found[name], parameter.grad.numpy(), rtol=tolerance, atol=4 * tolerance, err_msg=name)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def test_linear_and_embedding() -> None:
    compare(nn.Linear(5, 3, key=KEY), torch.nn.Linear(5, 3), normal(2, 4, 5))
    compare(nn.Linear(5, 1, False, key=KEY), torch.nn.Linear(5, 1, False), normal(7, 5))
    compare(nn.Embedding(6, 3, key=KEY), torch.nn.Embedding(6, 3), np.array([[0, 5, 5], [1, 0, 2]]))
    assert nn.Linear(5, 3, key=KEY)(normal(5)).shape == (3,) and nn.Linear(5, 3, key=KEY)(normal(0, 5)).shape == (0, 3)
    with pytest.raises(lm.ShapeError, match=r"Linear takes \[\.\.\., 5\], got \[2, 4\]"):
        nn.Linear(5, 3, key=KEY)(normal(2, 4))
    half = nn.Linear(4, 2, key=KEY, dtype=lnp.bfloat16)
    assert half.weight.dtype == lnp.bfloat16 and half(np.ones((1, 4), lnp.bfloat16)).dtype == lnp.bfloat16
    table = nn.Embedding(6, 3, key=KEY)
    np.testing.assert_allclose(table.attend(normal(2, 3)), normal(2, 3) @ table.weight.T, rtol=1e-5, atol=1e-6)


CONVS = [
    (1, {"stride": 2, "padding": 1}, 3),
    (1, {"dilation": 2, "groups": 2, "bias": False}, 3),
    (2, {"stride": (1, 2), "padding": (1, 0)}, (3, 2)),
    (2, {"groups": 4, "padding": 1}, 3),
    (3, {"padding": 1, "stride": 2}, (1, 3, 2)),
]


@pytest.mark.thorough
@pytest.mark.parametrize("rank, given, size", CONVS)
def test_convolutions(rank: int, given: dict[str, Any], size: Any) -> None:
    x = normal(2, 4, *(7, 6, 5)[:rank])
    compare(
        getattr(nn, f"Conv{rank}d")(4, 8, size, **given, key=KEY), getattr(torch.nn, f"Conv{rank}d")(4, 8, size, **given), x
    )


TRANSPOSED = [
    (1, {"stride": 2, "padding": 1, "output_padding": 1}),
    (2, {"stride": 2, "groups": 2, "dilation": 2}),
    (3, {"bias": False}),
]


@pytest.mark.parametrize("rank, given", TRANSPOSED)
def test_transposed_convolutions(rank: int, given: dict[str, Any]) -> None:
    x = normal(2, 4, *(4, 3, 2)[:rank])
    ours = getattr(nn, f"ConvTranspose{rank}d")(4, 6, 2, **given, key=KEY)
    compare(ours, getattr(torch.nn, f"ConvTranspose{rank}d")(4, 6, 2, **given), x)


def test_wrong_convolutions() -> None:
    with pytest.raises(lm.ShapeError, match="Conv2d needs features in 3 groups of one size, got 8"):
        nn.Conv2d(6, 8, 3, groups=3, key=KEY)
    with pytest.raises(lm.ShapeError, match="kernel_size is a number or one of each of 2 dims"):
        nn.Conv2d(6, 8, (3, 3, 3), key=KEY)
    assert nn.Conv2d(1, 1, 3, padding="SAME", key=KEY)(normal(1, 1, 5, 5)).shape == (1, 1, 5, 5)


def test_norms_without_state() -> None:
    x = normal(3, 6, 4)
    compare(nn.LayerNorm(4), torch.nn.LayerNorm(4), x)
    compare(nn.LayerNorm((6, 4), bias=False, eps=1e-3), torch.nn.LayerNorm((6, 4), bias=False, eps=1e-3), x)
    compare(nn.RMSNorm(4, eps=1e-5), torch.nn.RMSNorm(4, eps=1e-5), x)
    compare(nn.GroupNorm(3, 6), torch.nn.GroupNorm(3, 6), x)
    compare(nn.GroupNorm(2, 6, affine=False), torch.nn.GroupNorm(2, 6, affine=False), x)
    with pytest.raises(lm.ShapeError, match="5 channels and 2 groups"):
        nn.GroupNorm(2, 5)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_batch_norm(momentum: float | None) -> None:
    ours, theirs = nn.BatchNorm(4, momentum=momentum), torch.nn.BatchNorm2d(4, momentum=momentum)
    first = lambda out: out[0] if isinstance(out, tuple) else out  # noqa: E731
    call = lambda layer, x: first(layer(x))  # noqa: E731
    compare(ours, theirs, normal(3, 4, 2, 5), call, 1e-4)
    theirs = torch.nn.BatchNorm2d(4, momentum=momentum)
    step = lm.jit(lambda layer, x: layer(x))
    for k in range(3):
        x = normal(3, 4, 2, 5) * (k + 1) + k
        y, ours = step(ours, x)
        np.testing.assert_allclose(y, theirs(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-5)
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[name], value.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)
    assert ours.num_batches_tracked.dtype == np.int64 and ours.running_mean.dtype == np.float32
    compare(ours.eval(), theirs.eval(), normal(3, 4, 2, 5), call, 1e-4)
    assert ours.eval()(normal(3, 4))[1].running_mean is ours.running_mean
    with pytest.raises(lm.ShapeError, match=r"two elements for each channel or more, got shape \[1, 4\]"):
        ours(normal(1, 4))


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("given", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}])
def test_recurrent(kind: str, given: dict[str, Any]) -> None:
    ours, theirs = getattr(nn, kind)(3, 4, **given, key=KEY), getattr(torch.nn, kind)(3, 4, **given)
    x = normal(5, 2, 3)
    compare(ours, theirs, x, lambda layer, x: layer(x)[0])

    def last(layer: Any, x: Any) -> Any:  # begins with the last states of a first run
        _, state = layer(x)
        y, state = layer(x, state)
        return y.sum() + (state[0] * state[1]).sum() if kind == "LSTM" else y.sum() + state.sum()

    compare(ours, theirs, x, last, 1e-4)


@pytest.mark.thorough
def test_halves() -> None:
    """Results and gradients have the dtype of the parameters; they are those of float32 up to its rounding."""
    x = np.random.default_rng(0).normal(size=(3, 2, 4)).astype(np.float32)
    layers = [nn.Linear(4, 4, key=KEY), nn.LayerNorm(4), nn.MultiHeadAttention(4, 2, key=KEY), nn.GRU(4, 2, key=KEY)]
    grad = lm.jit(lm.grad(lambda layer, x: lm.tree.leaves(layer(x))[0].astype(np.float32).sum()))
    for layer in layers:
        narrow = lm.tree.map(lambda p: np.asarray(p).astype(lnp.bfloat16), layer)
        expected, found = grad(layer, x), grad(narrow, x.astype(lnp.bfloat16))
        for ours, theirs in zip(lm.tree.leaves(found), lm.tree.leaves(expected), strict=True):
            assert ours.dtype == lnp.bfloat16
            # bfloat16 has 8 bits; sums here are of two dozen rounded terms of size 1
            np.testing.assert_allclose(ours.astype(np.float32), theirs, rtol=0.05, atol=0.1)


def test_attention() -> None:
    ours = nn.MultiHeadAttention(8, 2, key=KEY)
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    x = normal(3, 5, 8)

    def call(layer: Any, x: Any, **given: Any) -> Any:
        if isinstance(layer, nn.MultiHeadAttention):
            return layer(x, **given)
        hidden = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1) if given else None
        return layer(x, x, x, need_weights=False, attn_mask=hidden)[0]

    compare(ours, theirs, x, call)
    compare(ours, theirs, x, lambda layer, x: call(layer, x, causal=True))
    compare(ours, theirs, x, lambda layer, x: call(layer, x, mask=np.tri(5, dtype=bool)))
    memory = normal(3, 7, 8)
    to = lambda layer, x: (  # noqa: E731
        layer(x, memory) if isinstance(layer, nn.MultiHeadAttention) else layer(x, *[torch.tensor(memory)] * 2)[0]
    )
    compare(ours, theirs, x, to)


@pytest.mark.parametrize("rotary", [False, True])
def test_attention_with_a_cache(rotary: bool) -> None:
    """One position after the other gives what all at once give, whose heads of keys are those of one head each, repeated."""
    layer = nn.MultiHeadAttention(8, 4, num_kv_heads=2, rotary=rotary, key=KEY)
    x = normal(2, 5, 8)
    whole = lm.jit(lambda layer, x: layer(x, causal=True))(layer, x)
    q, kv = layer.in_proj_weight[:8], layer.in_proj_weight[8:].reshape(2, 2, 2, 8)
    repeated = np.concatenate([q, *np.repeat(kv, 2, 1).reshape(2, 8, 8)])
    full = nn.MultiHeadAttention(8, 4, rotary=rotary, key=KEY).replace(in_proj_weight=repeated, out_proj=layer.out_proj)
    np.testing.assert_allclose(full(x, causal=True), whole, rtol=1e-4, atol=1e-5)

    @lm.jit
    def decode(layer: Any, x: Any) -> Any:
        def step(cache: Any, position: Any) -> Any:
            y, cache = layer(position[:, None], cache=cache)
            return cache, y[:, 0]

        cache, ys = lm.scan(step, layer.empty_cache((2,), 6), lnp.swapaxes(x, 0, 1))
        return lnp.swapaxes(ys, 0, 1), cache.length

    ys, length = decode(layer, x)
    assert length == 5
    np.testing.assert_allclose(ys, whole, rtol=1e-4, atol=1e-5)
    first, cache = layer(x[:, :3], cache=layer.empty_cache((2,), 5))
    rest, cache = layer(x[:, 3:], cache=cache)
    np.testing.assert_allclose(np.concatenate([first, rest], 1), whole, rtol=1e-4, atol=1e-5)
    with pytest.raises(lm.ShapeError, match="8 features, 3 heads"):
        nn.MultiHeadAttention(8, 3, key=KEY)
    with pytest.raises(lm.ShapeError, match=r"takes \[\.\.\., length, 8\], got \[2, 7\]"):
        layer(normal(2, 7))


def test_pools() -> None:
    x = normal(2, 3, 6, 7)
    for ours, theirs in [
        (nn.MaxPool1d(3, 2), torch.nn.MaxPool1d(3, 2)),
        (nn.AvgPool1d(2), torch.nn.AvgPool1d(2)),
        (nn.AdaptiveAvgPool1d(4), torch.nn.AdaptiveAvgPool1d(4)),
    ]:
        np.testing.assert_allclose(ours(x[0]), theirs(torch.tensor(x[0])), rtol=1e-5, atol=1e-6)
    for ours, theirs in [
        (nn.MaxPool2d((2, 3), padding=1), torch.nn.MaxPool2d((2, 3), padding=1)),
        (nn.AvgPool2d(3, stride=2, padding=1), torch.nn.AvgPool2d(3, stride=2, padding=1)),
        (nn.AdaptiveAvgPool2d((1, 3)), torch.nn.AdaptiveAvgPool2d((1, 3))),
    ]:
        np.testing.assert_allclose(ours(x), theirs(torch.tensor(x)), rtol=1e-5, atol=1e-6)
    y = x[None]
    for ours, theirs in [
        (nn.MaxPool3d(2), torch.nn.MaxPool3d(2)),
        (nn.AvgPool3d(2), torch.nn.AvgPool3d(2)),
        (nn.AdaptiveAvgPool3d(2), torch.nn.AdaptiveAvgPool3d(2)),
    ]:
        np.testing.assert_allclose(ours(y), theirs(torch.tensor(y)), rtol=1e-5, atol=1e-6)


def test_sequential() -> None:
    keys = lm.random.split(KEY, 3)
    ours = nn.Sequential(
        nn.Conv2d(1, 4, 3, key=keys[0]),
        nn.BatchNorm(4),
        lm.nn.relu,
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16, 2, key=keys[1]),
    )
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(16, 2),
    )  # fmt: skip
    first = lambda layer, x: layer(x)[0] if isinstance(layer, lm.Module) else layer(x)  # noqa: E731
    compare(ours, theirs, normal(3, 1, 6, 6), first, 2e-4)
    _, after = ours(normal(3, 1, 6, 6))
    assert after[1].num_batches_tracked == 1 and len(after) == 6
    plain = nn.Sequential(nn.Linear(3, 4, key=KEY), lm.nn.relu, nn.Dropout(0.5), nn.Linear(4, 2, key=KEY))
    assert plain.takes_key and not plain.stateful
    assert plain.eval()(normal(5, 3)).shape == (5, 2)
    with pytest.raises(ValueError, match="Dropout in training needs a key"):
        plain(normal(5, 3))
    assert not np.array_equal(plain(normal(5, 3), key=keys[0]), plain(normal(5, 3), key=keys[1]))


def test_dropout() -> None:
    x = np.ones((100, 100), np.float32)
    y = np.asarray(nn.Dropout(0.25)(x, key=KEY))
    assert set(np.unique(y)) == {0, np.float32(1 / 0.75)}
    kept = (y != 0).mean()  # of 10,000 draws, six deviations around 0.75
    assert abs(kept - 0.75) < 6 * math.sqrt(0.75 * 0.25 / y.size)
    assert nn.Dropout(0.25).eval()(x) is x and nn.Dropout(0.0)(x) is x


def test_models_made_in_jit_and_vmap() -> None:
    make = lambda key: nn.MLP((3, 8, 2), lnp.tanh, key=key)  # noqa: E731
    model = lm.jit(make)(KEY)
    for ours, expected in zip(model.parameters(), make(KEY).parameters(), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6)
    ensemble = lm.vmap(make)(lm.random.split(KEY, 4))
    assert ensemble.layers[0].weight.shape == (4, 8, 3)
    assert lm.vmap(lambda m, x: m(x), (0, None))(ensemble, normal(5, 3)).shape == (4, 5, 2)
    with pytest.raises(ValueError, match="MLP needs the sizes"):
        nn.MLP((3,), key=KEY)


INITIALIZERS = {
    "glorot_uniform": (2 / 300, math.sqrt(6 / 300)),
    "glorot_normal": (2 / 300, math.inf),
    "he_uniform": (2 / 200, math.sqrt(6 / 200)),
    "he_normal": (2 / 200, math.inf),
    "lecun_uniform": (1 / 200, math.sqrt(3 / 200)),
    "lecun_normal": (1 / 200, math.inf),
}


def test_initializers() -> None:
    init = nn.initializers
    count = 100 * 200
    for name, (variance, bound) in INITIALIZERS.items():
        drawn = np.asarray(getattr(init, name)()(KEY, (100, 200), np.float32))
        # the sample variance of normal numbers has a relative deviation of sqrt(2 / count); six of these
        assert abs(drawn.var() / variance - 1) < 6 * math.sqrt(2 / count), name
        assert abs(drawn.mean()) < 6 * math.sqrt(variance / count) and np.abs(drawn).max() <= bound, name
    assert init.variance_scaling(1.0, "fan_out", "truncated_normal")(KEY, (4, 3, 2, 2), np.float64).dtype == np.float64
    for shape in ((4, 6), (6, 4), (4, 3, 2)):
        q = np.asarray(init.orthogonal(2.0)(KEY, shape, np.float32)).reshape(shape[0], -1)
        q = q if q.shape[0] <= q.shape[1] else q.T
        np.testing.assert_allclose(q @ q.T, 4 * np.eye(len(q)), atol=1e-5)
    cut = np.asarray(init.truncated_normal(0.5)(KEY, (1000,), np.float32))
    assert np.abs(cut).max() <= 1
    assert (init.ones(KEY, (2,), np.float32) == 1).all() and (init.constant(3)(KEY, (2,), np.float32) == 3).all()
    with pytest.raises(ValueError, match='takes the mode "fan_in"'):
        init.variance_scaling(1, "fan", "normal")
    with pytest.raises(ValueError, match='draws from "normal"'):
        init.variance_scaling(1, "fan_in", "cauchy")
    with pytest.raises(lm.ShapeError, match=r"got shape \[3\]"):
        init.glorot_normal()(KEY, (3,), np.float32)

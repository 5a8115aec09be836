"""Losses of lamina.nn against torch: values and derivatives, with each reduction."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import DTypeError, ShapeError

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import import_torch

torch = import_torch()
F = torch.nn.functional
RNG = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def positive(*shape: int) -> np.ndarray:
    return RNG.uniform(0.05, 0.95, shape)


def signs(*shape: int) -> np.ndarray:
    return RNG.choice([-1.0, 1.0], shape)


SHAPE = (5, 4)
CASES: dict[str, tuple[tuple[np.ndarray, ...], dict[str, Any]]] = {
    "mse_loss": ((normal(*SHAPE), normal(*SHAPE)), {}),
    "l1_loss": ((normal(*SHAPE), normal(*SHAPE)), {}),
    "huber_loss": ((normal(*SHAPE), normal(*SHAPE)), {"delta": 0.6}),
    "smooth_l1_loss": ((normal(*SHAPE), normal(*SHAPE)), {"beta": 0.6}),
    "binary_cross_entropy": ((positive(*SHAPE), positive(*SHAPE)), {}),
    "binary_cross_entropy_with_logits": ((50 * normal(*SHAPE), positive(*SHAPE)), {"pos_weight": positive(4)}),
    "kl_div": ((np.log(positive(*SHAPE)), positive(*SHAPE)), {}),
    "hinge_embedding_loss": ((normal(*SHAPE), signs(*SHAPE)), {"margin": 0.7}),
    "margin_ranking_loss": ((normal(7), normal(7), signs(7)), {"margin": 0.2}),
    "soft_margin_loss": ((30 * normal(*SHAPE), signs(*SHAPE)), {}),
    "poisson_nll_loss": ((normal(*SHAPE), 5 * positive(*SHAPE)), {"full": True}),
    "gaussian_nll_loss": ((normal(*SHAPE), normal(*SHAPE), positive(*SHAPE)), {"full": True, "eps": 0.3}),
    "cosine_embedding_loss": ((normal(*SHAPE), normal(*SHAPE), signs(5)), {"margin": 0.1}),
    "triplet_margin_loss": ((normal(*SHAPE), normal(*SHAPE), normal(*SHAPE)), {"margin": 0.5}),
}


def compare(ours: Callable[..., Any], theirs: Callable[..., Any], operands: tuple[np.ndarray, ...]) -> None:
    """Values, eager and compiled, and the derivative by the first operand."""
    tensors = [torch.tensor(a, requires_grad=k == 0) for k, a in enumerate(operands)]
    want = theirs(*tensors)
    torch.cos(want).sum().backward()
    for run in (lambda f: f, lm.jit):
        np.testing.assert_allclose(run(ours)(*operands), want.detach().numpy(), rtol=1e-11, atol=1e-12)
    slope = lm.grad(lambda *a: lm.numpy.cos(ours(*a)).sum())(*operands)
    np.testing.assert_allclose(slope, tensors[0].grad.numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", CASES)
def test_equal_to_torch(name: str, reduction: str) -> None:
    operands, options = CASES[name]
    in_torch = {key: torch.tensor(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    compare(
        lambda *a: getattr(lm.nn, name)(*a, reduction=reduction, **options),
        lambda *a: getattr(F, name)(*a, reduction=reduction, **in_torch),
        operands,
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss(reduction: str, weighted: bool) -> None:
    x, labels = np.log(positive(6, 3)), np.array([0, 2, -100, 1, 2, 0])
    weight = positive(3) if weighted else None
    compare(
        lambda x: lm.nn.nll_loss(x, labels, weight, reduction=reduction),
        lambda x: F.nll_loss(x, torch.tensor(labels), None if weight is None else torch.tensor(weight), reduction=reduction),
        (x,),
    )


def test_other_forms() -> None:
    x, y = np.log(positive(*SHAPE)), np.log(positive(*SHAPE))
    options = {"reduction": "batchmean", "log_target": True}
    compare(lambda x, y: lm.nn.kl_div(x, y, **options), lambda x, y: F.kl_div(x, y, **options), (x, y))
    compare(lambda x, y: lm.nn.smooth_l1_loss(x, y, beta=0), lambda x, y: F.smooth_l1_loss(x, y, beta=0.0), (x, y))
    options = {"log_input": False, "eps": 1e-3}
    compare(lambda x, y: lm.nn.poisson_nll_loss(x, y, **options), lambda x, y: F.poisson_nll_loss(x, y, **options), (-x, -y))
    for axis in (0, 1, -1):
        compare(
            lambda x, y, k=axis: lm.nn.cosine_similarity(x, y, axis=k),
            lambda x, y, k=axis: F.cosine_similarity(x, y, dim=k),
            (x, y),
        )
    zeros = np.zeros((2, 3))
    np.testing.assert_array_equal(lm.nn.cosine_similarity(zeros, zeros), np.zeros(2))
    edges = np.array([0.0, 1.0])
    np.testing.assert_array_equal(lm.nn.binary_cross_entropy(edges, edges[::-1].copy(), "none"), [100, 100])


def test_focal_loss() -> None:
    x, y = normal(*SHAPE), RNG.integers(0, 2, SHAPE).astype(float)
    p = 1 / (1 + np.exp(-x))
    right = np.where(y == 1, p, 1 - p)
    want = np.where(y == 1, 0.25, 0.75) * (1 - right) ** 2 * -np.log(right)
    np.testing.assert_allclose(lm.nn.focal_loss(x, y, "none"), want, rtol=1e-11)
    np.testing.assert_allclose(
        lm.nn.focal_loss(x, y, alpha=-1, gamma=0), lm.nn.binary_cross_entropy_with_logits(x, y), rtol=1e-12
    )


@pytest.mark.thorough
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_loss(reduction: str) -> None:
    logits = normal(9, 4, 5)
    targets = np.array([[1, 2, 2, 3], [4, 4, 4, 4], [1, 0, 0, 0], [3, 1, 0, 0]])
    inputs, lengths = np.array([9, 8, 5, 7]), np.array([4, 4, 1, 0])
    compare(
        lambda x: lm.nn.ctc_loss(lm.nn.log_softmax(x), targets, inputs, lengths, reduction=reduction),
        lambda x: F.ctc_loss(F.log_softmax(x, -1), *map(torch.tensor, (targets, inputs, lengths)), reduction=reduction),
        (logits,),
    )


def test_ctc_loss_of_too_short_inputs() -> None:
    x = lm.nn.log_softmax(normal(3, 1, 4))
    assert lm.nn.ctc_loss(x, np.array([[1, 1, 2]]), np.array([3]), np.array([3])) == np.inf
    slope = lm.grad(lambda x: lm.nn.ctc_loss(x, np.array([[1, 1, 2]]), np.array([3]), np.array([3])))(x)
    assert np.isfinite(slope).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: lm.nn.mse_loss(x, x, "median"), ShapeError, "reduction must be one of mean, sum, none, got 'median'"),
        (lambda x: lm.nn.mse_loss(x, x[:, :3]), ShapeError, "cannot be broadcast"),
        (lambda x: lm.nn.huber_loss(x, x, delta=-1.0), ShapeError, "delta must be greater than 0, got -1.0"),
        (lambda x: lm.nn.nll_loss(x, np.zeros(4, int)), ShapeError, "nll_loss needs one integer label an example"),
        (lambda x: lm.nn.ctc_loss(x, x, x, x), ShapeError, "ctc_loss needs log_probs[time, batch, classes]"),
        (lambda x: lm.nn.ctc_loss(x[None], np.zeros((5, 2)), x, x), DTypeError, "ctc_loss needs integer targets, got float64"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        call(normal(*SHAPE))
    assert message in str(raised.value)

"""Ten networks at several batch sizes, and three of them in training through `torch.compile`, against torch."""

from __future__ import annotations

import copy
import sys
import warnings
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.interop.torch import backend
from lamina.interop.torch.backend import LaminaFallback, lamina

sys.path.insert(0, str(Path(__file__).parent))
from models import FULL, SMALL, Example
from oracles import import_torch

torch = import_torch()


def check(example: Example, sizes: tuple[int, ...]) -> None:
    """Equality within 1e-4 of the largest number of a result."""
    torch.manual_seed(0)
    model = example.model().eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    f = lm.from_torch(model, *example.inputs(3), dynamic_shapes=example.shapes(batch))
    for n in sizes:
        args = example.inputs(n)
        with torch.no_grad():
            wanted = torch.utils._pytree.tree_leaves(model(*args))
        got = torch.utils._pytree.tree_leaves(f(*args))
        for g, w in zip(got, wanted, strict=True):
            scale = max(float(w.abs().max()), 1e-3) if w.is_floating_point() else 0
            np.testing.assert_allclose(g, w.numpy(), rtol=1e-4, atol=1e-4 * scale)
    assert len(f._compiled._dispatcher.specializations) == 1


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("name", SMALL)
def test_a_network_of_little_width(name: str) -> None:
    check(SMALL[name], (2, 5, 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_a_network(name: str) -> None:
    check(FULL[name], (2, 1))


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("name", ["resnet18", "vit", "unet", "bert"])
def test_training(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses and parameters of three steps; a forward and a backward graph are ours, and nothing runs in torch."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    example = SMALL[name]
    model, args = example.model().train(), example.inputs(4)
    ours = copy.deepcopy(model)
    graphs = []
    made = backend.compiled_graph
    monkeypatch.setattr(backend, "compiled_graph", lambda module: graphs.append(module) or made(module))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", LaminaFallback)
        losses = [_steps(m, p, args) for m, p in ((torch.compile(ours, backend=lamina), ours), (model, model))]
    assert len(graphs) >= 2
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    for (key, p), q in zip(model.state_dict().items(), ours.state_dict().values(), strict=True):
        np.testing.assert_allclose(q, p, rtol=1e-3, atol=1e-4, err_msg=key)


def _steps(model: Any, of: Any, args: tuple[Any, ...]) -> list[float]:
    optimizer = torch.optim.SGD(of.parameters(), 0.01)
    losses = []
    for _ in range(3):
        made = model(*args)
        loss = (made[0] if isinstance(made, tuple) else made).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses

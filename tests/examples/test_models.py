"""The example models converge as only right gradients do, and compiled steps have the losses of those that are traced anew."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra lamina[demo])")
FOLDER = Path(__file__).parent.parent.parent / "examples" / "models"
sys.path.insert(0, str(FOLDER))

NAMES = ("classifier", "graph_network", "language_model", "ode", "pde")
classifier, graph_network, language_model, ode, pde = map(importlib.import_module, NAMES)


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize(
    "train",
    [ode.train, classifier.train, language_model.train, graph_network.train, pde.heat, pde.burgers],
    ids=lambda f: f.__module__,
)
def test_modes_have_equal_losses(train: Callable[..., Any]) -> None:
    modes: tuple[dict[str, Any], ...] = ({"capture": "trace"}, {"capture": "source"}, {"jit": False})
    traced, captured, run = (np.asarray(train(2, **mode)[1]) for mode in modes)
    np.testing.assert_array_equal(captured, traced)
    # the same ops, fused otherwise: sums of a few hundred terms
    np.testing.assert_allclose(run, traced, rtol=1e-5)


def test_the_classifier() -> None:
    _, losses, accuracy = classifier.train(44)
    assert losses[-5:].mean() < 0.6 and accuracy > 0.85, (losses, accuracy)  # chance is 0.1


@pytest.mark.thorough
def test_the_language_model() -> None:
    model, losses = language_model.train(60)
    counts = np.array(list(Counter(language_model.text()).values()), float)
    shares = counts / counts.sum()
    by_frequency = -(shares * np.log(shares)).sum()  # what knowledge of the characters' frequencies alone reaches
    assert losses[-10:].mean() < by_frequency - 0.3, losses
    start = np.array([0, 1, 2], np.int32)
    written = np.asarray(language_model.write(model, start, np.array([0, 1], np.uint32)))
    assert written.shape == (3 + language_model.WRITTEN,) and (written[:3] == start).all()


def test_the_graph_network() -> None:
    _, losses, error = graph_network.train(100)
    assert losses[-1] < losses[0] / 100 and error < 0.02, (losses, error)


def test_the_ode() -> None:
    found, losses = ode.train(160)
    assert losses[-1] < 1e-4, losses
    np.testing.assert_allclose(found, ode.TRUE, rtol=0.03)  # begins 20 % off


def test_the_pdes() -> None:
    error, losses = pde.heat(60)
    assert error < 0.1 and losses[-1] < losses[0] / 300, (error, losses)  # begins 65 % off
    error, losses = pde.burgers(100)
    assert error < 0.06 and losses[-1] < losses[0] / 3000, (error, losses)  # begins 0.35 off

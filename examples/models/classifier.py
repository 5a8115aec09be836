"""Train a convolutional network on handwritten digits.

    python examples/models/classifier.py

The data are the 1,797 images of 8x8 pixels that come with scikit-learn. The network has batch normalization and dropout, so its
training step takes and returns running statistics, and draws at random from a key.
"""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
from lamina import train as training
from lamina.train import modules, optim
from sklearn.datasets import load_digits

HELD_OUT = 360


def network(key: Any) -> Any:
    """From images[n, 1, 8, 8], scores of the ten digits."""
    keys = lm.random.split(key, 3)
    return modules.Sequential(
        modules.Conv2d(1, 16, 3, padding=1, bias=False, key=keys[0]),
        modules.BatchNorm(16),
        lm.nn.relu,
        modules.MaxPool2d(2),
        modules.Conv2d(16, 32, 3, padding=1, key=keys[1]),
        lm.nn.relu,
        modules.MaxPool2d(2),
        modules.Flatten(),
        modules.Dropout(0.25),
        modules.Linear(32 * 2 * 2, 10, key=keys[2]),
    )


def loss(model: Any, batch: dict[str, Any], key: Any) -> tuple[Any, Any]:
    """Mean cross-entropy, and the model with its next statistics."""
    scores, model = model(batch["image"], key=key)
    return lm.nn.cross_entropy(scores, batch["label"]), model


def digits(key: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Images and labels to train on, and a held-out fifth."""
    found = load_digits()
    order = np.asarray(lm.random.permutation(key, len(found.target)))
    data = {
        "image": (found.images / 16).astype(np.float32)[order, None],
        "label": found.target.astype(np.int32)[order],
    }
    return {k: v[HELD_OUT:] for k, v in data.items()}, {k: v[:HELD_OUT] for k, v in data.items()}


def train(steps: int, progress: bool = False, **mode: Any) -> tuple[Any, np.ndarray, float]:
    """The model after so many steps, the loss of each, and the accuracy on the held-out images."""
    key = lm.random.key(0)
    images, held_out = digits(key)
    optimizer = optim.adamw(optim.one_cycle(1e-2, steps), weight_decay=1e-4)
    data = lm.train.dataset.from_arrays(images).shuffle(key).batch(64, drop_last=True).prefetch()
    state = training.start(network(key), optimizer, key)
    step = training.make_step(loss, optimizer, stateful=True, **mode)
    state, losses = training.fit(step, state, data, steps=steps, progress=progress)
    scores, _ = lm.jit(lambda model, x: model(x))(state.model.eval(), held_out["image"])
    return state.model, losses, float((np.asarray(scores).argmax(1) == held_out["label"]).mean())


def main() -> None:
    """Train for six epochs."""
    model, losses, accuracy = train(132, progress=True)
    print(model)
    print(f"loss {losses[0]:.3f} -> {losses[-10:].mean():.3f}, accuracy on held-out digits {accuracy:.1%}")
    if accuracy < 0.97:
        raise SystemExit("expected 97 %")


if __name__ == "__main__":
    main()

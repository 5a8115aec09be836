"""Train a small network on handwritten digits, then run the same network from a text file on the saved weights.

    python examples/digits/train.py

The data are the 1,797 images of 8x8 pixels that come with scikit-learn. One training step (forward, backward, Adam) is one
compiled function. Weights, and the program at every level from graph to assembly, are written to `out/` beside this file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_digits

HERE = Path(__file__).resolve().parent
OUT = HERE / "out"
SEED, EPOCHS, BATCH, HIDDEN = 0, 60, 128, 128
RATE, BETA1, BETA2, EPSILON, DECAY = 3e-3, 0.9, 0.999, 1e-8, 1e-4
WANTED = 0.97
PHASES = {
    "graph": "graph.mlir", "optimized": "optimized.mlir", "loop": "loop.mlir", "scheduled": "scheduled.mlir",
    "program": "program.mlir", "llvmir": "step.ll", "asm": "step.s",
}  # fmt: skip

Params = dict[str, Any]


# -- the network, as traced by lamina


def logits(params: Params, images: Any) -> Any:
    """Scores of the ten digits for images[n, 64] with pixels from 0 to 16."""
    hidden = lm.nn.relu(images / 16 @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params: Params, images: Any, labels: Any) -> Any:
    """Mean cross-entropy, plus weight decay."""
    decay = (params["w1"] ** 2).sum() + (params["w2"] ** 2).sum()
    return lm.nn.cross_entropy(logits(params, images), labels) + DECAY * decay


@lm.jit
def step(state: dict[str, Any], images: Any, labels: Any) -> tuple[dict[str, Any], Any]:
    """One step of Adam: the new state and the loss before it."""
    value, gradients = lm.value_and_grad(loss)(state["params"], images, labels)
    t = state["t"] + 1
    rate = RATE * lnp.sqrt(1 - BETA2**t) / (1 - BETA1**t)
    m = lm.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, state["m"], gradients)
    v = lm.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, state["v"], gradients)
    params = lm.tree.map(lambda p, m, v: p - rate * m / (lnp.sqrt(v) + EPSILON), state["params"], m, v)
    return {"params": params, "m": m, "v": v, "t": t}, value


@lm.jit
def predict(params: Params, images: Any) -> Any:
    """The most likely digit of each image."""
    return logits(params, images).argmax(1)


# -- the same step in NumPy, by hand


def numpy_step(state: dict[str, Any], images: np.ndarray, labels: np.ndarray) -> tuple[dict[str, Any], np.floating]:
    """What `step` computes, with the derivative written out."""
    p, n = state["params"], len(labels)
    x = images / np.float32(16)
    before = x @ p["w1"] + p["b1"]
    hidden = np.maximum(before, 0)
    scores = hidden @ p["w2"] + p["b2"]
    shifted = scores - scores.max(1, keepdims=True)
    exponentials = np.exp(shifted)
    total = exponentials.sum(1, keepdims=True)
    rows = np.arange(n)
    value = -(shifted[rows, labels] - np.log(total[:, 0])).mean()
    value += np.float32(DECAY) * ((p["w1"] ** 2).sum() + (p["w2"] ** 2).sum())
    by_scores = exponentials / total
    by_scores[rows, labels] -= 1
    by_scores /= np.float32(n)
    by_hidden = (by_scores @ p["w2"].T) * (before > 0)
    gradients = {
        "b1": by_hidden.sum(0),
        "b2": by_scores.sum(0),
        "w1": x.T @ by_hidden + np.float32(2 * DECAY) * p["w1"],
        "w2": hidden.T @ by_scores + np.float32(2 * DECAY) * p["w2"],
    }
    t = state["t"] + np.float32(1)
    rate = np.float32(RATE) * np.sqrt(1 - np.float32(BETA2) ** t) / (1 - np.float32(BETA1) ** t)
    m = {k: BETA1 * state["m"][k] + (1 - BETA1) * g for k, g in gradients.items()}
    v = {k: BETA2 * state["v"][k] + (1 - BETA2) * g * g for k, g in gradients.items()}
    params = {k: p[k] - rate * m[k] / (np.sqrt(v[k]) + np.float32(EPSILON)) for k in p}
    return {"params": params, "m": m, "v": v, "t": np.asarray(t)}, value


# -- training


def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images and labels to train on, then a held-out fifth."""
    digits = load_digits()
    images, labels = digits.data.astype(np.float32), digits.target.astype(np.int64)
    order = rng.permutation(len(images))
    test, train = order[:360], order[360:]
    return images[train], labels[train], images[test], labels[test]


def initial_state(rng: np.random.Generator) -> dict[str, Any]:
    """Random weights and an optimizer at rest."""

    def weights(n: int, k: int) -> np.ndarray:
        return (rng.standard_normal((n, k)) * np.sqrt(2 / n)).astype(np.float32)

    params = {
        "b1": np.zeros(HIDDEN, np.float32),
        "b2": np.zeros(10, np.float32),
        "w1": weights(64, HIDDEN),
        "w2": weights(HIDDEN, 10),
    }
    zeros = {k: np.zeros_like(w) for k, w in params.items()}
    return {"params": params, "m": zeros, "v": zeros, "t": np.zeros((), np.float32)}


def batches(rng: np.random.Generator, images: np.ndarray, labels: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Full batches of one epoch in random order."""
    order = rng.permutation(len(images))
    for start in range(0, len(images) - BATCH + 1, BATCH):
        chosen = order[start : start + BATCH]
        yield images[chosen], labels[chosen]


def seconds_per_step(function: Callable[..., Any], *args: Any) -> float:
    """The best of 30 groups of 10 calls: what the step costs when nothing else runs."""
    times = []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(10):
            function(*args)
        times.append((time.perf_counter() - start) / 10)
    return min(times)


def train(console: Console, rng: np.random.Generator, images: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """The state after all epochs."""
    state = initial_state(rng)
    first = next(batches(np.random.default_rng(SEED), images, labels))
    start = time.perf_counter()
    step(state, *first)
    console.print(f"compiled the step (forward, backward, Adam) in {time.perf_counter() - start:.2f} s")
    columns = [TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=EPOCHS)
        for _ in range(EPOCHS):
            value: Any = 0
            for batch in batches(rng, images, labels):
                state, value = step(state, *batch)
            progress.update(task, advance=1, description=f"loss {float(value):.4f}")
    ours, theirs = seconds_per_step(step, state, *first), seconds_per_step(numpy_step, state, *first)
    agree = abs(float(step(state, *first)[1]) - float(numpy_step(state, *first)[1]))
    console.print(
        f"one step: lamina {ours * 1e6:.0f} us, NumPy {theirs * 1e6:.0f} us ({theirs / ours:.1f}x); "
        f"their losses differ by {agree:.1g}"
    )
    return state


def write_levels(console: Console, state: dict[str, Any], images: np.ndarray, labels: np.ndarray) -> None:
    """The step at every level of the compiler."""
    lowered = step.lower(state, images[:BATCH], labels[:BATCH])
    for phase, name in PHASES.items():
        text = lowered.as_text(phase)
        (OUT / name).write_text(text)
        console.print(f"  {phase:<10} {len(text.splitlines()):>6} lines  {shown(OUT / name)}")


def shown(path: Path) -> str:
    """A path as it is typed here."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def predict_from_text(console: Console) -> np.ndarray:
    """The predictions of predict.mlir, run by the command line tool on the saved weights."""
    target = OUT / "predictions.npy"
    target.unlink(missing_ok=True)
    tool = [sys.executable, "-m", "lamina.tools.lamina_run"]
    arguments = [str(OUT / "images.npy"), str(OUT / "weights.npz")]
    command = [*tool, str(HERE / "predict.mlir"), "--entry", "main", "--args", *arguments, "--save", str(target)]
    words = [shown(Path(word)) if word.startswith(str(HERE)) else word for word in command[len(tool) :]]
    console.print(f"lamina-run {' '.join(words)}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"lamina-run failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return np.load(target)


def main() -> None:
    """The whole demonstration; exit status 1 if a promise is broken."""
    console = Console(highlight=False, soft_wrap=True)
    rng = np.random.default_rng(SEED)
    train_images, train_labels, test_images, test_labels = data(rng)
    console.print(f"{len(train_images)} digits to train on, {len(test_images)} held out")
    state = train(console, rng, train_images, train_labels)

    OUT.mkdir(exist_ok=True)
    np.savez(OUT / "weights.npz", **state["params"])
    np.save(OUT / "images.npy", test_images)
    in_python = np.asarray(predict(state["params"], test_images))
    accuracy = float((in_python == test_labels).mean())
    console.print(f"accuracy on the held-out digits, in Python:         {accuracy:.2%}")

    from_text = predict_from_text(console)
    console.print(f"accuracy on the held-out digits, from predict.mlir: {float((from_text == test_labels).mean()):.2%}")
    console.print(f"the two paths agree on {int((from_text == in_python).sum())} of {len(test_labels)} predictions")

    console.print("the training step at every level:")
    write_levels(console, state, train_images, train_labels)
    if accuracy < WANTED or (from_text != in_python).any():
        sys.exit(f"expected at least {WANTED:.0%} and equal predictions")


if __name__ == "__main__":
    main()

"""Training loops: a model converges, and one that is stopped and resumed in another process has the same bits."""

from __future__ import annotations

import doctest
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

pytest.importorskip("safetensors", reason="safetensors is not installed (extra lamina[models])")

PROGRAM = '''
import sys
import lamina as lm, numpy as np

nn = lm.train.modules
rng = np.random.default_rng(0)
x = rng.normal(size=(22, 6)).astype(np.float32)
y = (x[:, 0] * x[:, 1] > 0).astype(np.int64)

def model(key):
    keys = lm.random.split(key)
    first, last = nn.Linear(6, 8, key=keys[0]), nn.Linear(8, 2, key=keys[1])
    return nn.Sequential(first, nn.BatchNorm(8), lm.nn.relu, nn.Dropout(0.2), last)

def loss(model, batch, key):
    scores, model = model(batch["x"], key=key)
    return lm.nn.cross_entropy(scores, batch["y"]), model

def run(folder, *steps):
    """The states after so many steps, each of a loop of its own."""
    optim = lm.train.optim
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(optim.cosine_decay(0.05, 6)))
    step = lm.train.make_step(loss, optimizer, stateful=True)
    key = lm.random.key(1)
    data = lm.train.dataset.from_arrays({"x": x, "y": y}).shuffle(key).batch(8).prefetch()
    for count in steps:
        state = lm.train.start(model(key), optimizer, key)
        checkpoints = lm.train.Checkpoints(folder, keep=2)
        state, losses = lm.train.fit(step, state, data, steps=count, checkpoints=checkpoints, every=2, progress=False)
    return state, losses

if __name__ == "__main__":
    run(sys.argv[1], *map(int, sys.argv[2:]))
'''


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("program") / "resumed_training.py"
    path.write_text(PROGRAM)
    sys.path.insert(0, str(path.parent))
    try:
        return importlib.import_module("resumed_training")
    finally:
        sys.path.remove(str(path.parent))


@pytest.mark.thorough
def test_it_goes_on_with_the_same_bits(program: Any, tmp_path: Path) -> None:
    state, losses = program.run(tmp_path / "whole", 6)
    assert len(losses) == 6 and state.step == 6 and state.model[1].num_batches_tracked == 6
    program.run(tmp_path / "parts", 3)
    checkpoints = lm.train.Checkpoints(tmp_path / "parts")
    assert checkpoints.steps() == [2, 3]
    child = subprocess.run(
        [sys.executable, program.__file__, str(tmp_path / "parts"), "6"], capture_output=True, text=True, env={**os.environ}
    )
    assert child.returncode == 0, child.stderr
    assert checkpoints.steps() == [4, 6]  # keep=2
    whole, parts = (lm.load(tmp_path / name / "step_000000006.safetensors") for name in ("whole", "parts"))
    assert set(whole) == set(parts) and {
        "state.model.0.weight",
        "state.key.data",
        "state.optimizer.1.0.count",
        "data.epoch",
    } <= set(whole)
    for name, array in whole.items():
        assert array.tobytes() == parts[name].tobytes(), name
    again, rest = program.run(tmp_path / "parts", 6)  # nothing is left to do
    assert len(rest) == 0
    for ours, expected in zip(lm.tree.leaves(again), lm.tree.leaves(state), strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(expected).tobytes()


def test_it_converges_and_tells(program: Any) -> None:
    optimizer = lm.train.optim.adam(0.03)
    key = lm.random.key(0)
    data = lm.train.dataset.from_arrays({"x": program.x, "y": program.y}).shuffle(key).batch(11)
    told = []
    state, losses = lm.train.fit(
        lm.train.make_step(program.loss, optimizer, stateful=True, donate=True),
        lm.train.start(lm.tree.map(np.array, program.model(key)), optimizer, key),
        data,
        epochs=100,
        progress=False,
        on_step=lambda step, state, value: told.append((step, float(value))),
    )
    assert [value for _, value in told] == losses.tolist() and told[-1][0] == 200
    scores, _ = state.model.eval()(program.x)
    assert (np.asarray(scores).argmax(1) == program.y).mean() > 0.95  # the sign of a product: no linear model does


def test_uncompiled_steps_are_the_same(program: Any) -> None:
    optimizer = lm.train.optim.sgd(0.1, 0.9)
    batch = {"x": program.x[:8], "y": program.y[:8]}
    state = lm.train.start(program.model(lm.random.key(0)), optimizer, lm.random.key(2))
    found = [lm.train.make_step(program.loss, optimizer, stateful=True, jit=jit)(state, batch) for jit in (True, False)]
    for ours, expected in zip(*map(lm.tree.leaves, found), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-7)


def test_wrong_checkpoints(tmp_path: Path) -> None:
    checkpoints = lm.train.Checkpoints(tmp_path / "none")
    with pytest.raises(lm.train.FileError, match="holds no checkpoint"):
        checkpoints.restore({})
    checkpoints.save(5, {"w": np.ones(2)})
    (tmp_path / "none" / "notes.txt").write_text("not a step")
    assert checkpoints.steps() == [5]
    with pytest.raises(lm.train.FileError, match=r"holds no step 4; it has the steps \[5\]"):
        checkpoints.restore({"w": np.ones(2)}, 4)
    with pytest.raises(lm.train.FileError, match="v is missing; w is unknown"):
        checkpoints.restore({"v": np.ones(2)})
    checkpoints.path(5).write_bytes(b"half")
    with pytest.raises(lm.train.FileError, match="not a valid safetensors file"):
        checkpoints.restore({"w": np.ones(2)})
    with pytest.raises(ValueError, match="keeps one or more"):
        lm.train.Checkpoints(tmp_path, keep=0)
    with pytest.raises(ValueError, match="give steps or epochs"):
        lm.train.fit(lambda s, b: (s, 0.0), 0, lm.train.dataset.from_arrays(np.ones(2)))


def test_example() -> None:
    assert doctest.testmod(importlib.import_module("lamina.train.loop")).failed == 0

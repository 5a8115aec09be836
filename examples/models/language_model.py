"""Train a transformer on characters, then let it write.

    python examples/models/language_model.py

The text is a chapter of Python's own reference, which comes with every Python. Writing goes one character after the other
through a cache of keys and values, as one compiled loop.
"""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from lamina import train as training
from lamina.train import modules, optim

LENGTH, WIDTH, HEADS, BLOCKS = 64, 64, 4, 2
WRITTEN = 60


class Block(lm.Module):
    """Attention to earlier positions, then two linear layers on each, both added to their input."""

    attention: modules.MultiHeadAttention
    mlp: modules.MLP
    norms: tuple[modules.RMSNorm, modules.RMSNorm]

    def __init__(self, key: Any):
        keys = lm.random.split(key)
        self.attention = modules.MultiHeadAttention(WIDTH, HEADS, num_kv_heads=2, rotary=True, bias=False, key=keys[0])
        self.mlp = modules.MLP((WIDTH, 4 * WIDTH, WIDTH), lm.nn.gelu, key=keys[1])
        self.norms = (modules.RMSNorm(WIDTH), modules.RMSNorm(WIDTH))

    def __call__(self, x: Any, cache: Any = None) -> Any:
        y = self.attention(self.norms[0](x), causal=True, cache=cache)
        y, cache = (y, None) if cache is None else y
        x = x + y
        return x + self.mlp(self.norms[1](x)), cache


class LanguageModel(lm.Module):
    """From numbers of characters, scores of the next ones."""

    table: modules.Embedding
    blocks: list[Block]
    norm: modules.RMSNorm

    def __init__(self, characters: int, key: Any):
        keys = lm.random.split(key, BLOCKS + 1)
        self.table = modules.Embedding(characters, WIDTH, key=keys[0], init=modules.initializers.normal(0.1))
        self.blocks = [Block(key) for key in keys[1:]]
        self.norm = modules.RMSNorm(WIDTH)

    def __call__(self, ids: Any, caches: Any = None) -> Any:
        """Scores [..., length, characters], and the next caches."""
        x = self.table(ids)
        after = []
        for block, cache in zip(self.blocks, caches or [None] * BLOCKS, strict=True):
            x, cache = block(x, cache)
            after.append(cache)
        return self.table.attend(self.norm(x)), after


def loss(model: LanguageModel, batch: Any, key: Any) -> Any:
    """Mean cross-entropy of each next character, in nats."""
    scores, _ = model(batch[:, :-1])
    return lm.nn.cross_entropy(scores, batch[:, 1:])


def text() -> str:
    """The chapter of the reference on data."""
    from pydoc_data.topics import topics

    return topics["types"]


def encoded(text: str) -> tuple[str, np.ndarray]:
    """The characters there are, and the number of each of the text's."""
    characters = "".join(sorted(set(text)))
    return characters, np.array([characters.index(c) for c in text], np.int32)


def train(steps: int, progress: bool = False, **mode: Any) -> tuple[Any, np.ndarray]:
    """The model after so many steps, and the loss of each."""
    key = lm.random.key(0)
    characters, ids = encoded(text())
    windows = np.lib.stride_tricks.sliding_window_view(ids, LENGTH + 1)
    model = LanguageModel(len(characters), key)
    rate = optim.warmup_cosine_decay(0.0, 1e-2, max(1, steps // 10), steps + 1)
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(rate, b2=0.98, mask=_matrices))
    data = lm.train.dataset.from_arrays(windows).shuffle(key).batch(8, drop_last=True)
    step = training.make_step(loss, optimizer, **mode)
    state, losses = training.fit(step, training.start(model, optimizer, key), data, steps=steps, progress=progress)
    return state.model, losses


def _matrices(params: Any) -> Any:
    """Weights decay, scales of norms do not."""
    return lm.tree.map(lambda p: p.ndim > 1, params)


@lm.jit
def write(model: LanguageModel, ids: Any, key: Any) -> Any:
    """The given characters and the 60 that the model continues with."""
    room = ids.shape[0] + WRITTEN
    scores, caches = model(ids, [block.attention.empty_cache((), room) for block in model.blocks])

    def step(carry: Any, key: Any) -> Any:
        scores, caches = carry
        drawn = lnp.asarray(lm.random.categorical(key, scores / 0.5), dtype=np.int32)
        scores, caches = model(drawn[None], caches)
        return (scores[-1], caches), drawn

    _, written = lm.scan(step, (scores[-1], caches), lm.random.split(key, WRITTEN))
    return lnp.concatenate([ids, written])


def main() -> None:
    """Train for 600 steps."""
    model, losses = train(600, progress=True)
    characters, _ = encoded(text())
    print(f"{model.count_parameters():,} parameters, loss {losses[0]:.3f} -> {losses[-20:].mean():.3f} nats a character")
    start = np.array([characters.index(c) for c in "The "], np.int32)
    print("".join(characters[k] for k in np.asarray(write(model, start, lm.random.key(1)))))
    if losses[-20:].mean() > 1.6:
        raise SystemExit("expected less than 1.6 nats a character")


if __name__ == "__main__":
    main()

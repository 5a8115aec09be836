"""Random programs: NumPy, the reference meaning of the traced graph and the compiled code agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Step = Callable[[Any, Any], Any]  # step(np or lnp, array) -> array


def _to_ints(xp: Any, x: Any) -> Any:
    return (xp.round(x * 4) % 7).astype("int32") if x.dtype.kind == "f" else x


STEPS: dict[str, Step] = {
    "tanh": lambda xp, x: xp.tanh(x),
    "exp": lambda xp, x: xp.exp(-abs(x)),
    "sqrt": lambda xp, x: xp.sqrt(abs(x) + 1),
    "floor": lambda xp, x: xp.floor(x * 3) / 2,
    "square": lambda xp, x: x * x - x,
    "affine": lambda xp, x: 0.5 * x + 1,
    "where": lambda xp, x: xp.where(x > 0.25, x, -2 * x),
    "clip": lambda xp, x: xp.clip(x, -1, 1),
    "sum rows": lambda xp, x: x + xp.sum(x, axis=0, keepdims=True),
    "max columns": lambda xp, x: x - xp.max(x, axis=-1, keepdims=True),
    "mean": lambda xp, x: x * xp.mean(x),
    "sum and expand": lambda xp, x: xp.stack([xp.sum(x, axis=0), xp.min(x, axis=0)]),
    "transpose": lambda xp, x: x.T,
    "flat and back": lambda xp, x: x.reshape(-1)[::-1].reshape(x.shape),
    "flip": lambda xp, x: xp.flip(x, 0),
    "first row": lambda xp, x: x + x[0],
    "last column": lambda xp, x: x * x[:, -1:],
    "every second": lambda xp, x: x[::2],
    "concatenate": lambda xp, x: xp.concatenate([x, 2 * x], axis=1),
    "roll": lambda xp, x: xp.roll(x, 1, 0),
    "pad": lambda xp, x: xp.pad(x, ((0, 1), (1, 0))),
    "gram": lambda xp, x: x @ x.T / x.shape[1],
    "outer": lambda xp, x: xp.einsum("ij,kj->ik", x, x[:1] + 1),
    "tril": lambda xp, x: xp.tril(x),
    "ints": _to_ints,
    "argmax": lambda xp, x: x + xp.argmax(x, axis=1)[:, None] % 3,
    "compare": lambda xp, x: (x > xp.mean(x)) * x,
    "repeat": lambda xp, x: xp.repeat(x, 2, 1),
    "variance": lambda xp, x: (x - x.mean(0)) / xp.sqrt(x.var(0) + 1),
}

PROGRAMS = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6)
SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 9))


def run(names: list[str], xp: Any, x: Any) -> Any:
    for name in names:
        x = STEPS[name](xp, x)
        if x.shape[0] * x.shape[1] > 2000:
            x = x[:5, :9]
    return x, x.sum()


def agree(got: Any, want: Any, rtol: float) -> None:
    for g, w in zip(got, want, strict=True):
        w = np.asarray(w)
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol * max(1, np.abs(w).max(initial=0)))


@given(PROGRAMS, SHAPES, st.integers(0, 100))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_graph_means_what_numpy_computes(interpret: Any, names: list[str], shape: tuple[int, int], seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal(shape)
    module = lm.make_graph(lambda x: run(names, lnp, x))(x)
    agree(interpret(module, x), run(names, np, x), 1e-9)


@given(PROGRAMS, SHAPES, st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_compiled_code_computes_what_numpy_computes(names: list[str], shape: tuple[int, int], seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal(shape)
    agree(lm.jit(lambda x: run(names, lnp, x))(x), run(names, np, x), 1e-9)

"""Functions of rows: values that several passes need are computed once, with the same results."""

from __future__ import annotations

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

TARGET = "x86-64-v4"
"""What schedules are shown for; what they compute is computed on this machine."""
RNG = np.random.default_rng(2)
FUNCTIONS = {
    "softmax": lambda x: lm.nn.softmax(x),
    "log_softmax": lambda x: lm.nn.log_softmax(x),
    "logsumexp": lambda x: lm.nn.logsumexp(x, -1),
    "softmax of a function": lambda x: lm.nn.softmax(lnp.tanh(x) * 3),
    "softmax and its sum of squares": lambda x: lm.nn.softmax(x) * lnp.sum(lm.nn.softmax(x) ** 2, -1, keepdims=True),
    "gradient": lm.grad(lambda x: lnp.sum(lm.nn.softmax(x) * x)),
    "columns": lambda x: lm.nn.softmax(x, 0),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(300, 517), (4, 16), (3, 1), (2, 70_000)])
def test_as_without_the_default_schedule(name: str, shape: tuple[int, ...]) -> None:
    """float64 without jit, op by op, is the reference."""
    x = RNG.normal(size=shape).astype(np.float32)
    got = np.asarray(lm.jit(FUNCTIONS[name])(x))
    with np.errstate(all="ignore"):
        wanted = np.asarray(FUNCTIONS[name](x.astype(np.float64)))
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "row", [[np.inf, 1, 2], [-np.inf, -np.inf, -np.inf], [np.nan, 0, 0], [1e38, -1e38, 0], [-np.inf, 0, 1]]
)
def test_rows_that_are_not_finite(row: list[float]) -> None:
    x = np.array([row], np.float32)
    with np.errstate(all="ignore"):
        m = np.max(x)
        e = np.exp(x - (0 if np.isinf(m) else m))
        wanted = e / e.sum()
    np.testing.assert_allclose(lm.jit(lm.nn.softmax)(x), wanted, rtol=1e-6)


def test_exponentials_are_computed_once() -> None:
    text = lm.jit(lm.nn.softmax).lower(np.zeros((64, 96), np.float32)).as_text("scheduled", TARGET)
    assert text.count("math.exp") == 1 and "loop.alloc" not in text  # they wait in the result
    log_softmax = lm.jit(lambda x: lnp.exp(lm.nn.log_softmax(lnp.exp(x))))
    text = log_softmax.lower(np.zeros((64, 96), np.float32)).as_text("scheduled", TARGET)
    assert "_row = loop.alloc" in text
